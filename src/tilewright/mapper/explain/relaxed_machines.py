"""The limits of a machine, each with the same machine in which that limit alone is relaxed."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from math import inf, prod

from tilewright.architecture.machine import Architecture, Array, Level, Memory
from tilewright.architecture.units import size_text
from tilewright.mapper.objective.objective import Objective
from tilewright.mapper.problem.lattice import lattice
from tilewright.mapper.problem.space import array_choices
from tilewright.mapping.nodes import Spatial, Store
from tilewright.mapping.structure import Loop, resolve_loops
from tilewright.model.energy import element_bits, leakage_per_cycle
from tilewright.model.results.result import Evaluation
from tilewright.workload.footprint import footprint
from tilewright.workload.layer import Layer, Tensor

DROPPED = "dropped"
STEP = 2  # what a size or a rate is multiplied with


@dataclass(frozen=True)
class RelaxedLimit:
    """Something of which a machine has only so much, and the machine with more of it.

    A mapping of the machine costs the same on the relaxed one: energies per word, leakage and
    everything else stay as they are.

    Attributes
    ----------
    kind : str
        ``"capacity"``, ``"share"`` (of one tensor in a partitioned memory), ``"axis"``,
        ``"bandwidth"``, ``"constraint"``, ``"keep"`` or ``"must_keep"``.
    level : str
        Memory or array that it belongs to.
    item : str
        Role, axis, ``read``, ``write``, ``shared``, or a constraint as people write it; empty where
        the level has but one such limit.
    now, then : str
        The limit, and the relaxed one.
    relaxed : Architecture
        The machine with it.
    """

    kind: str
    level: str
    item: str
    now: str
    then: str
    relaxed: Architecture

    def __str__(self) -> str:
        names = {"axis": "size of axis", "share": "capacity for"}
        words = [self.level, names.get(self.kind, self.kind), self.item]
        if self.kind == "constraint":
            words = [self.kind, self.item]
        if self.kind == "bandwidth":
            words = [self.level, self.item.replace("shared", ""), self.kind]
        return " ".join(word for word in words if word)


def limits(architecture: Architecture) -> Iterator[RelaxedLimit]:
    """Yield every limit of a machine, in the order of its levels, then its constraints."""
    for level in architecture.levels:
        if isinstance(level, Memory):
            yield from sizes(architecture, level)
            for name in ("read", "write", "shared"):
                yield from bandwidth(architecture, level, name)
            yield from bypasses(architecture, level)
        elif isinstance(level, Array):
            yield from axes(architecture, level)
            yield from bandwidth(architecture, level, "")
    # one by one, with the levels that roles stand for
    statements = architecture.statements
    for i, one in enumerate(statements):
        yield RelaxedLimit(
            "constraint", one.at, str(one), one.words(), DROPPED,
            replace(architecture, constraints=statements[:i] + statements[i + 1 :]),
        )  # fmt: skip


def with_level(architecture: Architecture, level: Level) -> Architecture:
    """Return a machine in which a level takes the place of the one with its name."""
    levels = tuple(level if old.name == level.name else old for old in architecture.levels)
    return replace(architecture, levels=levels)


def sizes(architecture: Architecture, memory: Memory) -> Iterator[RelaxedLimit]:
    """Yield the capacity of a memory, or the share of each tensor in it."""
    if memory.capacity_bits is not None and memory.tensor_bits is None:
        more = STEP * memory.capacity_bits
        yield RelaxedLimit(
            "capacity", memory.name, "", size_text(memory.capacity_bits), size_text(more),
            with_level(architecture, replace(memory, capacity_bits=more)),
        )  # fmt: skip
    for role, bits in (memory.tensor_bits or {}).items():
        shares = {**(memory.tensor_bits or {}), role: STEP * bits}
        total = None if memory.capacity_bits is None else memory.capacity_bits + (STEP - 1) * bits
        yield RelaxedLimit(
            "share", memory.name, role, size_text(bits), size_text(STEP * bits),
            with_level(architecture, replace(memory, tensor_bits=shares, capacity_bits=total)),
        )  # fmt: skip


def bandwidth(
    architecture: Architecture, level: Memory | Array, item: str
) -> Iterator[RelaxedLimit]:
    """Yield a bandwidth of a memory (read, write or shared) or of an array, where it is limited."""
    key = f"{item}_bandwidth" if item else "bandwidth"
    rate = getattr(level, key)
    if rate is not None:
        yield RelaxedLimit(
            "bandwidth", level.name, item, f"{rate:.4g} words/cycle",
            f"{STEP * rate:.4g} words/cycle",
            with_level(architecture, replace(level, **{key: STEP * rate})),
        )  # fmt: skip


def bypasses(architecture: Architecture, memory: Memory) -> Iterator[RelaxedLimit]:
    """Yield what a memory may not store, and what may not bypass it."""
    if memory.keep is not None:
        yield RelaxedLimit(
            "keep", memory.name, "", f"only {', '.join(sorted(memory.keep)) or 'nothing'}", DROPPED,
            with_level(architecture, replace(memory, keep=None)),
        )  # fmt: skip
    if memory.must_keep:
        yield RelaxedLimit(
            "must_keep", memory.name, "", ", ".join(sorted(memory.must_keep)), DROPPED,
            with_level(architecture, replace(memory, must_keep=frozenset())),
        )  # fmt: skip


def axes(architecture: Architecture, array: Array) -> Iterator[RelaxedLimit]:
    """Yield the sizes of the axes of an array."""
    inside = architecture.levels[architecture.position[array.name] + 1 :]
    for axis, size in array.axes.items():
        machine = with_level(architecture, replace(array, axes={**array.axes, axis: STEP * size}))
        for level in inside:
            if not isinstance(level, Array):
                # more instances, which together leak as before
                machine = with_level(machine, replace(level, leakage=level.leakage / STEP))
        yield RelaxedLimit("axis", array.name, axis, f"{size}", f"{STEP * size}", machine)


def why_not(
    limit: RelaxedLimit, layer: Layer, architecture: Architecture, objective: Objective
) -> str | None:
    """Return why relaxing a limit changes no value of any mapping and adds none; None if it may."""
    level = architecture.levels[architecture.position[limit.level]]
    roles = {tensor.role for tensor in layer.tensors}
    if isinstance(level, Memory):
        stored = [tensor for tensor in layer.tensors if level.may_store(tensor.role)]
        if limit.kind == "keep":
            relaxed = next(m for m in limit.relaxed.memories if m.name == level.name)
            if all(level.may_store(role) == relaxed.may_store(role) for role in roles):
                return "it may store every tensor already"
        elif limit.kind == "must_keep":
            if not roles & level.must_keep:
                return "the layer has none of these tensors"
        elif not stored:
            return "it stores no tensor of this layer"
        elif limit.kind == "capacity" and whole_bits(level, stored, layer) <= size_of(level):
            return "all of its tensors fit whole"
        elif limit.kind == "share":
            own = [tensor for tensor in stored if tensor.role == limit.item]
            # where two tensors have one role the shares together may be what limits them
            alone = len({tensor.role for tensor in stored}) == len(stored)
            if alone and whole_bits(level, own, layer) <= size_of(level, limit.item):
                return "the whole tensor fits"
    if limit.kind == "bandwidth" and not cycles_count(architecture, objective):
        return "cycles do not count"
    if isinstance(level, Array) and limit.kind == "axis" and same_choices(limit, layer, level):
        return "the bounds have no factors for more"
    return None


def whole_bits(memory: Memory, tensors: list[Tensor], layer: Layer) -> int:
    """Return the bits that some tensors take in a memory when they are stored whole."""
    return memory.buffering * sum(
        footprint(tensor, layer.bounds) * element_bits(memory, tensor) for tensor in tensors
    )


def size_of(memory: Memory, role: str | None = None) -> int:
    """Return the bits that a memory has, or that it has for one tensor."""
    shares = memory.tensor_bits or {}
    return (memory.capacity_bits or 0) if role is None else shares.get(role, 0)


def cycles_count(architecture: Architecture, objective: Objective) -> bool:
    """Whether what is minimised, or what is allowed, depends on the cycles."""
    energy = objective.powers[1] == 0 and objective.most_cycles == inf
    return not energy or leakage_per_cycle(architecture) > 0


def same_choices(limit: RelaxedLimit, layer: Layer, array: Array) -> bool:
    """Whether an array whose axis is longer has no spatial choices but those that it has now."""
    tiles = lattice(layer)
    longer = next(a for a in limit.relaxed.arrays if a.name == array.name)
    counts = [len(array_choices(layer, tiles, limit.relaxed, one)[0]) for one in (array, longer)]
    return counts[0] == counts[1]


def usage(limit: RelaxedLimit, evaluation: Evaluation) -> str:
    """Return how much of a relaxed limit a mapping of the relaxed machine uses, for people."""
    layer, machine = evaluation.layer, evaluation.architecture
    if limit.kind == "axis" or (limit.level in evaluation.networks and limit.kind == "constraint"):
        factors: dict[str, int] = {}
        for loop, axis in spatial_loops(evaluation, limit.level):
            if limit.kind == "constraint" or limit.item == axis:
                factors[loop.dimension] = factors.get(loop.dimension, 1) * loop.chunks
        shown = " x ".join(f"{d} {n}" for d, n in factors.items()) or "nothing"
        if limit.kind == "constraint":
            return f"{shown} on {limit.level}"
        return f"{shown} on {limit.level}.{limit.item}, {prod(factors.values())} of {limit.then}"
    if limit.kind == "bandwidth":
        return f"{evaluation.cycles:,.6g} cycles, bound by {evaluation.bound}"
    memory = next(memory for memory in machine.memories if memory.name == limit.level)
    counted = evaluation.memories[limit.level]
    if limit.kind == "capacity":
        return f"{size_text(counted.occupied_bits)} of {limit.then}"
    if limit.kind == "share":
        bits = memory.buffering * sum(
            counted.tensors[tensor.name].peak * element_bits(memory, tensor)
            for tensor in layer.tensors
            if tensor.role == limit.item
        )
        return f"{size_text(bits)} of {limit.then}"
    held = [name for name, tensor in counted.tensors.items() if tensor.peak]
    return f"{limit.level} stores {', '.join(held) or 'nothing'}"


def spatial_loops(evaluation: Evaluation, array: str) -> Iterator[tuple[Loop, str]]:
    """Yield the spatial loops of a mapping on an array, each with its axis."""
    mapping = evaluation.mapping
    nodes = [node for node in mapping.nodes if not isinstance(node, Store)]
    for node, loop in zip(nodes, resolve_loops(mapping.nodes, evaluation.layer), strict=False):
        if isinstance(node, Spatial) and node.array == array and loop.chunks > 1:
            yield loop, node.axis

"""Why no mapping exists: the demands that exclude every mapping together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import prod

from tilewright.architecture.constraints.constraint import Constraint
from tilewright.architecture.machine import Architecture, Level, Memory
from tilewright.errors import NoMappingError
from tilewright.mapper.problem.bypass_choices import whole_bits
from tilewright.mapper.problem.lattice import divisors, lattice
from tilewright.mapper.problem.space import array_choices
from tilewright.mapper.search.questions.feasibility import some_mapping
from tilewright.mapper.search.vast_layers import is_vast
from tilewright.mapping.relevance import in_letters
from tilewright.workload.layer import Layer

HARMLESS = ("dims", "max_dims")
"""What an array that stays idle satisfies."""


@dataclass(frozen=True)
class Demand:
    """Something that a mapping has to satisfy: a statement, or what a memory can hold and keeps.

    Attributes
    ----------
    kind : str
        ``"statement"``, ``"size"``, ``"keep"`` or ``"must_keep"``.
    at : str
        Name of the memory, or of the level that the statement is about.
    statement : Constraint or None
        The statement.
    """

    kind: str
    at: str = ""
    statement: Constraint | None = None


def check_feasible(layer: Layer, architecture: Architecture) -> None:
    """Refuse a layer of which no mapping satisfies the constraints of a machine.

    Raises
    ------
    NoMappingError
        With a smallest set of demands that exclude every mapping, and what would have to give.
    """
    architecture = in_letters(architecture, layer)
    if all(statement.keys[-1] in HARMLESS for statement in architecture.statements):
        return
    if is_vast(layer):
        return  # shapes are too many to look at all
    if some_mapping(layer, architecture) is not None:
        return
    core = smallest_core(layer, architecture, demands(architecture))
    told = "; ".join(words(demand, core, layer, architecture) for demand in core)
    together = "all of these" if len(core) > 1 else "this"
    way_out = "one of them has to give" if len(core) > 1 else "it has to give"
    raise NoMappingError(
        f"no mapping of layer '{layer.name}' on '{architecture.name}' satisfies {together}: "
        f"{told}; {way_out}"
    )


def demands(architecture: Architecture) -> list[Demand]:
    """Return all demands, in the order in which they are given up."""
    found = []
    for memory in architecture.memories:
        if memory.total_bits is not None:
            found.append(Demand("size", memory.name))
        if memory.keep is not None:
            found.append(Demand("keep", memory.name))
        if memory.must_keep:
            found.append(Demand("must_keep", memory.name))
    return found + [Demand("statement", s.at, s) for s in architecture.statements]


def smallest_core(
    layer: Layer, architecture: Architecture, given: Sequence[Demand]
) -> list[Demand]:
    """Return demands that no mapping satisfies together, though without any one of them some does.

    `given` are demands that no mapping satisfies: each is given up unless that makes a mapping
    possible.
    """
    core = list(given)
    for demand in given:
        rest = [other for other in core if other != demand]
        if some_mapping(layer, demanding(architecture, rest)) is None:
            core = rest
    return core


def demanding(architecture: Architecture, core: Sequence[Demand]) -> Architecture:
    """Return a machine that demands nothing else."""
    kinds = {(demand.kind, demand.at) for demand in core}
    statements = tuple(demand.statement for demand in core if demand.statement is not None)
    # a share of its size means nothing where a memory has none
    shared = {s.at for s in statements if s.min_utilization is not None}
    levels: list[Level] = []
    for level in architecture.levels:
        if not isinstance(level, Memory):
            levels.append(level)
            continue
        keep = level.keep
        must_keep = level.must_keep if ("must_keep", level.name) in kinds else frozenset()
        if ("keep", level.name) not in kinds:
            keep = None
        if ("size", level.name) in kinds or level.name in shared:
            levels.append(replace(level, keep=keep, must_keep=must_keep))
            continue
        levels.append(
            replace(level, keep=keep, must_keep=must_keep, capacity_bits=None, tensor_bits=None)
        )
    return replace(architecture, levels=tuple(levels), constraints=statements)


def words(demand: Demand, core: Sequence[Demand], layer: Layer, architecture: Architecture) -> str:
    """Return a demand, with what it meets."""
    if demand.statement is not None:
        return demand.statement.words() + met(demand, core, layer, architecture)
    (memory,) = (m for m in architecture.memories if m.name == demand.at)
    if demand.kind == "size":
        if memory.tensor_bits is not None:
            parts = ", ".join(f"{role} {bits}" for role, bits in memory.tensor_bits.items())
            return f"the parts of '{memory.name}' have {parts} bits"
        needed = least_size(memory, core, layer, architecture)
        return f"'{memory.name}' needs {needed} bits, has {memory.capacity_bits}"
    if demand.kind == "keep":
        kept = ", ".join(sorted(memory.keep or ())) or "nothing"
        return f"'{memory.name}' keeps only {kept}"
    return f"'{memory.name}' must keep {', '.join(sorted(memory.must_keep))}"


def least_size(
    memory: Memory, core: Sequence[Demand], layer: Layer, architecture: Architecture
) -> int:
    """Return the fewest bits of a memory with which the other demands can be met."""
    machine = demanding(architecture, core)
    low = memory.capacity_bits or 0
    high = max(whole_bits(layer.tensors, layer, memory), low)
    while high - low > 1:
        middle = (low + high) // 2
        levels = tuple(
            replace(level, capacity_bits=middle)
            if isinstance(level, Memory) and level.name == memory.name
            else level
            for level in machine.levels
        )
        if some_mapping(layer, replace(machine, levels=levels)) is None:
            low = middle
        else:
            high = middle
    return high


def met(demand: Demand, core: Sequence[Demand], layer: Layer, architecture: Architecture) -> str:
    """Return in brackets what a statement meets in the layer or in an array, or nothing."""
    statement = demand.statement
    assert statement is not None
    names = [name for name, _ in (*statement.factor, *statement.tile)] or sorted(statement.require)
    facts = [
        f"{name} has {layer.bounds[name]}, in parts of {', '.join(map(str, parts))}"
        for name in names
        if len(parts := divisors(layer.bounds.get(name, 1))) > 1
    ]
    for memory in (memory for memory in architecture.memories if memory.name == statement.at):
        if statement.min_utilization is not None:
            bits = whole_bits(layer.tensors, layer, memory)
            facts.append(f"all tensors take {bits} bits, '{memory.name}' has {memory.total_bits}")
    axis = statement.axis
    for array in (array for array in architecture.arrays if array.name == statement.at):
        elements = array.elements if axis is None else array.axes[axis]
        if statement.min_utilization is None:
            place = f"'{array.name}'" if axis is None else f"axis {axis}"
            facts.append(f"{place} has {elements} elements")
        else:
            others = demanding(architecture, [other for other in core if other != demand])
            choices = array_choices(layer, lattice(layer), others, array)[0]
            most = max(
                prod(n for on, _, n in choice.factors if axis in (None, on)) for choice in choices
            )
            facts.append(f"at most {most} of its {elements} elements can be")
    return f" ({'; '.join(facts)})" if facts else ""

"""What constraints leave of the bypass choices of a layer on a machine."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import product

from tilewright.architecture.constraints.constraint import Constraint, used_enough
from tilewright.architecture.machine import Architecture, Level, Memory
from tilewright.errors import NoMappingError
from tilewright.mapping.names import role_names
from tilewright.mapping.relevance import in_letters
from tilewright.workload.footprint import footprint
from tilewright.workload.layer import Layer, Tensor

KeepChoice = tuple[tuple[int, ...], ...]
"""Per tensor the positions of the memories that store it, outermost first."""

WALKED = ("tile", "order", "innermost", "min_utilization", "even")
"""Keys of the statements about memories that the search observes from loop to loop.

`narrowed` settles others tensor by tensor, and `worth_walking` what depends on the bypass choice
alone. While a statement of these is on, there are no tables, and a search takes many times as long.
"""


def narrowed(architecture: Architecture, layer: Layer) -> Architecture:
    """Return a machine whose memories must and may keep what its constraints say.

    Its constraints name the dimensions of the layer.
    """
    architecture = in_letters(architecture, layer)
    levels: list[Level] = []
    for level in architecture.levels:
        own = [s for s in architecture.statements if s.at == level.name]
        kept = roles_of((name for s in own for name in s.keep), layer)
        passed = roles_of((name for s in own for name in s.bypass), layer)
        if isinstance(level, Memory) and (kept or passed):
            may = frozenset(t.role for t in layer.tensors) if level.keep is None else level.keep
            must = level.must_keep | kept
            levels.append(replace(level, keep=may - passed, must_keep=must))
        else:
            levels.append(level)
    return replace(architecture, levels=tuple(levels))


def roles_of(names: Iterable[str], layer: Layer) -> frozenset[str]:
    """Return the roles of the tensors of a layer that are named."""
    named = role_names(frozenset(names), layer)
    return frozenset(tensor.role for tensor in layer.tensors if tensor.name in named)


def about_memories(architecture: Architecture) -> list[Constraint]:
    """Return the statements about memories that the search observes from loop to loop."""
    names = {memory.name for memory in architecture.memories}
    return [s for s in architecture.statements if s.at in names and s.keys[-1] in WALKED]


def worth_walking(layer: Layer, architecture: Architecture, keep: KeepChoice) -> bool:
    """Whether a bypass choice satisfies what can be decided before any loop is known."""
    position = {memory.name: m for m, memory in enumerate(architecture.memories)}
    for statement in in_letters(architecture, layer).statements:
        if statement.at not in position:
            continue
        m = position[statement.at]
        memory = architecture.memories[m]
        stored = [t for t, chain in zip(layer.tensors, keep, strict=True) if m in chain]
        share, total = statement.min_utilization, memory.total_bits or 0
        if share and not used_enough(whole_bits(stored, layer, memory), share, total):
            return False
        if m == 0 and not all(
            limits.allow(layer.bounds.get(d, 1), layer.bounds.get(d, 1))
            for d, limits in statement.tile
        ):
            return False  # its tiles are the whole tensors
    return True


def whole_bits(tensors: Iterable[Tensor], layer: Layer, memory: Memory) -> int:
    """Return the bits that whole tensors take in a memory: no tiles take more."""
    return sum(
        footprint(t, layer.bounds) * (t.bits or memory.word_bits) * memory.buffering
        for t in tensors
    )


def keep_choices(layer: Layer, architecture: Architecture) -> Iterator[KeepChoice]:
    """Yield every way to store or bypass, keeping as much as possible first.

    Raises
    ------
    NoMappingError
        When the outermost memory may not store a tensor.
    """
    per_tensor = []
    memories = architecture.memories
    for tensor in layer.tensors:
        if not memories[0].may_store(tensor.role):
            raise NoMappingError(
                f"no mapping of layer '{layer.name}' exists on '{architecture.name}': the "
                f"outermost memory '{memories[0].name}' may not store tensor '{tensor.name}'"
            )
        options: list[tuple[bool, ...]] = []
        for memory in memories[1:]:
            stored = (True,) if memory.may_store(tensor.role) else ()
            bypassed = () if tensor.role in memory.must_keep else (False,)
            options.append((*stored, *bypassed))
        per_tensor.append(
            [(0, *(i + 1 for i, kept in enumerate(choice) if kept)) for choice in product(*options)]
        )
    choices = [c for c in product(*per_tensor) if worth_walking(layer, architecture, c)]
    yield from sorted(choices, key=lambda c: (-sum(map(len, c)), c))

"""Whether a mapping satisfies constraints: the definition that searches are held to."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from collections.abc import Mapping as Dict
from dataclasses import dataclass, replace
from functools import cached_property
from math import prod

from tilewright.architecture.constraints.constraint import Constraint, used_enough
from tilewright.architecture.machine import Architecture
from tilewright.mapping.names import role_names
from tilewright.mapping.nodes import Mapping, Spatial, Store
from tilewright.mapping.relevance import in_letters
from tilewright.mapping.structure import Structure, resolve
from tilewright.workload.layer import Layer


def violations(
    mapping: Mapping,
    layer: Layer,
    architecture: Architecture,
    constraints: Iterable[Constraint] = (),
) -> list[str]:
    """Return which constraints a mapping violates, and by how much.

    Parameters
    ----------
    mapping : Mapping
        Its names and the order of its nodes are valid on the machine.
    layer : Layer
        What is computed.
    architecture : Architecture
        What computes it; its own constraints count as well.
    constraints : Constraints or iterable of Constraint
        What else must hold.

    Returns
    -------
    list of str
        A sentence for each demand that is not met, such as
        ``"PE.X unrolls only C, but this mapping unrolls K by 4"``.
    """
    machine = in_letters(under(architecture, constraints), layer)
    use = Use(mapping, layer, machine)
    found = ((statement, fault(statement, use)) for statement in machine.statements)
    return [f"{statement.words()}, but {text}" for statement, text in found if text]


def under(architecture: Architecture, constraints: Iterable[Constraint]) -> Architecture:
    """Return a machine with constraints added to its own; the machine itself when there are none.

    The constraints may be those of `Constraints`, a dataflow or a list.
    """
    new = tuple(dict.fromkeys((*architecture.constraints, *constraints)))
    if new == architecture.constraints:
        return architecture
    return replace(architecture, constraints=new)


@dataclass(frozen=True)
class Use:
    """What constraints ask of a mapping.

    Attributes
    ----------
    mapping, layer, architecture
        The mapping, what it computes, and on what.
    """

    mapping: Mapping
    layer: Layer
    architecture: Architecture

    @cached_property
    def structure(self) -> Structure:
        """Its loops and store nodes."""
        return resolve(self.mapping, self.layer, self.architecture)

    @cached_property
    def factors(self) -> dict[tuple[str, str], dict[str, int]]:
        """Spatial factors of more than 1, by array and axis."""
        found: dict[tuple[str, str], dict[str, int]] = {}
        loops = iter(self.structure.loops)
        for node in self.mapping.nodes:
            if isinstance(node, Store):
                continue
            chunks = next(loops).chunks
            if isinstance(node, Spatial) and chunks > 1:
                own = found.setdefault((node.array, node.axis), {})
                own[node.dimension] = own.get(node.dimension, 1) * chunks
        return found

    def unrolled(self, array: str, axis: str | None) -> tuple[dict[str, int], int]:
        """Return the factors on an axis, or on a whole array, and its number of elements."""
        total: dict[str, int] = {}
        for (owner, on), own in self.factors.items():
            if owner == array and axis in (None, on):
                for dimension, factor in own.items():
                    total[dimension] = total.get(dimension, 1) * factor
        (level,) = (level for level in self.architecture.arrays if level.name == array)
        return total, level.elements if axis is None else level.axes[axis]

    def block(self, memory: str) -> list[str]:
        """Return the dimensions of the loops of a memory's block, outermost first."""
        position, structure = self.architecture.position, self.structure
        stores = [depth for (name, _), depth in structure.depths.items() if name == memory]
        if not stores:
            return []
        inside = [
            depth
            for (name, _), depth in structure.depths.items()
            if position[name] > position[memory]
        ]
        loops = structure.loops[: structure.named]
        inside += [
            depth
            for depth, loop in enumerate(loops)
            if loop.array and loop.chunks > 1 and position[loop.array] > position[memory]
        ]
        end = min(inside, default=len(loops))
        return [loop.dimension for loop in loops[max(stores) : end] if loop.chunks > 1]


def fault(statement: Constraint, use: Use) -> str:
    """Return what a mapping does instead of what one statement demands, or nothing."""
    arrays = {array.name for array in use.architecture.arrays}
    if statement.at in arrays:
        factors, elements = use.unrolled(statement.at, statement.axis)
        return array_fault(statement, factors, use.layer.bounds, elements)
    return memory_fault(statement, use)


def array_fault(
    statement: Constraint, factors: Dict[str, int], bounds: Dict[str, int], elements: int
) -> str:
    """Return what factors do instead of what a statement about an axis or array demands.

    Parameters
    ----------
    statement : Constraint
        One demand.
    factors : mapping of str to int
        Factor of each dimension on the axis, or on the whole array where none is named.
    bounds : mapping of str to int
        Bounds of the layer.
    elements : int
        Size of the axis, or of the array.
    """
    unrolled = {d: n for d, n in factors.items() if n > 1}
    shown = ", ".join(f"{d} by {n}" for d, n in unrolled.items()) or "nothing"
    found = f"this mapping unrolls {shown}"
    if statement.dims is not None:
        wrong = [f"{d} by {n}" for d, n in unrolled.items() if d not in statement.dims]
        return f"this mapping unrolls {', '.join(wrong)}" if wrong else ""
    if statement.max_dims is not None:
        return found if len(unrolled) > statement.max_dims else ""
    if statement.min_utilization is not None:
        used = prod(unrolled.values())
        if used_enough(used, statement.min_utilization, elements):
            return ""
        return f"this mapping uses {used / elements:.1%} ({used} of {elements} elements)"
    if any(d not in unrolled and bounds.get(d, 1) > 1 for d in statement.require):
        return found
    for dimension, limits in statement.factor:
        if not limits.allow(unrolled.get(dimension, 1), bounds.get(dimension, 1)):
            return f"this mapping unrolls {dimension} by {unrolled.get(dimension, 1)}"
    return ""


def memory_fault(statement: Constraint, use: Use) -> str:
    """Return what a mapping does instead of what a statement about a memory demands."""
    (memory,) = (m for m in use.architecture.memories if m.name == statement.at)
    structure = use.structure
    stored = [t.name for t in use.layer.tensors if (memory.name, t.name) in structure.depths]
    if statement.keep or statement.bypass:
        named = role_names(statement.keep | statement.bypass, use.layer)
        wrong = [name for name in named if (name in stored) == bool(statement.bypass)]
        does = "stores" if statement.bypass else "does not store"
        return f"this mapping {does} {', '.join(wrong)} there" if wrong else ""
    for dimension, limits in statement.tile:
        bound = use.layer.bounds.get(dimension, 1)
        chosen = role_names(statement.tensors, use.layer) if statement.tensors else stored
        for name in (name for name in stored if name in chosen):
            extents = structure.extents(structure.depths[memory.name, name])
            if not limits.allow(extents.get(dimension, 1), bound):
                return f"the tile of {name} there has {dimension} = {extents[dimension]}"
    if statement.min_utilization is not None:
        capacity = memory.total_bits or 0
        used = sum(
            structure.tile_words(memory.name, t) * (t.bits or memory.word_bits) * memory.buffering
            for t in use.layer.tensors
        )
        if used_enough(used, statement.min_utilization, capacity):
            return ""
        return f"this mapping uses {used / capacity:.1%} ({used} of {capacity} bits)"
    if statement.even and (split := loops_between(use, memory.name)):
        return f"there are loops on {', '.join(split)} between its store nodes"
    return block_fault(statement, use.block(memory.name))


def loops_between(use: Use, memory: str) -> list[str]:
    """Return the dimensions of the loops of several chunks between a memory's store nodes."""
    depths = [depth for (m, _), depth in use.structure.depths.items() if m == memory]
    loops = use.structure.loops[min(depths, default=0) : max(depths, default=0)]
    return [loop.dimension for loop in loops if loop.chunks > 1]


def block_fault(statement: Constraint, block: Sequence[str]) -> str:
    """Return what the loops of a block do instead of what a statement about them demands."""
    found = f"there they are on {', '.join(block)}, outermost first"
    if statement.innermost and block and block[-1] not in statement.innermost:
        return f"there it is on {block[-1]}"
    ranks = [statement.order.index(d) for d in block if d in statement.order]
    return found if ranks != sorted(ranks) else ""

"""Execution methods: a nest that is tiled at four levels, and the mapping that it is."""

from __future__ import annotations

from collections.abc import Mapping as Dict
from dataclasses import dataclass
from math import prod

from tilewright.architecture.machine import Architecture, Array, Compute, Memory
from tilewright.errors import InputError, MappingError
from tilewright.mapper.problem.lattice import prime_factors
from tilewright.mapping.nodes import For, Mapping, Node, Spatial, Store
from tilewright.mapping.validity import check_names
from tilewright.workload.layer import Layer

Loops = tuple[tuple[str, int], ...]
Trips = Dict[str, int]


@dataclass(frozen=True)
class Method:
    """An execution method, the explicitly tiled nest of the paper's Fig. 4b.

    Attributes
    ----------
    outer, inner : tuple of (str, int)
        Loops of the outermost memory and of the buffer: dimension and trip count, outermost first.
    spatial, registers : mapping of str to int
        Trip counts on the array and within one element, for every dimension.
    """

    outer: Loops
    inner: Loops
    spatial: Trips
    registers: Trips

    def extents(self, level: str) -> dict[str, int]:
        """Return the tile sizes at a level: ``"registers"``, ``"array"`` or ``"buffer"``."""
        result = dict(self.registers)
        if level != "registers":
            result = {d: size * self.spatial[d] for d, size in result.items()}
        if level == "buffer":
            for d, count in self.inner:
                result[d] *= count
        return result


def levels_of(machine: Architecture) -> tuple[Memory, Memory, Array, Memory, Compute]:
    """Return the levels of a machine of the kind that dMazeRunner covers.

    Raises
    ------
    InputError
        When it is not an outermost memory, a buffer, an array and registers.
    """
    match machine.levels:
        case (
            Memory() as dram,
            Memory() as buffer,
            Array() as array,
            Memory() as registers,
            Compute() as compute,
        ):
            return dram, buffer, array, registers, compute
    chain = " > ".join(level.name for level in machine.levels)
    raise InputError(
        "dmazerunner covers machines of two memories, an array and a third memory above "
        f"the compute unit; '{machine.name}' is {chain}",
        key="architecture",
    )


def method_of(mapping: Mapping, layer: Layer, machine: Architecture) -> Method:
    """Return the execution method that a mapping is.

    Parameters
    ----------
    mapping : Mapping
        All tensors stored at one point in each of three memories, loops that divide evenly. It
        need not fit the memories or the axes of the array.
    layer, machine
        What is computed, on what.

    Raises
    ------
    InputError
        When the machine is not of dMazeRunner's kind; a MappingError when the mapping is not.
    """
    dram, buffer, array, registers, _ = levels_of(machine)
    check_names(mapping, layer, machine)
    order = [dram.name, buffer.name, registers.name]
    stored: list[set[str]] = [set(), set(), set()]
    names = {tensor.name for tensor in layer.tensors}
    loops: tuple[list[tuple[str, int]], list[tuple[str, int]]] = ([], [])
    spatial, extents = dict.fromkeys(layer.dimensions, 1), dict(layer.bounds)
    below = -1  # the memory that the tensors were stored in last
    for i, node in enumerate(mapping.nodes):
        where = f"mapping[{i}]"
        if isinstance(node, Store):
            level = order.index(node.memory)
            if level > below and (below < 0 or stored[below] == names) and level == below + 1:
                below = level
            elif level != below or stored[below] & set(node.tensors):
                raise MappingError(
                    f"dmazerunner stores every tensor once in each of {', '.join(order)}, in this "
                    f"order; '{node.memory}' stores {', '.join(node.tensors)} here",
                    key=where,
                )
            stored[below] |= set(node.tensors)
            continue
        if below < 0 or stored[below] != names:
            raise MappingError(
                "dmazerunner has no loop between the store nodes of one memory, nor above those of "
                f"'{dram.name}'; there is one on {node.dimension}",
                key=where,
            )
        extent, tile = extents[node.dimension], node.tile
        if not 1 <= tile <= extent or extent % tile:
            raise MappingError(
                f"dmazerunner has tile sizes that divide evenly; {node.dimension} is {extent} "
                f"here, found tile {tile}",
                key=where,
            )
        extents[node.dimension], count = tile, extent // tile
        if isinstance(node, Spatial):
            if below != 1:
                raise MappingError(
                    f"spatial loops stand between '{buffer.name}' and '{registers.name}'", key=where
                )
            spatial[node.dimension] *= count
        elif below < 2 and count > 1:
            if prod(spatial.values()) > 1:
                raise MappingError(
                    f"dmazerunner has no temporal loop below the spatial loops of '{array.name}' "
                    f"and above '{registers.name}'; there is one on {node.dimension}",
                    key=where,
                )
            loops[below].append((node.dimension, count))
    if below < 2 or stored[2] != names:
        raise MappingError(
            f"dmazerunner stores every tensor in each of {', '.join(order)}", key="mapping"
        )
    inside = {d: prod(c for name, c in (*loops[0], *loops[1]) if name == d) for d in layer.bounds}
    held = {d: layer.bounds[d] // inside[d] // spatial[d] for d in layer.bounds}
    return Method(tuple(loops[0]), tuple(loops[1]), spatial, held)


def mapping_of(method: Method, layer: Layer, machine: Architecture) -> Mapping:
    """Return an execution method as a mapping, without loops of one chunk.

    The factors of the spatial loops are laid on the axes of the array so that they fit, if they
    can; dMazeRunner itself looks at the number of elements alone.
    """
    dram, buffer, array, registers, _ = levels_of(machine)
    names = tuple(tensor.name for tensor in layer.tensors)
    extents = dict(layer.bounds)
    nodes: list[Node] = []

    def cut(dimension: str, count: int) -> int:
        extents[dimension] //= count
        return extents[dimension]

    for memory, loops in ((dram, method.outer), (buffer, method.inner)):
        nodes.append(Store(memory.name, names))
        nodes += [For(d, cut(d, count)) for d, count in loops if count > 1]
    placed = on_axes(method.spatial, array)
    nodes += [Spatial(d, cut(d, count), axis, array.name) for axis, d, count in placed]
    return Mapping((*nodes, Store(registers.name, names)))


def on_axes(spatial: Trips, array: Array) -> list[tuple[str, str, int]]:
    """Return (axis, dimension, factor) of the spatial loops, on the first axis if they do not fit.

    Large prime factors are placed first, on the first axis with room for all that follow.
    """
    primes = sorted(
        ((p, d) for d, count in spatial.items() for p in powers(count)), key=lambda f: -f[0]
    )
    axes = list(array.axes)

    def place(i: int, room: list[int]) -> list[int] | None:
        if i == len(primes):
            return []
        for k, left in enumerate(room):
            if left >= primes[i][0]:
                rest = [*room[:k], left // primes[i][0], *room[k + 1 :]]
                if (found := place(i + 1, rest)) is not None:
                    return [k, *found]
        return None

    at = place(0, list(array.axes.values())) or [0] * len(primes)
    factors: dict[tuple[str, str], int] = {}
    for (prime, d), k in zip(primes, at, strict=True):
        factors[axes[k], d] = factors.get((axes[k], d), 1) * prime
    return [(axis, d, factors[axis, d]) for axis in axes for d in spatial if (axis, d) in factors]


def powers(n: int) -> list[int]:
    """Return the prime factors of n, each as often as it divides."""
    found = []
    for p in prime_factors(n):
        while n % p == 0:
            found.append(p)
            n //= p
    return found

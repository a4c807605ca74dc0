"""Every even mapping of a small layer, by trying all of them, and problems to try them on."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from itertools import permutations, product
from random import Random

from enumeration import Enumeration
from problems import layer as random_layer
from problems import machine as random_machine
from tilewright.architecture.machine import Architecture, Array, Level, Memory
from tilewright.architecture.transfers import Dma, Networks
from tilewright.errors import MappingError
from tilewright.mapper.pipelined.word_costs import covered
from tilewright.mapping.nodes import For, Mapping, Node, Spatial, Store
from tilewright.mapping.validity import check
from tilewright.workload.layer import Layer


@cache
def even_problem(seed: int, fewest: int = 20, most: int = 250) -> tuple[Layer, Architecture]:
    """Return a layer and a machine that the even search covers, with so many even mappings."""
    random = Random(seed)
    while True:
        layer, machine = random_layer(random), even_machine(random)
        if layer.operations > 100 or not covered(layer, machine):
            continue
        count = 0
        for _ in even_mappings(layer, machine):
            count += 1
            if count > most:
                break
        if fewest <= count <= most:
            return layer, machine


def even_machine(random: Random) -> Architecture:
    """Return a machine of at most three memories and an array."""
    dma = random.choice([None, Dma(3.0, 0.25)])

    def level_of(level: Level) -> Level:
        if isinstance(level, Memory):
            return replace(level, dma=dma if level.name == "M0" else None)
        if isinstance(level, Array):
            return replace(
                level,
                multicast=True,
                reduction=True,
                networks=random.choice([None, Networks(2, 1), Networks(3, 1, 1)]),
                adders=random.choice([None, "tree", "hops", "network"]),
            )
        return level

    while True:
        machine = random_machine(random)
        if len(machine.memories) > 3 or len(machine.arrays) > 1:
            continue
        return replace(machine, levels=tuple(map(level_of, machine.levels)))


def even_mappings(layer: Layer, machine: Architecture) -> Iterator[Mapping]:
    """Yield every even mapping that is valid."""
    for mapping in all_even(layer, machine):
        try:
            check(mapping, layer, machine)
        except MappingError:
            continue
        yield mapping


def all_even(layer: Layer, machine: Architecture) -> Iterator[Mapping]:
    """Yield every even mapping, whether it fits or not."""
    memories = machine.memories[1:]
    names = [tensor.name for tensor in layer.tensors]
    bounds = tuple(layer.bounds.values())
    space = Enumeration(layer, machine, run=False)
    for kept in product(*(subsets(names) for _ in memories)):
        used = [(m, own) for m, own in zip(memories, kept, strict=True) if own]
        for factors in product(*map(divisors, bounds)):
            axes = space.axes(0, factors) if machine.arrays else None
            if (machine.arrays and axes is None) or (not machine.arrays and max(factors) > 1):
                continue
            left = tuple(b // f for b, f in zip(bounds, factors, strict=True))
            for tiles in chains(left, len(used)):
                yield from nests(layer, machine, used, factors, axes or [], tiles)


def nests(
    layer: Layer,
    machine: Architecture,
    used: list[tuple[Memory, tuple[str, ...]]],
    factors: tuple[int, ...],
    axes: list[tuple[str, int, int]],
    tiles: list[tuple[int, ...]],
) -> Iterator[Mapping]:
    """Yield the mappings with these tiles, spatial loops aside: all orders of loops."""
    names = layer.dimensions
    position = machine.position
    array = machine.arrays[0] if machine.arrays else None
    blocks: list[list[int]] = []
    for before, tile in zip([tiles[0], *tiles[1:]], tiles[1:], strict=False):
        blocks.append([d for d, (a, b) in enumerate(zip(before, tile, strict=True)) if a > b])
    for orders in product(*(permutations(block) for block in blocks)):
        nodes: list[Node] = [Store(machine.memories[0].name, tuple(t.name for t in layer.tensors))]
        spread = False
        # tiles are those without what is spatial, as long as the spatial loops are still to come
        extents = list(layer.bounds.values())

        def unroll(nodes: list[Node] = nodes, extents: list[int] = extents) -> None:
            for axis, d, n in axes:
                extents[d] //= n
                nodes.append(Spatial(names[d], extents[d], axis, array.name if array else ""))

        for (memory, own), order, tile in zip(used, orders, tiles[1:], strict=True):
            for d in order:
                extents[d] = tile[d] * (1 if spread else factors[d])
                nodes.append(For(names[d], extents[d]))
            if array and not spread and position[array.name] < position[memory.name]:
                unroll()
                spread = True
            nodes.append(Store(memory.name, own))
        if array and not spread and axes:
            for d, factor in enumerate(factors):
                if extents[d] > factor:
                    extents[d] = factor
                    nodes.append(For(names[d], factor))
            unroll()
        yield Mapping(tuple(nodes))


def chains(whole: tuple[int, ...], count: int) -> Iterator[list[tuple[int, ...]]]:
    """Yield tiles of which each divides the one before, beginning with the whole."""
    if count == 0:
        yield [whole]
        return
    for tile in product(*map(divisors, whole)):
        for rest in chains(tile, count - 1):
            yield [whole, *rest]


def divisors(n: int) -> list[int]:
    return [d for d in range(1, n + 1) if n % d == 0]


def subsets(names: list[str]) -> list[tuple[str, ...]]:
    """Return all sets of names."""
    return [
        tuple(n for n, one in zip(names, chosen, strict=True) if one)
        for chosen in product([True, False], repeat=len(names))
    ]

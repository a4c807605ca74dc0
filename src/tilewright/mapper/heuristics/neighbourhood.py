"""Mappings that differ from another in one thing: a factor, the place of a node, a store."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import ceil
from random import Random

from tilewright.architecture.machine import Architecture
from tilewright.mapping.nodes import For, Mapping, Node, Spatial, Store
from tilewright.workload.layer import Layer


@dataclass(frozen=True)
class Item:
    """A loop with its number of chunks, or a store of one tensor.

    Attributes
    ----------
    dimension : str
        Dimension of a loop; the tensor of a store.
    factor : int
        Chunks of a loop; 0 for a store.
    place : tuple of str
        (array, axis) of a spatial loop, (memory,) of a store; empty for a temporal loop.
    """

    dimension: str
    factor: int
    place: tuple[str, ...] = ()


Items = tuple[Item, ...]


def items_of(mapping: Mapping, layer: Layer) -> Items:
    """Return the loops and stores of a mapping, outermost first.

    Loops of one chunk are left out. What is left to the compute unit comes last, as loops. Of tiles
    that do not divide, `mapping_of` makes such that all but the last are of one size.
    """
    extents = dict(layer.bounds)
    items = []
    for node in mapping.nodes:
        if isinstance(node, Store):
            items += [Item(tensor, 0, (node.memory,)) for tensor in node.tensors]
            continue
        place = (node.array, node.axis) if isinstance(node, Spatial) else ()
        if node.tile < extents[node.dimension]:
            items.append(Item(node.dimension, ceil(extents[node.dimension] / node.tile), place))
        extents[node.dimension] = node.tile
    return (*items, *(Item(d, extent) for d, extent in extents.items() if extent > 1))


def mapping_of(items: Items, layer: Layer) -> Mapping:
    """Return items as a mapping, without the loops that the compute unit carries out anyway."""
    extents = dict(layer.bounds)
    nodes: list[Node] = []
    for item in items:
        if not item.factor:
            memory = item.place[0]
            before = nodes[-1] if nodes else None
            if isinstance(before, Store) and before.memory == memory:
                nodes[-1] = Store(memory, (*before.tensors, item.dimension))
            else:
                nodes.append(Store(memory, (item.dimension,)))
            continue
        extent = extents[item.dimension]
        tile = extents[item.dimension] = ceil(extent / item.factor)
        if tile == extent:
            continue
        if item.place:
            array, axis = item.place
            nodes.append(Spatial(item.dimension, tile, axis, array))
        else:
            nodes.append(For(item.dimension, tile))
    while isinstance(nodes[-1], For):
        nodes.pop()
    return Mapping(tuple(nodes))


def neighbour(items: Items, architecture: Architecture, random: Random) -> Items:
    """Return items with one change, which may not be valid."""
    kind = random.random()
    if kind < 0.45:
        return moved_factor(items, architecture, random)
    if kind < 0.85:
        return moved_item(items, random)
    return changed_store(items, architecture, random)


def moved_factor(items: Items, architecture: Architecture, random: Random) -> Items:
    """Move a prime factor from one loop to another one, or to a new one, on its dimension."""
    loops = [i for i, item in enumerate(items) if item.factor > 1]
    if not loops:
        return items
    source = random.choice(loops)
    item = items[source]
    prime = random.choice(primes(item.factor))
    changed = list(items)
    changed[source] = replace(item, factor=item.factor // prime)
    others = [i for i in loops if i != source and items[i].dimension == item.dimension]
    if others and random.random() < 0.5:
        target = random.choice(others)
        changed[target] = replace(items[target], factor=items[target].factor * prime)
    else:
        axes = [(a.name, axis) for a in architecture.arrays for axis in a.axes]
        place = random.choice([(), *axes])
        at = random.randrange(1, len(items) + 1)
        spread = [
            i for i, other in enumerate(items) if other.factor and other.place[:1] == place[:1]
        ]
        if place and spread:
            at = random.choice(spread)
        changed.insert(at, Item(item.dimension, prime, place))
    return tuple(item for item in changed if item.factor != 1)


def moved_item(items: Items, random: Random) -> Items:
    """Move a loop or a store to another place, most often a near one."""
    changed = list(items)
    i = random.randrange(len(items))
    item = changed.pop(i)
    step = random.choice([-3, -2, -1, -1, 1, 1, 2, 3])
    changed.insert(max(0, min(len(changed), i + step)), item)
    return tuple(changed)


def changed_store(items: Items, architecture: Architecture, random: Random) -> Items:
    """Let a tensor bypass a memory, or store it there."""
    memories = [memory.name for memory in architecture.memories[1:]]
    outermost = architecture.memories[0].name
    tensors = [i.dimension for i in items if not i.factor and i.place == (outermost,)]
    if not memories:
        return items
    store = Item(random.choice(tensors), 0, (random.choice(memories),))
    if store in items:
        return tuple(item for item in items if item != store)
    at = random.randrange(1, len(items) + 1)
    return (*items[:at], store, *items[at:])


def primes(number: int) -> list[int]:
    """Return the different prime factors of a number."""
    found = []
    factor = 2
    while number > 1:
        if number % factor == 0:
            found.append(factor)
            while number % factor == 0:
                number //= factor
        factor += 1
    return found

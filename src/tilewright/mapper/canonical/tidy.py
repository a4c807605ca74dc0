"""Less memory at the same cost, step by step: for mappings that `polish` does not know.

Their tile sizes need not divide, and what they cost may be anything that can be asked for. A store
node, a loop or some factors of one are moved as long as that costs no more and needs less memory,
or as much in a simpler mapping. What is reached is the best of its neighbours, not of all mappings.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

from tilewright.architecture.machine import Architecture
from tilewright.errors import MappingError
from tilewright.mapper.canonical.polish import Cost, beyond, occupied
from tilewright.mapper.heuristics.neighbourhood import Item, Items, items_of, mapping_of
from tilewright.mapper.problem.lattice import divisors
from tilewright.mapping.constraints import violations
from tilewright.mapping.nodes import For, Mapping, Node, Spatial, Store
from tilewright.mapping.validity import check
from tilewright.workload.layer import Layer

Order = tuple[list[int], int, list[tuple[int, ...]]]
Move = tuple[Item, ...]


def tidied(
    mapping: Mapping,
    layer: Layer,
    architecture: Architecture,
    price: Callable[[Mapping], Cost],
    stop: Callable[[], bool] = lambda: False,
    even: bool = False,
) -> Mapping:
    """Return a mapping that costs no more and needs the least memory of its neighbours.

    Parameters
    ----------
    mapping : Mapping
        It is valid.
    layer, architecture
        What it computes, and on what.
    price : callable
        Returns the energy (pJ) and the cycles of a valid mapping.
    stop : callable
        Asked every now and then whether to end with the best so far.
    even : bool
        Whether to look at even mappings only, see `is_even`.
    """
    tensors = {tensor.name: t for t, tensor in enumerate(layer.tensors)}
    dimensions = {d: i for i, d in enumerate(layer.dimensions)}

    def place(node: Node) -> tuple[int, ...]:
        if isinstance(node, Spatial):
            return (0,)
        if isinstance(node, For):
            return (2, dimensions[node.dimension], node.tile)
        return (1, architecture.position[node.memory], *(tensors[name] for name in node.tensors))

    def order(one: Mapping) -> Order:
        loops = sum(isinstance(node, For) for node in one.nodes)
        return occupied(one, layer, architecture), loops, [place(node) for node in one.nodes]

    def allowed(one: Mapping) -> bool:
        if even and not is_even(one):
            return False
        try:
            check(one, layer, architecture)
        except MappingError:
            return False
        return not (architecture.statements and violations(one, layer, architecture))

    cost, best = price(mapping), order(mapping)
    tried = {mapping}
    failed: set[Move] = set()
    found = True
    while found:
        found = False
        moves = {one: move for move, one in neighbours(mapping, layer) if one not in tried}
        orders = {one: order(one) for one in moves}
        less = [one for one in moves if orders[one] < best]
        # what was of no use before seldom is now
        for one in sorted(less, key=lambda one: (moves[one] in failed, orders[one])):
            if stop():
                return mapping
            tried.add(one)
            if allowed(one) and not beyond(own := price(one), cost):
                mapping, cost, best = one, own, orders[one]
                found = True
                break
            failed.add(moves[one])
    return mapping


def is_even(mapping: Mapping) -> bool:
    """Whether every memory stores all its tensors at one place, below one loop of each dimension.

    The spatial loops of an array stand right above a memory, see `even_proof.EVENLY`.
    """
    memories: set[str] = set()
    block: set[str] = set()
    spatial = False
    for node in mapping.nodes:
        if isinstance(node, Store):
            if node.memory in memories:
                return False
            memories.add(node.memory)
            block.clear()
            spatial = False
        elif isinstance(node, Spatial):
            spatial = True
        elif spatial or node.dimension in block:
            return False
        else:
            block.add(node.dimension)
    return True


def neighbours(mapping: Mapping, layer: Layer) -> Iterator[tuple[Move, Mapping]]:
    """Yield the mappings that differ in the place of a node, or of factors of a loop.

    Each comes with what was moved, and what it stands behind. Some are not valid. The first one is
    the given one, but for tiles of other than equal size.
    """
    items = items_of(mapping, layer)
    yield items[:1], mapping_of(items, layer)
    for i, item in enumerate(items):
        if item.factor == 0:
            whole = items[:i] + items[i + 1 :]
            moves = [(item, whole)]
        elif item.place:
            continue
        else:
            moves = [
                (
                    replace(item, factor=part),
                    (*items[:i], replace(item, factor=item.factor // part), *items[i + 1 :]),
                )
                for part in divisors(item.factor)[1:]
            ]
        for moved, rest in moves:
            for j in range(1, len(rest) + 1):
                yield (moved, rest[j - 1]), mapping_of(joined((*rest[:j], moved, *rest[j:])), layer)


def joined(items: Items) -> Items:
    """Return items in which loops on one dimension that follow each other are one."""
    result: list[Item] = []
    for item in items:
        if item.factor == 1:
            continue
        last = result[-1] if result else None
        loops = item.factor > 1 and not item.place
        if last and loops and last.factor > 1 and replace(item, factor=last.factor) == last:
            result[-1] = replace(last, factor=last.factor * item.factor)
        else:
            result.append(item)
    return tuple(result)

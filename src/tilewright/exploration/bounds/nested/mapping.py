"""The mapping that costs what a bound says, where there is one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import islice, permutations, product

from tilewright.architecture.machine import Architecture
from tilewright.exploration.bounds.layer_words import Moved
from tilewright.exploration.bounds.nested.refined import find_nodes
from tilewright.exploration.bounds.words import Scratch
from tilewright.kernels.types import Ints
from tilewright.mapper.problem.lattice import divisors
from tilewright.mapping.nodes import For, Node, Spatial, Store
from tilewright.mapping.nodes import Mapping as LoopNest
from tilewright.mapping.relevance import in_letters
from tilewright.workload.layer import Layer

MOST_ORDERS = 12

Extents = dict[str, int]


def mappings_of(
    moved: Moved, scratch: Scratch, layer: Layer, machine: Architecture
) -> Iterator[LoopNest]:
    """Return mappings whose tiles are those of the last least product, with loops in some orders.

    Nothing says that they cost as little: a bound may be below all mappings.
    """
    nested, lists = moved.nested, moved.lists
    if not find_nodes(nested, lists, moved.space, moved.slides, scratch):
        return
    letters = [d for d in layer.dimensions if layer.bounds[d] > 1]
    vector, point, shape = (int(each) for each in lists.best_at)
    order = int(lists.order[0])

    def extents(digits: Ints) -> Extents:
        return {d: int(moved.space.values[k, digits[k]]) for k, d in enumerate(letters)}

    above = [
        (
            None if i == nested.virtual[order] else store(layer, machine, int(t), int(m)),
            extents(nested.digits[lists.chain[i]]),
        )
        for i, (t, m) in enumerate(
            zip(
                nested.node_tensor[order, : nested.nodes[order]].tolist(),
                nested.node_memory[order, : nested.nodes[order]].tolist(),
                strict=True,
            )
        )
    ]
    above.append((None, extents(nested.digits[shape])))
    spatial = unrolled(machine, layer, extents(nested.vectors[vector]))
    if spatial is None:
        return
    inside = extents(nested.tile[point])
    below = [
        (store(layer, machine, int(t), int(m)), extents(nested.digits[s]))
        for t, m, s in zip(
            nested.point_tensor[point], nested.point_memory[point], nested.point_shape[point],
            strict=True,
        )
        if t >= 0
    ]  # fmt: skip
    everything = Store(machine.memories[0].name, tuple(t.name for t in layer.tensors))
    whole = {d: layer.bounds[d] for d in letters}
    inner = [*placed(spatial, extents(nested.digits[shape])), *next(nest(inside, below))]
    for outer in islice(nest(whole, above), MOST_ORDERS):
        yield LoopNest((everything, *outer, *inner))


def store(layer: Layer, machine: Architecture, t: int, m: int) -> Store:
    """Return the store node of a tensor in a memory."""
    return Store(machine.memories[m].name, (layer.tensors[t].name,))


def nest(
    extents: Mapping[str, int], nodes: Sequence[tuple[Store | None, Extents]]
) -> Iterator[list[Node]]:
    """Return nodes with the loops between them, in every order of these."""
    steps, reached = [], dict(extents)
    for node, inside in nodes:
        loops: list[Node] = [For(d, inside[d]) for d in reached if inside[d] < reached[d]]
        ends: list[Node] = [] if node is None else [node]
        steps.append([(*each, *ends) for each in permutations(loops)])
        reached = dict(inside)
    for chosen in product(*steps):
        yield [node for each in chosen for node in each]


def unrolled(
    machine: Architecture, layer: Layer, factors: Extents
) -> list[tuple[str, str, Extents]] | None:
    """Divide spatial factors among the axes of the only array: (array, axis, factors)."""
    (array,) = machine.arrays
    named = in_letters(machine, layer)
    found: list[tuple[list[tuple[str, str, Extents]], Extents]] = [([], factors)]
    for axis, size in array.axes.items():
        allowed = named.allowed_dimensions(array.name, axis)
        grown = []
        for chosen, rest in found:
            options = [divisors(rest[d]) if allowed is None or d in allowed else [1] for d in rest]
            for own in product(*options):
                used = 1
                for factor in own:
                    used *= factor
                if used <= size:
                    mine = dict(zip(rest, own, strict=True))
                    grown.append(
                        (
                            [*chosen, (array.name, axis, mine)],
                            {d: rest[d] // mine[d] for d in rest},
                        )
                    )
        found = grown
    return next((chosen for chosen, rest in found if set(rest.values()) <= {1}), None)


def placed(spatial: Sequence[tuple[str, str, Extents]], extents: Extents) -> list[Node]:
    """Return the spatial nodes inside loops that have reached some extents."""
    nodes: list[Node] = []
    left = dict(extents)
    for array, axis, factors in spatial:
        for d, factor in factors.items():
            if factor > 1:
                left[d] //= factor
                nodes.append(Spatial(d, left[d], axis, array))
    return nodes

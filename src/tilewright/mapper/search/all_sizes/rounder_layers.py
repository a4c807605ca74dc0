"""Layers with bounds that have more divisors, whose mappings are cut down to the true bounds."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from collections.abc import Mapping as Dict
from dataclasses import replace
from functools import lru_cache
from math import ceil, prod

import numpy as np

from tilewright.architecture.constraints.constraint import Constraint, Limits
from tilewright.architecture.machine import Architecture
from tilewright.kernels.types import Floats, Ints
from tilewright.mapper.problem.lattice import divisor_count, divisor_counts
from tilewright.mapper.relaxations.stays.least_cost import Least
from tilewright.mapper.search.best_first import STEPS, WALKS
from tilewright.mapper.search.search import Search
from tilewright.mapping.nodes import Mapping, Store
from tilewright.model.evaluate import evaluate
from tilewright.workload.layer import Layer

GROWTH = 1.1  # of a bound that has few divisors
WORTH = 2.0  # times as many divisors make a larger bound worth a search
MANY_MORE = 16  # times as many shapes, for a layer to have few
MOST_SHAPES = 8192  # of the layer with rounder bounds
MOST_ANNEALED = 1 << 16  # of one that is annealed only
SHORT = 256  # iterations of a window, for which annealing takes no longer than for others
ENOUGH = STEPS // 2  # steps of annealing: what it finds is improved for the true bounds
FEWEST = 100  # of these
MOST_ROUNDER = 1 << 20  # larger bounds that are looked at for a rounder one


def rounder_layers(
    layer: Layer, least: Least, values: Floats, annealed: bool = False
) -> Iterator[Layer]:
    """Yield the layer with rounder bounds.

    They are multiples of the instances of those spatial choices for which the lower bound of all
    mappings is least; the first ones look at no spatial choice.

    Parameters
    ----------
    values : array
        Lower bounds of the spatial choices of `least`.
    annealed : bool
        Whether the layers may have more shapes, because they are annealed only.
    """
    shapes = MOST_ANNEALED if annealed else MOST_SHAPES
    tried = [dict(layer.bounds)]
    order = np.argsort(values, kind="stable")
    likely = least.spread[:, :, order].prod(axis=0).astype(np.int64).T.tolist()
    for instances in ([1] * len(layer.bounds), *likely):
        bounds = rounder_bounds(dict(zip(layer.bounds, instances, strict=True)), layer, shapes)
        if bounds not in tried:
            tried.append(bounds)
            yield replace(layer, bounds=bounds)


def rounded(layer: Layer) -> Layer:
    """Return the layer with rounder bounds that look at no spatial choice."""
    ones = dict.fromkeys(layer.bounds, 1)
    return replace(layer, bounds=rounder_bounds(ones, layer, MOST_ANNEALED))


def has_few_divisors(layer: Layer) -> bool:
    """Whether slightly larger bounds give many times as many shapes."""
    own, other = (prod(map(divisor_count, of.bounds.values())) for of in (layer, rounded(layer)))
    return other >= MANY_MORE * own


def with_a_choice(
    layer: Layer, architecture: Architecture, elements: Ints
) -> tuple[Layer, Architecture]:
    """Return the layer with rounder bounds, and the machine with one spatial choice alone.

    Parameters
    ----------
    elements : array of (arrays, dimensions)
        Of each array along each dimension.
    """
    instances = dict(zip(layer.bounds, elements.prod(axis=0).tolist(), strict=True))
    found = rounder_bounds(instances, layer, MOST_ANNEALED)
    bounds = {d: -(-bound // instances[d]) * instances[d] for d, bound in found.items()}
    choice = tuple(
        Constraint(array.name, factor=((d, Limits(n, n)),))
        for array, own in zip(architecture.arrays, elements.tolist(), strict=True)
        for d, n in zip(layer.bounds, own, strict=True)
    )
    own = replace(architecture, constraints=(*architecture.constraints, *choice))
    return replace(layer, bounds=bounds), own


def cut_down(
    rounder_layer: Layer,
    layer: Layer,
    architecture: Architecture,
    objective: str,
    best: Mapping,
    stop: Callable[[], bool],
    annealed: bool = False,
) -> Mapping | None:
    """Return the best mapping of a layer with rounder bounds, cut down to the true ones.

    It is None where none promises more than the best mapping so far: energy and cycles are taken to
    be larger in proportion to the operations. With `annealed` it is a good one, found in less time.
    """
    cost = evaluate(layer, architecture, best, check=False)
    growth = rounder_layer.operations / layer.operations
    search = Search(rounder_layer, architecture, objective)
    if not np.diff(search.space.unroll_start).all():
        return None  # no spatial choice of an array is allowed
    search.only_below(growth * cost.energy_pj, ceil(growth * cost.cycles))
    if annealed:
        # a step takes longer the longer windows are
        search.anneal(WALKS, max(ENOUGH * SHORT // max(SHORT, longest_window(layer)), FEWEST), stop)
        found = search.found
    else:
        found = search.solve(stop)
    if found.mapping is None:
        return None
    return Mapping(
        tuple(
            node
            if isinstance(node, Store)
            else replace(node, tile=min(node.tile, layer.bounds[node.dimension]))
            for node in found.mapping.nodes
        )
    )


def longest_window(layer: Layer) -> int:
    """Return the most iterations of a dimension of an index expression of several, or 1."""
    several = [own for t in layer.tensors for own in t.expressions if len(own) > 1]
    return max((layer.bounds[term.dimension] for own in several for term in own), default=1)


def rounder_bounds(instances: Dict[str, int], layer: Layer, shapes: int) -> dict[str, int]:
    """Return rounder bounds as long as shapes stay few.

    Those come first that instances do not divide, then the largest ones.
    """
    found = dict(layer.bounds)
    for d in sorted(found, key=lambda d: (found[d] % instances[d] == 0, -found[d])):
        others = prod(divisor_count(bound) for name, bound in found.items() if name != d)
        room = shapes // others
        chunk = ceil(found[d] / instances[d])
        # as many divisors as possible, or as there is room for
        for most in (room, room // divisor_count(instances[d])):
            tried = instances[d] * rounder(chunk, most)
            if divisor_count(tried) <= room:
                found[d] = tried
                break
    return found


@lru_cache(maxsize=1 << 12)
def rounder(bound: int, most: int) -> int:
    """Return a bound that is little larger and has many more divisors, or the bound itself.

    Parameters
    ----------
    most : int
        Divisors that it may have.
    """
    if bound == 1:
        return 1
    last = int(bound * GROWTH) + 1
    if last - bound > MOST_ROUNDER:
        return bound
    counts = divisor_counts(bound, last)
    counts[1:][counts[1:] > most] = 0
    best = 1 + int(counts[1:].argmax())
    return bound + best if counts[best] >= WORTH * counts[0] else bound

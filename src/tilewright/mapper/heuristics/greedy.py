"""A mapping to begin with: factors moved from level to level as long as that helps."""

from __future__ import annotations

from collections.abc import Callable
from math import inf
from random import Random

from tilewright.architecture.machine import Architecture, Array, Memory
from tilewright.mapper.heuristics.neighbourhood import primes
from tilewright.mapping.nodes import For, Mapping, Node, Spatial, Store
from tilewright.mapping.relevance import in_letters
from tilewright.workload.layer import Layer

TRIES = 500
# by level, axis and dimension: chunks of a loop there
Factors = dict[tuple[str, str, str], int]


def greedy_mapping(
    layer: Layer,
    architecture: Architecture,
    cost: Callable[[Mapping, float], float],
    random: Random,
    stop: Callable[[], bool],
) -> Mapping | None:
    """Return a mapping in which every memory keeps what it may, in one tile of all tensors.

    All loops stand outermost at first. Then prime factors move to other levels at random, and stay
    where that costs no more, or nothing valid has been met. Loops of one level have the sums
    inside, so that they stay.

    Parameters
    ----------
    layer, architecture
        What is mapped onto what.
    cost : callable
        Returns what a mapping costs, or infinity when that is more than a limit, or it is invalid.
    random : Random
        Source of random numbers.
    stop : callable
        Asked every now and then whether to end.

    Returns
    -------
    Mapping or None
        None when no valid one is met: memories have no room for a word of everything that they may
        keep, or constraints exclude what a few steps lead to.
    """
    places = list(loop_places(layer, architecture))
    factors: Factors = dict.fromkeys(places, 1)
    outermost = architecture.memories[0].name
    for dimension, bound in layer.bounds.items():
        factors[outermost, "", dimension] = bound
    best = nest(factors, layer, architecture)
    value = cost(best, inf)
    for _ in range(TRIES if layer.operations > 1 else 0):
        if stop():
            break
        source = random.choice([place for place, factor in factors.items() if factor > 1])
        others = [place for place in places if place[2] == source[2] and place != source]
        if not others:
            continue
        target = random.choice(others)
        prime = random.choice(primes(factors[source]))
        changed = factors | {
            source: factors[source] // prime,
            target: factors[target] * prime,
        }
        mapping = nest(changed, layer, architecture)
        found = cost(mapping, value)
        if found <= value:
            value, best, factors = found, mapping, changed
    return best if value < inf else None


def loop_places(layer: Layer, architecture: Architecture) -> list[tuple[str, str, str]]:
    """Return where loops may stand: below the stores of each memory, and along each axis."""
    places = []
    machine = in_letters(architecture, layer)
    for level in machine.levels:
        wide = [d for d, bound in layer.bounds.items() if bound > 1]
        if isinstance(level, Memory):
            places += [(level.name, "", d) for d in wide]
        elif isinstance(level, Array):
            for axis in level.axes:
                allowed = machine.allowed_dimensions(level.name, axis)
                places += [(level.name, axis, d) for d in wide if allowed is None or d in allowed]
    return places


def nest(factors: Factors, layer: Layer, architecture: Architecture) -> Mapping:
    """Return the mapping with loops of so many chunks, those of one chunk included."""
    extents = dict(layer.bounds)
    order = sorted(layer.bounds, key=lambda d: d not in layer.output.dimensions)
    nodes: list[Node] = []
    for level in architecture.levels:
        if isinstance(level, Memory):
            first = level is architecture.memories[0]
            kept = tuple(t.name for t in layer.tensors if first or level.may_store(t.role))
            if kept:
                nodes.append(Store(level.name, kept))
        axes = list(level.axes) if isinstance(level, Array) else [""]
        last = level is architecture.memories[-1]
        for axis in axes:
            for d in order:
                factor = factors.get((level.name, axis, d))
                # below the innermost memory the compute unit goes on by itself
                if factor is None or (last and not axis):
                    continue
                extents[d] //= factor
                if axis:
                    nodes.append(Spatial(d, extents[d], axis, level.name))
                else:
                    nodes.append(For(d, extents[d]))
    return Mapping(tuple(nodes))

"""How many even mappings there are."""

from __future__ import annotations

from collections import Counter
from math import factorial

import numpy as np

from tilewright.kernels.types import Floats
from tilewright.mapper.pipelined.best_even import EvenSearch
from tilewright.mapper.problem.bypass_choices import keep_choices
from tilewright.mapper.problem.lattice import divisors


def even_mappings(search: EvenSearch) -> float:
    """Return the number of even mappings, those that exceed a capacity included.

    The loops above each memory stand in any order: n dimensions with several chunks in n! ones.
    So dimensions count by the memories above which they have loops.
    """
    choices = Counter(
        len({m for own in keep for m in own}) - 1
        for keep in keep_choices(search.layer, search.architecture)
    )
    factors = search.tables.factors[: len(search.tables.elements)]
    most = len(search.names) + 1
    orders = np.array([float(factorial(n)) for n in range(most)])
    total = 0.0
    for memories, ways in choices.items():
        # by spatial choice and number of dimensions that have loops above each memory
        counts = np.zeros((len(factors), *[most] * memories))
        counts.reshape(len(factors), -1)[:, 0] = 1.0
        for i, name in enumerate(search.names):
            cuts = np.zeros_like(counts)
            for above, number in ways_of(search.layer.bounds[name], memories).items():
                times = number[factors[:, i]].reshape(-1, *[1] * memories)
                cuts += times * raised(counts, above)
            counts = cuts
        for _ in range(memories):
            counts = counts @ orders
        total += ways * float(counts.sum())
    return total


def raised(counts: Floats, above: tuple[int, ...]) -> Floats:
    """Return counts with one dimension more above each memory that is marked."""
    for axis, more in enumerate(above, start=1):
        if more:
            counts = np.roll(counts, 1, axis)
    return counts


def ways_of(bound: int, memories: int) -> dict[tuple[int, ...], Floats]:
    """Return in how many ways a dimension is cut, by spatial factor.

    The keys mark the memories above which it has several chunks.
    """
    found: dict[tuple[int, ...], Floats] = {}
    for factor in divisors(bound):
        chains: Counter[tuple[int, ...]] = Counter({(bound // factor,): 1})
        for _ in range(memories):
            longer: Counter[tuple[int, ...]] = Counter()
            for (left, *marks), times in chains.items():
                for tile in divisors(left):
                    longer[tile, *marks, int(tile < left)] += times
            chains = longer
        for (_, *marks), times in chains.items():
            found.setdefault(tuple(marks), np.zeros(bound + 1))[factor] += times
    return found

"""How many even mappings there are."""

from __future__ import annotations

from collections import Counter
from math import factorial

import numpy as np

from tilewright.mapper.even import EvenSearch
from tilewright.mapper.lattice import divisors
from tilewright.mapper.links import keep_choices


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
    total = 0.0
    for memories, ways in choices.items():
        # by spatial choice and number of dimensions that have loops above each memory
        counts = np.zeros((len(factors), *[len(search.names) + 1] * memories))
        counts[(slice(None), *[0] * memories)] = 1.0
        for i, name in enumerate(search.names):
            counts = sum(
                moved(counts, above) * number[factors[:, i]][(slice(None), *[None] * memories)]
                for above, number in ways_of(search.layer.bounds[name], memories).items()
            )
        orders = np.array([float(factorial(n)) for n in range(len(search.names) + 1)])
        for _ in range(memories):
            counts = counts @ orders
        total += ways * float(counts.sum())
    return total


def moved(counts: np.ndarray, above: tuple[int, ...]) -> np.ndarray:
    """Return counts with one dimension more above each memory that is marked."""
    for axis, more in enumerate(above, start=1):
        if more:
            counts = np.roll(counts, 1, axis)
    return counts


def ways_of(bound: int, memories: int) -> dict[tuple[int, ...], np.ndarray]:
    """Return in how many ways a dimension is cut, by spatial factor.

    The keys mark the memories above which it has several chunks.
    """
    found: dict[tuple[int, ...], np.ndarray] = {}
    for factor in divisors(bound):
        chains = {(bound // factor,): 1}
        for _ in range(memories):
            longer: dict[tuple[int, ...], int] = {}
            for chain, times in chains.items():
                for tile in divisors(chain[0]):
                    key = (tile, *chain[1:], int(tile < chain[0]))
                    longer[key] = longer.get(key, 0) + times
            chains = longer
        for chain, times in chains.items():
            found.setdefault(chain[1:], np.zeros(bound + 1))[factor] += times
    return found

"""Index expressions of several dimensions: how many of their iterations give the same word."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import ceil, gcd, prod

from tilewright.workload.layer import Tensor, Term


def sliding(tensor: Tensor, bounds: Mapping[str, int]) -> list[tuple[Term, ...]]:
    """Return the terms of expressions of which several dimensions have more than one iteration."""
    live = [tuple(t for t in terms if bounds[t.dimension] > 1) for terms in tensor.expressions]
    return [terms for terms in live if len(terms) > 1]


def most_pairs(terms: Sequence[Term], bounds: Mapping[str, int]) -> float:
    """Return how many iterations of an index expression give the same word at most."""
    if len(terms) == 2:
        (a, m), (b, n) = ((t.coefficient, bounds[t.dimension]) for t in terms)
        g = gcd(a, b)
        return float(min(ceil(m / (b // g)), ceil(n / (a // g))))
    extents = [bounds[t.dimension] for t in terms]
    return float(prod(extents)) / max(extents)

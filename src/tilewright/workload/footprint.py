"""How many distinct words a box of the loop nest touches."""

from __future__ import annotations

from collections.abc import Mapping
from math import gcd, prod

from tilewright.workload.layer import Tensor, Term


def expression_words(terms: tuple[Term, ...], extents: Mapping[str, int]) -> int:
    """Return the number of distinct values of one index expression over a box.

    Parameters
    ----------
    terms : tuple of Term
        The sum ``a*i + b*j + ...``.
    extents : mapping of str to int
        Extent of each dimension of the box; it starts anywhere.

    Notes
    -----
    For ``a*i + b*j`` with extents m, n, two pairs give the same value exactly when they differ by
    a multiple of (b/g, -a/g), g = gcd(a, b): there are
    ``m*n - max(0, m - b/g) * max(0, n - a/g)`` distinct values.
    """
    terms = tuple(term for term in terms if extents[term.dimension] > 1)
    if not terms:
        return 1
    if len(terms) == 1:
        return extents[terms[0].dimension]
    if len(terms) == 2:
        (a, m), (b, n) = ((t.coefficient, extents[t.dimension]) for t in terms)
        g = gcd(a, b)
        return m * n - max(0, m - b // g) * max(0, n - a // g)
    import numpy as np  # sums of three terms are rare, and a cached result needs no arrays

    touched = np.ones(1, dtype=bool)
    for term in terms:
        count = extents[term.dimension]
        wider = np.zeros(len(touched) + term.coefficient * (count - 1), dtype=bool)
        for i in range(count):
            wider[i * term.coefficient : i * term.coefficient + len(touched)] |= touched
        touched = wider
    return int(touched.sum())


def footprint(tensor: Tensor, extents: Mapping[str, int]) -> int:
    """Return the number of words of a tensor that a box of the given extents touches."""
    return prod(expression_words(terms, extents) for terms in tensor.expressions)

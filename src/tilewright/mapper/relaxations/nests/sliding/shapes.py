"""What each shape of a tile serves by itself in one of its cases."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tilewright.kernels.copies import copy
from tilewright.kernels.kernel import called_leaf, part
from tilewright.mapper.relaxations.nests.sliding.case_serves import (
    HEAD,
    ROOM,
    SLID,
    case_serves,
    least_words,
    most_in,
)
from tilewright.mapper.relaxations.nests.sliding.window_spans import Instances
from tilewright.mapper.windows.slides import pair_words

if TYPE_CHECKING:
    from tilewright.kernels.types import Floats, Ints
    from tilewright.mapper.relaxations.nests.nest import Nest

MOST_SHAPES = 256  # of a tile that are looked at one by one


@called_leaf
def served_of(
    ns: Nest, shape: Ints, instances: Instances, far: Ints, most: Floats, same: Floats
) -> None:
    """Fill what one shape of a case serves of the window, and no more than any shape of it.

    Parameters
    ----------
    far : array of (4, dimensions)
        See `case_serves`.
    most : array of 2
        What the case serves at most, in an instance and of what all share.
    same : array of (2, tensors)
    """
    for k in range(2):
        served_here = case_serves(ns, shape, instances, far, k == 1, 1.0)
        same[k, ns.window] = min(most[k], served_here)


@part
def shapes_of(ns: Nest, case: Ints, spread: Ints, far: Ints) -> Ints:
    """Return a case with each shape that the tile may have along an expression by itself.

    That is the one along which it slides, or the first one. Where there are too many shapes, it is
    the case itself.
    """
    t = ns.window
    slid = case[SLID]
    e = 0
    while slid < 0:
        slid = e if ns.terms[t, e, 2] >= 0 else -1
        e += 1
    at = HEAD + 4 * slid
    last = most_in(ns, case, slid, 0, spread, far)
    end = most_in(ns, case, slid, 1, spread, far)
    _, a, _, b = ns.terms[t, slid]
    rest = 1.0
    for e in range(ns.terms.shape[1]):
        if e != slid and ns.terms[t, e, 2] >= 0:
            rest *= least_words(ns, case, e)
    shapes = np.empty((MOST_SHAPES, len(case)), np.int64)
    n = 0
    for m in range(case[at], last + 1):
        for k in range(case[at + 2], end + 1):
            if pair_words(m, k, a, b, False) * rest > case[ROOM]:
                break
            if n == MOST_SHAPES:
                copy(case, shapes[0])
                return shapes[:1]
            copy(case, shapes[n])
            shapes[n, at] = shapes[n, at + 1] = m
            shapes[n, at + 2] = shapes[n, at + 3] = k
            n += 1
    if n == 0:
        copy(case, shapes[0])
        n = 1
    return shapes[:n]

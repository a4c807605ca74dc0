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
    far : array of (5, dimensions)
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
    """Return a case with each shape that the tile may have, by itself.

    Where there are too many, it is each shape along one expression: that along which it slides, or
    the first one. Where these are too many, it is the case itself.
    """
    t = ns.window
    slid = case[SLID]
    e = 0
    while slid < 0:
        slid = e if ns.terms[t, e, 2] >= 0 else -1
        e += 1
    # two arrays, not parts of one: what takes either is compiled once
    shapes = np.empty((MOST_SHAPES, len(case)), np.int64)
    more = np.empty_like(shapes)
    copy(case, more[0])
    n = shapes_along(ns, slid, spread, far, more, 1, shapes)
    if n == 0:
        return more[:1]
    for e in range(ns.terms.shape[1]):
        if e != slid and ns.terms[t, e, 2] >= 0:
            count = shapes_along(ns, e, spread, far, shapes, n, more)
            if count > 0:
                shapes, more, n = more, shapes, count
    return shapes[:n]


@called_leaf
def shapes_along(
    ns: Nest, e: int, spread: Ints, far: Ints, shapes: Ints, count: int, more: Ints
) -> int:
    """Fill shapes with each extent that they may have along an expression; return how many.

    It is 0 where there are too many, or none.
    """
    at = HEAD + 4 * e
    _, a, _, b = ns.terms[ns.window, e]
    n = 0
    for i in range(count):
        own = shapes[i]
        rest = 1.0
        for x in range(ns.terms.shape[1]):
            if x != e and ns.terms[ns.window, x, 2] >= 0:
                rest *= least_words(ns, own, x)
        last = most_in(ns, own, e, 0, spread, far)
        end = most_in(ns, own, e, 1, spread, far)
        for m in range(own[at], last + 1):
            for k in range(own[at + 2], end + 1):
                if pair_words(m, k, a, b, False) * rest > own[ROOM]:
                    break
                if n == len(more):
                    return 0
                copy(own, more[n])
                more[n, at] = more[n, at + 1] = m
                more[n, at + 2] = more[n, at + 3] = k
                n += 1
    return n

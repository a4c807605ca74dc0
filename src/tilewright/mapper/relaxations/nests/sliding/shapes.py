"""What each shape of a tile serves by itself in one of its cases."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tilewright.kernels.copies import copy
from tilewright.kernels.kernel import called_leaf, part
from tilewright.mapper.relaxations.nests.sliding.case_numbers import (
    HEAD,
    LEVEL,
    ROOM,
    SLID,
)
from tilewright.mapper.relaxations.nests.sliding.case_serves import (
    case_serves,
    least_words,
    most_in,
)
from tilewright.mapper.relaxations.nests.sliding.cases import limit_case
from tilewright.mapper.relaxations.nests.sliding.stay_limits import MOST_DIMENSIONS
from tilewright.mapper.relaxations.nests.sliding.window_spans import (
    Instances,
    Nested,
    fits,
    most_of,
)
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


@called_leaf
def limits_of(ns: Nest, nested: Nested, shape: Ints, limits: Ints, own: Ints) -> None:
    """Fill how long the outermost tile stays at most with one shape of a case.

    Where loops reach beyond the outermost tile, what that one stays through is part of the shape.

    Parameters
    ----------
    limits : array of (dimensions + 4)
        See `stay_limits.windows_of`.
    own : array of (dimensions + 4)
        Filled.
    """
    copy(limits, own)
    nd, p = len(nested.size), nested.place[ns.window]
    if shape[LEVEL] >= 0 or p <= 0 or shape[SLID] < 0:
        return
    grow(ns, nested, shape)
    for d in range(nd):
        run = own[nd + 1] >= 0 and own[nd + 1] // MOST_DIMENSIONS == d
        if own[d] > 0 and not run:
            own[d] = max(1, min(own[d], most_of(ns, nested, p, d, own[d])))
    for e in range(ns.terms.shape[1]):
        for k in range(2):
            d = ns.terms[ns.window, e, 2 * k]
            run = own[nd + 1] >= 0 and own[nd + 1] // MOST_DIMENSIONS == d
            if ns.terms[ns.window, e, 2] >= 0 and own[d] > 0 and not run:
                own[d] = min(own[d], shape[HEAD + 4 * e + 2 * k + 1])
    for d in range(nd):
        nested.grown[d] = 1


@part
def shapes_of(ns: Nest, nested: Nested, case: Ints, spread: Ints, far: Ints) -> Ints:
    """Return a case with each shape that the tile may have, by itself.

    Tiles outside span no less than that, and shapes with which they do not fit are left out. Where
    there are too many shapes, it is each one along one expression: that along which it slides, or
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
    return shapes[: those_that_fit(ns, nested, shapes, n)]


@called_leaf
def grow(ns: Nest, nested: Nested, shape: Ints) -> None:
    """Let tiles up to that of the window span what a case asks for, and what the window's spans."""
    grown, t = nested.grown, ns.window
    copy(shape[HEAD + 4 * ns.terms.shape[1] :], grown)
    for e in range(ns.terms.shape[1]):
        for k in range(2):
            if ns.terms[t, e, 2] >= 0:
                d = ns.terms[t, e, 2 * k]
                grown[d] = max(grown[d], shape[HEAD + 4 * e + 2 * k])


@called_leaf
def those_that_fit(ns: Nest, nested: Nested, shapes: Ints, count: int) -> int:
    """Move the shapes that fit the inner memory with all other tiles to the front; count them.

    Loops reach less far where larger tiles leave less room.
    """
    n = 0
    for i in range(count):
        grow(ns, nested, shapes[i])
        if fits(ns, nested, nested.place[ns.window]):
            copy(shapes[i], shapes[n])
            limit_case(ns, nested, shapes[n])
            n += 1
    for d in range(len(nested.grown)):
        nested.grown[d] = 1
    return n


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

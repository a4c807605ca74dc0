"""How long the outermost tile below the array stays at most, where a tile inside of it slides on.

What it stays through is part of the sliding tile then, see `limit_stays`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tilewright.kernels.kernel import called_leaf, leaf
from tilewright.mapper.relaxations.nests.sliding.window_spans import (
    BACK,
    FAR,
    RARE,
    RUN,
    SPAN,
    Nested,
    chunks,
    fits,
    is_narrow,
    most_of,
    most_spanned,
    reach,
    within,
)

if TYPE_CHECKING:
    from tilewright.kernels.types import Ints
    from tilewright.mapper.relaxations.nests.nest import Nest

LESS = -2  # a limit: less than all
MOST_DIMENSIONS = 64


@called_leaf
def windows_of(
    ns: Nest,
    nested: Nested,
    kind: int,
    spanned: Ints,
    windows: Ints,
    limits: Ints,
) -> bool:
    """Fill what is known of the windows of tiles, and how long the outermost one stays at most.

    Parameters
    ----------
    kind : int
        0 where loops on windows do not reach beyond the outermost tile, 1 where those do that a
        tile slides along, 2 + e where those around them do, on the other dimension of expression e,
        and bring back the tile. Where the outermost tile spans one iteration of that dimension, it
        stays for as long as the run is, which is limited; or else the tile comes back now and then,
        with loops on the first dimension around those: from 2 + expressions on.
    windows : array of (expressions, FIELDS)
    limits : array of (dimensions + 4)
        Of each dimension, LESS or -1, and the most iterations of all limited ones together. Then
        a dimension x `MOST_DIMENSIONS` + another one, or -1: where an array cuts that one, its
        loops make larger steps, and the limit of the first is as many times that. Last is by how
        much a run along the first is longer than so many tiles.

    Returns
    -------
    bool
        Whether this kind is different from kind 0.
    """
    order, size, place = nested.order, nested.size, nested.place
    t = ns.window
    nd = len(size)
    for d in range(nd + 4):
        limits[d] = -1
    for e in range(len(windows)):
        d, _, o, _ = ns.terms[t, e]
        windows[e, SPAN], windows[e, SPAN + 1] = ns.bounds[max(d, 0)], ns.bounds[max(o, 0)]
        windows[e, RUN], windows[e, RUN + 1] = windows[e, SPAN], windows[e, SPAN + 1]
        windows[e, BACK], windows[e, BACK + 1] = 1, 1
        windows[e, FAR], windows[e, FAR + 1] = windows[e, SPAN], windows[e, SPAN + 1]
        windows[e, RARE], windows[e, RARE + 1] = 0, 0
    if t < 0 or place[t] < 0:
        return kind == 0
    if place[t] == 0:
        # nothing below the array is around it: it may slide, and come back, wherever loops lead
        for e in range(len(windows)):
            for k in range(2):
                d = ns.terms[t, e, 2 * k]
                if d >= 0:
                    windows[e, SPAN + k] = most_spanned(ns, nested, t, d)
                windows[e, RARE + k] = 1
        return kind == 0
    for d in range(nd):
        spanned[d] = 1
        if ns.relevant[t, d]:
            spanned[d] = most_spanned(ns, nested, t, d)
    differs = kind == 0
    ne = len(windows)
    for e in range(ne):
        if ns.terms[t, e, 2] < 0:
            continue
        tight = is_narrow(ns, nested, e)
        slides, back = kind == 1, kind == 1 or kind == 2 + e or kind == 2 + ne + e
        for k in range(2):
            d, o = ns.terms[t, e, 2 * k], ns.terms[t, e, 2 - 2 * k]
            far = reach(ns, nested, t, d, d, -1, slides, False, False)
            around = reach(ns, nested, t, o, o, d, back, tight, False)
            windows[e, SPAN + k], windows[e, RUN + k] = spanned[d], far
            windows[e, FAR + k] = reach(ns, nested, t, d, d, o, back, tight, False)
            windows[e, BACK + k] = far > 1 and around > 1
            if kind == 1 and ns.owner[d] != order[0]:
                near = reach(ns, nested, t, d, d, -1, False, False, True)
                differs |= far > near
            if kind > 1 and back and ns.owner[d] == order[0]:
                near = reach(ns, nested, t, o, o, d, False, tight, True)
                differs |= around > near and (kind == 2 + e or tight)
            if kind == 2 + ne + e:
                windows[e, RARE + k] = windows[e, BACK + k] > 0 and ns.owner[d] == order[0]
                windows[e, BACK + k] = 0
    if kind > 0 and differs:
        limit_stays(ns, nested, kind, spanned, limits)
    return differs


@called_leaf
def limit_stays(
    ns: Nest,
    nested: Nested,
    kind: int,
    spanned: Ints,
    limits: Ints,
) -> None:
    """Fill how long the outermost tile stays at most where loops reach beyond it.

    What it stays through is part of the tile that slides, but for the run after which that comes
    back, see `returns.come_back`, or does so after some, if there are loops around it.
    """
    order, size, place, grown = nested.order, nested.size, nested.place, nested.grown
    t = ns.window
    ne = ns.terms.shape[1]
    e = (kind - 2) % ne
    narrow = 1 < kind < 2 + ne and is_narrow(ns, nested, e)
    slid = -1
    longer, tiles = 0, 1
    first = second = -1
    together = 1
    for d in range(len(size)):
        if ns.owner[d] != order[0] or ns.bounds[d] == 1:
            continue
        if kind > 1 and (d == ns.terms[t, e, 0] or d == ns.terms[t, e, 2]):
            if kind >= 2 + ne:
                limits[d] = LESS
            k = 0 if d == ns.terms[t, e, 0] else 2
            o, a, b = ns.terms[t, e, 2 - k], ns.terms[t, e, 1 + k], ns.terms[t, e, 3 - k]
            if kind < 2 + ne and ns.owner[o] != order[0]:
                slid = d
                longer = b * spanned[o] // a
                if not narrow:
                    # the first tile of the next run meets the last one of this run
                    tiles = 2
                    longer = chunks(b * (2 * within(ns, nested, 0, o) - 1), a) - 1
                limits[len(size) + 1] = d * MOST_DIMENSIONS + o
                limits[len(size) + 2], limits[len(size) + 3] = longer, tiles
                limits[d] = tiles * spanned[d] + longer
            continue
        limits[d] = spanned[d]
        if first < 0:
            first = d
        elif second < 0:
            second = d
        else:
            together *= spanned[d]
    if slid >= 0 and second >= 0:
        together *= limits[slid]
    elif slid >= 0:
        second = slid
    if second >= 0 and first < 0:
        limits[len(size)] = limits[second]
    elif second >= 0:
        most = 1
        for own in range(1, spanned[first] + 1):
            grown[first] = own
            other = most_of(ns, nested, place[t], second, spanned[second])
            grown[second] = other
            if fits(ns, nested, place[t]):
                most = max(most, own * (tiles * other + longer if second == slid else other))
            grown[second] = 1
        grown[first] = 1
        limits[len(size)] = together * most
    elif first >= 0:
        limits[len(size)] = spanned[first]


@leaf
def stay_limit(ns: Nest, limits: Ints, active: Ints, d: int) -> int:
    """Return how many iterations of a dimension the outermost tile stays through at most."""
    if limits[d] == LESS:
        return max(1, int(ns.bounds[d]) - 1)
    if limits[d] < 0:
        return int(ns.bounds[d])
    instances = active[d]
    run = limits[len(active) + 1]
    if run >= 0 and run // MOST_DIMENSIONS == d:
        instances *= active[run % MOST_DIMENSIONS]
    return int(min(ns.bounds[d], limits[d] * instances))


@leaf
def stay_limit_together(ns: Nest, limits: Ints, active: Ints) -> float:
    """Return how many iterations it stays through at most of all dimensions that are limited."""
    together = float(limits[len(active)])
    if together < 0:
        return np.inf
    for d in range(len(active)):
        if limits[d] >= 0:
            together *= active[d]
    run = limits[len(active) + 1]
    return together * (active[run % MOST_DIMENSIONS] if run >= 0 else 1)


@called_leaf
def stays_inside(ns: Nest, nested: Nested, limits: Ints, stays: Ints, active: Ints) -> bool:
    """Whether the tile of a window fits that spans what the outermost one stays through.

    That is part of it where its loops reach beyond, see `limit_stays`, but for the run.

    Parameters
    ----------
    limits : array of (dimensions + 4)
        See `windows_of`.
    stays : array of dimensions
        Of the outermost tile, in all instances together.
    """
    grown, nd = nested.grown, len(stays)
    p = nested.place[ns.window] if ns.window >= 0 else 0
    if p <= 0:
        return True
    run = limits[nd + 1]
    for d in range(nd):
        grown[d] = 1
        if limits[d] < 0:
            continue
        if run >= 0 and run // MOST_DIMENSIONS == d:
            each = chunks(stays[d], active[d] * active[run % MOST_DIMENSIONS])
            grown[d] = max(1, chunks(each - limits[nd + 2], limits[nd + 3]))
        else:
            grown[d] = chunks(stays[d], active[d])
    inside = fits(ns, nested, p)
    for d in range(nd):
        grown[d] = 1
    return inside

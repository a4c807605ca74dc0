"""What a tile of a sliding window serves in one of its cases."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tilewright.kernels.kernel import called_leaf, leaf
from tilewright.mapper.relaxations.nests.sliding.case_numbers import (
    HEAD,
    NEAR,
    REACH,
    ROOM,
    SLID,
    WAY,
)
from tilewright.mapper.relaxations.nests.sliding.known_rows import (
    idle_at_last,
    known_runs_serve,
    rows_of,
    rows_serve,
    short_rows_serve,
)
from tilewright.mapper.relaxations.nests.sliding.parts_come_back import runs_in_parts_serve
from tilewright.mapper.relaxations.nests.sliding.served import (
    RARELY,
    RETURNS,
    SLIDES,
    STAYS,
    served,
)
from tilewright.mapper.relaxations.nests.sliding.window_spans import Instances
from tilewright.mapper.windows.slides import gcd, pair_words

if TYPE_CHECKING:
    from tilewright.kernels.types import Ints
    from tilewright.mapper.relaxations.nests.nest import Nest

# what brings back a tile, see `comes_back`
NEVER, AROUND, BY_STEP = 0, 1, 2


@called_leaf
def case_serves(
    ns: Nest,
    case: Ints,
    instances: Instances,
    far: Ints,
    together: bool,
    known: float,
) -> float:
    """Return how many iterations of windows give the same word at most, or what is known.

    What the tile spans of two expressions together is no more words than fit.

    Parameters
    ----------
    far : array of (5, dimensions)
        How far loops along which tiles slide reach at most, and at least; the distance from one
        iteration of an instance to the next, or 1 where it is not known; the most that a tile
        spans; and the most that an instance has.
    """
    t = ns.window
    slid, other = case[SLID], -1
    rest, words = 1.0, 1.0  # of the expressions but these two
    for e in range(ns.terms.shape[1]):
        if ns.terms[t, e, 2] < 0 or e == slid:
            continue
        if slid < 0:
            slid = e
        elif other < 0:
            other = e
        else:
            rest *= span_serves(ns, case, e, instances, far, together)
            words *= least_words(ns, case, e)
    beside, taken = 1.0, 1.0
    if other >= 0:
        beside = span_serves(ns, case, other, instances, far, together)
        taken = least_words(ns, case, other)
    _, a, _, b = ns.terms[t, slid]
    at = HEAD + 4 * slid
    first, last = case[at], most_in(ns, case, slid, 0, instances.spread, far)
    second, end = case[at + 2], most_in(ns, case, slid, 1, instances.spread, far)
    way = case[WAY]
    best = known
    whole = slid_serves(
        ns, case, slid, (last, end), (first, second), instances, far, together, False
    )
    every = np.inf if together else instance_serves(ns, far)
    if min(whole * beside * rest, every) <= best:
        return best
    for m in range(first, (first if way == SLIDES else last) + 1):
        for n in range(second, (second if way == SLIDES + 1 else end) + 1):
            own = pair_words(m, n, a, b, False) * words
            if own * taken > case[ROOM]:
                break
            # the extent along which it slides matters little
            wide = last if way == SLIDES else m
            high = end if way == SLIDES + 1 else n
            served_here = rest * slid_serves(
                ns, case, slid, (wide, high), (m, n), instances, far, together, way >= RETURNS
            )
            if served_here * beside <= best:
                continue
            if other >= 0:
                left = int(case[ROOM] / own)
                served_here *= room_serves(ns, case, other, left, instances, far, together)
            best = max(best, served_here)
    return min(best, every)


@called_leaf
def instance_serves(ns: Nest, far: Ints) -> float:
    """Return how many iterations of windows give the same word at most of all of an instance.

    Sums of m numbers and n others are m + n - 1 at least.
    """
    product = 1.0
    for e in range(ns.terms.shape[1]):
        d, o = ns.terms[ns.window, e, 0], ns.terms[ns.window, e, 2]
        if o >= 0:
            product *= far[4, d] * far[4, o] / (far[4, d] + far[4, o] - 1.0)
    return product


@leaf
def steps_of(
    ns: Nest, e: int, long: int, near: int, far: Ints
) -> tuple[int, int, int, int, int, int]:
    """Return the `steps` of `served`."""
    d, o = ns.terms[ns.window, e, 0], ns.terms[ns.window, e, 2]
    return int(long), int(far[2, d]), int(far[2, o]), int(far[3, d]), int(far[3, o]), int(near)


@called_leaf
def most_in(ns: Nest, case: Ints, e: int, k: int, spread: Ints, far: Ints) -> int:
    """Return what the tile in an instance spans at most of a dimension of an expression."""
    d = ns.terms[ns.window, e, 2 * k]
    at = HEAD + 4 * e + 2 * k
    most = min(case[at + 1], far[3, d])
    if spread[d] > 1:
        most = min(most, (ns.bounds[d] - 1) // (spread[d] - 1))
    return int(max(case[at], most))


@called_leaf
def least_words(ns: Nest, case: Ints, e: int) -> float:
    """Return the words of an expression that the tile spans at least."""
    _, a, _, b = ns.terms[ns.window, e]
    return pair_words(case[HEAD + 4 * e], case[HEAD + 4 * e + 2], a, b, False)


@called_leaf
def span_serves(
    ns: Nest, case: Ints, e: int, instances: Instances, far: Ints, together: bool
) -> float:
    """Return what an expression serves at most along which the tile stays."""
    spread = instances.spread
    m, n = most_in(ns, case, e, 0, spread, far), most_in(ns, case, e, 1, spread, far)
    return served(ns, e, STAYS, (m, n), (1, 1), instances, together, steps_of(ns, e, 1, 0, far))


@called_leaf
def room_serves(
    ns: Nest,
    case: Ints,
    e: int,
    room: int,
    instances: Instances,
    far: Ints,
    together: bool,
) -> float:
    """Return what an expression serves at most along which the tile stays, of so many words."""
    spread = instances.spread
    _, a, _, b = ns.terms[ns.window, e]
    g = gcd(a, b)
    a, b = a // g, b // g
    at = HEAD + 4 * e
    last, end = most_in(ns, case, e, 0, spread, far), most_in(ns, case, e, 1, spread, far)
    best = 1.0
    steps = steps_of(ns, e, 1, 0, far)
    for n in range(case[at + 2], end + 1):
        m = room // n
        if n > a and m >= b:
            m = (room - b * (n - a)) // a
        if m < case[at]:
            break
        m = min(m, last)
        now = served(ns, e, STAYS, (m, n), (1, 1), instances, together, steps)
        best = max(best, now)
    return best


@called_leaf
def slid_serves(
    ns: Nest,
    case: Ints,
    e: int,
    span: tuple[int, int],
    least: tuple[int, int],
    instances: Instances,
    limits: Ints,
    together: bool,
    exactly: bool,
) -> float:
    """Return what the expression serves along which the tile does not stay, see `slides_alone`.

    Where tiles of instances have no words in common at a time, each word is sent to one of them.
    """
    most = slides_alone(ns, case, e, span, least, instances, limits, together, exactly)
    if together and exactly:
        for k in range(2):
            rows = rows_of(ns, e, k, instances.spread, limits)
            if 0 < span[0] + span[1] - 1 <= rows:
                own = slides_alone(ns, case, e, span, least, instances, limits, False, True)
                most = min(most, own)
    return most


@called_leaf
def slides_alone(
    ns: Nest,
    case: Ints,
    e: int,
    span: tuple[int, int],
    least: tuple[int, int],
    instances: Instances,
    limits: Ints,
    together: bool,
    exactly: bool,
) -> float:
    """Return what the expression serves along which the tile does not stay.

    Where an array cuts a dimension, loops above it move the tile by more than what all instances
    have. A tile of at least `least` that shares no word then with the one before slides through the
    part of one instance only.

    Parameters
    ----------
    exactly : bool
        Whether it is that of a tile which spans just that, not less.
    """
    m, n = span
    way = case[WAY]
    if exactly:
        back = comes_back(ns, case, e, span, instances.spread, limits)
        if back == NEVER:
            steps = steps_of(ns, e, 1, 0, limits)
            return served(ns, e, STAYS, span, (1, 1), instances, together, steps)
        if back == AROUND and way < RARELY:
            way += RARELY - RETURNS
    first, second = least
    spread = instances.spread
    far = min(case[REACH], limits[0, ns.terms[ns.window, e, 0]])
    wide = min(case[REACH + 1], limits[0, ns.terms[ns.window, e, 2]])
    long = limits[1, ns.terms[ns.window, e, 2 * (way % 2)]]
    if not together and way < RETURNS:
        d, a, o, b = ns.terms[ns.window, e]
        if spread[d] > 1 and a * (first * (spread[d] - 2) + 2) > b * (n - 1):
            far = min(far, (ns.bounds[d] - 1) // (spread[d] - 1))
        if spread[o] > 1 and b * (second * (spread[o] - 2) + 2) > a * (m - 1):
            wide = min(wide, (ns.bounds[o] - 1) // (spread[o] - 1))
    steps = steps_of(ns, e, long, case[NEAR], limits)
    most = served(ns, e, way, span, (far, wide), instances, together, steps)
    rows = rows_serve(ns, case, e, span, spread) if exactly and together else np.inf
    most = min(most, rows)
    if exactly and way < RARELY:
        k = way % 2
        d, o = ns.terms[ns.window, e, 2 * k], ns.terms[ns.window, e, 2 - 2 * k]
        one = ns.terms[ns.window, e, 1] == 1 and ns.terms[ns.window, e, 3] == 1
        reach = (far, wide)[k]
        if one and span[k] == 1 and spread[d] == 1 and spread[o] == 1 and reach < ns.bounds[d]:
            most = min(most, runs_in_parts_serve(ns.bounds[d], reach, span[1 - k]))
        apart = together and max(instances.active[d], instances.active[o]) > 1 and rows == np.inf
        if way >= RETURNS and not apart:
            # what is sent to one instance alone
            own = served(ns, e, STAYS, span, (1, 1), instances, False, steps)
            parts = known_runs_serve(ns, case, e, span, reach, spread, limits)
            most = min(most, max(own, parts))
    if way >= RETURNS:
        far, wide = ns.bounds[ns.terms[ns.window, e, 0]], ns.bounds[ns.terms[ns.window, e, 2]]
    return min(most, short_rows_serve(ns, e, way, span, (far, wide), spread, limits, together))


@leaf
def comes_back(
    ns: Nest, case: Ints, e: int, span: tuple[int, int], spread: Ints, limits: Ints
) -> int:
    """Return which loops bring back a tile of just this size, with coefficients of 1.

    Those on the other dimension, or only those around them on that of the run: then it comes back
    after some runs.

    Let it span m of the run's dimension and n of the other one. A step on that one moves it by n,
    and the run has moved it by m or more. A loop around both, on the run's dimension, moves it by m
    more than the run has, to a tile that is as large again, so the other one has moved it by m.
    Loops above the array move it past all other instances. They are the only ones where the tile
    has all that its instance has. After a chunk that ends with fewer iterations they move it less,
    and may bring it back once.
    """
    first = case[WAY] % 2
    d, a = ns.terms[ns.window, e, 2 * first], ns.terms[ns.window, e, 2 * first + 1]
    o, b = ns.terms[ns.window, e, 2 - 2 * first], ns.terms[ns.window, e, 3 - 2 * first]
    if a != 1 or b != 1:
        return BY_STEP
    m, n = span[first], span[1 - first]
    many, several = spread[d], spread[o]
    past = many == 1 or limits[3, d] == m
    moved = (many - 1) * m + 1 if past and many > 1 else m
    inside = several == 1 or limits[3, o] > n
    beyond = (several - 1) * n + 1
    least = min(ns.bounds[d], ns.bounds[o])
    if (inside and moved <= n < least) or (several > 1 and beyond < least):
        return BY_STEP
    step = n if inside else beyond
    around = 2 * moved + m <= ns.bounds[d] and max(moved, step) + n <= ns.bounds[o]
    if past and step > many * m:
        around = False
    # by how much less: what instances lack in blocks of rows, where that is known
    block, less = several * limits[3, o], 0
    if limits[3, o] == ns.bounds[o]:
        less = beyond - 1
    elif block < ns.bounds[o]:
        less = idle_at_last(ns.bounds[o], block)
    short = several > 1 and less > 0 and max(moved, beyond - less) < least
    return AROUND if around or short else NEVER

"""What tiles cost at least with each way to cut dimensions, and with each shape of a window's."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from tilewright.kernels.copies import copy
from tilewright.kernels.kernel import part
from tilewright.mapper.relaxations.nests.cuts import EVEN, CutWays, leave_out, limit_runs
from tilewright.mapper.relaxations.nests.inner_tiles import add_direct, add_inner
from tilewright.mapper.relaxations.nests.outer.costs import InnerWindow, Sought, widest_tile
from tilewright.mapper.relaxations.nests.outer.least import Carried, least_outer
from tilewright.mapper.relaxations.nests.sliding.case_serves import case_serves
from tilewright.mapper.relaxations.nests.sliding.shapes import limits_of, served_of, shapes_of
from tilewright.mapper.relaxations.nests.sliding.window_spans import Instances, Nested

if TYPE_CHECKING:
    from tilewright.kernels.types import Floats, Ints
    from tilewright.mapper.relaxations.nests.nest import Nest


@part
def fill_ways(
    pool: Ints, rows: Ints, ways: Ints, number: Ints, times: Ints, cuts: Ints, bounds: Ints
) -> float:
    """Fill all ways to cut dimensions, and the best of each of their numbers; return the steps."""
    steps = 1.0
    for d in range(len(rows)):
        number[d] = pool[rows[d] - 1, 1]
        copy(pool[rows[d] - 1, 2:5], times[:, d])
        cuts[0, d], cuts[1, d], cuts[2, d], cuts[3, d] = 1, bounds[d], 1, times[0, d]
        cuts[4, d], cuts[5, d], cuts[6, d] = bounds[d], 1, 0
        for n in range(number[d]):
            copy(pool[rows[d] + n], ways[d, n])
            cuts[1, d] = min(cuts[1, d], ways[d, n, 1])
            cuts[2, d] = max(cuts[2, d], ways[d, n, 2])
        steps *= times[0, d]
    return steps


@part
def least_of_ways(
    ns: Nest,
    nested: Nested,
    inner: Carried,
    widest: Ints,
    instances: Instances,
    every: CutWays,
    window: InnerWindow,
    sought: Sought,
    found: Ints,
) -> float:
    """Return the least value below a limit of all ways to cut dimensions, or infinity.

    Parameters
    ----------
    widest : array of dimensions
        What the outermost tile may span beyond what others need.
    window : InnerWindow
        What is served of it in an instance begins, and ends, as that of any case.
    found : array
        Filled with the numbers of the best, see `least_together`.
    """
    order, size, spread, active = nested.order, nested.size, instances.spread, instances.active
    ways, number, cuts = every.ways, every.number, every.cuts
    slide, same, times = window.slide, window.same, window.times
    nd = len(size)
    best = np.inf
    at = np.zeros(nd, np.int64)
    runs, spans = np.ones((5, nd), np.int64), np.ones((5, nd), np.int64)
    copy(ns.bounds, spans[0])
    copy(ns.bounds, runs[4])
    copy(ns.bounds, spans[4])
    begin, own = np.empty(len(ns.base)), np.empty(2 * nd + 1, np.int64)
    served = same[0, ns.window] if len(slide) > 0 else 0.0
    shared = same[1, ns.window] if len(slide) > 0 else 0.0
    more = leave_out(ns, order, inner.limits, instances, every, window, begin, sought)
    while more:
        steps = 1.0
        whole = inner.whole
        for d in range(nd):
            extent = ways[d, at[d], 0]
            copy(ways[d, at[d], :4], cuts[:, d])
            copy(ways[d, at[d], 3:], times[:, d])
            cuts[4, d], cuts[5, d], cuts[6, d] = ns.bounds[d], 1, ways[d, at[d], EVEN]
            steps *= times[0, d]
            if ns.relevant[inner.tensor, d] and ns.owner[d] >= 0:
                whole &= extent == size[d] or extent <= widest[d]
        if len(slide) > 0:
            same[0, ns.window], same[1, ns.window] = served, shared
            limited = limit_runs(ns, spread, cuts)
            for d in range(nd):
                runs[3, d] = spans[3, d] = widest_tile(ns, cuts, spread, d)
                limited |= runs[3, d] < ns.bounds[d]
            if limited:
                copy(cuts[4], runs[0])
                copy(cuts[5], runs[2])
                most = case_serves(ns, slide[0], instances, runs, False, 1.0)
                same[0, ns.window] = min(most, served)
                most = case_serves(ns, slide[0], instances, spans, True, 1.0)
                same[1, ns.window] = min(most, shared)
        copy(ns.base, begin)
        add_direct(ns, active, times, begin)
        add_inner(ns, order, same, times, begin)
        now = Carried(inner.tensor, whole, inner.held, inner.spans, inner.limits, nested)
        limit = min(best, sought.ceiling)
        value = least_outer(
            ns, now, cuts, instances, window, begin, Sought(sought.goal, steps, limit), own
        )
        if value < limit:
            best = value
            copy(own, found)
            for d in range(nd):
                found[2 * nd + 1 + d] = ways[d, at[d], 0]
        more = False
        d = nd - 1
        while d >= 0 and not more:
            at[d] += 1
            more = at[d] < number[d]
            if not more:
                at[d] = 0
                d -= 1
    if len(slide) > 0:
        same[0, ns.window], same[1, ns.window] = served, shared
    return best


class CaseShapes(NamedTuple):
    """A case of a window's tile, and what its shapes are priced with.

    Attributes
    ----------
    case : array
    kind : int
        How far loops on windows reach, see `stay_limits.windows_of`.
    most : array of 2
        What the case serves at most, in an instance and of what all share.
    limits : array of (dimensions + 4)
        How long the outermost tile stays at most in any case.
    pool, rows : arrays
        Ways to cut dimensions, and where those of each are, see `cuts.known_ways`.
    same, times : arrays
        Filled as those of `InnerWindow`.
    far : array of (5, dimensions)
        See `case_serves`.
    """

    case: Ints
    kind: int
    most: Floats
    limits: Ints
    pool: Ints
    rows: Ints
    same: Floats
    times: Ints
    far: Ints


@part
def least_of_shape(
    ns: Nest,
    inner: Carried,
    widest: Ints,
    instances: Instances,
    every: CutWays,
    tried: CaseShapes,
    shapes: Ints,
    sought: Sought,
    found: Ints,
) -> float:
    """Return what one shape costs at least, as `least_of_ways`; `shapes` are an array of one."""
    served_of(ns, shapes[0], instances, tried.far, tried.most, tried.same)
    limits = np.empty_like(tried.limits)
    limits_of(ns, inner.nested, shapes[0], tried.limits, limits)
    own = Carried(inner.tensor, inner.whole, inner.held, inner.spans, limits, inner.nested)
    window = InnerWindow(shapes, tried.kind, tried.same, tried.times)
    fill_ways(
        tried.pool, tried.rows, every.ways, every.number, tried.times, every.cuts, ns.bounds
    )  # fmt: skip
    return least_of_ways(
        ns, inner.nested, own, widest, instances, every, window, sought, found
    )  # fmt: skip


@part
def least_of_shapes(
    ns: Nest,
    inner: Carried,
    widest: Ints,
    instances: Instances,
    every: CutWays,
    tried: CaseShapes,
    sought: Sought,
    found: Ints,
) -> float:
    """Return the least value of all shapes of a case below the ceiling, or that.

    What an instance is served at most, and all together, may not be served by the same shape.

    Parameters
    ----------
    found : array of (3 x dimensions + 1 + fields)
        Filled with the numbers of the best, see `together.least_together`, and its shape.
    """
    value, nd = sought.ceiling, len(ns.bounds)
    details = np.empty(3 * nd + 1, np.int64)
    shapes = shapes_of(ns, inner.nested, tried.case, instances.spread, tried.far)
    for k in range(len(shapes)):
        limit = Sought(sought.goal, sought.steps, value)
        most = least_of_shape(
            ns, inner, widest, instances, every, tried, shapes[k : k + 1], limit, details
        )  # fmt: skip
        if most >= value:
            continue
        # some may span this or that of other expressions
        finer = shapes_of(ns, inner.nested, shapes[k], instances.spread, tried.far)
        for i in range(len(finer)):
            limit = Sought(sought.goal, sought.steps, value)
            own = least_of_shape(
                ns, inner, widest, instances, every, tried, finer[i : i + 1], limit, details
            )  # fmt: skip
            if own < value:
                value = own
                copy(details, found)
                copy(finer[i], found[3 * nd + 1 :])
    return value

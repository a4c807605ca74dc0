"""What spatial choices and inner tiles cost at least, with any outer tiles."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tilewright.kernels.copies import copy
from tilewright.kernels.kernel import kernel, leaf
from tilewright.mapper.relaxations.nests.cuts import (
    ALIKE,
    EXACT,
    FIRST_ROWS,
    MOST_KNOWN,
    MOST_WAYS,
    ROUGH,
    WAY,
    CutWays,
    known_ways,
    least_value,
)
from tilewright.mapper.relaxations.nests.each_way import (
    CaseShapes,
    fill_ways,
    least_of_shapes,
    least_of_ways,
)
from tilewright.mapper.relaxations.nests.inner_tiles import Inner, add_direct, add_inner
from tilewright.mapper.relaxations.nests.outer.costs import InnerWindow, Sought
from tilewright.mapper.relaxations.nests.outer.fit import fill_spans
from tilewright.mapper.relaxations.nests.outer.least import Carried, least_outer
from tilewright.mapper.relaxations.nests.sliding.cases import (
    case_fields,
    fill_served,
    known_cases,
    most_cases,
    tighten_same,
)
from tilewright.mapper.relaxations.nests.sliding.served import fill_same
from tilewright.mapper.relaxations.nests.sliding.window_spans import (
    Instances,
    Nested,
    most_of,
)

if TYPE_CHECKING:
    from tilewright.kernels.types import Floats, Ints
    from tilewright.mapper.relaxations.nests.nest import Nest

NEAR = 1.002  # times the least value: what else is returned


@leaf
def largest(rows: Ints) -> int:
    """Return the largest of all numbers in rows of them."""
    most = rows[0, 0]
    for i in range(rows.shape[0]):
        for k in range(rows.shape[1]):
            most = max(most, rows[i, k])
    return int(most)


@kernel
def least_together(
    ns: Nest,
    inner: Inner,
    spreads: Ints,
    actives: Ints,
    choice: Ints,
    tile: Ints,
    values: Floats,
    goal: Floats,
    ceilings: Floats,
    every: bool,
) -> tuple[float, Floats, Ints]:
    """Return what spatial choices and inner tiles cost at least with outer tiles.

    Parameters
    ----------
    spreads, actives
        As `instances.spatial_choices` returns them.
    choice, tile, values
        As `inner_tiles.likely` returns them, in ascending order of `values`.
    ceilings : array of 2
        What costs more is of no interest, and the least value of pairs looked at before.
    every : bool
        Whether pairs that cost more than others are of interest, too.

    Returns
    -------
    float
        The least value, of pairs looked at before as well.
    array of pairs
        The value of each that has been looked at, or infinite.
    array of (pairs, 3 x dimensions + 1 + fields)
        How long tiles stay in the outer memory, and the carried one, the order, and the extents
        that an instance has; then what the tile of the window does below the array, see
        `cases.case_fields`, or zeros.
    """
    nd = len(ns.bounds)
    reached = np.full(len(choice), np.inf)
    found = np.zeros((len(choice), 3 * nd + 1 + case_fields(ns)), np.int64)
    ceiling, best = ceilings[0], ceilings[1]
    ways = np.empty((nd, MOST_WAYS, WAY), np.int64)
    # ways to cut that are known, each after a row of what they depend on, how many, and the least
    pool, filled = np.empty((FIRST_ROWS, WAY), np.int64), 0
    most_instances, longest = largest(spreads), min(largest(inner.sizes) + 1, MOST_KNOWN)
    known = np.zeros((2, nd, most_instances + 1, longest), np.int64)
    number, rows = np.empty(nd, np.int64), np.empty((2, nd), np.int64)
    spans = np.empty((2, nd), np.int64)
    cuts = np.empty((7, nd), np.int64)
    times = np.empty((3, nd), np.int64)
    counted = np.empty(nd, np.bool_)
    own, details = np.empty(2 * nd + 1, np.int64), np.empty(3 * nd + 1, np.int64)
    place = np.empty(len(ns.words), np.int64)
    held, widest = np.empty(nd, np.int64), np.empty(nd, np.int64)
    grown, extents = np.ones(nd, np.int64), np.empty(nd, np.int64)
    # what tiles of a window may do, and where the cases of each tile begin and end, or 0
    cases, taken = np.empty((FIRST_ROWS, case_fields(ns)), np.int64), 0
    begins = np.zeros((len(inner.which), 2), np.int64)
    same = np.empty((2, len(ns.words)))
    serves = np.zeros((most_cases(ns), 2))
    anywhere = np.ones((5, nd), np.int64)
    copy(ns.bounds, anywhere[0])
    copy(ns.bounds, anywhere[3])
    copy(ns.bounds, anywhere[4])
    begin = np.empty(len(ns.base))
    for i in range(len(choice)):
        if values[i] >= best:
            break
        size, spread, active = inner.sizes[tile[i]], spreads[choice[i]], actives[choice[i]]
        instances = Instances(spread, active)
        order = ns.inner_orders[inner.which[tile[i]]]
        windows, limits = inner.windows[tile[i]], inner.limits[tile[i]]
        carried = order[0] if len(order) else 0
        for d in range(nd):
            counted[d] = False
            for k in range(1, len(order)):
                counted[d] |= ns.owner[d] == order[k]
        for d in range(nd):
            windows_on = ns.window >= 0 and ns.relevant[ns.window, d]
            pool, filled, row = known_ways(
                ns.bounds[d], size[d], spread[d], active[d], counted[d],
                ROUGH if windows_on else ALIKE, known[0, d], pool, filled,
            )  # fmt: skip
            rows[0, d] = row
            copy(pool[row - 1, 2:5], times[:, d])
        fill_spans(ns, order, size, instances, spans)
        limit = min(ceiling, best * NEAR)
        fill_same(ns, windows, instances, same)
        kind = inner.kinds[tile[i]]
        window = InnerWindow(cases[:0], kind, same, times)
        if least_value(ns, order, limits, instances, window, begin, goal) >= limit:
            continue
        slides = ns.window >= 0 and ns.window in order
        if slides:
            cases, taken = known_cases(ns, inner, tile[i], begins[tile[i]], cases, taken)
            tighten_same(ns, cases, begins[tile[i]], instances, anywhere, same)
            if least_value(ns, order, limits, instances, window, begin, goal) >= limit:
                continue
        place[:] = -1
        for k in range(len(order)):
            place[order[k]] = k
        nested = Nested(order, size, place, grown, extents)
        for d in range(nd):
            held[d] = widest[d] = 0
            if ns.owner[d] >= 0 and ns.relevant[carried, d] and place[ns.owner[d]] > 1:
                # the outermost tile may span more of it than those inside
                widest[d] = most_of(ns, nested, 0, d, ns.bounds[d])
                held[d] = min(ns.bounds[d], widest[d] * active[d])
        # first what is served in any case, then case by case
        c, count = -1 if slides else 0, 1
        while c < count:
            slide = cases[:0]
            if slides and c >= 0:
                same[0, ns.window], same[1, ns.window] = serves[c, 0], serves[c, 1]
                row = begins[tile[i], 0] + c
                slide = cases[row : row + 1]
            c += 1
            window = InnerWindow(slide, kind, same, times)
            steps = fill_ways(pool, rows[0], ways, number, times, cuts, ns.bounds)
            limit = min(reached[i], ceiling, best * NEAR)
            if least_value(ns, order, limits, instances, window, begin, goal) >= limit:
                if slides and c == 0:
                    break
                continue
            copy(ns.base, begin)
            add_direct(ns, active, times, begin)
            add_inner(ns, order, same, times, begin)
            # the best of each dimension together
            outermost = Carried(carried, len(order) > 0, held, spans, limits, nested)
            value = least_outer(
                ns, outermost, cuts, instances, window, begin, Sought(goal, steps, limit), own
            )
            if slides and c == 0:
                if value >= limit:
                    break
                count = fill_served(ns, cases, begins[tile[i]], instances, anywhere, same, serves)
                continue
            if value >= limit:
                continue
            # roughly, then with each extent that may matter to windows
            for fine in range(2):
                for d in range(nd * fine):
                    rows[1, d] = rows[0, d]
                    if ns.window >= 0 and ns.relevant[ns.window, d]:
                        pool, filled, rows[1, d] = known_ways(
                            ns.bounds[d], size[d], spread[d], active[d], counted[d], EXACT,
                            known[1, d], pool, filled,
                        )  # fmt: skip
                fill_ways(pool, rows[fine], ways, number, times, cuts, ns.bounds)
                limit = min(reached[i], ceiling, best * NEAR)
                value = least_of_ways(
                    ns, nested, outermost, widest, instances, CutWays(ways, number, cuts), window,
                    Sought(goal, steps, limit), details,
                )  # fmt: skip
                if value >= limit:
                    break
            if slides and value < limit:
                tried = CaseShapes(
                    case=slide[0],
                    kind=kind,
                    most=serves[c - 1],
                    limits=limits,
                    pool=pool,
                    rows=rows[1],
                    same=same,
                    times=times,
                    far=anywhere,
                )
                value = least_of_shapes(
                    ns, outermost, widest, instances, CutWays(ways, number, cuts), tried,
                    Sought(goal, steps, limit), found[i],
                )  # fmt: skip
                if value < limit:
                    reached[i] = value
            elif value < limit:
                reached[i] = value
                copy(details, found[i])
        if not every:
            best = min(best, reached[i])
    return best, reached, found

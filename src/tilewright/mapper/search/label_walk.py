"""The walk of the labels of one bypass choice, from the whole nest to the compute unit."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from math import inf
from typing import TYPE_CHECKING

import numpy as np

from tilewright.kernels.types import Floats, Ints
from tilewright.mapper.bounds.plan import Plan
from tilewright.mapper.engine.best import best_below
from tilewright.mapper.engine.cross import cross
from tilewright.mapper.engine.dive import narrow
from tilewright.mapper.engine.end_block import end_block
from tilewright.mapper.engine.expand import expand
from tilewright.mapper.engine.pauses import CHOICES, PAUSE, advanced
from tilewright.mapper.label.labels import DEAD, LOADS, STAGE
from tilewright.mapper.label.roots import LABELS
from tilewright.mapper.label.store import COUNT, Labels, next_below, stored
from tilewright.mapper.label.trace_back import rebuild

if TYPE_CHECKING:
    from tilewright.mapper.search.search import Search

WIDTH = 64  # shapes that a dive takes through an array
BUCKETS = 1 << 17


def walk_labels(
    search: Search,
    plan: Plan,
    ceiling: float,
    stop: Callable[[], bool],
    dive: bool = False,
    most: float = inf,
    least: Floats | None = None,
) -> bool:
    """Search one bypass choice below a ceiling, or dive for some good mapping.

    With more than `most` labels it stops, too. Mappings that use less than `least` bits of a
    memory above an array do not count.

    Returns
    -------
    bool
        True when nothing better than the best mapping remains in it; False when the search was
        stopped, or when only the ceiling may have hidden mappings.
    """
    sp, lk, outer, parts = search.space, plan.lk, plan.outer, plan.parts
    n = len(search.first_shapes)
    labels = stored(
        search.roots(search.first_shapes, max(LABELS, 2 * n)), n, len(parts[0].stage_count),
        search.tiles.top + 1, BUCKETS,
    )  # fmt: skip
    labels.heads[search.first_shapes, 0] = np.arange(n)
    best = search.best.copy()
    hidden = ceiling < best[0]
    if hidden:
        best[0], best[1] = ceiling, inf
    incumbent = best_below(search.goal, best, dive)

    def goes_on(labels: Labels) -> bool:
        return int(labels.at[COUNT]) <= most and not stop()

    first = 0
    for s in range(search.na + 1):
        part = search.part(plan, s)
        if s > 0:
            heads = np.ascontiguousarray(labels.heads[:, -1:])
            labels = next_below(labels, len(part.stage_count))
            labels, _ = advanced(
                partial(cross, sp, lk, outer, part, heads), labels, incumbent, goes_on,
                CHOICES * PAUSE,
            )  # fmt: skip
        labels, _ = advanced(
            partial(expand, sp, lk, plan.limits, outer, part), labels, incumbent, goes_on, PAUSE
        )
        n, full = int(labels.at[COUNT]), len(part.stage_count) - 1
        if plan.limits.active and s < search.na:
            end_block(labels.it[first:n], full)
        if least is not None and s < search.na:
            bits = labels.fl[first:n, LOADS + search.resources :]
            drop_emptier(labels.it[first:n], bits, full, part.place_memory, least)
        first = n
        if dive and s < search.na:
            narrow(labels.it, labels.fl, labels.heads, full, search.goal, WIDTH)
    search.found.labels += n
    row = int(incumbent.row[0])
    if row >= 0:
        search.best = best
        search.found.mapping = rebuild(
            search.layer, search.architecture, search.tiles, sp, search.unrollings, plan.keep,
            labels.it, row,
        )  # fmt: skip
        hidden = False
    return not (hidden or dive or stop() or n > most)


def drop_emptier(it: Ints, bits: Floats, full: int, place_memory: Ints, least: Floats) -> None:
    """Mark labels as dead that are at the last stage of a segment and use too few bits.

    `it` and `bits` are of the labels of the segment, and `place_memory` where its memories stand.
    """
    memories = np.flatnonzero(place_memory >= 0)
    emptier = (bits[:, place_memory[memories]] < least[memories]).any(axis=1)
    it[emptier & (it[:, STAGE] == full), DEAD] = 1

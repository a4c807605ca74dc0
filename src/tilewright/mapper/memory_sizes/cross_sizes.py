"""The compiled search of a frontier: labels go through an array, a spatial choice at a time."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tilewright.kernels.kernel import kernel, leaf
from tilewright.mapper.bounds.across_array import may_divide
from tilewright.mapper.bounds.completion import least_words
from tilewright.mapper.engine.cross import on_their_way, pass_array, shape_inside
from tilewright.mapper.engine.expand import is_its_own_mirror
from tilewright.mapper.label.charge import Scratch, scratch_for
from tilewright.mapper.label.labels import (
    DEAD,
    ENERGY,
    LEAST_CYCLES,
    LEAST_ENERGY,
    LOADS,
    NEXT,
    SHAPE,
    SPREAD,
    objective_value,
    with_room,
)
from tilewright.mapper.memory_sizes.expand_sizes import file
from tilewright.mapper.memory_sizes.label_sizes import least_size
from tilewright.mapper.memory_sizes.points import VALUE, Aim, fitting
from tilewright.mapper.memory_sizes.segment_walk import SegmentWalk
from tilewright.mapper.objective.tolerances import TIE

if TYPE_CHECKING:
    from tilewright.kernels.types import Floats, Ints
    from tilewright.mapper.problem.link_costs import Links
    from tilewright.mapper.problem.space import Space


@kernel
def entries(
    sp: Space,
    lk: Links,
    aim: Aim,
    array: int,
    it: Ints,
    fl: Floats,
    heads: Ints,
    full: int,
    first_below: Ints,
    spread_left: float,
    points: Floats,
    count: int,
) -> tuple[Ints, Ints]:
    """Return the complete labels that may go through an array, and where their choices begin.

    The labels come by spatial choice, in each of them the largest shapes first.
    """
    scratch = scratch_for(sp)
    for t in range(len(first_below)):
        scratch.placed[t] = first_below[t]
    start, end = sp.unroll_start[array], sp.unroll_start[array + 1]
    begin = np.zeros(end - start + 1, np.int64)
    pairs = np.empty((1024, 2), np.int64)
    n = 0
    for shape in range(len(heads) - 1, -1, -1):
        i = heads[shape, full]
        while i >= 0:
            if n + end - start > len(pairs):
                pairs = np.concatenate((pairs, np.empty((n + end - start, 2), np.int64)))
            if it[i, DEAD] == 0:
                n = enter(
                    sp, lk, aim, array, it[i], fl[i], i, start, end, spread_left, points, count,
                    begin, pairs, n, scratch,
                )  # fmt: skip
            i = it[i, NEXT]
    for k in range(len(begin) - 1):
        begin[k + 1] += begin[k]
    rows = np.empty(n, np.int64)
    for q in range(n - 1, -1, -1):
        k = pairs[q, 1]
        begin[k] -= 1
        rows[begin[k]] = pairs[q, 0]
    return rows, begin


@leaf
def enter(
    sp: Space,
    lk: Links,
    aim: Aim,
    array: int,
    row: Ints,
    floats: Floats,
    i: int,
    start: int,
    end: int,
    spread_left: float,
    points: Floats,
    count: int,
    number: Ints,
    pairs: Ints,
    n: int,
    scratch: Scratch,
) -> int:
    """List the spatial choices from `start` to `end` in which label i may go through an array.

    They come with the largest product first.
    """
    first = least_size(aim, floats, array + 1, 0, 0)
    second = least_size(aim, floats, array + 1, 0, 1)
    best = fitting(points, count, first, second)
    most = points[best, VALUE] * (1 + TIE) if best >= 0 else np.inf
    bound = floats[LEAST_ENERGY] - lk.leakage * floats[LEAST_CYCLES]
    alone = array == 0 and is_its_own_mirror(sp, row[SHAPE])
    inside = floats[ENERGY]
    for t in range(sp.relevant.shape[0]):
        scratch.words[t] = least_words(sp, row, t)
        inside += lk.rest_base[array, t] + lk.rest_slope[array, t] * scratch.words[t]
    for choice in range(start, end):
        if not may_divide(sp, row[SHAPE], choice):
            continue
        spread = floats[SPREAD] * sp.unroll_product[choice] * spread_left
        fewest = lk.cycles * sp.operations / spread
        value, _ = objective_value(aim.goal, bound + lk.leakage * fewest, fewest)
        if not value <= most or value == np.inf:
            break
        if not lk.matters[choice] or (alone and sp.mirror_choice[choice] < choice):
            continue
        # what the words on their way cost, before the label is made
        energy = inside + lk.leakage * fewest + on_their_way(sp, lk, choice, scratch)
        value, _ = objective_value(aim.goal, energy, fewest)
        if not value <= most or value == np.inf or shape_inside(sp, row[SHAPE], choice) < 0:
            continue
        pairs[n, 0], pairs[n, 1] = i, choice - start
        number[choice - start] += 1
        n += 1
    return n


@kernel
def cross_all(
    walk: SegmentWalk,
    it: Ints,
    fl: Floats,
    n: int,
    rows: Ints,
    choices: Ints,
    points: Floats,
    count: int,
) -> tuple[Ints, Floats, int]:
    """Send some labels through the array above a segment, each in its spatial choice."""
    scratch = scratch_for(walk.sp)
    for t in range(len(walk.first)):
        scratch.placed[t] = walk.first[t]
    for q in range(len(rows)):
        it, fl = with_room(it, fl, n)
        n = send(walk, it, fl, n, rows[q], choices[q], points, count, scratch)
    return it, fl, n


@leaf
def send(
    walk: SegmentWalk,
    it: Ints,
    fl: Floats,
    n: int,
    i: int,
    choice: int,
    points: Floats,
    count: int,
    scratch: Scratch,
) -> int:
    """Send label i through an array in a spatial choice; return the number of labels."""
    sp, lk, aim = walk.sp, walk.lk, walk.aim
    bits_at = LOADS + aim.resources
    for t in range(sp.relevant.shape[0]):
        scratch.words[t] = least_words(sp, it[i], t)
    inner = shape_inside(sp, it[i, SHAPE], choice)
    pass_array(sp, lk, walk.seg - 1, it, fl, n, i, choice, inner, bits_at + aim.memories, scratch)
    for m in range(aim.memories):
        if m != aim.varied[0] and m != aim.varied[1]:
            fl[n, bits_at + m] = 0.0
    return file(walk, it, fl, n, points, count, scratch.placed, scratch.next_words)

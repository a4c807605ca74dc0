"""The mapping of the least memory among those that move the same words: a walk back from the end.

What a tensor costs depends on few things, see `same_words.Same`. A walk from the whole nest inward
that keeps them costs what the given mapping does, whatever else it does differently; of two walks
that have come to the same shape with the same store nodes behind them, the rest is the same. So the
best rest of each is found once, from the smallest shapes to the whole nest.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from tilewright.kernels.kernel import leaf, leaf_kernel

if TYPE_CHECKING:
    from tilewright.kernels.types import Floats, Ints
    from tilewright.mapper.canonical.same_words import Same

END, LOOP, CROSS, PLACE = 0, 1, 2, 3  # what a step does; from PLACE on: store a tensor


class Step(NamedTuple):
    """What a walk does next, at which stage, and the shape after it."""

    action: int
    stage: int
    shape: int


@leaf
def iterations(sm: Same, segment: int, shape: int, t: int) -> float:
    """Return the temporal iterations of dimensions irrelevant to a tensor outside a shape."""
    result = 1.0
    for d in range(len(sm.sizes)):
        if not sm.relevant[t, d]:
            result *= sm.values[d, sm.sizes[d] - 1] / sm.values[d, sm.digits[shape, d]]
    return float(result / sm.reuse[segment, t])


@leaf
def may_loop(sm: Same, stage: int, shape: int, d: int, digit: int, outside: Floats) -> bool:
    """Whether a loop on dimension d down to a digit leaves all words that move as they are.

    `outside` are the `iterations` of every tensor.
    """
    for t in range(sm.relevant.shape[0]):
        begin, end = sm.placed[stage, t], sm.links[t]
        if sm.slides[t] and sm.relevant[t, d]:
            for link in range(begin, end):
                if not may_slide(sm, t, link, sm.segment[stage], shape, d, digit, outside[t]):
                    return False
    return True


@leaf
def may_change(sm: Same, stage: int, d: int, outside: Floats) -> bool:
    """Whether loops on dimension d, whatever their tiles, change no tile more often than now."""
    for t in range(sm.relevant.shape[0]):
        link = sm.placed[stage, t]
        if link < sm.links[t] and sm.relevant[t, d] and outside[t] > sm.outside[t, link]:
            return False
    return True


@leaf
def may_slide(
    sm: Same, t: int, link: int, segment: int, shape: int, d: int, digit: int, outside: float
) -> bool:
    """Whether a loop relevant to a sliding tensor leaves its slide towards a node as it is."""
    expression, tile = sm.window[t, d], sm.values[d, digit]
    first, end = sm.slide[t, link], sm.slide[t, link + 1]
    own = -1 if first == end else sm.window[t, sm.slide_dimension[first]]
    begun = beyond = other = within = False
    ended = True
    for e in range(len(sm.sizes)):
        if sm.window[t, e] < 0:
            continue
        extent = sm.values[e, sm.digits[shape, e]]
        # of which the arrays in between leave the extent at the node
        whole = sm.tile[t, link, e] * sm.spread[sm.depth[t, link], e] // sm.spread[segment, e]
        ended = ended and extent <= whole
        beyond = beyond or extent < whole
        if e == d:
            within = tile % whole != 0
        else:
            other = other or extent < whole
        if sm.window[t, e] == own:
            begun = begun or extent % sm.slide_shape[first, e] != 0
    if within:
        # a slide within the tile, along one dimension, brings the same words
        same = ended and not other and outside == sm.outside[t, link]
        return bool(same and sm.within[t, link, d, digit])
    if beyond:
        return False
    if first == end:
        return True
    if not begun and (expression != own or tile % sm.slide_shape[first, d] == 0):
        return bool(outside <= sm.slide_outside[first])
    if expression != own:
        return False
    extent = sm.values[d, sm.digits[shape, d]]
    for step in range(first, end):
        same = sm.slide_dimension[step] == d and sm.slide_outside[step] == outside
        same = same and sm.slide_shape[step, d] % extent == 0 and tile % sm.slide_tile[step] == 0
        for e in range(len(sm.sizes)):
            if same and e != d and sm.window[t, e] == own:
                same = sm.values[e, sm.digits[shape, e]] == sm.slide_shape[step, e]
        if same:
            return True
    return False


@leaf
def may_place(sm: Same, stage: int, shape: int, t: int) -> bool:
    """Whether the next store node of a tensor may stand at a shape."""
    if sm.following[stage, t] < 0:
        return False
    link = sm.placed[stage, t]
    if sm.words[t, shape] * sm.bits[t, link] > sm.share[t, link]:
        return False
    if sm.slides[t]:
        for d in range(len(sm.sizes)):
            # a smaller extent is that of a slide within the tile
            if sm.window[t, d] >= 0 and sm.values[d, sm.digits[shape, d]] > sm.tile[t, link, d]:
                return False
    return True


@leaf
def shape_below(sm: Same, array: int, shape: int) -> int:
    """Return the shape in each element of an array, or -1 where it may not be entered here."""
    below = shape
    for d in range(len(sm.sizes)):
        extent = sm.values[d, sm.digits[shape, d]]
        factor = sm.factors[array, d]
        if extent % factor != 0 or (sm.above[array, d] > 0 and sm.above[array, d] != extent):
            return -1
        digit = sm.digits[shape, d]
        while sm.values[d, digit] != extent // factor:
            digit -= 1
            below -= sm.strides[d]
    return below


@leaf
def take(
    sm: Same,
    index: Ints,
    rests: Ints,
    n: int,
    action: int,
    stage: int,
    shape: int,
    column: int,
    cost: int,
) -> None:
    """Mark where a step leads to; once rests are known, take it if nothing before is as good.

    `cost` is what it adds to the rest that follows: bits of a memory, or a loop in the column after
    those of the memories.
    """
    if n < 0:
        index[stage, shape] = 0
        return
    width = len(sm.capacity) + 1
    rest = index[stage, shape]
    if rests[rest, width] < 0:
        return
    less = rests[n, width] < 0
    for k in range(width):
        own = rests[rest, k] + (cost if k == column else 0)
        if k < width - 1 and own > sm.capacity[k]:
            return
        if not less:
            if own > rests[n, k]:
                return
            less = own < rests[n, k]
    if not less:
        return
    for k in range(width):
        rests[n, k] = rests[rest, k] + (cost if k == column else 0)
    rests[n, width] = action
    rests[n, width + 1] = shape


@leaf
def follow(
    sm: Same, index: Ints, rests: Ints, outside: Floats, n: int, stage: int, shape: int
) -> None:
    """Take every step from a stage and a shape, those that are preferred first."""
    nt = sm.placed.shape[1]
    memories = len(sm.capacity)
    segment = sm.segment[stage]
    if stage == sm.start[segment + 1] - 1:
        below = shape_below(sm, segment, shape)
        if below >= 0:
            take(sm, index, rests, n, CROSS, stage + 1, below, 0, 0)
    for m in range(memories):
        for t in range(nt):
            link = sm.placed[stage, t]
            if may_place(sm, stage, shape, t) and sm.memory[t, link] == m:
                bits = sm.words[t, shape] * sm.bits[t, link]
                take(sm, index, rests, n, PLACE + t, sm.following[stage, t], shape, m, bits)
    for t in range(nt):
        outside[t] = iterations(sm, segment, shape, t)
    for d in range(len(sm.sizes)):
        if not may_change(sm, stage, d, outside):
            continue
        extent = sm.values[d, sm.digits[shape, d]]
        inside = shape - sm.digits[shape, d] * sm.strides[d]
        for digit in range(sm.digits[shape, d]):
            if extent % sm.values[d, digit] == 0 and may_loop(sm, stage, shape, d, digit, outside):
                take(sm, index, rests, n, LOOP, stage, inside, memories, 1)
            inside += sm.strides[d]


@leaf_kernel
def walks(sm: Same, index: Ints, rests: Ints, outside: Floats, settled: bool) -> int:
    """Go along all walks: inward to mark what they come to, then back to find the best rests.

    Returns
    -------
    int
        Number of states, each a stage and a shape.
    """
    stages, shapes = index.shape
    segments = len(sm.start) - 1
    count = 0
    for i in range(segments):
        segment = segments - 1 - i if settled else i
        first, end = sm.start[segment], sm.start[segment + 1]
        for j in range(shapes):
            shape = j if settled else shapes - 1 - j
            for k in range(end - first):
                stage = end - 1 - k if settled else first + k
                if index[stage, shape] < 0:
                    continue
                if settled:
                    index[stage, shape] = count
                    rests[count, len(sm.capacity) + 1] = END if stage == stages - 1 else -1
                if stage < stages - 1:
                    follow(sm, index, rests, outside, count if settled else -1, stage, shape)
                count += 1
    return count


def thriftiest(sm: Same) -> tuple[list[Step], list[int]]:
    """Find the walk that needs the least memory, and is the simplest of those.

    Returns
    -------
    walk : list of Step
        Nothing where there is no walk.
    used : list of int
        Bits in each memory but the outermost, and 0 for that.
    """
    width = len(sm.capacity) + 1
    stages, shape = len(sm.placed), len(sm.digits) - 1
    index = np.full((stages, len(sm.digits)), -1, np.int64)
    index[0, shape] = 0
    # of the best rest of every state: bits in each memory, loops, its first step, the shape inside
    outside = np.empty(sm.placed.shape[1])
    rests = np.empty((0, width + 2), np.int64)
    rests = np.zeros((walks(sm, index, rests, outside, False), width + 2), np.int64)
    walks(sm, index, rests, outside, True)
    used = rests[index[0, shape], : width - 1].tolist()
    stage = 0
    walk: list[Step] = []
    while True:
        action, inside = rests[index[stage, shape], width:].tolist()
        if action <= END:
            return walk, used
        walk.append(Step(action, stage, inside))
        shape = inside
        if action == CROSS:
            stage += 1
        elif action >= PLACE:
            stage = int(sm.following[stage, action - PLACE])

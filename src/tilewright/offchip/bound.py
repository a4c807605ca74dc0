"""Lower bound on the spills of a tensor from the outer loops of a nest alone.

Cut time at every advance of a loop. What is resident at a cut is at most the memory, and whatever
is used between two cuts is either carried over a cut or loaded:

    loads >= words used, interval by interval - memory x cuts

The intervals between cuts are the iterations of the loop (the last one of a sweep and the first
one of the next are one interval, which counts the words of both once). So the bound needs the
loops down to that loop, whatever stands inside. Each loop that repeats or slides a tensor gives a
bound, the largest counts; all of them are convex and decreasing in the memory, so that banks are
divided among tensors by the largest gain first (CNNFlow, Algorithm 2).
"""

from __future__ import annotations

from math import inf

import numpy as np
from numpy.typing import NDArray

from tilewright.kernels.kernel import kernel, part
from tilewright.offchip.nest import Array, Flags

Floats = NDArray[np.float64]

INSIDE = 64  # place of a loop that has none yet
# what the chunk of a dimension does from one iteration to another one
ALL, STAYS, ADVANCES, RETURNS, RETURNS_SOONER = range(5)
HEAD, HEAD_ADVANCES, LAST, LAST_ADVANCES = range(5, 9)
BOTH, WHOLE, SHORT = range(3)


@part
def index_words(a: int, m: int, b: int, n: int) -> int:
    """Return the distinct values of ``a*i + b*j`` for m and n values of i and j."""
    if m == 1 or n == 1:
        return m * n
    x, y = a, b
    while y:
        x, y = y, x % y
    return m * n - max(0, m - b // x) * max(0, n - a // x)


@kernel
def block_words(t: int, extents: Array, expressions: Array, axes: Array) -> int:
    """Return the words of a tensor in a box."""
    total = 1
    for e in range(axes[t]):
        a, b = expressions[t, e, 1], expressions[t, e, 3]
        second = expressions[t, e, 2]
        total *= index_words(
            a, extents[expressions[t, e, 0]], b, extents[second] if second >= 0 else 1
        )
    return total


@part
def put(rows: Array, row: int, distance: int, before: int, after: int, times: int) -> None:
    """Write how far a chunk goes, its iterations before and after, and how often."""
    rows[row, 0], rows[row, 1], rows[row, 2], rows[row, 3] = distance, before, after, times


@part
def moves(bound: int, block: int, does: int, which: int, rows: Array) -> None:
    """Write how the chunk of a dimension moves; `which` chunks stay: both, whole or short ones."""
    chunks = -(-bound // block)
    short = bound - (chunks - 1) * block
    put(rows, 1, 0, 0, 0, 0)
    if does == ALL:
        put(rows, 0, 0, bound, bound, 1)
    elif does == STAYS:
        put(rows, 0, 0, block, block, chunks - 1 if which != SHORT else 0)
        put(rows, 1, 0, short, short, 1 if which != WHOLE else 0)
    elif does == ADVANCES:
        put(rows, 0, block, block, block, chunks - 2)
        put(rows, 1, block, block, short, 1)
    elif does == RETURNS:
        put(rows, 0, -(chunks - 1) * block, short, block, 1)
    elif does == RETURNS_SOONER:
        put(rows, 0, -(chunks - 2) * block, block, block, 1)
    elif does == HEAD:
        put(rows, 0, 0, block, block, chunks - 1)
    elif does == HEAD_ADVANCES:
        put(rows, 0, block, block, block, chunks - 2)
    elif does == LAST:
        put(rows, 0, 0, short, short, 1)
    else:
        put(rows, 0, block, block, short, 1)


@part
def common_words(
    t: int, does: Array, which: Array, blocks: Array,
    bounds: Array, expressions: Array, axes: Array, relevant: Flags, first: Array, second: Array,
) -> float:  # fmt: skip
    """Return the words that a tensor uses both before and after a move, over all such moves.

    At most the interval that both iterations cover and the words of either: exact unless a stride
    leaves gaps.
    """
    total = 1.0
    for d in range(len(bounds)):
        if not relevant[t, d] and does[d] != ALL:
            moves(bounds[d], blocks[d], does[d], which[d], first)
            total *= first[0, 3] + first[1, 3]
    for e in range(axes[t]):
        a, b = expressions[t, e, 1], expressions[t, e, 3]
        d, other = expressions[t, e, 0], expressions[t, e, 2]
        moves(bounds[d], blocks[d], does[d], which[d], first)
        words = 0.0
        if other < 0:
            for i in range(2):
                if first[i, 0] == 0:
                    words += first[i, 3] * first[i, 1]
        else:
            moves(bounds[other], blocks[other], does[other], which[other], second)
            for i in range(2):
                for j in range(2):
                    times = first[i, 3] * second[j, 3]
                    if times == 0:
                        continue
                    start = a * first[i, 0] + b * second[j, 0]
                    end = a * (first[i, 1] - 1) + b * (second[j, 1] - 1)
                    end_after = start + a * (first[i, 2] - 1) + b * (second[j, 2] - 1)
                    covered = min(end, end_after) - max(0, start) + 1
                    before = index_words(a, first[i, 1], b, second[j, 1])
                    after = index_words(a, first[i, 2], b, second[j, 2])
                    words += max(0, min(covered, before, after)) * times
        total *= words
        if total == 0:
            return 0.0
    return total


@part
def disjoint(t: int, low: int, high: int, order: Array, relevant: Flags, sliding: Flags) -> bool:
    """Whether one of the loops at places from `low` up to `high` leads to other words."""
    found = False
    for at in range(low, high):
        found |= relevant[t, order[at]] and not sliding[t, order[at]]
    return found


@part
def gapless(
    t: int, depth: int, order: Array, blocks: Array, bounds: Array, expressions: Array, axes: Array
) -> bool:
    """Whether every block under the loops down to `depth` uses all words of an interval."""
    for e in range(axes[t]):
        if expressions[t, e, 2] >= 0:
            a, b = expressions[t, e, 1], expressions[t, e, 3]
            fine = expressions[t, e, 0] if a == 1 else expressions[t, e, 2]
            if min(a, b) != 1:
                return False
            least = bounds[fine]
            for q in range(depth + 1):
                if order[q] == fine:
                    least = bounds[fine] % blocks[fine]
                    least = least if least else blocks[fine]
            if least < max(a, b):
                return False
    return True


@kernel
def raise_bound(
    t: int, level: int, order: Array, blocks: Array,
    bounds: Array, expressions: Array, axes: Array, relevant: Flags, sliding: Flags,
    words: Array, weights: Array, bank: int, curve: Floats,
) -> None:  # fmt: skip
    """Raise the bound on the spills of a tensor to what cuts at the loop at `level` give.

    ``curve[i]`` is in DRAM words, for i banks. Sweeps over the short last chunk of an outer loop
    are cut only if that is worth it. The intervals that this joins must not use a word twice: so
    whole chunks are cut, between that loop and this one there are only loops that lead to other
    words, and there are at least three chunks unless no loop outside of them repeats anything.
    """
    first, second = np.zeros((2, 4), np.int64), np.zeros((2, 4), np.int64)
    does, which = np.zeros(len(bounds), np.int64), np.zeros(len(bounds), np.int64)
    uneven = np.zeros(level, np.int64)
    crossings, common = np.zeros(level), np.zeros(level)
    joints, splits = 0, 0
    # repeating loops without another loop in between are one
    top = level
    while top > 0 and not relevant[t, order[level]] and not relevant[t, order[top - 1]]:
        top -= 1
    outermost = top
    while outermost > 0:
        d = order[outermost - 1]
        if not relevant[t, d] or sliding[t, d]:
            break
        outermost -= 1
    for q in range(level + 1):
        does[order[q]] = RETURNS
    sweeps, rounds = 1.0, 1.0
    for at in range(top):
        d = order[at]
        chunks = -(-bounds[d] // blocks[d])
        does[d] = ADVANCES
        if not disjoint(t, at, top, order, relevant, sliding):
            shared = common_words(
                t, does, which, blocks, bounds, expressions, axes, relevant, first, second
            )
            if shared > 0:
                crossings[joints], common[joints] = sweeps * (chunks - 1), shared
                joints += 1
        does[d] = STAYS
        sweeps *= chunks
        if at >= outermost and bounds[d] % blocks[d] and (chunks > 2 or outermost == 0):
            uneven[splits] = d
            splits += 1
    for q in range(top, level + 1):
        rounds *= -(-bounds[order[q]] // blocks[order[q]])
    kinds = 1 << splits
    used, at_least, cuts = np.zeros(kinds), np.zeros(kinds), np.zeros(kinds)
    for kind in range(kinds):
        cuts[kind] = sweeps * (rounds - 1)
        for s in range(splits):
            d = uneven[s]
            chunks = -(-bounds[d] // blocks[d])
            which[d] = WHOLE if kind >> s & 1 else SHORT
            cuts[kind] *= (chunks - 1 if kind >> s & 1 else 1) / chunks
        for q in range(top, level + 1):
            does[order[q]] = STAYS
        used[kind] = common_words(
            t, does, which, blocks, bounds, expressions, axes, relevant, first, second
        )
        for q in range(top, level + 1):
            does[order[q]] = ALL
        at_least[kind] = common_words(
            t, does, which, blocks, bounds, expressions, axes, relevant, first, second
        )
    last = kinds - 1
    for banks in range(1, len(curve)):
        memory = banks * bank
        loads = used[last] - cuts[last] * memory
        cut_whole = loads > at_least[last]
        for kind in range(last):
            cut = used[kind] - cuts[kind] * memory
            loads += max(at_least[kind], cut) if cut_whole else cut
        for j in range(joints):
            loads -= min(crossings[j] * memory, common[j])
        curve[banks] = max(curve[banks], weights[t] * (loads - words[t]))


@kernel
def raise_with_inner(
    t: int, level: int, inner: int, order: Array, blocks: Array,
    bounds: Array, expressions: Array, axes: Array, relevant: Flags, sliding: Flags,
    words: Array, weights: Array, bank: int, curve: Floats,
) -> None:  # fmt: skip
    """Raise the bound by cuts at a sliding loop that leave room for the reuse of an inner loop.

    Each iteration of the loop at `level` but the last is cut just before the last iteration of the
    loop at place `inner`. The interval up to the next cut then uses twice what that last
    iteration shares with the one before: it has to be in memory at the cut, besides what is
    carried over to the next iteration of the outer loop (the set D^sf - D^r of CNNFlow). Loops
    in between have to lead to other words.
    """
    first, second = np.zeros((2, 4), np.int64), np.zeros((2, 4), np.int64)
    does, which = np.zeros(len(bounds), np.int64), np.zeros(len(bounds), np.int64)
    d, s = order[level], order[inner]
    if not gapless(t, inner, order, blocks, bounds, expressions, axes):
        return
    for q in range(level + 1, inner):
        if not relevant[t, order[q]] or sliding[t, order[q]]:
            return
    for e in range(axes[t]):
        one, other = expressions[t, e, 0], expressions[t, e, 2]
        if (one == d and other == s) or (one == s and other == d):
            return
    rounds = -(-bounds[d] // blocks[d])
    sweeps = 1.0
    for at in range(level):
        sweeps *= -(-bounds[order[at]] // blocks[order[at]])
    # a sweep must have nothing in common with the last two iterations of the one before
    for q in range(1, level):
        does[order[q]] = RETURNS
    for at in range(level):
        does[order[at]] = ADVANCES
        if not disjoint(t, at, level, order, relevant, sliding):
            does[d] = RETURNS
            if rounds < 3 or common_words(
                t, does, which, blocks, bounds, expressions, axes, relevant, first, second
            ):
                return
            does[d] = RETURNS_SOONER
            if common_words(
                t, does, which, blocks, bounds, expressions, axes, relevant, first, second
            ):
                return
        does[order[at]] = STAYS
    does[d] = STAYS
    used = common_words(t, does, which, blocks, bounds, expressions, axes, relevant, first, second)
    for q in range(level + 1, inner):
        does[order[q]] = LAST
    does[d] = HEAD
    does[s] = LAST_ADVANCES if relevant[t, s] else LAST
    live = common_words(t, does, which, blocks, bounds, expressions, axes, relevant, first, second)
    does[d] = HEAD_ADVANCES
    carried = common_words(
        t, does, which, blocks, bounds, expressions, axes, relevant, first, second
    )
    does[s] = LAST
    does[d] = LAST_ADVANCES
    carried += common_words(
        t, does, which, blocks, bounds, expressions, axes, relevant, first, second
    )
    if live <= carried:
        return
    for banks in range(1, len(curve)):
        loads = used + live - carried - sweeps * (rounds - 1) * (banks * bank)
        curve[banks] = max(curve[banks], weights[t] * (loads - words[t]))


@part
def shift_and_overlap(
    t: int, d: int, blocks: Array, bounds: Array, expressions: Array, axes: Array
) -> tuple[int, int]:
    """Return how far a chunk of a sliding loop shifts the index, and how much is left in common.

    The other dimension of the index is whole.
    """
    for e in range(axes[t]):
        a, b = expressions[t, e, 1], expressions[t, e, 3]
        if expressions[t, e, 0] == d:
            shift = a * blocks[d]
            return shift, b * (bounds[expressions[t, e, 2]] - 1) + 1 - a
        if expressions[t, e, 2] == d:
            shift = b * blocks[d]
            return shift, a * (bounds[expressions[t, e, 0]] - 1) + 1 - b
    return 1, 0


@part
def kept_of_newest(
    t: int, inner: int, deeper: int, rounds: int, order: Array, does: Array, which: Array,
    blocks: Array, bounds: Array, expressions: Array, axes: Array, relevant: Flags,
    sliding: Flags, first: Array, second: Array,
) -> float:  # fmt: skip
    """Return what a second sliding loop keeps of the words that the first one has just reached.

    Zero unless the first one overlaps by whole chunks, so that the cuts can drift along both.
    """
    s, other = order[inner], order[deeper]
    for e in range(axes[t]):
        one, two = expressions[t, e, 0], expressions[t, e, 2]
        if (one == s and two == other) or (one == other and two == s):
            return 0.0
    shift, overlap = shift_and_overlap(t, s, blocks, bounds, expressions, axes)
    shift_2, overlap_2 = shift_and_overlap(t, other, blocks, bounds, expressions, axes)
    if overlap < 1 or overlap_2 < 1 or overlap % shift:
        return 0.0
    if (rounds - 1) * (-(-overlap_2 // shift_2)) > -(-bounds[other] // blocks[other]) - 2:
        return 0.0
    for e in range(axes[t]):
        for each in (expressions[t, e, 0], expressions[t, e, 2]):
            # the other dimensions of both indices are whole
            if each >= 0 and each not in (s, other) and sliding[t, each]:
                for q in range(deeper):
                    if order[q] == each:
                        return 0.0
    for q in range(inner + 1, deeper):
        does[order[q]] = LAST
    does[other] = LAST_ADVANCES
    return shift * common_words(
        t, does, which, blocks, bounds, expressions, axes, relevant, first, second
    ) / overlap  # fmt: skip


@kernel
def raise_with_drift(
    t: int, level: int, inner: int, deeper: int, order: Array, blocks: Array,
    bounds: Array, expressions: Array, axes: Array, relevant: Flags, sliding: Flags,
    words: Array, weights: Array, bank: int, curve: Floats,
) -> None:  # fmt: skip
    """Raise the bound of a repeating loop by one cut more in each sweep over its rounds.

    Each round is cut once, a little earlier than the one before, so that the words before and
    after a cut are those of a whole round all the same. Then the first and the last interval of a
    sweep use more than one round together: D words more for every round, where D is what the
    loop at place `inner` has to keep (the residual spilling cycle of CNNFlow, Equation 7), and
    what a second sliding loop at place `deeper` (-1 for none) keeps of its newest words.
    """
    first, second = np.zeros((2, 4), np.int64), np.zeros((2, 4), np.int64)
    does, which = np.zeros(len(bounds), np.int64), np.zeros(len(bounds), np.int64)
    if not gapless(t, max(inner, deeper), order, blocks, bounds, expressions, axes):
        return
    for q in range(level + 1, inner):
        if not relevant[t, order[q]] or sliding[t, order[q]]:
            return
    for q in range(inner + 1, deeper):
        if not relevant[t, order[q]] or sliding[t, order[q]]:
            return
    outermost = level
    rounds = -(-bounds[order[level]] // blocks[order[level]])
    while outermost > 0 and not relevant[t, order[outermost - 1]]:
        outermost -= 1
        rounds *= -(-bounds[order[outermost]] // blocks[order[outermost]])
    s = order[inner]
    chunks = -(-bounds[s] // blocks[s])
    sweeps = 1.0
    for at in range(outermost):
        does[order[at]] = STAYS
        sweeps *= -(-bounds[order[at]] // blocks[order[at]])
    for q in range(level + 1, inner):
        does[order[q]] = LAST
    if deeper >= 0 and not relevant[t, s]:
        return
    if relevant[t, s]:
        # so many chunks earlier every round: as many as share words with one
        drift = 1
        for e in range(axes[t]):
            a, b = expressions[t, e, 1], expressions[t, e, 3]
            if expressions[t, e, 0] == s:
                drift += b * (bounds[expressions[t, e, 2]] - 1) // (a * blocks[s])
            elif expressions[t, e, 2] == s:
                drift += a * (bounds[expressions[t, e, 0]] - 1) // (b * blocks[s])
        if (rounds - 1) * drift > chunks - 2:
            return
        does[s] = LAST_ADVANCES
        more = rounds * common_words(
            t, does, which, blocks, bounds, expressions, axes, relevant, first, second
        )
        if deeper >= 0:
            more += rounds * kept_of_newest(
                t, inner, deeper, rounds, order, does, which, blocks, bounds, expressions, axes,
                relevant, sliding, first, second,
            )  # fmt: skip
    else:
        if inner == level + 1:
            return
        r = order[inner - 1]
        others = -(-bounds[r] // blocks[r]) - 1
        if others < rounds:
            return
        does[r] = HEAD
        more = rounds * common_words(
            t, does, which, blocks, bounds, expressions, axes, relevant, first, second
        ) / others  # fmt: skip
    if more <= sweeps * bank:
        return
    for q in range(len(bounds)):
        does[q] = ALL
    joined = 0.0
    for q in range(outermost, level + 1):
        does[order[q]] = RETURNS
    for at in range(outermost - 1, -1, -1):
        does[order[at]] = ADVANCES
        for q in range(at):
            does[order[q]] = STAYS
        joined += common_words(
            t, does, which, blocks, bounds, expressions, axes, relevant, first, second
        )
        does[order[at]] = RETURNS
    for q in range(level + 1):
        does[order[q]] = STAYS
    used = common_words(t, does, which, blocks, bounds, expressions, axes, relevant, first, second)
    for banks in range(1, len(curve)):
        loads = used - joined + more - sweeps * rounds * (banks * bank)
        curve[banks] = max(curve[banks], weights[t] * (loads - words[t]))


@kernel
def divide(curves: Floats, least: Array, shares: Array) -> float:
    """Divide banks among tensors and return the least sum of their convex curves.

    `shares` receives the banks of each tensor, at least `least`; infinite when they do not suffice.
    """
    shares[:] = least
    left = curves.shape[1] - 1
    for t in range(len(least)):
        left -= least[t]
    if left < 0:
        return inf
    while left > 0:
        best, gain = -1, 0.0
        for t in range(len(least)):
            if shares[t] + 1 < curves.shape[1]:
                less = curves[t, shares[t]] - curves[t, shares[t] + 1]
                if less > gain:
                    best, gain = t, less
        if best < 0:
            break
        shares[best] += 1
        left -= 1
    total = 0.0
    for t in range(len(least)):
        total += curves[t, shares[t]]
    return total

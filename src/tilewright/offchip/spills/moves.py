"""How the blocks of a tensor move, and the words that it uses both before and after a move."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tilewright.kernels.kernel import kernel, part
from tilewright.offchip.nest import Array, NestArrays

Floats = NDArray[np.float64]

# what the chunk of a dimension does from one iteration to another one
ALL, STAYS, ADVANCES, RETURNS, RETURNS_SOONER = range(5)
HEAD, HEAD_ADVANCES, LAST, LAST_ADVANCES = range(5, 9)
# which of the chunks that stay: both kinds, the whole ones, or the short last one
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
    t: int, does: Array, which: Array, blocks: Array, nest: NestArrays, rows: Array
) -> float:
    """Return the words that a tensor uses both before and after a move, over all such moves.

    At most the interval that both iterations cover and the words of either: exact unless a stride
    leaves gaps.
    """
    first, second = rows[0], rows[1]
    total = 1.0
    for d in range(len(nest.bounds)):
        if not nest.relevant[t, d] and does[d] != ALL:
            moves(nest.bounds[d], blocks[d], does[d], which[d], first)
            total *= first[0, 3] + first[1, 3]
    for e in range(nest.axes[t]):
        a, b = nest.expressions[t, e, 1], nest.expressions[t, e, 3]
        d, other = nest.expressions[t, e, 0], nest.expressions[t, e, 2]
        moves(nest.bounds[d], blocks[d], does[d], which[d], first)
        words = 0.0
        if other < 0:
            for i in range(2):
                if first[i, 0] == 0:
                    words += first[i, 3] * first[i, 1]
        else:
            moves(nest.bounds[other], blocks[other], does[other], which[other], second)
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
def disjoint(t: int, low: int, high: int, order: Array, nest: NestArrays) -> bool:
    """Whether one of the loops at places from `low` up to `high` leads to other words."""
    found = False
    for at in range(low, high):
        found |= nest.relevant[t, order[at]] and not nest.sliding[t, order[at]]
    return found


@part
def gapless(t: int, depth: int, order: Array, blocks: Array, nest: NestArrays) -> bool:
    """Whether every block under the loops down to `depth` uses all words of an interval."""
    for e in range(nest.axes[t]):
        if nest.expressions[t, e, 2] >= 0:
            a, b = nest.expressions[t, e, 1], nest.expressions[t, e, 3]
            fine = nest.expressions[t, e, 0] if a == 1 else nest.expressions[t, e, 2]
            if min(a, b) != 1:
                return False
            least = nest.bounds[fine]
            for q in range(depth + 1):
                if order[q] == fine:
                    least = nest.bounds[fine] % blocks[fine]
                    least = least if least else blocks[fine]
            if least < max(a, b):
                return False
    return True

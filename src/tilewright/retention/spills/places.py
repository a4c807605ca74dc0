"""Compiled kernels: the places of a memory, and how long each has been free.

A memory of M words is M places. A word that stays from its last use at step a to its next use at
step s keeps one place busy at the steps between. Words are looked at when they are used again: such
a word has stayed when some place was not needed by anything else since step a, and it takes the one
that was needed last. This is interval scheduling by earliest end, which loses the fewest words (the
same number as Belady's rule), but does not need to look ahead. Only how many places are free since
which step has to be known.

Places that are free since step t stand in bucket t + 1. Bucket 0 is empty: it ends the search.
"""

from __future__ import annotations

from tilewright.kernels.kernel import leaf, part
from tilewright.kernels.types import Ints


@leaf
def find(newest: Ints, bucket: int) -> int:
    """Return the nearest bucket at or below one that has places; 0 when there is none."""
    root = bucket
    while newest[root] != root:
        root = newest[root]
    while newest[bucket] != root:
        bucket, newest[bucket] = newest[bucket], root
    return root


@leaf
def take(free: Ints, newest: Ints, bucket: int, words: int) -> int:
    """Take places from a bucket and those below, newest first; return how many there were."""
    taken = 0
    bucket = find(newest, bucket)
    while bucket > 0 and taken < words:
        some = min(free[bucket], words - taken)
        free[bucket] -= some
        taken += some
        if free[bucket] == 0:
            newest[bucket] = bucket - 1
            bucket = find(newest, bucket)
    return taken


@part
def use(
    step: int, number: Ints, words: Ints, many: int, whole: bool, last_use: Ints, free: Ints,
    newest: Ints,
) -> tuple[int, int]:  # fmt: skip
    """Use a block of so many classes at a step; return its words, and those that had left.

    All words of the block are in the memory at once, when it is used as a `whole`. Otherwise only
    what stays from one step to another takes a place: no way to use the words of each step, in
    any order, loses fewer.
    """
    block = 0
    stayed = 0
    known = 0
    for k in range(many):
        since = last_use[number[k]]
        last_use[number[k]] = step
        block += words[k]
        if since >= 0:
            known += words[k]
            stayed += take(free, newest, since + 2, words[k])
    if whole:
        take(free, newest, step + 1, block - stayed)
        free[step + 2] = block
    else:
        free[step + 2] = stayed
    newest[step + 2] = step + 2 if free[step + 2] > 0 else step + 1
    return block, known - stayed

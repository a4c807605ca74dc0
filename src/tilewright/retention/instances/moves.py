"""Compiled kernels: which words move into an instance at which step, and unions of them.

Instances that idle, or have more to do at some steps than at others, are followed word by word; so
is what several instances receive in the same step. The words that stay are those of Belady's rule
where, among words with the same next use, the first of the block stay first: whatever is wanted at
a step, in this order, has stayed when a place was left for it since its last use (see `places`).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tilewright.kernels.copies import copy, longer
from tilewright.kernels.kernel import kernel, leaf
from tilewright.kernels.types import Bools, Ints
from tilewright.retention.spills.places import take

MOST_USES = 50_000_000
TOO_SMALL, TOO_LONG = -1, -2


class Blocks(NamedTuple):
    """The blocks of an instance, by group: an index expression, or an irrelevant dimension.

    What a group contributes depends on the chunks of its own loops: a *place*,
    ``group_start[group] + sum(chunk * loop_weight)``. The words of a block are the sums of one
    number of each group; an instance without any idles.
    """

    loop_group: Ints  # of each temporal loop, outermost first
    loop_weight: Ints
    loop_chunks: Ints  # in the instance that has most
    loop_anew: Bools  # whether the tile above changes with it
    group_start: Ints
    start: Ints  # the numbers of place p are number[start[p] : start[p + 1]], ascending
    number: Ints
    above: Bools  # by place: whether the instance of the memory above works
    words: int  # beyond all words


@leaf
def works(blocks: Blocks, place: Ints) -> bool:
    """Whether the instance has something to do."""
    busy = True
    for p in place:
        busy = busy and blocks.start[p] < blocks.start[p + 1]
    return busy


@leaf
def changed(blocks: Blocks, place: Ints, chunk: Ints, tile: Ints) -> bool:
    """Note the tile of the memory above, and return whether it is another one."""
    for p in place:
        if not blocks.above[p]:
            return False
    new = False
    for i in range(len(chunk)):
        if blocks.loop_anew[i] and tile[i] != chunk[i]:
            new = True
            tile[i] = chunk[i]
    return new


@leaf
def begin_block(blocks: Blocks, place: Ints, at: Ints) -> int:
    """Go to the first word of a block; return it."""
    word = 0
    for g in range(len(place)):
        at[g] = blocks.start[place[g]]
        word += blocks.number[at[g]]
    return word


@leaf
def next_word(blocks: Blocks, place: Ints, at: Ints) -> int:
    """Go to the next word of a block; return it, or -1 after the last one."""
    g = len(place) - 1
    while g >= 0:
        at[g] += 1
        if at[g] < blocks.start[place[g] + 1]:
            break
        at[g] = blocks.start[place[g]]
        g -= 1
    if g < 0:
        return -1
    word = 0
    for h in range(len(place)):
        word += blocks.number[at[h]]
    return word


@leaf
def advance(blocks: Blocks, chunk: Ints, place: Ints) -> int:
    """Go to the next step; return the outermost loop that has advanced, -1 at the end."""
    i = len(chunk) - 1
    while i >= 0 and chunk[i] + 1 == blocks.loop_chunks[i]:
        chunk[i] = 0
        i -= 1
    if i >= 0:
        chunk[i] += 1
    for g in range(len(place)):
        place[g] = blocks.group_start[g]
    for j in range(len(chunk)):
        place[blocks.loop_group[j]] += chunk[j] * blocks.loop_weight[j]
    return i


@kernel
def moved_words(blocks: Blocks, capacity: int, record: bool) -> tuple[int, Ints, Ints]:
    """Return how many words move into an instance, and which ones at which step.

    Parameters
    ----------
    blocks : Blocks
        What it needs.
    capacity : int
        Words that it holds.
    record : bool
        Whether the words are wanted, and not their number alone.

    Returns
    -------
    total : int
        Words that move in; TOO_SMALL when a block does not fit, TOO_LONG after MOST_USES uses.
    step, word : array of int
        Of each of them the number of the step, idle ones included, and the word; empty unless
        `record`.
    """
    loops, groups = len(blocks.loop_group), len(blocks.group_start)
    chunk = np.zeros(loops, np.int64)
    tile = np.full(loops, -1, np.int64)
    place = blocks.group_start.copy()
    at = np.zeros(groups, np.int64)
    last_use = np.full(blocks.words, -1, np.int64)
    free = np.zeros(1024, np.int64)
    newest = np.zeros(1024, np.int64)
    free[1] = capacity
    newest[1] = 1
    step = np.empty(1024 if record else 0, np.int64)
    moved = np.empty(len(step), np.int64)
    total, turn, code, uses, fresh = 0, 0, 0, 0, 0
    while True:
        if changed(blocks, place, chunk, tile):
            fresh = turn
        uses += 1
        if works(blocks, place):
            if turn + 3 > len(free):
                free, newest = longer(free), longer(newest)
            block = 0
            stayed = 0
            word = begin_block(blocks, place, at)
            while word >= 0:
                block += 1
                since = last_use[word]
                last_use[word] = turn
                if since >= fresh and take(free, newest, since + 2, 1) == 1:
                    stayed += 1
                else:
                    if record:
                        if total == len(step):
                            step, moved = longer(step), longer(moved)
                        step[total] = code
                        moved[total] = word
                    total += 1
                word = next_word(blocks, place, at)
            if block > capacity:
                return TOO_SMALL, step[:0], moved[:0]
            take(free, newest, turn + 1, block - stayed)
            free[turn + 2] = block
            newest[turn + 2] = turn + 2
            turn += 1
            uses += block
        if uses > MOST_USES:
            return TOO_LONG, step[:0], moved[:0]
        if advance(blocks, chunk, place) < 0:
            break
        code += 1
    return total, step[: total if record else 0], moved[: total if record else 0]


@kernel
def united_words(
    start: Ints, step: Ints, word: Ints, first: Ints, last: Ints, shift: Ints, words: int
) -> int:
    """Return the distinct words that instances receive, summed over steps.

    Parameters
    ----------
    start : array of instances
        Where the moves of each instance begin. Overwritten.
    step, word : array of moves
        The moves of all traces, those of each by ascending step.
    first, last : array of instances
        The moves of an instance are those of its trace, from `first` to before `last`.
    shift : array of instances
        What is added to the words of its trace.
    words : int
        Beyond all words.
    """
    seen = np.full(words, -1, np.int64)
    copy(first, start)
    total = 0
    while True:
        current = -1
        for i in range(len(start)):
            if start[i] < last[i] and (current < 0 or step[start[i]] < current):
                current = step[start[i]]
        if current < 0:
            return total
        for i in range(len(start)):
            while start[i] < last[i] and step[start[i]] == current:
                at = word[start[i]] + shift[i]
                if seen[at] != current:
                    seen[at] = current
                    total += 1
                start[i] += 1

"""Compiled kernel: how many words an optimally managed memory has to fetch again.

A memory of M words is M places. A word that stays from its last use at step a to its next use at
step s keeps one place busy at the steps between. Words are looked at when they are used again: such
a word has stayed when some place was not needed by anything else since step a, and it takes the one
that was needed last. This is interval scheduling by earliest end, which loses the fewest words (the
same number as Belady's rule), but does not need to look ahead. Only how many places are free since
which step has to be known.

Rounds of a loop that is irrelevant to the tensor are alike. When a round begins as an earlier one
began (places and last uses, relative to its first step), all that follows repeats, and whole
periods are skipped.
"""

from __future__ import annotations

import numpy as np

from tilewright.model.kernel import kernel, part
from tilewright.model.types import Ints
from tilewright.retention.classes import Classes


@part
def find(newest: Ints, bucket: int) -> int:
    """Return the nearest bucket at or below one that has places; 0 when there is none."""
    root = bucket
    while newest[root] != root:
        root = newest[root]
    while newest[bucket] != root:
        bucket, newest[bucket] = newest[bucket], root
    return root


@part
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
def longer(array: Ints) -> Ints:
    """Return an array of twice the length that begins like this one."""
    result = np.zeros(2 * len(array), np.int64)
    result[: len(array)] = array
    return result


@part
def enter(classes: Classes, chunk: Ints, extent: Ints, chunks: Ints, first: int) -> None:
    """Begin the loops from `first` inward at their first chunks."""
    for i in range(first, len(chunk)):
        outer = classes.loop_outer[i]
        if outer < 0:
            extent[i] = classes.loop_extent[i]
        else:
            tile = classes.loop_tile[outer]
            extent[i] = min(tile, extent[outer] - chunk[outer] * tile)
        chunks[i] = -(-extent[i] // classes.loop_tile[i])
        chunk[i] = 0


@part
def block(classes: Classes, chunk: Ints, number: Ints, words: Ints) -> int:
    """Write the classes of the current block, with their words; return how many there are."""
    many = 1
    number[0] = 0
    words[0] = 1
    for axis in range(len(classes.axis_start) - 1):
        place = classes.axis_start[axis]
        for i in range(len(chunk)):
            if classes.loop_axis[i] == axis:
                place += chunk[i] * classes.loop_weight[i]
        first, last = classes.start[place], classes.start[place + 1]
        for k in range(last - 1, first - 1, -1):
            # the first class stands where those before it stood: it comes last
            for j in range(many):
                number[(k - first) * many + j] = number[j] + classes.number[k]
                words[(k - first) * many + j] = words[j] * classes.words[k]
        many *= last - first
    return many


@part
def widest(classes: Classes) -> int:
    """Return the most classes that a block has."""
    most = 1
    for axis in range(len(classes.axis_start) - 1):
        wide = 0
        for place in range(classes.axis_start[axis], classes.axis_start[axis + 1]):
            wide = max(wide, classes.start[place + 1] - classes.start[place])
        most *= wide
    return most


@part
def repeats(
    code: Ints, free: Ints, kept: Ints, inner: int, saved: int, begin: int, length: int
) -> bool:
    """Whether the round from step `begin` ends as the one from step `saved` ended.

    Both have `length` steps; `kept` are the places that the saved one left. The steps were the same
    (`code`, relative to a round of `inner` steps), and as many places are free since each of them.
    Places that are free for longer are alike to this loop. They are taken newest first: what one
    period takes of them and adds to them, the next one takes and adds again.
    """
    for t in range(length):
        if free[begin + 2 + t] != kept[t]:
            return False
        if code[begin + t] % inner != code[saved + t] % inner:
            return False
    return True


@kernel
def count_spills(classes: Classes, capacity: int, most_steps: int) -> int:
    """Return how often a word leaves that is used again, when the best words stay.

    Parameters
    ----------
    classes : Classes
        The access (see `classes.classify`).
    capacity : int
        Words of the memory.
    most_steps : int
        Give up after so many steps.

    Returns
    -------
    int
        Spills; -1 when a block does not fit, -2 when there are too many steps.
    """
    loops = len(classes.loop_axis)
    chunk = np.zeros(loops, np.int64)
    extent = np.zeros(loops, np.int64)
    chunks = np.zeros(loops, np.int64)
    enter(classes, chunk, extent, chunks, 0)
    inner = np.ones(loops, np.int64)  # steps of one round of each loop
    for i in range(loops - 1, 0, -1):
        inner[i - 1] = inner[i] * chunks[i]
    last_on_dim = np.ones(loops, np.bool_)
    for i in range(loops):
        if classes.loop_outer[i] >= 0:
            last_on_dim[classes.loop_outer[i]] = False

    # places free since step t stand in bucket t + 1; bucket 0 is empty and ends the search
    size = 1024
    free = np.zeros(size, np.int64)
    newest = np.zeros(size, np.int64)
    code = np.zeros(size, np.int64)
    free[1] = capacity
    newest[1] = 1
    last_use = np.full(classes.total, -1, np.int32)
    number = np.empty(widest(classes), np.int64)
    words = np.empty(len(number), np.int64)

    begin = np.zeros(loops, np.int64)  # first step of the current round of each loop
    saved = np.full(loops, -1, np.int64)  # first step of the round that later ones are compared to
    saved_length = np.zeros(loops, np.int64)
    saved_round = np.zeros(loops, np.int64)
    saved_spills = np.zeros(loops, np.int64)
    power = np.ones(loops, np.int64)
    reuse = np.zeros(loops, np.int64) - 1
    begin_spills = np.zeros(loops, np.int64)
    levels = 0
    leading = 0  # outermost loops whose rounds have no word in common
    while leading < loops and classes.loop_alone[leading]:
        leading += 1
    for i in range(loops):
        if classes.loop_axis[i] < 0:
            reuse[i] = levels
            levels += 1
    kept = np.zeros((levels, size), np.int64)

    spills = 0
    step = 0
    while True:
        if step + 4 > size:
            free, newest, code = longer(free), longer(newest), longer(code)
            wider = np.zeros((levels, 2 * size), np.int64)
            wider[:, :size] = kept
            kept = wider
            size *= 2
        if step >= most_steps:
            return -2
        many = block(classes, chunk, number, words)
        needed = 0
        loaded = 0
        for k in range(many):
            since = last_use[number[k]]
            last_use[number[k]] = step
            needed += words[k]
            if since < 0:
                loaded += words[k]
            else:
                stayed = take(free, newest, since + 2, words[k])
                spills += words[k] - stayed
                loaded += words[k] - stayed
        if needed > capacity:
            return -1
        take(free, newest, step + 1, loaded)
        free[step + 2] = needed
        newest[step + 2] = step + 2
        place = 0
        for i in range(loops):
            place += chunk[i] * inner[i]
        code[step] = place
        step += 1

        i = loops - 1
        while i >= 0:
            level = reuse[i]
            # the last round may be another one: shorter, or with fewer rounds further in
            alike = chunks[i]
            if (i < leading or not last_on_dim[i]) and extent[i] % classes.loop_tile[i] > 0:
                alike -= 1
            if i < leading and chunk[i] == 0 and alike > 1:
                spills += (alike - 1) * (spills - begin_spills[i])
                chunk[i] = alike - 1
            if level >= 0 and saved[i] > -2:
                length = step - begin[i]
                if (
                    saved[i] >= 0
                    and length == saved_length[i]
                    and repeats(code, free, kept[level], inner[i], saved[i], begin[i], length)
                ):
                    period = chunk[i] - saved_round[i]
                    times = max(0, (alike - 1 - chunk[i]) // period)
                    spills += times * (spills - saved_spills[i])
                    chunk[i] += times * period
                    saved[i] = -2
                elif saved[i] < 0 or chunk[i] - saved_round[i] == power[i]:
                    if saved[i] >= 0:
                        power[i] *= 2
                    saved[i] = begin[i]
                    saved_length[i] = length
                    saved_round[i] = chunk[i]
                    saved_spills[i] = spills
                    kept[level, :length] = free[begin[i] + 2 : step + 2]
            if chunk[i] + 1 < chunks[i]:
                break
            i -= 1
        if i < 0:
            return spills
        chunk[i] += 1
        begin[i] = step
        begin_spills[i] = spills
        enter(classes, chunk, extent, chunks, i + 1)
        for j in range(i + 1, loops):
            begin[j] = step
            begin_spills[j] = spills
            saved[j] = -1
            power[j] = 1

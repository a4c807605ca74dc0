"""Compiled kernel: how many words an optimally managed memory has to fetch again.

It walks over the steps of the loops with the places of the memory, and skips rounds that repeat. To
join it to a search, call

    classes = classify(bounds, axes, coefficients, loop_dim, loop_tile, loop_pin)
    count_spills(classes, capacity, anew)

once per access and once per capacity, with arrays of whole numbers:

``bounds``, ``axes``, ``coefficients``
    for each dimension its iterations, the index expression of the tensor in which it appears (-1
    where it is irrelevant), and its coefficient there (0 where it is irrelevant);
``loop_dim``, ``loop_tile``
    for each temporal loop above the memory, outermost first, its dimension and tile;
``loop_pin``
    the only chunk of a loop that there is, -1 where all are;
``capacity``
    words of the memory;
``anew``
    outermost loops with which all words begin anew, 0 for none.

Loops of one chunk, and irrelevant loops inside all others, are best left out: they only take time.
"""

from __future__ import annotations

import numpy as np

from tilewright.kernels.copies import longer
from tilewright.kernels.kernel import kernel, part
from tilewright.kernels.types import Ints
from tilewright.retention.spills.classes import Classes
from tilewright.retention.spills.places import use
from tilewright.retention.spills.rounds import begin_round, new_rounds, skipped

MOST_STEPS = 200_000_000
TOO_SMALL, TOO_LONG = -1, -2


@part
def enter(classes: Classes, chunk: Ints, extent: Ints, chunks: Ints, first: int) -> None:
    """Begin the loops from `first` inward at their first chunks."""
    for i in range(first, len(chunk)):
        outer = classes.loop_outer[i]
        if outer < 0:
            extent[i] = classes.loop_extent[i]
        else:
            tile = classes.loop_tile[outer]
            extent[i] = min(tile, extent[outer] - max(chunk[outer], classes.loop_pin[outer]) * tile)
        chunks[i] = -(-extent[i] // classes.loop_tile[i])
        if classes.loop_pin[i] >= 0:
            chunks[i] = 1 if chunks[i] > classes.loop_pin[i] else 0
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
def begins_anew(classes: Classes, chunk: Ints, chunks: Ints, anew: int, tile: Ints) -> bool:
    """Note the chunks of the outer relevant loops, and return whether they are others."""
    new = False
    for i in range(anew):
        if chunks[i] <= 0:
            return False
        new = new or (classes.loop_axis[i] >= 0 and tile[i] != chunk[i])
    if new:
        for i in range(anew):
            tile[i] = chunk[i]
    return new


@part
def forget(number: Ints, words: Ints, many: int, fresh: int, last_use: Ints) -> int:
    """Forget the words that were last used before step `fresh`; return how many there are."""
    lost = 0
    for k in range(many):
        if 0 <= last_use[number[k]] < fresh:
            last_use[number[k]] = -1
            lost += words[k]
    return lost


@kernel
def count_spills(classes: Classes, capacity: int, anew: int) -> int:
    """Return how often a word leaves that is used again, when the best words stay.

    Parameters
    ----------
    classes : Classes
        The access (see `classes.classify`).
    capacity : int
        Words of the memory.
    anew : int
        Number of outer loops that make all words begin anew (see `access.Access`): those that do
        and are used again are spills as well.

    Returns
    -------
    int
        Spills; TOO_SMALL when a block does not fit, TOO_LONG after more than MOST_STEPS steps.
    """
    loops = len(classes.loop_axis)
    chunk = np.zeros(loops, np.int64)
    extent = np.zeros(loops, np.int64)
    chunks = np.zeros(loops, np.int64)
    enter(classes, chunk, extent, chunks, 0)
    rounds = new_rounds(classes, chunks)
    last_use = np.full(classes.total, -1, np.int64)
    number = np.empty(widest(classes), np.int64)
    words = np.empty(len(number), np.int64)
    size = 1024
    free = np.zeros(size, np.int64)
    newest = np.zeros(size, np.int64)
    code = np.zeros(size, np.int64)  # which step of all it was
    kept = np.zeros((loops, size), np.int64)
    free[1] = capacity
    newest[1] = 1
    spills = 0
    step = 0
    fresh = 0
    idle = 0
    tile = np.full(anew, -1, np.int64)
    while step + idle < MOST_STEPS:
        if step + 3 > size:
            free, newest, code = longer(free), longer(newest), longer(code)
            kept = np.concatenate((kept, np.zeros_like(kept)), axis=1)
            size *= 2
        if begins_anew(classes, chunk, chunks, anew, tile):
            fresh = step
        if loops == 0 or chunks.min() > 0:
            many = block(classes, chunk, number, words)
            spills += forget(number, words, many, fresh, last_use)
            needed, lost = use(step, number, words, many, True, last_use, free, newest)
            if needed > capacity:
                return TOO_SMALL
            spills += lost
            code[step] = 0
            for j in range(loops):
                code[step] += chunk[j] * rounds.inner[j]
            step += 1
        else:
            idle += 1
        i = loops - 1
        while i >= 0:
            if rounds.apart[i] or rounds.reuse[i]:
                short = extent[i] % classes.loop_tile[i] > 0
                chunk[i], spills = skipped(
                    rounds, i, chunk[i], chunks[i], short, step, spills, free, code, kept
                )
            if chunk[i] + 1 < chunks[i]:
                break
            i -= 1
        if i < 0:
            return spills
        chunk[i] += 1
        enter(classes, chunk, extent, chunks, i + 1)
        begin_round(rounds, i, step, spills)
    return TOO_LONG

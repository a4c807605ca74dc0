"""Compiled kernel: spills in closed form where all words of a block are used at the same steps.

It holds for tensors of which every loop cuts a dimension that has an index expression of its own:
weights and outputs always, inputs where no window is cut. To join it to a search, call

    group_spills(relevant, bound, tile, words, capacity)

with one entry per loop, outermost first, and no dimension cut twice:

``relevant``
    whether the dimension of the loop is relevant to the tensor;
``bound``, ``tile``
    iterations of the dimension, and of a chunk (for a relevant one the words along it);
``words``
    words of a block along all other dimensions: a block has ``words`` x the relevant tiles;
``capacity``
    words of the memory.

A *reuse group* is an irrelevant loop (or several with no relevant loop between them) and the
relevant loops below it: R rounds over the same N blocks, or over the same N subgroups, which have
reuse loops of their own. CNNFlow (Nie and Malik, ACM TODAES 28(3), 2023) counts its spills in
Section 4.
"""

from __future__ import annotations

import numpy as np

from tilewright.kernels.copies import copy
from tilewright.kernels.kernel import kernel, part
from tilewright.kernels.types import Bools, Ints
from tilewright.retention.spills.classes import Classes
from tilewright.retention.spills.places import take
from tilewright.retention.spills.walk import TOO_SMALL, count_spills


@part
def cycle_spills(blocks: int, size: int, rounds: int, capacity: int) -> int:
    """Return the spills of R rounds over N equal blocks of S words that do not fit together.

    Notes
    -----
    CNNFlow, Equation 7, with the whole number of spilling cycles. In each cycle of N - 1 blocks
    every place keeps one word, and N S - M words are lost; R - 1 rounds of N blocks are used again.
    """
    reused = (rounds - 1) * blocks * size
    cycle = (blocks - 1) * size
    rest = reused % cycle
    lost = (reused // cycle) * (blocks * size - capacity)
    return int(lost + max(0, rest - (capacity - size)))


@part
def uneven_cycle_spills(sizes: Ints, rounds: int, capacity: int) -> int:
    """Return the spills of R rounds over blocks of different sizes, each of which fits.

    It goes through the rounds as `walk.count_spills` goes through steps.
    """
    blocks = len(sizes)
    free = np.zeros(4 * blocks + 4, np.int64)
    newest = np.zeros(len(free), np.int64)
    kept = np.zeros(blocks, np.int64)
    spills = 0
    kept_spills = 0
    kept_round = -1
    power = 1
    free[1] = capacity
    newest[1] = 1
    step = 0
    turn = 0
    while turn < rounds:
        for i in range(blocks):
            words = sizes[i]
            stayed = 0
            if turn > 0:
                stayed = take(free, newest, step - blocks + 2, words)
                spills += words - stayed
            take(free, newest, step + 1, words - stayed)
            free[step + 2] = words
            newest[step + 2] = step + 2
            step += 1
        # nothing older than the round is of use: all places that were free before it are alike
        older = 0
        for bucket in range(step + 2 - blocks):
            older += free[bucket]
        same = kept_round >= 0
        for i in range(blocks):
            recent = free[step + 2 - blocks + i]
            same = same and recent == kept[i]
            free[2 + i] = recent
        if same:
            period = turn - kept_round
            times = (rounds - 1 - turn) // period
            spills += times * (spills - kept_spills)
            turn += times * period
            kept_round = -1
            power = rounds
        elif (kept_round < 0 and turn < power) or turn - kept_round == power:
            power = 2 * power if kept_round >= 0 else power
            kept_round = turn
            kept_spills = spills
            copy(free[2 : 2 + blocks], kept)
        free[1] = older
        for bucket in range(1, len(free)):
            if bucket > blocks + 1:
                free[bucket] = 0
            newest[bucket] = bucket if free[bucket] > 0 else bucket - 1
        step = blocks
        turn += 1
    return spills


@part
def group_classes(relevant: Bools, bound: Ints, tile: Ints, words: int) -> Classes:
    """Return the classes of a nest of such loops: one for each block."""
    loops = len(bound)
    count = np.sum(relevant)
    loop_axis = np.full(loops, -1, np.int64)
    axis_start = np.zeros(count + 2, np.int64)
    places = 1
    for i in range(loops):
        if relevant[i]:
            places += (bound[i] + tile[i] - 1) // tile[i]
    number = np.zeros(places, np.int64)
    size = np.full(places, words, np.int64)
    total = 1
    axis = 0
    place = 0
    for i in range(loops):
        if not relevant[i]:
            continue
        loop_axis[i] = axis
        chunks = (bound[i] + tile[i] - 1) // tile[i]
        for chunk in range(chunks):
            number[place] = chunk * total
            size[place] = min(tile[i], bound[i] - chunk * tile[i])
            place += 1
        total *= chunks
        axis += 1
        axis_start[axis] = place
    axis_start[axis + 1] = place + 1
    outer = np.full(loops, -1, np.int64)  # no loop is pinned, either
    return Classes(
        loop_axis=loop_axis,
        loop_alone=relevant,
        loop_weight=np.ones(loops, np.int64),
        loop_outer=outer,
        loop_extent=bound,
        loop_tile=tile,
        loop_pin=outer,
        axis_start=axis_start,
        start=np.arange(places + 1),
        number=number,
        words=size,
        total=total,
    )


@kernel
def group_spills(relevant: Bools, bound: Ints, tile: Ints, words: int, capacity: int) -> int:
    """Return how often a word leaves that is used again, when the best words stay.

    Parameters
    ----------
    relevant : array of bool
        Which loops are relevant to the tensor, outermost first.
    bound, tile : array of int
        Iterations of each loop's dimension, and of one chunk.
    words : int
        Words of a block along the dimensions that are not cut.
    capacity : int
        Words of the memory.

    Returns
    -------
    int
        Spills; a negative number as `walk.count_spills` has it.

    Notes
    -----
    Groups are nested. A group that fits as a whole loses nothing. One of which each subgroup fits
    is a cycle of blocks (CNNFlow, Equation 7). When two or more subgroups do not fit, nothing stays
    from one round to the next: all words of the group are lost in each round but the last, and the
    subgroups lose what they lose (Equation 8, with the full spill that its text describes). When
    exactly one does not fit, which only short last chunks can bring about, words of it may stay
    while the others pass, and the steps are gone through.
    """
    loops = len(bound)
    block = words
    whole = words
    for i in range(loops):
        if relevant[i]:
            block *= min(tile[i], bound[i])
            whole *= bound[i]
    if block > capacity:
        return TOO_SMALL
    if whole <= capacity:
        return 0
    # open groups: first loop of each, how many there are, and words along the loops further out
    first = np.zeros(1 << min(loops, 30), np.int64)
    many = np.ones(len(first), np.int64)
    fixed = np.full(len(first), words, np.int64)
    waiting = 1
    spills = 0
    choice = np.zeros(loops, np.int64)
    while waiting > 0:
        waiting -= 1
        here, copies, outside = first[waiting], many[waiting], fixed[waiting]
        rounds = 1
        i = here
        while i < loops and (not relevant[i] or tile[i] >= bound[i]):
            if not relevant[i]:
                rounds *= (bound[i] + tile[i] - 1) // tile[i]
            i += 1
        inner = i
        while inner < loops and (relevant[inner] or tile[inner] >= bound[inner]):
            inner += 1
        total = outside
        below = 1
        for j in range(here, loops):
            if relevant[j]:
                total *= bound[j]
                if j >= inner:
                    below *= bound[j]
        if total <= capacity or i == loops:
            continue
        # kinds of subgroups: each loop at a full chunk (0) or at its short last one (1)
        blocks = 0
        big = 0
        largest = 0
        smallest = total
        choice[:] = 0
        found = waiting
        while True:
            size = outside
            times = 1
            for j in range(i, inner):
                if relevant[j]:
                    full = bound[j] // tile[j]
                    size *= tile[j] if choice[j] == 0 else bound[j] - full * tile[j]
                    times *= full if choice[j] == 0 else 1
            blocks += times
            largest = max(largest, size * below)
            smallest = min(smallest, size * below)
            if size * below > capacity:
                big += times
                first[found] = inner
                many[found] = copies * rounds * times
                fixed[found] = size
                found += 1
            j = inner - 1
            while j >= i and (not relevant[j] or choice[j] == 1 or bound[j] % tile[j] == 0):
                choice[j] = 0
                j -= 1
            if j < i:
                break
            choice[j] = 1
        if rounds == 1 or big > 1:
            spills += copies * (rounds - 1) * total
            waiting = found
        elif big == 0 and largest == smallest:
            spills += copies * cycle_spills(blocks, largest, rounds, capacity)
        elif big == 0:
            sizes = np.full(blocks, outside * below, np.int64)
            run = blocks
            for j in range(i, inner):
                if relevant[j]:
                    chunks = (bound[j] + tile[j] - 1) // tile[j]
                    run //= chunks
                    for b in range(blocks):
                        start = (b // run) % chunks * tile[j]
                        sizes[b] *= min(tile[j], bound[j] - start)
            spills += copies * uneven_cycle_spills(sizes, rounds, capacity)
        else:
            nest = group_classes(relevant[here:], bound[here:], tile[here:], outside)
            lost = count_spills(nest, capacity, 0)
            if lost < 0:
                return lost
            spills += copies * lost
    return spills

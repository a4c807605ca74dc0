"""What every completion of a label costs at least."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tilewright.kernels.kernel import leaf, leaf_kernel
from tilewright.mapper.bounds.tables.above_array import NONE, at_least
from tilewright.mapper.label.labels import (
    ENERGY,
    LOADS,
    OPEN,
    SHAPE,
    SPREAD,
    STAGE,
    ZERO,
    bits_column,
    window_column,
)
from tilewright.mapper.windows.reuse_ahead import reuse_left

if TYPE_CHECKING:
    from tilewright.kernels.types import Floats, Ints
    from tilewright.mapper.bounds.tables.above_array import Outer, Scarce
    from tilewright.mapper.problem.link_costs import Links
    from tilewright.mapper.problem.segments import Segment
    from tilewright.mapper.problem.space import Space

FAR = 1e300  # cycles of a port of labels that cannot be completed


@leaf
def least_words(sp: Space, row: Ints, t: int) -> float:
    """Return the words that move at least into a tile inside the label's shape."""
    words = sp.words[t, row[SHAPE]] * sp.repeats[row[OPEN + t]]
    w = sp.windows[t]
    if w >= 0:
        column = window_column(sp.relevant.shape[0], len(sp.unroll_start) - 1, w)
        if row[column] >= 0:
            # every run of the loops of a sliding region brings in each of its words once
            outside = row[column + 1]
            words = min(words, sp.words[t, outside] * sp.repeats[outside])
    return float(words)


@leaf
def most_sharing(sp: Space, row: Ints, t: int, array: int, seg: int, each_step: bool) -> float:
    """Return how many elements of an array share one word of a tensor at most.

    Where its windows may overlap that is known for single steps of the innermost array alone.
    """
    nt = len(sp.relevant)
    choice = sp.unroll_start[array]  # the one with the most elements
    if array < seg:
        choice = row[OPEN + nt + 2 * array + 1]
    elif sp.windows[t] < 0 or each_step:
        return float(sp.most_sharing[array, t])
    if sp.windows[t] < 0:
        return float(sp.unroll_reuse[choice, t])
    return float(sp.unroll_sharing[choice, t] if each_step else sp.unroll_product[choice])


@leaf
def least_load(sp: Space, lk: Links, row: Ints, r: int, seg: int, t: int, placed: int) -> float:
    """Return the cycles that the remaining links of a tensor take at least at a limited port."""
    total = 0.0
    words = -1.0
    for link in range(placed, lk.length[t]):
        lo, hi = lk.arrays[t, link, 0], lk.arrays[t, link, 1]
        per_word = 0.0
        for j in range(hi - lo + 1):
            per_word += lk.load[r, t, link, j]
        if per_word == 0.0:
            continue
        # words that the sender reads: each of them once, and as often as instances that share
        # it ask for it
        distinct = float(sp.words[t, len(sp.repeats) - 1])
        if link == lk.length[t] - 1:
            sent = sp.operations
            for k in range(lo, hi):
                if lk.unites[k, t]:
                    sent /= most_sharing(sp, row, t, k, seg, k == hi - 1)
        else:
            if words < 0.0:
                words = least_words(sp, row, t)
            sent = words
            for k in range(lo, seg):
                if lk.unites[k, t]:
                    sent /= most_sharing(sp, row, t, k, seg, False)
        sent = max(sent, distinct)
        cycles = per_word * sent
        # every instance of a reducing group starts its own partial sum from zero
        for k in range(lk.load_arrays[r]):
            if k < seg:
                choice = row[OPEN + len(sp.relevant) + 2 * k + 1]
                distinct *= sp.unroll_reuse[choice, t]
                for d in range(sp.relevant.shape[1]):
                    if sp.windows[t] >= 0 and sp.window_of[sp.windows[t], d] >= 0:
                        distinct *= sp.values[d, sp.unroll[choice, d]]  # windows may overlap
            else:
                distinct *= sp.unroll_product[sp.unroll_start[k]]
        for k in range(link):
            if lk.fresh[t, k] == 1:
                distinct = sent  # every entry may have begun with a new partial sum
        cycles -= lk.held[r, t, link] * min(distinct, sent)
        for k in range(lk.load_arrays[r]):
            if k < seg:
                cycles /= sp.unroll_product[row[OPEN + len(sp.relevant) + 2 * k + 1]]
            else:
                cycles /= sp.unroll_product[sp.unroll_start[k]]
        total += max(0.0, cycles)
    return total


@leaf
def least_ahead(
    lk: Links, outer: Outer, row: Ints, placed: Ints, words: Floats, left: float
) -> float:
    """Return the least cost from here through the first array, next tiles of `words` included.

    Loops above the label serve the next tile of a tensor where it stays from the innermost relevant
    one on, below the array, or slides.
    """
    least = np.inf
    at = outer.row[row[SHAPE], row[STAGE]]
    if at < 0:
        return least
    for flag in range(len(outer.kind)):
        if outer.length[at, flag] == 0:
            continue
        ahead = at_least(
            outer.bits, outer.cost, outer.begin[at, flag], outer.length[at, flag], left
        )
        s = outer.stays[flag]
        if s >= 0:
            ahead += lk.least[0, s] * words[s]
        if outer.kind[flag] != NONE:
            t = outer.tensor[flag]
            ahead += (lk.energy[t, placed[t], 0] + lk.again[t, placed[t]]) * words[t]
        least = min(least, ahead)
    return least


@leaf
def least_at_port(
    sp: Space, lk: Links, scarce: Scarce, row: Ints, floats: Floats, placed: Ints
) -> float:
    """Return the cycles of a port above the first array that a label has in the end, at least.

    Links above the array move what their senders hold: its distinct words enter from zero.
    """
    at = scarce.row[row[SHAPE], row[STAGE]]
    if at < 0:
        return FAR
    nt, r = sp.relevant.shape[0], scarce.port
    left = np.inf
    if scarce.memory >= 0:
        left = lk.capacity[scarce.memory] - floats[bits_column(lk) + scarce.slot]
    least = FAR
    for flag in range(len(scarce.kind)):
        if scarce.length[at, flag] == 0:
            continue
        ahead = at_least(
            scarce.bits, scarce.cost, scarce.begin[at, flag], scarce.length[at, flag], left
        )
        s = scarce.stays[flag]
        if s >= 0:
            ahead += scarce.least[s] * least_words(sp, row, s)
        if scarce.kind[flag] != NONE:
            t = scarce.tensor[flag]
            ahead += lk.load[r, t, placed[t], 0] * least_words(sp, row, t)
        least = min(least, ahead)
    for t in range(nt):
        for link in range(placed[t], lk.length[t]):
            if lk.arrays[t, link, 0] == 0:
                least -= lk.held[r, t, link] * sp.words[t, len(sp.repeats) - 1]
    return float(floats[LOADS + r] + least)


@leaf
def less_reuse(
    sp: Space,
    lk: Links,
    row: Ints,
    floats: Floats,
    seg: int,
    t: int,
    link: int,
    words: float,
) -> float:
    """Return what the next link of a sliding tensor costs more than `words` to all receivers.

    A word serves a limited number of operations in the memory that receives it, and in all its
    instances together. Either the tile is the present shape, or one of fewer iterations of the
    irrelevant dimensions follows.
    """
    lo, hi = lk.arrays[t, link, 0], lk.arrays[t, link, 1]
    if lk.most[t, link] == 0.0:
        return 0.0
    stays = inside = 1.0
    for d in range(sp.relevant.shape[1]):
        if not sp.relevant[t, d]:
            stays *= sp.values[d, sp.digits[row[OPEN + t], d]]
            inside *= sp.values[d, sp.digits[row[SHAPE], d]]
    received = sp.operations / (lk.most[t, link] * stays)
    choice = row[OPEN + len(sp.relevant) + 2 * lo + 1]
    known = len(lk.ahead.rows) > 0 and hi == seg and hi == lo + 1
    if not known or lk.ahead.rows[choice, t, 0] < 0:
        return float(lk.energy[t, link, hi - lo] * max(0.0, received - words))
    left = lk.capacity[lk.memory[t, link]] - floats[bits_column(lk) + lk.slot[t, link]]
    left = min(left, lk.share[t, link])
    if lk.bits[t, link] * sp.words[t, row[SHAPE]] <= left:
        inside = stays
    corner = lk.ahead.corner[sp.windows[t], row[SHAPE]]
    reuse = reuse_left(lk.ahead, lk.ahead.rows[choice, t, 0], corner, left)
    if reuse == 0.0:
        return np.inf
    received = max(words, sp.operations / (reuse * inside))
    united, sent = words, received
    if lk.unites[lo, t]:
        united = words / sp.unroll_reuse[choice, t]
        reuse = reuse_left(lk.ahead, lk.ahead.rows[choice, t, 1], corner, left)
        sent = sp.operations / (reuse * inside) if reuse > 0.0 else 0.0
        sent = max(united, sent / sp.unroll_reuse[choice, t])
    more = lk.energy[t, link, 1] * (received - words) + lk.energy[t, link, 0] * (sent - united)
    return float(more)


@leaf
def least_energy(
    sp: Space,
    lk: Links,
    row: Ints,
    floats: Floats,
    seg: int,
    t: int,
    placed: int,
    words: float,
) -> tuple[float, float, int, float]:
    """Return what the remaining links of a tensor cost at least in pJ, but for a next array.

    Returns
    -------
    tuple of float, float, int, float
        What the links cost that end in the segment when `words` move into the next tile, and those
        further in; the first of the latter, and the words that its sender has received.
    """
    nt = sp.relevant.shape[0]
    na = len(sp.unroll_start) - 1
    w = sp.windows[t]
    output = t == nt - 1
    zero = floats[ZERO]
    last = lk.length[t] - 1
    link = placed
    energy = 0.0
    anew = False  # whether an array has been crossed below which every entry is from zero
    while link < last and lk.arrays[t, link, 1] <= seg:
        lo, hi = lk.arrays[t, link, 0], lk.arrays[t, link, 1]
        anew |= lk.fresh[t, link] == 1
        ratio = 1.0
        if w >= 0 and hi > lo:
            # instances may share the words of overlapping windows: start from their union
            words = floats[len(floats) - 1 - w]
            for k in range(lo, hi):
                words *= sp.unroll_reuse[row[OPEN + nt + 2 * k + 1], t]
            energy += less_reuse(sp, lk, row, floats, seg, t, link, words)
        for j in range(hi - lo, -1, -1):
            rate = lk.energy[t, link, j]
            if output and link == last - 1 and j == hi - lo:
                rate -= lk.again[t, last]  # entries from zero save reads at the compute unit
            energy += rate * words * ratio
            if output and link == last - 1 and j == 0 and not anew:
                energy += lk.again[t, last] * max(0.0, words * ratio - zero)
            if j == 0:
                if output and link == placed:
                    energy += lk.again[t, link] * max(0.0, words * ratio - zero)
            elif lk.unites[lo + j - 1, t]:
                ratio /= sp.unroll_reuse[row[OPEN + nt + 2 * (lo + j - 1) + 1], t]
        link += 1
    if seg < na:
        return energy, lk.rest_base[seg, t] + lk.rest_slope[seg, t] * words, link, words
    # the compute link
    lo = lk.arrays[t, last, 0]
    ratio = 1.0
    inside = 0.0
    for j in range(na - lo, -1, -1):
        inside += lk.energy[t, last, j] * sp.operations * ratio
        if j > 0 and lk.unites[lo + j - 1, t]:
            choice = row[OPEN + nt + 2 * (lo + j - 1) + 1]
            # windows may overlap across arrays: only the innermost one's sharing is bounded
            first = j == na - lo or w < 0
            ratio /= sp.unroll_sharing[choice, t] if first else sp.unroll_product[choice]
    if output:
        reads = sp.operations * ratio - zero
        inside += lk.again[t, last] * (max(0.0, reads) if placed == last else reads)
    return energy, inside, link, words


@leaf
def lower_energy(
    sp: Space,
    lk: Links,
    outer: Outer,
    part: Segment,
    row: Ints,
    floats: Floats,
    placed: Ints,
    next_words: Floats,
) -> float:
    """Return the energy of every completion of a label at least, but for leakage.

    Parameters are those of `lower_bound`.
    """
    nt = sp.relevant.shape[0]
    na = len(sp.unroll_start) - 1
    seg = part.number
    shape = row[SHAPE]
    energy = floats[ENERGY]
    carried = np.inf  # best saving from a tile that stays while an array is crossed
    above = floats[ENERGY]  # the same with what is known of the way to the first array
    known = seg == 0 and len(outer.row) > 0
    for t in range(nt):
        words = least_words(sp, row, t)
        next_words[t] = words
        moved, inside, link, words = least_energy(sp, lk, row, floats, seg, t, placed[t], words)
        energy += moved + inside
        if seg < na and link < lk.length[t] - 1:
            carried = min(carried, lk.table[seg, shape, nt + 1 + t] + lk.least[seg, t] * words)
        above += inside
        if t == nt - 1:
            for k in range(placed[t], link):
                above -= lk.again[t, k] * floats[ZERO]
    if seg < na:
        energy += min(carried, lk.table[seg, shape, nt])
    if known:
        used = floats[bits_column(lk) + part.place_memory[outer.memory]]
        left = lk.capacity[outer.memory] - used
        energy = max(energy, above + least_ahead(lk, outer, row, placed, next_words, left))
    return float(energy)


@leaf
def fewest_cycles(
    sp: Space, lk: Links, part: Segment, row: Ints, floats: Floats, placed: Ints
) -> float:
    """Return the cycles of every completion of a label at least."""
    spread = floats[SPREAD] * part.spread_left
    cycles = max(lk.fewest_cycles, lk.cycles * sp.operations / spread)
    for k in range(part.number):
        cycles = max(cycles, lk.cycles_of[row[OPEN + len(sp.relevant) + 2 * k + 1]])
    for r in range(part.ports):
        load = floats[LOADS + r]
        for t in range(sp.relevant.shape[0]):
            load += least_load(sp, lk, row, r, part.number, t, placed[t])
        cycles = max(cycles, load)
    return float(cycles)


@leaf
def lower_bound(
    sp: Space,
    lk: Links,
    outer: Outer,
    part: Segment,
    row: Ints,
    floats: Floats,
    placed: Ints,
    next_words: Floats,
) -> tuple[float, float]:
    """Return lower bounds of the energy and the cycles of every completion of a label.

    `outer` is known above the first array. `next_words` is for use in between.
    """
    energy = lower_energy(sp, lk, outer, part, row, floats, placed, next_words)
    cycles = fewest_cycles(sp, lk, part, row, floats, placed)
    if part.number == 0 and outer.scarce.port >= 0:
        load = least_at_port(sp, lk, outer.scarce, row, floats, placed)
        cycles = max(cycles, load)
    return energy + lk.leakage * cycles, cycles


@leaf_kernel
def least_of_roots(
    sp: Space,
    lk: Links,
    outer: Outer,
    part: Segment,
    it: Ints,
    fl: Floats,
    next_words: Floats,
) -> tuple[float, float]:
    """Return lower bounds of the energy and the cycles of every completion of some first labels."""
    energy = cycles = np.inf
    for i in range(len(it)):
        own, count = lower_bound(sp, lk, outer, part, it[i], fl[i], part.first, next_words)
        energy, cycles = min(energy, own), min(cycles, count)
    return energy, cycles

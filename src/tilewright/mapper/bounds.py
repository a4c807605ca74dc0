"""What every completion of a label costs at least."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tilewright.mapper.labels import (
    ENERGY,
    LOADS,
    OPEN,
    SHAPE,
    SPREAD,
    STAGE,
    ZERO,
    window_column,
)
from tilewright.mapper.outer import CARRIED, at_least, may_repeat
from tilewright.model.kernel import kernel, part

if TYPE_CHECKING:
    from tilewright.mapper.lattice import Floats, Ints
    from tilewright.mapper.links import Links
    from tilewright.mapper.outer import Outer
    from tilewright.mapper.problem import Bools, Space


@part
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


@part
def least_load(sp: Space, lk: Links, row: Ints, r: int, seg: int, placed: Ints) -> float:
    """Return the cycles that the remaining links take at least at one bandwidth-limited port."""
    nt = sp.relevant.shape[0]
    total = 0.0
    for t in range(nt):
        words = -1.0
        for link in range(placed[t], lk.length[t]):
            lo, hi = lk.arrays[t, link, 0], lk.arrays[t, link, 1]
            per_word = 0.0
            for j in range(hi - lo + 1):
                per_word += lk.load[r, t, link, j]
            if per_word == 0.0:
                continue
            # words that the sender reads: at most as many copies unite as instances work
            if link == lk.length[t] - 1:
                sent = sp.operations
                for k in range(lo, hi):
                    sent /= sp.unroll_product[sp.unroll_start[k]]
            else:
                if words < 0.0:
                    words = least_words(sp, row, t)
                sent = words
                for k in range(lo, seg):
                    sent /= sp.unroll_product[row[OPEN + nt + 2 * k + 1]]
            cycles = per_word * sent
            distinct = float(sp.words[t, len(sp.repeats) - 1])
            # every instance of a reducing group starts its own partial sum from zero
            for k in range(lk.load_arrays[r]):
                if k < seg:
                    distinct *= sp.unroll_reuse[row[OPEN + nt + 2 * k + 1], t]
                else:
                    distinct *= sp.unroll_product[sp.unroll_start[k]]
            for k in range(link):
                if lk.fresh[t, k] == 1:
                    distinct = sent  # every entry may have begun with a new partial sum
            cycles -= lk.held[r, t, link] * min(distinct, sent)
            for k in range(lk.load_arrays[r]):
                if k < seg:
                    cycles /= sp.unroll_product[row[OPEN + nt + 2 * k + 1]]
                else:
                    cycles /= sp.unroll_product[sp.unroll_start[k]]
            total += max(0.0, cycles)
    return total


@part
def paid_already(
    lk: Links, outer: Outer, row: Ints, t: int, link: int, words: float, left: float
) -> float:
    """Return the least cost ahead when the loops above the label serve the next tile of tensor t.

    It stays from the innermost relevant loop on, below the array, or slides.
    """
    least = np.inf
    for flag in range(len(outer.kind) - 1):
        if outer.tensor[flag] != t or outer.length[row[SHAPE], row[STAGE], flag] == 0:
            continue
        if outer.kind[flag] == CARRIED:
            rate = lk.least[0, t]
        else:
            rate = lk.energy[t, link, 0] + lk.again[t, link]
        ahead = at_least(outer, flag, row[STAGE], row[SHAPE], left)
        least = min(least, rate * words + ahead)
    return least


@kernel
def lower_bound(
    sp: Space,
    lk: Links,
    row: Ints,
    floats: Floats,
    resources: int,
    seg: int,
    placed: Ints,
    spread_left: float,
    outer: Outer,
    slot: int,
) -> tuple[float, float]:
    """Return lower bounds of the energy and the cycles of every completion of a label.

    `outer` is known above the first array; the bits that it counts are those of memory `slot`.
    """
    nt = sp.relevant.shape[0]
    na = len(sp.unroll_start) - 1
    shape = row[SHAPE]
    energy = floats[ENERGY]
    carried = np.inf  # best saving from a tile that stays while an array is crossed
    above = floats[ENERGY]  # the same with what is known of the way to the first array
    ahead = np.inf
    known = seg == 0 and len(outer.begin) > 0
    left = 0.0
    if known:
        left = lk.capacity[outer.memory] - floats[LOADS + resources + slot]
        ahead = at_least(outer, len(outer.kind) - 1, row[STAGE], shape, left)
    for t in range(nt):
        link = placed[t]
        last = lk.length[t] - 1
        words = least_words(sp, row, t)
        w = sp.windows[t]
        output = t == nt - 1
        zero = floats[ZERO]
        while link < last and lk.arrays[t, link, 1] <= seg:
            lo, hi = lk.arrays[t, link, 0], lk.arrays[t, link, 1]
            ratio = 1.0
            if w >= 0 and hi > lo:
                # instances may share the words of overlapping windows: start from their union
                words = floats[len(floats) - 1 - w]
                for k in range(lo, hi):
                    words *= sp.unroll_reuse[row[OPEN + nt + 2 * k + 1], t]
                if lk.most[t, link] > 0.0:
                    served = lk.most[t, link]
                    for d in range(sp.relevant.shape[1]):
                        if not sp.relevant[t, d]:
                            served *= sp.values[d, sp.digits[row[OPEN + t], d]]
                    energy += lk.energy[t, link, hi - lo] * max(0.0, sp.operations / served - words)
            for j in range(hi - lo, -1, -1):
                rate = lk.energy[t, link, j]
                if output and link == last - 1 and j == hi - lo:
                    rate -= lk.again[t, last]  # entries from zero save reads at the compute unit
                energy += rate * words * ratio
                if output and link == last - 1 and j == 0:
                    energy += lk.again[t, last] * max(0.0, words * ratio - zero)
                if j == 0:
                    if output and link == placed[t]:
                        energy += lk.again[t, link] * max(0.0, words * ratio - zero)
                elif lk.unites[lo + j - 1, t]:
                    ratio /= sp.unroll_reuse[row[OPEN + nt + 2 * (lo + j - 1) + 1], t]
            link += 1
        if seg < na:
            inside = lk.rest_base[seg, t] + lk.rest_slope[seg, t] * words
            energy += inside
            if link < last:
                later = lk.table[seg, shape, nt + 1 + t]
                carried = min(carried, later + lk.least[seg, t] * words)
            if known:
                above += inside
                if output:
                    for k in range(placed[t], link):
                        above -= lk.again[t, k] * zero
                ahead = min(ahead, paid_already(lk, outer, row, t, placed[t], words, left))
            continue
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
            inside += lk.again[t, last] * (max(0.0, reads) if placed[t] == last else reads)
        energy += inside
        if known:
            above += inside
            if output:
                for k in range(placed[t], link):
                    above -= lk.again[t, k] * zero
            ahead = min(ahead, paid_already(lk, outer, row, t, placed[t], words, left))
    if seg < na:
        energy += min(carried, lk.table[seg, shape, nt])
    if known:
        energy = max(energy, above + ahead)
    cycles = lk.cycles * sp.operations / (floats[SPREAD] * spread_left)
    for r in range(resources):
        load = floats[LOADS + r] + least_load(sp, lk, row, r, seg, placed)
        cycles = max(cycles, load)
    return energy + lk.leakage * cycles, cycles


@part
def gcd(a: int, b: int) -> int:
    """Return the greatest common divisor."""
    while b:
        a, b = b, a % b
    return a


@part
def served_pairs(sp: Space, w: int, e: int, shape: int, choice: int, run: bool) -> float:
    """Return how many points of an expression's dimensions a word of it serves at most.

    The points are those of a tile, or of the run of a tile along one dimension as far as that goes,
    or of the whole expression where tiles may repeat. Instances of a spatial choice may stand apart
    from each other, which can make their union smaller than one tile of all.
    """
    m = sp.values[sp.members[w, e, 0], sp.digits[shape, sp.members[w, e, 0]]]
    if sp.members.shape[2] > 2 and sp.members[w, e, 2] >= 0:
        points = span = 1.0
        for i in range(sp.members.shape[2]):
            d = sp.members[w, e, i]
            if d >= 0:
                extent = sp.values[d, sp.sizes[d] - 1 if run else sp.digits[shape, d]]
                points *= extent
                span += extent - 1
        return float(points / span)
    d, o = sp.members[w, e, 0], sp.members[w, e, 1]
    a, b = sp.coefs[w, e, 0], sp.coefs[w, e, 1]
    n = sp.values[o, sp.digits[shape, o]]
    apart = choice >= 0 and (
        (sp.unroll[choice, d] > 0 and a % b != 0) or (sp.unroll[choice, o] > 0 and b % a != 0)
    )
    first, second = sp.values[d, sp.sizes[d] - 1], sp.values[o, sp.sizes[o] - 1]
    most = m * n / pair_words(m, n, a, b, apart)
    if run:
        most = max(most, first * n / pair_words(first, n, a, b, apart))
        most = max(most, m * second / pair_words(m, second, a, b, apart))
        if may_repeat(sp, w, e, shape):
            most = max(most, first * second / pair_words(first, second, a, b, False))
    return float(most)


@part
def pair_words(m: int, n: int, a: int, b: int, apart: bool) -> float:
    """Return the words of a*i + b*j for m and n values of i and j, in a row or standing apart."""
    if apart:
        return float(m + n - 1)
    g = gcd(a, b)
    return float(m * n - max(0, m - b // g) * max(0, n - a // g))


@kernel
def most_reuse(sp: Space, t: int, bits: float, capacity: float, choice: int) -> float:
    """Return how many operations a word of a sliding tensor serves at most in a memory.

    Counted per iteration of the dimensions irrelevant to it; with a spatial choice, per word that
    is sent to all instances together. A tile that fits slides along one dimension as far as that
    goes; along all of an expression's dimensions only when tiles may repeat.
    """
    w = sp.windows[t]
    most = 1.0
    for shape in range(len(sp.repeats)):
        skip = bits * sp.words[t, shape] > capacity
        for d in range(sp.relevant.shape[1]):
            # other dimensions multiply the points as they do the words
            skip = skip or (sp.window_of[w, d] < 0 and sp.digits[shape, d] > 0)
        above = shape if skip or choice < 0 else above_array(sp, shape, choice)
        if skip or above < 0:
            continue
        for slides in range(sp.members.shape[1]):
            served = 1.0
            for e in range(sp.members.shape[1]):
                if sp.members[w, e, 0] >= 0:
                    served *= served_pairs(sp, w, e, above, choice, e == slides)
            most = max(most, served)
    return most


@part
def run_words(sp: Space, t: int, w: int, e: int, i: int, shape: int) -> float:
    """Return the words that a run along the i-th dimension of an expression brings in at least.

    It begins at `shape` and brings in each word of its union. Where loops irrelevant to the tensor
    stand inside a longer run, up to half of its pieces begin with the words that the next tile
    shares with the last one; these are no more than a tile, or a piece, of the least step has.
    """
    d = sp.members[w, e, i]
    digit = sp.digits[shape, d]
    moved = float(sp.words[t, shape])
    cut = False
    for o in range(sp.relevant.shape[1]):
        cut = cut or (not sp.relevant[t, o] and sp.digits[shape, o] < sp.sizes[o] - 1)
    if cut and digit < sp.sizes[d] - 1:
        o = sp.members[w, e, 1 - i]
        a, b = sp.coefs[w, e, i], sp.coefs[w, e, 1 - i]
        m, n = sp.values[d, digit], sp.values[o, sp.digits[shape, o]]
        one = pair_words(m, n, a, b, False)
        moved -= (2 * one - pair_words(2 * m, n, a, b, False)) / one * moved / 2
    return float(moved * sp.repeats[shape])


@kernel
def all_run_words(sp: Space, t: int, w: int, e: int, i: int) -> Floats:
    """Return `run_words` of every shape."""
    result = np.empty(len(sp.repeats))
    for shape in range(len(result)):
        result[shape] = run_words(sp, t, w, e, i, shape)
    return result


@kernel
def slid_words(sp: Space, t: int) -> Floats:
    """Return the words that move at least into a store node at every shape.

    A sliding tensor slides along one dimension as far as that goes. A whole region of an expression
    counts as one run where tiles may repeat.
    """
    shapes = len(sp.repeats)
    w = sp.windows[t]
    least = np.empty(shapes)
    for shape in range(shapes):
        least[shape] = sp.words[t, shape] * sp.repeats[shape]
        if w < 0:
            continue
        for e in range(sp.members.shape[1]):
            if sp.members[w, e, 0] < 0:
                continue
            full = shape
            whole = may_repeat(sp, w, e, shape)
            for i in range(sp.members.shape[2]):
                d = sp.members[w, e, i]
                if d < 0:
                    continue
                digit = sp.digits[shape, d]
                last = sp.sizes[d] - 1
                full += (last - digit) * sp.strides[d]
                if not whole:
                    for k in range(digit + 1, last + 1):
                        run = shape + (k - digit) * sp.strides[d]
                        least[shape] = min(least[shape], run_words(sp, t, w, e, i, run))
            if whole:
                least[shape] = min(least[shape], sp.words[t, full] * sp.repeats[full])
    return least


@kernel
def inner_table(
    sp: Space,
    begin: int,
    rate: Floats,
    own: Floats,
    most: Floats,
    sent: Floats,
    used: Ints,
    shared: Bools,
    free_dim: Bools,
    bits_of: Floats,
    capacity: Floats,
    share: Floats,
    memory: Ints,
    allowed: Bools,
    table: Floats,
) -> None:
    """Fill the bound of what an array's children cost, for every shape above the array.

    A tile that is stored below the array with u iterations of its tensor's irrelevant dimensions
    moves at least distinct words x product(bound / u). A shape x' collects these u; it is possible
    only if, for some order of the store nodes of one memory, each tile spans the u of the tensors
    stored inside it and all of them fit. For each possible x' and spatial choice s the bound holds
    at shape x' s and at every shape that it divides.

    Parameters
    ----------
    begin : int
        First spatial choice of the array.
    rate : array of (choices, tensors)
        pJ per word delivered to the children.
    own, most : arrays of tensors
        The part of it that every receiver costs, and the most operations that a word serves there
        per iteration of the irrelevant dimensions (0 when it is not bounded).
    sent : array of (choices, tensors)
        The same per word that is sent to all instances together.
    used : array of tensors
        1 when the tensor is stored below the array, 0 when it goes straight to the compute unit.
    shared : array of dimensions
        True for the dimensions whose u counts: irrelevant to exactly one stored tensor.
    free_dim : array of dimensions
        True for those that are irrelevant to several, whose u is not held against the capacity.
    bits_of, capacity, share, memory : arrays of tensors
        Bits per word, bits of the receiving memory, bits that the tensor may take there, and the
        memory's position, -1 when there is none.
    allowed : array of shapes
        Whether the memories above the array can hold their tensors' tiles of a shape.
    table : array of (shapes, 2 x tensors + 1)
        Out: the bound without tensor t, whose tile stays through loops above the array that are
        irrelevant to it, all there are below the shape; the bound with all tensors; and the first
        again where other loops may come before.
    """
    nt = sp.relevant.shape[0]
    nd = sp.relevant.shape[1]
    shapes = len(sp.repeats)
    choices = rate.shape[0]
    cost = np.empty((choices, nt))
    orders = 1
    for t in range(nt):
        orders *= t + 1
    order = np.empty(nt, np.int64)
    free = np.empty(nt, np.bool_)
    for shape in range(shapes):
        skip = False
        for d in range(nd):
            if not shared[d] and not free_dim[d] and sp.digits[shape, d] > 0:
                skip = True
        if skip:
            continue
        possible = nt > 4
        for o in range(0 if possible else orders):
            r = o
            for t in range(nt):
                free[t] = True
            for i in range(nt):
                pick = r % (nt - i)
                r //= nt - i
                for t in range(nt):
                    if free[t]:
                        if pick == 0:
                            order[i] = t
                            free[t] = False
                            break
                        pick -= 1
            fits = True
            for m in range(memory.max() + 1):
                bits = 0.0
                limit = np.inf
                for i in range(nt):
                    t = order[i]
                    if memory[t] != m:
                        continue
                    small = 0
                    for d in range(nd):
                        if not sp.relevant[t, d] or not shared[d]:
                            continue
                        for k in range(i + 1, nt):
                            if memory[order[k]] == m and not sp.relevant[order[k], d]:
                                small += sp.digits[shape, d] * sp.strides[d]
                                break
                    bits += bits_of[t] * sp.words[t, small]
                    limit = min(limit, capacity[t])
                    if bits_of[t] * sp.words[t, small] > share[t]:
                        fits = False
                if bits > limit:
                    fits = False
            if fits:
                possible = True
                break
        if possible:
            delivered(sp, begin, shape, rate, own, most, sent, used, cost)
            for c in range(choices):
                above = above_array(sp, shape, begin + c)
                if above >= 0 and allowed[above]:
                    table[above, nt] = min(table[above, nt], cost[c].sum())
    # a tile that stays through loops above the array is stored first, with all that is below
    for t in range(nt):
        if used[t] == 0:
            continue
        for shape in range(shapes):
            skip = bits_of[t] * sp.words[t, shape] > min(capacity[t], share[t])
            for d in range(nd):
                if not sp.relevant[t, d] and not free_dim[d] and sp.digits[shape, d] > 0:
                    skip = True
            if skip:
                continue
            delivered(sp, begin, shape, rate, own, most, sent, used, cost)
            for c in range(choices):
                above = above_array(sp, shape, begin + c)
                if above >= 0 and allowed[above]:
                    less = cost[c].sum() - cost[c, t]
                    table[above, t] = min(table[above, t], less)
    for shape in range(shapes):
        for t in range(nt):
            table[shape, nt + 1 + t] = table[shape, t]
        for move in range(len(sp.moves)):
            d = sp.moves[move, 0]
            digit = sp.digits[shape, d]
            smaller = sp.quotient[d, digit, sp.moves[move, 1]]
            if smaller >= 0:
                inner = shape - (digit - smaller) * sp.strides[d]
                for t in range(2 * nt + 1):
                    if t >= nt or not sp.relevant[t, d]:
                        table[shape, t] = min(table[shape, t], table[inner, t])
        for t in range(nt):
            table[shape, nt + 1 + t] = min(table[shape, nt + 1 + t], table[shape, t])


@part
def delivered(
    sp: Space,
    begin: int,
    shape: int,
    rate: Floats,
    own: Floats,
    most: Floats,
    sent: Floats,
    used: Ints,
    cost: Floats,
) -> None:
    """Fill pJ of what each spatial choice delivers of each tensor, when a shape holds its u."""
    nt = sp.relevant.shape[0]
    for t in range(nt):
        if used[t] == 0:
            for c in range(rate.shape[0]):
                cost[c, t] = rate[c, t] * sp.operations
            continue
        words = float(sp.words[t, len(sp.repeats) - 1])
        inside = 1.0
        for d in range(sp.relevant.shape[1]):
            if not sp.relevant[t, d]:
                value = sp.values[d, sp.digits[shape, d]]
                words *= sp.values[d, sp.sizes[d] - 1] / value
                inside *= value
        received = words
        if most[t] > 0.0:
            received = max(words, sp.operations / (most[t] * inside))
        for c in range(rate.shape[0]):
            # `own` is what a received word costs, the rest what the words on their way there cost
            on_the_way = words
            if sent[c, t] > 0.0:
                on_the_way = max(words, sp.operations / (sent[c, t] * inside))
            cost[c, t] = own[t] * received + (rate[c, t] - own[t]) * on_the_way


@part
def above_array(sp: Space, shape: int, choice: int) -> int:
    """Return the shape that instances hold together, or -1 where it is none of the lattice."""
    above = shape
    for d in range(sp.relevant.shape[1]):
        if sp.unroll[choice, d] > 0:
            digit = sp.digits[shape, d]
            grown = sp.product[d, digit, sp.unroll[choice, d]]
            if grown < 0:
                return -1
            above += (grown - digit) * sp.strides[d]
    return above

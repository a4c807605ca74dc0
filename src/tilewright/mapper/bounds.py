"""What every completion of a label costs at least."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tilewright.mapper.labels import ENERGY, LOADS, OPEN, SHAPE, SPREAD, ZERO, window_column
from tilewright.model.kernel import kernel

if TYPE_CHECKING:
    from tilewright.mapper.lattice import Floats, Ints
    from tilewright.mapper.links import Links
    from tilewright.mapper.problem import Bools, Space


@kernel
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


@kernel
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
            cycles -= lk.held[r, t, link] * min(distinct, sent)
            for k in range(lk.load_arrays[r]):
                if k < seg:
                    cycles /= sp.unroll_product[row[OPEN + nt + 2 * k + 1]]
                else:
                    cycles /= sp.unroll_product[sp.unroll_start[k]]
            total += max(0.0, cycles)
    return total


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
) -> tuple[float, float]:
    """Return lower bounds of the energy and the cycles of every completion of a label."""
    nt = sp.relevant.shape[0]
    na = len(sp.unroll_start) - 1
    shape = row[SHAPE]
    energy = floats[ENERGY]
    carried = np.inf  # best saving from a tile that stays while an array is crossed
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
            energy += lk.rest_base[seg, t] + lk.rest_slope[seg, t] * words
            if link < last:
                carried = min(carried, lk.table[seg, shape, t] + lk.least[seg, t] * words)
            continue
        # the compute link
        lo = lk.arrays[t, last, 0]
        ratio = 1.0
        for j in range(na - lo, -1, -1):
            energy += lk.energy[t, last, j] * sp.operations * ratio
            if j > 0 and lk.unites[lo + j - 1, t]:
                choice = row[OPEN + nt + 2 * (lo + j - 1) + 1]
                # windows may overlap across arrays: only the innermost one's sharing is bounded
                first = j == na - lo or w < 0
                ratio /= sp.unroll_sharing[choice, t] if first else sp.unroll_product[choice]
        if output:
            if placed[t] == last:
                energy += lk.again[t, last] * max(0.0, sp.operations * ratio - zero)
            else:
                energy += lk.again[t, last] * sp.operations * ratio - lk.again[t, last] * zero
    if seg < na:
        energy += min(carried, lk.table[seg, shape, nt])
    cycles = lk.cycles * sp.operations / (floats[SPREAD] * spread_left)
    for r in range(resources):
        load = floats[LOADS + r] + least_load(sp, lk, row, r, seg, placed)
        cycles = max(cycles, load)
    return energy + lk.leakage * cycles, cycles


@kernel
def gcd(a: int, b: int) -> int:
    """Return the greatest common divisor."""
    while b:
        a, b = b, a % b
    return a


@kernel
def most_reuse(sp: Space, t: int, bits: float, capacity: float) -> float:
    """Return how many operations a word of a sliding tensor serves at most in a memory.

    Counted per iteration of the dimensions irrelevant to it. A tile that fits slides along one
    dimension as far as that goes; it slides along all of an expression's dimensions only when the
    steps of one can make up for those of another (two boxes that are the same set of words).
    """
    w = sp.windows[t]
    nd = sp.relevant.shape[1]
    top = len(sp.repeats) - 1
    most = 1.0
    for shape in range(top + 1):
        if bits * sp.words[t, shape] > capacity:
            continue
        skip = False
        points = 1.0
        for d in range(nd):
            if not sp.relevant[t, d]:
                skip = skip or sp.digits[shape, d] > 0
            else:
                points *= sp.values[d, sp.digits[shape, d]]
        if skip:
            continue
        most = max(most, points / sp.words[t, shape])
        for e in range(sp.members.shape[1]):
            if sp.members[w, e, 0] < 0:
                continue
            full = shape
            whole = 1.0  # chunks of the expression's dimensions
            for i in range(sp.members.shape[2]):
                d = sp.members[w, e, i]
                if d >= 0:
                    full += (sp.sizes[d] - 1 - sp.digits[shape, d]) * sp.strides[d]
                    whole *= sp.values[d, sp.sizes[d] - 1] / sp.values[d, sp.digits[shape, d]]
            if sp.members.shape[2] > 2 and sp.members[w, e, 2] >= 0:
                most = max(most, points * whole / sp.words[t, full])
                continue
            for i in range(2):
                d, o = sp.members[w, e, i], sp.members[w, e, 1 - i]
                a, b = sp.coefs[w, e, i], sp.coefs[w, e, 1 - i]
                m, n = sp.values[d, sp.digits[shape, d]], sp.values[o, sp.digits[shape, o]]
                last = sp.values[o, sp.sizes[o] - 1]
                if last > n and sp.values[d, sp.sizes[d] - 1] > m and a * m <= b * (last - n):
                    most = max(most, points * whole / sp.words[t, full])
                g = gcd(a, b)
                one = m * n - max(0, m - b // g) * max(0, n - a // g)
                two = 2 * m * n - max(0, 2 * m - b // g) * max(0, n - a // g)
                chunks = sp.values[d, sp.sizes[d] - 1] // m
                rest = sp.words[t, shape] / one
                most = max(most, points * chunks / (rest * (one + (chunks - 1) * (two - one))))
    return most


@kernel
def inner_table(
    sp: Space,
    begin: int,
    rate: Floats,
    own: Floats,
    most: Floats,
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
    table : array of (shapes, tensors + 1)
        Out: the bound without tensor t, whose tile stays through loops above the array and is
        therefore the outermost of its memory, and with all.
    """
    nt = sp.relevant.shape[0]
    nd = sp.relevant.shape[1]
    shapes = len(sp.repeats)
    choices = rate.shape[0]
    words = np.empty(nt)
    more = np.empty(nt)
    orders = 1
    for t in range(nt):
        orders *= t + 1
    order = np.empty(nt, np.int64)
    free = np.empty(nt, np.bool_)
    outermost = np.empty(nt, np.bool_)
    for shape in range(shapes):
        skip = False
        for d in range(nd):
            if not shared[d] and not free_dim[d] and sp.digits[shape, d] > 0:
                skip = True
        if skip:
            continue
        possible = nt > 4
        for t in range(nt):
            outermost[t] = possible
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
                outermost[order[0]] = True
        if not possible:
            continue
        for t in range(nt):
            words[t] = sp.operations
            if used[t] == 1:
                words[t] = sp.words[t, shapes - 1]
                for d in range(nd):
                    if not sp.relevant[t, d]:
                        words[t] *= (
                            sp.values[d, sp.sizes[d] - 1] / sp.values[d, sp.digits[shape, d]]
                        )
            more[t] = 0.0
            if used[t] == 1 and most[t] > 0:
                served = most[t]
                for d in range(nd):
                    if not sp.relevant[t, d]:
                        served *= sp.values[d, sp.digits[shape, d]]
                more[t] = own[t] * max(0.0, sp.operations / served - words[t])
        for c in range(choices):
            above = shape
            for d in range(nd):
                if sp.unroll[begin + c, d] > 0:
                    grown = sp.product[d, sp.digits[shape, d], sp.unroll[begin + c, d]]
                    if grown < 0:
                        above = -1
                        break
                    above += (grown - sp.digits[shape, d]) * sp.strides[d]
            if above < 0 or not allowed[above]:
                continue
            total = 0.0
            for t in range(nt):
                total += rate[c, t] * words[t] + more[t]
            table[above, nt] = min(table[above, nt], total)
            for t in range(nt):
                if used[t] == 1 and outermost[t]:
                    less = total - rate[c, t] * words[t] - more[t]
                    table[above, t] = min(table[above, t], less)
    for shape in range(shapes):
        for move in range(len(sp.moves)):
            d = sp.moves[move, 0]
            digit = sp.digits[shape, d]
            smaller = sp.quotient[d, digit, sp.moves[move, 1]]
            if smaller >= 0:
                inner = shape - (digit - smaller) * sp.strides[d]
                for t in range(nt + 1):
                    table[shape, t] = min(table[shape, t], table[inner, t])

"""The compiled search: labels that walk the tile lattice from the whole nest inward.

A label is a partial mapping: everything outside a shape. Rows of two tables hold it, `it` for integers and
`fl` for floats, in the columns named below. A label is dropped when another one at the same shape
and stage is at least as good in everything that the rest of the mapping can depend on, or when its
lower bound exceeds the best value found.
"""

from __future__ import annotations

import numpy as np
from numba import njit

# integer columns
SHAPE, STAGE, LAST, PARENT, MOVE, NEXT, SAME, DEAD = 0, 1, 2, 3, 4, 5, 6, 7
OPEN = 8  # + tensor: shape inside the innermost loop relevant to it
# then two columns an array: shape below it, spatial choice
# then per sliding tensor: expression of its region, shape outside the region, entries, and per
# entry (segment * 64 + dimension, shape inside the loop)
ENTRIES = 4
WINDOW_COLUMNS = 3 + 2 * ENTRIES
# float columns
ENERGY, ZERO, SPREAD = 0, 1, 2
LOADS = 3  # + resource; then bits used per memory, then per sliding tensor and entry its repeats,
# last (from the end) per sliding tensor the least words that its sender reads

ENERGY_OBJECTIVE, LATENCY_OBJECTIVE, EDP_OBJECTIVE = 0, 1, 2
PLACE = 1 << 20
CROSS = 1 << 21
TIE = 1e-12
LOOK = 200  # labels that a new one is compared with: a missed dominance costs time, nothing else


@njit(cache=True)
def objective_value(objective, energy, cycles):
    """Return (what is minimised, what breaks ties)."""
    if objective == ENERGY_OBJECTIVE:
        return energy, cycles
    if objective == LATENCY_OBJECTIVE:
        return cycles, energy
    return energy * cycles, energy


@njit(cache=True)
def _worse(first, second, best_first, best_second):
    """Whether a value (or lower bound) cannot improve on the best one."""
    if first > best_first * (1 + TIE):
        return True
    return first >= best_first * (1 - TIE) and second >= best_second * (1 - TIE)


@njit(cache=True)
def _window_column(nt, na, w):
    return OPEN + nt + 2 * na + WINDOW_COLUMNS * w


@njit(cache=True)
def _united(k, coef, tile, arrays, factor, stride, slide, shift, scratch):
    """Words of a sliding expression that the united instances hold, and that a step brings in.

    `factor`, `stride` (arrays, k): instances along each dimension and their distance. In the step,
    dimension `slide` has moved by `shift`.
    """
    instances = 1
    span = coef[slide] * shift + 1
    for i in range(k):
        span += coef[i] * (tile[i] - 1)
        for a in range(arrays):
            instances *= factor[a, i]
            span += coef[i] * (factor[a, i] - 1) * stride[a, i]
    if span > len(scratch):
        scratch = np.zeros(2 * span, np.int64)
    for j in range(span):
        scratch[j] = 0
    points = 1
    for i in range(k):
        points *= tile[i]
    total = 0
    missing = 0
    # pass 1: all words of the tiles; pass 2: words missing to the instance that needs them
    for u in range(instances):
        r = u
        base = 0
        for a in range(arrays):
            for i in range(k):
                base += coef[i] * (r % factor[a, i]) * stride[a, i]
                r //= factor[a, i]
        for p in range(points):
            r = p
            word = base
            for i in range(k):
                word += coef[i] * (r % tile[i])
                r //= tile[i]
            if scratch[word] & 1 == 0:
                scratch[word] |= 1
                total += 1
    if shift > 0:
        for u in range(instances):
            r = u
            base = 0
            for a in range(arrays):
                for i in range(k):
                    base += coef[i] * (r % factor[a, i]) * stride[a, i]
                    r //= factor[a, i]
            tag = 4 * (u + 1)  # bits 2 and up: last instance whose old tile holds the word
            for p in range(points):
                r = p
                word = base
                for i in range(k):
                    word += coef[i] * (r % tile[i])
                    r //= tile[i]
                scratch[word] = tag + (scratch[word] & 3)
            for p in range(points):
                r = p
                word = base + coef[slide] * shift
                for i in range(k):
                    word += coef[i] * (r % tile[i])
                    r //= tile[i]
                if scratch[word] - (scratch[word] & 3) != tag and scratch[word] & 2 == 0:
                    scratch[word] |= 2
                    missing += 1
    return total, missing


@njit(cache=True)
def _window_words(sp, lk, row, floats, loads, t, lo, hi, shape, seg, each_step, words, steps, out):
    """Fill T_j of one link of a sliding tensor.

    `words` x `steps` is what would move without sliding; `loads` is where its entries begin.
    """
    w = sp.windows[t]
    nt = sp.relevant.shape[0]
    na = len(sp.unroll_start) - 1
    column = _window_column(nt, na, w)
    width = sp.members.shape[2]
    tile = np.empty(width, np.int64)
    coef = np.empty(width, np.int64)
    factor = np.empty((max(na, 1), width), np.int64)
    stride = np.empty((max(na, 1), width), np.int64)
    scratch = np.zeros(256, np.int64)
    region = row[column]
    entries = 0 if each_step else row[column + 2]
    for j in range(hi - lo + 1):
        share = 1.0  # of the words of all instances, those that stay when instances unite
        refund = 0.0  # steps whose words are already there
        for k in range(lo + j, hi):
            if lk.unites[k, t]:
                share /= sp.unroll_reuse[row[OPEN + nt + 2 * k + 1], t]
        for e in range(sp.members.shape[1]):
            m = 0
            while m < width and sp.members[w, e, m] >= 0:
                d = sp.members[w, e, m]
                coef[m] = sp.coefs[w, e, m]
                tile[m] = 1 if each_step else sp.values[d, sp.digits[shape, d]]
                m += 1
            if m == 0:
                continue
            arrays = 0
            copies = 1
            for k in range(lo + j, hi):
                if lk.unites[k, t]:
                    for i in range(m):
                        d = sp.members[w, e, i]
                        factor[arrays, i] = sp.values[d, sp.unroll[row[OPEN + nt + 2 * k + 1], d]]
                        stride[arrays, i] = sp.values[d, sp.digits[row[OPEN + nt + 2 * k], d]]
                        copies *= factor[arrays, i]
                    arrays += 1
            if copies == 1:
                arrays = 0
            united, _ = _united(m, coef, tile, arrays, factor, stride, 0, 0, scratch)
            if arrays > 0:
                own, _ = _united(m, coef, tile, 0, factor, stride, 0, 0, scratch)
                share *= united / (own * copies)
            if e != region:
                continue
            for q in range(entries):
                code = row[column + 3 + 2 * q]
                inside = row[column + 4 + 2 * q]
                slide = 0
                shift = 0
                others = 0
                for i in range(m):
                    d = sp.members[w, e, i]
                    delta = tile[i]
                    for k in range(code // 64, seg):
                        s = sp.values[d, sp.unroll[row[OPEN + nt + 2 * k + 1], d]]
                        delta += (s - 1) * sp.values[d, sp.digits[row[OPEN + nt + 2 * k], d]]
                    if d == code % 64:
                        slide = i
                        shift = delta
                    else:
                        others += coef[i] * (sp.values[d, sp.digits[inside, d]] - delta)
                repeats = floats[loads + q]
                if others == 0:
                    _, missing = _united(m, coef, tile, arrays, factor, stride, slide, shift, scratch)
                    refund += repeats * (united - missing) / united
                elif coef[slide] * shift == others:
                    refund += repeats
        out[j] = words * share * (steps - refund)


@njit(cache=True)
def _link_words(sp, lk, row, floats, loads, t, l, seg, out):
    """Fill T_j of link l of tensor t when its receiver stands at the label's shape."""
    lo = lk.arrays[t, l, 0]
    hi = lk.arrays[t, l, 1]
    n = hi - lo
    nt = sp.relevant.shape[0]
    shape = row[SHAPE]
    each_step = l == lk.count[t] - 1
    words = 1.0 if each_step else float(sp.words[t, shape])
    steps = sp.operations if each_step else sp.repeats[row[OPEN + t]]
    w = sp.windows[t]
    if w >= 0:
        column = _window_column(nt, len(sp.unroll_start) - 1, w)
        if n > 0 or (not each_step and row[column + 2] > 0):
            _window_words(
                sp, lk, row, floats, loads + ENTRIES * w, t, lo, hi, shape, seg, each_step,
                words, steps, out,
            )
            return n
    out[n] = words * steps
    for j in range(n - 1, -1, -1):
        k = lo + j
        out[j] = out[j + 1]
        if lk.unites[k, t]:
            out[j] /= sp.unroll_reuse[row[OPEN + nt + 2 * k + 1], t]
    return n


@njit(cache=True)
def _charge(sp, lk, row, floats, resources, memories, t, l, seg, out):
    """Add the energy and loads of link l of tensor t to the label."""
    nt = sp.relevant.shape[0]
    n = _link_words(sp, lk, row, floats, LOADS + resources + memories, t, l, seg, out)
    energy = 0.0
    for j in range(n + 1):
        energy += lk.energy[t, l, j] * out[j]
    if t == nt - 1:
        energy += lk.again[t, l] * (out[0] - floats[ZERO])
        if lk.fresh[t, l] == 1:
            floats[ZERO] = out[n]
        else:
            floats[ZERO] += out[n] - out[0]
    floats[ENERGY] += energy
    for r in range(resources):
        cycles = 0.0
        for j in range(n + 1):
            cycles += lk.load[r, t, l, j] * out[j]
        if cycles == 0.0:
            continue
        distinct = float(sp.words[t, len(sp.repeats) - 1])
        for k in range(lk.load_arrays[r]):
            choice = row[OPEN + nt + 2 * k + 1]
            cycles /= sp.unroll_product[choice]
            distinct /= sp.unroll_product[choice] / sp.unroll_reuse[choice, t]
        floats[LOADS + r] += cycles - lk.held[r, t, l] * distinct


@njit(cache=True)
def _least_words(sp, row, t):
    """Words that move at least into a tile inside the label's shape."""
    words = sp.words[t, row[SHAPE]] * sp.repeats[row[OPEN + t]]
    w = sp.windows[t]
    if w >= 0:
        column = _window_column(sp.relevant.shape[0], len(sp.unroll_start) - 1, w)
        if row[column] >= 0:
            # every run of the loops of a sliding region brings in each of its words once
            outside = row[column + 1]
            words = min(words, sp.words[t, outside] * sp.repeats[outside])
    return words


@njit(cache=True)
def _lower(sp, lk, row, floats, resources, seg, placed, spread_left):
    """Return lower bounds of the energy and the cycles of every completion of a label."""
    nt = sp.relevant.shape[0]
    na = len(sp.unroll_start) - 1
    shape = row[SHAPE]
    energy = floats[ENERGY]
    carried = np.inf  # best saving from a tile that stays while an array is crossed
    for t in range(nt):
        l = placed[t]
        last = lk.count[t] - 1
        words = _least_words(sp, row, t)
        w = sp.windows[t]
        output = t == nt - 1
        zero = floats[ZERO]
        while l < last and lk.arrays[t, l, 1] <= seg:
            lo, hi = lk.arrays[t, l, 0], lk.arrays[t, l, 1]
            ratio = 1.0
            if w >= 0 and hi > lo:
                # instances may share the words of overlapping windows: start from their union
                words = floats[len(floats) - 1 - w]
                for k in range(lo, hi):
                    words *= sp.unroll_reuse[row[OPEN + nt + 2 * k + 1], t]
                if lk.most[t, l] > 0.0:
                    served = lk.most[t, l]
                    for d in range(sp.relevant.shape[1]):
                        if not sp.relevant[t, d]:
                            served *= sp.values[d, sp.digits[row[OPEN + t], d]]
                    energy += lk.energy[t, l, hi - lo] * max(0.0, sp.operations / served - words)
            for j in range(hi - lo, -1, -1):
                rate = lk.energy[t, l, j]
                if output and l == last - 1 and j == hi - lo:
                    rate -= lk.again[t, last]  # entries from zero save reads at the compute unit
                energy += rate * words * ratio
                if output and l == last - 1 and j == 0:
                    energy += lk.again[t, last] * max(0.0, words * ratio - zero)
                if j == 0:
                    if output and l == placed[t]:
                        energy += lk.again[t, l] * max(0.0, words * ratio - zero)
                elif lk.unites[lo + j - 1, t]:
                    ratio /= sp.unroll_reuse[row[OPEN + nt + 2 * (lo + j - 1) + 1], t]
            l += 1
        if seg < na:
            energy += lk.rest_base[seg, t] + lk.rest_slope[seg, t] * words
            if l < last:
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
        cycles = max(cycles, floats[LOADS + r])
    return energy + lk.leakage * cycles, cycles


@njit(cache=True)
def most_reuse(sp, t, bits, capacity):
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
                g = _gcd(a, b)
                one = m * n - max(0, m - b // g) * max(0, n - a // g)
                two = 2 * m * n - max(0, 2 * m - b // g) * max(0, n - a // g)
                chunks = sp.values[d, sp.sizes[d] - 1] // m
                rest = sp.words[t, shape] / one
                most = max(most, points * chunks / (rest * (one + (chunks - 1) * (two - one))))
    return most


@njit(cache=True)
def _gcd(a, b):
    while b:
        a, b = b, a % b
    return a


@njit(cache=True)
def inner_table(
    sp, begin, rate, own, most, used, shared, free_dim, bits_of, capacity, share, memory, allowed, table
):
    """Fill the bound of what an array's children cost, for every shape above the array.

    A tile that is stored below the array with u iterations of its tensor's irrelevant dimensions moves at least
    distinct words x product(bound / u). A shape x' collects these u; it is possible only if, for some
    order of the store nodes of one memory, each tile spans the u of the tensors stored inside it and
    all of them fit. For each possible x' and spatial choice s the bound holds at shape x' s and
    at every shape that it divides.

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
                        words[t] *= sp.values[d, sp.sizes[d] - 1] / sp.values[d, sp.digits[shape, d]]
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
            if total < table[above, nt]:
                table[above, nt] = total
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


@njit(cache=True)
def _dominates(sp, lk, ia, fa, ib, fb, resources, memories, objective, placed, seg):
    """Whether label a makes label b superfluous (same shape and stage)."""
    nt = sp.relevant.shape[0]
    na = len(sp.unroll_start) - 1
    strict = objective == ENERGY_OBJECTIVE and lk.leakage == 0.0 and fa[ENERGY] < fb[ENERGY] * (1 - TIE)
    if fa[ENERGY] > fb[ENERGY] * (1 + TIE):
        return False
    if not strict:
        if fa[SPREAD] < fb[SPREAD]:
            return False
        for r in range(resources):
            if fa[LOADS + r] > fb[LOADS + r] * (1 + TIE):
                return False
    for m in range(memories):
        if fa[LOADS + resources + m] > fb[LOADS + resources + m]:
            return False
    if fa[ZERO] < fb[ZERO]:
        return False
    for t in range(nt):
        l = placed[t]
        last = lk.count[t] - 1
        # entries from zero above an inner memory may pay later: then only equals compare
        signed = t == nt - 1 and l < last - 1 and na > 0
        if l < last:
            steps_a = sp.repeats[ia[OPEN + t]]
            steps_b = sp.repeats[ib[OPEN + t]]
            if steps_a > steps_b or (signed and steps_a != steps_b):
                return False
        w = sp.windows[t]
        for k in range(lk.arrays[t, l, 0], seg):
            ca = ia[OPEN + nt + 2 * k + 1]
            cb = ib[OPEN + nt + 2 * k + 1]
            if ca == cb and ia[OPEN + nt + 2 * k] == ib[OPEN + nt + 2 * k]:
                continue
            reuse_a = sp.unroll_reuse[ca, t]
            reuse_b = sp.unroll_reuse[cb, t]
            if reuse_a < reuse_b or (signed and reuse_a != reuse_b):
                return False
            if w >= 0:
                for d in range(sp.relevant.shape[1]):
                    if sp.window_of[w, d] >= 0:
                        if sp.unroll[ca, d] != sp.unroll[cb, d]:
                            return False
                        if sp.unroll[ca, d] > 0 and (
                            sp.digits[ia[OPEN + nt + 2 * k], d] != sp.digits[ib[OPEN + nt + 2 * k], d]
                        ):
                            return False
        if w >= 0 and l < last:
            column = _window_column(nt, na, w)
            entries = ib[column + 2]
            if entries > 0:
                if ia[column] != ib[column] or ia[column + 2] != entries:
                    return False
                loads = LOADS + resources + memories + ENTRIES * w
                lowest = seg
                for q in range(entries):
                    if ia[column + 3 + 2 * q] != ib[column + 3 + 2 * q]:
                        return False
                    if q < entries - 1 and ia[column + 4 + 2 * q] != ib[column + 4 + 2 * q]:
                        return False
                    if fa[loads + q] < fb[loads + q]:
                        return False
                    lowest = min(lowest, ib[column + 3 + 2 * q] // 64)
                # arrays that the slide has crossed set its distance
                for k in range(lowest, seg):
                    ca = ia[OPEN + nt + 2 * k + 1]
                    cb = ib[OPEN + nt + 2 * k + 1]
                    for d in range(sp.relevant.shape[1]):
                        if sp.window_of[w, d] >= 0:
                            if sp.unroll[ca, d] != sp.unroll[cb, d]:
                                return False
                            if sp.unroll[ca, d] > 0 and (
                                sp.digits[ia[OPEN + nt + 2 * k], d]
                                != sp.digits[ib[OPEN + nt + 2 * k], d]
                            ):
                                return False
    return True


@njit(cache=True)
def _insert(
    sp, lk, it, fl, n, heads, buckets, resources, memories, objective, placed, seg
):
    """File row n unless another label makes it superfluous; return the new number of labels.

    Labels are compared with those at the same shape and stage that took the same spatial choice.
    """
    shape, stage = it[n, SHAPE], it[n, STAGE]
    choice_column = OPEN + sp.relevant.shape[0] + 2 * seg - 1
    choice = it[n, choice_column] if seg > 0 else 0
    key = ((shape * len(heads[0]) + stage) * 2654435761 + choice * 40503) % len(buckets)
    i = buckets[key]
    looked = 0
    while i >= 0 and looked < LOOK:
        if (
            it[i, SHAPE] == shape
            and it[i, STAGE] == stage
            and it[i, DEAD] == 0
            and (seg == 0 or it[i, choice_column] == choice)
        ):
            looked += 1
            if _dominates(
                sp, lk, it[i], fl[i], it[n], fl[n], resources, memories, objective, placed, seg
            ):
                return n
            if _dominates(
                sp, lk, it[n], fl[n], it[i], fl[i], resources, memories, objective, placed, seg
            ):
                it[i, DEAD] = 1
        i = it[i, SAME]
    it[n, DEAD] = 0
    it[n, NEXT] = heads[shape, stage]
    heads[shape, stage] = n
    it[n, SAME] = buckets[key]
    buckets[key] = n
    return n + 1


@njit(cache=True)
def _loop(sp, row, floats, loads, move, inside, seg):
    """Turn a label into the one with one more loop around; `inside` is the shape below it."""
    nt = sp.relevant.shape[0]
    na = len(sp.unroll_start) - 1
    d = sp.moves[move, 0]
    outside = row[SHAPE]
    row[SHAPE] = inside
    row[LAST] = d
    row[MOVE] = move
    for t in range(nt):
        if not sp.relevant[t, d]:
            continue
        row[OPEN + t] = inside
        w = sp.windows[t]
        if w < 0:
            continue
        column = _window_column(nt, na, w)
        e = sp.window_of[w, d]
        if e < 0:
            row[column] = -1
            row[column + 2] = 0
            continue
        if row[column] != e:
            row[column] = e
            row[column + 1] = outside
            row[column + 2] = 0
        n = row[column + 2]
        at = loads + ENTRIES * w
        steps = sp.repeats[inside] - sp.repeats[outside]
        code = seg * 64 + d
        if n > 0 and row[column + 3 + 2 * (n - 1)] == code:
            floats[at + n - 1] += steps
            row[column + 4 + 2 * (n - 1)] = inside
            continue
        if n == ENTRIES:
            for q in range(1, n):
                row[column + 3 + 2 * (q - 1)] = row[column + 3 + 2 * q]
                row[column + 4 + 2 * (q - 1)] = row[column + 4 + 2 * q]
                floats[at + q - 1] = floats[at + q]
            n -= 1
        row[column + 3 + 2 * n] = code
        row[column + 4 + 2 * n] = inside
        floats[at + n] = steps
        row[column + 2] = n + 1


@njit(cache=True)
def _grown(it, fl, n):
    if n + 128 < len(it):
        return it, fl
    it2 = np.empty((2 * len(it), it.shape[1]), np.int64)
    fl2 = np.empty((2 * len(fl), fl.shape[1]), np.float64)
    it2[:n] = it[:n]
    fl2[:n] = fl[:n]
    return it2, fl2


@njit(cache=True, nogil=True)
def expand(
    sp, lk, seg, last_segment, place_memory, stage_count, stage_next, first, spread_left,
    it, fl, n, heads, buckets, high, low, resources, memories, objective, best, best_row,
):
    """Walk the shapes of one segment from `high` down to `low`, placing its store nodes.

    A segment is the part of the chain between two arrays. `best` holds the best objective so far
    and its tie-break; in the last segment a complete label is a mapping and may improve it.
    """
    nt = sp.relevant.shape[0]
    stages = stage_count.shape[0]
    full = stages - 1
    loads = LOADS + resources + memories
    out = np.zeros(8)
    placed = np.empty(nt, np.int64)
    placed_next = np.empty(nt, np.int64)
    for shape in range(high, low - 1, -1):
        for stage in range(stages):
            i = heads[shape, stage]
            if i < 0:
                continue
            for t in range(nt):
                placed[t] = first[t] + stage_count[stage, t]
            i = heads[shape, stage]
            while i >= 0:
                current = i
                i = it[i, NEXT]
                if it[current, DEAD] == 1:
                    continue
                energy, cycles = _lower(sp, lk, it[current], fl[current], resources, seg, placed, spread_left)
                value, tie = objective_value(objective, energy, cycles)
                if _worse(value, tie, best[0], best[1]):
                    continue
                it, fl = _grown(it, fl, n)
                if last_segment and stage == full:
                    it[n] = it[current]
                    fl[n] = fl[current]
                    for t in range(nt):
                        _charge(sp, lk, it[n], fl[n], resources, memories, t, lk.count[t] - 1, seg, out)
                    cycles = np.ceil(lk.cycles * (sp.operations / fl[n, SPREAD]) * (1 - TIE))
                    for r in range(resources):
                        cycles = max(cycles, fl[n, LOADS + r])
                    fl[n, ENERGY] += lk.leakage * cycles
                    value, tie = objective_value(objective, fl[n, ENERGY], cycles)
                    if not _worse(value, tie, best[0], best[1]):
                        best[0], best[1] = value, tie
                        best[2], best[3] = fl[n, ENERGY], cycles
                        it[n, PARENT] = current
                        best_row[0] = n
                        n += 1
                    continue
                last = it[current, LAST]
                # store nodes: a loop irrelevant to the tensor could as well stand inside its node
                for t in range(nt):
                    if stage_next[stage, t] < 0 or (last >= 0 and not sp.relevant[t, last]):
                        continue
                    l = placed[t]
                    bits = sp.words[t, shape] * lk.bits[t, l]
                    m = place_memory[lk.memory[t, l]]
                    used = fl[current, LOADS + resources + m] + bits
                    if bits > lk.share[t, l] or used > lk.capacity[lk.memory[t, l]]:
                        continue
                    it[n] = it[current]
                    fl[n] = fl[current]
                    it[n, PARENT] = current
                    it[n, MOVE] = PLACE + t
                    it[n, STAGE] = stage_next[stage, t]
                    fl[n, LOADS + resources + m] = used
                    _charge(sp, lk, it[n], fl[n], resources, memories, t, l, seg, out)
                    for u in range(nt):
                        placed_next[u] = placed[u]
                    placed_next[t] += 1
                    energy, cycles = _lower(sp, lk, it[n], fl[n], resources, seg, placed_next, spread_left)
                    value, tie = objective_value(objective, energy, cycles)
                    if _worse(value, tie, best[0], best[1]):
                        continue
                    n = _insert(sp, lk, it, fl, n, heads, buckets, resources, memories, objective, placed_next, seg)
                # loops: directly below an array only those that the array keeps from moving above it
                stuck = seg > 0 and last < 0 and stage == 0
                for move in range(len(sp.moves)):
                    d = sp.moves[move, 0]
                    if stuck:
                        choice = it[current, OPEN + nt + 2 * (seg - 1) + 1]
                        free = sp.unroll[choice, d] == 0
                        if not free:
                            free = True
                            for w in range(sp.window_of.shape[0]):
                                free = free and sp.window_of[w, d] < 0
                        if free:
                            continue
                    digit = sp.digits[shape, d]
                    smaller = sp.quotient[d, digit, sp.moves[move, 1]]
                    if smaller < 0:
                        continue
                    it[n] = it[current]
                    fl[n] = fl[current]
                    it[n, PARENT] = current
                    _loop(sp, it[n], fl[n], loads, move, shape - (digit - smaller) * sp.strides[d], seg)
                    energy, cycles = _lower(sp, lk, it[n], fl[n], resources, seg, placed, spread_left)
                    value, tie = objective_value(objective, energy, cycles)
                    if _worse(value, tie, best[0], best[1]):
                        continue
                    n = _insert(sp, lk, it, fl, n, heads, buckets, resources, memories, objective, placed, seg)
    return it, fl, n


@njit(cache=True, nogil=True)
def cross(
    sp, lk, array, it, fl, n, heads, full, heads_below, buckets, high, low, first_below, spread_above, spread_left,
    resources, memories, objective, best,
):
    """Send the complete labels of a segment through the array below it, in every spatial choice."""
    nt = sp.relevant.shape[0]
    nd = sp.relevant.shape[1]
    entries_end = fl.shape[1] - sp.members.shape[0]
    placed = np.empty(nt, np.int64)
    for t in range(nt):
        placed[t] = first_below[t]
    for shape in range(high, low - 1, -1):
        i = heads[shape, full]
        while i >= 0:
            if it[i, DEAD] == 1:
                i = it[i, NEXT]
                continue
            bound, cycles = _lower(sp, lk, it[i], fl[i], resources, array, placed, spread_above)
            bound -= lk.leakage * cycles
            for choice in range(sp.unroll_start[array], sp.unroll_start[array + 1]):
                # choices come with the largest product first
                spread = fl[i, SPREAD] * sp.unroll_product[choice] * spread_left
                fewest = lk.cycles * sp.operations / spread
                value, tie = objective_value(objective, bound + lk.leakage * fewest, fewest)
                if _worse(value, tie, best[0], best[1]):
                    if objective != ENERGY_OBJECTIVE or lk.leakage > 0.0 or fewest == cycles:
                        break
                    continue
                below = shape
                for d in range(nd):
                    factor = sp.unroll[choice, d]
                    if factor > 0:
                        digit = sp.digits[shape, d]
                        smaller = sp.quotient[d, digit, factor]
                        if smaller < 0:
                            below = -1
                            break
                        below -= (digit - smaller) * sp.strides[d]
                if below < 0:
                    continue
                it, fl = _grown(it, fl, n)
                it[n] = it[i]
                fl[n] = fl[i]
                it[n, SHAPE] = below
                it[n, STAGE] = 0
                it[n, LAST] = -1
                it[n, PARENT] = i
                it[n, MOVE] = CROSS + choice
                it[n, OPEN + nt + 2 * array] = below
                it[n, OPEN + nt + 2 * array + 1] = choice
                # from here on steps are counted over all instances
                for t in range(nt):
                    if sp.windows[t] >= 0 and lk.arrays[t, placed[t], 0] == array:
                        fl[n, fl.shape[1] - 1 - sp.windows[t]] = _least_words(sp, it[i], t)
                fl[n, SPREAD] *= sp.unroll_product[choice]
                for q in range(LOADS + resources + memories, entries_end):
                    fl[n, q] *= sp.unroll_product[choice]
                for t in range(nt):
                    opened = it[n, OPEN + t]
                    for d in range(nd):
                        if sp.unroll[choice, d] > 0:
                            digit = sp.digits[opened, d]
                            it[n, OPEN + t] -= (
                                digit - sp.quotient[d, digit, sp.unroll[choice, d]]
                            ) * sp.strides[d]
                for m in range(memories):
                    fl[n, LOADS + resources + m] = 0.0
                energy, cycles_below = _lower(
                    sp, lk, it[n], fl[n], resources, array + 1, placed, spread_left
                )
                value, tie = objective_value(objective, energy, cycles_below)
                if not _worse(value, tie, best[0], best[1]):
                    n = _insert(
                        sp, lk, it, fl, n, heads_below, buckets, resources, memories, objective, placed, array + 1
                    )
            i = it[i, NEXT]
    return it, fl, n

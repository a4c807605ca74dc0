"""What a store node costs a label: the words of its link, their energy and their cycles."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tilewright.mapper.labels import (
    ENERGY,
    ENTRIES,
    FIRST,
    LOADS,
    OPEN,
    SHAPE,
    TIE,
    ZERO,
    window_column,
)
from tilewright.model.kernel import part

if TYPE_CHECKING:
    from tilewright.mapper.lattice import Floats, Ints
    from tilewright.mapper.links import Links
    from tilewright.mapper.problem import Space


@part
def united_words(
    k: int,
    coef: Ints,
    tile: Ints,
    arrays: int,
    factor: Ints,
    stride: Ints,
    slide: int,
    shift: int,
    scratch: Ints,
) -> tuple[int, int]:
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


@part
def window_words(
    sp: Space,
    lk: Links,
    row: Ints,
    floats: Floats,
    loads: int,
    t: int,
    lo: int,
    hi: int,
    shape: int,
    seg: int,
    each_step: bool,
    words: float,
    steps: float,
    out: Floats,
) -> None:
    """Fill T_j of one link of a sliding tensor.

    `words` x `steps` is what would move without sliding; `loads` is where its entries begin.
    """
    w = sp.windows[t]
    nt = sp.relevant.shape[0]
    na = len(sp.unroll_start) - 1
    column = window_column(nt, na, w)
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
            united, _ = united_words(m, coef, tile, arrays, factor, stride, 0, 0, scratch)
            if arrays > 0:
                own, _ = united_words(m, coef, tile, 0, factor, stride, 0, 0, scratch)
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
                    _, missing = united_words(
                        m, coef, tile, arrays, factor, stride, slide, shift, scratch
                    )
                    refund += repeats * (united - missing) / united
                elif coef[slide] * shift == others:
                    refund += repeats
        out[j] = words * share * (steps - refund)


@part
def link_words(
    sp: Space,
    lk: Links,
    row: Ints,
    floats: Floats,
    loads: int,
    t: int,
    link: int,
    seg: int,
    out: Floats,
) -> int:
    """Fill T_j of link `link` of tensor t when its receiver stands at the label's shape."""
    lo = lk.arrays[t, link, 0]
    hi = lk.arrays[t, link, 1]
    n = hi - lo
    nt = sp.relevant.shape[0]
    shape = row[SHAPE]
    each_step = link == lk.length[t] - 1
    words = 1.0 if each_step else float(sp.words[t, shape])
    steps = sp.operations if each_step else sp.repeats[row[OPEN + t]]
    w = sp.windows[t]
    if w >= 0:
        column = window_column(nt, len(sp.unroll_start) - 1, w)
        if n > 0 or (not each_step and row[column + 2] > 0):
            window_words(
                sp,
                lk,
                row,
                floats,
                loads + ENTRIES * w,
                t,
                lo,
                hi,
                shape,
                seg,
                each_step,
                words,
                steps,
                out,
            )
            return int(n)
    out[n] = words * steps
    for j in range(n - 1, -1, -1):
        k = lo + j
        out[j] = out[j + 1]
        if lk.unites[k, t]:
            out[j] /= sp.unroll_reuse[row[OPEN + nt + 2 * k + 1], t]
    return int(n)


@part
def charge(
    sp: Space,
    lk: Links,
    row: Ints,
    floats: Floats,
    resources: int,
    memories: int,
    t: int,
    link: int,
    seg: int,
    out: Floats,
) -> None:
    """Add the energy and loads of link `link` of tensor t to the label."""
    nt = sp.relevant.shape[0]
    n = link_words(sp, lk, row, floats, LOADS + resources + memories, t, link, seg, out)
    energy = 0.0
    for j in range(n + 1):
        energy += lk.energy[t, link, j] * out[j]
    first = 0.0  # entries from zero of the busiest instance of the sender
    overlap = False
    if t == nt - 1:
        first = floats[FIRST]
        energy += lk.again[t, link] * (out[0] - floats[ZERO])
        apart = out[0]
        entries = out[n]
        for k in range(lk.arrays[t, link, 1]):
            entries /= sp.unroll_product[row[OPEN + nt + 2 * k + 1]]
        for k in range(lk.arrays[t, link, 0], lk.arrays[t, link, 1]):
            choice = row[OPEN + nt + 2 * k + 1]
            floats[FIRST] *= sp.unroll_reuse[choice, t] / sp.unroll_product[choice]
            if lk.unites[k, t]:
                apart *= sp.unroll_reuse[choice, t]
        if lk.fresh[t, link] == 1:
            floats[FIRST] = entries
        elif out[n] > apart * (1 + TIE):
            # windows of instances overlap, and which of them first holds a word depends on the
            # order of the loops: as few partial sums as possible are fetched, see `Search.check`
            overlap = True
            floats[FIRST] = min(first, entries)
        if lk.fresh[t, link] == 1:
            floats[ZERO] = out[n]
        else:
            floats[ZERO] += out[n] - out[0]
    floats[ENERGY] += energy
    for r in range(resources):
        cycles = 0.0
        for j in range(n + 1):
            cycles += lk.load[r, t, link, j] * out[j]
        if cycles == 0.0:
            continue
        zero = first
        for k in range(lk.load_arrays[r]):
            choice = row[OPEN + nt + 2 * k + 1]
            cycles /= sp.unroll_product[choice]
            if k >= lk.arrays[t, link, 0] and not overlap:
                zero *= sp.unroll_reuse[choice, t] / sp.unroll_product[choice]
        if overlap and lk.load_arrays[r] == lk.arrays[t, link, 1]:
            zero = floats[FIRST]
        floats[LOADS + r] += max(0.0, cycles - lk.held[r, t, link] * zero)

"""What a store node costs a label: the words of its link, their energy and their cycles."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from tilewright.kernels.kernel import called_leaf, leaf, part
from tilewright.mapper.label.labels import (
    ENERGY,
    ENTRIES,
    FIRST,
    LOADS,
    OPEN,
    SHAPE,
    SPREAD,
    ZERO,
    entries_column,
    window_column,
)
from tilewright.mapper.label.touched_words import cuts_windows, first_words
from tilewright.mapper.objective.tolerances import TIE

if TYPE_CHECKING:
    from tilewright.kernels.types import Floats, Ints
    from tilewright.mapper.problem.link_costs import Links
    from tilewright.mapper.problem.space import Space


class Scratch(NamedTuple):
    """Arrays for what is of no use after the step.

    Attributes
    ----------
    placed : array of tensors
    words, next_words : arrays of tensors
    moved : array of cuts
        Words of a link.
    tile, coef : arrays of dimensions of an expression
    factor, stride : arrays of (arrays, dimensions of an expression)
        Instances along each dimension, and their distance.
    marks : array of words
        A window with all its instances, and a step further.
    """

    placed: Ints
    words: Floats
    next_words: Floats
    moved: Floats
    tile: Ints
    coef: Ints
    factor: Ints
    stride: Ints
    marks: Ints


@part
def scratch_for(sp: Space) -> Scratch:
    """Return arrays that are large enough for a layer and a machine."""
    nt = sp.relevant.shape[0]
    na = max(len(sp.unroll_start) - 1, 1)
    width = sp.members.shape[2]
    widest = 1
    for w in range(sp.members.shape[0]):
        for e in range(sp.members.shape[1]):
            span = 1
            for i in range(width):
                d = sp.members[w, e, i]
                if d >= 0:
                    # with a step, and where tiles do not divide, more than the bound
                    span += 8 * sp.coefs[w, e, i] * sp.values[d, sp.sizes[d] - 1]
            widest = max(widest, span)
    return Scratch(
        placed=np.empty(nt, np.int64),
        words=np.empty(nt),
        next_words=np.empty(nt),
        moved=np.empty(na + 1),
        tile=np.empty(width, np.int64),
        coef=np.empty(width, np.int64),
        factor=np.empty((na, width), np.int64),
        stride=np.empty((na, width), np.int64),
        marks=np.empty(widest, np.int64),
    )


@called_leaf
def united_words(
    k: int,
    coef: Ints,
    tile: Ints,
    arrays: int,
    factor: Ints,
    stride: Ints,
    slide: int,
    shift: int,
    marks: Ints,
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
    for j in range(span):
        marks[j] = 0
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
            if marks[word] & 1 == 0:
                marks[word] |= 1
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
                marks[word] = tag + (marks[word] & 3)
            for p in range(points):
                r = p
                word = base + coef[slide] * shift
                for i in range(k):
                    word += coef[i] * (r % tile[i])
                    r //= tile[i]
                if marks[word] - (marks[word] & 3) != tag and marks[word] & 2 == 0:
                    marks[word] |= 2
                    missing += 1
    return total, missing


@leaf
def tile_moves(sp: Space, lk: Links, row: Ints, t: int, link: int) -> tuple[float, float]:
    """Return the words of a tile, and how often one would move if it did not slide."""
    if link == lk.length[t] - 1:
        return 1.0, float(sp.operations)
    return float(sp.words[t, row[SHAPE]]), float(sp.repeats[row[OPEN + t]])


@leaf
def window_words(
    sp: Space,
    lk: Links,
    row: Ints,
    floats: Floats,
    t: int,
    link: int,
    seg: int,
    scratch: Scratch,
) -> None:
    """Fill T_j of one link of a sliding tensor."""
    w = sp.windows[t]
    lo, hi = lk.arrays[t, link, 0], lk.arrays[t, link, 1]
    shape = row[SHAPE]
    each_step = link == lk.length[t] - 1
    words, steps = tile_moves(sp, lk, row, t, link)
    advances = entries_column(sp, floats) + ENTRIES * w
    nt = sp.relevant.shape[0]
    na = len(sp.unroll_start) - 1
    column = window_column(nt, na, w)
    width = sp.members.shape[2]
    tile, coef, factor, stride = scratch.tile, scratch.coef, scratch.factor, scratch.stride
    marks = scratch.marks
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
            united, _ = united_words(m, coef, tile, arrays, factor, stride, 0, 0, marks)
            if arrays > 0:
                own, _ = united_words(m, coef, tile, 0, factor, stride, 0, 0, marks)
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
                repeats = floats[advances + q]
                if others == 0:
                    _, missing = united_words(
                        m, coef, tile, arrays, factor, stride, slide, shift, marks
                    )
                    refund += repeats * (united - missing) / united
                elif coef[slide] * shift == others:
                    refund += repeats
        scratch.moved[j] = words * share * (steps - refund)


@leaf
def link_words(
    sp: Space,
    lk: Links,
    row: Ints,
    floats: Floats,
    t: int,
    link: int,
    seg: int,
    scratch: Scratch,
) -> int:
    """Fill T_j of link `link` of tensor t when its receiver stands at the label's shape."""
    lo = lk.arrays[t, link, 0]
    hi = lk.arrays[t, link, 1]
    n = hi - lo
    nt = sp.relevant.shape[0]
    w = sp.windows[t]
    if w >= 0:
        column = window_column(nt, len(sp.unroll_start) - 1, w)
        if n > 0 or (link < lk.length[t] - 1 and row[column + 2] > 0):
            window_words(sp, lk, row, floats, t, link, seg, scratch)
            return int(n)
    words, steps = tile_moves(sp, lk, row, t, link)
    out = scratch.moved
    out[n] = words * steps
    for j in range(n - 1, -1, -1):
        k = lo + j
        out[j] = out[j + 1]
        if lk.unites[k, t]:
            out[j] /= sp.unroll_reuse[row[OPEN + nt + 2 * k + 1], t]
    return int(n)


@leaf
def charge(
    sp: Space,
    lk: Links,
    row: Ints,
    floats: Floats,
    t: int,
    link: int,
    seg: int,
    scratch: Scratch,
) -> None:
    """Add the energy and loads of link `link` of tensor t to the label."""
    nt = sp.relevant.shape[0]
    resources = len(lk.load_arrays)
    n = link_words(sp, lk, row, floats, t, link, seg, scratch)
    out = scratch.moved
    energy = 0.0
    for j in range(n + 1):
        energy += lk.energy[t, link, j] * out[j]
    first = 0.0  # entries from zero of the busiest instance of the sender
    overlap = False
    known = True
    if t == nt - 1:
        first = floats[FIRST]
        energy += lk.again[t, link] * (out[0] - floats[ZERO])
        entries = out[n]
        for k in range(lk.arrays[t, link, 1]):
            entries /= sp.unroll_product[row[OPEN + nt + 2 * k + 1]]
        for k in range(lk.arrays[t, link, 0], lk.arrays[t, link, 1]):
            choice = row[OPEN + nt + 2 * k + 1]
            floats[FIRST] *= sp.unroll_reuse[choice, t] / sp.unroll_product[choice]
        if lk.fresh[t, link] == 1:
            floats[FIRST] = entries
        elif resources > 0 and cuts_windows(
            sp, row, t, lk.arrays[t, link, 0], lk.arrays[t, link, 1]
        ):
            # instances share words of the output, so that the first one has more than its part
            overlap = True
            for k in range(link):
                known = known and lk.fresh[t, k] == 0
            if known:
                floats[FIRST] = first_words(
                    sp, row, t, lk.arrays[t, link, 1], scratch.tile, scratch.marks
                )
            else:
                # of those that some memory above starts from zero it is not known which are its
                # own: as few partial sums as possible are fetched, see `unproven`
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
        elif overlap and known and lk.load_arrays[r] > lk.arrays[t, link, 0]:
            zero = first_words(sp, row, t, lk.load_arrays[r], scratch.tile, scratch.marks)
        floats[LOADS + r] += max(0.0, cycles - lk.held[r, t, link] * zero)


@leaf
def whole_cost(sp: Space, lk: Links, floats: Floats) -> tuple[float, float]:
    """Return energy and cycles of the mapping that a label is whose every link is charged."""
    cycles = np.ceil(lk.cycles * (sp.operations / floats[SPREAD]) * (1 - TIE))
    for r in range(len(lk.load_arrays)):
        cycles = max(cycles, floats[LOADS + r])
    return floats[ENERGY] + lk.leakage * cycles, cycles

"""Compiled kernels: the words that move into the tiles of one tensor, in closed form over the loops.

The idea. Dimensions that share an index expression of the tensor form a *group*; an irrelevant
dimension is a group of its own whose footprint is one word. Footprints, spatial instances and
idleness are products over groups, so every sum over steps is a product of sums over one group's
own loops. A step is told apart by the outermost loop that advanced, j; inside j every loop is back
at its first chunk. For each group and each depth q (its first q temporal loops run, the deeper ones
are at their first chunk) the kernels compute

    all[q]   words of the tiles, summed over the steps at that depth
    only[q]  the words among them that only *unchanged* instances hold (first inner tile = last one)
    adv[q]   the same when the group's own loop q has just advanced
    slide[q] the words that its loop q, when it slides the window, brings in

With U loops the words of the instances are united, with S loops summed, and F loops stay at their
first chunk. `model/counts.py` says which memories ask for which.
"""

from __future__ import annotations

import numpy as np
from numba import njit

S, U, F = 0, 1, 2
MAX_LOOPS = 64
MAX_CLASSES = 256


@njit(cache=True)
def single_group(n, loop_dim, tile, temporal, mode, dim, bound, relevant, all_, only):
    """Fill `all_` and `only` for a group of one dimension, by classes of equal instances.

    A class is (extent, other): its chunk, and the largest chunk that the same instance would have
    in another iteration of a deeper loop; an instance is unchanged when that is empty.
    """
    ext = np.empty(MAX_CLASSES, np.int64)
    other = np.empty(MAX_CLASSES, np.int64)
    mult = np.empty(MAX_CLASSES, np.int64)
    ext2 = np.empty(MAX_CLASSES, np.int64)
    other2 = np.empty(MAX_CLASSES, np.int64)
    mult2 = np.empty(MAX_CLASSES, np.int64)
    depth = 0
    for l in range(n):
        if loop_dim[l] == dim and temporal[l]:
            depth += 1
    for q in range(depth + 1):
        ext[0] = bound
        other[0] = 0
        mult[0] = 1
        classes = 1
        seen = 0
        for l in range(n):
            if loop_dim[l] != dim:
                continue
            t = tile[l]
            if temporal[l]:
                seen += 1
                first_only = seen > q
            else:
                first_only = mode[l] == F or (mode[l] == U and not relevant)
            m = 0
            for c in range(classes):
                e = ext[c]
                o = other[c]
                if first_only:
                    o = min(t, o)
                    if temporal[l] and e > t:
                        o = max(o, min(t, e - t))
                    m = _add(ext2, other2, mult2, m, min(e, t), o, mult[c])
                    continue
                # elements with both chunks full, the one where `other` ends, those without `other`
                full = e // t
                both = o // t
                if both > 0:
                    m = _add(ext2, other2, mult2, m, t, t, mult[c] * both)
                next_ = both
                if o > both * t:
                    m = _add(ext2, other2, mult2, m, min(t, e - both * t), o - both * t, mult[c])
                    next_ += 1
                if full > next_:
                    m = _add(ext2, other2, mult2, m, t, 0, mult[c] * (full - next_))
                if e > full * t and full >= next_:
                    m = _add(ext2, other2, mult2, m, e - full * t, 0, mult[c])
            for c in range(m):
                ext[c] = ext2[c]
                other[c] = other2[c]
                mult[c] = mult2[c]
            classes = m
        total = 0
        unchanged = 0
        for c in range(classes):
            words = mult[c] * ext[c] if relevant else mult[c]
            total += words
            if other[c] == 0 or not relevant:
                unchanged += words
        all_[q] = total
        only[q] = unchanged
    return depth


@njit(cache=True)
def _add(ext, other, mult, m, e, o, k):
    for c in range(m):
        if ext[c] == e and other[c] == o:
            mult[c] += k
            return m
    ext[m] = e
    other[m] = o
    mult[m] = k
    return m + 1


@njit(cache=True)
def _works(loops, i, m, loop_dim, tile, temporal, index, extent):
    """Whether an instance has work in a chunk of loop i, deeper loops at their first chunk."""
    d = loop_dim[loops[i]]
    for j in range(i + 1, m):
        l = loops[j]
        if loop_dim[l] == d:
            if not temporal[l]:
                extent -= index[j] * tile[l]
                if extent <= 0:
                    return False
            extent = min(extent, tile[l])
    return True


@njit(cache=True)
def _box(loops, m, loop_dim, tile, index, q, lo, ext, temporal):
    """Walk one instance's loops down to its box.

    Returns -1 when it is idle, else the innermost of the temporal loops below q (counted from 1)
    in which it has another chunk, 0 when there is none.
    """
    several = 0
    ordinal = 0
    for i in range(m):
        l = loops[i]
        d = loop_dim[l]
        if temporal[l]:
            ordinal += 1
            if ordinal > q and ext[d] > tile[l]:
                second = min(tile[l], ext[d] - tile[l])
                if _works(loops, i, m, loop_dim, tile, temporal, index, second):
                    several = ordinal
        offset = index[i] * tile[l]
        if offset >= ext[d]:
            return -1
        lo[d] += offset
        ext[d] = min(tile[l], ext[d] - offset)
    return several


@njit(cache=True)
def _last_chunk(loops, i, m, loop_dim, tile, temporal, index, extent):
    """Return the last chunk of loop i in which an instance has work."""
    t = tile[loops[i]]
    last = (extent + t - 1) // t - 1
    if last > 0 and not _works(loops, i, m, loop_dim, tile, temporal, index, extent - last * t):
        return last - 1
    return last


@njit(cache=True)
def _first(dims, k, coef, lo):
    word = 0
    for i in range(k):
        word += coef[dims[i]] * lo[dims[i]]
    return word


@njit(cache=True)
def window_group(n, loop_dim, tile, temporal, mode, dims, k, coef, bounds, run, all_, only, adv, slide):
    """Fill the four sums for a group of several dimensions, by walking its own loops.

    The boxes of all steps and instances partition the group's iterations, so the work is
    proportional to the product of the bounds of its few dimensions.
    """
    loops = np.empty(MAX_LOOPS, np.int64)
    m = 0
    depth = 0
    span = 1
    for l in range(n):
        for i in range(k):
            if loop_dim[l] == dims[i]:
                loops[m] = l
                m += 1
                if temporal[l]:
                    depth += 1
                break
    for i in range(k):
        span += coef[dims[i]] * (bounds[dims[i]] - 1)
    index = np.zeros(MAX_LOOPS, np.int64)
    count = np.empty(MAX_LOOPS, np.int64)
    old_index = np.empty(MAX_LOOPS, np.int64)
    lo = np.empty(len(bounds), np.int64)
    ext = np.empty(len(bounds), np.int64)
    old_lo = np.empty(len(bounds), np.int64)
    old_ext = np.empty(len(bounds), np.int64)
    for d in range(len(bounds)):
        ext[d] = bounds[d]
    order = np.empty(MAX_LOOPS, np.int64)  # odometer digits: temporal, then S, then U (fastest)
    digits = 0
    for kind in range(3):
        for i in range(m):
            l = loops[i]
            fits = temporal[l] if kind == 0 else (not temporal[l] and mode[l] == (S if kind == 1 else U))
            if fits:
                order[digits] = i
                digits += 1
    united = 0
    for i in range(m):
        l = loops[i]
        count[i] = (ext[loop_dim[l]] + tile[l] - 1) // tile[l]
        ext[loop_dim[l]] = tile[l]
        if not temporal[l]:
            if mode[l] == F:
                count[i] = 1
            elif mode[l] == U:
                united += 1
    held = np.zeros(span, np.int64)  # stamp of the set in which the word was last seen
    latest = np.zeros(span, np.int64)  # largest `several` among the instances that hold it
    changed = np.zeros(span, np.bool_)  # some instance that holds it has a new tile
    moved = np.zeros(span, np.int64)
    before = np.zeros(span, np.int64)
    touched = np.empty(span, np.int64)
    stamp = 0
    mark = 0
    for q in range(depth + 1):
        all_[q] = 0
        only[q] = 0
        adv[q] = 0
        slide[q] = 0
    while True:
        # q: the group's loop that has just advanced (0: the very first step)
        q = 0
        ordinal = 0
        loop_q = -1
        for i in range(m):
            if temporal[loops[i]]:
                ordinal += 1
                if index[i] > 0:
                    q = ordinal
                    loop_q = i
        sliding = loop_q >= 0 and run[loops[loop_q]]
        # one set of united instances
        stamp += 1
        seen = 0
        slid = 0
        while True:
            for d in range(len(bounds)):
                lo[d] = 0
                ext[d] = bounds[d]
            several = _box(loops, m, loop_dim, tile, index, q, lo, ext, temporal)
            if several >= 0:
                fresh = True
                if q > 0:
                    # the instance's own previous step: loop q one back, deeper loops at their last chunk
                    for d in range(len(bounds)):
                        old_lo[d] = 0
                        old_ext[d] = bounds[d]
                    for i in range(m):
                        l = loops[i]
                        old_index[i] = index[i]
                        if i == loop_q:
                            old_index[i] = index[i] - 1
                        elif i > loop_q and temporal[l]:
                            old_index[i] = _last_chunk(
                                loops, i, m, loop_dim, tile, temporal, index, old_ext[loop_dim[l]]
                            )
                        offset = old_index[i] * tile[l]
                        old_lo[loop_dim[l]] += offset
                        old_ext[loop_dim[l]] = min(tile[l], old_ext[loop_dim[l]] - offset)
                    if sliding or _first(dims, k, coef, lo) == _first(dims, k, coef, old_lo):
                        mark += 1
                        old_words = _paint(dims, k, coef, old_lo, old_ext, before, mark)
                        if not sliding:
                            fresh = not _covered(dims, k, coef, lo, ext, before, mark, old_words, moved)
                base = _first(dims, k, coef, lo)
                outer = 1
                for i in range(k - 1):
                    outer *= ext[dims[i]]
                last = dims[k - 1]
                for p in range(outer):
                    word = base
                    r = p
                    for i in range(k - 1):
                        word += coef[dims[i]] * (r % ext[dims[i]])
                        r //= ext[dims[i]]
                    for _ in range(ext[last]):
                        if held[word] != stamp:
                            held[word] = stamp
                            latest[word] = several
                            changed[word] = fresh
                            touched[seen] = word
                            moved[word] = 0
                            seen += 1
                        else:
                            latest[word] = max(latest[word], several)
                            changed[word] = changed[word] or fresh
                        if sliding and moved[word] != stamp and before[word] != mark:
                            moved[word] = stamp
                            slid += 1
                        word += coef[last]
            # next united instance, or next summed one, or next step
            carry = digits - 1
            while carry >= 0:
                i = order[carry]
                index[i] += 1
                if index[i] < count[i]:
                    break
                index[i] = 0
                carry -= 1
            if carry >= digits - united and carry >= 0:
                continue
            break
        all_[q] += seen
        slide[q] += slid
        for w in range(seen):
            word = touched[w]
            only[max(q, latest[word])] += 1
            if q > 0 and not changed[word]:
                adv[q] += 1
        if carry < 0:
            break
    for q in range(depth):
        all_[q + 1] += all_[q]
        only[q + 1] += only[q]
    return depth


@njit(cache=True)
def _paint(dims, k, coef, lo, ext, stamps, stamp):
    """Stamp the words of a box; return how many there are."""
    base = _first(dims, k, coef, lo)
    outer = 1
    for i in range(k - 1):
        outer *= ext[dims[i]]
    last = dims[k - 1]
    words = 0
    for p in range(outer):
        word = base
        r = p
        for i in range(k - 1):
            word += coef[dims[i]] * (r % ext[dims[i]])
            r //= ext[dims[i]]
        for _ in range(ext[last]):
            if stamps[word] != stamp:
                stamps[word] = stamp
                words += 1
            word += coef[last]
    return words


@njit(cache=True)
def _covered(dims, k, coef, lo, ext, stamps, stamp, words, scratch):
    """Whether the words of a box are exactly the `words` words that carry the stamp."""
    base = _first(dims, k, coef, lo)
    outer = 1
    for i in range(k - 1):
        outer *= ext[dims[i]]
    last = dims[k - 1]
    found = 0
    for p in range(outer):
        word = base
        r = p
        for i in range(k - 1):
            word += coef[dims[i]] * (r % ext[dims[i]])
            r //= ext[dims[i]]
        for _ in range(ext[last]):
            if stamps[word] < stamp:
                return False
            if stamps[word] == stamp and scratch[word] != -stamp:
                scratch[word] = -stamp
                found += 1
            word += coef[last]
    return found == words


@njit(cache=True)
def sliding_run(n, loop_dim, tile, temporal, relevant, bounds, run):
    """Mark the loops of the sliding run of a tensor whose tile lies below the first n loops."""
    ext = bounds.copy()
    several = np.zeros(MAX_LOOPS, np.bool_)
    for l in range(n):
        run[l] = False
        several[l] = ext[loop_dim[l]] > tile[l]
        ext[loop_dim[l]] = tile[l]
    dim = -1
    for l in range(n - 1, -1, -1):
        if not temporal[l]:
            continue
        if relevant[loop_dim[l]] and several[l]:
            if dim < 0:
                dim = loop_dim[l]
            elif loop_dim[l] != dim:
                break
        if loop_dim[l] == dim:
            run[l] = True


@njit(cache=True)
def moved_words(n, loop_dim, tile, temporal, mode, bounds, groups, sizes, relevant, coef, each_step):
    """Return the words that move into one tensor's tiles below the first n loops.

    Parameters
    ----------
    n : int
        Number of loops above the tiles; all of them for the compute unit.
    loop_dim, tile, temporal : arrays of n
        Dimension, chunk size and kind of each loop, outermost first.
    mode : array of n
        For spatial loops: S to sum over the instances, U to unite them, F for the first alone.
    bounds : array of dimensions
        Iterations of each dimension.
    groups, sizes : array of (groups, dimensions), array of groups
        Dimensions that share an index expression; an irrelevant one is alone.
    relevant, coef : arrays of dimensions
        Whether a dimension is relevant to the tensor, and its coefficient.
    each_step : bool
        True for the compute unit, which takes its operand anew in every step.
    """
    g_count = len(sizes)
    all_ = np.zeros((g_count, MAX_LOOPS), np.int64)
    only = np.zeros((g_count, MAX_LOOPS), np.int64)
    adv = np.zeros((g_count, MAX_LOOPS), np.int64)
    slide = np.zeros((g_count, MAX_LOOPS), np.int64)
    run = np.zeros(MAX_LOOPS, np.bool_)
    group_of = np.empty(len(bounds), np.int64)
    if not each_step:
        sliding_run(n, loop_dim, tile, temporal, relevant, bounds, run)
    total = 1
    for g in range(g_count):
        for i in range(sizes[g]):
            group_of[groups[g, i]] = g
        if sizes[g] == 1:
            dim = groups[g, 0]
            depth = single_group(
                n, loop_dim, tile, temporal, mode, dim, bounds[dim], relevant[dim], all_[g], only[g]
            )
            if not relevant[dim]:
                for q in range(depth, 0, -1):
                    adv[g, q] = all_[g, q] - all_[g, q - 1]
            else:
                for q in range(1, depth + 1):  # disjoint tiles: all of a new one is missing
                    slide[g, q] = all_[g, q] - all_[g, q - 1]
        else:
            depth = window_group(
                n, loop_dim, tile, temporal, mode, groups[g], sizes[g], coef, bounds, run,
                all_[g], only[g], adv[g], slide[g],
            )
        total *= all_[g, depth] if each_step else all_[g, 0]
    if each_step:
        return total
    depth_of = np.zeros(g_count, np.int64)
    for l in range(n):
        if not temporal[l]:
            continue
        own = group_of[loop_dim[l]]
        depth_of[own] += 1
        q = depth_of[own]
        moved = slide[own, q] if run[l] else all_[own, q] - all_[own, q - 1]
        kept = 0 if run[l] else adv[own, q]
        for g in range(g_count):
            if g != own:
                moved *= all_[g, depth_of[g]]
                kept *= only[g, depth_of[g]]
        total += moved - kept
    return total

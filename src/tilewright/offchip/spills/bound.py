"""Lower bound on the spills of a tensor from the outer loops of a nest alone.

Cut time at every advance of a loop. What is resident at a cut is at most the memory, and whatever
is used between two cuts is either carried over a cut or loaded:

    loads >= words used, interval by interval - memory x cuts

The intervals between cuts are the iterations of the loop (the last one of a sweep and the first
one of the next are one interval, which counts the words of both once). So the bound needs the
loops down to that loop, whatever stands inside. Each loop that repeats or slides a tensor gives a
bound, the largest counts; all of them are convex and decreasing in the memory, so that banks are
divided among tensors by the largest gain first (CNNFlow, Algorithm 2).
"""

from __future__ import annotations

from math import inf

import numpy as np

from tilewright.kernels.copies import copy
from tilewright.kernels.kernel import kernel, part
from tilewright.offchip.nest import Array, NestArrays
from tilewright.offchip.spills.moves import (
    ADVANCES,
    ALL,
    HEAD,
    HEAD_ADVANCES,
    LAST,
    LAST_ADVANCES,
    RETURNS,
    RETURNS_SOONER,
    SHORT,
    STAYS,
    WHOLE,
    Floats,
    common_words,
    disjoint,
    gapless,
)

INSIDE = 64  # place of a loop that has none yet


@part
def raise_bound(
    t: int, level: int, order: Array, blocks: Array, nest: NestArrays, bank: int, curve: Floats
) -> None:
    """Raise the bound on the spills of a tensor to what cuts at the loop at `level` give.

    ``curve[i]`` is in DRAM words, for i banks. Sweeps over the short last chunk of an outer loop
    are cut only if that is worth it. The intervals that this joins must not use a word twice: so
    whole chunks are cut, between that loop and this one there are only loops that lead to other
    words, and there are at least three chunks unless no loop outside of them repeats anything.
    """
    rows = np.zeros((2, 2, 4), np.int64)
    does, which = np.zeros(len(nest.bounds), np.int64), np.zeros(len(nest.bounds), np.int64)
    uneven = np.zeros(level, np.int64)
    crossings, common = np.zeros(level), np.zeros(level)
    joints, splits = 0, 0
    # repeating loops without another loop in between are one
    top = level
    while top > 0 and not nest.relevant[t, order[level]] and not nest.relevant[t, order[top - 1]]:
        top -= 1
    outermost = top
    while outermost > 0:
        d = order[outermost - 1]
        if not nest.relevant[t, d] or nest.sliding[t, d]:
            break
        outermost -= 1
    for q in range(level + 1):
        does[order[q]] = RETURNS
    sweeps, rounds = 1.0, 1.0
    for at in range(top):
        d = order[at]
        chunks = -(-nest.bounds[d] // blocks[d])
        does[d] = ADVANCES
        if not disjoint(t, at, top, order, nest):
            shared = common_words(t, does, which, blocks, nest, rows)
            if shared > 0:
                crossings[joints], common[joints] = sweeps * (chunks - 1), shared
                joints += 1
        does[d] = STAYS
        sweeps *= chunks
        if at >= outermost and nest.bounds[d] % blocks[d] and (chunks > 2 or outermost == 0):
            uneven[splits] = d
            splits += 1
    for q in range(top, level + 1):
        rounds *= -(-nest.bounds[order[q]] // blocks[order[q]])
    kinds = 1 << splits
    used, at_least, cuts = np.zeros(kinds), np.zeros(kinds), np.zeros(kinds)
    for kind in range(kinds):
        cuts[kind] = sweeps * (rounds - 1)
        for s in range(splits):
            d = uneven[s]
            chunks = -(-nest.bounds[d] // blocks[d])
            which[d] = WHOLE if kind >> s & 1 else SHORT
            cuts[kind] *= (chunks - 1 if kind >> s & 1 else 1) / chunks
        for q in range(top, level + 1):
            does[order[q]] = STAYS
        used[kind] = common_words(t, does, which, blocks, nest, rows)
        for q in range(top, level + 1):
            does[order[q]] = ALL
        at_least[kind] = common_words(t, does, which, blocks, nest, rows)
    last = kinds - 1
    for banks in range(1, len(curve)):
        memory = banks * bank
        loads = used[last] - cuts[last] * memory
        cut_whole = loads > at_least[last]
        for kind in range(last):
            cut = used[kind] - cuts[kind] * memory
            loads += max(at_least[kind], cut) if cut_whole else cut
        for j in range(joints):
            loads -= min(crossings[j] * memory, common[j])
        curve[banks] = max(curve[banks], nest.weights[t] * (loads - nest.words[t]))


@part
def raise_with_inner(
    t: int, level: int, inner: int, order: Array, blocks: Array, nest: NestArrays, bank: int,
    curve: Floats,
) -> None:  # fmt: skip
    """Raise the bound by cuts at a sliding loop that leave room for the reuse of an inner loop.

    Each iteration of the loop at `level` but the last is cut just before the last iteration of the
    loop at place `inner`. The interval up to the next cut then uses twice what that last
    iteration shares with the one before: it has to be in memory at the cut, besides what is
    carried over to the next iteration of the outer loop (the set D^sf - D^r of CNNFlow). Loops
    in between have to lead to other words.
    """
    rows = np.zeros((2, 2, 4), np.int64)
    does, which = np.zeros(len(nest.bounds), np.int64), np.zeros(len(nest.bounds), np.int64)
    d, s = order[level], order[inner]
    if not gapless(t, inner, order, blocks, nest):
        return
    for q in range(level + 1, inner):
        if not nest.relevant[t, order[q]] or nest.sliding[t, order[q]]:
            return
    for e in range(nest.axes[t]):
        one, other = nest.expressions[t, e, 0], nest.expressions[t, e, 2]
        if (one == d and other == s) or (one == s and other == d):
            return
    rounds = -(-nest.bounds[d] // blocks[d])
    sweeps = 1.0
    for at in range(level):
        sweeps *= -(-nest.bounds[order[at]] // blocks[order[at]])
    # a sweep must have nothing in common with the last two iterations of the one before
    for q in range(1, level):
        does[order[q]] = RETURNS
    for at in range(level):
        does[order[at]] = ADVANCES
        if not disjoint(t, at, level, order, nest):
            does[d] = RETURNS
            if rounds < 3 or common_words(t, does, which, blocks, nest, rows):
                return
            does[d] = RETURNS_SOONER
            if common_words(t, does, which, blocks, nest, rows):
                return
        does[order[at]] = STAYS
    does[d] = STAYS
    used = common_words(t, does, which, blocks, nest, rows)
    for q in range(level + 1, inner):
        does[order[q]] = LAST
    does[d] = HEAD
    does[s] = LAST_ADVANCES if nest.relevant[t, s] else LAST
    live = common_words(t, does, which, blocks, nest, rows)
    does[d] = HEAD_ADVANCES
    carried = common_words(t, does, which, blocks, nest, rows)
    does[s] = LAST
    does[d] = LAST_ADVANCES
    carried += common_words(t, does, which, blocks, nest, rows)
    if live <= carried:
        return
    for banks in range(1, len(curve)):
        loads = used + live - carried - sweeps * (rounds - 1) * (banks * bank)
        curve[banks] = max(curve[banks], nest.weights[t] * (loads - nest.words[t]))


@kernel
def divide(curves: Floats, least: Array, shares: Array) -> float:
    """Divide banks among tensors and return the least sum of their convex curves.

    `shares` receives the banks of each tensor, at least `least`; infinite when they do not suffice.
    """
    copy(least, shares)
    left = curves.shape[1] - 1
    for t in range(len(least)):
        left -= least[t]
    if left < 0:
        return inf
    while left > 0:
        best, gain = -1, 0.0
        for t in range(len(least)):
            if shares[t] + 1 < curves.shape[1]:
                less = curves[t, shares[t]] - curves[t, shares[t] + 1]
                if less > gain:
                    best, gain = t, less
        if best < 0:
            break
        shares[best] += 1
        left -= 1
    total = 0.0
    for t in range(len(least)):
        total += curves[t, shares[t]]
    return total

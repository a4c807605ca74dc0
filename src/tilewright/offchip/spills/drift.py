"""The bound of a repeating loop whose cuts drift along an inner loop."""

from __future__ import annotations

import numpy as np

from tilewright.kernels.kernel import part
from tilewright.offchip.nest import Array, NestArrays
from tilewright.offchip.spills.moves import (
    ADVANCES,
    ALL,
    HEAD,
    LAST,
    LAST_ADVANCES,
    RETURNS,
    STAYS,
    Floats,
    common_words,
    gapless,
)


@part
def shift_and_overlap(t: int, d: int, blocks: Array, nest: NestArrays) -> tuple[int, int]:
    """Return how far a chunk of a sliding loop shifts the index, and how much is left in common.

    The other dimension of the index is whole.
    """
    for e in range(nest.axes[t]):
        a, b = nest.expressions[t, e, 1], nest.expressions[t, e, 3]
        if nest.expressions[t, e, 0] == d:
            shift = a * blocks[d]
            return shift, b * (nest.bounds[nest.expressions[t, e, 2]] - 1) + 1 - a
        if nest.expressions[t, e, 2] == d:
            shift = b * blocks[d]
            return shift, a * (nest.bounds[nest.expressions[t, e, 0]] - 1) + 1 - b
    return 1, 0


@part
def kept_of_newest(
    t: int, inner: int, deeper: int, rounds: int, order: Array, blocks: Array,
    does: Array, which: Array, nest: NestArrays, rows: Array,
) -> float:  # fmt: skip
    """Return what a second sliding loop keeps of the words that the first one has just reached.

    Zero unless the first one overlaps by whole chunks, so that the cuts can drift along both.
    """
    s, other = order[inner], order[deeper]
    for e in range(nest.axes[t]):
        one, two = nest.expressions[t, e, 0], nest.expressions[t, e, 2]
        if (one == s and two == other) or (one == other and two == s):
            return 0.0
    shift, overlap = shift_and_overlap(t, s, blocks, nest)
    shift_2, overlap_2 = shift_and_overlap(t, other, blocks, nest)
    if overlap < 1 or overlap_2 < 1 or overlap % shift:
        return 0.0
    if (rounds - 1) * (-(-overlap_2 // shift_2)) > -(-nest.bounds[other] // blocks[other]) - 2:
        return 0.0
    for e in range(nest.axes[t]):
        for each in (nest.expressions[t, e, 0], nest.expressions[t, e, 2]):
            # the other dimensions of both indices are whole
            if each >= 0 and each not in (s, other) and nest.sliding[t, each]:
                for q in range(deeper):
                    if order[q] == each:
                        return 0.0
    for q in range(inner + 1, deeper):
        does[order[q]] = LAST
    does[other] = LAST_ADVANCES
    return shift * common_words(t, does, which, blocks, nest, rows) / overlap  # fmt: skip


@part
def raise_with_drift(
    t: int, level: int, inner: int, deeper: int, order: Array, blocks: Array, nest: NestArrays,
    bank: int, curve: Floats,
) -> None:  # fmt: skip
    """Raise the bound of a repeating loop by one cut more in each sweep over its rounds.

    Each round is cut once, a little earlier than the one before, so that the words before and
    after a cut are those of a whole round all the same. Then the first and the last interval of a
    sweep use more than one round together: D words more for every round, where D is what the
    loop at place `inner` has to keep (the residual spilling cycle of CNNFlow, Equation 7), and
    what a second sliding loop at place `deeper` (-1 for none) keeps of its newest words.
    """
    rows = np.zeros((2, 2, 4), np.int64)
    does, which = np.zeros(len(nest.bounds), np.int64), np.zeros(len(nest.bounds), np.int64)
    if not gapless(t, max(inner, deeper), order, blocks, nest):
        return
    for q in range(level + 1, inner):
        if not nest.relevant[t, order[q]] or nest.sliding[t, order[q]]:
            return
    for q in range(inner + 1, deeper):
        if not nest.relevant[t, order[q]] or nest.sliding[t, order[q]]:
            return
    outermost = level
    rounds = -(-nest.bounds[order[level]] // blocks[order[level]])
    while outermost > 0 and not nest.relevant[t, order[outermost - 1]]:
        outermost -= 1
        rounds *= -(-nest.bounds[order[outermost]] // blocks[order[outermost]])
    s = order[inner]
    chunks = -(-nest.bounds[s] // blocks[s])
    sweeps = 1.0
    for at in range(outermost):
        does[order[at]] = STAYS
        sweeps *= -(-nest.bounds[order[at]] // blocks[order[at]])
    for q in range(level + 1, inner):
        does[order[q]] = LAST
    if deeper >= 0 and not nest.relevant[t, s]:
        return
    if nest.relevant[t, s]:
        # so many chunks earlier every round: as many as share words with one
        drift = 1
        for e in range(nest.axes[t]):
            a, b = nest.expressions[t, e, 1], nest.expressions[t, e, 3]
            if nest.expressions[t, e, 0] == s:
                drift += b * (nest.bounds[nest.expressions[t, e, 2]] - 1) // (a * blocks[s])
            elif nest.expressions[t, e, 2] == s:
                drift += a * (nest.bounds[nest.expressions[t, e, 0]] - 1) // (b * blocks[s])
        if (rounds - 1) * drift > chunks - 2:
            return
        does[s] = LAST_ADVANCES
        more = rounds * common_words(t, does, which, blocks, nest, rows)
        if deeper >= 0:
            more += rounds * kept_of_newest(
                t, inner, deeper, rounds, order, blocks, does, which, nest, rows
            )
    else:
        if inner == level + 1:
            return
        r = order[inner - 1]
        others = -(-nest.bounds[r] // blocks[r]) - 1
        if others < rounds:
            return
        does[r] = HEAD
        more = rounds * common_words(t, does, which, blocks, nest, rows) / others  # fmt: skip
    if more <= sweeps * bank:
        return
    for q in range(len(nest.bounds)):
        does[q] = ALL
    joined = 0.0
    for q in range(outermost, level + 1):
        does[order[q]] = RETURNS
    for at in range(outermost - 1, -1, -1):
        does[order[at]] = ADVANCES
        for q in range(at):
            does[order[q]] = STAYS
        joined += common_words(t, does, which, blocks, nest, rows)
        does[order[at]] = RETURNS
    for q in range(level + 1):
        does[order[q]] = STAYS
    used = common_words(t, does, which, blocks, nest, rows)
    for banks in range(1, len(curve)):
        loads = used - joined + more - sweeps * rounds * (banks * bank)
        curve[banks] = max(curve[banks], nest.weights[t] * (loads - nest.words[t]))

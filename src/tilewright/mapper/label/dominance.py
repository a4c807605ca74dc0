"""When one label makes another superfluous.

See "Dominance" in docs/mapper.md for why nothing is lost.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tilewright.kernels.kernel import leaf
from tilewright.mapper.label.labels import (
    AROUND,
    BLOCK,
    DEAD,
    ENERGY,
    ENTRIES,
    FIRST,
    LAST,
    LOADS,
    NEXT,
    OPEN,
    SAME,
    SHAPE,
    SPREAD,
    STAGE,
    ZERO,
    bits_column,
    entries_column,
    window_column,
)
from tilewright.mapper.label.store import COUNT, Labels
from tilewright.mapper.objective.tolerances import TIE
from tilewright.mapper.problem.constraint_rules import as_free

if TYPE_CHECKING:
    from tilewright.kernels.types import Floats, Ints
    from tilewright.mapper.problem.link_costs import Links
    from tilewright.mapper.problem.space import Space


@leaf
def dominates(
    sp: Space,
    lk: Links,
    labels: Labels,
    a: int,
    b: int,
    goal: Floats,
    placed: Ints,
    seg: int,
) -> bool:
    """Whether label a makes label b superfluous (same shape and stage)."""
    ia, fa, ib, fb = labels.it[a], labels.fl[a], labels.it[b], labels.fl[b]
    nt = sp.relevant.shape[0]
    na = len(sp.unroll_start) - 1
    resources = len(lk.load_arrays)
    bits, entry = bits_column(lk), entries_column(sp, fa)
    if not as_free(ia[BLOCK], ib[BLOCK]):
        return False
    # the walk takes store nodes as far out as costs no more: of two labels of equal energy the one
    # whose nodes are further in might wait for one that the other was to place
    equal = fa[ENERGY] >= fb[ENERGY] * (1 - TIE) and ia[AROUND] < ib[AROUND]
    if (lk.ordered or equal) and ia[LAST] >= 0:
        # a store node that does not stand below such a loop may have to wait until it is too late
        # to stand above it
        for t in range(nt):
            waits = placed[t] < lk.length[t] - 1 and not sp.relevant[t, ia[LAST]]
            if waits and (ib[LAST] < 0 or sp.relevant[t, ib[LAST]]):
                return False
    for m in range(entry - bits):
        used_a, used_b = fa[bits + m], fb[bits + m]
        if used_a > used_b:
            return False
        # of two that fill a memory differently, which may yet prove too empty, neither is better
        if used_a < used_b and len(lk.filling) > 0 and lk.filling[seg, ia[STAGE], m]:
            return False
    if lk.reach:
        return True
    # when cycles cannot matter less energy is enough
    strict = (
        goal[1] == 0.0
        and goal[5] == np.inf
        and lk.leakage == 0.0
        and fa[ENERGY] < fb[ENERGY] * (1 - TIE)
    )
    if fa[ENERGY] > fb[ENERGY] * (1 + TIE):
        return False
    if not strict:
        if fa[SPREAD] < fb[SPREAD]:
            return False
        for r in range(resources):
            if fa[LOADS + r] > fb[LOADS + r] * (1 + TIE):
                return False
    if fa[ZERO] < fb[ZERO] or (resources > 0 and fa[FIRST] < fb[FIRST] * (1 - TIE)):
        return False
    for t in range(nt):
        link = placed[t]
        last = lk.length[t] - 1
        # entries from zero above an inner memory may pay later: then only equals compare
        signed = t == nt - 1 and link < last - 1
        signed = signed and lk.arrays[t, last - 2, 1] > lk.arrays[t, link, 0]
        if link < last:
            steps_a = sp.repeats[ia[OPEN + t]]
            steps_b = sp.repeats[ib[OPEN + t]]
            if steps_a > steps_b or (signed and steps_a != steps_b):
                return False
        w = sp.windows[t]
        outside = lk.arrays[t, link, 0]
        if w >= 0 and t == nt - 1 and resources > 0 and seg < na:
            outside = 0  # what the first instance touches depends on all arrays, see `first_words`
        for k in range(outside, seg):
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
                            sp.digits[ia[OPEN + nt + 2 * k], d]
                            != sp.digits[ib[OPEN + nt + 2 * k], d]
                        ):
                            return False
        if w >= 0 and link < last:
            column = window_column(nt, na, w)
            entries = ib[column + 2]
            if entries > 0:
                if ia[column] != ib[column] or ia[column + 2] != entries:
                    return False
                advances = entry + ENTRIES * w
                lowest = seg
                for q in range(entries):
                    if ia[column + 3 + 2 * q] != ib[column + 3 + 2 * q]:
                        return False
                    if q < entries - 1 and ia[column + 4 + 2 * q] != ib[column + 4 + 2 * q]:
                        return False
                    if fa[advances + q] < fb[advances + q]:
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


@leaf
def insert(sp: Space, lk: Links, labels: Labels, goal: Floats, placed: Ints, seg: int) -> None:
    """File the row after the last label unless another label makes it superfluous.

    Labels are compared with those at the same shape and stage that took the same spatial choice.
    """
    it, heads, buckets, n = labels.it, labels.heads, labels.buckets, labels.at[COUNT]
    shape, stage = it[n, SHAPE], it[n, STAGE]
    choice_column = OPEN + sp.relevant.shape[0] + 2 * seg - 1
    # what can still be reached does not depend on the spatial choices made
    by_choice = seg > 0 and not lk.reach
    choice = it[n, choice_column] if by_choice else 0
    key = ((shape * len(heads[0]) + stage) * 2654435761 + choice * 40503) % len(buckets)
    i = buckets[key]
    looked = 0
    while i >= 0 and looked < lk.compared:
        if (
            it[i, SHAPE] == shape
            and it[i, STAGE] == stage
            and it[i, DEAD] == 0
            and (not by_choice or it[i, choice_column] == choice)
        ):
            looked += 1
            # one call for both ways: its code is large
            for better, other in ((i, n), (n, i)):
                if dominates(sp, lk, labels, better, other, goal, placed, seg):
                    if other == n:
                        return
                    it[i, DEAD] = 1
        i = it[i, SAME]
    it[n, DEAD] = 0
    it[n, NEXT] = heads[shape, stage]
    heads[shape, stage] = n
    it[n, SAME] = buckets[key]
    buckets[key] = n
    labels.at[COUNT] = n + 1

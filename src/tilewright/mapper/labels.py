"""Labels: partial mappings as rows of two tables, and when one makes another superfluous.

A label is everything outside a shape of the tile lattice. `it` holds its integers and `fl` its
floats, in the columns named below.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tilewright.mapper.heed import as_free
from tilewright.model.kernel import leaf, leaf_kernel, part

if TYPE_CHECKING:
    from tilewright.mapper.lattice import Floats, Ints
    from tilewright.mapper.links import Links
    from tilewright.mapper.problem import Space

# integer columns
SHAPE, STAGE, LAST, PARENT, MOVE, NEXT, SAME, DEAD = 0, 1, 2, 3, 4, 5, 6, 7
BLOCK = 8  # what constraints have to know of the loops of a memory, see `heed`
AROUND = 9  # sum of the shapes at which store nodes stand: the larger, the further out they are
OPEN = 10  # + tensor: shape inside the innermost loop relevant to it
# then two columns an array: shape below it, spatial choice
# then per sliding tensor: expression of its region, shape outside the region, entries, and per
# entry (segment * 64 + dimension, shape inside the loop)
ENTRIES = 4
WINDOW_COLUMNS = 3 + 2 * ENTRIES
# float columns
ENERGY, ZERO, SPREAD, LEAST_ENERGY, LEAST_CYCLES = 0, 1, 2, 3, 4
FIRST = 5  # partial sums from zero of the busiest instance of the output's last memory so far
LOADS = 6  # + resource; then bits used per memory, then per sliding tensor and entry its repeats,
# last (from the end) per sliding tensor the least words that its sender reads

PLACE = 1 << 20
CROSS = 1 << 21
TIE = 1e-12
LOOK = 200  # labels that a new one is compared with: a missed dominance costs time, nothing else


@leaf_kernel
def objective_value(goal: Floats, energy: float, cycles: float) -> tuple[float, float]:
    """Return (what is minimised, what breaks ties); infinite beyond a limit.

    `goal` holds the powers of energy and cycles in both, and the limits of energy and cycles.
    """
    if energy > goal[4] * (1 + TIE) or cycles > goal[5] * (1 + TIE):
        return np.inf, np.inf
    return power(energy, goal[0]) * power(cycles, goal[1]), power(energy, goal[2]) * power(
        cycles, goal[3]
    )


@leaf
def power(x: float, exponent: float) -> float:
    """Return a power of a number that is not negative."""
    if exponent == 0.0:
        return 1.0
    if exponent == 1.0:
        return x
    return float(max(x, 0.0) ** exponent)


@leaf_kernel
def worse(first: float, second: float, best_first: float, best_second: float) -> bool:
    """Whether a value (or lower bound) cannot improve on the best one."""
    if first > best_first * (1 + TIE):
        return True
    return first >= best_first * (1 - TIE) and second >= best_second * (1 - TIE)


@leaf
def window_column(nt: int, na: int, w: int) -> int:
    """Return where the columns of the w-th sliding tensor begin."""
    return OPEN + nt + 2 * na + WINDOW_COLUMNS * w


@leaf
def enter_loop(
    sp: Space, row: Ints, floats: Floats, loads: int, move: int, inside: int, seg: int
) -> None:
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
        column = window_column(nt, na, w)
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


@leaf
def enter_array(
    sp: Space, row: Ints, floats: Floats, loads: int, array: int, choice: int, below: int
) -> None:
    """Turn a label into the one in each instance of an array; `below` is the shape there.

    From here on advances of slides are counted over all instances.
    """
    nt, nd = sp.relevant.shape
    row[SHAPE] = below
    row[LAST] = -1
    row[OPEN + nt + 2 * array] = below
    row[OPEN + nt + 2 * array + 1] = choice
    floats[SPREAD] *= sp.unroll_product[choice]
    for q in range(loads, len(floats) - sp.members.shape[0]):
        floats[q] *= sp.unroll_product[choice]
    for d in range(nd):
        factor = sp.unroll[choice, d]
        if factor > 0:
            for t in range(nt):
                digit = sp.digits[row[OPEN + t], d]
                row[OPEN + t] -= (digit - sp.quotient[d, digit, factor]) * sp.strides[d]


@part
def with_room(it: Ints, fl: Floats, n: int) -> tuple[Ints, Floats]:
    """Return the tables with room for the labels that one expansion adds."""
    if n + 128 < len(it):
        return it, fl
    it2 = np.empty((2 * len(it), it.shape[1]), np.int64)
    fl2 = np.empty((2 * len(fl), fl.shape[1]), np.float64)
    # loops: assignments of slices would compile far more
    for i in range(n):
        for k in range(it.shape[1]):
            it2[i, k] = it[i, k]
        for k in range(fl.shape[1]):
            fl2[i, k] = fl[i, k]
    return it2, fl2


@leaf
def dominates(
    sp: Space,
    lk: Links,
    ia: Ints,
    fa: Floats,
    ib: Ints,
    fb: Floats,
    resources: int,
    memories: int,
    goal: Floats,
    placed: Ints,
    seg: int,
) -> bool:
    """Whether label a makes label b superfluous (same shape and stage)."""
    nt = sp.relevant.shape[0]
    na = len(sp.unroll_start) - 1
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
    for m in range(memories):
        used_a, used_b = fa[LOADS + resources + m], fb[LOADS + resources + m]
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


@leaf
def insert(
    sp: Space,
    lk: Links,
    it: Ints,
    fl: Floats,
    n: int,
    heads: Ints,
    buckets: Ints,
    resources: int,
    memories: int,
    goal: Floats,
    placed: Ints,
    seg: int,
) -> int:
    """File row n unless another label makes it superfluous; return the new number of labels.

    Labels are compared with those at the same shape and stage that took the same spatial choice.
    """
    shape, stage = it[n, SHAPE], it[n, STAGE]
    choice_column = OPEN + sp.relevant.shape[0] + 2 * seg - 1
    # what can still be reached does not depend on the spatial choices made
    by_choice = seg > 0 and not lk.reach
    choice = it[n, choice_column] if by_choice else 0
    key = ((shape * len(heads[0]) + stage) * 2654435761 + choice * 40503) % len(buckets)
    i = buckets[key]
    looked = 0
    while i >= 0 and looked < LOOK:
        if (
            it[i, SHAPE] == shape
            and it[i, STAGE] == stage
            and it[i, DEAD] == 0
            and (not by_choice or it[i, choice_column] == choice)
        ):
            looked += 1
            # one call for both ways: its code is large
            for better, other in ((i, n), (n, i)):
                if dominates(
                    sp, lk, it[better], fl[better], it[other], fl[other], resources, memories,
                    goal, placed, seg,
                ):  # fmt: skip
                    if other == n:
                        return n
                    it[i, DEAD] = 1
        i = it[i, SAME]
    it[n, DEAD] = 0
    it[n, NEXT] = heads[shape, stage]
    heads[shape, stage] = n
    it[n, SAME] = buckets[key]
    buckets[key] = n
    return n + 1

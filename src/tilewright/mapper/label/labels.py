"""Labels: partial mappings as rows of two tables, and when one makes another superfluous.

A label is everything outside a shape of the tile lattice. `it` holds its integers and `fl` its
floats, in the columns named below.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tilewright.kernels.kernel import leaf, leaf_kernel
from tilewright.mapper.objective.tolerances import TIE

if TYPE_CHECKING:
    from tilewright.kernels.types import Floats, Ints
    from tilewright.mapper.problem.link_costs import Links
    from tilewright.mapper.problem.space import Space

# integer columns
SHAPE, STAGE, LAST, PARENT, MOVE, NEXT, SAME, DEAD = 0, 1, 2, 3, 4, 5, 6, 7
BLOCK = 8  # what constraints have to know of the loops of a memory, see `constraint_rules`
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
# last (from the end) per sliding tensor the least words that its sender reads: see `bits_column`

PLACE = 1 << 20
CROSS = 1 << 21


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
def bits_column(lk: Links) -> int:
    """Return where a label counts the bits of memories; the loads of ports stand before them."""
    return LOADS + len(lk.load_arrays)


@leaf
def entries_column(sp: Space, floats: Floats) -> int:
    """Return where a label counts the advances of slides, up to which it counts bits."""
    return len(floats) - (ENTRIES + 1) * len(sp.members)


@leaf
def copy_label(it: Ints, fl: Floats, source: int, target: int) -> None:
    """Copy a row of both tables; array assignments would compile far more."""
    for k in range(it.shape[1]):
        it[target, k] = it[source, k]
    for k in range(fl.shape[1]):
        fl[target, k] = fl[source, k]


@leaf
def window_column(nt: int, na: int, w: int) -> int:
    """Return where the columns of the w-th sliding tensor begin."""
    return OPEN + nt + 2 * na + WINDOW_COLUMNS * w


@leaf
def enter_loop(sp: Space, row: Ints, floats: Floats, move: int, inside: int, seg: int) -> None:
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
        at = entries_column(sp, floats) + ENTRIES * w
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
def enter_array(sp: Space, row: Ints, floats: Floats, array: int, choice: int, below: int) -> None:
    """Turn a label into the one in each instance of an array; `below` is the shape there.

    From here on advances of slides are counted over all instances.
    """
    nt, nd = sp.relevant.shape
    row[SHAPE] = below
    row[LAST] = -1
    row[OPEN + nt + 2 * array] = below
    row[OPEN + nt + 2 * array + 1] = choice
    floats[SPREAD] *= sp.unroll_product[choice]
    for q in range(entries_column(sp, floats), len(floats) - len(sp.members)):
        floats[q] *= sp.unroll_product[choice]
    for d in range(nd):
        factor = sp.unroll[choice, d]
        if factor > 0:
            for t in range(nt):
                digit = sp.digits[row[OPEN + t], d]
                row[OPEN + t] -= (digit - sp.quotient[d, digit, factor]) * sp.strides[d]

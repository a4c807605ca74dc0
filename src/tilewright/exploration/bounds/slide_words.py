"""The words that a window brings in at least, whatever loops stand above it.

A store node above all arrays holds a tile; a step of a loop brings in the words that the last tile
did not have. Of a loop on dimension d, with all loops inside it at their ends, the tile has moved by

    coefficient * (tile's extent) - the sum of what loops inside have moved along other dimensions

in the index expression of d, and by what loops inside have moved in every other one: whatever the
order of the loops inside. So the least over all orders is found dimension by dimension: from the
shape that loops have reached, either one more loop stands outside of them, or nothing more is
saved, as from the first loop on a dimension that stands in no window.

Loops irrelevant to the tensor move the tile back by what loops inside have moved. Those right
outside of the tile belong to its shape. The others stand in one place, since to move a part of them
elsewhere changes the words in proportion to that part.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tilewright.kernels.kernel import kernel, leaf, part

if TYPE_CHECKING:
    from tilewright.kernels.types import Floats, Ints
    from tilewright.mapper.problem.space import Space


def least_slid_words(sp: Space, t: int, least: Floats) -> bool:
    """Lower-bound the words of a sliding tensor for every shape; whether that was possible.

    It is not where an expression has more than two terms.
    """
    w = sp.windows[t]
    pairs = [
        (e, sp.members[w, e, :2])
        for e in range(sp.members.shape[1])
        if sp.members[w, e, 0] >= 0
    ]
    if (sp.members[w, :, 2:] >= 0).any():
        return False
    dims = np.array([d for _, own in pairs for d in own], np.int64)
    coefs = np.array([c for e, _ in pairs for c in sp.coefs[w, e, :2]], np.int64)
    slide_words(sp, t, dims, coefs, least)
    return True


@kernel
def slide_words(sp: Space, t: int, dims: Ints, coefs: Ints, least: Floats) -> None:
    """Fill the least words for every shape; `dims` are those of expressions, two by two."""
    n = len(dims)
    strides = np.ones(n, np.int64)
    for k in range(n - 2, -1, -1):
        strides[k] = strides[k + 1] * sp.sizes[dims[k + 1]]
    states = strides[0] * sp.sizes[dims[0]]
    tile, reached = np.zeros(n, np.int64), np.zeros(n, np.int64)
    held = np.zeros(n // 2)
    inside = np.zeros(states, np.bool_)
    left = np.ones(states)  # iterations outside of what loops have reached
    new = np.zeros((states, n + 1))  # share of the tile that a loop brings in; irrelevant ones last
    after = np.zeros((states, 2))  # tiles' worth of words, without and with irrelevant loops
    last = -1
    for shape in sorted_by_tile(sp, dims, strides, len(least)):
        start = 0
        for k in range(n):
            tile[k] = sp.digits[shape, dims[k]]
            start += tile[k] * strides[k]
        if start != last:
            last = start
            for e in range(n // 2):
                held[e] = overlap(sp, dims, coefs, tile, e, 0)
            for state in range(start, states):
                inside[state], left[state] = True, 1.0
                for k in range(n):
                    d = dims[k]
                    reached[k] = state // strides[k] % sp.sizes[d]
                    inside[state] = inside[state] and sp.quotient[d, reached[k], tile[k]] >= 0
                    left[state] *= sp.values[d, sp.sizes[d] - 1] / sp.values[d, reached[k]]
                if inside[state]:
                    for k in range(n + 1):
                        new[state, k] = new_share(sp, dims, coefs, tile, reached, held, k)
        around = 1.0  # irrelevant iterations
        for d in range(sp.relevant.shape[1]):
            if not sp.relevant[t, d]:
                around *= sp.values[d, sp.sizes[d] - 1] / sp.values[d, sp.digits[shape, d]]
        for state in range(states - 1, start - 1, -1):
            if inside[state]:
                fill_after(sp, dims, strides, left, new, state, start, around, after)
        words = sp.words[t, shape] * sp.repeats[shape]
        least[shape] = words * (after[start, 1] / (left[start] * around))


@part
def sorted_by_tile(sp: Space, dims: Ints, strides: Ints, shapes: int) -> Ints:
    """Return all shapes, those one after the other that are alike in some dimensions."""
    place = np.zeros(shapes, np.int64)
    for k in range(len(dims)):
        place += sp.digits[:shapes, dims[k]] * strides[k]
    return np.argsort(place)


@leaf
def new_share(
    sp: Space, dims: Ints, coefs: Ints, tile: Ints, reached: Ints, held: Floats, k: int
) -> float:
    """Return the share of a tile that a step of a loop brings in, outside of a reached shape."""
    kept = 1.0
    for e in range(len(held)):
        moved = 0
        for j in range(2 * e, 2 * e + 2):
            inner, own = sp.values[dims[j], reached[j]], sp.values[dims[j], tile[j]]
            moved -= coefs[j] * (inner - own)
            if j == k:
                moved += coefs[j] * inner
        kept *= overlap(sp, dims, coefs, tile, e, moved) / held[e]
    return 1.0 - kept


@leaf
def fill_after(
    sp: Space,
    dims: Ints,
    strides: Ints,
    left: Floats,
    new: Floats,
    state: int,
    start: int,
    around: float,
    after: Floats,
) -> None:
    """Fill the tiles' worth of words that loops outside a reached shape bring in at least."""
    n = len(dims)
    without, along = left[state], left[state] * around
    for k in range(n):
        d = dims[k]
        digit = state // strides[k] % sp.sizes[d]
        for next_digit in range(digit + 1, sp.sizes[d]):
            factor = sp.quotient[d, next_digit, digit]
            if factor >= 0:
                steps = left[state] * (1.0 - 1.0 / sp.values[d, factor]) * new[state, k]
                to = state + (next_digit - digit) * strides[k]
                without = min(without, steps + after[to, 0])
                along = min(along, steps * around + after[to, 1])
    if state > start:
        along = min(along, left[state] * (around - 1.0) * new[state, n] + without)
    after[state, 0] = without
    after[state, 1] = along


@leaf
def overlap(sp: Space, dims: Ints, coefs: Ints, tile: Ints, e: int, moved: int) -> float:
    """Return how many values of an expression a tile shares with itself moved along."""
    a, b = coefs[2 * e], coefs[2 * e + 1]
    m, n = sp.values[dims[2 * e], tile[2 * e]], sp.values[dims[2 * e + 1], tile[2 * e + 1]]
    moved = abs(moved)
    if moved > a * (m - 1) + b * (n - 1):
        return 0.0
    shared = 0
    for value in range(moved, a * (m - 1) + b * (n - 1) + 1):
        shared += has_value(a, b, m, n, value) and has_value(a, b, m, n, value - moved)
    return float(shared)


@leaf
def has_value(a: int, b: int, m: int, n: int, value: int) -> bool:
    """Whether a*i + b*j is a value for some i below m and j below n."""
    for j in range(n):
        rest = value - b * j
        if rest >= 0 and rest % a == 0 and rest // a < m:
            return True
    return False

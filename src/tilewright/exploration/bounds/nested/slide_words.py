"""The words that a window brings in at least, whatever loops stand above it.

A store node above all arrays holds a tile. Along one sliding run of loops, on one dimension, a step
brings in the words that the last tile did not have. Any other step moves the whole tile, unless it
ends where the tile was before. With all loops inside at their ends, a step of a loop on dimension d
moves the tile by

    coefficient * (tile's extent) - the sum of what loops inside have moved along other dimensions

in the index expression of d, and by what loops inside have moved in every other one: whatever the
order of the loops inside. So the least over all orders is found dimension by dimension: from the
shape that loops have reached, either one more loop stands outside of them, or nothing more is
saved, as from the first loop on a dimension that stands in no window.

Loops irrelevant to the tensor move the tile back by what loops inside have moved. Those right
outside of the tile belong to its shape. The others stand in one place, since to move a part of them
elsewhere changes the words in proportion to that part.

A loop on a relevant dimension that stands in no window ends the run: outside of it nothing is saved
in any order. Where one is known to stand inside a store node further out, the loops of windows that
may save something are those up to that node. To move such a loop, or one that is irrelevant,
outward never brings in more words: each of its steps moves the whole tile, and so do those of loops
that were outside of it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from tilewright.kernels.kernel import kernel, leaf
from tilewright.kernels.record import record

if TYPE_CHECKING:
    from tilewright.kernels.types import Bools, Floats, Ints
    from tilewright.mapper.problem.space import Space

MOST_STATES = 3_000_000


@record
class Slides(NamedTuple):
    """What loops around the tiles of a sliding tensor bring in.

    Attributes
    ----------
    dims, coefs : arrays
        Of the expressions with two terms, two by two.
    strides : array of the same
        Of the shapes of these dimensions alone, which are called states.
    digits : array of (states, dims)
    within : array of (states, states)
        Whether the first can be divided into the second.
    others, other_strides : arrays
        The same for the dimensions irrelevant to the tensor.
    left : array of states
        Iterations around a state.
    around : array of other states
        The same for irrelevant dimensions.
    new : array of (states, states, dims + 1)
        Of a tile, and a state around it that loops have reached: the share of the tile that a step
        of the next loop brings in, by its dimension; irrelevant ones last.
    after : array of (states, other states, states, 2)
        Of a tile, irrelevant iterations around it, and a state that loops have reached: the tiles'
        worth of words that all loops around bring in at least, without irrelevant loops and with.
    inside : array of (states, states)
        What `words_inside` has found; -1 where it was not asked for.
    least : array of states
        For use in between.
    """

    dims: Ints
    coefs: Ints
    strides: Ints
    digits: Ints
    within: Bools
    others: Ints
    other_strides: Ints
    left: Floats
    around: Floats
    new: Floats
    after: Floats
    inside: Floats
    least: Floats


def slides_of(sp: Space, t: int) -> Slides | None:
    """Return what loops around the tiles of a tensor bring in, or None where that is not known.

    That is the case for tensors that do not slide, and where an expression has three terms.
    """
    w = sp.windows[t]
    if w < 0 or (sp.members[w, :, 2:] >= 0).any():
        return None
    pairs = [e for e in range(sp.members.shape[1]) if sp.members[w, e, 0] >= 0]
    dims = sp.members[w, pairs, :2].ravel()
    others = np.flatnonzero(~sp.relevant[t])
    strides, states = _strides(sp, dims)
    other_strides, other_states = _strides(sp, others)
    if states * states * other_states > MOST_STATES:
        return None
    digits = np.arange(states)[:, None] // strides % sp.sizes[dims]
    within = np.ones((states, states), np.bool_)
    for k, d in enumerate(dims.tolist()):
        within &= sp.quotient[d][digits[:, k, None], digits[None, :, k]] >= 0
    found = Slides(
        dims=dims, digits=digits, within=within, coefs=sp.coefs[w, pairs, :2].ravel(),
        strides=strides, others=others,
        other_strides=other_strides, left=_around(sp, dims, strides, states),
        around=_around(sp, others, other_strides, other_states),
        new=np.zeros((states, states, len(dims) + 1)),
        after=np.zeros((states, other_states, states, 2)),
        inside=np.full((states, states), -1.0), least=np.zeros(states),
    )  # fmt: skip
    fill_slides(sp, found)
    return found


def no_slides() -> Slides:
    """Return slides of nothing."""
    none, zeros = np.zeros(0, np.int64), np.zeros(0)
    return Slides(
        dims=none, digits=none[None], within=np.zeros((1, 0), np.bool_), coefs=none, strides=none,
        others=none, other_strides=none, left=zeros, around=zeros, new=np.zeros((0, 0, 0)),
        after=np.zeros((0, 0, 0, 0)), inside=np.zeros((0, 0)), least=zeros,
    )  # fmt: skip


def _strides(sp: Space, dims: Ints) -> tuple[Ints, int]:
    """Return the strides of shapes of some dimensions, and how many there are."""
    sizes = [int(sp.sizes[d]) for d in dims]
    strides = [int(np.prod(sizes[k + 1 :])) for k in range(len(sizes))]
    return np.array(strides, np.int64), int(np.prod(sizes))


def _around(sp: Space, dims: Ints, strides: Ints, states: int) -> Floats:
    """Return the iterations of some dimensions around each state."""
    found = np.ones(states)
    for d, stride in zip(dims, strides, strict=True):
        digits = np.arange(states) // stride % sp.sizes[d]
        found *= sp.values[d, sp.sizes[d] - 1] / sp.values[d, digits]
    return found


@kernel
def fill_slides(sp: Space, slides: Slides) -> None:
    """Fill `Slides.new` and `Slides.after`."""
    n, states = len(slides.dims), len(slides.left)
    tile, reached = np.zeros(n, np.int64), np.zeros(n, np.int64)
    held = np.zeros(n // 2)
    for start in range(states):
        for k in range(n):
            tile[k] = slides.digits[start, k]
        for e in range(n // 2):
            held[e] = overlap(sp, slides.dims, slides.coefs, tile, e, 0)
        for state in range(states - 1, start - 1, -1):
            if slides.within[state, start]:
                for k in range(n):
                    reached[k] = slides.digits[state, k]
                for k in range(n + 1):
                    slides.new[start, state, k] = new_share(
                        sp, slides.dims, slides.coefs, tile, reached, held, k
                    )
                for other in range(len(slides.around)):
                    fill_after(sp, slides, start, other, state)


@leaf
def new_share(
    sp: Space, dims: Ints, coefs: Ints, tile: Ints, reached: Ints, held: Floats, k: int
) -> float:
    """Return the share of a tile that a step of a loop brings in, outside of a reached shape.

    Only a run keeps words: with loops on its own dimension inside, and none on others. Any other
    step moves the whole tile, but one that ends at the words that the tile had before.
    """
    along = k < len(dims)
    for j in range(len(dims)):
        along = along and (j == k or reached[j] == tile[j])
    kept = 1.0
    for e in range(len(held)):
        moved = 0
        for j in range(2 * e, 2 * e + 2):
            inner, own = sp.values[dims[j], reached[j]], sp.values[dims[j], tile[j]]
            moved -= coefs[j] * (inner - own)
            if j == k:
                moved += coefs[j] * inner
        if along:
            kept *= overlap(sp, dims, coefs, tile, e, moved) / held[e]
        elif moved != 0:
            kept = 0.0
    return 1.0 - kept


@leaf
def fill_after(sp: Space, slides: Slides, start: int, other: int, state: int) -> None:
    """Fill the tiles' worth of words that loops outside a reached state bring in at least."""
    left, around = slides.left[state], slides.around[other]
    after = slides.after[start, other]
    without, along = left, left * around
    for k in range(len(slides.dims)):
        d = slides.dims[k]
        digit = slides.digits[state, k]
        for grown in range(digit + 1, sp.sizes[d]):
            factor = sp.quotient[d, grown, digit]
            if factor >= 0:
                steps = left * (1.0 - 1.0 / sp.values[d, factor]) * slides.new[start, state, k]
                to = state + (grown - digit) * slides.strides[k]
                without = min(without, steps + after[to, 0])
                along = min(along, steps * around + after[to, 1])
    if state > start:
        share = slides.new[start, state, len(slides.dims)]
        along = min(along, left * (around - 1.0) * share + without)
    after[state, 0] = without
    after[state, 1] = along


@leaf
def words_inside(sp: Space, slides: Slides, tile: int, near: int) -> float:
    """Return the tiles' worth of words at least where loops of windows save nothing beyond a state.

    Of each iteration of dimensions irrelevant to the tensor, and that stand in no window.
    """
    if slides.inside[tile, near] >= 0.0:
        return float(slides.inside[tile, near])
    for state in range(near, tile - 1, -1):
        if not (slides.within[state, tile] and slides.within[near, state]):
            continue
        found = slides.left[near] if state == near else np.inf
        for k in range(len(slides.dims)):
            d = slides.dims[k]
            digit, until = slides.digits[state, k], slides.digits[near, k]
            for grown in range(digit + 1, until + 1):
                factor = sp.quotient[d, grown, digit]
                if factor >= 0 and sp.quotient[d, until, grown] >= 0:
                    steps = slides.left[state] * (1.0 - 1.0 / sp.values[d, factor])
                    to = state + (grown - digit) * slides.strides[k]
                    found = min(found, steps * slides.new[tile, state, k] + slides.least[to])
        slides.least[state] = found
    slides.inside[tile, near] = slides.least[tile]
    return float(slides.inside[tile, near])


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

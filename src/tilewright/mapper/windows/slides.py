"""What a sliding window saves at most."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tilewright.kernels.kernel import leaf, leaf_kernel

if TYPE_CHECKING:
    from tilewright.kernels.types import Bools, Floats, Ints
    from tilewright.mapper.problem.space import Space

STAYS, SLIDES, REPEATS = 0, 1, 2  # what the loops around a tile of a window do


@leaf
def gcd(a: int, b: int) -> int:
    """Return the greatest common divisor."""
    while b:
        a, b = b, a % b
    return a


@leaf
def may_repeat(sp: Space, w: int, e: int, shape: int) -> bool:
    """Whether steps of one dimension of an expression may make up for those of another.

    Then a tile can be the same set of words as another one, and a whole region of loops on the
    expression's dimensions may bring in each of its words once. Three dimensions always may.
    """
    if sp.members.shape[2] > 2 and sp.members[w, e, 2] >= 0:
        return True
    for i in range(2):
        d, o = sp.members[w, e, i], sp.members[w, e, 1 - i]
        digit = sp.digits[shape, d]
        if digit < sp.sizes[d] - 1 and sp.coefs[w, e, i] * sp.values[d, digit] <= sp.coefs[
            w, e, 1 - i
        ] * (sp.values[o, sp.sizes[o] - 1] - sp.values[o, sp.digits[shape, o]]):
            return True
    return False


@leaf
def repeats_at(sp: Space, w: int, e: int, i: int, shape: int) -> bool:
    """Whether a loop on the other dimension of a pair may bring back the tile of `shape`.

    It does when one step of it moves as far as the loops on dimension i inside have moved. Of two
    dimensions, and where no array cuts their loops; of three it always may.
    """
    if sp.members.shape[2] > 2 and sp.members[w, e, 2] >= 0:
        return True
    d, o = sp.members[w, e, i], sp.members[w, e, 1 - i]
    digit = sp.digits[shape, d]
    if sp.digits[shape, o] == sp.sizes[o] - 1:
        return False
    step = sp.coefs[w, e, 1 - i] * sp.values[o, sp.digits[shape, o]]
    for k in range(digit + 1, sp.sizes[d]):
        if sp.quotient[d, k, digit] >= 0:
            moved = sp.coefs[w, e, i] * (sp.values[d, k] - sp.values[d, digit])
            if moved == step:
                return True
    return False


@leaf
def does_repeat(sp: Space, w: int, e: int, shape: int) -> bool:
    """Whether loops on the dimensions of an expression may bring back the tile of `shape`."""
    return repeats_at(sp, w, e, 0, shape) or repeats_at(sp, w, e, 1, shape)


@leaf
def pair_words(m: int, n: int, a: int, b: int, apart: bool) -> float:
    """Return the words of a*i + b*j for m and n values of i and j, in a row or standing apart."""
    if apart:
        return float(m + n - 1)
    g = gcd(a, b)
    return float(m * n - max(0, m - b // g) * max(0, n - a // g))


def words_of_steps(m: Any, n: Any, whole: Any, other: Any, a: int, b: int) -> Any:
    """Return the words of a*i + b*j at least that all steps of m x n instances read together.

    Each step has some i and some j, those of every other step being different or the same. Where
    a set A of i meets those j whose b*j has one remainder for a, it needs |A| + |B| - 1 words. All
    sets of i in turn, c of them, need c words for each j and, for each remainder in a set of j, one
    more for all other i. And the same the other way round.

    Parameters
    ----------
    m, n : int, or array of int
        Instances along i and j at most.
    whole, other : int
        Bounds of i and j.
    a, b : int
        Coefficients.
    """
    g = np.gcd(a, b)
    a, b = a // g, b // g
    sets, others = -(-whole // m), -(-other // n)
    # as many j as possible have the same remainder
    classes = np.maximum(others, -(-other // -(-other // a)))
    first = sets * other + classes * (whole - sets)
    classes = np.maximum(sets, -(-whole // -(-whole // b)))
    return np.maximum(first, others * whole + classes * (other - others))


step_words = leaf(words_of_steps)


@leaf
def back_and_forth(m: int, n: int, a: int, b: int, run: int, cut: bool) -> float:
    """Return how many points of a pair a word serves at most where tiles of m x n repeat.

    A loop that brings back the tile stands around a run along the other dimension, which has moved
    by as much as one step of that loop: from t to x = t + step at least, and brings in x - t words
    for x points of every line. With `run`, it goes along the first dimension, to a multiple of
    `run`. Where that is not m + n and no array cuts the loops, the tile does not come back when
    the loop around it advances, and at least half of the runs begin anew.
    """
    if a != 1 or b != 1:
        return np.inf
    if run <= m or (m + n) % run == 0:
        return float(m + n)
    if not cut:
        return float(max(n, 2 * run * n / (2 * run + n - 1 - m)))
    x = max(run, m + n)
    return x * n / (x - m)


@leaf
def expression_reuse(
    sp: Space,
    t: int,
    e: int,
    tile: int,
    kind: int,
    i: int,
    run: int,
    choice: int,
    together: bool,
) -> float:
    """Return the factor of one expression in `option_reuse`."""
    w = sp.windows[t]
    width = sp.members.shape[2]
    if width > 2 and sp.members[w, e, 2] >= 0:
        points = span = 1.0
        for k in range(width):
            d = sp.members[w, e, k]
            if d >= 0:
                extent, most = extents(sp, d, tile, choice, together)
                if extent == 0:
                    return 0.0
                if kind != STAYS:
                    extent = most
                points *= extent
                span += extent - 1
        return float(points / span)
    d, o = sp.members[w, e, 0], sp.members[w, e, 1]
    a, b = sp.coefs[w, e, 0], sp.coefs[w, e, 1]
    m, first = extents(sp, d, tile, choice, together)
    n, second = extents(sp, o, tile, choice, together)
    if m == 0 or n == 0:
        return 0.0
    own = choice < 0 or sp.unroll[choice, d] > 0 or sp.unroll[choice, o] > 0
    apart = choice >= 0 and (
        (sp.unroll[choice, d] > 0 and a % b != 0) or (sp.unroll[choice, o] > 0 and b % a != 0)
    )
    if kind == STAYS:
        return float(m * n / pair_words(m, n, a, b, together and apart))
    if kind == SLIDES:
        if i == 0:
            return float(first * n / pair_words(first, n, a, b, apart))
        return float(m * second / pair_words(m, second, a, b, apart))
    several = len(sp.unroll_start) > 2  # others may cut the loops, too
    cut = several or own
    shape = tile
    if together:
        for k in range(2):
            d = sp.members[w, e, k]
            digit = sp.digits[tile, d]
            shape += (sp.product[d, digit, sp.unroll[choice, d]] - digit) * sp.strides[d]
    if not (may_repeat(sp, w, e, shape) if cut else does_repeat(sp, w, e, shape)):
        return 0.0
    whole = first * second / pair_words(first, second, a, b, apart and not together)
    if choice >= 0 and not several and not (own and together):
        if i == 0:
            return float(min(whole, back_and_forth(m, n, a, b, run, cut)))
        return float(min(whole, back_and_forth(n, m, b, a, run, cut)))
    return float(whole)


@leaf
def extents(sp: Space, d: int, tile: int, choice: int, together: bool) -> tuple[int, int]:
    """Return the extent of a tile in an instance, and how many iterations that one has at most.

    Or those of all instances `together`. The extent is 0 where the array cannot hold such tiles.
    """
    digit, last = sp.digits[tile, d], sp.sizes[d] - 1
    if choice >= 0 and sp.unroll[choice, d] > 0:
        grown = sp.product[d, digit, sp.unroll[choice, d]]
        if grown < 0:
            return 0, 0
        if together:
            digit = grown
        else:
            last = sp.quotient[d, last, sp.unroll[choice, d]]
    return int(sp.values[d, digit]), int(sp.values[d, last])


@leaf_kernel
def option_reuse(
    sp: Space,
    t: int,
    tiles: Ints,
    kinds: Ints,
    parts: Ints,
    begin: Ints,
    part: Ints,
    choices: Ints,
    together: Bools,
    factor: Floats,
    most: Floats,
) -> None:
    """Fill how many operations a word of a sliding tensor serves at most, for each option.

    Counted per iteration of the dimensions irrelevant to it, and per word that arrives in a memory
    below an array, or, `together`, that is sent to all its instances; 0 where it is impossible, or
    saves nothing.
    An option is a tile and a `Slide`, (kind, expression, dimension of it, extent). Without a
    spatial choice it may be any.

    Parameters
    ----------
    parts : array of parts
        Options that stand for all with the same factor of one expression.
    begin : array of expressions + 1
        Where the parts of each expression begin.
    part : array of (options, expressions)
    choices, together : arrays of rows
    factor : array of parts
        For use in between.
    most : array of (rows, options)
    """
    for row in range(len(choices)):
        for e in range(len(begin) - 1):
            for k in range(begin[e], begin[e + 1]):
                option = parts[k]
                kind, at, i, run = kinds[option]
                if at != e:
                    kind = STAYS
                factor[k] = expression_reuse(
                    sp, t, e, tiles[option], kind, i, run, choices[row], together[row]
                )
        alone = 0.0  # of the same tile that stays, which comes before its other options
        for option in range(len(tiles)):
            served = 1.0
            for e in range(len(begin) - 1):
                served *= factor[part[option, e]]
            if kinds[option, 0] == STAYS:
                alone = served
            elif served <= alone * (1 + 1e-12):
                served = 0.0
            most[row, option] = served


@leaf
def has_loops_between(sp: Space, t: int, shape: int) -> bool:
    """Whether loops irrelevant to a tensor may stand outside a shape, inside a longer slide."""
    for o in range(sp.relevant.shape[1]):
        if not sp.relevant[t, o] and sp.digits[shape, o] < sp.sizes[o] - 1:
            return True
    return False


@leaf
def brought_back(sp: Space, w: int, e: int, i: int, shape: int) -> float:
    """Return the part of a piece's words in a tile that a loop on its other dimension brings back.

    The loops on dimension i of the piece have moved by one step of that loop.
    """
    o = sp.members[w, e, 1 - i]
    if sp.digits[shape, o] == sp.sizes[o] - 1:
        return 0.0
    a, b = sp.coefs[w, e, i], sp.coefs[w, e, 1 - i]
    if a != 1 or b != 1:
        return 1.0
    m = sp.values[sp.members[w, e, i], sp.digits[shape, sp.members[w, e, i]]]
    n = sp.values[o, sp.digits[shape, o]]
    return float((m - 1) / (m + n - 1))


@leaf
def run_words(sp: Space, t: int, w: int, e: int, i: int, shape: int) -> float:
    """Return the words that a run along the i-th dimension of an expression brings in at least.

    It begins at `shape` and brings in each word of its union. Where loops irrelevant to the tensor
    stand inside a longer slide, up to half of its pieces begin with words that are there: those
    that the next tile shares with the last one, no more than a tile, or a piece, of the least step
    has; or all of a tile that a loop on the other dimension brings back.
    """
    moved = float(sp.words[t, shape])
    if has_loops_between(sp, t, shape):
        d, o = sp.members[w, e, i], sp.members[w, e, 1 - i]
        saved = brought_back(sp, w, e, i, shape)
        if sp.digits[shape, d] < sp.sizes[d] - 1:
            a, b = sp.coefs[w, e, i], sp.coefs[w, e, 1 - i]
            m, n = sp.values[d, sp.digits[shape, d]], sp.values[o, sp.digits[shape, o]]
            one = pair_words(m, n, a, b, False)
            saved = max(saved, (2 * one - pair_words(2 * m, n, a, b, False)) / one)
        moved -= saved * moved / 2
    return float(moved * sp.repeats[shape])


@leaf
def region_words(sp: Space, t: int, w: int, e: int, shape: int) -> float:
    """Return the words that loops on the dimensions of an expression bring in at least.

    They begin at `shape` and bring in each word of their union; up to half of their pieces begin
    with a tile that is there, see `run_words`.
    """
    moved = float(sp.words[t, shape])
    if has_loops_between(sp, t, shape):
        saved = 1.0
        if sp.members.shape[2] == 2 or sp.members[w, e, 2] < 0:
            saved = max(brought_back(sp, w, e, 0, shape), brought_back(sp, w, e, 1, shape))
        moved -= saved * moved / 2
    return float(moved * sp.repeats[shape])


@leaf_kernel
def all_region_words(sp: Space, t: int, w: int, e: int, result: Floats) -> None:
    """Fill `region_words` of every shape."""
    for shape in range(len(result)):
        result[shape] = region_words(sp, t, w, e, shape)


@leaf_kernel
def all_run_words(sp: Space, t: int, w: int, e: int, i: int, result: Floats) -> None:
    """Fill `run_words` of every shape."""
    for shape in range(len(result)):
        result[shape] = run_words(sp, t, w, e, i, shape)


@leaf_kernel
def slid_words(sp: Space, t: int, least: Floats) -> None:
    """Fill the words that move at least into a store node at every shape.

    A sliding tensor slides along one dimension as far as that goes. A whole region of an expression
    counts as one run where tiles may repeat.
    """
    shapes = len(sp.repeats)
    w = sp.windows[t]
    for shape in range(shapes):
        least[shape] = sp.words[t, shape] * sp.repeats[shape]
        if w < 0:
            continue
        for e in range(sp.members.shape[1]):
            if sp.members[w, e, 0] < 0:
                continue
            full = shape
            whole = does_repeat(sp, w, e, shape)
            for i in range(sp.members.shape[2]):
                d = sp.members[w, e, i]
                if d < 0:
                    continue
                digit = sp.digits[shape, d]
                last = sp.sizes[d] - 1
                full += (last - digit) * sp.strides[d]
                if not whole:
                    for k in range(digit + 1, last + 1):
                        run = shape + (k - digit) * sp.strides[d]
                        least[shape] = min(least[shape], run_words(sp, t, w, e, i, run))
            if whole:
                region = sp.words[t, full] * sp.repeats[full]
                if sp.members[w, e, 2] < 0:
                    m = sp.values[sp.members[w, e, 0], sp.digits[shape, sp.members[w, e, 0]]]
                    n = sp.values[sp.members[w, e, 1], sp.digits[shape, sp.members[w, e, 1]]]
                    a, b = sp.coefs[w, e, 0], sp.coefs[w, e, 1]
                    most = back_and_forth(m, n, a, b, 0, False)
                    alone = m * n / pair_words(m, n, a, b, False)
                    region = max(region, sp.words[t, shape] * sp.repeats[shape] * alone / most)
                least[shape] = min(least[shape], region)

"""How much a sliding tensor can still be reused from a shape below an array on."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from tilewright.mapper.slides import SLIDES, STAYS
from tilewright.model.kernel import kernel, leaf

if TYPE_CHECKING:
    from tilewright.mapper.lattice import Floats, Ints
    from tilewright.mapper.problem import Space


class Reach(NamedTuple):
    """Operations per word and iteration of the irrelevant dimensions, by what a memory has left.

    Attributes
    ----------
    rows : array of (choices, tensors, 2)
        For each spatial choice the row of what every instance receives, and of what is sent to all
        instances together; -1 where nothing is known.
    corner : array of (windows, shapes)
        Position of a shape's extents in the window among all such extents.
    begin : array of (rows, corners + 1)
        Where the steps of a row begin.
    bits, reuse : arrays of steps
        Bits of the tile, and its reuse, the most first.
    """

    rows: Ints
    corner: Ints
    begin: Ints
    bits: Floats
    reuse: Floats


@leaf
def reuse_left(reach: Reach, row: int, corner: int, left: float) -> float:
    """Return the most reuse of the tiles that fit `left` bits, 0 when none does."""
    for i in range(reach.begin[row, corner], reach.begin[row, corner + 1]):
        if reach.bits[i] <= left:
            return float(reach.reuse[i])
    return 0.0


@leaf
def is_ahead(sp: Space, t: int, shape: int, tile: int, slide: Ints) -> bool:
    """Whether loops inside a shape may lead to a tile of a window around which they slide.

    The loops of the slide that stand outside the shape belong to it only where nothing but them
    stands between.
    """
    w = sp.windows[t]
    kind, e, i, run = slide
    same = True  # in the dimensions of other expressions
    for d in range(sp.relevant.shape[1]):
        if sp.window_of[w, d] < 0:
            continue
        if sp.quotient[d, sp.digits[shape, d], sp.digits[tile, d]] < 0:
            return False
        if sp.window_of[w, d] != e and sp.digits[shape, d] != sp.digits[tile, d]:
            same = False
    if kind == STAYS or (sp.members.shape[2] > 2 and sp.members[w, e, 2] >= 0):
        return True
    along, across = sp.members[w, e, i], sp.members[w, e, 1 - i]
    inside = sp.digits[shape, along] > sp.digits[tile, along]
    beside = sp.digits[shape, across] > sp.digits[tile, across]
    if kind == SLIDES:
        return inside or (same and not beside)
    if run == 0:
        return (inside and beside) or (same and not inside and not beside)
    extent = sp.values[along, sp.digits[shape, along]]
    return (inside and beside) or (same and inside and not beside and extent == run)


@kernel
def row_steps(
    sp: Space,
    t: int,
    corners: Ints,
    tiles: Ints,
    slides: Ints,
    rank: Ints,
    reuse: Floats,
    bits: float,
) -> tuple[Ints, Floats, Floats]:
    """Return where the steps of each corner begin, and their bits and reuse; see `Reach`."""
    begin = np.zeros(len(corners) + 1, np.int64)
    all_bits, all_reuse = np.empty(1024), np.empty(1024)
    n = 0
    for c in range(len(corners)):
        if n + len(rank) > len(all_bits):
            all_bits = np.concatenate((all_bits, np.empty(n + len(rank))))
            all_reuse = np.concatenate((all_reuse, np.empty(n + len(rank))))
        n = corner_steps(
            sp, t, corners[c], tiles, slides, rank, reuse, bits, all_bits, all_reuse, n
        )
        begin[c + 1] = n
    return begin, all_bits[:n], all_reuse[:n]


@leaf
def corner_steps(
    sp: Space,
    t: int,
    corner: int,
    tiles: Ints,
    slides: Ints,
    rank: Ints,
    reuse: Floats,
    bits: float,
    all_bits: Floats,
    all_reuse: Floats,
    n: int,
) -> int:
    """Fill the steps of one corner from the n-th on; return the number of all so far."""
    least = np.inf
    for k in range(len(rank)):
        if least <= bits:
            break
        tile = tiles[rank[k]]
        own = bits * sp.words[t, tile]
        if own < least and is_ahead(sp, t, corner, tile, slides[rank[k]]):
            least = own
            all_bits[n], all_reuse[n] = own, reuse[k]
            n += 1
    return n

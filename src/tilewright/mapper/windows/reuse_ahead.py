"""How much a sliding tensor can still be reused from a shape below an array on."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tilewright.kernels.kernel import leaf, leaf_kernel
from tilewright.mapper.problem.link_costs import Reach
from tilewright.mapper.windows.slides import SLIDES, STAYS

if TYPE_CHECKING:
    from tilewright.kernels.types import Floats, Ints
    from tilewright.mapper.problem.space import Space


@leaf
def reuse_left(reach: Reach, row: int, corner: int, left: float) -> float:
    """Return the most reuse of the tiles that fit `left` bits, 0 when none does."""
    for i in range(reach.begin[row, corner + 1] - 1, reach.begin[row, corner] - 1, -1):
        if reach.bits[i] <= left:
            return float(reach.reuse[i])
    return 0.0


@leaf
def divides(sp: Space, shape: int, tile: int) -> bool:
    """Whether the extents of a tile divide those of a shape."""
    for d in range(len(sp.sizes)):
        if sp.quotient[d, sp.digits[shape, d], sp.digits[tile, d]] < 0:
            return False
    return True


@leaf
def is_ahead(sp: Space, t: int, shape: int, tile: int, slide: Ints) -> bool:
    """Whether loops inside a shape may lead to a tile of a window, and slide around it.

    The tile divides the shape.
    The loops of the slide that stand outside the shape belong to it only where nothing but them
    stands between.
    """
    w = sp.windows[t]
    kind, e, i, run = slide
    same = True  # in the dimensions of other expressions
    for d in range(sp.relevant.shape[1]):
        other = sp.window_of[w, d] >= 0 and sp.window_of[w, d] != e
        if other and sp.digits[shape, d] != sp.digits[tile, d]:
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


@leaf_kernel
def find_ahead(
    sp: Space,
    t: int,
    corners: Ints,
    tiles: Ints,
    slides: Ints,
    order: Ints,
    begin: Ints,
    found: Ints,
) -> int:
    """Fill the options that loops inside each corner may lead to; return their number.

    Those of a corner begin at `begin` in `found`, and come in a given `order`.
    """
    n = 0
    for c in range(len(corners)):
        begin[c] = n
        tile = -1
        inside = False
        for option in order:
            if tiles[option] != tile:
                tile = tiles[option]
                inside = divides(sp, corners[c], tile)
            if inside and is_ahead(sp, t, corners[c], tile, slides[option]):
                found[n] = option
                n += 1
    begin[len(corners)] = n
    return n


@leaf_kernel
def find_steps(
    options: Ints, ahead: Ints, bits: Floats, reuse: Floats, begin: Ints, steps: Floats
) -> int:
    """Fill the steps of each corner; return their number.

    Parameters
    ----------
    options : array of corners + 1
        Where the options ahead of each corner begin.
    ahead : array of options
        In ascending order of their bits.
    bits, reuse : arrays of options
    begin : array of corners + 1
        Out: where the steps begin.
    steps : array of (2, steps)
        Out: bits and reuse, both in ascending order.
    """
    n = 0
    for c in range(len(options) - 1):
        begin[c] = n
        most = 0.0
        for i in range(options[c], options[c + 1]):
            option = ahead[i]
            if reuse[option] > most:
                most = reuse[option]
                if n > begin[c] and steps[0, n - 1] == bits[option]:
                    n -= 1
                steps[0, n], steps[1, n] = bits[option], most
                n += 1
    begin[len(options) - 1] = n
    return n

"""Which slides of a tensor fit below an array, next to the tiles of the others."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from tilewright.kernels.kernel import leaf, leaf_kernel
from tilewright.kernels.record import record
from tilewright.mapper.bounds.crossing.window_reuse import padded
from tilewright.mapper.windows.slides import SLIDES, STAYS

if TYPE_CHECKING:
    from tilewright.kernels.types import Bools, Floats, Ints
    from tilewright.mapper.bounds.crossing.crossing_links import Children
    from tilewright.mapper.bounds.crossing.window_reuse import Row
    from tilewright.mapper.problem.space import Space

UNKNOWN, FITS, TOO_LARGE = 0, 1, 2


@record
class Ranked(NamedTuple):
    """The options of one tensor in each of some columns, and what of them is known at a shape.

    Attributes
    ----------
    columns : array of columns
        Those of the table that are meant.
    rank : array of (columns, options)
        Positions of the options, those of the most reuse first, padded with -1.
    reuse : array of (columns, options)
        What each of them has.
    state : array of options
        Whether each fits, for use in between.
    alone : array of options
        The option of the same tile that stays, for use in between.
    tiles : array of (orders, tensors)
    possible : array of orders
        The tiles that span u, and whether they fit, for use in between.
    """

    columns: Ints
    rank: Ints
    reuse: Floats
    state: Ints
    alone: Ints
    tiles: Ints
    possible: Bools


@leaf
def least_tiles(sp: Space, ch: Children, shape: int, tiles: Ints) -> None:
    """Fill for each order the tiles that span the u of the tensors stored inside them."""
    for order in range(ch.orders.shape[0]):
        for j in range(ch.orders.shape[1]):
            tiles[order, j] = 0
            for d in range(sp.relevant.shape[1]):
                if ch.spans[order, j, d]:
                    tiles[order, j] += sp.digits[shape, d] * sp.strides[d]


@leaf
def order_fits(sp: Space, ch: Children, tiles: Ints, order: int) -> bool:
    """Whether such tiles fit in one order."""
    n = ch.orders.shape[1]
    for i in range(n):
        m = ch.memory[ch.orders[order, i]]
        total = 0.0
        for j in range(n):
            o = ch.orders[order, j]
            if ch.memory[o] == m:
                bits = ch.bits[o] * sp.words[o, tiles[order, j]]
                total += bits
                if bits > ch.share[o]:
                    return False
        if total > ch.capacity[ch.orders[order, i]]:
            return False
    return True


@leaf
def option_fits(
    sp: Space, ch: Children, shape: int, tiles: Ints, order: int, t: int, option: int
) -> bool:
    """Whether a slide of tensor t fits next to such tiles in one order.

    Its tile has some extents of its window at least, and so has that of every tensor that is stored
    outside it in the same memory.
    """
    w = sp.windows[t]
    tile = ch.tiles[t, option]
    total = 0.0
    outside = True
    for j in range(ch.orders.shape[1]):
        o = ch.orders[order, j]
        if ch.memory[o] != ch.memory[t]:
            continue
        small = tiles[order, j]
        if outside:
            grows = -1
            if o == t:
                outside = False
            else:
                grows = grown_dimension(sp, ch, shape, o, t, option)
            for d in range(sp.relevant.shape[1]):
                if sp.window_of[w, d] < 0 or not sp.relevant[o, d]:
                    continue
                u, extent = sp.digits[shape, d], sp.digits[tile, d]
                if o == t and (
                    (ch.spans[order, j, d] and sp.quotient[d, extent, u] < 0)
                    or (ch.within[order, j, d] and sp.quotient[d, u, extent] < 0)
                    or (ch.limits[d] and sp.quotient[d, u, extent] < 0)
                ):
                    return False
                if d == grows:
                    extent += 1
                    if ch.limits[d] and extent > u:
                        return False
                spanned = sp.digits[small, d]
                if extent > spanned:
                    small += (extent - spanned) * sp.strides[d]
        bits = ch.bits[o] * sp.words[o, small]
        total += bits
        if bits > ch.share[o]:
            return False
    return bool(total <= ch.capacity[t])


@leaf
def grown_dimension(sp: Space, ch: Children, shape: int, o: int, t: int, option: int) -> int:
    """Return the dimension along which the tile of an outer tensor o must exceed that of tensor t.

    -1 is none. The loops of a slide either stand inside the node of o, whose tile then spans some
    of them, or go on outside it. Then nothing but them may come between the two nodes: what o
    lets pass there is u, and must be the tile's own extents in all other dimensions.
    """
    w = sp.windows[t]
    kind, e, i, run = ch.slides[t, option]
    if kind == STAYS or sp.members[w, e, min(2, sp.members.shape[2] - 1)] >= 0:
        return -1
    along, across = sp.members[w, e, i], sp.members[w, e, 1 - i]
    tile = ch.tiles[t, option]
    if kind == SLIDES:
        if not sp.relevant[o, along]:
            return -1
        return -1 if same_extents(sp, ch, shape, o, t, tile, -1) else along
    if sp.relevant[o, along] == sp.relevant[o, across]:
        return -1
    if sp.relevant[o, along]:
        along, across = across, along
    if same_extents(sp, ch, shape, o, t, tile, -1):
        return -1
    u = sp.values[along, sp.digits[shape, along]]
    if (
        run > 0
        and along == sp.members[w, e, i]
        and ch.shared[along]
        and u == run
        and same_extents(sp, ch, shape, o, t, tile, along)
    ):
        return -1
    if not ch.shared[along] and same_extents(sp, ch, shape, o, t, tile, along):
        return -1
    return int(across)


@leaf
def same_extents(sp: Space, ch: Children, shape: int, o: int, t: int, tile: int, but: int) -> bool:
    """Whether u of an outer tensor o is the tile's extents in all dimensions but one."""
    for d in range(sp.relevant.shape[1]):
        counts = d != but and ch.shared[d] and sp.window_of[sp.windows[t], d] >= 0
        if counts and not sp.relevant[o, d] and sp.digits[shape, d] != sp.digits[tile, d]:
            return False
    return True


@leaf
def carried_fits(sp: Space, ch: Children, shape: int, carried: int, t: int, option: int) -> bool:
    """Whether a tile of a sliding tensor fits next to one that stays through loops above the array.

    The latter is the whole shape: the loops on its dimensions stand above, and further in at least
    one that is irrelevant to it. A slide along its dimensions gets no further than that.
    """
    tile = ch.tiles[t, option]
    w = sp.windows[t]
    passes = False  # some loop may be irrelevant to both
    for d in range(sp.relevant.shape[1]):
        if sp.relevant[carried, d] and sp.quotient[d, sp.digits[shape, d], sp.digits[tile, d]] < 0:
            return False
        passes = passes or not (sp.relevant[carried, d] or sp.relevant[t, d])
    kind, e, i, run = ch.slides[t, option]
    if kind != STAYS and not passes and sp.members[w, e, min(2, sp.members.shape[2] - 1)] < 0:
        along, across = sp.members[w, e, i], sp.members[w, e, 1 - i]
        if kind == SLIDES:
            outside = sp.relevant[carried, along]
            if outside and sp.digits[shape, along] == sp.digits[tile, along]:
                return False
        elif sp.relevant[carried, along] != sp.relevant[carried, across]:
            o = along if sp.relevant[carried, along] else across
            if sp.digits[shape, o] == sp.digits[tile, o] and (run == 0 or o == along):
                return False
    if ch.memory[carried] != ch.memory[t]:
        return True
    bits = ch.bits[t] * sp.words[t, tile] + ch.bits[carried] * sp.words[carried, shape]
    return bool(bits <= ch.capacity[t])


def fill_missing(
    sp: Space,
    ch: Children,
    carried: int,
    shapes: Ints,
    rows: Sequence[Row],
    counts: Bools,
    reuse: Floats,
) -> None:
    """Fill the reuse of the best option that fits, where it counts and is not known yet.

    `counts` and `reuse` are arrays of (shapes, rows).
    """
    missing = counts & (reuse == 0.0)
    for t in np.unique(ch.row_tensor[missing.any(axis=0)]).tolist():
        columns = np.flatnonzero((ch.row_tensor == t) & missing.any(axis=0))
        some = np.flatnonzero(missing[:, columns].any(axis=1))
        own = [rows[row] for row in columns.tolist()]
        options = Ranked(
            columns=columns,
            rank=padded([row.rank for row in own], -1),
            reuse=np.array([row.reuse for row in own]),
            state=np.empty(ch.tiles.shape[1], np.int64),
            alone=np.empty(ch.tiles.shape[1], np.int64),
            tiles=np.empty(ch.orders.shape, np.int64),
            possible=np.empty(len(ch.orders), np.bool_),
        )
        fill_reuse(sp, ch, carried, shapes, t, some, missing, options, reuse)


@leaf_kernel
def fill_reuse(
    sp: Space,
    ch: Children,
    carried: int,
    shapes: Ints,
    t: int,
    some: Ints,
    missing: Bools,
    options: Ranked,
    best: Floats,
) -> None:
    """Fill `best` for some shapes and columns, those of one tensor, in the cells that are missing.

    It is 1 where no option fits.
    """
    columns, rank, reuse = options.columns, options.rank, options.reuse
    state, alone = options.state, options.alone
    tiles, possible = options.tiles, options.possible
    # the option of the same tile that stays: where it does not fit no other one does
    for option in range(len(state)):
        stays = ch.slides[t, option, 0] == STAYS or option == 0
        alone[option] = option if stays else alone[option - 1]
    for k in some:
        if carried < 0:
            least_tiles(sp, ch, shapes[k], tiles)
            for order in range(len(ch.orders)):
                possible[order] = order_fits(sp, ch, tiles, order)
        state[:] = UNKNOWN
        for row in range(len(rank)):
            if not missing[k, columns[row]]:
                continue
            best[k, columns[row]] = 1.0
            for i in range(rank.shape[1]):
                option = rank[row, i]
                if option < 0:
                    break
                if state[option] == UNKNOWN:
                    for each in (alone[option], option):
                        if state[each] == UNKNOWN:
                            fits = False
                            if carried >= 0:
                                fits = carried_fits(sp, ch, shapes[k], carried, t, each)
                            else:
                                for order in range(len(ch.orders)):
                                    fits = fits or (
                                        possible[order]
                                        and option_fits(sp, ch, shapes[k], tiles, order, t, each)
                                    )
                            state[each] = FITS if fits else TOO_LARGE
                        if state[each] == TOO_LARGE:
                            state[option] = TOO_LARGE
                            break
                if state[option] == FITS:
                    best[k, columns[row]] = reuse[row, option]
                    break

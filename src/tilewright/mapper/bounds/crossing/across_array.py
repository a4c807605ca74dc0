"""What an array's children cost at least, for every shape above the array."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from tilewright.kernels.kernel import leaf, leaf_kernel
from tilewright.kernels.record import record
from tilewright.mapper.bounds.crossing.slide_options import least_tiles, order_fits

if TYPE_CHECKING:
    from tilewright.kernels.types import Bools, Floats, Ints
    from tilewright.mapper.bounds.crossing.crossing_links import Children
    from tilewright.mapper.problem.space import Space


@record
class Delivered(NamedTuple):
    """What a shape delivers, for use in between.

    Attributes
    ----------
    words, inside : arrays of tensors
        As `delivered` fills them.
    moved : array of rows
    fewest : array of tensors
        As `moved_words` fills them.
    """

    words: Floats
    inside: Floats
    moved: Floats
    fewest: Floats


@leaf
def above_array(sp: Space, shape: int, choice: int) -> int:
    """Return the shape that instances hold together, or -1 where it is none of the lattice."""
    above = shape
    for d in range(sp.relevant.shape[1]):
        if sp.unroll[choice, d] > 0:
            digit = sp.digits[shape, d]
            grown = sp.product[d, digit, sp.unroll[choice, d]]
            if grown < 0:
                return -1
            above += (grown - digit) * sp.strides[d]
    return above


def inner_shapes(sp: Space, ch: Children, carried: int) -> Ints:
    """Return the shapes x' of `choice_tables.inner_table`, for all tensors or one that stays."""
    found = np.empty(len(sp.repeats), np.int64)
    return found[: find_shapes(sp, ch, carried, found, np.empty(ch.orders.shape, np.int64))]


@leaf_kernel
def find_shapes(sp: Space, ch: Children, carried: int, found: Ints, tiles: Ints) -> int:
    """Fill the shapes of `inner_shapes`; return their number."""
    n = 0
    for shape in range(len(sp.repeats)):
        skip = False
        if carried >= 0:
            room = min(ch.capacity[carried], ch.share[carried])
            skip = ch.bits[carried] * sp.words[carried, shape] > room
        for d in range(sp.relevant.shape[1]):
            counts = ch.shared[d] or ch.limits[d] if carried < 0 else sp.relevant[carried, d]
            skip = skip or (not counts and sp.digits[shape, d] > 0)
        if not skip and carried < 0:
            skip = True
            least_tiles(sp, ch, shape, tiles)
            for order in range(len(ch.orders)):
                skip = skip and not order_fits(sp, ch, tiles, order)
        if not skip:
            found[n] = shape
            n += 1
    return n


@leaf
def delivered(sp: Space, ch: Children, shape: int, words: Floats, inside: Floats) -> None:
    """Fill for each tensor the words delivered with the u of a shape, and the product of its u.

    Along dimensions irrelevant to several tensors u is unlimited: the tiles of all of them may stay
    through loops above the array.
    """
    for t in range(len(words)):
        words[t] = sp.operations if ch.used[t] == 0 else sp.words[t, len(sp.repeats) - 1]
        inside[t] = 1.0
        for d in range(sp.relevant.shape[1]):
            if ch.used[t] == 1 and not sp.relevant[t, d]:
                digit = sp.sizes[d] - 1 if ch.free[d] else sp.digits[shape, d]
                value = sp.values[d, digit]
                words[t] *= sp.values[d, sp.sizes[d] - 1] / value
                inside[t] *= value


@leaf
def group_matters(
    ch: Children, g: int, carried: int, paid: float, most: float, words: Floats
) -> bool:
    """Whether a spatial choice of a group may deliver these words, or more, for little enough."""
    total = paid
    for t in range(len(words)):
        if t != carried:
            total += ch.least[g, t] * words[t]
    return total <= most


@leaf
def moved_words(
    sp: Space,
    ch: Children,
    reuse: Floats,
    words: Floats,
    inside: Floats,
    moved: Floats,
    fewest: Floats,
) -> None:
    """Fill the words that move with the reuse of each row, and the fewest of them of each tensor.

    Where that of a row is 0, it is what the tensor has with all of the memory.
    """
    for t in range(len(words)):
        fewest[t] = np.inf if ch.best[t] > 0.0 else words[t]
    for row in range(len(moved)):
        if ch.needed[row]:
            t = ch.row_tensor[row]
            most_reuse = reuse[row] if reuse[row] > 0.0 else ch.most[row]
            moved[row] = max(words[t], sp.operations / (most_reuse * inside[t]))
            fewest[t] = min(fewest[t], moved[row])


@leaf
def across_cost(ch: Children, c: int, carried: int, words: Floats, moved: Floats) -> float:
    """Return the pJ of what a spatial choice delivers, and of what is known besides."""
    total = ch.besides[c]
    for t in range(len(words)):
        if t == carried:
            continue
        received = on_the_way = words[t]
        if ch.rows[c, t] >= 0:
            received = moved[ch.rows[c, t]]
        if ch.sent_rows[c, t] >= 0:
            on_the_way = moved[ch.sent_rows[c, t]]
        # `own` is what a received word costs, the rest what those on their way cost
        total += ch.own[t] * received + (ch.rate[c, t] - ch.own[t]) * on_the_way
    return float(total)


@leaf_kernel
def shapes_that_matter(
    sp: Space,
    ch: Children,
    carried: int,
    shapes: Ints,
    paid: Floats,
    most: float,
    matter: Bools,
    counts: Bools,
    between: Delivered,
) -> None:
    """Tell which shapes `lower_column` needs, were every tensor reused most.

    And whose reuse counts there: `counts`, for each shape and row. Without shapes, nobody asks.
    """
    words, inside, moved, fewest = between.words, between.inside, between.moved, between.fewest
    for k in range(len(shapes)):
        matter[k] = known = False
        # bounds divided by its extents: divisors in ascending order change places
        rest = len(sp.repeats) - 1 - shapes[k]
        delivered(sp, ch, shapes[k], words, inside)
        for t in range(len(words)):
            fewest[t] = words[t]
            if ch.best[t] > 0.0:
                fewest[t] = max(words[t], sp.operations / (ch.best[t] * inside[t]))
        for g in range(len(ch.least)):
            if not group_matters(ch, g, carried, paid[shapes[k]], most, fewest):
                continue
            if len(counts) == 0:
                matter[k] = True
                break
            if not known:
                known = True
                moved_words(sp, ch, ch.most, words, inside, moved, fewest)
            for c in range(ch.groups[g], ch.groups[g + 1]):
                if not may_divide(sp, rest, ch.choices[c]):
                    continue
                if paid[shapes[k]] + across_cost(ch, c, carried, words, moved) <= most:
                    matter[k] = True
                    for t in range(len(words)):
                        if t != carried and ch.rows[c, t] >= 0:
                            counts[k, ch.rows[c, t]] = True
                        if t != carried and ch.sent_rows[c, t] >= 0:
                            counts[k, ch.sent_rows[c, t]] = True


@leaf_kernel
def lower_column(
    sp: Space,
    ch: Children,
    carried: int,
    shapes: Ints,
    reuse: Floats,
    table: Floats,
    matters: Bools,
    paid: Floats,
    most: float,
    between: Delivered,
) -> None:
    """Lower the entries of one column for what each spatial choice delivers with the u of shapes.

    See `choice_tables.inner_table`. `reuse` of each row is that of `slide_options.fill_missing`,
    for each of the shapes or one for all; and what else mappings cost that enter the array at a
    shape is `paid`: those of more than `most` in all do not matter. `matters` is set for the
    choices of the others.
    """
    words, inside, moved, fewest = between.words, between.inside, between.moved, between.fewest
    nt = sp.relevant.shape[0]
    column = nt if carried < 0 else carried
    for k in range(len(shapes)):
        shape = shapes[k]
        # bounds divided by its extents: divisors in ascending order change places
        rest = len(sp.repeats) - 1 - shape
        delivered(sp, ch, shape, words, inside)
        moved_words(sp, ch, reuse[min(k, len(reuse) - 1)], words, inside, moved, fewest)
        for g in range(len(ch.least)):
            if not group_matters(ch, g, carried, paid[shape], most, fewest):
                continue
            for c in range(ch.groups[g], ch.groups[g + 1]):
                if not may_divide(sp, rest, ch.choices[c]):
                    continue
                above = above_array(sp, shape, ch.choices[c])
                if above < 0 or not ch.allowed[above]:
                    continue
                total = across_cost(ch, c, carried, words, moved)
                if max(paid[shape], paid[above]) + total <= most:
                    above = min(above, sp.mirror[above])
                    table[above, column] = min(table[above, column], total)
                    matters[ch.choices[c]] = True


@leaf
def may_divide(sp: Space, shape: int, choice: int) -> bool:
    """Whether a spatial choice may divide a shape; it does where each factor has its own bit."""
    return bool(sp.unroll_bits[choice] & ~sp.divisor_bits[shape] == 0)

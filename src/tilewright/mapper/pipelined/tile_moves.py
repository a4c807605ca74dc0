"""What a tile of an even mapping does when the loops above it go on, and the words that move."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tilewright.kernels.kernel import inlined
from tilewright.mapper.pipelined.move_tables import ALL, APART, BURSTS, COLUMNS, OWN, SLIDING, WHOLE

if TYPE_CHECKING:
    from tilewright.kernels.types import Bools, Ints
    from tilewright.mapper.pipelined.move_tables import Axes

STAYS, SLIDES, MOVES = range(3)


@inlined
def moved(axes: Axes, t: int, digits: Ints, spread: Ints, slide: int) -> tuple[float, float, float]:
    """Return words of all instances, of one, and contiguous runs that come with a tile.

    `slide` is the dimension along which it slides, -1 when all of it moves.
    """
    sent = own = bursts = 1.0
    parted = False
    for a in range(axes.start[t + 1] - 1, axes.start[t] - 1, -1):
        row = axes.row[a]
        column = 0
        for k in range(axes.dims.shape[1]):
            d = axes.dims[a, k]
            if d < 0:
                break
            row += (digits[d] * axes.width + spread[d]) * axes.weight[a, k]
            if d == slide:
                column = COLUMNS + SLIDING * k
        sent *= axes.words[row, column + ALL]
        own *= axes.words[row, column + OWN]
        if parted:
            bursts *= axes.words[row, column + ALL]
        elif column > 0 or axes.words[row, WHOLE] == 0:
            bursts *= axes.words[row, column + BURSTS]
            parted = True
    return sent, own, bursts


@inlined
def apart(axes: Axes, t: int, digits: Ints, spread: Ints) -> float:
    """Return the words of a tensor in the first iterations of all instances of a tile."""
    words = 1.0
    for a in range(axes.start[t], axes.start[t + 1]):
        row = axes.row[a]
        for k in range(axes.dims.shape[1]):
            d = axes.dims[a, k]
            if d >= 0:
                row += (digits[d] * axes.width + spread[d]) * axes.weight[a, k]
        words *= axes.words[row, APART]
    return words


@inlined
def follow(
    relevant: Bools, slides: Bools, axis_of: Ints, coefficient: Ints, around: Ints, dims: Ints,
    chunks: Ints, first: int, n: int, state: Ints,
) -> int:  # fmt: skip
    """Note what a tensor's tile does when each loop goes on; return along what it slides.

    A tile that has moved along one axis alone may come to where it was before when another loop on
    that axis goes on: it stays.

    Parameters
    ----------
    relevant, slides, axis_of, coefficient
        The rows of the tensor in `Tables`.
    around
        Iterations of each dimension inside the loops; overwritten.
    dims, chunks, first, n
        The loops, innermost first; those from `first` on stand above the tile.
    state
        What is noted.
    """
    axis = slide = -1
    back = 0  # how far the loops inside go back
    running = alone = False
    for i in range(first, n):
        d = dims[i]
        step = coefficient[d] * around[d]
        state[i] = STAYS
        if relevant[d]:
            if axis < 0:
                axis = axis_of[d]
                running = alone = slides[d]
                slide = d if running else -1
            running = running and d == slide
            alone = alone and axis_of[d] == axis
            if running:
                state[i] = SLIDES
            elif not alone or step != back:
                state[i] = MOVES
            back += step * (chunks[i] - 1)
        elif axis >= 0:
            state[i] = MOVES
        around[d] *= chunks[i]
    return slide


@inlined
def returns(
    start: Ints, members: Ints, t: int, coefficient: Ints, extents: Ints, factors: Ints,
    chunks: Ints,
) -> bool:  # fmt: skip
    """Whether a tile may come to where it was before, whatever the order of the loops above it.

    That takes loops on two dimensions of an axis, of which the one goes as far as the other ones
    inside go back: a*x = (n-1)*b*y for steps a*x and b*y and n chunks inside.

    Parameters
    ----------
    start, members
        Axes of each tensor, and their dimensions.
    coefficient
        The row of the tensor in `Tables`.
    extents, factors, chunks
        Of the tile by dimension, in space, and above both.
    """
    for a in range(start[t], start[t + 1]):
        cut = 0
        for d in members[a]:
            if d >= 0 and chunks[d] > 1:
                cut += 1
        if cut < 2:
            continue
        if cut > 2:
            return True
        for d in members[a]:
            for e in members[a]:
                if d < 0 or e < 0 or d == e or chunks[d] == 1 or chunks[e] == 1:
                    continue
                go = coefficient[d] * extents[d] * factors[d]
                back = coefficient[e] * extents[e] * factors[e]
                if go % back == 0 and chunks[e] % (go // back + 1) == 0:
                    return True
    return False


@inlined
def least_moved(
    axes: Axes, t: int, slides: Bools, coefficient: Ints, extents: Ints, digits: Ints,
    factors: Ints, spread: Ints, chunks: Ints,
) -> tuple[float, float, float]:  # fmt: skip
    """Return the least that `moved` is for a tile, however the loops above it are ordered.

    It is halved where every other step may bring nothing, see `returns`.
    """
    sent, own, bursts = moved(axes, t, digits, spread, -1)
    slid = 0
    for d in range(len(chunks)):
        if slides[d] and chunks[d] > 1:
            less, less_own, _ = moved(axes, t, digits, spread, d)
            sent, own, bursts = min(sent, less), min(own, less_own), 1.0
            slid += 1
    if slid > 1 and returns(axes.start, axes.dims, t, coefficient, extents, factors, chunks):
        return sent / 2, own / 2, bursts / 2
    return sent, own, bursts


@inlined
def chunks_above(around: Ints, inside: Ints, factors: Ints, chunks: Ints) -> bool:
    """Put the chunks of each dimension around a tile and its spatial loops; whether they divide."""
    for d in range(len(around)):
        whole = inside[d] * factors[d]
        if around[d] % whole:
            return False
        chunks[d] = around[d] // whole
    return True


@inlined
def lined_up(order: Ints, chunks: Ints, n: int, dims: Ints, sizes: Ints) -> int:
    """Append the loops of more than one chunk in some order; return how many there are then."""
    for k in range(len(chunks)):
        d = order[k]
        if chunks[d] > 1:
            dims[n] = d
            sizes[n] = chunks[d]
            n += 1
    return n


@inlined
def idle(order: Ints, chunks: Ints, back: bool) -> bool:
    """Whether an order is no better than others, see `sequences`; `back`: tiles may come back."""
    nd = len(chunks)
    if order[nd + 1] == 1 and not back:
        return True
    if order[nd] == 1 and chunks[order[0]] == 1:
        return True
    return bool(chunks.max() <= 1)


@inlined
def come_back(
    axes: Axes, slides: Bools, coefficient: Ints, extents: Ints, factors: Ints, chunks: Ints
) -> bool:
    """Whether the tile of some tensor may come to where it was before, see `returns`."""
    for t in range(len(slides)):
        sliding = 0
        for d in range(len(chunks)):
            if slides[t, d] and chunks[d] > 1:
                sliding += 1
        if sliding > 1 and returns(
            axes.start, axes.dims, t, coefficient[t], extents, factors, chunks
        ):
            return True
    return False

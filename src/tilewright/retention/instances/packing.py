"""The nest of one instance without its spatial loops, where there is such a nest."""

from __future__ import annotations

from functools import lru_cache

from tilewright.retention.instances.nest import Trace
from tilewright.retention.spills.access import Access


@lru_cache(maxsize=4096)
def packed(trace: Trace) -> tuple[Access, int] | None:
    """Return the blocks of an instance below temporal loops alone, and how many runs there are.

    Notes
    -----
    Where all chunks that a spatial loop cuts are equal, an instance has the same part of each. The
    parts, put together, are the iterations of a smaller dimension. Where dimensions share an
    index expression the distances of the parts matter: each temporal loop outside a spatial
    one becomes a dimension of its own.

    Where the words of an output begin anew, each time is a run by itself.

    Returns
    -------
    tuple or None
        None where the chunks are unequal, so that the instance idles or has less to do at times.
    """
    nest = trace.nest
    dims: list[tuple[int, int, int]] = []  # bound, axis, coefficient
    placed: dict[int, tuple[int, int]] = {}  # by position of a temporal loop: dimension, tile
    for dimension in nest.dimensions:
        axis, coefficient = nest.place(dimension)
        chain = nest.chain(dimension)
        inside = 1 + max((n for n, i in enumerate(chain) if nest.loops[i].array), default=-1)
        pins = iter(trace.pinned(dimension))
        extent = dict(nest.bounds)[dimension]
        outside = []
        for i in chain[:inside]:
            loop = nest.loops[i]
            if loop.array is not None:
                extent = min(loop.tile, extent - next(pins) * loop.tile)
            elif extent % loop.tile:
                return None
            else:
                outside.append((i, extent // loop.tile, loop.tile))
                extent = loop.tile
        if axis < 0 or nest.alone(dimension):
            for i, chunks, _ in reversed(outside):
                placed[i] = len(dims), extent
                extent *= chunks
        else:
            for i, chunks, tile in outside:
                placed[i] = len(dims), 1
                dims.append((chunks, axis, coefficient * tile))
        placed |= {i: (len(dims), nest.loops[i].tile) for i in chain[inside:]}
        dims.append((extent, axis, coefficient))
    bounds, axes, coefficients = zip(*dims, strict=True) if dims else ((), (), ())
    access = Access(bounds, axes, coefficients, tuple(placed[i] for i in sorted(placed)))
    return one_run(access, sum(i < nest.anew for i in placed))


def pinned(trace: Trace) -> Access:
    """Return the blocks of an instance below all loops, with one chunk of each spatial one."""
    nest = trace.nest
    places = [nest.place(dimension) for dimension in nest.dimensions]
    rest = {dimension: iter(trace.pinned(dimension)) for dimension in nest.dimensions}
    return Access(
        tuple(dict(nest.bounds)[dimension] for dimension in nest.dimensions),
        tuple(axis for axis, _ in places),
        tuple(coefficient for _, coefficient in places),
        tuple((nest.dimensions.index(loop.dimension), loop.tile) for loop in nest.loops),
        tuple(-1 if loop.array is None else next(rest[loop.dimension]) for loop in nest.loops),
        nest.anew,
    ).shortened()


def one_run(access: Access, above: int) -> tuple[Access, int] | None:
    """Return one run of an access and their number: its `above` outermost loops begin them."""
    extents = list(access.bounds)
    runs, count, first = 1, 1, 0
    bounds = extents.copy()
    for n, (dimension, tile) in enumerate(access.loops[:above], start=1):
        extent, extents[dimension] = extents[dimension], min(tile, extents[dimension])
        count *= -(-extent // tile)
        if access.axes[dimension] >= 0 and tile < extent:
            runs, first, bounds = count, n, extents.copy()
    even = list(access.bounds)
    for dimension, tile in access.loops[:first]:
        if even[dimension] % min(tile, even[dimension]):
            return None
        even[dimension] = min(tile, even[dimension])
    inner = Access(tuple(bounds), access.axes, access.coefficients, access.loops[first:])
    inner = inner.shortened()
    cut = {dimension for dimension, _ in inner.loops}
    plain = (n if access.axes[d] >= 0 or d in cut else 1 for d, n in enumerate(bounds))
    return Access(tuple(plain), access.axes, access.coefficients, inner.loops), runs

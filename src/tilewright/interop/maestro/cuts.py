"""What a map does to a dimension: positions of how many indices, and whether they are legal."""

from __future__ import annotations

from dataclasses import dataclass, field

from tilewright.errors import nearest
from tilewright.interop.maestro.reader import error_at
from tilewright.interop.maestro.syntax import Cluster, Map, Size
from tilewright.interop.maestro.vocabulary import Axis, Vocabulary


@dataclass(frozen=True)
class Cut:
    """What a map does to a dimension: positions of `tile` indices.

    Attributes
    ----------
    dimension : str
        Dimension of the layer.
    tile : int
        Indices in each position.
    map : Map
        Where it comes from.
    """

    dimension: str
    tile: int
    map: Map


@dataclass
class Region:
    """What one unit of a level holds: an extent for each dimension of the layer.

    Attributes
    ----------
    extents : dict of str to int
    rows : dict of str to int
        By axis (Y, X): rows or columns of the input that are mapped.
    skewed : set of str
        Axes on which they do not begin with a window: a level above has cut the filter alone.
    uneven : set of str
        Dimensions that a level above cuts into positions of which the last is short.
    """

    extents: dict[str, int]
    rows: dict[str, int]
    skewed: set[str] = field(default_factory=set)
    uneven: set[str] = field(default_factory=set)


def number(size: Size, words: Vocabulary, directive: Map | Cluster) -> int:
    """Return the value of a size, at least 1."""
    for _, name in size.terms:
        if name is not None:
            known(name, words, directive)
    value = size.value(words.size)
    if value < 1:
        raise error_at(directive.place, f"'{directive}': {size} is {value}; must be at least 1")
    return value


def known(name: str, words: Vocabulary, directive: Map | Cluster) -> None:
    """Refuse a dimension that the layer does not have."""
    if name not in words.names:
        raise error_at(
            directive.place,
            f"'{directive}': layer '{words.layer.name}' has no dimension '{name}'; accepted: "
            f"{', '.join(words.names)}{nearest(name, words.names)}",
        )


def cut_plain(directive: Map, words: Vocabulary, region: Region) -> Cut | None:
    """Return the cut of a dimension that stands for one of the layer."""
    dimension = words.plain[directive.dimension]
    size = number(directive.size, words, directive)
    offset = number(directive.offset, words, directive)
    if dimension is None or size >= region.extents[dimension]:
        return None
    if offset != size:
        raise error_at(directive.place, f"'{directive}': {illegal(size, offset, size)}")
    return Cut(dimension, size, directive)


def illegal(size: int, offset: int, legal: int) -> str:
    """Return why an offset is not legal."""
    fault = "computed twice" if offset < legal else "left out"
    return (
        f"positions of {size} that are {offset} apart are not legal, for something would be "
        f"{fault}; the offset must be {legal}"
    )


def cut_axis(
    directive: Map, filter_map: Map | None, maps: list[Map], words: Vocabulary, region: Region
) -> Cut | None:
    """Return the cut of the outputs that a map of rows (Y) or columns (X) of the input makes.

    Parameters
    ----------
    filter_map : Map or None
        What the same level does to the filter's dimension of the axis.
    maps : list of Map
        All maps of the level, in order.
    """
    name = directive.dimension
    axis = words.axes[name]
    size = number(directive.size, words, directive)
    offset = number(directive.offset, words, directive)
    outputs = region.extents[axis.output]
    if axis.transposed:
        return cut_transposed(directive, axis, size, offset, region)
    before = region.extents[axis.filter] if axis.filter else 1
    taps = before
    if filter_map is not None:
        taps = min(before, number(filter_map.size, words, filter_map))
    diagonal = taps < before and directive.spatial and filter_map is not None and filter_map.spatial
    if size >= region.rows[name] and not diagonal:
        return None
    window = axis.window(taps)
    if size < window:
        raise error_at(
            directive.place,
            f"'{directive}': {size} is less than the window of {window} that the mapped "
            f"elements of the filter see; map fewer of {filter_name(name)}, or use {name}'",
        )
    tile = (size - window) // axis.stride + 1
    if name in region.skewed or (axis.filter in region.uneven and tile < outputs):
        raise error_at(
            directive.place,
            f"'{directive}': a level above cuts {filter_name(name)}, so that the mapped rows and "
            f"windows do not begin together; use {name}'",
        )
    if diagonal:
        assert filter_map is not None
        check_diagonal(directive, filter_map, axis, (size, tile, offset), words, region)
        return None
    legal = tile * axis.stride
    if offset == tile:
        # files for strided layers give the offset in outputs: the stride is applied to it
        offset = legal
    if filter_map is not None and taps < before:
        check_grids(directive, filter_map, axis, (before, taps, outputs), (size, offset), maps)
    if tile >= outputs:
        starts = (0, (outputs - 1) * axis.stride)
        if taps == before and not in_one(starts, window, size, offset):
            raise error_at(directive.place, f"'{directive}': {illegal(size, offset, legal)}")
        return None
    if offset != legal:
        fault = (
            f"the offset must be a multiple of the stride, {axis.stride}, here {legal}"
            if offset % axis.stride
            else illegal(size, offset, legal)
        )
        raise error_at(directive.place, f"'{directive}': a position has {tile} outputs; {fault}")
    return Cut(axis.output, tile, directive)


def cut_transposed(
    directive: Map, axis: Axis, size: int, offset: int, region: Region
) -> Cut | None:
    """Return the cut of the input of a transposed convolution.

    Its files are written as for a convolution, with a size that has the rest of a window in it;
    the offset tells how many rows are new.
    """
    if size >= region.extents[axis.output] and offset >= region.extents[axis.output]:
        return None
    taps = region.extents[axis.filter] if axis.filter else 1
    if offset not in (size, size - taps + 1):
        legal = f"{size} (or {size - taps + 1}, with the window in the size)"
        raise error_at(
            directive.place,
            f"'{directive}': positions of a transposed convolution's input must not overlap; the "
            f"offset must be {legal}",
        )
    return Cut(axis.output, offset, directive) if offset < region.extents[axis.output] else None


def filter_name(name: str) -> str:
    """Return the filter's dimension of an axis, as directives call it."""
    return {"Y": "R", "X": "S"}[name]


def check_diagonal(
    directive: Map,
    filter_map: Map,
    axis: Axis,
    rows: tuple[int, int, int],
    words: Vocabulary,
    region: Region,
) -> None:
    """Refuse rows and filter rows that move together but not along the same outputs.

    `rows` are the size of the map of rows, the outputs of a position, and the offset.
    """
    size, tile, offset = rows
    name = directive.dimension
    outputs = region.extents[axis.output]
    step = number(filter_map.offset, words, filter_map)
    legal = step * axis.dilation
    # files know no dilation: there the offset counts elements of the filter
    if offset not in (legal, step):
        raise error_at(
            directive.place,
            f"'{directive}' and '{filter_map}' move together; for every unit to work on the same "
            f"outputs the offset must be {legal}",
        )
    taps = number(filter_map.size, words, filter_map)
    pieces = -(-(region.extents[axis.filter or ""] - taps) // step)
    if tile < outputs or -(-(region.rows[name] - size) // legal) < pieces:
        raise error_at(
            directive.place,
            f"'{directive}' and '{filter_map}' move together, and {tile} of {outputs} outputs find "
            f"all their rows: others would be left out; cut {name} in a level above",
        )


def check_grids(
    directive: Map,
    filter_map: Map,
    axis: Axis,
    extents: tuple[int, int, int],
    rows: tuple[int, int],
    maps: list[Map],
) -> None:
    """Refuse rows and filter rows that are cut in one level such that no loop nest follows them.

    `extents` are the mapped elements of the filter in the level above and here, and the outputs
    that there are; `rows` are size and offset of the map of rows.
    """
    before, taps, outputs = extents
    size, offset = rows
    name = directive.dimension
    tile = (size - axis.window(taps)) // axis.stride + 1
    follows = not directive.spatial and not filter_map.spatial and before % taps == 0
    follows = follows and maps.index(filter_map) < maps.index(directive)
    if tile >= outputs:
        # the outputs stay: each piece of the filter must find all of them in one position
        last = (outputs - 1) * axis.stride
        starts = [taps * axis.dilation * piece for piece in range(before // taps)]
        window = axis.window(taps)
        follows = follows and all(in_one((at, at + last), window, size, offset) for at in starts)
    else:
        follows = follows and taps * axis.dilation % (axis.stride * tile) == 0
    if not follows:
        raise error_at(
            directive.place,
            f"'{directive}' and '{filter_map}' cut the input and the filter of one axis, so that "
            f"the outputs of a position change with both; no loop nest follows them: use {name}'",
        )


def in_one(starts: tuple[int, int], window: int, size: int, offset: int) -> bool:
    """Whether windows from the first start to the last lie in one position, and in no other."""
    found = set()
    for start in starts:
        found |= {max(0, -(-(start + window - size) // offset)), start // offset}
    return len(found) == 1

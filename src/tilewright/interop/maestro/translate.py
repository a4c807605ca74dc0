"""Directives as a mapping: which loops, on which levels of clusters, they stand for.

What directives mean (IEEE Micro 40(3), 2020, "Data-centric mapping directives" and Figure 3):

- A map cuts what the level above maps of its dimension into positions of `size` indices, `offset`
  apart, as many as it takes to reach the end; the last one may be short. A temporal map visits
  them one after the other, the first map of a level slowest. A spatial map gives position i to
  unit i; when there are more positions than units, the units move on together (folding), at the
  place of the map among the temporal ones. A level without one uses its first unit.
- All spatial maps of a level move with the same unit.
- A dimension that a level does not mention is mapped whole, as the level above maps it.
- Y and X are rows and columns of the input. The outputs of a position are those whose window, over
  the mapped elements of the filter, lies inside the mapped rows. Y' and X' are outputs.
- A position in which nothing is to be computed takes no time.

A description is legal when every operation is done exactly once. That fixes the offset: for plain
dimensions it equals the size; on Y and X it is the stride times the outputs of a position.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from math import prod

from tilewright.architecture.machine import Architecture
from tilewright.errors import nearest
from tilewright.interop.maestro.machine import clustered, elements
from tilewright.interop.maestro.reader import error_at
from tilewright.interop.maestro.syntax import Cluster, Dataflow, Map, Size
from tilewright.interop.maestro.vocabulary import Axis, Vocabulary, vocabulary
from tilewright.mapping.names import storable
from tilewright.mapping.nodes import For, Mapping, Node, Spatial, Store
from tilewright.workload.layer import Layer


@dataclass(frozen=True)
class Translation:
    """Directives resolved for a layer and a machine.

    Attributes
    ----------
    architecture : Architecture
        The machine, with one array for each level of clusters.
    mapping : Mapping
        The loops that the directives stand for.
    padded : Mapping
        The same with a loop for every map, also where it makes a single chunk: the nodes are then
        those of other layers, and what is compiled for them serves all. Counts are equal.
    units : tuple of int
        Units of each level, outermost first.
    left_out : int
        Processing elements that do not fill a cluster.
    """

    architecture: Architecture
    mapping: Mapping
    padded: Mapping
    units: tuple[int, ...]
    left_out: int


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


def translate(dataflow: Dataflow, layer: Layer, architecture: Architecture) -> Translation:
    """Return the mapping that directives stand for, and the machine with their clusters.

    Parameters
    ----------
    dataflow : Dataflow
        The directives.
    layer : Layer
        What is computed.
    architecture : Architecture
        A machine without memories between its arrays. What lies outside the arrays holds whole
        tensors, what lies inside them the tile of one processing element.

    Raises
    ------
    InputError
        When a directive names a dimension that the layer does not have, the description is not
        legal, or no loop nest computes the layer in the order that it asks for.
    """
    words = vocabulary(layer, (d.dimension for d in dataflow.directives if isinstance(d, Map)))
    levels, units = split(dataflow, words, elements(architecture))
    machine = clustered(architecture, units)
    region = Region(dict(layer.bounds), {name: words.size(name) for name in words.axes})
    loops: list[Node] = []
    padded: list[Node] = []
    for maps, count, array in zip(levels, units, machine.arrays, strict=True):
        axis = next(iter(array.axes))
        for dimension, spatial, tile in read_level(maps, words, region):
            extent = region.extents[dimension]
            steps = min(extent, count * tile) if spatial else tile
            nodes: list[tuple[For | Spatial, int]] = [(For(dimension, steps), extent)]
            if spatial:
                nodes.append((Spatial(dimension, tile, axis, array.name), steps))
            padded += [node for node, _ in nodes]
            loops += [node for node, found in nodes if node.tile < found]
            region.extents[dimension] = tile
    first = machine.position[machine.arrays[0].name]
    stores = [
        (machine.position[memory.name] < first, Store(memory.name, kept))
        for memory in machine.memories
        if (kept := storable(memory, layer))
    ]
    outside: list[Node] = [store for out, store in stores if out]
    inside: list[Node] = [store for out, store in stores if not out]
    return Translation(
        machine,
        Mapping((*outside, *loops, *inside)),
        Mapping((*outside, *padded, *inside)),
        units,
        elements(architecture) - prod(units),
    )


def split(
    dataflow: Dataflow, words: Vocabulary, available: int
) -> tuple[list[list[Map]], tuple[int, ...]]:
    """Return the maps of each level of clusters, and how many units each level has."""
    levels: list[list[Map]] = [[]]
    sizes: list[int] = []
    for directive in dataflow.directives:
        if isinstance(directive, Map):
            levels[-1].append(directive)
            continue
        sizes.append(number(directive.size, words, directive))
        levels.append([])
        if prod(sizes) > available:
            product = " x ".join(map(str, sizes))
            needs = f"{product} = {prod(sizes)}" if len(sizes) > 1 else product
            raise error_at(
                directive.place,
                f"clusters of {needs} processing elements; the machine has {available}",
            )
    return levels, (available // prod(sizes), *sizes)


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


def read_level(maps: list[Map], words: Vocabulary, region: Region) -> list[tuple[str, bool, int]]:
    """Return what the maps of one level do, in order.

    Each gives a dimension of more than one iteration, whether it is spread over the units, and the
    indices in each position: all that there are where the map cuts nothing.
    """
    named: dict[str, Map] = {}
    for directive in maps:
        known(directive.dimension, words, directive)
        key = directive.dimension.removesuffix("'")
        if key in named and named[key].dimension != directive.dimension:
            raise error_at(directive.place, f"'{directive}': '{named[key]}' maps the same axis")
        if key in named and not trivial(directive, words, region):
            raise error_at(directive.place, f"'{directive}': '{named[key]}' maps it already")
        named.setdefault(key, directive)
    cuts: list[Cut] = []
    for directive in named.values():
        if directive.dimension in words.axes:
            taps = words.axes[directive.dimension].filter
            filter_map = next(
                (m for m in named.values() if words.plain.get(m.dimension) == taps), None
            )
            cut = cut_axis(directive, filter_map if taps else None, maps, words, region)
        else:
            cut = cut_plain(directive, words, region)
        if cut is not None:
            cuts.append(cut)
    check_together(cuts, named, words)
    note_rows(cuts, named, words, region)
    tiles = {cut.dimension: cut.tile for cut in cuts}
    found = []
    for directive in named.values():
        name = directive.dimension
        dimension = words.axes[name].output if name in words.axes else words.plain[name]
        if dimension is not None and words.layer.bounds[dimension] > 1:
            tile = tiles.get(dimension, region.extents[dimension])
            found.append((dimension, directive.spatial, tile))
    return found


def trivial(directive: Map, words: Vocabulary, region: Region) -> bool:
    """Whether a second map of a dimension changes nothing: it maps all that there is."""
    if directive.dimension in words.axes:
        return False
    dimension = words.plain[directive.dimension]
    size = number(directive.size, words, directive)
    return dimension is None or size >= region.extents[dimension]


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


def check_together(cuts: list[Cut], named: dict[str, Map], words: Vocabulary) -> None:
    """Refuse spatial maps that move together and would compute a diagonal only."""
    first = next((cut for cut in cuts if cut.map.spatial), None)
    if first is None:
        return
    partners = [name for name, axis in words.axes.items() if axis.filter == first.dimension]
    for directive in named.values():
        if directive is first.map or not directive.spatial or directive.dimension in partners:
            continue
        raise error_at(
            directive.place,
            f"'{first.map}' and '{directive}' move together: only the diagonal would be computed; "
            "put them into two levels with 'Cluster'",
        )


def note_rows(cuts: list[Cut], named: dict[str, Map], words: Vocabulary, region: Region) -> None:
    """Note how many rows are mapped below this level, and whether windows begin with them."""
    mapped = {cut.dimension: cut for cut in cuts}
    for cut in cuts:
        if region.extents[cut.dimension] % cut.tile:
            region.uneven.add(cut.dimension)
    for name, axis in words.axes.items():
        directive = named.get(name)
        extents = region.extents | {cut.dimension: cut.tile for cut in cuts}
        if directive is not None and directive.dimension != name:
            # rows follow from outputs and filter
            region.skewed.discard(name)
            taps = extents[axis.filter] if axis.filter else 1
            region.rows[name] = (extents[axis.output] - 1) * axis.stride + axis.window(taps)
            continue
        if directive is not None:
            region.rows[name] = min(region.rows[name], number(directive.size, words, directive))
        if axis.filter in mapped and axis.output not in mapped:
            together = directive is not None and directive.spatial
            if not (together and mapped[axis.filter].map.spatial):
                region.skewed.add(name)

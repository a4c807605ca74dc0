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

from dataclasses import dataclass
from math import prod

from tilewright.architecture.machine import Architecture
from tilewright.interop.maestro.cuts import Cut, Region, cut_axis, cut_plain, known, number
from tilewright.interop.maestro.machine import clustered, elements
from tilewright.interop.maestro.reader import error_at
from tilewright.interop.maestro.syntax import Dataflow, Map
from tilewright.interop.maestro.vocabulary import Vocabulary, vocabulary
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

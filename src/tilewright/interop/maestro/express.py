"""Mappings as directives, where the notation can say what they do."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import prod

from tilewright.architecture.machine import Architecture
from tilewright.errors import MappingError
from tilewright.interop.maestro.syntax import Cluster, Dataflow, Directive, Map, Size
from tilewright.interop.maestro.vocabulary import AXES
from tilewright.mapping.names import storable
from tilewright.mapping.nodes import Mapping, Node, Spatial, Store
from tilewright.mapping.structure import resolve_loops
from tilewright.workload.layer import Layer


@dataclass(frozen=True)
class Loop:
    """A loop that makes several chunks: its dimension, extent and tile, and where it is spread."""

    dimension: str
    extent: int
    tile: int
    place: tuple[str, str] | None

    @property
    def chunks(self) -> int:
        """Number of chunks."""
        return -(-self.extent // self.tile)


@dataclass
class Level:
    """Maps between two clusters, and the units that they go to."""

    maps: list[Map] = field(default_factory=list)
    dimensions: set[str] = field(default_factory=set)
    units: int | None = None


@dataclass(frozen=True)
class Expression:
    """A mapping in directives.

    Attributes
    ----------
    dataflow : Dataflow
        The directives, in terms of outputs (``Y'``, ``X'``).
    elements : int
        Processing elements that they use; a machine needs at least so many.
    """

    dataflow: Dataflow
    elements: int


def express(mapping: Mapping, layer: Layer, architecture: Architecture) -> Expression:
    """Return directives that stand for a mapping.

    Parameters
    ----------
    mapping : Mapping
        A valid mapping.
    layer, architecture
        What is computed, on which machine.

    Raises
    ------
    MappingError
        When directives cannot say what the mapping does: they know one memory outside the
        processing elements, which holds whole tensors, and one inside, which holds the tile of
        all tensors below all loops.
    """
    loops = expressible_loops(mapping, layer, architecture)
    sizes = {
        (array.name, axis): size
        for array in architecture.arrays
        for axis, size in array.axes.items()
    }
    alone = [loop.place for loop in loops if loop.place]
    units = {
        i: sizes[loop.place] if alone.count(loop.place) == 1 else loop.chunks
        for i, loop in enumerate(loops)
        if loop.place
    }
    names = directive_names(layer)
    levels = [Level()]
    folded: set[int] = set()
    for i, loop in enumerate(loops):
        if i in folded:
            continue
        spread = i if loop.place else fold(loops, i, units, levels[-1])
        level = levels[-1]
        if loop.dimension in level.dimensions or (spread is not None and level.units is not None):
            level = Level()
            levels.append(level)
            spread = i if loop.place else fold(loops, i, units, level)
        last = loops[i if spread is None else spread]
        size = Size.of(last.tile)
        level.maps.append(Map(spread is not None, size, size, names[loop.dimension]))
        level.dimensions.add(loop.dimension)
        if spread is not None:
            level.units = units[spread]
            folded.add(spread)
    needed = prod(level.units or 1 for level in levels)
    if levels[0].units is not None and needed != prod(a.elements for a in architecture.arrays):
        # the units of the first level follow from the machine: one cluster of all that is used
        levels.insert(0, Level())
    counts = [level.units or 1 for level in levels]
    directives: list[Directive] = list(levels[0].maps)
    for level, count in zip(levels[1:], counts[1:], strict=True):
        directives += [Cluster(Size.of(count)), *level.maps]
    flow = Dataflow((*directives,), layer.name, f"mapping on {architecture.name}")
    return Expression(flow, needed)


def fold(loops: Sequence[Loop], i: int, units: dict[int, int], level: Level) -> int | None:
    """Return the spatial loop that a temporal loop is the folding of, if the level has room.

    A spatial map moves all its units together when it has more positions than units: that is the
    temporal loop over as many indices as the units hold at a time.
    """
    for j in range(i + 1, len(loops)):
        loop = loops[j]
        if loop.dimension == loops[i].dimension:
            folds = loop.place is not None and loops[i].tile == units[j] * loop.tile
            return j if folds and level.units is None else None
        if loop.place:
            return None
    return None


def expressible_loops(mapping: Mapping, layer: Layer, architecture: Architecture) -> list[Loop]:
    """Return the loops that cut something, or say why directives have no words for a mapping."""
    arrays = architecture.arrays
    if not arrays:
        raise refusal("the machine has no array")
    first, last = architecture.position[arrays[0].name], architecture.position[arrays[-1].name]
    inside = False
    looped = False
    stored: dict[str, tuple[str, ...]] = {}
    resolved = iter(resolve_loops(mapping.nodes, layer))
    loops: list[Loop] = []
    for node in mapping.nodes:
        if isinstance(node, Store):
            position = architecture.position[node.memory]
            if first < position < last:
                raise refusal(f"memory '{node.memory}' lies between two arrays")
            if node.memory in stored:
                raise refusal(f"'{node.memory}' stores its tensors at several places")
            stored[node.memory] = node.tensors
            if position < first and looped:
                raise refusal(
                    f"'{node.memory}' holds tiles below loops, and directives let what lies "
                    "outside the processing elements hold whole tensors"
                )
            inside |= position > first
            continue
        loop = next(resolved)
        if loop.chunks == 1:
            continue
        if inside:
            raise refusal(
                f"the loop on {node.dimension} stands below a memory of the processing elements, "
                "of whose inside directives say nothing"
            )
        looped = True
        loops.append(Loop(loop.dimension, loop.extent, loop.tile, place_of(node)))
    for memory in architecture.memories:
        missing = set(storable(memory, layer)) - set(stored.get(memory.name, ()))
        if missing:
            names = ", ".join(t.name for t in layer.tensors if t.name in missing)
            raise refusal(f"'{memory.name}' is bypassed by {names}")
    return loops


def place_of(node: Node) -> tuple[str, str] | None:
    """Return array and axis of a spatial loop."""
    return (node.array, node.axis) if isinstance(node, Spatial) else None


def refusal(why: str) -> MappingError:
    """Return the error for a mapping that directives cannot express."""
    return MappingError(f"directives cannot express this mapping: {why}", key="mapping")


def directive_names(layer: Layer) -> dict[str, str]:
    """Return what directives call the dimensions of a layer."""
    names = {d: d for d in layer.dimensions}
    if {"M", "N", "K"} <= set(names):
        return names
    if "G" in names and "C" not in names:
        names["G"] = "C"
    transposed = {
        d
        for terms in layer.output.expressions
        if len(terms) > 1
        for t in terms
        for d in [t.dimension]
    }
    for axis, (output, _) in AXES.items():
        if output in names:
            names[output] = axis if output in transposed else f"{axis}'"
    return names

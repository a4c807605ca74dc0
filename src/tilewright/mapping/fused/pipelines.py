"""Layers of a tree that run at the same time, and the part of an array that each of them has."""

from __future__ import annotations

from collections.abc import Mapping as Dict
from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING

from tilewright.architecture.machine import Architecture, Memory
from tilewright.errors import MappingError
from tilewright.mapping.fused.connections.segments import Segment
from tilewright.mapping.fused.tree import Fuse
from tilewright.mapping.nodes import Mapping, Spatial, Store

if TYPE_CHECKING:
    from tilewright.mapping.fused.scopes import SharedLoop


@dataclass(frozen=True, eq=False)
class LayerPipeline:
    """Layers that run at the same time, each an iteration or more behind those that it reads from.

    Attributes
    ----------
    layers : tuple of str
        In the order of their branches.
    stage : mapping of str to int
        By layer how many iterations it is behind the first one.
    loops : tuple of SharedLoop
        The loops above, outermost first.
    entered : int
        How many of them stand above the list of nodes that the branches end: whenever one of these
        goes on, the pipeline has run empty and fills again.
    node : str
        Where it stands in the tree, for messages.
    """

    layers: tuple[str, ...]
    stage: Dict[str, int]
    loops: tuple[SharedLoop, ...]
    entered: int
    node: str

    @property
    def stages(self) -> int:
        """How many iterations are under way at most."""
        return 1 + max(self.stage.values())


@dataclass(frozen=True)
class Split:
    """How an array is split among layers that run at the same time.

    Attributes
    ----------
    array, axis : str
        Which array, and the axis along which the parts lie side by side.
    elements : mapping of str to int
        By layer how many elements along the axis it has.
    """

    array: str
    axis: str
    elements: Dict[str, int]

    def divides(self, level: str, architecture: Architecture) -> bool:
        """Whether each layer has instances of a level for itself: those inside of the array."""
        return architecture.position[level] > architecture.position[self.array]

    def shared_memories(self, architecture: Architecture) -> list[Memory]:
        """Return the memories that all of the layers use."""
        return [m for m in architecture.memories if not self.divides(m.name, architecture)]


def pipeline_of(
    fuse: Fuse, segment: Segment, loops: tuple[SharedLoop, ...], entered: int, path: str
) -> LayerPipeline:
    """Return the pipeline of branches that run at the same time.

    Raises
    ------
    MappingError
        When a branch has branches of its own.
    """
    stage: dict[str, int] = {}
    for i, branch in enumerate(fuse.branches):
        if branch.layer is None:
            raise MappingError(
                "the branches of a pipeline are layers: this one has branches of its own",
                key=f"{path}.fuse[{i}]",
            )
        before = [
            stage[e.producer.layer]
            for e in segment.exchanges
            if e.reader.layer == branch.layer and e.producer.layer in stage
        ]
        stage[branch.layer] = 1 + max(before, default=-1)
    return LayerPipeline(tuple(stage), stage, loops, entered, path)


def split_of(
    pipe: LayerPipeline, mappings: Dict[str, tuple[Mapping, Dict[str, int]]], machine: Architecture
) -> Split:
    """Return the split of the outermost array that has room for the layers side by side.

    Parameters
    ----------
    pipe : LayerPipeline
        The layers.
    mappings : mapping of str to (Mapping, extents)
        Of each layer its largest turn.
    machine : Architecture
        What they run on.

    Raises
    ------
    MappingError
        When no array may be split, or none has room for all of them.
    """
    wants = {layer: elements(*mappings[layer]) for layer in pipe.layers}
    lacking = ""
    for array in machine.arrays:
        for axis in array.split:
            found = {layer: own.get((array.name, axis), 1) for layer, own in wants.items()}
            needed = sum(found.values())
            if needed <= array.axes[axis]:
                return Split(array.name, axis, found)
            parts = " + ".join(map(str, found.values()))
            lacking += (
                f"; side by side on axis {axis} of '{array.name}' they need {parts} = {needed} "
                f"elements, it has {array.axes[axis]}"
            )
    if not lacking:
        lacking = (
            f": no array of '{machine.name}' may be split; an architecture file says 'split: [X]' "
            "in an array"
        )
    names = ", ".join(pipe.layers)
    raise MappingError(f"{names} cannot run at the same time{lacking}", key=pipe.node)


def elements(mapping: Mapping, extents: Dict[str, int]) -> dict[tuple[str, str], int]:
    """Return how many elements of each axis, (array, axis), a layer's spatial loops use."""
    left = dict(extents)
    chunks: dict[tuple[str, str], list[int]] = {}
    for node in mapping.nodes:
        if isinstance(node, Store):
            continue
        if isinstance(node, Spatial):
            own = chunks.setdefault((node.array, node.axis), [])
            own.append(-(-left[node.dimension] // node.tile))
        left[node.dimension] = node.tile
    return {place: prod(own) for place, own in chunks.items()}

"""Even mappings as mappings of Timeloop, version 0.4."""

from __future__ import annotations

from dataclasses import dataclass, field

from tilewright.architecture.machine import Architecture, Memory
from tilewright.errors import MappingError
from tilewright.interop.timeloop.writing import flow
from tilewright.mapping.nodes import For, Mapping, Spatial, Store
from tilewright.workload.layer import Layer


@dataclass(frozen=True)
class Bound:
    """A loop of a block.

    Attributes
    ----------
    dimension : str
        What it is over.
    bound, last : int
        Its iterations, and those of the last pass.
    axis : int
        0 along X, 1 along Y; 0 for temporal loops.
    """

    dimension: str
    bound: int
    last: int
    axis: int = 0

    def __str__(self) -> str:
        short = "" if self.last == self.bound else f",{self.last}"
        return f"{self.dimension}={self.bound}{short}"


@dataclass
class Block:
    """The loops at a level, outermost first."""

    temporal: list[Bound] = field(default_factory=list)
    spatial: list[Bound] = field(default_factory=list)


def mapping_text(mapping: Mapping, layer: Layer, machine: Architecture) -> str:
    """Return a mapping in Timeloop's notation.

    Raises
    ------
    MappingError
        When Timeloop cannot express it: several store nodes at one memory, memories out of order,
        two loops on a dimension in a row of loops, or short chunks inside others.
    """
    return Written(mapping, layer, machine).text()


class Written:
    """A mapping while it is written."""

    def __init__(self, mapping: Mapping, layer: Layer, machine: Architecture) -> None:
        self.mapping = mapping
        self.layer = layer
        self.machine = machine
        self.extents = dict(layer.bounds)
        self.stored: dict[str, tuple[str, ...]] = {}
        self.blocks: dict[str, Block] = {level.name: Block() for level in machine.levels[:-1]}
        self.at = machine.memories[0].name

    def text(self) -> str:
        """Return the text of a file."""
        for i, node in enumerate(self.mapping.nodes):
            if isinstance(node, Store):
                self.store(node, i)
            else:
                self.loop(node, i)
        self.rest()
        lines = ["mapping:"]
        for level in self.machine.levels[:-1]:
            block = self.blocks[level.name]
            if isinstance(level, Memory):
                kept = self.stored.get(level.name, ())
                names = [tensor.name for tensor in self.layer.tensors]
                lines += [
                    f"- target: {level.name}",
                    "  type: datatype",
                    f"  keep: {flow([name for name in names if name in kept])}",
                    f"  bypass: {flow([name for name in names if name not in kept])}",
                ]
            if block.temporal:
                lines += self.item(level.name, "temporal", block.temporal)
            if block.spatial:
                # along X first: permutations go from the inside out
                ordered = sorted(block.spatial, key=lambda loop: -loop.axis)
                lines += self.item(level.name, "spatial", ordered)
                lines.append(f"  split: {sum(loop.axis == 0 for loop in ordered)}")
        return "\n".join(lines) + "\n"

    def item(self, target: str, kind: str, loops: list[Bound]) -> list[str]:
        """Return the loops of a block; dimensions without a loop are the outermost."""
        inward = [loop.dimension for loop in reversed(loops)]
        inward += [name for name in self.layer.dimensions if name not in inward]
        own = {loop.dimension: str(loop) for loop in loops}
        factors = [own.get(name, f"{name}=1") for name in self.layer.dimensions]
        return [
            f"- target: {target}",
            f"  type: {kind}",
            f"  factors: {flow(factors)}",
            f"  permutation: {flow(inward)}",
        ]

    def store(self, node: Store, i: int) -> None:
        """Take a store node into account."""
        position = self.machine.position
        if node.memory in self.stored:
            if self.at != node.memory or self.blocks[node.memory].temporal:
                raise self.error(
                    f"'{node.memory}' has several store nodes, a memory of Timeloop has one", i
                )
            self.stored[node.memory] += node.tensors
            return
        if position[node.memory] < position[self.at]:
            raise self.error(
                f"'{node.memory}' stores inside '{self.at}'; levels of Timeloop go inward", i
            )
        self.at = node.memory
        self.stored[node.memory] = node.tensors

    def loop(self, node: For | Spatial, i: int) -> None:
        """Take a loop into account."""
        extent = self.extents[node.dimension]
        bound = -(-extent // node.tile)
        if bound == 1:
            return
        whole = self.layer.bounds[node.dimension]
        if extent % node.tile and extent != whole:
            raise self.error(
                f"the chunks of {node.dimension} are shorter at the end of each of several passes; "
                "in Timeloop only the last pass of all is shorter",
                i,
            )
        self.extents[node.dimension] = node.tile
        last = (whole - 1) // node.tile % bound + 1
        if isinstance(node, For):
            loop = Bound(node.dimension, bound, last)
            self.put(self.blocks[self.at].temporal, loop, i)
            if self.blocks[self.at].spatial:
                self.order(loop, i)
            return
        array = next(a for a in self.machine.arrays if a.name == node.array)
        position = self.machine.position
        if position[node.array] < position[self.at]:
            raise self.error(f"array '{node.array}' is outside '{self.at}'", i)
        self.at = node.array
        names = list(array.axes)
        axis = names.index(node.axis) if len(names) > 1 else 0
        self.put(self.blocks[node.array].spatial, Bound(node.dimension, bound, last, axis), i)

    def order(self, loop: Bound, i: int) -> None:
        """Refuse a temporal loop inside spatial ones on its dimension: Timeloop has it outside."""
        if any(other.dimension == loop.dimension for other in self.blocks[self.at].spatial):
            raise self.error(
                f"a temporal loop on {loop.dimension} stands inside a spatial one, with no memory "
                "in between; in Timeloop it stands outside",
                i,
            )

    def put(self, loops: list[Bound], loop: Bound, i: int) -> None:
        """Add a loop to those of a block."""
        if any(other.dimension == loop.dimension for other in loops):
            raise self.error(
                f"two loops on {loop.dimension} stand at '{self.at}', a level of Timeloop has one",
                i,
            )
        loops.append(loop)

    def rest(self) -> None:
        """Give what is left to the compute unit to the innermost level."""
        last = len(self.mapping.nodes) - 1
        block = self.blocks[self.at]
        for name, left in self.extents.items():
            if left == 1:
                continue
            extent = left
            own = [loop for loop in block.temporal if loop.dimension == name]
            if own:
                # nothing is stored in between: one loop is as good as two
                block.temporal.remove(own[0])
                extent = min(self.layer.bounds[name], left * own[0].bound)
            loop = Bound(name, extent, (self.layer.bounds[name] - 1) % extent + 1)
            if block.spatial:
                self.order(loop, last)
            block.temporal.append(loop)

    def error(self, message: str, i: int) -> MappingError:
        """Return the error about a node."""
        return MappingError(f"Timeloop cannot express it: {message}", key=f"mapping[{i}]")

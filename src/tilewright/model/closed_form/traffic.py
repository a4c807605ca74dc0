"""Which words make up which count: the stores of each tensor, written out as sums of queries."""

from __future__ import annotations

from collections.abc import Mapping as Dict
from dataclasses import dataclass, replace
from enum import Enum
from functools import cached_property
from itertools import pairwise

from tilewright.architecture.machine import Architecture, Array
from tilewright.mapping.nodes import For, Mapping, Spatial, Store
from tilewright.model.closed_form.words import F, G, H, J, S, T, U
from tilewright.workload.layer import Layer

Node = tuple[str, ...]


class Kind(Enum):
    """What a query asks about the tiles of a tensor below some loops."""

    MOVED = "words that move in, by the reuse rule"
    MISSING = "words that move in and that no instance of the array already holds"
    EVERY = "words of the tiles, anew in every step"
    DISTINCT = "words ever touched"
    PEAK = "words of the largest tile"
    STEPS = "steps in which some instance works"
    INSTANCES = "instances that ever work"


@dataclass(frozen=True)
class Query:
    """One sum over steps and instances, which the kernels compute.

    Attributes
    ----------
    kind : Kind
        What is summed.
    tensor : int
        Position of the tensor in the layer, -1 when it is about none.
    modes : tuple of int
        For each loop above the tile what it does to the words (S, U, F, J or T);
        G and H for loops below it, where only some of its words count.
    """

    kind: Kind
    tensor: int
    modes: tuple[int, ...]


Sum = Dict[Query, int]


def add(*terms: tuple[int, Sum]) -> Sum:
    """Return a weighted sum of sums of queries."""
    total: dict[Query, int] = {}
    for weight, term in terms:
        for query, times in term.items():
            total[query] = total.get(query, 0) + weight * times
    return {query: times for query, times in total.items() if times}


@dataclass(frozen=True)
class Structure:
    """A mapping without its tile sizes.

    Attributes
    ----------
    nodes : tuple
        Its nodes, with every tile size set to 1.
    """

    nodes: tuple[Store | For | Spatial, ...]

    @classmethod
    def of(cls, mapping: Mapping) -> Structure:
        """Return the structure of a mapping."""
        return cls(
            tuple(
                node
                if isinstance(node, Store)
                else For(node.dimension, 1)
                if isinstance(node, For)
                else Spatial(node.dimension, 1, node.axis, node.array)
                for node in mapping.nodes
            )
        )

    @cached_property
    def loops(self) -> tuple[For | Spatial, ...]:
        """The loop nodes, outermost first."""
        return tuple(node for node in self.nodes if not isinstance(node, Store))


def with_tiles(mapping: Mapping, tiles: list[int]) -> Mapping:
    """Return a mapping with other tile sizes, given outermost first."""
    rest = iter(tiles)
    return Mapping(
        tuple(
            node if isinstance(node, Store) else replace(node, tile=next(rest))
            for node in mapping.nodes
        )
    )


@dataclass(frozen=True)
class Link:
    """Two consecutive stores of a tensor, or the innermost one and the compute unit.

    Attributes
    ----------
    parent, child : str
        Levels that send and receive an input (collect and accumulate an output).
    loops : int
        Loops above the child's tile, the residual ones included for the compute unit.
    """

    parent: str
    child: str
    loops: int


def links(
    layer: Layer, architecture: Architecture, structure: Structure, tensor: str
) -> list[Link]:
    """Return the links of a tensor, outermost first."""
    stores: list[tuple[str, int]] = []
    loops = 0
    for node in structure.nodes:
        if not isinstance(node, Store):
            loops += 1
        elif tensor in node.tensors:
            stores.append((node.memory, loops))
    stores.append((architecture.compute.name, loops + len(layer.dimensions)))
    return [Link(a, b, n) for (a, _), (b, n) in pairwise(stores)]


class Traffic:
    """The sums of queries behind the counts of a mapping structure.

    With `fresh` the output starts from zero; otherwise the outermost memory already holds partial
    sums of all its words.
    """

    def __init__(
        self,
        layer: Layer,
        architecture: Architecture,
        structure: Structure,
        *,
        fresh: bool = True,
    ) -> None:
        self.layer = layer
        self.fresh = fresh
        self.architecture = architecture
        position = architecture.position
        # level of each loop's array; temporal and residual loops have none
        self._array = [
            position[node.array] if isinstance(node, Spatial) else -1 for node in structure.loops
        ] + [-1] * len(layer.dimensions)
        self._links = {
            tensor.name: links(layer, architecture, structure, tensor.name)
            for tensor in layer.tensors
        }
        self._between = {
            (link.parent, link.child): [
                level
                for level in architecture.levels[position[link.parent] : position[link.child]]
                if isinstance(level, Array)
            ]
            for chain in self._links.values()
            for link in chain
        }

    def _modes(self, loops: int, united: frozenset[int], only: int, joined: int) -> tuple[int, ...]:
        """Return what each loop does: those of arrays above `only` stay at their first chunk."""
        return tuple(
            T
            if array < 0
            else F
            if array < only
            else U
            if array in united
            else J
            if array > joined
            else S
            for array in self._array[:loops]
        )

    def _sum(self, tensor: int, link: Link, united: frozenset[int], only: int, held: bool) -> Sum:
        position = self.architecture.position
        if link.child == self.architecture.compute.name:
            kind = Kind.EVERY
        else:
            kind = Kind.MISSING if held else Kind.MOVED
        joined = position[link.parent] if kind is Kind.MISSING else len(position)
        return {Query(kind, tensor, self._modes(link.loops, united, only, joined)): 1}

    def _united(self, link: Link, output: bool, inside: int = -1) -> frozenset[int]:
        """Return the arrays of a link from level `inside` inward that unite words."""
        position = self.architecture.position
        return frozenset(
            position[array.name]
            for array in self._between[link.parent, link.child]
            if (array.reduction if output else array.multicast) and position[array.name] >= inside
        )

    def _only(self, level: str | None) -> int:
        return -1 if level is None else self.architecture.position[level]

    def _forwards(self, link: Link) -> bool:
        return any(array.forwarding for array in self._between[link.parent, link.child])

    def _reduces(self, link: Link) -> bool:
        return all(array.reduction for array in self._between[link.parent, link.child])

    def _input(self, tensor: int, link: Link, only: int) -> tuple[Sum, Sum]:
        """Return the words that the parent sends and those that the children receive."""
        sent = self._sum(tensor, link, self._united(link, False), only, self._forwards(link))
        return sent, self._sum(tensor, link, frozenset(), only, False)

    def _distinct(self, tensor: int, only: int) -> Sum:
        if not self.fresh:
            return {}
        modes = self._modes(len(self._array), frozenset(), only, len(self._array))
        if F not in modes:
            modes = ()
        return {Query(Kind.DISTINCT, tensor, modes): 1}

    def _output(self, only: int) -> list[tuple[Sum, Sum, Sum, Sum]]:
        """Return for each link reads and writes of the parent, reads and writes of the child."""
        tensor = len(self.layer.tensors) - 1
        zero = self._distinct(tensor, only)
        sums: list[tuple[Sum, Sum, Sum, Sum]] = []
        for link in self._links[self.layer.output.name]:
            enter = self._sum(tensor, link, self._united(link, True), only, False)
            enter_all = self._sum(tensor, link, frozenset(), only, False)
            partial = add((1, enter), (-1, zero))
            if link.child == self.architecture.compute.name:
                sums.append((partial, enter, {}, {}))
            elif self._reduces(link):
                sums.append((partial, enter, enter_all, partial))
                zero = add((1, enter_all), (-1, partial))
            else:
                sums.append((partial, enter, enter_all, {}))
                zero = self._entering_first(tensor, link, only)
        return sums

    def _entering_first(self, tensor: int, link: Link, only: int) -> Sum:
        """Return the words that enter the child, of those that the first instance ever touches.

        A child outside level `only` holds words of that level's other instances as well.
        """
        position = self.architecture.position
        above = self._modes(link.loops, frozenset(), only, len(position))
        below = tuple(G if -1 < array < only else H for array in self._array[link.loops :])
        modes = above + below if G in below else above
        return {Query(Kind.MOVED, tensor, modes): 1}

    def memory(self, memory: str, tensor: str, alone: bool) -> tuple[Sum, Sum]:
        """Return reads and writes of a tensor at a memory, of its first instance `alone` or all."""
        only = self._only(memory) if alone else -1
        number = [t.name for t in self.layer.tensors].index(tensor)
        chain = self._links[tensor]
        reads: Sum = {}
        writes: Sum = {}
        if not any(memory in (link.parent, link.child) for link in chain):
            return reads, writes
        sums = self._output(only) if self.layer.tensors[number].is_output else []
        for i, link in enumerate(chain):
            if memory not in (link.parent, link.child):
                continue
            if sums:
                up_reads, up_writes, down_reads, down_writes = sums[i]
            else:
                up_reads, down_writes = self._input(number, link, only)
                up_writes, down_reads = {}, {}
            if link.parent == memory:
                reads, writes = add((1, reads), (1, up_reads)), add((1, writes), (1, up_writes))
            else:
                reads, writes = add((1, reads), (1, down_reads)), add((1, writes), (1, down_writes))
        return reads, writes

    def network(self, array: str, tensor: str, alone: bool) -> tuple[Sum, Sum]:
        """Return words and hops of a tensor at an array, of its first instance `alone` or all."""
        only = self._only(array) if alone else -1
        at = self.architecture.position[array]
        number = [t.name for t in self.layer.tensors].index(tensor)
        output = self.layer.tensors[number].is_output
        for i, link in enumerate(self._links[tensor]):
            if not any(a.name == array for a in self._between[link.parent, link.child]):
                continue
            held = not output and self._forwards(link)
            words = self._sum(number, link, self._united(link, output, at), only, held)
            hops = self._sum(number, link, self._united(link, output, at + 1), only, False)
            if output:
                refetch = self._output(only)[i][3]
                return add((1, words), (1, refetch)), add((1, hops), (1, refetch))
            return words, hops
        return {}, {}

    def peak(self, memory: str, tensor: str) -> Sum:
        """Return the largest tile of a tensor at a memory."""
        loops = 0
        for chain_link in self._links[tensor]:
            if chain_link.parent == memory:
                break
            loops = chain_link.loops
        else:
            return {}
        number = [t.name for t in self.layer.tensors].index(tensor)
        return {Query(Kind.PEAK, number, tuple(self._modes(loops, frozenset(), -1, -1))): 1}

    def instances(self, level: str) -> Sum:
        """Return the instances of a level that ever work."""
        at = self.architecture.position[level]
        modes = tuple(T if array < 0 else S if array < at else F for array in self._array)
        return {Query(Kind.INSTANCES, -1, modes): 1}

    def steps(self) -> Sum:
        """Return the steps in which some compute unit works."""
        return {Query(Kind.STEPS, -1, tuple(T if array < 0 else U for array in self._array)): 1}

"""What a layer of a segment costs at least in any tree: that of a layer by itself, priced anew.

Take out of a tree what concerns one layer: the shared loops around it, where these hold its
tensors, and its branch. With the exchanged tensors stored in the outermost memory as well, that is
a mapping of the layer by itself. It moves as much as the layer does in the tree, but for three
things, which prices and a constant account for:

- An exchanged tensor moves between the outermost memory and the one that holds it, which it does
  not in the tree. All loops above that place are relevant to it, so each word moves once. Whatever
  that costs is taken off again. So it may be dear: then mappings that move words more often, which
  no tree has, cost more than they do otherwise. And the tensor has to be stored in the memory that
  holds it.
- What a tree holds for several layers moves once for all of them. With n readers, each of them
  bears one n-th of the price: what all of them bear is no more than the tree pays.
- A tree may begin more often with empty memories. That makes the tree dearer.

So a tree costs no less than the best such mappings of its layers, together. That holds with groups
inside of groups, and for energy without leakage, where costs add up. Windows make tiles of an
exchanged tensor overlap, so it holds without loops over these.

Other objectives multiply what each layer costs. There, each is bounded for itself: by its energy,
if others bear all of what it shares with them, and by its steps, whatever ports let through.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields, replace
from math import inf
from typing import NamedTuple

from tilewright.architecture.machine import Architecture, Array, Memory
from tilewright.mapper.fused.search.branch import BranchSearch
from tilewright.mapper.fused.space.segment_problem import SegmentProblem
from tilewright.mapper.network.solution_key import likeness
from tilewright.mapper.objective.objective import parse_objective
from tilewright.mapper.relaxations.stays.least_cost import Least
from tilewright.mapper.search.all_sizes.all_tile_sizes import with_all_sizes
from tilewright.mapper.search.search import Search
from tilewright.model.energy import read_cost, write_cost
from tilewright.workload.footprint import footprint
from tilewright.workload.layer import Layer

DEAR = 10.0  # of which a word of an exchanged tensor costs as much as otherwise


class Terms(NamedTuple):
    """On what terms a layer of a segment has a tensor.

    Attributes
    ----------
    through : int
        Position of the memory that holds it as it is exchanged; 0 for one from outside.
    readers : float
        How many uses of it the segment may serve with one tile; infinite where others may bear all
        of that.
    tiles : int
        Tiles as large as its own that the memory holds while the layer runs.
    """

    through: int = 0
    readers: float = 1
    tiles: int = 1


@dataclass(frozen=True)
class PricedMemory(Memory):
    """A memory in which words of some tensors have other prices, or take more room.

    Attributes
    ----------
    factors : tuple of (str, float, float)
        Names of tensors, and what their reads and writes cost times as much.
    tiles : tuple of (str, int)
        Names of tensors, and how many tiles of that size there are.
    """

    factors: tuple[tuple[str, float, float], ...] = ()
    tiles: tuple[tuple[str, int], ...] = ()

    def read_price(self, tensor: str) -> float:
        """Return the pJ of a word of a tensor that is read."""
        return self.read_energy * next((r for name, r, _ in self.factors if name == tensor), 1.0)

    def write_price(self, tensor: str) -> float:
        """Return the pJ of a word of a tensor that is written."""
        return self.write_energy * next((w for name, _, w in self.factors if name == tensor), 1.0)

    def bits_held(self, tensor: str, bits: int | None) -> int:
        """Return the bits that a word of a tile takes, and of those beside it."""
        beside = next((n for name, n in self.tiles if name == tensor), 1)
        return super().bits_held(tensor, bits) * beside


@dataclass(frozen=True)
class Apart:
    """A layer of a segment that is bounded by itself.

    Attributes
    ----------
    layer : Layer
    architecture : Architecture
    holders : tuple of int
        Positions of the memories that shared loops may hold tensors in.
    terms : tuple of Terms
        Of each tensor.
    """

    layer: Layer
    architecture: Architecture
    holders: tuple[int, ...]
    terms: tuple[Terms, ...]

    @property
    def key(self) -> object:
        """What tells apart layers with different bounds, on one machine."""
        return likeness(self.layer), self.terms

    def priced(self, *, keeping: bool = False) -> Architecture:
        """Return the machine with its new prices; with `keeping`, memories keep what they hold."""
        levels = [
            level if isinstance(level, Array) else replace(level, leakage=0.0)
            for level in self.architecture.levels
        ]
        for m in (0, *self.holders):
            memory = self.architecture.memories[m]
            factors = tuple(
                (tensor.name, *self.factors(m, own))
                for tensor, own in zip(self.layer.tensors, self.terms, strict=True)
            )
            tiles = tuple(
                (tensor.name, own.tiles)
                for tensor, own in zip(self.layer.tensors, self.terms, strict=True)
                if own.through == m > 0
            )
            same = {each.name: getattr(memory, each.name) for each in fields(Memory)}
            if keeping and m > 0:
                same["must_keep"] = memory.must_keep | self.roles_through(m)
            same["leakage"] = 0.0
            at = next(i for i, own in enumerate(self.architecture.levels) if own is memory)
            levels[at] = PricedMemory(**same, factors=factors, tiles=tiles)
        return replace(self.architecture, levels=tuple(levels))

    def roles_through(self, m: int) -> frozenset[str]:
        """Return the roles of which all tensors are exchanged through a memory."""
        own = [
            (t.role, terms.through) for t, terms in zip(self.layer.tensors, self.terms, strict=True)
        ]
        return frozenset(
            role
            for role, at in own
            if at == m and {(role, m)} == {other for other in own if other[0] == role}
        )

    def factors(self, m: int, terms: Terms) -> tuple[float, float]:
        """Return what reads and writes of a tensor cost times as much in a memory."""
        share = 1.0 / terms.readers
        if m == 0:
            return (DEAR, DEAR) if terms.through else (share, share)
        # what the innermost holder sends, it sends to one layer
        return (1.0 if m == max(self.holders) else share), share

    def exchanged(self, machine: Architecture) -> float:
        """Return the pJ of what moves on behalf of exchanged tensors in no tree."""
        total = 0.0
        outermost = machine.memories[0]
        for tensor, terms in zip(self.layer.tensors, self.terms, strict=True):
            if terms.through:
                holder = machine.memories[terms.through]
                words = footprint(tensor, self.layer.bounds)
                if tensor.is_output:
                    total += words * (write_cost(outermost, tensor) + read_cost(holder, tensor))
                else:
                    total += words * (read_cost(outermost, tensor) + write_cost(holder, tensor))
        return total


def layers_apart(problem: SegmentProblem, *, each: bool = False) -> Iterator[list[Apart]]:
    """Yield each layer of a segment on all terms that it may have: one of them is those of a tree.

    A layer that neither exchanges nor shares anything has the terms of a layer by itself. With
    `each`, the terms bound each layer for itself, not only all of them together.
    """
    for i, layer in enumerate(problem.layers):
        options = []
        for t in range(len(layer.tensors)):
            tile = problem.tiles[problem.tile_at[i, t]]
            readers: float = 1 if layer.tensors[t].is_output else len(tile.uses) - tile.made
            if each and readers > 1:
                readers = inf
            places = tile.memories if tile.intermediate else (0,)
            tiles = 1 + len(beside(problem, (i, t)))
            options.append([Terms(m, readers, tiles) for m in places])
        yield [
            Apart(layer, problem.architecture, tuple(problem.holders), terms)
            for terms in itertools.product(*options)
        ]


def beside(problem: SegmentProblem, use: tuple[int, int]) -> set[int]:
    """Return tiles that are held, no smaller, in the same memory beside one that a layer uses.

    One layer reads both, in the same way, so that they are equal below the same loops. The other
    one is held from before this layer to after the last one that uses the first: so a group that
    has all of its layers has those of the first, too, and the first is no further out.
    """
    own = problem.tiles[problem.tile_at[use]]
    found: set[int] = set()
    if not own.intermediate or len(own.memories) > 1:
        return found
    last = max(j for j, _ in own.uses)
    first = min(j for j, _ in own.uses)
    for n in problem.intermediates:
        other = problem.tiles[n]
        users = [j for j, _ in other.uses]
        if other.memories != own.memories or use[0] in users:
            continue
        if not (min(users) <= first and last <= max(users)):
            continue
        if any(
            one[0] == two[0] and same_words(problem, (one, two, use))
            for one in own.uses[1:]
            for two in other.uses[1:]
        ):
            found.add(n)
    return found


def same_words(problem: SegmentProblem, uses: tuple[tuple[int, int], ...]) -> bool:
    """Whether the first two of some uses are of the same words, all of as many bits."""
    one, two, *_ = tensors = [problem.tensor(use) for use in uses]
    return one.expressions == two.expressions and len({tensor.bits for tensor in tensors}) == 1


def least_apart(question: Apart, stop: Callable[[], bool]) -> float:
    """Return what a layer costs at least in any tree, in pJ."""
    machine = question.priced()
    search = BranchSearch(question.layer, machine, parse_objective("energy"), 1.0)
    room = tuple(inf if m.capacity_bits is None else m.capacity_bits for m in machine.memories)
    through = tuple(terms.through for terms in question.terms)
    found = search.best_in((0,) * len(through), room, stop, through=through)
    return found.bound - question.exchanged(machine)


def fewest_steps(layer: Layer, machine: Architecture) -> float:
    """Return the cycles that a layer takes at least in any tree, whatever ports let through."""
    return float(Least(layer, machine).cycles.min())


def least_of_all_sizes(question: Apart, stop: Callable[[], bool]) -> float:
    """Return what a layer costs at least in any tree of any tile sizes, in pJ.

    Of trees in which it runs as a regular mapping.
    """
    machine = question.priced(keeping=True)
    divided = Search(question.layer, machine, "energy").solve(stop)
    found = with_all_sizes(question.layer, machine, "energy", divided, stop)
    return found.bound - question.exchanged(machine)

"""What a network costs in total with any of the mappings that were found for its parts.

A run of a part is divided into segments and layers by themselves as one of the searches has chosen
them. Each segment takes any tree that was found for it at any price, or its layers stay by
themselves after all; each of those takes any mapping that was found. Runs choose independently.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from math import inf
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tilewright.fusion.evaluation import evaluate as evaluate_fused
from tilewright.mapper.fused.results.result import FusedResult, Unfused
from tilewright.mapper.fused.results.segment_result import SegmentResult
from tilewright.mapper.fused.search.trees import exchanged
from tilewright.mapper.fused.space.partition import Names, Part, in_order
from tilewright.mapper.fused.trade_offs.priced_search import PricedSearch, Tree, priced
from tilewright.mapper.network.front_totals import Sums, added, repeated, undominated
from tilewright.mapper.objective.objective import parse_objective
from tilewright.mapper.results.result import LayerResult

MOST = 2_000  # totals that are kept; beyond that they are thinned


@dataclass(frozen=True)
class Piece:
    """A mapping of a segment, or of a layer by itself, that some runs of a part may take.

    Attributes
    ----------
    part : Part
    names : Names
        Of the layers.
    chosen : Tree or LayerResult
    """

    part: Part
    names: Names
    chosen: Tree | LayerResult

    @property
    def fused(self) -> bool:
        """Whether it is of a segment."""
        return isinstance(self.chosen, Tree)

    @property
    def cost(self) -> tuple[float, float]:
        """Energy in pJ and cycles of one run."""
        if isinstance(self.chosen, Tree):
            return self.chosen.energy, self.chosen.cycles
        return self.chosen.evaluation.energy_pj, self.chosen.evaluation.cycles


@dataclass(frozen=True)
class PooledTotals:
    """The totals of a network that none of the others beats in both energy and cycles.

    Attributes
    ----------
    known : PricedSearch
    pieces : tuple of Piece
    sums : Sums
        Their picks say how many runs take each of the pieces.
    """

    known: PricedSearch
    pieces: tuple[Piece, ...]
    sums: Sums

    def taken(self, row: int) -> Iterator[tuple[Piece, int]]:
        """Yield the pieces of one of the totals, and how many runs take each."""
        for at in np.flatnonzero(self.sums.picks[row]).tolist():
            yield self.pieces[at], int(self.sums.picks[row, at])

    def fused_layers(self, row: int) -> int:
        """Return how many runs of layers share loops with others."""
        return sum(len(own.names) * runs for own, runs in self.taken(row) if own.fused)

    def outline(self, row: int) -> dict[str, Any]:
        """Return which layers are fused with each other, as plain data."""
        return {
            "variant": self.known.network.name,
            "segments": [
                {"layers": sorted(own.names), "repeat": runs}
                for own, runs in self.taken(row)
                if own.fused
            ],
        }

    def result(self, row: int, objective: str, bound: float) -> FusedResult:
        """Return one of the totals as a mapping of the network, and what nothing undercuts.

        What is minimised is energy or cycles.
        """
        known = self.known
        price = 0.0 if parse_objective(objective).powers == (1.0, 0.0) else inf
        segments: list[SegmentResult] = []
        layers: Counter[int] = Counter()
        results: dict[int, LayerResult] = {}
        for piece, runs in self.taken(row):
            if isinstance(piece.chosen, Tree):
                segments.append(self.segment(piece, piece.chosen, runs, price))
            else:
                results[id(piece.chosen)] = piece.chosen
                layers[id(piece.chosen)] += runs
        return FusedResult(
            network=known.network,
            architecture=known.architecture,
            objective=objective,
            layers=known.at(price).alone.layers,
            seconds=0.0,
            interrupted=False,
            segments=tuple(segments),
            unfused=tuple(
                Unfused(known.valued(results[own], price), runs) for own, runs in layers.items()
            ),
            bound=bound,
            most_layers=known.first.most_layers(),
        )

    def segment(self, piece: Piece, tree: Tree, runs: int, price: float) -> SegmentResult:
        """Return a segment that so many runs of its part have, as the search at a price does."""
        known, first = self.known, self.known.first
        segment = replace(first.segments[piece.names], repeat=runs)
        mapping = known.tree_of(first, piece.names, tree.candidate)
        own = [piece.part.layer_of[layer.name] for layer in segment.layers]
        planes = known.of_segments[first.group[piece.names][0][1]]
        value = priced(tree.energy, tree.cycles, price)
        return SegmentResult(
            segment=segment,
            mapping=mapping,
            evaluation=evaluate_fused(segment, known.architecture, mapping, check=False),
            alone=tuple(known.at(price).search.alone[layer] for layer in own),
            exchanged=tuple(exchanged(segment, mapping, known.architecture)),
            value=value,
            lower_bound=min(planes.at(price), value),
            seconds=0.0,
        )


Way = list[list[Piece]]
"""Pieces of which one is taken, of a segment, or of each of some layers."""


def totals_of(known: PricedSearch) -> PooledTotals:
    """Return the totals of all that is known."""
    groups = [list(packings(known, at)) for at in range(len(known.first.parts))]
    pieces = [
        piece
        for packs in groups
        for pack in packs
        for ways in pack
        for way in ways
        for own in way
        for piece in own
    ]
    fronts = Fronts(len(pieces))
    result: Sums | None = None
    for part, packs in zip(known.first.parts, groups, strict=True):
        sums = [
            fronts.sum_of([united(fronts.of_way(way) for way in ways) for ways in pack])
            for pack in packs
            if pack
        ]
        if sums:
            runs = repeated(united(sums), part.repeat, MOST)
            result = runs if result is None else added(result, runs, MOST)
    assert result is not None
    return PooledTotals(known, tuple(pieces), result[np.arange(len(result))[::-1]])


def packings(known: PricedSearch, at: int) -> Iterator[list[list[Way]]]:
    """Yield each way to divide a part that a search has chosen: of each segment, its ways."""
    part = known.first.parts[at]
    seen: set[frozenset[Names]] = set()
    for found in known.found.values():
        sets = frozenset(found.search.chosen(found.search.parts[at]))
        if sets in seen:
            continue
        seen.add(sets)
        fused = frozenset[str]().union(*sets)
        pack = []
        for names in in_order(part, sets):
            trees = known.trees[known.first.group[names][0][1]]
            apart = [alone(known, part, name) for name in part.names if name in names]
            pack.append([[[Piece(part, names, tree) for tree in trees]], apart])
        pack += [[[alone(known, part, name)]] for name in part.names if name not in fused]
        yield pack


def alone(known: PricedSearch, part: Part, name: str) -> list[Piece]:
    """Return the mappings of a layer by itself."""
    layers = known.layers[part.layer_of[name]]
    return [Piece(part, frozenset((name,)), own) for own in layers]


class Fronts:
    """Makes sums of pieces, which are numbered in the order in which they come."""

    def __init__(self, width: int) -> None:
        self.width = width
        self.start = 0

    def of_way(self, way: Way) -> Sums:
        """Return what pieces cost together of which one is taken in each list."""
        return self.sum_of([self.of_pieces(own) for own in way])

    def of_pieces(self, pieces: Sequence[Piece]) -> Sums:
        """Return what pieces cost of which one is taken."""
        energy, cycles = np.array([piece.cost for piece in pieces], np.float64).T
        picks: NDArray[np.int32] = np.zeros((len(pieces), self.width), np.int32)
        picks[np.arange(len(pieces)), self.start + np.arange(len(pieces))] = 1
        self.start += len(pieces)
        return undominated(Sums(energy, cycles, picks))

    def sum_of(self, fronts: Sequence[Sums]) -> Sums:
        """Return the sums of one point of each front."""
        return reduce(lambda one, two: added(one, two, MOST), fronts)


def united(fronts: Iterable[Sums]) -> Sums:
    """Return the sums of which one is taken."""
    every = list(fronts)
    return undominated(
        Sums(
            np.concatenate([own.energy for own in every]),
            np.concatenate([own.cycles for own in every]),
            np.concatenate([own.picks for own in every]),
            max(own.tolerance for own in every),
        )
    )

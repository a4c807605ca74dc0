"""Trees whose tile sizes need not divide, after those that do.

Each segment is searched once more with rounder bounds, and the tree is cut down to the true ones.
Then tile sizes of what is fused are changed one by one as long as that helps. All these trees cost
at least what each of their layers costs in any tree.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from math import inf
from typing import TYPE_CHECKING

from tilewright.errors import InputError
from tilewright.fusion.evaluation import evaluate
from tilewright.mapper.fused.search.apart import Apart
from tilewright.mapper.fused.search.trees import tree_of
from tilewright.mapper.fused.segment_task import Answer, Outcome, Task
from tilewright.mapper.fused.space.partition import Names
from tilewright.mapper.fused.space.rounder_segments import (
    cut_down,
    rounder_segment,
    tiles_of,
    with_tiles,
)
from tilewright.mapper.fused.space.segment_problem import SegmentProblem
from tilewright.mapper.objective.objective import parse_objective
from tilewright.mapper.objective.tolerances import TIE
from tilewright.mapping.fused import FusedMapping, Segment

if TYPE_CHECKING:
    from tilewright.mapper.fused.network_search import FusedNetworkSearch

TOLERANCE = 0.02  # by how much trees of rounder bounds may be worse than the best ones
NEARBY = ((1, 2), (2, 3), (3, 4), (4, 5), (5, 4), (4, 3), (3, 2), (2, 1))


def tree_from(segment: Segment, search: FusedNetworkSearch, outcome: Outcome) -> FusedMapping:
    """Return the tree that a search of a segment, or of one that is alike, has found."""
    assert outcome.best is not None
    own = rounder_segment(segment) if outcome.rounder else segment
    assert own is not None
    tree = tree_of(SegmentProblem(own, search.architecture), outcome.best)
    if outcome.rounder:
        tree = cut_down(tree, segment)
    return tree if outcome.tiles is None else with_tiles(tree, outcome.tiles)


class AllSizes:
    """What is done for trees of all tile sizes, given what is known of those that divide.

    Parameters
    ----------
    search : FusedNetworkSearch
        It takes over what is found.
    """

    def __init__(self, search: FusedNetworkSearch) -> None:
        self.search = search
        self.goal = parse_objective(search.objective)
        self.least: dict[object, float] = {}  # of layers by themselves, as trees have them

    def only_floors(self) -> None:
        """Replace bounds that hold for tile sizes that divide alone."""
        search = self.search
        for names in search.every_kind():
            known, floor = search.outcomes[names], search.unsearched(search.segments[names]).bound
            if every := search.ways_apart(names, shared=False):
                least = sum(search.least_apart(ways, self.least) for ways in every)
                floor = max(floor, least)
            search.learn(names, replace(known, bound=min(floor, known.value), least=floor))

    def questions(self) -> list[Apart]:
        """Return the layers that are bounded by themselves."""
        search = self.search
        kinds = (search.ways_apart(names, shared=False) for names in search.every_kind())
        every = (way for kind in kinds for ways in kind for way in ways)
        return list({way.key: way for way in every}.values())

    def tasks(self) -> dict[Names, Task]:
        """Return what there is to search of segments with rounder bounds."""
        search = self.search
        found = {}
        for names in search.every_kind():
            segment = search.segments[names]
            larger = rounder_segment(segment)
            if larger is None or not SegmentProblem(larger, search.architecture).possible:
                continue
            operations = (sum(x.operations for x in own.layers) for own in (larger, segment))
            growth = next(operations) / next(operations)
            found[names] = Task(
                segment=larger,
                architecture=search.architecture,
                objective=search.objective,
                tolerance=TOLERANCE,
                most=search.most(names) * growth ** sum(self.goal.powers),
                alone=search.least_alone(segment),
                earlier=Outcome(None, inf, 0.0, searched=False),
            )
        return found

    def learn(self, names: Names, answer: Answer) -> None:
        """Take over the tree of rounder bounds if it is better once it is cut down."""
        search, found = self.search, answer.outcome
        if found.best is None:
            return
        known = search.outcomes[names]
        tried = replace(known, best=found.best, rounder=True, tiles=None)
        tree = tree_from(search.segments[names], search, tried)
        self.keep(names, replace(tried, tiles=tuple(tiles_of(tree))), tree)

    def keep(self, names: Names, tried: Outcome, tree: FusedMapping) -> None:
        """Take over a tree if it is better than what is known."""
        value = self.cost(self.search.segments[names], tree)
        if value < self.search.outcomes[names].value * (1 - TIE):
            self.search.learn(names, replace(tried, value=value))

    def change_tiles(self, names: Names, stop: Callable[[], bool]) -> None:
        """Change single tile sizes of a tree, as long as one of them makes it better."""
        search, known = self.search, self.search.outcomes[names]
        segment = search.segments[names]
        tree = tree_from(segment, search, known)
        tiles, value, since, at = tiles_of(tree), known.value, 0, 0
        try:
            while since < len(tiles) and not stop():
                better = False
                for size in nearby(tiles[at]):
                    tried = [*tiles[:at], size, *tiles[at + 1 :]]
                    cost = self.cost(segment, with_tiles(tree, tried))
                    if cost < value * (1 - TIE):
                        tiles, value, better = tried, cost, True
                    if stop():
                        break
                since = 0 if better else since + 1
                at = (at + 1) % len(tiles)
        finally:  # Ctrl-C loses nothing
            if value < known.value:
                search.learn(names, replace(known, tiles=tuple(tiles), value=value))

    def cost(self, segment: Segment, tree: FusedMapping) -> float:
        """Return what is minimised; infinite where the tree cannot be carried out."""
        try:
            found = evaluate(segment, self.search.architecture, tree)
        except InputError:
            return inf
        return sum(self.goal.value(own.energy_pj, own.cycles) for own in found.layers.values())


def nearby(size: int) -> Sequence[int]:
    """Return other sizes of a tile that are worth a try."""

    def sizes() -> Iterator[int]:
        yield from (size - 1, size + 1)
        for a, b in NEARBY:
            yield -(-size * a // b)

    return [other for other in dict.fromkeys(sizes()) if other > 0 and other != size]

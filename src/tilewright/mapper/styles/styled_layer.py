"""One layer in the styles that leave it the same mappings: the best of them, or a bound."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from math import inf
from time import perf_counter

from tilewright.architecture.machine import Architecture
from tilewright.kernels.types import Floats
from tilewright.mapper.bounds.plan import Plan
from tilewright.mapper.network.cache import Cache
from tilewright.mapper.network.solved_layers import Searched, SolvedLayers
from tilewright.mapper.problem.bypass_choices import KeepChoice, narrowed
from tilewright.mapper.problem.space_size import mappings_in_space
from tilewright.mapper.results.dataflow import dataflow
from tilewright.mapper.results.result import LayerResult
from tilewright.mapper.search.label_walk import walk_labels
from tilewright.mapper.search.questions.restricted import stationary_alone
from tilewright.mapper.search.search import Search
from tilewright.mapper.styles.style import Style
from tilewright.workload.layer import Layer

SLACK = 1.1  # how far above its bound the best mapping is looked for at first
MOST_SLACK = 1e3
DIVES = 8  # bypass choices that are tried for any mapping, those of the least bounds first
WORTH = 0.1  # seconds of a search whose result is kept


class StyledLayer:
    """A layer in the styles that leave it the same mappings.

    Parameters
    ----------
    layer : Layer
        What is computed.
    style : Style
        One of the styles.
    architecture, objective, cache
        As for `uniform.map_uniform`.
    keeps : sequence of KeepChoice
        All bypass choices of the layer.
    least : array of bypass choices
        No mapping of each that is in the style has a lower objective.
    pair : (float, float)
        Energy (pJ) and cycles that none of them undercuts.
    floor : float
        No mapping of the layer has a lower objective.

    Attributes
    ----------
    result : LayerResult or None
        The best mapping, once it is known.
    searched : Searched or None
        The search that has found it, or some mapping before it was stopped.
    slack : float
        How far above its bound the best mapping is looked for next.
    """

    def __init__(
        self,
        layer: Layer,
        style: Style,
        architecture: Architecture,
        objective: str,
        cache: Cache | None,
        keeps: Sequence[KeepChoice],
        least: Floats,
        pair: tuple[float, float],
        floor: float,
    ) -> None:
        self.layer, self.style, self.architecture = layer, style, architecture
        self.objective, self.cache = objective, cache
        self.keeps, self.least, self.pair, self.floor = keeps, least, pair, floor
        self.machine = style.machine(architecture)
        self.held = style.held(layer)
        options = {} if self.held is None else {"stationary": self.held}
        self.solved = SolvedLayers(cache, self.machine, objective, options)
        self.slack = SLACK
        self.searched: Searched | None = None
        self.result: LayerResult | None = None

    @property
    def bound(self) -> float:
        """No mapping has a lower objective; infinite when there is none."""
        if self.result is not None:
            return self.result.proof.lower_bound
        return max(self.floor, float(self.least.min()))

    @property
    def known_pair(self) -> tuple[float, float]:
        """Energy (pJ) and cycles of the best mapping, or what they are at least."""
        if self.result is not None and self.result.proof.optimal:
            cost = self.result.evaluation
            return float(cost.energy_pj), float(cost.cycles)
        return self.pair

    def heir(self, style: Style) -> StyledLayer:
        """Return the layer in a style that unrolls the same and says what is stationary."""
        part = StyledLayer(
            self.layer, style, self.architecture, self.objective, self.cache, self.keeps,
            self.least.copy(), self.pair, self.bound,
        )  # fmt: skip
        if self.result is not None:
            flow = dataflow(self.result.mapping, self.layer, self.machine)
            if style.has(flow, self.layer):
                part.searched, part.result = self.searched, self.result
        return part

    def search(self, ceiling: float, stop: Callable[[], bool]) -> None:
        """Find the best mapping if its objective is below a ceiling, or raise the bound to that."""
        hit = self.solved.find(self.layer)
        if hit is not None:
            self.searched, self.result = hit, self.solved.confirm(self.layer, hit)
            return
        start = perf_counter()
        search, plans = self.begin(ceiling)
        search.best[0] = ceiling
        found = search.solve(stop, plans=plans)
        # tables leave out what is no better than the ceiling, or than what was found
        reached = float(search.best[0])
        bounds = {plan.keep: min(plan.bound[0], reached) for plan in plans}
        for k, keep in enumerate(self.keeps):
            if self.least[k] < ceiling:
                self.least[k] = max(self.least[k], bounds.get(keep, inf))
        if found.mapping is None:
            self.slack = self.slack**2 if self.slack < MOST_SLACK else inf
            return
        self.searched = Searched(found, inf, perf_counter() - start)
        if found.finished or not stop():
            self.result = self.solved.confirm(self.layer, self.searched)
            if self.searched.seconds >= WORTH and not stop():
                self.solved.keep(self.layer, self.counted())

    def begin(self, ceiling: float) -> tuple[Search, list[Plan]]:
        """Return a search and its bypass choices that may have mappings below a ceiling."""
        search = Search(self.layer, self.machine, self.objective)
        if self.held is not None:
            # what stands outermost says nothing of what is stationary
            search.loop_anywhere()
        known = dict(zip(self.keeps, self.least.tolist(), strict=True))
        # an array may have no spatial choice
        keeps = [keep for keep in search.keeps() if known[keep] < ceiling]
        plans = (
            search.plans(keeps) if self.held is None else stationary_alone(search, self.held, keeps)
        )
        chosen = sorted(plans, key=lambda plan: known[plan.keep])
        for plan in chosen:
            plan.bound, plan.weighed = (known[plan.keep], 0.0), True
        return search, chosen

    def settle(self) -> bool:
        """Take any mapping at once; return whether there is one."""
        start = perf_counter()
        if self.result is None and self.searched is None:
            search, plans = self.begin(inf)
            for plan in plans[:DIVES]:
                search.prepare(plan, inf)
                walk_labels(search, plan, inf, lambda: False, dive=True)
            found = search.found
            if found.mapping is not None:
                found.value, found.bound = float(search.best[0]), self.bound
                self.searched = Searched(found, inf, perf_counter() - start)
        if self.result is None and self.searched is not None:
            self.result = self.solved.confirm(self.layer, self.searched)
        return self.result is not None

    def counted(self) -> Searched:
        """Return what was found with the number of mappings that there are."""
        assert self.searched is not None
        size = mappings_in_space(self.layer, narrowed(self.machine, self.layer))
        return replace(self.searched, mappings_in_space=size)

"""The search of layers one after the other, each in its share of the time that is left."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from math import inf
from time import perf_counter

from tilewright.mapper.network.running.progress import Progress
from tilewright.mapper.network.solution_key import likeness
from tilewright.mapper.results.result import LayerResult
from tilewright.mapper.results.searched_space import DIVISORS
from tilewright.workload.layer import Layer

Solve = Callable[[Layer, float], LayerResult | None]
"""Returns the result of a layer by some time on the clock of `perf_counter`, if there is one."""


@dataclass
class InTurn:
    """Layers that are searched one after the other; those that are alike once.

    Attributes
    ----------
    solve : callable
        Searches one layer.
    objective : str
    deadline : float
        When all searches end, on the clock of `perf_counter`; infinite without a limit.
    progress : Progress
        What is told meanwhile.
    tiles : str
        Tile sizes that are searched.
    recall : callable
        Returns the result of an earlier search, if there is one.
    after_interrupt : bool
        Whether the other layers are still asked for after Ctrl-C, without any time.
    found : dict
        Results, by `likeness`.
    interrupted : bool
        Whether Ctrl-C has ended a search.
    """

    solve: Solve
    objective: str
    deadline: float
    progress: Progress
    tiles: str = DIVISORS
    recall: Callable[[Layer], LayerResult | None] = lambda layer: None
    after_interrupt: bool = False
    found: dict[object, LayerResult | None] = field(default_factory=dict)
    interrupted: bool = False

    def run(self, layers: Sequence[Layer]) -> None:
        """Search all layers."""
        alike = {likeness(layer): layer for layer in reversed(layers)}
        waiting = [layer for layer in layers if alike[likeness(layer)] is layer]
        self.progress.begin(len(waiting), self.objective, self.tiles)
        try:
            for i, layer in enumerate(waiting):
                self.one(layer, len(waiting) - i)
                if self.interrupted and not self.after_interrupt:
                    break
        finally:
            self.progress.end()

    def one(self, layer: Layer, left: int) -> None:
        """Search a layer in its share of the time that it and others have left."""
        if hit := self.recall(layer):
            proof = hit.proof
            self.progress.recalled(layer, proof.value, proof.lower_bound, proof.optimal)
            self.found[likeness(layer)] = hit
            return
        self.progress.started(layer)
        now = perf_counter()
        until = now
        if not self.interrupted:
            until = now + (max(0.0, self.deadline - now) / left if self.deadline < inf else inf)
        try:
            result = self.solve(layer, until)
        except KeyboardInterrupt:
            self.interrupted = True
            self.progress.stopping()
            result = self.solve(layer, perf_counter()) if self.after_interrupt else None
        self.found[likeness(layer)] = result
        if result is not None:
            proof = result.proof
            self.progress.done(layer, proof.value, proof.lower_bound, proof.optimal)

    def results(self, layers: Sequence[Layer]) -> tuple[tuple[LayerResult, ...], tuple[Layer, ...]]:
        """Return the results of some layers, and the layers without one."""
        own = [(layer, self.found.get(likeness(layer))) for layer in layers]
        return (
            tuple(replace(result, layer=layer) for layer, result in own if result is not None),
            tuple(layer for layer, result in own if result is None),
        )

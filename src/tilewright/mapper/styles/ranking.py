"""The styles of a network as far as they are known, and the results that this makes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from tilewright.architecture.machine import Architecture
from tilewright.mapper.network.solution_key import likeness
from tilewright.mapper.network.solved_layers import SolvedLayers
from tilewright.mapper.objective.tolerances import TIE
from tilewright.mapper.results.result import LayerResult
from tilewright.mapper.styles.result import StyleBound, StyleResult
from tilewright.mapper.styles.shared_results import Alike
from tilewright.mapper.styles.totals import StyleCandidate, Totals
from tilewright.workload.layer import Network


@dataclass(frozen=True)
class Ranking:
    """What is known of all styles.

    Attributes
    ----------
    architecture : Architecture
        What computes it.
    kinds : sequence of Alike
        The different layers.
    totals : Totals
        What is minimised.
    ended : sequence of StyleCandidate
        Styles of which every layer is mapped; at least one.
    waiting : sequence of StyleCandidate
        All others.
    """

    architecture: Architecture
    kinds: Sequence[Alike]
    totals: Totals
    ended: Sequence[StyleCandidate]
    waiting: Sequence[StyleCandidate]

    @property
    def best(self) -> float:
        """The least objective of totals that are known."""
        return min(map(self.totals.value, self.ended))

    @property
    def ranked(self) -> list[StyleCandidate]:
        """The styles of which every layer is mapped, the best first."""
        best = self.best

        def rank(candidate: StyleCandidate) -> tuple[float, float, int]:
            # rounding shall not decide before the second objective does
            value = self.totals.value(candidate)
            even = best if value <= best * (1 + TIE) else value
            return even, self.totals.second(candidate), candidate.order

        return sorted(self.ended, key=rank)

    @property
    def lower_bound(self) -> float:
        """The objective below which no totals are."""
        return min([self.best, *map(self.totals.least, (*self.waiting, *self.ended))])

    def styles(self, free: float | None) -> tuple[StyleResult, ...]:
        """Return what the styles cost whose layers are mapped.

        `free` is the objective of the totals of the best mappings in any style, if it is known.
        """
        return tuple(self.style(candidate, free) for candidate in self.ranked)

    def style(self, candidate: StyleCandidate, free: float | None) -> StyleResult:
        """Return what a style costs, compared with the best one and with free mappings."""
        energy, cycles = self.totals.pair(candidate)
        value = self.totals.value(candidate)
        above = share_above(value, self.best)
        return StyleResult(
            style=candidate.style,
            energy_pj=energy,
            cycles=cycles,
            value=value,
            above=0.0 if above < TIE else above,
            above_free=None if free is None else value / free - 1 if free else 0.0,
            proven=all(part.result and part.result.proof.optimal for part in candidate.parts),
            lower_bound=min(value, self.totals.least(candidate)),
        )

    def others(self) -> tuple[StyleBound, ...]:
        """Return what is known of the other styles, that of the least bound first."""
        found = [(candidate.style, self.totals.least(candidate)) for candidate in self.waiting]
        found.sort(key=lambda one: one[1])
        return tuple(StyleBound(style, low, share_above(low, self.best)) for style, low in found)

    def layers(self, candidate: StyleCandidate, network: Network) -> tuple[LayerResult, ...]:
        """Return the result of every layer of the network in a style."""
        style = candidate.style
        machine = style.machine(self.architecture)
        position = {likeness(kind.layer): k for k, kind in enumerate(self.kinds)}
        results = []
        for layer in network.layers:
            kind = self.kinds[position[likeness(layer)]]
            searched = candidate.parts[position[likeness(layer)]].counted()
            assert searched.found.mapping is not None
            # what is known was found for a style that is the mirror image
            mapping = kind.place(style)[1].mapping(searched.found.mapping)
            solved = SolvedLayers(None, machine, kind.objective, options={})
            found = replace(searched.found, mapping=mapping)
            result = solved.confirm(layer, replace(searched, found=found))
            space = result.proof.space
            if style.stationary is not None:
                space = f"{space} {style.words()}"
            results.append(replace(result, proof=replace(result.proof, space=space)))
        return tuple(results)


def share_above(value: float, best: float) -> float:
    """Return how far a value is above the best one, as a share of that."""
    return max(0.0, value / best - 1) if best else 0.0

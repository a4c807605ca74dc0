"""What the search for fused mappings returns."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from math import inf, isfinite
from typing import Any, ClassVar

from tilewright.mapper.fused.results.edges import UnfusedEdge, reasons_text
from tilewright.mapper.fused.results.segment_result import SegmentResult, shortened
from tilewright.mapper.objective.objective import parse_objective
from tilewright.mapper.objective.tolerances import TIE
from tilewright.mapper.results.result import LayerResult, NetworkResult
from tilewright.mapper.results.searched_space import ALL, DIVISORS
from tilewright.mapper.results.statement import named
from tilewright.mapper.results.text import aligned, number, percent
from tilewright.mapping.fused import dump_fused
from tilewright.text import READABLE, wrapped

SPACE = (
    "every layer by itself as without fusion, and segments of up to {most} layers that exchange "
    "tensors no other layer reads. A segment has a fuse node below shared loops over dimensions "
    "that run through all its layers. Layers that follow each other may be a branch that fuses "
    "again. Loops over windows stand below the others, each once, in any order, in segments with "
    "one fuse node; halos are retained, recomputed or refetched. One memory above the arrays holds "
    "each exchanged tensor; every other tensor is held among the shared loops or by its branch. "
    "Branches have all their mappings, and other ones for turns of other extents. {sizes} "
    "(docs/fusion.md)."
)
SIZES = {
    DIVISORS: "Shared loops and branches have tile sizes that divide",
    ALL: "Shared loops and branches have any tile sizes; fused layers cost at least what regular "
    "mappings of each do",
}
SHORT = {DIVISORS: "tile sizes that divide", ALL: "all tile sizes"}
HEADERS = ("layers", "runs", "alone", "fused", "saved", "words saved", "gap")
WITHIN = ("layers", "runs", "energy (uJ)", "cycles")
"""Headers where limits hold for all layers together: what each costs alone means little."""


@dataclass(frozen=True)
class Unfused:
    """A layer that stays by itself, and how often."""

    result: LayerResult
    repeat: int


@dataclass(frozen=True)
class Variant:
    """What a variant of a network costs.

    Attributes
    ----------
    name : str
    value, lower_bound : float
        Of its best mapping, and what no mapping of it undercuts.
    """

    name: str
    value: float
    lower_bound: float

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain data; what is infinite is None: there is no mapping within limits."""
        known = (number if isfinite(number) else None for number in (self.value, self.lower_bound))
        return dict(zip(("name", "value", "lower_bound"), (self.name, *known), strict=True))


@dataclass(frozen=True, repr=False)
class FusedResult(NetworkResult):
    """The best mapping of a network whose layers may be fused.

    What it has of a `NetworkResult` are the layers by themselves; values, energy, cycles and bounds
    are those of the whole network with what is fused.

    Attributes
    ----------
    segments : tuple of SegmentResult
        What is fused, in the order of the graph.
    unfused : tuple of Unfused
        The layers that are not, and how often.
    unfused_edges : tuple of UnfusedEdge
        Tensors between layers that are not fused with each other, and why.
    bound : float
        What nothing in the space undercuts, all runs counted.
    most_layers : int
        Layers that a segment may have.
    variants : tuple of Variant
        What was chosen from, where the network has variants. `bound` is that of all of them.
    tiles : str
        Tile sizes that were tried: ``"divisors"`` or ``"all"``.
    """

    segments: tuple[SegmentResult, ...] = ()
    unfused: tuple[Unfused, ...] = ()
    unfused_edges: tuple[UnfusedEdge, ...] = ()
    bound: float = 0.0
    most_layers: int = 0
    variants: tuple[Variant, ...] = ()
    tiles: str = DIVISORS

    fused: ClassVar[bool] = True

    @cached_property
    def value(self) -> float:
        """What was minimised, summed over segments and layers, repeats counted."""
        fused = sum(s.value * s.repeat for s in self.segments)
        return fused + sum(u.result.proof.value * u.repeat for u in self.unfused)

    @cached_property
    def value_alone(self) -> float:
        """The same with every layer by itself."""
        own = sum(s.value_alone * s.repeat for s in self.segments)
        return own + sum(u.result.proof.value * u.repeat for u in self.unfused)

    @cached_property
    def lower_bound(self) -> float:
        """What that cannot be less than."""
        close = self.bound >= self.value * (1 - TIE)
        return self.value if close else min(self.bound, self.value)

    @property
    def optimal(self) -> bool:
        """Whether nothing in the space is better."""
        return not self.unmapped and self.lower_bound == self.value

    @property
    def gap(self) -> float:
        """By what share of its value it may be improved at most."""
        return (self.value - self.lower_bound) / self.value if self.value else 0.0

    @cached_property
    def energy_pj(self) -> float:
        """Energy in pJ, repeats counted."""
        fused = sum(s.evaluation.energy_pj * s.repeat for s in self.segments)
        return fused + sum(u.result.evaluation.energy_pj * u.repeat for u in self.unfused)

    @cached_property
    def cycles(self) -> float:
        """Cycles of all segments and layers one after the other, repeats counted."""
        fused = sum(s.evaluation.cycles * s.repeat for s in self.segments)
        return fused + sum(u.result.evaluation.cycles * u.repeat for u in self.unfused)

    @property
    def space(self) -> str:
        """Which mappings the proof is about, in words."""
        return SPACE.format(most=self.most_layers, sizes=SIZES[self.tiles])

    def __repr__(self) -> str:
        return (
            f"<FusedResult of {self.network.name} on {self.architecture.name}: {self.value:.6g} "
            f"{parse_objective(self.objective).unit}, {len(self.segments)} segments, "
            f"{'proven optimal' if self.optimal else f'gap {percent(self.gap)}'}>"
        )

    @property
    def limited(self) -> bool:
        """Whether limits hold for the totals."""
        return parse_objective(self.objective).limited

    def table_within(self) -> Iterator[tuple[str, ...]]:
        """Yield the cells of a table under `WITHIN`: one run of each, and totals."""
        for s in self.segments:
            cost = s.evaluation
            energy = number(cost.energy_pj * 1e-6)
            yield (shortened(s.names), f"{s.repeat}", energy, f"{cost.cycles:,.0f}")
            for tile in s.exchanged:
                yield (f"  {tile}", "", "", "")
        for u in self.unfused:
            energy = number(u.result.energy_pj * 1e-6)
            yield (u.result.layer.name, f"{u.repeat}", energy, f"{u.result.cycles:,.0f}")
        yield ("total", "", number(self.energy_pj * 1e-6), f"{self.cycles:,.0f}")

    def table(self) -> Iterator[tuple[str, ...]]:
        """Yield the cells of a table under `HEADERS`: segments, other layers, totals."""
        for s in self.segments:
            yield (
                shortened(s.names), f"{s.repeat}", number(self.shown(s.value_alone)),
                number(self.shown(s.value)), percent(1 - s.value / s.value_alone),
                f"{s.outer_words_saved:,}", percent(s.gap),
            )  # fmt: skip
            for tile in s.exchanged:
                yield (f"  {tile}", *[""] * 6)
        for u in self.unfused:
            own = number(self.shown(u.result.proof.value))
            gap = percent(u.result.proof.gap)
            yield (u.result.layer.name, f"{u.repeat}", own, "", "", "", gap)
        for layer in self.unmapped:
            yield (layer.name, f"{layer.repeat}", "-", "", "", "", "-")
        words = sum(s.outer_words_saved * s.repeat for s in self.segments)
        share = percent(1 - self.value / self.value_alone) if self.value_alone else ""
        mapped, count = len(self.layers), len(self.network.layers)
        yield (
            f"total of {mapped} of {count} layers" if self.unmapped else "total",
            "", number(self.shown(self.value_alone)), number(self.shown(self.value)),
            share, f"{words:,}", percent(self.gap) if mapped else "-",
        )  # fmt: skip

    def shown(self, value: float) -> float:
        """Return a value in the unit of the table: energies in uJ."""
        return value * 1e-6 if parse_objective(self.objective).powers == (1.0, 0.0) else value

    def text(self, width: int | None = None) -> str:
        """Return a table by segment, and what is proven."""
        goal = parse_objective(self.objective)
        unit = "uJ" if goal.powers == (1.0, 0.0) else goal.unit
        title = (
            f"{self.network.name} on {self.architecture.name}, {goal.least}"
            f"{' in total' if goal.limited else ''}, fused where that is better, "
            f"{SHORT[self.tiles]}{'' if goal.limited else f' ({unit})'}"
        )
        rows = [WITHIN, *self.table_within()] if goal.limited else [HEADERS, *self.table()]
        lines = aligned(rows, left=(0,), width=width)
        reasons = [*self.reasons(width), *self.choice(width)]
        return "\n".join([wrapped(title, width), "", *lines, "", *reasons, self.statement(width)])

    def choice(self, width: int | None = None) -> list[str]:
        """Return what the variants of the network cost, the chosen one first."""
        if not self.variants:
            return []
        names = (
            f"{own.name} {number(self.shown(own.value)) if own.value < inf else 'none'}"
            for own in sorted(self.variants, key=lambda own: own.value)
        )
        return [wrapped(f"best of its variants: {', '.join(names)}", width), ""]

    def reasons(self, width: int | None = None) -> list[str]:
        """Return why tensors between layers stay unfused: a line for each reason."""
        if not self.unfused_edges:
            return []
        lines = reasons_text(self.unfused_edges, min(width or READABLE, READABLE))
        return ["not fused", *(wrapped(line, width) for line in lines), ""]

    @property
    def nothing(self) -> str:
        """What is said where no layers are fused."""
        if not self.layers:
            return "Nothing is fused: no layer has a mapping yet."
        known = "is better" if self.optimal else "that is better was found"
        return f"Nothing is fused: no fused mapping {known}."

    def statement(self, width: int | None = None) -> str:
        """Return in a few sentences what is proven."""
        outermost = self.architecture.memories[0].name
        words = sum(s.outer_words_saved * s.repeat for s in self.segments)
        if self.limited:
            fused = sum(len(s.names) * s.repeat for s in self.segments)
            first = f"{fused} of {self.runs} runs of layers share loops."
        elif self.segments:
            first = f"{outermost} sends and receives {words:,} fewer words than without fusion."
        else:
            first = self.nothing
        if self.optimal:
            second = f"Proven optimal in {self.seconds:.1f} s."
        elif self.interrupted:
            second = "Not proven optimal: the search was interrupted."
        elif self.stopped:
            second = "Not proven optimal: the search was stopped at the time limit."
        elif self.limited:
            second = "Not proven optimal: other mixtures of mappings may be better."
        elif all(own.result.proof.optimal for own in self.unfused):
            second = "Not proven optimal: fused layers may cost less than they do, see the gaps."
        else:
            second = "Not proven optimal: some layers by themselves are not."
        return wrapped(f"{first} {second}{self.open_text()}\nSpace: {self.space}", width)

    def open_text(self) -> str:
        """Return what has no mapping yet, and how much better the rest can be at most."""
        if self.optimal:
            return ""
        text = which = ""
        if self.unmapped:
            text = f" There is no mapping yet of {named([own.name for own in self.unmapped])}."
            which = " of the other layers"
        if self.lower_bound > 0:
            most = percent(self.gap).removeprefix("<")
            text += f" No mapping{which or ' of the space'} can be more than {most} better."
        return text

    def mapping_file(self) -> str:
        """Return the mappings as the text of a file, which `evaluate` reads."""
        return dump_fused(
            [(s.segment, s.mapping) for s in self.segments],
            [(u.result.layer.name, u.result.mapping, u.repeat) for u in self.unfused],
            self.network,
            self.architecture.name,
        )

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain data, as ``tilewright map --fuse --json`` writes it."""
        return {
            "network": self.network.name,
            "architecture": self.architecture.name,
            "objective": self.objective,
            "optimal": self.optimal,
            "interrupted": self.interrupted,
            "stopped": self.stopped,
            "seconds": self.seconds,
            "space": self.space,
            "segments": [segment.to_dict() for segment in self.segments],
            **({"variants": [own.to_dict() for own in self.variants]} if self.variants else {}),
            "layers": [u.result.to_dict() | {"repeat": u.repeat} for u in self.unfused],
            "unfused_edges": [edge.to_dict() for edge in self.unfused_edges],
            "unmapped": [layer.name for layer in self.unmapped],
            "idle": [idle.to_dict() for idle in self.idle],
            "total": {
                "layers": len(self.layers),
                "repeat": self.runs,
                "value": self.value,
                "value_alone": self.value_alone,
                "lower_bound": self.lower_bound,
                "gap": self.gap,
                "operations": self.operations,
                "energy_pj": self.energy_pj,
                "cycles": self.cycles,
                "edp_pj_cycles": self.edp_pj_cycles,
                "utilization": self.utilization,
            },
        }

    def to_json(self, indent: int | None = 2) -> str:
        """Return `to_dict` as JSON text."""
        return json.dumps(self.to_dict(), indent=indent)

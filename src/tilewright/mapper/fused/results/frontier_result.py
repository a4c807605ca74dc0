"""What `frontier` returns with fusion: the best cost of a network as a step function of a size."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import inf
from typing import TYPE_CHECKING, Any

from tilewright.architecture.machine import Architecture
from tilewright.architecture.units import size_text
from tilewright.fusion.result import FusedEvaluation
from tilewright.mapper.fused.results.segment_result import shortened
from tilewright.mapper.results.by_size import BySize
from tilewright.mapper.results.frontier import Point, words
from tilewright.mapping.files import mapping_data
from tilewright.mapping.fused import FusedMapping, Segment
from tilewright.mapping.fused.notation.writing import fused_data
from tilewright.text import aligned, wrapped
from tilewright.workload.layer import Network

if TYPE_CHECKING:
    import plotly.graph_objects as go

KIB = 8 * 1024


@dataclass(frozen=True)
class SegmentPoint:
    """Layers that share loops.

    Attributes
    ----------
    segment : Segment
    mapping : FusedMapping
    evaluation : FusedEvaluation
        What the tree costs once.
    """

    segment: Segment
    mapping: FusedMapping
    evaluation: FusedEvaluation

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the layers."""
        return tuple(layer.name for layer in self.segment.layers)

    @property
    def edges(self) -> Iterator[tuple[str, str]]:
        """The layers that exchange a tensor, as (producer, reader)."""
        for exchange in self.segment.exchanges:
            yield exchange.producer.layer, exchange.reader.layer


@dataclass(frozen=True)
class FusedPoint:
    """The optimum for all sizes from its own up to that of the next better point.

    Attributes
    ----------
    bits : int
        Least size of the memory.
    value, alone : float
        What was minimised, and the same where no layers are fused.
    segments : tuple of SegmentPoint
        Layers that are fused.
    layers : tuple of (Point, int)
        The others, with how often each runs.
    """

    bits: int
    value: float
    alone: float
    segments: tuple[SegmentPoint, ...]
    layers: tuple[tuple[Point, int], ...]

    def words(self, memory: str) -> int:
        """Return the elements that a memory reads and writes in the whole network."""
        fused = 0
        for own in self.segments:
            parts = own.evaluation.tensors[memory].values()
            fused += sum(part.reads + part.writes for part in parts) * own.segment.repeat
        return fused + sum(words(own.evaluation, memory) * n for own, n in self.layers)


@dataclass(frozen=True, repr=False)
class FusedFrontier(BySize[FusedPoint]):
    """The least cost of a network for every size of a memory.

    Attributes
    ----------
    network, architecture
        What is mapped onto what.
    over : str
        The memory whose size varies.
    objective : str
        What is minimised.
    traffic : str or None
        Memory whose words read and written are minimised instead.
    points : tuple of FusedPoint
        Where the cost falls, the smallest size first.
    optimal : bool
        Whether it is exact for every size; otherwise the search was stopped.
    searches : int
        Searches that proved it.
    seconds : float
    interrupted : bool
        Whether Ctrl-C ended them.
    """

    network: Network
    architecture: Architecture
    over: str
    objective: str
    traffic: str | None
    points: tuple[FusedPoint, ...]
    optimal: bool
    searches: int
    seconds: float
    interrupted: bool = False

    def at(self, bits: float = inf) -> FusedPoint | None:
        """Return the optimum for a size in bits; None where nothing fits."""
        fitting = [point for point in self.points if point.bits <= bits]
        return fitting[-1] if fitting else None

    def __repr__(self) -> str:
        state = "exact" if self.optimal else "incomplete"
        return (
            f"<FusedFrontier of {self.network.name} on {self.architecture.name} over "
            f"{self.over}: {len(self.points)} points, {state}>"
        )

    def fused_from(self) -> dict[tuple[str, str], FusedPoint]:
        """Return by layers that exchange a tensor the point of least size that fuses them."""
        found: dict[tuple[str, str], FusedPoint] = {}
        for point in self.points:
            for own in point.segments:
                for edge in own.edges:
                    found.setdefault(edge, point)
        return found

    def rows(self) -> list[tuple[str, ...]]:
        """Return the cells of a table: a head, and one row per point."""
        outermost = self.architecture.memories[0].name
        head = (self.over, f"least {self.what} ({self.unit})", "not fused", "saved")
        also = self.traffic != outermost  # otherwise the words are the value itself
        rows: list[tuple[str, ...]] = [(*head, *([f"{outermost} words"] if also else []), "fused")]
        for point in self.points:
            saved = 1 - point.value / point.alone if point.alone else 0.0
            fused = "; ".join(shortened(own.names) for own in point.segments)
            rows.append(
                (
                    size_text(point.bits),
                    f"{point.value:,.0f}" if self.traffic else f"{point.value:.6g}",
                    f"{point.alone:,.0f}" if self.traffic else f"{point.alone:.6g}",
                    f"{saved:.1%}",
                    *([f"{point.words(outermost):,}"] if also else []),
                    fused or "none",
                )
            )
        return rows

    def statement(self) -> str:
        """Return in a sentence what is proven."""
        if not self.optimal:
            why = "interrupted" if self.interrupted else "a search ended without a proof"
            return (
                f"Not complete: {why}; points of smaller sizes may be missing, and better ones may "
                f"exist ({self.searches} searches, {self.seconds:.1f} s)."
            )
        return (
            f"Proven: for every size of {self.over} nothing in the space of 'map --fuse' has a "
            f"smaller value than the last point that fits ({self.searches} searches, "
            f"{self.seconds:.1f} s)."
        )

    def text(self, width: int | None = None) -> str:
        """Return a table with a row per point, from which size on layers are fused, and proof."""
        lines = aligned(
            self.rows(),
            (0, len(self.rows()[0]) - 1),
            width=width,
            drop=(f"{self.names[0]} words", "saved"),
        )
        title = (
            f"{self.network.name} on {self.architecture.name}, least {self.what} by size, fused "
            "where that is better, tile sizes that divide"
        )
        edges = [
            f"  {maker} > {reader}: from {size_text(point.bits)}, where all that is fused saves "
            f"{1 - point.value / point.alone:.1%}"
            for (maker, reader), point in self.fused_from().items()
        ]
        parts = [wrapped(title, width), "", *lines, ""]
        if edges:
            parts += ["fused", *edges, ""]
        return "\n".join([*parts, wrapped(self.statement(), width)])

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the memories."""
        return tuple(memory.name for memory in self.architecture.memories)

    def record(self, point: FusedPoint) -> dict[str, Any]:
        """Return the numbers of one point."""
        return {
            f"{self.over}_bits": point.bits,
            "value": point.value,
            "alone": point.alone,
            **{f"{name}_words": point.words(name) for name in self.names},
            "fused": [list(own.names) for own in point.segments],
        }

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain data: the tree of every segment of every point included."""
        points = []
        for point in self.points:
            trees = [fused_data(own.mapping, own.segment) for own in point.segments]
            layers = {
                own.evaluation.layer.name: mapping_data(own.mapping, own.evaluation.layer)
                for own, _ in point.layers
            }
            points.append(self.record(point) | {"segments": trees, "mappings": layers})
        return {
            "network": self.network.name,
            "architecture": self.architecture.name,
            "over": self.over,
            "objective": self.objective,
            "traffic": self.traffic,
            "unit": self.unit,
            "optimal": self.optimal,
            "searches": self.searches,
            "seconds": self.seconds,
            "interrupted": self.interrupted,
            "points": points,
        }

    def plot(self) -> go.Figure:
        """Return a plot of the least value against the size, fused and not."""
        import plotly.graph_objects as go

        figure = go.Figure()
        sizes = [max(point.bits, 1) / KIB for point in self.points]
        for name, values in (
            ("fused where that is better", [point.value for point in self.points]),
            ("not fused, at these sizes", [point.alone for point in self.points]),
        ):
            figure.add_scatter(x=sizes, y=values, mode="lines+markers", line_shape="hv", name=name)
        figure.update_xaxes(type="log", title=f"{self.over} (KiB)")
        figure.update_yaxes(title=f"least {self.what} ({self.unit})")
        figure.update_layout(title=f"{self.network.name} on {self.architecture.name}")
        return figure

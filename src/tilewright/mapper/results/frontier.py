"""What `frontier` returns: the best cost as a step function of memory sizes."""

from __future__ import annotations

from dataclasses import dataclass
from html import escape
from itertools import pairwise
from math import inf
from typing import TYPE_CHECKING, Any

from tilewright.architecture.machine import Architecture
from tilewright.architecture.units import size_text
from tilewright.errors import InputError, nearest
from tilewright.mapper.results.by_size import BySize
from tilewright.mapper.results.searched_space import DIVISORS, SIZES
from tilewright.mapping.files import mapping_data
from tilewright.mapping.nodes import Mapping
from tilewright.model.results.result import Evaluation
from tilewright.text import aligned, wrapped
from tilewright.workload.layer import Layer

if TYPE_CHECKING:
    import plotly.graph_objects as go


@dataclass(frozen=True)
class Point:
    """The optimum for all sizes from its own up to those of the next better points.

    Attributes
    ----------
    bits : tuple of int
        Least size of each memory, in the order of `Frontier.over`.
    value : float
        What was minimised.
    mapping : Mapping
    evaluation : Evaluation
        What the mapping costs on the machine, reads and writes of every memory included.
    """

    bits: tuple[int, ...]
    value: float
    mapping: Mapping
    evaluation: Evaluation


@dataclass(frozen=True, repr=False)
class Frontier(BySize[Point]):
    """The least cost for every size of one or two memories.

    Attributes
    ----------
    layer, architecture
        What is mapped onto what.
    over : tuple of str
        Memories whose sizes vary.
    objective : str
        What is minimised.
    traffic : str or None
        Memory whose words read and written are minimised instead.
    points : tuple of Point
        Where the cost falls, the smallest size first.
    optimal : bool
        Whether it is exact for every size; otherwise the search was stopped.
    searches : int
        Searches that proved it: of one bypass choice in a range of sizes each, or of one size.
    seconds : float
    interrupted : bool
        Whether Ctrl-C ended them.
    """

    layer: Layer
    architecture: Architecture
    over: tuple[str, ...]
    objective: str
    traffic: str | None
    points: tuple[Point, ...]
    optimal: bool
    searches: int
    seconds: float
    interrupted: bool = False

    def at(self, **bits: float) -> Point | None:
        """Return the optimum for some sizes in bits; memories not named are unlimited.

        Returns
        -------
        Point or None
            None where no mapping fits.

        Raises
        ------
        InputError
            When a memory is none of those whose sizes vary.
        """
        for name in bits:
            if name not in self.over:
                raise InputError(
                    f"'{name}' is none of {', '.join(self.over)}{nearest(name, self.over)}",
                    key="at",
                )
        room = [bits.get(name, inf) for name in self.over]
        fitting = [p for p in self.points if all(b <= r for b, r in zip(p.bits, room, strict=True))]
        return min(fitting, key=lambda p: (p.value, p.bits), default=None)

    def __repr__(self) -> str:
        state = "exact" if self.optimal else "incomplete"
        return (
            f"<Frontier of {self.layer.name} on {self.architecture.name} over "
            f"{' and '.join(self.over)}: {len(self.points)} points, {state}>"
        )

    @property
    def headers(self) -> tuple[str, ...]:
        """Heads of the columns of `rows`."""
        outermost = self.architecture.memories[0].name
        wanted = f"least {self.what} ({self.unit})"
        energy = () if wanted == "least energy (pJ)" else ("energy (pJ)",)
        return (*self.over, wanted, *energy, "cycles", f"{outermost} words")

    def rows(self) -> list[tuple[str, ...]]:
        """Return the cells of a table: one row per point under `headers`."""
        outermost = self.architecture.memories[0].name
        apart = "energy (pJ)" in self.headers
        return [
            (
                *(size_text(bits) for bits in p.bits),
                f"{p.value:.6g}",
                *((f"{p.evaluation.energy_pj:.6g}",) if apart else ()),
                f"{p.evaluation.cycles:,.0f}",
                f"{words(p.evaluation, outermost):,}",
            )
            for p in self.points
        ]

    def statement(self) -> str:
        """Return in a sentence what is proven."""
        if not self.optimal:
            why = "interrupted" if self.interrupted else "the time limit ended it"
            return (
                f"Not complete: {why}; better mappings may exist, and points be missing "
                f"({self.searches} searches, {self.seconds:.1f} s)."
            )
        return (
            f"Proven: for every size of {' and '.join(self.over)}, no mapping whose tile sizes "
            f"divide has a smaller value than the last point that fits ({self.searches} searches, "
            f"{self.seconds:.1f} s). Mappings with other tile sizes may be better."
        )

    def text(self, width: int | None = None) -> str:
        """Return a table with a row per point, and what is proven."""
        lines = aligned([self.headers, *self.rows()], width=width, drop=("energy (pJ)", "cycles"))
        name = f"{self.layer.name} on {self.architecture.name}"
        title = f"{name}, least {self.what} by size, {SIZES[DIVISORS]}"
        statement = wrapped(self.statement(), width)
        return "\n".join([wrapped(title, width), "", *lines, "", statement])

    def record(self, point: Point) -> dict[str, Any]:
        """Return the numbers of one point."""
        sizes = {f"{name}_bits": bits for name, bits in zip(self.over, point.bits, strict=True)}
        traffic = {}
        for name, memory in point.evaluation.memories.items():
            traffic[f"{name}_reads"] = sum(t.reads for t in memory.tensors.values())
            traffic[f"{name}_writes"] = sum(t.writes for t in memory.tensors.values())
        return {
            **sizes,
            "value": point.value,
            "energy_pj": point.evaluation.energy_pj,
            "cycles": point.evaluation.cycles,
            **traffic,
        }

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain data."""
        return {
            "layer": self.layer.name,
            "architecture": self.architecture.name,
            "over": list(self.over),
            "objective": self.objective,
            "traffic": self.traffic,
            "unit": self.unit,
            "optimal": self.optimal,
            "tiles": DIVISORS,
            "searches": self.searches,
            "seconds": self.seconds,
            "interrupted": self.interrupted,
            "points": [
                self.record(p) | {"mapping": mapping_data(p.mapping, self.layer)}
                for p in self.points
            ],
        }

    def _repr_html_(self) -> str:
        table = self.to_frame().to_html(index=False, border=0)
        return f"<p>{escape(repr(self)[1:-1])}</p>{table}<p>{escape(self.statement())}</p>"

    def plot(self) -> go.Figure:
        """Return a plot of the least value against the size; with two memories a line for each.

        Sizes are in KiB on a logarithmic axis.
        """
        import plotly.graph_objects as go

        figure = go.Figure()
        kib = 8 * 1024
        seconds = sorted({p.bits[1] for p in self.points}) if len(self.over) > 1 else [None]
        for second in seconds:
            fitting = [p for p in self.points if second is None or p.bits[1] <= second]
            steps = lowest(fitting)
            name = "" if second is None else f"{self.over[1]} {size_text(second)}"
            figure.add_scatter(
                x=[bits / kib for bits, _ in steps],
                y=[value for _, value in steps],
                mode="lines+markers",
                line_shape="hv",
                name=name,
            )
        figure.update_xaxes(type="log", title=f"{self.over[0]} (KiB)")
        figure.update_yaxes(title=f"least {self.what} ({self.unit})")
        figure.update_layout(title=f"{self.layer.name} on {self.architecture.name}")
        return figure


def lowest(points: list[Point]) -> list[tuple[int, float]]:
    """Return the steps of the least value over the first size."""
    steps: list[tuple[int, float]] = []
    for p in sorted(points, key=lambda p: (p.bits[0], p.value)):
        if not steps or p.value < steps[-1][1]:
            steps.append((p.bits[0], p.value))
    return [a for a, b in pairwise([*steps, (-1, 0.0)]) if a[0] != b[0]]


def words(evaluation: Evaluation, memory: str) -> int:
    """Return the elements that a memory reads and writes."""
    return sum(t.reads + t.writes for t in evaluation.memories[memory].tensors.values())


def occupied(evaluation: Evaluation, over: tuple[str, ...]) -> tuple[int, ...]:
    """Return the bits that a mapping takes in some memories."""
    return tuple(evaluation.memories[name].occupied_bits for name in over)

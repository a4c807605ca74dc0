"""The best mappings of a network in one style for all layers, and how other styles compare."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import isfinite
from typing import TYPE_CHECKING, Any

from tilewright.mapper.objective.objective import parse_objective
from tilewright.mapper.results.result import NetworkResult
from tilewright.mapper.results.searched_space import ALL
from tilewright.mapper.results.text import number, percent
from tilewright.mapper.styles.style import Style
from tilewright.mapping.idle import Idle
from tilewright.text import aligned, wrapped

if TYPE_CHECKING:
    import pandas as pd

HEADERS = ("style", "energy (uJ)", "cycles", "EDP (pJ x cycles)", "above best", "above free")
SHOWN = 12


@dataclass(frozen=True)
class StyleResult:
    """What the layers of a network cost together in one style.

    Attributes
    ----------
    style : Style
        What all mappings have in common.
    energy_pj, cycles : float
        Totals, repeats counted, of the best mapping of each layer in this style.
    value : float
        Objective of the totals.
    above : float
        How far that is above the best style, as a share of it.
    above_free : float
        The same against the best mapping of each layer in any style. It can be below 0 where the
        objective is a product: the product of totals is not what is minimised for each layer. None
        when the search was stopped before these were known.
    proven : bool
        Whether each of these mappings is proven to be the best.
    lower_bound : float
        No mappings in this style have totals of a lower objective.
    """

    style: Style
    energy_pj: float
    cycles: float
    value: float
    above: float
    above_free: float | None
    proven: bool
    lower_bound: float

    @property
    def gap(self) -> float:
        """How much less the totals of this style could be, as a share of them."""
        return max(0.0, 1 - self.lower_bound / self.value) if self.value else 0.0

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain data."""
        return style_data(self.style) | {
            "energy_pj": self.energy_pj,
            "cycles": self.cycles,
            "edp_pj_cycles": self.energy_pj * self.cycles,
            "value": self.value,
            "above": self.above,
            "above_free": self.above_free,
            "proven": self.proven,
            "lower_bound": self.lower_bound,
        }


@dataclass(frozen=True)
class StyleBound:
    """What is known of a style in which not all layers were mapped.

    Attributes
    ----------
    style : Style
        Where its `stationary` is None, all styles that unroll the same.
    lower_bound : float
        The totals have no lower objective; infinite when some layer has no mapping.
    above : float
        How far that is above the best style, as a share of it.
    """

    style: Style
    lower_bound: float
    above: float

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain data."""
        mapped = isfinite(self.lower_bound)
        return style_data(self.style) | {
            "lower_bound": self.lower_bound if mapped else None,
            "above": self.above if mapped else None,
        }


@dataclass(frozen=True, repr=False)
class UniformResult(NetworkResult):
    """The best mapping of every layer in the best style, which is the same for all layers.

    The totals of a style are those of the best mapping of each layer in it. The best style is that
    whose totals have the least objective.

    Attributes
    ----------
    styles : tuple of StyleResult
        The styles whose totals are known, the best first; the layers here are mapped in that one.
    count : int
        Number of styles of the machine and network.
    others : tuple of StyleBound
        All other styles, that of the least bound first.
    covered : bool
        Whether all styles were covered.
    lower_bound : float
        No style has totals of a lower objective.
    free : NetworkResult or None
        The best mapping of each layer, each in a style of its own.
    """

    styles: tuple[StyleResult, ...] = ()
    count: int = 0
    others: tuple[StyleBound, ...] = ()
    covered: bool = False
    lower_bound: float = 0.0
    free: NetworkResult | None = None

    @property
    def best(self) -> StyleResult:
        """The best style."""
        return self.styles[0]

    @cached_property
    def value(self) -> float:
        """What was minimised: the objective of the totals."""
        return self.best.value

    @property
    def minimises_totals(self) -> bool:
        """Whether what is minimised is the objective of the totals: it is."""
        return True

    @property
    def idle(self) -> tuple[Idle, ...]:
        """Arrays that constraints leave mostly idle, in whatever style."""
        return () if self.free is None else self.free.idle

    @property
    def optimal(self) -> bool:
        """Whether no style has totals of a lower objective."""
        return self.covered

    @property
    def title(self) -> str:
        """What was mapped onto what, and what was minimised."""
        return f"{super().title}, all layers in one style: {self.best.style}"

    def style_rows(self) -> list[tuple[str, ...]]:
        """Return the cells of a table: one row per style under `HEADERS`, the best first.

        Of a style that was not mapped to the end a row has what it is at least above the best one.
        """
        rows: list[tuple[str, ...]] = [
            (
                str(one.style),
                number(one.energy_pj * 1e-6),
                f"{one.cycles:,.0f}",
                f"{one.energy_pj * one.cycles:.4e}",
                percent(one.above),
                "" if one.above_free is None else f"{one.above_free:.1%}",
            )
            for one in self.styles
        ]
        for other in self.others:
            above = f">= {other.above:.1%}" if isfinite(other.above) else "no mapping"
            rows.append((str(other.style), "", "", "", above, ""))
        return rows

    def statement(self, width: int | None = None) -> str:
        """Return the table of styles, and in a few sentences what is proven."""
        rows = self.style_rows()
        lines = aligned([HEADERS, *rows[:SHOWN]], (0,), width=width)
        if len(rows) > SHOWN:
            lines.append(f"({len(rows) - SHOWN} more in the JSON output)")
        space = self.layers[0].proof.space
        verdict = f"{self.verdict()}\nSpace of the best style: {space}"
        return "\n".join([*lines, "", wrapped(verdict, width)])

    def verdict(self) -> str:
        """Return in a few sentences what is proven."""
        goal = parse_objective(self.objective)
        if self.covered:
            mapped = f"{len(self.styles)} {'was' if len(self.styles) == 1 else 'were'} mapped"
            return (
                f"Proven: in no style do the layers together have {goal.better}, each of them "
                f"mapped for it. Of {self.count} styles {mapped} to the end, the others as far as "
                f"it took to prove that ({self.seconds:.1f} s)."
            )
        reason = "some mappings are not proven to be the best"
        if self.interrupted:
            reason = "interrupted"
        elif self.stopped:
            reason = "stopped at the time limit"
        elif any(result.proof.tiles == ALL for result in self.layers):
            reason = "the best style found costs more than the lower bound"
        gap = max(0.0, 1 - self.lower_bound / self.best.value) if self.best.value else 0.0
        return (
            f"Not proven: {reason}, with {len(self.styles)} of {self.count} styles mapped to "
            f"the end. No style can be more than {percent(gap)} better."
        )

    def to_style_frame(self) -> pd.DataFrame:
        """Return a table with one row per style whose totals are known."""
        import pandas as pd

        return pd.DataFrame([one.to_dict() for one in self.styles])

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain data, as ``tilewright map --uniform --json`` writes it."""
        return super().to_dict() | {
            "uniform": {
                "styles": [one.to_dict() for one in self.styles],
                "count": self.count,
                "others": [other.to_dict() for other in self.others],
                "lower_bound": self.lower_bound,
            }
        }


def style_data(style: Style) -> dict[str, Any]:
    """Return a style as plain data."""
    return {
        "style": str(style),
        "spatial": [
            {"array": array, "axis": axis, "dimension": dimension or None}
            for array, axis, dimension in style.axes
        ],
        "stationary": style.stationary,
    }

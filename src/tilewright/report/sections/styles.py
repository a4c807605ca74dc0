"""The styles of a network that is mapped in one style, as a table: totals, or what they exceed."""

from __future__ import annotations

from collections.abc import Iterator
from html import escape
from math import isfinite

from tilewright.mapper.results.result import NetworkResult
from tilewright.mapper.styles.result import StyleBound, StyleResult, UniformResult
from tilewright.report.quantities import NOTHING, cycles, energy, percent
from tilewright.report.sections.proof import objective_value

MOST = 60
HEADS = (
    "style", "energy", "cycles", "total", "lower bound", "proven", "above the best",
    "above each on its own",
)  # fmt: skip
NOTE = (
    "The total is the objective of all layers together, each mapped for it in the style, repeats "
    "counted. Of a style that need not be mapped to the end the total is no less than the bound. "
    "The last column compares with the best mapping of each layer, whatever its style. A heading "
    "sorts."
)
Cell = tuple[float | None, str]
"""What a cell sorts by, and what it shows."""


def styles_section(result: NetworkResult) -> str:
    """Return the section of the styles; nothing when each layer has a style of its own."""
    if not isinstance(result, UniformResult):
        return ""
    rows = [*mapped_rows(result), *bounded_rows(result)]
    body = "".join(
        f'<tr><th scope="row">{escape(style)}</th>{"".join(map(cell, cells))}</tr>'
        for style, cells in rows[:MOST]
    )
    head = "".join(f'<th scope="col"><button type="button">{name}</button></th>' for name in HEADS)
    more = f" {len(rows) - MOST} more stand in the JSON output." if len(rows) > MOST else ""
    return (
        f'<section id="styles"><h2>Styles</h2><p class="note">{NOTE}{more}</p>'
        f'<div class="scroll"><table class="sortable"><thead><tr>{head}</tr></thead>'
        f"<tbody>{body}</tbody></table></div></section>"
    )


def mapped_rows(result: UniformResult) -> Iterator[tuple[str, list[Cell]]]:
    """Yield the rows of the styles whose totals are known, the best first."""
    for one in result.styles:
        yield (
            str(one.style),
            [
                (one.energy_pj, energy(one.energy_pj)),
                (one.cycles, cycles(one.cycles)),
                (one.value, objective_value(result.objective, one.value)),
                (one.lower_bound, objective_value(result.objective, one.lower_bound)),
                (one.gap, proven(one)),
                (one.above, percent(one.above)),
                (None, NOTHING)
                if one.above_free is None
                else (one.above_free, percent(one.above_free)),
            ],
        )


def bounded_rows(result: UniformResult) -> Iterator[tuple[str, list[Cell]]]:
    """Yield the rows of the other styles, that of the least bound first."""
    nothing: Cell = (None, NOTHING)
    for other in result.others:
        cells = [nothing] * 3
        if isfinite(other.lower_bound):
            cells.append((other.lower_bound, objective_value(result.objective, other.lower_bound)))
            cells += [nothing, at_least(other.above), at_least(above_free(result, other))]
        else:
            cells += [(None, "no mapping"), *[nothing] * 3]
        yield str(other.style), cells


def proven(one: StyleResult) -> str:
    """Return whether every layer has its best mapping, else the gap of the totals."""
    if one.proven:
        return '<span class="tick">✓&nbsp;proven</span>'
    return f'<span class="gap">gap {percent(one.gap)}</span>'


def above_free(result: UniformResult, other: StyleBound) -> float | None:
    """Return how far a style is above the best mapping of each layer at least."""
    best = result.best
    if best.above_free is None or not best.value:
        return None
    return (1 + best.above_free) * other.lower_bound / best.value - 1


def at_least(share: float | None) -> Cell:
    """Return a share that is a lower bound."""
    return (None, NOTHING) if share is None else (share, f"≥ {percent(share)}")


def cell(shown: Cell) -> str:
    """Return a cell that sorts by its value."""
    value, text = shown
    return f"<td>{text}</td>" if value is None else f'<td data-value="{value!r}">{text}</td>'

"""Several runs side by side: a table for the terminal, and a page."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from string import Template
from typing import Any

from tilewright.document import load
from tilewright.errors import InputError
from tilewright.mapper.objective.objective import parse_objective
from tilewright.report.page import package_text, package_version
from tilewright.report.quantities import NOTHING, TIMES, cycles, energy, energy_delay, percent
from tilewright.text import aligned, wrapped

PAGE = Template("""\
<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<meta name="color-scheme" content="light dark">
<meta name="generator" content="$generator">
<title>$title · tilewright</title>
<style>$style</style>
</head>
<body>
<header><p class="brand">$generator</p><h1>$title</h1>
<p class="lead">Each run against the first one, $first. Bars are as long as the values.</p></header>
<main>$sections</main>
</body>
</html>
""")


@dataclass(frozen=True)
class Run:
    """What `tilewright map --json` wrote.

    Attributes
    ----------
    name : str
        What to call it.
    data : dict
        Network, architecture, objective, layers and totals.
    """

    name: str
    data: dict[str, Any]

    @property
    def title(self) -> str:
        """What was mapped onto what, and what was minimised."""
        goal = parse_objective(self.data["objective"]).least
        return f"{self.data['network']} on {self.data['architecture']}, {goal}"

    @property
    def proven(self) -> str:
        """How many layers are proven optimal, of how many."""
        layers = self.data["layers"]
        return f"{sum(each['proof']['optimal'] for each in layers)} of {len(layers)}"


def read_run(path: str, name: str) -> Run:
    """Read a file that `tilewright map --json` wrote.

    Raises
    ------
    InputError
        When it is none.
    """
    data = load(path).data
    known = isinstance(data, dict) and {"network", "architecture", "layers", "total"} <= set(data)
    if not known or not all("proof" in each for each in data["layers"]):
        raise InputError("is not a result file of 'tilewright map --json'", source=path)
    return Run(name, data)


def comparison_text(runs: Sequence[Run], width: int | None = None) -> str:
    """Return a table with a row per run: totals, and how they compare with the first."""
    headers = ("run", "energy (uJ)", "ratio", "cycles", "ratio", "EDP (pJ x cycles)", "ratio",
               "proven")  # fmt: skip
    first = runs[0].data["total"]
    rows = []
    for run in runs:
        total = run.data["total"]
        rows.append((
            run.name,
            f"{total['energy_pj'] * 1e-6:,.2f}", ratio(total, first, "energy_pj"),
            f"{total['cycles']:,.0f}", ratio(total, first, "cycles"),
            f"{total['edp_pj_cycles']:.4e}", ratio(total, first, "edp_pj_cycles"),
            run.proven,
        ))  # fmt: skip
    titles = [wrapped(f"{run.name}: {run.title}", width) for run in runs]
    lines = aligned([headers, *rows], (0,), width=width)
    ending = f"Ratios are to the first run, {runs[0].name}. EDP is total energy x total cycles."
    return "\n".join([*titles, "", *lines, "", wrapped(ending, width)])


def ratio(values: dict[str, Any], first: dict[str, Any], key: str) -> str:
    """Return a value as a multiple of the first run's."""
    return f"{values[key] / first[key]:.3f}" if first[key] else NOTHING


def comparison_html(runs: Sequence[Run]) -> str:
    """Return some runs as one page: totals, then the same layers side by side."""
    networks = list(dict.fromkeys(run.data["network"] for run in runs))
    title = f"{' and '.join(networks)}: {len(runs)} runs"
    rows = [(run, "", run.data["total"], run.proven) for run in runs]
    sections = [section("Totals", rows)]
    names = dict.fromkeys(each["layer"] for run in runs for each in run.data["layers"])
    for name in names:
        rows = [
            (
                run,
                f" {TIMES}{each['repeat']}" if each["repeat"] > 1 else "",
                each,
                verdict(each["proof"]),
            )
            for run in runs
            for each in run.data["layers"]
            if each["layer"] == name
        ]
        if len(rows) > 1:
            sections.append(section(name, rows))
    return PAGE.substitute(
        title=escape(title),
        first=escape(runs[0].name),
        generator=escape(f"tilewright {package_version()}".strip()),
        style=package_text("style.css"),
        sections="".join(sections),
    )


def section(title: str, rows: Sequence[tuple[Run, str, dict[str, Any], str]]) -> str:
    """Return a table of one layer or of the totals, a row per run, with a bar for each value."""
    shown = {"energy_pj": energy, "cycles": cycles, "edp_pj_cycles": energy_delay}
    first = rows[0][2]
    body = []
    for run, repeat, values, proven in rows:
        cells = []
        for key, text in shown.items():
            most = max(each[key] for _, _, each, _ in rows) or 1.0
            cells.append(
                f'<td><span class="bar" style="--share: {values[key] / most:.4f}">'
                f"{text(values[key])}</span></td><td>{ratio(values, first, key)}</td>"
            )
        cells.append(f"<td>{percent(values['utilization'])}</td><td>{proven}</td>")
        machine = escape(f"{run.data['architecture']}, {run.data['objective']}")
        body.append(
            f'<tr><th scope="row">{escape(run.name)}{repeat}</th><td>{machine}</td>'
            f"{''.join(cells)}</tr>"
        )
    heads = ("run", "machine, objective", "energy", "ratio", "latency", "ratio",
             f"energy {TIMES} delay", "ratio", "utilization", "proven")  # fmt: skip
    head = "".join(f'<th scope="col">{name}</th>' for name in heads)
    return (
        f'<section><h2>{escape(title)}</h2><div class="scroll"><table class="runs"><thead>'
        f"<tr>{head}</tr></thead><tbody>{''.join(body)}</tbody></table></div></section>"
    )


def verdict(proof: dict[str, Any]) -> str:
    """Return whether a mapping is proven best, else its gap."""
    return "yes" if proof["optimal"] else f"gap {percent(proof['gap'])}"

"""What is known about an optimum: what limits it, and what else is nearly as good."""

from __future__ import annotations

import json
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING, Any

from tilewright.architecture.machine import Architecture
from tilewright.mapper.explain.entries import Alternative, Relaxed, gain_text, row
from tilewright.mapper.objective.objective import parse_objective
from tilewright.mapper.results.dataflow import dataflow
from tilewright.mapper.results.proof import standing
from tilewright.mapper.results.result import LayerResult
from tilewright.mapper.results.text import percent
from tilewright.mapping.text import mapping_text
from tilewright.text import aligned, wrapped

if TYPE_CHECKING:
    import pandas as pd

ALONE = (
    "Each limit is relaxed alone. Energies per word, leakage and everything else of the machine "
    "stay as they are, also where they would follow from a size."
)
RESPECTS = {
    "spatial": "other spatial dimensions",
    "kept": "other tensors in {innermost}",
    "stationary": "another tensor first in {innermost}",
}
COSTS = ("pJ", "cycles")
LEFT = ("best of", "spatial", "stored", "stationary")
KINDS = {"spatial": "spatial dimensions", "bypass": "bypasses"}


@dataclass(frozen=True, repr=False)
class Explanation:
    """What limits the optimum of a layer, and what else is nearly as good.

    Attributes
    ----------
    optimum : LayerResult
        The best mapping.
    architecture : Architecture
        What computes it.
    within : float
        How far above the optimum runner-ups were looked for, as a share of it.
    limits : tuple of Relaxed
        Every limit of the machine, the one whose relaxation gains most first.
    runner_ups : tuple of Alternative
        The best mapping of every other bypass choice and of every other set of spatially
        unrolled dimensions that lies within that share, the best first.
    otherwise : tuple of Alternative
        The best mapping that unrolls other dimensions, the best one whose innermost memory keeps
        other tensors, and the best one in which a tensor is stationary that is not so in the
        optimum (or none is), the best first. One is missing where there is none.
    open : tuple of str
        What is not proven, in words.
    seconds : float
        Time that it took.
    interrupted : bool
        Whether Ctrl-C ended it.
    """

    optimum: LayerResult
    architecture: Architecture
    within: float
    limits: tuple[Relaxed, ...]
    runner_ups: tuple[Alternative, ...]
    otherwise: tuple[Alternative, ...]
    open: tuple[str, ...]
    seconds: float
    interrupted: bool = False

    @property
    def complete(self) -> bool:
        """Whether all gains and alternatives are proven and no runner-up is missing."""
        return not self.open

    @property
    def binding(self) -> tuple[Relaxed, ...]:
        """The limits whose relaxation alone improves the optimum, most first."""
        return tuple(relaxed for relaxed in self.limits if relaxed.binding)

    def __repr__(self) -> str:
        name = f"{self.optimum.layer.name} on {self.architecture.name}"
        first = self.binding[:1]
        limit = f"limited most by {first[0].limit}" if first else "no binding limit"
        return (
            f"<Explanation of {name}: {limit}, {len(self.runner_ups)} runner-ups within "
            f"{self.within:.4g} of the optimum, {'proven' if self.complete else 'incomplete'}>"
        )

    def __str__(self) -> str:
        return self.text()

    def statement(self) -> str:
        """Return in a few sentences which limits bind and what is proven."""
        names = [f"{one.limit} ({percent(one.gain)})" for one in self.binding]
        idle = sum(one.proven and not one.binding for one in self.limits)
        better = parse_objective(self.optimum.objective).better
        parts = []
        if names:
            parts.append(f"Relaxing one of these alone gives {better}: {', '.join(names)}.")
        if idle:
            which = "Every limit" if idle == len(self.limits) else f"{idle} of the limits"
            parts.append(f"{which} can be relaxed alone without any gain; that is proven.")
        return " ".join([*parts, ALONE]) if self.limits else "The machine has no limits."

    def limit_rows(self) -> list[tuple[str, ...]]:
        """Return the cells of the table of limits under its headers."""
        unit = parse_objective(self.optimum.objective).unit
        return [
            ("limit", "now", "relaxed", "gain", unit, "proven", "its optimum uses"),
            *(
                (
                    str(one.limit),
                    one.limit.now,
                    one.limit.then,
                    gain_text(one),
                    f"{one.value:,.6g}",
                    "yes" if one.proven else "no",
                    one.remark(),
                )
                for one in self.limits
            ),
        ]

    def alternative_rows(self) -> list[tuple[str, ...]]:
        """Return the cells of the table of the optimum and the runner-ups under its headers."""
        best = self.optimum
        flow = dataflow(best.mapping, best.layer, self.architecture)
        unit = parse_objective(best.objective).unit
        product = unit not in COSTS
        return [
            (
                "above", *([unit] if product else []), *COSTS, "best of", "proven", "spatial",
                "stored", "stationary",
            ),
            row("", best.proof.value, product, best.evaluation, "all", best.proof.optimal, flow),
            *(
                row(
                    f"+{percent(one.above)}", one.value, product, one.evaluation,
                    " and ".join(KINDS[kind] for kind in one.kinds), one.proven, one.dataflow,
                )
                for one in self.runner_ups
            ),
        ]  # fmt: skip

    def otherwise_lines(self) -> list[str]:
        """Return a line for the best mapping with another dataflow, and its loops."""
        lines = [
            f"with {RESPECTS[one.kinds[0]].format(innermost=self.architecture.memories[-1].name)}: "
            f"{percent(one.above)} above ({one.dataflow.spatial_text()}; "
            f"{one.dataflow.stored_text()}; first {one.dataflow.stationary_text()}; "
            f"{'proven' if one.proven else 'the best found in time'})"
            for one in self.otherwise
        ]
        if self.otherwise:
            found = self.otherwise[0].evaluation
            nest = mapping_text(found.mapping, found.layer, found.architecture)
            above = percent(self.otherwise[0].above)
            lines += ["", f"Loops of the nearest other dataflow ({above} above):", ""]
            lines += [nest.rstrip("\n")]
        none = "there is no mapping with" if self.complete else "nothing found in time with"
        return lines or [f"{none} another dataflow"]

    def text(self, width: int | None = None) -> str:
        """Return tables of limits and of runner-ups, and the best mapping that works otherwise."""
        optimum = self.optimum
        goal = parse_objective(optimum.objective)
        title = (
            f"{optimum.layer.name} on {self.architecture.name}, {goal.least}: "
            f"{optimum.proof.value:,.6g} {goal.unit}, {standing(optimum.proof)}"
        )
        lines = [wrapped(title, width)]
        if self.limits:
            rows = self.limit_rows()
            lines += ["", "What limits it", "", *aligned(rows, (0, 1, 2, 6), width=width)]
        lines += ["", wrapped(self.statement(), width)]
        lines += ["", f"Runner-ups within {percent(self.within)}", ""]
        table = self.alternative_rows()
        words = [i for i, name in enumerate(table[0]) if name in LEFT]
        lines += aligned(table, words, width=width, drop=("best of", "proven"))
        lines += ["", "Nearest other dataflow", ""]
        lines += [wrapped(line, width) for line in self.otherwise_lines()]
        lines += ["", wrapped(self.verdict(), width)]
        return "\n".join(lines)

    def verdict(self) -> str:
        """Return whether everything is proven, and if not, what is missing."""
        if self.complete:
            return (
                "Everything above is proven for mappings whose tile sizes divide "
                f"({self.seconds:.1f} s)."
            )
        return f"Not proven, {self.stopped()}: {'; '.join(self.open)}."

    def stopped(self) -> str:
        """Return what ended the search."""
        return "interrupted" if self.interrupted else "stopped at the time limit"

    def _repr_html_(self) -> str:
        parts = [
            f"<p>{escape(repr(self)[1:-1])}</p>",
            self.to_frame().to_html(index=False, border=0),
        ]
        parts += [f"<p>{escape(self.statement())}</p>"]
        parts += [self.runner_ups_frame().to_html(index=False, border=0)]
        parts += [f"<p>{escape(self.verdict())}</p>"]
        return "".join(parts)

    def to_frame(self) -> pd.DataFrame:
        """Return a table with one row per limit."""
        import pandas as pd

        left_out = ("optimum",)
        return pd.DataFrame(
            [
                {key: item for key, item in one.to_dict().items() if key not in left_out}
                for one in self.limits
            ]
        )

    def runner_ups_frame(self) -> pd.DataFrame:
        """Return a table with one row for the optimum and one per runner-up."""
        import pandas as pd

        header, *rows = self.alternative_rows()
        return pd.DataFrame(rows, columns=list(header))

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain data, as ``tilewright explain --json`` writes it."""
        return {
            "layer": self.optimum.layer.name,
            "architecture": self.architecture.name,
            "objective": self.optimum.objective,
            "within": self.within,
            "complete": self.complete,
            "open": list(self.open),
            "interrupted": self.interrupted,
            "seconds": self.seconds,
            "binding": [str(one.limit) for one in self.binding],
            "optimum": self.optimum.to_dict(),
            "limits": [one.to_dict() for one in self.limits],
            "runner_ups": [one.to_dict() for one in self.runner_ups],
            "otherwise": [one.to_dict() for one in self.otherwise],
        }

    def to_json(self, indent: int | None = 2) -> str:
        """Return `to_dict` as JSON text."""
        return json.dumps(self.to_dict(), indent=indent)

"""What the mapper returns: mappings, what they cost, and why nothing is better."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cached_property
from html import escape
from typing import TYPE_CHECKING, Any, ClassVar

from tilewright.architecture.machine import Architecture
from tilewright.mapper.objective.objective import parse_objective
from tilewright.mapper.results.proof import Proof, standing
from tilewright.mapper.results.searched_space import DIVISORS, SIZES
from tilewright.mapper.results.statement import proven_text
from tilewright.mapper.results.text import number, percent
from tilewright.mapping.files import mapping_data
from tilewright.mapping.idle import Idle, idle_arrays
from tilewright.mapping.nodes import Mapping
from tilewright.mapping.text import mapping_text
from tilewright.model.results.energy_figure import energy_figure
from tilewright.model.results.hardware import Hardware, hardware
from tilewright.model.results.result import Evaluation, utilization
from tilewright.text import aligned, wrapped
from tilewright.workload.by_layer import ByLayer
from tilewright.workload.layer import Layer, Network

if TYPE_CHECKING:
    import pandas as pd
    import plotly.graph_objects as go

HEADERS = (
    "layer", "repeat", "energy (uJ)", "cycles", "EDP (pJ x cycles)", "utilization", "bound by",
    "gap", "proven",
)  # fmt: skip


@dataclass(frozen=True, repr=False)
class LayerResult:
    """The best mapping of one layer.

    Attributes
    ----------
    layer : Layer
        What is computed.
    mapping : Mapping
        How it runs.
    evaluation : Evaluation
        What that costs, for one run of the layer.
    objective : str
        What was minimised, see `objective.parse_objective`.
    proof : Proof
        Why nothing is better.
    """

    layer: Layer
    mapping: Mapping
    evaluation: Evaluation
    objective: str
    proof: Proof

    @property
    def energy_pj(self) -> float:
        """Energy of one run."""
        return self.evaluation.energy_pj

    @property
    def cycles(self) -> float:
        """Cycles of one run."""
        return self.evaluation.cycles

    def __repr__(self) -> str:
        return (
            f"<LayerResult of {self.layer.name}: {self.proof.value:.6g} "
            f"{parse_objective(self.objective).unit}, {standing(self.proof)}>"
        )

    def __str__(self) -> str:
        nest = mapping_text(self.mapping, self.layer, self.evaluation.architecture)
        return f"{repr(self)[1:-1]}\n\n{nest}"

    def _repr_html_(self) -> str:
        head, _, nest = str(self).partition("\n\n")
        return f"<p>{escape(head)}</p><pre>{escape(nest)}</pre>"

    def to_dict(self) -> dict[str, Any]:
        """Return the evaluation with the mapping and the proof, as plain data."""
        return self.evaluation.to_dict() | {
            "repeat": self.layer.repeat,
            "objective": self.objective,
            "mapping": mapping_data(self.mapping, self.layer),
            "proof": self.proof.to_dict(),
        }


@dataclass(frozen=True, repr=False)
class NetworkResult(ByLayer[LayerResult]):
    """The best mapping of every layer of a network, and what they cost together.

    Attributes
    ----------
    network : Network
        What is computed.
    architecture : Architecture
        What computes it.
    objective : str
        What was minimised for each layer, see `objective.parse_objective`.
    layers : tuple of LayerResult
        In the order of the network.
    seconds : float
        Time from the first layer to the last.
    interrupted : bool
        Whether Ctrl-C ended the search.
    unmapped : tuple of Layer
        Layers for which the search was stopped before it had any mapping. The totals lack them.
    stopped : bool
        Whether the time limit ended the search of some layer.
    """

    network: Network
    architecture: Architecture
    objective: str
    layers: tuple[LayerResult, ...]
    seconds: float
    interrupted: bool = False
    unmapped: tuple[Layer, ...] = ()
    stopped: bool = False

    fused: ClassVar[bool] = False  # whether layers may share loops

    @property
    def optimal(self) -> bool:
        """Whether the mapping of every layer is proven to be the best."""
        return not self.unmapped and all(result.proof.optimal for result in self.layers)

    @property
    def gap(self) -> float:
        """By what share of its value the mapping of a layer may be improved at most."""
        return max((result.proof.gap for result in self.layers), default=0.0)

    @cached_property
    def value(self) -> float:
        """What was minimised: the objective summed over the layers, repeats counted."""
        return sum(r.proof.value * r.layer.repeat for r in self.layers)

    @property
    def minimises_totals(self) -> bool:
        """Whether what is minimised is the objective of the totals, not only of each layer."""
        return self.runs == 1 or parse_objective(self.objective).powers in ((1, 0), (0, 1))

    @cached_property
    def lower_bound(self) -> float:
        """What that cannot be less than."""
        return sum(r.proof.lower_bound * r.layer.repeat for r in self.layers)

    @cached_property
    def runs(self) -> int:
        """Runs of all layers that have a mapping."""
        return sum(r.layer.repeat for r in self.layers)

    @cached_property
    def energy_pj(self) -> float:
        """Energy of all layers in pJ, repeats counted."""
        return sum(r.evaluation.energy_pj * r.layer.repeat for r in self.layers)

    @cached_property
    def cycles(self) -> float:
        """Cycles of all layers one after the other, repeats counted."""
        return sum(r.evaluation.cycles * r.layer.repeat for r in self.layers)

    @property
    def edp_pj_cycles(self) -> float:
        """Energy of the network times its cycles, in pJ x cycles."""
        return self.energy_pj * self.cycles

    @cached_property
    def operations(self) -> int:
        """Operations of all layers, repeats counted."""
        return sum(r.evaluation.operations * r.layer.repeat for r in self.layers)

    @cached_property
    def utilization(self) -> float:
        """Operations / what all compute units could carry out in all cycles."""
        return utilization(self.architecture, self.operations, self.cycles) if self.cycles else 0.0

    @property
    def idle(self) -> tuple[Idle, ...]:
        """Arrays that constraints leave mostly idle, whatever the mapping, by layer."""
        return idle_arrays(self.network.layers, self.architecture)

    @cached_property
    def hardware(self) -> Hardware:
        """Area, energy, power and leakage of each component, over all layers."""
        return hardware(self.architecture, [result.evaluation for result in self.layers])

    def __repr__(self) -> str:
        proven = sum(result.proof.optimal for result in self.layers)
        layers = len(self.layers) + len(self.unmapped)
        known = f"{proven} of {layers} layers proven optimal"
        if layers == 1:
            known = standing(self.layers[0].proof) if self.layers else "no mapping yet"
        return (
            f"<NetworkResult of {self.network.name} on {self.architecture.name}: "
            f"{self.energy_pj:.6g} pJ, {self.cycles:.6g} cycles, {known}>"
        )

    def __str__(self) -> str:
        return self.text()

    @property
    def title(self) -> str:
        """What was mapped onto what, and what was minimised."""
        return f"{self.network.name} on {self.architecture.name}, {self.wanted}"

    @property
    def wanted(self) -> str:
        """What was minimised, and over which tile sizes where those are not all."""
        divide = any(result.proof.tiles == DIVISORS for result in self.layers)
        least = parse_objective(self.objective).least
        return f"{least}, {SIZES[DIVISORS]}" if divide else least

    def rows(self) -> list[tuple[str, ...]]:
        """Return the cells of a table: one row per layer under `HEADERS`, then the totals."""
        rows = [cells(result) for result in self.layers]
        rows += [(layer.name, f"{layer.repeat}", *["-"] * 6, "no") for layer in self.unmapped]
        count = len(self.network.layers)
        total = (
            f"total of {len(self.layers)} of {count} layers" if self.unmapped else "total",
            f"{self.runs}",
            number(self.energy_pj * 1e-6),
            f"{self.cycles:,.0f}",
            f"{self.edp_pj_cycles:.4e}",
            f"{self.utilization:.1%}",
            "",
            "",
            ("yes" if self.optimal else "no") if self.minimises_totals else "",
        )
        return [*rows, total]

    def statement(self, width: int | None = None) -> str:
        """Return in a few sentences what is proven, in lines that are at most so wide."""
        lines = [proven_text(self), *(f"Space: {text}" for text in self.spaces())]
        return wrapped("\n".join(lines), width)

    def spaces(self) -> list[str]:
        """Return in words which mappings the proofs are about."""
        return list(dict.fromkeys(result.proof.space for result in self.layers))

    def reuse(self) -> str:
        """Return how many layers come from the cache, as the end of a sentence."""
        cached = sum(result.proof.cached for result in self.layers)
        if not cached:
            return ""
        if len(self.layers) == 1:
            return "; the result is from the cache"
        results = "result is" if cached == 1 else "results are"
        return f"; {cached} of {len(self.layers)} {results} from the cache"

    def text(self, width: int | None = None) -> str:
        """Return a table with a row per layer, the totals, and what is proven."""
        lines = aligned([HEADERS, *self.rows()], (0, 6), width=width, drop=self.spare_columns())
        return "\n".join([wrapped(self.title, width), "", *lines, "", self.statement(width)])

    def spare_columns(self) -> tuple[str, ...]:
        """Return the columns that a narrow table does without, the first one first."""
        spare = ("EDP (pJ x cycles)", "utilization", "bound by", "repeat")
        keep = "EDP (pJ x cycles)" if parse_objective(self.objective).powers == (1, 1) else ""
        return tuple(name for name in spare if name != keep)

    def _repr_html_(self) -> str:
        table = self.to_frame().to_html(index=False, border=0)
        return f"<p>{escape(repr(self)[1:-1])}</p>{table}<p>{escape(self.statement())}</p>"

    def plot(self) -> go.Figure:
        """Return a plot of the energy of each layer by level of the machine, repeats counted."""
        return energy_figure([r.evaluation for r in self.layers], self.title)

    def to_frame(self) -> pd.DataFrame:
        """Return a table with one row per layer; energies and cycles are of one run of it."""
        import pandas as pd

        return pd.DataFrame(
            [
                {
                    "layer": r.layer.name,
                    "repeat": r.layer.repeat,
                    "operations": r.evaluation.operations,
                    "energy_pj": r.evaluation.energy_pj,
                    "cycles": r.evaluation.cycles,
                    "edp_pj_cycles": r.evaluation.edp_pj_cycles,
                    "utilization": r.evaluation.utilization,
                    "power_mw": r.evaluation.power_mw,
                    "leakage_pj": r.evaluation.leakage_pj,
                    "area_mm2": r.evaluation.area_mm2,
                    "bound": r.evaluation.bound,
                    "optimal": r.proof.optimal,
                    "lower_bound": r.proof.lower_bound,
                    "value": r.proof.value,
                    "gap": r.proof.gap,
                    "mappings_in_space": r.proof.mappings_in_space,
                    "seconds": r.proof.seconds,
                    "cached": r.proof.cached,
                }
                for r in self.layers
            ]
        )

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain data, as ``tilewright map --json`` writes it."""
        return {
            "network": self.network.name,
            "architecture": self.architecture.name,
            "objective": self.objective,
            "optimal": self.optimal,
            "interrupted": self.interrupted,
            "stopped": self.stopped,
            "seconds": self.seconds,
            "layers": [result.to_dict() for result in self.layers],
            "unmapped": [layer.name for layer in self.unmapped],
            "idle": [idle.to_dict() for idle in self.idle],
            "total": {
                "layers": len(self.layers),
                "repeat": self.runs,
                "value": self.value,
                "lower_bound": self.lower_bound,
                "operations": self.operations,
                "energy_pj": self.energy_pj,
                "cycles": self.cycles,
                "edp_pj_cycles": self.edp_pj_cycles,
                "utilization": self.utilization,
            },
            "hardware": self.hardware.to_dict(),
        }

    def to_json(self, indent: int | None = 2) -> str:
        """Return `to_dict` as JSON text."""
        return json.dumps(self.to_dict(), indent=indent)


def cells(result: LayerResult) -> tuple[str, ...]:
    """Return the row of a layer in the table of `NetworkResult.rows`."""
    evaluation, proof = result.evaluation, result.proof
    return (
        result.layer.name,
        f"{result.layer.repeat}",
        number(evaluation.energy_pj * 1e-6),
        f"{evaluation.cycles:,.0f}",
        f"{evaluation.edp_pj_cycles:.4e}",
        f"{evaluation.utilization:.1%}",
        evaluation.bound,
        percent(proof.gap),
        "yes" if proof.optimal else "no",
    )

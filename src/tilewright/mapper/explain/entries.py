"""What an explanation lists: limits that are relaxed, and mappings that are nearly as good."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from tilewright.mapper.explain.relaxed_machines import RelaxedLimit, usage
from tilewright.mapper.results.dataflow import Dataflow, dataflow
from tilewright.mapper.results.text import percent
from tilewright.mapping.files import mapping_data
from tilewright.model.results.result import Evaluation


@dataclass(frozen=True)
class Relaxed:
    """What the optimum becomes when one limit is relaxed.

    Attributes
    ----------
    limit : RelaxedLimit
        What is relaxed, from what to what.
    value : float
        Objective of the best mapping found on the relaxed machine; that of the optimum where
        nothing better was found.
    lower_bound : float
        No mapping of the relaxed machine has less.
    gain : float
        By how much the objective falls at least, as a share of the optimum, in [0, 1].
    most_gain : float
        By how much it falls at most; equal to `gain` when proven.
    proven : bool
        Whether `gain` is exact.
    reason : str or None
        Why the limit cannot matter, where no search was needed.
    evaluation : Evaluation or None
        The new optimum, its mapping included; None where the old one remains.
    """

    limit: RelaxedLimit
    value: float
    lower_bound: float
    gain: float
    most_gain: float
    proven: bool
    reason: str | None = None
    evaluation: Evaluation | None = None

    @property
    def binding(self) -> bool:
        """Whether something is known to be gained."""
        return self.gain > 0

    def remark(self) -> str:
        """Return what the new optimum uses, or why there is none."""
        if self.evaluation is not None:
            return usage(self.limit, self.evaluation)
        if self.reason is not None:
            return self.reason
        return "the optimum stays" if self.proven else "nothing better found in time"

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain data."""
        found = self.evaluation
        return {
            "limit": str(self.limit),
            "kind": self.limit.kind,
            "level": self.limit.level,
            "item": self.limit.item,
            "now": self.limit.now,
            "relaxed": self.limit.then,
            "value": self.value,
            "lower_bound": self.lower_bound,
            "gain": self.gain,
            "most_gain": self.most_gain,
            "proven": self.proven,
            "remark": self.remark(),
            "optimum": None if found is None else mapping_and_costs(found),
        }


@dataclass(frozen=True)
class Alternative:
    """The best mapping of some kind.

    Attributes
    ----------
    kinds : tuple of str
        What it is the best of: ``"bypass"`` (all mappings that store the same tensors in the same
        memories), ``"spatial"`` (all that unroll the same dimensions), or in what its dataflow
        differs: ``"spatial"``, ``"kept"`` or ``"stationary"``.
    evaluation : Evaluation
        What it costs; its mapping is in there.
    value : float
        Its objective.
    above : float
        By how much that is more than the optimum, as a share of the optimum.
    dataflow : Dataflow
        What it unrolls, stores and keeps stationary.
    proven : bool
        Whether nothing of its kind is better.
    """

    kinds: tuple[str, ...]
    evaluation: Evaluation
    value: float
    above: float
    dataflow: Dataflow
    proven: bool

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain data."""
        return {
            "kinds": list(self.kinds),
            "value": self.value,
            "above": self.above,
            "proven": self.proven,
            **mapping_and_costs(self.evaluation),
        }


def mapping_and_costs(evaluation: Evaluation) -> dict[str, Any]:
    """Return a mapping, its dataflow and its costs as plain data."""
    layer, machine, mapping = evaluation.layer, evaluation.architecture, evaluation.mapping
    return {
        "energy_pj": evaluation.energy_pj,
        "cycles": evaluation.cycles,
        "utilization": evaluation.utilization,
        "bound": evaluation.bound,
        **dataflow(mapping, layer, machine).to_dict(),
        "mapping": mapping_data(mapping, layer),
    }


def gain_text(relaxed: Relaxed) -> str:
    """Return a gain in percent, with what it may be at most where it is not exact."""
    if relaxed.proven:
        return percent(relaxed.gain)
    return f"{percent(relaxed.gain)} to {percent(relaxed.most_gain)}"


def row(
    above: str,
    value: float,
    product: bool,
    evaluation: Evaluation,
    kind: str,
    proven: bool,
    flow: Dataflow,
) -> tuple[str, ...]:
    """Return the cells of one mapping in the table of runner-ups, its value if it is a product."""
    return (
        above,
        *([f"{value:,.6g}"] if product else []),
        f"{evaluation.energy_pj:,.6g}",
        f"{evaluation.cycles:,.0f}",
        kind,
        "yes" if proven else "no",
        flow.spatial_text(),
        flow.stored_text(),
        flow.stationary_text(),
    )


def by_gain(limits: Sequence[Relaxed]) -> tuple[Relaxed, ...]:
    """Return limits, the one that gains most first; equals in the order of the machine."""
    return tuple(sorted(limits, key=lambda one: (-one.gain, -one.most_gain)))

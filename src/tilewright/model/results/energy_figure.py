"""A plot of where the energy of layers goes, by level of the machine."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from tilewright.architecture.machine import Array
from tilewright.model.results.result import Evaluation

if TYPE_CHECKING:
    import plotly.graph_objects as go

LEAKAGE = "leakage"


def energy_by_level(evaluation: Evaluation) -> dict[str, float]:
    """Return the energy of every memory, network, the compute unit and leakage, in pJ."""
    parts: dict[str, float] = {}
    for level in evaluation.architecture.levels:
        if level.name in evaluation.memories:
            parts[level.name] = evaluation.memories[level.name].energy_pj
        elif isinstance(level, Array):
            parts[level.name] = evaluation.networks[level.name].energy_pj
        else:
            parts[level.name] = evaluation.compute.energy_pj
    # names are the user's: a level may be called leakage, and a tensor like the compute unit
    parts[LEAKAGE] = parts.get(LEAKAGE, 0.0) + evaluation.leakage_pj
    return parts


def energy_figure(evaluations: Sequence[Evaluation], title: str) -> go.Figure:
    """Return stacked bars: the energy of each layer in uJ, repeats counted, by level.

    Parameters
    ----------
    evaluations : sequence of Evaluation
        One for each layer, all on machines with the same levels.
    title : str
    """
    import plotly.graph_objects as go

    figure = go.Figure()
    names = [each.layer.name for each in evaluations]
    parts = [energy_by_level(each) for each in evaluations]
    levels = dict.fromkeys(name for part in parts for name in part)
    for level in levels:
        energies = [
            part.get(level, 0.0) * each.layer.repeat * 1e-6
            for part, each in zip(parts, evaluations, strict=True)
        ]
        if any(energies):
            figure.add_bar(x=energies, y=names, name=level, orientation="h")
    figure.update_layout(barmode="stack", title=title)
    figure.update_xaxes(title="energy (uJ)")
    figure.update_yaxes(autorange="reversed")
    return figure

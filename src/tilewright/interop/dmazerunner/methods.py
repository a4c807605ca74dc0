"""How many execution methods layers have on a machine, and the best of them."""

from __future__ import annotations

import json
from collections.abc import Callable
from collections.abc import Mapping as Dict
from dataclasses import dataclass
from html import escape
from math import prod
from typing import TYPE_CHECKING, Any

from tilewright.architecture.machine import Architecture
from tilewright.errors import InputError
from tilewright.interop.dmazerunner.counting import check_covered
from tilewright.interop.dmazerunner.method import levels_of
from tilewright.interop.dmazerunner.orderings import distinct_orderings
from tilewright.interop.dmazerunner.result import MethodCost
from tilewright.interop.dmazerunner.space import PRUNED, Pruning, Space
from tilewright.mapper.problem.lattice import divisors
from tilewright.text import aligned, wrapped
from tilewright.workload.by_layer import ByLayer
from tilewright.workload.layer import Layer, Network

if TYPE_CHECKING:
    import pandas as pd

MOST_SHAPES = 1 << 21  # of the tile lattice: some hundred MB of arrays


@dataclass(frozen=True)
class LayerMethods:
    """The execution methods of one layer.

    Attributes
    ----------
    layer : Layer
        What is computed.
    orderings : int
        Loop orderings of unique reuse, where every dimension loops.
    counts : mapping of str to int
        Tilings without heuristics (``"all"``) and with more and more of them (``"OPT1"``,
        ``"OPT1+2"``, ``"OPT1+2+3"``).
    best : mapping of str to MethodCost or None
        The best method of each, None where there is none; empty when it was not looked for.
    """

    layer: Layer
    orderings: int
    counts: Dict[str, int]
    best: Dict[str, MethodCost | None]


@dataclass(frozen=True)
class ExecutionMethods(ByLayer[LayerMethods]):
    """The execution methods of some layers on a machine, as dMazeRunner counts them.

    Attributes
    ----------
    network : Network
        The layers; each counts once, however often it occurs.
    architecture : Architecture
        The machine.
    goal : str or None
        What is least in the best methods: ``"edp"``, ``"cycles"`` or ``"energy"``.
    layers : tuple of LayerMethods
        In the order of the network.
    """

    network: Network
    architecture: Architecture
    goal: str | None
    layers: tuple[LayerMethods, ...]

    def __repr__(self) -> str:
        return (
            f"<ExecutionMethods of {self.network.name} on {self.architecture.name}: "
            f"{self.total('all'):,} execution methods of {len(self.layers)} layers>"
        )

    def total(self, pruned: str) -> int:
        """Return the tilings of all layers with some heuristics."""
        return sum(found.counts[pruned] for found in self.layers)

    def value(self, found: MethodCost | None) -> float | None:
        """Return what is least, of the best method of a layer."""
        if found is None:
            return None
        if self.goal == "edp":
            return found.edp_pj_cycles
        return found.cycles if self.goal == "cycles" else found.energy_pj

    def text(self, width: int | None = None) -> str:
        """Return a table of the counts, and one of the best values."""
        rows = [("layer", "orderings", *PRUNED)]
        for own in self.layers:
            counts = (f"{own.counts[name]:,}" for name in PRUNED)
            rows.append((own.layer.name, str(own.orderings), *counts))
        if len(self.layers) > 1:
            rows.append(("total", "", *(f"{self.total(name):,}" for name in PRUNED)))
        title = f"{self.network.name} on {self.architecture.name}: execution methods (dMazeRunner)"
        parts = [wrapped(title, width), "", *aligned(rows, (0,), width=width)]
        if self.goal is not None:
            least, unit = {
                "edp": ("least energy-delay product", "pJ x cycles"),
                "cycles": ("fewest cycles", "cycles"),
                "energy": ("least energy", "pJ"),
            }[self.goal]
            parts += ["", f"{least} by dMazeRunner's counting ({unit})", ""]
            best = [("layer", *PRUNED), *(self._best_row(f) for f in self.layers)]
            parts += aligned(best, (0,), width=width)
        return "\n".join(parts)

    def _best_row(self, own: LayerMethods) -> tuple[str, ...]:
        least = self.value(own.best["all"])
        cells = []
        for name in PRUNED:
            value = self.value(own.best[name])
            ratio = f" ({value / least:.3f})" if value is not None and least else ""
            cells.append("none" if value is None else f"{value:.6g}{ratio}")
        return own.layer.name, *cells

    def _repr_html_(self) -> str:
        return f"<p>{escape(repr(self)[1:-1])}</p>{self.to_frame().to_html(index=False, border=0)}"

    def to_frame(self) -> pd.DataFrame:
        """Return a table with one row per layer and set of heuristics."""
        import pandas as pd

        return pd.DataFrame(
            [
                {
                    "layer": own.layer.name,
                    "pruned": name,
                    "methods": own.counts[name],
                    "energy_pj": None if found is None else found.energy_pj,
                    "cycles": None if found is None else found.cycles,
                    "edp_pj_cycles": None if found is None else found.edp_pj_cycles,
                }
                for own in self.layers
                for name in PRUNED
                for found in (own.best.get(name),)
            ]
        )

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain data, as ``tilewright methods --json`` writes it."""
        return {
            "network": self.network.name,
            "architecture": self.architecture.name,
            "goal": self.goal,
            "total": {name: self.total(name) for name in PRUNED},
            "layers": [
                {
                    "layer": own.layer.name,
                    "orderings": own.orderings,
                    "methods": dict(own.counts),
                    "best": {
                        name: None if found is None else found.to_dict()
                        for name, found in own.best.items()
                    },
                }
                for own in self.layers
            ],
        }

    def to_json(self, indent: int | None = 2) -> str:
        """Return `to_dict` as JSON text."""
        return json.dumps(self.to_dict(), indent=indent)


def count_methods(
    network: Network,
    machine: Architecture,
    goal: str | None = None,
    tell: Callable[[str], None] = lambda line: None,
) -> ExecutionMethods:
    """Count the execution methods of every layer, and find the best ones.

    Parameters
    ----------
    network, machine
        What is computed, on what.
    goal : str, optional
        What the best methods minimise.
    tell : callable
        Told in a line which layer begins.

    Raises
    ------
    InputError
        When the machine or a layer is not of the kind that dMazeRunner covers.
    """
    from tilewright.interop.dmazerunner.search import best_of, goal_of

    levels_of(machine)
    if goal is not None:
        goal_of(goal)
    for layer in network.layers:
        check_size(layer)
        if goal is not None:
            check_covered(layer, machine)
    layers = []
    for layer in network.layers:
        tell(f"{layer.name}: execution methods")
        spaces = {name: Space(layer, machine, Pruning(opt)) for name, opt in PRUNED.items()}
        counts = {name: space.count for name, space in spaces.items()}
        best = {} if goal is None else {name: best_of(s, goal) for name, s in spaces.items()}
        looping = frozenset(d for d in layer.dimensions if layer.bounds[d] > 1)
        orderings = len(distinct_orderings(layer, looping))
        layers.append(LayerMethods(layer, orderings, counts, best))
    return ExecutionMethods(network, machine, goal, tuple(layers))


def check_size(layer: Layer) -> None:
    """Refuse a layer with more tile shapes than there is room for."""
    shapes = prod(len(divisors(n)) for n in layer.bounds.values())
    if shapes > MOST_SHAPES:
        raise InputError(
            f"layer '{layer.name}' has {shapes:,} tile shapes; {MOST_SHAPES:,} are accepted",
            key="layer",
        )

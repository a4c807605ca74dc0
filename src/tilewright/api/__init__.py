"""What Python users call: workloads, machines and mappings by name, by file or as objects.

A function is imported with what it needs when it is first used.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tilewright.api.cost import evaluate, evaluate_network, simulate
    from tilewright.api.execution import methods
    from tilewright.api.fusion import evaluate_fused, fused_frontier, simulate_fused
    from tilewright.api.interop import compare_counts, export, export_topology, read_timeloop
    from tilewright.api.layout import best_layout
    from tilewright.api.limits import explain, least_memory
    from tilewright.api.notation import convert
    from tilewright.api.offchip import least_traffic
    from tilewright.api.search import map
    from tilewright.api.study import compare, mapspace
    from tilewright.api.tradeoffs import frontier, pareto

__all__ = [
    "best_layout",
    "compare",
    "compare_counts",
    "convert",
    "evaluate",
    "evaluate_fused",
    "evaluate_network",
    "explain",
    "export",
    "export_topology",
    "frontier",
    "fused_frontier",
    "least_memory",
    "least_traffic",
    "map",
    "mapspace",
    "methods",
    "pareto",
    "read_timeloop",
    "simulate",
    "simulate_fused",
]

HOMES = {
    "cost": ("evaluate", "evaluate_network", "simulate"),
    "execution": ("methods",),
    "fusion": ("evaluate_fused", "fused_frontier", "simulate_fused"),
    "interop": ("compare_counts", "export", "export_topology", "read_timeloop"),
    "layout": ("best_layout",),
    "limits": ("explain", "least_memory"),
    "notation": ("convert",),
    "offchip": ("least_traffic",),
    "search": ("map",),
    "study": ("compare", "mapspace"),
    "tradeoffs": ("frontier", "pareto"),
}
HOME = {name: f"{__name__}.{module}" for module, names in HOMES.items() for name in names}


def __getattr__(name: str) -> Any:
    if name not in HOME:
        raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
    value = getattr(import_module(HOME[name]), name)
    globals()[name] = value
    return value

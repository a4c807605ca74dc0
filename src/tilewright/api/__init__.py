"""What Python users call: workloads, machines and mappings by name, by file or as objects."""

from tilewright.api.cost import evaluate, evaluate_network, simulate
from tilewright.api.layout import best_layout
from tilewright.api.notation import convert
from tilewright.api.search import explain, frontier, map, pareto
from tilewright.api.study import compare, mapspace

__all__ = [
    "best_layout",
    "compare",
    "convert",
    "evaluate",
    "evaluate_network",
    "explain",
    "frontier",
    "map",
    "mapspace",
    "pareto",
    "simulate",
]

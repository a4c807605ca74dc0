"""What Python users call: workloads, machines and mappings by name, by file or as objects."""

from tilewright.api.cost import evaluate, evaluate_network, simulate
from tilewright.api.execution import methods
from tilewright.api.layout import best_layout
from tilewright.api.notation import convert
from tilewright.api.offchip import least_traffic
from tilewright.api.search import explain, frontier, least_memory, map, pareto
from tilewright.api.study import compare, mapspace

__all__ = [
    "best_layout",
    "compare",
    "convert",
    "evaluate",
    "evaluate_network",
    "explain",
    "frontier",
    "least_memory",
    "least_traffic",
    "map",
    "mapspace",
    "methods",
    "pareto",
    "simulate",
]

"""What Python users call: workloads, machines and mappings by name, by file or as objects."""

from tilewright.api.cost import evaluate, simulate
from tilewright.api.methods import methods
from tilewright.api.search import explain, frontier, map, pareto
from tilewright.api.study import compare, mapspace

__all__ = [
    "compare", "evaluate", "explain", "frontier", "map", "mapspace", "methods", "pareto",
    "simulate",
]  # fmt: skip

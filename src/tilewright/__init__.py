"""Exact counts and proven-optimal mappings of tensor workloads on spatial accelerators.

`map` finds the best mapping of a workload on a machine, `evaluate` tells what a given one costs,
`simulate` counts the same by brute force, `compare` shows what other strategies find, `mapspace`
what mappings there are, `explore` the best machines of a space, `least_traffic` the fewest words
to and from DRAM. Names are imported when they are first used.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tilewright.api import (
        best_layout,
        compare,
        compare_counts,
        convert,
        evaluate,
        evaluate_fused,
        evaluate_network,
        explain,
        export,
        export_topology,
        frontier,
        fused_frontier,
        least_memory,
        least_traffic,
        map,
        mapspace,
        methods,
        pareto,
        read_timeloop,
        simulate,
        simulate_fused,
    )
    from tilewright.api.catalogue import (
        list_architectures,
        list_dataflows,
        list_styles,
        list_workloads,
    )
    from tilewright.api.inputs import load_workload
    from tilewright.api.searches import Exact, Fused, Heuristic, Uniform
    from tilewright.architecture.constraints.constraint import Constraint, Constraints, Limits
    from tilewright.architecture.constraints.dataflow import load_dataflow
    from tilewright.architecture.constraints.files import load_constraints
    from tilewright.architecture.files import load_architecture
    from tilewright.architecture.machine import Architecture
    from tilewright.errors import InputError, MappingError, NoMappingError, TilewrightError
    from tilewright.exploration import Exploration, explore, load_space
    from tilewright.fusion.result import FusedEvaluation, FusedNetworkEvaluation
    from tilewright.interop.dmazerunner.methods import ExecutionMethods
    from tilewright.interop.dmazerunner.orderings import unique_orderings
    from tilewright.interop.dmazerunner.result import MethodCost
    from tilewright.interop.maestro.syntax import Dataflow
    from tilewright.layout.result import LayoutResult
    from tilewright.mapper.explain.explanation import Explanation
    from tilewright.mapper.fused.frontier_result import FusedFrontier
    from tilewright.mapper.network.front_of_network import NetworkFront
    from tilewright.mapper.results.frontier import Frontier
    from tilewright.mapper.results.proof import Proof
    from tilewright.mapper.results.result import LayerResult, NetworkResult
    from tilewright.mapper.search.front import Front
    from tilewright.mapper.search.least_memory import LeastMemory
    from tilewright.mapper.styles.result import UniformResult
    from tilewright.mapping.files import load_mapping
    from tilewright.mapping.fused.segments import Segment
    from tilewright.mapping.fused.tree import Branch, Fuse, FusedMapping, Halo
    from tilewright.mapping.nodes import For, Mapping, Spatial, Store
    from tilewright.model.batch import Batch, evaluate_batch
    from tilewright.model.network import NetworkEvaluation
    from tilewright.model.result import Evaluation
    from tilewright.model.statistics import Statistics
    from tilewright.offchip.network_result import NetworkTraffic
    from tilewright.offchip.result import LayerTraffic
    from tilewright.report.page import write_report
    from tilewright.strategies.comparison import Comparison
    from tilewright.strategies.mapspace import MapSpace
    from tilewright.workload.einsum import einsum
    from tilewright.workload.layer import Layer, Network
    from tilewright.workload.network import load_network
    from tilewright.workload.operators import (
        add,
        conv1d,
        conv2d,
        conv3d,
        depthwise,
        fully_connected,
        grouped,
        matmul,
        pointwise,
        pooling,
        transposed_conv2d,
    )

    __version__: str

__all__ = [
    "Architecture",
    "Batch",
    "Branch",
    "Comparison",
    "Constraint",
    "Constraints",
    "Dataflow",
    "Evaluation",
    "Exact",
    "ExecutionMethods",
    "Explanation",
    "Exploration",
    "For",
    "Front",
    "Frontier",
    "Fuse",
    "Fused",
    "FusedEvaluation",
    "FusedFrontier",
    "FusedMapping",
    "FusedNetworkEvaluation",
    "Halo",
    "Heuristic",
    "InputError",
    "Layer",
    "LayerResult",
    "LayerTraffic",
    "LayoutResult",
    "LeastMemory",
    "Limits",
    "MapSpace",
    "Mapping",
    "MappingError",
    "MethodCost",
    "Network",
    "NetworkEvaluation",
    "NetworkFront",
    "NetworkResult",
    "NetworkTraffic",
    "NoMappingError",
    "Proof",
    "Segment",
    "Spatial",
    "Statistics",
    "Store",
    "TilewrightError",
    "Uniform",
    "UniformResult",
    "__version__",
    "add",
    "best_layout",
    "compare",
    "compare_counts",
    "conv1d",
    "conv2d",
    "conv3d",
    "convert",
    "depthwise",
    "einsum",
    "evaluate",
    "evaluate_batch",
    "evaluate_fused",
    "evaluate_network",
    "explain",
    "explore",
    "export",
    "export_topology",
    "frontier",
    "fully_connected",
    "fused_frontier",
    "grouped",
    "least_memory",
    "least_traffic",
    "list_architectures",
    "list_dataflows",
    "list_styles",
    "list_workloads",
    "load_architecture",
    "load_constraints",
    "load_dataflow",
    "load_mapping",
    "load_network",
    "load_space",
    "load_workload",
    "map",
    "mapspace",
    "matmul",
    "methods",
    "pareto",
    "pointwise",
    "pooling",
    "read_timeloop",
    "simulate",
    "simulate_fused",
    "transposed_conv2d",
    "unique_orderings",
    "write_report",
]

HOMES = {
    "api": (
        "best_layout", "compare", "compare_counts", "convert", "evaluate", "evaluate_fused",
        "evaluate_network", "explain", "export", "export_topology", "frontier", "fused_frontier",
        "least_memory", "least_traffic", "map", "mapspace", "methods", "pareto", "read_timeloop",
        "simulate", "simulate_fused",
    ),
    "architecture.constraint_files": ("load_constraints",),
    "architecture.constraints": ("Constraint", "Constraints", "Limits"),
    "architecture.dataflow": ("load_dataflow",),
    "architecture.files": ("load_architecture",),
    "architecture.machine": ("Architecture",),
    "fusion.result": ("FusedEvaluation", "FusedNetworkEvaluation"),
    "interop.maestro.syntax": ("Dataflow",),
    "interop.dmazerunner.methods": ("ExecutionMethods",),
    "interop.dmazerunner.orderings": ("unique_orderings",),
    "interop.dmazerunner.result": ("MethodCost",),
    "errors": ("InputError", "MappingError", "NoMappingError", "TilewrightError"),
    "exploration": ("Exploration", "explore", "load_space"),
    "api.catalogue": ("list_architectures", "list_dataflows", "list_styles", "list_workloads"),
    "api.inputs": ("load_workload",),
    "api.searches": ("Exact", "Fused", "Heuristic", "Uniform"),
    "layout.result": ("LayoutResult",),
    "mapper.explain.explanation": ("Explanation",),
    "mapper.fused.frontier_result": ("FusedFrontier",),
    "mapper.search.front": ("Front",),
    "mapper.results.frontier": ("Frontier",),
    "mapper.search.least_memory": ("LeastMemory",),
    "mapper.network.front_of_network": ("NetworkFront",),
    "mapper.results.proof": ("Proof",),
    "mapper.results.result": ("LayerResult", "NetworkResult"),
    "mapper.styles.result": ("UniformResult",),
    "mapping.files": ("load_mapping",),
    "mapping.fused.segments": ("Segment",),
    "mapping.fused.tree": ("Branch", "Fuse", "FusedMapping", "Halo"),
    "mapping.nodes": ("For", "Mapping", "Spatial", "Store"),
    "model.batch": ("Batch", "evaluate_batch"),
    "model.network": ("NetworkEvaluation",),
    "model.result": ("Evaluation",),
    "model.statistics": ("Statistics",),
    "offchip.network_result": ("NetworkTraffic",),
    "offchip.result": ("LayerTraffic",),
    "report.page": ("write_report",),
    "strategies.comparison": ("Comparison",),
    "strategies.mapspace": ("MapSpace",),
    "workload.einsum": ("einsum",),
    "workload.layer": ("Layer", "Network"),
    "workload.network": ("load_network",),
    "workload.operators": (
        "add", "conv1d", "conv2d", "conv3d", "depthwise", "fully_connected", "grouped", "matmul",
        "pointwise", "pooling", "transposed_conv2d",
    ),
}  # fmt: skip
HOME = {name: f"tilewright.{module}" for module, names in HOMES.items() for name in names}


def __getattr__(name: str) -> Any:
    if name == "__version__":
        from importlib.metadata import PackageNotFoundError, version

        try:
            return version("tilewright")
        except PackageNotFoundError:
            return "unknown"
    if name not in HOME:
        raise AttributeError(f"module 'tilewright' has no attribute '{name}'")
    value = getattr(import_module(HOME[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)

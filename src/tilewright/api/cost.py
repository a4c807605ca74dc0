"""Evaluate and simulate a mapping."""

from __future__ import annotations

from collections.abc import Mapping as Dict
from dataclasses import replace
from typing import TYPE_CHECKING, Literal, TypeAlias, overload

from tilewright.api.inputs import (
    ArchitectureLike,
    WorkloadLike,
    the_architecture,
    the_latency,
    the_layer,
    the_network,
)
from tilewright.api.mappings import MappingLike, of_several_layers, the_run, the_style
from tilewright.architecture.machine import Architecture
from tilewright.errors import InputError, nearest
from tilewright.interop.dmazerunner.counting import count_method
from tilewright.interop.dmazerunner.result import MethodCost
from tilewright.interop.maestro.syntax import Dataflow
from tilewright.interop.maestro.translate import translate
from tilewright.layout.moved import laid_out
from tilewright.mapping.nodes import Mapping
from tilewright.mapping.validity import check as check_validity
from tilewright.model.evaluate import assess
from tilewright.model.results.network import NetworkEvaluation
from tilewright.model.results.result import Evaluation
from tilewright.reference.timeline import simulate_latency
from tilewright.retention.evaluate import check_latency, refuse_retention
from tilewright.retention.evaluate import evaluate as evaluate_mapping
from tilewright.retention.evaluate import simulate as simulate_mapping
from tilewright.workload.layer import Layer

if TYPE_CHECKING:
    from tilewright.workload.axis_order import Layout

LayoutsLike: TypeAlias = "Dict[str, str | Layout] | str | None"

COUNTINGS = ("tilewright", "dmazerunner")


@overload
def evaluate(
    workload: WorkloadLike,
    architecture: ArchitectureLike,
    mapping: MappingLike,
    *,
    layer: str | None = None,
    latency: str | None = None,
    layouts: LayoutsLike = None,
    counting: Literal["tilewright"] = "tilewright",
) -> Evaluation: ...


@overload
def evaluate(
    workload: WorkloadLike,
    architecture: ArchitectureLike,
    mapping: MappingLike,
    *,
    layer: str | None = None,
    counting: Literal["dmazerunner"],
) -> MethodCost: ...


def evaluate(
    workload: WorkloadLike,
    architecture: ArchitectureLike,
    mapping: MappingLike,
    *,
    layer: str | None = None,
    latency: str | None = None,
    layouts: LayoutsLike = None,
    counting: str = "tilewright",
) -> Evaluation | MethodCost:
    """Return what a mapping costs.

    Parameters
    ----------
    workload : str, path, Layer or Network
        Name of a network that ships, a file, or the thing itself.
    architecture : str, path or Architecture
        Name of a machine that ships, a file, or the thing itself.
    mapping : str, path, Mapping, Dataflow, list or dict
        A file, the mapping itself, or the list of its nodes as a file would have it; or
        data-centric directives: a file, a text, or the name of a style that ships, such as
        ``"kc-p"``. Directives arrange the machine's processing elements as clusters.
    layer : str, optional
        Which layer of the workload; needed where it has several.
    latency : str, optional
        ``"throughput"``: transfers overlap with compute and the slowest level sets the pace;
        ``"pipelined"``: step by step, with fills, drains, DMA bursts and stalls. By default what
        the machine says, and that is ``"throughput"`` where it says nothing.
    layouts : mapping of str to str or Layout, or "best", optional
        How tensors lie in the outermost memory: the axes of each from the outermost to the
        contiguous one, such as ``{"I": "N,P,Q,C"}``; those that are left out lie as the workload
        says, or in the order of the einsum. With ``"best"``, in the order with which the mapping
        moves the fewest blocks. The outermost memory then moves whole blocks; under pipelined
        latency, DMA bursts are as long as the layouts let them be. By default what the workload
        says, on machines whose outermost memory has blocks.
    counting : str
        ``"tilewright"``, or ``"dmazerunner"`` for what that tool's model says of the mapping; it
        has a latency of its own and no layouts.

    Returns
    -------
    Evaluation or MethodCost
        Energy in pJ, cycles, counts in tensor elements; with layouts a BlockEvaluation.

    Raises
    ------
    InputError
        When something cannot be read; a MappingError when the mapping does not fit the machine, or
        is none that dMazeRunner's model covers.
    """
    if counting not in COUNTINGS:
        accepted = ", ".join(COUNTINGS)
        raise InputError(
            f"no counting '{counting}'; accepted: {accepted}{nearest(str(counting), COUNTINGS)}",
            key="counting",
        )
    if counting == "dmazerunner" and not latency is layouts is None:
        raise InputError(
            "'dmazerunner' has a latency of its own and no layouts: leave these out",
            key="counting",
        )
    chosen = the_layer(workload, layer)
    machine, nodes = the_run(mapping, chosen, the_architecture(architecture))
    if counting == "dmazerunner":
        return count_method(chosen, machine, nodes)
    kind = the_latency(latency, machine)
    return costed(chosen, machine, nodes, layouts, check=isinstance(mapping, Mapping), latency=kind)


def costed(
    layer: Layer,
    architecture: Architecture,
    mapping: Mapping,
    layouts: LayoutsLike = None,
    *,
    check: bool,
    latency: str,
) -> Evaluation:
    """Return what a mapping costs with the layouts that are given, or those of the workload."""
    if layouts is None and not laid_out(layer, architecture):
        return evaluate_mapping(layer, architecture, mapping, check=check, latency=latency)
    if latency == "pipelined":
        orders = axis_orders(the_layouts(layouts, layer, architecture, mapping), layer)
        return evaluate_mapping(
            layer, architecture, mapping, check=check, latency=latency, layouts=orders
        )
    from tilewright.layout.count import count_blocks
    from tilewright.layout.evaluate import in_blocks

    refuse_retention(architecture, "blocks of data layouts are not defined", "layouts")
    plain = evaluate_mapping(layer, architecture, mapping, check=check)
    found = the_layouts(layouts, layer, architecture, mapping)
    blocks = count_blocks(layer, architecture, mapping, found)
    return in_blocks(layer, architecture, mapping, plain.counts, found, blocks)


def the_layouts(
    given: LayoutsLike, layer: Layer, architecture: Architecture, mapping: Mapping
) -> dict[str, Layout]:
    """Return the layouts that are meant, or the best ones."""
    from tilewright.layout.count import best_layouts
    from tilewright.workload.axis_order import given_layouts

    if isinstance(given, str) and given == "best":
        return dict(best_layouts(layer, architecture, mapping))
    return dict(given_layouts({} if given is None else given, layer))


def axis_orders(layouts: Dict[str, Layout], layer: Layer) -> dict[str, str]:
    """Return layouts as orders of index expressions, for DMA bursts.

    Raises
    ------
    InputError
        When a layout cuts an axis into tiles.
    """
    orders = {}
    for tensor in layer.tensors:
        parts = layouts[tensor.name].parts
        if any(part.tile for part in parts):
            raise InputError(
                f"pipelined latency takes whole axes; the layout of '{tensor.name}' is "
                f"{layouts[tensor.name].text(tensor)}",
                key="layouts",
            )
        orders[tensor.name] = ", ".join(
            "+".join(map(str, tensor.expressions[part.axis])) for part in parts
        )
    return orders


def evaluate_network(
    workload: WorkloadLike,
    architecture: ArchitectureLike,
    mapping: MappingLike,
    *,
    latency: str | None = None,
) -> NetworkEvaluation:
    """Return what all layers of a network cost, each mapped as one file or one style says.

    Parameters
    ----------
    workload : str, path, Layer or Network
        Name of a network that ships, a file, or the thing itself.
    architecture : str, path or Architecture
        Name of a machine that ships, a file, or the thing itself.
    mapping : str, path, Mapping, Dataflow, list or dict
        As for `evaluate`; a file may have a mapping or directives for every layer.
    latency : str, optional
        As for `evaluate`.

    Returns
    -------
    NetworkEvaluation
        An evaluation for each layer. Layers that are equal but for their names are evaluated
        once.

    Raises
    ------
    InputError
        When something cannot be read; a MappingError when a mapping does not fit the machine.
    """
    network = the_network(workload)
    machine = the_architecture(architecture)
    kind = the_latency(latency, machine)
    style = the_style(mapping)
    several = None if style is not None else of_several_layers(mapping)
    written = mapping if several is None else several
    known: dict[Layer, Evaluation] = {}
    found = []
    for layer in network.layers:
        key = layer if style is None else replace(layer, name="", repeat=1)
        if key not in known and style is not None:
            known[key] = evaluate_directives(style, layer, machine, kind)
        elif key not in known:
            chosen, nodes = the_run(written, layer, machine)
            known[key] = costed(
                layer, chosen, nodes, check=isinstance(mapping, Mapping), latency=kind
            )
        found.append(replace(known[key], layer=layer))
    return NetworkEvaluation(network, machine, tuple(found))


def evaluate_directives(
    flow: Dataflow, layer: Layer, machine: Architecture, latency: str
) -> Evaluation:
    """Return what directives cost; the nodes that are counted are alike for many layers."""
    run = translate(flow, layer, machine)
    check_validity(run.mapping, layer, run.architecture)
    if laid_out(layer, run.architecture):
        return costed(layer, run.architecture, run.mapping, check=False, latency=latency)
    found = evaluate_mapping(layer, run.architecture, run.padded, check=False, latency=latency)
    return replace(found, mapping=run.mapping)


def simulate(
    workload: WorkloadLike,
    architecture: ArchitectureLike,
    mapping: MappingLike,
    *,
    layer: str | None = None,
    latency: str | None = None,
    layouts: LayoutsLike = None,
) -> Evaluation:
    """Return what a mapping costs, counted by carrying it out, one word at a time.

    Parameters, result and errors are those of `evaluate`. The layer may have 2 million operations
    at most.
    """
    chosen = the_layer(workload, layer)
    machine, nodes = the_run(mapping, chosen, the_architecture(architecture))
    kind = the_latency(latency, machine)
    check_latency(machine, kind)
    found = simulate_mapping(chosen, machine, nodes, check=isinstance(mapping, Mapping))
    if kind == "throughput":
        if layouts is None and not laid_out(chosen, machine):
            return found
        from tilewright.layout.evaluate import in_blocks
        from tilewright.layout.simulate import simulate_blocks

        refuse_retention(machine, "blocks of data layouts are not defined", "layouts")
        lying = the_layouts(layouts, chosen, machine, nodes)
        blocks = simulate_blocks(chosen, machine, nodes, lying)
        return in_blocks(chosen, machine, nodes, found.counts, lying, blocks)
    orders = axis_orders(the_layouts(layouts, chosen, machine, nodes), chosen)
    pipeline, _ = simulate_latency(chosen, machine, nodes, layouts=orders, check=False)
    return assess(chosen, machine, nodes, found.counts, pipeline)

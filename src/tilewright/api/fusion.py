"""Evaluate and simulate fused mappings, and find the best for every size of a memory."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from collections.abc import Mapping as MappingOf
from os import PathLike, fspath
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from tilewright.api.inputs import (
    ArchitectureLike,
    WorkloadLike,
    check_fuse,
    check_options,
    the_architecture,
    the_latency,
    the_network,
    the_searched_architecture,
)
from tilewright.architecture.machine import Architecture
from tilewright.document import SUFFIXES, Document, KeyPath, key_text, load, read_text
from tilewright.errors import InputError, MappingError
from tilewright.fusion import evaluation
from tilewright.fusion.result import FusedEvaluation, FusedNetworkEvaluation
from tilewright.kernels.time_limits import time_is_up
from tilewright.mapper.network.running.progress import counted
from tilewright.mapper.objective.objective import parse_objective
from tilewright.mapping.fused.connections.connected_layers import segment
from tilewright.mapping.fused.connections.segments import Segment
from tilewright.mapping.fused.notation.files import is_fused, parse_fused
from tilewright.mapping.fused.notation.paths import key_path
from tilewright.mapping.fused.tree import FusedMapping
from tilewright.mapping.nodes import Mapping
from tilewright.mapping.validity import check as check_mapping
from tilewright.model.evaluate import evaluate as evaluate_mapping
from tilewright.model.results.result import Evaluation
from tilewright.reference.simulate import simulate as simulate_mapping
from tilewright.retention.evaluate import refuse_retention
from tilewright.workload.layer import Layer

if TYPE_CHECKING:
    from tilewright.mapper.fused.results.frontier_result import FusedFrontier

FusedLike: TypeAlias = "str | PathLike[str] | FusedMapping | list[Any] | dict[str, Any]"
Pricing: TypeAlias = Callable[..., FusedEvaluation]


def evaluate_fused(
    workload: WorkloadLike,
    architecture: ArchitectureLike,
    mapping: FusedLike,
    *,
    latency: str | None = None,
) -> FusedEvaluation | FusedNetworkEvaluation:
    """Return what a fused mapping costs.

    Parameters
    ----------
    workload : str, path or Network
        Name of a network that ships, a file, or the thing itself; it says how its layers are
        connected.
    architecture : str, path or Architecture
        Name of a machine that ships, a file, or the thing itself.
    mapping : str, path, FusedMapping, list or dict
        A file, the mapping itself, or what a file would have.
    latency : str, optional
        ``"throughput"``; by default what the machine says. Pipelined latency, which follows the
        steps within one layer, is not defined for fused layers.

    Returns
    -------
    FusedEvaluation or FusedNetworkEvaluation
        Energy in pJ, cycles, counts in tensor elements: of one segment, or of the whole network
        where the file has ``segments``.

    Raises
    ------
    InputError
        When something cannot be read; a MappingError when the mapping does not fit the machine.
    """
    return _Fused(workload, architecture, evaluation.evaluate, latency).priced(mapping)


def simulate_fused(
    workload: WorkloadLike,
    architecture: ArchitectureLike,
    mapping: FusedLike,
    *,
    latency: str | None = None,
) -> FusedEvaluation | FusedNetworkEvaluation:
    """Return what a fused mapping costs, counted by carrying it out, one word at a time.

    Parameters, result and errors are those of `evaluate_fused`. The layers may have 2 million
    operations at most.
    """
    pricing = evaluation.simulate
    return _Fused(workload, architecture, pricing, latency, simulated=True).priced(mapping)


def fused_frontier(
    workload: WorkloadLike,
    architecture: ArchitectureLike,
    over: str,
    objective: str = "energy",
    *,
    traffic: str | None = None,
    time_limit: float | None = None,
    progress: bool = False,
) -> FusedFrontier:
    """Find the least cost of a network for every size of a memory, fused where that is better.

    Parameters
    ----------
    workload : str, path or Network
        Name of a network that ships, a file, or the thing itself; it says how its layers are
        connected.
    architecture : str, path or Architecture
        Name of a machine that ships, a file, or the thing itself. The energy per access stays what
        it is whatever the size.
    over : str
        Name of a memory above the arrays.
    objective : str
        What to minimise, as for `map`, summed over layers and segments.
    traffic : str, optional
        Name of a memory: its reads and writes, in elements, are minimised instead.
    time_limit : float, optional
        Seconds, more than 0; the result has the points found until then, the largest sizes first.
    progress : bool
        Whether to show the number of searches on the standard error stream.

    Returns
    -------
    FusedFrontier
        A step function: the least size of each step, its value, trees and mappings.

    Raises
    ------
    InputError
        When something cannot be read, or the memory has no size that can vary.
    NoMappingError
        When no mapping can run one of the layers.
    """
    check_options(objective, time_limit, None)
    if traffic is not None and objective != "energy":
        raise InputError("has no effect with 'traffic': words are minimised", key="objective")
    network = the_network(workload)
    machine = the_searched_architecture(architecture)
    check_fuse(network, machine, "throughput")
    if parse_objective(objective).limited:
        raise InputError("limits cannot go with sizes of fused layers", key="objective")
    from tilewright.mapper.fused.frontier import fused_frontier as descend

    stop = time_is_up(time_limit)
    with counted(network.name, "searches", progress) as told:
        return descend(
            network, machine, over, objective,
            traffic=traffic, stop=stop, progress=told,
        )  # fmt: skip


class _Fused:
    """A network and a machine, and how mappings are priced."""

    def __init__(
        self,
        workload: WorkloadLike,
        architecture: ArchitectureLike,
        pricing: Pricing,
        latency: str | None,
        *,
        simulated: bool = False,
    ) -> None:
        self.network = the_network(workload)
        self.architecture = the_architecture(architecture)
        self.pricing = pricing
        self.simulated = simulated
        refuse_retention(self.architecture, "fused mappings are not defined", "mapping")
        check_throughput(self.architecture, latency)

    def priced(self, mapping: FusedLike) -> FusedEvaluation | FusedNetworkEvaluation:
        """Return what a mapping costs."""
        if isinstance(mapping, FusedMapping):
            return self.pricing(
                segment(self.network, mapping.layers), self.architecture, mapping, check=True
            )
        document = load(fspath(mapping)) if isinstance(mapping, str | PathLike) else mapping
        if not isinstance(document, Document):
            document = Document(document, "mapping")
        self.choose_variant(document)
        found = parse_fused(document, self.network, self.architecture)
        whole = isinstance(document.data, dict) and "segments" in document.data
        segments = []
        for i, (own, tree) in enumerate(found.segments):
            start: KeyPath = ("segments", i) if whole else ()
            segments.append(self.one(document, start, own, tree))
        if not whole:
            return segments[0]
        layers, missing = self.others([own for own, _ in found.segments], found.mappings)
        return FusedNetworkEvaluation(
            self.network, self.architecture, tuple(segments), tuple(layers), tuple(missing)
        )

    def choose_variant(self, document: Document) -> None:
        """Take the variant of the network that a file names, if it names one."""
        named = document.data.get("workload") if isinstance(document.data, dict) else None
        for variant in self.network.variants:
            if variant.name == named:
                self.network = variant

    def one(
        self, document: Document, start: KeyPath, own: Segment, tree: FusedMapping
    ) -> FusedEvaluation:
        """Return what one segment costs; what is wrong with it is told with its line."""
        try:
            return self.pricing(own, self.architecture, tree, check=True)
        except MappingError as fault:
            path = key_path(fault.key or "", start, document.data)
            line, key = document.line(path), key_text(path) or None
            raise MappingError(fault.message, source=document.source, line=line, key=key) from None

    def others(
        self,
        segments: list[Segment],
        mappings: MappingOf[str, tuple[tuple[Mapping, int | None], ...]],
    ) -> tuple[list[tuple[Evaluation, int]], list[str]]:
        """Return what the layers cost that run alone, how often, and those without a mapping."""
        fused: Counter[str] = Counter()
        for own in segments:
            for name in own.sources:
                fused[name] += own.repeat
        found, missing = [], []
        for layer in self.network.layers:
            times = layer.repeat - fused[layer.name]
            if times < 0:
                raise InputError(
                    f"layer '{layer.name}' occurs {layer.repeat} times in the network and "
                    f"{fused[layer.name]} times in the segments",
                    key="segments",
                )
            for mapping, runs in mappings.get(layer.name, ()) if times else ():
                if (runs or 0) > times:
                    raise InputError(
                        f"layer '{layer.name}' has {times} runs left for the last of its mappings, "
                        f"found {runs}",
                        key=f"mappings.{layer.name}",
                    )
                found.append((self.alone(layer, mapping), times if runs is None else runs))
                times -= times if runs is None else runs
            if times:
                missing.append(layer.name)
        return found, missing

    def alone(self, layer: Layer, mapping: Mapping) -> Evaluation:
        """Return what a layer costs that runs alone."""
        try:
            check_mapping(mapping, layer, self.architecture)
        except MappingError as fault:
            key = f"mappings.{layer.name}{(fault.key or '').removeprefix('mapping')}"
            raise MappingError(fault.message, key=key) from None
        if not self.simulated:
            return evaluate_mapping(layer, self.architecture, mapping, check=False)
        from tilewright.model.evaluate import assess

        counts = simulate_mapping(layer, self.architecture, mapping, check=False)
        return assess(layer, self.architecture, mapping, counts)


def check_throughput(architecture: Architecture, latency: str | None) -> None:
    """Refuse any but throughput latency."""
    kind = the_latency(latency, architecture)
    if kind != "throughput":
        told = "asked for" if latency else f"what '{architecture.name}' says"
        raise InputError(
            f"{kind} latency ({told}) follows the steps within one layer, and is not defined for "
            "fused layers; accepted: throughput",
            key="latency",
        )


def is_fused_file(mapping: object) -> bool:
    """Return whether a file, or what it would have, says how layers are fused."""
    if isinstance(mapping, FusedMapping):
        return True
    if isinstance(mapping, list | dict):
        return is_fused(mapping)
    if not isinstance(mapping, str | PathLike):
        return False
    name = fspath(mapping)
    if Path(name).suffix.lower() not in SUFFIXES or not Path(name).is_file():
        return False
    try:
        text = read_text(name)
        return any(key in text for key in ("fuse", "pipeline", "segments")) and is_fused(
            load(name).data
        )
    except InputError:
        return False  # whoever reads it as a mapping says what is wrong

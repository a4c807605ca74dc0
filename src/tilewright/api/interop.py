"""To and from other tools: files that are written, Timeloop's counts beside ours."""

from __future__ import annotations

from dataclasses import dataclass
from os import PathLike, fspath

from tilewright.api.cost import evaluate
from tilewright.api.inputs import (
    ArchitectureLike,
    WorkloadLike,
    the_architecture,
    the_layer,
    the_network,
)
from tilewright.api.mappings import MappingLike, the_run
from tilewright.architecture.machine import Architecture
from tilewright.document import read_text
from tilewright.errors import InputError
from tilewright.interop.scalesim.topology import topology_text
from tilewright.interop.timeloop.comparison.differences import Differences, differences
from tilewright.interop.timeloop.comparison.stats import read_stats
from tilewright.interop.timeloop.files import (
    timeloop_architecture,
    timeloop_mapping,
    timeloop_problem,
)
from tilewright.interop.timeloop.mapping_writing import mapping_text
from tilewright.interop.timeloop.report import Report
from tilewright.interop.timeloop.writing import architecture_text, problem_text
from tilewright.mapping.nodes import Mapping
from tilewright.workload.layer import Network


@dataclass(frozen=True)
class Exported:
    """Files in the notation of another tool.

    Attributes
    ----------
    files : mapping of str to str
        Their texts by name.
    left_out : tuple of str
        What that tool has no words for, and what was therefore not written.
    """

    files: dict[str, str]
    left_out: tuple[str, ...]


@dataclass(frozen=True)
class Imported:
    """What was read of Timeloop's files.

    Attributes
    ----------
    network : Network
        The problem, as a network of one layer.
    architecture : Architecture
        The machine.
    mapping : Mapping or None
        The mapping, when there is one.
    report : Report
        What was understood, and what was left out, with lines.
    """

    network: Network
    architecture: Architecture
    mapping: Mapping | None
    report: Report

    def text(self) -> str:
        """Return what was understood and what was not."""
        layer = self.network.layers[0]
        sizes = ", ".join(f"{name}={bound}" for name, bound in layer.bounds.items())
        levels = ", ".join(level.name for level in self.architecture.levels)
        lines = [f"{layer.name}: {layer.einsum}", f"  {sizes}"]
        lines.append(f"{self.architecture.name}: {levels}")
        if self.architecture.constraints:
            lines.append(f"  {len(self.architecture.constraints)} constraints")
        if self.mapping is not None:
            lines.append(f"mapping: {len(self.mapping)} nodes")
        lines.append(f"{len(self.report.understood)} keys have a meaning here")
        ignored = list(dict.fromkeys(map(str, self.report.ignored)))
        lines.append(f"{len(ignored)} change nothing here{':' * bool(ignored)}")
        return "\n".join([*lines, *(f"  {remark}" for remark in ignored)])


def export(
    workload: WorkloadLike,
    architecture: ArchitectureLike,
    mapping: MappingLike | None = None,
    *,
    layer: str | None = None,
) -> Exported:
    """Return a layer, a machine and an even mapping as files of Timeloop, version 0.4.

    Parameters
    ----------
    workload, architecture : as for `tilewright.evaluate`
        What is computed, and where.
    mapping : as for `tilewright.evaluate`, optional
        How.
    layer : str, optional
        This layer of the workload; needed when it has several.

    Raises
    ------
    InputError
        When something cannot be read; a MappingError when Timeloop cannot express the mapping.
    """
    chosen, machine = the_layer(workload, layer), the_architecture(architecture)
    nodes = None
    if mapping is not None:
        machine, nodes = the_run(mapping, chosen, machine)
    left_out: list[str] = []
    files = {
        "problem.yaml": problem_text(chosen, left_out),
        "arch.yaml": architecture_text(machine, left_out),
    }
    if nodes is not None:
        files["mapping.yaml"] = mapping_text(nodes, chosen, machine)
    return Exported(files, tuple(left_out))


def export_topology(workload: WorkloadLike) -> Exported:
    """Return the convolutions and products of matrices of a workload as a topology of SCALE-Sim.

    Parameters
    ----------
    workload : as for `tilewright.map`
        Layers that repeat get a row for each time. What SCALE-Sim has no row for is left out.

    Raises
    ------
    InputError
        When it cannot be read.
    """
    left_out: list[str] = []
    files = {"topology.csv": topology_text(the_network(workload), left_out)}
    return Exported(files, tuple(left_out))


def read_timeloop(
    problem: str | PathLike[str],
    architecture: str | PathLike[str],
    mapping: str | PathLike[str] | None = None,
) -> Imported:
    """Return what files of Timeloop hold, with a report of what has no meaning here.

    Parameters
    ----------
    problem, architecture, mapping : str or path
        Files of version 0.4 or older; one file may hold several of them.

    Raises
    ------
    InputError
        When a file cannot be read, or is none of Timeloop's.
    """
    report = Report()
    network = timeloop_problem(fspath(problem), report)
    if network is None:
        raise not_one(problem, "problem")
    machine = timeloop_architecture(fspath(architecture), report)
    if machine is None:
        raise not_one(architecture, "architecture")
    nodes = None
    if mapping is not None:
        nodes = timeloop_mapping(fspath(mapping), network.layers[0], machine, report)
        if nodes is None:
            raise not_one(mapping, "mapping")
    return Imported(network, machine, nodes, report)


def not_one(path: str | PathLike[str], what: str) -> InputError:
    """Return the error for a file that is not one of Timeloop's."""
    return InputError(f"is no {what} of Timeloop: it has no key '{what}'", source=fspath(path))


def compare_counts(
    workload: WorkloadLike,
    architecture: ArchitectureLike,
    mapping: MappingLike,
    stats: str | PathLike[str],
    *,
    layer: str | None = None,
) -> Differences:
    """Return Timeloop's counts of a mapping beside ours, each difference with its class.

    Parameters
    ----------
    workload, architecture, mapping, layer : as for `tilewright.evaluate`
        What was run; memories and tensors with the names that they have in the statistics.
    stats : str or path
        What Timeloop wrote: ``timeloop-model.stats.txt`` or ``timeloop-mapper.stats.txt``.

    Raises
    ------
    InputError
        When something cannot be read.
    """
    own = evaluate(workload, architecture, mapping, layer=layer, latency="throughput")
    theirs = read_stats(read_text(fspath(stats)), fspath(stats))
    return differences(own.layer, own.architecture, own.mapping, own.counts, own.cycles, theirs)

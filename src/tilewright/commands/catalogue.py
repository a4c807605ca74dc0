"""What ships, and how a workload or an architecture is shown."""

from __future__ import annotations

from pathlib import Path

from tilewright.architecture.constraint_files import parse_constraints
from tilewright.architecture.dataflow import dataflow_names, load_dataflow
from tilewright.architecture.files import load_architecture, preset_names
from tilewright.architecture.reading import parse_architecture
from tilewright.commands.tables import architecture_text, dataflow_text, lists, network_text
from tilewright.document import load
from tilewright.errors import InputError, nearest
from tilewright.workload.network import load_network, parse_network, zoo_names

KINDS = ("workloads", "architectures", "dataflows")
SUFFIXES = (".yaml", ".yml", ".json")


def listed(kind: str | None) -> str:
    """Return the tables of what ships, of one kind or of both."""
    if kind not in (None, *KINDS):
        raise InputError(
            f"there is no list of '{kind}'; accepted: {', '.join(KINDS)}{nearest(str(kind), KINDS)}"
        )
    networks = [load_network(name) for name in zoo_names()] if kind in (None, KINDS[0]) else None
    machines = None
    if kind in (None, KINDS[1]):
        machines = [load_architecture(name) for name in preset_names()]
    flows = None
    if kind in (None, KINDS[2]):
        flows = list(dict.fromkeys(load_dataflow(name) for name in dataflow_names()))
    return lists(networks, machines, flows)


def shown(name: str) -> str:
    """Return a workload, an architecture or a dataflow, by its name or from a file."""
    if name in zoo_names():
        return network_text(load_network(name))
    if name in preset_names():
        return architecture_text(load_architecture(name))
    if name in dataflow_names():
        return dataflow_text(load_dataflow(name))
    path = Path(name)
    if path.suffix.lower() in SUFFIXES or path.exists() or len(path.parts) > 1:
        document = load(path)
        if isinstance(document.data, dict) and "levels" in document.data:
            return architecture_text(parse_architecture(document))
        if isinstance(document.data, list) or "constraints" in (document.data or ()):
            return dataflow_text(parse_constraints(document))
        return network_text(parse_network(document))
    workloads, machines, flows = zoo_names(), preset_names(), dataflow_names()
    raise InputError(
        f"nothing called '{name}'; accepted: the path of a file (*.yaml), one of the workloads "
        f"{', '.join(workloads)}, one of the architectures {', '.join(machines)}, or one of the "
        f"dataflows {', '.join(flows)}{nearest(name, [*workloads, *machines, *flows])}"
    )

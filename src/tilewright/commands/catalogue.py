"""What ships, and how a workload or an architecture is shown."""

from __future__ import annotations

from pathlib import Path

from tilewright.architecture.files import load_architecture, preset_names
from tilewright.architecture.reading import parse_architecture
from tilewright.commands.tables import architecture_text, lists, network_text
from tilewright.document import load
from tilewright.errors import InputError, nearest
from tilewright.workload.network import load_network, parse_network, zoo_names

KINDS = ("workloads", "architectures")
SUFFIXES = (".yaml", ".yml", ".json")


def listed(kind: str | None) -> str:
    """Return the tables of what ships, of one kind or of both."""
    if kind not in (None, *KINDS):
        raise InputError(
            f"there is no list of '{kind}'; accepted: {', '.join(KINDS)}{nearest(str(kind), KINDS)}"
        )
    networks = None if kind == "architectures" else [load_network(name) for name in zoo_names()]
    machines = None if kind == "workloads" else [load_architecture(name) for name in preset_names()]
    return lists(networks, machines)


def shown(name: str) -> str:
    """Return a workload or an architecture, by its name or from a file of either kind."""
    if name in zoo_names():
        return network_text(load_network(name))
    if name in preset_names():
        return architecture_text(load_architecture(name))
    path = Path(name)
    if path.suffix.lower() in SUFFIXES or path.exists() or len(path.parts) > 1:
        document = load(path)
        if isinstance(document.data, dict) and "levels" in document.data:
            return architecture_text(parse_architecture(document))
        return network_text(parse_network(document))
    workloads, machines = zoo_names(), preset_names()
    raise InputError(
        f"nothing called '{name}'; accepted: the path of a file (*.yaml), one of the workloads "
        f"{', '.join(workloads)}, or one of the architectures {', '.join(machines)}"
        f"{nearest(name, [*workloads, *machines])}"
    )

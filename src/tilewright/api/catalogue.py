"""The names of what ships."""

from __future__ import annotations

from tilewright.architecture.constraints.dataflow import dataflow_names
from tilewright.architecture.files import preset_names
from tilewright.interop.maestro.styles import style_names
from tilewright.workload.network import zoo_names


def list_workloads() -> list[str]:
    """Return the names of the networks that ship; `load_network` reads them."""
    return list(zoo_names())


def list_architectures() -> list[str]:
    """Return the names of the machines that ship; `load_architecture` reads them."""
    return list(preset_names())


def list_dataflows() -> list[str]:
    """Return the names of the dataflows that ship, which are sets of constraints."""
    return list(dataflow_names())


def list_styles() -> list[str]:
    """Return the names of the mapping styles that ship, in data-centric directives."""
    return list(style_names())

"""How a workload, an architecture, a dataflow or a style is shown."""

from __future__ import annotations

from tilewright.architecture.constraints.dataflow import dataflow_names, load_dataflow
from tilewright.architecture.constraints.files import parse_constraints
from tilewright.architecture.files import load_architecture, preset_names
from tilewright.architecture.reading import parse_architecture
from tilewright.cli.output.tables import (
    architecture_text,
    dataflow_text,
    model_text,
    network_text,
    style_text,
)
from tilewright.document import is_path, load
from tilewright.errors import InputError, nearest
from tilewright.frontends.load import is_model, load_model, options_of
from tilewright.interop.files import other_architecture, other_network
from tilewright.interop.maestro.styles import load_style, style_names
from tilewright.workload.network import load_network, parse_network, zoo_names


def shown(name: str) -> str:
    """Return a workload, an architecture, a dataflow or a style, by its name or from a file.

    Of a dataflow and a style of one name both are shown, of a model what became of its operations.
    """
    if is_model(name):
        return model_text(load_model(name))
    options_of(name).given()
    if name in zoo_names():
        return network_text(load_network(name))
    if name in preset_names():
        return architecture_text(load_architecture(name))
    texts = [dataflow_text(load_dataflow(name))] if name in dataflow_names() else []
    if name in style_names():
        texts.append(style_text(load_style(name)))
    if texts:
        return "\n\n".join(texts)
    if (network := other_network(name)) is not None:
        return network_text(network)
    if (machine := other_architecture(name)) is not None:
        return architecture_text(machine)
    if is_path(name):
        document = load(name)
        if isinstance(document.data, dict) and "levels" in document.data:
            return architecture_text(parse_architecture(document))
        if isinstance(document.data, list) or "constraints" in (document.data or ()):
            return dataflow_text(parse_constraints(document))
        return network_text(parse_network(document))
    workloads, machines = zoo_names(), preset_names()
    flows, styles = dataflow_names(), style_names()
    raise InputError(
        f"nothing called '{name}'; accepted: the path of a file (*.yaml), one of the workloads "
        f"{', '.join(workloads)}, one of the architectures {', '.join(machines)}, one of the "
        f"dataflows {', '.join(flows)}, or one of the styles {', '.join(styles)}"
        f"{nearest(name, [*workloads, *machines, *flows, *styles])}"
    )

"""Commands that say what a mapping costs."""

from __future__ import annotations

from typing import Annotated

import typer

from tilewright.cli.options import (
    Json,
    Latency,
    LayerName,
    Machine,
    MappingFile,
    Workload,
    commands,
)


@commands.command("evaluate")
def evaluate_command(
    workload: Workload, arch: Machine, mapping: MappingFile, layer: LayerName = None,
    latency: Latency = None, json: Json = None,
    statistics: Annotated[
        bool,
        typer.Option(
            "--statistics", help="Show reuse factors, requirements of buffers and bandwidth, area."
        ),
    ] = False,
) -> int:  # fmt: skip
    """Show what a mapping costs; with a style and no --layer, a table of all layers."""
    from tilewright import api
    from tilewright.commands.files import check_outputs
    from tilewright.commands.output import put_evaluation, put_network_evaluation
    from tilewright.inputs import is_for_networks

    check_outputs({"--json": json}, [workload, arch, mapping])
    if layer is None and is_for_networks(mapping):
        found = api.evaluate_network(workload, arch, mapping, latency=latency)
        if len(found.layers) > 1:
            put_network_evaluation(found, json, statistics=statistics)
            return 0
    one = api.evaluate(workload, arch, mapping, layer=layer, latency=latency)
    put_evaluation(one, json, statistics=statistics)
    return 0


@commands.command("simulate")
def simulate_command(
    workload: Workload, arch: Machine, mapping: MappingFile, layer: LayerName = None,
    latency: Latency = None, json: Json = None,
) -> int:  # fmt: skip
    """Show the same by brute force; small layers only."""
    from tilewright import api
    from tilewright.commands.files import check_outputs
    from tilewright.commands.output import put_evaluation

    check_outputs({"--json": json}, [workload, arch, mapping])
    put_evaluation(api.simulate(workload, arch, mapping, layer=layer, latency=latency), json)
    return 0

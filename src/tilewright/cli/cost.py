"""Commands that say what a mapping costs."""

from __future__ import annotations

from typing import Annotated

import typer

from tilewright.cli.options import Json, LayerName, Machine, MappingFile, Workload, commands


@commands.command("evaluate")
def evaluate_command(
    workload: Workload, arch: Machine, mapping: MappingFile, layer: LayerName = None,
    json: Json = None,
    statistics: Annotated[
        bool,
        typer.Option(
            "--statistics", help="Show reuse factors, requirements of buffers and bandwidth, area."
        ),
    ] = False,
) -> int:  # fmt: skip
    """Show what a mapping costs; for a network without --layer, a table of all layers."""
    from tilewright import api
    from tilewright.commands.files import check_outputs
    from tilewright.commands.output import put_evaluation, put_network_evaluation
    from tilewright.inputs import the_network

    check_outputs({"--json": json}, [workload, arch, mapping])
    network = the_network(workload, layer)
    if len(network.layers) > 1:
        found = api.evaluate_network(network, arch, mapping)
        put_network_evaluation(found, json, statistics=statistics)
    else:
        one = api.evaluate(network, arch, mapping)
        put_evaluation(one, json, statistics=statistics)
    return 0


@commands.command("simulate")
def simulate_command(
    workload: Workload, arch: Machine, mapping: MappingFile, layer: LayerName = None,
    json: Json = None,
) -> int:  # fmt: skip
    """Show the same by brute force; small layers only."""
    from tilewright import api
    from tilewright.commands.files import check_outputs
    from tilewright.commands.output import put_evaluation

    check_outputs({"--json": json}, [workload, arch, mapping])
    put_evaluation(api.simulate(workload, arch, mapping, layer=layer), json)
    return 0

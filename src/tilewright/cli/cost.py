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
from tilewright.errors import InputError


@commands.command("evaluate")
def evaluate_command(
    workload: Workload, arch: Machine, mapping: MappingFile, layer: LayerName = None,
    latency: Latency = None, json: Json = None,
    timeline: Annotated[
        str | None,
        typer.Option(
            "--timeline", metavar="FILE.html", help="Plot the first steps, of pipelined latency."
        ),
    ] = None,
) -> int:  # fmt: skip
    """Show what a mapping costs."""
    from tilewright import api
    from tilewright.commands.files import check_outputs
    from tilewright.commands.output import put_evaluation, put_timeline

    check_outputs({"--json": json, "--timeline": timeline}, [workload, arch, mapping])
    evaluation = api.evaluate(workload, arch, mapping, layer=layer, latency=latency)
    if timeline is not None:
        if evaluation.pipeline is None:
            raise InputError("shows pipelined latency: add --latency pipelined", key="--timeline")
        put_timeline(evaluation, timeline)
    put_evaluation(evaluation, json)
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

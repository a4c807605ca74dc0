"""Commands that say what a mapping costs."""

from __future__ import annotations

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
) -> int:  # fmt: skip
    """Show what a mapping costs."""
    from tilewright import api
    from tilewright.commands.files import check_outputs
    from tilewright.commands.output import put_evaluation

    check_outputs({"--json": json}, [workload, arch, mapping])
    put_evaluation(api.evaluate(workload, arch, mapping, layer=layer, latency=latency), json)
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

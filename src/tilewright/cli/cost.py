"""Commands that say what a mapping costs."""

from __future__ import annotations

from typing import Annotated, Literal, cast

import typer

from tilewright.cli.options import Json, LayerName, Machine, MappingFile, Workload, commands

Counting = Annotated[
    str,
    typer.Option(
        "--counting",
        metavar="tilewright|dmazerunner",
        help="Whose definitions to count by; dMazeRunner's are those of its public code.",
    ),
]


@commands.command("evaluate")
def evaluate_command(
    workload: Workload, arch: Machine, mapping: MappingFile, layer: LayerName = None,
    counting: Counting = "tilewright", json: Json = None,
) -> int:  # fmt: skip
    """Show what a mapping costs."""
    from tilewright import api
    from tilewright.commands.files import check_outputs

    check_outputs({"--json": json}, [workload, arch, mapping])
    if counting == "dmazerunner":
        from tilewright.commands.methods import put_cost

        cost = api.evaluate(workload, arch, mapping, layer=layer, counting="dmazerunner")
        put_cost(cost, json)
        return 0
    from tilewright.commands.output import put_evaluation

    # another name is refused there
    own = cast("Literal['tilewright']", counting)
    put_evaluation(api.evaluate(workload, arch, mapping, layer=layer, counting=own), json)
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

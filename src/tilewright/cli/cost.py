"""Commands that say what a mapping costs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Literal, cast

import typer

from tilewright.cli.options import (
    Json,
    Latency,
    LayerName,
    Layouts,
    Machine,
    MappingFile,
    Workload,
    commands,
    read_layouts,
)
from tilewright.errors import InputError


def refuse(given: Mapping[str, object], why: str) -> None:
    """Refuse options that would be of no use."""
    for option, value in given.items():
        if value:
            raise InputError(why, key=option)


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
    latency: Latency = None, counting: Counting = "tilewright", layout: Layouts = None,
    json: Json = None,
    statistics: Annotated[
        bool,
        typer.Option(
            "--statistics", help="Show reuse factors, requirements of buffers and bandwidth, area."
        ),
    ] = False,
    timeline: Annotated[
        str | None,
        typer.Option(
            "--timeline", metavar="FILE.html", help="Plot the first steps, of pipelined latency."
        ),
    ] = None,
) -> int:  # fmt: skip
    """Show what a mapping costs, or those of all layers.

    All layers are evaluated with a file that `map -o` wrote or a style, and no --layer.
    """
    from tilewright import api
    from tilewright.api.inputs import is_for_networks
    from tilewright.cli.output.files import check_outputs
    from tilewright.cli.output.results import put_evaluation, put_network_evaluation, put_timeline

    check_outputs({"--json": json, "--timeline": timeline}, [workload, arch, mapping])
    single = {"--timeline": timeline, "--layout": layout}
    if counting == "dmazerunner":
        refuse({**single, "--latency": latency, "--statistics": statistics}, "not with --counting")
        from tilewright.cli.output.methods import put_cost

        put_cost(api.evaluate(workload, arch, mapping, layer=layer, counting="dmazerunner"), json)
        return 0
    if layer is None and is_for_networks(mapping):
        found = api.evaluate_network(workload, arch, mapping, latency=latency)
        if len(found.layers) > 1:
            refuse(single, "is for one layer: add --layer")
            put_network_evaluation(found, json, statistics=statistics)
            return 0
    layouts = read_layouts(layout)
    # another name of a counting is refused there
    own = cast("Literal['tilewright']", counting)
    one = api.evaluate(
        workload, arch, mapping, layer=layer, latency=latency, layouts=layouts, counting=own
    )
    if timeline is not None:
        if one.pipeline is None:
            raise InputError("shows pipelined latency: add --latency pipelined", key="--timeline")
        put_timeline(one, timeline)
    put_evaluation(one, json, statistics=statistics)
    return 0


@commands.command("simulate")
def simulate_command(
    workload: Workload, arch: Machine, mapping: MappingFile, layer: LayerName = None,
    latency: Latency = None, layout: Layouts = None, json: Json = None,
) -> int:  # fmt: skip
    """Evaluate a mapping by brute-force simulation (small layers only)."""
    from tilewright import api
    from tilewright.cli.output.files import check_outputs
    from tilewright.cli.output.results import put_evaluation

    check_outputs({"--json": json}, [workload, arch, mapping])
    layouts = read_layouts(layout)
    found = api.simulate(workload, arch, mapping, layer=layer, latency=latency, layouts=layouts)
    put_evaluation(found, json)
    return 0

"""Commands that find mappings."""

from __future__ import annotations

from typing import Annotated

import typer

from tilewright.cli.options import (
    INTERRUPTED,
    NO_MAPPING,
    ConstraintTexts,
    DataflowNames,
    Goal,
    Json,
    Latency,
    LayerName,
    Layouts,
    Machine,
    Workload,
    commands,
    read_layouts,
    say,
    seconds,
    share,
)
from tilewright.errors import InputError


@commands.command("map")
def map_command(
    workload: Workload,
    arch: Machine,
    layer: LayerName = None,
    objective: Goal = "energy",
    latency: Latency = None,
    time_limit: Annotated[
        str | None,
        typer.Option("--time-limit", metavar="S", help="Seconds, for all layers together."),
    ] = None,
    pareto: Annotated[
        bool,
        typer.Option("--pareto", help="Every trade-off of energy against cycles, in total."),
    ] = False,
    dataflow: DataflowNames = None,
    constraint: ConstraintTexts = None,
    json: Json = None,
    report: Annotated[
        str | None,
        typer.Option("--report", metavar="FILE.html", help="Write a report to look at."),
    ] = None,
    output: Annotated[
        str | None,
        typer.Option("-o", "--output", metavar="MAPPINGS.yaml", help="Write the mappings."),
    ] = None,
    tiles: Annotated[
        str | None,
        typer.Option(
            "--tiles",
            metavar="divisors|all",
            help="Tile sizes: all (default), proven where a bound is reached, or divisors.",
        ),
    ] = None,
    no_cache: Annotated[
        bool, typer.Option("--no-cache", help="Search every layer again, and keep no result.")
    ] = False,
    strategy: Annotated[
        str | None,
        typer.Option(
            "--strategy",
            metavar="NAME",
            help="Search as another mapper does, without a proof: decoupled, dmazerunner, ...",
        ),
    ] = None,
    uniform: Annotated[
        str | None,
        typer.Option(
            "--uniform",
            metavar="dataflow",
            help="Map all layers in one style: a dimension per axis, a stationary tensor.",
        ),
    ] = None,
    within: Annotated[
        str | None,
        typer.Option("--within", metavar="SHARE", help="How near other styles are: 5% or 0.05."),
    ] = None,
    layout: Layouts = None,
) -> int:
    """Find the best mapping of every layer, with a proof."""
    from tilewright import api
    from tilewright.architecture.dataflow import load_dataflow
    from tilewright.commands.files import check_outputs
    from tilewright.commands.output import put_mappings, put_result
    from tilewright.frontends.accounting import not_understood
    from tilewright.inputs import check_options, check_tiles, the_architecture, the_network

    files = {"--json": json, "--report": report, "--output": output}
    check_outputs(files, [workload, arch])
    if pareto and (report or output):
        raise InputError(
            "takes no --report and no --output; --json has the mappings", key="--pareto"
        )
    if pareto and uniform is not None:
        raise InputError("takes no --uniform: runs of layers differ in style", key="--pareto")
    if pareto and layout:
        raise InputError("--pareto counts words", key="--layout")
    if pareto and latency is not None:
        raise InputError("trades energy against throughput latency alone", key="--pareto")
    limit = seconds(time_limit)
    check_options(objective, limit, None, movement=not pareto)
    if tiles is not None:
        check_tiles(tiles)
    if pareto:
        front = api.pareto(workload, arch, objective, layer=layer, time_limit=limit, progress=True)
        put_result(front, json)
        return INTERRUPTED if front.interrupted else 0
    network = the_network(workload)
    for line in not_understood(network):
        say(line)
    network = the_network(network, layer)
    machine = the_architecture(arch)
    given = [*(load_dataflow(name) for name in dataflow or ()), *(constraint or ())]
    result = api.map(
        network,
        machine,
        objective,
        constraints=given,
        latency=latency,
        time_limit=limit,
        progress=True,
        cache=not no_cache,
        tiles=tiles,
        strategy=strategy,
        uniform=uniform,
        within=None if within is None else share(within),
        layouts=read_layouts(layout),
    )
    put_mappings(result, json, report, output)
    if result.interrupted:
        say("interrupted: these are the best mappings so far")
        return INTERRUPTED
    if result.unmapped:
        names = ", ".join(layer.name for layer in result.unmapped)
        say(f"error: the time limit ended the search before it had any mapping of {names}")
        return NO_MAPPING
    return 0


@commands.command("frontier")
def frontier_command(
    workload: Workload,
    arch: Machine,
    over: Annotated[
        list[str],
        typer.Option("--over", metavar="MEMORY", help="Memory whose size varies; once or twice."),
    ],
    objective: Annotated[
        str, typer.Option("--objective", metavar="TEXT", help="What to minimise, as for map.")
    ] = "energy",
    traffic: Annotated[
        str | None,
        typer.Option("--traffic", metavar="MEMORY", help="Minimise its words instead."),
    ] = None,
    layer: LayerName = None,
    time_limit: Annotated[
        str | None, typer.Option("--time-limit", metavar="S", help="Seconds.")
    ] = None,
    json: Json = None,
    plot: Annotated[
        str | None, typer.Option("--plot", metavar="FILE.html", help="Write a plot to look at.")
    ] = None,
) -> int:
    """Show the least cost for every size of one or two memories."""
    from tilewright import api
    from tilewright.commands.files import check_outputs
    from tilewright.commands.output import put_frontier

    check_outputs({"--json": json, "--plot": plot}, [workload, arch])
    limit = seconds(time_limit)
    found = api.frontier(
        workload, arch, over, objective, traffic=traffic, layer=layer, time_limit=limit,
        progress=True,
    )  # fmt: skip
    put_frontier(found, json, plot)
    return INTERRUPTED if found.interrupted else 0


@commands.command("explain")
def explain_command(
    workload: Workload,
    arch: Machine,
    layer: LayerName = None,
    objective: Goal = "energy",
    within: Annotated[
        str,
        typer.Option("--within", metavar="SHARE", help="How near runner-ups are: 5% or 0.05."),
    ] = "5%",
    time_limit: Annotated[
        str | None, typer.Option("--time-limit", metavar="S", help="Seconds, for everything.")
    ] = None,
    dataflow: DataflowNames = None,
    constraint: ConstraintTexts = None,
    json: Json = None,
) -> int:
    """Say what limits the best mapping of a layer, and what else is nearly as good."""
    from tilewright import api
    from tilewright.architecture.dataflow import load_dataflow
    from tilewright.commands.files import check_outputs
    from tilewright.commands.output import put_result

    check_outputs({"--json": json}, [workload, arch])
    result = api.explain(
        workload, arch, objective,
        layer=layer, within=share(within), time_limit=seconds(time_limit), progress=True,
        constraints=[*(load_dataflow(name) for name in dataflow or ()), *(constraint or ())],
    )  # fmt: skip
    put_result(result, json)
    return INTERRUPTED if result.interrupted else 0

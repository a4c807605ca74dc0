"""Commands that find mappings."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

from tilewright.cli.arguments import Option
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
    Trace,
    Workload,
    read_layouts,
    say,
    seconds,
    share,
)
from tilewright.errors import InputError
from tilewright.mapper.results.searched_space import DIVISORS, SIZES

if TYPE_CHECKING:
    from tilewright.architecture.constraints.constraint import Constraints
    from tilewright.architecture.machine import Architecture
    from tilewright.mapper.results.result import NetworkResult


TimeLimit = Annotated[
    str | None,
    Option("--time-limit", metavar="S", help="Seconds, for all layers together."),
]
Pareto = Annotated[
    bool,
    Option(
        "--pareto", help="Every trade-off of energy against cycles, with tile sizes that divide."
    ),
]
Report = Annotated[
    str | None, Option("--report", metavar="FILE.html", help="Write a page with plots.")
]
Output = Annotated[
    str | None,
    Option("-o", "--output", metavar="MAPPINGS.yaml", help="Write the mappings."),
]
Tiles = Annotated[
    str | None,
    Option(
        "--tiles",
        metavar="divisors|all",
        help="Tile sizes: all (default), or only those that divide.",
    ),
]
NoCache = Annotated[
    bool, Option("--no-cache", help="Search every layer again, and keep no result.")
]
Strategy = Annotated[
    str | None,
    Option(
        "--strategy",
        metavar="NAME",
        help="Search as another mapper does, without a proof: decoupled, dmazerunner, "
        "random, pruned or blackbox.",
    ),
]
Uniform = Annotated[
    str | None,
    Option(
        "--uniform",
        metavar="dataflow",
        help="Map all layers in one style: the same dimension on each axis, the same "
        "stationary tensor.",
    ),
]
StylesWithin = Annotated[
    str | None,
    Option(
        "--within",
        metavar="SHARE",
        help="With --uniform: also list styles within this fraction of the best, such as 5% "
        "or 0.05.",
    ),
]
Figures = Annotated[
    str | None,
    Option(
        "--figures",
        metavar="DIR",
        help="Write figures (SVG, PDF) and tables (LaTeX, CSV) for papers into this directory.",
    ),
]
Fuse = Annotated[
    bool, Option("--fuse", help="Fuse layers that exchange tensors, where that is better.")
]


@dataclass(frozen=True)
class Wanted:
    """What `map` is asked for: the options that say what is searched, how, and for how long."""

    layer: LayerName = None
    objective: Goal = "energy"
    latency: Latency = None
    time_limit: TimeLimit = None
    pareto: Pareto = False
    dataflow: DataflowNames = None
    constraint: ConstraintTexts = None
    tiles: Tiles = None
    no_cache: NoCache = False
    strategy: Strategy = None
    uniform: Uniform = None
    within: StylesWithin = None
    layout: Layouts = None
    fuse: Fuse = False


@dataclass(frozen=True)
class Files:
    """Where `map` writes to; None for nowhere."""

    json: Json = None
    report: Report = None
    output: Output = None
    trace: Trace = None
    figures: Figures = None


def map_command(workload: Workload, arch: Machine, wanted: Wanted, files: Files) -> int:
    """Find the best mapping of every layer, with a proof."""
    import tilewright
    from tilewright.api.inputs import check_options, check_tiles, the_architecture, the_network
    from tilewright.cli.output.files import check_outputs
    from tilewright.cli.output.results import put_figures, put_mappings, put_result, put_trace
    from tilewright.frontends.accounting import not_understood

    outputs = {f"--{name}": file for name, file in vars(files).items() if name != "figures"}
    check_outputs(outputs, [workload, arch])
    limit = seconds(wanted.time_limit)
    check_options(wanted.objective, limit, None, movement=not wanted.pareto)
    if wanted.tiles is not None:
        check_tiles(wanted.tiles)
    constraints = all_constraints(wanted.dataflow, wanted.constraint)
    if wanted.pareto:
        check_for_pareto(wanted, files)
        front = tilewright.pareto(
            workload, arch, wanted.objective,
            layer=wanted.layer, constraints=constraints, time_limit=limit, progress=True,
            fuse=wanted.fuse,
        )  # fmt: skip
        put_result(front, files.json)
        return INTERRUPTED if front.interrupted else 0
    if wanted.fuse:
        check_for_fusing(wanted, files)
    network = the_network(workload)
    for line in not_understood(network):
        say(line)
    network, machine = the_network(network, wanted.layer), the_architecture(arch)
    check_drawings(machine, wanted.latency, files)
    result = tilewright.map(
        network, machine, wanted.objective,
        constraints=constraints, latency=wanted.latency, time_limit=limit, progress=True,
        cache=not wanted.no_cache, tiles=wanted.tiles, strategy=wanted.strategy,
        uniform=wanted.uniform, within=None if wanted.within is None else share(wanted.within),
        layouts=read_layouts(wanted.layout), fuse=wanted.fuse,
    )  # fmt: skip
    put_mappings(result, files.json, files.report, files.output)
    if files.trace is not None and result.layers:
        put_trace(result, files.trace)
    if files.figures is not None and result.layers:
        put_figures(result, files.figures, [workload, arch])
    return how_it_ended(result)


def all_constraints(
    dataflows: list[str] | None, constraints: list[str] | None
) -> list[Constraints | str]:
    """Return the constraints of the dataflows that are named, and the others."""
    from tilewright.architecture.constraints.dataflow import load_dataflow

    return [*(load_dataflow(name) for name in dataflows or ()), *(constraints or ())]


def check_for_fusing(wanted: Wanted, files: Files) -> None:
    """Refuse outputs that fused layers have not, and a single layer."""
    if wanted.layer is not None:
        raise InputError("has no effect with --fuse: leave out one of the two", key="--layer")
    for name, file in (("--figures", files.figures), ("--trace", files.trace)):
        if file is not None:
            raise InputError("has no effect with --fuse: --json has the trees", key=name)


def check_drawings(machine: Architecture, latency: str | None, files: Files) -> None:
    """Refuse traces and figures that cannot be written, before the search."""
    from tilewright.api.inputs import the_latency
    from tilewright.cli.output.files import make_folder

    if files.trace is not None and the_latency(latency, machine) != "pipelined":
        raise InputError("shows pipelined latency: add --latency pipelined", key="--trace")
    if files.figures is not None:
        from tilewright.report.paper import check_drawing

        check_drawing()
        make_folder("--figures", files.figures)


def how_it_ended(result: NetworkResult) -> int:
    """Say what is amiss with a result, and return the exit code."""
    from tilewright.mapping.idle import idle_text

    if idle := idle_text(result.idle, len(result.network.layers)):
        say(f"warning: {idle}")
    if result.interrupted:
        say("interrupted: these are the best mappings so far")
        return INTERRUPTED
    if result.unmapped:
        names = ", ".join(layer.name for layer in result.unmapped)
        say(f"error: the time limit ended the search before it had any mapping of {names}")
        return NO_MAPPING
    return 0


def check_for_pareto(wanted: Wanted, files: Files) -> None:
    """Refuse what has no effect on trade-offs of energy against cycles."""
    reasons = {
        "report": "--json has the mappings",
        "output": "--json has the mappings",
        "tiles": f"only {SIZES[DIVISORS]} are searched",
        "latency": "energy is traded against throughput latency alone",
        "strategy": "the search proves that no point is missing",
        "uniform": "runs of layers differ in style",
        "within": "runs of layers differ in style",
        "layout": "words are counted, not blocks",
        "trace": "energy is traded against throughput latency alone",
        "figures": "--json has all points",
        "no_cache": "fronts are not kept",
    }
    needless = {"tiles": DIVISORS, "latency": "throughput"}
    given = vars(wanted) | vars(files)
    for name, reason in reasons.items():
        if given[name] and given[name] != needless.get(name):
            key = f"--{name.replace('_', '-')}"
            raise InputError(f"has no effect with --pareto: {reason}", key=key)


def frontier_command(
    workload: Workload,
    arch: Machine,
    over: Annotated[
        list[str],
        Option("--over", metavar="MEMORY", help="Memory whose size varies; once or twice."),
    ],
    objective: Annotated[
        str, Option("--objective", metavar="TEXT", help="What to minimise, as for map.")
    ] = "energy",
    traffic: Annotated[
        str | None,
        Option("--traffic", metavar="MEMORY", help="Minimise the words of this memory instead."),
    ] = None,
    layer: LayerName = None,
    time_limit: Annotated[str | None, Option("--time-limit", metavar="S", help="Seconds.")] = None,
    json: Json = None,
    plot: Annotated[
        str | None, Option("--plot", metavar="FILE.html", help="Write an interactive plot.")
    ] = None,
    fuse: Annotated[
        bool,
        Option("--fuse", help="Trace the whole network, with layers fused where that is better."),
    ] = False,
) -> int:
    """Show the least cost for every size of one or two memories (tile sizes that divide)."""
    import tilewright
    from tilewright.cli.output.files import check_outputs
    from tilewright.cli.output.results import put_frontier

    check_outputs({"--json": json, "--plot": plot}, [workload, arch])
    limit = seconds(time_limit)
    if fuse:
        if layer is not None or len(over) > 1:
            key = "--layer" if layer is not None else "--over"
            raise InputError("--fuse is about a whole network and one memory", key=key)
        fused = tilewright.fused_frontier(
            workload, arch, over[0], objective, traffic=traffic, time_limit=limit, progress=True
        )
        put_frontier(fused, json, plot)
        return INTERRUPTED if fused.interrupted else 0
    found = tilewright.frontier(
        workload, arch, over, objective, traffic=traffic, layer=layer, time_limit=limit,
        progress=True,
    )  # fmt: skip
    put_frontier(found, json, plot)
    return INTERRUPTED if found.interrupted else 0


def explain_command(
    workload: Workload,
    arch: Machine,
    layer: LayerName = None,
    objective: Goal = "energy",
    within: Annotated[
        str,
        Option(
            "--within",
            metavar="SHARE",
            help="List runner-ups within this fraction of the best, such as 5% or 0.05.",
        ),
    ] = "5%",
    time_limit: Annotated[
        str | None, Option("--time-limit", metavar="S", help="Seconds, for everything.")
    ] = None,
    dataflow: DataflowNames = None,
    constraint: ConstraintTexts = None,
    json: Json = None,
    fuse: Annotated[
        bool, Option("--fuse", help="Say why layers that exchange tensors are not fused.")
    ] = False,
) -> int:
    """Say what limits the best mapping of a layer, and what else is nearly as good.

    Only tile sizes that divide are searched.
    """
    import tilewright
    from tilewright.cli.output.files import check_outputs
    from tilewright.cli.output.results import put_result

    check_outputs({"--json": json}, [workload, arch])
    result = tilewright.explain(
        workload, arch, objective,
        layer=layer, within=share(within), time_limit=seconds(time_limit), progress=True,
        constraints=all_constraints(dataflow, constraint), fuse=fuse,
    )  # fmt: skip
    put_result(result, json)
    return INTERRUPTED if result.interrupted else 0

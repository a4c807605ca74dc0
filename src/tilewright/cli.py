"""The command line: a thin layer over `tilewright.api`.

Exit status: 0 done, 1 a fault of tilewright, 2 bad input, 3 no mapping, 130 Ctrl-C. Packages that
take long to import are imported by the commands that need them.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Sequence
from typing import Annotated, Any, NoReturn

import typer

from tilewright.commands.files import ReaderGoneError
from tilewright.errors import InputError, TilewrightError, nearest

BROKEN_PIPE = 141
INTERRUPTED = 130
NO_MAPPING = 3
OPTIONS = {
    "layer": "--layer",
    "objective": "--objective",
    "constraints": "--constraint",
    "dataflow": "--dataflow",
    "time_limit": "--time-limit",
    "over": "--over",
    "traffic": "--traffic",
    "within": "--within",
    "seconds": "--seconds",
    "strategy": "--strategy",
    "seed": "--seed",
    "samples": "--samples",
}
# some versions of typer bring a copy of click: take the class from what typer itself offers
UsageError: type[Exception] = typer.BadParameter.__mro__[1]

commands = typer.Typer(
    name="tilewright",
    add_completion=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    rich_markup_mode=None,
)

Workload = Annotated[
    str, typer.Argument(metavar="WORKLOAD", help="Workload: a file, or a name that ships.")
]
Machine = Annotated[
    str, typer.Argument(metavar="ARCH", help="Architecture: a file, or a name that ships.")
]
MappingFile = Annotated[str, typer.Argument(metavar="MAPPING", help="Mapping: a file.")]
LayerName = Annotated[
    str | None, typer.Option("--layer", metavar="NAME", help="Only this layer of the workload.")
]
Json = Annotated[
    str | None,
    typer.Option("--json", metavar="FILE", help="Write results as JSON; - for standard output."),
]
DataflowNames = Annotated[
    list[str] | None,
    typer.Option("--dataflow", metavar="NAME", help="Only mappings of this dataflow."),
]
ConstraintTexts = Annotated[
    list[str] | None,
    typer.Option(
        "--constraint",
        metavar="FILE|NAME|TEXT",
        help="Only mappings that satisfy this, such as PE.X.dims=C,K; may be repeated.",
    ),
]
Goal = Annotated[
    str,
    typer.Option(
        "--objective",
        metavar="TEXT",
        help="What to minimise: energy, latency, edp, ed2p, a product such as "
        "energy*latency^0.5; with limits: 'energy, latency<=1e6'.",
    ),
]


def app() -> NoReturn:
    """Run the command line of this process and end it with its exit status."""
    status = main()
    if status == INTERRUPTED:
        # searches that a second Ctrl-C has left behind would keep the process alive
        sys.stdout.flush()
        os._exit(status)
    sys.exit(status)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command.

    Parameters
    ----------
    arguments : sequence of str, optional
        Words after the program's name; by default those of this process.

    Returns
    -------
    int
        The exit status.
    """
    command = typer.main.get_command(commands)
    try:
        status = command.main(arguments, prog_name="tilewright", standalone_mode=False)
        return status if isinstance(status, int) else 0
    except InputError as failure:
        if failure.source is None and failure.key in OPTIONS:
            failure = InputError(failure.message, key=OPTIONS[failure.key])
        say(f"error: {failure}")
        return failure.exit_status
    except TilewrightError as failure:
        say(f"error: {failure}")
        return failure.exit_status
    except UsageError as failure:
        say(f"error: {usage_message(failure)}")
        return InputError.exit_status
    except ReaderGoneError:
        # what is still buffered must not fail again when Python ends
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return BROKEN_PIPE
    except Exception as failure:
        if os.environ.get("TILEWRIGHT_TRACEBACK"):
            raise
        say(
            f"internal error: {type(failure).__name__}: {failure}; please report it, with the "
            "input and the traceback that TILEWRIGHT_TRACEBACK=1 shows"
        )
        return TilewrightError.exit_status


@commands.callback(invoke_without_command=True)
def start(
    context: typer.Context,
    version: Annotated[bool, typer.Option("--version", help="Show the version.")] = False,
) -> None:
    """Exact counts and proven-optimal mappings of tensor workloads on spatial accelerators."""
    from tilewright.commands.files import write_out

    if version:
        import tilewright

        write_out(f"tilewright {tilewright.__version__}")
        raise typer.Exit
    if context.invoked_subcommand is None:
        write_out(context.get_help())


@commands.command("map")
def map_command(
    workload: Workload,
    arch: Machine,
    layer: LayerName = None,
    objective: Goal = "energy",
    time_limit: Annotated[
        str | None,
        typer.Option("--time-limit", metavar="S", help="Seconds, for all layers together."),
    ] = None,
    pareto: Annotated[
        bool,
        typer.Option("--pareto", help="Every trade-off of energy against cycles of one layer."),
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
    no_cache: Annotated[
        bool, typer.Option("--no-cache", help="Search every layer again, and keep no result.")
    ] = False,
) -> int:
    """Find the best mapping of every layer, with a proof."""
    from tilewright import api
    from tilewright.architecture.dataflow import load_dataflow
    from tilewright.commands.files import check_outputs
    from tilewright.commands.output import put_mappings, put_result
    from tilewright.inputs import check_options, the_architecture, the_network

    files = {"--json": json, "--report": report, "--output": output}
    check_outputs(files, [workload, arch])
    if pareto and (report or output):
        raise InputError(
            "takes no --report and no --output; --json has the mappings", key="--pareto"
        )
    limit = seconds(time_limit)
    check_options(objective, limit, None)
    if pareto:
        front = api.pareto(workload, arch, objective, layer=layer, time_limit=limit, progress=True)
        put_result(front, json)
        return INTERRUPTED if front.interrupted else 0
    network = the_network(workload, layer)
    machine = the_architecture(arch)
    given = [*(load_dataflow(name) for name in dataflow or ()), *(constraint or ())]
    result = api.map(
        network,
        machine,
        objective,
        constraints=given,
        time_limit=limit,
        progress=True,
        cache=not no_cache,
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


@commands.command("evaluate")
def evaluate_command(
    workload: Workload, arch: Machine, mapping: MappingFile, layer: LayerName = None,
    json: Json = None,
) -> int:  # fmt: skip
    """Show what a mapping costs."""
    from tilewright import api
    from tilewright.commands.files import check_outputs
    from tilewright.commands.output import put_evaluation

    check_outputs({"--json": json}, [workload, arch, mapping])
    put_evaluation(api.evaluate(workload, arch, mapping, layer=layer), json)
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


@commands.command("list")
def list_command(
    kind: Annotated[
        str | None,
        typer.Argument(metavar="[workloads|architectures|dataflows]", help="One kind only."),
    ] = None,
) -> int:
    """List the workloads, architectures and dataflows that ship."""
    from tilewright.commands.catalogue import listed
    from tilewright.commands.files import write_out

    write_out(listed(kind))
    return 0


@commands.command("show")
def show_command(
    name: Annotated[
        str, typer.Argument(metavar="NAME", help="A name that ships, or a file of any kind.")
    ],
) -> int:
    """Show a workload, an architecture or a dataflow, with its source."""
    from tilewright.commands.catalogue import shown
    from tilewright.commands.files import write_out

    write_out(shown(name))
    return 0


@commands.command("cache")
def cache_command(
    clear: Annotated[bool, typer.Option("--clear", help="Remove all results in it.")] = False,
) -> int:
    """Show or clear the cache of solved layers."""
    from tilewright.commands.cache import cache_text, clear_cache
    from tilewright.commands.files import write_out

    write_out(clear_cache() if clear else cache_text())
    return 0


def seconds(text: str | None, key: str = "time_limit") -> float | None:
    """Return the number that an option gives."""
    try:
        return None if text is None else float(text)
    except ValueError:
        raise InputError(
            f"expected a number of seconds greater than 0, found '{text}'", key=key
        ) from None


def share(text: str) -> float:
    """Return the number that an option gives in percent, or as it is."""
    number, percent, rest = text.partition("%")
    try:
        if rest.strip():
            raise ValueError
        return float(number) / 100 if percent else float(number)
    except ValueError:
        raise InputError(
            f"expected a share such as 5% or 0.05, found '{text}'", key="within"
        ) from None


def usage_message(failure: Any) -> str:
    """Return what is wrong with a command line, and what is accepted."""
    message = failure.format_message().rstrip(".")
    context = getattr(failure, "ctx", None)
    if context is None:
        return f"{message}; see 'tilewright --help'"
    if found := re.match(r"No such command '(.*?)'", message):
        names = sorted(context.command.commands)
        return f"no command '{found[1]}'; accepted: {', '.join(names)}{nearest(found[1], names)}"
    if found := re.match(r"No such option: (\S+)", message):
        names = [name for p in context.command.params for name in p.opts if name[0] == "-"]
        names = [*dict.fromkeys(names), "--help"]
        return f"no option '{found[1]}'; accepted: {', '.join(names)}{nearest(found[1], names)}"
    return f"{message}; see '{context.command_path} --help'"


def say(message: str) -> None:
    """Write a message to the standard error stream."""
    print(message, file=sys.stderr, flush=True)


@commands.command("compare")
def compare_command(
    workload: Workload,
    arch: Machine,
    layer: LayerName = None,
    objective: Annotated[
        str, typer.Option("--objective", metavar="energy|latency|edp", help="What to minimise.")
    ] = "edp",
    budget: Annotated[
        str, typer.Option("--seconds", metavar="S", help="CPU seconds for each strategy.")
    ] = "10",
    strategy: Annotated[
        list[str] | None,
        typer.Option(
            "--strategy",
            metavar="NAME",
            help="random, pruned, dmazerunner or blackbox, with options: pruned:victory=100000; "
            "may be repeated. By default all that can run.",
        ),
    ] = None,
    seed: Annotated[int, typer.Option("--seed", help="Where random numbers begin.")] = 0,
    json: Json = None,
    report: Annotated[
        str | None, typer.Option("--report", metavar="FILE.html", help="Write table and figure.")
    ] = None,
) -> int:
    """Compare other search strategies with the proven optimum of a layer."""
    from tilewright import api
    from tilewright.commands.files import check_outputs
    from tilewright.commands.study import put_study

    check_outputs({"--json": json, "--report": report}, [workload, arch])
    time = seconds(budget, "seconds") or 0.0
    result = api.compare(
        workload, arch, objective, layer=layer, strategies=strategy, seconds=time, seed=seed,
        progress=say,
    )  # fmt: skip
    put_study(result, json, report)
    return INTERRUPTED if result.interrupted else 0


@commands.command("mapspace")
def mapspace_command(
    workload: Workload,
    arch: Machine,
    layer: LayerName = None,
    samples: Annotated[int, typer.Option("--samples", help="Mappings to draw.")] = 100_000,
    seed: Annotated[int, typer.Option("--seed", help="Where random numbers begin.")] = 0,
    json: Json = None,
    report: Annotated[
        str | None, typer.Option("--report", metavar="FILE.html", help="Write table and figure.")
    ] = None,
) -> int:
    """Show how many mappings a layer has, how many fit, and what they cost."""
    from tilewright import api
    from tilewright.commands.files import check_outputs
    from tilewright.commands.study import put_study

    check_outputs({"--json": json, "--report": report}, [workload, arch])
    result = api.mapspace(workload, arch, layer=layer, samples=samples, seed=seed, progress=say)
    put_study(result, json, report)
    return INTERRUPTED if result.interrupted else 0

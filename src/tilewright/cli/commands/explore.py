"""The command that looks for the best machines of a design space."""

from __future__ import annotations

from typing import Annotated

import typer

from tilewright.cli.options import INTERRUPTED, Json, count, program, say, seconds, whole
from tilewright.errors import InputError

SPACE_FILES = (".yaml", ".yml", ".json")


@program.command("explore")
def explore_command(
    inputs: Annotated[
        list[str],
        typer.Argument(
            metavar="[WORKLOAD ...] SPACE",
            help="Workloads (files or names that ship; by default what the space says), and last "
            "the design space, a YAML file.",
        ),
    ],
    axes: Annotated[
        str,
        typer.Option(
            "--axes",
            metavar="NAMES",
            help="What to minimise, separated by commas: energy, latency, edp, area, power, "
            "leakage. With one, only the best design.",
        ),
    ] = "energy,area",
    objective: Annotated[
        str,
        typer.Option(
            "--objective",
            metavar="energy|latency|edp",
            help="What the mapping of each layer minimises.",
        ),
    ] = "energy",
    time_limit: Annotated[
        str | None, typer.Option("--time-limit", metavar="S", help="Stop after this many seconds.")
    ] = None,
    store: Annotated[
        str | None,
        typer.Option(
            "--store",
            metavar="FILE.db",
            help="Keep solved layers in this SQLite file; the same command continues from there.",
        ),
    ] = None,
    workers: Annotated[
        str | None,
        typer.Option(
            "--workers",
            metavar="N",
            help="Layers that are searched side by side; any number gives the same result.",
        ),
    ] = None,
    scheduler: Annotated[
        str | None,
        typer.Option(
            "--scheduler",
            metavar="ADDRESS",
            help="Search on the workers of the Dask cluster whose scheduler is there.",
        ),
    ] = None,
    strategy: Annotated[
        str | None,
        typer.Option(
            "--strategy",
            metavar="random|nsga2|tpe",
            help="Try single designs instead, without a proof of the front.",
        ),
    ] = None,
    designs: Annotated[
        str | None,
        typer.Option("--designs", metavar="N", help="How many a strategy tries (100)."),
    ] = None,
    seed: Annotated[
        str | None, typer.Option("--seed", metavar="K", help="Of a strategy's random numbers (0).")
    ] = None,
    against: Annotated[
        str | None,
        typer.Option(
            "--against",
            metavar="FILE.json",
            help="A proven front, as --json wrote it, that a strategy's is compared with.",
        ),
    ] = None,
    worth: Annotated[
        str | None,
        typer.Option(
            "--worth",
            metavar="AXIS",
            help="Find the best design on this axis for each value of each parameter, too.",
        ),
    ] = None,
    json: Json = None,
    csv: Annotated[
        str | None, typer.Option("--csv", metavar="FILE", help="Write the front as CSV.")
    ] = None,
    parquet: Annotated[
        str | None,
        typer.Option("--parquet", metavar="FILE", help="Write the front as Parquet (pyarrow)."),
    ] = None,
    report: Annotated[
        str | None,
        typer.Option("--report", metavar="FILE.html", help="Write a page with the front."),
    ] = None,
    machine: Annotated[
        str | None,
        typer.Option(
            "--machine", metavar="FILE.yaml", help="Write a machine of the front, ready for map."
        ),
    ] = None,
    design: Annotated[
        str | None,
        typer.Option(
            "--design", metavar="N", help="Number of the design that --machine writes (the first)."
        ),
    ] = None,
) -> int:
    """Find the best machines of a design space, each with its best mappings, and prove it."""
    from tilewright.cli.output.explore import (
        Files,
        ProgressLine,
        check_parquet,
        put_exploration,
    )
    from tilewright.cli.output.files import check_outputs
    from tilewright.exploration import explore

    outputs = {
        "--json": json, "--csv": csv, "--parquet": parquet, "--report": report,
        "--machine": machine, "--store": store,
    }  # fmt: skip
    check_outputs(outputs, [*inputs, *([] if against is None else [against])])
    check_parquet(parquet)
    *workloads, space = inputs
    if not space.lower().endswith(SPACE_FILES):
        raise InputError(
            f"expected a design space, a file that ends in {', '.join(SPACE_FILES)}, as the last "
            f"argument, found '{space}'",
            key="SPACE",
        )
    found = explore(
        workloads or None, space,
        axes=[axis.strip() for axis in axes.split(",")], objective=objective,
        time_limit=seconds(time_limit), store=store,
        workers=None if workers is None else count(workers, "workers"), scheduler=scheduler,
        progress=ProgressLine(say), strategy=strategy, designs=whole(designs, "designs"),
        seed=whole(seed, "seed"), against=against, worth=worth,
    )  # fmt: skip
    files = Files(
        json=json, csv=csv, parquet=parquet, report=report, machine=machine,
        design=None if design is None else count(design, "design"),
    )  # fmt: skip
    put_exploration(found, files)
    return INTERRUPTED if found.interrupted else 0

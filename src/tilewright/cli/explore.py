"""The command that looks for the best machines of a design space."""

from __future__ import annotations

from typing import Annotated

import typer

from tilewright.cli.options import INTERRUPTED, Json, commands, say, seconds
from tilewright.errors import InputError

SPACE_FILES = (".yaml", ".yml", ".json")


@commands.command("explore")
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
            "leakage. With one, the best design alone.",
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
        str | None, typer.Option("--time-limit", metavar="S", help="Stop after so many seconds.")
    ] = None,
    store: Annotated[
        str | None,
        typer.Option(
            "--store",
            metavar="FILE.db",
            help="Keep what is solved in this SQLite file; the same command goes on from there.",
        ),
    ] = None,
    json: Json = None,
    csv: Annotated[
        str | None, typer.Option("--csv", metavar="FILE", help="Write the front as CSV.")
    ] = None,
) -> int:
    """Find the best machines of a design space, each with its best mappings, and prove it."""
    from tilewright.cli.output.explore import ProgressLine, put_exploration
    from tilewright.cli.output.files import check_outputs
    from tilewright.exploration import explore

    check_outputs({"--json": json, "--csv": csv, "--store": store}, inputs)
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
        time_limit=seconds(time_limit), store=store, progress=ProgressLine(say),
    )  # fmt: skip
    put_exploration(found, json, csv)
    return INTERRUPTED if found.interrupted else 0

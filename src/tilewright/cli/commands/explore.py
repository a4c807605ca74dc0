"""The command that looks for the best machines of a design space."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from tilewright.cli.arguments import Argument, Option
from tilewright.cli.options import INTERRUPTED, Json, say, seconds, whole
from tilewright.errors import InputError

SPACE_FILES = (".yaml", ".yml", ".json")

Inputs = Annotated[
    list[str],
    Argument(
        metavar="[WORKLOAD ...] SPACE",
        help="Workloads (files or names that ship; by default what the space says), and last "
        "the design space, a YAML file.",
    ),
]
Axes = Annotated[
    str,
    Option(
        "--axes",
        metavar="NAMES",
        help="What to minimise, separated by commas: energy, latency, edp, area, power, "
        "leakage. With one, only the best design.",
    ),
]
Objective = Annotated[
    str,
    Option(
        "--objective",
        metavar="energy|latency|edp",
        help="What the mapping of each layer minimises.",
    ),
]
TimeLimit = Annotated[
    str | None, Option("--time-limit", metavar="S", help="Stop after this many seconds.")
]
StoreFile = Annotated[
    str | None,
    Option(
        "--store",
        metavar="FILE.db",
        help="Keep solved layers in this SQLite file; the same command continues from there.",
    ),
]
Workers = Annotated[
    str | None,
    Option(
        "--workers",
        metavar="N",
        help="Layers that are searched side by side; any number gives the same result.",
    ),
]
Scheduler = Annotated[
    str | None,
    Option(
        "--scheduler",
        metavar="ADDRESS",
        help="Search on the workers of the Dask cluster whose scheduler is there.",
    ),
]
Strategy = Annotated[
    str | None,
    Option(
        "--strategy",
        metavar="random|nsga2|tpe",
        help="Try single designs instead, without a proof of the front.",
    ),
]
Designs = Annotated[
    str | None,
    Option("--designs", metavar="N", help="How many a strategy tries (100)."),
]
Seed = Annotated[
    str | None, Option("--seed", metavar="K", help="Of a strategy's random numbers (0).")
]
Against = Annotated[
    str | None,
    Option(
        "--against",
        metavar="FILE.json",
        help="A proven front, as --json wrote it, that a strategy's is compared with.",
    ),
]
Worth = Annotated[
    str | None,
    Option(
        "--worth",
        metavar="AXIS",
        help="Find the best design on this axis for each value of each parameter, too.",
    ),
]
Csv = Annotated[str | None, Option("--csv", metavar="FILE", help="Write the front as CSV.")]
Parquet = Annotated[
    str | None,
    Option("--parquet", metavar="FILE", help="Write the front as Parquet (pyarrow)."),
]
Report = Annotated[
    str | None,
    Option("--report", metavar="FILE.html", help="Write a page with the front."),
]
MachineFile = Annotated[
    str | None,
    Option("--machine", metavar="FILE.yaml", help="Write a machine of the front, ready for map."),
]
DesignNumber = Annotated[
    str | None,
    Option("--design", metavar="N", help="Number of the design that --machine writes (the first)."),
]


@dataclass(frozen=True)
class Wanted:
    """What `explore` is asked for: the options that say what is searched, how, and for how long."""

    axes: Axes = "energy,area"
    objective: Objective = "energy"
    time_limit: TimeLimit = None
    store: StoreFile = None
    workers: Workers = None
    scheduler: Scheduler = None
    strategy: Strategy = None
    designs: Designs = None
    seed: Seed = None
    against: Against = None
    worth: Worth = None


@dataclass(frozen=True)
class Files:
    """Where `explore` writes to, None for nowhere, and which design as a machine."""

    json: Json = None
    csv: Csv = None
    parquet: Parquet = None
    report: Report = None
    machine: MachineFile = None
    design: DesignNumber = None


def explore_command(inputs: Inputs, wanted: Wanted, files: Files) -> int:
    """Find the best machines of a design space, each with its best mappings, and prove it."""
    from tilewright.cli.output.explore import ProgressLine, check_parquet, put_exploration
    from tilewright.cli.output.files import check_outputs
    from tilewright.exploration import explore

    outputs = {f"--{name}": file for name, file in vars(files).items() if name != "design"}
    read = inputs if wanted.against is None else [*inputs, wanted.against]
    check_outputs({**outputs, "--store": wanted.store}, read)
    check_parquet(files.parquet)
    number = whole(files.design, "design")
    *workloads, space = inputs
    if not space.lower().endswith(SPACE_FILES):
        raise InputError(
            f"expected a design space, a file that ends in {', '.join(SPACE_FILES)}, as the last "
            f"argument, found '{space}'",
            key="SPACE",
        )
    found = explore(
        workloads or None, space,
        axes=[axis.strip() for axis in wanted.axes.split(",")], objective=wanted.objective,
        time_limit=seconds(wanted.time_limit), store=wanted.store,
        workers=whole(wanted.workers, "workers"), scheduler=wanted.scheduler,
        progress=ProgressLine(say), strategy=wanted.strategy,
        designs=whole(wanted.designs, "designs"), seed=whole(wanted.seed, "seed"),
        against=wanted.against, worth=wanted.worth,
    )  # fmt: skip
    put_exploration(found, files, number)
    return INTERRUPTED if found.interrupted else 0

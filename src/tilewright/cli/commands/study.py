"""Commands that look at strategies of search and at the space that they search."""

from __future__ import annotations

from typing import Annotated

from tilewright.cli.arguments import Option
from tilewright.cli.options import (
    INTERRUPTED,
    Json,
    LayerName,
    Machine,
    Workload,
    say,
    seconds,
)

ProofLimit = Annotated[
    str,
    Option("--time-limit", metavar="S", help="Seconds for the proof of an optimum."),
]
Report = Annotated[
    str | None, Option("--report", metavar="FILE.html", help="Write table and figure.")
]


def compare_command(
    workload: Workload,
    arch: Machine,
    layer: LayerName = None,
    objective: Annotated[
        str, Option("--objective", metavar="energy|latency|edp", help="What to minimise.")
    ] = "edp",
    budget: Annotated[
        str, Option("--seconds", metavar="S", help="CPU seconds for each strategy.")
    ] = "10",
    strategy: Annotated[
        list[str] | None,
        Option(
            "--strategy",
            metavar="NAME",
            help="random, pruned, dmazerunner, blackbox or decoupled, with options: "
            "pruned:victory=100000; "
            "may be repeated. By default all that can run.",
        ),
    ] = None,
    seed: Annotated[int, Option("--seed", metavar="N", help="Seed of the random numbers.")] = 0,
    time_limit: ProofLimit = "60",
    json: Json = None,
    report: Report = None,
) -> int:
    """Compare other search strategies with the proven optimum of a layer."""
    import tilewright
    from tilewright.cli.output.files import check_outputs
    from tilewright.cli.output.study import put_study

    check_outputs({"--json": json, "--report": report}, [workload, arch])
    time = seconds(budget, "seconds") or 0.0
    result = tilewright.compare(
        workload, arch, objective, layer=layer, strategies=strategy, seconds=time, seed=seed,
        time_limit=seconds(time_limit), progress=say,
    )  # fmt: skip
    put_study(result, json, report)
    return INTERRUPTED if result.interrupted else 0


def mapspace_command(
    workload: Workload,
    arch: Machine,
    layer: LayerName = None,
    samples: Annotated[int, Option("--samples", metavar="N", help="Mappings to draw.")] = 100_000,
    seed: Annotated[int, Option("--seed", metavar="N", help="Seed of the random numbers.")] = 0,
    time_limit: ProofLimit = "60",
    json: Json = None,
    report: Report = None,
) -> int:
    """Show how many mappings a layer has, how many fit, and what they cost."""
    import tilewright
    from tilewright.cli.output.files import check_outputs
    from tilewright.cli.output.study import put_study

    check_outputs({"--json": json, "--report": report}, [workload, arch])
    result = tilewright.mapspace(
        workload, arch, layer=layer, samples=samples, seed=seed, time_limit=seconds(time_limit),
        progress=say,
    )  # fmt: skip
    put_study(result, json, report)
    return INTERRUPTED if result.interrupted else 0

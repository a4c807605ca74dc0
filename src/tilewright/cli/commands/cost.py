"""Commands that say what a mapping costs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Literal, cast

from tilewright.cli.arguments import Option
from tilewright.cli.options import (
    Json,
    Latency,
    LayerName,
    Layouts,
    Machine,
    MappingFile,
    Trace,
    Workload,
    read_layouts,
)
from tilewright.errors import InputError


def refuse(given: Mapping[str, object], why: str) -> None:
    """Refuse options that would be of no use."""
    for option, value in given.items():
        if value:
            raise InputError(why, key=option)


def put_fused(
    workload: str,
    arch: str,
    mapping: str,
    json: str | None,
    how: str,
    others: Mapping[str, object],
    *,
    latency: str | None,
    timeline: str | None = None,
) -> bool:
    """Show what a file of fused mappings costs; return whether it is one."""
    from tilewright.api.fusion import evaluate_fused, is_fused_file, simulate_fused
    from tilewright.cli.output.results import put_result, put_slots

    if not is_fused_file(mapping):
        return False
    refuse(others, "not with fused mappings")
    price = evaluate_fused if how == "evaluate" else simulate_fused
    found = price(workload, arch, mapping, latency=latency)
    if timeline is not None:
        put_slots(found, timeline)
    put_result(found, json)
    return True


Counting = Annotated[
    str,
    Option(
        "--counting",
        metavar="tilewright|dmazerunner",
        help="Whose definitions to count by; dMazeRunner's are those of its public code.",
    ),
]


def evaluate_command(
    workload: Workload, arch: Machine, mapping: MappingFile, layer: LayerName = None,
    latency: Latency = None, counting: Counting = "tilewright", layout: Layouts = None,
    json: Json = None,
    statistics: Annotated[
        bool,
        Option(
            "--statistics", help="Show reuse factors, requirements of buffers and bandwidth, area."
        ),
    ] = False,
    timeline: Annotated[
        str | None,
        Option(
            "--timeline",
            metavar="FILE.html",
            help="Plot the first steps, under pipelined latency or of a pipeline of layers.",
        ),
    ] = None,
    trace: Trace = None,
) -> int:  # fmt: skip
    """Show what a mapping costs, or the mappings of all layers.

    Without --layer, all layers are evaluated if MAPPING is a file that `map -o` wrote, or a
    style.
    """
    import tilewright
    from tilewright.api.mappings import is_for_networks
    from tilewright.cli.output.files import check_outputs
    from tilewright.cli.output.results import (
        put_evaluation,
        put_network_evaluation,
        put_timeline,
        put_trace,
    )

    outputs = {"--json": json, "--timeline": timeline, "--trace": trace}
    check_outputs(outputs, [workload, arch, mapping])
    single = {"--timeline": timeline, "--layout": layout}
    if put_fused(workload, arch, mapping, json, "evaluate", {
        "--layout": layout, "--layer": layer, "--statistics": statistics, "--trace": trace,
        "--counting": counting != "tilewright",
    }, latency=latency, timeline=timeline):  # fmt: skip
        return 0
    if counting == "dmazerunner":
        others = {"--latency": latency, "--statistics": statistics, "--trace": trace}
        refuse({**single, **others}, "not with --counting")
        from tilewright.cli.output.methods import put_cost

        put_cost(
            tilewright.evaluate(workload, arch, mapping, layer=layer, counting="dmazerunner"), json
        )
        return 0
    if layer is None and is_for_networks(mapping):
        found = tilewright.evaluate_network(workload, arch, mapping, latency=latency)
        if len(found.layers) > 1:
            refuse(single, "is for one layer: add --layer")
            if trace is not None:
                put_trace(found, trace)
            put_network_evaluation(found, json, statistics=statistics)
            note_another_machine(mapping, found.architecture.name)
            return 0
    layouts = read_layouts(layout)
    # another name of a counting is refused there
    own = cast("Literal['tilewright']", counting)
    one = tilewright.evaluate(
        workload, arch, mapping, layer=layer, latency=latency, layouts=layouts, counting=own
    )
    if timeline is not None:
        if one.pipeline is None:
            raise InputError("shows pipelined latency: add --latency pipelined", key="--timeline")
        put_timeline(one, timeline)
    if trace is not None:
        put_trace(one, trace)
    put_evaluation(one, json, statistics=statistics)
    note_another_machine(mapping, one.architecture.name)
    return 0


def note_another_machine(mapping: str, name: str) -> None:
    """Say that a file of mappings names another machine than the one with this name."""
    from tilewright.api.mappings import of_several_layers
    from tilewright.text import say

    document = of_several_layers(mapping)
    written = document.data.get("architecture") if document else None
    if written is not None and written != name:
        say(f"note: the mappings in {mapping} were found for '{written}', not for '{name}'")


def simulate_command(
    workload: Workload, arch: Machine, mapping: MappingFile, layer: LayerName = None,
    latency: Latency = None, layout: Layouts = None, json: Json = None,
) -> int:  # fmt: skip
    """Evaluate a mapping by brute-force simulation (small layers only)."""
    import tilewright
    from tilewright.cli.output.files import check_outputs
    from tilewright.cli.output.results import put_evaluation

    check_outputs({"--json": json}, [workload, arch, mapping])
    others = {"--layer": layer, "--layout": layout}
    if put_fused(workload, arch, mapping, json, "simulate", others, latency=latency):
        return 0
    layouts = read_layouts(layout)
    found = tilewright.simulate(
        workload, arch, mapping, layer=layer, latency=latency, layouts=layouts
    )
    put_evaluation(found, json)
    return 0

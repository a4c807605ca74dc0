"""Commands that say what a mapping costs."""

from __future__ import annotations

from typing import Annotated

import typer

from tilewright.cli.options import Json, LayerName, Machine, MappingFile, Workload, commands
from tilewright.errors import InputError

Layouts = Annotated[
    list[str] | None,
    typer.Option(
        "--layout",
        metavar="TENSOR=AXES",
        help="How a tensor lies in the outermost memory, such as I=N,P,Q,C; may be repeated. "
        "Or best, for all tensors.",
    ),
]


def the_layouts(given: list[str] | None) -> dict[str, str] | str | None:
    """Return the layouts that an option gives."""
    if not given:
        return None
    if given == ["best"]:
        return "best"
    layouts = {}
    for text in given:
        tensor, equals, axes = text.partition("=")
        if not equals:
            raise InputError(
                f"expected a tensor and its axes, such as I=N,P,Q,C, or best, found '{text}'",
                key="--layout",
            )
        layouts[tensor.strip()] = axes
    return layouts


@commands.command("evaluate")
def evaluate_command(
    workload: Workload, arch: Machine, mapping: MappingFile, layer: LayerName = None,
    layout: Layouts = None, json: Json = None,
) -> int:  # fmt: skip
    """Show what a mapping costs."""
    from tilewright import api
    from tilewright.commands.files import check_outputs
    from tilewright.commands.output import put_evaluation

    check_outputs({"--json": json}, [workload, arch, mapping])
    layouts = the_layouts(layout)
    put_evaluation(api.evaluate(workload, arch, mapping, layer=layer, layouts=layouts), json)
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

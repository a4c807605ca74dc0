"""What the commands share: the program, options that several take, and how options are read."""

from __future__ import annotations

from typing import Annotated

import typer

from tilewright.errors import InputError
from tilewright.text import say

__all__ = ["say"]

INTERRUPTED = 130
NO_MAPPING = 3

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
MappingFile = Annotated[
    str,
    typer.Argument(
        metavar="MAPPING", help="Mapping: a file, or a style in directives, such as kc-p."
    ),
]
LayerName = Annotated[
    str | None, typer.Option("--layer", metavar="NAME", help="Only this layer of the workload.")
]
Json = Annotated[
    str | None,
    typer.Option("--json", metavar="FILE", help="Write results as JSON; - for standard output."),
]
Latency = Annotated[
    str | None,
    typer.Option(
        "--latency",
        metavar="KIND",
        help="throughput (the slowest level sets the pace) or pipelined (step by step); "
        "by default what the machine says.",
    ),
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
Layouts = Annotated[
    list[str] | None,
    typer.Option(
        "--layout",
        metavar="TENSOR=AXES",
        help="How a tensor lies in the outermost memory, such as I=N,P,Q,C; may be repeated. "
        "Or best, for all tensors.",
    ),
]


def read_layouts(given: list[str] | None) -> dict[str, str] | str | None:
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

"""What the commands share: the program, options that several take, and how options are read."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from inspect import Parameter, signature
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tilewright.cli.help import Group
from tilewright.errors import InputError
from tilewright.text import say

if TYPE_CHECKING:
    from tilewright.frontends.load import Options

__all__ = ["say"]

INTERRUPTED = 130
STANDARD_INPUT = "-"
READ = ("workload", "arch", "mapping", "name", "problem", "stats")  # arguments that are files
NO_MAPPING = 3
MODEL_OPTIONS = {
    "phase": ("prefill|decode", "For a config.json: a prompt, or one token per sequence."),
    "batch": ("N", "For a config.json: sequences that run together."),
    "tokens": ("N", "For a config.json: new tokens of each sequence."),
    "context": ("N", "For a config.json: tokens that the last one attends to, itself included."),
    "bind": ("NAME=N,...", "For .onnx, .pt2 and .keras files: sizes of symbolic dimensions."),
    "only": ("KIND,...", "For models: kinds of operations to map, such as conv,matmul."),
}


class Commands(typer.Typer):
    """Commands of which all that take a workload take what is said about models."""

    def command(self, name: str | None = None, **keys: Any) -> Callable[..., Any]:
        """Add a command."""
        add = super().command(name, **keys)

        def added(function: Callable[..., Any]) -> Callable[..., Any]:
            add(with_standard_input(with_model_options(function)))
            return function

        return added


def with_standard_input(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a command that reads the standard input where an argument is ``-``."""
    given = signature(function, eval_str=True)
    files = [name for name in READ if name in given.parameters]
    if not files:
        return function

    @wraps(function)
    def command(**values: Any) -> Any:
        named = [name for name in files if values.get(name) == STANDARD_INPUT]
        if not named:
            return function(**values)
        if len(named) > 1:
            raise InputError("only one argument can be '-', the standard input")
        from tilewright.cli.standard_input import spooled

        with spooled() as path:
            return function(**values | {named[0]: path})

    command.__signature__ = given  # type: ignore[attr-defined]
    return command


def with_model_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a command that takes options about its workload and puts them to its name."""
    given = signature(function, eval_str=True)
    named = [name for name in ("workload", "name") if name in given.parameters]
    if not named:
        return function

    @wraps(function)
    def command(**values: Any) -> Any:
        said = {key: values.pop(key) for key in MODEL_OPTIONS}
        if any(text is not None for text in said.values()):
            from tilewright.frontends.load import ModelName

            values[named[0]] = ModelName(values[named[0]], model_options(said))
        return function(**values)

    options = {
        key: Annotated[str | None, typer.Option(f"--{key}", metavar=metavar, help=text)]
        for key, (metavar, text) in MODEL_OPTIONS.items()
    }
    more = [
        Parameter(key, Parameter.KEYWORD_ONLY, default=None, annotation=option)
        for key, option in options.items()
    ]
    command.__annotations__ = function.__annotations__ | options
    command.__signature__ = given.replace(  # type: ignore[attr-defined]
        parameters=[*given.parameters.values(), *more]
    )
    return command


program = Commands(
    name="tilewright",
    cls=Group,
    add_completion=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    rich_markup_mode=None,
)

Workload = Annotated[
    str,
    typer.Argument(
        metavar="WORKLOAD",
        help="Workload: a name that ships, - for standard input, or a file: of tilewright, "
        "Timeloop, ZigZag or AccelForge (.yaml), ONNX (.onnx), torch.export (.pt2), Keras "
        "(.keras), a model's config.json, SCALE-Sim (.csv), MAESTRO (.m).",
    ),
]
Machine = Annotated[
    str,
    typer.Argument(
        metavar="ARCH",
        help="Architecture: a name that ships, - for standard input, or a file: of tilewright, "
        "Timeloop, ZigZag or AccelForge (.yaml), SCALE-Sim (.cfg).",
    ),
]
MappingFile = Annotated[
    str,
    typer.Argument(
        metavar="MAPPING", help="Mapping: a file, a style in directives, such as kc-p, or -."
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
Trace = Annotated[
    str | None,
    typer.Option(
        "--trace",
        metavar="FILE.json",
        help="Write pipelined latency as a trace for Perfetto (ui.perfetto.dev) and Chrome.",
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


def model_options(given: dict[str, str | None]) -> Options:
    """Return what options say about a model."""
    from tilewright.frontends.load import Options

    sizes = {key: whole(given[key], f"--{key}") for key in ("batch", "tokens", "context")}
    only = given["only"]
    return Options(
        phase=given["phase"],
        bind=None if given["bind"] is None else read_bindings(given["bind"]),
        only=None if only is None else [kind.strip() for kind in only.split(",")],
        **sizes,
    )


def whole(text: str | None, key: str) -> int | None:
    """Return the whole number that an option gives."""
    try:
        return None if text is None else int(text)
    except ValueError:
        raise InputError(f"expected a whole number, found '{text}'", key=key) from None


def read_bindings(text: str) -> dict[str, int]:
    """Return the sizes that an option gives dimensions, such as ``batch=1,seq=512``."""
    sizes = {}
    for part in text.split(","):
        name, equals, size = part.rpartition("=")
        if not equals or not name.strip():
            raise InputError(
                f"expected names and sizes, such as batch=1,seq=512, found '{part}'", key="--bind"
            )
        sizes[name.strip()] = whole(size, "--bind") or 0
    return sizes


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

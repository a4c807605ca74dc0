"""What the commands share: how they run, options that several take, and how these are read."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Annotated, Any

from tilewright.cli.arguments import (
    Argument,
    Command,
    Option,
    Parameter,
    call_with,
    parameters_of,
    parse_arguments,
)
from tilewright.cli.help import MODULES
from tilewright.errors import InputError
from tilewright.text import say

if TYPE_CHECKING:
    from tilewright.frontends.load import Options

__all__ = ["say"]

INTERRUPTED = 130
STANDARD_INPUT = "-"
READ = ("workload", "arch", "mapping", "name", "problem", "stats")  # arguments that are files
DESCRIBED = ("workload", "name")  # of these, the ones that may be models
NO_MAPPING = 3
MODEL_OPTIONS = {
    "phase": ("prefill|decode", "For a config.json: a prompt, or one token per sequence."),
    "batch": ("N", "For a config.json: sequences that run together."),
    "tokens": ("N", "For a config.json: new tokens of each sequence."),
    "context": ("N", "For a config.json: tokens that the last one attends to, itself included."),
    "bind": ("NAME=N,...", "For .onnx, .pt2 and .keras files: sizes of symbolic dimensions."),
    "only": ("KIND,...", "For models: kinds of operations to map, such as conv,matmul."),
}


def find_command(name: str) -> Command:
    """Return a command, whose function is in a module of `commands`.

    All that take a workload take what is said about models, too.
    """
    module = import_module(f"tilewright.cli.commands.{MODULES[name]}")
    function = getattr(module, f"{name.replace('-', '_')}_command")
    parameters = parameters_of(function)
    if any(p.name in DESCRIBED for p in parameters):
        parameters += tuple(
            Parameter(key, Option(f"--{key}", metavar=metavar, help=text), kind=str)
            for key, (metavar, text) in MODEL_OPTIONS.items()
        )
    return Command(name, function, parameters)


def run_command(command: Command, words: Sequence[str]) -> int:
    """Run a command with the words after its name, and return its exit status.

    A file that is named ``-`` is the standard input.
    """
    values = parse_arguments(command, words)
    files = [name for name in READ if values.get(name) == STANDARD_INPUT]
    if len(files) > 1:
        raise InputError("only one argument can be '-', the standard input")
    if not files:
        return call(command, values)
    from tilewright.cli.standard_input import spooled

    with spooled() as path:
        return call(command, values | {files[0]: path})


def call(command: Command, values: dict[str, Any]) -> int:
    """Call a command; what is said about a model goes with its name."""
    said = {key: values.pop(key) for key in MODEL_OPTIONS if key in values}
    if any(text is not None for text in said.values()):
        from tilewright.frontends.load import ModelName

        named = next(name for name in DESCRIBED if name in values)
        values[named] = ModelName(values[named], model_options(said))
    return int(call_with(command.function, values))


Workload = Annotated[
    str,
    Argument(
        metavar="WORKLOAD",
        help="A built-in name, a file, or - for the standard input. Files of tilewright, "
        "Timeloop, ZigZag and AccelForge (.yaml), ONNX (.onnx), torch.export (.pt2), Keras "
        "(.keras), SCALE-Sim (.csv) and MAESTRO (.m); the config.json of a language model.",
    ),
]
Machine = Annotated[
    str,
    Argument(
        metavar="ARCH",
        help="A built-in name, a file, or - for the standard input. Files of tilewright, "
        "Timeloop, ZigZag and AccelForge (.yaml) and SCALE-Sim (.cfg).",
    ),
]
MappingFile = Annotated[
    str,
    Argument(metavar="MAPPING", help="A file, - for the standard input, or a style such as kc-p."),
]
LayerName = Annotated[
    str | None, Option("--layer", metavar="NAME", help="Only this layer of the workload.")
]
Json = Annotated[
    str | None,
    Option("--json", metavar="FILE", help="Write results as JSON; - for standard output."),
]
Latency = Annotated[
    str | None,
    Option(
        "--latency",
        metavar="throughput|pipelined",
        help="throughput (the slowest level sets the pace) or pipelined (step by step); "
        "by default what the machine says.",
    ),
]
Trace = Annotated[
    str | None,
    Option(
        "--trace",
        metavar="FILE.json",
        help="Write pipelined latency as a trace for Perfetto (ui.perfetto.dev) and Chrome.",
    ),
]
DataflowNames = Annotated[
    list[str] | None,
    Option("--dataflow", metavar="NAME", help="Only mappings of this dataflow."),
]
ConstraintTexts = Annotated[
    list[str] | None,
    Option(
        "--constraint",
        metavar="FILE|NAME|TEXT",
        help="Only mappings that satisfy this, such as PE.X.dims=C,K; may be repeated.",
    ),
]
Goal = Annotated[
    str,
    Option(
        "--objective",
        metavar="TEXT",
        help="What to minimise: energy, latency, edp, ed2p, a product such as "
        "energy*latency^0.5; with limits: 'energy, latency<=1e6'.",
    ),
]
Layouts = Annotated[
    list[str] | None,
    Option(
        "--layout",
        metavar="TENSOR=AXES",
        help="How a tensor lies in the outermost memory, such as I=N,P,Q,C; may be repeated. "
        "'best' chooses the layouts of all tensors.",
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

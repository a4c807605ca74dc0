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

from tilewright.cli.options import INTERRUPTED, commands, say
from tilewright.commands.files import ReaderGoneError
from tilewright.errors import InputError, TilewrightError, nearest

# in the order of the help
from tilewright.cli import search, cost, layout, offchip, notation, study, methods, catalogue  # isort: skip  # noqa: F401

BROKEN_PIPE = 141
OPTIONS = {
    "layer": "--layer",
    "objective": "--objective",
    "constraints": "--constraint",
    "dataflow": "--dataflow",
    "time_limit": "--time-limit",
    "over": "--over",
    "traffic": "--traffic",
    "within": "--within",
    "whole": "--whole",
    "extents": "--extents",
    "seconds": "--seconds",
    "strategy": "--strategy",
    "seed": "--seed",
    "samples": "--samples",
    "tiles": "--tiles",
    "uniform": "--uniform",
    "latency": "--latency",
    "layouts": "--layout",
    "banks": "--banks",
    "weight": "--weight",
    "elements": "--elements",
    "registers": "--registers",
    "bank": "--bank",
    "word": "--word",
    "counting": "--counting",
    "best": "--best",
    "phase": "--phase",
    "batch": "--batch",
    "tokens": "--tokens",
    "context": "--context",
    "bind": "--bind",
    "only": "--only",
}
# some versions of typer bring a copy of click: take the class from what typer itself offers
UsageError: type[Exception] = typer.BadParameter.__mro__[1]


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

"""The command line: a thin layer over `tilewright.api`.

Exit status: 0 done, 1 a fault of tilewright, 2 bad input, or something that cannot be read or
written, 3 no mapping, 130 Ctrl-C, 141 nobody reads the output. Packages that take long to import
are imported by the commands that need them.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Sequence
from typing import Any, NoReturn

from tilewright.cli.arguments import HELP, HelpWanted
from tilewright.cli.help import MODULES, command_help, overview
from tilewright.cli.options import INTERRUPTED, find_command, run_command, say
from tilewright.cli.output.files import discard
from tilewright.errors import InputError, ReaderGoneError, TilewrightError, nearest
from tilewright.kernels.announcement import listen

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
    "axes": "--axes",
    "workers": "--workers",
    "scheduler": "--scheduler",
    "design": "--design",
    "designs": "--designs",
    "worth": "--worth",
    "against": "--against",
    "samples": "--samples",
    "tiles": "--tiles",
    "uniform": "--uniform",
    "fuse": "--fuse",
    "latency": "--latency",
    "limits": "--objective",
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
    "trace": "--trace",
    "figures": "--figures",
}
VERSION = "--version"


def app() -> NoReturn:
    """Run the command line of this process and end it with its exit status."""
    for number in (1, 2):
        fill(number)
    sys.unraisablehook = note_interrupt
    try:
        status = main()
    except KeyboardInterrupt:
        os.write(2, b"interrupted\n")
        status = INTERRUPTED
    if status == INTERRUPTED:
        # searches that a second Ctrl-C has left behind would keep the process alive
        os._exit(status)
    sys.exit(status)


def fill(number: int) -> None:
    """Put something in the place of a closed stream: files that are opened would take its number.

    Python itself remembers that it is closed.
    """
    try:
        os.fstat(number)
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), number)


def note_interrupt(failure: Any) -> None:
    """Take Ctrl-C into account where Python, called from elsewhere, could only report it."""
    if failure.exc_type is KeyboardInterrupt:
        signal.raise_signal(signal.SIGINT)
    else:
        sys.__unraisablehook__(failure)


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
    listen(say)  # commands that show no progress compile as well
    try:
        return run(sys.argv[1:] if arguments is None else arguments)
    except InputError as failure:
        if failure.source is None and failure.key in OPTIONS:
            failure = InputError(failure.message, key=OPTIONS[failure.key])
        say(f"error: {failure}")
        return failure.exit_status
    except TilewrightError as failure:
        say(f"error: {failure}")
        return failure.exit_status
    except (ReaderGoneError, BrokenPipeError):
        discard(sys.stdout, sys.stderr)
        return BROKEN_PIPE
    except KeyboardInterrupt:
        say("interrupted")
        return INTERRUPTED
    except MemoryError:
        say("error: there is not enough memory")
        return TilewrightError.exit_status
    except OSError as failure:
        discard(sys.stdout)
        where = f"{failure.filename}: " if failure.filename else ""
        say(f"error: {where}{failure.strerror or failure}")
        return InputError.exit_status
    except Exception as failure:
        if os.environ.get("TILEWRIGHT_TRACEBACK"):
            raise
        say(
            f"internal error: {type(failure).__name__}: {failure}; please report it, with the "
            "input and the traceback that TILEWRIGHT_TRACEBACK=1 shows"
        )
        return TilewrightError.exit_status


def run(words: Sequence[str]) -> int:
    """Run the command that some words name, or show the version or help."""
    from tilewright.cli.output.files import write_out

    name, rest = words[0] if words else HELP[0], words[1:]
    if name == VERSION:
        import tilewright

        write_out(f"tilewright {tilewright.__version__}")
    elif name in HELP:
        write_out(overview({name: find_command(name) for name in MODULES}))
    elif name in MODULES:
        command = find_command(name)
        try:
            return run_command(command, rest)
        except HelpWanted:
            write_out(command_help(command))
    elif name.startswith("-"):
        names = [VERSION, HELP[-1], *MODULES]
        raise InputError(
            f"no option '{name}' before a command; accepted: {', '.join(names)}"
            f"{nearest(name, names)}"
        )
    else:
        names = sorted(MODULES)
        raise InputError(f"no command '{name}'; accepted: {', '.join(names)}{nearest(name, names)}")
    return 0

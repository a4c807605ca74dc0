"""Run the command line: ``python -m tilewright``."""

from __future__ import annotations

import gc
import os
import signal

TYPE_CHECKING = False  # type checkers assume True; without an import, Ctrl-C is heeded sooner
if TYPE_CHECKING:
    from typing import NoReturn

INTERRUPTED = 130


def end(*_: object) -> NoReturn:
    """End the process at once: nothing has been begun that would have to be left in order."""
    os.write(2, b"interrupted\n")
    os._exit(INTERRUPTED)


def run() -> NoReturn:
    """Run the command line of this process; Ctrl-C ends it even while packages are imported."""
    before = signal.getsignal(signal.SIGINT)
    if before is signal.default_int_handler:
        signal.signal(signal.SIGINT, end)
    # to look for plugins of pydantic takes a twentieth of the time to start; none is of use here
    os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "1")
    # NumPy's linear algebra would start threads; the matrices here are too small to share
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    # what is imported stays: to look through it for garbage takes a twentieth of the time, too
    gc.set_threshold(200_000)
    from tilewright.cli import app

    signal.signal(signal.SIGINT, before)
    app()


if __name__ == "__main__":
    run()

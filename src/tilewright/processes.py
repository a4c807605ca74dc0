"""Processors that this process may use, and other processes that it starts."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

# Numba marks every message in colour that it writes to itself while it looks for what may be called
QUIET = {"NUMBA_DISABLE_ERROR_MESSAGE_HIGHLIGHTING": "1"}


def processors() -> int:
    """Return the number of processors that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def other_process(module: str, *arguments: str, stdin: int, stdout: int) -> subprocess.Popen[bytes]:
    """Run a module in another process.

    It finds modules where this one does, but in the working directory last: files that lie there
    may have the names of modules that this process has imported before.
    """
    here, root = os.getcwd(), str(Path(__file__).parents[1])
    paths = [path or here for path in sys.path if isinstance(path, str)]
    paths.sort(key=lambda path: path == here != root)
    return subprocess.Popen(
        [sys.executable, "-P", "-m", module, *arguments],
        stdin=stdin,
        stdout=stdout,
        stderr=subprocess.DEVNULL,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(paths), **QUIET},
    )

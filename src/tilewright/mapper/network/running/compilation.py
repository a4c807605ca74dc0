"""Compile all kernels before the first of them is needed, on several processors."""

from __future__ import annotations

import os
import subprocess
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

from tilewright.kernels.announcement import announce
from tilewright.kernels.on_disk.folders import folder_of
from tilewright.processes import other_process, processors

# By name, for it uses every part of the package, those above this one as well. It imports them only
# where they are compiled.
SHARES = "tilewright.first_use.shares"


def is_compiled() -> bool:
    """Whether there is machine code of the search as it stands in the source."""
    from tilewright.mapper.engine import expand as walk
    from tilewright.mapper.relaxations.joint import interior_point
    from tilewright.mapper.relaxations.nests import together as nest_together

    kernels: tuple[Any, ...] = (
        walk.expand,
        nest_together.least_together,
        interior_point.converge,
    )
    if not can_keep():
        return all(kernel.signatures for kernel in kernels)
    return all(kernel._cache.is_there for kernel in kernels)


def can_keep() -> bool:
    """Whether machine code can be kept for other processes."""
    return folder_of(str(Path(__file__).parent)) is not None


def compile_kernels() -> None:
    """Compile in several processes, for Numba compiles one function at a time in each.

    This one finds on disk what they have compiled. Where nothing can be kept there, it compiles
    alone, and only what the search needs.
    """
    announce()
    shares = import_module(SHARES)
    if not (sys.executable and can_keep()):
        shares.compile_for_search()
        return
    # one byte for each group: whoever has compiled one takes the next
    waiting, end = os.pipe()
    with open(end, "wb") as numbers:
        numbers.write(bytes(range(len(shares.GROUPS))))
    with open(waiting, "rb") as numbers:
        others = [
            other_process(SHARES, stdin=numbers.fileno(), stdout=subprocess.DEVNULL)
            for _ in range(min(processors(), len(shares.GROUPS)))
        ]
    try:
        for other in others:
            other.wait()
    finally:
        for other in others:
            other.kill()

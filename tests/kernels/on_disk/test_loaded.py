"""Machine code from disk is read without what Numba needs to compile, and is the same code."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import tilewright as tw

SMALL = """
import sys
import numpy as np
from tilewright.kernels.kernel import kernel

@kernel
def doubled(values):
    found = np.zeros_like(values)
    for i in range(len(values)):
        found[i] = 2 * values[i]
    return found

@kernel
def summed(values):
    return doubled(values).sum()
"""
SAYS = "print('numba.np.linalg' in sys.modules, sum(doubled.stats.cache_hits.values()))"


def run(folder: Path, *lines: str) -> list[str]:
    """Run lines in another process after the kernels have been declared."""
    paths = os.pathsep.join([str(folder), str(Path(tw.__file__).parents[1])])
    env = os.environ | {"PYTHONPATH": paths, "NUMBA_CACHE_DIR": str(folder / "kept")}
    code = "\n".join(["from small import *", *lines])
    ended = subprocess.run(
        [sys.executable, "-c", code], env=env, capture_output=True, text=True, check=True
    )
    return ended.stdout.splitlines()


def test_kept_code_is_read_without_what_compiles_and_can_be_linked(tmp_path: Path) -> None:
    (tmp_path / "small.py").write_text(SMALL, encoding="utf-8")
    call = "print(doubled(np.arange(3)).tolist())"
    assert run(tmp_path, call, SAYS) == ["[0, 2, 4]", "True 0"]
    assert run(tmp_path, call, SAYS) == ["[0, 2, 4]", "False 1"]
    # a kernel that is compiled now takes in the one that is read
    link = "print(summed(np.arange(4)))"
    assert run(tmp_path, call, link, SAYS) == ["[0, 2, 4]", "12", "True 1"]
    assert run(tmp_path, link, "print('numba.np.linalg' in sys.modules)") == ["12", "False"]

"""Compilation is announced, once, to whoever listened last."""

from __future__ import annotations

import subprocess
import sys

import pytest

PROGRAM = """
from tilewright.kernels.announcement import listen
from tilewright.kernels.kernel import kernel

def twice(x):
    return 2 * x

def thrice(x):
    return 3 * x

one, other = kernel(twice), kernel(thrice)
listen(lambda message: print("too early", message))
listen(print)
one(1)
one(2)
other(1)
"""


@pytest.mark.parametrize("kept", [False, True])
def test_what_is_compiled_is_announced_once(
    kept: bool, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.getbasetemp() / "announced"
    folder.mkdir(exist_ok=True)
    (folder / "kernels.py").write_text(PROGRAM)
    done = subprocess.run(
        [sys.executable, "kernels.py"], cwd=folder, capture_output=True, text=True, check=True
    )
    lines = done.stdout.splitlines()
    assert len(lines) == (0 if kept else 1)
    assert all(line.startswith("compiling kernels, at") for line in lines)

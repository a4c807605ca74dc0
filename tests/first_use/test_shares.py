"""What is compiled ahead is all that commands need."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from tilewright.first_use import shares

PROGRAM = """
import sys
import numpy as np
import tilewright as tw
from tilewright.document import parse
from tilewright.exploration.designs.reading import parse_space
from tilewright.first_use import shares
from tilewright.kernels.deferred import Deferred

def compiled():
    return {
        (kernel.py_func.__qualname__, str(types))
        for name, module in tuple(sys.modules.items()) if name.startswith("tilewright.")
        for kernel in vars(module).values()
        if isinstance(kernel, Deferred) and kernel._built is not None
        for types in kernel.signatures
    }

for group in shares.GROUPS:
    for share in group:
        share()
before = compiled()
conv, product = tw.conv2d(K=8, C=6, P=7, Q=7, R=3, S=3), tw.matmul(M=12, N=10, K=14)
assert tw.map(conv, "eyeriss", "edp", cache=False).optimal
assert tw.map(product, "simple", "energy", cache=False).optimal
tw.map(product, "simple", "latency", latency="pipelined", cache=False)
tw.pareto(product, "simple")
tw.frontier(conv, "simple", over=["GLB"])
tw.frontier(product, "simple", over=["GLB"], traffic="DRAM")
tw.least_traffic(conv)
tw.least_traffic(product, weight=0.5)
tw.best_layout(conv, "marvel-p1", integers=True)
tw.mapspace(product, "simple")
tw.explore(product, parse_space(parse(shares.SPACE, "space.yaml")), time_limit=20)
print(*sorted(compiled() - before), sep="\\n")
"""


def test_commands_compile_nothing_more() -> None:
    # in a process of its own: in this one, other tests have compiled more
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=True
    )
    assert not done.stdout.strip()


def test_the_groups_are_everything_there_is_to_compile() -> None:
    every = {name for name in vars(shares) if name.startswith("compile_")} - {
        "compile_for_search",
        "compile_what_waits",
    }
    assert sorted(share.__name__ for group in shares.GROUPS for share in group) == sorted(every)


def test_groups_are_taken_until_none_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    done: list[str] = []
    groups = [
        [lambda: done.append("first"), lambda: done.append("second")],
        [lambda: done.append("third")],
    ]
    monkeypatch.setattr(shares, "GROUPS", groups)
    waiting, end = os.pipe()
    os.write(end, bytes([1, 0]))
    os.close(end)
    with open(waiting, "rb") as numbers:
        monkeypatch.setattr("sys.stdin", numbers)
        shares.compile_what_waits()
    assert done == ["third", "first", "second"]

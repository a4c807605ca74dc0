"""What is compiled before a search begins is all that the search needs."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tilewright.mapper.network.running import compilation

PROGRAM = """
import sys
import tilewright as tw
from tilewright.kernels.deferred import Deferred
from tilewright.mapper.network.running import compilation

def compiled():
    return {
        (kernel.py_func.__qualname__, str(types))
        for name, module in tuple(sys.modules.items()) if name.startswith("tilewright.")
        for kernel in vars(module).values()
        if isinstance(kernel, Deferred) and kernel._built is not None
        for types in kernel.signatures
    }

for share in compilation.SHARES.values():
    share()
before = compiled()
for layer, machine, objective in (
    (tw.conv2d(K=8, C=6, P=7, Q=7, R=3, S=3), "eyeriss", "edp"),
    (tw.matmul(M=12, N=10, K=14), "simple", "energy"),
):
    assert tw.map(layer, machine, objective, cache=False).optimal
print(*sorted(compiled() - before), sep="\\n")
"""


def test_a_search_compiles_nothing_more() -> None:
    # in a process of its own: in this one, other tests have compiled more
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=True
    )
    assert not done.stdout.strip()


def test_shares_are_compiled_here_where_nothing_can_be_kept(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    done: list[str] = []
    shares = {name: lambda name=name: done.append(name) for name in compilation.SHARES}
    monkeypatch.setattr(compilation, "SHARES", shares)
    monkeypatch.setattr(compilation, "can_keep", lambda: False)
    compilation.compile_kernels()
    assert done == list(shares)


def test_other_processes_end_when_this_one_is_interrupted(monkeypatch: pytest.MonkeyPatch) -> None:
    class Other:
        running = True

        def wait(self) -> None:
            raise KeyboardInterrupt

        def kill(self) -> None:
            self.running = False

    others: list[Other] = []
    monkeypatch.setattr(
        compilation, "other_process", lambda *_: others.append(Other()) or others[-1]
    )
    monkeypatch.setattr(compilation, "can_keep", lambda: True)
    with pytest.raises(KeyboardInterrupt):
        compilation.compile_kernels()
    assert len(others) == len(compilation.SHARES)
    assert not any(other.running for other in others)

"""Kernels are compiled before a search begins, in other processes where that is possible."""

from __future__ import annotations

import os

import pytest

from tilewright.first_use import shares
from tilewright.mapper.network.running import compilation


def test_what_the_search_needs_is_compiled_here_where_nothing_can_be_kept(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    done: list[str] = []
    for name in ("model", "search", "bounds", "memory_sizes", "traffic"):
        monkeypatch.setattr(shares, f"compile_{name}", lambda name=name: done.append(name))
    monkeypatch.setattr(compilation, "can_keep", lambda: False)
    compilation.compile_kernels()
    assert sorted(done) == ["bounds", "model", "search"]


@pytest.mark.parametrize("processors", [1, 2, 64])
def test_every_group_is_compiled_once(monkeypatch: pytest.MonkeyPatch, processors: int) -> None:
    class Other:
        """Takes what waits when it is waited for."""

        def __init__(self, _: str, stdin: int, stdout: int) -> None:
            self.input = os.dup(stdin)

        def wait(self) -> None:
            while claimed := os.read(self.input, 1):
                done.append(claimed[0])

        def kill(self) -> None:
            os.close(self.input)
            killed.append(self)

    done: list[int] = []
    killed: list[Other] = []
    monkeypatch.setattr(compilation, "other_process", Other)
    monkeypatch.setattr(compilation, "can_keep", lambda: True)
    monkeypatch.setattr(compilation, "processors", lambda: processors)
    compilation.compile_kernels()
    assert done == list(range(len(shares.GROUPS)))
    assert len(killed) == min(processors, len(shares.GROUPS))


def test_other_processes_end_when_this_one_is_interrupted(monkeypatch: pytest.MonkeyPatch) -> None:
    class Other:
        running = True

        def wait(self) -> None:
            raise KeyboardInterrupt

        def kill(self) -> None:
            self.running = False

    others: list[Other] = []
    monkeypatch.setattr(
        compilation, "other_process", lambda *_, **__: others.append(Other()) or others[-1]
    )
    monkeypatch.setattr(compilation, "can_keep", lambda: True)
    with pytest.raises(KeyboardInterrupt):
        compilation.compile_kernels()
    assert others
    assert not any(other.running for other in others)

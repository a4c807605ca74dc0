"""What another process computes is what this one would, and none is left behind."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from time import monotonic, sleep

import pytest

import tilewright as tw
from tilewright.mapper.network.running import workers as module
from tilewright.mapper.network.running.workers import Helper, Helpers

HERE = os.getpid()
PATIENCE = 60.0  # seconds that a test waits for a process


def process(_: Callable[[], bool]) -> int:
    return os.getpid()


def steps(seconds: float, stop: Callable[[], bool]) -> tuple[int, bool]:
    """Return where this was computed, and whether it was told to stop."""
    end = monotonic() + seconds
    while monotonic() < end and not stop():
        sleep(0.005)
    return os.getpid(), stop()


def fatal_elsewhere(here: int, _: Callable[[], bool]) -> int:
    if os.getpid() != here:
        os._exit(1)
    return os.getpid()


def wrong(_: Callable[[], bool]) -> None:
    print("what is printed is not taken for an answer")
    raise ValueError("wrong")


class Unreadable:
    def __reduce__(self) -> tuple[object, tuple[str]]:
        return exec, ("raise KeyError",)


def unreadable(here: int, _: Callable[[], bool]) -> object:
    return os.getpid() if os.getpid() == here else Unreadable()


def never() -> bool:
    return False


def ready(helpers: Helpers) -> None:
    """Wait for a process."""
    end = monotonic() + PATIENCE
    while not helpers.idle and monotonic() < end:
        helpers.compute(process, stop=never) if not helpers.started else sleep(0.01)
    assert helpers.idle


@pytest.fixture(autouse=True)
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "PATIENCE", 0.0)


@pytest.fixture
def helpers() -> Iterator[Helpers]:
    made = Helpers(1)
    ready(made)
    yield made
    made.close()
    assert all(helper.process.poll() is not None for helper in made.started)


def test_another_process_computes(helpers: Helpers) -> None:
    assert helpers.compute(process, stop=never) == helpers.started[0].process.pid
    assert len(helpers.idle) == 1


def test_it_stops_when_it_is_told_to_and_goes_on_with_the_next(helpers: Helpers) -> None:
    other = helpers.started[0].process.pid
    for _ in range(20):
        begin = monotonic()
        stopped = helpers.compute(steps, PATIENCE, stop=lambda b=begin: monotonic() > b + 0.01)
        assert stopped == (other, True)
        assert helpers.compute(steps, 0.01, stop=never) == (other, False)


def test_it_is_computed_here_where_the_process_ends(helpers: Helpers) -> None:
    assert helpers.compute(fatal_elsewhere, HERE, stop=never) == HERE
    assert helpers.compute(process, stop=never) == HERE
    assert len(helpers.started) == 1


def test_it_is_computed_here_where_the_process_has_ended(helpers: Helpers) -> None:
    helpers.started[0].process.kill()
    assert helpers.compute(process, stop=never) == HERE


def test_errors_are_those_of_the_function(helpers: Helpers) -> None:
    with pytest.raises(ValueError, match="wrong"):
        helpers.compute(wrong, stop=never)


def test_what_is_no_answer_ends_the_helper(helpers: Helpers) -> None:
    assert helpers.compute(unreadable, HERE, stop=never) == HERE
    assert helpers.compute(process, stop=never) == HERE


def test_nothing_is_asked_when_it_is_to_stop(helpers: Helpers) -> None:
    assert helpers.compute(process, stop=lambda: True) == HERE


def test_a_program_that_is_no_python_is_never_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", shutil.which("true"))
    helpers = Helpers(1)
    for _ in range(20):
        assert helpers.compute(process, stop=never) == HERE
        sleep(0.01)
    helpers.close()
    assert not helpers.idle


def test_files_in_the_working_directory_are_no_modules(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "queue.py").write_text("open('run', 'w')")
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend("")
    helpers = Helpers(1)
    ready(helpers)
    assert helpers.compute(process, stop=never) != HERE
    helpers.close()
    assert not (tmp_path / "run").exists()


def test_without_processes_it_is_computed_here() -> None:
    helpers = Helpers(0)
    assert helpers.compute(process, stop=never) == HERE
    assert not helpers.started


@pytest.mark.long
# of one style for all layers every style is tried, which takes long
@pytest.mark.parametrize("uniform", [None, pytest.param("dataflow", marks=pytest.mark.slow)])
def test_a_network_is_mapped_alike_with_another_process(
    uniform: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = []
    one, ask = Helpers.idle_one, Helper.ask

    def waiting(self: Helpers, name: str) -> Helper | None:
        return one(self, name) or (ready(self), one(self, name))[1]

    def noted(self: Helper, *question: object) -> object:
        answer = ask(self, *question)  # type: ignore[arg-type]
        asked.append(answer is not module.GONE)
        return answer

    layers = (tw.matmul(name="a", M=5, N=3, K=4), tw.conv1d(name="b", K=2, C=2, P=5, R=2))
    options = {"uniform": uniform, "tiles": "all", "cache": False}
    network = tw.Network("two", layers)
    alone = tw.map(network, "simple", "edp", workers=1, **options)
    monkeypatch.setattr(Helpers, "idle_one", waiting)
    monkeypatch.setattr(Helper, "ask", noted)
    together = tw.map(network, "simple", "edp", workers=2, **options)
    assert asked
    assert all(asked)
    assert [r.mapping for r in together.layers] == [r.mapping for r in alone.layers]
    for own, other in zip(together.layers, alone.layers, strict=True):
        assert own.proof.lower_bound == other.proof.lower_bound
        assert own.proof.lower_bound_irregular == other.proof.lower_bound_irregular

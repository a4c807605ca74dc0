"""Whatever files and command lines say: one message, a documented status, nothing half written.

TILEWRIGHT_FUZZ is the number of cases of each kind; by default a sample.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator
from contextlib import redirect_stderr, redirect_stdout
from io import StringIO
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from fuzzing import CHAIN, GOOD, KINDS, LEAKING, broken, command_lines, fused_lines, shipped
from tilewright.cli import main

CASES = int(os.environ.get("TILEWRIGHT_FUZZ", "0"))
SECONDS = 10 if not CASES else 60  # by hand other work may be going on
STATUS = {0, 2, 3, 130}


def cases(sample: int) -> settings:
    return settings(
        max_examples=CASES or sample, deadline=None, derandomize=not CASES, database=None,
        suppress_health_check=list(HealthCheck),
    )  # fmt: skip


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.chdir(tmp_path)
    # a fault raises what it is
    monkeypatch.setenv("TILEWRIGHT_TRACEBACK", "1")
    monkeypatch.setenv("TILEWRIGHT_CACHE", "off")
    yield tmp_path


def run(*words: str, again: bool = True) -> int:
    """Run a command and check how it ends."""
    out, error = StringIO(), StringIO()
    start = time.perf_counter()
    with redirect_stdout(out), redirect_stderr(error):
        status = main(words)
    if time.perf_counter() - start > SECONDS:
        assert again, words
        return run(*words, again=False)  # what had to be compiled is there now
    assert status in STATUS, words
    said = error.getvalue()
    assert "internal error" not in said
    assert "Traceback" not in said
    if status == 2:
        assert sum(line.startswith("error: ") for line in said.splitlines()) == 1, (words, said)
    for file in Path().glob("out.*"):
        if file.suffix == ".json" and file.is_file():
            json.loads(file.read_text(encoding="utf-8"))
        file.unlink()
    assert not list(Path().glob(".out*")), words
    return status


def write(**texts: str) -> None:
    """Write the good files, but for some."""
    for name in KINDS:
        text = texts.get(name.partition(".")[0], GOOD[name])
        Path(name).write_bytes(text.encode("utf-8", "surrogatepass"))


@cases(60)
@given(st.sampled_from(KINDS).flatmap(lambda kind: st.tuples(st.just(kind), broken(GOOD[kind]))))
def test_broken_files(case: tuple[str, str]) -> None:
    kind, text = case
    write(**{kind.partition(".")[0]: text})
    if kind != "mapping.yaml":
        run("show", kind)
    run(
        "evaluate",
        "net.yaml",
        "machine.yaml",
        "mapping.yaml",
        "--layer",
        "conv",
        "--json",
        "out.json",
    )


@cases(60)
@given(st.sampled_from(shipped()).flatmap(broken))
def test_broken_files_that_ship(text: str) -> None:
    Path("file.yaml").write_bytes(text.encode("utf-8", "surrogatepass"))
    run("show", "file.yaml")


@cases(60)
@given(command_lines())
def test_command_lines(words: list[str]) -> None:
    write()
    run(*words)


@cases(8)
@given(broken(GOOD["net.yaml"]), broken(GOOD["machine.yaml"]))
def test_searches_of_broken_files(net: str, machine: str) -> None:
    for texts in ({"net": net}, {"machine": machine}):
        write(**texts)
        words = ["map", "net.yaml", "machine.yaml", "--time-limit", "0.2", "-o", "out.yaml"]
        run(*words, "--tiles", "divisors", "--json", "out.json")


@cases(10)
@given(
    fused_lines(), broken(CHAIN), st.sampled_from([GOOD["machine.yaml"], LEAKING]), st.booleans()
)
def test_searches_of_fused_layers(words: list[str], net: str, machine: str, whole: bool) -> None:
    write(net=CHAIN if whole else net, machine=machine)
    run(*words)

"""Every kind of bad input ends with one message that says where, what and what is accepted."""

from __future__ import annotations

import shlex
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tilewright.architecture import preset_names, technology_names
from tilewright.architecture.constraints.dataflow import dataflow_names
from tilewright.cli import main
from tilewright.document import load
from tilewright.frontends.configurations.configuration import configuration_names
from tilewright.kernels import announcement
from tilewright.workload import OPERATORS, zoo_names

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "errors.md"
TABLE = load(Path(__file__).parents[1] / "bad_input.yaml").data
GOOD: dict[str, str] = TABLE["good"]
EVALUATE = "evaluate net.yaml machine.yaml mapping.yaml --layer conv --json out.json"


@dataclass(frozen=True)
class Case:
    """One kind of bad input.

    Attributes
    ----------
    wrong : str
        What is wrong, for the documentation.
    says : tuple of str
        What the message contains; ``:7`` is line 7 of the file.
    file : str
        The file that is bad, or nothing when the command line is.
    old, new : str
        What is replaced in it by what; without `old` everything is.
    times : int
        How often `new` is repeated.
    hex : str
        The bytes of the file, when it is not text.
    command : str
        The words of the command line.
    status : int
        The exit status.
    """

    wrong: str
    says: tuple[str, ...] = ()
    file: str = ""
    old: str = ""
    new: str = ""
    times: int = 1
    hex: str = ""
    command: str = EVALUATE
    status: int = 2

    def write(self, folder: Path) -> None:
        """Write the three files, one of them bad."""
        for name, text in GOOD.items():
            (folder / name).write_text(text, encoding="utf-8")
        if not self.file:
            return
        good = GOOD[self.file]
        assert not self.old or good.count(self.old) == 1
        text = good.replace(self.old, self.new) if self.old else self.new * self.times
        (folder / self.file).write_bytes(bytes.fromhex(self.hex) or text.encode())


def read_case(data: dict[str, Any], file: str) -> Case:
    return Case(**{"file": file} | data | {"says": tuple(data["says"])})


GROUPS = {
    group["title"]: [
        read_case(data, group.get("file", ""))
        for data in (TABLE["any file"] if "file" in group else []) + group["cases"]
    ]
    for group in TABLE["groups"]
}
CASES = {f"{title}: {case.wrong}": case for title, cases in GROUPS.items() for case in cases}


@dataclass(frozen=True)
class Outcome:
    """What a command has left behind."""

    status: int
    output: str
    error: str
    files: frozenset[str]

    @property
    def message(self) -> str:
        """The line of the message; an einsum may be shown below it."""
        return self.error.splitlines()[0].removeprefix("error: ")


def run(
    case: Case, folder: Path, patch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Outcome:
    case.write(folder)
    with patch.context() as place:
        place.chdir(folder)
        # whether anything has to be compiled depends on what ran before
        place.setattr(announcement, "_told", [announcement.MESSAGE])
        status = main(shlex.split(case.command))
    output, error = capsys.readouterr()
    return Outcome(status, output, error, frozenset(path.name for path in folder.iterdir()))


OUTCOMES: dict[Case, Outcome] = {}


@pytest.fixture
def outcome_of(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Callable[[Case], Outcome]:
    """Run a case, unless another test has done so."""

    def outcome(case: Case) -> Outcome:
        if case not in OUTCOMES:
            folder = tmp_path / str(len(OUTCOMES))
            folder.mkdir()
            OUTCOMES[case] = run(case, folder, monkeypatch, capsys)
        return OUTCOMES[case]

    return outcome


@pytest.mark.parametrize("case", CASES.values(), ids=CASES.keys())
def test_bad_input_is_answered_with_one_message(
    case: Case, outcome_of: Callable[[Case], Outcome]
) -> None:
    outcome = outcome_of(case)
    assert outcome.status == case.status
    assert outcome.output == ""
    first, *shown = outcome.error.splitlines()
    assert first.startswith("error: ")
    assert all(line.startswith("  ") for line in shown)
    assert case.file in first or case.command != EVALUATE
    for part in case.says:
        assert (f"{case.file}{part}" if part.startswith(":") else part) in first
    assert "Traceback" not in outcome.error
    assert outcome.files == set(GOOD)


def test_the_files_are_good_before_they_are_changed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    outcome = run(Case("nothing"), tmp_path, monkeypatch, capsys)
    assert outcome.status == 0
    assert outcome.error == ""
    assert outcome.files == {*GOOD, "out.json"}


def test_there_are_enough_kinds_of_bad_input() -> None:
    assert len(CASES) == sum(map(len, GROUPS.values())) >= 60


@pytest.mark.parametrize("title", GROUPS)
def test_the_documentation_shows_the_messages(
    title: str, outcome_of: Callable[[Case], Outcome]
) -> None:
    lines = [f"## {title}", "", "| wrong | message |", "| --- | --- |"]
    for case in GROUPS[title]:
        wrong = case.wrong if case.file else f"{case.wrong}: `{case.command}`"
        lines.append(f"| {wrong} | `{abridged(outcome_of(case).message)}` |")
    table = "\n".join(lines) + "\n"
    assert table in PAGE.read_text(encoding="utf-8"), f"the page should have:\n{table}"


def abridged(message: str) -> str:
    """Leave out lists of what ships: they grow."""
    for names in (
        zoo_names(),
        preset_names(),
        technology_names(),
        dataflow_names(),
        configuration_names(),
        list(OPERATORS),
    ):
        message = message.replace(", ".join(names), f"{names[0]}, ...")
    return message

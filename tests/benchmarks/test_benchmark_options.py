"""The command line of the benchmarks: help is help, and what is unknown is refused."""

import sys

import pytest

from benchmarks import __main__ as benchmarks
from benchmarks.__main__ import chosen, main


@pytest.fixture(autouse=True)
def nothing_is_measured(monkeypatch):
    def measured(*words):
        raise AssertionError("something was measured")

    monkeypatch.setattr(benchmarks.mapper, "in_process", measured)
    monkeypatch.setattr(benchmarks.mapper, "sections", measured)
    monkeypatch.setattr(benchmarks.identical, "main", measured)


def run(monkeypatch, *words):
    monkeypatch.setattr(sys, "argv", ["benchmarks", *words])
    with pytest.raises(SystemExit) as end:
        main()
    return end.value.code


@pytest.mark.parametrize("words", [[], ["--park"], ["--zoo"], ["--guards"], ["--markdown"]])
@pytest.mark.parametrize("option", ["--help", "-h"])
def test_help_is_printed_and_nothing_measured(words, option, monkeypatch, capsys):
    assert run(monkeypatch, *words, option) == 0
    assert "usage: python -m benchmarks" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["--nothing"], "unrecognized arguments: --nothing"),
        (["park"], "unrecognized arguments: park"),
        (["--pa"], "unrecognized arguments: --pa"),
        (["--fusion", "--guards"], "not allowed with argument --fusion"),
        (["--park", "--nothing"], "unrecognized arguments: --nothing"),
        (["--zoo", "--nothing"], "unrecognized arguments: --nothing"),
        (["--long"], "go with --guards"),
        (["--explore-strategies", "many"], "invalid int value: 'many'"),
    ],
)
def test_what_is_unknown_is_refused(words, says, monkeypatch, capsys):
    assert run(monkeypatch, *words) == 2
    assert says in capsys.readouterr().err


def test_designs_follow_their_option():
    assert chosen(["--explore-strategies", "--markdown"]).explore_strategies == []
    assert chosen(["--explore-strategies", "30", "60"]).explore_strategies == [30, 60]
    assert chosen([]).explore_strategies is None

"""What is put into words is read from them, in any order and in every spelling."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import dataclass
from typing import Annotated, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tilewright.cli.arguments import (
    Argument,
    Command,
    HelpWanted,
    Option,
    call_with,
    parameters_of,
    parse_arguments,
)
from tilewright.cli.help import MODULES, command_help
from tilewright.cli.options import find_command
from tilewright.errors import InputError


@dataclass(frozen=True)
class Numbers:
    """Options that belong together."""

    number: Annotated[int, Option("--number", metavar="N", help="")] = 7
    weight: Annotated[float, Option("--weight", metavar="W", help="")] = 0.5


NUMBERS = Numbers()


def example(
    first: Annotated[str, Argument(metavar="FIRST", help="")],
    second: Annotated[str | None, Argument(metavar="[SECOND]", help="")] = None,
    text: Annotated[str | None, Option("-t", "--text", metavar="T", help="")] = None,
    numbers: Numbers = NUMBERS,
    pair: Annotated[tuple[int, int], Option("--pair", metavar="A B", help="")] = (1, 2),
    names: Annotated[list[str] | None, Option("--name", metavar="NAME", help="")] = None,
    flag: Annotated[bool, Option("--flag", help="")] = False,
) -> tuple[object, ...]:
    """Return what it is called with."""
    return first, second, text, numbers, pair, names, flag


COMMAND = Command("example", example, parameters_of(example))
DEFAULTS = {
    "second": None, "text": None, "number": 7, "weight": 0.5, "pair": (1, 2), "names": None,
    "flag": False,
}  # fmt: skip
TEXT = st.text(min_size=1).filter(lambda text: text not in COMMAND.options)
LOOSE = TEXT.filter(lambda text: text == "-" or not text.startswith("-"))


def spelled(name: str, value: Any, attached: bool) -> list[str]:
    """Return the words that give an option a value."""
    option = COMMAND.options[name]
    values = value if isinstance(value, tuple) else () if value is True else (value,)
    if attached and option.words == 1:
        return [f"{name}={values[0]}"]
    return [name, *map(str, values)]


@settings(deadline=None)
@given(
    st.fixed_dictionaries(
        {"first": LOOSE},
        optional={
            "second": LOOSE, "text": TEXT, "number": st.integers(), "flag": st.just(True),
            "weight": st.floats(allow_nan=False), "pair": st.tuples(st.integers(), st.integers()),
            "names": st.lists(TEXT, min_size=1),
        },
    ),
    st.data(),
)  # fmt: skip
def test_words_in_any_order_give_what_they_were_made_of(
    values: dict[str, Any], data: st.DataObject
) -> None:
    loose = [[values[name]] for name in ("first", "second") if name in values]
    groups = []
    for parameter in COMMAND.parameters:
        if isinstance(parameter.spec, Option) and parameter.name in values:
            many = values[parameter.name] if parameter.many else [values[parameter.name]]
            name = data.draw(st.sampled_from([n for n in parameter.spec.names if n[:2] == "--"]))
            groups += [spelled(name, value, data.draw(st.booleans())) for value in many]
    # those of one name keep their order
    places = sorted(data.draw(st.permutations(range(len(loose) + len(groups))))[: len(loose)])
    for place, word in zip(places, loose, strict=True):
        groups.insert(place, word)
    words = [word for group in groups for word in group]
    assert parse_arguments(COMMAND, words) == DEFAULTS | values


def test_options_that_belong_together_come_as_a_record() -> None:
    values = parse_arguments(COMMAND, ["a", "--weight", "2", "--flag"])
    assert call_with(example, values) == (
        "a", None, None, Numbers(number=7, weight=2.0), (1, 2), None, True,
    )  # fmt: skip


def test_short_names_take_what_follows_them() -> None:
    for words in (["-t", "x"], ["-tx"], ["-t=x"]):
        assert parse_arguments(COMMAND, ["a", *words])["text"] == "x"


def test_after_two_dashes_everything_is_an_argument() -> None:
    assert parse_arguments(COMMAND, ["--", "--text", "-"]) == DEFAULTS | {
        "first": "--text", "second": "-",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([], "FIRST: this argument is missing; see 'tilewright example --help'"),
        (["a", "b", "c"], "no more arguments expected, found 'c'"),
        (["a", "--text"], "--text: needs a value: --text T"),
        (["a", "--text", "--flag"], "--text: needs a value"),
        (["a", "--pair", "1"], "--pair: needs a value: --pair A B"),
        (["a", "--number", "1.5"], "--number: expected a whole number, found '1.5'"),
        (["a", "--weight", "x"], "--weight: expected a number, found 'x'"),
        (["a", "--flag=yes"], "--flag: takes no value"),
        (["a", "--txet", "x"], r"no option '--txet' \(did you mean '--text'?\); accepted: "),
        (["a", "-x"], "no option '-x'"),
    ],
)
def test_words_that_do_not_fit_are_refused(words: list[str], message: str) -> None:
    with pytest.raises(InputError, match=message.replace("?", r"\?")):
        parse_arguments(COMMAND, words)


def test_help_is_given_wherever_it_is_asked_for() -> None:
    for words in (["-h"], ["a", "b", "c", "--help"], ["--flag", "-h"]):
        with pytest.raises(HelpWanted):
            parse_arguments(COMMAND, words)


@pytest.mark.parametrize("width", [40, 80, 140])
def test_the_help_of_a_command_has_all_its_options(
    width: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    for name in MODULES:
        command = find_command(name)
        text = command_help(command)
        assert all(f"{option}" in text for option in command.options)
        words = " ".join(text.split())
        assert all(parameter.spec.help in words for parameter in command.parameters)
        # texts keep 30 characters beside their names
        assert max(map(len, text.splitlines()[1:])) <= max(width, 62)


def test_what_shows_no_result_imports_no_package() -> None:
    code = (
        "import sys; from tilewright.cli import main\n"
        "for words in (['list'], ['--help'], ['map', '--help'], ['map'], ['mpa']): main(words)\n"
        "print({'numba', 'numpy', 'pydantic', 'rich', 'ruamel.yaml'} & set(sys.modules))"
    )
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert shown.stdout.splitlines()[-1] == "set()"

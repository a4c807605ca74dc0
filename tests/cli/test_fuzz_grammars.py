"""Files of every grammar, broken one at a time, and every command that reads them.

TILEWRIGHT_FUZZ is the number of cases of each file; by default a sample.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from test_fuzz import cases, folder, run

from fuzzing import broken, broken_text
from grammars import FILES, READERS

__all__ = ["folder"]
COMMANDS = [(name, command) for name, commands in READERS.items() for command in commands]
UNREADABLE = ("convert net.yaml",)  # well-formed, but not what directives can express


def write(**texts: str) -> None:
    """Write the good files, but for some."""
    for name, text in FILES.items():
        Path(name).write_bytes(texts.get(name, text).encode("utf-8", "surrogatepass"))


@pytest.mark.parametrize("command", sorted({command for _, command in COMMANDS}))
def test_files_are_good_before_they_are_broken(command: str) -> None:
    write()
    limited = "--time-limit" in command  # without a mapping in so little time
    assert run(*command.split()) in (
        (2,) if command.startswith(UNREADABLE) else (0, 3) if limited else (0,)
    )


@pytest.mark.parametrize("name", READERS)
def test_broken_files_of_every_grammar(name: str) -> None:
    plain = Path(name).suffix in (".txt", ".csv", ".cfg")
    text = FILES[name]

    @cases(5)
    @given(broken_text(text) if plain else broken(text), st.sampled_from(READERS[name]))
    def check(changed: str, command: str) -> None:
        write(**{name: changed})
        run(*command.split())

    check()

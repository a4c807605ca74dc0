"""The strategies by name, and how their options are written."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import fields
from typing import Any

from tilewright.document import describe
from tilewright.errors import InputError, nearest
from tilewright.strategies.searches.blackbox import BlackBox
from tilewright.strategies.searches.decoupled import Decoupled
from tilewright.strategies.searches.dmazerunner import DMazeRunner
from tilewright.strategies.searches.pruned import Pruned
from tilewright.strategies.searches.sampling import Random
from tilewright.strategies.steps import Problem, Strategy

STRATEGIES: dict[str, Callable[..., Strategy]] = {
    "random": Random,
    "pruned": Pruned,
    "dmazerunner": DMazeRunner,
    "blackbox": BlackBox,
    "decoupled": Decoupled,
}
READERS: dict[str, tuple[Callable[[str], Any], str]] = {
    "int": (int, "a whole number"),
    "int | None": (int, "a whole number"),
    "float": (float, "a number"),
    "Sequence[str]": (tuple, "digits"),
}


def strategy(text: str) -> Strategy:
    """Return the strategy that is written as ``name`` or ``name:option=value,option=value``.

    Raises
    ------
    InputError
        When there is no such strategy or option, or a value cannot be read.
    """
    if not isinstance(text, str):
        raise InputError(f"expected a name, found {describe(text)}", key="strategy")
    name, _, rest = text.partition(":")
    if name not in STRATEGIES:
        raise InputError(
            f"no strategy '{name}'; accepted: {', '.join(STRATEGIES)}{nearest(name, STRATEGIES)}",
            key="strategy",
        )
    kinds = {option.name: str(option.type) for option in fields(STRATEGIES[name])}  # type: ignore[arg-type]
    options = {}
    for part in rest.split(",") if rest else ():
        option, _, written = part.partition("=")
        if option not in kinds:
            raise InputError(
                f"{name} has no option '{option}'; accepted: {', '.join(kinds)}"
                f"{nearest(option, kinds)}",
                key="strategy",
            )
        read, expected = READERS[kinds[option]]
        try:
            options[option] = read(written)
        except ValueError:
            raise InputError(
                f"{option} of {name} must be {expected}, found '{written}'", key="strategy"
            ) from None
    return STRATEGIES[name](**options)


def chosen(texts: Sequence[str] | None, problem: Problem) -> dict[str, Strategy]:
    """Return strategies by what was written, or all that can run when nothing was.

    Raises
    ------
    InputError
        When one of them does not exist or does not cover the problem.
    """
    if texts is not None:
        if isinstance(texts, str) or not texts:
            raise InputError(
                f"expected names of strategies, found {describe(texts)}; "
                f"accepted: {', '.join(STRATEGIES)}",
                key="strategy",
            )
        found = {text: strategy(text) for text in texts}
        for one in found.values():
            one.check(problem)
        return found
    able = {}
    for name, make in STRATEGIES.items():
        try:
            make().check(problem)
        except InputError:
            continue
        able[name] = make()
    return able

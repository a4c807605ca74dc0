"""What the words of a command line stand for: the annotated parameters of functions.

Commands with many options take them in records, by what they are about. Packages for all this take
longer to import than most commands to run.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, is_dataclass
from inspect import Parameter as Given
from inspect import signature
from typing import Any, get_args, get_origin

from tilewright.errors import InputError, nearest

HELP = ("-h", "--help")
NUMBERS = {int: "a whole number", float: "a number"}


class HelpWanted(Exception):
    """The words ask for help."""


class Option:
    """An option: its names, what stands for its value in the help, and what it does."""

    def __init__(self, *names: str, metavar: str = "", help: str) -> None:
        self.names = names
        self.metavar = metavar
        self.help = help


class Argument:
    """A word without a name: what stands for it in the help, and what it is."""

    def __init__(self, *, metavar: str, help: str) -> None:
        self.metavar = metavar
        self.help = help


@dataclass(frozen=True)
class Parameter:
    """A parameter of a command.

    Attributes
    ----------
    name : str
        Its name in the function.
    spec : Option or Argument
        What the user sees of it.
    kind : type
        Type of each of its words; bool for an option without a value.
    words : int
        How many words are its value.
    many : bool
        Whether it may be repeated.
    required : bool
        Whether it has to be there.
    default : object
        What it is where it is not.
    """

    name: str
    spec: Option | Argument
    kind: type
    words: int = 1
    many: bool = False
    required: bool = False
    default: Any = None


@dataclass(frozen=True)
class Command:
    """A function that a name on the command line calls."""

    name: str
    function: Callable[..., int]
    parameters: tuple[Parameter, ...]

    @property
    def options(self) -> dict[str, Parameter]:
        """The options, by each of their names."""
        return {
            name: parameter
            for parameter in self.parameters
            if isinstance(parameter.spec, Option)
            for name in parameter.spec.names
        }

    @property
    def arguments(self) -> list[Parameter]:
        """The parameters without a name."""
        return [p for p in self.parameters if isinstance(p.spec, Argument)]

    @property
    def description(self) -> str:
        """What it does."""
        return self.function.__doc__ or ""


def parameters_of(function: Callable[..., Any]) -> tuple[Parameter, ...]:
    """Return the parameters of a function, each of which is annotated with what it is.

    In the place of one that is annotated with a dataclass stand the fields of that.
    """
    found: list[Parameter] = []
    for given in signature(function, eval_str=True).parameters.values():
        if is_record(given.annotation):
            found += parameters_of(given.annotation)
        else:
            found.append(parameter(given.name, given.annotation, given.default))
    return tuple(found)


def call_with(function: Callable[..., Any], values: Mapping[str, Any]) -> Any:
    """Call a function with the values of its parameters, of which some are fields of records."""
    kinds = {p.name: p.annotation for p in signature(function, eval_str=True).parameters.values()}
    return function(
        **{
            name: call_with(kind, values) if is_record(kind) else values[name]
            for name, kind in kinds.items()
        }
    )


def is_record(annotation: Any) -> bool:
    """Whether a parameter is a record of options."""
    return is_dataclass(annotation)


def parameter(name: str, annotation: Any, default: Any) -> Parameter:
    """Return a parameter from its annotation, such as ``Annotated[list[str] | None, Option()]``."""
    hint, spec = get_args(annotation)
    # of a type or None, the type
    types = [hint] if get_origin(hint) in (list, tuple) else [*get_args(hint), hint]
    kind = types[0]
    inner = get_args(kind)
    return Parameter(
        name=name, spec=spec,
        kind=inner[0] if inner else kind,
        words=0 if kind is bool else len(inner) or 1,
        many=get_origin(kind) is list,
        required=default is Given.empty,
        default=None if default is Given.empty else default,
    )  # fmt: skip


def parse_arguments(command: Command, words: Sequence[str]) -> dict[str, Any]:
    """Return the value of each parameter of a command.

    Raises
    ------
    HelpWanted
        When the words ask for help.
    InputError
        When they do not fit the command.
    """
    options = command.options
    values: dict[str, Any] = {}
    loose: list[str] = []
    at = 0
    while at < len(words):
        word = words[at]
        at += 1
        if word == "--":
            loose += words[at:]
            break
        if word == "-" or not word.startswith("-"):
            loose.append(word)
            continue
        name, attached = parted(word)
        if name in HELP:
            raise HelpWanted
        if name not in options:
            names = [*options, HELP[-1]]
            # there are many, so the one that may be meant comes first
            guess = nearest(name, names).removeprefix("; ")
            raise InputError(
                f"no option '{name if word.startswith('--') else word}'"
                f"{f' ({guess})' if guess else ''}; accepted: {', '.join(names)}"
            )
        option = options[name]
        if attached is not None and not option.words:
            raise InputError("takes no value", key=name)
        found = [] if attached is None else [attached]
        while len(found) < option.words:
            if at == len(words) or words[at] in options:
                expected = getattr(option.spec, "metavar", "")
                raise InputError(f"needs a value: {name} {expected}", key=name)
            found.append(words[at])
            at += 1
        keep(values, option, [converted(option, name, text) for text in found])
    place(command, values, loose)
    return {p.name: values.get(p.name, p.default) for p in command.parameters}


def parted(word: str) -> tuple[str, str | None]:
    """Return the name of an option and the value that is attached to it."""
    if word.startswith("--"):
        name, equals, value = word.partition("=")
        return name, value if equals else None
    return word[:2], word[2:].removeprefix("=") or None


def converted(option: Parameter, name: str, text: str) -> Any:
    """Return a word as what an option takes."""
    try:
        return option.kind(text)
    except ValueError:
        raise InputError(f"expected {NUMBERS[option.kind]}, found '{text}'", key=name) from None


def keep(values: dict[str, Any], option: Parameter, found: list[Any]) -> None:
    """Put the value of an option to the others; of one that is repeated the last one counts."""
    if option.many:
        values.setdefault(option.name, []).extend(found)
    elif option.words > 1:
        values[option.name] = tuple(found)
    else:
        values[option.name] = found[0] if found else True


def place(command: Command, values: dict[str, Any], loose: Sequence[str]) -> None:
    """Give words without a name to the arguments of a command, and see that nothing is missing."""
    advice = f"see 'tilewright {command.name} --help'"
    rest = list(loose)
    for argument in command.arguments:
        if argument.many:
            values[argument.name], rest = rest, []
        elif rest:
            values[argument.name] = rest.pop(0)
    if rest:
        raise InputError(f"no more arguments expected, found '{rest[0]}'; {advice}")
    for wanted in command.parameters:
        if wanted.required and values.get(wanted.name) in (None, []):
            if isinstance(wanted.spec, Option):
                name, what = wanted.spec.names[0], "option"
            else:
                name, what = wanted.spec.metavar, "argument"
            raise InputError(f"this {what} is missing; {advice}", key=name)

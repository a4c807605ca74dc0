"""The commands by name, and their help.

Only the module of the command that is called is imported; the list of all commands imports all.
"""

from __future__ import annotations

from collections.abc import Sequence
from shutil import get_terminal_size
from textwrap import wrap

from tilewright.cli.arguments import Command, Option, Parameter

# modules of `commands`, by command; in the order of the help
SECTIONS = {
    "Find mappings": {
        "map": "search",
        "explain": "search",
        "frontier": "search",
        "traffic": "offchip",
        "layout": "layout",
        "explore": "explore",
    },
    "Evaluate mappings": {"evaluate": "cost", "simulate": "cost"},
    "Compare": {"report": "report", "compare": "study", "mapspace": "study", "methods": "methods"},
    "Other tools' files": {
        "convert": "notation",
        "import": "interop",
        "export": "interop",
        "compare-counts": "interop",
    },
    "Built-in files and the cache": {
        "list": "catalogue",
        "show": "catalogue",
        "cache": "catalogue",
    },
}
MODULES = {name: module for section in SECTIONS.values() for name, module in section.items()}
ABOUT = (
    "Find the cheapest mapping of a tensor workload onto a spatial accelerator, with its exact "
    "cost, and prove how close to optimal it is."
)
WIDEST = 100
MIDDLE = 28  # names that are longer have a line of their own

Rows = Sequence[tuple[str, str]]


def overview(commands: dict[str, Command]) -> str:
    """Return the help that lists all commands."""
    options = [
        ("--version", "Show the version."),
        ("-h, --help", "Show this; after a command, its options."),
    ]
    tables = {
        title: [(name, summary(commands[name])) for name in names]
        for title, names in SECTIONS.items()
    }
    parts = ["Usage: tilewright COMMAND ...", paragraphs(ABOUT)]
    middle = column([*MODULES])
    parts += [f"{title}:\n{rows(table, middle)}" for title, table in tables.items()]
    return "\n\n".join([*parts, f"Options:\n{rows(options, middle)}"])


def command_help(command: Command) -> str:
    """Return the help of one command."""
    arguments = command.arguments
    listed = dict.fromkeys(command.options.values())
    usage = " ".join(
        ["tilewright", command.name, *(p.spec.metavar for p in arguments), "[OPTIONS]"]
    )
    parts = [f"Usage: {usage}", paragraphs(command.description)]
    if arguments:
        parts.append(f"Arguments:\n{rows([(p.spec.metavar, said(p)) for p in arguments])}")
    options = [*((names(p), said(p)) for p in listed), ("-h, --help", "Show this.")]
    return "\n\n".join([*parts, f"Options:\n{rows(options)}"])


def names(option: Parameter) -> str:
    """Return the names of an option, and what stands for its value."""
    assert isinstance(option.spec, Option)
    return f"{', '.join(option.spec.names)} {option.spec.metavar}".rstrip()


def said(parameter: Parameter) -> str:
    """Return what the help says about a parameter."""
    text, default = parameter.spec.help, parameter.default
    if parameter.required and isinstance(parameter.spec, Option):
        return f"{text} Required."
    if default is None or default is False or default == "":
        return text
    shown = " ".join(map(str, default)) if isinstance(default, tuple) else str(default)
    return f"{text} Default: {shown}."


def summary(command: Command) -> str:
    """Return what a command does, in one sentence."""
    return " ".join(command.description.partition("\n\n")[0].split())


def paragraphs(text: str) -> str:
    """Return prose with wrapped lines, indented."""
    blocks = (" ".join(block.split()) for block in text.strip().split("\n\n"))
    return "\n\n".join("\n".join(indented(block)) for block in blocks)


def column(names: Sequence[str]) -> int:
    """Return where texts begin that stand beside names."""
    return max((len(name) for name in names if len(name) <= MIDDLE), default=0) + 4


def rows(table: Rows, middle: int | None = None) -> str:
    """Return names and what they mean, side by side."""
    middle = middle or column([name for name, _ in table])
    lines = []
    for name, text in table:
        first, *rest = indented(text, middle)
        if len(name) > MIDDLE:
            lines += [f"  {name}", first]
        else:
            lines.append(f"  {name}".ljust(middle) + first.lstrip())
        lines += rest
    return "\n".join(lines)


def indented(text: str, blanks: int = 2) -> list[str]:
    """Return the lines of a text, each after some blanks."""
    width = max(min(get_terminal_size().columns, WIDEST), blanks + 30)
    return wrap(
        text, width, initial_indent=" " * blanks, subsequent_indent=" " * blanks,
        break_long_words=False, break_on_hyphens=False,
    )  # fmt: skip

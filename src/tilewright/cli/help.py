"""The commands by name, and the help that lists them.

Only the module of the command that is called is imported; the help imports all.
"""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from typing import Any

from typer.core import TyperGroup

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
    "What ships and what is kept": {
        "list": "catalogue",
        "show": "catalogue",
        "cache": "catalogue",
    },
}
MODULES = {name: module for section in SECTIONS.values() for name, module in section.items()}


def load_commands(words: Sequence[str]) -> None:
    """Import the module of the command that some words call, or all modules."""
    called = next((word for word in words if not word.startswith("-")), None)
    modules = [MODULES[called]] if called in MODULES else dict.fromkeys(MODULES.values())
    for module in modules:
        import_module(f"tilewright.cli.commands.{module}")


class Group(TyperGroup):
    """Commands whose descriptions are never cut off, in sections."""

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Write the sections of commands into a help text."""
        widest = max(map(len, MODULES))
        for title, names in SECTIONS.items():
            rows = []
            for name in names:
                command = self.get_command(ctx, name)
                if command is not None:
                    text = (command.help or "").partition("\n\n")[0]
                    rows.append((name.ljust(widest), " ".join(text.split())))
            with formatter.section(title):
                formatter.write_dl(rows)

"""How long things take, as tables; `python -m benchmarks` prints all of them."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Section:
    """One table of results.

    Attributes
    ----------
    title : str
    columns : tuple of str
        The first one is text, the others are numbers.
    rows : tuple of tuples of str
    note : str
        What the columns mean, where their names do not say it.
    """

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    note: str = ""

    def markdown(self) -> str:
        """Return the table in Markdown."""
        lines = [
            f"**{self.title}**",
            "",
            "| " + " | ".join(self.columns) + " |",
            "| --- |" + " ---: |" * (len(self.columns) - 1),
            *("| " + " | ".join(row) + " |" for row in self.rows),
        ]
        return "\n".join([*lines, "", self.note] if self.note else lines)

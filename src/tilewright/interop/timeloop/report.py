"""What was made of a file of Timeloop: understood, or left out, key by key."""

from __future__ import annotations

from dataclasses import dataclass, field

from tilewright.document import Document, KeyPath, key_text


@dataclass(frozen=True)
class Remark:
    """A part of a file that changes nothing here.

    Attributes
    ----------
    source : str
        Name of the file.
    line : int or None
        Line in it.
    key : str
        Path of keys.
    why : str
        What it would mean, or that it means nothing.
    """

    source: str
    line: int | None
    key: str
    why: str

    def __str__(self) -> str:
        place = self.source if self.line is None else f"{self.source}:{self.line}"
        return f"{place}: {self.key}: {self.why}"


@dataclass
class Report:
    """Collects what was understood and what was left out while files are read.

    Attributes
    ----------
    understood : list of str
        Paths of keys that have a meaning here.
    ignored : list of Remark
        The others, each with its line and reason.
    changing : list of Remark
        Those of the others that would change results.
    """

    understood: list[str] = field(default_factory=list)
    ignored: list[Remark] = field(default_factory=list)
    changing: list[Remark] = field(default_factory=list)

    def understand(self, path: KeyPath) -> None:
        """Note that a key has a meaning here."""
        self.understood.append(key_text(path))

    def ignore(self, document: Document, path: KeyPath, why: str) -> None:
        """Note that a key changes nothing here, and why."""
        line = document.line(path)
        self.ignored.append(Remark(document.source, line, key_text(path), why))

    def open(self, document: Document, path: KeyPath, why: str) -> None:
        """Note what is left out although it would change results: users must see it."""
        self.ignore(document, path, why)
        self.changing.append(self.ignored[-1])

"""The mapping styles that ship."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from tilewright.document import read_text
from tilewright.interop.maestro.reader import parse_dataflow
from tilewright.interop.maestro.syntax import Dataflow

FOLDER = Path(__file__).parent / "styles"


def style_names() -> list[str]:
    """Return the names of the mapping styles that ship, sorted."""
    return sorted(path.stem for path in FOLDER.glob("*.m"))


@cache
def load_style(name: str) -> Dataflow:
    """Return a mapping style that ships; its source is what its file says in front."""
    text = read_text(FOLDER / f"{name}.m")
    flow = parse_dataflow(text, f"{name}.m")
    comments = [line.removeprefix("//").strip() for line in text.splitlines() if line[:2] == "//"]
    return Dataflow(flow.directives, name, " ".join(comments))

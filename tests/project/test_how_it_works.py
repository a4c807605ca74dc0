"""The pages for developers name files and functions that are there."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FOLDERS = (ROOT / "src" / "tilewright",)
PLACE = re.compile(r"`([\w/]+\.py)(?::\s([\w.]+))?`")


def places() -> list[tuple[str, str, str | None]]:
    """Every file that a page names, with the page and the name that it is said to define."""
    found = []
    for page in sorted((ROOT / "docs" / "how-it-works").glob("*.md")):
        for file, name in PLACE.findall(page.read_text(encoding="utf-8")):
            found.append((page.name, file, name or None))
    return found


def file_of(path: str) -> Path | None:
    """The file that a path means: paths begin below one of the folders, or at the top."""
    found = [folder / path for folder in (*FOLDERS, ROOT) if (folder / path).is_file()]
    return found[0] if len(found) == 1 else None


def names(path: Path) -> set[str]:
    """What a file defines: functions, classes, their members, and constants."""
    found = set()
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.Assign | ast.AnnAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            found |= {
                each.id for t in targets for each in ast.walk(t) if isinstance(each, ast.Name)
            }
        elif isinstance(node, ast.FunctionDef | ast.ClassDef):
            found.add(node.name)
            if isinstance(node, ast.ClassDef):
                members = {m.name for m in node.body if isinstance(m, ast.FunctionDef)}
                found |= {f"{node.name}.{member}" for member in members}
    return found


@pytest.mark.parametrize(("page", "file", "name"), sorted(set(places()), key=str))
def test_what_a_page_names_is_there(page: str, file: str, name: str | None) -> None:
    found = file_of(file)
    assert found is not None, f"{page}: no file {file}"
    assert name is None or name in names(found), f"{page}: {file}: {name}"

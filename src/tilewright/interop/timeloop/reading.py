"""Timeloop's files as plain data: inclusions, merge keys and spellings resolved, nothing run."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from tilewright.document import SUFFIXES, Document, KeyPath, describe, parse, read_text
from tilewright.errors import InputError

MARKS = re.compile(r"\{\{(?P<value>.*?)\}\}|\{%(?P<statement>.*?)%\}|\{#.*?#\}", re.DOTALL)
INCLUDE = re.compile(
    r"""\s*include(?P<text>_text)?\(\s*(['"])(?P<file>[^'"]*)\2(?P<keys>[^()]*)\)\s*"""
)
KEY = re.compile(r"""\s*,\s*(['"])([^'"]*)\1""")
VALUE = r"""(?:(['"])([^'"]*)\2|([-+.\w]+))"""
SET = re.compile(rf"-?\s*set\s+([A-Za-z_]\w*)\s*=\s*{VALUE}\s*-?")
DEFAULT = re.compile(rf"-?\s*set\s+([A-Za-z_]\w*)\s*=\s*\1\s*\|\s*default\(\s*{VALUE}\s*\)\s*-?")
NAME = re.compile(r"\s*[A-Za-z_]\w*\s*")
INCLUDED = re.compile(r"tilewright-included-(\d+)")
TOP = re.compile(
    r"""^[ \t]*\{?[ \t]*["']?(problem|architecture|arch|mapping)["']?[ \t]*:""", re.MULTILINE
)
MAX_INCLUDED = 20
MERGE, DEEP_MERGE = "<<", "<<<"


def may_be_timeloop(name: str) -> bool:
    """Whether a file may be one of Timeloop's, by a glance at its text."""
    path = Path(name)
    if not path.name.lower().endswith((*SUFFIXES, ".jinja", ".jinja2")) or not path.is_file():
        return False
    return TOP.search(read_text(name)) is not None


def read(name: str | Path) -> Document:
    """Read a file of Timeloop.

    Parameters
    ----------
    name : str or Path
        YAML or JSON. Of templates, inclusions of files and variables that are set to plain values
        are resolved; files may come from the folder above its own and what is below.

    Raises
    ------
    InputError
        When it cannot be read, or is a template that would have to be run.
    """
    return Files(Path(name)).read(Path(name), 0)


def normal(key: object) -> str:
    """Return a key as version 0.4 spells it: with underscores."""
    return str(key).replace("-", "_")


def entries(data: object) -> dict[str, Any]:
    """Return keys as version 0.4 spells them, with those of the file; nothing for no keys."""
    return {normal(key): key for key in data} if isinstance(data, dict) else {}


class Files:
    """Reads a file and those that it includes."""

    def __init__(self, first: Path) -> None:
        self.root = first.resolve().parent.parent
        self.count = 0

    def read(self, path: Path, depth: int) -> Document:
        """Return the data of a file, those it includes in place."""
        included: list[Any] = []
        text = self.expand(read_text(path), path, {}, included, depth)
        document = parse(text, str(path))
        data = put(document.data, included) if included else document.data
        lines = dict(document.lines)
        tags = dict(document.tags)
        data = merged(data, (), lines, tags)
        return replace(document, data=data, lines=lines, tags=tags)

    def expand(
        self, text: str, path: Path, variables: dict[str, str], included: list[Any], depth: int
    ) -> str:
        """Return a text with what its marks stand for; what has to be run is refused."""
        if "{{" not in text and "{%" not in text and "{#" not in text:
            return text

        def resolve(match: re.Match[str]) -> str:
            line = text.count("\n", 0, match.start()) + 1
            statement, value = match["statement"], match["value"]
            if statement is not None:
                given = DEFAULT.fullmatch(statement.strip())
                found = given or SET.fullmatch(statement.strip())
                if found is None:
                    raise refused(path, line, statement)
                if given and found[1] in variables:
                    return ""
                variables[found[1]] = found[3] if found[3] is not None else found[4]
                return ""
            if value is None:
                return ""
            if NAME.fullmatch(value) and value.strip() in variables:
                return variables[value.strip()]
            call = INCLUDE.fullmatch(value)
            if call is None:
                raise refused(path, line, value)
            other = self.find(path, call["file"], line)
            self.count += 1
            if depth >= MAX_INCLUDED or self.count > MAX_INCLUDED:
                raise InputError(
                    f"includes more than {MAX_INCLUDED} files", source=str(path), line=line
                )
            if call["text"]:
                return self.expand(read_text(other), other, variables, included, depth + 1)
            data = self.read(other, depth + 1).data
            for _, key in KEY.findall(call["keys"]):
                for part in key.split("."):
                    if not isinstance(data, dict) or part not in data:
                        raise InputError(
                            f"'{call['file']}' has no key '{key}'", source=str(path), line=line
                        )
                    data = data[part]
            included.append(data)
            return f'"tilewright-included-{len(included) - 1}"'

        return MARKS.sub(resolve, text)

    def find(self, path: Path, name: str, line: int) -> Path:
        """Return the path of an included file, which lies near the one that was asked for."""
        beside = path.parent / name
        found = (beside if beside.exists() else self.root / name).resolve()
        if not found.is_relative_to(self.root) or found.suffix.lower() not in SUFFIXES:
            raise InputError(
                f"'{name}' is not included: only YAML files below '{self.root}' are",
                source=str(path),
                line=line,
            )
        return found


def refused(path: Path, line: int, expression: str) -> InputError:
    """Return the error for a part of a template that would have to be run."""
    return InputError(
        f"the template has '{' '.join(expression.split())[:60]}', which is not run: only "
        "{{include('file', 'key')}}, {{include_text('file')}} and variables that are set to plain "
        "values are resolved; give the files of problem, architecture and mapping themselves",
        source=str(path),
        line=line,
    )


def put(data: Any, included: list[Any]) -> Any:
    """Return data with what was included in place of its marks."""
    if isinstance(data, dict):
        return {key: put(value, included) for key, value in data.items()}
    if isinstance(data, list):
        return [put(value, included) for value in data]
    match = INCLUDED.fullmatch(data) if isinstance(data, str) else None
    return included[int(match[1])] if match and int(match[1]) < len(included) else data


def merged(data: Any, path: KeyPath, lines: dict[KeyPath, int], tags: dict[KeyPath, str]) -> Any:
    """Return data with what its merge keys ``<<`` and ``<<<`` (recursive) bring."""
    if isinstance(data, list):
        return [merged(item, (*path, i), lines, tags) for i, item in enumerate(data)]
    if not isinstance(data, dict):
        return data
    own = {
        key: merged(value, (*path, key), lines, tags)
        for key, value in data.items()
        if key not in (MERGE, DEEP_MERGE)
    }
    for mark in (MERGE, DEEP_MERGE):
        if mark not in data:
            continue
        given = data[mark]
        for i, base in enumerate(given if isinstance(given, list) else [given]):
            if not isinstance(base, dict):
                raise InputError(
                    f"'{mark}' expects keys to merge, found {describe(base)}",
                    key=".".join(map(str, path)),
                )
            place = (*path, mark, i) if isinstance(given, list) else (*path, mark)
            moved(place, path, lines)
            moved(place, path, tags)
            own = joined(merged(base, path, lines, tags), own, deep=mark == DEEP_MERGE)
    return own


def moved(old: KeyPath, new: KeyPath, marks: dict[KeyPath, Any]) -> None:
    """Give what stands at one path also to another, unless it has something."""
    size = len(old)
    for path in [path for path in marks if path[:size] == old]:
        marks.setdefault((*new, *path[size:]), marks[path])


def joined(base: Mapping[str, Any], own: Mapping[str, Any], *, deep: bool) -> dict[str, Any]:
    """Return keys of both; those of `own` win, and with `deep`, keys below keys are joined too."""
    result = dict(base)
    for key, value in own.items():
        both = deep and isinstance(value, dict) and isinstance(result.get(key), dict)
        result[key] = joined(result[key], value, deep=True) if both else value
    return result

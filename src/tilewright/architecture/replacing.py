"""Machines that differ from another one in some values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from tilewright.architecture.machine import Architecture
from tilewright.architecture.reading import parse_architecture
from tilewright.architecture.writing import architecture_data
from tilewright.document import Document
from tilewright.errors import InputError, nearest


def replaced(architecture: Architecture, changes: Mapping[str, object]) -> Architecture:
    """Return a machine with other values, see `Architecture.replace`.

    Raises
    ------
    InputError
        When there is no such level or key, or the value is none of it.
    """
    data = architecture_data(architecture)
    names = [level.name for level in architecture.levels]
    for key, value in changes.items():
        first, _, rest = key.partition(".")
        if not rest:
            data[first] = value
            continue
        if first not in names:
            raise InputError(
                f"no level '{first}' in '{architecture.name}'; accepted: {', '.join(names)}"
                f"{nearest(first, names)}",
                key=key,
            )
        put(data["levels"][names.index(first)], rest.split("."), value)
    changed = parse_architecture(Document(data, architecture.name))
    return replace(changed, notes=architecture.notes)


def put(data: dict[str, Any], path: list[str], value: object) -> None:
    """Set a value of nested dictionaries; those that are missing are made."""
    *outer, last = path
    for key in outer:
        inner = data.get(key)
        data[key] = inner = dict(inner) if isinstance(inner, dict) else {}
        data = inner
    data[last] = value

"""Paths of nodes in trees, and where they stand in a file."""

from __future__ import annotations

import re
from typing import Any

from tilewright.document import KeyPath

PART = re.compile(r"\[(\d+)\]|([a-z]+)")


def key_path(node: str, start: KeyPath, data: Any) -> KeyPath:
    """Return where in a file the node of a tree stands.

    Parameters
    ----------
    node : str
        As faults of trees name it: ``mapping[3].fuse[0].nodes[1]``.
    start : tuple
        Where its segment stands.
    data : object
        The data of the file.
    """
    parts: list[str | int] = [int(n) if n else word for n, word in PART.findall(node)]
    for key in start:
        data = data[key]
    if isinstance(data, list) and parts[:1] == ["mapping"]:
        parts = parts[1:]
    found: list[str | int] = []
    for named in parts:
        also = named == "fuse" and isinstance(data, dict) and named not in data
        part = "pipeline" if also else named
        inside = isinstance(data, list) and isinstance(part, int) and part < len(data)
        if not inside and not (isinstance(data, dict) and part in data):
            break
        data = data[part]
        found.append(part)
    return (*start, *found)

"""The spatial part of ZigZag's mappings, as constraints."""

from __future__ import annotations

import re
from typing import Any

from tilewright.architecture.constraints.constraint import Constraints
from tilewright.architecture.constraints.files import Check, parse_constraints
from tilewright.architecture.machine import Architecture
from tilewright.document import Document, KeyPath, describe, key_text
from tilewright.errors import nearest
from tilewright.interop.zigzag.names import OPERANDS, dimension
from tilewright.text import say

UNROLLED = re.compile(r"\s*([A-Za-z]+)\s*(?:,\s*\d+\s*)?")
LINKS = {here: there for there, here in OPERANDS.items()}
SPATIAL = ("spatial_mapping", "spatial_mapping_hint")
READ = {"name", "core_allocation", "memory_operand_links", *SPATIAL}


def is_mapping(document: Document) -> bool:
    """Whether a file is a mapping of ZigZag: a list of operators with their unrolling."""
    keys = {"memory_operand_links", "core_allocation", *SPATIAL}
    return isinstance(document.data, list) and any(
        isinstance(item, dict) and keys & set(item) for item in document.data
    )


def axis_dimensions(document: Document, path: KeyPath, given: Any) -> dict[str, list[str]]:
    """Return the dimensions that may be unrolled along each axis; ``K, 32`` names K.

    Raises
    ------
    InputError
        When something else stands there.
    """
    if not isinstance(given, dict):
        raise document.error(f"expected lists by dimension, found {describe(given)}", path)
    found: dict[str, list[str]] = {}
    for axis, items in given.items():
        found[axis] = []
        for item in items if isinstance(items, list) else [items]:
            match = UNROLLED.fullmatch(item) if isinstance(item, str) else None
            if match is None:
                raise document.error(
                    f"expected a loop and its size, such as 'K, 32', found {describe(item)}",
                    (*path, axis),
                )
            found[axis].append(dimension(match[1]))
    return found


def read_mapping(document: Document, machine: Architecture, check: Check) -> Constraints:
    """Return what the default of a mapping says about the axes of arrays.

    Parameters
    ----------
    document : Document
        A mapping of ZigZag.
    machine : Architecture
        Whose arrays have its dimensions as axes.
    check : function
        Refuses constraints that mean nothing.

    Raises
    ------
    InputError
        With the line of the first thing that cannot be used.
    """
    entries = [(i, x) for i, x in enumerate(document.data) if isinstance(x, dict)]
    chosen = [(i, x) for i, x in entries if x.get("name") == "default"] or entries[:1]
    (i, entry), *_ = chosen
    for other, item in entries:
        if other != i:
            line = document.line((other,))
            say(f"{document.source}:{line}: of mappings, 'default' is read, not "
                f"{describe(item.get('name'))}")  # fmt: skip
    for key in entry:
        if key not in READ:
            place = f"{document.source}:{document.line((i, key))}"
            say(f"{place}: {key_text((i, key))} is not read: tilewright finds the loops")
    links = entry.get("memory_operand_links", LINKS)
    if links != LINKS:
        raise document.error(
            f"expected {', '.join(f'{k}: {v}' for k, v in LINKS.items())}, found {describe(links)}",
            (i, "memory_operand_links"),
        )
    axes = {axis: array.name for array in machine.arrays for axis in array.axes}
    items = []
    for key in SPATIAL:
        if entry.get(key) is None:
            continue
        for axis, dims in axis_dimensions(document, (i, key), entry[key]).items():
            if axis not in axes:
                raise document.error(
                    f"'{machine.name}' has no axis '{axis}'; it has {', '.join(axes) or 'none'}"
                    f"{nearest(axis, axes)}", (i, key, axis),
                )  # fmt: skip
            items.append({"at": axes[axis], "axis": axis, "dims": dims})
    return parse_constraints(Document({"constraints": items}, document.source), check)

"""Variants of a network: other layers that compute the same, of which the mapper chooses."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from tilewright.document import Document, KeyPath, describe

if TYPE_CHECKING:
    from tilewright.workload.layer import Network

JOINED = ("layers", "graph")
MERGED = ("inputs", "weights", "state")
KEYS = (*JOINED, *MERGED, "outputs")


def with_variants(document: Document, parse: Callable[[Document], Network]) -> Network:
    """Return the first variant of a network file, with all of them.

    Parameters
    ----------
    document : Document
        With the key ``variants``: names, and keys of a network file. Lists of these follow those
        outside, names are added to them.
    parse : callable
        What reads one network.

    Raises
    ------
    InputError
        For the first thing that is wrong, with its line and key.
    """
    found = [parse(own) for own in variants_of(document)]
    name = document.data.get("name", document.source)
    return replace(found[0], name=str(name), variants=tuple(found))


def variants_of(document: Document) -> Iterator[Document]:
    """Yield what every variant of a file says, with the keys outside."""
    data = document.data
    given = data["variants"]
    if not isinstance(given, dict) or len(given) < 2:
        message = f"expected names of two variants at least, found {describe(given)}"
        raise document.error(message, ("variants",))
    outside = {key: value for key, value in data.items() if key != "variants"}
    for name, own in given.items():
        path: KeyPath = ("variants", name)
        if not isinstance(own, dict):
            message = f"expected keys of a network, found {describe(own)}"
            raise document.error(message, path)
        whole: dict[str, Any] = {**outside, "name": str(name)}
        lines = {key: line for key, line in document.lines.items() if key[:1] != ("variants",)}
        lines[()] = document.line(path) or 1
        for key, said in own.items():
            value = said
            if key not in KEYS:
                message = f"unknown key '{key}'; accepted: {', '.join(KEYS)}"
                raise document.error(message, (*path, key))
            start = 0
            if key in JOINED and isinstance(whole.get(key), list) and isinstance(value, list):
                start = len(whole[key])
                value = [*whole[key], *value]
            elif key in MERGED and isinstance(whole.get(key), dict) and isinstance(value, dict):
                value = {**whole[key], **value}
            whole[key] = value
            for place, line in document.lines.items():
                if place[:3] == (*path, key):
                    rest = place[3:]
                    if rest and isinstance(rest[0], int):
                        rest = (rest[0] + start, *rest[1:])
                    lines[(key, *rest)] = line
        yield Document(whole, document.source, lines, document.tags)

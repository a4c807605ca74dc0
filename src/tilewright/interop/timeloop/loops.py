"""Factors and permutations as Timeloop writes them."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from tilewright.document import Document, KeyPath, describe

FACTOR = re.compile(
    r"(?P<name>[A-Za-z_]\w*?)\s*(?P<relation><=|>=|=)?\s*(?P<bound>\d+)(?:\s*,\s*(?P<last>\d+))?"
)
LIST = re.compile(r"[A-Za-z_]\w*?\s*(?:<=|>=|=)?\s*\d+(?:,\d+(?![\w=<>]))?")
MAX_FACTOR = 2**40


@dataclass(frozen=True)
class Factor:
    """A factor of a dimension at a level.

    Attributes
    ----------
    relation : str
        ``"="``, ``"<="`` or ``">="``.
    bound : int
        Iterations; 0 for all that is left.
    last : int or None
        Iterations of the last pass where it is shorter.
    """

    relation: str
    bound: int
    last: int | None = None


def read_factors(document: Document, value: Any, path: KeyPath) -> dict[str, Factor]:
    """Return factors by dimension, of a list or of text such as ``C3 M=4 P7,3``."""
    if value is None:
        return {}
    if isinstance(value, dict):
        texts = [f"{name}={bound}" for name, bound in value.items()]
    elif isinstance(value, list):
        texts = [str(item) for item in value]
    elif isinstance(value, str):
        texts = LIST.findall(value)
        left = re.sub(LIST, "", value).strip(" ,;")
        if left:
            raise document.error(f"expected factors such as C=3 M=4, found '{left[:40]}'", path)
    else:
        raise document.error(f"expected factors such as C=3 M=4, found {describe(value)}", path)
    found: dict[str, Factor] = {}
    for text in texts:
        match = FACTOR.fullmatch(text.strip())
        if match is None or len(text) > 60 or int(match["bound"]) > MAX_FACTOR:
            raise document.error(f"expected a factor such as C=3, found {describe(text)}", path)
        if match["name"] in found:
            raise document.error(f"dimension '{match['name']}' has two factors", path)
        last = None if match["last"] is None else int(match["last"])
        found[match["name"]] = Factor(match["relation"] or "=", int(match["bound"]), last)
    return found


def read_permutation(
    document: Document, value: Any, path: KeyPath, names: tuple[str, ...] = ()
) -> tuple[str, ...]:
    """Return the dimensions of a permutation, innermost first.

    Text without commas or spaces is taken letter by letter, or as some of `names`.
    """
    if value is None:
        return ()
    if isinstance(value, str):
        value = split_names(value, names)
    if not isinstance(value, list) or not all(isinstance(name, str) for name in value):
        raise document.error(f"expected dimensions, found {describe(value)}", path)
    if len(set(value)) < len(value):
        raise document.error("a dimension occurs twice in the permutation", path)
    return tuple(value)


def split_names(text: str, names: tuple[str, ...]) -> list[str]:
    """Return the names that a text puts one after the other."""
    if re.search(r"[,\s]", text.strip()):
        return [name for name in re.split(r"[,\s]+", text) if name]
    found: list[str] = []
    while text:
        known = [name for name in names if text.startswith(name)]
        name = max(known, key=len, default=text[0])
        found.append(name)
        text = text[len(name) :]
    return found

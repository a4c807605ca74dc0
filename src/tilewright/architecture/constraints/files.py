"""Constraints in files, as plain data, and as the text of a command line."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import BeforeValidator, Field

from tilewright.architecture.constraints.checks import ErrorAt
from tilewright.architecture.constraints.constraint import (
    ALL,
    ARRAY_KEYS,
    MEMORY_KEYS,
    Constraint,
    Constraints,
    Limits,
)
from tilewright.document import Document, KeyPath, Strict, describe, load
from tilewright.errors import InputError, nearest

if TYPE_CHECKING:
    from ruamel.yaml.comments import CommentedMap

Names = Annotated[
    list[str], BeforeValidator(lambda value: [value] if isinstance(value, str) else value)
]
Check = Callable[[Constraint, ErrorAt], None]
KEYS = tuple(dict.fromkeys((*ARRAY_KEYS, *MEMORY_KEYS)))
TOP_KEYS = ("constraints", "name", "source", "also")
RANGE = re.compile(r"(?P<least>\d*)\.\.(?P<most>\d*)")
EXPECTED_RANGE = (
    "expected a whole number from 1, 'all' for the whole bound, or a range such as {min: 2, max: 8}"
)
EXPECTED_TEXT = (
    "expected LEVEL.KEY=VALUE, such as PE.X.dims=C,K or RF.tile.P=1 or GLB.bypass=W, "
    f"with one of the keys {', '.join(KEYS)}"
)


class ConstraintKeys(Strict):
    """One item of ``constraints``."""

    at: str | None = None
    axis: str | None = None
    dims: Names | None = None
    require: Names = Field(default_factory=list)
    factor: dict[str, Any] = Field(default_factory=dict)
    max_dims: Annotated[int, Field(ge=0)] | None = None
    min_utilization: Annotated[float, Field(ge=0, le=1)] | None = None
    tensors: Names = Field(default_factory=list)
    tile: dict[str, Any] = Field(default_factory=dict)
    keep: Names = Field(default_factory=list)
    bypass: Names = Field(default_factory=list)
    order: Names = Field(default_factory=list)
    innermost: Names = Field(default_factory=list)
    even: bool = False


class RangeKeys(Strict):
    """``{min: 2, max: 8}``."""

    min: Annotated[int, Field(ge=1)] = 1
    max: Annotated[int, Field(ge=1)] = ALL


class ConstraintsFile(Strict):
    """A file of constraints with more than the list."""

    constraints: list[Any]
    name: str = ""
    source: str = ""
    also: Names = Field(default_factory=list)


def read_constraint(document: Document, path: KeyPath) -> Constraint:
    """Return the item at `path` of a document.

    Raises
    ------
    InputError
        When it is malformed; whether a machine has its levels is not asked.
    """
    keys = document.validate(ConstraintKeys, path)
    at = keys.at
    if at is None:
        if not keys.even or keys.model_fields_set - {"even"}:
            raise document.error("missing key 'at': the level that it is about", path)
        at = "memories"
    ranges = {
        key: tuple(
            (name, read_limits(document, (*path, key, name), value))
            for name, value in getattr(keys, key).items()
        )
        for key in ("factor", "tile")
    }
    return Constraint(
        at=at,
        axis=keys.axis,
        dims=None if keys.dims is None else frozenset(keys.dims),
        require=frozenset(keys.require),
        factor=ranges["factor"],
        max_dims=keys.max_dims,
        min_utilization=keys.min_utilization,
        tensors=frozenset(keys.tensors),
        tile=ranges["tile"],
        keep=frozenset(keys.keep),
        bypass=frozenset(keys.bypass),
        order=tuple(keys.order),
        innermost=frozenset(keys.innermost),
        even=keys.even,
    )


def read_limits(document: Document, path: KeyPath, value: object) -> Limits:
    """Return the range that a value stands for."""
    if isinstance(value, dict):
        keys = document.validate(RangeKeys, path)
        if keys.max < keys.min:
            raise document.error(f"max {keys.max} is less than min {keys.min}", path)
        return Limits(keys.min, keys.max)
    if value == "all":
        return Limits(ALL, ALL)
    if isinstance(value, int) and not isinstance(value, bool) and value >= 1:
        return Limits(value, value)
    raise document.error(f"{EXPECTED_RANGE}, found {describe(value)}", path)


def parse_constraints(
    document: Document | list[Any] | dict[str, Any], check: Check | None = None
) -> Constraints:
    """Return the constraints of a document, or of the same as plain data.

    Parameters
    ----------
    document : Document, list or dict
        A list of items, one item, or ``constraints:`` with a list.
    check : callable, optional
        Asked about each constraint, with what makes errors about it: what they name, a level or a
        dimension, is not checked otherwise.

    Raises
    ------
    InputError
        For the first thing that is wrong, with its line and key.
    """
    if not isinstance(document, Document):
        document = Document(document, "")
    data = document.data
    path: KeyPath = ()
    keys = ConstraintsFile(constraints=[])
    if isinstance(data, dict) and not set(data) & set(ConstraintKeys.model_fields):
        keys = document.validate(ConstraintsFile)
        data, path = keys.constraints, ("constraints",)
    if isinstance(data, dict):
        paths: list[KeyPath] = [()]
    elif isinstance(data, list):
        paths = [(*path, i) for i in range(len(data))]
    else:
        raise document.error(f"expected a list of constraints, found {describe(data)}")
    items = []
    for place in paths:
        items.append(read_constraint(document, place))
        if check is not None:
            check(items[-1], document.errors_at(place))
    return Constraints(tuple(items), keys.name, keys.source, tuple(keys.also))


def load_constraints(path: str | Path, check: Check | None = None) -> Constraints:
    """Read a file of constraints; parameters, result and errors as of `parse_constraints`."""
    return parse_constraints(load(path), check)


def parse_text(text: str, check: Check | None = None) -> Constraints:
    """Return the constraints that a text states: ``PE.X.dims=C,K; RF.tile.P=1``.

    Raises
    ------
    InputError
        For the first statement that is wrong.
    """
    items = []
    for part in filter(None, (part.strip() for part in text.split(";"))):
        document = Document(text_data(part), part)
        items.append(read_constraint(document, ()))
        if check is not None:
            check(items[-1], document.errors_at(()))
    return Constraints(tuple(items))


def text_data(text: str) -> dict[str, Any]:
    """Return one statement as the keys of an item."""
    left, equals, value = (part.strip() for part in text.partition("="))
    if not equals:
        raise InputError(EXPECTED_TEXT, source=text)
    names = left.split(".")
    if names == ["even"]:
        return {"even": flag(value, text)}
    found = next((i for i, name in enumerate(names) if i and name in KEYS), None)
    if found is None or found > 2 or not all(names):
        wrong = names[-1] if len(names) > 1 else left
        raise InputError(f"{EXPECTED_TEXT}{nearest(wrong, KEYS)}", source=text)
    key, rest = names[found], names[found + 1 :]
    data: dict[str, Any] = {"at": names[0]}
    if found == 2:
        data |= {"tensors": split(names[1])} if key == "tile" else {"axis": names[1]}
    if (key in ("tile", "factor")) != (len(rest) == 1) or len(rest) > 1:
        raise InputError(
            f"expected LEVEL.{key}.DIMENSION=VALUE"
            if key in ("tile", "factor")
            else f"expected LEVEL.{key}=VALUE, without '{'.'.join(rest)}'",
            source=text,
        )
    if rest:
        return data | {key: {rest[0]: text_range(value)}}
    if key == "even":
        return data | {key: flag(value, text)}
    if key in ("max_dims", "min_utilization"):
        return data | {key: number(value)}
    return data | {key: split(value)}


def split(text: str) -> list[str]:
    """Return names that commas separate."""
    return [name.strip() for name in text.split(",") if name.strip()]


def number(text: str) -> Any:
    """Return the number in a text, or the text where there is none."""
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text


def flag(text: str, statement: str) -> bool:
    """Return what ``true`` or ``false`` stands for."""
    if text not in ("true", "false"):
        raise InputError(f"expected true or false, found '{text}'", source=statement)
    return text == "true"


def text_range(text: str) -> Any:
    """Return a range as a file would have it."""
    if found := RANGE.fullmatch(text):
        ends = {"min": found["least"], "max": found["most"]}
        return {name: int(end) for name, end in ends.items() if end} or text
    return number(text)


def dump_constraints(constraints: Iterable[Constraint]) -> str:
    """Return constraints as the text of a file that reads back to equal ones."""
    from ruamel.yaml import YAML

    data: dict[str, Any] = {}
    if isinstance(constraints, Constraints):
        named = {"name": constraints.name, "also": list(constraints.also)}
        data |= {key: value for key, value in named.items() if value}
        if constraints.source:
            data["source"] = constraints.source
    data["constraints"] = [constraint_data(item) for item in constraints]
    yaml = YAML()
    yaml.width = 1 << 16
    text = StringIO()
    yaml.dump(data, text)
    return text.getvalue()


def constraint_data(constraint: Constraint) -> CommentedMap:
    """Return an item as the plain data of a file, on one line of it."""
    from ruamel.yaml.comments import CommentedMap, CommentedSeq

    data = CommentedMap(at=constraint.at)
    if constraint.axis is not None:
        data["axis"] = constraint.axis
    for key in constraint.keys:
        value = getattr(constraint, key)
        if key in ("factor", "tile"):
            data[key] = flowing(CommentedMap((name, limits_data(limits)) for name, limits in value))
        elif isinstance(value, frozenset | tuple):
            names = sorted(value) if isinstance(value, frozenset) else value
            data[key] = flowing(CommentedSeq(names))
        else:
            data[key] = value
    data.fa.set_flow_style()
    return data


def limits_data(limits: Limits) -> Any:
    """Return a range as plain data."""
    from ruamel.yaml.comments import CommentedMap

    if limits == Limits(ALL, ALL):
        return "all"
    if limits.least == limits.most:
        return limits.least
    ends = CommentedMap()
    if limits.least > 1:
        ends["min"] = limits.least
    if limits.most < ALL or not ends:
        ends["max"] = limits.most
    return flowing(ends)


def flowing(data: Any) -> Any:
    """Return a node of YAML that is written in braces or brackets."""
    data.fa.set_flow_style()
    return data

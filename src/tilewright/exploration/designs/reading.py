"""Design spaces from files."""

from __future__ import annotations

import re
from os import PathLike
from typing import Annotated, Any

from pydantic import Field

from tilewright.architecture import units
from tilewright.document import Document, KeyPath, Strict, describe, load
from tilewright.errors import nearest
from tilewright.exploration.designs.expression import Quantity, parse_expression
from tilewright.exploration.designs.space import Limit, Parameter, Space, Value, from_to

MOST_VALUES = 100_000
# what may be limited, with the units that are accepted and what they are in the first one
LIMITS = {
    "area": {"mm2": 1.0, "um2": 1e-6, "cm2": 100.0},
    "power": {"mW": 1.0, "W": 1e3, "uW": 1e-3},
    "leakage": {"mW": 1.0, "W": 1e3, "uW": 1e-3},
    "energy": {"pJ": 1.0, "nJ": 1e3, "uJ": 1e6, "mJ": 1e9, "J": 1e12},
    "latency": {"s": 1.0, "ms": 1e-3, "us": 1e-6, "ns": 1e-9},
    "edp": {"pJ*s": 1.0, "nJ*s": 1e3, "uJ*s": 1e6, "mJ*s": 1e9, "J*s": 1e12},
}
_NUMBER = re.compile(r"(?:<=\s*)?([0-9]+(?:\.[0-9]*)?(?:[eE][+-]?[0-9]{1,2})?)\s*(\S+)")
_NAME = re.compile(r"[A-Za-z_]\w*")


class _RangeKeys(Strict):
    begin: Annotated[Any, Field(alias="from")]
    end: Annotated[Any, Field(alias="to")]
    step: Any = None
    factor: Annotated[float, Field(gt=1)] | None = None


class _SpaceFile(Strict):
    name: Annotated[str, Field(min_length=1)]
    parameters: Annotated[dict[str, Any], Field(min_length=1)]
    machine: dict[str, Any]
    limits: dict[str, Any] = Field(default_factory=dict)
    workloads: Any = None


def load_space(path: str | PathLike[str]) -> Space:
    """Return the design space in a YAML or JSON file.

    Raises
    ------
    InputError
        When it cannot be read or is malformed.
    """
    return parse_space(load(str(path)))


def parse_space(document: Document) -> Space:
    """Return the design space that a document describes."""
    keys = document.validate(_SpaceFile)
    parameters = tuple(
        _parameter(document, ("parameters", name), name, given)
        for name, given in keys.parameters.items()
    )
    known = {parameter.name: parameter for parameter in parameters}
    if not isinstance(keys.machine.get("levels"), list):
        raise document.error("missing key 'levels'", ("machine",))
    machine = {"name": keys.name} | keys.machine
    lines = {path[1:]: line for path, line in document.lines.items() if path[:1] == ("machine",)}
    limits, conditions = {}, []
    for name, given in keys.limits.items():
        path = ("limits", name)
        if name in LIMITS and name not in known:
            limits[name] = _limit(document, path, name, given)
        else:
            conditions.append(_condition(document, path, name, given, known))
    weights, maximum = _workloads(document, keys.workloads)
    return Space(
        name=keys.name,
        parameters=parameters,
        machine=Document(machine, document.source, lines),
        limits=limits,
        conditions=tuple(conditions),
        workloads=weights,
        maximum=maximum,
    )


def _parameter(document: Document, path: KeyPath, name: str, given: object) -> Parameter:
    if not _NAME.fullmatch(name) or name in LIMITS:
        raise document.error(
            f"a parameter is letters, digits and '_' after a letter, and none of "
            f"{', '.join(LIMITS)}; found '{name}'",
            path,
        )
    if isinstance(given, list):
        values = [_quantity(document, (*path, i), item) for i, item in enumerate(given)]
        powers = {v.power if isinstance(v, Quantity) else None for v in values}
        if not values or len(powers) > 1 or len(set(values)) < len(values):
            raise document.error("expected different numbers, sizes, or texts", path)
        return Parameter(name, tuple(values))
    if not isinstance(given, dict):
        return Parameter(name, (_quantity(document, path, given),))
    keys = document.validate(_RangeKeys, path)
    ends = [_quantity(document, (*path, k), v) for k, v in (("from", keys.begin), ("to", keys.end))]
    begin, end = ends
    step = None if keys.step is None else _quantity(document, (*path, "step"), keys.step)
    if isinstance(begin, str) or isinstance(end, str) or isinstance(step, str):
        raise document.error("'from', 'to' and 'step' are numbers or sizes", path)
    powers = {each.power for each in (begin, end, step) if each is not None}
    if (step is None) == (keys.factor is None) or len(powers) > 1:
        raise document.error("give one of 'step' and 'factor', and sizes for sizes", path)
    if end.value < begin.value or (step and step.value <= 0) or (step is None and begin.value <= 0):
        raise document.error("'to' is not before 'from', and steps go upwards", path)
    if step is not None and (end.value - begin.value) / step.value > MOST_VALUES:
        raise document.error(f"a parameter has at most {MOST_VALUES} values", path)
    return Parameter(name, tuple(from_to(begin, end, step, keys.factor or 1.0)))


def _quantity(document: Document, path: KeyPath, given: object) -> Value:
    if isinstance(given, int | float) and not isinstance(given, bool):
        return Quantity(float(given))
    if not isinstance(given, str):
        raise document.error(
            f"expected a number, a size such as 16 KiB, or a text, found {describe(given)}", path
        )
    try:
        return Quantity(float(units.bits(given)), 1)
    except ValueError:
        return given


def _limit(document: Document, path: KeyPath, name: str, given: object) -> float:
    accepted = LIMITS[name]
    match = _NUMBER.fullmatch(given.strip()) if isinstance(given, str) else None
    if match is None or match[2] not in accepted:
        raise document.error(
            f"expected a number with a unit ({', '.join(accepted)}), such as "
            f"16 {next(iter(accepted))}, found {describe(given)}",
            path,
        )
    return float(match[1]) * accepted[match[2]]


def _condition(
    document: Document, path: KeyPath, name: str, given: object, known: dict[str, Parameter]
) -> Limit:
    try:
        left = parse_expression(name, known)
        if isinstance(given, str) and given.strip()[:2] in ("<=", ">="):
            right = parse_expression(given.strip()[2:], known)
            sides = (left, right) if given.strip()[:2] == "<=" else (right, left)
            return Limit(*sides, text=f"{name} {given.strip()}")
    except ValueError as failure:
        hint = nearest(name, LIMITS)
        raise document.error(
            f"{failure}; a limit is one of {', '.join(LIMITS)}, or an expression of parameters"
            f"{hint}",
            path,
        ) from None
    raise document.error(f"expected '<= VALUE' or '>= VALUE', found {describe(given)}", path)


def _workloads(document: Document, given: object) -> tuple[dict[str, float] | None, bool]:
    path: KeyPath = ("workloads",)
    if given is None:
        return None, False
    if isinstance(given, dict) and list(given) == ["maximum"]:
        weights, _ = _workloads(
            Document({"workloads": given["maximum"]}, document.source, {}), given["maximum"]
        )
        return weights, True
    if isinstance(given, str):
        return {given: 1.0}, False
    if isinstance(given, list) and given and all(isinstance(item, str) for item in given):
        return dict.fromkeys(given, 1.0), False
    if isinstance(given, dict) and given:
        weights = {}
        for name, weight in given.items():
            number = isinstance(weight, int | float) and not isinstance(weight, bool)
            if not number or not weight > 0:
                raise document.error(
                    f"a weight is a number greater than 0, found {describe(weight)}", (*path, name)
                )
            weights[name] = float(weight)
        return weights, False
    raise document.error(
        "expected names, weights such as {resnet50: 0.7, bert_base: 0.3}, or {maximum: [...]}", path
    )

"""Constraints from whatever people give: a dataflow, a file, text, plain data, or the thing."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from inspect import signature
from os import PathLike, fspath
from typing import Any

from tilewright.architecture.constraints.checks import (
    ErrorAt,
    check_constraint,
    check_constraints,
    numbered,
)
from tilewright.architecture.constraints.constraint import Constraint, Constraints
from tilewright.architecture.constraints.dataflow import dataflow_names, load_dataflow
from tilewright.architecture.constraints.files import (
    Check,
    load_constraints,
    parse_constraints,
    parse_text,
)
from tilewright.architecture.constraints.relevance import EXAMPLES, is_relevance, parse_relevance
from tilewright.architecture.machine import Architecture
from tilewright.document import describe, is_path
from tilewright.errors import InputError, nearest
from tilewright.mapping.names import ROLE_WORDS
from tilewright.workload.layer import ROLES, Layer
from tilewright.workload.operators import OPERATORS

ConstraintsLike = (
    str | PathLike[str] | Constraint | Constraints | dict[str, Any] | Sequence[Any] | None
)


def given_constraints(
    given: ConstraintsLike, architecture: Architecture, layers: Sequence[Layer]
) -> Constraints:
    """Return the constraints that someone has given.

    Parameters
    ----------
    given : str, path, dict, Constraint, Constraints, or a list of those
        Name of a dataflow, a file, statements such as ``"PE.X.dims=C,K; even=true"``, the keys of
        an item as a file would have it, or the constraints themselves. None gives none.
    architecture : Architecture
        The machine whose levels they name.
    layers : sequence of Layer
        What is mapped: the constraints may name its dimensions and tensors.

    Raises
    ------
    InputError
        For the first name that neither the machine nor a layer or an operator has, or the first
        thing that cannot be read.
    """

    def check(constraint: Constraint, error: ErrorAt) -> None:
        check_constraint(constraint, architecture, error)
        check_names(constraint, layers, error)

    return read(given, check)


def read(given: ConstraintsLike, check: Check) -> Constraints:
    """Return the constraints that someone has given, each of them checked."""
    if given is None:
        return Constraints()
    if isinstance(given, Constraint):
        given = Constraints((given,))
    if isinstance(given, Constraints):
        for i, constraint in enumerate(given):
            check(constraint, lambda message, key, i=i: numbered(i, message, key))  # type: ignore[misc]
        return given
    if isinstance(given, str) and given in dataflow_names():
        return load_dataflow(given, check)
    if isinstance(given, str) and "=" in given:
        return parse_text(given, check)
    if isinstance(given, str | PathLike):
        return from_file(fspath(given), check)
    if isinstance(given, dict):
        return parse_constraints(given, check)
    if not isinstance(given, Sequence):
        raise InputError(
            "expected the name of a dataflow, a path, statements, or constraints, "
            f"found {describe(given)}",
            key="constraints",
        )
    found = Constraints()
    for item in given:
        found += read(item, check)
    return found


def from_file(name: str, check: Check) -> Constraints:
    """Return the constraints in a file."""
    if is_path(name):
        return load_constraints(name, check)
    names = dataflow_names()
    raise InputError(
        f"no dataflow '{name}'; accepted: the path of a file (*.yaml), statements such as "
        f"PE.X.dims=C,K, or one of {', '.join(names)}{nearest(name, names)}",
        key="constraints",
    )


def check_own_names(architecture: Architecture, layers: Sequence[Layer]) -> None:
    """Refuse a machine whose own constraints name what no layer and no operator has."""
    check_constraints(architecture.constraints, architecture)
    for i, constraint in enumerate(architecture.constraints):
        check_names(
            constraint,
            layers,
            lambda message, key, i=i: numbered(i, message, key),  # type: ignore[misc]
        )


def check_names(constraint: Constraint, layers: Iterable[Layer], error: ErrorAt) -> None:
    """Refuse dimensions and tensors that no layer and no operator has."""
    dimensions = operator_dimensions()
    tensors = dict.fromkeys((*ROLES, *ROLE_WORDS))
    for layer in layers:
        dimensions |= dict.fromkeys(layer.dimensions)
        tensors |= dict.fromkeys(name for t in layer.tensors for name in (t.name, t.role))
    relevance = {name for name in constraint.dimensions - {*dimensions} if is_relevance(name)}
    relevant = frozenset(name for r in relevance for name in parse_relevance(r).tensors)
    for kind, names, valid in (
        ("dimension", constraint.dimensions - relevance, (*dimensions, *EXAMPLES)),
        ("tensor", constraint.named_tensors | relevant, tuple(tensors)),
    ):
        for name in sorted(names):
            if name not in valid:
                raise error(
                    f"no layer and no operator has a {kind} '{name}'; accepted: "
                    f"{', '.join(valid)}{nearest(name, valid)}",
                    "",
                )


def operator_dimensions() -> dict[str, None]:
    """Return the dimensions of the operators that ship."""
    return dict.fromkeys(
        name
        for operator in OPERATORS.values()
        for name in signature(operator).parameters
        if name.isupper()
    )

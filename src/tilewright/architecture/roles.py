"""Levels, axes and tensors that are named by what they are rather than by their own names."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING

from tilewright.architecture.constraints.constraint import Constraint

if TYPE_CHECKING:
    from tilewright.architecture.machine import Architecture, Array, Memory

ARRAY_ROLES = ("array", "outermost-array", "innermost-array")
MEMORY_ROLES = ("outermost", "innermost", "local", "memories")
AXIS_ROLES = ("first", "second", "any")
TENSOR_ROLES = {"input": "I", "inputs": "I", "weight": "W", "weights": "W"}
TENSOR_ROLES |= {"output": "O", "outputs": "O"}


def role(name: str) -> str:
    """Return the role that the name of a tensor stands for where there is no layer yet.

    ``inputs``, ``weights`` and ``outputs`` are ``I``, ``W`` and ``O``; other names are kept.
    """
    return TENSOR_ROLES.get(name.lower(), name)


def levels_at(at: str, machine: Architecture) -> tuple[Memory | Array, ...]:
    """Return the levels that a name or a role stands for: none where the machine has no such."""
    memories, arrays = machine.memories, machine.arrays
    named: tuple[Memory | Array, ...] = (*memories, *arrays)
    for level in named:
        if level.name == at:
            return (level,)
    innermost = memories[-1]
    inside = bool(arrays) and machine.position[innermost.name] > machine.position[arrays[-1].name]
    roles: dict[str, tuple[Memory | Array, ...]] = {
        "array": arrays,
        "outermost-array": arrays[:1],
        "innermost-array": arrays[-1:],
        "outermost": memories[:1],
        "innermost": memories[-1:],
        "local": (innermost,) if inside else (),
        "memories": memories[1:],
    }
    return roles.get(at, ())


def axis_of(axis: str | None, array: Array) -> str | None:
    """Return the name of an axis, None for the whole array.

    Raises
    ------
    LookupError
        Where the array has no such axis.
    """
    if axis in array.axes:
        return axis
    if axis in (None, "any"):
        return None
    return dict(zip(AXIS_ROLES, array.axes, strict=False))[axis or ""]


def resolved(constraints: Iterable[Constraint], machine: Architecture) -> tuple[Constraint, ...]:
    """Return constraints with one demand each, at levels and axes of a machine by name.

    A role that the machine does not fill demands nothing.
    """
    arrays = {array.name: array for array in machine.arrays}
    found: list[Constraint] = []
    for constraint in constraints:
        for level in levels_at(constraint.at, machine):
            axis = None
            if level.name in arrays:
                try:
                    axis = axis_of(constraint.axis, arrays[level.name])
                except LookupError:
                    continue
            found += replace(constraint, at=level.name, axis=axis).statements()
    return tuple(dict.fromkeys(found))

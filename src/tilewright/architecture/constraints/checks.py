"""Whether constraints can be about a machine: names of its levels and axes, keys that fit them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial

from tilewright.architecture.constraints.constraint import ARRAY_KEYS, MEMORY_KEYS, Constraint
from tilewright.architecture.constraints.relevance import is_relevance, parse_relevance
from tilewright.architecture.machine import Architecture, Memory
from tilewright.architecture.roles import (
    ARRAY_ROLES,
    AXIS_ROLES,
    MEMORY_ROLES,
    axis_of,
    levels_at,
)
from tilewright.errors import InputError, nearest

ErrorAt = Callable[[str, str], InputError]
"""Turns a message and the key that it is about into an error."""


def check_constraints(constraints: Iterable[Constraint], machine: Architecture) -> None:
    """Refuse constraints that cannot be about a machine.

    Raises
    ------
    InputError
        For the first one, with its number and key.
    """
    for i, constraint in enumerate(constraints):
        check_constraint(constraint, machine, partial(numbered, i))


def numbered(i: int, message: str, key: str) -> InputError:
    """Return an error about one of several constraints."""
    return InputError(message, key=f"constraints[{i}]{'.' * bool(key)}{key}")


def check_constraint(constraint: Constraint, machine: Architecture, error: ErrorAt) -> None:
    """Refuse a constraint that cannot be about a machine."""
    keys = constraint.keys
    for_arrays = [key for key in keys if key not in MEMORY_KEYS]
    for_memories = [key for key in keys if key not in ARRAY_KEYS]
    if set(keys) <= {"tensors"}:
        message = "'tensors' narrows 'tile', which is missing" if keys else "says nothing"
        accepted = ", ".join(dict.fromkeys((*ARRAY_KEYS, *MEMORY_KEYS)))
        raise error(f"{message}; accepted: {accepted}", "")
    if for_arrays and for_memories:
        raise error(
            f"'{for_arrays[0]}' is about arrays and '{for_memories[0]}' about memories: "
            "write an item for each",
            for_memories[0],
        )
    for name in filter(is_relevance, sorted(constraint.dimensions)):
        try:
            parse_relevance(name)
        except ValueError as failure:
            raise error(str(failure), "") from None
    if constraint.tensors and not constraint.tile:
        raise error("'tensors' narrows 'tile', which is missing", "tensors")
    check_level(constraint, machine, error, bool(for_arrays), bool(for_memories))
    for key in ("order",):
        names = getattr(constraint, key)
        twice = next((name for i, name in enumerate(names) if name in names[:i]), None)
        if twice is not None:
            raise error(f"dimension '{twice}' occurs twice", key)
    for level in levels_at(constraint.at, machine):
        if isinstance(level, Memory):
            check_memory(constraint, level, machine, error)


def check_level(
    constraint: Constraint, machine: Architecture, error: ErrorAt, array: bool, memory: bool
) -> None:
    """Refuse a level or an axis that there is not, or of the wrong kind."""
    at = constraint.at
    arrays = {level.name: level for level in machine.arrays}
    memories = {level.name: level for level in machine.memories}
    is_array = at in arrays or (at not in memories and at in ARRAY_ROLES)
    is_memory = at in memories or (at not in arrays and at in MEMORY_ROLES)
    if array or (constraint.axis is not None and not memory and not is_memory):
        kind, right, names = "an array", is_array, [*arrays, *ARRAY_ROLES]
    elif memory:
        kind, right, names = "a memory", is_memory, [*memories, *MEMORY_ROLES]
    else:
        kind, right = "a level", is_array or is_memory
        names = [*memories, *arrays, *MEMORY_ROLES, *ARRAY_ROLES]
    if not right:
        raise error(f"'{at}' is not {kind}; accepted: {', '.join(names)}{nearest(at, names)}", "at")
    if constraint.axis is None:
        return
    if is_memory:
        raise error(f"'{at}' is a memory, which has no axes", "axis")
    for level in arrays.values():
        if level not in levels_at(at, machine) or constraint.axis in AXIS_ROLES:
            continue
        try:
            axis_of(constraint.axis, level)
        except LookupError:
            raise error(
                f"array '{level.name}' has no axis '{constraint.axis}'; accepted: "
                f"{', '.join((*level.axes, *AXIS_ROLES))}{nearest(constraint.axis, level.axes)}",
                "axis",
            ) from None


def check_memory(
    constraint: Constraint, memory: Memory, machine: Architecture, error: ErrorAt
) -> None:
    """Refuse what a memory can never satisfy."""
    if constraint.bypass and memory is machine.memories[0]:
        raise error(f"'{memory.name}' is the outermost memory: it stores every tensor", "bypass")
    if constraint.min_utilization and memory.total_bits is None:
        raise error(
            f"'{memory.name}' is unbounded: no share of its capacity can be used",
            "min_utilization",
        )
    both = sorted(constraint.keep & constraint.bypass)
    if both:
        raise error(f"'{both[0]}' cannot be kept and bypassed", "bypass")

"""Views as files write them: ``[k, {reshape: [512, 12, 64]}, {transpose: [1, 2, 0]}]``."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from tilewright.document import describe
from tilewright.errors import InputError, nearest
from tilewright.workload.view import Broadcast, Pad, Reshape, Slice, Step, Take, Transpose, View

if TYPE_CHECKING:
    from ruamel.yaml.comments import CommentedMap, CommentedSeq

MAX_SIZE = 2**62
MAX_DEPTH = 50
RANGE = re.compile(r"(\d{1,18}):(\d{1,18})(?::(\d{1,18}))?")

ErrorAt = Callable[[str, Any], InputError]


def read_view(data: Any, error: ErrorAt, depth: int = 0) -> View:
    """Return a view from what a file says: a name, a join, or a list of one and steps.

    Parameters
    ----------
    data : object
        From the file.
    error : callable
        Makes an error from a message and a key within `data`.
    depth : int
        How many joins it stands in.
    """
    if depth > MAX_DEPTH:
        raise error("joins are nested too deeply", "")
    if isinstance(data, str) and data:
        return View((data,))
    if isinstance(data, dict):
        return _join(data, error, depth)
    if not isinstance(data, list) or not data or isinstance(data[0], list):
        raise error(
            "expected the name of a tensor, or a list of it and of views, such as "
            f"[x, {{reshape: [12, 64]}}], found {describe(data)}",
            "",
        )
    first = read_view(data[0], error, depth)
    return first.then(*(_step(item, i, error) for i, item in enumerate(data[1:], 1)))


def view_data(view: View) -> Any:
    """Return a view as it is written in a file."""
    first: Any = view.parts[0]
    if len(view.parts) > 1 or isinstance(first, View):
        parts = [part if isinstance(part, str) else view_data(part) for part in view.parts]
        first = flow({"concat": row(parts), "axis": view.axis})
    if not view.steps:
        return first
    return row([first, *(flow(_step_data(step)) for step in view.steps)])


def _join(data: dict[str, Any], error: ErrorAt, depth: int) -> View:
    for key in data:
        if key not in ("concat", "axis"):
            raise error(
                f"unknown key '{key}'; accepted: concat, axis{nearest(key, ('concat', 'axis'))}", ""
            )
    parts, axis = data.get("concat"), data.get("axis", 0)
    if not isinstance(parts, list) or len(parts) < 2:
        raise error(f"'concat' is a list of at least two tensors, found {describe(parts)}", "")
    if type(axis) is not int or axis < 0:
        raise error(f"'axis' is the number of an axis from 0, found {describe(axis)}", "")
    return View(tuple(_part(read_view(part, error, depth + 1)) for part in parts), (), axis)


def _part(view: View) -> str | View:
    plain = len(view.parts) == 1 and not view.steps
    return view.parts[0] if plain else view


def _step(data: Any, place: int, error: ErrorAt) -> Step:
    if not isinstance(data, dict) or len(data) != 1:
        raise error(
            f"expected one view, such as {{reshape: [12, 64]}}, found {describe(data)}", place
        )
    ((key, value),) = data.items()
    accepted = (*READERS, "take")
    if key not in accepted:
        raise error(
            f"no view '{key}'; accepted: {', '.join(accepted)}{nearest(key, accepted)}", place
        )
    if key == "take":
        if type(value) is not int or not 0 <= value < MAX_SIZE:
            raise error(f"'take' is an index such as 0, found {describe(value)}", place)
        return Take(value)
    read, example = READERS[key]
    if isinstance(value, list):
        step = read(value)
        if step is not None:
            return step
    raise error(f"'{key}' is a list such as {example}, found {describe(value)}", place)


def _sizes(data: list[Any], least: int) -> tuple[int, ...] | None:
    good = all(type(item) is int and least <= item < MAX_SIZE for item in data)
    return tuple(data) if good else None


def _reshape(data: list[Any]) -> Reshape | None:
    sizes = _sizes(data, 1)
    return None if sizes is None else Reshape(sizes)


def _broadcast(data: list[Any]) -> Broadcast | None:
    sizes = _sizes(data, 1)
    return None if sizes is None else Broadcast(sizes)


def _transpose(data: list[Any]) -> Transpose | None:
    axes = _sizes(data, 0)
    return None if axes is None else Transpose(axes)


def _slice(data: list[Any]) -> Slice | None:
    found = [RANGE.fullmatch(item) if isinstance(item, str) else None for item in data]
    ranges = tuple((int(m[1]), int(m[2]), int(m[3] or 1)) for m in found if m is not None)
    return Slice(ranges) if len(ranges) == len(data) else None


def _pad(data: list[Any]) -> Pad | None:
    pairs = [[item, item] if type(item) is int else item for item in data]
    sizes = [_sizes(pair, 0) if isinstance(pair, list) else None for pair in pairs]
    amounts = tuple((size[0], size[1]) for size in sizes if size is not None and len(size) == 2)
    return Pad(amounts) if len(amounts) == len(data) else None


READERS: dict[str, tuple[Callable[[list[Any]], Step | None], str]] = {
    "reshape": (_reshape, "[512, 12, 64]"),
    "transpose": (_transpose, "[1, 2, 0]"),
    "slice": (_slice, '["0:1", "0:64", "0:56:2"]'),
    "pad": (_pad, "[0, 0, 1, [0, 1]]"),
    "broadcast": (_broadcast, "[8, 4, 512, 64]"),
}


def _step_data(step: Step) -> dict[str, Any]:
    if isinstance(step, Transpose):
        return {step.key: row(list(step.axes))}
    if isinstance(step, Take):
        return {step.key: step.index}
    if isinstance(step, Slice):
        return {step.key: row([_range(*given) for given in step.ranges])}
    if isinstance(step, Pad):
        return {step.key: row([a if a == b else row([a, b]) for a, b in step.amounts])}
    return {step.key: row(list(step.shape))}


def _range(first: int, end: int, step: int) -> str:
    return f"{first}:{end}" + (f":{step}" if step > 1 else "")


def flow(data: dict[str, Any]) -> CommentedMap:
    """Return a mapping that is written on one line."""
    from ruamel.yaml.comments import CommentedMap

    result = CommentedMap(data)
    result.fa.set_flow_style()
    return result


def row(data: list[Any]) -> CommentedSeq:
    """Return a list that is written on one line."""
    from ruamel.yaml.comments import CommentedSeq

    result = CommentedSeq(data)
    result.fa.set_flow_style()
    return result

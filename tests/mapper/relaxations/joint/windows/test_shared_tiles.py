"""What elements of an array share of a window, in all nests of two dimensions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from math import ceil, log, prod
from typing import NamedTuple

import numpy as np
import pytest
from test_tiles_that_return import (
    SHARED,
    Loops,
    Nest,
    is_regular,
    nests,
    program,
)

from tilewright.architecture.machine import Array
from tilewright.mapper.relaxations.joint.extents import Extents
from tilewright.mapper.relaxations.joint.program import NodeLimits
from tilewright.mapper.relaxations.joint.windows.tiles_that_return import Back
from tilewright.mapper.relaxations.joint.windows.words import Slide

Times = tuple[int, ...]


class Tile(NamedTuple):
    """Begin and extent of both dimensions."""

    at: tuple[int, int]
    size: tuple[int, int]


class Moved(NamedTuple):
    """Words that are sent, and that elements receive; whether a tile returns; the first run."""

    sent: int
    received: int
    back: bool
    run: int


def over_time(whole: tuple[int, int], nest: Nest, elements: Times) -> dict[Times, Tile]:
    """Return the tiles of an element by the positions of all loops in time."""
    every: dict[Times, Tile] = {(): Tile((0, 0), whole)}
    axes = 0
    for over, d, tile in nest:
        found = {}
        for time, (at, size) in every.items():
            for n, begin in enumerate(range(0, size[d], tile)):
                if over and n != elements[axes]:
                    continue
                place, part = list(at), list(size)
                place[d] += begin
                part[d] = min(tile, size[d] - begin)
                found[time if over else (*time, n)] = Tile((place[0], place[1]), (part[0], part[1]))
        axes += over
        every = found
    return every


def words_moved(whole: tuple[int, int], nest: Nest, counts: tuple[int, int], still: bool) -> Moved:
    """Return what moves at all steps by the reuse rule, once for all elements that need it.

    Where tiles stand still, loops on other dimensions are inside: all of a tile moves.
    """
    fors = [(d, tile) for over, d, tile in nest if not over]
    d = fors[-1][0]
    run = max((k + 1 for k, (own, _) in enumerate(fors) if own != d), default=0)
    numbers = zip(nest, chunks_of(whole, nest), strict=True)
    widths = [number for (over, _, _), number in numbers if over]
    at_times: dict[Times, set[int]] = {}
    received, back = 0, False
    longest = 0
    for element in np.ndindex(*widths):
        old: set[int] = set()
        before: Times = ()
        own = sorted(over_time(whole, nest, element).items())
        length = 0
        for n, (time, (at, size)) in enumerate(own):
            new = {
                counts[0] * i + counts[1] * k
                for i in range(at[0], at[0] + size[0])
                for k in range(at[1], at[1] + size[1])
            }
            changed = (k for k, (a, b) in enumerate(zip(time, before, strict=False)) if a != b)
            advanced = next(changed, -1)
            inside = not still and n > 0 and advanced >= run
            if n > 0 and not inside:
                back |= new == old
                longest, length = max(longest, length), 0
            length += size[d]
            moves = set() if new == old else new - old if inside else new
            received += len(moves)
            at_times.setdefault(time, set()).update(moves)
            old, before = new, time
        longest = max(longest, length)
    sent = sum(map(len, at_times.values()))
    return Moved(sent, received, back, whole[1] if still else longest)


def chunks_of(whole: tuple[int, int], nest: Nest) -> list[int]:
    """Return into how many chunks each loop cuts the longest one."""
    size, found = list(whole), []
    for _, d, tile in nest:
        found.append(ceil(size[d] / tile))
        size[d] = tile
    return found


def point_of(
    extents: Extents,
    i: int,
    whole: tuple[int, int],
    nest: Nest,
    counts: tuple[int, int],
    moved: Moved,
) -> tuple[np.ndarray, dict[int, int], dict[str, tuple[int, ...]]]:
    """Return the variables of a nest, how many elements there are, and what one of them has."""
    point = np.array(extents.program.low)
    size, along = list(whole), {"P": 1.0, "R": 1.0}
    widest = {v: 1 for own in extents.elements for v in own.values()}
    chunks: dict[str, tuple[int, ...]] = {}
    for over, d, tile in nest:
        if over:
            (v,) = extents.along((0,), ("PR"[d],))
            along["PR"[d]] *= size[d] / tile
            point[v] = log(along["PR"[d]])
            widest[v] *= ceil(size[d] / tile)
            chunks["PR"[d]] = (tile,)
        size[d] = tile
    for d, name in enumerate("PR"):
        point[extents.extents[i][name]] = log(size[d])
    point[extents.windows.run[i]] = log(moved.run)
    words = {counts[0] * p + counts[1] * r for p in range(size[0]) for r in range(size[1])}
    point[extents.windows.words[i, 0]] = log(len(words))
    for (own, _, shared, _), v in extents.windows.known.items():
        if own == i:
            point[v] = log((moved.sent if shared else moved.received) / prod(whole))
    for (own, name, _), v in extents.known_times.items():
        if own < 0:
            point[v] = log(whole["PR".index(name)] / along[name])
    return point, widest, chunks


def compare(
    extents: Extents,
    i: int,
    whole: tuple[int, int],
    nest: Nest,
    counts: tuple[int, int],
    known: bool,
    still: bool = False,
) -> Back:
    """Compare limits with what moves; return how tiles return."""
    moved = words_moved(whole, nest, counts, still)
    point, widest, chunks = point_of(extents, i, whole, nest, counts, moved)
    rates = {v for (own, _, _, _), v in extents.windows.known.items() if own == i}
    # there are no loops on R where all of it is there, along which a tile may slide as well
    slid = "R" if still else "PR"[[d for over, d, _ in nest if not over][-1]]
    returning = extents.windows.returning[i, slid]
    for back in returning.ways(point, point) if moved.back and not still else [Back.NEVER]:
        low, high = point.copy(), point.copy()
        for v in rates:
            low[v], high[v] = extents.program.low[v], 0.0
        node = NodeLimits(
            low=low.tolist(),
            high=high.tolist(),
            logs=extents.logs.copy(),
            powers=extents.limits.powers.copy(),
            active=np.zeros(len(extents.always), np.bool_),
            first=extents.limits.first.tolist(),
            start=extents.limits.start.tolist(),
            widest=widest,
            chunks=chunks if known else {},
        )
        extents.windows.settle(node, {i: Slide(slid, back)})
        if all(point[v] >= node.low[v] - 1e-9 for v in rates) and all(
            sum_of(extents, node, limit, point) <= 1 + 1e-9
            for limit in np.flatnonzero(node.active).tolist()
            if rates & set(variables(extents, limit))
        ):
            return back
    raise AssertionError((whole, nest, counts, moved))


def variables(extents: Extents, limit: int) -> list[int]:
    """Return the variables of a limit."""
    limits = extents.limits
    own: list[int] = limits.variables[limits.begin[limit] : limits.begin[limit + 1]].tolist()
    return own


def sum_of(extents: Extents, node: NodeLimits, limit: int, point: np.ndarray) -> float:
    """Return the sum of a limit's terms."""
    limits = extents.limits
    found = 0.0
    for t in range(limits.first[limit], limits.first[limit + 1]):
        powers = slice(limits.start[t], limits.start[t + 1])
        own = limits.variables[limits.begin[limit] + limits.slots[powers]]
        found += np.exp(node.logs[t] + float(node.powers[powers] @ point[own]))
    return float(found)


CASES = [
    ((1, 1), (4, 4)), ((1, 1), (7, 2)), ((1, 1), (6, 3)), ((1, 1), (9, 2)), ((1, 1), (8, 3)),
    ((1, 1), (5, 4)), ((2, 1), (6, 3)), ((2, 1), (7, 2)), ((2, 1), (5, 4)), ((1, 2), (6, 3)),
    ((1, 2), (7, 2)), ((3, 1), (5, 4)), ((2, 3), (5, 3)),
]  # fmt: skip


def across_axes(whole: tuple[int, int], loops: Loops, axes: tuple[int, ...]) -> Iterator[Nest]:
    """Yield loops of which some next to each other are over elements, one for each axis."""
    for k in range(len(loops) - len(axes) + 1):
        nest = tuple((k <= n < k + len(axes), *own) for n, own in enumerate(loops))
        numbers = chunks_of(whole, nest)[k : k + len(axes)]
        if all(number <= most for number, most in zip(numbers, axes, strict=True)):
            yield nest


def compare_all(
    counts: tuple[int, int], whole: tuple[int, int], axes: tuple[int, ...]
) -> Counter[Back]:
    """Compare limits with what moves in all nests on an array."""
    array = Array("A", dict(zip("XY", axes, strict=False)))
    machine = replace(SHARED, levels=(SHARED.levels[0], array, *SHARED.levels[2:]))
    extents, i = program(counts, whole, machine)
    found: Counter[Back] = Counter()
    for tile in np.ndindex(whole):
        own = tile[0] + 1, tile[1] + 1
        for loops in nests(whole, own):
            for nest in across_axes(whole, loops, axes):
                if len(nest) > len(axes) and is_regular(whole, nest):
                    for known in (False, True):
                        found[compare(extents, i, whole, nest, counts, known)] += 1
                        if own[1] == whole[1]:
                            compare(extents, i, whole, nest, counts, known, still=True)
    return found


@pytest.mark.parametrize("elements", [2, 3, 4])
@pytest.mark.parametrize(("counts", "whole"), CASES)
def test_no_elements_share_more(
    counts: tuple[int, int], whole: tuple[int, int], elements: int
) -> None:
    assert compare_all(counts, whole, (elements,))[Back.NEVER] > 0


@pytest.mark.parametrize("axes", [(2, 2), (3, 2), (2, 3)])
@pytest.mark.parametrize(("counts", "whole"), CASES)
def test_no_elements_on_two_axes_share_more(
    counts: tuple[int, int], whole: tuple[int, int], axes: tuple[int, int]
) -> None:
    assert compare_all(counts, whole, axes)[Back.NEVER] > 0

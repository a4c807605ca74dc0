"""Chunks of a dimension that an array divides, in all regular loops over one dimension."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from math import ceil

import pytest

from tilewright.mapper.relaxations.joint.array_chunks import (
    DividedChunks,
    WiderChunks,
    fewest_parts,
    fewest_steps,
)
from tilewright.mapper.results.regular import is_regular_along
from tilewright.mapping.nodes import For, Spatial

Loops = tuple[For | Spatial, ...]


def temporal(extent: int, most: int) -> Iterator[Loops]:
    """Yield up to so many loops over time, with tiles below an extent."""
    yield ()
    for tile in range(1, extent) if most else ():
        for inside in temporal(tile, most - 1):
            yield (For("D", tile), *inside)


def spatial(extent: int, elements: int, axes: int) -> Iterator[Loops]:
    """Yield loops over so many axes of some elements each."""
    if axes == 0:
        yield ()
        return
    for tile in range(ceil(extent / elements), extent):
        for inside in spatial(tile, elements, axes - 1):
            yield (Spatial("D", tile, "XY"[axes - 1], "A"), *inside)


def innermost(loops: Loops, extent: int) -> int:
    """Return the extent of a tile below some loops."""
    return loops[-1].tile if loops else extent


def places(bound: int, loops: Loops) -> list[tuple[int, ...]]:
    """Return at which step of each loop every iteration is."""
    found = []
    for iteration in range(bound):
        at, left = [], iteration
        for loop in loops:
            at.append(left // loop.tile)
            left %= loop.tile
        found.append(tuple(at))
    return found


def only(rows: list[tuple[int, ...]], wanted: list[int]) -> Counter[tuple[int, ...]]:
    """Count the iterations of each step of some of the loops."""
    return Counter(tuple(row[k] for k in wanted) for row in rows)


def compare(bound: int, elements: int, axes: int, most: int) -> int:
    """Compare the limits with all regular loops, and return how many there were."""
    count = 0
    for above in temporal(bound, most):
        for across in spatial(innermost(above, bound), elements, axes):
            for below in temporal(innermost(across, bound), most):
                loops = single((*above, *across, *below), bound)
                if is_regular_along(loops, bound):
                    count += 1
                    look(bound, loops, len(above), len(across))
    return count


def look(bound: int, loops: Loops, above: int, across: int) -> None:
    """Compare the limits of one order of loops with what it has."""
    rows = places(bound, loops)
    fors = [k for k, loop in enumerate(loops) if isinstance(loop, For)]
    array = list(range(above, above + across))
    elements = len(only(rows, array))
    steps = len(only(rows, fors))
    wholes = [max(only(rows, list(range(k))).values()) for k in range(above + 1)]
    for k in range(above + 1):
        rounds = len(only(rows, list(range(k))))
        for more in (rounds, rounds + 1, 2 * rounds):
            wider = WiderChunks(bound, elements, ceil(bound / more), wholes[k])
            assert fewest_steps(wider) <= steps
    for end in range(above + across, len(loops) + 1):
        outside = [k for k in fors if k < end]
        rounds = len(only(rows, outside))
        tiles = only(rows, [*outside, *array])
        for longest in wholes:
            own = DividedChunks(
                bound, elements, ceil(bound / rounds), longest, rounds, max(tiles.values())
            )
            assert fewest_steps(own) <= steps
            assert fewest_parts(own, steps) <= len(tiles)


def single(loops: Loops, bound: int) -> Loops:
    """Return loops that end with single iterations."""
    return loops if innermost(loops, bound) == 1 else (*loops, For("D", 1))


@pytest.mark.parametrize(
    ("bounds", "elements", "axes", "most"),
    [
        ((2, 17), 3, 1, 2),
        ((26, 27), 3, 1, 2),
        ((10, 28), 3, 1, 1),
        ((10, 30), 4, 1, 1),
        ((6, 24), 2, 2, 1),
    ],
)
def test_no_regular_loops_have_fewer_steps_or_parts(
    bounds: tuple[int, int], elements: int, axes: int, most: int
) -> None:
    assert sum(compare(bound, elements, axes, most) for bound in range(*bounds)) > 40

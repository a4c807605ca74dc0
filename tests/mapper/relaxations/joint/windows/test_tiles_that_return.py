"""Runs that begin with the words of the tile before, in all nests of two loops."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from math import log
from typing import NamedTuple

import numpy as np
import pytest

import tilewright as tw
from tilewright.architecture.machine import Architecture, Array, Compute, Memory
from tilewright.mapper.objective.objective import parse_objective
from tilewright.mapper.problem.bypass_choices import keep_choices, narrowed
from tilewright.mapper.relaxations.joint.extents import Extents
from tilewright.mapper.relaxations.joint.program import Term
from tilewright.mapper.relaxations.joint.windows.steps import StepLimits
from tilewright.mapper.relaxations.joint.windows.tiles_that_return import Back, ReturningTile
from tilewright.mapper.results.regular import is_regular_along
from tilewright.mapper.search.all_sizes.bounds_of_all_sizes import box_costs
from tilewright.mapping.nodes import For, Spatial

Loops = tuple[tuple[int, int], ...]  # dimension, 0 or 1, and tile
Nest = tuple[tuple[bool, int, int], ...]  # the same, after whether it is over elements

MACHINE = Architecture(
    "one",
    (
        Memory("DRAM", 8, read_energy=10.0, write_energy=10.0),
        Memory("L1", 8, 8000, must_keep=frozenset("IWO")),
        Compute("MAC"),
    ),
)
SHARED = replace(MACHINE, levels=(MACHINE.levels[0], Array("A", {"X": 3}), *MACHINE.levels[1:]))


def nests(whole: tuple[int, int], tile: tuple[int, int]) -> Iterator[Loops]:
    """Yield all loops from the whole to a tile."""
    if whole == tile:
        yield ()
    for d in (0, 1):
        for t in range(tile[d], whole[d]):
            inside = (t, whole[1]) if d == 0 else (whole[0], t)
            for rest in nests(inside, tile):
                yield ((d, t), *rest)


class Step(NamedTuple):
    """Begin and extent of both dimensions, and the outermost loop that advanced."""

    at: tuple[int, int]
    size: tuple[int, int]
    advanced: int


def steps(loops: Loops, whole: tuple[int, int]) -> list[Step] | None:
    """Return all steps, or None if loops are not regular."""
    every = [Step((0, 0), whole, -1)]
    for k, (d, tile) in enumerate(loops):
        found = []
        for at, size, advanced in every:
            if size[d] <= tile:
                return None
            for begin in range(0, size[d], tile):
                place, part = list(at), list(size)
                place[d] += begin
                part[d] = min(tile, size[d] - begin)
                outermost = advanced if begin == 0 else k
                found.append(Step((place[0], place[1]), (part[0], part[1]), outermost))
        every = found
    return every


def words_of(
    loops: Loops, whole: tuple[int, int], counts: tuple[int, int]
) -> tuple[int, bool, bool] | None:
    """Return what moves by the reuse rule, and whether tiles return across and along a run."""
    every = steps(loops, whole)
    if not every or not loops:
        return None
    d = loops[-1][0]
    run = max((k + 1 for k, (own, _) in enumerate(loops) if own != d), default=0)
    total, across, along = 0, False, False
    old: set[int] = set()
    for at, size, advanced in every:
        new = {
            counts[0] * i + counts[1] * k
            for i in range(at[0], at[0] + size[0])
            for k in range(at[1], at[1] + size[1])
        }
        if new == old:
            if advanced < run:
                along |= loops[advanced][0] == d
                across |= loops[advanced][0] != d
        else:
            total += len(new - old) if advanced >= run else len(new)
        old = new
    return total, across, along


def program(
    counts: tuple[int, int], whole: tuple[int, int], machine: Architecture = MACHINE
) -> tuple[Extents, int]:
    """Return the program of a layer with a window, and the stay of its tile."""
    terms = "+".join(f"{c}*{d}" if c > 1 else d for c, d in zip(counts, "PR", strict=True))
    layer = tw.einsum(f"O[P] += I[{terms}] * W[R]", P=whole[0], R=whole[1])
    costs = box_costs(layer, narrowed(machine, layer))
    (keep,) = keep_choices(layer, narrowed(machine, layer))
    extents = Extents(costs.least, costs.halves, keep, parse_objective("energy"))
    (i,) = (i for i, stay in enumerate(extents.stays) if layer.tensors[stay.tensor].name == "I")
    return extents, i


def total(terms: list[Term], point: np.ndarray) -> float:
    """Return the sum of terms."""
    return float(sum(np.exp(t.log + sum(p * point[v] for v, p in t.powers.items())) for t in terms))


def compare(counts: tuple[int, int], whole: tuple[int, int], found: Counter[Back]) -> None:
    """Compare limits with all regular nests whose tiles return, and count these."""
    extents, i = program(counts, whole)
    for tile in np.ndindex(whole):
        own = tile[0] + 1, tile[1] + 1
        for loops in nests(whole, own):
            moved = words_of(loops, whole, counts)
            if moved is None or not (moved[1] or moved[2]):
                continue
            d = loops[-1][0]
            run = whole[d]
            for k, (other, t) in enumerate(loops):
                if other == d and any(own != d for own, _ in loops[k:]):
                    run = t
            returning = extents.windows.returning[i, "PR"[d]]
            offset = (run - 1) // own[d] * own[d]
            reach = returning.scale * own[1 - d]
            if not moved[1]:
                back = Back.ALONG
            elif offset > reach:
                back = Back.AFTER_SHORT
            elif moved[2]:
                back = Back.BOTH
            else:
                back = Back.ACROSS if offset == reach else Back.AFTER_SEVERAL
            point = np.zeros(len(extents.program.low))
            point[extents.extents[i]["P"]] = log(own[0])
            point[extents.extents[i]["R"]] = log(own[1])
            point[extents.windows.run[i]] = log(run)
            assert back in returning.ways(point, point)
            for limit in returning.always[back]:
                assert total(extents.program.limits[limit.limit], point) <= 1 + 1e-9
            rate = moved[0] / (whole[0] * whole[1])
            if returning.rates:
                assert returning.words(back, point) <= rate * (1 + 1e-9)
            for steps in returning.steps:
                if not isinstance(steps, StepLimits):
                    continue
                few = steps.words(point, True) * returning.moving(back, point, point)
                assert few <= rate * (1 + 1e-9), (counts, whole, loops, back, few, rate)
            found[back] += 1


def test_no_tile_that_returns_moves_less() -> None:
    found: Counter[Back] = Counter()
    for p in range(2, 7):
        for r in range(2, 7):
            compare((1, 1), (p, r), found)
    compare((1, 1), (10, 4), found)
    assert set(found) == set(Back) - {Back.NEVER, Back.ANY}


@pytest.mark.parametrize("counts", [(2, 1), (1, 2), (3, 1), (2, 3)])
def test_limits_of_tiles_that_return_hold_with_steps(counts: tuple[int, int]) -> None:
    found: Counter[Back] = Counter()
    for p in range(2, 7):
        for r in range(2, 7):
            compare(counts, (p, r), found)
    assert found[Back.ACROSS] > 0


def across(whole: tuple[int, int], loops: Loops, elements: int) -> Iterator[Nest]:
    """Yield loops with one over elements among them."""
    for k, (d, tile) in enumerate(loops):
        around = [t for own, t in loops[:k] if own == d]
        if -(-(around[-1] if around else whole[d]) // tile) <= elements:
            yield tuple((n == k, own, t) for n, (own, t) in enumerate(loops))


def is_regular(whole: tuple[int, int], nest: Nest) -> bool:
    """Whether loops are regular along both dimensions."""
    for d in (0, 1):
        own = [Spatial("D", t, "X", "A") if over else For("D", t) for over, k, t in nest if k == d]
        if not is_regular_along(own, whole[d]):
            return False
    return True


def tiles(whole: tuple[int, int], nest: Nest, element: int) -> list[Step]:
    """Return the tiles of an element, one after the other."""
    every = [Step((0, 0), whole, -1)]
    for k, (over, d, tile) in enumerate(nest):
        found = []
        for at, size, advanced in every:
            for n, begin in enumerate(range(0, size[d], tile)):
                place, part = list(at), list(size)
                place[d] += begin
                part[d] = min(tile, size[d] - begin)
                if not over or n == element:
                    outermost = advanced if over or n == 0 else k
                    found.append(Step((place[0], place[1]), (part[0], part[1]), outermost))
        every = found
    return every


def moved(
    whole: tuple[int, int], nest: Nest, counts: tuple[int, int], element: int
) -> tuple[int, bool]:
    """Return the words that move for an element, and whether its tile returns."""
    fors = [k for k, (over, _, _) in enumerate(nest) if not over]
    d = nest[fors[-1]][1]
    run = max((k + 1 for k in fors if nest[k][1] != d), default=0)
    total, back = 0, False
    old: set[int] = set()
    for at, size, advanced in tiles(whole, nest, element):
        new = {
            counts[0] * i + counts[1] * k
            for i in range(at[0], at[0] + size[0])
            for k in range(at[1], at[1] + size[1])
        }
        back |= new == old and advanced < run
        total += 0 if new == old else len(new - old) if advanced >= run else len(new)
        old = new
    return total, back


@pytest.mark.parametrize("counts", [(1, 1), (2, 1), (1, 2), (3, 1), (2, 3)])
@pytest.mark.parametrize("whole", [(4, 2), (4, 3), (6, 2), (6, 3), (4, 5), (8, 3), (6, 5)])
def test_tiles_of_elements_that_return_are_in_one_of_the_ways(
    counts: tuple[int, int], whole: tuple[int, int]
) -> None:
    """Elements divide one of the dimensions, so that steps may be longer than a tile."""
    extents, i = program(counts, whole, SHARED)
    (elements,) = extents.elements
    found = 0
    for tile in np.ndindex(whole):
        own = tile[0] + 1, tile[1] + 1
        for loops in nests(whole, own):
            for nest in across(whole, loops, 3):
                fors = [k for k, (over, _, _) in enumerate(nest) if not over]
                if not fors or not is_regular(whole, nest):
                    continue
                words, back = moved(whole, nest, counts, 0)
                if not back:
                    continue
                d = nest[fors[-1]][1]
                returning = extents.windows.returning[i, "PR"[d]]
                words += sum(moved(whole, nest, counts, element)[0] for element in (1, 2))
                rate = words / (whole[0] * whole[1])
                outside = max((k for k in fors if nest[k][1] != d), default=-1)
                first = tiles(whole, nest, 0)
                begin = next(n for n, step in enumerate(first[1:], 1) if step.advanced <= outside)
                point = np.zeros(len(extents.program.low))
                point[extents.extents[i]["P"]] = log(own[0])
                point[extents.extents[i]["R"]] = log(own[1])
                point[extents.windows.run[i]] = log(sum(step.size[d] for step in first[:begin]))
                high = point.copy()
                (along,) = (k for over, k, _ in nest if over)
                high[elements["PR"[along]]] = log(3)
                assert any(
                    holds(extents, returning, way, point, high, rate)
                    for way in returning.ways(point, high)
                ), (nest, rate)
                found += 1
    assert found or counts != (1, 1)


def holds(
    extents: Extents,
    returning: ReturningTile,
    back: Back,
    point: np.ndarray,
    high: np.ndarray,
    rate: float,
) -> bool:
    """Whether a way has no limits that a tile breaks."""
    own, other = returning.divided(high)
    few = [
        steps.words(point, True) * returning.moving(back, point, high)
        for steps in returning.steps
        if isinstance(steps, StepLimits) and not any(high[v] > 0 for v in steps.divided)
    ]
    if returning.rates:
        numbers = returning.numbers(back, point, high)
        (p,), (m,) = returning.other, returning.m
        few.append(numbers[0] / np.exp(point[m]) + numbers[1] / np.exp(point[p]) + numbers[2])
    return max(few, default=0.0) <= rate * (1 + 1e-9) and all(
        total(extents.program.limits[limit.limit], point) <= 1 + 1e-9
        for limit in returning.always[back]
        if limit.holds(own, other)
    )

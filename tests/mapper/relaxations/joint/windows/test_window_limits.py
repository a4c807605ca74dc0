"""Limits of words of windows hold for all whole numbers in their ranges."""

from __future__ import annotations

from dataclasses import replace
from math import ceil, exp, log
from random import Random

import numpy as np
import pytest

import tilewright as tw
from tilewright.architecture.machine import Architecture, Array, Compute, Memory
from tilewright.mapper.objective.objective import parse_objective
from tilewright.mapper.problem.bypass_choices import keep_choices, narrowed
from tilewright.mapper.relaxations.boxes.boxes_left import Floors
from tilewright.mapper.relaxations.boxes.halves import halves_of
from tilewright.mapper.relaxations.joint.assumption import Assumption
from tilewright.mapper.relaxations.joint.extents import Extents
from tilewright.mapper.relaxations.joint.node import Nodes
from tilewright.mapper.relaxations.joint.program import NodeLimits
from tilewright.mapper.relaxations.joint.windows.limits import WindowLimits, growth
from tilewright.mapper.relaxations.joint.windows.tiles_that_return import Back
from tilewright.mapper.relaxations.joint.windows.words import Slide
from tilewright.mapper.search.all_sizes.bounds_of_all_sizes import box_costs

MACHINE = Architecture(
    "one",
    (
        Memory("DRAM", 8, read_energy=10.0, write_energy=10.0),
        Array("A", {"X": 3}),
        Memory("L1", 8, 8000, must_keep=frozenset("IWO")),
        Compute("MAC"),
    ),
)


def total(extents: Extents, node: NodeLimits, limit: int, point: np.ndarray) -> float:
    """Return the sum of a limit's terms."""
    limits = extents.limits
    found = 0.0
    for t in range(limits.first[limit], limits.first[limit + 1]):
        powers = slice(limits.start[t], limits.start[t + 1])
        variables = limits.variables[limits.begin[limit] + limits.slots[powers]]
        found += exp(node.logs[t] + float(node.powers[powers] @ point[variables]))
    return found


def numbers_of(limits: WindowLimits, point: np.ndarray) -> list[float]:
    """Return the elements that divide both dimensions."""
    return [exp(sum(point[v] for v in own)) for own in limits.divided]


@pytest.mark.parametrize("window", ["P+R", "2*P+R", "P+2*R", "3*P+2*R"])
@pytest.mark.parametrize("seed", range(6))
def test_words_of_all_extents_keep_to_the_limits(window: str, seed: int) -> None:
    random = Random(seed)
    layer = tw.einsum(f"O[P] += I[{window}] * W[R]", P=7, R=6)
    machine = narrowed(MACHINE, layer)
    least = box_costs(layer, machine).least
    (keep,) = keep_choices(layer, machine)
    extents = Extents(least, halves_of(layer, machine), keep, parse_objective("energy"))
    elements = {v for own in extents.elements for v in own.values()}
    every = [own for _, _, _, own in extents.windows.every if isinstance(own, WindowLimits)]
    tried = 0
    for bundle in [*extents.windows.tiles, *every]:
        variables = [v for side in (*bundle.sides, *bundle.divided) for v in side]
        variables = list(dict.fromkeys(variables))
        low, high = np.array([extents.program.low, extents.program.high])
        ends = {}
        for v in variables:
            most = round(exp(high[v]))
            first = random.randint(1, most)
            last = random.randint(first, most)
            ends[v] = first, last
            low[v], high[v] = log(first), log(last)
        node = NodeLimits(
            low=low,
            high=high,
            logs=extents.logs.copy(),
            powers=extents.limits.powers.copy(),
            active=np.zeros(len(extents.always), np.bool_),
            first=extents.limits.first.tolist(),
            start=extents.limits.start.tolist(),
            widest={},
            chunks={},
        )
        bundle.settle(node)
        # elements at work need not be a whole number
        choices = [
            np.linspace(*ends[v], 5) if v in elements else np.arange(ends[v][0], ends[v][1] + 1)
            for v in variables
        ]
        (own,) = bundle.own
        for numbers in np.stack(np.meshgrid(*choices), axis=-1).reshape(-1, len(variables)):
            point = np.zeros(len(low))
            point[variables] = np.log(numbers)
            m, n = (exp(sum(point[v] for v in side)) for side in bundle.sides)
            if m > 7 or n > 6:
                continue
            if bundle.each:
                # the fewest tiles that there may be are as long as these in the mean
                m, n = (
                    min(own, whole / max(ceil(whole / own - 1e-9), ceil(number - 1e-9)))
                    if linear
                    else own
                    for own, whole, linear, number in zip(
                        (m, n), (7, 6), bundle.are_linear, numbers_of(bundle, point), strict=True
                    )
                )
            words = bundle.expression.words(m, n)
            # whatever the loops, there are as many as that
            least = extents.program.low[own]
            point[own] = max(least, log(words / (m * n) if bundle.each else words))
            assert point[own] >= low[own] - 1e-9
            for limit in np.flatnonzero(node.active).tolist():
                assert total(extents, node, limit, point) <= 1 + 1e-9
                tried += 1
    assert tried > 0


def test_growth_is_no_more_than_the_words_grow() -> None:
    for m in (1.0, 2.0, 5.0, 40.0):
        for n in (1.0, 2.0, 6.0):
            for whole in (False, True):
                power = growth(m, n, 20.0, whole=whole)
                for k in np.arange(n, 21.0, 1.0 if whole else 0.25):
                    grown = (m + n - 1) * (k / n) ** power
                    assert grown <= (m + k - 1) * (1 + 1e-12)


def program(window: str, elements: int, **bounds: int) -> Nodes:
    """Return the nodes of a layer with one window on an array of one axis."""
    layer = tw.einsum(f"O[P] += I[{window}] * W[R]", **bounds)
    levels = (MACHINE.levels[0], Array("A", {"X": elements}), *MACHINE.levels[2:])
    machine = narrowed(replace(MACHINE, levels=levels), layer)
    costs = box_costs(layer, machine)
    (keep,) = keep_choices(layer, machine)
    extents = Extents(costs.least, costs.halves, keep, parse_objective("edp"))
    floors = Floors(costs.halves, np.zeros((1, len(costs.halves)), np.int64), np.zeros(1))
    return Nodes(extents, 1e12, floors)


def test_tiles_return_only_where_loops_are_around_the_tiles_of_all_elements() -> None:
    nodes = program("P+R", 3, P=8, R=3)
    extents = nodes.extents
    (stay,) = extents.windows.run
    (elements,) = extents.along(extents.arrays, ("R",))
    returns = ((stay, Slide("P", Back.ACROSS)),)
    assert nodes.none is not None
    assert nodes.child(nodes.none, Assumption(slide=returns)) is not None
    # all of R is at work at a time, so that no loop over it can bring a tile back
    all_at_work = ((elements, log(3), log(3)),)
    assert nodes.child(nodes.none, Assumption(ranges=all_at_work, slide=returns)) is None
    slides = ((stay, Slide("P")),)
    assert nodes.child(nodes.none, Assumption(ranges=all_at_work, slide=slides)) is not None

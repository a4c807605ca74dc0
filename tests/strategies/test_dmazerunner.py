"""The enumeration after dMazeRunner: its size and its heuristics."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import permutations, product
from math import prod

import pytest

from small import PRODUCT, WINDOW, small_machine
from tilewright.architecture.machine import Architecture
from tilewright.interop.dmazerunner.orderings import reuse
from tilewright.mapper.problem.lattice import divisors
from tilewright.strategies.candidates.even import Nest
from tilewright.strategies.searches.dmazerunner import DMazeRunner
from tilewright.strategies.steps import Problem
from tilewright.workload.footprint import footprint
from tilewright.workload.layer import Layer


def brute_force(
    layer: Layer, machine: Architecture
) -> Iterator[tuple[list[dict[str, int]], set[tuple[object, object]]]]:
    """Yield the four factors per dimension that fit, and the pairs of reuses that orders give."""
    names = [d for d in layer.dimensions if layer.bounds[d] > 1]
    four = [
        [f for f in product(divisors(layer.bounds[d]), repeat=4) if prod(f) == layer.bounds[d]]
        for d in names
    ]
    _, spm, rf = machine.memories
    for pick in product(*four):
        outer, inner, spatial, register = (
            dict(zip(names, own, strict=True)) for own in zip(*pick, strict=True)
        )
        # 2 x 2 elements: factors 2 and 4, or 3 on none
        if not all(f in (1, 2, 4) for f in spatial.values()) or prod(spatial.values()) > 4:
            continue
        tile = dict.fromkeys(layer.dimensions, 1) | register
        array = {d: tile[d] * inner.get(d, 1) * spatial.get(d, 1) for d in tile}
        fits = all(
            sum(footprint(t, extents) for t in layer.tensors) * 16 <= memory.capacity_bits
            for memory, extents in ((rf, tile), (spm, array))
        )
        if not fits:
            continue
        reuses = []
        for factors in (outer, inner):
            looping = [d for d in names if factors[d] > 1]
            reuses.append({reuse(p, layer, frozenset(looping)) for p in permutations(looping)})
        yield [outer, inner, spatial, register], set(product(*reuses))


@pytest.mark.parametrize("layer", [PRODUCT, WINDOW], ids=["product", "window"])
def test_the_enumeration_is_as_large_as_brute_force_says(layer: Layer) -> None:
    machine = small_machine(8, 24)
    every = list(brute_force(layer, machine))
    way = DMazeRunner(opt="")
    tilings = sum(len(part.outer) for part in way.tilings(Nest(layer, machine)))
    steps = list(way.steps(Problem(layer, machine, "edp"), 0))
    assert tilings == len(every) > 0
    assert sum(step.evaluated for step in steps) == sum(len(orders) for _, orders in every)
    assert all(step.valid == step.evaluated for step in steps)


@pytest.mark.parametrize("opt", ["1", "2", "3", "123"])
def test_heuristics_leave_out_what_they_say(opt: str) -> None:
    machine = small_machine(8, 24)
    way = DMazeRunner(opt=opt, elements=0.9, registers=0.6, buffer=0.6)
    kept = 0
    for (outer, inner, spatial, register), _ in brute_force(WINDOW, machine):
        tile = dict.fromkeys(WINDOW.dimensions, 1) | register
        held = {d: tile[d] * inner[d] * spatial[d] for d in tile}
        words = [sum(footprint(t, extents) for t in WINDOW.tensors) for extents in (tile, held)]
        full = prod(spatial.values()) >= 0.9 * 4 and words[0] >= 0.6 * 8 and words[1] >= 0.6 * 24
        apart = outer["R"] > 1
        reduces = spatial["C"] * spatial["R"] > 1
        kept += not (
            ("1" in opt and not full) or ("2" in opt and apart) or ("3" in opt and reduces)
        )
    found = sum(len(part.outer) for part in way.tilings(Nest(WINDOW, machine)))
    assert found == kept

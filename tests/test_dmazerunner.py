"""The enumeration after dMazeRunner: its orderings, its size, its heuristics."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations, permutations, product
from math import isclose, prod

import pytest

from small import PRODUCT, WINDOW, small_machine
from strategies import EINSUMS, dimensions_of, layer_of
from tilewright.architecture.files import load_architecture
from tilewright.architecture.machine import Architecture
from tilewright.mapper.lattice import divisors
from tilewright.strategies.dmazerunner import DMazeRunner
from tilewright.strategies.even import Nest
from tilewright.strategies.orderings import reuse, unique_orderings, useful_orderings
from tilewright.strategies.steps import Problem
from tilewright.workload.einsum import einsum
from tilewright.workload.footprint import footprint
from tilewright.workload.layer import Layer


def test_a_convolution_has_the_orderings_of_the_paper() -> None:
    layer = einsum("O[N,M,Y,X] += I[N,C,Y+F,X+G] * W[M,C,F,G]", N=2, M=2, C=2, Y=2, X=2, F=2, G=2)
    everything = frozenset(layer.dimensions)
    found = {
        tuple("".join(sorted(own)) for own in reuse(ordering, layer, everything))
        for ordering in unique_orderings(layer)
    }
    # Table 2 of the paper, as (I, W, O)
    inputs = {("M", "", "")}
    weights = {("", "".join(s), "") for n in (1, 2, 3) for s in combinations("NXY", n)}
    outputs = {("", "", "".join(s)) for n in (1, 2, 3) for s in combinations("CFG", n)}
    assert found == inputs | weights | outputs
    assert len(useful_orderings(layer, everything, maximal=True)) == 3


@pytest.mark.parametrize("kind", EINSUMS)
def test_every_reuse_of_every_pattern_of_loops_has_one_ordering(kind: str) -> None:
    names = dimensions_of(kind)[:6]
    layer = layer_of(kind, dict.fromkeys(dimensions_of(kind), 1) | dict.fromkeys(names, 2))
    for n in range(len(names) + 1):
        for looping in combinations(names, n):
            every = {reuse(p, layer, frozenset(looping)) for p in permutations(looping)}
            orders = useful_orderings(layer, frozenset(looping), False)
            found = [reuse(unique_orderings(layer)[i], layer, frozenset(looping)) for i in orders]
            assert len(found) == len(set(found))
            assert set(found) == every


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


def test_the_counts_of_the_paper_are_met_closely() -> None:
    # it counts the buffer in whole banks, and does not see the axes of the array
    machine = load_architecture("dmazerunner-256")
    layer = einsum(
        "O[N,M,Y,X] += I[N,C,Y+F,X+G] * W[M,C,F,G]", N=4, M=512, C=512, Y=7, X=7, F=3, G=3
    )
    found = sum(len(p.outer) for p in DMazeRunner("123").tilings(Nest(layer, machine)))
    assert isclose(found, 753, rel_tol=0.05)

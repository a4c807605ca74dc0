"""The bound of regular mappings where a small memory below the array keeps a sliding tile."""

from __future__ import annotations

import pytest

import tilewright as tw
from small_windows import memory, small_window, two_above
from test_tight_bound import compare, least_below, never
from tilewright.architecture.machine import Architecture, Array, Compute
from tilewright.mapper.objective.objective import parse_objective
from tilewright.mapper.problem.bypass_choices import narrowed
from tilewright.mapper.relaxations.nests.regular_bound import tightened
from tilewright.mapper.relaxations.nests.tiles_to_mapping import mappings_of
from tilewright.mapper.relaxations.stays.least_cost import Least
from tilewright.mapper.search.all_sizes.climbing import allowed
from tilewright.mapper.search.search import Search
from tilewright.model.evaluate import evaluate
from tilewright.workload.layer import Layer

WHOLE = range(24, 2000)
TWO_ABOVE = range(6, 1000)
FAR, OUTER, INNER = (0,), (0, 1), (0, 2)
IN_BOTH = (0, 1, 2)
IN_ALL = (0, 1, 2, 3)


def machine(
    elements: int, buffer: int, registers: int, energies: tuple[float, ...], reduction: bool
) -> Architecture:
    """Return a machine; energies are of reads and writes of each memory, from the outside in."""
    sizes = (("DRAM", None), ("GLB", buffer), ("RF", registers))
    pairs = zip(energies[::2], energies[1::2], strict=True)
    dram, glb, rf = (memory(*own, *energy) for own, energy in zip(sizes, pairs, strict=True))
    array = Array("A", {"X": elements}, multicast=True, reduction=reduction)
    return Architecture("small", (dram, glb, array, rf, Compute("MAC")))


def optimum_and_bound(
    layer: Layer, own: Architecture, keep: tuple[tuple[int, ...], ...], text: str
) -> tuple[float, float]:
    search = Search(layer, own, text)
    found = search.solve(plans=search.plans([keep]))
    least = Least(layer, narrowed(own, layer))
    return found.value, least_below(least, keep, parse_objective(text), found.value)


@pytest.mark.parametrize("seed", range(6))
def test_no_mapping_that_is_found_costs_less(seed: int) -> None:
    compare(seed, small_window)


@pytest.mark.slow
@pytest.mark.parametrize("seed", WHOLE)
def test_no_mapping_that_is_found_costs_less_in_many_problems(seed: int) -> None:
    compare(seed, small_window)


@pytest.mark.parametrize("seed", range(6))
def test_no_mapping_that_is_found_costs_less_with_two_memories_above(seed: int) -> None:
    compare(seed, two_above)


@pytest.mark.slow
@pytest.mark.parametrize("seed", TWO_ABOVE)
def test_no_mapping_that_is_found_costs_less_in_many_with_two_memories_above(seed: int) -> None:
    compare(seed, two_above)


def test_the_outermost_tile_slides_no_better_than_loops_allow() -> None:
    layer = tw.einsum("O[K,P,Q] += I[P+R,Q+S] * W[K,R,S]", K=2, P=7, R=5, Q=6, S=2)
    own = machine(4, 24, 16, (50.0, 100.0, 2.0, 2.0, 1.0, 2.0), reduction=False)
    best, bound = optimum_and_bound(layer, own, (INNER, OUTER, OUTER), "edp")
    assert bound == pytest.approx(best, rel=1e-6)


def test_a_tile_may_be_found_again_after_all_rounds_of_a_strided_window() -> None:
    # the last word for P = 1 is 2 * 1 + 2, and the first one for P = 2 is 2 * 2
    layer = tw.einsum("O[K,P] += I[2*P+R] * W[K,R]", K=3, P=4, R=3)
    own = machine(1, 24, 4, (20.0, 20.0, 2.0, 2.0, 0.5, 0.5), reduction=True)
    best, bound = optimum_and_bound(layer, own, (IN_BOTH, INNER, INNER), "energy")
    assert bound <= best * (1 + 1e-9)
    assert bound > 0.95 * best


def test_nothing_is_left_of_the_gap_of_a_convolution_with_few_registers() -> None:
    layer = tw.einsum("O[K,P,Q] += I[C,P+R,Q+S] * W[K,C,R,S]", K=4, C=3, P=3, R=4, Q=2, S=3)
    own = machine(2, 128, 4, (20.0, 40.0, 2.0, 4.0, 1.0, 1.0), reduction=True)
    best, bound = optimum_and_bound(layer, own, (INNER, IN_BOTH, OUTER), "energy")
    assert bound <= best * (1 + 1e-9)
    assert bound > 0.99 * best


def test_a_run_may_be_shorter_than_the_tile_that_slides() -> None:
    layer, own, text = two_above(159)  # a bound was divided by zero
    best, bound = optimum_and_bound(layer, own, (IN_ALL, IN_ALL, IN_ALL), text)
    assert bound <= best * (1 + 1e-9)


def test_tiles_with_two_memories_above_become_the_best_mapping() -> None:
    (layer,) = [own for own in tw.load_network("alexnet") if own.name == "conv3"]
    own = tw.load_architecture("four-level")
    least, objective = Least(layer, narrowed(own, layer)), parse_objective("edp")
    keep = ((0, 2, 3), (0, 3), (0, 1, 2))  # outputs in both memories above the array
    bound, tiles = tightened(least, [(0.0, keep)], objective, 2.25e14, never)
    values = []
    for start in mappings_of(tiles[0], layer, own):
        if not allowed(start, layer, own):
            continue
        cost = evaluate(layer, own, start, check=False)
        values.append(objective.value(cost.energy_pj, float(cost.cycles)))
    assert min(values) == pytest.approx(bound, rel=1e-9)

"""The bound of regular mappings where a small memory below the array keeps a sliding tile."""

from __future__ import annotations

from random import Random

import pytest

import tilewright as tw
from every_size import is_regular
from small_windows import memory, small_window, two_above
from test_tight_bound import compare, least_below, loops_of, never
from tilewright.architecture.machine import Architecture, Array, Compute
from tilewright.mapper.objective.objective import parse_objective
from tilewright.mapper.problem.bypass_choices import narrowed
from tilewright.mapper.relaxations.nests.regular_bound import tightened
from tilewright.mapper.relaxations.nests.tiles_to_mapping import mappings_of
from tilewright.mapper.relaxations.stays.least_cost import Least
from tilewright.mapper.search.all_sizes.climbing import allowed, climb
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


def test_loops_above_an_array_may_bring_back_a_tile_after_a_run_that_takes_all() -> None:
    # every second column in an element: after three of the filter, the next one begins two further
    layer = tw.einsum("O[K,P,Q] += I[K,P+R,Q] * W[K,R]", K=8, P=12, R=3, Q=8)
    memories = memory("DRAM", None, 5, 200), memory("GLB", 200, 1, 6), memory("RF", 5, 1, 2)
    array = Array("A", {"X": 2, "Y": 2}, multicast=True, reduction=True, hop_energy=1.0)
    own = Architecture("small", (*memories[:2], array, memories[2], Compute("MAC")))
    best, bound = optimum_and_bound(layer, own, (IN_BOTH, IN_BOTH, IN_BOTH), "edp")
    assert bound <= best * (1 + 1e-9)
    assert bound > 0.995 * best


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


def carried_window(seed: int) -> tuple[Layer, Architecture, str]:
    """Return a window that only elements keep, below a buffer for all else."""
    random = Random(seed)
    bounds = {
        "K": random.choice([2, 3, 4, 6]),
        "C": random.choice([2, 3, 4, 6]),
        "P": random.choice([4, 6, 8, 9, 12]),
        "R": random.choice([2, 3, 3, 4]),
    }
    layer = tw.einsum("O[K,P] += I[C,P+R] * W[K,C,R]", **bounds)
    buffer, registers = random.choice([12, 16, 24, 32, 48]), random.choice([3, 4, 6, 8, 10])
    energies = (random.choice([20.0, 50.0]), 20.0, random.choice([1.0, 4.0]), 2.0, 0.5, 0.5)
    own = machine(random.choice([1, 2, 3, 4]), buffer, registers, energies, random.random() < 0.8)
    return layer, own, random.choice(["edp", "energy"])


def compare_carried(seed: int) -> None:
    layer, own, text = carried_window(seed)
    for outer in (OUTER, IN_BOTH):
        keep = (outer, INNER, OUTER)
        search = Search(layer, own, text)
        found = search.solve(plans=search.plans([keep]))
        if found.mapping is None:
            continue
        objective = parse_objective(text)
        mapping, value = climb(layer, own, objective, found.mapping, never)
        if value >= found.value or not is_regular(loops_of(mapping), layer):
            value = found.value
        bound = least_below(Least(layer, narrowed(own, layer)), keep, objective, value)
        assert bound <= value * (1 + 1e-9), keep


# of the last one, filters change within parts of a row, and the window slides on to the next part
@pytest.mark.parametrize("seed", [*range(5), 15])
def test_no_mapping_costs_less_where_elements_keep_the_window(seed: int) -> None:
    compare_carried(seed)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(5, 1000))
def test_no_mapping_costs_less_in_many_where_elements_keep_the_window(seed: int) -> None:
    compare_carried(seed)


@pytest.mark.parametrize(
    ("network", "name", "keep", "value"),
    [
        # other input channels come in between two columns; outputs stay through both
        ("vgg16", "conv2_2", ((0, 3), (0, 1, 3), (0, 2)), 2.34007e16),
        # filters are in both buffers, and next to the inputs in the outer one
        ("vgg16", "conv2_2", ((0, 1, 3), (0, 1, 2), (0, 3)), 2.34007e16),
        # elements next to each other need the same rows, but at different times
        ("resnet50", "conv2_1.3x3", ((0, 3), (0, 1, 3), (0, 2)), 1.13323e14),
        # a filter of 5 in 3 and 2: tiles come back in the first part only
        ("alexnet", "conv2", ((0, 2, 3), (0, 3), (0, 2)), 3.46053e14),
    ],
)
def test_what_tiles_promise_is_near_what_mappings_reach(
    network: str, name: str, keep: tuple[tuple[int, ...], ...], value: float
) -> None:
    (layer,) = [own for own in tw.load_network(network) if own.name == name]
    own = tw.load_architecture("four-level")
    least, objective = Least(layer, narrowed(own, layer)), parse_objective("edp")
    bound, _ = tightened(least, [(0.0, keep)], objective, value, never)
    assert bound > 0.992 * value

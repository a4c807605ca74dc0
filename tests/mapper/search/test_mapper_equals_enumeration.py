"""What the search proves is what trying every mapping of a small problem finds."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from itertools import count
from math import isclose, isinf

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from enumeration import Enumeration, Floats, Optimum
from problems import problem
from strategies import layer_of, mappings
from tilewright.architecture.files import load_architecture
from tilewright.architecture.machine import Architecture, Array, Compute, Memory
from tilewright.errors import InputError, MappingError
from tilewright.mapper.objective.objective import parse_objective
from tilewright.mapper.relaxations.stays.least_cost import Least
from tilewright.mapper.search.forwarding import slides
from tilewright.mapper.search.questions.front import trade_offs
from tilewright.mapper.search.search import Search
from tilewright.mapping.nodes import Mapping, Store
from tilewright.mapping.validity import check
from tilewright.model.evaluate import assess, evaluate
from tilewright.reference.simulate import simulate
from tilewright.workload.einsum import einsum
from tilewright.workload.layer import Layer

OBJECTIVES = ("energy", "latency", "edp")
SAMPLE, FEW, MANY = range(100), range(60), range(100, 2000)
TELLING = (195, 193, 175, 245, 496)  # each of them would have shown a fault
# times a search asks whether to go on: a few thousand at most on these problems
PATIENCE = 50_000


def same(a: float, b: float) -> bool:
    return isclose(a, b, rel_tol=1e-9)


def compare(layer: Layer, machine: Architecture) -> Enumeration:
    """Search for all objectives and compare with the enumeration, ties included."""
    every = Enumeration(layer, machine)
    for objective in OBJECTIVES:
        asked = count()
        found = Search(layer, machine, objective).solve(lambda asked=asked: next(asked) > PATIENCE)
        best = every.best[objective]
        if not found.finished:
            # cycles of outputs whose windows overlap are not known exactly, `Found.correct_value`
            assert any(len(terms) > 1 for terms in layer.tensors[-1].expressions)
            assert found.bound * (1 - 1e-9) <= best.value <= found.value * (1 + 1e-9)
            continue
        if best.mapping is None:
            assert found.mapping is None
            assert isinf(found.value)
            continue
        assert found.mapping is not None, f"{objective}: {best} exists"
        check(found.mapping, layer, machine)
        cost = evaluate(layer, machine, found.mapping)
        value = {"energy": cost.energy_pj, "latency": cost.cycles, "edp": cost.edp_pj_cycles}
        assert same(found.value, value[objective]), f"{objective}: {found.mapping} costs otherwise"
        assert same(found.value, best.value), f"{objective}: {found.mapping}, but best is {best}"
        # among equal energies the fewest cycles, among equal cycles the least energy
        if objective == "energy":
            assert same(cost.cycles, best.cycles), f"{found.mapping} ties with {best}"
        if objective == "latency":
            assert same(cost.energy_pj, best.energy_pj), f"{found.mapping} ties with {best}"
    return every


@pytest.mark.long
@pytest.mark.sampled(5)
@pytest.mark.parametrize("seed", SAMPLE)
def test_search_equals_enumeration(seed: int) -> None:
    layer, machine = problem(seed)
    every = compare(layer, machine)
    if seed in FEW:
        compare_front(layer, machine, every.front)


def compare_front(layer: Layer, machine: Architecture, front: Floats) -> None:
    """Compare all trade-offs, products and limits with those that the enumeration finds."""
    points = trade_offs(layer, machine).points
    found = [(p.evaluation.energy_pj, p.evaluation.cycles) for p in points]
    assert len(found) == len(front)
    assert np.allclose(np.array(found).reshape(-1, 2), front, rtol=1e-9)
    if not len(front):
        return
    middle = float(front[len(front) // 2, 1])
    for text in ("ed2p", "energy*latency^0.5", f"energy, latency<={middle}", "edp, latency"):
        objective = parse_objective(text)
        best = min(objective.value(energy, cycles) for energy, cycles in front)
        assert same(Search(layer, machine, text).solve().value, best), text
    impossible = f"edp, latency<={front[-1, 1] * 0.99}"
    assert Search(layer, machine, impossible).solve().mapping is None


@pytest.mark.long
@pytest.mark.sampled(1)
@pytest.mark.parametrize("seed", TELLING)
def test_search_equals_enumeration_on_telling_problems(seed: int) -> None:
    compare(*problem(seed, fewest=500, most=20_000))


@pytest.mark.slow
@pytest.mark.parametrize("seed", MANY)
def test_search_equals_enumeration_on_many_problems(seed: int) -> None:
    compare(*problem(seed, fewest=500, most=20_000))


@pytest.mark.parametrize("multicast", [True, False])
def test_window_that_two_arrays_cut_is_read_once(multicast: bool) -> None:
    layer = layer_of("conv1d", {"K": 1, "P": 6, "C": 1, "R": 2})
    machine = Architecture(
        "two arrays",
        (
            Memory("DRAM", 16, read_energy=10.0, write_energy=10.0),
            Array("A", {"X": 2}, multicast=multicast),
            Memory("GLB", 16, read_energy=1.0, write_energy=1.0),
            Array("B", {"X": 3}),
            Compute("MAC"),
        ),
    )
    compare(layer, machine)


@pytest.mark.sampled(4)
@pytest.mark.parametrize("r, p", [(3, 4), (3, 6), (2, 8), (4, 4), (3, 9)])
@pytest.mark.parametrize("stride, dilation", [(1, 1), (2, 1), (1, 2), (3, 2)])
def test_windows_slide_at_their_cheapest(r: int, p: int, stride: int, dilation: int) -> None:
    layer = layer_of("conv1d", {"K": 2, "P": p, "C": 1, "R": r}, stride, dilation)
    machine = Architecture(
        "small buffers",
        (
            Memory("DRAM", 16, read_energy=64.0, write_energy=64.0, shared_bandwidth=0.5),
            Memory("GLB", 16, 12 * 16, read_energy=4.0, write_energy=4.0, shared_bandwidth=2.0),
            Array("PE", {"X": 3}),
            Memory("RF", 16, 5 * 16, read_energy=1.0, write_energy=1.0),
            Compute("MAC", 1.0),
        ),
    )
    compare(layer, machine)


@pytest.mark.sampled(6)
@pytest.mark.parametrize("words", [6, 7, 12])
@pytest.mark.parametrize("stride, dilation", [(1, 1), (2, 1), (1, 2)])
@pytest.mark.parametrize("k, p, r", [(2, 8, 3), (1, 8, 4), (3, 4, 4), (2, 6, 4)])
def test_one_slide_serves_two_memories(
    words: int, stride: int, dilation: int, k: int, p: int, r: int
) -> None:
    # the run that fills the first memory goes on in the second
    layer = layer_of("conv1d", {"K": k, "P": p, "C": 1, "R": r}, stride, dilation)
    inputs = frozenset("I")
    machine = Architecture(
        "two memories for windows",
        (
            Memory("M0", 16, read_energy=100.0, write_energy=100.0),
            Memory("M1", 16, words * 16, None, 10.0, 10.0, keep=inputs, must_keep=inputs),
            Memory("M2", 16, 4 * 16, None, 1.0, 1.0, keep=inputs, must_keep=inputs),
            Compute("MAC", 0.0),
        ),
    )
    exact(layer, machine)


@pytest.mark.long
@pytest.mark.sampled(1)
@pytest.mark.parametrize("words", [2, 3, 4])
@pytest.mark.parametrize("bandwidth", [0.5, 2.0])
def test_output_whose_windows_overlap_among_elements(words: int, bandwidth: float) -> None:
    layer = einsum("O[P+R] += I[P,C] * W[C,R]", P=4, R=4, C=2)
    machine = Architecture(
        "summing array",
        (
            Memory("DRAM", 16, read_energy=64.0, write_energy=64.0),
            Memory("GLB", 16, 6 * 16, read_energy=4.0, write_energy=4.0, shared_bandwidth=1.0),
            Array("PE", {"X": 4}),
            Memory("RF", 16, words * 16, None, 1.0, 1.0, shared_bandwidth=bandwidth),
            Compute("MAC", 1.0),
        ),
    )
    exact(layer, machine)


def exact(layer: Layer, machine: Architecture) -> None:
    """Compare with the enumeration where the search knows all cycles."""
    every = Enumeration(layer, machine)
    for objective in OBJECTIVES:
        found = Search(layer, machine, objective).solve()
        assert found.finished
        assert same(found.value, every.best[objective].value), found.mapping


@pytest.mark.long
@pytest.mark.sampled(2)
@pytest.mark.parametrize("words", [2, 3])
@pytest.mark.parametrize("bandwidth", [0.3, 0.6])
@pytest.mark.parametrize("expression", ["P+R", "2*P+3*R"])
def test_elements_share_words_of_the_output_over_time(
    words: int, bandwidth: float, expression: str
) -> None:
    # R outside the array: in no step do two elements hold a word, but one follows another
    layer = einsum(f"O[{expression}] += I[P] * W[R]", P=4, R=2)
    for axes in ((4,), (2, 2)):
        machine = Architecture(
            "shared in time",
            (
                Memory("DRAM", 16, read_energy=20.0, write_energy=20.0),
                Array("A", {"X": axes[0]}, bandwidth=bandwidth),
                Memory("B", 16, 3 * 16, None, 2.0, 2.0, shared_bandwidth=bandwidth),
                *(Array("C", {"X": n}) for n in axes[1:]),
                Memory("R", 16, words * 16, None, 1.0, 1.0, shared_bandwidth=bandwidth),
                Compute("MAC", 1.0),
            ),
        )
        exact(layer, machine)
    layer = einsum("O[P+R] += I[P] * W[R]", P=8, R=2)
    machine = Architecture(
        "bound by its elements",
        (
            Memory("DRAM", 16, read_energy=20.0, write_energy=20.0, shared_bandwidth=1.0),
            Array("A", {"X": 2}),
            Memory("R", 16, words * 16, None, 1.0, 1.0, shared_bandwidth=1.0),
            Compute("MAC", 1.0),
        ),
    )
    exact(layer, machine)


def evaluated(every: Enumeration, best: Optimum) -> None:
    assert best.mapping is not None
    check(best.mapping, every.layer, every.architecture)
    counted = simulate(every.layer, every.architecture, best.mapping)
    cost = assess(every.layer, every.architecture, best.mapping, counted)
    assert same(cost.energy_pj, best.energy_pj)
    assert same(cost.cycles, best.cycles)


@pytest.mark.sampled(5)
@pytest.mark.parametrize("seed", range(20))
def test_enumeration_counts_as_the_simulator_does(seed: int) -> None:
    layer, machine = problem(seed, fewest=20, most=2000)
    levels = tuple(
        replace(x, forwarding=seed % 3 == 0) if isinstance(x, Array) else x for x in machine.levels
    )
    every = Enumeration(layer, replace(machine, levels=levels))
    for best in every.best.values():
        if best.mapping is not None:
            evaluated(every, best)


def divides_evenly(layer: Layer, mapping: Mapping) -> bool:
    extents = dict(layer.bounds)
    for node in mapping.nodes:
        if not isinstance(node, Store):
            if extents[node.dimension] % node.tile:
                return False
            extents[node.dimension] = node.tile
    return True


def crosses_in_order(machine: Architecture, mapping: Mapping) -> bool:
    """Whether the stores inside an array stand below those outside it, idle arrays included."""
    zones = [
        sum(machine.position[a.name] < machine.position[node.memory] for a in machine.arrays)
        for node in mapping.nodes
        if isinstance(node, Store)
    ]
    return zones == sorted(zones)


@cache
def enumerated(seed: int) -> Enumeration:
    return Enumeration(*problem(seed, fewest=20, most=2000))


@pytest.mark.long
@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(seed=st.integers(0, 5), data=st.data())
def test_no_mapping_is_better_than_the_enumeration_says(seed: int, data: st.DataObject) -> None:
    every = enumerated(seed)
    layer, machine = every.layer, every.architecture
    mapping = data.draw(mappings(layer, machine))
    assume(divides_evenly(layer, mapping))
    assume(crosses_in_order(machine, mapping))
    try:
        check(mapping, layer, machine)
    except MappingError:
        assume(False)
    cost = evaluate(layer, machine, mapping)
    floor = 1 - 1e-9
    assert cost.energy_pj >= every.best["energy"].value * floor
    assert cost.cycles >= every.best["latency"].value * floor
    assert cost.edp_pj_cycles >= every.best["edp"].value * floor


def forwarding(machine: Architecture) -> Architecture:
    levels = tuple(
        replace(x, forwarding=True) if isinstance(x, Array) else x for x in machine.levels
    )
    return replace(machine, levels=levels)


@pytest.mark.sampled(4)
@pytest.mark.parametrize("seed", range(30))
def test_no_mapping_is_below_the_bound_where_neighbours_forward(seed: int) -> None:
    layer, machine = problem(seed, fewest=20, most=4000)
    machine = forwarding(machine)
    if not machine.arrays:
        return
    every = Enumeration(layer, machine)
    below = np.array(
        [
            costs
            for keep, *bounds in Least(layer, machine).all_costs()
            for costs in zip(*bounds, strict=True)
        ]
    ).min(axis=0)
    for objective in OBJECTIVES:
        found = Search(layer, machine, objective).solve()
        best = every.best[objective]
        assert found.bound <= best.value * (1 + 1e-9)
        assert best.value * (1 - 1e-9) <= found.value
        assert not found.finished or same(found.value, best.value)
        if best.mapping is not None:
            # that of all tile sizes
            assert below[0] <= best.energy_pj * (1 + 1e-9)
            assert below[1] <= best.cycles * (1 + 1e-9)
        if not any(slides(tensor, layer) for tensor in layer.tensors):
            assert found.finished  # nothing is forwarded that the search does not see


def test_trade_offs_are_refused_where_neighbours_forward_windows() -> None:
    window = layer_of("conv1d", {"K": 2, "P": 4, "C": 1, "R": 3})
    product = layer_of("matmul", {"M": 2, "N": 2, "K": 2})
    machine = load_architecture("shidiannao")
    with pytest.raises(InputError, match="where neighbours forward words of its windows"):
        trade_offs(window, machine)
    assert trade_offs(product, machine).optimal

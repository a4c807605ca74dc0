"""Tiles that lie inside one another: no mapping costs less, and the best ones become mappings."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import permutations, product
from random import Random

import numpy as np
import pytest
from hypothesis import given, settings

import tilewright as tw
from every_size import is_regular
from problems import machine as random_machine
from strategies import cases, dimensions_of, layer_of
from tilewright.architecture.machine import Architecture, Array, Compute, Memory
from tilewright.errors import MappingError
from tilewright.mapper.objective.objective import Objective, parse_objective
from tilewright.mapper.problem.bypass_choices import KeepChoice, keep_choices, narrowed
from tilewright.mapper.relaxations.nests import regular_bound
from tilewright.mapper.relaxations.nests.inner_tiles import inner_tiles
from tilewright.mapper.relaxations.nests.instances import spatial_choices
from tilewright.mapper.relaxations.nests.nest import nest
from tilewright.mapper.relaxations.nests.regular_bound import tightened
from tilewright.mapper.relaxations.nests.tiles_to_mapping import covers, mappings_of, whole_chunks
from tilewright.mapper.relaxations.stays.elements import Pays
from tilewright.mapper.relaxations.stays.least_cost import Least
from tilewright.mapper.relaxations.stays.links import Link, Price
from tilewright.mapper.search.all_sizes.climbing import climb
from tilewright.mapper.search.search import Search
from tilewright.mapping.nodes import For, Spatial, Store
from tilewright.mapping.validity import check
from tilewright.model.evaluate import evaluate
from tilewright.workload.layer import Layer

MATMUL = "O[M,N] += I[M,K] * W[K,N]"
POINTWISE = "O[K,P,Q] += I[C,P,Q] * W[K,C]"
CONV = "O[K,P,Q] += I[C,P+R,Q+S] * W[K,C,R,S]"
STRIDED = "O[K,P,Q] += I[C,2*P+R,2*Q+S] * W[K,C,R,S]"
KINDS = ("matmul", "matmul", "conv1d", "conv1d", "conv2d", "depthwise", "pooling", "dot", "scatter")
BOUNDS = (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 13, 14, 16, 24, 32)
OBJECTIVES = ("energy", "latency", "edp", "energy*latency^0.5")
MANY = range(40, 3000)
ROWS, MANY_ROWS = range(20, 32), range(32, 500)
# each of them would have shown a fault
TELLING = (10447, 30147, 30896, 31646, 33028, 33511, 34380, 63313, 515591)


Problem = tuple[Layer, Architecture, str]


def never() -> bool:
    return False


def problem(seed: int) -> tuple[Layer, Architecture, str]:
    """Return a layer of up to 20,000 operations, a machine with an array, and an objective."""
    random = Random(seed)
    kind = random.choice(KINDS)
    a, b = random.choice([(1, 1)] * 4 + [(2, 1)] * 2 + [(3, 1), (1, 2), (2, 2)])
    while True:
        bounds = {d: random.choice(BOUNDS) for d in dimensions_of(kind)}
        for d in bounds:
            if random.random() < len(bounds) / 16:
                bounds[d] = 1
        layer = layer_of(kind, bounds, a, b)
        if 20 <= layer.operations <= 20_000:
            break
    machine = random_machine(random)
    while len(machine.arrays) != 1:
        machine = random_machine(random)
    return layer, machine, random.choice(OBJECTIVES)


def least_below(least: Least, keep: KeepChoice, objective: Objective, value: float) -> float:
    """Return the bound of a bypass choice with a ceiling just above a value."""
    return tightened(least, [(0.0, keep)], objective, value * (1 + 1e-6) + 1e-9, never)[0]


def even(seed: int) -> tuple[Layer, Architecture, str]:
    """Return a window whose rows instances share evenly, or nearly so, on a machine with an array.

    An instance may have several rows in a row, or one of every few.
    """
    random = Random(seed)
    stride, instances = random.choice([1, 1, 2]), random.choice([2, 2, 3])
    bounds = {"K": random.choice([1, 2, 3, 4]), "R": random.choice([2, 3, 4])}
    bounds["P"] = instances * random.choice([2, 3, 4, 6, 8]) - (random.random() < 0.2)
    if random.random() < 0.4:
        bounds |= {"Q": random.choice([2, 3, 4, 6]), "S": random.choice([1, 2, 3])}
        layer = tw.einsum(f"O[K,P,Q] += I[{stride}*P+R,{stride}*Q+S] * W[K,R,S]", **bounds)
    else:
        bounds["C"] = random.choice([1, 2, 3])
        layer = tw.einsum(f"O[K,P] += I[C,{stride}*P+R] * W[K,C,R]", **bounds)

    def memory(name: str, words: int | None, energy: float) -> Memory:
        return Memory(
            name, 8, capacity_bits=None if words is None else 8 * words, read_energy=energy,
            write_energy=energy * random.choice([1.0, 2.0]),
        )  # fmt: skip

    levels: list[Memory | Array] = [memory("DRAM", None, random.choice([20.0, 50.0, 200.0]))]
    if random.random() < 0.6:
        levels.append(memory("GLB", random.choice([16, 32, 64, 128]), random.choice([2.0, 6.0])))
    axes = {"X": instances} if random.random() < 0.7 else {"X": instances, "Y": 2}
    levels.append(
        Array(
            "A", axes, multicast=random.random() < 0.7, reduction=random.random() < 0.7,
            hop_energy=random.choice([0.0, 1.0]),
        )
    )  # fmt: skip
    levels.append(memory("RF", random.choice([4, 6, 8, 12, 16, 24]), random.choice([0.5, 1.0])))
    machine = Architecture("even", (*levels, Compute("MAC")))
    return layer, machine, random.choice(["edp", "edp", "energy", "latency"])


def compare(seed: int, problem: Callable[[int], Problem] = problem) -> int:
    """Compare bounds of bypass choices with what a search and changes of tile sizes find."""
    layer, machine, text = problem(seed)
    least, objective = Least(layer, narrowed(machine, layer)), parse_objective(text)
    compared = 0
    try:
        keeps = list(keep_choices(layer, least.architecture))
    except tw.NoMappingError:
        return 0
    Random(seed).shuffle(keeps)
    for keep in keeps[:4]:
        if nest(least, keep) is None:
            continue
        search = Search(layer, machine, text)
        found = search.solve(plans=search.plans([keep]))
        if found.mapping is None:
            continue
        mapping, value = climb(layer, machine, objective, found.mapping, never)
        if value >= found.value:
            mapping, value = found.mapping, found.value
        assert least_apart(least, keep, objective) <= value * (1 + 1e-9), keep
        if is_regular(loops_of(mapping), layer):
            assert least_below(least, keep, objective, value) <= value * (1 + 1e-9) + 1e-12, keep
        compared += 1
    return compared


def least_apart(least: Least, keep: KeepChoice, objective: Objective) -> float:
    """Return the bound of a bypass choice that holds for irregular mappings, too."""
    return float(objective.values(*least.cost(keep, Pays.EITHER, objective)).min())


def loops_of(mapping: tw.Mapping) -> tuple[For | Spatial, ...]:
    return tuple(node for node in mapping.nodes if not isinstance(node, Store))


@pytest.mark.long
def test_no_mapping_that_is_found_costs_less(whole: bool) -> None:
    seeds = range(40 if whole else 12)
    assert sum(compare(seed) for seed in seeds) > len(seeds)


@pytest.mark.long
@pytest.mark.parametrize("seed", TELLING)
def test_no_mapping_that_is_found_costs_less_in_telling_problems(seed: int) -> None:
    assert compare(seed)


@pytest.mark.slow
@pytest.mark.parametrize("seed", MANY)
def test_no_mapping_that_is_found_costs_less_in_many_problems(seed: int) -> None:
    compare(seed)


@pytest.mark.sampled(5)
@pytest.mark.parametrize("seed", ROWS)
def test_no_mapping_that_is_found_costs_less_where_instances_share_rows(seed: int) -> None:
    assert compare(seed, even)


@pytest.mark.slow
@pytest.mark.parametrize("seed", MANY_ROWS)
def test_no_mapping_that_is_found_costs_less_in_many_shared_rows(seed: int) -> None:
    compare(seed, even)


def two_arrays(seed: int) -> tuple[Layer, Architecture, str, Random]:
    """Return a problem with two arrays, and what its bypass choices are drawn with."""
    layer, _, text = problem(seed)
    random = Random(seed)
    machine = random_machine(random)
    while len(machine.arrays) != 2:
        machine = random_machine(random)
    return layer, machine, text, random


@pytest.mark.long
def test_what_operations_update_counts_unless_fewer_words_may_come_in_than_begin() -> None:
    """M0 > A > M1 > B > M2 > M3, where A does not add; M3 reads 744 words for 768 operations."""
    layer, machine, text, _ = two_arrays(70789)
    least = Least(layer, narrowed(machine, layer))
    rows = {
        sender: least.prices.energy(Link(2, sender, least.compute)).sent > 0 for sender in range(4)
    }
    # M1 is next to the outermost memory, where no more words begin than there are
    assert rows == {0: True, 1: True, 2: False, 3: False}
    assert least.prices.energy(Link(2, 0, 1)) == Price()
    found = tw.map(layer, machine, text, cache=False, time_limit=5).layers[0]
    keeps = list(keep_choices(layer, least.architecture))
    assert min(least.cost(keep)[1].min() for keep in keeps) <= found.evaluation.cycles


# the last two would have shown faults
@pytest.mark.parametrize("seed", [*range(12), 755, pytest.param(70789, marks=pytest.mark.slow)])
def test_no_mapping_costs_less_where_there_are_two_arrays(seed: int) -> None:
    layer, machine, text, random = two_arrays(seed)
    least, objective = Least(layer, narrowed(machine, layer)), parse_objective(text)
    if layer.operations > 3000:
        return
    try:
        keeps = list(keep_choices(layer, least.architecture))
    except tw.NoMappingError:
        return
    random.shuffle(keeps)
    for keep in keeps[:3]:
        search = Search(layer, machine, text)
        found = search.solve(plans=search.plans([keep]))
        if found.mapping is not None:
            bounds = objective.values(*least.cost(keep)).min(), least_apart(least, keep, objective)
            assert max(bounds) <= found.value * (1 + 1e-9), keep


@settings(max_examples=100, deadline=None)
@given(cases())
def test_no_mapping_costs_less(case: tuple[Layer, Architecture, tw.Mapping]) -> None:
    layer, machine, mapping = case
    least = Least(layer, machine)
    stores = [node for node in mapping.nodes if isinstance(node, Store)]
    keep = tuple(
        tuple(
            m
            for m, memory in enumerate(machine.memories)
            if any(s.memory == memory.name and tensor.name in s.tensors for s in stores)
        )
        for tensor in layer.tensors
    )
    cost = evaluate(layer, machine, mapping)
    regular = is_regular(loops_of(mapping), layer)
    for text in OBJECTIVES:
        objective = parse_objective(text)
        value = objective.value(cost.energy_pj, float(cost.cycles))
        assert least_apart(least, keep, objective) <= value * (1 + 1e-9) + 1e-12
        if regular:
            assert least_below(least, keep, objective, value) <= value * (1 + 1e-9) + 1e-12


@pytest.mark.long
@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    ("expression", "bounds", "machine", "objective"),
    [
        (MATMUL, {"M": 127, "N": 131, "K": 61}, "simple", "edp"),
        (MATMUL, {"M": 127, "N": 131, "K": 61}, "simple", "energy"),
        (MATMUL, {"M": 2048, "N": 11008, "K": 4096}, "simple", "edp"),
        (POINTWISE, {"K": 1024, "C": 256, "P": 14, "Q": 14}, "eyeriss", "edp"),
        (POINTWISE, {"K": 64, "C": 256, "P": 56, "Q": 56}, "eyeriss", "edp"),
        (POINTWISE, {"K": 256, "C": 1024, "P": 14, "Q": 14}, "eyeriss", "edp"),
        (STRIDED, {"K": 512, "C": 512, "P": 7, "Q": 7, "R": 3, "S": 3}, "eyeriss", "edp"),
        (STRIDED, {"K": 256, "C": 256, "P": 14, "Q": 14, "R": 3, "S": 3}, "eyeriss", "edp"),
        (CONV, {"K": 64, "C": 64, "P": 13, "Q": 13, "R": 3, "S": 3}, "eyeriss", "edp"),
        (CONV, {"K": 256, "C": 256, "P": 14, "Q": 14, "R": 3, "S": 3}, "eyeriss", "edp"),
    ],
)
def test_no_regular_mapping_of_awkward_layers_is_better(
    expression: str, bounds: dict[str, int], machine: str, objective: str
) -> None:
    layer = tw.einsum(expression, **bounds)
    found = tw.map(layer, machine, objective, cache=False, tiles="all").layers[0]
    assert found.proof.optimal
    assert found.proof.lower_bound_irregular <= found.proof.value == found.proof.lower_bound


def test_inner_tiles_are_all_that_fit() -> None:
    layer = tw.einsum(MATMUL, M=6, N=5, K=7)
    machine = tw.load_architecture("eyeriss")
    least = Least(layer, machine)
    found = nest(least, ((0, 2), (0, 2), (0, 2)))
    assert found is not None
    tiles = inner_tiles(found, 10_000)
    which, sizes = tiles.which, tiles.sizes
    rows = set(zip(which.tolist(), map(tuple, sizes.tolist()), strict=True))
    assert len(rows) == len(which)
    # words of I, W and O in the scratchpads; the owner of M is W, of N is I, of K is O
    rooms, owners = (12, 224, 24), {"M": 1, "N": 0, "K": 2}
    expected = set()
    for o, order in enumerate(permutations(range(3))):
        for size in product(range(1, 7), range(1, 6), range(1, 8)):
            spans = dict(zip("MNK", size, strict=True))
            if spans[next(d for d, t in owners.items() if t == order[0])] > 1:
                continue
            tiles = [
                np.prod([
                    spans[d] if order.index(owners[d]) > i else 1
                    for d in layer.tensors[t].dimensions
                ])
                for i, t in enumerate(order)
            ]  # fmt: skip
            if all(words <= rooms[t] for words, t in zip(tiles, order, strict=True)):
                expected.add((o, size))
    assert rows == expected


def test_spatial_choices_cover_every_one() -> None:
    layer = tw.einsum(MATMUL, M=5, N=3, K=40)
    machine = tw.load_architecture("eyeriss")
    found = spatial_choices(Least(layer, machine))
    assert found is not None
    choices = set(map(tuple, found[0].tolist()))
    first, second = machine.arrays[0].axes.values()
    ways = [way for way in product(range(1, 6), range(1, 4), range(1, 41)) if np.prod(way) <= 14]
    possible = {
        tuple(np.minimum(np.array(a) * np.array(b), [5, 3, 40]).tolist())
        for a in ways
        for b in ways
        if np.prod(a) <= first and np.prod(b) <= second
    }
    assert possible <= choices
    lower = {tuple(np.maximum(np.array(way) - 1, 1).tolist()) for way in choices}
    assert lower <= choices


def test_too_many_spatial_choices_leave_the_bound_that_is_known() -> None:
    """A square array of 65,536 elements that may unroll anything has millions of choices."""
    layer = tw.conv2d(K=256, C=256, P=56, Q=56, R=3, S=3)
    machine = tw.load_architecture("simple")
    wide = tuple(
        replace(level, axes={"X": 256, "Y": 256}) if isinstance(level, Array) else level
        for level in machine.levels
    )
    least = Least(layer, replace(machine, levels=wide))
    assert spatial_choices(least) is None
    keep = next(keep_choices(layer, least.architecture))
    assert tightened(least, [(5.0, keep)], parse_objective("energy"), 1e12, never) == (5.0, [])


def test_spatial_choices_are_looked_at_some_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """A bound is the same then, and one that is ended says nothing."""
    layer = tw.einsum(POINTWISE, K=12, C=9, P=7, Q=7)
    least, objective = Least(layer, tw.load_architecture("eyeriss")), parse_objective("energy")
    known = [(float(objective.values(*cost).min()), keep) for keep, *cost in least.all_costs()]
    bound, tiles = tightened(least, known, objective, 1e12, never)
    assert tiles
    monkeypatch.setattr(regular_bound, "AT_A_TIME", 1)
    assert tightened(least, known, objective, 1e12, never) == (bound, tiles)
    asked = iter([False] * 3)  # whether to end, before the first choices have been looked at
    ended = tightened(least, known, objective, 1e12, lambda: next(asked, True))
    assert ended == (min(value for value, _ in known), [])


def test_promising_tiles_become_mappings() -> None:
    layer = tw.einsum(POINTWISE, K=64, C=256, P=56, Q=56)
    machine = tw.load_architecture("eyeriss")
    least, objective = Least(layer, machine), parse_objective("edp")
    known = [(float(objective.values(*cost).min()), keep) for keep, *cost in least.all_costs()]
    bound, tiles = tightened(least, known, objective, 1.7e14, never)
    assert bound > min(value for value, _ in known)
    assert tiles
    made = 0
    for own in tiles:
        assert own.value >= bound
        for mapping in mappings_of(own, layer, machine):
            try:
                check(mapping, layer, machine)
            except MappingError:
                continue
            cost = evaluate(layer, machine, mapping)
            assert objective.value(cost.energy_pj, float(cost.cycles)) >= own.value * (1 - 1e-12)
            spatial = {n.dimension for n in mapping.nodes if isinstance(n, Spatial)}
            assert spatial <= {d for d, n in own.instances.items() if n > 1}
            made += 1
    assert made


def test_tiles_are_rounded_to_whole_chunks() -> None:
    assert whole_chunks(100, 30, 8) == 32  # four chunks, as with 30
    assert whole_chunks(100, 33, 8) == 33  # of 40 there would be three
    assert whole_chunks(61, 61, 7) == 61


def test_factors_on_axes_cover_instances() -> None:
    assert covers((3, 7), 21)
    assert covers((2, 7), 13)
    assert not covers((2, 8), 13)  # 7 would do
    assert not covers((2, 6), 13)

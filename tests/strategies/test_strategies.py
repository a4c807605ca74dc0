"""Other strategies: what they report is what `evaluate` says, and never below the optimum."""

from __future__ import annotations

from dataclasses import replace
from itertools import count, cycle, groupby, islice, permutations, product
from math import inf, isclose, prod

import numpy as np
import pytest

from problems import problem
from small import PRODUCT, WINDOW, small_machine
from strategies import EINSUMS, dimensions_of, layer_of
from tilewright.architecture.machine import Architecture, Compute, Constraint, Memory
from tilewright.errors import InputError, MappingError
from tilewright.kernels.types import Ints
from tilewright.mapper.problem.lattice import divisors
from tilewright.mapping.nodes import For, Mapping, Node, Spatial, Store
from tilewright.mapping.validity import check
from tilewright.model.batch import evaluate_batch
from tilewright.model.closed_form.traffic import with_tiles
from tilewright.model.evaluate import evaluate
from tilewright.strategies.candidates.canonical import (
    canonical_order,
    canonical_orders,
    without_idle_loops,
)
from tilewright.strategies.candidates.identity import identities
from tilewright.strategies.candidates.seen import Seen
from tilewright.strategies.candidates.structures import random_structure
from tilewright.strategies.candidates.tilings import cuts, random_tiles
from tilewright.strategies.catalogue import chosen, strategy
from tilewright.strategies.optimum import optimum
from tilewright.strategies.searches.dmazerunner import DMazeRunner
from tilewright.strategies.searches.encoding import Encoding
from tilewright.strategies.searches.pruned import Pruned
from tilewright.strategies.searches.sampling import Random
from tilewright.strategies.steps import Problem, Step, Strategy, tried
from tilewright.workload.einsum import einsum
from tilewright.workload.layer import Layer

EACH_ONCE = [
    pytest.param(seed, objective, marks=[] if (seed - i) % 3 == 0 else pytest.mark.slow)
    for seed in range(12)
    for i, objective in enumerate(("energy", "latency", "edp"))
]


def able(task: Problem) -> dict[str, Strategy]:
    """Return all strategies that cover a problem, with their whole space."""
    found = {"random": Random(rows=50), "pruned": Pruned(rows=50)}
    for text in ("dmazerunner:opt=", "dmazerunner", "blackbox"):
        try:
            chosen([text], task)
        except InputError:
            continue
        found[text] = strategy(text)
    return found


@pytest.mark.long
@pytest.mark.sampled(4)
@pytest.mark.parametrize(("seed", "objective"), EACH_ONCE)
def test_values_are_those_of_evaluate_and_never_below_the_optimum(
    seed: int, objective: str
) -> None:
    layer, machine = problem(seed)
    if seed % 3 == 0:
        machine = small_machine(4 + seed)
    task = Problem(layer, machine, objective)
    least = optimum(task)
    assert least.proven
    for name, way in able(task).items():
        for step in islice(way.steps(task, seed), 25):
            if step.mapping is None:
                assert step.value == inf
                continue
            cost = evaluate(layer, machine, step.mapping)
            worth = {"energy": cost.energy_pj, "latency": cost.cycles, "edp": cost.edp_pj_cycles}
            assert isclose(worth[objective], step.value, rel_tol=1e-9), name
            assert step.value >= least.value * (1 - 1e-9), (name, step.mapping)


@pytest.mark.parametrize("text", ["random", "pruned", "dmazerunner", "blackbox"])
def test_the_same_seed_gives_the_same_steps(text: str) -> None:
    if text == "blackbox":
        pytest.importorskip("cma")
    task = Problem(WINDOW, small_machine(12), "edp")
    way = strategy(text)
    runs = [list(islice(way.steps(task, seed), 8)) for seed in (1, 1, 2)]
    assert runs[0] == runs[1]
    assert (runs[0] == runs[2]) == (text == "dmazerunner")


@pytest.mark.parametrize("layer", [PRODUCT, WINDOW], ids=["product", "window"])
@pytest.mark.parametrize("text", ["random", "pruned", "dmazerunner:opt=", "blackbox"])
def test_the_optimum_of_a_tiny_problem_is_reached(layer: Layer, text: str) -> None:
    if text == "blackbox":
        pytest.importorskip("cma")
    # where all memories keep all tensors and have room, the best mapping is an even one
    task = Problem(layer, small_machine(1000, 1000, kept="IWO"), "energy")
    least = optimum(task).value
    steps = islice(strategy(text).steps(task, 0), 400)
    assert any(isclose(step.value, least, rel_tol=1e-9) for step in steps)


# --- random structures and tile sizes ------------------------------------------------------------


@pytest.mark.parametrize("fewest", [1, 2])
@pytest.mark.parametrize("bound", [1, 7, 12, 36])
@pytest.mark.parametrize("loops", [1, 2, 3])
def test_every_way_to_cut_a_dimension_is_drawn_about_as_often(
    bound: int, loops: int, fewest: int
) -> None:
    factors = [f for f in divisors(bound) if f >= fewest]
    ways = {c for c in product(factors, repeat=loops) if bound % prod(c) == 0}
    tables = cuts(bound, loops, fewest)
    rows = 300 * max(1, len(ways))
    extents = np.full(rows, len(tables.divisors) - 1)
    drawn = tables.draw(extents, np.random.default_rng(0))
    found, counts = np.unique(drawn, axis=0, return_counts=True)
    if not ways:
        assert not found.all(axis=1).any()
        return
    assert {tuple(row) for row in found.tolist()} == ways
    assert counts.min() > 200
    assert counts.max() < 400


@pytest.mark.sampled(12)
@pytest.mark.parametrize("seed", range(30))
@pytest.mark.parametrize("fewest", [1, 2])
def test_drawn_tiles_divide_and_fit_the_axes(seed: int, fewest: int) -> None:
    layer, machine = problem(seed)
    rng = np.random.default_rng(seed)
    structure = random_structure(layer, machine, rng)
    loops = [node for node in structure.nodes if not isinstance(node, Store)]
    tiles = random_tiles(layer, machine, structure, 40, rng, fewest)
    assert len(tiles) == 40 or fewest == 2
    for row in tiles.tolist():
        extents = dict(layer.bounds)
        used: dict[tuple[str, str], int] = {}
        for loop, tile in zip(loops, row, strict=True):
            assert extents[loop.dimension] % tile == 0
            chunks = extents[loop.dimension] // tile
            assert chunks >= fewest
            extents[loop.dimension] = tile
            if isinstance(loop, Spatial):
                place = (loop.array, loop.axis)
                used[place] = used.get(place, 1) * chunks
        for array in machine.arrays:
            for axis, size in array.axes.items():
                assert used.get((array.name, axis), 1) <= size


def test_structures_obey_the_machine() -> None:
    only_k = Constraint("PE", "X", frozenset({"K"}))
    machine = replace(small_machine(1000, 1000, kept="W"), constraints=(only_k,))
    rng = np.random.default_rng(0)
    for _ in range(200):
        structure = random_structure(PRODUCT, machine, rng)
        tiles = random_tiles(PRODUCT, machine, structure, 1, rng)
        check(with_tiles(structure, tiles[0].tolist()), PRODUCT, machine)


# --- pruning -------------------------------------------------------------------------------------


def reordered(
    structure: Mapping, layer: Layer, rng: np.random.Generator
) -> tuple[Mapping, list[int]]:
    """Draw another order of neighbouring loops with the same canonical form, and its columns."""
    nodes: list[Node] = []
    order: list[int] = []
    columns = count()
    for kind, group in groupby(structure.nodes, type):
        block = list(group)
        if kind is Store:
            nodes += block
            continue
        numbered = [(loop, next(columns)) for loop in block]
        names = tuple(loop.dimension for loop in block)
        if kind is For and len(set(names)) == len(names):
            form = canonical_order(names, layer)
            same = [
                each
                for each in permutations(numbered)
                if canonical_order(tuple(loop.dimension for loop, _ in each), layer) == form
            ]
            numbered = list(same[rng.integers(len(same))])
        nodes += [loop for loop, _ in numbered]
        order += [column for _, column in numbered]
    return Mapping(tuple(nodes)), order


@pytest.mark.sampled(24)
@pytest.mark.parametrize("seed", range(120))
def test_orders_with_one_canonical_form_cost_the_same_and_are_one_mapping(seed: int) -> None:
    rng = np.random.default_rng(seed)
    # memories that are large enough for every tile
    kind = list(EINSUMS)[seed % len(EINSUMS)]
    layer = layer_of(
        kind,
        dict(zip(dimensions_of(kind), cycle((4, 6, 2, 8)), strict=False)),
        a=1 + seed // 10 % 2,
    )
    machine = small_machine(10**6, 10**6)
    drawn = random_structure(layer, machine, rng)
    row = random_tiles(layer, machine, drawn, 1, rng)[0].tolist()
    # of each structure the loops that some mapping has
    structure = without_idle_loops(with_tiles(drawn, row), layer, machine)
    tiles = random_tiles(layer, machine, structure, 60, rng, fewest=2)
    moved, order = reordered(structure, layer, rng)
    again = tiles_of(layer, moved, chunks_of(layer, structure, tiles)[:, order])
    one = evaluate_batch(layer, machine, structure, tiles)
    other = evaluate_batch(layer, machine, moved, again)
    assert one.valid.all()
    assert other.valid.all()
    np.testing.assert_allclose(one.energy_pj, other.energy_pj, rtol=1e-12)
    np.testing.assert_allclose(one.cycles, other.cycles, rtol=1e-12)
    np.testing.assert_array_equal(
        identities(layer, structure, tiles, False), identities(layer, moved, again, False)
    )


def chunks_of(layer: Layer, structure: Mapping, tiles: Ints) -> Ints:
    extents = {d: np.full(len(tiles), bound) for d, bound in layer.bounds.items()}
    chunks = np.empty_like(tiles)
    loops = [node for node in structure.nodes if not isinstance(node, Store)]
    for i, loop in enumerate(loops):
        chunks[:, i] = extents[loop.dimension] // tiles[:, i]
        extents[loop.dimension] = tiles[:, i]
    return chunks


def tiles_of(layer: Layer, structure: Mapping, chunks: Ints) -> Ints:
    extents = {d: np.full(len(chunks), bound) for d, bound in layer.bounds.items()}
    tiles = np.empty_like(chunks)
    loops = [node for node in structure.nodes if not isinstance(node, Store)]
    for i, loop in enumerate(loops):
        extents[loop.dimension] = extents[loop.dimension] // chunks[:, i]
        tiles[:, i] = extents[loop.dimension]
    return tiles


def test_different_mappings_have_different_identities() -> None:
    nodes = [
        Store("DRAM", ("I", "W", "O")), For("M", 1), For("N", 1), Store("SPM", ("I",)), For("K", 1),
    ]  # fmt: skip
    structure = Mapping(tuple(nodes))
    tiles = np.array(list(product(divisors(4), divisors(3), divisors(4))))
    own = identities(PRODUCT, structure, tiles, False)
    assert len(np.unique(own)) == len(tiles)
    swapped = Mapping((nodes[0], nodes[2], nodes[1], *nodes[3:]))
    other = identities(PRODUCT, swapped, tiles[:, [1, 0, 2]], False)
    # I stays over N, so that the order of M and N matters where both loop, and only there
    both = (tiles[:, 0] < 4) & (tiles[:, 1] < 3)
    np.testing.assert_array_equal(own != other, both)
    elsewhere = Mapping((*nodes[:3], Store("SPM", ("W",)), nodes[4]))
    assert not np.isin(identities(PRODUCT, elsewhere, tiles, False), own).any()


def test_loops_with_the_same_reuse_have_one_order() -> None:
    layer = einsum(
        "O[N,K,P,Q] += I[N,C,P,Q] * W[K,C]", N=2, K=2, C=2, P=2, Q=2,
    )  # fmt: skip
    # {K}, the subsets of {N, P, Q}, {C}
    assert len(canonical_orders(frozenset("NKCPQ"), layer)) == 9


def test_nothing_is_tried_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    machine = small_machine(1000, 1000, kept="IWO")
    task = Problem(einsum("O[M] += I[M,K] * W[K]", M=2, K=2), machine, "edp")
    once: list[Mapping] = []

    def noted(task: Problem, structure: Mapping, tiles: Ints) -> Step:
        written = [with_tiles(structure, row) for row in tiles.tolist()]
        once.extend(without_idle_loops(m, task.layer, machine) for m in written)
        return tried(task, structure, tiles)

    monkeypatch.setattr("tilewright.strategies.searches.pruned.tried", noted)
    drawn = list(islice(Pruned(rows=50).steps(task, 0), 60))
    assert len(once) == sum(step.evaluated for step in drawn) > 100
    assert len(set(once)) == len(once)


def test_numbers_are_new_once() -> None:
    rng = np.random.default_rng(0)
    drawn = rng.integers(1, 5000, 20000).astype(np.uint64)
    seen, before = Seen(), set()
    for part in np.split(drawn, 20):
        expected = []
        for number in part.tolist():
            expected.append(number not in before)
            before.add(number)
        assert seen.add(part).tolist() == expected


def test_victory_ends_a_search() -> None:
    task = Problem(WINDOW, small_machine(50, 500), "edp")
    steps = list(Pruned(rows=20, victory=500).steps(task, 0))
    best = np.minimum.accumulate([step.value for step in steps])
    last = int(np.argmin(best))
    assert sum(step.valid for step in steps[last + 1 :]) >= 500
    assert sum(step.valid for step in steps[last + 1 : -1]) < 500


# --- black box -----------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(20))
def test_every_vector_is_a_mapping_but_for_capacities(seed: int) -> None:
    layer, machine = problem(seed)
    encoding = Encoding(layer, machine)
    rng = np.random.default_rng(seed)
    for spread in (0.0, 1.0, 5.0):
        mapping = encoding.decode(rng.normal(0.0, spread, encoding.length))
        try:
            check(mapping, layer, machine)
        except MappingError as failure:
            assert "the tiles in" in failure.message


# --- options -------------------------------------------------------------------------------------


def test_options_are_read_from_text() -> None:
    assert strategy("pruned:victory=9,rows=3") == Pruned(rows=3, victory=9)
    assert strategy("dmazerunner:opt=13,elements=0.5") == DMazeRunner(("1", "3"), elements=0.5)
    assert strategy("dmazerunner:opt=") == DMazeRunner(())


@pytest.mark.parametrize(
    "text", ["random:rows=0", "pruned:victory=0", "dmazerunner:opt=5", "dmazerunner:elements=2"]
)
def test_options_out_of_range_are_refused(text: str) -> None:
    with pytest.raises(InputError, match="strategy"):
        chosen([text], Problem(PRODUCT, small_machine(), "edp"))


def test_without_names_all_that_can_run_are_chosen() -> None:
    covered = chosen(None, Problem(PRODUCT, small_machine(), "edp"))
    assert list(covered)[:3] == ["random", "pruned", "dmazerunner"]
    flat = Architecture("flat", (Memory("DRAM", 16), Compute("MAC")))
    assert "dmazerunner" not in chosen(None, Problem(PRODUCT, flat, "edp"))


def test_a_strategy_that_finds_nothing_says_so() -> None:
    task = Problem(PRODUCT, small_machine(2, 2, kept="IWO"), "edp")
    assert list(islice(Random(rows=5).steps(task, 0), 3)) == [Step(5), Step(5), Step(5)]

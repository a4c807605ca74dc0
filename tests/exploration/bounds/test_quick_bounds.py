"""Bounds without a search are never above what a search finds, on machines of many kinds."""

from __future__ import annotations

from dataclasses import replace
from random import Random

import numpy as np
import pytest

from tilewright import map as best_mapping
from tilewright.document import parse
from tilewright.errors import NoMappingError
from tilewright.exploration import Box, Space, explore, parse_space
from tilewright.exploration.bounds.quick import QuickBounds, Solved
from tilewright.exploration.bounds.totals import Corners, Runs, least_product
from tilewright.exploration.designs.cutting import only_bandwidths
from tilewright.exploration.designs.numbers import Numbers
from tilewright.exploration.proof.front import ROUNDING as FRONT_ROUNDING
from tilewright.exploration.proof.solver import Solver
from tilewright.exploration.proof.store import Store
from tilewright.model.energy import area
from tilewright.workload.layer import Layer, Network
from tilewright.workload.operators import conv1d, conv2d, matmul

ROUNDING = 1e-9
PARAMETERS = """
  columns: [1, 2, 3, 4]
  rows: [2, 3]
  glb: [24 B, 48 B, 96 B, 200 B]
  rf: [2 B, 4 B, 8 B, 16 B]
  other: [2 B, 6 B, 12 B]
  speed: [1, 2, 4]
  leak: [0, 0.1]
"""
D = "{memory: D, word: 16 bits, bandwidth: $speed, energy: 60}"
GLB = "{memory: B, word: 16 bits, size: $glb, bandwidth: $columns, leakage: $leak}"
PE = "{array: PE, axes: {X: $columns, Y: $rows}, network: {energy: 0.1}}"
NO_NETWORK = "{array: PE, axes: {X: $columns}, network: {multicast: false, bandwidth: $speed}}"
NO_SUMS = "{array: PE, axes: {X: $columns}, network: {reduction: false}}"
ROWS = "{array: ROWS, axes: {X: $rows}, network: {energy: 0.3}}"
RF = "{memory: R, word: 16 bits, size: $rf}"
WEIGHTS = "{memory: RW, word: 16 bits, size: $rf, keep: [weight]}"
SUMS = "{memory: RO, word: 16 bits, size: $other, keep: [output]}"
INNER = "{memory: R0, word: 16 bits, size: $other, must_keep: [output]}"
MACHINES = {
    "one memory in each element": (D, GLB, PE, RF),
    "two register files": (D, GLB, PE, WEIGHTS, SUMS),
    "two memories in each element": (D, GLB, PE, RF, INNER),
    "two arrays": (D, GLB, ROWS, RF, "{array: PE, axes: {X: $columns}}"),
    "memories between arrays": (D, ROWS, GLB, "{array: PE, axes: {X: $columns}}", RF),
    "no multicast": (D, GLB, NO_NETWORK, RF),
    "no reduction": (D, GLB, NO_SUMS, RF),
    "two memories above": (D, "{memory: L2, word: 16 bits, size: $glb}", INNER, PE, WEIGHTS),
    "no array": (D, GLB, RF),
}
LAYERS = (
    matmul(M=4, N=6, K=4, name="m"),
    conv1d(K=2, C=3, P=6, R=3, name="c"),
    conv2d(K=4, C=2, P=4, Q=2, R=2, S=2, name="d"),
    matmul(M=1, N=12, K=4, name="v"),
)


def space(kind: str) -> Space:
    levels = ", ".join((*MACHINES[kind], "{compute: M, energy: 1}"))
    text = f"name: s\nparameters:{PARAMETERS}machine:\n  technology: interstellar-28nm\n"
    return parse_space(parse(f"{text}  levels: [{levels}]\n", "space.yaml"))


def solved(layer: Layer, drawn: Space, index: int, objective: str) -> tuple[float, float] | None:
    try:
        found = best_mapping(
            replace(layer, repeat=1), drawn.design(index), objective, tiles="divisors",
            workers=1, cache=False,
        )  # fmt: skip
    except NoMappingError:
        return None
    return found.energy_pj, found.cycles / drawn.design(index).clock_hz


@pytest.mark.sampled(3)
@pytest.mark.parametrize("kind", MACHINES)
@pytest.mark.parametrize(
    "seed", [*range(1), *(pytest.param(s, marks=pytest.mark.slow) for s in range(1, 3))]
)
def test_bounds_of_boxes_are_below_every_optimum(kind: str, seed: int) -> None:
    random = Random(f"{kind} {seed}")
    drawn, layer = space(kind), random.choice(LAYERS)
    quick = QuickBounds(drawn, [layer], energy=bool(seed % 2))
    for _ in range(4):
        index = random.randrange(len(drawn))
        # a box around the design
        ranges = [
            (random.randint(0, i), random.randint(i + 1, len(p.values)))
            for i, p in zip(drawn.indices(index), drawn.parameters, strict=True)
        ]
        for box in (Box(tuple(ranges)), Box(tuple((i, i + 1) for i in drawn.indices(index)))):
            row = quick.numbers.of(box)
            assert row is not None
            floors, corners = quick.floors(row, lambda _: False)
            for objective, own in (("energy", 0), ("latency", 1), ("edp", 2)):
                best = solved(layer, drawn, index, objective)
                if best is None:
                    continue
                value = (best[0], best[1], best[0] * best[1])[own]
                assert floors[0, own] <= value * (1 + ROUNDING)
                assert corners is not None
                assert above_some_corner(corners, best)


def above_some_corner(corners: Corners, cost: tuple[float, float]) -> bool:
    """Whether a mapping costs what corners say that every mapping does."""
    triples = corners.triples[0, : corners.filled[0]]
    own = np.array([*cost, cost[0] * cost[1]])
    low = (triples <= own * (1 + ROUNDING)).all(axis=1).any()
    return bool(low) or cost[0] * cost[1] * (1 + ROUNDING) >= corners.others[0]


@pytest.mark.sampled(4)
@pytest.mark.parametrize("layer", LAYERS, ids=lambda layer: layer.name)
@pytest.mark.parametrize("kind", MACHINES)
def test_bounds_do_not_depend_on_what_was_asked_before(kind: str, layer: Layer) -> None:
    random, drawn = Random(f"{kind} {layer.name}"), space(kind)
    used = QuickBounds(drawn, [layer], energy=True)
    boxes = []
    for _ in range(8):
        ranges = [sorted(random.sample(range(len(p.values) + 1), 2)) for p in drawn.parameters]
        boxes.append(Box(tuple((a, b) for a, b in ranges)))
    for box in boxes:
        row = used.numbers.of(box)
        assert row is not None
        used.floors(row, lambda _: False)
    for box in boxes[:2]:
        row = used.numbers.of(box)
        assert row is not None
        fresh = QuickBounds(drawn, [layer], energy=True).floors(row, lambda _: False)[0]
        assert used.floors(row, lambda _: False)[0] == pytest.approx(fresh, rel=1e-12)


@pytest.mark.parametrize("kind", ["one memory in each element", "two register files", "no array"])
def test_bounds_are_close_where_nothing_slides(kind: str) -> None:
    random, drawn, layer = Random(kind), space(kind), LAYERS[0]
    quick = QuickBounds(drawn, [layer], energy=True)
    shares = []
    for _ in range(6):
        index = random.randrange(len(drawn))
        row = quick.numbers.of(Box(tuple((i, i + 1) for i in drawn.indices(index))))
        best = solved(layer, drawn, index, "edp")
        assert row is not None
        if best is not None:
            shares.append(quick.floors(row, lambda _: False)[0][0, 2] / (best[0] * best[1]))
    assert max(shares, default=1.0) > 0.6, shares


@pytest.mark.parametrize("seed", range(20))
def test_products_of_sums_are_above_their_bounds(seed: int) -> None:
    random = np.random.default_rng(seed)
    layers = 3
    weights = random.integers(1, 4, layers).astype(float)
    every = [random.uniform(1, 10, (6, 2)) for _ in range(layers)]
    floors = np.array([[m[:, 0].min(), m[:, 1].min(), m.prod(axis=1).min()] for m in every])
    triples = np.zeros((layers, 8, 3))
    for i, mappings in enumerate(every):
        triples[i, :6, :2] = mappings
        triples[i, :6, 2] = mappings.prod(axis=1)
    corners = Corners(triples, np.full(layers, 6), floors[:, 2] * 100)
    totals = np.array(
        [
            weights @ np.array([m[k] for m, k in zip(every, choice, strict=True)])
            for choice in np.ndindex(6, 6, 6)
        ]
    )
    least = totals.prod(axis=1).min()
    rough = least_product(floors, weights)
    close = Runs([1.0], [weights.astype(int).tolist()], False).least(floors, corners)["edp"]
    assert rough <= least * (1 + ROUNDING)
    assert rough * (1 - ROUNDING) <= close <= least * (1 + ROUNDING)
    assert close >= least * (1 - 5e-4)


@pytest.mark.parametrize("seed", range(20))
def test_the_bound_of_one_choice_for_each_layer_is_its_cost(seed: int) -> None:
    random = np.random.default_rng(seed)
    layers = int(random.integers(1, 30))
    weights = random.integers(1, 9, layers)
    costs = random.uniform([1, 1], [1.3, 1.3], (layers, 2)) * random.uniform(1, 9, (layers, 1))
    triples = np.zeros((layers, 4, 3))
    triples[:, 0, :2], triples[:, 0, 2] = costs, costs.prod(axis=1)
    # some others of more energy and less time, or of a product far above that of both
    triples[:, 1] = triples[:, 0] * (1.2, 0.95, 1.2 * 0.95)
    triples[:, 2] = triples[:, 0] * (0.9, 0.9, 1.3)
    floors = triples[:, :3].min(axis=1)
    corners = Corners(triples, np.full(layers, 3), floors[:, 2] * 1.5)
    energy, time = weights @ costs
    found = Runs([1.0], [weights.tolist()], False).least(floors, corners)["edp"]
    assert found <= energy * time
    assert found * (1 + FRONT_ROUNDING) >= energy * time


@pytest.mark.long
@pytest.mark.sampled(1)
@pytest.mark.parametrize("kind", ["two register files", "two arrays", "no reduction"])
def test_the_front_of_machines_of_many_kinds_is_that_of_solving_all(kind: str) -> None:
    random, whole = Random(kind), space(kind)
    kept = tuple(
        replace(p, values=tuple(random.sample(p.values, min(2, len(p.values)))))
        for p in whole.parameters
    )
    small = replace(whole, parameters=kept)
    network = Network("n", (replace(LAYERS[1], repeat=2), LAYERS[0]))
    found = explore(network, small, axes=["edp"], objective="edp")
    products = []
    for index in range(len(small)):
        costs = [solved(layer, small, index, "edp") for layer in network.layers]
        known = [cost for cost in costs if cost is not None]
        if len(known) == len(costs):
            repeats = np.array([layer.repeat for layer in network.layers])
            energy, time = repeats @ np.array(known)
            products.append(energy * time)
    assert found.optimal
    assert found.front[0].metrics["edp"] == pytest.approx(min(products), rel=1e-9)


@pytest.mark.long
def test_mappings_of_other_machines_are_optima_where_they_reach_the_bound(whole: bool) -> None:
    drawn, layer = space("one memory in each element"), LAYERS[0]
    stored = Store()
    solver = Solver(stored, lambda: False)
    quick = QuickBounds(drawn, [layer], energy=False)
    first = solver.layer(layer, drawn.design(0), "edp")
    assert first is not None
    for index in range(0, len(drawn), 97 if whole else 291):
        machine = drawn.design(index)
        row = quick.numbers.of(Box(tuple((i, i + 1) for i in drawn.indices(index))))
        assert row is not None
        floors, corners = quick.floors(row, lambda _: False)
        assert corners is not None
        pair = corners.only(0, floors[0, 2])
        if pair is None or not solver.match(
            layer, machine, "edp", (pair[0], pair[1] * machine.clock_hz)
        ):
            solver.layer(layer, machine, "edp")
            continue
        best = solved(layer, drawn, index, "edp")
        assert best is not None
        answer = solver.layer(layer, machine, "edp")
        assert answer is not None
        assert answer[0] == pytest.approx(best[0], rel=1e-9)
        assert answer[1] / machine.clock_hz == pytest.approx(best[1], rel=1e-9)
    assert solver.matched > 0


@pytest.mark.parametrize("technology", ["cacti7-45nm", "cacti7-28nm", "cacti7-${node}nm"])
def test_hops_of_a_box_cost_no_more_than_on_its_designs_and_as_much_on_one(technology: str) -> None:
    text = f"""
name: s
parameters: {{columns: [4, 8], rf: [64 B, 256 B], node: ["28", "32", "40"]}}
machine:
  technology: {technology}
  levels:
    - {{memory: D, kind: LPDDR4, word: 16 bits}}
    - {{array: PE, axes: {{X: $columns}}}}
    - {{memory: R, word: 16 bits, size: $rf}}
    - {{compute: M}}
"""
    drawn = parse_space(parse(text, "space.yaml"))
    numbers = Numbers(drawn)
    whole = numbers.of(drawn.whole)
    assert whole is not None
    assert whole.hops[0] > 0.0
    for index in range(len(drawn)):
        (array,) = drawn.design(index).arrays
        own = numbers.of(Box(tuple((i, i + 1) for i in drawn.indices(index))))
        assert own is not None
        assert own.hops[0] == pytest.approx(array.hop_energy, rel=1e-12)
        assert own.area_mm2 == pytest.approx(area(drawn.design(index)), rel=1e-12)
        assert whole.hops[0] <= array.hop_energy


def test_designs_whose_levels_make_no_machine_together_are_told() -> None:
    text = (
        "{name: s, parameters: {x: [2, 2000], y: [2, 2000]}, machine: {levels: [{memory: D, word: "
        "16 bits, energy: 1}, {array: A, axes: {X: $x, Y: $y}}, {compute: M, energy: 1}]}}"
    )
    found = explore(LAYERS[0], parse_space(parse(text, "s.yaml")), axes=["latency", "leakage"])
    assert found.optimal
    assert found.certificate.no_machine <= 1
    decided = found.certificate
    assert decided.solved + decided.excluded_by_bound + decided.no_machine + decided.mirrored == 4


def test_parameters_of_bandwidths_alone_are_told_apart() -> None:
    drawn = space("one memory in each element")
    names = {drawn.parameters[i].name for i in only_bandwidths(drawn)}
    assert names == {"speed"}
    assert not only_bandwidths(space("no multicast"))


@pytest.mark.long
@pytest.mark.sampled(3)
@pytest.mark.parametrize("kind", MACHINES)
@pytest.mark.parametrize(
    "seed", [*range(1), *(pytest.param(s, marks=pytest.mark.slow) for s in range(1, 6))]
)
def test_bounds_that_rest_on_a_better_machine_are_below_every_optimum(kind: str, seed: int) -> None:
    random = Random(f"better {kind} {seed}")
    drawn, layer = space(kind), random.choice(LAYERS)
    quick = QuickBounds(drawn, [layer], energy=True)
    for own, objective in enumerate(("energy", "latency", "edp")):
        index = random.randrange(len(drawn))
        around = [
            (random.randint(0, i), random.randint(i + 1, len(p.values)))
            for i, p in zip(drawn.indices(index), drawn.parameters, strict=True)
        ]
        between = [
            (random.randint(a, i), random.randint(i + 1, b))
            for i, (a, b) in zip(drawn.indices(index), around, strict=True)
        ]
        outer = Box(tuple(around))
        row = quick.numbers.of(outer)
        assert row is not None
        better = Solver(Store(), lambda: False).layer(
            layer, quick.numbers.machine_of(outer, row), objective
        )
        best = solved(layer, drawn, index, objective)
        if better is None or best is None:
            assert best is None
            continue
        known = np.zeros(3)
        known[own] = (better[0], better[1], better[0] * better[1])[own] * (1 - ROUNDING)
        value = (best[0], best[1], best[0] * best[1])[own]
        assert known[own] / (row.clock_hz if own else 1.0) <= value
        # the nearer a machine, the higher its bound
        last = 0.0
        for ranges in (around, between, [(i, i + 1) for i in drawn.indices(index)]):
            inner = quick.numbers.of(Box(tuple(ranges)))
            assert inner is not None
            plain = quick.floors(inner, lambda _: False)[0]
            floors, corners = quick.floors(inner, lambda _: False, [Solved(row, known)])
            assert (floors >= plain * (1 - ROUNDING)).all()
            assert last * (1 - ROUNDING) <= floors[0, own] <= value * (1 + ROUNDING)
            last = floors[0, own]
            assert corners is not None
            assert above_some_corner(corners, best)

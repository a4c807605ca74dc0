"""The bound of all memories together: below every regular mapping, and close to the best one."""

from __future__ import annotations

from itertools import islice
from math import inf
from random import Random

import numpy as np
import pytest

import tilewright as tw
from every_size import every_front, every_nest, is_regular
from tilewright.architecture.machine import Architecture, Array, Compute, Memory
from tilewright.mapper.objective.objective import parse_objective
from tilewright.mapper.problem.bypass_choices import KeepChoice, keep_choices, narrowed
from tilewright.mapper.relaxations.boxes.boxes_left import BoxesLeft, Floors
from tilewright.mapper.relaxations.boxes.halves import halves_of
from tilewright.mapper.relaxations.joint import node
from tilewright.mapper.relaxations.joint.joint_bound import JointBound
from tilewright.mapper.relaxations.joint.window_decisions import WindowDecisions
from tilewright.mapper.relaxations.nests.choices_left import choices_left
from tilewright.mapper.relaxations.nests.regular_bound import tightened
from tilewright.mapper.search.all_sizes.bounds_of_all_sizes import (
    NEARLY,
    RegularBounds,
    box_costs,
    closed_form,
)
from tilewright.mapping.nodes import Spatial
from tilewright.workload.layer import Layer
from two_memories import small_array, two_memories

ENOUGH = 1 << 20
EXPRESSIONS = [
    ("O[M,N] += I[M,K] * W[K,N]", {"M": (1, 2, 3), "N": (2, 3), "K": (2, 3, 5)}),
    ("O[K,P] += I[P+R] * W[K,R]", {"K": (1, 2), "P": (2, 3, 4, 5), "R": (2, 3)}),
    ("O[K,P] += I[2*P+R] * W[K,R]", {"K": (1, 2), "P": (2, 3, 4), "R": (2, 3)}),
    ("O[P] += I[P+R] * W[R]", {"P": (3, 4, 5, 6), "R": (2, 3, 4)}),
    ("O[P] += I[P+2*R] * W[R]", {"P": (3, 4, 5), "R": (2, 3, 4)}),
    ("O[P,Q] += I[P+R,Q+S] * W[R,S]", {"P": (2, 3), "Q": (2,), "R": (2,), "S": (2,)}),
    ("O[P+R] += I[P] * W[R]", {"P": (2, 3, 4), "R": (2, 3)}),
]


def problem(random: Random) -> tuple[Layer, Architecture]:
    """Return a tiny layer, and a machine of three memories with one array or two."""
    expression, choices = random.choice(EXPRESSIONS)
    layer = tw.einsum(expression, **{d: random.choice(own) for d, own in choices.items()})
    levels = two_memories(random)
    places = sorted(random.sample([1, 2, 3], random.choice([1, 1, 2])))
    for name, at in zip("AB", places, strict=False):
        levels.insert(at + len(levels) - 3, small_array(name, random))
    leakage = random.choice([0.0, 0.0, 5.0])
    return layer, Architecture("tiny", (*levels, Compute("MAC", leakage=leakage)))


def bounded(
    layer: Layer,
    machine: Architecture,
    objective: str,
    ceiling: float,
    most: int = ENOUGH,
    boxed: bool = False,
) -> JointBound:
    """Return the bound of everything below a ceiling, perhaps of what other bounds leave."""
    machine, goal = narrowed(machine, layer), parse_objective(objective)
    if boxed:
        boxes = closed_form(layer, machine, goal)
        boxes.lower(ceiling, lambda: False)
        every = boxes.costs.at(boxes.costs.boxes(1))
        joint = JointBound(every, boxes.halves, boxes.keeps(), goal, BoxesLeft(boxes))
        joint.lower(ceiling, lambda: False, most)
        return joint
    costs = box_costs(layer, machine)
    keeps: list[tuple[float, KeepChoice]] = [(0.0, own) for own in keep_choices(layer, machine)]
    joint = JointBound(costs.at(costs.boxes(1)), costs.halves, keeps, goal)
    joint.lower(ceiling, lambda: False, most)
    return joint


def of_choices(
    layer: Layer, machine: Architecture, objective: str, ceiling: float
) -> RegularBounds | None:
    """Return the bound that begins with single spatial choices, if these are known."""
    machine, goal = narrowed(machine, layer), parse_objective(objective)
    boxes = closed_form(layer, machine, goal)
    boxes.lower(ceiling, lambda: False)
    bounds = RegularBounds(boxes, goal)
    bounds.begin_with_choices(NEARLY * ceiling, ceiling, lambda: False)
    if not bounds.is_last:
        return None
    bounds.lower_jointly(ceiling, lambda: False, ENOUGH)
    return bounds


def compare(seed: int, most: int) -> float | None:
    """Compare the bound with all regular mappings that use all arrays, if there are not too many.

    Return how much of the best value it is.
    """
    layer, machine = problem(Random(seed))
    arrays = {array.name for array in machine.arrays}
    nests = list(islice(every_nest(layer, machine), most + 1))
    used = [
        nest
        for nest in nests
        if is_regular(nest, layer)
        and {loop.array for loop in nest if isinstance(loop, Spatial)} == arrays
    ]
    if len(nests) > most or not used:
        return None
    front = every_front(layer, machine, used)
    if len(front) == 0:
        return None
    shares = []
    for text in ("energy", "edp", "latency", "energy*latency^0.5"):
        best = float(parse_objective(text).values(front[:, 0], front[:, 1]).min())
        joint = bounded(layer, machine, text, 1.3 * best)
        assert joint.bound <= best * (1 + 1e-9)
        left = bounded(layer, machine, text, 1.3 * best, boxed=True)
        assert left.bound <= best * (1 + 1e-9)
        # extents that differ by less than a thousandth are not told apart
        assert joint.bound * (1 - 1e-3) <= left.bound
        if chosen := of_choices(layer, machine, text, 1.3 * best):
            assert chosen.bound <= best * (1 + 1e-9)
        shares.append(joint.bound / best)
    return min(shares)


@pytest.mark.long
def test_no_regular_mapping_costs_less(whole: bool) -> None:
    found = [compare(seed, 300) for seed in range(200 if whole else 40)]
    shares = [share for share in found if share is not None]
    assert len(shares) > (20 if whole else 4)
    assert sum(shares) > 0.85 * len(shares)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(200, 1200))
def test_no_regular_mapping_of_many_machines_costs_less(seed: int) -> None:
    compare(seed, 2000)


def test_a_tile_may_come_back_to_the_words_that_it_has() -> None:
    """A step of R takes the tile to the word that the last step of P has left there."""
    layer = tw.einsum("O[K,P] += I[P+R] * W[K,R]", K=2, P=2, R=3)
    levels = (
        Memory("DRAM", 8, read_energy=32.0, write_energy=16.0),
        Array("A", {"X": 3}, multicast=False, reduction=False),
        Memory("L1", 8, 32, read_energy=2.0, write_energy=1.0, must_keep=frozenset("IWO")),
        Memory(
            "L0", 8, 32, read_energy=1.0, write_energy=4.0, keep=frozenset("IW"),
            must_keep=frozenset("IW"),
        ),
    )  # fmt: skip
    machine = Architecture("back", (*levels, Compute("MAC")))
    nests = [nest for nest in every_nest(layer, machine) if is_regular(nest, layer)]
    best = float(every_front(layer, machine, nests)[:, 0].min())
    assert best == 670.0
    assert 0.95 * best < bounded(layer, machine, "energy", 2 * best).bound <= best * (1 + 1e-9)


def buffers(sizes: tuple[int, int], unit: Array, bandwidth: float) -> Architecture:
    """Return a machine with a buffer for inputs and one for outputs."""
    levels = (
        Memory("DRAM", 16, read_energy=100.0, write_energy=100.0, shared_bandwidth=bandwidth),
        Memory(
            "IN", 16, 8 * sizes[0], read_energy=6.0, write_energy=6.0, keep=frozenset("IW"),
            must_keep=frozenset("IW"), shared_bandwidth=4 * bandwidth,
        ),
        Memory(
            "OUT", 32, 8 * sizes[1], read_energy=8.0, write_energy=8.0, keep=frozenset("O"),
            must_keep=frozenset("O"),
        ),
    )  # fmt: skip
    return Architecture("buffers", (*levels, unit, Compute("MAC", energy=0.2)))


def test_energy_and_cycles_of_all_memories_have_the_same_tiles() -> None:
    """What each memory and port costs alone is no bound of what all cost together."""
    layer = tw.einsum("O[M,N] += I[M,K] * W[K,N]", M=1024, N=768, K=512)
    machine = buffers((8192, 8192), Array("A", {"X": 8, "Y": 8}), 8.0)
    value = tw.map(layer, machine, "edp", cache=False).layers[0].proof.value
    boxes = closed_form(layer, narrowed(machine, layer), parse_objective("edp"))
    boxes.lower(value, lambda: False)
    joint = bounded(layer, machine, "edp", 1.1 * value)
    assert boxes.bound < 0.95 * value
    assert 0.975 * value < joint.bound <= value * (1 + 1e-9)


def test_limits_of_energy_and_cycles_hold_for_the_bound() -> None:
    layer = tw.einsum("O[M,N] += I[M,K] * W[K,N]", M=32, N=24, K=16)
    machine = buffers((512, 512), Array("A", {"X": 4}), 1.0)
    free = tw.map(layer, machine, "energy", cache=False).layers[0].evaluation
    fast = tw.map(layer, machine, "latency", cache=False).layers[0].evaluation
    within = (free.cycles + 2 * fast.cycles) / 3
    text = f"energy, latency<={within}"
    least = tw.map(layer, machine, text, cache=False).layers[0].evaluation.energy_pj
    bound = bounded(layer, machine, text, 2 * least).bound
    assert bound <= least * (1 + 1e-9)
    assert bound > bounded(layer, machine, "energy", 2 * least).bound
    assert (
        bounded(layer, machine, f"energy, latency<={fast.cycles / 2}", 2 * least).bound == 2 * least
    )


def test_a_search_in_parts_ends_with_the_same_bound() -> None:
    layer, machine = problem(Random(3))
    whole = bounded(layer, machine, "edp", 1e9)
    narrow, goal = narrowed(machine, layer), parse_objective("edp")
    costs = box_costs(layer, narrow)
    keeps = [(0.0, own) for own in keep_choices(layer, narrow)]
    parts = JointBound(costs.at(costs.boxes(1)), costs.halves, keeps, goal)
    bounds = [0.0]
    while not parts.settled and parts.lower(1e9, lambda: False, 20):
        bounds.append(parts.bound)
    assert bounds == sorted(bounds)
    assert parts.bound == pytest.approx(whole.bound, rel=1e-4)


def test_a_program_of_which_nothing_is_known_leaves_nothing_out(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    layer, machine = problem(Random(3))
    known = bounded(layer, machine, "edp", 1e9).bound
    rng = np.random.default_rng(0)
    monkeypatch.setattr(node, "least_value", lambda *given: (-inf, rng.uniform(*given[3])))
    assert bounded(layer, machine, "edp", 1e9, most=3000).bound < known


def test_floors_are_those_of_boxes_with_a_choice_in_common() -> None:
    layer = tw.einsum("O[M,N] += I[M,K] * W[K,N]", M=6, N=4, K=5)
    levels = (Memory("DRAM", 8), Array("A", {"X": 4}), Array("B", {"X": 3, "Y": 2}), Compute("MAC"))
    halves = halves_of(layer, Architecture("two", levels), every=True)
    rng = np.random.default_rng(0)
    boxes = np.column_stack([rng.integers(each.parts, size=12) for each in halves])
    values = rng.permutation(12).astype(float)
    floors = Floors(halves, boxes, values)
    members = [[set(each.members(p)) for p in range(each.parts)] for each in halves]
    nothing = 0
    for parts in np.ndindex(*(each.parts for each in halves)):
        common = [
            value
            for box, value in zip(boxes, values, strict=True)
            if all(own[p] & own[q] for own, p, q in zip(members, parts, box, strict=True))
        ]
        assert floors.least(parts) == min(common, default=inf)
        nothing += not common
    assert nothing > 0


def test_boxes_that_are_left_stay_as_they_were() -> None:
    """What is divided later is still a place where a mapping may be."""
    layer = tw.einsum("O[M,N] += I[M,K] * W[K,N]", M=60, N=48, K=36)
    machine = buffers((2048, 2048), Array("A", {"X": 8, "Y": 4}), 2.0)
    machine = narrowed(machine, layer)
    boxes = closed_form(layer, machine, parse_objective("edp"))
    (keep,) = boxes.every.keeps
    value = tw.map(layer, machine, "edp", cache=False).layers[0].proof.value
    left = BoxesLeft(boxes)
    before = left.of(keep, value)
    boxes.lower(value, lambda: False)
    after = left.of(keep, value)
    assert len(before.values) > 0
    np.testing.assert_array_equal(before.boxes, after.boxes)


def test_a_bound_that_begins_anew_does_not_fall() -> None:
    layer = tw.einsum("O[M,N] += I[M,K] * W[K,N]", M=60, N=48, K=36)
    machine = narrowed(buffers((2048, 2048), Array("A", {"X": 8, "Y": 4}), 2.0), layer)
    goal = parse_objective("edp")
    value = tw.map(layer, machine, "edp", cache=False).layers[0].proof.value
    bounds = RegularBounds(closed_form(layer, machine, goal), goal)
    bounds.lower_jointly(value, lambda: False, 1)
    first, before = bounds.joint, bounds.bound
    bounds.boxes.lower(value, lambda: False)
    bounds.lower_jointly(value, lambda: False, 1)
    assert bounds.joint is not first
    assert before <= bounds.bound <= value * (1 + 1e-9)


@pytest.mark.long
def test_a_bound_of_single_choices_begins_where_the_enumerated_one_ends() -> None:
    layer = tw.conv2d(K=16, C=8, P=14, Q=14, R=3, S=3)
    machine = narrowed(tw.load_architecture("eyeriss"), layer)
    goal = parse_objective("edp")
    value = tw.map(layer, machine, "edp", cache=False).layers[0].proof.value
    for ceiling in (value, 1.01 * value):
        boxes = closed_form(layer, machine, goal)
        boxes.lower(ceiling, lambda: False)
        least = boxes.costs.least.at(boxes.widest())
        known, _ = tightened(least, boxes.keeps(), goal, ceiling, lambda: False)
        bounds = RegularBounds(boxes, goal)
        bounds.begin_with_choices(NEARLY * ceiling, ceiling, lambda: False)
        assert bounds.bound >= known * (1 - 1e-9)
        bounds.lower_jointly(ceiling, lambda: False, 256)
        assert bounds.bound <= value * (1 + 1e-9)
        left = choices_left(least, boxes.keeps(), goal, ceiling, lambda: False)
        assert left is not None
        assert (len(left) > 0) == (known < ceiling)
    assert choices_left(least, boxes.keeps(), goal, ceiling, lambda: True) is None


def test_few_steps_leave_strided_windows_little_to_share(monkeypatch: pytest.MonkeyPatch) -> None:
    """With few steps, elements lie where their windows have few words in common."""
    layer = tw.einsum("O[K,P] += I[C,P+2*R] * W[K,C,R]", K=4, C=8, P=17, R=7)
    machine = buffers((16384, 16384), Array("A", {"X": 16, "Y": 4}), 8.0)
    value = tw.map(layer, machine, "edp", cache=False).layers[0].proof.value
    with_sets = bounded(layer, machine, "edp", value, 800)
    monkeypatch.setattr(WindowDecisions, "sets", lambda self: iter(()))
    without = bounded(layer, machine, "edp", value, 800)
    assert without.bound < with_sets.bound * (1 - 1e-2)


@pytest.mark.long
def test_a_layer_whose_elements_share_windows_is_proven() -> None:
    network = tw.load_network("mobilenet_v2")
    (layer,) = [own for own in network.layers if own.name == "block12.depthwise"]
    assert tw.map(layer, "four-level", "edp", cache=False).layers[0].proof.optimal


@pytest.mark.long
def test_a_product_with_a_bound_of_few_divisors_is_proven() -> None:
    """The head of GPT-2 on `eyeriss`: chunks of 216 take 0.14 % more steps than all in all."""
    (layer,) = [own for own in tw.load_network("gpt2").layers if own.name == "head"]
    assert tw.map(layer, "eyeriss", "edp", cache=False).layers[0].proof.optimal

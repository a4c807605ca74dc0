"""The bound over all spatial choices of several arrays is that of the best choice of each."""

from __future__ import annotations

from dataclasses import replace
from itertools import islice, product
from random import Random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tilewright as tw
from every_size import every_front, every_nest, is_regular, without_ports
from tilewright.architecture.constraints.constraint import ALL, Constraint, Limits
from tilewright.architecture.machine import Architecture, Array, Compute, Memory
from tilewright.mapper.objective.objective import parse_objective
from tilewright.mapper.problem.bypass_choices import keep_choices, narrowed
from tilewright.mapper.relaxations.boxes import spatial_boxes
from tilewright.mapper.relaxations.boxes.halves import halves_of
from tilewright.mapper.relaxations.stays.least_cost import Least
from tilewright.mapper.search.all_sizes.bounds_of_all_sizes import closed_form
from tilewright.mapping.constraints import violations
from tilewright.mapping.nodes import Mapping, Spatial, Store
from tilewright.workload.layer import Layer

NEAR = 0.02

EXPRESSIONS = [
    ("O[M,N] += I[M,K] * W[K,N]", {"M": (1, 2, 3), "N": (2, 3), "K": (2, 3, 5)}),
    ("O[K,P] += I[P+R] * W[K,R]", {"K": (1, 2), "P": (2, 3, 4), "R": (2, 3)}),
    ("O[M] += I[M,K]", {"M": (2, 3), "K": (3, 5)}),
    ("O[K] += I[P+R] * W[K]", {"K": (2, 3), "P": (2, 3), "R": (2, 3)}),
    ("O[K,P] += I[2*P+R] * W[K,R]", {"K": (1, 2), "P": (2, 3, 4), "R": (2, 3)}),
]


def layer_of(random: Random, scale: int = 1) -> Layer:
    expression, choices = random.choice(EXPRESSIONS)
    return tw.einsum(expression, **{d: scale * random.choice(own) for d, own in choices.items()})


def machine_of(random: Random, elements: tuple[int, ...] = (2, 3), word: int = 8) -> Architecture:
    """Return a machine with two arrays and one or two memories between and below them."""

    def array(name: str) -> Array:
        return Array(
            name, {"X": random.choice(elements)}, multicast=random.random() < 0.7,
            reduction=random.random() < 0.7, hop_energy=random.choice([0.0, 1.0]),
        )  # fmt: skip

    def memory(name: str) -> Memory:
        kept = random.choice(["IWO", "IWO", "IW", "O"])
        return Memory(
            name, word, capacity_bits=word * random.choice([3, 4, 5, 7, 12]),
            read_energy=random.choice([1.0, 2.0, 8.0]), write_energy=random.choice([1.0, 4.0]),
            keep=frozenset(kept), must_keep=frozenset(random.choice(["", "", kept])),
            read_bandwidth=random.choice([None, None, 1.0]),
        )  # fmt: skip

    between, below = random.choice([(1, 0), (0, 1), (1, 1)])
    levels: list[Memory | Array] = [
        Memory("DRAM", word, read_energy=32.0, write_energy=16.0), array("A"),
        *[memory("L1")][:between], array("B"), *[memory("L0")][:below],
    ]  # fmt: skip
    return Architecture("two arrays", (*levels, Compute("MAC")))


def demands_of(random: Random, layer: Layer) -> tuple[Constraint, ...]:
    """Return constraints of the axes of both arrays."""
    found = []
    for array in ("A", "B"):
        d = random.choice(list(layer.bounds))
        kinds = [
            Constraint(array, "X", max_dims=1), Constraint(array, max_dims=1),
            Constraint(array, "X", factor=((d, Limits(1, 2)),)),
            Constraint(array, "X", factor=((d, Limits(2, ALL)),)),
            Constraint(array, "X", require=frozenset([d])),
        ]  # fmt: skip
        found += random.sample(kinds, random.choice([0, 1, 1, 2]))
    return tuple(found)


@pytest.mark.long
@pytest.mark.sampled(4)
@pytest.mark.parametrize("seed", range(12))
def test_boxes_end_with_the_best_choice_of_every_array(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    # without steps in time and how full elements are, which raise the bound of single choices
    monkeypatch.setattr(spatial_boxes, "STALLED", 0)
    random = Random(seed)
    layer, machine = layer_of(random, 4), machine_of(random, (4, 6))
    machine = narrowed(machine, layer)
    for text in ("energy", "latency", "edp"):
        objective = parse_objective(text)
        boxes = closed_form(layer, machine, objective)
        root = boxes.bound
        boxes.lower(np.inf, lambda: False)
        assert boxes.finished
        single = [np.flatnonzero(each.ranges == 0).tolist() for each in boxes.halves]
        choices = np.array(list(product(*single, *([0] for _ in boxes.costs.steps))))
        rows = boxes.costs.at(choices)
        values = boxes.every.values(rows, objective)
        before = values.copy()
        # each bypass choice may be counted in a better way for one choice than for others
        every = np.arange(len(boxes.every.keeps))
        for i in range(len(rows.cycles)):
            row = boxes.costs.at(choices[i : i + 1])
            for keep in every.tolist():
                boxes.every.count_best(row, objective, keep, row.crossing, lambda: False)
            most = boxes.every.values(row, objective)[:, 0]
            assert (most >= values[:, i] * (1 - NEAR)).all()
            values[:, i] = np.maximum(values[:, i], most)
        assert boxes.bound <= values.min() * (1 + NEAR)
        assert boxes.bound >= before.min() * (1 - 1e-9)
        assert root <= boxes.bound * (1 + 1e-12)
        # what elements further in hold at least is known for these choices
        for keep, own in zip(boxes.every.keeps, values, strict=True):
            if all(chain == tuple(range(len(chain))) for chain in keep):
                alone = objective.values(*rows.cost(keep))
                assert (own >= alone * (1 - 1e-9)).all()


@pytest.mark.sampled(3)
@pytest.mark.parametrize("seed", range(6))
def test_a_ceiling_only_leaves_out_what_reaches_it(seed: int) -> None:
    random = Random(seed)
    layer, machine = layer_of(random, 4), narrowed(machine_of(random, (4, 6)), layer_of(random))
    objective = parse_objective("edp")
    whole = closed_form(layer, machine, objective)
    whole.lower(np.inf, lambda: False)
    for share in (0.5, 0.999, 1.001, 2.0):
        some = closed_form(layer, machine, objective)
        some.lower(share * whole.bound, lambda: False)
        assert some.bound <= share * whole.bound * (1 + 1e-9)
        # other bypass choices are counted in a better way when others are left out
        assert some.bound >= min(share, 1.0) * whole.bound * (1 - NEAR)
    # what was left out does not come back, and a search that was stopped goes on
    some = closed_form(layer, machine, objective)
    some.lower(2 * whole.bound, lambda: True)
    assert some.bound <= whole.bound * (1 + 1e-9)
    some.lower(1.5 * whole.bound, lambda: False)
    assert some.bound == pytest.approx(whole.bound, rel=NEAR)
    assert all(bound >= some.bound * (1 - 1e-9) for bound, _ in some.keeps())


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10_000))
def test_wider_choices_never_cost_more(seed: int) -> None:
    random = Random(seed)
    if random.random() < 0.3:
        # dimensions that are irrelevant to two tensors
        layer = tw.einsum("O[I,J] += A[I,K,L] * B[K,J] * C[L,J]", I=4, J=6, K=6, L=4)
    else:
        layer = layer_of(random, 4)
    machine = machine_of(random)
    if len(layer.tensors) > 3:
        levels = [
            replace(own, keep=None, must_keep=frozenset()) if isinstance(own, Memory) else own
            for own in machine.levels
        ]
        machine = replace(machine, levels=tuple(levels))
    machine = narrowed(machine, layer)
    rng = np.random.default_rng(seed)
    bounds = np.array(list(layer.bounds.values()))
    narrow = np.minimum(rng.integers(1, 5, (20, 2, len(bounds))), bounds)
    wide = np.minimum(narrow * rng.integers(1, 4, narrow.shape), bounds)
    for keep in islice(keep_choices(layer, machine), 12):
        less, more = (Least(layer, machine, own).cost(keep) for own in (wide, narrow))
        for a, b in zip(less, more, strict=True):
            assert (a <= b * (1 + 1e-9)).all()


def bounded(seed: int, most: int) -> bool:
    """Compare the bound with all regular mappings that use both arrays, if not too many."""
    random = Random(seed)
    layer, machine = layer_of(random), without_ports(machine_of(random))
    if random.random() < 0.5:
        # words of other widths divide the room of a memory otherwise
        widths = [random.choice([4, 8, 12, 16]) for _ in layer.tensors]
        pairs = zip(layer.tensors, widths, strict=True)
        layer = replace(layer, tensors=tuple(replace(t, bits=own) for t, own in pairs))
    nests = list(islice(every_nest(layer, machine), most + 1))
    used = [
        nest
        for nest in nests
        if is_regular(nest, layer)
        and {loop.array for loop in nest if isinstance(loop, Spatial)} == {"A", "B"}
    ]
    if random.random() < 0.4:
        machine = replace(machine, constraints=demands_of(random, layer))
        top = Store("DRAM", tuple(tensor.name for tensor in layer.tensors))
        used = [nest for nest in used if not violations(Mapping((top, *nest)), layer, machine)]
    front = every_front(layer, machine, used) if used and len(nests) <= most else np.zeros((0, 2))
    if len(front) == 0:
        return False
    for text in ("energy", "edp", "latency"):
        objective = parse_objective(text)
        best = float(objective.values(front[:, 0], front[:, 1]).min())
        boxes = closed_form(layer, narrowed(machine, layer), objective)
        boxes.lower(1.3 * best, lambda: False)
        assert boxes.bound <= best * (1 + 1e-9)
        # with all choices, tiles hold what arrays further in unroll
        boxes.refine(1.3 * best, lambda: False)
        assert boxes.bound <= best * (1 + 1e-9)
    return True


@pytest.mark.parametrize("seed", range(4))
def test_parts_of_a_choice_leave_out_no_ratio(seed: int) -> None:
    """Of an array with several axes, elements may be anything between 1 and all times as full."""
    random = Random(seed)
    layer = tw.einsum("O[M,N] += I[M,K] * W[K,N]", M=9, N=10, K=14)
    axes = {"X": random.choice([3, 4]), "Y": random.choice([2, 4])}
    levels = (Memory("DRAM", 8), Array("A", axes), Memory("RF", 8, capacity_bits=64))
    machine = Architecture("ratios", (*levels, Compute("MAC")))
    (each,) = halves_of(layer, machine, every=True)
    single = [p for p in np.flatnonzero(each.ranges == 0).tolist() if each.uneven(p)]
    begun = random.choice(single)
    own = [each.chunks[begun, d] for d in range(3)], [each.working[begun, d] for d in range(3)]
    parts = [begun]
    for _ in range(30):
        part = random.choice(parts)
        if each.uneven(part):
            parts.remove(part)
            parts += each.divide(part, random.choice(each.uneven(part)))
    rng = np.random.default_rng(seed)
    for ratio in rng.uniform(*own, (200, 3)):
        within = (each.chunks[parts] <= ratio) & (ratio <= each.working[parts])
        assert within.all(axis=1).any()
    assert (each.alone[parts] == each.alone[begun]).all()
    everything = frozenset(layer.bounds)
    assert (each.most(everything)[parts] == each.most(everything)[begun]).all()


def test_elements_share_as_much_as_they_are_full(monkeypatch: pytest.MonkeyPatch) -> None:
    layer = tw.einsum("O[M,N] += I[M,K] * W[K,N]", M=6, N=6, K=6)
    levels = (
        Memory("DRAM", 8, read_energy=40.0, write_energy=40.0),
        Memory("L2", 8, 96, keep=frozenset("IW"), must_keep=frozenset("IW")),
        *(Array("A", {"X": 2}), Array("B", {"X": 3})),
    )
    machine = Architecture("shared", (*levels, Compute("MAC")))
    value = tw.map(layer, machine, "energy", cache=False).layers[0].proof.value
    bounds = []
    for most in (0, 96):
        monkeypatch.setattr(spatial_boxes, "STALLED", most)
        boxes = closed_form(layer, narrowed(machine, layer), parse_objective("energy"))
        boxes.lower(1.5 * value, lambda: False)
        boxes.refine(1.5 * value, lambda: False)
        bounds.append(boxes.bound)
    assert bounds[0] * 1.1 < bounds[1] <= value * (1 + 1e-9)


@pytest.mark.long
def test_no_regular_mapping_costs_less(whole: bool) -> None:
    assert sum(bounded(seed, 400) for seed in range(60 if whole else 15)) > (8 if whole else 1)


@pytest.mark.long
def test_no_mapping_takes_fewer_cycles_at_its_ports(whole: bool) -> None:
    """The optimum among divisors knows nothing of these bounds while it is not searched for."""
    checked = reached = 0
    # the last one is reached if words count where they come to an inner array
    for seed in (*range(12 if whole else 4), 20):
        random = Random(seed)
        layer, machine = layer_of(random, 2), machine_of(random)
        rates = [random.choice([None, 1.0, 2.0]) for _ in machine.arrays]
        arrays = iter(
            replace(own, bandwidth=rate) for own, rate in zip(machine.arrays, rates, strict=True)
        )
        levels = [next(arrays) if isinstance(own, Array) else own for own in machine.levels]
        machine = replace(machine, levels=tuple(levels))
        try:
            found = tw.map(layer, machine, "latency", tiles="divisors", cache=False).layers[0]
        except tw.NoMappingError:
            continue
        checked += found.proof.optimal
        cycles = found.evaluation.cycles
        boxes = closed_form(layer, narrowed(machine, layer), parse_objective("latency"))
        for bound in (boxes.lower, boxes.refine):
            bound(2.0 * cycles, lambda: False)
            assert boxes.bound <= cycles * (1 + 1e-9)
        reached = boxes.bound >= cycles * (1 - 1e-9)
    assert checked > (8 if whole else 2)
    assert reached


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(60, 1000))
def test_no_regular_mapping_of_many_machines_costs_less(seed: int) -> None:
    bounded(seed, 2000)

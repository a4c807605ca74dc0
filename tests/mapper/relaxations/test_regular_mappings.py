"""What short chunks and elements with less work may save: bounds hold, and no more is promised."""

from __future__ import annotations

from itertools import islice
from random import Random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tilewright as tw
from every_size import every_front, every_nest, is_regular
from tilewright.architecture.machine import Architecture, Array, Compute, Memory
from tilewright.mapper.objective.objective import parse_objective
from tilewright.mapper.problem.bypass_choices import narrowed
from tilewright.mapper.relaxations.nests.regular_bound import tightened
from tilewright.mapper.relaxations.stays.least_cost import Least
from tilewright.mapper.results import regular
from tilewright.mapping.nodes import For, Mapping, Spatial, Store
from tilewright.workload.layer import Layer
from two_memories import small_array, two_memories

MOST = 700  # loop nests
FEW, MANY = (85, 114, 140), range(200, 1200)


def awkward(seed: int) -> tuple[Layer, Architecture]:
    """Return a product of odd bounds, and a machine whose elements hold a few words."""
    random = Random(seed)
    layer = tw.einsum(
        "O[M,N] += I[M,K] * W[K,N]",
        M=random.choice([1, 2, 3]),
        N=random.choice([2, 3, 4, 5]),
        K=random.choice([3, 5, 7]),
    )
    words = random.choice([3, 3, 4, 5])
    prices = [random.choice([1.0, 2.0, 4.0, 8.0, 32.0, 64.0]) for _ in range(4)]
    elements = random.choice([2, 3, 4])
    multicast, reduction = random.random() < 0.5, random.random() < 0.7
    machine = Architecture(
        "awkward",
        (
            Memory("DRAM", 8, read_energy=prices[0], write_energy=prices[1]),
            Array("A", {"X": elements}, multicast=multicast, reduction=reduction),
            Memory(
                "RF", 8, capacity_bits=8 * words, read_energy=prices[2], write_energy=prices[3],
                must_keep=frozenset("IWO"),
            ),
            Compute("MAC"),
        ),
    )  # fmt: skip
    return layer, machine


def compare(seed: int) -> None:
    layer, machine = awkward(seed)
    nests = list(every_nest(layer, machine))
    if len(nests) > MOST:
        pytest.skip("too many loop nests")
    front = every_front(layer, machine, nests)
    regular = every_front(layer, machine, [nest for nest in nests if is_regular(nest, layer)])
    for text in ("energy", "edp"):
        values = parse_objective(text).values
        proof = tw.map(layer, machine, text, cache=False).layers[0].proof
        least = values(front[:, 0], front[:, 1]).min()
        least_regular = values(regular[:, 0], regular[:, 1]).min()
        assert proof.lower_bound_irregular is not None
        assert proof.lower_bound_irregular <= least * (1 + 1e-9)
        # what is proven is proven of regular mappings; an irregular one may be better
        assert proof.lower_bound <= least_regular * (1 + 1e-9)
        assert not proof.optimal or proof.value <= least_regular * (1 + 1e-9)
        assert proof.irregular or proof.value >= least_regular * (1 - 1e-9)
        # also where it is not proven
        assert proof.value == pytest.approx(least, rel=1e-9)


@pytest.mark.long
@pytest.mark.sampled(1)
@pytest.mark.parametrize("seed", FEW)
def test_bounds_hold_where_elements_have_less_work_than_others(seed: int) -> None:
    compare(seed)


@pytest.mark.slow
@pytest.mark.parametrize("seed", MANY)
def test_bounds_hold_in_many_problems(seed: int) -> None:
    compare(seed)


def layered(seed: int) -> tuple[Layer, Architecture]:
    """Return a tiny product or window, and a machine with two memories above or below an array."""
    random = Random(seed)
    expression, choices = random.choice([
        ("O[M,N] += I[M,K] * W[K,N]", {"M": (1, 2, 3), "N": (2, 3), "K": (2, 3, 5)}),
        ("O[K,P] += I[P+R] * W[K,R]", {"K": (1, 2), "P": (2, 3, 4, 5), "R": (2, 3)}),
        ("O[K,P] += I[2*P+R] * W[K,R]", {"K": (1, 2), "P": (2, 3, 4, 5), "R": (2, 3)}),
    ])  # fmt: skip
    layer = tw.einsum(expression, **{d: random.choice(own) for d, own in choices.items()})
    levels = two_memories(random)
    array = small_array("A", random)
    levels.insert(random.choice([1, 3]), array)
    return layer, Architecture("layered", (*levels, Compute("MAC")))


def bounded(seed: int, most: int) -> bool:
    """Compare the bound with all regular mappings that use the array, if there are not too many.

    Those that leave it idle are left out: where it is idle, the nests that are tried let memories
    above and below it stand in any order.
    """
    layer, machine = layered(seed)
    nests = list(islice(every_nest(layer, machine), most + 1))
    used = [
        nest
        for nest in nests
        if is_regular(nest, layer) and any(isinstance(loop, Spatial) for loop in nest)
    ]
    front = every_front(layer, machine, used) if used and len(nests) <= most else np.zeros((0, 2))
    if len(front) == 0:
        return False
    least = Least(layer, narrowed(machine, layer))
    for text in ("energy", "edp"):
        objective = parse_objective(text)
        best = float(objective.values(front[:, 0], front[:, 1]).min())
        known = [(float(objective.values(*cost).min()), keep) for keep, *cost in least.all_costs()]
        bound, _ = tightened(least, known, objective, 1.3 * best, lambda: False)
        assert bound <= best * (1 + 1e-9)
    return True


@pytest.mark.long
def test_bounds_hold_where_two_memories_stand_on_one_side_of_an_array() -> None:
    assert sum(bounded(seed, 200) for seed in range(60)) > 10


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(40, 1000))
def test_bounds_hold_for_many_chains_of_memories(seed: int) -> None:
    bounded(seed, 600)


def test_a_loop_is_irregular_where_an_element_has_one_of_its_two_steps() -> None:
    layer = tw.einsum("O[M,N] += I[M,K] * W[K,N]", M=1, N=2, K=5)
    array = Spatial("K", 1, "X", "A")
    # the first of four elements has two iterations of K, the others have one
    assert not is_regular((For("K", 4), array), layer)
    # of five elements each has one
    assert is_regular((For("N", 1), array), layer)
    # a chunk of four takes two steps, and the last one a step
    assert not is_regular((For("K", 4), For("N", 1), For("K", 2)), layer)
    # chunks of two and one take a step each
    assert is_regular((For("K", 2), For("N", 1), For("K", 2)), layer)


@settings(max_examples=400, deadline=None)
@given(st.integers(1, 24), st.lists(st.tuples(st.booleans(), st.integers(0, 23)), max_size=5))
def test_closed_form_of_regular_loops_equals_counting(
    bound: int, drawn: list[tuple[bool, int]]
) -> None:
    layer = tw.einsum("O[M] += I[M,K]", M=2, K=bound)
    loops: list[For | Spatial] = []
    extent = bound
    for over_time, tile in drawn:
        extent = 1 + tile % extent
        loops.append(For("K", extent) if over_time else Spatial("K", extent, "X", "A"))
    found = regular.is_regular(Mapping((Store("DRAM", ("I", "O")), *loops)), layer)
    assert found == is_regular(tuple(loops), layer)


def test_an_irregular_mapping_that_beats_all_regular_ones_is_said_to_be_one() -> None:
    layer, machine = awkward(FEW[0])
    irregular = []
    for text in ("energy", "edp"):
        result = tw.map(layer, machine, text, cache=False)
        (found,) = result.layers
        irregular.append(found.proof.irregular)
        assert found.proof.irregular != is_regular(
            tuple(n for n in found.mapping.nodes if not isinstance(n, Store)), layer
        )
        assert ("irregular" in result.statement()) == found.proof.irregular
        assert found.proof.lower_bound <= found.proof.value
    assert any(irregular)

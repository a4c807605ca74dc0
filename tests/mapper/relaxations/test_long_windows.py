"""The bound of every bypass choice where windows are longer than what can be tried in full.

No mapping among divisors costs less. It is searched for without the bound.
"""

from __future__ import annotations

from random import Random

import pytest

import tilewright as tw
from tilewright.architecture.machine import Architecture, Array, Compute, Memory
from tilewright.mapper.objective.objective import parse_objective
from tilewright.mapper.problem.bypass_choices import narrowed
from tilewright.mapper.search.all_sizes.bounds_of_all_sizes import closed_form
from tilewright.workload.layer import Layer

EXPRESSIONS = (
    ("O[P] += I[P+R] * W[R]", "PR"),
    ("O[K,P] += I[P+R] * W[K,R]", "KPR"),
    ("O[P] += I[C,P+R] * W[C,R]", "CPR"),
    ("O[P] += I[2*P+R] * W[R]", "PR"),
    ("O[P] += I[P+2*R] * W[R]", "PR"),
    ("O[K,P,Q] += I[P+R,Q+S] * W[K,R,S]", "KPQRS"),
    ("O[C,P] += I[C,P+R] * W[C,R]", "CPR"),
    ("O[M,N] += I[M,K] * W[K,N]", "MNK"),
)
SIZES = {"P": (8, 16, 32, 48), "Q": (4, 8), "R": (2, 3, 4), "S": (1, 2, 3), "K": (1, 2, 4, 8)}
SIZES |= {"C": (2, 4, 6), "M": (4, 12), "N": (4, 8)}
WORD = 8


def layer_of(random: Random) -> Layer:
    expression, names = random.choice(EXPRESSIONS)
    return tw.einsum(expression, **{d: random.choice(SIZES[d]) for d in names})


def machine_of(random: Random) -> Architecture:
    """Return a machine with memories above, between and below one or two arrays."""

    def memory(name: str, words: tuple[int, ...]) -> Memory:
        kept = random.choice(["IWO", "IWO", "IW", "I", "W", "O", "WO"])
        return Memory(
            name, WORD, capacity_bits=WORD * random.choice(words),
            read_energy=random.choice([0.1, 1.0, 4.0]), write_energy=random.choice([0.1, 1.0]),
            keep=frozenset(kept), must_keep=frozenset(random.choice(["", kept])),
            shared_bandwidth=random.choice([None, None, 1.0, 4.0]),
            leakage=random.choice([0.0, 0.0, 5.0]),
        )  # fmt: skip

    def array(name: str) -> Array:
        return Array(
            name, {"X": random.choice([2, 3, 4])}, multicast=random.random() < 0.8,
            reduction=random.random() < 0.8, hop_energy=random.choice([0.0, 0.5]),
            bandwidth=random.choice([None, None, 1.0, 2.0]),
        )  # fmt: skip

    few, some = (1, 2, 3, 4), (4, 5, 6, 10, 24)
    levels: list[Memory | Array] = [
        Memory("DRAM", WORD, read_energy=40.0, write_energy=40.0),
        *[memory("L3", some)][: random.random() < 0.6],
        *[memory("L2", some)][: random.random() < 0.3],
        array("A"),
        *[memory("L1", some)][: random.random() < 0.5],
        *[array("B")][: random.random() < 0.5],
        *[memory("W0", few)][: random.random() < 0.6],
        *[memory("R0", few)][: random.random() < 0.3],
    ]
    return Architecture("long windows", (*levels, Compute("MAC", energy=0.5)))


def compared(seed: int) -> bool:
    """Compare the bound with a mapping, if there is one."""
    random = Random(seed)
    layer, machine = layer_of(random), machine_of(random)
    objective = random.choice(["energy", "edp", "latency", "energy"])
    try:
        found = tw.map(
            layer, machine, objective, tiles="divisors", time_limit=5, cache=False, workers=1
        )
    except tw.NoMappingError:
        return False
    value = found.layers[0].proof.value
    boxes = closed_form(layer, narrowed(machine, layer), parse_objective(objective))
    for bound in (boxes.lower, boxes.refine):
        bound(1.5 * value, lambda: False, 2e6)
        assert boxes.bound <= value * (1 + 1e-9), (seed, boxes.bound / value)
    return True


def test_words_serve_elements_below_the_memory_of_another_tensor() -> None:
    """A weight in each of three elements leaves a word of the input three of them to serve."""
    layer = tw.einsum("O[P] += I[P+R] * W[R]", P=32, R=3)
    machine = Architecture(
        "below",
        (
            Memory("DRAM", WORD, read_energy=100.0, write_energy=100.0),
            Memory(
                "L2", WORD, 4 * WORD, read_energy=1.0, write_energy=1.0,
                keep=frozenset("I"), must_keep=frozenset("I"),
            ),
            Array("A", {"X": 3}),
            Memory(
                "RF", WORD, WORD, read_energy=0.1, write_energy=0.1,
                keep=frozenset("W"), must_keep=frozenset("W"),
            ),
            Compute("MAC", energy=1.0),
        ),
    )  # fmt: skip
    value = tw.map(layer, machine, "energy", tiles="divisors", cache=False).layers[0].proof.value
    boxes = closed_form(layer, narrowed(machine, layer), parse_objective("energy"))
    boxes.lower(2 * value, lambda: False)
    assert boxes.bound <= value * (1 + 1e-9)


@pytest.mark.long
def test_no_mapping_costs_less() -> None:
    assert sum(compared(seed) for seed in range(12)) > 6


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(100, 1100))
def test_no_mapping_of_many_machines_costs_less(seed: int) -> None:
    compared(seed)

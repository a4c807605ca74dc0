"""How tiles divide the room of a memory, and what the stay of one spans of another."""

from __future__ import annotations

from itertools import product
from random import Random

import numpy as np
import pytest

import tilewright as tw
from tilewright.architecture.machine import Architecture, Compute, Memory
from tilewright.mapper.relaxations.stays.least_cost import Least
from tilewright.mapper.relaxations.stays.links import Link
from tilewright.mapper.relaxations.stays.orders import divided_room
from tilewright.mapper.relaxations.stays.stay import Inside, Stay


def stays_of(layer: tw.Layer, capacity: int) -> list[Stay]:
    """Return the stays of all inputs in a memory of some bits."""
    memories = Memory("DRAM", 8), Memory("L1", 8, capacity_bits=capacity)
    least = Least(layer, Architecture("two memories", (*memories, Compute("MAC"))))
    links = tuple(Link(t, 0, 1) for t in range(len(layer.tensors) - 1))
    return [least.stay(1, link, links) for link in links]


@pytest.mark.parametrize("seed", range(20))
def test_some_way_to_divide_the_room_has_any_two_tiles_that_fit(seed: int) -> None:
    random = Random(seed)
    bits = {"I": random.choice([3, 8, 16]), "W": random.choice([1, 8, 12])}
    layer = tw.einsum("O[K,P] += I[P+R] * W[K,R]", K=4, P=5, R=3, bits=bits)
    capacity = random.randrange(40, 400)
    first, second = reversed(stays_of(layer, capacity))
    ways = np.array(divided_room([first, second]))
    assert len(ways) > 1
    for w in range(1, capacity // first.bits + 1):
        left = (capacity - w * first.bits) // second.bits
        if left > 0:
            assert ((ways[:, 0] >= w) & (ways[:, 1] >= left)).any()


@pytest.mark.parametrize(
    "expression",
    ["O[K] += I[P+R] * W[K]", "O[K,P] += I[P+R] * W[K,R]", "O[K,P] += I[2*P+R] * W[K]"],
)
def test_a_stay_spans_no_more_iterations_than_the_words_say(expression: str) -> None:
    layer = tw.einsum(expression, K=3, P=5, R=4)
    inner, outer = stays_of(layer, 800)
    most = Inside.spanned_by(outer, inner, layer.bounds).most
    for p, r in product(range(1, 6), range(1, 5)):
        own = {"P": p, "R": r}
        spanned = [own.get(d, 1) if d in outer.irrelevant else 1 for d in ("P", "R")]
        step = 2 if "2*P" in expression else 1
        words = len({step * i + j for i in range(spanned[0]) for j in range(spanned[1])})
        assert spanned[0] * spanned[1] <= most * words

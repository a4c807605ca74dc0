"""What elements read at a time, where small memories above them hold few words."""

from __future__ import annotations

import numpy as np

import tilewright as tw
from tilewright.architecture.machine import Architecture, Array, Compute, Memory
from tilewright.mapper.objective.objective import parse_objective
from tilewright.mapper.problem.bypass_choices import narrowed
from tilewright.mapper.relaxations.stays.at_once import (
    ElementLimit,
    fewest_cycles,
    limits_of,
    sharing,
)
from tilewright.mapper.relaxations.stays.least_cost import Least
from tilewright.mapper.relaxations.stays.links import links_of
from tilewright.mapper.search.all_sizes.bounds_of_all_sizes import closed_form

LAYER = tw.einsum("O[N] += I[K] * W[K,N]", K=16, N=6)


def machine_of(words: int, elements: int) -> Architecture:
    """Return a machine whose buffer holds a few words of W above an array."""
    buffer = Memory(
        "L1", 8, capacity_bits=8 * words, keep=frozenset("W"), must_keep=frozenset("W"),
        read_energy=1.0, write_energy=1.0,
    )  # fmt: skip
    dram = Memory("DRAM", 8, read_energy=100.0, write_energy=100.0)
    return Architecture("one", (dram, buffer, Array("PE", {"X": elements}), Compute("MAC")))


def test_no_more_elements_work_than_the_tile_has_words() -> None:
    machine = machine_of(4, 16)
    least = Least(LAYER, machine)
    links = [own for t, c in enumerate([(0,), (0, 1), (0,)]) for own in links_of(t, c, 2)]
    limits = limits_of(least, links)
    assert limits == (ElementLimit(1, 0, 4.0),)
    assert (fewest_cycles(least, limits) == 24).all()  # 96 operations, 4 at a time
    assert least.cycles.min() == 6
    # with a word for each element there is no limit
    wide = Least(LAYER, machine_of(16, 16))
    assert limits_of(wide, links) == ()


def test_the_bound_is_the_optimum_of_what_fits() -> None:
    for words in (2, 3, 4, 8, 16):
        machine = narrowed(machine_of(words, 16), LAYER)
        for text in ("latency", "energy"):
            found = tw.map(LAYER, machine, text, tiles="all", cache=False).layers[0]
            boxes = closed_form(LAYER, machine, parse_objective(text))
            boxes.lower(np.inf, lambda: False)
            assert boxes.bound <= found.proof.value * (1 + 1e-9)
            if text == "latency" and words in (2, 4, 8, 16):
                assert boxes.bound == found.proof.value == 96 / words


def test_one_number_may_stand_for_several_dimensions() -> None:
    """Combinations of spatial choices put the elements of alike dimensions on one of them."""
    layer = tw.einsum("O[K,P,Q] += I[C,P,Q] * W[K,C]", K=2, C=4, P=4, Q=4)
    machine = machine_of(64, 16)
    names = list(layer.bounds)
    choice = np.ones((1, 1, len(names)), np.int64)
    choice[0, 0, names.index("P")] = 16
    least = Least(layer, machine, choice)
    # all sixteen of them share a word of W
    assert sharing(least, 1, (0, 1), ()) == [16.0]

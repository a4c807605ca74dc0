"""All tile sizes of tiny problems: what is found is optimal, and the bound is below everything."""

from __future__ import annotations

from itertools import islice
from random import Random

import pytest

import tilewright as tw
from every_size import every_front, every_nest, without_ports
from problems import layer as random_layer
from problems import machine as random_machine
from tilewright.architecture.machine import Architecture
from tilewright.mapper.objective.objective import parse_objective
from tilewright.workload.layer import Layer

FEWEST, MOST = 40, 800  # loop nests
FEW, MANY = (2, 1, 4, 7, 11, 10), range(12, 150)


def tiny(seed: int) -> tuple[Layer, Architecture]:
    """Return a layer and a machine with few loop nests, some of whose tiles do not divide."""
    random = Random(seed)
    while True:
        layer, machine = random_layer(random), without_ports(random_machine(random))
        if len(machine.memories) > 3 or len(machine.arrays) > 1:
            continue
        if max(layer.bounds.values()) < 3 or any(array.forwarding for array in machine.arrays):
            continue
        nests = sum(1 for _ in islice(every_nest(layer, machine), MOST))
        if FEWEST <= nests < MOST:
            return layer, machine


def compare(seed: int) -> None:
    layer, machine = tiny(seed)
    front = every_front(layer, machine)
    for objective in ("energy", "latency", "edp"):
        values = parse_objective(objective).values(front[:, 0], front[:, 1])
        try:
            found = tw.map(layer, machine, objective, cache=False, tiles="all").layers[0].proof
        except tw.NoMappingError:
            assert not len(front)
            continue
        assert found.lower_bound <= values.min() * (1 + 1e-9)
        # also where it is not proven
        assert found.value == pytest.approx(values.min(), rel=1e-9)


@pytest.mark.sampled(2)
@pytest.mark.parametrize("seed", FEW)
def test_all_sizes_agree_with_trying_every_mapping(seed: int) -> None:
    compare(seed)


@pytest.mark.slow
@pytest.mark.parametrize("seed", MANY)
def test_all_sizes_agree_with_trying_every_mapping_of_many_problems(seed: int) -> None:
    compare(seed)

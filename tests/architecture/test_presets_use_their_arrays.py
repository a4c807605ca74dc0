"""Shipped networks on shipped machines use what the arrays allow, whatever a layer calls its loops.

What may lie on the axes of rigid machines is written down here once more, in terms of the
tensors of a layer: the greatest product of factors is what the fastest mapping has to unroll.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import product
from math import prod
from operator import le, mul

import numpy as np
import pytest

import tilewright as tw
from tilewright.architecture import Architecture, Array, Memory, load_architecture, preset_names
from tilewright.mapper.problem.lattice import lattice
from tilewright.mapper.problem.space import array_choices
from tilewright.workload import Layer, zoo_names

Rule = Callable[[Layer, str], bool]


def held(layer: Layer, d: str) -> str:
    """Return the roles of the tensors that a dimension indexes."""
    roles = [t.role for t in layer.tensors if d in t.dimensions]
    return "".join(role for role in "IWO" if role in roles)


def tap(layer: Layer, d: str) -> bool:
    return d in "RST" and "P" in layer.bounds


def outputs(layer: Layer, d: str) -> bool:
    return held(layer, d) == "WO"


def sums(layer: Layer, d: str) -> bool:
    return held(layer, d) == "IW"


def channels(layer: Layer, d: str) -> bool:
    return sums(layer, d) and not tap(layer, d)


def positions(letter: str) -> Rule:
    def rule(layer: Layer, d: str) -> bool:
        if "P" in layer.bounds:
            return d == letter
        return letter == "P" and held(layer, d) == "IO"

    return lambda layer, d: rule(layer, d) or outputs(layer, d)


RIGID: dict[str, dict[str, Rule]] = {
    "tpu-v1": {"X": sums, "Y": outputs},
    "nvdla-1024": {"X": channels, "Y": outputs},
    "diannao": {"X": channels, "Y": outputs},
    "shidiannao": {"X": positions("Q"), "Y": positions("P")},
}


def most_units(layer: Layer, array: Array, rules: dict[str, Rule]) -> int:
    """Return the greatest product of factors that divide the bounds and fit the axes."""
    sizes = tuple(array.axes.values())
    reached = {(1,) * len(sizes)}
    for d, bound in layer.bounds.items():
        able = [axis not in rules or rules[axis](layer, d) for axis in array.axes]
        own = [
            [f for f in range(1, min(bound, size) + 1) if bound % f == 0] if free else [1]
            for size, free in zip(sizes, able, strict=True)
        ]
        ways = [way for way in product(*own) if bound % prod(way) == 0]
        grown = (tuple(map(mul, units, way)) for units in reached for way in ways)
        reached = {units for units in grown if all(map(le, units, sizes))}
    return max(map(prod, reached))


def unlimited(machine: Architecture) -> Architecture:
    """Return a machine on which operations alone take time."""
    levels = []
    for level in machine.levels:
        if isinstance(level, Memory):
            free = {"read_bandwidth": None, "write_bandwidth": None, "shared_bandwidth": None}
            levels.append(replace(level, **free))
        elif isinstance(level, Array):
            levels.append(replace(level, bandwidth=None, networks=None))
        else:
            levels.append(level)
    return replace(machine, levels=tuple(levels))


CASES = [(network, machine) for network in zoo_names() for machine in preset_names()]


@pytest.mark.sampled(16)
@pytest.mark.parametrize(("network", "name"), [case for case in CASES if case[1] in RIGID])
def test_the_space_has_mappings_that_use_what_the_array_allows(network: str, name: str) -> None:
    machine = load_architecture(name)
    (array,) = machine.arrays
    for layer in tw.load_network(network).layers:
        _, digits = array_choices(layer, lattice(layer), machine, array)
        tiles = lattice(layer)
        units = max(
            prod(int(tiles.values[d, i]) for d, i in enumerate(row)) for row in np.asarray(digits)
        )
        assert units == most_units(layer, array, RIGID[name]), layer.name


def check_speed(layers: tuple[Layer, ...], name: str, seconds: float) -> None:
    machine = load_architecture(name)
    network = tw.Network("some", layers)
    found = tw.map(
        network, unlimited(machine), "latency", tiles="divisors", time_limit=seconds, cache=False
    )
    assert not found.unmapped
    for result in found.layers:
        layer, rules = result.layer, RIGID.get(name, {})
        units = prod(most_units(layer, array, rules) for array in machine.arrays)
        cycles = layer.operations / units * machine.compute.cycles
        assert result.evaluation.cycles == pytest.approx(cycles), layer.name


SAMPLE = [
    tw.conv2d(name="conv", K=32, C=16, P=14, Q=14, R=3, S=3),
    tw.matmul(name="product", M=32, N=128, K=64),
    tw.depthwise(name="depthwise", G=32, P=14, Q=14, R=3, S=3),
]


@pytest.mark.parametrize("name", RIGID)
def test_the_fastest_mapping_uses_what_the_array_allows(name: str) -> None:
    check_speed(tuple(SAMPLE), name, 30)


@pytest.mark.slow
@pytest.mark.parametrize(("network", "name"), CASES)
def test_every_network_uses_what_every_array_allows(network: str, name: str) -> None:
    check_speed(tw.load_network(network).layers, name, 300)


@pytest.mark.parametrize("name", preset_names())
def test_one_product_costs_the_same_whatever_it_is_called(name: str) -> None:
    kinds = [
        tw.matmul(name="layer", M=4, N=48, K=32),
        tw.fully_connected(name="layer", N=4, K=48, C=32),
        tw.einsum("O[m,n] += W[m,k] * I[k,n]", name="layer", m=48, n=4, k=32),
    ]
    found = [
        tw.map(layer, name, "edp", tiles="divisors", cache=False)["layer"].evaluation
        for layer in kinds
    ]
    assert {(one.energy_pj, one.cycles, one.utilization) for one in found} == {
        (found[0].energy_pj, found[0].cycles, found[0].utilization)
    }


@pytest.mark.parametrize("name", preset_names())
def test_a_filter_of_one_element_costs_the_same_as_none(name: str) -> None:
    kinds = [
        tw.pointwise(name="layer", K=16, C=8, P=6, Q=4),
        tw.conv2d(name="layer", K=16, C=8, P=6, Q=4, R=1, S=1),
    ]
    found = [
        tw.map(layer, name, "edp", tiles="divisors", cache=False)["layer"].evaluation
        for layer in kinds
    ]
    assert (found[0].energy_pj, found[0].cycles) == (found[1].energy_pj, found[1].cycles)

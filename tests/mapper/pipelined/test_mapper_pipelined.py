"""Mappings under pipelined latency: no bound above the best of all, no result below it."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from itertools import product
from math import inf
from pathlib import Path
from random import Random

import pytest

import tilewright as tw
from enumeration import Enumeration
from problems import layer as random_layer
from problems import machine as random_machine
from problems import size
from tilewright.architecture.machine import Architecture, Array, Level, Memory
from tilewright.architecture.transfers import Dma, Networks
from tilewright.errors import MappingError
from tilewright.mapper.heuristics.neighbourhood import items_of, mapping_of, neighbour
from tilewright.mapper.objective.objective import parse_objective
from tilewright.mapper.pipelined import pipelined
from tilewright.mapper.pipelined.best_even import EvenFound
from tilewright.mapper.pipelined.pipelined import search_pipelined
from tilewright.mapping.validity import check
from tilewright.model.evaluate import evaluate
from tilewright.workload.layer import Layer

MOST = 1500  # mappings that are tried one by one


@pytest.fixture(autouse=True)
def short_climbs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pipelined, "TRIES", 300)


@cache
def small_problem(seed: int) -> tuple[Layer, Architecture]:
    """Return a layer and a machine of few mappings, with DMA, networks and adders."""
    random = Random(seed)
    while True:
        layer, machine = random_layer(random), random_machine(random)
        if size(layer, machine, 40) >= 40 or len(machine.memories) > 3:
            continue

        def level_of(level: Level) -> Level:
            if isinstance(level, Memory):
                return replace(level, dma=random.choice([None, Dma(3.0, 0.25)]))
            if isinstance(level, Array):
                return replace(
                    level,
                    networks=random.choice([None, Networks(2, 1)]),
                    adders=random.choice([None, "tree", "hops"]),
                )
            return level

        machine = replace(machine, levels=tuple(map(level_of, machine.levels)))
        if len(list(all_mappings(layer, machine))) >= 10:
            return layer, machine


def all_mappings(layer: Layer, machine: Architecture) -> list[tw.Mapping]:
    """Return every valid mapping, at most about `MOST`."""
    space = Enumeration(layer, machine, run=False)
    found = []
    for nest in space.all_nests():
        for chains in product(*(list(space.chains(t, nest)) for t in layer.tensors)):
            mapping = space.mapping(nest, list(chains))
            try:
                check(mapping, layer, machine)
            except MappingError:
                continue
            found.append(mapping)
            if len(found) >= MOST:
                return found
    return found


@pytest.mark.long
@pytest.mark.sampled(2)
@pytest.mark.parametrize("seed", range(3, 6))
@pytest.mark.parametrize("objective", ["latency", "edp"])
def test_bound_and_result_enclose_the_best_of_all_mappings(seed: int, objective: str) -> None:
    layer, machine = small_problem(seed)
    mappings = all_mappings(layer, machine)
    result = search_pipelined(layer, machine, objective)
    assert result is not None
    assert result.evaluation.pipeline is not None
    values = []
    for mapping in mappings:
        cost = evaluate(layer, machine, mapping, check=False, latency="pipelined")
        values.append(parse_objective(objective).value(cost.energy_pj, cost.cycles))
    proof = result.proof
    even = proof.space.startswith("Even mappings")
    # a proof of the best even mapping says nothing of uneven ones
    assert even or proof.lower_bound <= min(values) * (1 + 1e-9)
    assert proof.lower_bound <= proof.value
    if len(mappings) < MOST:
        assert proof.value >= min(values) * (1 - 1e-9)
        # it is found on small machines
        assert proof.value <= min(values) * 1.5
    check(result.mapping, layer, machine)
    again = evaluate(layer, machine, result.mapping, latency="pipelined")
    assert parse_objective(objective).value(again.energy_pj, again.cycles) == proof.value
    assert proof.optimal == (proof.value <= proof.lower_bound * (1 + 1e-9))


def test_the_best_even_mapping_is_proven() -> None:
    layer = tw.matmul(name="m", M=8, N=8, K=8)
    found = tw.map(layer, "dmazerunner-256", "edp", latency="pipelined")
    (best,) = found.layers
    assert best.proof.optimal
    assert best.proof.lower_bound == best.proof.value == best.evaluation.edp_pj_cycles
    assert best.proof.space.startswith("Even mappings")
    assert best.proof.space in found.statement()
    assert best.evaluation.pipeline is not None
    throughput = tw.map(layer, "dmazerunner-256", "edp", cache=False).layers[0]
    assert best.proof.value >= throughput.proof.value * (1 - 1e-9)
    alone = tw.evaluate(layer, "dmazerunner-256", throughput.mapping, latency="pipelined")
    assert best.proof.value <= alone.edp_pj_cycles * (1 + 1e-9)


def test_a_proven_result_is_found_in_the_cache(tmp_path: Path) -> None:
    layer = tw.matmul(name="m", M=8, N=8, K=8)
    first, again = (
        tw.map(layer, "dmazerunner-256", "latency", latency="pipelined", cache=tmp_path).layers[0]
        for _ in range(2)
    )
    assert not first.proof.cached
    assert again.proof.cached
    assert again.mapping == first.mapping
    assert again.proof.value == first.proof.value
    assert again.proof.space == first.proof.space
    # the optimum under throughput latency is another result
    other = tw.map(layer, "dmazerunner-256", "latency", cache=tmp_path).layers[0]
    assert not other.proof.cached


@pytest.mark.long
def test_nothing_is_optimal_unless_it_reaches_the_bound() -> None:
    layer = tw.matmul(name="m", M=4, N=8, K=2)
    machine = tw.load_architecture("dmazerunner-256")
    outer, *rest = machine.levels
    assert isinstance(outer, Memory)
    # the search of even mappings does not know blocks
    machine = replace(machine, levels=(replace(outer, block_bytes=64), *rest))
    (best,) = tw.map(layer, machine, "edp", latency="pipelined").layers
    assert not best.proof.optimal
    assert 0 < best.proof.lower_bound < best.proof.value
    assert not best.proof.space.startswith("Even mappings")


def test_an_uneven_mapping_that_is_better_is_no_optimum(monkeypatch: pytest.MonkeyPatch) -> None:
    layer, machine = small_problem(4)
    even = search_pipelined(layer, machine, "edp")
    assert even is not None

    def better(self: pipelined.Climb, *_: object) -> None:
        self.value = even.proof.value / 2

    monkeypatch.setattr(pipelined.Climb, "run", better)
    monkeypatch.setattr(EvenFound, "proven", True)
    found = search_pipelined(layer, machine, "edp")
    assert found is not None
    assert not found.proof.space.startswith("Even mappings")


def test_a_machine_without_limits_of_bandwidth_is_proven() -> None:
    memories = (Memory("DRAM", 16, read_energy=10.0), Memory("RF", 16, capacity_bits=16 * 16))
    unit = tw.load_architecture("simple").compute
    machine = Architecture("free", (*memories, unit), latency="pipelined")
    (best,) = tw.map(tw.matmul(name="m", M=4, N=4, K=4), machine, "edp").layers
    assert best.proof.optimal
    assert best.proof.gap == 0


def test_neighbours_of_a_mapping_are_mappings() -> None:
    layer = tw.conv1d(name="w", K=4, C=4, P=8, R=3)
    machine = tw.load_architecture("simple")
    (start,) = tw.map(layer, machine, cache=False).layers
    items = items_of(start.mapping, layer)
    assert evaluate(layer, machine, mapping_of(items, layer)).energy_pj == pytest.approx(
        start.evaluation.energy_pj
    )
    random = Random(1)
    valid = 0
    for _ in range(200):
        changed = neighbour(items, machine, random)
        if changed[0].factor:
            continue
        try:
            check(mapping_of(changed, layer), layer, machine)
        except MappingError:
            continue
        valid += 1
        items = changed
    assert valid > 30
    assert inf > evaluate(layer, machine, mapping_of(items, layer)).energy_pj

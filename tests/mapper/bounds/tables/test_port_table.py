"""Tables of a port bound every mapping, and say what a small memory asks of it."""

from __future__ import annotations

from math import inf

import numpy as np
import pytest

from problems import problem
from tilewright.architecture import parse_architecture
from tilewright.document import parse
from tilewright.mapper.bounds.tables.port_table import port_bounds
from tilewright.mapper.search.search import Search
from tilewright.workload.layer import Layer
from tilewright.workload.operators import conv2d, depthwise, matmul

OBJECTIVES = ("latency", "edp")
SLOW = [pytest.param(seed, marks=pytest.mark.slow) for seed in range(8, 200)]
STARVED = """
name: starved
levels:
- {memory: DRAM, word: 8 bits, energy: {read: 20, write: 20}, bandwidth: 0.5}
- memory: L1
  size: 24 B
  word: 8 bits
  energy: {read: 4, write: 4}
  bandwidth: {read: 2, write: 3}
- {array: PE, axes: {X: 4}, network: {multicast: true, reduction: %s, bandwidth: 1}}
%s
- {compute: MAC, energy: 0.1, cycles: 1}
"""
REGISTERS = "- {memory: RF, size: 4 B, word: 8 bits, energy: {read: 0.1, write: 0.1}}"
LAYERS = (
    matmul(M=6, N=4, K=8),
    conv2d(K=2, C=4, P=6, Q=2, R=3, S=2),
    conv2d(K=4, C=2, P=4, Q=1, R=2, S=1, stride=2),
    depthwise(G=4, P=4, Q=4, R=2, S=2),
)


def compare(search: Search, monkeypatch: pytest.MonkeyPatch) -> int:
    """Compare bounds with the optimum of each bypass choice; return how many ports were bounded."""
    bounded = 0
    for keep in search.keeps()[:4]:
        with monkeypatch.context() as without:
            without.setattr(Search, "asks_ports", lambda self: False)
            search.begin_anew()
            best = search.solve(plans=search.plans([keep]))
            assert best.finished
            cycles = float(search.best[3])
        if not best.value < inf:
            continue
        for jointly in (False, True):
            plan = search.plan(keep)
            choices = np.diff(search.space.unroll_start)
            search.tables.fill(plan, choices, jointly, inf)
            plan.choices = choices
            # those that are slower than the best one do not matter
            for slowest in (inf, cycles * (1 + 1e-9)):
                scarce = port_bounds(search.tables, plan, choices, jointly, slowest)
                plan.outer = plan.outer._replace(scarce=scarce)
                assert search.bound(plan)[1] <= cycles * (1 + 1e-9)
                bounded += scarce.port >= 0
    return bounded


@pytest.mark.sampled(8)
@pytest.mark.parametrize("seed", [*range(8), *SLOW])
@pytest.mark.parametrize("objective", OBJECTIVES)
def test_no_mapping_takes_fewer_cycles(
    seed: int, objective: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    search = Search(*problem(seed), objective)
    if not search.na or not search.resources:
        pytest.skip("no array or no port")
    compare(search, monkeypatch)


@pytest.mark.sampled(8)
@pytest.mark.parametrize("layer", LAYERS, ids=lambda layer: layer.name)
@pytest.mark.parametrize("inside", ["", REGISTERS])
@pytest.mark.parametrize("reduction", ["true", "false"])
def test_no_mapping_of_a_starved_machine_takes_fewer_cycles(
    layer: Layer, inside: str, reduction: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    search = Search(layer, parse_architecture(parse(STARVED % (reduction, inside))), "latency")
    assert compare(search, monkeypatch) > 0


@pytest.mark.sampled(8)
@pytest.mark.parametrize("seed", [*range(8), *SLOW])
@pytest.mark.parametrize("objective", OBJECTIVES)
def test_searches_with_tables_of_ports_find_the_same(
    seed: int, objective: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    compare_optima(seed, objective, monkeypatch)


def test_slow_mappings_that_need_less_energy_are_not_lost(monkeypatch: pytest.MonkeyPatch) -> None:
    # a low ceiling leaves out the mapping of the least energy, which is slower than others
    compare_optima(123, "edp", monkeypatch)


def compare_optima(seed: int, objective: str, monkeypatch: pytest.MonkeyPatch) -> None:
    found = []
    for asks in (False, True):
        monkeypatch.setattr(
            Search, "asks_ports", lambda self, asks=asks: asks and bool(self.na and self.resources)
        )
        search = Search(*problem(seed), objective)
        assert search.solve().finished
        found.append(search.best[:2].copy())
    assert found[1] == pytest.approx(found[0], rel=1e-9)


def test_a_small_memory_is_known_to_ask_again() -> None:
    search = Search(LAYERS[0], parse_architecture(parse(STARVED % ("true", ""))), "latency")
    keep = max(search.keeps(), key=lambda keep: sum(map(len, keep)))
    plan = search.plan(keep)
    choices = np.diff(search.space.unroll_start)
    search.tables.fill(plan, choices, True, inf)
    plan.choices = choices
    before = search.bound(plan)[1]
    scarce = port_bounds(search.tables, plan, choices, True, inf)
    plan.outer = plan.outer._replace(scarce=scarce)
    # every word once, through the memory outside: 6 x 8 + 8 x 4 + 6 x 4 of them
    assert before == pytest.approx(2 * 104)
    search.solve(plans=[search.plan(keep)])
    assert before < search.bound(plan)[1] <= search.best[3]

"""Layers of a segment that are bounded by themselves: together no more than any tree costs."""

from math import inf
from random import Random

import pytest

from fused_chains import chain, gated, machine, two_readers
from fused_trees import random_costs
from layers_apart import least_of_layers
from several_arrays import several_arrays
from tilewright.architecture.machine import Architecture, Compute, Memory
from tilewright.fusion.evaluation import evaluate
from tilewright.mapper.fused.network_search import FusedNetworkSearch
from tilewright.mapper.fused.rounds import Rounds
from tilewright.mapper.fused.search.apart import (
    Terms,
    fewest_steps,
    layers_apart,
    least_apart,
)
from tilewright.mapper.fused.search.chunks import Chunks
from tilewright.mapper.fused.search.segment_search import SegmentSearch
from tilewright.mapper.fused.search.trees import tree_of
from tilewright.mapper.fused.space.segment_problem import SegmentProblem
from tilewright.mapper.fused.trade_offs.priced_time import with_priced_time
from tilewright.mapper.network.network import map_network
from tilewright.mapper.objective.objective import parse_objective
from tilewright.mapping.fused import Segment, segment
from tilewright.workload.cascades import gated_feed_forward
from window_chains import buffered

CLOSE = 1 + 1e-12


def never():
    return False


def graph(random: Random, kind: str) -> Segment:
    """Return a segment."""
    if kind == "chain":
        return chain(random)[0]
    network, names = {"two readers": two_readers, "gated": gated}[kind](random)
    return segment(network, names)


def two_buffers(random: Random) -> Architecture:
    """Return a machine of which two memories may hold tensors for several layers."""
    outer, inner = random.choice((12, 20, 30)), random.choice((3, 5, 8))
    return Architecture(
        "two buffers",
        (
            Memory("DRAM", 16, read_energy=100.0, write_energy=80.0),
            Memory("L2", 16, capacity_bits=16 * outer, read_energy=12.0, write_energy=10.0,
                   must_keep=frozenset(random.choice(("", "O", "I")))),
            Memory("L1", 16, capacity_bits=16 * inner, read_energy=3.0, write_energy=2.0),
            Compute("MAC", energy=1.0),
        ),
    )  # fmt: skip


MACHINES = {"one": machine, "limited": buffered, "two": two_buffers}


def ratio(kind: str, target: str, seed: int) -> float:
    """Return the bound of a segment's layers as a share of its best tree; 0 where none fits."""
    random = Random(seed)
    found, made = graph(random, kind), MACHINES[target](random)
    problem = SegmentProblem(found, made)
    best = SegmentSearch(problem, Chunks(made, parse_objective("energy"))).solve(inf, never)
    return least_of_layers(problem) / best.value if best.value < inf else 0.0


@pytest.mark.long
@pytest.mark.parametrize(
    ("kind", "target"),
    [
        ("chain", "one"), ("chain", "limited"), ("chain", "two"),
        ("two readers", "one"), ("two readers", "limited"), ("gated", "limited"),
        *(pytest.param(*own, marks=pytest.mark.slow)
          for own in (("two readers", "two"), ("gated", "one"), ("gated", "two"))),
    ],
)  # fmt: skip
def test_no_fused_mapping_costs_less(kind, target, whole):
    ratios = [ratio(kind, target, seed) for seed in range(30 if whole else 5)]
    assert max(ratios) <= CLOSE
    assert max(ratios) > 0.95  # a bound that says something


@pytest.mark.long
@pytest.mark.parametrize("kind", ["chain", "two readers", "gated"])
@pytest.mark.parametrize("target", ["limited", "two"])
def test_no_layer_of_a_tree_costs_less_than_by_itself(kind, target, whole):
    closest = 0.0
    for seed in range(20 if whole else 3):
        random = Random(seed)
        found, made = graph(random, kind), MACHINES[target](random)
        problem = SegmentProblem(found, made)
        least = {
            ways[0].layer.name: (
                min(least_apart(way, never) for way in ways),
                fewest_steps(ways[0].layer, made),
            )
            for ways in layers_apart(problem, each=True)
        }
        # every tree that the search looks at, and those of other objectives
        for objective in ("energy", "latency", "edp"):
            best = SegmentSearch(problem, Chunks(made, parse_objective(objective))).solve(
                inf, never
            )
            if best.candidate is None:
                continue
            cost = evaluate(found, made, tree_of(problem, best.candidate))
            for name, own in cost.layers.items():
                energy, cycles = least[name]
                assert own.energy_pj >= energy * (1 - 1e-12)
                assert own.cycles >= cycles * (1 - 1e-12)
                closest = max(closest, energy / own.energy_pj)
        shared = ["M"]
        for cost in random_costs(random, found, made, shared, 25) if kind == "chain" else ():
            for name, own in cost.layers.items():
                energy, cycles = least[name]
                assert own.energy_pj >= energy * (1 - 1e-12)
                assert own.cycles >= cycles * (1 - 1e-12)
    assert closest > 0.7  # a bound that says something


def test_terms_say_what_is_exchanged_and_shared():
    found = gated_feed_forward(tokens=4, width=4, hidden=4)
    own = segment(found, ["gate", "up", "hidden", "down"])
    problem = SegmentProblem(own, buffered(Random(0)))
    terms = [[way.terms for way in ways] for ways in layers_apart(problem)]
    shared, weights, held = Terms(0, 2), Terms(), Terms(1)
    assert terms == [
        [(shared, weights, held)],
        # the gate's tile is there as well
        [(shared, weights, Terms(1, tiles=2))],
        [(held, held, held)],
        [(held, weights, Terms())],
    ]


@pytest.mark.long
@pytest.mark.parametrize(
    "case",
    [
        ("energy", 0.0),
        pytest.param(("edp", 0.0), marks=pytest.mark.slow),
        pytest.param(("energy", 50.0), marks=pytest.mark.slow),
    ],
)
def test_what_is_found_is_the_same_without_these_bounds(case, monkeypatch):
    random = Random(1)
    objective, price = case
    found, target = gated(random)[0], with_priced_time(several_arrays(random), price)
    alone = map_network(found, target, objective)
    ends = []
    for used in (True, False):
        search = FusedNetworkSearch(found, target, objective, alone.layers)
        search.list_segments()
        if not used:
            monkeypatch.setattr(search, "questions", lambda segments: [])
        Rounds(search, inf).carry_out(hoped=True)
        assert bool(search.apart) == used
        (part,) = [part for part in search.parts if part.names]
        chosen = search.chosen(part)
        ends.append((chosen, [search.outcomes[names].value for names in chosen]))
        assert search.bound(part) == pytest.approx(
            search.values(part, part.names) - sum(search.gain(part, own) for own in chosen)
        )
    assert ends[0] == ends[1]
    assert ends[0][0]

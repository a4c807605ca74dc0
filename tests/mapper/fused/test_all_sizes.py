"""Fused layers with tile sizes that need not divide."""

from dataclasses import replace
from random import Random

import pytest

import tilewright as tw
from fused_cases import random_kind, random_machine, random_tree
from tilewright.document import Document
from tilewright.errors import InputError
from tilewright.fusion import evaluate
from tilewright.mapper.fused.all_sizes import AllSizes
from tilewright.mapper.fused.network import map_fused
from tilewright.mapper.fused.space.rounder_segments import (
    cut_down,
    rounder_segment,
    tiles_of,
    with_tiles,
)
from tilewright.mapping.fused.connections.connected_layers import segment
from tilewright.workload.cascades import inverted_bottleneck
from tilewright.workload.network import parse_network

ENOUGH = 1 - 1e-9


def small(random):
    """Return a machine whose larger buffer has room for some words, without forwarding."""
    machine = random_machine(random)
    words = random.choice((16, 30, 60, 120))

    def own(level):
        if level.name == "L2":
            return replace(level, capacity_bits=16 * words)
        return replace(level, forwarding=False) if level.name == "PE" else level

    return replace(machine, levels=tuple(map(own, machine.levels)))


def feed_forward(tokens=197, width=192, hidden=768):
    """Return two products over a prime number of tokens."""
    layers = [
        {"name": "up", "op": "matmul", "M": tokens, "K": width, "N": hidden,
         "tensors": {"I": "X", "O": "H"}},
        {"name": "down", "op": "matmul", "M": tokens, "K": hidden, "N": width,
         "tensors": {"I": "H", "O": "Y"}},
    ]  # fmt: skip
    data = {"name": "ffn", "layers": layers, "inputs": {"X": [tokens, width]}}
    return parse_network(Document(data, "ffn"))


@pytest.mark.long
@pytest.mark.sampled(2)
@pytest.mark.parametrize("seed", range(12))
def test_no_tree_costs_less_than_the_bound(seed):
    random, objective = Random(seed), ("energy", "edp")[seed % 2]
    network, machine = random_kind(random), small(random)
    divided = map_fused(network, machine, objective)
    found = map_fused(network, machine, objective, tiles="all")
    assert found.value <= divided.value / ENOUGH
    assert found.lower_bound <= divided.value
    whole = segment(network, [layer.name for layer in network.layers])
    goal = {"energy": lambda one: one.energy_pj, "edp": lambda one: one.energy_pj * one.cycles}
    tried = 0
    for _ in range(300):
        tree = random_tree(random, whole, ("retain", "recompute", "refetch"))
        try:
            cost = evaluate(whole, machine, tree)
        except InputError:
            continue
        tried += 1
        assert sum(map(goal[objective], cost.layers.values())) >= found.lower_bound * ENOUGH
    assert tried


def test_a_prime_bound_is_cut_into_chunks():
    network = feed_forward()
    found = {
        t: tw.map(network, "eyeriss", fuse=True, tiles=t, cache=False) for t in ("divisors", "all")
    }
    assert found["all"].segments
    assert found["all"].value < found["divisors"].value
    assert "all tile sizes" in found["all"].text()
    assert "tile sizes that divide" in found["divisors"].text()
    assert "any tile sizes" in found["all"].to_dict()["space"]


def test_all_tile_sizes_are_proven_where_the_bound_is_reached():
    found = tw.map(feed_forward(), "tpu-v1", fuse=True, tiles="all", cache=False)
    assert found.segments
    assert found.optimal


def test_tied_dimensions_become_larger_together():
    network = inverted_bottleneck(rows=29, columns=31, channels=8, expanded=48, made=8)
    own = segment(network, [layer.name for layer in network.layers])
    larger = rounder_segment(own)
    for exchange in larger.exchanges:
        maker = larger.layer_of[exchange.producer.layer], own.layer_of[exchange.producer.layer]
        reader = larger.layer_of[exchange.reader.layer], own.layer_of[exchange.reader.layer]
        for tie in exchange.ties:
            made = maker[0].bounds[tie.made] - maker[1].bounds[tie.made]
            read = reader[0].bounds[tie.read] - reader[1].bounds[tie.read]
            assert made * tie.made_step == read * tie.step
    assert any(layer.bounds["P"] > own.layer_of[layer.name].bounds["P"] for layer in larger.layers)
    assert rounder_segment(larger) != larger


def test_tiles_of_a_tree_are_read_and_changed_in_order():
    network = feed_forward(tokens=24, width=8, hidden=12)
    found = tw.map(network, "eyeriss", fuse=True, cache=False)
    (own,) = found.segments
    tiles = tiles_of(own.mapping)
    assert with_tiles(own.mapping, tiles) == own.mapping
    assert tiles_of(with_tiles(own.mapping, [n + 1 for n in tiles])) == [n + 1 for n in tiles]
    assert tiles_of(cut_down(own.mapping, own.segment)) == tiles


def test_an_interrupted_change_of_tiles_keeps_what_is_better(monkeypatch):
    change, cost = AllSizes.change_tiles, AllSizes.cost
    better: list[float] = []

    def changed(self, names, stop):
        before = self.search.outcomes[names].value

        def until_better(self, segment, tree):
            if better:
                raise KeyboardInterrupt
            found = cost(self, segment, tree)
            if found < before * ENOUGH:
                better.append(found)
            return found

        monkeypatch.setattr(AllSizes, "cost", until_better)
        change(self, names, stop)

    monkeypatch.setattr(AllSizes, "change_tiles", changed)
    found = tw.map(feed_forward(), "eyeriss", fuse=True, tiles="all", cache=False)
    assert found.interrupted
    assert [found.segments[0].value] == pytest.approx(better)
    assert not found.optimal

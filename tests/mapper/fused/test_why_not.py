"""Why edges stay unfused: what is said is true of the search and of the graph."""

from math import inf
from random import Random

import pytest

import tilewright as tw
from fused_chains import machine, network
from tilewright.architecture.machine import Architecture, Compute, Memory
from tilewright.document import Document
from tilewright.errors import NoMappingError
from tilewright.mapper.fused.network import map_fused
from tilewright.mapper.fused.results.edges import (
    COST,
    OPERATOR,
    READ_ELSEWHERE,
    ROOM,
    Edge,
    UnfusedEdge,
    edges_among,
    others_that_read,
    reasons_text,
)
from tilewright.mapper.fused.search.chunks import Chunks
from tilewright.mapper.fused.search.segment_search import SegmentSearch
from tilewright.mapper.fused.space.partition import parts_of
from tilewright.mapper.fused.space.segment_problem import SegmentProblem
from tilewright.mapper.objective.objective import parse_objective
from tilewright.mapping.fused.connections.connected_layers import segment
from tilewright.workload.network import parse_network


def buffered(words: int) -> Architecture:
    """Return a machine with a buffer of so many words."""
    memories = (
        Memory("DRAM", 16, read_energy=100.0, write_energy=100.0),
        Memory("GLB", 16, capacity_bits=16 * words, read_energy=6.0, write_energy=6.0),
    )
    return Architecture("small", (*memories, Compute("MAC", energy=1.0)))


@pytest.mark.long
def test_a_fused_edge_costs_at_least_what_is_said():
    told = [extra_is_a_bound(Random(seed)) for seed in range(24)]
    assert sum(extra is not None for extra in told) > 5
    assert any(extra for extra in told)


def extra_is_a_bound(random: Random) -> float | None:
    """Compare what is said of a chain of two with the best fused mapping that there is."""
    found = network(random.choice((4, 6)), [random.choice((4, 6, 8)) for _ in range(3)])
    target = random.choice((machine(random), buffered(random.randint(4, 12))))
    try:
        result = map_fused(found, target, "energy")
    except NoMappingError:
        return None
    if result.segments:
        assert not result.unfused_edges
        return None
    (edge,) = result.unfused_edges
    assert (edge.edge.producer, edge.edge.reader, edge.edge.tensor) == ("l0", "l1", "T1")
    problem = SegmentProblem(segment(found, ["l0", "l1"]), target)
    assert problem.possible
    search = SegmentSearch(problem, Chunks(target, parse_objective("energy")))
    best = search.solve(inf, lambda: False).value
    if edge.extra is None:
        assert edge.reason == ROOM
        assert best == inf
        return None
    assert edge.reason == COST
    assert result.value + edge.extra <= best * (1 + 1e-9)
    return edge.extra


def test_a_tile_that_does_not_fit_is_told_with_its_size():
    product = {"einsum": "O[M,P,Q] += I[C,P+R,Q+S] * W[M,C,R,S]"}
    shape = {"C": 1, "M": 1, "R": 3, "S": 3}
    layers = [
        {"name": "one", **product, "bounds": {**shape, "P": 8, "Q": 8},
         "tensors": {"I": "x", "O": "h"}},
        {"name": "two", **product, "bounds": {**shape, "P": 6, "Q": 6},
         "tensors": {"I": "h", "O": "y"}},
    ]  # fmt: skip
    data = {"name": "convolutions", "layers": layers, "inputs": {"x": [1, 10, 10]}}
    found = map_fused(parse_network(Document(data, "net")), buffered(8), "energy")
    (edge,) = found.unfused_edges
    assert (edge.reason, edge.memory) == (ROOM, "GLB")
    # the window of one word of y; what neighbouring tiles share is made again
    assert (edge.bits_needed, edge.bits) == (16 * 9, 16 * 8)
    assert "smallest tiles do not fit GLB: one > two (144 of 128 bits)" in found.text(80)
    (told,) = found.to_dict()["unfused_edges"]
    assert told["bits_needed"] == 144
    assert "extra" not in told


def test_tensors_that_something_else_reads_are_told():
    product = {"einsum": "O[M,N] += I[M,K] * W[K,N]", "bounds": {"M": 4, "N": 4, "K": 4}}
    layers = [{"name": name, **product} for name in ("one", "two", "three")]
    graph = [
        {"layer": "one", "tensors": {"I": "x"}},
        {"layer": "two", "tensors": {"I": "one"}},
        {"node": "sum", "operator": "add", "inputs": ["one", "two"]},
        {"layer": "three", "tensors": {"I": "sum"}},
    ]
    data = {"name": "residual", "layers": layers, "inputs": {"x": [4, 4]}, "graph": graph}
    found = map_fused(parse_network(Document(data, "net")), buffered(100), "energy")
    told = {(e.edge.producer, e.edge.reader): e for e in found.unfused_edges}
    assert told["one", "two"].reason == READ_ELSEWHERE
    assert told["one", "two"].because == "add reads it, too"
    assert told["two", "three"].reason == told["one", "three"].reason == OPERATOR
    assert told["two", "three"].because == "add between"


@pytest.mark.parametrize("name", ["bert_base", "resnet50"])
def test_edges_of_presets(name):
    graph = tw.load_workload(name).graph
    assert graph is not None
    for part in parts_of(graph):
        edges = list(edges_among(part.nodes, part.prefix))
        direct = {frozenset((e.producer, e.reader)) for e in edges if not e.between}
        neighbours = {frozenset((a, b)) for a, own in part.neighbours.items() for b in own}
        assert direct == neighbours
        assert all(part.layer_of[e.producer] and part.layer_of[e.reader] for e in edges)
        if part.prefix == "layer.":
            told = {(e.producer, e.reader): e.between for e in edges}
            assert told["layer.scores", "layer.context"] == ("softmax",)
            assert not others_that_read(part.nodes, "up")


def test_a_line_for_each_reason_is_not_too_wide():
    edges = [
        UnfusedEdge(
            edge=Edge(f"block.first{i}", f"block.second{i}", f"t{i}"), repeat=1, reason=COST,
            because="costs more, at least", extra=3.0, share=0.1,
        )
        for i in range(9)
    ]  # fmt: skip
    (line,) = reasons_text(edges, 80)
    assert len(line) <= 80
    assert line == "  costs more, at least: first0 > second0 (+10.0%), 8 more"
    (line,) = reasons_text(edges, 90)
    assert line.endswith(" first0 > second0 (+10.0%), first1 > second1 (+10.0%), 7 more")

"""Pipelined latency: the closed form against the timeline, by hand, and as properties."""

from __future__ import annotations

from dataclasses import replace
from math import isclose
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import tilewright as tw
from tilewright.architecture.machine import Architecture, Array, Compute, Level, Memory
from tilewright.architecture.transfers import Dma, Networks
from tilewright.mapping.nodes import For, Mapping, Spatial, Store
from tilewright.model.evaluate import evaluate
from tilewright.reference.timeline import simulate_latency
from tilewright.timing import Event, Pipeline, pipelined_latency
from tilewright.timing.events import first_events
from tilewright.timing.latency import Nest
from tilewright.timing.walk import Walk, slices_at_most
from tilewright.workload.layer import Layer, Tensor, Term
from timed_cases import Timed, quick, timed


def check_equal(case: Timed) -> None:
    layer, architecture, mapping, layouts = case
    expected, events = simulate_latency(layer, architecture, mapping, layouts=layouts, check=False)
    found = pipelined_latency(layer, architecture, mapping, layouts=layouts)
    for name, cycles in numbers(expected).items():
        assert isclose(numbers(found)[name], cycles, rel_tol=1e-9, abs_tol=1e-9), name
    assert isclose(
        expected.cycles,
        expected.computing + expected.operands + sum(expected.exposed.values()),
        rel_tol=1e-9,
    )
    assert max(event.end for event in events) <= expected.cycles * (1 + 1e-12)


def numbers(pipeline: Pipeline) -> dict[str, float]:
    return {
        "cycles": pipeline.cycles,
        "computing": pipeline.computing,
        "operands": pipeline.operands,
        **pipeline.exposed,
        **pipeline.busy,
    }


@quick(100)
@given(case=timed())
def test_closed_form_equals_the_timeline(case: Timed) -> None:
    check_equal(case)


@pytest.mark.slow
@quick(3000)
@given(case=timed(operations=400))
def test_closed_form_equals_the_timeline_on_many_cases(case: Timed) -> None:
    check_equal(case)


@quick(40)
@given(case=timed())
def test_pipelined_latency_is_at_least_throughput_latency(case: Timed) -> None:
    layer, architecture, mapping, layouts = case
    apart = evaluate(layer, architecture, mapping, check=False)
    together = evaluate(
        layer, architecture, mapping, check=False, latency="pipelined", layouts=layouts
    )
    assert together.cycles >= apart.cycles * (1 - 1e-12)
    assert together.counts == apart.counts
    assert together.pipeline is not None
    for busy in together.pipeline.busy.values():
        assert busy <= together.cycles * (1 + 1e-12)


@quick(20)
@given(case=timed())
def test_double_buffering_and_bandwidth_never_cost_cycles(case: Timed) -> None:
    layer, architecture, mapping, layouts = case
    cycles = pipelined_latency(layer, architecture, mapping, layouts=layouts).cycles

    def better(level: Level, **change: Any) -> float:
        levels = [replace(x, **change) if x.name == level.name else x for x in architecture.levels]
        machine = replace(architecture, levels=tuple(levels))
        return pipelined_latency(layer, machine, mapping, layouts=layouts).cycles

    for level in architecture.levels:
        limit = cycles * (1 + 1e-12)
        if isinstance(level, Memory):
            assert better(level, buffering=2) <= limit
            assert better(level, read_bandwidth=None, shared_bandwidth=None) <= limit
            assert better(level, dma=None) <= limit
        elif isinstance(level, Array):
            assert better(level, bandwidth=None) <= limit
            assert better(level, adders=None) <= limit


@quick(20)
@given(case=timed(), data=st.data())
def test_cutting_a_loop_in_two_changes_no_cycle(case: Timed, data: st.DataObject) -> None:
    layer, architecture, mapping, layouts = case
    extents = dict(layer.bounds)
    cuts = []
    for i, node in enumerate(mapping.nodes):
        if isinstance(node, Store):
            continue
        extent, extents[node.dimension] = extents[node.dimension], node.tile
        if isinstance(node, For):
            cuts += [(i, tile) for tile in range(node.tile, extent + 1, node.tile)]
    if not cuts:
        return
    i, tile = data.draw(st.sampled_from(cuts))
    outer = replace(mapping.nodes[i], tile=tile)
    cut = Mapping((*mapping.nodes[:i], outer, *mapping.nodes[i:]))
    whole = pipelined_latency(layer, architecture, mapping, layouts=layouts)
    parts = pipelined_latency(layer, architecture, cut, layouts=layouts)
    assert numbers(parts) == pytest.approx(numbers(whole))


# A[4 x 2] times B[2 x 4]: tiles of A 2 x 1 (4 of them), of B 1 x 4 (4), of C 2 x 4 (2, each twice)
LAYER = Layer(
    "matmul",
    {"M": 4, "N": 4, "K": 2},
    (
        Tensor("A", ((Term(1, "M"),), (Term(1, "K"),)), "I"),
        Tensor("B", ((Term(1, "K"),), (Term(1, "N"),)), "W"),
        Tensor("C", ((Term(1, "M"),), (Term(1, "N"),)), "O"),
    ),
)
ALL = ("A", "B", "C")
TILED = Mapping((Store("DRAM", ALL), For("M", 2), For("K", 1), Store("GLB", ALL)))


def two_memories(buffering: int = 1, **dram: Any) -> Architecture:
    memories = (Memory("DRAM", 16, **dram), Memory("GLB", 16, buffering=buffering))
    return Architecture("two memories", (*memories, Compute("MAC")))


def test_single_buffering_by_hand() -> None:
    # fills and drains over one port: 40 words, 16 of them drains; nothing overlaps
    found = pipelined_latency(LAYER, two_memories(shared_bandwidth=1.0), TILED)
    assert found.computing == 32
    assert found.exposed == {"GLB": 40}
    assert found.cycles == 72
    assert found.busy == {"DRAM port": 40}


def test_double_buffering_by_hand() -> None:
    # first fill 2 + 4, last drain 8; K goes on: 6 words under 8 operations; M goes on: 6 words in
    # and 8 out, 6 cycles longer than 8 operations
    found = pipelined_latency(LAYER, two_memories(2, shared_bandwidth=1.0), TILED)
    assert found.cycles == 6 + 8 + 14 + 8 + 8 + 8
    assert found.exposed == {"GLB": 6 + 6 + 8}


def test_partial_sums_come_back_but_not_at_first() -> None:
    # with K outside, each tile of C comes back once: 16 words in, 32 out
    nodes = (Store("DRAM", ALL), For("K", 1), For("M", 2), Store("GLB", ALL))
    found = pipelined_latency(LAYER, two_memories(read_bandwidth=1.0), Mapping(nodes))
    assert found.busy == {"DRAM read": 8 + 8 + 16}


def test_dma_moves_contiguous_runs_of_the_layout() -> None:
    # A lies as M, K: a tile of 2 x 1 is 2 bursts of 2 bytes; B and C move whole rows
    dma = Dma(startup=10.0, per_byte=0.5)
    rows = pipelined_latency(LAYER, two_memories(dma=dma), TILED)
    assert rows.busy == {"DRAM DMA": 4 * 2 * 11 + 4 * 14 + 2 * (10 + 8)}
    # as K, M it is one burst of 4 bytes
    columns = pipelined_latency(LAYER, two_memories(dma=dma), TILED, layouts={"A": "K, M"})
    assert columns.busy == {"DRAM DMA": 4 * 12 + 4 * 14 + 2 * 18}


def test_dma_counts_in_its_own_clock_and_in_whole_blocks() -> None:
    dma = Dma(startup=10.0, per_byte=0.5, clock_hz=2e9)
    fast = pipelined_latency(LAYER, two_memories(dma=dma), TILED)
    assert fast.busy["DRAM DMA"] == (4 * 2 * 11 + 4 * 14 + 2 * 18) / 2
    blocks = pipelined_latency(LAYER, two_memories(dma=dma, block_bytes=8), TILED)
    assert blocks.busy["DRAM DMA"] == (4 * 2 * 14 + 4 * 14 + 2 * 18) / 2


def array_machine(**network: Any) -> Architecture:
    array = Array("PE", {"X": 4}, bandwidth=4.0, **network)
    return Architecture("array", (Memory("DRAM", 16), array, Memory("RF", 16), Compute("MAC")))


SPREAD = Mapping((Store("DRAM", ALL), For("M", 1), Spatial("N", 1, "X", "PE"), Store("RF", ALL)))
SUMS = Mapping(
    (Store("DRAM", ALL), For("M", 1), For("N", 1), Spatial("K", 1, "X", "PE"), Store("RF", ALL))
)


def test_operands_take_turns_on_networks() -> None:
    # 4 rows of A (2 words), B once (8 words), 4 rows of C (4 words)
    shared = pipelined_latency(LAYER, array_machine(), SPREAD)
    assert shared.busy == {"PE network": (8 + 8 + 16) / 4}
    apart = pipelined_latency(LAYER, array_machine(networks=Networks(3, 1)), SPREAD)
    assert apart.busy == {"PE read 1": 8, "PE read 2": 8, "PE read 3": 0, "PE write 1": 16}
    turns = pipelined_latency(LAYER, array_machine(networks=Networks(1, 1)), SPREAD)
    assert turns.busy == {"PE read 1": 16 / 2, "PE write 1": 16 / 2}


@pytest.mark.parametrize(("adders", "each"), [(None, 0), ("tree", 1), ("hops", 1), ("network", 1)])
def test_adding_up_partial_sums_stalls_a_single_buffer(adders: str | None, each: int) -> None:
    # 16 sums of two elements each: one level of a tree, one hop, or one word on its own network
    networks = Networks(2, 1, 1)
    free = pipelined_latency(LAYER, array_machine(networks=networks), SUMS).cycles
    found = pipelined_latency(LAYER, array_machine(networks=networks, adders=adders), SUMS)
    assert found.cycles == free + 16 * each


def test_nested_stages_expose_the_inner_exchange_when_the_outer_tile_changes() -> None:
    # DRAM > GLB > RF, one word a cycle everywhere, both double buffered
    machine = Architecture(
        "three",
        (
            Memory("DRAM", 16, read_bandwidth=1.0),
            Memory("GLB", 16, read_bandwidth=1.0, buffering=2),
            Memory("RF", 16, buffering=2),
            Compute("MAC"),
        ),
    )
    names = ("I", "O")
    layer = Layer(
        "copy",
        {"P": 8},
        (Tensor("I", ((Term(1, "P"),),), "I"), Tensor("O", ((Term(1, "P"),),), "O")),
    )
    nodes = (
        Store("DRAM", names),
        For("P", 4),
        Store("GLB", names),
        For("P", 2),
        Store("RF", names),
    )
    found = pipelined_latency(layer, machine, Mapping(nodes))
    # fills 4 and 2; over the GLB's read port go 2 words to the RF and 4 results to the DRAM during
    # the first 4 operations; then 2 words to the RF while nothing else happens; 4 operations; drain
    assert found.cycles == (4 + 2) + 6 + 2 + 4 + 4
    assert found.exposed == {"GLB": 4 + 2 + 4, "RF": 2 + 2}
    assert numbers(found) == pytest.approx(
        numbers(simulate_latency(layer, machine, Mapping(nodes))[0])
    )


def test_a_machine_says_how_cycles_are_counted() -> None:
    machine = replace(two_memories(shared_bandwidth=1.0), latency="pipelined")
    assert tw.evaluate(LAYER, machine, TILED).cycles == 72
    assert tw.evaluate(LAYER, machine, TILED, latency="throughput").cycles == 40
    assert tw.simulate(LAYER, machine, TILED).cycles == 72
    with pytest.raises(tw.InputError, match="did you mean 'pipelined'"):
        tw.evaluate(LAYER, machine, TILED, latency="pipeline")
    with pytest.raises(tw.InputError, match="leaves out K; tensor 'A' has M, K"):
        tw.evaluate(LAYER, machine, TILED, layouts={"A": "M"})
    with pytest.raises(tw.InputError, match="unknown tensor 'X'"):
        tw.evaluate(LAYER, machine, TILED, layouts={"X": "M"})


def test_results_say_where_the_cycles_go() -> None:
    found = tw.evaluate(LAYER, two_memories(shared_bandwidth=1.0), TILED, latency="pipelined")
    assert "pipelined    computing 32, waiting for GLB 40" in found.text()
    data = found.to_dict()
    assert data["pipeline"]["exposed"] == {"GLB": 40}
    assert found.bound == "GLB"
    assert "pipeline" not in tw.evaluate(LAYER, two_memories(), TILED).to_dict()


@quick(40)
@given(case=timed(operations=100))
def test_first_events_are_those_of_the_timeline(case: Timed) -> None:
    layer, architecture, mapping, layouts = case
    _, expected = simulate_latency(layer, architecture, mapping, layouts=layouts, check=False)
    found = first_events(layer, architecture, mapping, layouts=layouts, most=100_000)
    assert len(found) == len(expected)

    def order(event: Event) -> tuple[float, float, str, str]:
        return round(event.start, 6), round(event.end, 6), event.where, event.what

    for one, other in zip(sorted(found, key=order), sorted(expected, key=order), strict=True):
        assert (one.where, one.what) == (other.where, other.what)
        assert (one.start, one.end) == pytest.approx((other.start, other.end), abs=1e-6)
    assert len(first_events(layer, architecture, mapping, most=5)) <= 5


@quick(60)
@given(case=timed(operations=400), data=st.data())
def test_what_is_told_together_takes_as_long_as_told_apart(
    case: Timed, data: st.DataObject
) -> None:
    layer, architecture, mapping, layouts = case
    nest = Nest(layer, architecture, mapping, layouts)
    shown = data.draw(st.sampled_from([None, 1, 2]))
    check_walk(nest, Walk(nest, shown, data.draw(st.integers(0, len(nest.stages)))))


@pytest.mark.parametrize("shown", [1, 2, 3])
@pytest.mark.parametrize("buffering", [1, 2])
def test_many_iterations_are_told_together(shown: int, buffering: int) -> None:
    layer = tw.conv1d(name="c", K=6, C=8, P=29, R=3)
    machine = two_memories(shared_bandwidth=1.0, buffering=buffering)
    tensors = ("I", "W", "O")
    nodes = Store("DRAM", tensors), For("K", 1), For("P", 4), Store("GLB", tensors), For("C", 1)
    nest = Nest(layer, machine, Mapping(nodes))
    walk = Walk(nest, shown)
    check_walk(nest, walk)
    told = [each for each in Walk(nest, shown).slices() if each.steady]
    assert {each.steady.dimension for each in told if each.steady} == {"K", "P"}
    assert len(told) == 1 + shown + 1


def check_walk(nest: Nest, walk: Walk) -> None:
    whole = nest.pipeline()
    slices = list(walk.slices())
    assert len(slices) <= slices_at_most(walk)
    assert isclose(walk.now, whole.cycles, rel_tol=1e-9)
    for name, cycles in zip(nest.ports.names, walk.busy, strict=True):
        assert isclose(cycles, whole.busy[name], rel_tol=1e-9, abs_tol=1e-9), name
    waits = dict.fromkeys(whole.exposed, 0.0)
    for each in slices:
        for s, stage in enumerate(nest.stages):
            waits[stage.memory] += each.times[3 + s]
        if each.what == "stall":
            waits[nest.stages[each.stage].memory] += each.end - each.start
    assert waits == pytest.approx(dict(whole.exposed), rel=1e-9, abs=1e-9)
    marks = {(round(e.start, 6), e.stage, e.what) for e in Walk(nest).slices()}
    for each in slices:
        if each.what in ("exchange", "compute"):
            assert (round(each.start, 6), each.stage, each.what) in marks

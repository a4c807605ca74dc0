"""Many tile choices at once cost what each costs alone, to the last bit."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from strategies import cases
from tilewright.architecture.machine import Architecture, Compute, Memory
from tilewright.errors import InputError, MappingError
from tilewright.mapping.nodes import For, Mapping, Spatial, Store
from tilewright.mapping.validity import check
from tilewright.model import batch as batch_module
from tilewright.model.batch import evaluate_batch, one_by_one
from tilewright.model.closed_form.queries import memo as memo_module
from tilewright.model.closed_form.queries.locate import Memo
from tilewright.model.closed_form.queries.memo import Nodes
from tilewright.model.closed_form.traffic import with_tiles
from tilewright.model.evaluate import evaluate
from tilewright.workload.layer import Layer, Tensor, Term

Case = tuple[Layer, Architecture, Mapping]
relaxed = settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))


def loops(mapping: Mapping) -> list[For | Spatial]:
    return [node for node in mapping.nodes if not isinstance(node, Store)]


def convolution() -> Case:
    layer = Layer(
        "convolution",
        {"K": 12, "P": 12, "R": 5},
        (
            Tensor("I", ((Term(1, "P"), Term(1, "R")),), "I"),
            Tensor("W", ((Term(1, "K"),), (Term(1, "R"),)), "W"),
            Tensor("O", ((Term(1, "K"),), (Term(1, "P"),)), "O"),
        ),
    )
    architecture = Architecture(
        "two memories",
        (
            Memory("DRAM", 16, read_energy=200.0, write_energy=200.0, shared_bandwidth=2.0),
            Memory("GLB", 16, read_energy=6.0, write_energy=7.0),
            Compute("MAC", 1.0),
        ),
    )
    names = ("I", "W", "O")
    block = (For("K", 1), For("P", 1), For("R", 1))
    return (
        layer,
        architecture,
        Mapping((Store("DRAM", names), *block, Store("GLB", names), *block)),
    )


def is_valid(layer: Layer, architecture: Architecture, mapping: Mapping) -> bool:
    try:
        check(mapping, layer, architecture)
    except MappingError:
        return False
    return True


@relaxed
@given(case=cases(small=True), data=st.data())
def test_batch_equals_evaluation_row_by_row(case: Case, data: st.DataObject) -> None:
    layer, architecture, mapping = case
    own = [node.tile for node in loops(mapping)]
    # sizes near the bounds make short chunks, sizes outside them invalid rows
    other = st.tuples(*(st.integers(0, layer.bounds[n.dimension] + 1) for n in loops(mapping)))
    shrunk = st.tuples(*(st.integers(1, tile) for tile in own))
    drawn = data.draw(st.lists(shrunk | other, max_size=8))
    tiles = np.array([own, *drawn], np.int64).reshape(len(drawn) + 1, len(own))
    batch = evaluate_batch(layer, architecture, mapping, tiles, traffic=True)
    assert batch.reads is not None
    assert batch.writes is not None
    for row, sizes in enumerate(tiles.tolist()):
        one = with_tiles(mapping, sizes)
        assert batch.valid[row] == is_valid(layer, architecture, one)
        if not batch.valid[row]:
            assert batch.energy_pj[row] == batch.cycles[row] == np.inf
            continue
        alone = evaluate(layer, architecture, one, check=False)
        assert batch.energy_pj[row] == alone.energy_pj
        assert batch.cycles[row] == alone.cycles
        assert batch.edp[row] == alone.edp_pj_cycles
        for m, memory in enumerate(architecture.memories):
            for t, tensor in enumerate(layer.tensors):
                counts = alone.counts.memories[memory.name][tensor.name]
                assert batch.reads[row, m, t] == counts.reads
                assert batch.writes[row, m, t] == counts.writes


@relaxed
@given(case=cases(small=True), data=st.data())
def test_layers_too_large_for_tables_get_the_same(case: Case, data: st.DataObject) -> None:
    layer, architecture, mapping = case
    other = st.tuples(*(st.integers(1, layer.bounds[n.dimension]) for n in loops(mapping)))
    own = tuple(node.tile for node in loops(mapping))
    drawn = [own, *data.draw(st.lists(other, max_size=4))]
    tiles = np.array(drawn, np.int64).reshape(len(drawn), len(own))
    one = one_by_one(layer, architecture, mapping, tiles, traffic=True)
    other_way = evaluate_batch(layer, architecture, mapping, tiles, traffic=True)
    for name in ("valid", "energy_pj", "cycles", "reads", "writes"):
        assert np.array_equal(getattr(one, name), getattr(other_way, name)), name


@relaxed
@given(case=cases())
def test_batch_gives_each_row_the_same_whatever_its_neighbours(case: Case) -> None:
    layer, architecture, mapping = case
    own = np.array([node.tile for node in loops(mapping)], np.int64)
    assume(len(own))
    halves = [np.maximum(1, own // (2 ** (np.arange(len(own)) >= k))) for k in range(len(own) + 1)]
    tiles = np.array(halves).reshape(-1, len(own))
    together = evaluate_batch(layer, architecture, mapping, tiles)
    for row in range(len(tiles)):
        alone = evaluate_batch(layer, architecture, mapping, tiles[row : row + 1])
        assert alone.valid[0] == together.valid[row]
        assert alone.energy_pj[0] == together.energy_pj[row]
        assert alone.cycles[0] == together.cycles[row]


@given(case=cases())
@settings(max_examples=5, deadline=None)
def test_batch_refuses_tiles_of_another_shape(case: Case) -> None:
    layer, architecture, mapping = case
    with pytest.raises(InputError, match="loops"):
        evaluate_batch(layer, architecture, mapping, np.ones((3, len(loops(mapping)) + 1)))


@given(case=cases())
@settings(max_examples=5, deadline=None)
def test_batch_refuses_stores_that_no_tile_sizes_can_mend(case: Case) -> None:
    layer, architecture, mapping = case
    outside = Mapping((For(layer.dimensions[0], 1), *mapping.nodes))
    with pytest.raises(MappingError):
        evaluate_batch(layer, architecture, outside, np.ones((1, len(loops(outside)))))


@pytest.mark.parametrize("few", [True, False])
def test_batch_forgets_what_it_has_no_room_for(few: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    layer, architecture, mapping = convolution()
    rng = np.random.default_rng(1)
    drawn = rng.integers(1, [13, 13, 6], (400, 2, 3))
    tiles = np.minimum.accumulate(drawn, axis=1).reshape(400, 6)
    roomy = evaluate_batch(layer, architecture, mapping, tiles)
    forgotten = 0

    def forget(nodes: Nodes, *size: int) -> Memo:
        nonlocal forgotten
        forgotten += 1
        return memory(nodes, *size)

    memory = Nodes.memo
    monkeypatch.setattr(Nodes, "memo", forget)
    monkeypatch.setattr(batch_module, "CHUNK", 16)
    monkeypatch.setattr(batch_module, "FIRST_NODES", 16)
    monkeypatch.setattr(batch_module, "MOST_NODES", 16)
    if not few:
        monkeypatch.setattr(memo_module, "MOST_NODES", 0)
    cramped = evaluate_batch(layer, architecture, mapping, tiles)
    assert forgotten > 1
    assert roomy.valid.all()
    assert (cramped.energy_pj == roomy.energy_pj).all()
    assert (cramped.cycles == roomy.cycles).all()


def test_batch_of_rows_that_do_not_fit_costs_nothing_and_is_all_invalid() -> None:
    layer, architecture, mapping = convolution()
    tiles = np.array([[0, 1, 1, 1, 1, 1], [3, 1, 1, 4, 1, 1], [2**62, 1, 1, 2**62, 1, 1]])
    batch = evaluate_batch(layer, architecture, mapping, tiles, traffic=True)
    assert not batch.valid.any()
    assert np.isinf(batch.edp).all()
    assert batch.reads is not None
    assert not batch.reads.any()
    none = evaluate_batch(layer, architecture, mapping, np.ones((0, 6)))
    assert len(none) == 0

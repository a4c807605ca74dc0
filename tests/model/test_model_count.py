"""Properties of the counts that hold at any size, where no simulation reaches."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tilewright.architecture.files import load_architecture
from tilewright.architecture.machine import Architecture, Array, Compute, Memory
from tilewright.errors import InputError
from tilewright.kernels import kernel as kernels
from tilewright.kernels.types import Ints
from tilewright.mapping.nodes import For, Mapping, Node, Spatial, Store
from tilewright.model.closed_form import windows
from tilewright.model.closed_form.boxes import distinct_words, touched_words
from tilewright.model.closed_form.windows import window
from tilewright.model.closed_form.words import F, S, T, U, chains
from tilewright.model.count import count
from tilewright.workload.layer import Layer, Tensor, Term
from tilewright.workload.operators import matmul

NAMES = ("I", "W", "O")
LAYER = Layer(
    "3x3",
    {"K": 256, "C": 192, "P": 56, "Q": 55, "R": 3, "S": 3},
    (
        Tensor(
            "I",
            ((Term(1, "C"),), (Term(2, "P"), Term(1, "R")), (Term(2, "Q"), Term(1, "S"))),
            "I",
        ),
        Tensor("W", ((Term(1, "K"),), (Term(1, "C"),), (Term(1, "R"),), (Term(1, "S"),)), "W"),
        Tensor("O", ((Term(1, "K"),), (Term(1, "P"),), (Term(1, "Q"),)), "O"),
    ),
)


@kernels.kernel
def touched(coef: Ints, bounds: Ints, dim: Ints, tile: Ints, mode: Ints) -> tuple[int, int]:
    """Return the words of a group that the first instance touches, in closed form and walked."""
    walked = touched_words(coef, bounds, dim, tile, mode)
    return distinct_words(coef, bounds, dim, tile, mode), walked.sum()


def machine(**network: bool) -> Architecture:
    memories = (Memory("DRAM", 16), Memory("GLB", 16))
    array = Array("PE", {"X": 16, "Y": 16}, **network)
    return Architecture("simple", (*memories, array, Memory("RF", 16), Compute("MAC")))


@st.composite
def nests(draw: st.DrawFn, spatial: bool = True) -> list[Node]:
    extents = dict(LAYER.bounds)

    def loops(limit: int | None = None) -> list[Node]:
        nodes: list[Node] = []
        room = {"X": limit or 0, "Y": limit or 0}
        for _ in range(draw(st.integers(0, 4))):
            d = draw(st.sampled_from(LAYER.dimensions))
            axis = draw(st.sampled_from("XY"))
            smallest = -(-extents[d] // room[axis]) if limit else 1
            tile = draw(st.integers(smallest, extents[d]))
            room[axis] //= -(-extents[d] // tile)
            extents[d] = tile
            nodes.append(Spatial(d, tile, axis, "PE") if limit else For(d, tile))
        return nodes

    outer, middle = loops(), loops()
    across = loops(16) if spatial else []
    inner = loops()
    stores = [Store(memory, NAMES) for memory in ("DRAM", "GLB", "RF")]
    return [stores[0], *outer, stores[1], *middle, *across, *inner, stores[2]]


@settings(max_examples=60, deadline=None)
@given(nodes=nests(), data=st.data())
def test_cutting_one_loop_in_two_changes_no_count(nodes: list[Node], data: st.DataObject) -> None:
    cuttable = [i for i, node in enumerate(nodes) if isinstance(node, For)]
    if not cuttable:
        return
    i = data.draw(st.sampled_from(cuttable))
    node = nodes[i]
    assert isinstance(node, For)
    tiles = [LAYER.bounds[node.dimension]]
    tiles += [
        n.tile for n in nodes[:i] if not isinstance(n, Store) and n.dimension == node.dimension
    ]
    multiples = [t for t in range(node.tile, tiles[-1] + 1, node.tile)]
    outer = For(node.dimension, data.draw(st.sampled_from(multiples)))
    cut = [*nodes[:i], outer, *nodes[i:]]
    architecture = machine()
    assert count(LAYER, architecture, Mapping(tuple(cut))) == count(
        LAYER, architecture, Mapping(tuple(nodes))
    )


@settings(max_examples=40, deadline=None)
@given(nodes=nests(spatial=False))
def test_without_spatial_loops_a_level_reads_what_the_next_writes(nodes: list[Node]) -> None:
    counts = count(LAYER, machine(), Mapping(tuple(nodes)))
    dram, glb, rf = (counts.memories[name] for name in ("DRAM", "GLB", "RF"))
    for name in ("I", "W"):
        assert dram[name].reads == glb[name].writes
        assert glb[name].reads == rf[name].writes
        assert rf[name].reads == counts.operations
    words = 256 * 56 * 55
    assert dram["O"].writes - dram["O"].reads == words
    # what enters a memory, from zero or with a partial sum, leaves it
    assert rf["O"].writes - counts.operations == glb["O"].reads - dram["O"].writes
    assert counts.busiest == counts.memories
    assert counts.steps == counts.operations


@settings(max_examples=40, deadline=None)
@given(nodes=nests())
def test_multicast_and_forwarding_never_read_more(nodes: list[Node]) -> None:
    mapping = Mapping(tuple(nodes))
    apart = count(LAYER, machine(multicast=False), mapping)
    together = count(LAYER, machine(), mapping)
    for name in ("I", "W"):
        assert together.memories["GLB"][name].reads <= apart.memories["GLB"][name].reads
        assert together.memories["RF"][name] == apart.memories["RF"][name]
        assert apart.networks["PE"][name].words == apart.networks["PE"][name].hops
        assert together.networks["PE"][name].hops == apart.networks["PE"][name].hops


@st.composite
def cut_dimensions(draw: st.DrawFn) -> tuple[int, list[int], list[int]]:
    bound = draw(st.integers(1, 40))
    tiles, modes = [], []
    extent = bound
    for _ in range(draw(st.integers(0, 5))):
        extent = draw(st.integers(1, extent))
        tiles.append(extent)
        modes.append(draw(st.sampled_from([T, T, S, U, F])))
    return bound, tiles, modes


@settings(max_examples=300, deadline=None)
@given(drawn=cut_dimensions())
def test_classes_of_equal_instances_count_what_a_walk_counts(
    drawn: tuple[int, list[int], list[int]],
) -> None:
    bound, tiles, modes = drawn
    tile, mode = np.array(tiles, np.int64), np.array(modes, np.int64)
    width = int((mode == T).sum()) + 1
    classes, walked = np.zeros(3 * width, np.int64), np.zeros(4 * width, np.int64)
    # united chunks of a relevant dimension are apart: they add up
    apart = np.where(mode == U, S, mode)
    work = np.zeros((1, 2), np.int64)
    chains(tile.reshape(-1, 1), apart, bound, False, work, 0, classes)
    one, bounds = np.ones(1, np.int64), np.array([bound], np.int64)
    counted = np.ones(bound, np.bool_)
    window(one, bounds, np.zeros(len(tile), np.int64), tile, mode, counted, False, walked, 0)
    assert classes[: 2 * width].tolist() == walked[: 2 * width].tolist()
    total = np.zeros(2, np.int64)
    chains(tile.reshape(-1, 1), apart, bound, True, work, 0, total)
    assert total.tolist() == [classes[width - 1], classes[-1]]
    # consecutive tiles of one dimension share no word: none stays, all of them slide in
    assert not walked[2 * width : 3 * width].any()
    assert walked[3 * width + 1 :].tolist() == np.diff(walked[:width]).tolist()


@st.composite
def cut_windows(draw: st.DrawFn) -> list[list[int]]:
    """Draw coefficients and bounds of a group, and dimensions, tiles and kinds of its loops."""
    bounds = draw(st.lists(st.integers(1, 24), min_size=2, max_size=2))
    if draw(st.booleans()):
        bounds = [min(bound, 6) for bound in (*bounds, draw(st.integers(1, 4)))]
    coefs = [draw(st.integers(1, 4)) for _ in bounds]
    dims, tiles, modes = [], [], []
    extents = list(bounds)
    for _ in range(draw(st.integers(0, 6))):
        d = draw(st.integers(0, len(bounds) - 1))
        extents[d] = draw(st.integers(1, extents[d]))
        dims.append(d)
        tiles.append(extents[d])
        modes.append(draw(st.sampled_from([T, T, T, S, U, F])))
    return [coefs, bounds, dims, tiles, modes]


@settings(max_examples=400, deadline=None)
@given(drawn=cut_windows())
def test_one_of_like_chunks_stands_for_all(drawn: list[list[int]]) -> None:
    coef, bounds, dim, tile, mode = (np.array(own, np.int64) for own in drawn)
    counted = np.ones(1 + int((coef * (bounds - 1)).sum()), np.bool_)
    rows = np.zeros((2, 4 * (int((mode == T).sum()) + 1)), np.int64)
    for row, everything in zip(rows, (False, True), strict=True):
        window(coef, bounds, dim, tile, mode, counted, everything, row, 0)
    assert rows[0].tolist() == rows[1].tolist()


@settings(max_examples=200, deadline=None)
@given(drawn=cut_windows())
def test_the_words_ever_touched_are_those_walked(drawn: list[list[int]]) -> None:
    known, walked = touched(*(np.array(own, np.int64) for own in drawn))
    assert known == walked


def test_a_window_that_holds_the_same_words_again_does_not_move() -> None:
    layer = Layer(
        "window",
        {"P": 4, "R": 2},
        (
            Tensor("I", ((Term(1, "P"), Term(1, "R")),), "I"),
            Tensor("W", ((Term(1, "R"),),), "W"),
            Tensor("O", ((Term(1, "P"),),), "O"),
        ),
    )
    stores = [Store(memory, NAMES) for memory in ("DRAM", "GLB", "RF")]
    one_by_one = Mapping((stores[0], For("P", 1), For("R", 1), stores[1], stores[2]))
    # words 0 1, 1 2, 2 3, 3 4: where P advances the word stays
    assert count(layer, machine(), one_by_one).memories["DRAM"]["I"].reads == 5
    across = Mapping((*stores[:2], For("P", 2), Spatial("P", 1, "X", "PE"), For("R", 1), stores[2]))
    # instance p holds p, p + 1, then p + 2, p + 3; both together 0 1, 1 2, 2 3, 3 4
    counts = count(layer, machine(), across)
    assert counts.memories["RF"]["I"].writes == 8
    assert counts.memories["GLB"]["I"].reads == 8


def test_kept_kernels_are_given_up_when_a_file_that_they_are_made_of_changes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    file = Path(windows.__file__)
    stamp = window._cache._cache_file._source_stamp  # type: ignore[attr-defined]
    digest = kernels.module_digest.__wrapped__
    assert stamp == digest(file)
    real = kernels.read
    for changed, matters in {
        "words.py": True, "kernel.py": True, "record.py": True, "evaluate.py": False,
    }.items():  # fmt: skip

        def read(path: Path, changed: str = changed) -> tuple[bytes, frozenset[Path]]:
            text, files = real(path)
            return text + b"#" * (path.name == changed), files

        monkeypatch.setattr(kernels, "read", read)
        assert (digest(file) != stamp) == matters


def test_counts_beyond_64_bits_are_refused_not_wrapped() -> None:
    huge = Layer("huge", dict.fromkeys(("K", "C", "P", "Q", "R", "S"), 2**11), LAYER.tensors)
    stores = tuple(Store(memory, NAMES) for memory in ("DRAM", "GLB", "RF"))
    with pytest.raises(InputError, match="operations"):
        count(huge, machine(), Mapping(stores))


def test_windows_that_would_take_minutes_are_refused_with_their_size() -> None:
    long = Layer("long", LAYER.bounds | {"P": 2**30}, LAYER.tensors)
    stores = tuple(Store(memory, NAMES) for memory in ("DRAM", "GLB", "RF"))
    with pytest.raises(InputError, match=r"2\*P\+R of tensor 'I'.*P x R = 3221225472"):
        count(long, machine(), Mapping(stores))


def test_counts_of_a_large_layer_are_exact_integers() -> None:
    bounds = {"K": 4096, "C": 4096, "P": 500, "Q": 500, "R": 3, "S": 3}
    layer = Layer("large", bounds, LAYER.tensors)
    nodes = (
        Store("DRAM", NAMES),
        For("K", 1000),
        For("C", 33),
        For("P", 7),
        Store("GLB", NAMES),
        Spatial("K", 63, "X", "PE"),
        For("Q", 1),
        Store("RF", NAMES),
    )
    counts = count(layer, machine(), Mapping(nodes))
    assert counts.memories["RF"]["W"].reads == layer.operations == 4096**2 * 500**2 * 9
    assert isinstance(counts.memories["DRAM"]["I"].reads, int)
    # the loop right above the tiles does not concern W: each of its words is sent once
    assert counts.memories["DRAM"]["W"].reads == 4096 * 4096 * 9


def test_machines_with_memories_of_other_sizes_share_a_plan() -> None:
    layer, machine = matmul(M=4, N=2, K=8), load_architecture("simple")
    mapping = Mapping((Store("DRAM", ("I", "W", "O")), For("M", 2), Store("GLB", ("W",))))
    buffer = machine.memories[1]
    sizes = [replace(buffer, capacity_bits=16 * n, read_energy=float(n)) for n in (64, 128, 256)]
    machines = [
        replace(machine, levels=tuple(size if x is buffer else x for x in machine.levels))
        for size in sizes
    ]
    assert len({hash(one) for one in machines}) == len(machines)
    # the package has a function of the module's name
    shape_plan = sys.modules["tilewright.model.count"].shape_plan
    shape_plan.cache_clear()
    counts = [count(layer, one, mapping) for one in machines]
    assert counts[0] == counts[1] == counts[2]
    assert shape_plan.cache_info().misses == 1


def test_arrays_of_other_extents_share_a_plan_but_not_other_links() -> None:
    layer, machine = matmul(M=4, N=2, K=8), load_architecture("simple")
    spatial = Spatial("M", 1, "X", "PE")
    mapping = Mapping((Store("DRAM", NAMES), Store("GLB", ("W",)), spatial))
    array = machine.arrays[0]

    def with_array(**changed: object) -> Architecture:
        other = replace(array, **changed)  # type: ignore[arg-type]
        levels = tuple(other if level is array else level for level in machine.levels)
        return replace(machine, levels=levels)

    wide = [with_array(axes={"X": n, "Y": 8}, bandwidth=float(n)) for n in (4, 8, 16)]
    shape_plan = sys.modules["tilewright.model.count"].shape_plan
    shape_plan.cache_clear()
    counts = [count(layer, one, mapping) for one in wide]
    assert counts[0] == counts[1] == counts[2]
    assert shape_plan.cache_info().misses == 1
    apart = count(layer, with_array(multicast=False), mapping)
    assert apart.memories["GLB"]["W"].reads == 4 * counts[0].memories["GLB"]["W"].reads

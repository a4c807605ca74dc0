"""Mappings searched by the blocks that they move: no bound above the best of all of them."""

from __future__ import annotations

import json
from dataclasses import replace
from functools import cache
from itertools import product
from pathlib import Path
from random import Random

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

import tilewright as tw
from enumeration import Enumeration
from strategies import cases
from test_layout_blocks import Case, layouts
from tilewright.architecture.machine import Architecture, Array, Compute, Memory
from tilewright.cli import main
from tilewright.errors import InputError, MappingError, NoMappingError
from tilewright.layout.count import count_blocks, wasted_words
from tilewright.layout.evaluate import BlockEvaluation
from tilewright.mapper.variants import blocks as search
from tilewright.mapping.validity import check
from tilewright.model.evaluate import evaluate
from tilewright.workload.axis_order import orders, row_major
from tilewright.workload.layer import Layer

PRODUCT = tw.einsum("O[M,N] += I[M,K] * W[K,N]", name="product", M=2, N=2, K=2)
WINDOW = tw.einsum("O[K,P] += I[2*P+R] * W[K,R]", name="window", K=2, P=2, R=2)
STRIDED = tw.einsum("O[K,P] += I[C,2*P] * W[K,C]", name="strided", K=2, C=2, P=2)


def machine(words: int, block: int = 8) -> Architecture:
    """Return a machine of two memories and an array, with blocks of so many bytes."""
    return Architecture(
        "small",
        (
            Memory("DRAM", 8, read_energy=50.0, write_energy=50.0, read_bandwidth=2.0,
                   write_bandwidth=2.0, block_bytes=block),
            Memory("L2", 8, capacity_bits=8 * words, read_energy=3.0, write_energy=3.0),
            Array("PE", {"X": 2}),
            Compute("MAC", energy=1.0),
        ),
    )  # fmt: skip


@cache
def all_mappings(layer: Layer, architecture: Architecture) -> tuple[tw.Mapping, ...]:
    """Return every valid mapping whose tile sizes divide."""
    space = Enumeration(layer, architecture, run=False)
    found = {}
    for nest in space.all_nests():
        for chains in product(*(list(space.chains(t, nest)) for t in layer.tensors)):
            mapping = space.mapping(nest, list(chains))
            try:
                check(mapping, layer, architecture)
            except MappingError:
                continue
            found[mapping] = None
    return tuple(found)


def sampled(layer: Layer, architecture: Architecture, most: int) -> list[tw.Mapping]:
    mappings = all_mappings(layer, architecture)
    return Random(0).sample(mappings, min(most, len(mappings)))


@pytest.fixture(autouse=True)
def short_climbs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(search, "TRIES", 150)


@pytest.mark.long
@pytest.mark.sampled(1)
@pytest.mark.parametrize(("layer", "objective"), [(PRODUCT, "edp"), (STRIDED, "energy")])
def test_bound_and_result_enclose_the_best_of_all_mappings(layer: Layer, objective: str) -> None:
    architecture = machine(8, block=4)
    best = min(
        objective_of(tw.evaluate(layer, architecture, mapping, layouts={}), objective)
        for mapping in all_mappings(layer, architecture)
    )
    (found,) = tw.map(layer, architecture, objective, layouts={}, cache=False).layers
    assert found.proof.lower_bound <= best * (1 + 1e-9)
    assert best * (1 - 1e-9) <= found.proof.value <= best * 1.05
    again = tw.evaluate(layer, architecture, found.mapping, layouts={})
    assert objective_of(again, objective) == found.proof.value
    assert found.proof.optimal == (found.proof.value <= found.proof.lower_bound * (1 + 1e-9))


def objective_of(cost: tw.Evaluation, objective: str) -> float:
    return cost.energy_pj if objective == "energy" else cost.edp_pj_cycles


@pytest.mark.parametrize("layer", [WINDOW, STRIDED], ids=lambda layer: layer.name)
def test_the_bound_with_the_best_layouts_is_below_every_mapping(layer: Layer) -> None:
    architecture = machine(14)
    (found,) = tw.map(layer, architecture, "energy", layouts="best", cache=False).layers
    assert isinstance(found.evaluation, BlockEvaluation)
    for mapping in sampled(layer, architecture, 8):
        cost = tw.evaluate(layer, architecture, mapping, layouts="best").energy_pj
        assert found.proof.lower_bound <= cost * (1 + 1e-9)
    own = {name: found.evaluation.layout_text(name) for name in found.evaluation.layouts}
    assert tw.evaluate(layer, architecture, found.mapping, layouts=own).energy_pj == (
        found.proof.value
    )


@settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))
@given(case=cases(operations=100), data=st.data())
def test_blocks_waste_at_least_the_words_that_nothing_asks_for(
    case: Case, data: st.DataObject
) -> None:
    layer, architecture, mapping = case
    assume(not search.undercut(architecture))
    outer = replace(architecture.levels[0], block_bytes=data.draw(st.sampled_from([8, 16, 32])))
    architecture = replace(architecture, levels=(outer, *architecture.levels[1:]))
    words = evaluate(layer, architecture, mapping, check=False).memories[outer.name].tensors
    for tensor in layer.tensors:
        layout = data.draw(layouts(tensor))
        own = count_blocks(
            layer, architecture, mapping,
            {t.name: layout if t == tensor else row_major(t) for t in layer.tensors},
        )[tensor.name]  # fmt: skip
        asked = words[tensor.name]
        moved = own.writes if tensor.is_output else own.reads
        least = asked.writes if tensor.is_output else asked.reads
        assert moved * own.words - least >= wasted_words(layer, architecture, tensor, layout) >= 0
        assert own.reads * own.words >= asked.reads


def test_what_reaches_the_bound_is_proven() -> None:
    layer = tw.matmul(name="m", M=8, N=8, K=8)
    (found,) = tw.map(layer, machine(400), "energy", layouts="best", cache=False).layers
    assert found.proof.optimal
    assert found.proof.gap == 0
    text = tw.map(STRIDED, machine(14), "edp", layouts={}, cache=False).text()
    assert "The outermost memory moves whole blocks" in text


def test_layouts_of_the_workload_are_those_of_map() -> None:
    laid = tw.einsum(
        "O[M,N] += I[M,K] * W[K,N]", name="laid", M=2, N=3, K=4, layout={"I": "K,M", "W": "N,K"}
    )
    own = tw.map(laid, machine(14), cache=False).layers[0]
    bare = replace(laid, tensors=tuple(replace(t, layout=None) for t in laid.tensors))
    given = tw.map(bare, machine(14), layouts={"I": "K,M", "W": "N,K"}, cache=False).layers[0]
    assert isinstance(own.evaluation, BlockEvaluation)
    assert own.proof.value == given.proof.value
    assert own.mapping == given.mapping
    network = tw.Network("two", (laid, PRODUCT))
    one, other = tw.map(network, machine(14), cache=False).layers
    assert isinstance(one.evaluation, BlockEvaluation)
    assert not isinstance(other.evaluation, BlockEvaluation)
    assert other.proof.optimal


def test_without_multicast_blocks_may_be_fewer_than_words() -> None:
    levels = tuple(
        replace(level, multicast=False) if isinstance(level, Array) else level
        for level in machine(8, block=1).levels
    )
    architecture = replace(machine(8, block=1), levels=levels)
    demands = "PE.X.require=N; L2.bypass=I,W,O"
    words = tw.map(PRODUCT, architecture, constraints=demands, cache=False).layers[0]
    (found,) = tw.map(PRODUCT, architecture, constraints=demands, layouts={}, cache=False).layers
    # both instances take the same word of I, which is one block of one word: no bound in words
    assert not found.proof.optimal
    assert found.proof.lower_bound <= found.proof.value < words.proof.value


def test_a_time_limit_and_limits_of_the_objective_hold() -> None:
    found = tw.map(WINDOW, machine(14), layouts={}, time_limit=0.05, cache=False)
    assert len(found.layers) + len(found.unmapped) == 1
    words = tw.map(STRIDED, machine(14), "latency", cache=False).layers[0].evaluation
    with pytest.raises(NoMappingError, match="counted in blocks"):
        # blocks of strided rows take twice the cycles
        tw.map(STRIDED, machine(14), f"energy, latency<={words.cycles}", layouts={}, cache=False)


# --- data-movement cost --------------------------------------------------------------------------


@pytest.mark.parametrize("tiles", ["divisors", "all"])
def test_dmc_is_the_least_of_all_tiles(tiles: str) -> None:
    layer = tw.conv2d(name="conv", K=6, C=6, P=5, Q=5, R=3, S=3)
    architecture = replace(tw.load_architecture("marvel-p1"))
    best = tw.best_layout(layer, architecture, integers=tiles == "all").choices[0]
    (found,) = tw.map(layer, architecture, "dmc", tiles=tiles).layers
    assert found.proof.value == best.value
    assert found.proof.optimal
    check(found.mapping, layer, architecture)
    held = next(node for node in found.mapping.nodes[1:] if isinstance(node, tw.Store))
    assert held.memory == "L2"
    assert isinstance(found.evaluation, BlockEvaluation)
    own = {name: found.evaluation.layout_text(name) for name in found.evaluation.layouts}
    again = tw.evaluate(layer, architecture, found.mapping, layouts=own)
    assert again.energy_pj == found.evaluation.energy_pj
    assert "blocks/operation" in repr(found)


def test_the_second_objective_decides_between_mappings_of_the_tile() -> None:
    layer = tw.conv2d(name="conv", K=16, C=8, P=4, Q=4, R=3, S=3)
    energy, latency = (
        tw.map(layer, "marvel-p1", f"dmc, {other}").layers[0] for other in ("energy", "latency")
    )
    assert energy.proof.value == latency.proof.value
    assert latency.evaluation.cycles <= energy.evaluation.cycles
    assert energy.evaluation.energy_pj <= latency.evaluation.energy_pj


def test_dmc_keeps_to_layouts_that_are_given() -> None:
    layer = tw.conv2d(name="conv", K=16, C=8, P=4, Q=4, R=3, S=3)
    free = tw.map(layer, "marvel-p1", "dmc").layers[0]
    fixed = tw.map(layer, "marvel-p1", "dmc", layouts={"W": "K,C,S,R"}).layers[0]
    assert fixed.proof.value > free.proof.value
    assert isinstance(fixed.evaluation, BlockEvaluation)
    assert fixed.evaluation.layout_text("W") == "K,C,S,R"
    assert free.proof.mappings_in_space == pytest.approx(fixed.proof.mappings_in_space * 4)
    image = free.evaluation.layer.tensors[0]
    assert len(list(orders(image, layer.bounds))) == 6


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"objective": "dmc, energy, latency"}, "takes one product after it"),
        ({"objective": "dmc, latency<=4"}, "takes one product after it"),
        ({"objective": "dmc", "strategy": "random"}, "'dmc' is for 'map' alone"),
        ({"objective": "dmc", "latency": "pipelined"}, "'dmc' is for 'map' alone"),
        ({"objective": "dmc", "layouts": {"I": "M,K,K:2"}}, "layouts of whole axes"),
        ({"layouts": "best", "strategy": "random"}, "leave out the strategy"),
        ({"layouts": "best", "latency": "pipelined"}, "leave out the strategy"),
        ({"layouts": "best", "tiles": "all"}, "only sizes that divide"),
        ({"layouts": {"X": "M"}}, "unknown tensor 'X'"),
    ],
)
def test_what_does_not_go_together_is_refused(options: dict[str, object], message: str) -> None:
    with pytest.raises(InputError, match=message):
        tw.map(PRODUCT, "marvel-p1", **options)  # type: ignore[arg-type]


def test_machines_without_blocks_or_second_memory_are_refused() -> None:
    with pytest.raises(InputError, match="has no block"):
        tw.map(PRODUCT, "eyeriss", layouts="best")
    with pytest.raises(InputError, match="has no block"):
        tw.map(PRODUCT, "eyeriss", "dmc")
    levels = machine(14).levels
    flat = replace(machine(14), levels=(levels[0], levels[2], levels[1], levels[3]))
    with pytest.raises(InputError, match="has 'PE' there"):
        tw.map(PRODUCT, flat, "dmc")
    with pytest.raises(InputError, match="'dmc' is for 'map' alone"):
        tw.pareto(PRODUCT, machine(14), "dmc")


def test_command_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(search, "TRIES", 50)
    file = tmp_path / "net.yaml"
    file.write_text("{op: matmul, name: m, M: 16, N: 8, K: 64}")
    found = []
    for more in (["--layout", "best"], ["--layout", "I=K,M"], ["--objective", "dmc"]):
        assert main(["map", str(file), "marvel-p1", "--no-cache", "--json", "-", *more]) == 0
        found.append(json.loads(capsys.readouterr().out)["layers"][0])
    assert found[0]["proof"]["value"] <= found[1]["proof"]["value"]
    assert found[1]["layouts"]["I"] == "K,M"
    assert found[2]["objective"] == "dmc, energy"
    assert main(["map", str(file), "marvel-p1", "--pareto", "--layout", "best"]) == 2
    assert "--layout" in capsys.readouterr().err

"""The best style for a network is what trying every mapping of every layer in every style finds."""

from __future__ import annotations

import json
from dataclasses import replace
from functools import cache
from html import escape
from itertools import product
from math import inf, isclose
from pathlib import Path
from random import Random
from typing import Any

import pytest

import tilewright as tw
from constrained import ConstrainedEnumeration, combinations
from enumeration import Optimum
from problems import layer, machine
from set_counts import Chain, Nest
from test_regular_mappings import awkward
from tilewright.architecture.machine import Architecture
from tilewright.cli import main
from tilewright.errors import InputError, NoMappingError
from tilewright.mapper.network.running.run import Run
from tilewright.mapper.results.dataflow import dataflow
from tilewright.mapper.styles.result import UniformResult
from tilewright.mapper.styles.style import NOTHING, Style, spatial_styles, stationaries
from tilewright.mapper.styles.uniform import map_uniform
from tilewright.mapping.nodes import Mapping
from tilewright.report import html
from tilewright.workload.layer import Layer, Network

OBJECTIVES = ("energy", "latency", "edp")
SEEDS = [*range(2, 8), *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(8, 150))]
MATMUL = tw.einsum("O[M,N] += I[M,K] * W[K,N]", M=4, N=2, K=8)
CONV = tw.conv2d(name="conv", K=4, C=2, P=4, Q=2, R=2, S=1)


class InStyle(ConstrainedEnumeration):
    """All mappings in which a tensor is stationary that unroll what the machine's constraints say.

    Every mapping is asked how it works: the definition, whatever the search makes of it.
    """

    style: Style

    def allowed(self, nest: Nest, chains: list[Chain]) -> Mapping | None:
        mapping = super().allowed(nest, chains)
        if mapping is None:
            return None
        flow = dataflow(mapping, self.layer, self.architecture)
        return mapping if self.style.has(flow, self.layer) else None


def best_in(style: Style, one: Layer, machine: Architecture) -> dict[str, Optimum]:
    """Return the best mapping of a layer in a style, by objective."""
    every = type("InThisStyle", (InStyle,), {"style": style})
    return every(one, style.machine(machine)).best


def all_styles(network: Network, machine: Architecture) -> list[Style]:
    memory = machine.memories[-1].name
    pairs = product(spatial_styles(network, machine), stationaries(network, machine))
    return [
        replace(style, stationary=role, memory=memory if role is not None else "")
        for style, role in pairs
    ]


@cache
def tiny(seed: int) -> tuple[Network, Architecture]:
    """Return two layers and a machine on which all mappings can be tried in all styles."""
    random = Random(f"uniform {seed}")
    while True:
        plain = machine(random)
        first, second = layer(random), layer(random)
        slides = any(len(e) > 1 for x in (first, second) for e in x.output.expressions)
        if len(plain.memories) == 1 or not plain.arrays or slides:
            continue
        layers = (replace(first, name="a", repeat=2), replace(second, name="b"))
        network = Network("tiny", layers)
        styles = len(all_styles(network, plain))
        most = 20_000 // styles
        sizes = [combinations(x, plain, most) for x in layers]
        if styles <= 60 and 20 <= sum(sizes) < most:
            return network, plain


def total(found: list[tuple[Optimum, int]], objective: str) -> float:
    """Return the objective of the totals of mappings that run so many times."""
    if any(one.mapping is None for one, _ in found):
        return inf
    pair = sum(o.energy_pj * n for o, n in found), sum(o.cycles * n for o, n in found)
    return value(objective, *pair)


def value(objective: str, energy: float, cycles: float) -> float:
    return {"energy": energy, "latency": cycles, "edp": energy * cycles}[objective]


def covers(wide: Style, style: Style) -> bool:
    return wide.axes == style.axes and wide.stationary in (None, style.stationary)


@pytest.mark.long
@pytest.mark.sampled(2)
@pytest.mark.parametrize("seed", SEEDS)
def test_best_style_equals_enumeration_of_all_mappings_in_all_styles(seed: int) -> None:
    network, machine = tiny(seed)
    styles = all_styles(network, machine)
    every = {s: [(best_in(s, x, machine), x.repeat) for x in network.layers] for s in styles}
    for objective in OBJECTIVES:
        costs = {
            s: total([(best[objective], n) for best, n in found], objective)
            for s, found in every.items()
        }
        least = min(costs.values())
        try:
            result = map_uniform(network, machine, objective)
        except NoMappingError:
            assert least == inf
            continue
        assert result.optimal
        assert result.count == len(styles)
        assert isclose(result.best.value, least, rel_tol=1e-9)
        assert isclose(result.lower_bound, least, rel_tol=1e-9)
        known = {one.style: one.value for one in result.styles}
        for style, cost in costs.items():
            if style in known:
                assert isclose(known[style], cost, rel_tol=1e-9), style
            else:
                bounds = [
                    other.lower_bound for other in result.others if covers(other.style, style)
                ]
                assert len(bounds) == 1
                assert cost == bounds[0] == inf or cost >= bounds[0] * (1 - 1e-9), style
                assert cost >= least * (1 - 1e-9)
        pair = (result.energy_pj, result.cycles)
        assert isclose(value(objective, *pair), least, rel_tol=1e-9)
        for one in result.layers:
            assert one.proof.optimal
            flow = dataflow(one.mapping, one.layer, machine)
            assert result.best.style.has(flow, one.layer)


def network_of(*layers: Layer) -> Network:
    return Network("net", tuple(replace(x, name=f"layer{i}") for i, x in enumerate(layers)))


PAIR = network_of(MATMUL, CONV)


@cache
def uniform_result(objective: str) -> UniformResult:
    result = tw.map(PAIR, "simple", objective, uniform="dataflow", cache=False)
    assert isinstance(result, UniformResult)
    return result


@pytest.mark.parametrize(
    "objective", ["edp", pytest.param("energy*latency^0.5", marks=pytest.mark.slow)]
)
def test_styles_equal_constrained_runs_of_map(objective: str) -> None:
    result = uniform_result(objective)
    assert result.optimal
    assert result.free is not None
    free = value_of_totals(objective, result.free)
    for one in result.styles:
        assert one.proven
        assert one.above_free is not None
        assert isclose(one.above_free + 1, one.value / free)
        assert isclose(one.above + 1, one.value / result.best.value)
    for style in [*spatial_styles(result.network, tw.load_architecture("simple"))][::23]:
        run = tw.map(result.network, "simple", objective, constraints=[*style.constraints])
        # what is stationary may differ from layer to layer there
        least = value_of_totals(objective, run)
        own = [one.value for one in result.styles if one.style.axes == style.axes]
        assert all(value >= least * (1 - 1e-9) for value in own)
        if run.optimal and least < result.best.value:
            assert style.axes == result.best.style.axes or not own


def value_of_totals(objective: str, result: tw.NetworkResult) -> float:
    a, b = {"energy": (1, 0), "latency": (0, 1), "edp": (1, 1)}.get(objective, (1, 0.5))
    return float(result.energy_pj**a * result.cycles**b)


def test_styles_within_a_share_are_mapped_to_the_end() -> None:
    result = tw.map(PAIR, "simple", "edp", uniform="dataflow", within=0.1, cache=False)
    assert isinstance(result, UniformResult)
    assert result.best.value == uniform_result("edp").best.value
    assert len(result.styles) >= len(uniform_result("edp").styles)
    limit = result.best.value * 1.1
    assert all(other.lower_bound >= limit * (1 - 1e-9) for other in result.others)
    for style in all_styles(PAIR, tw.load_architecture("simple")):
        assert any(one.style == style for one in result.styles) != any(
            covers(other.style, style) for other in result.others
        )


def test_styles_are_told_once_and_none_is_part_of_another() -> None:
    network = PAIR
    square = [s.axes for s in spatial_styles(network, tw.load_architecture("simple"))]
    # K of the product is C of the convolution: they go by what they are relevant to; S is 1
    dims = ["W&O", "I&W not sliding", "I&W sliding rows", "I&O rows", "I&O columns"]
    assert {d for axes in square for _, _, d in axes} == {*dims}
    assert len(square) == len(set(square)) == len(dims) * (len(dims) + 1) // 2
    oblong = list(spatial_styles(network, tw.load_architecture("eyeriss")))
    assert len(oblong) == len(dims) ** 2
    rigid = list(spatial_styles(network, tw.load_architecture("nvdla-1024")))
    assert [[d for _, _, d in style.axes] for style in rigid] == [["I&W not sliding", "W&O"]]


def test_letters_name_what_styles_unroll_where_they_mean_the_same_in_all_layers() -> None:
    network = Network("pair", (CONV, tw.fully_connected(name="fc", K=4, C=8)))
    styles = spatial_styles(network, tw.load_architecture("eyeriss"))
    assert {d for style in styles for _, _, d in style.axes} == {*"KCPQR"}


def test_a_product_and_a_convolution_share_a_style_that_uses_the_array() -> None:
    layers = (
        tw.conv2d(name="conv", K=16, C=16, P=2, Q=2, R=3, S=1),
        tw.matmul(name="product", M=2, N=16, K=16),
    )
    found = tw.map(
        Network("mixed", layers), "simple", "latency",
        uniform="dataflow", tiles="divisors", cache=False,
    )  # fmt: skip
    assert {d for _, _, d in found.best.style.axes} == {"W&O", "I&W not sliding"}
    assert [result.evaluation.spatial_utilization for result in found.layers] == [1, 1]


def test_a_machine_without_memory_inside_has_spatial_styles_only() -> None:
    levels = tw.load_architecture("simple").levels
    machine = Architecture("bare", (levels[0], *levels[-3:-2], levels[-1]))
    assert stationaries(network_of(MATMUL), machine) == [None]
    result = map_uniform(network_of(MATMUL), machine, "energy")
    assert result.optimal
    assert result.best.style.stationary is None


def test_what_is_stationary_may_be_nothing_where_the_machine_allows_it() -> None:
    network = network_of(MATMUL)
    assert stationaries(network, tw.load_architecture("simple")) == ["I", "W", "O", NOTHING]
    assert NOTHING not in stationaries(network, tw.load_architecture("shidiannao"))


def test_a_search_that_is_stopped_has_some_style_and_says_what_is_not_proven() -> None:
    whole = uniform_result("edp")
    result = tw.map(PAIR, "simple", "edp", uniform="dataflow", cache=False, time_limit=1e-9)
    assert isinstance(result, UniformResult)
    assert not result.optimal
    assert "stopped at the time limit" in result.text()
    check_stopped(result, whole)


@pytest.mark.long
@pytest.mark.parametrize(("when", "tiles"), [(0, "divisors"), (1, "divisors"), (3, "all")])
def test_ctrl_c_leaves_the_best_style_so_far(
    when: int, tiles: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    from tilewright.mapper.styles import best_style

    whole = uniform_result("edp")
    collect, left = best_style.collect, iter([True] * when)

    def interrupted(*tasks: Any) -> None:
        if next(left, False):
            return collect(*tasks)
        raise KeyboardInterrupt

    monkeypatch.setattr(best_style, "collect", interrupted)
    result = tw.map(PAIR, "simple", "edp", uniform="dataflow", within=1, tiles=tiles, cache=False)
    assert isinstance(result, UniformResult)
    assert result.interrupted
    if not result.optimal:
        assert "Not proven: interrupted" in result.text()
    check_stopped(result, whole)


def check_stopped(result: UniformResult, whole: UniformResult) -> None:
    """Check what is said of a search that has not come to the end."""
    best = whole.best.value
    assert result.lower_bound <= best * (1 + 1e-9)
    assert result.best.value >= result.lower_bound
    pair = result.energy_pj, result.cycles
    assert isclose(value("edp", *pair), result.best.value)
    for one in result.layers:
        flow = dataflow(one.mapping, one.layer, result.architecture)
        assert result.best.style.has(flow, one.layer)
    styles = [one.style for one in (*result.styles, *result.others)]
    for style in all_styles(PAIR, tw.load_architecture("simple")):
        assert sum(covers(one, style) for one in styles) == 1


def test_the_result_does_not_depend_on_workers() -> None:
    def run(workers: int) -> dict[str, Any]:
        result = map_uniform(PAIR, tw.load_architecture("simple"), "edp", run=Run(workers=workers))
        return dict(result.to_dict()["uniform"], mappings=[one.mapping for one in result.layers])

    assert run(1) == run(3)


def test_results_are_text_tables_and_json(tmp_path: Path) -> None:
    result = uniform_result("edp")
    text = result.text()
    assert str(result.best.style) in text
    assert "Proven: in no style" in text
    assert len(result.to_style_frame()) == len(result.styles)
    assert len(result.style_rows()) == len(result.styles) + len(result.others)
    data = json.loads(result.to_json())
    assert data["uniform"]["styles"][0]["stationary"] == result.best.style.stationary
    assert data["uniform"]["count"] == result.count
    assert [x["name"] if "name" in x else x["layer"] for x in data["layers"]] == [
        "layer0",
        "layer1",
    ]


def test_the_report_has_a_table_of_styles() -> None:
    result = tw.map(PAIR, "simple", "edp", uniform="dataflow", within=0.1, cache=False)
    assert isinstance(result, UniformResult)
    page = html(result)
    table = page[page.index('<section id="styles">') :]
    table = table[: table.index("</section>")]
    assert escape(str(result.best.style)) in table
    assert table.count("<tr>") == 1 + min(60, len(result.style_rows()))
    assert table.count("✓") == len(result.styles)
    assert table.count("≥") >= 1
    assert '<a href="#styles">' in page
    assert "Proven: in no style" in page
    free = value_of_totals("edp", result.free) if result.free else 0.0
    for one in result.styles:
        assert f'data-value="{one.value / free - 1!r}"' in table
    assert 'id="styles"' not in html(tw.map(PAIR, "simple", cache=False))


@pytest.mark.parametrize(
    ("machine", "constraints", "options", "words"),
    [
        ("simple", None, {"uniform": "dataflw"}, ["'dataflw'", "dataflow"]),
        ("simple", None, {"within": 0.1}, ["within", "needs a uniform"]),
        ("simple", None, {"uniform": "dataflow", "within": 2}, ["within", "from 0 to 1"]),
        ("simple", None, {"uniform": "dataflow", "strategy": "decoupled"}, ["strategy"]),
        ("simple", None, {"uniform": "dataflow", "latency": "pipelined"}, ["pipelined"]),
        ("shidiannao", None, {"uniform": "dataflow"}, ["forward"]),
        ("simple", "RF.tile.M=1", {"uniform": "dataflow"}, ["RF.tile.M=1", "arrays"]),
    ],
)
def test_what_uniform_does_not_take_is_refused(
    machine: str, constraints: str | None, options: dict[str, Any], words: list[str]
) -> None:
    with pytest.raises(InputError) as failure:
        tw.map(MATMUL, machine, constraints=constraints, cache=False, **options)  # type: ignore[arg-type]
    assert all(word in str(failure.value) for word in words)


def test_command_line_maps_all_layers_in_one_style(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "net.yaml"
    file.write_text(
        "name: net\nlayers:\n"
        "  - {name: fc, op: fully_connected, N: 1, K: 8, C: 8}\n"
        "  - {name: fc2, op: fully_connected, N: 1, K: 4, C: 8, repeat: 2}\n"
    )
    out = tmp_path / "out.yaml"
    status = main(
        ["map", str(file), "simple", "--uniform", "dataflow", "--no-cache", "-o", str(out)]
    )
    shown = capsys.readouterr().out
    assert status == 0
    assert "above free" in shown
    assert "fc2" in out.read_text()


def test_all_sizes_take_no_longer_than_the_time_limit_allows() -> None:
    result = tw.map(
        PAIR, "simple", "edp", uniform="dataflow", tiles="all", time_limit=1e-9, cache=False
    )
    assert isinstance(result, UniformResult)
    assert "stopped at the time limit" in result.text()
    assert all(one.above_free is None for one in result.styles)
    check_stopped(result, uniform_result("edp"))


def test_layers_whose_best_mapping_is_at_their_bound_are_mapped() -> None:
    layer, machine = awkward(201)
    result = tw.map(layer, machine, "edp", uniform="dataflow", tiles="divisors", cache=False)
    assert isinstance(result, UniformResult)
    assert result.optimal

"""Objects as people meet them in a notebook: short, countable, plotted, changed."""

from __future__ import annotations

from typing import Any

import pytest

import tilewright as tw

LAYER = tw.matmul(M=8, N=4, K=6, name="mm")


@pytest.fixture(scope="module")
def mapped() -> tw.NetworkResult:
    return tw.map(LAYER, "simple", cache=False)


def test_what_is_shown_of_an_object_is_one_short_line(mapped: tw.NetworkResult) -> None:
    things: list[Any] = [
        tw.load_architecture("tpu-v1"), tw.load_network("resnet50"), LAYER, mapped, mapped[0],
    ]  # fmt: skip
    for thing in [*things, mapped[0].mapping]:
        assert "\n" not in repr(thing)
        assert repr(thing).startswith(f"<{type(thing).__name__} ")
        assert thing._repr_html_().startswith("<p")
    assert all(len(repr(thing)) < 120 for thing in things)


def test_names_of_users_are_escaped_in_notebooks() -> None:
    layer = tw.matmul(M=2, N=2, K=2, name="<b>")
    assert "<b>" not in layer._repr_html_()
    assert "<b>" not in tw.Network("<b>", (layer,))._repr_html_()
    assert "<b>" not in tw.load_architecture("simple").replace("name", "<b>")._repr_html_()


def test_a_mapping_reads_as_a_nest(mapped: tw.NetworkResult) -> None:
    mapping = mapped["mm"].mapping
    lines = str(mapping).splitlines()
    assert len(lines) == len(mapping)
    assert [len(line) - len(line.lstrip()) for line in lines] == [2 * i for i in range(len(lines))]
    assert lines[0] == "DRAM stores A, B, O" or lines[0].startswith("DRAM stores ")
    assert "MAC computes" in str(mapped["mm"])


def test_results_have_a_length_and_are_read_by_name_and_position(mapped: tw.NetworkResult) -> None:
    assert len(mapped) == 1
    assert list(mapped) == [mapped["mm"]] == [mapped[0]]
    with pytest.raises(KeyError, match="did you mean 'mm'"):
        mapped["mn"]
    network = tw.load_network("alexnet")
    assert [layer.name for layer in network] == [layer.name for layer in network.layers]
    front = tw.pareto(LAYER, "simple")
    assert len(list(front)) == len(front) and front[0] in list(front)


def test_bars_of_a_plot_add_up_to_the_energy(mapped: tw.NetworkResult) -> None:
    figure = mapped.plot()
    assert sum(sum(bar.x) for bar in figure.data) == pytest.approx(mapped.energy_pj * 1e-6)
    front = tw.pareto(LAYER, "simple")
    assert len(front.plot().data[0].x) == len(front)


def test_a_machine_with_another_value_is_the_one_whose_file_has_it() -> None:
    machine = tw.load_architecture("eyeriss")
    assert machine.replace("GLB.size", "108 KiB") == machine
    larger = machine.replace({"GLB.size": "256 KiB", "PE.axes.X": 32, "clock": "1 GHz"})
    assert larger.memories[1].capacity_bits == 256 * 1024 * 8
    assert dict(larger.arrays[0].axes) == {"X": 32, "Y": 12}
    assert larger.clock_hz == 1e9
    assert machine.memories[1].capacity_bits == 108 * 1024 * 8


@pytest.mark.parametrize(
    ("key", "value", "says"),
    [
        ("GLBB.size", "1 KiB", "did you mean 'GLB'"),
        ("GLB.sise", "1 KiB", "did you mean 'size'"),
        ("GLB.size", "many", "many"),
        ("colour", "red", "unknown key 'colour'"),
    ],
)
def test_a_change_that_means_nothing_is_refused(key: str, value: str, says: str) -> None:
    with pytest.raises(tw.InputError, match=says):
        tw.load_architecture("eyeriss").replace(key, value)


def test_what_ships_is_listed_and_can_be_loaded() -> None:
    assert "resnet50" in tw.list_workloads()
    assert "eyeriss" in tw.list_architectures()
    assert "row-stationary" in tw.list_dataflows()
    assert "kc-p" in tw.list_styles()
    assert dir(tw) == sorted(tw.__all__)


@pytest.mark.long
def test_a_search_says_the_same_as_keywords() -> None:
    def found(**options: Any) -> tuple[float, str]:
        result = tw.map(LAYER, "simple", cache=False, **options)
        return result.value, result[0].proof.tiles

    assert found(search=tw.Exact(tiles="divisors")) == found(tiles="divisors")
    assert found(search=tw.Exact()) == found()
    assert found(search=tw.Uniform(within=0.1)) == found(uniform="dataflow", within=0.1)
    assert found(search=tw.Heuristic("decoupled")) == found(strategy="decoupled")


@pytest.mark.parametrize(
    "options",
    [
        {"search": "exact"},
        {"search": tw.Exact(tiles="some")},
        {"search": tw.Uniform(within=2.0)},
        {"search": tw.Exact(), "tiles": "all"},
        {"uniform": "dataflow", "strategy": "decoupled"},
    ],
)
def test_a_search_that_means_nothing_is_refused(options: dict[str, Any]) -> None:
    with pytest.raises(tw.InputError):
        tw.map(LAYER, "simple", **options)


def test_an_unknown_keyword_is_none() -> None:
    with pytest.raises(TypeError, match="unexpected keyword argument 'tile'"):
        tw.map(LAYER, "simple", tile="all")

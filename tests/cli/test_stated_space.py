"""What is said to be proven: of which mappings, and that no other command denies it."""

from __future__ import annotations

from pathlib import Path

import pytest

import tilewright as tw
from tilewright.cli import main
from tilewright.mapping.nodes import Spatial
from tilewright.report import html
from tilewright.report.quantities import TIMES, energy_delay

DIVIDE = "tile sizes that divide"
LAYER = tw.matmul(M=13, N=6, K=4, name="a")
NETWORK = """
name: net
layers:
  - {name: a, op: matmul, M: 13, N: 6, K: 4}
  - {name: b, op: matmul, M: 5, N: 6, K: 4, repeat: 3}
"""


@pytest.fixture
def net(tmp_path: Path) -> str:
    path = tmp_path / "net.yaml"
    path.write_text(NETWORK)
    return str(path)


@pytest.mark.parametrize(
    ("option", "words"),
    [
        ("--tiles", ["all"]),
        ("--latency", ["pipelined"]),
        ("--strategy", ["decoupled"]),
        ("--uniform", ["dataflow"]),
        ("--within", ["5%"]),
        ("--layout", ["best"]),
        ("--report", ["out.html"]),
        ("--output", ["out.yaml"]),
        ("--no-cache", []),
    ],
)
def test_options_without_effect_on_trade_offs_are_refused(
    option: str, words: list[str], net: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["map", net, "simple", "--pareto", option, *words]) == 2
    assert f"error: {option}: has no effect with --pareto" in capsys.readouterr().err


@pytest.mark.parametrize("objective", ["edp", "latency", "energy, edp", "latency, energy<=1e9"])
def test_products_without_effect_on_trade_offs_are_refused(
    objective: str, net: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["map", net, "simple", "--pareto", "--objective", objective]) == 2
    assert "error: --objective: only limits have an effect" in capsys.readouterr().err


@pytest.mark.parametrize(
    "words",
    [
        ["map", "--strategy", "decoupled", "--tiles", "divisors"],
        ["frontier", "--layer", "a", "--over", "GLB", "--traffic", "DRAM", "--objective", "edp"],
    ],
)
def test_other_options_without_effect_are_refused(
    words: list[str], net: str, capsys: pytest.CaptureFixture[str]
) -> None:
    command, *options = words
    assert main([command, net, "simple", *options]) == 2
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize(
    "words",
    [
        ["map", "--layer", "a", "--pareto", "--tiles", "divisors"],
        ["map", "--pareto"],
        ["map", "--tiles", "divisors"],
        ["map", "--uniform", "dataflow"],
        ["explain", "--layer", "a"],
        ["frontier", "--layer", "a", "--over", "GLB"],
        ["compare", "--layer", "a", "--strategy", "pruned", "--seconds", "0.1"],
    ],
)
def test_the_first_line_names_tile_sizes_that_are_not_all(
    words: list[str], net: str, capsys: pytest.CaptureFixture[str]
) -> None:
    command, *options = words
    assert main([command, net, "simple", *options]) == 0
    first, *_ = capsys.readouterr().out.splitlines()
    assert DIVIDE in first


def test_all_tile_sizes_are_the_default_and_said_in_the_space(
    net: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["map", net, "simple"]) == 0
    first, *lines = capsys.readouterr().out.splitlines()
    assert DIVIDE not in first
    assert "Space: all regular mappings, of any tile sizes (docs/tile-sizes.md)." in lines


def test_trade_offs_heed_constraints() -> None:
    layer = tw.matmul(M=64, N=64, K=2)
    free, bound = (
        tw.pareto(layer, "eyeriss"),
        tw.pareto(layer, "eyeriss", constraints="PE.X.dims=K"),
    )
    for point in bound.points:
        spatial = [n for n in point.mapping.nodes if isinstance(n, Spatial) and n.axis == "X"]
        assert {node.dimension for node in spatial} <= {"K"}
    assert bound.points[-1].evaluation.cycles > free.points[-1].evaluation.cycles


def test_trade_offs_do_not_deny_what_map_finds() -> None:
    layer = tw.matmul(M=127, N=61, K=13)
    front = tw.pareto(layer, "eyeriss")
    (best,) = tw.map(layer, "eyeriss", "edp", cache=False).layers
    assert all(best.evaluation.cycles < point.evaluation.cycles for point in front.points)
    assert "no mapping whose tile sizes divide has less energy" in front.statement()
    assert "Mappings with other tile sizes may be better." in front.statement()


@pytest.mark.long
@pytest.mark.parametrize("objective", ["edp", "latency"])
def test_utilization_is_of_all_cycles(objective: str) -> None:
    # a product with a vector waits for its weights
    layers = (tw.matmul(M=1, N=256, K=256, name="a", repeat=2), LAYER)
    result = tw.map(tw.Network("net", layers), "simple", objective, cache=False)
    found = result["a"].evaluation
    assert found.bound != "MAC"
    assert found.utilization == found.operations / (found.cycles * 256)
    assert found.utilization < found.spatial_utilization <= 1
    assert result.utilization == pytest.approx(
        sum(e.evaluation.operations * e.layer.repeat for e in result.layers) / 256 / result.cycles
    )


def test_the_page_shows_what_was_minimised_first_and_names_the_other() -> None:
    layers = (tw.matmul(M=8, N=4, K=4, name="a", repeat=3), LAYER)
    result = tw.map(tw.Network("net", layers), "simple", "edp", cache=False, tiles="divisors")
    page = html(result)
    minimised, total = (energy_delay(v).split()[0] for v in (result.value, result.edp_pj_cycles))
    start = page.index("<dt>minimised</dt>")
    assert start < page.index("<dt>energy</dt>") < page.index(f"<dt>energy {TIMES} delay</dt>")
    shown = page[start : page.index("<dt>energy</dt>")]
    assert minimised in shown
    assert "summed over the layers" in shown
    assert total in page[page.index(f"<dt>energy {TIMES} delay</dt>") :]
    energy = html(tw.map(LAYER, "simple", cache=False))
    assert "<dt>minimised</dt>" not in energy

"""What constraints leave idle, whatever the mapping, is told: in results, commands and reports."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tilewright as tw
from tilewright.architecture import load_architecture
from tilewright.cli import main
from tilewright.mapping.constraints import under
from tilewright.mapping.given import given_constraints
from tilewright.mapping.idle import idle_arrays, idle_text, most_elements
from tilewright.report import html
from tilewright.workload.network import dump_network

SIMPLE = load_architecture("simple")
DEPTHWISE = tw.depthwise(name="depthwise", G=16, P=8, Q=8, R=3, S=3)
CONV = tw.conv2d(name="conv", K=64, C=64, P=8, Q=8, R=3, S=3)


def test_the_axis_that_loses_most_is_named_with_its_constraint() -> None:
    (idle,) = idle_arrays([CONV, DEPTHWISE], load_architecture("nvdla-1024"))
    assert (idle.layer, idle.array, idle.axis) == ("depthwise", "CMAC", "X")
    assert idle.demand == "CMAC.X unrolls only I&W not sliding"
    assert (idle.used, idle.elements, idle.utilization) == (1, 64, 1 / 1024)


def test_axes_together_may_be_what_is_too_small() -> None:
    layer = tw.conv2d(name="conv", K=64, C=64, P=5, Q=8, R=3, S=3)
    machine = under(SIMPLE, given_constraints("yr-p", SIMPLE, [layer]))
    (idle,) = idle_arrays([layer], machine)
    assert (idle.axis, idle.used, idle.elements) == (None, 15, 256)
    assert idle.demand == "PE unrolls only I&O rows, I&W sliding rows"


def test_a_small_layer_is_not_the_fault_of_constraints() -> None:
    small = tw.conv2d(name="small", K=2, C=2, P=2, Q=2, R=1, S=1)
    assert idle_arrays([small], load_architecture("diannao"))
    machine = under(SIMPLE, given_constraints("PE.X.dims=K,C,P; PE.Y.dims=Q", SIMPLE, [small]))
    assert not idle_arrays([small], machine)
    assert not idle_arrays([small, DEPTHWISE], SIMPLE)


@given(st.lists(st.integers(1, 40), max_size=4), st.integers(1, 40))
def test_most_elements_is_the_greatest_product(bounds: list[int], size: int) -> None:
    reached = {1}
    for bound in bounds:
        reached = {n * f for n in reached for f in range(1, bound + 1) if n * f <= size}
    assert most_elements(bounds, size) == max(reached)


@settings(max_examples=15, deadline=None)
@given(st.sampled_from("KCPQRS"), st.sampled_from("KCPQRS"), st.integers(1, 4))
def test_no_mapping_uses_more_than_is_told(first: str, second: str, k: int) -> None:
    layer = tw.conv2d(name="conv", K=3 * k, C=5, P=4, Q=3, R=2, S=1)
    text = f"PE.X.dims={first}; PE.Y.dims={second}"
    machine = under(SIMPLE, given_constraints(text, SIMPLE, [layer]))
    best = tw.map(layer, machine, "latency", tiles="divisors", cache=False)["conv"]
    for idle in idle_arrays([layer], machine):
        assert best.evaluation.utilization <= idle.utilization * (1 + 1e-9)


def test_the_text_is_one_line_with_the_layers_of_the_most_steps() -> None:
    layers = [tw.depthwise(name=f"layer{i}", G=16, P=8, Q=8 * i, R=3, S=3) for i in range(1, 6)]
    text = idle_text(idle_arrays(layers, load_architecture("tpu-v1")), 9)
    assert text == (
        "constraints leave most of an array idle in 5 of 9 layers, whatever the mapping: "
        "layer5 can use at most 0.014% of MXU (MXU.Y unrolls only W&O: 1 of 256); "
        "layer4 can use at most 0.014% of MXU (MXU.Y unrolls only W&O: 1 of 256); "
        "layer3 can use at most 0.014% of MXU (MXU.Y unrolls only W&O: 1 of 256); and 2 more"
    )
    assert idle_text((), 9) == ""


def test_results_commands_and_reports_tell_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    result = tw.map(DEPTHWISE, "diannao", "latency", tiles="divisors", cache=False)
    assert [idle.layer for idle in result.idle] == ["depthwise"]
    assert result.to_dict()["idle"][0]["demand"] == "NFU.X unrolls only I&W not sliding"
    assert "Constraints leave most of an array idle, whatever the mapping" in html(result)
    assert not tw.map(CONV, "diannao", "latency", tiles="divisors", cache=False).idle

    text = dump_network(tw.Network("net", (DEPTHWISE,)))
    (tmp_path / "net.yaml").write_text(text)
    assert main(["map", "net.yaml", "diannao", "--tiles", "divisors", "--json", "-"]) == 0
    told = capsys.readouterr()
    (line,) = [line for line in told.err.splitlines() if line.startswith("warning: ")]
    assert "depthwise can use at most 0.39% of NFU" in line
    assert json.loads(told.out)["idle"] == result.to_dict()["idle"]

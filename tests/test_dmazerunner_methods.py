"""How many execution methods there are, and which is the best."""

from __future__ import annotations

import json
from math import inf

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dmazerunner_cases import MACHINE, SPACE, case, convolution
from dmazerunner_methods import all_methods, all_tilings, machine_of, small_layers
from small import PRODUCT, small_machine
from strategies import EINSUMS
from tilewright.api import evaluate, methods
from tilewright.cli import main
from tilewright.dmazerunner.counting import LEVELS, Passes
from tilewright.dmazerunner.search import GOALS, best_of
from tilewright.dmazerunner.space import PRUNED, Pruning, Space
from tilewright.errors import InputError
from tilewright.workload.einsum import einsum
from tilewright.workload.layer import Layer, Network

LAYERS = {name: convolution(given) for name, given in SPACE["layers"].items()}
STATED = {"all": "exhaustive", "OPT1": "OPT1", "OPT1+2": "OPT1+2", "OPT1+2+3": "OPT1+2+3"}
STATED_EDP = {"all": "exhaustive", "OPT1": "OPT1", "OPT1+2+3": "OPT123"}


def test_the_number_of_methods_is_that_of_the_public_code() -> None:
    totals = dict.fromkeys(PRUNED, 0)
    for name, layer in LAYERS.items():
        for pruned, opt in PRUNED.items():
            count = Space(layer, MACHINE, Pruning(opt)).count
            assert count == SPACE["methods_evaluated"][name][STATED[pruned]], (name, pruned)
            totals[pruned] += count
    assert {STATED[p]: count for p, count in totals.items()} == SPACE["my_totals"]
    assert totals["all"] == 2_121_925_201


@pytest.mark.parametrize("name", LAYERS)
def test_the_least_edp_is_that_of_the_public_code(name: str) -> None:
    for pruned, stated in STATED_EDP.items():
        best = best_of(Space(LAYERS[name], MACHINE, Pruning(PRUNED[pruned])))
        assert best is not None
        assert best.edp_pj_cycles == SPACE["edp_summary"][stated][name]
        assert best.exceeds == ""


def test_the_fewest_cycles_are_those_of_the_public_code() -> None:
    best = best_of(Space(LAYERS["resnet_conv1"], MACHINE, Pruning("123")), "cycles")
    stated = case("min_cycles_resnet_conv1")["orderings"]
    assert best is not None
    assert best.cycles == min(ordering["total_cycles"] for ordering in stated)


SIZES = st.sampled_from([(4, 8, 2), (8, 24, 4), (30, 60, 1), (12, 12, 8), (200, 400, 16)])


@settings(max_examples=25, deadline=None)
@given(small_layers(list(EINSUMS), most=6), SIZES, st.integers(1, 5))
def test_as_many_tilings_are_counted_as_there_are(
    layer: Layer, sizes: tuple[int, int, int], bank: int
) -> None:
    registers, buffer, elements = sizes
    found = sum(1 for _ in all_tilings(layer, registers, buffer * bank, elements, bank))
    machine = machine_of(registers, buffer * bank, elements, 2 * buffer)
    assert Space(layer, machine).count == found


@settings(max_examples=30, deadline=None)
@given(small_layers(list(EINSUMS)), SIZES, st.lists(st.integers(0, 50), min_size=8, max_size=8))
def test_no_method_is_better_than_the_best(
    layer: Layer, sizes: tuple[int, int, int], prices: list[int]
) -> None:
    # the other side of the search: all orders of all loops, counted one by one
    machine = machine_of(*sizes, prices=prices)
    values: dict[str, tuple[float, float]] = dict.fromkeys(GOALS, (inf, inf))
    seen = set()
    for method in all_methods(layer, *sizes):
        passes = Passes(layer, machine, method)
        tiles = [sorted(method.extents(level).items()) for level in LEVELS]
        key = str((passes.reuse, tiles))
        if key in seen:
            continue
        seen.add(key)
        energy, cycles = float(round(sum(passes.energy().values()))), passes.cycles()
        for goal, value in (
            ("edp", (energy * cycles, energy)), ("cycles", (cycles, energy)),
            ("energy", (energy, cycles)),
        ):  # fmt: skip
            values[goal] = min(values[goal], value)
    for goal, (value, second) in values.items():
        best = best_of(Space(layer, machine), goal)
        if best is None:
            assert value == inf
            continue
        own = {"edp": best.edp_pj_cycles, "cycles": best.cycles, "energy": best.energy_pj}
        assert own[goal] == pytest.approx(value, rel=1e-12)
        assert best.exceeds == ""
        assert (best.cycles if goal == "energy" else best.energy_pj) == second


def test_heuristics_may_leave_nothing() -> None:
    layer = einsum("O[M,N] += I[M,K] * W[K,N]", M=2, N=2, K=2)
    found = methods(Network("two", (layer, LAYERS["resnet_conv5_2"])), MACHINE, best="edp")
    assert found[layer.name].counts["OPT1"] == 0
    assert found[layer.name].best["OPT1"] is None
    assert found.total("OPT1+2+3") == 753
    assert "none" in found.text()
    assert json.loads(found.to_json())["total"]["OPT1"] == 14_980
    assert len(found.to_frame()) == 8


def test_wrong_input_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    layer = LAYERS["resnet_conv5_2"]
    with pytest.raises(InputError, match="cannot minimise 'edq'; accepted: edp, cycles, energy"):
        methods(layer, MACHINE, best="edq")
    with pytest.raises(InputError, match="covers machines of two memories, an array"):
        methods(layer, "tpu-v1")
    with pytest.raises(InputError, match="'SPM' must be double buffered"):
        best_of(Space(PRODUCT, small_machine()))
    with pytest.raises(InputError, match="no counting 'dmaze'; accepted: tilewright, dmazerunner"):
        evaluate(layer, MACHINE, [], counting="dmaze")  # type: ignore[call-overload]
    assert main(["methods", "alexnet", "dmazerunner-256", "--best", "delay"]) == 2
    assert "--best: cannot minimise 'delay'" in capsys.readouterr().err

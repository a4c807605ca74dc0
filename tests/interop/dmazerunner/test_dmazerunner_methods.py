"""How many execution methods there are, and which is the best."""

from __future__ import annotations

import json
import runpy
from math import inf
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tilewright as tw
from dmazerunner_cases import MACHINE, SPACE, case, convolution
from dmazerunner_methods import all_methods, all_tilings, machine_of, small_layers
from small import PRODUCT, small_machine
from strategies import EINSUMS
from tilewright.api.cost import evaluate
from tilewright.api.execution import methods
from tilewright.cli import main
from tilewright.errors import InputError
from tilewright.interop.dmazerunner.bounds import array_bounds, tile_bounds
from tilewright.interop.dmazerunner.counting import LEVELS, Passes
from tilewright.interop.dmazerunner.search import GOALS, best_of, least_above
from tilewright.interop.dmazerunner.space import PRUNED, Pruning, Space
from tilewright.interop.dmazerunner.tables import tables
from tilewright.workload.einsum import einsum
from tilewright.workload.layer import Layer, Network

LAYERS = {name: convolution(given) for name, given in SPACE["layers"].items()}
STATED = {"all": "exhaustive", "OPT1": "OPT1", "OPT1+2": "OPT1+2", "OPT1+2+3": "OPT1+2+3"}
STATED_EDP = {"all": "exhaustive", "OPT1": "OPT1", "OPT1+2+3": "OPT123"}


@pytest.mark.sampled(2)
@pytest.mark.parametrize("name", LAYERS)
def test_the_number_of_methods_is_that_of_the_public_code(name: str) -> None:
    for pruned, opt in PRUNED.items():
        count = Space(LAYERS[name], MACHINE, Pruning(opt)).count
        assert count == SPACE["methods_evaluated"][name][STATED[pruned]], pruned


@pytest.mark.sampled(1)
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


def test_the_papers_best_memory_sizes_are_met_where_there_is_no_stride() -> None:
    # Table 4: EDP in three digits, and <256 B, 512 kB> and <256 B, 1024 kB> relative to the best
    sized = runpy.run_path(str(Path(__file__).parents[3] / "reproduce" / "dmazerunner.py"))["sized"]
    stated = {
        "resnet_conv2_2": (512, 4.52e15, 1.0, 1.03), "resnet_conv3_2": (1024, 3.56e15, 1.10, 1.0),
        "resnet_conv4_2": (1024, 3.57e15, 1.11, 1.0), "resnet_conv5_2": (128, 6.14e15, 1.05, 1.03),
    }  # fmt: skip
    for name, (best, edp, *ratios) in stated.items():
        found = {}
        for buffer in (128, 512, 1024):
            cost = best_of(Space(LAYERS[name], sized(256, buffer), Pruning("123")))
            assert cost is not None
            found[buffer] = cost.edp_pj_cycles
        assert float(f"{found[best]:.2e}") == edp
        assert [round(found[buffer] / found[best], 2) for buffer in (512, 1024)] == ratios


def test_more_reuse_of_outputs_may_take_more_cycles() -> None:
    # four passes of 40 cycles, and 3 words that come in: an order in which outputs stay takes 240
    machine = machine_of(4, 8, 2, prices=[1] * 8, cycles=20, clock_hz=1e6)
    best = best_of(Space(tw.pooling(C=1, P=4, Q=1, R=4, S=1), machine), "cycles")
    assert best is not None and best.cycles == 172


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


@settings(max_examples=60, deadline=None)
@given(
    small_layers(list(EINSUMS)), SIZES, st.lists(st.integers(0, 50), min_size=8, max_size=8),
    st.sampled_from([1, 3, 20]), st.sampled_from([1e6, 5e8]),
)  # fmt: skip
def test_no_method_is_better_than_the_best(
    layer: Layer, sizes: tuple[int, int, int], prices: list[int], steps: int, clock_hz: float
) -> None:
    # the other side of the search: all orders of all loops, counted one by one; with a slow clock
    # or long operations DMA does not hide what the array does
    machine = machine_of(*sizes, prices=prices, cycles=steps, clock_hz=clock_hz)
    values: dict[str, tuple[float, float]] = dict.fromkeys(GOALS, (inf, inf))
    by_tile: dict[tuple[str, tuple[int, ...]], float] = {}
    space, seen = Space(layer, machine), set()
    for method in all_methods(layer, *sizes):
        passes = Passes(layer, machine, method)
        tiles = [
            tuple(method.extents(level)[d] for d in space.tiles.dimensions) for level in LEVELS
        ]
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
            by_tile[goal, tiles[1]] = min(by_tile.get((goal, tiles[1]), inf), value[0])
    for goal, (value, second) in values.items():
        best = best_of(space, goal)
        if best is None:
            assert value == inf
            continue
        own = {"edp": best.edp_pj_cycles, "cycles": best.cycles, "energy": best.energy_pj}
        assert own[goal] == pytest.approx(value, rel=1e-12)
        assert best.exceeds == ""
        assert (best.cycles if goal == "energy" else best.energy_pj) == second
    # what ends the search: no method falls below the bound of its tile on the array
    t = tables(space)
    least = [least_above(space, costs) for costs in tile_bounds(t)]
    index = {tuple(shape): i for i, shape in enumerate(space.shapes.tolist())}
    bounds = {goal: array_bounds(t, number, *least) for goal, number in GOALS.items()}
    for (goal, tile), reached in by_tile.items():
        assert bounds[goal][index[tile]] <= reached


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

"""dMazeRunner's counting equals what its public code says, to the last digit."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from dmazerunner_cases import MACHINE, NAMES, orderings_of
from tilewright.api.cost import evaluate
from tilewright.cli import main
from tilewright.errors import MappingError
from tilewright.interop.dmazerunner.counting import count_method
from tilewright.interop.dmazerunner.method import Method, mapping_of, method_of
from tilewright.mapping.files import dump_mappings
from tilewright.mapping.nodes import For, Mapping, Node, Spatial, Store
from tilewright.mapping.validity import check
from tilewright.workload.einsum import einsum

LEVELS = {"MAC": "MAC", "RF": "RF", "NoC": "PE", "SPM": "SPM", "DRAM": "DRAM"}


@pytest.mark.parametrize("name", NAMES)
def test_every_case_is_met_to_the_last_digit(name: str) -> None:
    for given, ordering, layer, mapping in orderings_of(name):
        found = count_method(layer, MACHINE, mapping)
        assert found.energy_pj == ordering["energy_total_pJ"]
        assert found.cycles == ordering["total_cycles"]
        assert found.edp_pj_cycles == ordering["edp"]
        for theirs, ours in LEVELS.items():
            assert found.energy[ours] == ordering["energy_breakdown_pJ"][theirs]
        assert found.spm_pass_cycles == ordering["cycles_one_spm_pass"]
        assert found.spm_passes == given["spm_passes"]
        assert found.rf_passes == given["rf_passes_per_spm_pass"]
        assert found.compute_cycles == given["cycles_one_rf_pass_compute"]
        assert found.returned_tiles == ordering["o_extra_dram_reads_tiles"]
        assert found.reuse == {"outer": ordering["dram_reuse"], "inner": ordering["spm_reuse"]}
        skipped = ordering["skip_noc_for_spm_passes"]
        assert set(found.continuous) == {t for t, passes in skipped.items() if passes > 1}
        output = layer.output.name
        assert found.reduction_cycles == given["interPE_reduction_cycles_per_rf_pass"][output]
        for level, key in (
            ("registers", "data_alloc_RF"), ("array", "data_alloc_PE_array"),
            ("buffer", "data_alloc_SPM"),
        ):  # fmt: skip
            assert found.words[level] == given[key]
        for tensor, dma in given["dma"].items():
            assert found.dma[tensor].bursts == dma["dma_invocations"]
            assert found.dma[tensor].elements == dma["data_accessed_dma"]
            assert found.dma[tensor].cycles == dma["cycles"]


LAYER = einsum("O[M,N] += I[M,K] * W[K,N]", name="product", M=8, N=8, K=8)
ALL = ("I", "W", "O")
GOOD = [
    Store("DRAM", ALL), For("K", 4), Store("SPM", ALL), For("M", 4), Spatial("N", 2, "X", "PE"),
    Store("RF", ALL),
]  # fmt: skip


def test_a_mapping_is_read_as_the_method_that_it_is() -> None:
    method = method_of(Mapping(tuple(GOOD)), LAYER, MACHINE)
    assert method == Method(
        (("K", 2),), (("M", 2),), {"M": 1, "N": 4, "K": 1}, {"M": 4, "N": 2, "K": 4}
    )
    assert mapping_of(method, LAYER, MACHINE) == Mapping(tuple(GOOD))
    # one store node for each tensor, loops of one chunk and loops in the registers change nothing
    longer = [
        *(Store("DRAM", (t,)) for t in ALL), For("N", 8), *GOOD[1:3], For("M", 4), For("K", 4),
        *GOOD[4:], For("K", 1),
    ]  # fmt: skip
    assert method_of(Mapping(tuple(longer)), LAYER, MACHINE) == method


def test_spatial_factors_are_laid_on_the_axes() -> None:
    held = dict.fromkeys(LAYER.dimensions, 1)
    for spatial in ({"M": 8, "N": 8, "K": 4}, {"M": 4, "N": 8, "K": 8}, {"M": 1, "N": 8, "K": 8}):
        loops = tuple((d, 8 // n) for d, n in spatial.items() if n < 8)
        mapping = mapping_of(Method(loops, (), spatial, held), LAYER, MACHINE)
        check(mapping, LAYER, MACHINE)


@pytest.mark.parametrize(
    ("nodes", "message"),
    [
        ([*GOOD[:1], For("K", 3), *GOOD[2:]], "tile sizes that divide evenly; K is 8 here"),
        ([*GOOD[:2], GOOD[3], GOOD[5]], "once in each of DRAM, SPM, RF, in this order"),
        ([*GOOD[:5]], "stores every tensor in each of DRAM, SPM, RF"),
        ([*GOOD[:2], Store("SPM", ("I",)), *GOOD[3:]], "no loop between the store nodes"),
        ([*GOOD[:4], Store("SPM", ("W",)), *GOOD[4:]], "stores W here"),
        ([GOOD[0], *GOOD[2:5], For("K", 2), GOOD[5]], "no temporal loop below the spatial loops"),
        ([GOOD[0], Spatial("N", 2, "X", "PE"), *GOOD[2:]], "stand between 'SPM' and 'RF'"),
        ([Store("DRAM", ALL), For("Q", 2), *GOOD[2:]], "no dimension 'Q'|unknown dimension"),
    ],
)  # fmt: skip
def test_mappings_of_another_shape_are_refused(nodes: list[Node], message: str) -> None:
    with pytest.raises(MappingError, match=message):
        count_method(LAYER, MACHINE, Mapping(tuple(nodes)))


def test_a_method_that_does_not_fit_is_priced_and_says_so() -> None:
    given, _, layer, mapping = next(orderings_of("depthwise_56x56x64"))
    cost = count_method(layer, MACHINE, mapping)
    assert cost.elements_used == 784
    assert "need" in cost.exceeds
    assert cost.exceeds in cost.text()
    assert given["description"].startswith("784 PEs")


def test_elements_of_other_widths_cost_their_share_of_a_word() -> None:
    layer = replace(LAYER, bounds={"M": 256, "N": 8, "K": 256})
    narrow = replace(layer, tensors=tuple(replace(t, bits=8) for t in layer.tensors))
    nodes = Mapping((GOOD[0], *GOOD[2:]))
    wide, half = (count_method(own, MACHINE, nodes) for own in (layer, narrow))
    for name in ("DRAM", "SPM", "RF"):
        assert half.energy[name] == wide.energy[name] / 2
    assert half.energy["PE"] == wide.energy["PE"]
    assert half.dma["I"].cycles < wide.dma["I"].cycles


def test_the_command_line_and_the_api_count_as_dmazerunner_does(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    given, ordering, layer, mapping = next(orderings_of("opt_edp_resnet_conv5_2"))
    (tmp_path / "mapping.yaml").write_text(dump_mappings([(layer, mapping)], "dmazerunner-256", ""))
    (tmp_path / "layer.yaml").write_text(
        f"name: {layer.name}\neinsum: '{layer.einsum}'\nbounds: {json.dumps(dict(layer.bounds))}\n"
    )
    words = [str(tmp_path / "layer.yaml"), "dmazerunner-256", str(tmp_path / "mapping.yaml")]
    assert main(["evaluate", *words, "--counting", "dmazerunner", "--json", "-"]) == 0
    data = json.loads(capsys.readouterr().out)
    assert data["energy_pj"] == ordering["energy_total_pJ"]
    assert data["cycles"] == ordering["total_cycles"]
    cost = evaluate(layer, MACHINE, mapping, counting="dmazerunner")
    assert cost.to_dict() == data
    assert list(cost.to_frame()["tensor"]) == ["I", "W", "O"]
    assert main(["evaluate", *words, "--counting", "dmazerunner"]) == 0
    assert "counted as dMazeRunner does" in capsys.readouterr().out
    assert main(["evaluate", *words, "--counting", "dmaze"]) == 2
    assert "--counting: no counting 'dmaze'" in capsys.readouterr().err
    assert given["layer"]["name"] == layer.name


def test_a_pass_computes_although_outputs_stay_over_loops_of_dram() -> None:
    # one RF pass in each SPM pass: 4 x 4 x 4 operations by one element, and nothing else is longer
    layer = einsum("O[M,N] += I[M,K] * W[K,N]", M=4, N=4, K=16)
    nodes = [Store("DRAM", ALL), For("K", 4), Store("SPM", ALL), Store("RF", ALL)]
    found = count_method(layer, MACHINE, Mapping(tuple(nodes)))
    assert found.continuous == ("O",)
    assert found.spm_pass_cycles == 64

"""dMazeRunner's counting equals what its public code says, to the last digit."""

from __future__ import annotations

import pytest

from dmazerunner_cases import MACHINE, NAMES, orderings_of
from tilewright.dmazerunner.counting import count_method

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

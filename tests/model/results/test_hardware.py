"""Area, energy, power and leakage by component add up to those of the whole."""

from __future__ import annotations

import json

import pytest

from tilewright import evaluate_network
from tilewright import map as best_mapping
from tilewright.architecture import parse_architecture
from tilewright.cli.output.tables import architecture_text, summary
from tilewright.document import parse
from tilewright.report import html
from tilewright.workload.layer import Network
from tilewright.workload.operators import matmul

LAYERS = (matmul(M=4, N=6, K=4, name="a", repeat=3), matmul(M=8, N=2, K=4, name="b"))
NETWORK = Network("n", LAYERS)
MACHINE = parse_architecture(
    parse(
        "{name: m, technology: cacti7-45nm, levels: [{memory: D, word: 16 bits, kind: LPDDR4}, "
        "{memory: B, word: 16 bits, size: 1 KiB}, {array: PE, axes: {X: 4}}, "
        "{memory: R, word: 16 bits, size: 64 B}, {compute: M}]}"
    )
)


def test_components_add_up_to_the_network() -> None:
    result = best_mapping(NETWORK, MACHINE, tiles="divisors", cache=False)
    found = result.hardware
    spent = sum(part.energy_pj + part.leakage_pj for part in found.components.values())
    assert spent == pytest.approx(result.energy_pj)
    seconds = result.cycles / MACHINE.clock_hz
    assert found.power_mw == pytest.approx(result.energy_pj / seconds * 1e-9)
    assert found.power_mw == pytest.approx(sum(p.power_mw for p in found.components.values()))
    assert found.leakage_mw == pytest.approx(sum(p.leakage_mw for p in found.components.values()))
    known = [part.area_mm2 for part in found.components.values() if part.area_mm2]
    assert found.area_mm2 == pytest.approx(sum(known))
    assert found.without_area == ("D", "PE")
    assert found.components["R"].instances == 4
    data = json.loads(result.to_json())["hardware"]
    assert data["without_area"] == ["D", "PE"]
    assert data["components"]["D"]["area_mm2"] is None
    assert data["notes"] == list(MACHINE.notes)
    assert len(found.to_frame()) == 5
    shown = summary(result)
    assert "unknown of D, PE" in shown
    assert "Note: R: 32 words of 16 bits, scaled from 64 words of 32 bits" in shown


def test_one_run_of_a_layer_has_its_own_energy() -> None:
    result = best_mapping(LAYERS[0], MACHINE, tiles="divisors", cache=False)
    evaluation = result.layers[0].evaluation
    found = evaluation.hardware
    spent = sum(part.energy_pj + part.leakage_pj for part in found.components.values())
    assert spent == pytest.approx(evaluation.energy_pj)
    assert found.power_mw == pytest.approx(evaluation.power_mw)
    assert f"area         {found.area_mm2:.4g} mm2, unknown of D, PE" in evaluation.text()


def test_the_page_draws_the_shares_of_an_area_that_is_known() -> None:
    result = best_mapping(NETWORK, MACHINE, tiles="divisors", cache=False)
    page = html(result)
    assert "area by component" in page
    bare = best_mapping(LAYERS[1], "simple", tiles="divisors", cache=False)
    page = html(bare)
    assert "area by component" not in page
    assert "unknown of every level" in page


def test_a_machine_is_shown_with_its_area() -> None:
    shown = architecture_text(MACHINE)
    assert f"{4 * MACHINE.compute.area:.4g}" in shown
    assert "unknown of D, PE" in shown


def test_directives_count_the_energy_of_the_clusters_they_make() -> None:
    layer = matmul(M=4, N=6, K=4, name="a")
    found = evaluate_network(layer, "maestro-256", "kc-p")
    total = sum(each.energy_pj for each in found.layers)
    seconds = found.cycles / found.architecture.clock_hz
    assert found.hardware.power_mw == pytest.approx(total / seconds * 1e-9)

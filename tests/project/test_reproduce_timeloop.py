"""The pages on Timeloop's case studies show what their scripts compute."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from types import ModuleType

import pytest

from reproduce.pages import markdown
from tilewright.model.energy import area

ROOT = Path(__file__).parents[2]
PAGES = ROOT / "docs" / "reproductions"
EYERISS = ("breakdown", "remapping", "registers")
DESIGNS = ("energies", "speeds")
QUICK = ("conv5", "fc8", "151x40_c1_k32_20x5_s2x8_n1")


@pytest.fixture
def script(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(ROOT))
    return import_module(f"reproduce.{request.param}")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("script", "name"),
    [
        *(("timeloop_eyeriss", name) for name in EYERISS),
        *(("timeloop_designs", name) for name in DESIGNS),
    ],
    indirect=["script"],
)
def test_tables_are_what_the_scripts_compute(
    script: ModuleType, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of layers whose searches take seconds."""
    monkeypatch.setattr(script, "LAYERS", [x for x in script.LAYERS if x.name in QUICK])
    page = script.PAGE.read_text(encoding="utf-8")
    rows = markdown(script.TABLES[name]()).splitlines()
    assert len(rows) > len(script.LAYERS)
    assert all(f"\n{row}\n" in page for row in rows)


@pytest.mark.parametrize("script", ["timeloop_designs"], indirect=True)
def test_machines_of_one_size_have_the_largest_buffers_that_fit(script: ModuleType) -> None:
    machines = script.machines()
    limit = area(machines["NVDLA"])
    own = machines["DianNao 1024"].memories[2].capacity_bits // 8
    kib = machines["Eyeriss 1024"].memories[1].capacity_bits // 8192
    assert area(machines["DianNao 1024"]) <= limit
    assert area(machines["Eyeriss 1024"]) <= limit
    assert area(script.diannao(script.TECHNOLOGY, side=32, own=own + 128)) > limit
    larger = f"{kib + 1} KiB"
    assert area(script.eyeriss(script.TECHNOLOGY, columns=32, rows=32, buffer=larger)) > limit
    page = script.PAGE.read_text(encoding="utf-8")
    assert markdown(script.areas()) in page


@pytest.mark.parametrize("script", ["timeloop_designs"], indirect=True)
def test_channels_and_reuse_of_a_product_are_those_of_its_matrices(script: ModuleType) -> None:
    layer = next(each for each in script.workloads() if each.name == "m35_n700_k2048")
    assert script.channels(layer) == (2048, 35)
    assert len(script.workloads()) == 148

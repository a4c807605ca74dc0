"""The page of an exploration has the machines, areas and mappings of its front."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from html import unescape
from itertools import pairwise
from pathlib import Path
from urllib.parse import unquote

import pytest
from tests.exploration.test_explore import NETWORK, small_space

from tilewright.architecture.reading import parse_architecture
from tilewright.document import parse
from tilewright.exploration import Exploration, explore
from tilewright.model.energy import area
from tilewright.report.exploration import exploration_html, falling, step_rows
from tilewright.report.page import package_text


@pytest.fixture(scope="module")
def found() -> Exploration:
    return explore(NETWORK, small_space(""), axes=["energy", "area"], worth="energy")


@pytest.fixture(scope="module")
def page(found: Exploration) -> str:
    return exploration_html(found)


def test_machines_can_be_downloaded(found: Exploration, page: str) -> None:
    pattern = r'download="design-(\d+).yaml" href="data:application/yaml;charset=utf-8,([^"]*)"'
    files = re.findall(pattern, page)
    assert [int(number) for number, _ in files] == [p.index for p in found.front]
    for place, (_, text) in enumerate(files):
        machine = parse_architecture(parse(unquote(text), "machine.yaml"))
        assert machine.levels == found.architecture(place).levels


def test_areas_of_components_add_up(found: Exploration, page: str) -> None:
    text = re.search(r'id="areas">(.*?)</script>', page)
    assert text is not None
    for number, parts in json.loads(text[1]).items():
        assert sum(parts.values()) == pytest.approx(area(found.space.design(int(number))))


def test_every_layer_of_every_design_has_its_nest(found: Exploration, page: str) -> None:
    plain = unescape(page)
    for place in range(len(found)):
        assert len(found.mappings(place)) == len(NETWORK.layers)
        for name, mapping in found.mappings(place).items():
            assert f"<summary>{name}</summary><pre>{mapping}</pre>" in plain


def test_more_of_a_budget_is_always_for_less_of_an_axis(found: Exploration) -> None:
    steps = falling(found.front, "area", "energy")
    assert len(list(step_rows(found))) == len(steps)
    for a, b in pairwise(steps):
        assert a.metrics["area"] < b.metrics["area"]
        assert a.metrics["energy"] > b.metrics["energy"]
    assert min(p.metrics["energy"] for p in found.front) == steps[-1].metrics["energy"]


SCRIPT = """
const heard = {}, told = [], elements = {};
const figure = (name, trace) => elements[name] = {
  data: [trace], on: (event, f) => { heard[`${name} ${event}`] = f },
};
figure("front", { customdata: [5, 7, 9] });
figure("parallel", {
  line: { color: [1, 2, 3], colorscale: [] },
  dimensions: [{ values: [0, 1, 2], constraintrange: [0.5, 2.5] }, { values: [4, 5, 6] }],
});
figure("area", {});
elements.areas = { textContent: '{"5": {"A": 1}, "7": {"A": 2, "B": 3}}' };
const section = elements["design-7"] = {
  id: "design-7", scrollIntoView: () => {}, addEventListener: () => {},
};
globalThis.document = {
  getElementById: (name) => elements[name] ??= {}, querySelectorAll: () => [section],
};
globalThis.Plotly = {
  restyle: (one, change) => {
    told.push(change);
    if (one === elements.parallel) heard["parallel plotly_restyle"]();
    return Promise.resolve();
  },
};
SOURCE
heard["parallel plotly_restyle"]();
heard["front plotly_click"]({ points: [{ customdata: 7 }] });
heard["front plotly_selected"]({ points: [{ pointIndex: 2 }] });
console.log(JSON.stringify({ told, open: section.open, kept: elements.kept.textContent }));
"""


@pytest.mark.skipif(shutil.which("node") is None, reason="needs node")
def test_figures_follow_each_other(tmp_path: Path) -> None:
    (tmp_path / "page.js").write_text(SCRIPT.replace("SOURCE", package_text("exploration.js")))
    run = subprocess.run(
        ["node", str(tmp_path / "page.js")], capture_output=True, text=True, check=True
    )
    heard = json.loads(run.stdout)
    ranges, click, box = heard["told"]
    assert ranges == {"selectedpoints": [[1, 2]]}
    assert click["labels"] == [["A", "B"]] and click["values"] == [[2, 3]] and heard["open"]
    assert box["line.color"] == [[0, 0, 1]]
    assert heard["kept"] == "1 of 3 designs kept."

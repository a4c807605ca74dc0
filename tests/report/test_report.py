"""The HTML report: complete, self-contained, well formed, and its numbers add up."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from html import escape
from html.parser import HTMLParser
from math import log10
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from strategies import cases
from tilewright.architecture import load_architecture
from tilewright.architecture.machine import Architecture, Memory
from tilewright.errors import InputError
from tilewright.mapper.results.result import LayerResult, NetworkResult, Proof
from tilewright.mapping import For, Mapping, Spatial, Store, mapping_text
from tilewright.model.evaluate import evaluate
from tilewright.report import html, page, quantities, roofline, write_report
from tilewright.report.palette import TENSORS, level_colours, variables
from tilewright.report.quantities import TIMES
from tilewright.report.sections.layer.layers import layer_html
from tilewright.report.sections.layer.occupancy import occupancy_html
from tilewright.report.sections.layer.reuse import factors
from tilewright.workload import einsum
from tilewright.workload.layer import Layer, Network

VOID = {"meta", "link", "br", "img", "input", "hr", "rect"}
NAMES = ("conv1", "conv2_1.3x3", "fc")
SIMPLE = load_architecture("simple")
EYERISS = load_architecture("eyeriss")
LEAKY = replace(
    SIMPLE,
    name="leaky",
    levels=tuple(
        replace(level, leakage=0.5, buffering=2)
        if isinstance(level, Memory) and level.name == "RF"
        else level
        for level in SIMPLE.levels
    ),
)


class Page(HTMLParser):
    """Elements of a page, and whether each is closed where it should be."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.texts: list[str] = []
        self.faults: list[str] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        if len(dict(attrs)) < len(attrs):
            self.faults.append(f"an attribute stands twice in {tag} {attrs}")
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if tag not in VOID and (not self.open or self.open.pop() != tag):
            self.faults.append(f"{tag} closes nothing at {self.getpos()}")

    def handle_data(self, data: str) -> None:
        if not self.open or self.open[-1] not in ("script", "style"):
            self.texts.append(data)

    def values(self, attribute: str) -> list[str]:
        return [a[attribute] or "" for _, a in self.elements if attribute in a]


def layer(name: str = "conv1", k: int = 8, repeat: int = 1) -> Layer:
    """Return a small convolution."""
    access = "O[K,P] += I[C,P+R] * W[K,C,R]"
    return einsum(access, name=name, repeat=repeat, K=k, C=4, P=6, R=3)


def mapping(machine: Architecture, of: Layer) -> Mapping:
    """Return a mapping that stores in every memory what it may store."""
    roles = {t.name: t.role for t in of.tensors}
    dram, glb, rf = (
        Store(memory.name, tuple(t for t, role in roles.items() if memory.may_store(role)))
        for memory in machine.memories
    )
    loops = (For("P", 3), Spatial("K", of.bounds["K"] // 2, "X", "PE"), For("K", 1), For("C", 2))
    return Mapping((dram, loops[0], glb, *loops[1:], rf))


def layer_result(machine: Architecture, of: Layer, optimal: bool = True) -> LayerResult:
    """Return the result of a layer, proven or with a gap of a quarter."""
    found = mapping(machine, of)
    evaluation = evaluate(of, machine, found)
    value = evaluation.energy_pj
    bound = value if optimal else 0.75 * value
    gap = 0.0 if optimal else 0.25
    proof = Proof(optimal, bound, value, gap, "Tile sizes that divide <evenly>.", 1.5e9, 0.25)
    return LayerResult(of, found, evaluation, "energy", proof)


def network_result(
    machine: Architecture = SIMPLE, names: tuple[str, ...] = NAMES, optimal: bool = True
) -> NetworkResult:
    """Return the result of a network of different layers, some of them repeated."""
    layers = tuple(layer(name, 4 + 2 * i, 1 + i) for i, name in enumerate(names))
    results = tuple(layer_result(machine, one, optimal or i != 1) for i, one in enumerate(layers))
    return result_of("small net", machine, results)


def result_of(name: str, machine: Architecture, results: tuple[LayerResult, ...]) -> NetworkResult:
    """Return layers' results as those of a network."""
    network = Network(name, tuple(r.layer for r in results))
    return NetworkResult(
        network=network, architecture=machine, objective="energy", layers=results, seconds=1.5
    )


def plots(text: str) -> dict[str, Any]:
    """Return the plots that stand in a page."""
    found = re.search(r'<script type="application/json" id="figures">(.*?)</script>', text, re.S)
    assert found
    plots_: dict[str, Any] = json.loads(found[1])
    return plots_


def drawn_total(plot: dict[str, Any], view: str) -> float:
    """Return the sum of what a plot of bars shows in a view, as the page computes it."""
    factors = plot["factors"][view]
    return sum(
        x * factors[y]
        for trace in plot["data"]
        if trace.get("meta") != "fixed"
        for x, y in zip(trace["x"], trace["y"], strict=True)
    )


@pytest.fixture(scope="module")
def text() -> str:
    return html(network_result())


def test_every_layer_is_listed_mapped_and_plotted(text: str) -> None:
    parsed = Page(text)
    for i, result in enumerate(network_result().layers):
        assert f"layer-{i}" in parsed.values("id")
        assert f"layer-{i}" in parsed.values("value")
        assert f"#layer-{i}" in parsed.values("href")
        assert parsed.texts.count(result.layer.name) >= 3
    rows = plots(text)["energy-levels"]["layout"]["yaxis"]["ticktext"]
    assert [row.strip() for row in rows] == ["conv1", f"conv2_1.3x3 {TIMES}2", f"fc {TIMES}3"]
    bars = plots(text)["latency"]["data"][:-1]
    assert sorted(y for trace in bars for y in trace["y"]) == [0, 1, 2]


def test_mapping_stands_as_its_loop_nest() -> None:
    result = layer_result(SIMPLE, layer())
    shown = re.sub("<[^>]*>", "", layer_html(0, result))
    assert escape(mapping_text(result.mapping, result.layer, SIMPLE)).strip() in shown


def test_page_is_well_formed(text: str) -> None:
    parsed = Page(text)
    assert parsed.faults == []
    assert parsed.open == []
    ids = parsed.values("id")
    assert len(ids) == len(set(ids))
    assert {href.removeprefix("#") for href in parsed.values("href")} <= set(ids)


def test_page_asks_no_host_for_anything(text: str) -> None:
    parsed = Page(text)
    assert not [v for name in ("src", "srcset", "data", "action") for v in parsed.values(name)]
    assert all(href.startswith("#") for href in parsed.values("href"))
    assert "link" not in {tag for tag, _ in parsed.elements}
    style = "".join(re.findall(r"<style>(.*?)</style>", text, re.S))
    assert style and "url(" not in style and "@import" not in style
    (policy,) = (a["content"] for _, a in parsed.elements if a.get("http-equiv"))
    assert policy is not None
    assert policy.startswith("default-src 'none'")
    assert "http" not in policy and "connect-src" not in policy


def test_plotly_stands_in_the_page(text: str) -> None:
    assert page.plotly_script() in text
    assert text.lower().count("</script") == 3


@pytest.mark.parametrize("machine", [SIMPLE, EYERISS, LEAKY], ids=lambda machine: machine.name)
def test_bars_add_up_to_the_totals(machine: Architecture) -> None:
    result = network_result(machine)
    found = json.loads(page.figures_json(result))
    for key in ("energy-levels", "energy-tensors"):
        assert drawn_total(found[key], "network") == pytest.approx(result.energy_pj * 1e-12)
        once = sum(r.evaluation.energy_pj for r in result.layers)
        assert drawn_total(found[key], "layer") == pytest.approx(once * 1e-12)
    assert drawn_total(found["latency"], "network") == pytest.approx(result.cycles)
    assert quantities.energy(result.energy_pj).replace("\u202f", "<small>\u202f") in html(result)


@given(cases())
@settings(max_examples=25, deadline=None)
def test_any_result_is_plotted_completely(case: tuple[Layer, Architecture, Mapping]) -> None:
    of, machine, found = case
    evaluation = evaluate(of, machine, found)
    proof = Proof(True, 1.0, 1.0, 0.0, "All.", 1.0, 0.0)
    result = result_of("n", machine, (LayerResult(of, found, evaluation, "energy", proof),))
    figures = json.loads(page.figures_json(result))
    for key in ("energy-levels", "energy-tensors"):
        assert drawn_total(figures[key], "layer") == pytest.approx(evaluation.energy_pj * 1e-12)
    points = [t for t in figures["roofline"]["data"] if t["mode"] != "lines"]
    assert [point["x"] for point in points] == [[evaluation.intensity_per_byte]]
    parsed = Page(layer_html(0, result.layers[0]))
    assert (parsed.faults, parsed.open) == ([], [])
    widths = re.findall(r'<i style="width: ([\d.]+)%', layer_html(0, result.layers[0]))
    assert all(0 <= float(width) <= 100 for width in widths)


def test_one_layer_is_enough() -> None:
    parsed = Page(html(network_result(names=("only",))))
    assert parsed.faults == []
    assert "1 layer, mapped for least energy, tile sizes that divide" in parsed.texts
    assert any("Proven optimal: no mapping of the space has" in part for part in parsed.texts)


def test_bypassed_memory_is_said_so() -> None:
    glb = next(m for m in EYERISS.memories if m.name == "GLB")
    assert not glb.may_store("W")
    shown = layer_html(0, layer_result(EYERISS, layer()))
    assert shown.count("bypassed</td>") == 1
    assert layer_html(0, layer_result(SIMPLE, layer())).count("bypassed</td>") == 0


def test_names_are_escaped() -> None:
    evil = '</script><script>alert("x & y")</script>$title <!--'
    levels = tuple(
        replace(level, name=f"{evil}{level.name}") if isinstance(level, Memory) else level
        for level in SIMPLE.levels
    )
    machine = replace(SIMPLE, name=evil, levels=levels, source=evil)
    result = replace(network_result(machine, (evil, "b", "c")))
    result = result_of(evil, machine, result.layers)
    text = html(result)
    parsed = Page(text)
    assert parsed.faults == []
    assert sum(tag == "script" for tag, _ in parsed.elements) == 3
    assert parsed.texts.count(evil) >= 4
    assert "<" not in page.figures_json(result)
    title = next(iter(plots(text)["latency"]["data"]))["customdata"][0][0]
    assert title == escape(evil)
    assert "<" not in "".join(plots(text)["latency"]["layout"]["yaxis"]["ticktext"])


def test_bars_show_what_double_buffering_takes() -> None:
    once, twice = (occupancy_html(layer_result(m, layer()).evaluation) for m in (SIMPLE, LEAKY))
    words = 2 * (3 + 3 - 1)  # of I, in chunks of C 2, P 3 and R 3
    for shown, share in ((once, words / 256), (twice, 2 * words / 256)):
        register_file = shown[shown.index("<b>RF</b>") :]
        assert f'<i style="width: {100 * share:.3f}%; background: {TENSORS["I"]}"' in register_file


def test_each_word_moves_once_where_nothing_is_cut() -> None:
    of = layer()
    names = tuple(t.name for t in of.tensors)
    found = Mapping((Store("DRAM", names), Store("GLB", names)))
    evaluation = evaluate(of, SIMPLE, found)
    result = replace(layer_result(SIMPLE, of), mapping=found, evaluation=evaluation)
    moved = factors(result)
    assert {role: moved["DRAM", role] for role in "IWO"} == {"I": 1.0, "W": 1.0, "O": 1.0}
    assert moved["GLB", "I"] == of.operations / (4 * (6 + 3 - 1))
    assert ("RF", "I") not in moved


def test_gap_is_told_where_the_search_was_stopped() -> None:
    proven, stopped = html(network_result()), html(network_result(optimal=False))
    assert "3 of 3 layers proven optimal: no mapping of the space has less energy." in proven
    assert "gap 25" not in proven
    assert "2 of 3 layers proven" in stopped
    assert "no mapping of the space has less energy." not in stopped
    assert "gap 25\u202f%" in stopped
    assert "Tile sizes that divide &lt;evenly&gt;." in stopped


def test_layers_without_a_mapping_are_named() -> None:
    whole = network_result()
    stopped = replace(whole, layers=whole.layers[:2], unmapped=(whole.layers[2].layer,))
    text = html(stopped)
    assert Page(text).faults == []
    assert "2 of 3 layers proven" in text
    assert "There is no mapping yet of fc." in text
    assert "no mapping of the space has less energy." not in text


def test_nothing_mapped_is_a_page_too() -> None:
    whole = network_result()
    parsed = Page(html(replace(whole, layers=(), unmapped=whole.network.layers)))
    assert parsed.faults == []
    assert any("0 of 3 layers proven" in part for part in parsed.texts)


def test_report_is_written_in_one_step(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    target = tmp_path / "report.html"
    assert write_report(network_result(), target) == target
    assert target.read_text(encoding="utf-8") == html(network_result())

    def fails(*_: object) -> None:
        raise OSError(28, "No space left on device")

    target.write_text("old")
    monkeypatch.setattr("os.replace", fails)
    with pytest.raises(InputError, match="No space left"):
        write_report(network_result(), target)
    assert target.read_text() == "old"
    assert list(tmp_path.iterdir()) == [target]


@pytest.mark.parametrize("place", ["missing/report.html", "."])
def test_path_that_cannot_be_written_is_named(tmp_path: Path, place: str) -> None:
    with pytest.raises(InputError, match="cannot be written") as failure:
        write_report(network_result(), tmp_path / place)
    assert failure.value.source == str(tmp_path / place)
    assert list(tmp_path.iterdir()) == []


def test_page_is_the_same_every_time() -> None:
    assert html(network_result()) == html(network_result())


def test_levels_have_colours_of_their_own() -> None:
    machine = load_architecture("tpu-v1")
    css = variables(machine)
    themes = [
        re.search(rf"--{colour[6:-1]}: light-dark\((\S+), (\S+)\)", css)
        for colour in level_colours(machine).values()
    ]
    for theme in (1, 2):
        colours = [found[theme] for found in themes if found]
        assert len(colours) == len(set(colours)) == len(machine.levels)


@given(
    st.lists(st.tuples(st.floats(0, 960), st.floats(0, 400)), min_size=1, max_size=40),
    st.lists(st.integers(1, 24), min_size=40, max_size=40),
)
def test_labels_overlap_nothing(points: list[tuple[float, float]], lengths: list[int]) -> None:
    names = ["x" * n for n in lengths[: len(points)]]
    sizes = [10.0] * len(points)
    places = roofline.labels(points, names, sizes, [])
    boxes = []
    for (x, y), name, place in zip(points, names, places, strict=True):
        boxes.append((x - 5, y - 5, x + 5, y + 5))
        if place is None:
            continue
        dx, dy = roofline.POSITIONS[place]
        half = len(name) * roofline.CHARACTER / 2
        cx, cy = x + dx * (half + 6), y + dy * (roofline.LINE / 2 + 6)
        box = (cx - half, cy - roofline.LINE / 2, cx + half, cy + roofline.LINE / 2)
        assert not any(roofline.overlap(box, other) for other in boxes if other != boxes[-1])
        boxes.append(box)


def test_lone_point_is_labelled() -> None:
    assert roofline.labels([(480, 200)], ["conv1"], [10.0], []) == ["top center"]
    roof = [(400.0, 180.0, 560.0, 196.0)]
    assert roofline.labels([(480, 200)], ["conv1"], [10.0], roof) == ["bottom center"]


@given(st.floats(1e-14, 1e24))
def test_si_prefix_keeps_three_digits(value: float) -> None:
    text = quantities.si(value, "J")
    number, _, unit = text.partition(quantities.SPACE)
    powers = {prefix + "J": power for power, prefix in quantities.PREFIXES.items()}
    shown = float(number.replace(",", "")) * 10.0 ** powers[unit]
    assert shown == pytest.approx(value, rel=0.0051)
    assert 1 <= float(number.replace(",", "")) < 1000


@pytest.mark.parametrize(
    ("shown", "expected"),
    [
        (quantities.energy(1.5e9), "1.5 mJ"),
        (quantities.energy(0), "0 J"),
        (quantities.cycles(999_999), "1 M cycles"),
        (quantities.cycles(12), "12 cycles"),
        (quantities.size(128 * 1024 * 8), "128 KiB"),
        (quantities.size(12), "1.5 B"),
        (quantities.size(4), "4 bits"),
        (quantities.percent(1.0), "100 %"),
        (quantities.percent(0.0004), "< 0.1 %"),
        (quantities.percent(0), "0 %"),
        (quantities.power_of_ten(3.7e17), f"3.7 {TIMES} 10¹⁷"),
        (quantities.power_of_ten(1234), "1,234"),
        (quantities.power_of_ten(float("inf")), "∞"),
        (quantities.whole(215296), "215,296"),
    ],
)
def test_quantities_read_well(shown: str, expected: str) -> None:
    assert shown.replace("\u202f", " ") == expected


@given(st.lists(st.floats(1e-3, 1e9), min_size=1, max_size=30))
def test_axis_shows_every_value(values: list[float]) -> None:
    low, high = roofline.decades(values, 0.2)
    assert high - low >= 1
    assert all(low < log10(value) < high for value in values)

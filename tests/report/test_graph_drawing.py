"""The graph of a report: every edge is drawn, no lane has two tensors, every layer has its row."""

from __future__ import annotations

from collections import Counter, defaultdict
from html.parser import HTMLParser

import pytest

import tilewright as tw
from tilewright.report import html
from tilewright.report.sections.graph import Lanes, graph_section, rows_of
from tilewright.workload import load_network, zoo_names
from tilewright.workload.graph import Block, Graph, Node
from tilewright.workload.view import View

CONNECTED = [name for name in zoo_names() if load_network(name).graph is not None]


def graph_of(name: str) -> Graph:
    graph = load_network(name).graph
    assert graph is not None
    return graph


@pytest.mark.parametrize("name", CONNECTED)
def test_every_edge_leads_from_the_maker_down_to_the_reader(name: str) -> None:
    rows = list(rows_of(graph_of(name)))
    lanes = Lanes(rows)
    down = defaultdict(set)
    upright: Counter[tuple[int, int]] = Counter()
    for first, start, second, end in lanes.lines:
        if first == second:
            for y in range(start, end):
                down[first, y].add((first, y + 1))
                upright[first, y] += 1
        else:
            assert 0 <= end - start <= 1
            down[first, start].add((second, end))
    assert max(upright.values()) == 1
    maker = {tensor: i for i, row in enumerate(rows) for tensor in row.makes}
    edges = 0
    for i, row in enumerate(rows):
        for tensor in row.reads:
            if tensor not in maker:
                continue
            reached = {(lanes.places[maker[tensor]], maker[tensor])}
            for _ in range(2 * (i - maker[tensor]) + 1):
                reached |= {point for place in reached for point in down[place]}
            assert (lanes.places[i], i) in reached, f"{tensor} to {row.name}"
            edges += 1
    assert edges > 5


def test_what_blocks_repeat_is_drawn_once_and_read_outside() -> None:
    inner = Node("inner", "relu", {"0": View(("x",))}, {"y": (2, 2)})
    after = Node("after", "relu", {"0": View(("part.y",))}, {"z": (2, 2)})
    part = Block("part", 7, inputs={"x": View(("image",))}, carry={"x": "y"}, nodes=(inner,))
    rows = list(rows_of(Graph(inputs={"image": (2, 2)}, nodes=(part, after))))
    assert [row.kind for row in rows] == ["input", "block", "mapped", "mapped"]
    assert rows[1].repeat == rows[2].repeat == 7
    assert rows[2].reads == ("image",)
    assert rows[3].reads == rows[2].makes == ("part/y",)


def test_the_page_shows_the_graph_of_connected_layers() -> None:
    network = tw.load_network("bert_base")
    result = tw.map(network, "simple", tiles="divisors", time_limit=5)
    page = html(result)
    assert 'href="#graph"' in page
    section = graph_section(result)
    HTMLParser().feed(section)
    for i, found in enumerate(result.layers):
        assert f'<a href="#layer-{i}">' in section, found.layer.name
    shares = [float(part.split('"')[0]) for part in section.split("--share:")[1:]]
    assert sum(shares) == pytest.approx(1.0, abs=1e-3)
    alone = tw.map(network.layers[0], "simple", tiles="divisors")
    assert graph_section(alone) == ""
    assert 'href="#graph"' not in html(alone)

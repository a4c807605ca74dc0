"""The page of fused layers: every segment, every edge that is not fused, and shares that add up."""

from __future__ import annotations

import re
from html import escape, unescape

import pytest

from fused_chains import network
from tilewright.architecture.machine import Architecture, Compute, Memory
from tilewright.mapper.fused.network import map_fused
from tilewright.mapper.fused.results.result import FusedResult
from tilewright.mapping.fused.notation.text import fused_text
from tilewright.report import html
from tilewright.report.quantities import TIMES
from tilewright.report.sections.fused import alone_of, links

WORDS = 8  # of the buffer
MACHINE = Architecture(
    "small",
    (
        Memory("DRAM", 16, read_energy=100.0, write_energy=100.0),
        Memory("GLB", 16, capacity_bits=16 * WORDS, read_energy=6.0, write_energy=6.0),
        Compute("MAC", energy=1.0),
    ),
)


def found(sizes: list[int]) -> FusedResult:
    return map_fused(network(4, sizes), MACHINE, "energy")


@pytest.fixture(scope="module")
def chain() -> FusedResult:
    # the second of three layers is fused with the first alone
    return found([8, 2, 8, 8])


@pytest.fixture(scope="module")
def pair() -> FusedResult:
    return found([4, 2, 4])


def test_the_page_has_every_segment(chain: FusedResult) -> None:
    page = html(chain)
    assert chain.segments
    for i, segment in enumerate(chain.segments):
        section = page.partition(f'id="segment-{i}"')[2].partition("</details>")[0]
        assert escape(fused_text(segment.mapping, segment.segment, MACHINE).strip()) in section
        assert f"{segment.outer_words_saved:,} words less to and from DRAM" in section
        for tile in segment.exchanged:
            assert f"<td>{TIMES.join(map(str, tile.extents))}</td><td>{tile.memory}</td>" in section
        # one bar for each branch, as wide as what is alive
        widths = [
            sum(map(float, re.findall(r"width: ([\d.]+)%", bar)))
            for bar in re.findall(r'<div class="track">(.*?)</div>', section)
        ]
        alive = segment.evaluation.alive["GLB"]
        held = [100 * sum(t.bits for t in tiles) / (16 * WORDS) for tiles in alive.values()]
        assert widths == pytest.approx(held, abs=0.01)
    shown = unescape(page)
    assert chain.unfused_edges
    for edge in chain.unfused_edges:
        assert f"{edge.edge.producer} → {edge.edge.reader}" in shown
        assert edge.because in shown


def test_shares_in_the_graph_add_up(chain: FusedResult) -> None:
    graph = html(chain).partition('<div class="graph"')[2].partition("</section>")[0]
    shares = [float(share) for share in re.findall(r"--share:([\d.]+)", graph)]
    assert len(shares) == 3
    assert sum(shares) == pytest.approx(1.0, abs=1e-3)
    assert (
        graph.count('<li class="fused"')
        == graph.count('<circle class="fused"')
        == len(links(chain))
    )
    for link in links(chain).values():
        assert f'href="#{link.section}"' in graph


def test_layers_that_stay_alone_have_their_sections(chain: FusedResult) -> None:
    own = alone_of(chain)
    assert own.runs + sum(len(s.names) * s.repeat for s in chain.segments) == 3
    fused = sum(s.evaluation.energy_pj * s.repeat for s in chain.segments)
    assert own.energy_pj + fused == pytest.approx(chain.energy_pj)
    page = html(chain)
    assert page.count('<details class="layer" id="layer-') == len(own.layers) == 1


def test_a_page_without_layers_that_stay_alone(pair: FusedResult) -> None:
    assert not pair.unfused
    page = html(pair)
    assert '<section id="segments">' in page
    assert 'id="layers"' not in page
    assert not {target for target in re.findall(r'href="#([^"]+)"', page)} - set(
        re.findall(r'id="([^"]+)"', page)
    )

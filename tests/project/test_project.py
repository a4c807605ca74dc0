"""The documentation says what the program does."""

from __future__ import annotations

import re
import runpy
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace

import pytest

from tilewright.architecture import load_architecture
from tilewright.architecture.machine import Architecture, Array
from tilewright.mapping import load_mapping
from tilewright.mapping.nodes import Mapping
from tilewright.reference.simulate import simulate
from tilewright.workload import load_network
from tilewright.workload.layer import Layer

ROOT = Path(__file__).parents[2]
COUNTS = (ROOT / "docs" / "counts.md").read_text(encoding="utf-8")
BLOCK = re.compile(r'```yaml title="(\w+)"\n(.*?)```|^((?:\|[^\n]*\n)+)', re.DOTALL | re.MULTILINE)


@dataclass(frozen=True)
class Example:
    """A layer, a machine and a mapping as the page shows them, and the table that follows."""

    layer: Layer
    machine: Architecture
    mapping: Mapping
    rows: tuple[tuple[str, ...], ...]


def table_rows(table: str) -> tuple[tuple[str, ...], ...]:
    lines = table.strip().splitlines()
    return tuple(tuple(c.strip() for c in line.strip("|").split("|")) for line in lines)


@pytest.fixture(scope="module")
def examples(tmp_path_factory: pytest.TempPathFactory) -> list[Example]:
    """Every table of counts on the page, with the blocks that were shown last before it."""
    folder = tmp_path_factory.mktemp("counts")
    found = []
    parts = SimpleNamespace()
    for title, text, table in BLOCK.findall(COUNTS):
        if title:
            path = folder / f"{title}.yaml"
            path.write_text(text, encoding="utf-8")
            if title == "layer":
                parts.layer = load_network(path).layers[0]
            elif title == "machine":
                parts.machine = load_architecture(path)
            else:
                parts.mapping = load_mapping(path, parts.layer, parts.machine)
        elif table.startswith("| memory | tensor |"):
            rows = table_rows(table)[2:]
            found.append(Example(parts.layer, parts.machine, parts.mapping, rows))
    return found


def with_network(machine: Architecture, **options: bool) -> Architecture:
    levels = (replace(x, **options) if isinstance(x, Array) else x for x in machine.levels)
    return replace(machine, levels=tuple(levels))


def test_worked_examples_are_what_simulation_counts(examples: list[Example]) -> None:
    assert len(examples) == 5
    for example in examples:
        counts = simulate(example.layer, example.machine, example.mapping)
        assert len(example.rows) == 3 * len(example.machine.memories)
        for memory, tensor, reads, writes, peak in example.rows:
            counted = counts.memories[memory][tensor]
            shown = (int(reads), int(writes), int(peak))
            assert (counted.reads, counted.writes, counted.peak) == shown, (memory, tensor)


def test_network_options_read_the_words_that_the_page_says(examples: list[Example]) -> None:
    table = re.search(r"\| multicast \| forwarding \|.*\n(?:\|.*\n)+", COUNTS)
    assert table is not None
    strips = [e for e in examples if e.layer.name == "convolution"]
    for multicast, forwarding, *shown in table_rows(table.group())[2:]:
        options = {"multicast": multicast == "yes", "forwarding": forwarding == "yes"}
        for example, words in zip(strips, shown, strict=True):
            machine = with_network(example.machine, **options)
            counts = simulate(example.layer, machine, example.mapping)
            assert counts.memories["DRAM"]["I"].reads == int(words)


def test_partial_sums_that_are_not_reduced_arrive_at_the_outer_memory(
    examples: list[Example],
) -> None:
    example = examples[-1]
    machine = with_network(example.machine, reduction=False)
    counted = simulate(example.layer, machine, example.mapping).memories["DRAM"]["O"]
    assert (counted.reads, counted.writes) == (18, 24)


def test_pictures_are_drawn_by_the_script() -> None:
    for name, draw in runpy.run_path(str(ROOT / "docs" / "pictures.py"))["PICTURES"].items():
        shown = (ROOT / "docs" / "assets" / f"{name}.svg").read_text(encoding="utf-8")
        assert shown == draw().svg(), f"run docs/pictures.py: {name}.svg"


def test_readme_and_quickstart_show_the_same_mapping() -> None:
    shown = [
        re.findall(r"^mapping:.*?```", (ROOT / page).read_text(), re.DOTALL | re.MULTILINE)
        for page in ("README.md", "docs/index.md")
    ]
    for left, right in pairwise(shown):
        nodes = [re.findall(r"^ +- .*$", text[0], re.MULTILINE) for text in (left, right)]
        assert nodes[0] == nodes[1] != []

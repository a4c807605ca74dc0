"""What a mapping costs when the outermost memory moves whole blocks."""

from __future__ import annotations

from collections.abc import Mapping as Dict
from dataclasses import dataclass, fields, replace
from typing import Any

from tilewright.architecture.machine import Architecture
from tilewright.counts import Counts
from tilewright.layout.moved import BlockCounts
from tilewright.mapping.nodes import Mapping
from tilewright.model.evaluate import assess
from tilewright.model.results.result import Evaluation
from tilewright.text import aligned
from tilewright.workload.axis_order import Layout
from tilewright.workload.layer import Layer


@dataclass(frozen=True, repr=False, kw_only=True)
class BlockEvaluation(Evaluation):
    """Costs of a mapping whose outermost memory reads and writes whole blocks.

    The reads and writes of that memory are all words of the blocks that it moves, touched or not:
    energy, cycles and all statistics follow from them.

    Attributes
    ----------
    layouts : mapping of str to Layout
        How each tensor lies in the outermost memory.
    blocks : mapping of str to BlockCounts
        Blocks that each tensor moves.
    touched : mapping of str to int
        Words of each tensor that are asked for: its traffic without blocks.
    """

    layouts: Dict[str, Layout]
    blocks: Dict[str, BlockCounts]
    touched: Dict[str, int]

    def layout_text(self, tensor: str) -> str:
        """Return the layout of a tensor as it is written."""
        (found,) = (t for t in self.layer.tensors if t.name == tensor)
        return self.layouts[tensor].text(found)

    def text(self, width: int | None = None) -> str:
        """Return a summary in several lines, with the blocks of each tensor."""
        return f"{super().text(width)}\n\n{self.blocks_text()}"

    def blocks_text(self) -> str:
        """Return a table of the layouts and the blocks, a row per tensor."""
        rows = [("tensor", "layout", "blocks read", "written", "words used")]
        for name, counts in self.blocks.items():
            moved = (counts.reads + counts.writes) * counts.words
            rows.append(
                (
                    name,
                    self.layout_text(name),
                    f"{counts.reads:,}",
                    f"{counts.writes:,}",
                    f"{self.touched[name] / moved:.1%}",
                )
            )
        title = f"  blocks of {self.architecture.memories[0].name}"
        return "\n".join([title, *(f"  {line}" for line in aligned(rows, (0, 1)))])

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain data, as ``tilewright evaluate --json`` writes it."""
        return super().to_dict() | {
            "layouts": {name: self.layout_text(name) for name in self.layouts},
            "blocks": {
                name: {"reads": c.reads, "writes": c.writes, "words_per_block": c.words}
                for name, c in self.blocks.items()
            },
        }


def in_blocks(
    layer: Layer,
    architecture: Architecture,
    mapping: Mapping,
    counts: Counts,
    layouts: Dict[str, Layout],
    blocks: Dict[str, BlockCounts],
) -> BlockEvaluation:
    """Return what a mapping costs with these layouts.

    Parameters
    ----------
    layer, architecture, mapping
        What is computed, on what, and how; the mapping is valid.
    counts : Counts
        Its exact counts in words.
    layouts : mapping of str to Layout
        By tensor.
    blocks : mapping of str to BlockCounts
        What it moves with these, see `count.count_blocks`; tensors that are left out move words.
    """
    outer = architecture.memories[0].name
    words = counts.memories[outer]
    moved = {
        **words,
        **{
            name: replace(words[name], reads=b.reads * b.words, writes=b.writes * b.words)
            for name, b in blocks.items()
        },
    }
    whole = replace(
        counts,
        memories={**counts.memories, outer: moved},
        busiest={**counts.busiest, outer: moved},
    )
    plain = assess(layer, architecture, mapping, whole)
    return BlockEvaluation(
        **{field.name: getattr(plain, field.name) for field in fields(plain)},
        layouts=layouts,
        blocks=blocks,
        touched={name: words[name].reads + words[name].writes for name in blocks},
    )

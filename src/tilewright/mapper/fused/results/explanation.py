"""Why tensors between layers go through the outermost memory, and what that costs."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from tilewright.mapper.fused.results.edges import UnfusedEdge, ends
from tilewright.mapper.fused.results.result import FusedResult
from tilewright.text import aligned, wrapped

MEANING = (
    "Words and uJ: what {outermost} moves of the tensor now, in one run, by the two layers. Fusing "
    "them saves these at most there; what operators between them move is not counted. Smallest "
    "tiles: what exchanged tensors take at once, in a segment of both layers with the smallest "
    "tiles. 'tilewright frontier --fuse' says from which size of a memory on fusing pays."
)


@dataclass(frozen=True)
class FusedExplanation:
    """Why edges of a network stay unfused.

    Attributes
    ----------
    result : FusedResult
        The best mapping that was found, and all that is known of these edges.
    """

    result: FusedResult

    @property
    def edges(self) -> tuple[UnfusedEdge, ...]:
        """The edges that stay unfused."""
        return self.result.unfused_edges

    @property
    def interrupted(self) -> bool:
        """Whether Ctrl-C ended the search."""
        return self.result.interrupted

    def __str__(self) -> str:
        return self.text()

    def text(self, width: int | None = None) -> str:
        """Return a table of edges, and what is fused."""
        result = self.result
        outermost = result.architecture.memories[0].name
        title = f"{result.network.name} on {result.architecture.name}: edges that stay unfused"
        if not self.edges:
            return "\n".join([title, "", "None.", "", result.text(width)])
        headers = ("edge", "runs", f"{outermost} words", "uJ", "smallest tiles", "why")
        rows = [headers, *(self.row(edge) for edge in self.edges)]
        meaning = wrapped(MEANING.format(outermost=outermost), width)
        statement = result.statement(width)
        return "\n".join(
            [title, "", *aligned(rows, left=(0, 4, 5), width=width), "", meaning, "", statement]
        )

    def row(self, unfused: UnfusedEdge) -> tuple[str, ...]:
        """Return the cells of one edge."""
        amount = f" ({unfused.amount})" if unfused.amount else ""
        takes = ""
        if unfused.smallest_bits is not None:
            takes = f"{unfused.smallest_bits:,} bits of {unfused.smallest_memory}"
        known = unfused.outer_words is not None and unfused.outer_pj is not None
        return (
            ends(unfused.edge, whole=True),
            f"{unfused.repeat}",
            f"{unfused.outer_words:,}" if known else "",
            f"{(unfused.outer_pj or 0.0) * 1e-6:,.2f}" if known else "",
            takes,
            f"{unfused.because}{amount}",
        )

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain data."""
        return self.result.to_dict()

    def to_json(self, indent: int | None = 2) -> str:
        """Return `to_dict` as JSON text."""
        return json.dumps(self.to_dict(), indent=indent)

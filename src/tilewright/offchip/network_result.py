"""The least off-chip traffic of a network, layer by layer."""

from __future__ import annotations

import json
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING, Any

from tilewright.offchip.result import Banks, LayerTraffic
from tilewright.text import aligned, wrapped
from tilewright.workload.by_layer import ByLayer

if TYPE_CHECKING:
    import pandas as pd

HEADERS = ("layer", "repeat", "compulsory", "spilled", "DRAM words", "MiB", "gap", "proven")


@dataclass(frozen=True, repr=False)
class NetworkTraffic(ByLayer[LayerTraffic]):
    """The least off-chip traffic of the layers of a network.

    Attributes
    ----------
    name : str
    memory : Banks
    layers : tuple of LayerTraffic
    interrupted : bool
        Whether Ctrl-C ended the search; layers that it had not begun are missing then.
    """

    name: str
    memory: Banks
    layers: tuple[LayerTraffic, ...]
    interrupted: bool = False

    @property
    def dram_words(self) -> int:
        """DRAM words of the network, repeated layers counted as often as they occur."""
        return sum(each.dram_words * each.layer.repeat for each in self.layers)

    @property
    def optimal(self) -> bool:
        """Whether every layer is proven."""
        return all(each.optimal for each in self.layers)

    def __repr__(self) -> str:
        proven = sum(each.optimal for each in self.layers)
        return (
            f"<NetworkTraffic of {self.name}: {self.dram_words:,} DRAM words, {proven} of "
            f"{len(self.layers)} layers proven optimal>"
        )

    def __str__(self) -> str:
        return self.text()

    def rows(self) -> list[tuple[str, ...]]:
        """Return the cells of the table that `text` shows, the first row of which are headers."""
        more = any(each.array for each in self.layers)
        return [
            (*HEADERS, "array words") if more else HEADERS,
            *(
                (
                    each.layer.name,
                    f"{each.layer.repeat}",
                    f"{each.compulsory:,}",
                    f"{each.dram_words - each.compulsory:,}",
                    f"{each.dram_words:,}",
                    f"{each.dram_mib:,.2f}",
                    f"{each.gap:.2%}",
                    "yes" if each.optimal else "no",
                    *([f"{each.array_words:,}"] if more else []),
                )
                for each in self.layers
            ),
        ]

    def text(self, width: int | None = None) -> str:
        """Return a table, and the schedule where there is one layer alone."""
        lines = aligned(self.rows(), (0,), width=width, drop=("MiB", "spilled"))
        machine = [f"{each.array.machine}, " for each in self.layers[:1] if each.array]
        title = f"{self.name}, {self.memory}, {''.join(machine)}least DRAM words"
        if machine:
            title += " and words of the array"
        ending = (
            [wrapped(str(each), width) for each in self.layers] if len(self.layers) == 1 else []
        )
        return "\n".join([wrapped(title, width), "", *lines, *(["", *ending] if ending else [])])

    def _repr_html_(self) -> str:
        headers, *rows = self.rows()
        head = "".join(f"<th>{escape(cell)}</th>" for cell in headers)
        body = "".join(
            "<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>" for row in rows
        )
        return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"

    def to_frame(self) -> pd.DataFrame:
        """Return a table with one row per layer and tensor."""
        import pandas as pd

        return pd.DataFrame(
            [
                {
                    "layer": each.layer.name,
                    "repeat": each.layer.repeat,
                    "tensor": name,
                    "words": tensor.words,
                    "banks": tensor.banks,
                    "block_words": tensor.block_words,
                    "spilled": tensor.spilled,
                    "reads": tensor.reads,
                    "writes": tensor.writes,
                    "optimal": each.optimal,
                    "seconds": each.seconds,
                }
                | ({"array_words": each.array.words[name]} if each.array else {})
                for each in self.layers
                for name, tensor in each.tensors.items()
            ]
        )

    def to_dict(self) -> dict[str, Any]:
        """Return plain data."""
        return {
            "workload": self.name,
            "banks": self.memory.count,
            "bank_bits": self.memory.bank_bits,
            "word_bits": self.memory.word_bits,
            "interrupted": self.interrupted,
            "layers": [each.to_dict() for each in self.layers],
            "total": {"dram_words": self.dram_words, "optimal": self.optimal},
        }

    def to_json(self) -> str:
        """Return the plain data as JSON."""
        return json.dumps(self.to_dict(), indent=2)

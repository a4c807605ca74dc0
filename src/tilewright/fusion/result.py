"""What the evaluation of fused mappings returns."""

from __future__ import annotations

import json
from collections.abc import Mapping as Dict
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from tilewright.architecture.machine import Architecture
from tilewright.counts import TensorCounts
from tilewright.fusion.room import Tile, used_bits
from tilewright.mapping.fused.connections.segments import Access, Segment
from tilewright.mapping.fused.counts import FusedCounts, PipelineCycles
from tilewright.mapping.fused.pipelines import Split
from tilewright.mapping.fused.scopes import resolve_fused
from tilewright.mapping.fused.tree import FusedMapping
from tilewright.mapping.fused.validity import split_among
from tilewright.model.energy import leakage_per_cycle
from tilewright.model.results.result import Evaluation, utilization
from tilewright.text import aligned, wrapped
from tilewright.workload.layer import Network

if TYPE_CHECKING:
    import pandas as pd


INDENT = 2


def inner_width(width: int | None) -> int | None:
    """Return the width of what is indented."""
    return None if width is None else width - INDENT


@dataclass(frozen=True)
class Room:
    """The room that is taken in one instance of a memory.

    Attributes
    ----------
    bits : int
        Most bits at once, buffering included.
    share : float or None
        Share of the capacity that this is; None when unbounded.
    layer : str
        The layer during which it is.
    tiles : tuple of Tile
        What is alive then.
    """

    bits: int
    share: float | None
    layer: str
    tiles: tuple[Tile, ...]


@dataclass(frozen=True, repr=False)
class FusedEvaluation:
    """Costs and counts of a fused mapping of one segment on one machine.

    Layers take turns on the whole machine: their cycles add up, and within each of them transfers
    overlap with compute. Layers of a pipeline run at the same time; what `layers` says of the
    cycles of one of them is for its part of the machine alone.

    Attributes
    ----------
    segment, architecture, mapping
        What was evaluated.
    counts : FusedCounts
        The exact counts behind everything else.
    layers : mapping of str to Evaluation
        By layer, in the order in which they run, over all of its turns. Transfers between shared
        stores belong to the first layer below that reads the tensor, or to the one that makes it.
    alive : mapping of memory to mapping of layer to list of Tile
        What takes room in each memory while each layer runs.
    """

    segment: Segment
    architecture: Architecture
    mapping: FusedMapping
    counts: FusedCounts
    layers: Dict[str, Evaluation]
    alive: Dict[str, Dict[str, list[Tile]]]

    @cached_property
    def operations(self) -> int:
        """Operations of all layers; those that are carried out again count again."""
        return sum(found.operations for found in self.layers.values())

    @cached_property
    def repeated_operations(self) -> int:
        """Operations beyond those of the layers alone: words that are made more than once."""
        return self.operations - sum(layer.operations for layer in self.segment.layers)

    @cached_property
    def energy_pj(self) -> float:
        """Energy of all layers in pJ; leakage is that of the cycles of the run."""
        together = {name for pipe in self.counts.pipelines for name in pipe.layers}
        total = sum(
            found.energy_pj - (found.leakage_pj if name in together else 0.0)
            for name, found in self.layers.items()
        )
        piped = sum(pipe.cycles for pipe in self.counts.pipelines)
        return total + piped * leakage_per_cycle(self.architecture)

    @cached_property
    def cycles(self) -> float:
        """Cycles of the run: layers one after the other, those of a pipeline together."""
        together = {name for pipe in self.counts.pipelines for name in pipe.layers}
        alone = sum(found.cycles for name, found in self.layers.items() if name not in together)
        return alone + sum(pipe.cycles for pipe in self.counts.pipelines)

    @cached_property
    def splits(self) -> tuple[Split, ...]:
        """How an array is split among the layers of each pipeline."""
        resolved = resolve_fused(self.mapping, self.segment)
        return tuple(split_among(pipe, resolved, self.architecture) for pipe in resolved.pipelines)

    @property
    def edp_pj_cycles(self) -> float:
        """Energy times cycles."""
        return self.energy_pj * self.cycles

    @cached_property
    def utilization(self) -> float:
        """Operations / what all compute units could carry out in the cycles of the run."""
        return utilization(self.architecture, self.operations, self.cycles)

    @cached_property
    def tensors(self) -> dict[str, dict[str, TensorCounts]]:
        """Reads, writes and the largest tile by memory and tensor of the segment."""
        found: dict[str, dict[str, TensorCounts]] = {}
        for memory in self.architecture.memories:
            own = found.setdefault(memory.name, {})
            for layer, evaluation in self.layers.items():
                for local, part in evaluation.counts.memories[memory.name].items():
                    name = self.segment.shared_name[Access(layer, local)]
                    old = own.get(name, TensorCounts())
                    own[name] = TensorCounts(
                        old.reads + part.reads,
                        old.writes + part.writes,
                        max(old.peak, part.peak),
                    )
        return found

    @cached_property
    def rooms(self) -> dict[str, Room]:
        """The room that is taken in each memory."""
        found = {}
        for memory in self.architecture.memories:
            alive = self.alive[memory.name]
            layer = max(alive, key=lambda name: sum(tile.bits for tile in alive[name]))
            bits, room = used_bits(alive), memory.total_bits
            share = bits / room if room else None
            found[memory.name] = Room(bits, share, layer, tuple(alive[layer]))
        return found

    @property
    def outermost_words(self) -> int:
        """Words read from and written to the outermost memory."""
        own = self.tensors[self.architecture.memories[0].name].values()
        return sum(part.reads + part.writes for part in own)

    def __repr__(self) -> str:
        return (
            f"<FusedEvaluation of {' + '.join(self.layers)} on {self.architecture.name}: "
            f"{self.energy_pj:.6g} pJ, {self.cycles:.6g} cycles, "
            f"utilization {self.utilization:.1%}>"
        )

    def text(self, width: int | None = None) -> str:
        """Return a summary in several lines, with a table of the layers and one of the accesses."""
        inside = inner_width(width)
        lines = [f"{' + '.join(self.layers)} on {self.architecture.name}"]
        again = self.repeated_operations
        also = f", {again:,} of them again" if again else ""
        lines += [
            f"  operations   {self.operations:,}{also}",
            f"  cycles       {self.cycles:,.10g}",
            f"  energy       {self.energy_pj:,.6g} pJ",
            f"  EDP          {self.edp_pj_cycles:.6g} pJ x cycles",
            f"  utilization  {self.utilization:.1%}",
        ]
        for name, room in self.rooms.items():
            if room.share is not None and room.bits:
                lines.append(
                    f"  {name} holds {room.bits / 8:,.10g} B at most ({room.share:.1%}), "
                    f"while {room.layer} runs"
                )
        rows = [("layer", "pJ", "cycles", "utilization", "bound by")]
        rows += [
            (
                name,
                f"{found.energy_pj:,.6g}",
                f"{found.cycles:,.10g}",
                f"{found.utilization:.1%}",
                found.bound,
            )
            for name, found in self.layers.items()
        ]
        lines += ["", *(f"  {line}" for line in aligned(rows, (0, 4), width=inside)), ""]
        for pipe, split in zip(self.counts.pipelines, self.splits, strict=True):
            lines += [*(f"  {line}" for line in pipeline_lines(pipe, split)), ""]
        rows = [("memory", "tensor", "reads", "writes", "tile")]
        for memory, tensors in self.tensors.items():
            rows += [
                (memory, name, f"{n.reads:,}", f"{n.writes:,}", f"{n.peak:,}")
                for name, n in tensors.items()
                if n.peak
            ]
        lines += (f"  {line}" for line in aligned(rows, (0, 1), width=inside))
        return wrapped("\n".join(lines), width)

    def to_frame(self) -> pd.DataFrame:
        """Return a table with one row per memory and tensor."""
        import pandas as pd

        return pd.DataFrame(
            [
                {
                    "memory": memory,
                    "tensor": name,
                    "reads": part.reads,
                    "writes": part.writes,
                    "peak_words": part.peak,
                }
                for memory, tensors in self.tensors.items()
                for name, part in tensors.items()
            ]
        )

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain data."""
        return {
            "layers": [
                {
                    "layer": name,
                    "operations": found.operations,
                    "cycles": found.cycles,
                    "energy_pj": found.energy_pj,
                    "utilization": found.utilization,
                    "bound": found.bound,
                }
                for name, found in self.layers.items()
            ],
            "architecture": self.architecture.name,
            "repeat": self.segment.repeat,
            "operations": self.operations,
            "repeated_operations": self.repeated_operations,
            "cycles": self.cycles,
            "energy_pj": self.energy_pj,
            "edp_pj_cycles": self.edp_pj_cycles,
            "utilization": self.utilization,
            "pipelines": [
                {
                    "layers": list(pipe.layers),
                    "slots": pipe.slots,
                    "cycles": pipe.cycles,
                    "filling_cycles": pipe.filling,
                    "pace_cycles": dict(pipe.pace),
                    "array": split.array,
                    "axis": split.axis,
                    "elements": dict(split.elements),
                }
                for pipe, split in zip(self.counts.pipelines, self.splits, strict=True)
            ],
            "memories": {
                memory: {
                    "occupied_bits": self.rooms[memory].bits,
                    "capacity_share": self.rooms[memory].share,
                    "fullest_during": self.rooms[memory].layer,
                    "tensors": {
                        name: {"reads": n.reads, "writes": n.writes, "peak_words": n.peak}
                        for name, n in tensors.items()
                    },
                }
                for memory, tensors in self.tensors.items()
            },
        }

    def to_json(self, indent: int | None = 2) -> str:
        """Return `to_dict` as JSON text."""
        return json.dumps(self.to_dict(), indent=indent)


def pipeline_lines(pipe: PipelineCycles, split: Split) -> list[str]:
    """Return what there is to say about layers that run at the same time."""
    parts = ", ".join(f"{layer} {n}" for layer, n in split.elements.items())
    share = pipe.filling / pipe.cycles if pipe.cycles else 0.0
    paces = sorted(pipe.pace.items(), key=lambda item: -item[1])
    pace = ", ".join(f"{name} {n / pipe.cycles:.1%}" for name, n in paces if n)
    return [
        f"at the same time: {', '.join(pipe.layers)}",
        f"  elements of {split.array} along {split.axis}: {parts}",
        f"  {pipe.cycles:,.10g} cycles in {pipe.slots:,} slots; {share:.1%} fill and drain",
        f"  the pace is set by {pace or 'nothing'}",
    ]


@dataclass(frozen=True, repr=False)
class FusedNetworkEvaluation:
    """Costs of a network of which some layers are fused.

    Attributes
    ----------
    network : Network
        What is computed.
    architecture : Architecture
        On what.
    segments : tuple of FusedEvaluation
        The fused layers; each segment occurs as often as its block is repeated.
    layers : tuple of (Evaluation, int)
        The others, with how often each of them runs alone.
    missing : tuple of str
        Layers for which the file says nothing: they are in no total.
    """

    network: Network
    architecture: Architecture
    segments: tuple[FusedEvaluation, ...]
    layers: tuple[tuple[Evaluation, int], ...]
    missing: tuple[str, ...] = ()

    @cached_property
    def energy_pj(self) -> float:
        """Energy of all segments and layers in pJ, repeats counted."""
        fused = sum(found.energy_pj * found.segment.repeat for found in self.segments)
        return fused + sum(found.energy_pj * times for found, times in self.layers)

    @cached_property
    def cycles(self) -> float:
        """Cycles of all segments and layers, repeats counted."""
        fused = sum(found.cycles * found.segment.repeat for found in self.segments)
        return fused + sum(found.cycles * times for found, times in self.layers)

    def __repr__(self) -> str:
        return (
            f"<FusedNetworkEvaluation of {self.network.name} on {self.architecture.name}: "
            f"{len(self.segments)} segments, {self.energy_pj:.6g} pJ, {self.cycles:.6g} cycles>"
        )

    def text(self, width: int | None = None) -> str:
        """Return the segments, one after the other, and a table of everything."""
        inside = inner_width(width)
        rows = [("", "repeat", "pJ", "cycles")]
        for found in self.segments:
            name, times = " + ".join(found.layers), found.segment.repeat
            rows.append((name, str(times), f"{found.energy_pj:,.6g}", f"{found.cycles:,.10g}"))
        for one, times in self.layers:
            rows.append(
                (one.layer.name, str(times), f"{one.energy_pj:,.6g}", f"{one.cycles:,.10g}")
            )
        rows.append(("all", "", f"{self.energy_pj:,.6g}", f"{self.cycles:,.10g}"))
        parts = [found.text(width) for found in self.segments]
        title = f"{self.network.name} on {self.architecture.name}"
        table = "\n".join(f"  {line}" for line in aligned(rows, (0,), width=inside))
        parts.append(f"{title}\n{table}")
        if self.missing:
            parts.append(f"without a mapping, in no total: {', '.join(self.missing)}")
        return "\n\n".join(parts)

    def to_frame(self) -> pd.DataFrame:
        """Return a table with one row per segment and per layer that runs alone."""
        import pandas as pd

        fused = [
            (" + ".join(f.layers), f.segment.repeat, f.operations, f.energy_pj, f.cycles)
            for f in self.segments
        ]
        alone = [(f.layer.name, n, f.operations, f.energy_pj, f.cycles) for f, n in self.layers]
        columns = ["layers", "repeat", "operations", "energy_pj", "cycles"]
        return pd.DataFrame([*fused, *alone], columns=columns)

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain data."""
        return {
            "network": self.network.name,
            "architecture": self.architecture.name,
            "segments": [found.to_dict() for found in self.segments],
            "layers": [found.to_dict() | {"repeat": times} for found, times in self.layers],
            "missing": list(self.missing),
            "total": {"energy_pj": self.energy_pj, "cycles": self.cycles},
        }

    def to_json(self, indent: int | None = 2) -> str:
        """Return `to_dict` as JSON text."""
        return json.dumps(self.to_dict(), indent=indent)

"""Timeloop's counts beside ours on the same mapping, each difference with its class."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from math import isclose, prod
from typing import Any

from tilewright.architecture.machine import Architecture
from tilewright.counts import Counts
from tilewright.interop.timeloop.comparison.own_counts import Own, own_counts, shared, whole_tiles
from tilewright.interop.timeloop.comparison.stats import Accesses, Stats
from tilewright.mapping.nodes import Mapping
from tilewright.mapping.structure import Link, resolve
from tilewright.text import aligned, wrapped
from tilewright.workload.layer import Layer, Tensor

DRAINS = "drains"
BROADCAST = "partial sums sent to all"
UNSHARED = "unshared halo"
LINKS = "link transfers"
LOST = "lost halo"
BOXES = "bounding box"
AVERAGES = "averaging"
PASSES = "whole passes"
SPARSE = "sparsity"
EXTRAPOLATED = "extrapolation"
ABSENT = "not in the statistics"
UNKNOWN = "not explained"
MEANING = {
    DRAINS: "reads of results and partial sums on their way outward are counted here, not there",
    BROADCAST: "Timeloop sends a partial sum to every element that adds to it, ours to one",
    UNSHARED: "elements whose tiles overlap in part share no words in Timeloop",
    LINKS: "Timeloop takes words from neighbours: fewer reads above, more reads in the elements",
    LOST: "one dimension is cut at several memories: Timeloop fetches whole tiles there",
    BOXES: "Timeloop counts the bounding box, with words that strides or dilation leave out",
    AVERAGES: "imperfect factors: Timeloop averages over passes of different lengths",
    PASSES: "imperfect factors: Timeloop's cycles are those of whole passes",
    SPARSE: "Timeloop leaves out operations on zeros; counts here are of dense data",
    EXTRAPOLATED: "Timeloop repeats the first pass, which fetches whole tiles, where they slide",
    ABSENT: "the statistics say nothing of this tensor at this level",
    UNKNOWN: "none of these classes gives exactly Timeloop's number",
}
KINDS = ("reads", "fills", "updates")


@dataclass(frozen=True)
class Row:
    """One count on both sides.

    Attributes
    ----------
    level, tensor : str
        Where and of what; no tensor for cycles.
    kind : str
        ``"reads"``, ``"fills"``, ``"updates"`` or ``"cycles"``.
    ours, timeloop : float
        Words of all instances, or cycles; NaN where Timeloop says nothing.
    classes : tuple of str
        Why they differ; empty where they are equal.
    """

    level: str
    tensor: str
    kind: str
    ours: float
    timeloop: float
    classes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Differences:
    """All counts on both sides.

    Attributes
    ----------
    rows : tuple of Row
        By level from the outermost, by tensor; cycles last.
    """

    rows: tuple[Row, ...]

    @property
    def classes(self) -> tuple[str, ...]:
        """The classes that occur, in the order of the rows."""
        return tuple(dict.fromkeys(name for row in self.rows for name in row.classes))

    def text(self, width: int | None = None) -> str:
        """Return a table, and what its classes mean."""
        rows = [("level", "tensor", "count", "tilewright", "Timeloop", "difference", "why")]
        for row in self.rows:
            known = row.timeloop == row.timeloop
            difference = row.ours - row.timeloop if known else 0.0
            rows.append(
                (
                    row.level,
                    row.tensor,
                    row.kind,
                    amount(row.ours),
                    amount(row.timeloop) if known else "-",
                    f"{amount(difference)}" if difference else "",
                    ", ".join(row.classes),
                )
            )
        lines = aligned(rows, (0, 1, 2, 6), width=width)
        equal = sum(not row.classes for row in self.rows)
        lines += ["", f"{equal} of {len(self.rows)} counts are equal"]
        lines += [wrapped(f"{name}: {MEANING[name]}", width) for name in self.classes]
        return "\n".join(lines)

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain data."""
        return {
            "rows": [
                {
                    "level": row.level,
                    "tensor": row.tensor,
                    "count": row.kind,
                    "tilewright": row.ours,
                    "timeloop": row.timeloop if row.timeloop == row.timeloop else None,
                    "classes": list(row.classes),
                }
                for row in self.rows
            ],
            "meaning": {name: MEANING[name] for name in self.classes},
        }

    def to_json(self, indent: int | None = 2) -> str:
        """Return `to_dict` as JSON text."""
        return json.dumps(self.to_dict(), indent=indent)


def amount(value: float) -> str:
    """Return a number of words or cycles as text."""
    return f"{value:,.0f}" if float(value).is_integer() else f"{value:,.2f}"


def same(ours: float, theirs: float) -> bool:
    """Whether two counts are equal: Timeloop prints averages without their fractions."""
    return isclose(ours, theirs, rel_tol=1e-9, abs_tol=0.5)


def differences(
    layer: Layer,
    machine: Architecture,
    mapping: Mapping,
    counts: Counts,
    cycles: float,
    stats: Stats,
) -> Differences:
    """Return Timeloop's counts beside ours.

    Parameters
    ----------
    layer, machine, mapping
        What was evaluated; memories with the names that they have in the statistics.
    counts : Counts
        Our counts.
    cycles : float
        Our cycles.
    stats : Stats
        Timeloop's statistics of the same mapping.
    """
    return Differences(tuple(Comparison(layer, machine, mapping, counts, stats).rows(cycles)))


class Comparison:
    """A mapping whose counts are compared."""

    def __init__(
        self, layer: Layer, machine: Architecture, mapping: Mapping, counts: Counts, stats: Stats
    ) -> None:
        self.layer = layer
        self.machine = machine
        self.stats = stats
        self.structure = resolve(mapping, layer, machine)
        self.own = own_counts(layer, machine, self.structure, counts)
        self.uneven = any(loop.extent % loop.tile for loop in self.structure.loops)

    def rows(self, cycles: float) -> Iterable[Row]:
        """Yield the rows, level by level."""
        for memory in self.machine.memories:
            for tensor in self.layer.tensors:
                own = self.own.get((memory.name, tensor.name))
                if own is None:
                    continue
                theirs = self.stats.levels.get(memory.name, {}).get(tensor.name)
                yield from self.tensor_rows(memory.name, tensor, own, theirs)
        yield from self.cycle_rows(cycles)

    def tensor_rows(
        self, level: str, tensor: Tensor, own: Own, theirs: Accesses | None
    ) -> Iterable[Row]:
        """Yield the rows of a tensor at a level."""
        for kind in KINDS:
            ours = getattr(own.counted, kind)
            if theirs is None:
                yield Row(level, tensor.name, kind, ours, float("nan"), (ABSENT,))
                continue
            given = getattr(theirs, kind)
            why: tuple[str, ...] = ()
            if not same(ours, given):
                explain = self.of_output if tensor.is_output else self.of_input
                why = explain(level, tensor, kind, own, theirs) or self.otherwise()
            yield Row(level, tensor.name, kind, ours, given, why)

    def otherwise(self) -> tuple[str, ...]:
        """Return the class of what no rule gives."""
        return (AVERAGES,) if self.uneven else (UNKNOWN,)

    def of_output(
        self, level: str, tensor: Tensor, kind: str, own: Own, theirs: Accesses
    ) -> tuple[str, ...]:
        """Return why accesses to the output differ."""
        if kind == "fills" and same(own.counted.fills + own.broadcast, theirs.fills):
            return (BROADCAST,)
        if kind != "reads":
            return ()
        expected = own.counted.reads - own.drains + own.undistributed
        if not same(expected, theirs.reads):
            return ()
        why = [DRAINS] if own.drains else []
        return (*why, BROADCAST) if own.undistributed else tuple(why)

    def of_input(
        self, level: str, tensor: Tensor, kind: str, own: Own, theirs: Accesses
    ) -> tuple[str, ...]:
        """Return why accesses to an input differ."""
        chain = self.structure.links[tensor.name]
        outward = next((link for link in chain if link.child == level), None)
        if kind == "fills":
            return () if outward is None else self.of_fills(tensor, outward, theirs.fills)
        if kind != "reads":
            return ()
        inward = next(link for link in chain if link.parent == level)
        if outward is not None:
            taken = self.taken(tensor, outward)
            if taken and same(own.counted.reads + taken, theirs.reads):
                return (LINKS,)
        return self.of_reads(tensor, inward, own.counted.reads, theirs.reads)

    def of_fills(self, tensor: Tensor, link: Link, theirs: float) -> tuple[str, ...]:
        """Return why fills differ."""
        whole = whole_tiles(tensor, self.layer, self.structure, link, boxes=False)
        if same(whole, theirs):
            return (self.sliding(link),)
        boxes = whole_tiles(tensor, self.layer, self.structure, link, boxes=True)
        own = self.own[link.child, tensor.name].counted.fills
        if same(boxes, theirs):
            return (BOXES,) if own == whole else (self.sliding(link), BOXES)
        return ()

    def sliding(self, link: Link) -> str:
        """Return why a tile that slides does not in Timeloop."""
        split = any(min(link.run) < d <= max(link.run) for d in self.structure.depths.values())
        return LOST if split else EXTRAPOLATED

    def of_reads(self, tensor: Tensor, link: Link, ours: float, theirs: float) -> tuple[str, ...]:
        """Return why reads for the next level inward differ."""
        if link.child == self.machine.compute.name:
            return ()
        fills = self.own[link.child, tensor.name].counted.fills
        given = self.stats.levels.get(link.child, {}).get(tensor.name)
        their_fills = fills if given is None else given.fills
        why: list[str] = []
        if not same(fills, their_fills):
            why += self.of_fills(tensor, link, their_fills) or self.otherwise()
        separate = shared(tensor, self.structure, link)
        if same(their_fills * separate, theirs):
            if not same(ours * their_fills, theirs * fills):
                why.append(UNSHARED)
            return tuple(why)
        if self.taken(tensor, link):
            return (*why, LINKS)
        return ()

    def taken(self, tensor: Tensor, link: Link) -> float:
        """Return the words that Timeloop's elements take from neighbours, not from the parent.

        As many more are read in the elements.
        """
        below = self.stats.levels.get(link.child, {}).get(tensor.name)
        above = self.stats.levels.get(link.parent, {}).get(tensor.name)
        if below is None or above is None or not link.arrays:
            return 0.0
        missing = below.fills * shared(tensor, self.structure, link) - above.reads
        return missing if missing > 0.5 else 0.0

    def cycle_rows(self, cycles: float) -> Iterable[Row]:
        """Yield the row of the cycles."""
        theirs = self.stats.cycles
        if theirs is None:
            return
        why: tuple[str, ...] = ()
        if abs(cycles - theirs) >= 1:
            passes = prod(loop.chunks for loop in self.structure.loops if loop.array is None)
            why = (UNKNOWN,)
            if self.stats.sparse and theirs < cycles:
                why = (SPARSE,)
            elif self.uneven and passes == theirs:
                why = (PASSES,)
            elif self.without_drains(theirs):
                why = (DRAINS,)
        yield Row(self.machine.compute.name, "", "cycles", cycles, theirs, why)

    def without_drains(self, cycles: float) -> bool:
        """Whether some memory needs so many cycles when drains are not counted."""
        for memory in self.machine.memories:
            shared_rate = memory.shared_bandwidth
            if shared_rate is None:
                continue
            words = 0.0
            for tensor in self.layer.tensors:
                own = self.own.get((memory.name, tensor.name))
                if own is not None:
                    words += sum(getattr(own.counted, kind) for kind in KINDS) - own.drains
            used = prod(
                loop.chunks
                for loop in self.structure.loops
                if loop.array is not None
                and self.machine.position[loop.array] < self.machine.position[memory.name]
            )
            if abs(words / used / shared_rate - cycles) <= 1:
                return True
        return False

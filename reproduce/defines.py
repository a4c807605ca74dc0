"""DeFiNES' 108 schedules of FSRCNN as fused trees, and better ones.

python -m reproduce.defines [--write]

Prints the tables of docs/reproductions/defines.md; with --write puts them into that page. Workload
and machine are those of its case study 1 (inputs/WL/Meta_prototype/workload_fsrcnn.py and
inputs/HW/Meta_prototype_DF.py of its repository, which the page describes).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import product
from pathlib import Path

from reproduce.pages import Rows, publish
from tilewright.architecture.machine import Architecture
from tilewright.architecture.reading import parse_architecture
from tilewright.document import parse
from tilewright.errors import MappingError
from tilewright.fusion import Branch, Fuse, FusedEvaluation, FusedMapping, Halo, evaluate, segment
from tilewright.mapping.fused import Segment
from tilewright.mapping.fused.scopes import resolve_fused
from tilewright.mapping.fused.tree import TreeNode
from tilewright.mapping.fused.turn_layers import largest_turn
from tilewright.mapping.nodes import For, Node, Spatial, Store
from tilewright.workload.cascades import FSRCNN, fsrcnn

PAGE = Path(__file__).parents[1] / "docs" / "reproductions" / "defines.md"
TILES_X = (1, 4, 16, 60, 240, 960)
TILES_Y = (1, 4, 18, 72, 270, 540)
# what becomes of halos along columns (Q) and rows (P)
MODES = {
    "fully recompute": ("recompute", "recompute"),
    "H-cached V-recompute": ("retain", "recompute"),
    "fully cached": ("retain", "retain"),
}
COLUMNS, ROWS = 960, 540
MACHINE = """
name: meta-proto-like-df
levels:
  - {memory: DRAM, word: 64 bits, energy: {read: 700, write: 750}, bandwidth: 1}
  - {memory: GB_W, size: 1 MiB, word: 1024 bits, energy: {read: 208.08, write: 189.2},
     bandwidth: {read: 1, write: 1}, keep: [W]}
  - {memory: GB_A, size: 1 MiB, word: 1024 bits, energy: {read: 208.08, write: 189.2},
     bandwidth: {read: 1, write: 1}, keep: [I, O]}
  - {memory: LB_W, size: 32 KiB, word: 512 bits, energy: {read: 17.2, write: 28.4},
     bandwidth: {read: 1, write: 1}, keep: [W]}
  - {memory: LB_A, size: 64 KiB, word: 512 bits, energy: {read: 26.56, write: 30.8},
     bandwidth: {read: 1, write: 1}, keep: [I, O]}
  - {array: PE, axes: {K: 32, C: 2, X: 4, Y: 4}}
  - {memory: REG_W, size: 1 B, word: 8 bits, energy: {read: 0.01, write: 0.01}, keep: [W]}
  - {memory: REG_O, size: 2 B, word: 16 bits, energy: {read: 0.02, write: 0.02}, keep: [O]}
  - {compute: MAC, energy: 0.04}
"""
PLACES = ("LB_A", "GB_A", "DRAM")
GLOBAL, LOCAL = 256 * 1024, 16 * 1024  # bytes of the buffers for inputs that lie further out


@cache
def machine() -> Architecture:
    """Return the machine."""
    return parse_architecture(parse(MACHINE, "machine.yaml"))


@cache
def stack(first: int, end: int) -> Segment:
    """Return some layers that follow each other."""
    return segment(fsrcnn(rows=ROWS, columns=COLUMNS), [f"conv{i}" for i in range(first, end)])


@dataclass(frozen=True)
class Schedule:
    """How some layers are fused: tiles of the last one's output, what becomes of halos, places."""

    first: int
    end: int
    columns: int
    rows: int
    mode: str
    places: tuple[str, ...]

    @property
    def tensors(self) -> tuple[str, ...]:
        """The exchanged tensors, whose places are given."""
        return tuple(f"T{i}" for i in range(self.first + 1, self.end))

    @property
    def segment(self) -> Segment:
        """The layers."""
        return stack(self.first, self.end)

    @property
    def halos(self) -> tuple[Halo, ...]:
        """What becomes of halos, where they are not retained."""
        columns, rows = MODES[self.mode]
        return tuple(
            Halo(tensor.name, dimension, what)
            for tensor in self.segment.intermediates
            for dimension, what in (("P", rows), ("Q", columns))
            if what != "retain"
        )

    def tree(self) -> FusedMapping:
        """Return it as a fused mapping; tiles follow each other along a row first."""
        layers = self.segment.layers
        last = layers[-1].name
        outside = tuple(t.name for t in self.segment.tensors if not t.intermediate)
        weights = tuple(f"{layer.name}.W" for layer in layers)
        sources = {f"T{self.first}": "GB_A"}
        nodes: list[TreeNode] = [
            Store("DRAM", outside), Store("GB_W", weights), Store("LB_W", weights),
            For(f"{last}.P", self.rows), Store("GB_A", tuple(sources)),
            For(f"{last}.Q", self.columns),
        ]  # fmt: skip
        for tensor, place in zip(range(self.first + 1, self.end), self.places, strict=True):
            sources[f"T{tensor}"] = place
            nodes.append(Store(place, (f"T{tensor}",)))
        turns = largest_turns(self.first, self.end, self.columns, self.rows, self.mode)
        branches = (
            Branch(layer.name, tuple(own_nodes(turns[layer.name], sources[f"T{i}"])))
            for i, layer in enumerate(layers, start=self.first)
        )
        return FusedMapping((*nodes, Fuse(tuple(branches))), self.halos)

    def evaluated(self, *, check: bool = True) -> FusedEvaluation:
        """Return what it costs."""
        return evaluate(self.segment, machine(), self.tree(), check=check)


@cache
def largest_turns(
    first: int, end: int, columns: int, rows: int, mode: str
) -> dict[str, dict[str, int]]:
    """Return by layer the largest extents of its turns."""
    halos = Schedule(first, end, columns, rows, mode, ()).halos
    own = stack(first, end)
    last = own.layers[-1].name
    branches = tuple(Branch(layer.name) for layer in own.layers)
    loops = (For(f"{last}.P", rows), For(f"{last}.Q", columns))
    resolved = resolve_fused(FusedMapping((*loops, Fuse(branches)), halos), own)
    return {leaf.layer: largest_turn(leaf, own) for leaf in resolved.leaves}


def own_nodes(turn: dict[str, int], source: str) -> Iterator[Node]:
    """Yield a layer's own nodes: outputs stay in registers, weights stream from their buffer."""
    left = dict(turn)

    def cut(dimension: str, size: int) -> For:
        left[dimension] = min(left[dimension], size)
        return For(dimension, left[dimension])

    around = turn["R"] - 1
    if source == "DRAM":
        # some rows at a time, which slide down
        row = turn["C"] * (turn["Q"] + around)
        yield cut("P", max(1, GLOBAL // row - around))
        yield Store("GB_A", ("I",))
    if source != "LB_A":
        # a stripe of a few rows, which slides down as well
        yield cut("Q", max(1, LOCAL // (turn["C"] * (4 + around)) - around))
        yield cut("P", 4)
        yield Store("LB_A", ("I",))
    yield from (cut(dimension, size) for dimension, size in (("P", 4), ("Q", 4), ("K", 32)))
    for dimension, axis, parts in (("K", "K", 32), ("Q", "X", 4), ("P", "Y", 4), ("C", "C", 2)):
        size = -(-left[dimension] // parts)
        left[dimension] = size
        yield Spatial(dimension, size, axis, "PE")
    yield Store("REG_O", ("O",))
    yield from (cut(dimension, 1) for dimension in ("C", "R", "S"))
    yield Store("REG_W", ("W",))


def placed(schedule: Schedule) -> tuple[Schedule, FusedEvaluation]:
    """Return a schedule with every tensor in the smallest memory that has room for all.

    Where tiles do not fit, the largest one goes further out.
    """
    while True:
        found = schedule.evaluated(check=False)
        for memory in PLACES[:-1]:
            room = found.rooms[memory]
            if room.share is not None and room.share > 1:
                held = [t for t in room.tiles if t.tensor in schedule.tensors]
                if not held:
                    raise MappingError(f"{schedule} does not fit '{memory}'")
                worst = max(held, key=lambda tile: tile.bits).tensor
                places = list(schedule.places)
                places[schedule.tensors.index(worst)] = PLACES[PLACES.index(memory) + 1]
                schedule = replace(schedule, places=tuple(places))
                break
        else:
            return schedule, found


def schedule_of(first: int, end: int, columns: int, rows: int, mode: str) -> Schedule:
    """Return a schedule with all tensors in the local buffer."""
    return Schedule(first, end, columns, rows, mode, ("LB_A",) * (end - first - 1))


@cache
def grid() -> dict[tuple[str, int, int], tuple[Schedule, FusedEvaluation]]:
    """Return the 108 schedules by mode, columns and rows of a tile."""
    return {
        (mode, columns, rows): placed(schedule_of(0, len(FSRCNN), columns, rows, mode))
        for mode, columns, rows in product(MODES, TILES_X, TILES_Y)
    }


def energies(mode: str) -> Rows:
    """Return the energy of a mode by tile, in mJ."""
    table: Rows = [("columns \\ rows", *map(str, TILES_Y))]
    for columns in TILES_X:
        cells = (grid()[mode, columns, rows][1].energy_pj / 1e9 for rows in TILES_Y)
        table.append((str(columns), *(f"{energy:.2f}" for energy in cells)))
    return table


def divisors(number: int) -> list[int]:
    """Return the divisors of a number."""
    return [n for n in range(1, number + 1) if number % n == 0]


def improved(start: Schedule) -> tuple[Schedule, FusedEvaluation]:
    """Return a better schedule near one: of each tile size the next divisors, then other places."""
    best = placed(start)
    while True:
        schedule, found = best
        sizes = []
        for now, bound in ((schedule.columns, COLUMNS), (schedule.rows, ROWS)):
            known = sorted({*divisors(bound), now})
            at = known.index(now)
            sizes.append(known[max(0, at - 2) : at + 3])
        tried = [
            placed(schedule_of(0, len(FSRCNN), columns, rows, schedule.mode))
            for columns, rows in product(*sizes)
            if (columns, rows) != (schedule.columns, schedule.rows)
        ]
        better = min(tried, key=lambda one: one[1].energy_pj)
        if better[1].energy_pj >= found.energy_pj:
            break
        best = better
    for places in product(PLACES[:2], repeat=len(best[0].places)):
        schedule = replace(best[0], places=places)
        found = schedule.evaluated(check=False)
        fits = all(room.share is None or room.share <= 1 for room in found.rooms.values())
        if fits and found.energy_pj < best[1].energy_pj:
            best = schedule, found
    return best


def row(name: str, schedule: Schedule, found: FusedEvaluation) -> Sequence[str]:
    """Return the cells of a comparison."""
    return (
        name,
        f"{schedule.columns} x {schedule.rows}",
        f"{found.energy_pj / 1e9:.2f}",
        f"{found.cycles / 1e6:.1f}",
        f"{found.outermost_words / 1e6:.1f}",
        f"{found.operations / 1e9:.2f}",
    )


def comparison() -> Rows:
    """Return the best of the 108 schedules beside what is better."""
    rows: Rows = [("", "tile", "energy (mJ)", "Mcycles", "DRAM Mwords", "G operations")]
    for mode in MODES:
        own = [one for (of, _, _), one in grid().items() if of == mode]
        rows.append(row(f"best energy, {mode}", *min(own, key=lambda one: one[1].energy_pj)))
    every = list(grid().values())
    rows.append(row("least cycles of all", *min(every, key=lambda one: one[1].cycles)))
    whole = grid()["fully cached", COLUMNS, ROWS]
    rows.append(row("one tile: layer by layer", *whole))
    rows.append(row("most energy of all", *max(every, key=lambda one: one[1].energy_pj)))
    start = min(every, key=lambda one: one[1].energy_pj)[0]
    rows.append(row("other tile sizes and places", *improved(start)))
    return rows


TABLES = {
    "recompute": lambda: energies("fully recompute"),
    "h-cached": lambda: energies("H-cached V-recompute"),
    "cached": lambda: energies("fully cached"),
    "comparison": comparison,
}


def main() -> None:
    """Print the tables, and put them into the page with --write."""
    publish(TABLES, PAGE)


if __name__ == "__main__":
    main()

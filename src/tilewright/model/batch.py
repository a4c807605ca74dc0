"""Evaluate many mappings of one structure at once."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from tilewright.architecture.machine import Architecture
from tilewright.errors import InputError
from tilewright.mapping.nodes import Mapping
from tilewright.model.costs import cost_plan
from tilewright.model.evaluate import evaluate
from tilewright.model.forwarding import fill_held_rows
from tilewright.model.locate import BLOCK, locate
from tilewright.model.memo import FIRST_NODES, MOST_NODES, count_through
from tilewright.model.program import HELD
from tilewright.model.rows import fill_rows
from tilewright.model.sweep import INVALID, NO_SUM, UNEVEN, cost
from tilewright.model.traffic import Structure, with_tiles
from tilewright.model.types import Bools, Floats, Ints
from tilewright.workload.layer import Layer

CHUNK = 2048


@dataclass(frozen=True)
class Batch:
    """Costs of many mappings that differ in their tile sizes.

    Attributes
    ----------
    valid : array of bool
        Whether each mapping's tiles shrink inward, its spatial chunks fit their axes and its tiles
        fit the memories.
    energy_pj, cycles : arrays of float
        As `evaluate` gives them; infinite where a mapping is not valid.
    reads, writes : arrays of int, of (mappings, memories, tensors), or None
        Elements, in the order of the machine's memories and the layer's tensors, where they were
        asked for; zeros where a mapping is not valid.
    """

    valid: Bools
    energy_pj: Floats
    cycles: Floats
    reads: Ints | None = None
    writes: Ints | None = None

    @property
    def edp(self) -> Floats:
        """Energy times cycles, in pJ x cycles; infinite where a mapping is not valid."""
        return self.energy_pj * self.cycles

    def __len__(self) -> int:
        return len(self.valid)


def evaluate_batch(
    layer: Layer,
    architecture: Architecture,
    mapping: Mapping,
    tiles: ArrayLike,
    *,
    traffic: bool = False,
) -> Batch:
    """Evaluate many mappings that differ in their tile sizes only.

    Parameters
    ----------
    layer, architecture
        What is computed, and on what.
    mapping : Mapping
        The nodes that the mappings have in common; its own tile sizes do not matter.
    tiles : array of int, of (mappings, loops)
        Tile size of each loop node, outermost first.
    traffic : bool
        Whether reads and writes per memory and tensor are wanted besides.

    Returns
    -------
    Batch
        Row by row what `evaluate` returns.

    Raises
    ------
    MappingError
        When the mapping is malformed, whatever its tile sizes.
    InputError
        When there is not one tile size per loop.
    """
    chosen = np.ascontiguousarray(tiles, np.int64)
    structure = Structure.of(mapping)
    if chosen.ndim != 2 or chosen.shape[1] != len(structure.loops):
        raise InputError(
            f"tiles have the shape {chosen.shape}; the mapping has {len(structure.loops)} loops, "
            f"so (mappings, {len(structure.loops)}) is expected"
        )
    plan = cost_plan(layer, architecture, structure, traffic)
    program = plan.plan.compiled.program
    rows = len(chosen)
    energies = np.empty(rows)
    cycles = np.empty(rows)
    status = np.empty(rows, np.int64)
    sums = len(plan.plan.sums)
    counts = np.zeros((rows if traffic else 0, sums), np.int64)
    held = HELD in program.factor_kind
    tables, widest = len(program.table_width), int(program.table_width.sum())
    chunk = min(CHUNK, max(BLOCK, rows))
    fits = np.empty(chunk, np.bool_)
    several = np.zeros((len(program.loop_dim), chunk), np.bool_)
    base = np.zeros((tables, chunk), np.int64)
    work = np.empty((tables * chunk, 3), np.int64)
    counted = count_through(plan.components, program, chosen)
    nodes = FIRST_NODES
    memo = counted.memo(nodes, widest)
    used = np.array([counted.nodes, 0, 0], np.int64)
    done = 0
    while done < rows:
        part = chosen[done : done + chunk]
        found = locate(
            program, plan.components, plan.costs.axis_of_loop, plan.costs.axis_size, memo, used,
            part, fits, several, base, work,
        )  # fmt: skip
        todo = work[: used[2]]
        fill_rows(program, part, todo, memo.numbers)
        if held:
            fill_held_rows(program, part, todo, memo.numbers)
        end = done + found
        cost(
            program, plan.costs, memo.numbers, fits, several, base,
            energies[done:end], cycles[done:end], status[done:end], counts[done:end],
        )  # fmt: skip
        if found < len(part):
            nodes = min(4 * nodes, MOST_NODES)
            memo = counted.memo(nodes, widest)
            used = np.array([counted.nodes, 0, 0], np.int64)
        done = end
    reads = writes = None
    if traffic:
        shape = (rows, len(architecture.memories), len(layer.tensors))
        reads, writes = np.zeros(shape, np.int64), np.zeros(shape, np.int64)
        for m, t, read, write in plan.traffic:
            if read != NO_SUM:
                reads[:, m, t] = counts[:, read]
            if write != NO_SUM:
                writes[:, m, t] = counts[:, write]
    for row in np.flatnonzero(status == UNEVEN):
        one = evaluate(layer, architecture, with_tiles(mapping, chosen[row].tolist()), check=False)
        energies[row], cycles[row] = one.energy_pj, one.cycles
        for m, t, _, _ in plan.traffic:
            memory, tensor = architecture.memories[m].name, layer.tensors[t].name
            assert reads is not None and writes is not None
            reads[row, m, t] = one.counts.memories[memory][tensor].reads
            writes[row, m, t] = one.counts.memories[memory][tensor].writes
    return Batch(status != INVALID, energies, cycles, reads, writes)

"""Evaluate many mappings of one structure at once."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from tilewright.architecture.machine import Architecture
from tilewright.errors import InputError, MappingError
from tilewright.kernels.kernel import interruptible
from tilewright.kernels.types import Bools, Floats, Ints
from tilewright.mapping.nodes import Mapping
from tilewright.model.closed_form.fits import which_fit
from tilewright.model.closed_form.forwarding import fill_held_rows
from tilewright.model.closed_form.queries.locate import locate
from tilewright.model.closed_form.queries.memo import FIRST_NODES, MOST_NODES, number_nodes
from tilewright.model.closed_form.queries.program import HELD
from tilewright.model.closed_form.queries.sweep import NO_SUM, cost
from tilewright.model.closed_form.rows import fill_rows
from tilewright.model.closed_form.traffic import Structure, with_tiles
from tilewright.model.costs import CostPlan, cost_plan
from tilewright.model.evaluate import evaluate
from tilewright.model.results.result import Evaluation
from tilewright.workload.layer import Layer

CHUNK = 1088  # mappings that are located together
MOST_SIZES = 1 << 24  # tile sizes of all loops, for tables that have a place for each of them


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


@interruptible()
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
    bounds = program.bounds[program.loop_dim[: len(structure.loops)]]
    seen_start = np.concatenate(([0], np.cumsum(bounds + 1)))
    if seen_start[-1] > MOST_SIZES:
        return one_by_one(layer, architecture, mapping, chosen, traffic)
    seen = np.zeros(seen_start[-1], np.bool_)
    valid = np.empty(len(chosen), np.bool_)
    which_fit(program.bounds, plan.limits, chosen, seen_start, valid, seen)
    rows = np.flatnonzero(valid)
    energies = np.full(len(chosen), np.inf)
    cycles = np.full(len(chosen), np.inf)
    shape = (len(chosen) if traffic else 0, len(architecture.memories), len(layer.tensors))
    reads, writes = np.zeros(shape, np.int64), np.zeros(shape, np.int64)
    for part, costed in _costs(plan, chosen, rows, seen_start, seen):
        energies[part], cycles[part] = costed.energies, costed.cycles
        for m, t, read, write in plan.traffic:
            if read != NO_SUM:
                reads[part, m, t] = costed.counts[:, read]
            if write != NO_SUM:
                writes[part, m, t] = costed.counts[:, write]
        for row in part[costed.uneven].tolist():
            sizes = chosen[row].tolist()
            one = evaluate(layer, architecture, with_tiles(mapping, sizes), check=False)
            energies[row], cycles[row] = one.energy_pj, one.cycles
            if traffic:
                reads[row], writes[row] = words_moved(one)
    if not traffic:
        return Batch(valid, energies, cycles)
    return Batch(valid, energies, cycles, reads, writes)


def one_by_one(
    layer: Layer, architecture: Architecture, mapping: Mapping, tiles: Ints, traffic: bool
) -> Batch:
    """Evaluate mappings of a layer whose bounds are too large for tables of all tile sizes."""
    valid = np.zeros(len(tiles), np.bool_)
    energies, cycles = np.full((2, len(tiles)), np.inf)
    shape = (len(tiles) if traffic else 0, len(architecture.memories), len(layer.tensors))
    reads, writes = np.zeros((2, *shape), np.int64)
    for row, sizes in enumerate(tiles.tolist()):
        try:
            one = evaluate(layer, architecture, with_tiles(mapping, sizes))
        except MappingError:
            continue
        valid[row], energies[row], cycles[row] = True, one.energy_pj, one.cycles
        if traffic:
            reads[row], writes[row] = words_moved(one)
    return Batch(valid, energies, cycles, *((reads, writes) if traffic else ()))


def words_moved(one: Evaluation) -> Ints:
    """Return reads and writes by memory and tensor, in the order of the machine and the layer."""
    memories, tensors = one.architecture.memories, one.layer.tensors
    own = [[one.counts.memories[m.name][t.name] for t in tensors] for m in memories]
    reads, writes = ([[getattr(n, way) for n in row] for row in own] for way in ("reads", "writes"))
    return np.array([reads, writes], np.int64)


@dataclass(frozen=True)
class _Costed:
    """What `cost` says of some mappings."""

    energies: Floats
    cycles: Floats
    uneven: Bools
    counts: Ints


def _costs(
    plan: CostPlan, tiles: Ints, rows: Ints, seen_start: Ints, seen: Bools
) -> Iterator[tuple[Ints, _Costed]]:
    """Yield the costs of valid mappings, some rows at a time."""
    program = plan.plan.compiled.program
    loops, tables = len(program.loop_dim), len(program.table_width)
    chunk = max(1, min(CHUNK, len(rows)))
    own = np.ones((loops, chunk), np.int64)
    several = np.zeros((loops, chunk), np.bool_)
    base = np.zeros((tables + 1, chunk), np.int64)
    work, todo = np.empty((tables, chunk, 2), np.int64), np.zeros(tables, np.int64)
    energies, cycles, uneven = np.empty(chunk), np.empty(chunk), np.empty(chunk, np.bool_)
    counts = np.zeros((chunk if plan.traffic else 0, len(plan.plan.sums)), np.int64)
    held = HELD in program.factor_kind
    numbering = number_nodes(plan.trees, plan.quick, program, seen_start, seen, len(rows), chunk)
    nodes = FIRST_NODES
    memo, used = numbering.memo(nodes, chunk), numbering.used()
    done = 0
    while done < len(rows):
        part = rows[done : done + chunk]
        own[: tiles.shape[1], : len(part)] = tiles[part].T
        found = locate(program, plan.trees, memo, used, own, len(part), several, base, work, todo)
        fill_rows(program, own, work, todo, memo.numbers)
        if held:
            fill_held_rows(program, own, work, todo, memo.numbers)
        costed = _Costed(energies[:found], cycles[:found], uneven[:found], counts[:found])
        cost(
            program, plan.costs, memo.numbers, several, base,
            costed.energies, costed.cycles, costed.uneven, costed.counts,
        )  # fmt: skip
        yield part[:found], costed
        if found < len(part):
            nodes = min(4 * nodes, MOST_NODES)
            memo, used = numbering.memo(nodes, chunk), numbering.used()
        done += found

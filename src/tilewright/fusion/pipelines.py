"""The time of layers that run at the same time, all steps at once as arrays.

Equal to what `tilewright.reference.fused_slots` finds slot by slot. A turn's extents depend on the
step of each family of shared loops, so there are few kinds of turns, and each is counted once; what
follows is arithmetic on one number per step.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tilewright.architecture.machine import Architecture, Array, Memory
from tilewright.counts import Counts
from tilewright.errors import MappingError
from tilewright.fusion.families import Family, Part, along, families
from tilewright.fusion.traffic import sliding_run
from tilewright.fusion.turn_counts import counted
from tilewright.fusion.uses import made_below, users
from tilewright.mapping.fused.counts import PipelineCycles
from tilewright.mapping.fused.pipelines import LayerPipeline, Split
from tilewright.mapping.fused.scopes import Leaf, Resolved, SharedStore
from tilewright.mapping.fused.turn_layers import turn_layer, turn_mapping
from tilewright.mapping.fused.validity import split_among
from tilewright.model import latency
from tilewright.model.energy import word_ratio
from tilewright.workload.footprint import expression_words
from tilewright.workload.layer import Layer, Tensor

MOST = 2**19

Numbers = NDArray[np.float64]
Indices = NDArray[np.int64]


@dataclass(frozen=True)
class Steps:
    """All steps of the loops above a pipeline.

    Attributes
    ----------
    at : array of (step, loop)
        The index in each loop, in the order in which the steps follow each other.
    begins : array
        Position of the first step of each filling.
    """

    at: Indices
    begins: Indices

    def index(self, family: Family) -> Indices:
        """Return by step its position among the steps of a family of loops."""
        sizes = self.at[:, family.positions].max(axis=0, initial=0) + 1
        known = np.full(int(np.prod(sizes)), -1, np.int64)
        own = np.array([step.at for step in family.steps], np.int64)
        known[np.ravel_multi_index(tuple(own.T), tuple(sizes))] = np.arange(len(own))
        place = np.ravel_multi_index(tuple(self.at[:, family.positions].T), tuple(sizes))
        found: Indices = known[place]
        return found

    def firsts(self, depth: int) -> Indices:
        """Return the positions of steps in which one of the outermost loops goes on."""
        changed = (self.at[1:, :depth] != self.at[:-1, :depth]).any(axis=1)
        return np.flatnonzero(np.concatenate([[True], changed]))


def steps_of(pipe: LayerPipeline, resolved: Resolved) -> Steps:
    """Return the steps of a pipeline.

    Raises
    ------
    MappingError
        When there are too many.
    """
    own = families(resolved.segment.layer_of[pipe.layers[0]], pipe.loops, resolved.segment)
    count = prod(len(family.steps) for family in own)
    if count > MOST:
        message = f"the pipeline takes {count} steps; at most {MOST} are timed"
        raise MappingError(message, key=pipe.node)
    at = np.zeros((count, len(pipe.loops)), np.int64)
    grid = np.unravel_index(np.arange(count), [len(family.steps) for family in own] or [1])
    for family, index in zip(own, grid, strict=False):
        at[:, family.positions] = np.array([step.at for step in family.steps])[index]
    if len(pipe.loops):
        at = at[np.lexsort(at.T[::-1])]
    return Steps(at, Steps(at, np.zeros(0, np.int64)).firsts(pipe.entered))


@dataclass(frozen=True)
class Slots:
    """The slots of a pipeline.

    Attributes
    ----------
    names : tuple of str
        The layers, then the levels that all of them share.
    needs : array of (name, slot)
        Cycles that each of them needs in each slot, which is as long as the longest.
    working : array of slots
        Whether all stages have a step to work on.
    """

    names: tuple[str, ...]
    needs: Numbers
    working: NDArray[np.bool_]


def pipeline_cycles(
    pipe: LayerPipeline, resolved: Resolved, machine: Architecture
) -> PipelineCycles:
    """Return the cycles of layers that run at the same time."""
    found = slots_of(pipe, resolved, machine)
    cycles = found.needs.max(axis=0)
    total = np.bincount(found.needs.argmax(axis=0), cycles, minlength=len(found.names))
    return PipelineCycles(
        layers=pipe.layers,
        slots=len(cycles),
        cycles=float(cycles.sum()),
        filling=float(cycles[~found.working].sum()),
        pace={name: float(n) for name, n in zip(found.names, total, strict=True) if n},
    )


def slots_of(pipe: LayerPipeline, resolved: Resolved, machine: Architecture) -> Slots:
    """Return what happens in each slot of layers that run at the same time."""
    split = split_among(pipe, resolved, machine)
    steps = steps_of(pipe, resolved)
    count, stages = len(steps.at), pipe.stages
    # the slots of a filling are its steps and those in which it drains
    filling_of = np.repeat(np.arange(len(steps.begins)), np.diff([*steps.begins, count]))
    slot_of = np.arange(count) + filling_of * (stages - 1)
    slots = count + len(steps.begins) * (stages - 1)
    working = np.zeros((stages, slots), bool)
    own: dict[str, Numbers] = {}
    shared: dict[str, Numbers] = {}
    for layer in pipe.layers:
        at = slot_of + pipe.stage[layer]
        working[pipe.stage[layer], at] = True
        loads = Loads(resolved.leaf_of[layer], split, steps, resolved, machine)
        own[layer] = np.zeros(slots)
        own[layer][at] = loads.own
        for name, words in loads.shared.items():
            total = shared.setdefault(name, np.zeros((2, slots)))
            total[:, at] += words
    times = list(own.values())
    names = list(own)
    for level in machine.levels:
        if level.name in shared and isinstance(level, Memory | Array):
            names.append(level.name)
            times.append(level_cycles(level, *shared[level.name]))
    every: NDArray[np.bool_] = np.logical_and.reduce(working)
    return Slots(tuple(names), np.array(times), every)


def level_cycles(level: Memory | Array, reads: Numbers, writes: Numbers) -> Numbers:
    """Return the cycles that a level needs for words of its width."""
    if isinstance(level, Array):
        return reads / level.bandwidth if level.bandwidth else np.zeros_like(reads)
    found = np.zeros_like(reads)
    for words, rate in (
        (reads, level.read_bandwidth),
        (writes, level.write_bandwidth),
        (reads + writes, level.shared_bandwidth),
    ):
        if rate is not None:
            found = np.maximum(found, words / rate)
    return found


class Loads:
    """What the turns of a layer need at each step.

    Attributes
    ----------
    own : array
        Cycles within its part of the array.
    shared : mapping of str to array of (2, step)
        Words that memories and networks outside of it read and write.
    """

    def __init__(
        self, leaf: Leaf, split: Split, steps: Steps, resolved: Resolved, machine: Architecture
    ) -> None:
        self.split = split
        self.steps = steps
        self.resolved = resolved
        self.machine = machine
        self.layer = resolved.segment.layer_of[leaf.layer]
        self.own = np.zeros(len(steps.at))
        self.shared: dict[str, Numbers] = {}
        self.turns(leaf)
        for store in resolved.stores:
            if store.parent is None:
                continue
            access = users(store, resolved.segment)[0]
            if access.layer == leaf.layer:
                self.moves(store, resolved.segment.local(access))

    def turns(self, leaf: Leaf) -> None:
        """Add what the layer does in its turns."""
        reduced = {d for d in self.layer.bounds if d not in self.layer.output.dimensions}
        kind = np.zeros(len(self.steps.at), np.int64)
        choices: list[tuple[str, list[tuple[int, bool]]]] = []
        for family in families(self.layer, leaf.loops, self.resolved.segment):
            spans = [step.spans[self.layer.name] for step in family.steps]
            keys = [(b - a, family.dimension not in reduced or a == 0) for a, b in spans]
            known = list(dict.fromkeys(keys))
            number = np.array([known.index(key) for key in keys], np.int64)
            kind = kind * len(known) + number[self.steps.index(family)]
            choices.append((family.dimension, known))
        found, where = np.unique(kind, return_inverse=True)
        rows: list[dict[str, Any]] = []
        for rest in found.tolist():
            code, extents, fresh = rest, dict(self.layer.bounds), True
            for dimension, known in reversed(choices):
                code, i = divmod(code, len(known))
                extents[dimension] = known[i][0]
                fresh = fresh and known[i][1]
            rows.append(self.turn(leaf, extents, fresh))
        self.own += np.array([row.get("", 0.0) for row in rows])[where]
        for name in {name for row in rows for name in row} - {""}:
            words = np.array([row.get(name, (0.0, 0.0)) for row in rows], np.float64)
            self.add(name, words[where].T)

    def add(self, name: str, words: Numbers) -> None:
        """Add what a shared level reads and writes."""
        self.shared[name] = self.shared.get(name, 0.0) + words

    def turn(self, leaf: Leaf, extents: dict[str, int], fresh: bool) -> dict[str, Any]:
        """Return what one turn needs: cycles of its own, and by shared level (reads, writes)."""
        if not all(extents.values()):
            return {}
        mapping = turn_mapping(leaf, extents, self.machine)
        counts = counted(turn_layer(self.layer, extents), self.machine, mapping, fresh)
        own = float(latency.compute_cycles(self.machine, counts.steps))
        found: dict[str, Any] = {}
        levels: list[Memory | Array] = [*self.machine.memories, *self.machine.arrays]
        for level in levels:
            reads, writes = self.words(level, counts)
            if self.split.divides(level.name, self.machine):
                cycles = level_cycles(level, np.array(reads), np.array(writes))
                own = max(own, float(cycles))
            else:
                found[level.name] = reads, writes
        return {"": own, **found}

    def words(self, level: Memory | Array, counts: Counts) -> tuple[float, float]:
        """Return what the busiest instance of a level reads and writes, or carries."""
        if isinstance(level, Memory):
            return latency.memory_words(level, self.layer, counts.busiest[level.name])
        return sum(n.words for n in counts.busiest_networks[level.name].values()), 0.0

    def moves(self, store: SharedStore, tensor: Tensor) -> None:
        """Add what moves between a shared store and the one above it."""
        assert store.parent is not None
        at, entering, fresh = entered(store, self.layer, tensor, self.steps, self.resolved)
        memories = {memory.name: memory for memory in self.machine.memories}
        above, here = memories[store.parent.memory], memories[store.memory]
        out = np.zeros((2, len(self.steps.at)))
        into = np.zeros_like(out)
        if made_below(store, self.resolved.segment):
            back = np.where(fresh, 0, entering)
            out[:, at] = back, entering
            into[:, at] = entering, back
        else:
            out[0, at] = into[1, at] = entering
        self.add(above.name, out * word_ratio(above, tensor))
        self.add(here.name, into * word_ratio(here, tensor))


def entered(
    store: SharedStore, layer: Layer, tensor: Tensor, steps: Steps, resolved: Resolved
) -> tuple[Indices, Indices, NDArray[np.bool_]]:
    """Return the steps in which a store has a new tile, the words that enter, and if from zero.

    Between tiles the reuse rule holds, as in `traffic.moved_words`.
    """
    depth = len(store.loops)
    own = families(layer, store.loops, resolved.segment)
    at = steps.firsts(depth)
    where = [steps.index(family)[at] for family in own]
    parts = [parts_of(family, tensor) for family in own]
    sizes = [np.array([0 if p is None else p.size for p in known]) for known in parts]
    looped = {family.dimension for family in own}
    fixed = prod(
        expression_words(terms, layer.bounds)
        for terms in tensor.expressions
        if not looped & {term.dimension for term in terms}
    )
    filled = np.ones(len(at), bool)
    for i, size in zip(where, sizes, strict=True):
        filled &= size[i] > 0
    at, where = at[filled], [i[filled] for i in where]
    if not len(at):
        return at, at, np.zeros(0, bool)
    whole = np.ones(len(at), np.int64)
    common = np.ones(len(at), np.int64)
    same = np.ones(len(at), bool)
    fresh = np.ones(len(at), bool)
    for family, i, known, size in zip(own, where, parts, sizes, strict=True):
        whole *= size[i]
        shared, equal = against_before(i, known)
        common[1:] *= shared
        same[1:] &= equal
        if family.dimension not in tensor.dimensions:
            starts = np.array([step.spans[layer.name][0] for step in family.steps])
            fresh &= starts[i] == 0
    moved = whole.copy()
    indices = steps.at[at][:, :depth]
    if len(at) > 1 and depth:
        changed = indices[1:] != indices[:-1]
        advanced = changed.argmax(axis=1)
        run = sliding_run(store.loops, layer, tensor, resolved.segment)
        slides = np.isin(advanced, list(run)) & (advanced >= store.entered)
        moved[1:] -= np.where(slides, common[1:], 0)
        moved[1:][same[1:] & (advanced >= store.entered)] = 0
    return at, moved * fixed, fresh


def parts_of(family: Family, tensor: Tensor) -> list[Part | None]:
    """Return the words along one axis of a tensor's tile at each step of a family; None if idle."""
    own = (t for t in tensor.expressions if any(x.dimension == family.dimension for x in t))
    terms = next(own, None)
    found: list[Part | None] = []
    for step in family.steps:
        span = step.spans[family.layer.name]
        if span[0] >= span[1]:
            found.append(None)
        elif terms is None:
            found.append(Part((0, 1)))
        else:
            found.append(Part(along(terms, family.dimension, span, family.layer)))
    return found


def against_before(
    index: Indices, parts: Sequence[Part | None]
) -> tuple[Indices, NDArray[np.bool_]]:
    """Return what each of some parts has in common with the one before, and whether all."""
    pairs, back = np.unique(index[1:] * len(parts) + index[:-1], return_inverse=True)
    shared, equal = [], []
    for code in pairs.tolist():
        new, old = (parts[i] for i in divmod(code, len(parts)))
        assert new is not None
        assert old is not None
        shared.append(new.size - new.new(old))
        equal.append(new == old)
    return np.array(shared, np.int64)[back], np.array(equal, bool)[back]


def tiles_at_once(store: SharedStore, resolved: Resolved) -> int:
    """Return how many tiles of a shared store are under way at once: several in a pipeline.

    From the first stage that uses it to the last one, each step has a tile of its own.
    """
    most = 1
    for pipe in resolved.pipelines:
        layers = (access.layer for access in users(store, resolved.segment))
        stages = [pipe.stage[layer] for layer in layers if layer in pipe.stage]
        if not stages or len(store.loops) <= pipe.entered or min(stages) == max(stages):
            continue
        steps = steps_of(pipe, resolved)
        changes = np.zeros(len(steps.at), np.int64)
        changes[steps.firsts(len(store.loops))] = 1
        total = np.cumsum(changes)
        for first, end in zip(steps.begins, [*steps.begins[1:], len(total)], strict=True):
            own = total[first:end]
            ahead = np.minimum(np.arange(len(own)) + max(stages) - min(stages), len(own) - 1)
            most = max(most, 1 + int((own[ahead] - own).max()))
    return most

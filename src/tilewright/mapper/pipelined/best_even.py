"""The best even mapping under pipelined latency, with proof.

An even mapping stores everything that a memory keeps at one point of its loops. It is four
choices: what bypasses which memory, what is spatial, the tiles of at most two memories, and the
order of the loops above each of them. `even_cost` knows its energy, and its cycles but for what
partial sums change where the outer memory is double buffered: there it is a lower bound.

The search goes from rough bounds to exact values. `survey` bounds all mappings with one bypass
choice, spatial choice and inner tile. `whole_mappings` goes through the outer tiles and the orders
of what is left. The model then evaluates what is below the best value so far.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import groupby
from math import inf

import numpy as np

from tilewright.architecture.machine import Architecture
from tilewright.kernels.kernel import interruptible
from tilewright.kernels.types import Bools, Floats, Ints
from tilewright.mapper.objective.objective import parse_objective
from tilewright.mapper.pipelined.even_energies import outer_energies, unit_energies
from tilewright.mapper.pipelined.even_search import Rates, survey, whole_mappings
from tilewright.mapper.pipelined.move_tables import MoveTables, sequences, tables
from tilewright.mapper.pipelined.word_costs import (
    COLLECT,
    EMPTY,
    HOP,
    INNER,
    OUTER,
    OWN,
    READ,
    SENT,
    UNIT,
    WRITE,
    KeepCosts,
    chain,
)
from tilewright.mapper.problem.bypass_choices import KeepChoice, keep_choices, narrowed
from tilewright.mapper.problem.space import Unrolling
from tilewright.mapping.nodes import For, Mapping, Node, Spatial, Store
from tilewright.model.evaluate import evaluate
from tilewright.workload.layer import Layer

CLOSE = 1e-9
MOST = 5_000  # mappings that are evaluated one by one
DIVES = 64  # spatial choices with which a search begins
BEGINNINGS = 48  # tiles that it begins with
SLICES = 24  # parts of the spatial choices, between which it may be stopped


@dataclass(frozen=True)
class EvenBypass:
    """A bypass choice, and what is known of it.

    Attributes
    ----------
    keep : tuple of tuple of int
        Per tensor the positions of the memories that store it, outermost first.
    used : tuple of int
        Positions of the memories that store something, but for the outermost one.
    chain : KeepCosts
        What its words cost.
    outer : array of int
        Tiles of the outer memory that fit, those with the least energy first.
    multiples : array of bool
        By dimension and position among the divisors, of which of them the extent is a multiple.
    outside : array of float
        That energy, of the words that the outer memory takes.
    energies : array of float
        Energy of operations and operands at least, by spatial choice.
    """

    keep: KeepChoice
    used: tuple[int, ...]
    chain: KeepCosts
    outer: Ints
    multiples: Bools
    outside: Floats
    energies: Floats


@dataclass
class EvenFound:
    """The best even mapping so far, and what is known about better ones.

    Attributes
    ----------
    mapping : Mapping or None
    value : float
        What the model gives it.
    bound : float
        No even mapping has less; -infinity where the search was stopped.
    """

    mapping: Mapping | None = None
    value: float = inf
    bound: float = -inf

    @property
    def proven(self) -> bool:
        """Whether nothing better is even."""
        return self.value <= self.bound + CLOSE * abs(self.bound)


class EvenSearch:
    """Search of the even mappings of a layer on a machine that is `covered`.

    Attributes
    ----------
    found : EvenFound
        What the search knows.
    """

    def __init__(self, layer: Layer, architecture: Architecture, objective: str) -> None:
        self.layer = layer
        self.architecture = narrowed(architecture, layer)
        self.objective = parse_objective(objective)
        self.goal = self.objective.goal()
        self.found = EvenFound()
        made = tables(layer, self.architecture)
        self.large = made is None
        if made is None:
            return
        self.tables: MoveTables = made[0]
        self.unrollings: list[Unrolling] = made[1]
        self.words = made[2]
        tb = self.tables
        self.orders = np.array(sequences(tb.relevant, tb.axis_of, tb.slides), np.int64)
        self.patterns = np.unique(tb.relevant.T, axis=0) if len(tb.bounds) else np.zeros(
            (1, len(layer.tensors)), np.bool_
        )  # fmt: skip
        self.names = [d for d in layer.dimensions if layer.bounds[d] > 1]

    # --- what fits -----------------------------------------------------------------------------

    def bypasses(self) -> Iterator[EvenBypass]:
        """Yield the bypass choices for which the memories have room."""
        known: dict[tuple[tuple[bool, ...], int], tuple[Ints, Bools, Floats]] = {}
        top = np.array([len(self.words[0]) - 1], np.int64)
        whole = top, self.multiples(top), np.zeros(1)
        for keep in keep_choices(self.layer, self.architecture):
            own = chain(self.layer, self.architecture, keep)
            used = tuple(sorted({m for each in keep for m in each} - {0}))
            outer, multiples, outside = whole
            if len(used) > 1:
                key = tuple(own.kept[OUTER].tolist()), used[0]
                if key not in known:
                    stored = np.flatnonzero(own.kept[OUTER]).tolist()
                    shapes = np.flatnonzero(self.room(used[0], stored))
                    energies = outer_energies(self.tables, own, shapes, self.orders)
                    order = np.argsort(energies, kind="stable")
                    shapes = shapes[order]
                    known[key] = shapes, self.multiples(shapes), energies[order]
                outer, multiples, outside = known[key]
            if len(outer):
                energies = unit_energies(self.tables, own)
                yield EvenBypass(
                    keep=keep,
                    used=used,
                    chain=own,
                    outer=outer,
                    multiples=multiples,
                    outside=outside,
                    energies=energies,
                )

    def multiples(self, shapes: Ints) -> Bools:
        """Return of which shapes the extent is a multiple, by dimension and divisor."""
        extents = self.tables.extents
        found = np.zeros((*self.tables.product.shape[:2], len(shapes)), np.bool_)
        for d in range(found.shape[0]):
            for digit in range(found.shape[1]):
                same = np.flatnonzero(self.tables.digits[:, d] == digit)
                if len(same):
                    found[d, digit] = extents[shapes, d] % extents[same[0], d] == 0
        return found

    def room(self, m: int, stored: list[int]) -> Bools:
        """Return whether the tiles of some tensors fit into a memory, by shape."""
        memory = self.architecture.memories[m]
        bits = np.zeros(self.words.shape[1])
        fits = np.ones(self.words.shape[1], np.bool_)
        for t in stored:
            tensor = self.layer.tensors[t]
            own = self.words[t] * (tensor.bits or memory.word_bits) * memory.buffering
            bits += own
            if memory.tensor_bits is not None:
                fits &= own <= memory.tensor_bits.get(tensor.role, 0)
        if memory.capacity_bits is not None:
            fits &= bits <= memory.capacity_bits
        return fits

    def inner_tiles(self, group: list[EvenBypass], masks: Ints) -> tuple[Ints, Ints]:
        """Return tiles of the inner memory, and the sets of tensors for which each has room."""
        if not group[0].used:
            return np.array([len(self.words[0]) - 1], np.int64), np.array([-1], np.int64)
        sets = np.zeros(self.words.shape[1], np.int64)
        for mask in set(masks.tolist()):
            stored = [t for t in range(len(self.layer.tensors)) if mask >> t & 1]
            sets |= self.room(group[0].used[-1], stored).astype(np.int64) << mask
        shapes = np.flatnonzero(sets)
        return shapes, sets[shapes]

    # --- search --------------------------------------------------------------------------------

    def solve(self, stop: Callable[[], bool] = lambda: False) -> EvenFound:
        """Search all even mappings; `stop` is asked now and then.

        Raises
        ------
        KeyboardInterrupt
            Also where Ctrl-C comes while a kernel runs.
        """
        with interruptible():
            return self.search(stop)

    def search(self, stop: Callable[[], bool]) -> EvenFound:
        """Begin with some good mapping, survey everything, and close what is left open."""
        if self.large or not len(self.tables.elements):
            return self.found
        every = list(self.bypasses())
        groups = [
            list(group)
            for _, group in groupby(
                sorted(every, key=lambda each: each.used[-1:]), lambda each: each.used[-1:]
            )
        ]
        quick = np.argsort(-self.tables.elements, kind="stable")
        ceiling = self.beginning(groups, quick[:DIVES])
        least, row = inf, None
        for group in groups:
            for part in np.array_split(quick, min(SLICES, len(quick))):
                if stop():
                    if row is not None:
                        self.value(*row)
                    return self.found
                for bypass, bounds, pairs in self.surveyed(group, part, ceiling, False):
                    values, rows = whole_mappings(
                        self.tables, bypass.chain, bounds, pairs, bypass.outer,
                        bypass.multiples, bypass.outside,
                        self.orders, self.goal, ceiling, False, 1,
                    )  # fmt: skip
                    if len(values):
                        ceiling = least = float(values[0])
                        row = bypass, rows[0]
        if row is None:
            return self.found
        self.value(*row)
        self.found.bound = least
        if not self.found.proven:
            self.close(groups, quick, stop)
        return self.found

    def beginning(self, groups: list[list[EvenBypass]], choices: Ints) -> float:
        """Return the value of some good mapping, or infinity."""
        ceiling = inf
        for group in groups:
            for bypass, bounds, pairs in self.surveyed(group, choices, ceiling, True):
                values, _ = whole_mappings(
                    self.tables, bypass.chain, bounds[:BEGINNINGS], pairs[:BEGINNINGS],
                    bypass.outer,
                        bypass.multiples, bypass.outside, self.orders, self.goal, ceiling, False, 1,
                )  # fmt: skip
                if len(values):
                    ceiling = float(values[0]) * (1 + CLOSE)
        return ceiling

    def surveyed(
        self, group: list[EvenBypass], choices: Ints, ceiling: float, fewest: bool
    ) -> Iterator[tuple[EvenBypass, Floats, Ints]]:
        """Yield bypass choices, that of the least bound first, with pairs and their bounds."""
        rates = rates_of(group)
        shapes, sets = self.inner_tiles(group, rates.mask)
        own = group[0].chain
        bounds, found = survey(
            self.tables, rates, own.cycles, own.leakage, choices, shapes, sets, self.patterns,
            self.goal, ceiling, fewest,
        )  # fmt: skip
        order = np.argsort(bounds, kind="stable")
        bounds, found = bounds[order], found[order]
        for k in dict.fromkeys(found[:, 0].tolist()):
            mine = found[:, 0] == k
            yield group[k], bounds[mine], np.ascontiguousarray(found[mine, 1:])

    def close(
        self, groups: list[list[EvenBypass]], choices: Ints, stop: Callable[[], bool]
    ) -> None:
        """Evaluate everything whose bound is below the value of the best mapping."""
        open_: list[tuple[float, EvenBypass, Ints]] = []
        ceiling = self.found.value * (1 - CLOSE)
        for group in groups:
            for part in np.array_split(choices, min(SLICES, len(choices))):
                if stop():
                    return
                for bypass, bounds, pairs in self.surveyed(group, part, ceiling, False):
                    values, rows = whole_mappings(
                        self.tables, bypass.chain, bounds, pairs, bypass.outer,
                        bypass.multiples, bypass.outside,
                        self.orders, self.goal, ceiling, True, MOST,
                    )  # fmt: skip
                    open_ += [(float(v), bypass, row) for v, row in zip(values, rows, strict=True)]
                    if len(open_) >= MOST:
                        return
        open_.sort(key=lambda each: each[0])
        least = inf
        for bound, bypass, row in open_:
            if bound >= self.found.value * (1 - CLOSE):
                break
            if stop():
                least = min(least, bound)
                break
            if self.value(bypass, row) > bound * (1 + CLOSE):
                least = min(least, bound)
        self.found.bound = min(self.found.value, least)

    # --- mappings ------------------------------------------------------------------------------

    def value(self, bypass: EvenBypass, row: Ints) -> float:
        """Return what the model gives a row of `whole_mappings`, and keep the best."""
        mapping = self.mapping(bypass, row)
        cost = evaluate(self.layer, self.architecture, mapping, latency="pipelined")
        value = self.objective.value(cost.energy_pj, cost.cycles)
        if value < self.found.value:
            self.found.value, self.found.mapping = value, mapping
        return value

    def mapping(self, bypass: EvenBypass, row: Ints) -> Mapping:
        """Return what a row of `whole_mappings` stands for."""
        outer, choice, inner = (int(i) for i in row[:3])
        shapes, orders = {OUTER: outer, INNER: inner}, {OUTER: row[3], INNER: row[4]}
        tb, memories = self.tables, self.architecture.memories
        tensors = [tensor.name for tensor in self.layer.tensors]
        factors = tb.factors[choice if self.unrollings else -1]
        extents = dict(self.layer.bounds)
        nodes: list[Node] = [Store(memories[0].name, tuple(tensors))]

        def cut(tiles: Ints, order: Ints, here: bool) -> None:
            """Add the loops down to some tiles, and those in space."""
            for i in reversed(order.tolist()):
                tile = int(tiles[i] * factors[i]) if here else int(tiles[i])
                if tile < extents[self.names[i]]:
                    extents[self.names[i]] = tile
                    nodes.append(For(self.names[i], tile))
            if here and self.unrollings:
                for axis, d, factor in self.unrollings[choice].factors:
                    extents[d] //= factor
                    nodes.append(Spatial(d, extents[d], axis, self.architecture.arrays[0].name))

        for at, m in zip((OUTER, INNER)[2 - len(bypass.used) :], bypass.used, strict=True):
            order = self.orders[orders[at], : len(self.names)]
            cut(tb.extents[shapes[at]], order, at == INNER and bypass.chain.array == INNER)
            kept = tuple(n for n, own in zip(tensors, bypass.keep, strict=True) if m in own)
            nodes.append(Store(memories[m].name, kept))
        if bypass.chain.array == UNIT:
            cut(np.ones_like(tb.bounds), self.orders[0, : len(self.names)], True)
        return Mapping(tuple(nodes))


def rates_of(group: list[EvenBypass]) -> Rates:
    """Return what bypass choices with the same innermost memory cost at least."""
    nt = group[0].chain.kept.shape[1]
    price, wait = np.zeros((len(group), nt, 2)), np.zeros((len(group), nt, 4))
    unit = np.zeros((len(group), nt, 2))
    for k, bypass in enumerate(group):
        own = bypass.chain
        for t in range(nt):
            output = t == nt - 1
            ways = (own.drain if output else own.fill)[INNER, t]
            energy = own.energy[INNER, t]
            if output:
                price[k, t] = energy[COLLECT], energy[EMPTY] + energy[HOP]
            else:
                price[k, t] = energy[READ], energy[WRITE] + energy[HOP]
            wait[k, t, :2] = ways[SENT].max(initial=0.0), ways[OWN].max(initial=0.0)
            taken = own.fill[UNIT, t, SENT] + (own.drain[UNIT, t, SENT] if output else 0.0)
            if own.engine >= 0:
                wait[k, t, 2:] = ways[SENT, own.engine], own.startup[INNER, t]
                taken = taken.copy()
                taken[own.engine] += own.startup[UNIT, t] * (2 if output else 1)
            unit[k, t, int(own.crosses[UNIT, t])] = taken.max(initial=0.0)
    return Rates(
        mask=np.array([sum(1 << t for t in range(nt) if b.chain.kept[INNER, t]) for b in group]),
        price=price,
        wait=wait,
        unit=unit,
        energy=np.array([b.energies + b.outside[0] for b in group]),
        double=bool(group[0].chain.double[INNER]),
        spread=group[0].chain.array == INNER,
    )

"""The best even mapping under pipelined latency, with proof."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from math import inf

import numpy as np

from tilewright.architecture.machine import Architecture
from tilewright.mapper.even_chain import INNER, OUTER, UNIT, Chain, chain, covered
from tilewright.mapper.even_search import inner_choices, outer_energies, whole_mappings
from tilewright.mapper.even_tables import Tables, sequences, tables
from tilewright.mapper.links import keep_choices
from tilewright.mapper.narrow import KeepChoice, narrowed
from tilewright.mapper.objective import parse_objective
from tilewright.mapper.problem import Unrolling
from tilewright.mapping.nodes import For, Mapping, Node, Spatial, Store
from tilewright.model.types import Bools, Floats, Ints
from tilewright.workload.layer import Layer

CLOSE = 1e-9
MOST = 20_000  # mappings that are looked at one by one


@dataclass
class Bypass:
    """A bypass choice, and what is known of it.

    Attributes
    ----------
    keep : tuple of tuple of int
        Per tensor the positions of the memories that store it.
    chain : Chain
        What its words cost.
    inner, outer : array of int
        Tiles that fit; those of the outer memory come with the least energy first.
    outside : array of float
        That energy, of the words that the outer memory takes.
    """

    keep: KeepChoice
    chain: Chain
    inner: Ints
    outer: Ints
    outside: Floats


class EvenSearch:
    """Search of the even mappings of one layer on a machine that is `covered`."""

    def __init__(self, layer: Layer, architecture: Architecture, objective: str) -> None:
        self.layer = layer
        self.architecture = narrowed(architecture, layer)
        self.objective = parse_objective(objective)
        self.goal = self.objective.goal()
        found = tables(layer, self.architecture)
        assert found is not None
        self.tables: Tables = found[0]
        self.unrollings: list[Unrolling] = found[1]
        self.words = found[2]
        self.orders = np.array(sequences(self.tables.relevant, self.tables.axis_of, self.tables.slides), np.int64)

    def bypasses(self):
        for keep in keep_choices(self.layer, self.architecture):
            yield self.bypass(keep)

    def bypass(self, keep: KeepChoice, energies) -> Bypass:
        """Return a bypass choice with the tiles that fit."""
        own = chain(self.layer, self.architecture, keep)
        memories = self.architecture.memories
        used = sorted({m for each in keep for m in each} - {0})
        top = len(self.tables.digits) - 1
        fits = [np.array([top], np.int64), np.array([top], np.int64)]
        for m, at in zip(reversed(used), (INNER, OUTER), strict=False):
            stored = [t for t, each in enumerate(keep) if m in each]
            fits[at] = np.flatnonzero(self.room(m, stored))
        outside = np.zeros(1)
        if own.kept[OUTER].any():
            key = tuple(own.kept[OUTER].tolist()), len(used), used[0]
            if key not in energies:
                energies[key] = outer_energies(self.tables, own, fits[OUTER], self.orders)
            outside = energies[key]
        order = np.argsort(outside, kind="stable")
        return Bypass(keep, own, fits[INNER], fits[OUTER][order], outside[order])

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
                fits &= own <= memory.tensor_bits[tensor.role]
        if memory.capacity_bits is not None:
            fits &= bits <= memory.capacity_bits
        return fits

    def mapping(self, bypass: Bypass, row: Ints) -> Mapping:
        """Return what a row of `whole_mappings` stands for."""
        outer, choice, inner = (int(i) for i in row[:3])
        orders = {OUTER: self.orders[row[3]], INNER: self.orders[row[4]]}
        tb, machine = self.tables, self.architecture
        names = [d for d in self.layer.dimensions if self.layer.bounds[d] > 1]
        memories = machine.memories
        used = sorted({m for each in bypass.keep for m in each} - {0})
        place = dict(zip((INNER, OUTER), reversed(used), strict=False))
        tensors = [t.name for t in self.layer.tensors]
        nodes: list[Node] = [Store(memories[0].name, tuple(tensors))]
        extents = dict(self.layer.bounds)

        def spread() -> None:
            for axis, d, factor in self.unrollings[choice].factors if self.unrollings else ():
                extents[d] //= factor
                nodes.append(Spatial(d, extents[d], axis, machine.arrays[0].name))

        factors: dict[str, int] = dict.fromkeys(names, 1)
        if machine.arrays:
            for _, d, factor in self.unrollings[choice].factors:
                factors[d] *= factor
        for at, shape in ((OUTER, outer), (INNER, inner)):
            if at not in place:
                continue
            for i in reversed(orders[at][:-1]):
                d = names[i]
                tile = int(tb.values[i, tb.digits[shape, i]])
                if bypass.chain.array == at:
                    tile *= factors[d]
                if tile < extents[d]:
                    extents[d] = tile
                    nodes.append(For(d, tile))
            if bypass.chain.array == at:
                spread()
            m = place[at]
            kept = tuple(n for n, own in zip(tensors, bypass.keep, strict=True) if m in own)
            nodes.append(Store(memories[m].name, kept))
        if machine.arrays and bypass.chain.array == UNIT:
            for d in names:
                if extents[d] > factors[d]:
                    extents[d] = factors[d]
                    nodes.append(For(d, factors[d]))
            spread()
        return Mapping(tuple(nodes))


    def solve(self, ceiling=inf, stop=lambda: False):
        import time
        t0 = time.time()
        plans = []
        energies = {}
        for keep in keep_choices(self.layer, self.architecture):
            b = self.bypass(keep, energies)
            if len(b.inner) and len(b.outer):
                plans.append(b)
        print("plans", len(plans), time.time() - t0)
        best = (ceiling, None)
        t0 = time.time()
        for b in plans[:1]:
            v, pairs = inner_choices(self.tables, b.chain, b.inner, self.orders, b.outside[0], self.goal, best[0], True)
            o = np.argsort(v)[:200]
            print("dive", len(v), v[o[:3]], time.time() - t0)
            w, rows = whole_mappings(self.tables, b.chain, v[o], pairs[o], b.outer, b.outside, self.orders, self.goal, best[0], False, 1)
            if len(w) and w[-1] < best[0]:
                best = (w[-1], b, rows[-1])
            print("dived", best[0], time.time() - t0)
        for b in plans:
            t0 = time.time()
            v, pairs = inner_choices(self.tables, b.chain, b.inner, self.orders, b.outside[0], self.goal, best[0], False)
            t1 = time.time()
            o = np.argsort(v, kind="stable")
            w, rows = whole_mappings(self.tables, b.chain, v[o], pairs[o], b.outer, b.outside, self.orders, self.goal, best[0], False, 1)
            if len(w) and w[-1] < best[0]:
                best = (w[-1], b, rows[-1])
            if time.time() - t0 > 0.05 or len(w):
                print(b.keep, len(v), v[o[:1]], t1 - t0, time.time() - t1, best[0])
        return best

"""Simulated annealing of whole mappings: a good one on any machine, before anything is proven."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import inf, prod
from random import Random
from typing import Any

import numpy as np

from tilewright.architecture.machine import Architecture
from tilewright.kernels.types import Floats, Ints
from tilewright.mapper.heuristics.demands import demands
from tilewright.mapper.heuristics.walks import Chains, Schedule, Start, Tokens, Tour, anneal
from tilewright.mapper.label.roots import roots
from tilewright.mapper.problem.bypass_choices import KeepChoice, keep_choices
from tilewright.mapper.problem.lattice import Lattice, prime_factors
from tilewright.mapper.problem.link_costs import Links, links, ports, segment_of
from tilewright.mapper.problem.space import Space, Unrolling
from tilewright.mapper.problem.tensor_costs import chain_costs
from tilewright.mapping.nodes import For, Mapping, Node, Spatial, Store
from tilewright.workload.layer import Layer

HOT, COLD = 0.5, 0.005  # temperatures of the logarithm of the value
CHUNK = 2000  # steps after which annealing can be stopped
SEED = 0x9E3779B97F4A7C1


@dataclass
class Walk:
    """A mapping as an order of tokens, see `walks.Tokens`.

    Attributes
    ----------
    order : array of tokens
    unrolled : array of factors
        Array on which a factor is unrolled, or -1.
    stored : array of tensors
        Set of the memories that store each, as bits.
    value, tie : float
        What is minimised, and what breaks ties; infinite where it does not fit.
    """

    order: Ints
    unrolled: Ints
    stored: Ints
    value: float = inf
    tie: float = inf


class Annealing:
    """Annealing of the mappings of one layer on one machine whose tile sizes divide.

    Parameters
    ----------
    energy : float
        pJ of the operations.
    keeps : sequence of KeepChoice, optional
        Bypass choices; by default all of a layer whose tensors come from the outermost memory.
    first : (array, array), optional
        The label that walks begin with; by default that of a layer by itself.
    capacity : array of memories, optional
        Bits that are left of each memory, if that is not all.
    """

    def __init__(
        self,
        layer: Layer,
        architecture: Architecture,
        tiles: Lattice,
        sp: Space,
        unrollings: list[Unrolling],
        goal: Floats,
        energy: float,
        *,
        keeps: Sequence[KeepChoice] | None = None,
        first: tuple[Ints, Floats] | None = None,
        capacity: Floats | None = None,
    ) -> None:
        self.layer, self.architecture, self.tiles = layer, architecture, tiles
        self.unrollings, self.goal = unrollings, goal
        # loops that may stand outermost may stand anywhere
        moves = np.concatenate((sp.moves, sp.outermost))
        self.space = sp._replace(moves=moves, outermost=sp.outermost[:0])
        self.random = Random(0)
        self.state = np.array([SEED], np.int64)
        segment = segment_of(architecture)
        if first is None:
            top = np.array([len(sp.repeats) - 1])
            memories = max(segment.count(s) for s in range(len(architecture.arrays) + 1))
            it, fl = roots(self.space, top, len(ports(architecture)), memories, energy, 1)
            first = it[0], fl[0]
        self.row, self.floats = first
        self.keeps = list(keep_choices(layer, architecture) if keeps is None else keeps)
        self.tokens, self.chains, self.lk = self.everything(segment)
        self.demands = demands(layer, architecture, tiles)
        if capacity is not None:
            self.lk = self.lk._replace(capacity=capacity)

    def everything(self, segment: list[int]) -> tuple[Tokens, Chains, Links]:
        """Return tokens, the chains of all tensors, and room for the links of one bypass choice."""
        sp, layer, machine = self.space, self.layer, self.architecture
        limits = ports(machine)
        nt, nm = len(layer.tensors), len(machine.memories)
        sets: list[list[tuple[int, ...]]] = [
            sorted({keep[t] for keep in self.keeps}) for t in range(nt)
        ]
        chain = np.full((nt, 1 << (nm - 1)), -1, np.int64)
        costs = []
        for t in range(nt):
            for c, memories in enumerate(sets[t]):
                chain[t, sum(1 << (m - 1) for m in memories[1:])] = c
            own = [chain_costs(layer, machine, t, each, sp, segment, limits) for each in sets[t]]
            costs.append(own)
        most = max(map(len, costs))

        filled = [own + own[:1] * (most - len(own)) for own in costs]

        def stacked(name: str) -> Any:
            every: Any = [[getattr(each, name) for each in own] for own in filled]
            return np.array(every)

        every = Chains(
            length=stacked("length"), arrays=stacked("arrays"), energy=stacked("energy"),
            again=stacked("again"), fresh=stacked("fresh"), bits=stacked("bits"),
            share=stacked("share"), load=stacked("load"), held=stacked("held"),
        )  # fmt: skip
        factors = []
        for i, dimension in enumerate(self.tiles.dimensions):
            left = layer.bounds[dimension]
            for p in prime_factors(left):
                digit = int(np.searchsorted(self.tiles.values[i, : self.tiles.sizes[i]], p))
                move = int(np.flatnonzero((sp.moves == (i, digit)).all(axis=1))[0])
                while left % p == 0:
                    factors.append((i, move, digit))
                    left //= p
        stores = [
            (t, m) for m in range(1, nm) for t in range(nt) if any(m in one for one in sets[t])
        ]
        choice = np.full((max(len(machine.arrays), 1), len(sp.repeats)), -1, np.int64)
        for k, (begin, end) in enumerate(pairwise(sp.unroll_start)):
            choice[k, sp.unroll[begin:end] @ sp.strides] = np.arange(begin, end)
        counts = [len(own) for own in sets]
        strides = np.cumprod([1, *counts[:-1]])
        together = np.zeros(0, np.int64)
        if len(self.keeps) < prod(counts):
            number = [{memories: c for c, memories in enumerate(own)} for own in sets]
            rows = [[number[t][keep[t]] for t in range(nt)] for keep in self.keeps]
            together = np.sort(np.array(rows, np.int64) @ strides)
        parts = np.array(factors, np.int64).reshape(-1, 3)
        nodes = np.array(stores, np.int64).reshape(-1, 2)
        tokens = Tokens(
            dimension=parts[:, 0].copy(), move=parts[:, 1].copy(), digit=parts[:, 2].copy(),
            tensor=nodes[:, 0].copy(), memory=nodes[:, 1].copy(),
            segment=np.array(segment, np.int64)[nodes[:, 1]], slot=nodes[:, 1] - 1,
            chain=chain, strides=strides, together=together, choice=choice,
        )  # fmt: skip
        return tokens, every, links(layer, machine, self.keeps[0], sp, {})

    def start(self) -> Walk:
        """Return a random walk: wide arrays, and loops and store nodes anywhere."""
        sp, random, tokens = self.space, self.random, self.tokens
        nf, nn = len(tokens.dimension), len(tokens.tensor)
        keep = random.choice(self.keeps)
        stored = np.array([sum(1 << (m - 1) for m in chain[1:]) for chain in keep], np.int64)
        unrolled = np.full(nf, -1, np.int64)
        for k, (begin, end) in enumerate(pairwise(sp.unroll_start)):
            # one of the widest that are left
            for choice in sorted(
                random.sample(range(begin, end), min(end - begin, 1 + (end - begin) // 8))
            ):
                taken = self.factors(choice, unrolled)
                if taken is not None:
                    unrolled[taken] = k
                    break
            else:
                for choice in range(begin, end):
                    taken = self.factors(choice, unrolled)
                    if taken is not None:
                        unrolled[taken] = k
                        break
        order: list[int] = []
        for s in range(len(sp.unroll_start)):
            order += [nf + n for n in range(nn) if tokens.segment[n] == s]
            if s < len(sp.unroll_start) - 1:
                order.append(nf + nn + s)
        for i in random.sample(range(nf), nf):
            order.insert(random.randrange(len(order) + 1), i)
        return Walk(np.array(order, np.int64), unrolled, stored)

    def factors(self, choice: int, unrolled: Ints) -> list[int] | None:
        """Return which of the prime factors that are left make up a spatial choice."""
        found: list[int] = []
        for d, digit in enumerate(self.space.unroll[choice].tolist()):
            factor = int(self.space.values[d, digit])
            for i in np.flatnonzero((self.tokens.dimension == d) & (unrolled < 0)).tolist():
                p = int(self.space.values[d, self.tokens.digit[i]])
                if factor % p == 0:
                    found.append(i)
                    factor //= p
            if factor > 1:
                return None
        return found

    def improve(
        self,
        walk: Walk,
        steps: int,
        hot: float,
        stop: Callable[[], bool] = lambda: False,
    ) -> Walk:
        """Return the best walk that annealing finds from one on."""
        order, unrolled, stored = walk.order.copy(), walk.unrolled.copy(), walk.stored.copy()
        value, tie = walk.value, walk.tie
        start = Start(self.row, self.floats, self.goal)
        parts = max(1, steps // CHUNK)
        cooling = (COLD / hot) ** (1 / parts)
        for _ in range(parts):
            value, tie = anneal(
                self.space, self.lk, self.chains, self.tokens, self.demands, start,
                Tour(order, unrolled, stored), self.state,
                Schedule(steps // parts, hot, hot * cooling),
            )  # fmt: skip
            hot *= cooling
            if stop():
                break
        return Walk(order, unrolled, stored, float(value), float(tie))

    def rounds(self, walks: int, steps: int, stop: Callable[[], bool]) -> Iterator[Walk]:
        """Yield better and better walks: many begin, and the better half goes on for longer."""
        pool: list[Walk] = []
        best = inf, inf
        for _ in range(walks):
            pool.append(self.improve(self.start(), steps, HOT, stop))
            if (pool[-1].value, pool[-1].tie) < best:
                best = pool[-1].value, pool[-1].tie
                yield pool[-1]
            if stop():
                return
        hot = HOT
        while len(pool) > 1:
            pool.sort(key=lambda walk: (walk.value, walk.tie))
            steps, hot = 2 * steps, max(hot / 2, 10 * COLD)
            pool = pool[: len(pool) // 2]
            for i, walk in enumerate(pool):
                pool[i] = self.improve(walk, steps, hot, stop)
                if (pool[i].value, pool[i].tie) < best:
                    best = pool[i].value, pool[i].tie
                    yield pool[i]
                if stop():
                    return

    def mapping(self, walk: Walk) -> Mapping:
        """Return a walk as a mapping."""
        tokens, memories = self.tokens, self.architecture.memories
        nf, nn = len(tokens.dimension), len(tokens.tensor)
        names = [tensor.name for tensor in self.layer.tensors]
        extents = dict(self.layer.bounds)
        nodes: list[Node] = [Store(memories[0].name, tuple(names))]
        for token in walk.order.tolist():
            last = nodes[-1]
            if token < nf:
                if walk.unrolled[token] < 0:
                    d = self.tiles.dimensions[tokens.dimension[token]]
                    extents[d] //= self.prime(token)
                    if isinstance(last, For) and last.dimension == d:
                        nodes.pop()
                    nodes.append(For(d, extents[d]))
            elif token < nf + nn:
                node = token - nf
                t, memory = tokens.tensor[node], memories[tokens.memory[node]].name
                if not walk.stored[t] >> tokens.slot[node] & 1:
                    continue
                if isinstance(last, Store) and last.memory == memory and len(nodes) > 1:
                    nodes[-1] = Store(memory, (*last.tensors, names[t]))
                else:
                    nodes.append(Store(memory, (names[t],)))
            else:
                array = token - nf - nn
                nodes += self.spatial(np.flatnonzero(walk.unrolled == array), array, extents)
        return Mapping(self.without_idle_end(nodes))

    def without_idle_end(self, nodes: list[Node]) -> tuple[Node, ...]:
        """Return nodes without loops below the last store node, which the compute unit runs."""
        while isinstance(nodes[-1], For):
            nodes.pop()
        return tuple(nodes)

    def prime(self, token: int) -> int:
        """Return the value of a factor."""
        return int(self.tiles.values[self.tokens.dimension[token], self.tokens.digit[token]])

    def spatial(self, factors: Ints, array: int, extents: dict[str, int]) -> Iterator[Node]:
        """Yield the spatial loops of some factors on an array, and divide what is left by them."""
        unrolled = np.full(len(self.tokens.dimension), 0, np.int64)
        unrolled[factors] = 1
        shape = 0
        for d in range(len(self.tiles.dimensions)):
            product = 1
            for i in factors[self.tokens.dimension[factors] == d].tolist():
                product *= self.prime(i)
            values = self.tiles.values[d, : self.tiles.sizes[d]]
            shape += int(np.searchsorted(values, product)) * int(self.tiles.strides[d])
        choice = int(self.tokens.choice[array, shape])
        for axis, name, factor in self.unrollings[choice].factors:
            extents[name] //= factor
            yield Spatial(name, extents[name], axis, self.architecture.arrays[array].name)

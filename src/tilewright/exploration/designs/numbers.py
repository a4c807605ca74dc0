"""What bounds the designs of a box, in plain numbers: sizes, energies, bandwidths, area.

They are those of the relaxed machine (`relaxation`), without the machine: the numbers of each level
are found once for each range of the parameters that it names, so that a box takes microseconds.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import product
from math import inf, prod, sqrt
from typing import NamedTuple

import numpy as np

from tilewright.architecture.machine import Architecture, Array, Compute, Level, Memory
from tilewright.architecture.reading import Parts, parse_parts
from tilewright.architecture.technology.asked import Link, LinkCost
from tilewright.architecture.technology.pricing import Wiring
from tilewright.architecture.technology.technology import Between, Technology
from tilewright.errors import InputError
from tilewright.exploration.designs.relaxation import MOST_COMBINATIONS, at_least_as_good
from tilewright.exploration.designs.space import Box, Indices, Space
from tilewright.kernels.types import Floats
from tilewright.model.energy import PJ_PER_MJ


class Row(NamedTuple):
    """The numbers of a box, or of a design.

    Attributes
    ----------
    capacity, read, write : arrays of memories
        Most bits; least pJ per word.
    rates : array of ports
        Most words per cycle of each port, see `Numbers.ports`.
    hops : array of arrays
        Least pJ per word and hop.
    extents : array of axes
        Of all arrays.
    cycles, energy : float
        Least of an operation (pJ).
    leakage : float
        Least pJ per cycle, at the greatest clock.
    clock_hz : float
    area_mm2, leakage_mw : float
        No design has less.
    """

    capacity: Floats
    read: Floats
    write: Floats
    rates: Floats
    hops: Floats
    extents: Floats
    cycles: float
    energy: float
    leakage: float
    clock_hz: float
    area_mm2: float
    leakage_mw: float

    def alike(self, other: Row) -> bool:
        """Whether all numbers are the same."""
        pairs = zip(self, other, strict=True)
        return all(np.array_equal(np.asarray(a), np.asarray(b)) for a, b in pairs)


class Port(NamedTuple):
    """A limit of bandwidth: of an array, or of a memory's reads, writes or both."""

    level: int
    reads: bool
    writes: bool


@dataclass(frozen=True)
class _Merged:
    """What is known of one level over ranges of its parameters."""

    best: Level
    area: float
    leakage: float
    fewest: float
    slowest: float | None
    wiring: tuple[Wiring | None, ...]


class Numbers:
    """The numbers of the boxes of one space.

    Attributes
    ----------
    machine : Architecture
        At least as good as every design, without leakage, energies of hops and areas.
    ports : tuple of Port
        The bandwidths that some design limits.

    Raises
    ------
    NoNumbersError
        When designs differ in more than numbers.
    """

    def __init__(self, space: Space) -> None:
        self._space = space
        whole = space.of_whole()
        if any("$" in str(space.machine.data.get(key, "")) for key in ("constraints", "latency")):
            raise NoNumbersError
        self._depends = [
            tuple(i for i, p in enumerate(space.parameters) if p.name in names)
            for names in (*_dependencies(space), whole)
        ]
        self._parts: dict[tuple[int, Indices], Parts] = {}
        self._merged: dict[tuple[int, tuple[tuple[int, int], ...]], _Merged | None] = {}
        self._clocks: dict[tuple[tuple[int, int], ...], float] = {}
        try:
            first = space.machine_of(tuple(0 for _ in space.parameters))
        except InputError:
            raise NoNumbersError from None
        if first.latency != "throughput":
            raise NoNumbersError
        levels = [self._level(i, space.whole) for i in range(len(first.levels))]
        known = [level for level in levels if level is not None]
        if len(known) < len(levels):
            raise NoNumbersError
        self.machine: Architecture = replace(first, levels=tuple(level.best for level in known))
        self.ports = tuple(
            port
            for i in range(len(levels))
            for port in (Port(i, True, False), Port(i, False, True), Port(i, True, True))
            if any(rate(variant, port) < inf for variant in self._variants(i, space.whole))
        )

    def of(self, box: Box) -> Row | None:
        """Return the numbers of a box, or None where some of its designs are no machines."""
        levels = [self._level(i, box) for i in range(len(self._depends) - 1)]
        known = [level for level in levels if level is not None]
        if len(known) < len(levels):
            return None
        hops, area = self._wired(known)
        leakage, copies = 0.0, 1.0
        for level in known:
            leakage += copies * level.leakage
            copies *= level.fewest
        memories = [level.best for level in known if isinstance(level.best, Memory)]
        compute = known[-1].best
        assert isinstance(compute, Compute)
        clock = self._clock(box)
        return Row(
            capacity=np.array([_or_inf(m.capacity_bits) for m in memories]),
            read=np.array([m.read_energy for m in memories]),
            write=np.array([m.write_energy for m in memories]),
            rates=np.array([rate(known[port.level].best, port) for port in self.ports]),
            hops=np.array(hops),
            extents=np.array(
                [
                    extent
                    for level in known
                    if isinstance(level.best, Array)
                    for extent in level.best.axes.values()
                ],
                np.float64,
            ),
            cycles=compute.cycles, energy=compute.energy,
            leakage=leakage * PJ_PER_MJ / clock, clock_hz=clock, area_mm2=area,
            leakage_mw=leakage,
        )  # fmt: skip

    def sizes(self) -> Floats:
        """Return the bits that each memory may have, in rising order; the last one repeats."""
        found = [
            sorted({_or_inf(v.capacity_bits) for v in own if isinstance(v, Memory)})
            for own in (self._variants(i, self._space.whole) for i in range(len(self._depends) - 1))
        ]
        memories = [own for own in found if own]
        most = max(map(len, memories))
        return np.array([own + own[-1:] * (most - len(own)) for own in memories])

    def slowest(self, box: Box) -> Floats:
        """Return the least words per cycle of each port of all designs of a box."""
        return np.array(
            [min(rate(v, port) for v in self._variants(port.level, box)) for port in self.ports]
        )

    def machine_of(self, box: Box, row: Row) -> Architecture:
        """Return the machine of the numbers of a box, `row`: at least as good as every design."""
        levels: list[Level] = []
        hops = iter(row.hops.tolist())
        for i in range(len(self._depends) - 1):
            known = self._level(i, box)
            assert known is not None
            best = known.best
            if isinstance(best, Array):
                best = replace(best, hop_energy=next(hops))
            elif isinstance(best, Memory) and not levels:
                best = replace(best, leakage=row.leakage_mw)  # of all levels together
            levels.append(best)
        # what uses enough of a small machine may use too little of a large one
        constraints = tuple(c for c in self.machine.constraints if c.min_utilization is None)
        return replace(
            self.machine, levels=tuple(levels), clock_hz=row.clock_hz, constraints=constraints
        )

    def _wired(self, levels: Sequence[_Merged]) -> tuple[list[float], float]:
        """Return the least energy of a hop of each array, and the least area of all.

        Hops are as long as an element is wide: what is below takes no less than these areas, and
        tables charge no less for what is longer, or connects more.
        """
        hops: list[float] = []
        below = 0.0  # what one instance of the level and all that is in it takes
        for level in reversed(levels):
            area = level.area
            if isinstance(level.best, Array):
                hop, own = inf, inf
                for wires in level.wiring:
                    cost = _network(wires, level.best, sqrt(below), level.fewest, level.slowest)
                    hop, own = min(hop, cost.hop), min(own, cost.area or 0.0)
                if any(wires is not None for wires in level.wiring):
                    area = own
                hops.insert(0, hop)
                below = area + level.fewest * below
            else:
                below += area
        return hops, below

    def _clock(self, box: Box) -> float:
        own = tuple(box.ranges[i] for i in self._depends[-1])
        if own not in self._clocks:
            indices = self._combinations(self._depends[-1], box)
            self._clocks[own] = max(self._part(-1, each).clock_hz for each in indices)
        return self._clocks[own]

    def _level(self, level: int, box: Box) -> _Merged | None:
        own = (level, tuple(box.ranges[i] for i in self._depends[level]))
        if own not in self._merged:
            try:
                self._merged[own] = self._merge(level, box)
            except InputError:
                self._merged[own] = None
        return self._merged[own]

    def _merge(self, level: int, box: Box) -> _Merged | None:
        indices = self._combinations(self._depends[level], box)
        parts = [self._part(level, each) for each in indices]
        variants = [each.levels[level] for each in parts]
        best = at_least_as_good(variants)
        if best is None:
            return None
        if isinstance(best, Memory) and (best.retention != "tile" or best.block_bytes):
            return None
        arrays = [v for v in variants if isinstance(v, Array)]
        # without a limit, a bus has one word per cycle
        slowest = min((v.bandwidth or 1.0 for v in arrays), default=None)
        wiring: list[Wiring | None] = []
        for each in parts:
            wires = each.wiring.get(level)
            if not any(wires is one or wires == one for one in wiring):
                wiring.append(wires)
        return _Merged(
            best=best,
            area=min(v.area for v in variants),
            leakage=min((v.leakage for v in variants if not isinstance(v, Array)), default=0.0),
            fewest=min((float(v.elements) for v in arrays), default=1.0),
            slowest=slowest,
            wiring=tuple(wiring),
        )

    def _variants(self, level: int, box: Box) -> list[Level]:
        indices = self._combinations(self._depends[level], box)
        return [self._part(level, each).levels[level] for each in indices]

    def _part(self, level: int, indices: Indices) -> Parts:
        own = tuple(indices[i] for i in self._depends[level])
        if (level, own) not in self._parts:
            self._parts[level, own] = parse_parts(self._space.document_of(indices))
        return self._parts[level, own]

    def _combinations(self, named: Sequence[int], box: Box) -> list[Indices]:
        ranges = [
            range(begin, end) if i in named else range(begin, begin + 1)
            for i, (begin, end) in enumerate(box.ranges)
        ]
        if prod(map(len, ranges)) > MOST_COMBINATIONS:
            raise NoNumbersError
        return list(product(*ranges))


class NoNumbersError(Exception):
    """The designs of a space differ in more than numbers, or in too many ways."""


def rate(level: Level, port: Port) -> float:
    """Return the words per cycle that a port of a level lets through."""
    if isinstance(level, Array):
        return _or_inf(level.bandwidth) if port.reads and port.writes else inf
    if not isinstance(level, Memory):
        return inf
    if port.reads and port.writes:
        return _or_inf(level.shared_bandwidth)
    return _or_inf(level.read_bandwidth if port.reads else level.write_bandwidth)


def _network(
    wires: Wiring | None, array: Array, length: float, elements: float, rate: float | None
) -> LinkCost:
    """Return what the network of an array costs at least."""
    if wires is None:
        return LinkCost(array.hop_energy, array.area)
    found: object = None
    # tables charge no less for longer wires, more elements or more words; of a function of
    # somebody's own that is not known
    if isinstance(wires.technology, (Technology, Between)):
        found = wires.technology(Link(wires.word_bits, length, int(elements), rate))
    cost = found if isinstance(found, LinkCost) else LinkCost(0.0)
    hop, area = cost.hop, cost.area or 0.0
    return LinkCost(
        hop if wires.hop_energy is None else wires.hop_energy,
        area if wires.area is None else wires.area,
    )


def _dependencies(space: Space) -> list[frozenset[str]]:
    """Return for each level every parameter that its numbers depend on, wires left out."""
    whole = space.of_whole()
    word: frozenset[str] = frozenset()
    found = []
    for level, names in zip(space.machine.data["levels"], space.dependencies(), strict=True):
        found.append(names | whole | word)
        if "memory" in level:
            word = names if "$" in str(level.get("word")) else frozenset()
    return found


def _or_inf(value: float | None) -> float:
    return inf if value is None else float(value)

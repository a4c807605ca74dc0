"""The machine that is at least as good as every design of a box.

It has the greatest sizes, extents, bandwidths and clock of the box, and the least energies. Every
mapping that is valid on a design of the box is valid on it and costs no more, so what is the least
there bounds what is the least on the designs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from itertools import product
from math import log, prod
from operator import attrgetter
from typing import TypeVar

from tilewright.architecture.machine import Architecture, Array, Compute, Level, Memory
from tilewright.errors import InputError
from tilewright.exploration.designs.space import Box, Indices, Space
from tilewright.model.energy import area, leakage_power

MOST_COMBINATIONS = 4096

LevelKind = TypeVar("LevelKind", Memory, Array, Compute)


@dataclass(frozen=True)
class Relaxed:
    """What bounds the designs of a box; of a single design, the design itself.

    Attributes
    ----------
    machine : Architecture
        At least as good as every design.
    area_mm2, leakage_mw : float
        No design has less.
    """

    machine: Architecture
    area_mm2: float
    leakage_mw: float


class Relaxation:
    """Relaxed machines of the boxes of one space."""

    def __init__(self, space: Space) -> None:
        self._space = space
        self._depends = _dependencies(space)
        self._known: dict[tuple[int, Indices], Level] = {}
        self._whole: dict[Indices, Architecture] = {}

    def of(self, box: Box) -> Relaxed | None:
        """Return the relaxed machine of a box, or None when there is none.

        That is the case where its designs differ in more than numbers, for example in the width
        of words, where some values make no machine, or where there are too many to look at.

        Raises
        ------
        InputError
            When the box is a single design, and it is no machine.
        """
        if box.designs == 1:
            machine = self._space.machine_of(tuple(begin for begin, _ in box.ranges))
            return Relaxed(machine, area(machine), leakage_power(machine))
        try:
            machines = self._machines(box)
            chains = [self._variants(i, box) for i in range(len(self._depends))]
        except (InputError, _TooManyError):
            return None
        levels = [at_least_as_good(chain) for chain in chains]
        first = machines[0]
        alike = all(m.constraints == first.constraints for m in machines)
        if None in levels or not alike or {m.latency for m in machines} != {first.latency}:
            return None
        found = [level for level in levels if level is not None]
        fewest = 1
        least_area, least_leakage = 0.0, 0.0
        for chain in chains:
            least_area += fewest * min(level.area for level in chain)
            if not isinstance(chain[0], Array):
                least_leakage += fewest * min(
                    level.leakage for level in chain if not isinstance(level, Array)
                )
            else:
                fewest *= min(level.elements for level in chain if isinstance(level, Array))
        # the whole leakage is that of the outermost memory, of which there is always one
        outer = found[0]
        assert isinstance(outer, Memory)
        found[0] = replace(outer, leakage=least_leakage)
        # what uses enough of a small machine may use too little of a large one
        constraints = tuple(c for c in first.constraints if c.min_utilization is None)
        machine = replace(
            first,
            levels=tuple(found),
            clock_hz=max(m.clock_hz for m in machines),
            constraints=constraints,
        )
        return Relaxed(machine, least_area, least_leakage)

    def best_cut(self, box: Box) -> int:
        """Return the parameter along which a cut tightens relaxed machines most."""
        widths = [end - begin for begin, end in box.ranges]

        def loose(i: int) -> float:
            total = 0.0
            for half in box.halves(i):
                try:
                    relaxed = self.of(half)
                except InputError:
                    continue
                if relaxed is None:
                    return float("inf")
                total += looseness(relaxed)
            return total

        parameters = [i for i, width in enumerate(widths) if width > 1]
        return min(parameters, key=lambda i: (loose(i), -widths[i]))

    def _machines(self, box: Box) -> list[Architecture]:
        """Return a machine for each combination of what the machine as a whole depends on."""
        found = []
        for indices in self._combinations(self._space.of_whole(), box):
            if indices not in self._whole:
                self._whole[indices] = self._space.machine_of(indices)
            found.append(self._whole[indices])
        return found

    def _variants(self, level: int, box: Box) -> list[Level]:
        found = []
        names = self._depends[level]
        for indices in self._combinations(names, box):
            own = tuple(
                i if each.name in names else -1
                for each, i in zip(self._space.parameters, indices, strict=True)
            )
            if (level, own) not in self._known:
                self._known[level, own] = self._space.machine_of(indices).levels[level]
            found.append(self._known[level, own])
        return found

    def _combinations(self, names: frozenset[str], box: Box) -> list[Indices]:
        ranges = [
            range(begin, end) if each.name in names else range(begin, begin + 1)
            for each, (begin, end) in zip(self._space.parameters, box.ranges, strict=True)
        ]
        if prod(map(len, ranges)) > MOST_COMBINATIONS:
            raise _TooManyError
        return list(product(*ranges))


class _TooManyError(Exception):
    """A level has too many variants in a box."""


def _dependencies(space: Space) -> list[frozenset[str]]:
    """Return for each level every parameter that any of its numbers may depend on."""
    own = space.dependencies()
    whole = space.of_whole()
    levels = space.machine.data["levels"]
    found = []
    word: frozenset[str] = frozenset()
    for i, names in enumerate(own):
        depends = names | whole | word
        if "array" in levels[i]:  # a hop is as long as what is below is wide
            depends |= frozenset().union(*own[i + 1 :])
        elif "memory" in levels[i]:
            word = names if "$" in str(levels[i].get("word")) else frozenset()
        found.append(depends)
    return found


def at_least_as_good(levels: Sequence[Level]) -> Level | None:
    """Return a level that is at least as good as all of some, or None when they differ in kind.

    Whatever is not known to be better when it is less, or more, has to be the same in all of them:
    so a new property of a level makes no bound wrong that does not know it.
    """
    first = levels[0]
    best: Mapping[str, object] | None
    if isinstance(first, Memory):
        best = _memory([level for level in levels if isinstance(level, Memory)])
    elif isinstance(first, Array):
        best = _array([level for level in levels if isinstance(level, Array)])
    else:
        best = _compute([level for level in levels if isinstance(level, Compute)])
    if best is None:
        return None
    rest = attrgetter(*(each.name for each in fields(first) if each.name not in best))
    same = rest(first)
    if any(rest(level) != same for level in levels[1:]):
        return None
    # the names are those of fields, which mypy cannot see
    return replace(first, **best)  # type: ignore[arg-type]


def _memory(levels: list[Memory]) -> dict[str, object] | None:
    parts = levels[0].tensor_bits
    if parts is not None:
        sizes = [level.tensor_bits or {} for level in levels]
        if any(size.keys() != parts.keys() for size in sizes):
            return None
        parts = {role: max(size[role] for size in sizes) for role in parts}
    elif any(level.tensor_bits is not None for level in levels):
        return None
    capacity = _most([level.capacity_bits for level in levels])
    if capacity is not None:
        capacity = sum(parts.values()) if parts else int(capacity)
    return {
        "capacity_bits": capacity,
        "tensor_bits": parts,
        "read_energy": min(level.read_energy for level in levels),
        "write_energy": min(level.write_energy for level in levels),
        "read_bandwidth": _most([level.read_bandwidth for level in levels]),
        "write_bandwidth": _most([level.write_bandwidth for level in levels]),
        "shared_bandwidth": _most([level.shared_bandwidth for level in levels]),
        "banks": None,
        "leakage": 0.0,
        "area": 0.0,
    }


def _array(levels: list[Array]) -> dict[str, object] | None:
    axes = levels[0].axes
    if any(tuple(level.axes) != tuple(axes) for level in levels):
        return None
    return {
        "axes": {axis: max(level.axes[axis] for level in levels) for axis in axes},
        "hop_energy": min(level.hop_energy for level in levels),
        "bandwidth": _most([level.bandwidth for level in levels]),
        "area": 0.0,
    }


def _compute(levels: list[Compute]) -> dict[str, object]:
    return {
        "energy": min(level.energy for level in levels),
        "cycles": min(level.cycles for level in levels),
        "leakage": 0.0,
        "area": 0.0,
    }


def _most(values: Sequence[float | None]) -> float | None:
    """Return the greatest of some limits, of which None is none."""
    known = [value for value in values if value is not None]
    return max(known) if len(known) == len(values) else None


def looseness(relaxed: Relaxed) -> float:
    """Return a number that falls as a relaxed machine comes nearer to its designs.

    It is the sum of the logarithms of what bounds rest on: sizes and bandwidths, less energies and
    area. Only differences mean something.
    """
    total = -_log(relaxed.area_mm2)
    for level in relaxed.machine.levels:
        if isinstance(level, Memory):
            total += _log(level.total_bits) - _log(level.read_energy) - _log(level.write_energy)
            rates = (level.read_bandwidth, level.write_bandwidth, level.shared_bandwidth)
            total += sum(_log(rate) for rate in rates)
        elif isinstance(level, Array):
            total += _log(level.elements) + _log(level.bandwidth) - _log(level.hop_energy)
        else:
            total -= _log(level.energy) + _log(level.cycles)
    return total


def _log(value: float | None) -> float:
    return log(value) if value else 0.0

"""What directives mean, carried out: which unit holds which indices at which time."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from math import prod

from tilewright.interop.maestro.syntax import Cluster, Dataflow, Map
from tilewright.interop.maestro.vocabulary import Vocabulary, vocabulary
from tilewright.workload.layer import Layer

Point = tuple[int, ...]
Units = tuple[int, ...]
Step = dict[Units, frozenset[Point]]


@dataclass(frozen=True)
class Level:
    """The maps between two clusters, with numbers for their sizes, and the units they go to."""

    maps: list[tuple[Map, int, int]]
    units: int


def steps(dataflow: Dataflow, layer: Layer, elements: int) -> list[Step]:
    """Return what every unit computes in each step in which one computes something."""
    words = vocabulary(layer, [d.dimension for d in dataflow.directives if isinstance(d, Map)])
    levels = levels_of(dataflow, words, elements)
    counters = [range(count) for level in levels for count in times(level, words)]
    units = list(product(*(range(level.units) for level in levels)))
    found = []
    for time in product(*counters):
        step = {}
        for unit in units:
            points = held(levels, words, time, unit)
            if points:
                step[unit] = points
        if step:
            found.append(step)
    return found


def levels_of(dataflow: Dataflow, words: Vocabulary, elements: int) -> list[Level]:
    groups: list[list[tuple[Map, int, int]]] = [[]]
    sizes = []
    for d in dataflow.directives:
        if isinstance(d, Cluster):
            sizes.append(d.size.value(words.size))
            groups.append([])
        else:
            groups[-1].append((d, d.size.value(words.size), d.offset.value(words.size)))
    counts = [elements // prod(sizes), *sizes]
    return [Level(maps, units) for maps, units in zip(groups, counts, strict=True)]


def positions(size: int, offset: int, words: Vocabulary, name: str) -> int:
    """Return a number of positions after which everything has been visited."""
    return needed(words.size(name), size, offset)


def needed(extent: int, size: int, offset: int) -> int:
    """Return the positions that it takes to reach the end."""
    return -(-max(0, extent - size) // offset) + 1


def times(level: Level, words: Vocabulary) -> list[int]:
    """Return how often each map of a level moves; spatial ones move at the first of them."""
    counts = []
    spatial = [m for m in level.maps if m[0].spatial]
    for entry in level.maps:
        directive, size, offset = entry
        if not directive.spatial:
            counts.append(positions(size, offset, words, directive.dimension))
        elif entry is spatial[0]:
            most = max(positions(s, o, words, d.dimension) for d, s, o in spatial)
            counts.append(-(-most // level.units))
    return counts


def held(
    levels: list[Level], words: Vocabulary, time: tuple[int, ...], unit: Units
) -> frozenset[Point]:
    """Return the operations of one processing element at a time."""
    layer = words.layer
    ranges = {d: range(bound) for d, bound in layer.bounds.items()}
    rows = {name: range(words.size(name)) for name in words.axes}
    clock = iter(time)
    for level, number in zip(levels, unit, strict=True):
        if not any(d.spatial for d, _, _ in level.maps) and number:
            return frozenset()
        fold = None
        entering = {d: len(r) for d, r in ranges.items()}
        moved_rows = set()
        for directive, size, given in level.maps:
            name = directive.dimension
            if not directive.spatial:
                place = next(clock)
            else:
                fold = next(clock) if fold is None else fold
                place = fold * level.units + number
            if name in words.axes:
                offset = in_rows(level, words, name, size, given, entering)
                if place >= needed(len(rows[name]), size, offset):
                    return frozenset()
                rows[name] = rows[name][place * offset : place * offset + size]
                moved_rows.add(name)
            elif words.plain[name] is None:
                if place:
                    return frozenset()
            else:
                d = words.plain[name]
                ranges[d] = ranges[d][place * given : place * given + size]
                if place >= needed(entering[d], size, given):
                    return frozenset()
        for name, axis in words.axes.items():
            taps = ranges[axis.filter] if axis.filter else range(1)
            seen = [
                p
                for p in ranges[axis.output]
                if taps and all(p * axis.stride + r * axis.dilation in rows[name] for r in taps)
            ]
            if not seen:
                return frozenset()
            ranges[axis.output] = range(seen[0], seen[-1] + 1)
            if f"{name}'" in {d.dimension for d, _, _ in level.maps}:
                first = seen[0] * axis.stride + taps[0] * axis.dilation
                last = seen[-1] * axis.stride + taps[-1] * axis.dilation
                rows[name] = range(first, last + 1)
    return frozenset(product(*ranges.values()))


def in_rows(
    level: Level, words: Vocabulary, name: str, size: int, offset: int, entering: dict[str, int]
) -> int:
    """Return an offset in rows; files for strided layers count it in outputs."""
    axis = words.axes[name]
    taps, moves = 1, None
    if axis.filter:
        taps = entering[axis.filter]
        for directive, cut, step in level.maps:
            if words.plain.get(directive.dimension) == axis.filter:
                taps = min(taps, cut)
                moves = (directive, step)
    this = next(d for d, _, _ in level.maps if d.dimension == name)
    if moves and taps < entering[axis.filter or ""] and this.spatial and moves[0].spatial:
        return axis.dilation * moves[1] if offset == moves[1] else offset
    outputs = (size - axis.window(taps)) // axis.stride + 1
    return outputs * axis.stride if offset == outputs else offset

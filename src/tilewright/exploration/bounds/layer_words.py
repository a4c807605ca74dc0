"""What one layer may move on the machines of a space, see `words.Words`."""

from __future__ import annotations

from itertools import pairwise
from math import prod
from typing import NamedTuple

import numpy as np

from tilewright.architecture.machine import Architecture, Array, Memory
from tilewright.exploration.bounds.nested.nodes import Sides, Store
from tilewright.exploration.bounds.nested.records import Lists, Nested
from tilewright.exploration.bounds.nested.slide_words import Slides
from tilewright.exploration.bounds.nested.tiles import nested
from tilewright.exploration.bounds.spread import TooManyError, spreads
from tilewright.exploration.bounds.stays import Child, Points, points
from tilewright.exploration.bounds.words import Words
from tilewright.exploration.designs.numbers import Port
from tilewright.kernels.types import Floats, Ints
from tilewright.mapper.problem.bypass_choices import KeepChoice, keep_choices, narrowed
from tilewright.mapper.problem.lattice import divisors_of, lattice
from tilewright.mapper.problem.link_costs import segment_of
from tilewright.mapper.problem.space import Space
from tilewright.model.energy import element_bits, word_ratio
from tilewright.workload.footprint import footprint
from tilewright.workload.layer import Layer

MOST_SHAPES = 1 << 20
MOST_TENSORS = 4


class Moved(NamedTuple):
    """What a layer may move, and how its tiles may be nested."""

    words: Words
    nested: Nested
    lists: Lists
    space: Space
    slides: Slides


def words_of(
    layer: Layer, machine: Architecture, ports: tuple[Port, ...], sizes: Floats
) -> Moved | None:
    """Return what a layer may move, or None where it is not known how little that is.

    That is the case where neighbours forward words, where windows of outputs overlap, and for
    layers of very many shapes.

    Parameters
    ----------
    machine : Architecture
        At least as good as every machine of the space.
    ports : tuple of Port
        Limits of bandwidth.
    sizes : array of (memories, sizes)
        Bits that memories of the space may have, in rising order; the last one repeats.
    """
    tensors = layer.tensors
    vast = divisors_of(layer).shapes > MOST_SHAPES or len(tensors) > MOST_TENSORS
    sliding = any(len(terms) > 1 for terms in tensors[-1].expressions)
    if vast or sliding or any(array.forwarding for array in machine.arrays):
        return None
    tiles = lattice(layer)
    relevant = np.array(
        [[d in tensor.dimensions for d in tiles.dimensions] for tensor in tensors], np.bool_
    ).reshape(len(tensors), len(tiles.dimensions))
    machine = narrowed(machine, layer)
    try:
        spread = spreads(layer, tiles, machine, relevant)
    except TooManyError:
        return None
    segment = segment_of(machine)
    memories = machine.memories
    capacity = np.array([np.inf if m.capacity_bits is None else m.capacity_bits for m in memories])
    known: dict[tuple[tuple[Child, ...], tuple[int, ...], int], tuple[int, Points]] = {}
    choices = list(keep_choices(layer, machine))
    groups = [_groups(layer, machine, choice, segment) for choice in choices]
    width = max((len(own) for own in groups), default=0)
    group = np.full((len(choices), max(width, 1)), -1, np.int64)
    above = np.zeros_like(group)
    link = np.full((len(choices), max(width, 1), len(tensors)), -1, np.int64)
    for c, own in enumerate(groups):
        for g, (at, children, links) in enumerate(own):
            # what comes from elsewhere has other prices
            sources = tuple(choices[c][child.tensor][links[child.tensor]] for child in children)
            if (children, sources, at) not in known:
                reuse = spread.reuse[:, :at].prod(axis=1)
                found = points(tiles, relevant, children, len(memories), capacity, reuse)
                known[children, sources, at] = len(known), found
            group[c, g] = known[children, sources, at][0]
            above[c, g] = at
            for t, own_link in links.items():
                link[c, g, t] = own_link
    length = np.array([[len(chain) for chain in choice] for choice in choices], np.int64)
    chain = np.full((len(choices), len(tensors), len(memories)), -1, np.int64)
    for c, choice in enumerate(choices):
        for t, own_chain in enumerate(choice):
            chain[c, t, : len(own_chain)] = own_chain
    first, starts, classes, times, bits = _joined([p for _, p in known.values()], spread.used)
    position = {level.name: i for i, level in enumerate(memories)}
    arrays = {level.name: i for i, level in enumerate(machine.arrays)}
    levels = [machine.levels[port.level] for port in ports]
    sides = [_sides(own, choice) for own, choice in zip(groups, choices, strict=True)]
    return Moved(Words(
        operations=float(layer.operations),
        joules=prod(t.density for t in layer.inputs) if machine.compute.gated else 1.0,
        output=len(tensors) - 1,
        sums=np.array([_sums(machine, choice[-1], segment) for choice in choices]),
        distinct=np.array([footprint(t, layer.bounds) for t in tensors], np.float64),
        ratio=np.array([[word_ratio(m, t) for m in memories] for t in tensors]),
        above=np.array(segment, np.int64),
        unites=np.array(
            [
                [a.reduction if t.is_output else a.multicast for t in tensors]
                for a in machine.arrays
            ],
            np.bool_,  # without arrays as well: kernels are compiled for each type
        ).reshape(len(machine.arrays), len(tensors)),
        length=length, chain=chain, group=group, segment=above, link=link, first=first,
        starts=starts, classes=classes, times=times, bits=bits, extents=spread.extents,
        options=spread.options, used=spread.used, reuse=spread.reuse, sharing=spread.sharing,
        port_memory=np.array(
            [position[v.name] if isinstance(v, Memory) else -1 for v in levels], np.int64
        ),
        port_array=np.array(
            [arrays[v.name] if isinstance(v, Array) else -1 for v in levels], np.int64
        ),
        port_reads=np.array([port.reads for port in ports], np.bool_),
        port_writes=np.array([port.writes for port in ports], np.bool_),
    ), *nested(layer, tiles, machine, sides, spread, sizes, len(ports)))  # fmt: skip


Group = tuple[int, tuple[Child, ...], dict[int, int]]
"""Arrays above, what is stored side by side, and by which link of its chain each tensor comes."""


def _groups(
    layer: Layer, machine: Architecture, choice: KeepChoice, segment: list[int]
) -> list[Group]:
    """Return the tensors whose i-th store nodes stand between the same two arrays."""
    found: dict[tuple[int, int], list[tuple[Child, int]]] = {}
    for t, chain in enumerate(choice):
        seen: dict[int, int] = {}
        for link, m in enumerate(chain[1:]):
            at = segment[m]
            memory = machine.memories[m]
            bits = element_bits(memory, layer.tensors[t]) * memory.buffering
            found.setdefault((at, seen.get(at, 0)), []).append((Child(t, m, bits), link))
            seen[at] = seen.get(at, 0) + 1
    return [
        (at, tuple(child for child, _ in own), {child.tensor: link for child, link in own})
        for (at, _), own in sorted(found.items())
    ]


def _sides(groups: list[Group], choice: KeepChoice) -> Sides | None:
    """Return the store nodes above and below the only array; None for several of one tensor."""
    sides: list[tuple[Store, ...]] = [(), ()]
    for at, children, links in groups:
        if at > 1 or sides[at]:
            return None
        sides[at] = tuple(
            Store(child.tensor, choice[child.tensor][links[child.tensor]], child.memory, child.bits)
            for child in children
        )
    return sides[0], sides[1]


def _sums(machine: Architecture, chain: tuple[int, ...], segment: list[int]) -> bool:
    """Whether more entries that begin at a memory spare no more than the words that come in cost.

    That may be otherwise above two more memories, and entries begin anew where arrays do not add.
    """
    for link, (a, b) in enumerate(pairwise(chain)):
        crossed = machine.arrays[segment[a] : segment[b]]
        if crossed and (link < len(chain) - 2 or not all(array.reduction for array in crossed)):
            return False
    return True


def _joined(found: list[Points], used: Floats) -> tuple[Ints, Ints, Ints, Floats, Floats]:
    """Return the points of all groups one after the other, see `Words`."""
    first, starts = [0], []
    begin = 0
    for each in found:
        starts.append(each.starts + begin)
        begin += len(each.times)
        first.append(first[-1] + len(each.starts))
    none = [np.zeros((0, 0))]
    return (
        np.array(first[:-1] or [0], np.int64),
        np.concatenate(starts or [np.zeros(1, np.int64)]),
        np.array([each.classes for each in found] or np.zeros((1, len(used))), np.int64),
        np.concatenate([each.times for each in found] or none),
        np.concatenate([each.bits for each in found] or none),
    )

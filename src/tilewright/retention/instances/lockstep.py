"""What all instances of a memory receive, one by one or united where they share an array."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import product
from math import prod

import numpy as np

from tilewright.mapping.structure import Structure
from tilewright.model.closed_form.words import F, G, U
from tilewright.retention.instances import blocks
from tilewright.retention.instances.moves import united_words
from tilewright.retention.instances.nest import Nest, Trace
from tilewright.retention.instances.packing import packed, pinned
from tilewright.retention.spills.access import Access
from tilewright.retention.spills.count import SpillCounter

# a trace, and how far its words are from the first ones
Placed = tuple[Trace, int]
# the chunks of the spatial loops on one dimension, and the first iteration there
Part = tuple[tuple[int, ...], int]


class Spills:
    """Counts the spills of one instance for any capacity.

    Attributes
    ----------
    least : int
        Words of the largest block.
    words : int
        Words with which none is spilled.
    entries : int
        Words that enter even then: all that are touched, as often as they begin anew.
    """

    def __init__(self, trace: Trace) -> None:
        access, self.runs = packed(trace) or (pinned(trace), 1)
        self.counter = SpillCounter(access)
        self.least, self.words = access.block_words, self.counter.words
        self.entries = self.runs * (self.words + self.counter.again)

    def __call__(self, capacity: int) -> int:
        """Return how often a word leaves that is used again before it begins anew."""
        return self.runs * self.counter(capacity)


spills_of = lru_cache(maxsize=1024)(Spills)


def groups(nest: Nest, modes: Sequence[int]) -> Iterator[tuple[int, list[Placed]]]:
    """Yield the instances that share what they receive, and how many such groups are alike.

    Parameters
    ----------
    nest : Nest
        The loops above the memory.
    modes : sequence of int
        What each loop of the nest does: F (its first chunk alone), U (the words of its chunks are
        united), or anything else.

    Notes
    -----
    Instances are alike when their chunks are: words apart, they need the same at the same steps.
    """
    options = []
    for dimension in nest.dimensions:
        spatial = [i for i in nest.chain(dimension) if nest.loops[i].array is not None]
        # chunks of a dimension that is alone share no words
        unites = [modes[i] == U and not nest.alone(dimension) for i in spatial]
        ranges = [range(1 if modes[i] == F else nest.loops[i].chunks) for i in spatial]
        apart = product(*(r if not u else (0,) for r, u in zip(ranges, unites, strict=True)))
        within = list(product(*(r if u else (0,) for r, u in zip(ranges, unites, strict=True))))
        first: dict[object, tuple[int, ...]] = {}
        found: Counter[tuple[Part, ...]] = Counter()
        for own in apart:
            parts: dict[Part, None] = {}
            for other in within:
                pins = tuple(a + b for a, b in zip(own, other, strict=True))
                if (part := _part(nest, dimension, pins, first)) is not None:
                    parts[part] = None
            if parts:
                begin = next(iter(parts))[1]
                found[tuple((pins, start - begin) for pins, start in parts)] += 1
        options.append(found)
    for choice in product(*(each.items() for each in options)):
        times = prod(count for _, count in choice)
        yield times, [placed(nest, parts) for parts in product(*(parts for parts, _ in choice))]


def _part(
    nest: Nest, dimension: str, pins: tuple[int, ...], first: dict[object, tuple[int, ...]]
) -> Part | None:
    """Return the first chunks that are like some, and where these begin; None for empty ones."""
    found = blocks.dimension_pieces(nest, dimension, pins)
    begin, extent = found[0]
    if extent == 0:
        return None
    shape = tuple((start - begin, size) if size else (0, 0) for start, size in found)
    above = blocks.dimension_pieces(nest, dimension, pins, above=True)
    works = tuple(size > 0 for _, size in above) if nest.anew else ()
    relevant = dimension in nest.tensor.dimensions
    return first.setdefault((shape, works), pins), begin if relevant else 0


def placed(nest: Nest, parts: Sequence[Part]) -> Placed:
    """Return the trace of an instance, and how far its words are from the first ones."""
    ahead = sum(
        blocks.shift(nest, dimension, start)
        for dimension, (_, start) in zip(nest.dimensions, parts, strict=True)
    )
    return Trace(nest, tuple(pins for pins, _ in parts)), ahead


def received(nest: Nest, modes: Sequence[int], share: int) -> int:
    """Return the words that move into all instances, or into the united ones at a step.

    Parameters
    ----------
    nest, modes
        As for `groups`.
    share : int
        Words that an instance holds.
    """
    total = 0
    for times, members in groups(nest, modes):
        alike: dict[tuple[tuple[Access, int] | Trace, int], Placed] = {}
        for member in members:
            trace, ahead = member
            alike.setdefault((packed(trace) or trace, ahead), member)
        if len(alike) == 1:
            spills = spills_of(members[0][0])
            total += times * (spills.entries + spills(share))
        else:
            total += times * united(nest, list(alike.values()), share)
    return total


def united(nest: Nest, members: Sequence[Placed], share: int) -> int:
    """Return the distinct words that instances receive at a step, summed over steps."""
    traces = {trace: n for n, trace in enumerate(dict.fromkeys(trace for trace, _ in members))}
    moved = [blocks.moves(trace, min(share, spills_of(trace).words)) for trace in traces]
    ends = np.cumsum([0, *(len(step) for step, _ in moved)])
    which = np.array([traces[trace] for trace, _ in members], np.int64)
    return int(
        united_words(
            np.zeros(len(members), np.int64),
            np.concatenate([step for step, _ in moved]),
            np.concatenate([word for _, word in moved]),
            ends[which],
            ends[which + 1],
            np.array([ahead for _, ahead in members], np.int64),
            prod(blocks.spans(nest)),
        )
    )


@dataclass(frozen=True)
class Touched:
    """The words of an output that the first instance of a level further in ever touches.

    Attributes
    ----------
    values : tuple of frozenset of int
        Of each index expression.
    """

    values: tuple[frozenset[int], ...]

    @classmethod
    def of(cls, nest: Nest, structure: Structure, modes: Sequence[int]) -> Touched:
        """Return the words below the first chunks of the spatial loops with mode F or G."""
        bounds = dict(nest.bounds)
        values = []
        for terms in nest.tensor.expressions:
            sums = {0}
            for term in terms:
                every = {0: bounds[term.dimension]}
                for loop, mode in zip(structure.loops, modes, strict=False):
                    if loop.dimension != term.dimension:
                        continue
                    chunks = range(1 if mode in (F, G) else loop.chunks)
                    cut: dict[int, int] = {}
                    for start, extent in every.items():
                        for i in chunks:
                            size = min(loop.tile, extent - i * loop.tile)
                            if size > 0:
                                at = start + i * loop.tile
                                cut[at] = max(size, cut.get(at, 0))
                    every = cut
                points = {start + i for start, extent in every.items() for i in range(extent)}
                sums = {one + term.coefficient * point for one in sums for point in points}
            values.append(frozenset(sums))
        return cls(tuple(values))

    def among(self, nest: Nest, trace: Trace, share: int) -> int:
        """Return how many of the words that move into the first instance are among them."""
        _, words = blocks.moves(trace, min(share, spills_of(trace).words))
        inside = np.ones(len(words), np.bool_)
        for length, stride, values in zip(
            blocks.spans(nest), blocks.strides(nest), self.values, strict=True
        ):
            wanted = np.zeros(length, np.bool_)
            wanted[list(values)] = True
            inside &= wanted[words // stride % length]
        return int(inside.sum())

"""The blocks of one instance as arrays, word by word."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from itertools import product
from math import prod

import numpy as np

from tilewright.errors import InputError
from tilewright.kernels.types import Ints
from tilewright.retention.instances.moves import MOST_USES, TOO_LONG, TOO_SMALL, Blocks, moved_words
from tilewright.retention.instances.nest import Nest, Pieces, Trace, pieces

MOST_WORDS = 1 << 26


def spans(nest: Nest) -> tuple[int, ...]:
    """Return one more than the largest value of each index expression."""
    bounds = dict(nest.bounds)
    return tuple(
        1 + sum(term.coefficient * (bounds[term.dimension] - 1) for term in terms)
        for terms in nest.tensor.expressions
    )


def strides(nest: Nest) -> tuple[int, ...]:
    """Return how far apart words are in a row of all of them, by index expression."""
    lengths = spans(nest)
    return tuple(prod(lengths[axis + 1 :]) for axis in range(len(lengths)))


def shift(nest: Nest, dimension: str, iterations: int) -> int:
    """Return how far apart words are that differ by some iterations of a dimension."""
    axis, coefficient = nest.place(dimension)
    return strides(nest)[axis] * coefficient * iterations if axis >= 0 else 0


def dimension_pieces(
    nest: Nest, dimension: str, pins: Sequence[int], above: bool = False
) -> Pieces:
    """Return what an instance has of a dimension at each chunk of the temporal loops on it.

    The instance of the memory `above` has it where the loops below that memory are at their first
    chunks and the spatial ones among them have not been cut.
    """
    bound = dict(nest.bounds)[dimension]
    chain = nest.chain(dimension)
    outer = [i for i in chain if i < nest.anew] if above else chain
    loops = [nest.loops[i] for i in outer]
    spatial = sum(loop.array is not None for loop in loops)
    return pieces(bound, loops, pins[:spatial])


@lru_cache(maxsize=256)
def blocks_of(trace: Trace) -> Blocks:
    """Return the blocks of an instance; words are counted from the first one of its first block."""
    nest = trace.nest
    lengths = strides(nest)
    words = prod(spans(nest))
    if words > MOST_WORDS:
        raise InputError(
            f"{nest.tensor.name} has {words} words and they would be followed one by one: "
            f"at most 2^26 are accepted"
        )
    grouped: dict[int, list[str]] = {axis: [] for axis in range(len(lengths))}
    for n, dimension in enumerate(nest.dimensions):
        axis, _ = nest.place(dimension)
        grouped.setdefault(axis if axis >= 0 else len(lengths) + n, []).append(dimension)
    steps = nest.steps
    group = np.zeros(len(steps), np.int64)
    weight = np.zeros(len(steps), np.int64)
    group_start, start = [], [0]
    numbers: list[Ints] = []
    above: list[bool] = []
    for g, names in enumerate(grouped[key] for key in sorted(grouped)):
        group_start.append(len(start) - 1)
        own = [dimension_pieces(nest, d, trace.pinned(d)) for d in names]
        outer = [dimension_pieces(nest, d, trace.pinned(d), above=True) for d in names]
        for n, dimension in enumerate(names):
            scale = prod(map(len, own[n + 1 :]))
            for i in reversed(nest.chain(dimension)):
                if nest.loops[i].array is None:
                    if i in steps:
                        group[steps.index(i)], weight[steps.index(i)] = g, scale
                    scale *= nest.loops[i].chunks
        for place in product(*(range(len(each)) for each in own)):
            value = np.zeros(1, np.int64)
            for n, dimension in enumerate(names):
                begin, extent = own[n][place[n]]
                apart = shift(nest, dimension, 1)
                value = np.add.outer(value, (np.arange(extent) + begin - own[n][0][0]) * apart)
                value = np.unique(value)
            numbers.append(value)
            start.append(start[-1] + len(value))
            above.append(
                all(
                    outer[n][place[n] * len(outer[n]) // len(own[n])][1] > 0
                    for n in range(len(names))
                )
            )
    return Blocks(
        loop_group=group,
        loop_weight=weight,
        loop_chunks=np.array([nest.loops[i].chunks for i in steps], np.int64),
        loop_anew=np.array([i < nest.anew and nest.relevant(i) for i in steps], np.bool_),
        group_start=np.array(group_start, np.int64),
        start=np.array(start, np.int64),
        number=np.concatenate(numbers) if numbers else np.zeros(0, np.int64),
        above=np.array(above, np.bool_),
        words=words,
    )


@lru_cache(maxsize=8)
def moves(trace: Trace, capacity: int) -> tuple[Ints, Ints]:
    """Return the step and the word of each move into an instance."""
    total, step, word = moved_words(blocks_of(trace), capacity, True)
    check(total, capacity)
    return step, word


def check(total: int, capacity: int) -> None:
    """Refuse what does not fit, or takes too long."""
    if total == TOO_SMALL:
        raise InputError(f"a block has more words than the memory holds: {capacity}")
    if total == TOO_LONG:
        raise InputError(
            f"instances of the memory need more than {MOST_USES} words, one after the other, and "
            "share some of them at some steps: fewer can be counted"
        )

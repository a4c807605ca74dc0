"""Words between a memory and an array whose elements retain words in their registers.

The definition is that of a memory that retains (`belady`), in each element. Within a block, an
element has in its registers the words of the box that it works on, and as many words of earlier
boxes as its share for the tensor holds. When room is needed those go whose next use is furthest
away; of words that are used again in the same step those with the largest indices. A word that
several elements miss in the same step is read once. Elements that differ along dimensions that are
not relevant to a tensor have the same words of it. A block begins with empty registers.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from math import prod

import numpy as np

from tilewright.errors import InputError
from tilewright.kernels.kernel import kernel, part
from tilewright.offchip.nest import Array, Nest
from tilewright.offchip.spills.exact import iterations

MOST_USES = 10_000_000
NO_ROOM = -1


@dataclass(frozen=True)
class Schedule:
    """How blocks are worked off on an array.

    Attributes
    ----------
    blocks : tuple of int
        Iterations of each dimension in a block.
    elements : tuple of int
        Elements over which each dimension is spread.
    box : tuple of int
        Iterations of each dimension that an element works on at a time.
    order : tuple of int
        Loops over batches, from outermost to innermost; dimensions of one batch may be missing.
    """

    blocks: tuple[int, ...]
    elements: tuple[int, ...]
    box: tuple[int, ...]
    order: tuple[int, ...]

    @property
    def extents(self) -> tuple[int, ...]:
        """Iterations of each dimension in a batch."""
        return tuple(e * b for e, b in zip(self.elements, self.box, strict=True))


def array_words(nest: Nest, tensor: int, schedule: Schedule, share: int) -> int:
    """Return the words of a tensor that move in all blocks; -1 when its box does not fit.

    Parameters
    ----------
    nest : Nest
    tensor : int
        Number of the tensor.
    schedule : Schedule
    share : int
        Registers of each element for the tensor.

    Raises
    ------
    InputError
        When the tensor is used too often for a simulation.
    """
    if (many := uses(nest, tensor, schedule)) > MOST_USES:
        raise InputError(
            f"about {many:,} uses of tensor '{nest.layer.tensors[tensor].name}' in the elements "
            f"are too many to simulate; at most {MOST_USES:,} are accepted"
        )
    moved = 0
    cut = [(d, block) for d, block in enumerate(schedule.blocks)]
    every = np.ones_like(nest.relevant[tensor])
    for times, extents in iterations(cut, nest.bounds, every):
        words = block_words_moved(nest, tensor, schedule, share, extents)
        if words == NO_ROOM:
            return NO_ROOM
        moved += times * words
    weight = int(nest.weights[tensor])
    # the first time, an output is not read
    return weight * moved - (weight - 1) * int(nest.words[tensor])


def loops_of(nest: Nest, tensor: int, schedule: Schedule, extents: Array) -> list[int]:
    """Return the loops over batches of a block down to the last one that is relevant."""
    batch = schedule.extents
    order = [d for d in schedule.order if batch[d] < extents[d]]
    while order and not nest.relevant[tensor, order[-1]]:
        order.pop()
    return order


def uses(nest: Nest, tensor: int, schedule: Schedule) -> int:
    """Return about how many uses of words the simulation of a whole block goes through."""
    blocks, batch = schedule.blocks, schedule.extents
    order = loops_of(nest, tensor, schedule, np.array(blocks))
    steps = prod(-(-blocks[d] // batch[d]) for d in order)
    relevant = np.flatnonzero(nest.relevant[tensor]).tolist()
    elements = prod(schedule.elements[d] for d in relevant if nest.sliding[tensor, d])
    return steps * elements * prod(schedule.box[d] for d in relevant)


def block_words_moved(
    nest: Nest, tensor: int, schedule: Schedule, share: int, extents: Array
) -> int:
    """Return the words that come in, in a block of these extents; -1 when a box does not fit."""
    relevant, sliding = nest.relevant[tensor], nest.sliding[tensor]
    batch = np.array(schedule.extents)
    trips = -(-extents // batch)
    order = loops_of(nest, tensor, schedule, extents)
    axes = nest.expressions[tensor, : nest.axes[tensor]]
    box = np.array(schedule.box)
    alone = [d for d in np.flatnonzero(relevant & ~sliding).tolist() if schedule.elements[d] > 1]
    shared = [d for d in np.flatnonzero(sliding).tolist() if schedule.elements[d] > 1]
    total = 0
    for kinds in product(*(positions(d, schedule, int(extents[d])) for d in alone)):
        place = np.zeros(len(box), np.int64)
        for d, (_, at) in zip(alone, kinds, strict=True):
            place[d] = at
        missed = []
        for others in product(*(range(schedule.elements[d]) for d in shared)):
            place[shared] = others
            codes = misses(
                np.array(order, np.int64), trips, extents, batch, box, place * box, axes, share
            )
            if len(codes) and codes[0] == NO_ROOM:
                return NO_ROOM
            missed.append(codes)
        words = len(missed[0]) if len(missed) == 1 else len(np.unique(np.concatenate(missed)))
        total += int(prod(times for times, _ in kinds)) * words
    return total


def positions(d: int, schedule: Schedule, extent: int) -> list[tuple[int, int]]:
    """Return how many elements along a dimension have equal boxes in all batches, and one of them.

    In the last batch of a block there are some with a whole box, one with a part, some with none.
    """
    many, box = schedule.elements[d], schedule.box[d]
    left = (extent - 1) % (many * box) + 1
    whole = left // box
    kinds = [(whole, 0), (1 if left % box else 0, whole), (many - -(-left // box), many - 1)]
    return [(times, at) for times, at in kinds if times]


@part
def box_range(
    d: int, index: Array, extents: Array, batch: Array, box: Array, first: Array
) -> tuple[int, int]:
    """Return where the box of an element begins along a dimension, and how long it is."""
    begin = int(index[d] * batch[d] + first[d])
    return begin, int(max(0, min(box[d], extents[d] - begin)))


@kernel
def misses(
    order: Array, trips: Array, extents: Array, batch: Array, box: Array, first: Array,
    axes: Array, share: int,
) -> Array:  # fmt: skip
    """Return a number for each word that comes into the registers of an element, and the step.

    `first` is where the element's boxes begin in a batch. A single -1: a box does not fit.
    """
    steps = 1
    for d in order:
        steps *= trips[d]
    radix = np.ones(len(axes), np.int64)
    words, widest = 1, 1
    for e in range(len(axes)):
        a, m, b, n = axes[e]
        radix[e] = m * (extents[a] - 1) + 1
        most = box[a]
        if b >= 0:
            radix[e] += n * (extents[b] - 1)
            most *= box[b]
        words *= radix[e]
        widest *= most
    begin = np.zeros(steps + 1, np.int64)
    uses = np.empty(steps * widest, np.int64)
    index = np.zeros(len(trips), np.int64)
    values = np.empty(widest, np.int64)
    stamp = np.full(words, -1, np.int64)
    count = 0
    for step in range(steps):
        many = 1
        values[0] = 0
        for e in range(len(axes)):
            a, m, b, n = axes[e]
            low, long = box_range(a, index, extents, batch, box, first)
            other, wide = 0, 1
            if b >= 0:
                other, wide = box_range(b, index, extents, batch, box, first)
            for u in range(many - 1, -1, -1):
                value = values[u]
                for i in range(long * wide - 1, -1, -1):
                    own = m * (low + i // wide)
                    if b >= 0:
                        own += n * (other + i % wide)
                    values[u * long * wide + i] = value * radix[e] + own
            many *= long * wide
        for u in range(many):
            if stamp[values[u]] != step:
                stamp[values[u]] = step
                uses[count] = values[u]
                count += 1
        begin[step + 1] = count
        for place in range(len(order) - 1, -1, -1):
            index[order[place]] += 1
            if index[order[place]] < trips[order[place]]:
                break
            index[order[place]] = 0
    following = np.empty(count, np.int64)
    stamp[:] = steps
    for step in range(steps - 1, -1, -1):
        for u in range(begin[step], begin[step + 1]):
            following[u] = stamp[uses[u]]
            stamp[uses[u]] = step
    return missed_uses(begin, uses, following, stamp, share, words)


@part
def missed_uses(
    begin: Array, uses: Array, following: Array, slot: Array, share: int, words: int
) -> Array:
    """Return the uses that find their word gone, or not yet there."""
    slot[:] = -1
    held = np.empty(share, np.int64)
    again = np.empty(share, np.int64)
    current = np.full(share, -1, np.int64)
    found = np.empty(len(following), np.int64)
    missed, full = 0, 0
    for step in range(len(begin) - 1):
        if begin[step + 1] - begin[step] > share:
            return np.full(1, NO_ROOM)
        for u in range(begin[step], begin[step + 1]):
            old = slot[uses[u]]
            if old >= 0:
                again[old], current[old] = following[u], step
        for u in range(begin[step], begin[step + 1]):
            word = uses[u]
            if slot[word] >= 0:
                continue
            if full < share:
                at = full
                full += 1
            else:
                at = -1
                for other in range(share):
                    if current[other] != step and (
                        at < 0
                        or again[other] > again[at]
                        or (again[other] == again[at] and held[other] > held[at])
                    ):
                        at = other
                slot[held[at]] = -1
            slot[word] = at
            held[at], again[at], current[at] = word, following[u], step
            found[missed] = step * words + word
            missed += 1
    return found[:missed].copy()

"""Spills of a tensor by simulation: which words stay until their next use.

The definition: in each step of the loop nest the whole block of the tensor is resident; besides
it the memory holds words of earlier blocks, and when room is needed those go whose next use is
furthest away (Belady). A word that has gone before its next use is a *spill*. Words that are
always used in the same steps are simulated together, as one *atom* of so many words of which any
number may stay.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

import numpy as np
from numpy.typing import NDArray

from tilewright.errors import InputError
from tilewright.model.kernel import kernel, part
from tilewright.offchip.nest import Array, Nest

MOST_USES = 25_000_000
NEVER = -1

Loops = Sequence[tuple[int, int]]


@dataclass(frozen=True, eq=False)
class Trace:
    """The uses of one tensor, step by step.

    Attributes
    ----------
    begin : array of int
        Where the uses of each step begin, and where the last ones end.
    atom, following : array of int
        Which atom each use is of, and the step of its next use (-1: none).
    words : array of int
        Words of each atom.
    """

    begin: Array
    atom: NDArray[np.int32]
    following: NDArray[np.int32]
    words: Array

    def spills(self, capacity: int) -> int:
        """Return the words that are spilled with so many words of memory; -1: no block fits."""
        return int(simulate(self.begin, self.atom, self.following, self.words, capacity))


def trace(
    nest: Nest, tensor: int, loops: Loops, extents: Array | None = None, *, gaps: bool = False
) -> Trace:
    """Return the uses of a tensor in a loop nest.

    Parameters
    ----------
    nest : Nest
    tensor : int
        Number of the tensor.
    loops : sequence of (dimension, block size)
        From outermost to innermost; other dimensions are whole in every block.
    extents : array of int, optional
        Iterations of each dimension, when not those of the layer.
    gaps : bool
        Whether a block includes words between those that it uses, which a stride skips.

    Raises
    ------
    InputError
        When the tensor is used too often for a simulation.
    """
    bounds = nest.bounds if extents is None else extents
    moving = [(d, b) for d, b in loops if b < bounds[d]]
    while moving and not nest.relevant[tensor, moving[-1][0]]:
        moving.pop()  # the same block again: nothing happens
    trips = np.array([-(-bounds[d] // b) for d, b in moving], np.int64)
    lists = [
        _atoms(bounds, nest.expressions[tensor, e], moving, gaps) for e in range(nest.axes[tensor])
    ]
    uses = prod(int(n) for n in trips) * prod(
        max(1, len(each.items) // (len(each.begin) - 1)) for each in lists
    )
    if uses > MOST_USES:
        raise InputError(
            f"about {uses:,} uses of tensor '{nest.layer.tensors[tensor].name}' are too many to "
            f"simulate; at most {MOST_USES:,} are accepted"
        )
    words = np.ones(1, np.int64)
    for each in lists:
        words = np.multiply.outer(words, each.words).ravel()
    begin, atom = unroll(
        trips,
        np.array([each.loops for each in lists], np.int64).reshape(-1, 2),
        np.array([len(each.words) for each in lists], np.int64),
        np.concatenate([[0], np.cumsum([len(each.begin) for each in lists])]).astype(np.int64),
        np.concatenate([each.begin for each in lists] or [np.zeros(0, np.int64)]),
        np.concatenate([[0], np.cumsum([len(each.items) for each in lists])]).astype(np.int64),
        np.concatenate([each.items for each in lists] or [np.zeros(0, np.int64)]),
    )
    return Trace(begin, atom, next_uses(begin, atom, len(words)), words)


@dataclass(frozen=True)
class Atoms:
    """The atoms of one index expression.

    Attributes
    ----------
    loops : pair of int
        The one or two loops that choose the chunk; -1 for none.
    begin, items : array of int
        The atoms of each chunk, those of one after those of the other.
    words : array of int
        Values of the index in each atom.
    """

    loops: tuple[int, int]
    begin: Array
    items: Array
    words: Array


def _atoms(bounds: Array, expression: Array, loops: Loops, gaps: bool) -> Atoms:
    at = {d: place for place, (d, _) in enumerate(loops)}
    starts: list[list[range]] = []
    for d in (expression[0], expression[2]):
        bound = int(bounds[d]) if d >= 0 else 1
        block = loops[at[d]][1] if d in at else bound
        starts.append([range(s, min(s + block, bound)) for s in range(0, bound, block)])
    a, b = int(expression[1]), int(expression[3])
    touched = [
        np.unique(np.add.outer(a * np.array(one), b * np.array(other)))
        for one in starts[0]
        for other in starts[1]
    ]
    if gaps:
        touched = [np.arange(its[0], its[-1] + 1) for its in touched]
    values = np.unique(np.concatenate(touched))
    uses = np.zeros((len(touched), len(values)), np.bool_)
    for chunk, its in enumerate(touched):
        uses[chunk, np.searchsorted(values, its)] = True
    columns, words = np.unique(np.packbits(uses, axis=0), axis=1, return_counts=True)
    members = np.unpackbits(columns, axis=0, count=len(touched)).astype(np.bool_)
    return Atoms(
        (at.get(int(expression[0]), NEVER), at.get(int(expression[2]), NEVER)),
        np.concatenate([[0], np.cumsum(members.sum(axis=1))]).astype(np.int64),
        np.nonzero(members)[1].astype(np.int64),
        words.astype(np.int64),
    )


@kernel
def unroll(
    trips: Array, chosen: Array, radix: Array,
    first_begin: Array, begins: Array, first_item: Array, items: Array,
) -> tuple[Array, NDArray[np.int32]]:  # fmt: skip
    """Return where the uses of each step begin, and the atoms that they use."""
    steps = 1
    for n in trips:
        steps *= n
    begin = np.zeros(steps + 1, np.int64)
    atom = np.zeros(0, np.int32)
    for writing in range(2):
        index = np.zeros(len(trips), np.int64)
        total = 0
        for step in range(steps):
            uses = 1
            for e in range(len(radix)):
                chunk = chunk_of(e, chosen, trips, index)
                low = begins[first_begin[e] + chunk]
                high = begins[first_begin[e] + chunk + 1]
                if writing == 1:
                    # from the last to the first, so that none is overwritten before it is read
                    for u in range(uses - 1, -1, -1):
                        value = np.int64(0) if e == 0 else np.int64(atom[total + u])
                        for i in range(high - low - 1, -1, -1):
                            item = items[first_item[e] + low + i]
                            atom[total + u * (high - low) + i] = value * radix[e] + item
                uses *= high - low
            total += uses
            begin[step + 1] = total
            place = len(trips) - 1
            while place >= 0:
                index[place] += 1
                if index[place] < trips[place]:
                    break
                index[place] = 0
                place -= 1
        if writing == 0:
            atom = np.zeros(total, np.int32)
    return begin, atom


@part
def chunk_of(e: int, chosen: Array, trips: Array, index: Array) -> int:
    """Return the chunk of an index expression at a step."""
    chunk = np.int64(0)
    for each in range(2):
        loop = chosen[e, each]
        if loop >= 0:
            chunk = chunk * trips[loop] + index[loop]
    return int(chunk)


@kernel
def next_uses(begin: Array, atom: NDArray[np.int32], atoms: int) -> NDArray[np.int32]:
    """Return the step of the next use after each use; -1 for none."""
    seen = np.full(atoms, NEVER, np.int32)
    following = np.empty(len(atom), np.int32)
    for step in range(len(begin) - 2, -1, -1):
        for use in range(begin[step], begin[step + 1]):
            following[use] = seen[atom[use]]
        for use in range(begin[step], begin[step + 1]):
            seen[atom[use]] = step
    return following


@kernel
def simulate(
    begin: Array, atom: NDArray[np.int32], following: NDArray[np.int32], words: Array, capacity: int
) -> int:
    """Return the spilled words.

    Held atoms are listed by the step of their next use; a bitmap of three storeys finds the
    furthest such step.
    """
    steps = len(begin) - 1
    head = np.full(steps, NEVER, np.int32)
    link = np.full(len(words), NEVER, np.int32)
    held = np.zeros(len(words), np.int64)
    known = np.zeros(len(words), np.bool_)
    low = np.zeros(steps // 64 + 1, np.uint64)
    middle = np.zeros(len(low) // 64 + 1, np.uint64)
    high = np.zeros(len(middle) // 64 + 1, np.uint64)
    resident, spilled = 0, 0
    for step in range(steps):
        # whatever is held for this step is in its block
        at = head[step]
        while at != NEVER:
            resident -= held[at]
            at = link[at]
        head[step] = NEVER
        clear(step, low, middle, high)
        block = 0
        for use in range(begin[step], begin[step + 1]):
            a = atom[use]
            block += words[a]
            if known[a]:
                spilled += words[a] - held[a]
            known[a] = True
            held[a] = 0
        if block > capacity:
            return -1
        while resident + block > capacity:
            furthest = last(low, middle, high)
            at = head[furthest]
            gone = min(held[at], resident + block - capacity)
            held[at] -= gone
            resident -= gone
            if held[at] == 0:
                head[furthest] = link[at]
                if head[furthest] == NEVER:
                    clear(furthest, low, middle, high)
        for use in range(begin[step], begin[step + 1]):
            when = following[use]
            if when != NEVER:
                a = atom[use]
                held[a] = words[a]
                resident += words[a]
                link[a] = head[when]
                head[when] = a
                low[when // 64] |= np.uint64(1) << np.uint64(when % 64)
                middle[when // 4096] |= np.uint64(1) << np.uint64(when // 64 % 64)
                high[when // 262144] |= np.uint64(1) << np.uint64(when // 4096 % 64)
    return spilled


@part
def clear(
    at: int, low: NDArray[np.uint64], middle: NDArray[np.uint64], high: NDArray[np.uint64]
) -> None:
    """Take a step out of the bitmap."""
    low[at // 64] &= ~(np.uint64(1) << np.uint64(at % 64))
    if low[at // 64] == 0:
        middle[at // 4096] &= ~(np.uint64(1) << np.uint64(at // 64 % 64))
        if middle[at // 4096] == 0:
            high[at // 262144] &= ~(np.uint64(1) << np.uint64(at // 4096 % 64))


@part
def last(low: NDArray[np.uint64], middle: NDArray[np.uint64], high: NDArray[np.uint64]) -> int:
    """Return the furthest step in the bitmap, which is not empty."""
    at = len(high) - 1
    while high[at] == 0:
        at -= 1
    at = at * 64 + top(high[at])
    at = at * 64 + top(middle[at])
    return at * 64 + top(low[at])


@part
def top(bits: np.uint64) -> int:
    """Return the place of the highest bit that is set."""
    place = 0
    for shift in (32, 16, 8, 4, 2, 1):
        if bits >> np.uint64(shift):
            bits >>= np.uint64(shift)
            place += shift
    return place

"""Spills of a tensor by simulation: which words stay until their next use.

The definition: in each step of the loop nest the whole block of the tensor is resident; besides
it the memory holds words of earlier blocks, and when room is needed those go whose next use is
furthest away (Belady). A word that has gone before its next use is a *spill*. Words that are
always used in the same steps are simulated together, as one *atom* of so many words of which any
number may stay. Which of them stay is decided place by place, as for any memory that retains
(`retention.places`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import prod

import numpy as np
from numpy.typing import NDArray

from tilewright.errors import InputError
from tilewright.kernels.kernel import kernel, part
from tilewright.offchip.nest import Array, Nest
from tilewright.retention.spills.places import use

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
    atom : array of int
        Which atom each use is of.
    words : array of int
        Words of each atom.
    """

    begin: Array
    atom: NDArray[np.int32]
    words: Array

    def spills(self, capacity: int) -> int:
        """Return the words that are spilled with so many words of memory; -1: no block fits."""
        return int(simulate(self.begin, self.atom, self.words, capacity, True))

    def least_spills(self, capacity: int) -> int:
        """Return what is spilled at least, in whatever way the blocks are cut further.

        Whatever stands inside the loops, no more than the memory is held from one step to the
        next; what is used within a step needs no room here.
        """
        return int(simulate(self.begin, self.atom, self.words, capacity, False))


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
    at = {d: place for place, (d, _) in enumerate(moving)}
    lists, chosen = [], []
    for a, m, b, n in nest.expressions[tensor, : nest.axes[tensor]].tolist():
        sizes = [
            (int(bounds[d]), moving[at[d]][1] if d in at else int(bounds[d])) if d >= 0 else (1, 1)
            for d in (a, b)
        ]
        lists.append(atoms(m, sizes[0], n, sizes[1], gaps))
        chosen.append((at.get(a, NEVER), at.get(b, NEVER)))
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
        np.array(chosen, np.int64).reshape(-1, 2),
        np.array([len(each.words) for each in lists], np.int64),
        np.concatenate([[0], np.cumsum([len(each.begin) for each in lists])]).astype(np.int64),
        np.concatenate([each.begin for each in lists] or [np.zeros(0, np.int64)]),
        np.concatenate([[0], np.cumsum([len(each.items) for each in lists])]).astype(np.int64),
        np.concatenate([each.items for each in lists] or [np.zeros(0, np.int64)]),
    )
    return Trace(begin, atom, words)


@dataclass(frozen=True)
class Atoms:
    """The atoms of one index expression.

    Attributes
    ----------
    begin, items : array of int
        The atoms of each chunk, those of one after those of the other.
    words : array of int
        Values of the index in each atom.
    """

    begin: Array
    items: Array
    words: Array


@lru_cache(maxsize=256)
def atoms(a: int, first: tuple[int, int], b: int, second: tuple[int, int], gaps: bool) -> Atoms:
    """Return the atoms of an index ``a*i + b*j``, of bounds and blocks of i and j."""
    starts = [
        [range(start, min(start + block, bound)) for start in range(0, bound, block)]
        for bound, block in (first, second)
    ]
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
def simulate(
    begin: Array, atom: NDArray[np.int32], words: Array, capacity: int, whole: bool
) -> int:
    """Return the spilled words, with whole blocks in the memory or only what is held between steps.

    -1 when a whole block does not fit.
    """
    steps = len(begin) - 1
    widest = 0
    for step in range(steps):
        widest = max(widest, begin[step + 1] - begin[step])
    number, own = np.empty(widest, np.int64), np.empty(widest, np.int64)
    last_use = np.full(len(words), NEVER, np.int64)
    free = np.zeros(steps + 3, np.int64)
    newest = np.zeros(steps + 3, np.int64)
    free[1], newest[1] = capacity, 1
    spilled = 0
    for step in range(steps):
        many = begin[step + 1] - begin[step]
        for k in range(many):
            number[k] = atom[begin[step] + k]
            own[k] = words[number[k]]
        block, lost = use(step, number, own, many, whole, last_use, free, newest)
        if whole and block > capacity:
            return -1
        spilled += lost
    return spilled

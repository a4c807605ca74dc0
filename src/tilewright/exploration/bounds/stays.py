"""How long the tiles of some tensors may stay side by side, and the room that this takes.

The store nodes of several tensors between the same two arrays stand in some order. Write u for the
iterations of the dimensions irrelevant to a tensor through which its tile stays. The outermost tile
stays through all that its instance has. Every other one stays through loops inside the nodes around
it, so that the tiles of those span its u. What comes in, of all instances together, is

    words of the tensor * (bound of the irrelevant dimensions / u)

`docs/explore.md` says why no mapping needs less room or moves fewer words.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import permutations
from typing import NamedTuple

import numpy as np

from tilewright.kernels.kernel import leaf_kernel
from tilewright.kernels.types import Bools, Floats, Ints
from tilewright.mapper.problem.lattice import Lattice

MOST_POINTS = 20_000


class Child(NamedTuple):
    """A tensor, the memory that receives it, and the bits that each of its words takes there."""

    tensor: int
    memory: int
    bits: int


class Points(NamedTuple):
    """What tensors stored side by side need, point by point.

    Attributes
    ----------
    times : array of (points, tensors)
        How often each word comes in, all instances together; 0 for tensors that are not among them.
    bits : array of (points, memories)
        What has to fit one instance.
    starts : array of classes + 1
        Where the points begin that one class of ways to spread a layer leaves.
    classes : array of ways
        The class of each way to spread a layer over the arrays above.
    """

    times: Floats
    bits: Floats
    starts: Ints
    classes: Ints


def points(
    tiles: Lattice,
    relevant: Bools,
    group: Sequence[Child],
    memories: int,
    capacity: Floats,
    reuse: Floats,
) -> Points:
    """Return the stays of a group of tensors that no others are better than.

    Parameters
    ----------
    tiles : Lattice
    relevant : array of (tensors, dimensions)
    group : sequence of Child
        Tensors whose store nodes stand between the same two arrays.
    memories : int
        Number of memories.
    capacity : array of memories
        No tiles of more bits than these.
    reuse : array of (ways, tensors)
        Elements of the arrays above that take the same words of a tensor.
    """
    nt, nd = relevant.shape
    stored = [child.tensor for child in group]
    irrelevant = ~relevant[stored]
    own = {t: irrelevant[i] & (irrelevant.sum(axis=0) == 1) for i, t in enumerate(stored)}
    bounds = np.array([tiles.values[d, tiles.sizes[d] - 1] for d in range(nd)], np.float64)
    whole = {t: float(bounds[own[t]].prod()) for t in stored}
    stays, bits = [], []
    for order in permutations(range(len(group))):
        found = _of_order(tiles, [group[i] for i in order], own, whole, nt, memories, capacity)
        stays.append(found[0])
        bits.append(found[1])
    stay, room = np.concatenate(stays), np.concatenate(bits)
    # where a dimension is irrelevant to several tensors, arrays may cut it for all of them
    exact = np.zeros(nt, np.bool_)
    for i, t in enumerate(stored):
        exact[t] = not (irrelevant[i] & ~own[t]).any()
    cut = np.where(exact, reuse, 1.0)
    alike, classes = np.unique(cut, axis=0, return_inverse=True)
    most = np.ones(nt)
    for t in stored:
        most[t] = whole[t]
    used = np.zeros(nt, np.bool_)
    used[stored] = True
    times, kept_bits, starts = [], [], [0]
    for row in alike:
        kept, own_times = np.empty(len(stay), np.int64), np.zeros((len(stay), nt))
        count = _best(stay, room, used, most, row, own_times, kept)
        times.append(own_times[kept[:count]])
        kept_bits.append(room[kept[:count]])
        starts.append(starts[-1] + count)
    return Points(
        np.concatenate(times), np.concatenate(kept_bits), np.array(starts, np.int64),
        classes.ravel().astype(np.int64),
    )  # fmt: skip


def _of_order(
    tiles: Lattice,
    order: Sequence[Child],
    own: dict[int, Bools],
    whole: dict[int, float],
    nt: int,
    memories: int,
    capacity: Floats,
) -> tuple[Floats, Floats]:
    """Return how long tiles stay, 0 for all of it, and bits, with nodes in one order."""
    nd = len(tiles.sizes)
    inner = np.zeros(nd, np.bool_)
    for child in order[1:]:
        inner |= own[child.tensor]
    digits = np.zeros((1, nd), np.int64)
    for d in np.flatnonzero(inner).tolist():
        own_digits = np.arange(tiles.sizes[d])
        digits = np.repeat(digits, len(own_digits), axis=0)
        digits[:, d] = np.tile(own_digits, len(digits) // len(own_digits))
        digits = digits[_room(tiles, order, own, digits, memories, capacity)[1]]
    bits, fits = _room(tiles, order, own, digits, memories, capacity)
    digits, bits = digits[fits], bits[fits]
    stay = np.zeros((len(digits), nt))
    for child in order[1:]:
        dims = np.flatnonzero(own[child.tensor])
        stay[:, child.tensor] = 1.0
        for d in dims.tolist():
            stay[:, child.tensor] *= tiles.values[d, digits[:, d]]
    # of the same stays, those that need least
    order_of_bits = np.argsort(bits.sum(axis=1), kind="stable")
    stay, bits = stay[order_of_bits], bits[order_of_bits]
    _, first, same = np.unique(stay, axis=0, return_index=True, return_inverse=True)
    if len({child.memory for child in order}) == 1:
        return stay[first], bits[first]
    kept: list[int] = []
    for i in range(len(first)):
        front: list[int] = []
        for row in np.flatnonzero(same.ravel() == i).tolist():
            if not any((bits[one] <= bits[row]).all() for one in front):
                front.append(row)
        kept += front
    return stay[kept], bits[kept]


def _room(
    tiles: Lattice,
    order: Sequence[Child],
    own: dict[int, Bools],
    digits: Ints,
    memories: int,
    capacity: Floats,
) -> tuple[Floats, Bools]:
    """Return the bits that tiles take, and whether they fit."""
    bits = np.zeros((len(digits), memories))
    spanned = np.zeros(digits.shape[1], np.bool_)
    for child in reversed(order):
        shape = np.where(spanned, digits, 0) @ tiles.strides
        bits[:, child.memory] += tiles.words[child.tensor, shape] * child.bits
        spanned = spanned | own[child.tensor]
    fits: Bools = np.all(bits <= capacity, axis=1)
    return bits, fits


@leaf_kernel
def _best(
    stay: Floats, room: Floats, used: Bools, whole: Floats, cut: Floats, times: Floats, kept: Ints
) -> int:
    """Keep the points that arrays leave and no other one is better than; return their number.

    An array that cuts the irrelevant dimensions of a tensor into `cut` parts leaves stays that
    divide the rest.
    """
    count = 0
    nt, nm = stay.shape[1], room.shape[1]
    for p in range(len(stay)):
        fine = True
        for t in range(nt):
            if not used[t]:
                continue
            if stay[p, t] == 0.0:
                times[p, t] = cut[t]
                continue
            parts = whole[t] / (stay[p, t] * cut[t])
            fine = fine and parts == np.floor(parts)
            times[p, t] = whole[t] / stay[p, t]
        if not fine:
            continue
        q = 0
        kept_until = count
        while q < kept_until and fine:
            other = kept[q]
            worse = True
            for t in range(nt):
                worse = worse and times[other, t] <= times[p, t]
            for m in range(nm):
                worse = worse and room[other, m] <= room[p, m]
            fine = not worse
            q += 1
        if not fine:
            continue
        # those that this one is better than make room
        left = 0
        for q in range(count):
            other = kept[q]
            worse = True
            for t in range(nt):
                worse = worse and times[p, t] <= times[other, t]
            for m in range(nm):
                worse = worse and room[p, m] <= room[other, m]
            if not worse:
                kept[left] = other
                left += 1
        kept[left] = p
        count = left + 1
    return count

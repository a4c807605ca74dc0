"""The links that cross one array, and the memories that receive their words."""

from __future__ import annotations

from itertools import permutations
from typing import NamedTuple

import numpy as np

from tilewright.mapper.lattice import Floats, Ints
from tilewright.mapper.links import Links
from tilewright.mapper.problem import Bools, Space
from tilewright.mapper.reuse import Reuse, memory_of, padded

MOST_ORDERED = 4  # tensors stored below an array whose orders are told apart


class Children(NamedTuple):
    """The links that cross one array, and the memories that receive them.

    Attributes
    ----------
    choices : array of choices
        The spatial choices that count.
    rate : array of (choices, tensors)
        pJ per word delivered to the children.
    own : array of tensors
        The part of it that every receiver costs.
    allowed : array of shapes
        Whether the memories above the array can hold their tensors' tiles of a shape.
    rows, sent_rows : arrays of (choices, tensors)
        Row of `reuse` for what every instance receives, and for what is sent to all; or -1.
    used : array of tensors
        1 when the tensor is stored below the array, 0 when it goes straight to the compute unit.
    shared : array of dimensions
        True for the dimensions whose u counts: irrelevant to exactly one stored tensor.
    free : array of dimensions
        True for those that are irrelevant to several, whose u is not held against the capacity.
    limits : array of dimensions
        True for those of windows that are irrelevant to none: x' limits the extents of tiles.
    bits, capacity, share, memory : arrays of tensors
        Bits per word, bits of the receiving memory, bits that the tensor may take there, and the
        memory's position, -1 when there is none.
    orders : array of (orders, tensors)
        Every order of the store nodes below the array, outermost first.
    spans : array of (orders, tensors, dimensions)
        Whether the tile of the i-th tensor of an order spans u, that of a tensor stored inside it.
    within : array of (orders, tensors, dimensions)
        Whether it lies within u, that of a tensor stored outside it.
    tiles : array of (tensors, options)
        Tiles of a sliding tensor that fit, as shapes with its window's dimensions alone; padded.
    slides : array of (tensors, options, 4)
        What the loops around each of them do, see `slides.option_reuse`.
    rank : array of (rows, options)
        Positions of the options, those of the most reuse first, -1 behind the last.
    reuse : array of (rows, options)
        Operations per word and iteration of the irrelevant dimensions.
    row_tensor : array of rows
        Whose options they are.
    """

    choices: Ints
    rate: Floats
    own: Floats
    allowed: Bools
    rows: Ints
    sent_rows: Ints
    used: Ints
    shared: Bools
    free: Bools
    limits: Bools
    bits: Floats
    capacity: Floats
    share: Floats
    memory: Ints
    orders: Ints
    spans: Bools
    within: Bools
    tiles: Ints
    slides: Ints
    rank: Ints
    reuse: Floats
    row_tensor: Ints


def room_above(sp: Space, lk: Links, segment: list[int], array: int) -> Bools:
    """Return which shapes the memories above an array can hold their tensors' tiles of."""
    allowed = np.ones(len(sp.repeats), np.bool_)
    for m in np.flatnonzero(np.array(segment) <= array):
        used_bits = np.zeros(len(sp.repeats))
        for t, link in np.argwhere(lk.memory == m).tolist():
            own_bits = lk.bits[t, link] * sp.words[t]
            used_bits += own_bits
            allowed &= own_bits <= lk.share[t, link]
        allowed &= used_bits <= lk.capacity[m]
    return allowed


def children(
    sp: Space, lk: Links, segment: list[int], array: int, choices: int, reuse: Reuse
) -> Children:
    """Return what crosses one array, for its first `choices` spatial choices."""
    nt, nd = sp.relevant.shape
    some = np.arange(sp.unroll_start[array], sp.unroll_start[array] + choices)
    used = np.zeros(nt, np.int64)
    own = np.zeros(nt)
    memory = np.full(nt, -1, np.int64)
    bits, room, part = np.ones(nt), np.full(nt, np.inf), np.full(nt, np.inf)
    tiles = [np.zeros(0, np.int64)] * nt
    slides = [np.zeros((0, 4), np.int64)] * nt
    row_of, sent_row = np.full((2, choices, nt), -1, np.int64)
    rank: list[Ints] = []
    rows: list[Floats] = []
    row_tensor: list[int] = []
    for t in range(nt):
        link = next(i for i in range(int(lk.length[t])) if lk.arrays[t, i, 1] > array)
        if link == lk.length[t] - 1:
            continue
        used[t] = 1
        if segment[lk.memory[t, link]] == array + 1:
            memory[t] = lk.memory[t, link]
            bits[t], room[t] = lk.bits[t, link], lk.capacity[memory[t]]
            part[t] = lk.share[t, link]
        at = memory_of(lk, t, link)
        if sp.windows[t] < 0 or t == nt - 1 or not np.isfinite(at[2]):
            continue
        first, end = lk.arrays[t, link]
        own[t] = lk.energy[t, link, end - first]
        tiles[t], slides[t] = reuse.options(sp, at)
        known: dict[int, int] = {}
        for together, into in ((False, row_of), (True, sent_row)):
            if end != first + 1 or (together and not lk.unites[first, t]):
                continue
            different, which = reuse.classes(sp, at, array, together)
            for row in different:
                if id(row) not in known:
                    known[id(row)] = len(rank)
                    rank.append(row[0])
                    rows.append(row[1])
                    row_tensor.append(t)
            into[:, t] = np.array([known[id(row)] for row in different])[which[:choices]]
    # u counts for dimensions irrelevant to exactly one tensor that is stored below
    irrelevant = ((~sp.relevant) & (used == 1)[:, None]).sum(axis=0)
    shared = irrelevant == 1
    limits = np.zeros(nd, np.bool_)
    for t in np.unique(row_tensor).tolist():
        limits |= (sp.window_of[sp.windows[t]] >= 0) & (irrelevant == 0)
    stored = np.flatnonzero(memory >= 0).tolist()
    orders = list(permutations(stored)) if len(stored) <= MOST_ORDERED else [()]
    spans = np.zeros((len(orders), len(orders[0]), nd), np.bool_)
    within = np.zeros_like(spans)
    for o, order in enumerate(orders):
        for i, t in enumerate(order):
            for j, other in enumerate(order):
                if j != i and memory[other] == memory[t]:
                    counts = sp.relevant[t] & shared & ~sp.relevant[other]
                    (spans if j > i else within)[o, i] |= counts
    return Children(
        some, lk.rate[some], own, room_above(sp, lk, segment, array), row_of, sent_row,
        used, shared, irrelevant > 1, limits, bits, room, part, memory,
        np.array(orders, np.int64).reshape(len(orders), -1), spans, within,
        padded(tiles, -1), padded(slides, -1), padded(rank, -1), padded(rows, 0.0),
        np.array(row_tensor, np.int64),
    )  # fmt: skip

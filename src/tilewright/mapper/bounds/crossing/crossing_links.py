"""The links that cross one array, and the memories that receive their words."""

from __future__ import annotations

from itertools import permutations
from typing import NamedTuple

import numpy as np

from tilewright.kernels.record import record
from tilewright.kernels.types import Bools, Floats, Ints
from tilewright.mapper.bounds.crossing.window_reuse import Memory, Reuse, Row, memory_of
from tilewright.mapper.problem.link_costs import Links
from tilewright.mapper.problem.space import Space

MOST_ORDERED = 4  # tensors stored below an array whose orders are told apart


@record
class Children(NamedTuple):
    """The links that cross one array, and the memories that receive them.

    Attributes
    ----------
    choices : array of choices
        The spatial choices that count, group by group: in a group, all tensors without windows have
        the same reuse.
    rate : array of (choices, tensors)
        pJ per word delivered to the children.
    besides : array of choices
        pJ known besides, see `link_costs.Links`.
    rows, sent_rows : arrays of (choices, tensors)
        Row of `reuse` for what every instance receives, and for what is sent to all; or -1.
    groups : array of groups + 1
        Where the groups begin.
    least : array of (groups, tensors)
        Least rate of a group.
    own : array of tensors
        The part of the rate that every receiver costs.
    best : array of tensors
        Most reuse of all rows of a tensor, 0 where it has none for some choice.
    allowed : array of shapes
        Whether the memories above the array can hold their tensors' tiles of a shape.
    used : array of tensors
        1 when the tensor is stored below the array, 0 when it goes straight to the compute unit.
    shared : array of dimensions
        True for the dimensions whose u counts: irrelevant to exactly one stored tensor.
    free : array of dimensions
        True for those that are irrelevant to several: all of them may stay through loops above.
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
    row_tensor : array of rows
        Whose options they are.
    needed : array of rows
        Whether a choice has it.
    most : array of rows
        Most operations per word and iteration of the irrelevant dimensions, where needed.
    """

    choices: Ints
    rate: Floats
    besides: Floats
    rows: Ints
    sent_rows: Ints
    groups: Ints
    least: Floats
    own: Floats
    best: Floats
    allowed: Bools
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
    row_tensor: Ints
    needed: Bools
    most: Floats


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


def grouped(choices: Ints, alike: Ints) -> tuple[Ints, Ints]:
    """Return spatial choices in groups of those that are alike, and where each group begins."""
    alike = alike[choices]
    order = np.argsort(alike, kind="stable")
    starts = np.flatnonzero(np.diff(alike[order], prepend=-1))
    return choices[order], np.append(starts, len(choices))


def orders_below(sp: Space, memory: Ints, shared: Bools) -> tuple[Ints, Bools, Bools]:
    """Return `orders`, `spans` and `within` of tensors that memories below an array store."""
    stored = np.flatnonzero(memory >= 0).tolist()
    orders = list(permutations(stored)) if len(stored) <= MOST_ORDERED else [()]
    spans = np.zeros((len(orders), len(orders[0]), len(shared)), np.bool_)
    within = np.zeros_like(spans)
    for o, order in enumerate(orders):
        for i, t in enumerate(order):
            for j, other in enumerate(order):
                if j != i and memory[other] == memory[t]:
                    counts = sp.relevant[t] & shared & ~sp.relevant[other]
                    (spans if j > i else within)[o, i] |= counts
    return np.array(orders, np.int64).reshape(len(orders), -1), spans, within


def children(
    sp: Space, lk: Links, segment: list[int], array: int, choices: int, reuse: Reuse
) -> tuple[Children, tuple[object, ...], tuple[Row, ...]]:
    """Return what crosses one array, for those of its first `choices` choices that matter.

    Returns
    -------
    Children, tuple, tuple of rows
        And what the shapes below the array depend on, and the reuse of sliding tensors there; and
        that reuse, as far as it is that of a single tensor.
    """
    begin = int(sp.unroll_start[array])
    nt, nd = sp.relevant.shape
    used = np.zeros(nt, np.int64)
    own = np.zeros(nt)
    memory = np.full(nt, -1, np.int64)
    bits, room, part = np.ones(nt), np.full(nt, np.inf), np.full(nt, np.inf)
    crossing: list[tuple[Memory, bool]] = []
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
        if end == first + 1:
            crossing.append((at, bool(lk.unites[first, t])))
    sliding = reuse.across(sp, tuple(crossing), array)
    # u counts for dimensions irrelevant to exactly one tensor that is stored below
    irrelevant = ((~sp.relevant) & (used == 1)[:, None]).sum(axis=0)
    shared = irrelevant == 1
    limits = np.zeros(nd, np.bool_)
    for t in np.unique(sliding.row_tensor).tolist():
        limits |= (sp.window_of[sp.windows[t]] >= 0) & (irrelevant == 0)
    orders, spans, within = orders_below(sp, memory, shared)
    matter = begin + np.flatnonzero(lk.matters[begin : begin + choices])
    some, groups = grouped(matter, reuse.alike(sp))
    rate = lk.rate[some]
    rows, sent_rows = sliding.rows[some - begin], sliding.sent_rows[some - begin]
    needed = np.zeros(len(sliding.reuse), np.bool_)
    for each in (rows, sent_rows):
        needed[each[each >= 0]] = True
    most = np.where(needed, sliding.most, 0.0)
    best = np.zeros(nt)
    for t, unites in ((at[0], unites) for at, unites in crossing):
        if unites:
            best[t] = most[sliding.row_tensor == t].max(initial=0.0)
    found = Children(
        choices=some,
        rate=rate,
        besides=lk.besides[some],
        rows=rows,
        sent_rows=sent_rows,
        groups=groups,
        least=np.minimum.reduceat(rate, groups[:-1]),
        own=own,
        best=best,
        allowed=room_above(sp, lk, segment, array),
        used=used,
        shared=shared,
        free=irrelevant > 1,
        limits=limits,
        bits=bits,
        capacity=room,
        share=part,
        memory=memory,
        orders=orders,
        spans=spans,
        within=within,
        tiles=sliding.tiles,
        slides=sliding.slides,
        row_tensor=sliding.row_tensor,
        needed=needed,
        most=most,
    )
    known = (used, bits, room, part, memory)
    return found, (array, tuple(crossing), *(each.tobytes() for each in known)), sliding.reuse

"""Walks loop nests over blocks, least sum of DRAM words and weighted words of the array first.

A node is a list of loops from the outermost one inwards, as in `walk`. Its bound has two parts. The
spills are bounded by these loops alone, whatever stands inside. The words of the array depend on
the sizes of the blocks alone, in whatever order. Both meet in the memory: smaller blocks leave more
room for what is retained and move more words to the array. So the bound of a node is the least sum
over all sizes of the other dimensions whose blocks fit: a small search of its own.

Every node is also a nest itself, in which the other dimensions are whole in each block.
"""

from __future__ import annotations

from math import inf, prod
from typing import NamedTuple

import numpy as np

from tilewright.errors import InputError
from tilewright.kernels.kernel import kernel, part
from tilewright.offchip.arrays.tables import DEEPEST, NONE, Inside, Tables, fewest
from tilewright.offchip.nest import Array
from tilewright.offchip.spills.belady import Loops
from tilewright.offchip.spills.bound import INSIDE, divide
from tilewright.offchip.spills.moves import Floats, block_words
from tilewright.offchip.walk import (
    AT_NEST,
    DEPTH,
    ENDED,
    EXPAND,
    NODES,
    PAUSED,
    Space,
    State,
    add_loop,
    rank,
)

NEST = -1  # the child of a node that is the node itself, as a nest
MOST_KNOWN = 1 << 22
MOST_BLOCKS = 1 << 62


class Joint(NamedTuple):
    """What a walk knows besides its state.

    `sizes` has the blocks of each dimension, the last of which is the dimension; `place` says
    which one each has, the whole dimension when there is no loop.
    """

    weight: float
    sizes: Array
    last: Array
    strides: Array
    place: Array
    rest: Array  # dimensions without a loop
    small: Array  # their smallest extents, those of the loops for others
    least: Array
    waiting: Array
    likely: Array
    keys: Array
    words: Floats


def new_joint(room: Space, inside: Inside, weight: float) -> Joint:
    """Return what is known before a walk.

    Raises
    ------
    InputError
        When the blocks of all dimensions have too many combinations to be numbered.
    """
    lists = inside.lists
    if prod(map(len, lists)) > MOST_BLOCKS:
        raise InputError(
            f"layer '{inside.nest.layer.name}' has {prod(map(len, lists)):.1e} choices of blocks; "
            f"at most {MOST_BLOCKS:.1e} are accepted",
            key="weight",
        )
    sizes = np.ones((len(lists), max(map(len, lists))), np.int64)
    for d, each in enumerate(lists):
        sizes[d, : len(each)] = each
    last = np.array([len(each) - 1 for each in lists])
    strides = np.cumprod(np.concatenate([[1], last[:-1] + 1]))
    return Joint(
        weight=float(weight),
        sizes=sizes,
        last=last,
        strides=strides,
        place=last.copy(),
        rest=np.zeros(len(lists), np.int64),
        small=room.smallest.copy(),
        least=np.ones(len(room.nest.axes), np.int64),
        waiting=np.zeros(DEEPEST, np.int64),
        likely=np.array([inside.tables.roots[0]]),
        keys=np.full(MOST_KNOWN, -1, np.int64),
        words=np.zeros(MOST_KNOWN),
    )


@part
def array_words(below: float, state: State, joint: Joint, tables: Tables) -> float:
    """Return the least weighted words of the array with the blocks that there are.

    Infinite when they are not below a limit, which is positive. What is known of other limits is
    kept as a negative number.
    """
    key = np.int64(0)
    for d in range(len(joint.place)):
        key += joint.place[d] * joint.strides[d]
    at = (key * 0x9E3779B97F4A7C1) % len(joint.keys)
    tries = 0
    while joint.keys[at] != key and joint.keys[at] >= 0 and tries < 16:
        at = (at + 1) % len(joint.keys)
        tries += 1
    if joint.keys[at] != key or joint.words[at] < 0:
        limit = below / joint.weight
        if joint.keys[at] == key and -joint.words[at] >= limit:
            return inf
        words, leaf = fewest(joint.place, limit, joint.likely[0], joint.waiting, tables)
        if leaf == NONE:
            words = -limit
        else:
            joint.likely[0] = leaf
        joint.keys[at] = key
        joint.words[at] = words
        state.flags[NODES] += 1
    if joint.words[at] < 0:
        return inf
    return float(joint.weight * joint.words[at])


@part
def spilled(curves: Floats, extents: Array, space: Space, joint: Joint, state: State) -> float:
    """Return the bound on the spills when blocks have these extents; infinite: they do not fit."""
    for t in range(len(joint.least)):
        own = block_words(t, extents, space.nest.expressions, space.nest.axes)
        joint.least[t] = -(-own // space.bank)
    return divide(curves, joint.least, state.shares)


@part
def completed(
    limit: float, curves: Floats, space: Space, state: State, joint: Joint, tables: Tables
) -> float:
    """Return the least bound over the sizes of the dimensions without a loop, or the limit.

    What is whole moves no more words to the array than what is cut; what is smaller leaves more
    room for what is retained.
    """
    best = limit
    count = 0
    for d in range(len(joint.place)):
        if state.place[d] == INSIDE and joint.last[d] > 0:
            joint.rest[count] = d
            count += 1
    if count == 0:
        low = spilled(curves, joint.small, space, joint, state)
        if low < best:
            best = min(best, low + array_words(best - low, state, joint, tables))
        return best
    # the largest first
    for i in range(1, count):
        d = joint.rest[i]
        j = i
        while j > 0 and joint.last[joint.rest[j - 1]] < joint.last[d]:
            joint.rest[j] = joint.rest[j - 1]
            j -= 1
        joint.rest[j] = d
    level = 0
    joint.place[joint.rest[0]] += 1
    while level >= 0:
        d = joint.rest[level]
        joint.place[d] -= 1
        if joint.place[d] < 0:
            joint.place[d] = joint.last[d]
            joint.small[d] = space.smallest[d]
            level -= 1
            continue
        joint.small[d] = joint.sizes[d, joint.place[d]]
        low = spilled(curves, joint.small, space, joint, state)
        if low >= best:
            continue
        words = array_words(best - low, state, joint, tables)
        if low + words >= best:
            continue
        if level == count - 1:
            best = low + words
        else:
            level += 1
            joint.place[joint.rest[level]] += 1
    return best


@part
def put_loop(d: int, place: int, space: Space, joint: Joint) -> None:
    """Give a dimension a block; the last place is the whole dimension."""
    joint.place[d] = place
    joint.small[d] = joint.sizes[d, place] if place < joint.last[d] else space.smallest[d]


@part
def nest_sum(
    depth: int, best: float, space: Space, state: State, joint: Joint, tables: Tables
) -> float:  # fmt: skip
    """Return the bound of the nest whose other dimensions are whole in the block."""
    extents = joint.small.copy()
    for d in range(len(extents)):
        extents[d] = joint.sizes[d, joint.place[d]]
    low = spilled(state.curves[depth], extents, space, joint, state)
    if low >= best:
        return inf
    return low + array_words(best - low, state, joint, tables)


@part
def expand(
    depth: int, best: float, stop: int, space: Space, state: State, joint: Joint, tables: Tables
) -> bool:
    """List the loops that may come next, the best bound first; say whether that is done.

    Once so many nodes were bounded it is left after a dimension, and goes on from there later.
    """
    first = False
    for q in range(depth):
        if space.twins[state.order[q]] == 1:
            first = True
    if state.flags[EXPAND] == 1:
        state.children[depth] = 0
        alone = nest_sum(depth, best, space, state, joint, tables)
        if alone < best:
            state.child[depth, 0] = NEST
            state.child_bound[depth, 0] = alone
            state.children[depth] = 1
    for d in range(state.flags[EXPAND] - 1, len(space.nest.bounds)):
        if state.place[d] != INSIDE or (space.twins[d] == 2 and not first):
            continue
        if state.flags[NODES] >= stop:
            state.flags[EXPAND] = d + 1
            return False
        for i in range(space.choices[d] - 1, -1, -1):
            put_loop(d, i, space, joint)
            low = add_loop(d, space.sizes[d, i], depth, space, state)
            state.flags[NODES] += 1
            if low >= best:
                continue
            if low + array_words(best - low, state, joint, tables) >= best:
                continue
            bound = completed(best, state.curves[depth + 1], space, state, joint, tables)
            if bound < best:
                found = state.children[depth]
                state.child[depth, found] = d
                state.child_block[depth, found] = i
                state.child_bound[depth, found] = bound
                state.children[depth] = found + 1
        put_loop(d, joint.last[d], space, joint)
        state.place[d] = INSIDE
    found = state.children[depth]
    state.reached[depth] = 0
    rank(depth, found, state)
    state.flags[EXPAND] = 0
    return True


@kernel
def advance(
    best: float, budget: int, space: Space, state: State, joint: Joint, tables: Tables
) -> int:
    """Walk on to the next nest whose bound is below the best value.

    Returns ENDED when there is none, PAUSED after about so many nodes; the nest is in the state.
    """
    stop = state.flags[NODES] + budget
    while True:
        depth = state.flags[DEPTH]
        if state.flags[EXPAND] and not expand(depth, best, stop, space, state, joint, tables):
            return PAUSED
        at = state.reached[depth]
        chosen = state.ranked[depth, at]
        if at >= state.children[depth] or state.child_bound[depth, chosen] >= best:
            if depth == 0:
                return ENDED
            d = state.order[depth - 1]
            state.flags[DEPTH] = depth - 1
            state.place[d] = INSIDE
            put_loop(d, joint.last[d], space, joint)
            continue
        state.reached[depth] = at + 1
        d = state.child[depth, chosen]
        if d == NEST:
            return AT_NEST
        put_loop(d, state.child_block[depth, chosen], space, joint)
        add_loop(d, space.sizes[d, state.child_block[depth, chosen]], depth, space, state)
        state.flags[DEPTH] = depth + 1
        state.flags[EXPAND] = 1
        if state.flags[NODES] >= stop:
            return PAUSED


def loops_of(state: State) -> Loops:
    """Return the loops of the nest that a walk has come to."""
    order = state.order[: state.flags[DEPTH]]
    return tuple((int(d), int(state.blocks[d])) for d in order)

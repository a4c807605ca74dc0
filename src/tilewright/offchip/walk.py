"""Walks the loop nests of a layer from the outermost loop inwards, best bound first.

A node is a list of loops from the outermost one inwards, each with its block size. The bound of
a node holds for every nest that begins with these loops. Below it are the nests with one more loop.

Only nests with a loop over every dimension are reached. To leave a dimension whole in its block
is never better than to cut it in ones in the innermost loop: what stays may stay as long, and the
blocks are smaller. For the same reason the innermost loop is cut in ones.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import inf
from typing import NamedTuple

import numpy as np

from tilewright.kernels.ascending import ascending
from tilewright.kernels.copies import copy
from tilewright.kernels.kernel import kernel, part
from tilewright.kernels.record import record
from tilewright.offchip.nest import Array, Nest, NestArrays, block_sizes
from tilewright.offchip.spills.bound import INSIDE, divide, raise_bound, raise_with_inner
from tilewright.offchip.spills.drift import raise_with_drift
from tilewright.offchip.spills.moves import Floats, block_words

ENDED, AT_NEST, PAUSED = 0, 1, 2
DEPTH, EXPAND, NODES = 0, 1, 2


@record
class Space(NamedTuple):
    """What is walked: the arrays of a nest, the memory, and the block sizes to choose from."""

    nest: NestArrays
    bank: int
    banks: int
    sizes: Array
    choices: Array
    smallest: Array
    twins: Array
    loops: int


class State(NamedTuple):
    """Where a walk is; it goes on from there."""

    order: Array
    place: Array
    blocks: Array
    curves: Floats
    child: Array
    child_block: Array
    child_bound: Floats
    ranked: Array
    children: Array
    reached: Array
    flags: Array
    shares: Array


def space(nest: Nest, bank: int, banks: int, whole: Sequence[int] = ()) -> Space:
    """Return what there is to walk for a layer and a memory of so many banks.

    Dimensions in `whole` have no loop: they are whole in every block.
    """
    lists = [
        [] if d in whole else block_sizes(int(bound))[:-1] for d, bound in enumerate(nest.bounds)
    ]
    sizes = np.zeros((len(lists), max(1, *map(len, lists))), np.int64)
    for d, each in enumerate(lists):
        sizes[d, : len(each)] = each
    return Space(
        nest=nest.arrays,
        bank=bank,
        banks=banks,
        sizes=sizes,
        choices=np.array([len(each) for each in lists], np.int64),
        smallest=np.array(
            [1 if each else bound for each, bound in zip(lists, nest.bounds, strict=True)]
        ),
        twins=twin_dimensions(nest) * (not whole),
        loops=sum(map(bool, lists)),
    )


def twin_dimensions(nest: Nest) -> Array:
    """Return 1 and 2 for dimensions that may change places in a pair of equal axes, else 0.

    Height and width of a square convolution with a square filter are such axes.
    """
    pairs = sorted({
        (int(row[0]), int(row[2]), int(row[1]), int(row[3]))
        for t, axes in enumerate(nest.axes)
        for row in nest.expressions[t, :axes]
        if row[2] >= 0
    })  # fmt: skip
    twins = np.zeros(len(nest.bounds), np.int64)
    if len(pairs) == 2 and len({d for pair in pairs for d in pair[:2]}) == 4:
        (a, b, *first), (c, d, *second) = pairs
        same = nest.bounds[a] == nest.bounds[c] and nest.bounds[b] == nest.bounds[d]
        alike = (nest.relevant[:, a] == nest.relevant[:, c]).all() and (
            nest.relevant[:, b] == nest.relevant[:, d]
        ).all()
        if first == second and same and alike:
            twins[[a, b]], twins[[c, d]] = 1, 2
    return twins


def start(space: Space) -> State:
    """Return the state of a walk that has not begun."""
    loops, tensors = space.loops, len(space.nest.axes)
    wide = int(space.choices.sum()) + 1
    return State(
        order=np.full(len(space.nest.bounds), -1, np.int64),
        place=np.full(len(space.nest.bounds), INSIDE, np.int64),
        blocks=np.ones(len(space.nest.bounds), np.int64),
        curves=np.zeros((loops + 1, tensors, space.banks + 1)),
        child=np.zeros((loops + 1, wide), np.int64),
        child_block=np.zeros((loops + 1, wide), np.int64),
        child_bound=np.full((loops + 1, wide), inf),
        ranked=np.zeros((loops + 1, wide), np.int64),
        children=np.zeros(loops + 1, np.int64),
        reached=np.zeros(loops + 1, np.int64),
        flags=np.array([0, 1, 0], np.int64),
        shares=np.ones(tensors, np.int64),
    )


@part
def add_loop(d: int, block: int, depth: int, space: Space, state: State) -> float:
    """Put a loop inside those that there are and return the bound; infinite: no block fits."""
    nest = space.nest
    state.order[depth] = d
    state.place[d] = depth
    state.blocks[d] = block
    least = np.ones(len(space.nest.axes), np.int64)
    extents = space.smallest.copy()
    for q in range(depth + 1):
        extents[state.order[q]] = state.blocks[state.order[q]]
    banks = 0
    for t in range(len(least)):
        least[t] = -(-block_words(t, extents, nest.expressions, nest.axes) // space.bank)
        banks += least[t]
    if banks > space.banks:
        return inf
    for t in range(len(least)):
        copy(state.curves[depth, t], state.curves[depth + 1, t])
        if not nest.relevant[t, d] or nest.sliding[t, d]:
            curve = state.curves[depth + 1, t]
            raise_bound(t, depth, state.order, state.blocks, nest, space.bank, curve)
            for q in range(depth):
                if nest.sliding[t, state.order[q]]:
                    raise_with_inner(
                        t, q, depth, state.order, state.blocks, nest, space.bank, curve
                    )
                elif not nest.relevant[t, state.order[q]]:
                    for s in range(q + 1, depth + 1):
                        raise_with_drift(
                            t, q, s, depth if s < depth else -1, state.order, state.blocks, nest,
                            space.bank, curve,
                        )  # fmt: skip
    return divide(state.curves[depth + 1], least, state.shares)


@part
def rank(depth: int, found: int, state: State) -> None:
    """Put the loops that may come next in order, the best bound first."""
    other = np.empty(found, np.int64)
    ascending(state.child_bound[depth], state.ranked[depth, :found], other)


@part
def expand(depth: int, best: float, space: Space, state: State) -> None:
    """List the loops that may come next, the best bound first."""
    first = False
    for q in range(depth):
        if space.twins[state.order[q]] == 1:
            first = True
    found = 0
    for d in range(len(space.nest.bounds)):
        if state.place[d] != INSIDE:
            continue
        if space.twins[d] == 2 and not first:
            continue
        for i in range(space.choices[d]):
            block = space.sizes[d, i]
            if depth == space.loops - 1 and block > 1:
                break
            bound = add_loop(d, block, depth, space, state)
            state.flags[NODES] += 1
            if bound < best:
                state.child[depth, found] = d
                state.child_block[depth, found] = block
                state.child_bound[depth, found] = bound
                found += 1
        state.place[d] = INSIDE
    state.children[depth] = found
    state.reached[depth] = 0
    rank(depth, found, state)


@kernel
def advance(best: float, budget: int, space: Space, state: State) -> int:
    """Walk on to the next nest whose bound is below the best value.

    Returns ENDED when there is none, PAUSED after so many nodes; the nest is in the state.
    """
    stop = state.flags[NODES] + budget
    while True:
        depth = state.flags[DEPTH]
        if state.flags[EXPAND]:
            expand(depth, best, space, state)
            state.flags[EXPAND] = 0
            if state.flags[NODES] >= stop:
                return PAUSED
        at = state.reached[depth]
        chosen = state.ranked[depth, at]
        if at >= state.children[depth] or state.child_bound[depth, chosen] >= best:
            if depth == 0:
                return ENDED
            state.flags[DEPTH] = depth - 1
            state.place[state.order[depth - 1]] = INSIDE
            continue
        state.reached[depth] = at + 1
        d = state.child[depth, chosen]
        add_loop(d, state.child_block[depth, chosen], depth, space, state)
        if depth == space.loops - 1:
            state.place[d] = INSIDE
            return AT_NEST
        state.flags[DEPTH] = depth + 1
        state.flags[EXPAND] = 1


def skip(state: State, depth: int) -> None:
    """Leave all nests that begin with as many loops as here, up to a depth."""
    for d in state.order[depth - 1 : state.flags[DEPTH] + 1]:
        state.place[d] = INSIDE
    state.flags[DEPTH] = depth - 1


def open_bound(state: State) -> float:
    """Return the least bound of what a walk that goes on has not seen."""
    depth = int(state.flags[DEPTH])
    rest = 0.0 if depth == 0 and state.flags[EXPAND] else inf
    for level in range(depth + 1):
        at, count = int(state.reached[level]), int(state.children[level])
        if at < count and (level < depth or not state.flags[EXPAND]):
            rest = min(rest, float(state.child_bound[level, state.ranked[level, at]]))
        if level < depth:
            # the node that is being walked
            rest = min(rest, float(state.child_bound[level, state.ranked[level, at - 1]]))
    return rest


def nest_bound(state: State) -> float:
    """Return the bound of the nest that a walk has come to."""
    depth = int(state.flags[DEPTH])
    return float(state.child_bound[depth, state.ranked[depth, state.reached[depth] - 1]])


def nest_loops(state: State) -> tuple[tuple[int, int], ...]:
    """Return the loops of the nest that a walk has come to."""
    return tuple((int(d), int(state.blocks[d])) for d in state.order if d >= 0)

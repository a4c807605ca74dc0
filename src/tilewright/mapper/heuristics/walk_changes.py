"""Random changes of a walk, which annealing tries."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tilewright.kernels.kernel import leaf

if TYPE_CHECKING:
    from tilewright.kernels.types import Ints
    from tilewright.mapper.heuristics.walks import Tokens, Tour
    from tilewright.mapper.problem.space import Space

KINDS = 17  # of changes, as often as each other, of which some are alike
OTHER_CHOICE = 16  # an array takes another spatial choice: by single factors, it would stay idle
UNCHANGED, BROKEN = -2, -3
"""What `alter` returns where it leaves the walk as it was, and where `unrolled` is of no walk."""


@leaf
def draw(state: Ints, n: int) -> int:
    """Return a random number below n (xorshift64*)."""
    x = np.uint64(state[0])
    x ^= x >> np.uint64(12)
    x ^= x << np.uint64(25)
    x ^= x >> np.uint64(27)
    state[0] = np.int64(x)
    return int((x * np.uint64(2685821657736338717)) >> np.uint64(33)) % n


@leaf
def place_of(order: Ints, token: int) -> int:
    """Return where a token stands."""
    at = 0
    while order[at] != token:
        at += 1
    return at


@leaf
def shift(order: Ints, source: int, target: int) -> None:
    """Move a token to another place; those in between move up."""
    token = order[source]
    step = 1 if target > source else -1
    i = source
    while i != target:
        order[i] = order[i + step]
        i += step
    order[target] = token


@leaf
def node_range(tokens: Tokens, order: Ints, node: int) -> tuple[int, int]:
    """Return the first and the last place that a store node may take.

    It stays between its arrays, and the nodes of a tensor in the order of their memories.
    """
    factors, nodes = len(tokens.dimension), len(tokens.tensor)
    at = place_of(order, factors + node)
    first = at
    while first > 0:
        other = order[first - 1]
        if other >= factors + nodes or (
            other >= factors and tokens.tensor[other - factors] == tokens.tensor[node]
        ):
            break
        first -= 1
    last = at
    while last < len(order) - 1:
        other = order[last + 1]
        if other >= factors + nodes or (
            other >= factors and tokens.tensor[other - factors] == tokens.tensor[node]
        ):
            break
        last += 1
    return first, last


@leaf
def unroll_others(sp: Space, tokens: Tokens, unrolled: Ints, array: int, choice: int) -> bool:
    """Let an array take another spatial choice; return whether others leave enough factors."""
    for i in range(len(unrolled)):
        if unrolled[i] == array:
            unrolled[i] = -1
    for d in range(sp.unroll.shape[1]):
        digit = sp.unroll[choice, d]
        for i in range(len(unrolled)):
            if digit > 0 and tokens.dimension[i] == d and unrolled[i] < 0:
                smaller = sp.quotient[d, digit, tokens.digit[i]]
                if smaller >= 0:
                    unrolled[i] = array
                    digit = smaller
        if digit > 0:
            return False
    return True


@leaf
def may_store(tokens: Tokens, stored: Ints) -> bool:
    """Whether the memories of all tensors together are a bypass choice of the search."""
    every = tokens.together
    if len(every) == 0:
        return True
    number = 0
    for t in range(len(stored)):
        number += tokens.chain[t, stored[t]] * tokens.strides[t]
    at = np.searchsorted(every, number)
    return bool(at < len(every) and every[at] == number)


@leaf
def alter(sp: Space, tokens: Tokens, tour: Tour, state: Ints) -> int:
    """Make one random change to a walk; return the tensor whose memories changed, or -1.

    It is `UNCHANGED` where the walk is as it was, and `BROKEN` where it is none.
    """
    order, unrolled, stored = tour.order, tour.unrolled, tour.stored
    factors, nodes, arrays = len(tokens.dimension), len(tokens.tensor), len(sp.unroll_start) - 1
    kind = draw(state, KINDS)
    if kind == OTHER_CHOICE and arrays > 0:
        array = draw(state, arrays)
        first, last = sp.unroll_start[array], sp.unroll_start[array + 1]
        choice = first + draw(state, max(1, last - first))
        return -1 if unroll_others(sp, tokens, unrolled, array, choice) else BROKEN
    if kind < 2 and nodes > 0:
        node = draw(state, nodes)
        t = tokens.tensor[node]
        other = stored[t] ^ (1 << tokens.slot[node])
        if tokens.chain[t, other] < 0:
            return UNCHANGED
        stored[t] = other
        if not may_store(tokens, stored):
            stored[t] = other ^ (1 << tokens.slot[node])
            return UNCHANGED
        return int(t)
    if kind < 6 and nodes > 0:
        node = draw(state, nodes)
        if (stored[tokens.tensor[node]] >> tokens.slot[node]) & 1 == 0:
            return UNCHANGED
        first, last = node_range(tokens, order, node)
        at = place_of(order, factors + node)
        target = first + draw(state, last - first + 1)
        if target == at:
            return UNCHANGED
        shift(order, at, target)
        return -1
    if factors == 0:
        return UNCHANGED
    i = draw(state, factors)
    if kind < 11:
        # a factor goes elsewhere
        where = -1
        if arrays > 0 and draw(state, 3) == 0:
            where = draw(state, arrays)
            if where == unrolled[i]:
                where = -1
        unrolled[i] = where
        if where < 0:
            shift(order, place_of(order, i), draw(state, len(order)))
        return -1
    # two factors change places
    j = draw(state, factors)
    if tokens.move[i] == tokens.move[j]:
        return UNCHANGED
    unrolled[i], unrolled[j] = unrolled[j], unrolled[i]
    a, b = place_of(order, i), place_of(order, j)
    order[a], order[b] = j, i
    return -1

"""Loop orderings with unique reuse: S. Dave et al., dMazeRunner, ACM TECS 18(5s), 2019, 4.2.1."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import combinations
from math import prod

from tilewright.errors import InputError
from tilewright.workload.layer import Layer

Reuse = tuple[frozenset[str], ...]
Ordering = tuple[str, ...]
Kept = Callable[[Ordering, Layer, frozenset[str]], Reuse]


def reuse(ordering: Ordering, layer: Layer, looping: frozenset[str]) -> Reuse:
    """Return for each tensor the loops over which its tile stays.

    Parameters
    ----------
    ordering : tuple of str
        Dimensions of the loops, outermost first.
    layer : Layer
        Whose tensors they are.
    looping : frozenset of str
        Dimensions with more than one chunk; the product of theirs is the reuse factor of the
        paper's Algorithm 1.
    """
    result = []
    for tensor in layer.tensors:
        stays = []
        for d in reversed(ordering):
            if d not in looping:
                continue
            if d in tensor.dimensions:
                break
            stays.append(d)
        result.append(frozenset(stays))
    return tuple(result)


def reuse_and_slide(ordering: Ordering, layer: Layer, looping: frozenset[str]) -> Reuse:
    """Return for each tensor the loops over which its tile stays, and the one that slides it.

    That one is the innermost loop that is relevant to it, where its dimension shares an index with
    another one. Only with that loop do tiles one after the other have words in common.

    Parameters
    ----------
    ordering : tuple of str
        Dimensions of the loops, outermost first.
    layer : Layer
        Whose tensors they are.
    looping : frozenset of str
        Dimensions with more than one chunk.
    """
    result = []
    for tensor, stays in zip(layer.tensors, reuse(ordering, layer, looping), strict=True):
        loops = [d for d in ordering if d in looping and d in tensor.dimensions]
        slides = any(
            len(terms) > 1 and loops[-1:] == [term.dimension]
            for terms in tensor.expressions
            for term in terms
        )
        result.append(stays | set(loops[-1:]) if slides else stays)
    return tuple(result)


def reuse_factors(ordering: Ordering, layer: Layer, trips: Mapping[str, int]) -> tuple[int, ...]:
    """Return for each tensor how many iterations in a row use the same tile: Algorithm 1.

    Parameters
    ----------
    ordering : tuple of str
        Dimensions of the loops, outermost first.
    layer : Layer
        Whose tensors they are, in their order.
    trips : mapping of str to int
        Iterations of each loop.
    """
    looping = frozenset(d for d, count in trips.items() if count > 1)
    return tuple(prod(trips[d] for d in stays) for stays in reuse(ordering, layer, looping))


def distinct_orderings(
    layer: Layer, looping: frozenset[str], kept: Kept = reuse
) -> dict[Reuse, Ordering]:
    """Return one ordering for every reuse that the orders of some loops can have.

    Orders grow from the innermost loop outward, and only as long as some tensor still stays: the
    order of the loops around these makes no difference. (The paper's Algorithm 2 generates the same
    list where no two tensors stay over the same loop.)

    Parameters
    ----------
    layer : Layer
        Whose tensors they are.
    looping : frozenset of str
        Dimensions with more than one chunk.
    kept : callable
        What tells orders apart.
    """
    names = [d for d in layer.dimensions if d in looping]
    found: dict[Reuse, Ordering] = {}
    seen: set[tuple[frozenset[str], Reuse]] = set()
    waiting: list[Ordering] = [()]
    while waiting:
        inner = waiting.pop(0)
        stays = kept(inner, layer, looping)
        if (frozenset(inner), stays) in seen:
            continue
        seen.add((frozenset(inner), stays))
        others = [d for d in names if d not in inner]
        if others and any(len(own) == len(inner) for own in stays):
            waiting += [(d, *inner) for d in others]
        else:
            found.setdefault(stays, (*others, *inner))
    return found


def unique_orderings(layer: Layer, trips: Mapping[str, int] | None = None) -> tuple[Ordering, ...]:
    """Return orderings of which no two give all tensors the same reuse factors.

    Parameters
    ----------
    layer : Layer
        Any layer.
    trips : mapping of str to int, optional
        Iterations of each loop, at least 1; a dimension that is missing has no loop. By default
        the bounds of the layer.

    Returns
    -------
    tuple of tuple of str
        Dimensions that loop, outermost first. For a convolution of seven loops whose trip counts
        differ these are the 15 of the paper's Table 2; equal trip counts make some of them one.

    Raises
    ------
    InputError
        When a dimension is not the layer's or a trip count is not a whole number from 1 on.
    """
    counts = dict(layer.bounds if trips is None else trips)
    for d, count in counts.items():
        if d not in layer.bounds:
            accepted = ", ".join(layer.dimensions)
            raise InputError(f"no dimension '{d}'; accepted: {accepted}", key="trips")
        if not isinstance(count, int) or count < 1:
            raise InputError(f"trip count of {d} must be at least 1; found {count}", key="trips")
    looping = frozenset(d for d, count in counts.items() if count > 1)
    by_factors: dict[tuple[int, ...], Ordering] = {}
    for ordering in distinct_orderings(layer, looping).values():
        by_factors.setdefault(reuse_factors(ordering, layer, counts), ordering)
    return tuple(by_factors.values())


@lru_cache(maxsize=64)
def covering_orderings(layer: Layer, kept: Kept = reuse) -> tuple[Ordering, ...]:
    """Return orderings with every reuse that loops on some dimensions can have.

    Whichever dimensions loop, every reuse is that of one of these. For a convolution they are the
    15 of the paper's Table 2. Dimensions of one iteration are left out. `kept` is what tells orders
    apart.
    """
    names = tuple(d for d in layer.dimensions if layer.bounds[d] > 1)
    found: dict[Reuse, Ordering] = {}
    for ordering in reusing(layer, names):
        found.setdefault(kept(ordering, layer, frozenset(names)), ordering)
    result = list(found.values())
    # tensors that share irrelevant dimensions may need more, also where some dimensions do not loop
    for size in range(len(names), -1, -1):
        for some in combinations(names, size):
            looping = frozenset(some)
            reached = {kept(ordering, layer, looping) for ordering in result}
            idle = tuple(d for d in names if d not in looping)
            for own, ordering in distinct_orderings(layer, looping, kept).items():
                if own not in reached:
                    result.append((*idle, *ordering))
    return tuple(result)


def reusing(layer: Layer, names: Sequence[str]) -> Iterator[Ordering]:
    """Yield the orderings of the paper's Algorithm 2: each tensor stays over some inner loops.

    Around these stand all loops that are relevant to the tensor, so that its reuse is the same
    where some of them do not loop.
    """
    for tensor in layer.tensors:
        relevant = [d for d in names if d in tensor.dimensions]
        others = [d for d in names if d not in tensor.dimensions]
        for size in range(1, len(others) + 1):
            for stays in combinations(others, size):
                yield (*(d for d in others if d not in stays), *relevant, *stays)


@lru_cache(maxsize=4096)
def useful_orderings(
    layer: Layer, looping: frozenset[str], maximal: bool, kept: Kept = reuse
) -> tuple[int, ...]:
    """Return which of the covering orderings still differ where only some dimensions have loops.

    Parameters
    ----------
    layer : Layer
        Whose orderings they are.
    looping : frozenset of str
        Dimensions with more than one chunk.
    maximal : bool
        Whether to leave out orderings whose reuse another one has and exceeds (OPT4).
    kept : callable
        What tells orders apart.

    Returns
    -------
    tuple of int
        Positions in `covering_orderings`.
    """
    found: dict[Reuse, int] = {}
    for i, ordering in enumerate(covering_orderings(layer, kept)):
        found.setdefault(kept(ordering, layer, looping), i)
    return tuple(
        i
        for own, i in found.items()
        if not maximal
        or not any(
            own != other and all(a <= b for a, b in zip(own, other, strict=True)) for other in found
        )
    )

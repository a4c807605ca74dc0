"""Loop orderings with unique reuse: S. Dave et al., dMazeRunner, ACM TECS 18(5s), 2019, 4.2.1."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import combinations, permutations

from tilewright.workload.layer import Layer

Reuse = tuple[frozenset[str], ...]


def reuse(ordering: tuple[str, ...], layer: Layer, looping: frozenset[str]) -> Reuse:
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


@lru_cache(maxsize=64)
def unique_orderings(layer: Layer) -> tuple[tuple[str, ...], ...]:
    """Return orderings, outermost first, with every reuse that loops on some dimensions can have.

    For a convolution these are the 15 of the paper's Table 2. Dimensions of one iteration are left
    out.
    """
    names = sorted(d for d in layer.dimensions if layer.bounds[d] > 1)
    found: list[tuple[str, ...]] = []
    reached: set[Reuse] = set()
    for ordering in reusing(layer, names):
        own = reuse(ordering, layer, frozenset(names))
        if own not in reached:
            found.append(ordering)
            reached.add(own)
    # tensors that share irrelevant dimensions may need more, also where some dimensions do not loop
    for size in range(len(names), -1, -1):
        for some in combinations(names, size):
            looping = frozenset(some)
            reached = {reuse(ordering, layer, looping) for ordering in found}
            idle = tuple(d for d in names if d not in looping)
            for ordering in permutations(some):
                own = reuse(ordering, layer, looping)
                if own not in reached:
                    found.append((*idle, *ordering))
                    reached.add(own)
    return tuple(found)


def reusing(layer: Layer, names: Sequence[str]) -> Iterator[tuple[str, ...]]:
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
def useful_orderings(layer: Layer, looping: frozenset[str], maximal: bool) -> tuple[int, ...]:
    """Return which of the unique orderings still differ where only some dimensions have loops.

    Parameters
    ----------
    layer : Layer
        Whose orderings they are.
    looping : frozenset of str
        Dimensions with more than one chunk.
    maximal : bool
        Whether to leave out orderings whose reuse another one has and exceeds (OPT4).

    Returns
    -------
    tuple of int
        Positions in `unique_orderings`.
    """
    found: dict[Reuse, int] = {}
    for i, ordering in enumerate(unique_orderings(layer)):
        found.setdefault(reuse(ordering, layer, looping), i)
    return tuple(
        i
        for own, i in found.items()
        if not maximal
        or not any(
            own != other and all(a <= b for a, b in zip(own, other, strict=True)) for other in found
        )
    )

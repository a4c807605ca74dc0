"""Loop orderings with unique reuse: S. Dave et al., dMazeRunner, ACM TECS 18(5s), 2019, 4.2.1."""

from __future__ import annotations

from functools import lru_cache
from itertools import permutations

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
    """Return one ordering, outermost first, for each reuse that loops on all dimensions can have.

    For a convolution these are the 15 of the paper's Table 2. Dimensions of one iteration are left
    out.
    """
    names = frozenset(d for d in layer.dimensions if layer.bounds[d] > 1)
    found: dict[Reuse, tuple[str, ...]] = {}
    for ordering in permutations(sorted(names)):
        found.setdefault(reuse(ordering, layer, names), ordering)
    return tuple(found.values())


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

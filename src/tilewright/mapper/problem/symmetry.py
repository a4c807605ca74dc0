"""Layers in which two dimensions, or two pairs of them, may change places: rows and columns."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations, pairwise

import numpy as np

from tilewright.kernels.types import Ints
from tilewright.mapper.problem.space import Space


def mirrored(sp: Space) -> Space:
    """Return a layer on a machine with the mirror image of everything that has one.

    A mapping in which the dimensions have changed places costs the same: every table needs to be
    filled for one half of the shapes only, and one of the two mappings may be left out.
    """
    for swap in swaps(sp):
        other = [image(sp.unroll[a:b], swap, sp.strides) for a, b in pairwise(sp.unroll_start)]
        if all(len(each) for each in other):
            starts = sp.unroll_start[:-1]
            choices = [each + start for each, start in zip(other, starts, strict=True)]
            side = np.sign(swap - np.arange(len(swap)))
            return sp._replace(
                mirror=sp.digits[:, swap] @ sp.strides,
                mirror_choice=np.concatenate([np.zeros(0, np.int64), *choices]),
                mirror_dimension=swap,
                side=side.astype(np.int64),
            )
    return sp


def swaps(sp: Space) -> Iterator[Ints]:
    """Yield the exchanges of dimensions, two or four of them, that leave all tensors as they are.

    Each is an array of dimensions: what takes the place of each.
    """
    nd = len(sp.sizes)
    same = [
        (a, b)
        for a, b in combinations(range(nd), 2)
        if (sp.values[a] == sp.values[b]).all() and (sp.relevant[:, a] == sp.relevant[:, b]).all()
    ]
    windows = [expressions(sp, w, np.arange(nd)) for w in range(len(sp.members))]
    for pairs in (*([pair] for pair in same), *combinations(same, 2)):
        swap = np.arange(nd)
        for a, b in pairs:
            swap[[a, b]] = b, a
        if len({d for pair in pairs for d in pair}) == 2 * len(pairs) and all(
            expressions(sp, w, swap) == own for w, own in enumerate(windows)
        ):
            yield swap


def expressions(sp: Space, w: int, swap: Ints) -> set[frozenset[tuple[int, int]]]:
    """Return the terms of the expressions of a window, (coefficient, dimension), after a swap."""
    return {
        frozenset(
            (int(c), int(swap[d])) for c, d in zip(sp.coefs[w, e], own, strict=True) if d >= 0
        )
        for e, own in enumerate(sp.members[w])
    }


def image(choices: Ints, swap: Ints, strides: Ints) -> Ints:
    """Return the position of each spatial choice after a swap; nothing when one has none."""
    keys = choices @ strides
    order = np.argsort(keys)
    wanted = choices[:, swap] @ strides
    at = np.minimum(np.searchsorted(keys, wanted, sorter=order), len(keys) - 1)
    found: Ints = order[at]
    return found if (keys[found] == wanted).all() else np.zeros(0, np.int64)

"""Spatial choices of an array: how many instances each dimension is cut among."""

from __future__ import annotations

from collections.abc import Callable
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np

from tilewright.mapper.problem.widest_choices import axes_of, different
from tilewright.mapper.relaxations.stays.least_cost import Least

if TYPE_CHECKING:
    from tilewright.kernels.types import Bools, Ints
    from tilewright.mapper.relaxations.nests.nest import Nest

MOST_PRODUCTS = 1 << 20  # of choices for one axis and another
MOST_CHOICES = 1 << 17
MOST_INSTANCES = 4096  # along a dimension


def spatial_choices(
    least: Least, of_use: Callable[[Ints], Bools] | None = None
) -> tuple[Ints, Ints] | None:
    """Return the instances along each dimension that the axes of the array allow, or fewer.

    It is None where there are too many choices or instances to look at.

    Parameters
    ----------
    of_use : callable, optional
        Says which of some choices are of use; none with fewer instances than one that is not.

    Returns
    -------
    spreads : array of (choices, dimensions)
        Instances that it takes for even chunks.
    actives : array of (choices, dimensions)
        The most instances that can have work, more where a dimension is cut on several axes.
    """
    layer = least.layer
    bounds = np.array(list(layer.bounds.values()), np.int64)
    choices = np.ones((1, len(bounds)), np.int64)
    axes = np.zeros(len(bounds), np.int64)
    for axis in axes_of(layer, least.architecture)[0]:
        axes += np.array(axis.most) > 1
        factors = np.array(axis.widest(), np.int64)
        if len(choices) * len(factors) > MOST_PRODUCTS:
            return None
        wider = np.repeat(choices, len(factors), axis=0) * np.tile(factors, (len(choices), 1))
        choices = different(np.minimum(wider, bounds))
    for d in range(len(bounds)):
        first, most, _ = largest(choices, d)
        if most.sum() > MOST_CHOICES or most.max() > MOST_INSTANCES:
            return None
        choices = np.repeat(choices[first], most, axis=0)
        starts = np.cumsum(most) - most
        choices[:, d] = np.arange(len(choices)) - np.repeat(starts, most) + 1
        if of_use is not None:
            choices = choices[of_use(choices)]
    actives = np.empty_like(choices)
    for d in range(len(bounds)):
        _, most, which = largest(choices, d)
        actives[:, d] = np.minimum(most[which], choices[:, d] * np.maximum(axes[d], 1))
    actives[choices == 1] = 1
    return choices, actives


def one_of_mirrored(ns: Nest, choices: Ints, actives: Ints) -> tuple[Ints, Ints]:
    """Return spatial choices without those that others become when dimensions change places.

    Such as rows and columns of a convolution, with those of its filter.
    """
    nd = len(ns.bounds)
    pairs = [(i, j) for i in range(nd) for j in range(i) if ns.bounds[i] == ns.bounds[j] > 1]
    for swapped in [(pair,) for pair in pairs] + list(combinations(pairs, 2)):
        places = np.arange(nd)
        for i, j in swapped:
            places[[i, j]] = places[[j, i]]
        mirrored = choices[:, places]
        rows = np.hstack([choices, actives])
        both = np.vstack([rows, np.hstack([mirrored, actives[:, places]])])
        if is_mirror(ns, places) and len(different(both)) == len(different(rows)):
            ahead = choices - mirrored
            first = ahead[np.arange(len(ahead)), (ahead != 0).argmax(axis=1)]
            return choices[first >= 0], actives[first >= 0]
    return choices, actives


def is_mirror(ns: Nest, places: Ints) -> bool:
    """Whether a layer is the same when its dimensions change places."""
    terms = ns.terms.copy()
    terms[:, :, ::2] = np.where(terms[:, :, ::2] >= 0, places[terms[:, :, ::2]], -1)
    return bool(
        (ns.bounds[places] == ns.bounds).all()
        and (ns.owner[places] == ns.owner).all()
        and (ns.relevant[:, places] == ns.relevant).all()
        and all(
            sorted(map(tuple, own.tolist())) == sorted(map(tuple, now.tolist()))
            for own, now in zip(ns.terms, terms, strict=True)
        )
    )


def largest(choices: Ints, d: int) -> tuple[Ints, Ints, Ints]:
    """Return rows that differ elsewhere than in column d, the largest of it, and whose each is."""
    radix = choices.max(axis=0) + 1
    radix[d] = 1
    weights = np.append(np.cumprod(radix[:0:-1])[::-1], 1)
    weights[d] = 0
    _, first, which = np.unique(choices @ weights, return_index=True, return_inverse=True)
    most = np.zeros(len(first), np.int64)
    np.maximum.at(most, which.reshape(-1), choices[:, d])
    return first, most, which.reshape(-1)

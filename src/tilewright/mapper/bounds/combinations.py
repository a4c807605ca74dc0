"""Combinations of the spatial choices of all arrays, in classes that cost alike.

Choices are put into classes by the product of their factors on dimensions relevant to the same
tensors.
"""

from __future__ import annotations

from itertools import pairwise
from typing import NamedTuple

import numpy as np

from tilewright.kernels.types import Bools, Floats, Ints
from tilewright.mapper.problem.space import Space
from tilewright.mapper.problem.tensor_costs import Chain

MOST = 1 << 17  # combinations that are told apart
MOST_TRIED = 64  # times as many are tried
AT_ONCE = 1 << 16  # of these, so that they take little room


class Combinations(NamedTuple):
    """Combinations of classes of spatial choices, one class for each array.

    Attributes
    ----------
    reuse : array of (combinations, arrays, tensors)
        Product of the factors on dimensions irrelevant to the tensor.
    sharing : array of (combinations, arrays, tensors)
        Most elements that share one word of it in a step, see `space.Space`.
    product : array of (combinations, arrays)
        Elements at work.
    kind : array of (combinations, arrays)
        Which class of the array it is.
    factors : array of (combinations, arrays, groups)
        Products of the factors on the dimensions of each group.
    kind_of : array of choices
        The class of each spatial choice.
    group : array of dimensions
        The group of each.
    apart : bool
        Whether every dimension of a sliding window is a group of its own.
    """

    reuse: Floats
    sharing: Floats
    product: Floats
    kind: Ints
    factors: Ints
    kind_of: Ints
    group: Ints
    apart: bool

    def some(self, which: Bools | Ints) -> Combinations:
        """Return some of them."""
        return self._replace(
            reuse=self.reuse[which],
            sharing=self.sharing[which],
            product=self.product[which],
            kind=self.kind[which],
            factors=self.factors[which],
        )


def combinations(sp: Space, most: int = MOST) -> Combinations | None:
    """Return the combinations of spatial choices that can be, or None where they are too many.

    None, too, where there is nothing to choose: a layer of one operation has no dimensions.
    Where windows slide over several arrays, their dimensions are told apart if that is possible.
    """
    if sp.relevant.shape[1] == 0:
        return None
    found = combined(sp, True, most) if tells_apart(sp) else None
    return found or combined(sp, False, most)


def tells_apart(sp: Space) -> bool:
    """Whether windows slide over several arrays, so that it matters which dimensions they share."""
    return len(sp.unroll_start) > 2 and bool((sp.windows >= 0).any())


def combined(
    sp: Space, apart: bool, most: int, within: Combinations | None = None
) -> Combinations | None:
    """Return the combinations whose classes tell dimensions of windows apart, or do not.

    With some combinations of wider classes, only what they are made of.
    """
    nt, nd = sp.relevant.shape
    bounds = sp.values[np.arange(nd), sp.sizes - 1]
    slides = (sp.window_of >= 0).any(axis=0)
    own_group = np.where(slides, np.arange(nd), -1) if apart else np.full(nd, -1)
    keys, group = np.unique(
        np.column_stack((sp.relevant.T, own_group)), axis=0, return_inverse=True
    )
    patterns = keys[:, :nt].astype(np.bool_)
    own = [group.ravel() == g for g in range(len(patterns))]
    # factors of all arrays together divide the bounds, and so do those of every group
    whole = np.array([bounds[each].prod() for each in own])
    extents = np.ones(sp.unroll.shape, np.int64)
    for d in range(nd):
        extents[:, d] = sp.values[d, sp.unroll[:, d]]
    products = np.stack([extents[:, each].prod(axis=1) for each in own], axis=1)
    reuse, sharing = np.ones((2, 1, 0, nt))
    product, kind = np.ones((1, 0)), np.zeros((1, 0), np.int64)
    factors = np.ones((1, 0, len(own)), np.int64)
    kind_of = np.zeros(len(sp.unroll), np.int64)
    used = np.ones((1, len(own)), np.int64)
    wider = np.zeros(1, np.int64)  # which of the wider combinations each begins with
    for k, (begin, end) in enumerate(pairwise(sp.unroll_start)):
        classes, at = np.unique(products[begin:end], axis=0, return_inverse=True)
        if len(used) * len(classes) > most * MOST_TRIED:
            return None
        kind_of[begin:end] = at = at.ravel()
        most_shared = np.ones((len(classes), nt))
        np.maximum.at(most_shared, at, sp.unroll_sharing[begin:end])
        reused = np.stack([classes[:, ~patterns[:, t]].prod(axis=1) for t in range(nt)], axis=1)
        after = None
        if within is not None:
            into = np.zeros(len(classes), np.int64)
            into[at] = within.kind_of[begin:end]
            after = longer(within.kind[:, : k + 1], wider, into.max() + 1)[:, into]
        pairs = those_that_fit(used, classes, whole, after, most)
        if pairs is None:
            return None
        before, new = pairs
        used = used[before] * classes[new]
        wider = wider if after is None else after[before, new]
        reuse = np.concatenate((reuse[before], reused[new][:, None]), axis=1)
        sharing = np.concatenate((sharing[before], most_shared[new][:, None]), axis=1)
        factors = np.concatenate((factors[before], classes[new][:, None]), axis=1)
        product = np.column_stack((product[before], classes[new].prod(axis=1)))
        kind = np.column_stack((kind[before], new))
    return Combinations(
        reuse=reuse,
        sharing=sharing,
        product=product,
        kind=kind,
        factors=factors,
        kind_of=kind_of,
        group=group.ravel(),
        apart=apart,
    )


def those_that_fit(
    used: Ints, classes: Ints, whole: Ints, after: Ints | None, most: int
) -> tuple[Ints, Ints] | None:
    """Return which combinations go with which classes, or None if there are too many.

    Parameters
    ----------
    used : array of (combinations, groups)
        Products of factors.
    classes : array of (classes, groups)
        The same, of one more array.
    whole : array of groups
        What they divide together.
    after : array of (combinations, classes), optional
        Not negative where there is a wider combination.
    """
    found: list[tuple[Ints, Ints]] = []
    number = 0
    step = max(1, AT_ONCE // len(classes))
    for begin in range(0, len(used), step):
        together = used[begin : begin + step, None] * classes
        can = (whole % together == 0).all(axis=2)
        if after is not None:
            can &= after[begin : begin + step] >= 0
        before, new = np.nonzero(can)
        found.append((before + begin, new))
        number += len(new)
        if number > most:
            return None
    return np.concatenate([own for own, _ in found]), np.concatenate([own for _, own in found])


def longer(kind: Ints, begun: Ints, classes: int) -> Ints:
    """Return which combinations of one class more begin as others do.

    Parameters
    ----------
    kind : array of (combinations, arrays)
        Classes; without the last array the different ones are numbered in order, and so are those
        with it.
    begun : array
        Numbers of the former.
    classes : int
        How many there are of the last array.

    Returns
    -------
    array of (begun, classes)
        Numbers of the latter, or -1.
    """
    _, before = np.unique(kind[:, :-1], axis=0, return_inverse=True)
    _, after = np.unique(kind, axis=0, return_inverse=True)
    found = np.full((before.max() + 1, classes), -1, np.int64)
    found[before.ravel(), kind[:, -1]] = after.ravel()
    return found[begun]


def shared_in_windows(cs: Combinations, sp: Space, t: int, arrays: list[int]) -> Floats:
    """Return how many elements of several arrays share a word of a sliding tensor at most.

    The places where s_1, ..., s_k factors of an expression stand are a sum of sets of so many
    numbers, of which at least 1 + sum (s_i - 1) differ. See `space.Space.unroll_sharing`.
    """
    factors = cs.factors[:, arrays].prod(axis=1)
    distinct = np.ones(len(factors))
    window = sp.window_of[sp.windows[t]]
    single = np.flatnonzero(sp.relevant[t] & (window < 0))
    for g in np.unique(cs.group[single]).tolist():
        distinct *= factors[:, g]
    for e in range(int(window.max()) + 1):
        own = cs.group[window == e]
        distinct *= 1 + (factors[:, own] - 1).sum(axis=1)
    together: Floats = factors.prod(axis=1) / distinct
    return together


def words_at_cuts(chain: Chain, link: int, t: int, sp: Space, cs: Combinations) -> list[Floats]:
    """Return T_j of a link at least, for every combination.

    Each word of the tensor is received once by every group of instances that do not share it, and
    by all that a factor irrelevant to it makes copies of.
    """
    lo, hi = chain.arrays[link].tolist()
    words = float(sp.words[t, -1]) * cs.reuse[:, :lo, t].prod(axis=1)
    if link < chain.length - 1:
        cuts = [words * cs.reuse[:, lo:hi, t].prod(axis=1)]
        shares = [cs.reuse[:, k, t] for k in range(lo, hi)]
    else:
        cuts = [np.full(len(words), sp.operations)]
        # windows may overlap across arrays: only the innermost one's sharing is bounded
        bounded = [sp.windows[t] < 0 or k == hi - 1 for k in range(lo, hi)]
        shares = [
            cs.sharing[:, lo + j, t] if known else cs.product[:, lo + j]
            for j, known in enumerate(bounded)
        ]
    united: list[int] = []
    for k, share in zip(range(hi - 1, lo - 1, -1), reversed(shares), strict=True):
        moved = cuts[-1]
        if chain.unites[k]:
            united.append(k)
            moved = np.maximum(moved / share, words)
            if link == chain.length - 1 and sp.windows[t] >= 0 and cs.apart and len(united) > 1:
                moved = np.maximum(moved, sp.operations / shared_in_windows(cs, sp, t, united))
        cuts.append(moved)
    return cuts[::-1]

"""What the elements of arrays read, and how many are at work, in one step.

In a step, each element at work has an iteration of its own. Those of dimensions irrelevant to a
tensor share its words, and those along a window share some. All of these iterations are in the
tiles of the memories above the elements. So a small memory limits how many elements work at a time
on different words of a tensor that it keeps, and with that what others share.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import gcd, prod
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from tilewright.mapper.relaxations.stays.unrolled import whole_at_least
from tilewright.mapper.windows.step_sets import fewest_remainders

if TYPE_CHECKING:
    from tilewright.kernels.types import Bools, Floats
    from tilewright.mapper.relaxations.stays.least_cost import Least
    from tilewright.mapper.relaxations.stays.links import Link, Price
    from tilewright.workload.layer import Term


class ElementLimit(NamedTuple):
    """A tile with fewer words than there are elements below its memory.

    Attributes
    ----------
    tensor : int
    outside : int
        Arrays above the memory.
    words : float
        Of the tile, at most.
    """

    tensor: int
    outside: int
    words: float

    def matters(self, least: Least, t: int) -> bool:
        """Whether it limits how many elements share a word of a tensor."""
        return bool(least.irrelevant[t] & least.relevant[self.tensor])


Limits = tuple[ElementLimit, ...]


def limits_of(least: Least, links: Sequence[Link]) -> Limits:
    """Return which tiles limit the elements at work, for the links of a bypass choice."""
    found: dict[tuple[int, int], float] = {}
    arrays = least.architecture.arrays
    for link in links:
        outside = least.segment[link.receiver]
        if link.receiver < least.compute and outside < len(arrays):
            place = link.tensor, outside
            # without room for a word nothing fits anyway
            words = max(1.0, least.rooms.words(link, links))
            found[place] = min(found.get(place, np.inf), words)
    return tuple(
        ElementLimit(*place, words)
        for place, words in sorted(found.items())
        if words < prod(array.elements for array in arrays[place[1] :])
    )


def fewest_cycles(least: Least, limits: Limits) -> Floats:
    """Return the cycles of the operations at least, if tiles limit the elements at work."""
    found = np.zeros(len(least.cycles))
    for limit in limits:
        key = "fewest cycles", limit
        if key not in least.known:
            least.known[key] = whole_at_least(cycles_of(least, limit))
        found = np.maximum(found, least.known[key])
    return found


def cycles_of(least: Least, limit: ElementLimit) -> Floats:
    """Return the cycles of the operations if a tile limits the elements at work."""
    every, arrays = frozenset(least.layer.bounds), len(least.architecture.arrays)
    relevant = least.relevant[limit.tensor]
    inside = range(limit.outside, arrays)
    working = least.unrolled.together(every, range(limit.outside))
    working = working * least.unrolled.together(every - relevant, inside)
    working = working * np.minimum(
        least.unrolled.together(relevant, inside), at_most(least, limit, relevant)
    )
    return least.architecture.compute.cycles * least.layer.operations / working


def at_most(least: Least, limit: ElementLimit, dimensions: frozenset[str]) -> float:
    """Return how many iterations of some dimensions the tile has at most."""
    return least.windows[limit.tensor].most_iterations(limit.words, dimensions)


def read_directly(
    least: Least, passing: Iterable[tuple[Link, Price]], limits: Limits = ()
) -> Floats:
    """Return what sends cost of words that operations read from a memory, or update."""
    parts = np.zeros(len(least.cycles))
    for link, price in passing:
        inside = least.segment[link.receiver]
        begin = max(least.segment[link.sender], link.first)
        for outside, own in ((begin, price.sent), *price.passed):
            key = "direct", link, outside, limits
            if key not in least.known:
                shared = sharing(least, link.tensor, (outside, inside), limits)
                words = least.layer.operations / shared
                least.known[key] = np.maximum(words, least.words[link.tensor])
            parts += own * least.known[key]
    return parts


def sharing(least: Least, t: int, arrays: tuple[int, int], limits: Limits) -> Floats:
    """Return how many iterations read a word of a tensor at a time, in the mean, across arrays."""
    irrelevant, windows = least.irrelevant[t], least.windows[t]
    shared = least.unrolled.instances(t, irrelevant, arrays)
    if least.most:
        # all iterations take whole steps; other numbers may stand for several dimensions
        alone = np.ones(len(least.cycles))
        for d in irrelevant:
            bound = least.layer.bounds[d]
            alone *= bound / np.ceil(bound / least.unrolled.instances(t, frozenset([d]), arrays))
        shared = np.minimum(shared, alone)
    for limit in limits:
        own = irrelevant & least.relevant[limit.tensor]
        outside, inside = min(max(limit.outside, arrays[0]), arrays[1]), arrays[1]
        if own and outside < inside:
            within = least.unrolled.instances(t, own, (outside, inside))
            within = np.minimum(within, at_most(least, limit, own))
            within = within * least.unrolled.instances(t, irrelevant - own, (outside, inside))
            beyond = least.unrolled.instances(t, irrelevant, (arrays[0], outside))
            shared = np.minimum(shared, within * beyond)
    for terms, pairs in zip(windows.terms, windows.pairs, strict=True):
        dimensions = frozenset(term.dimension for term in terms)
        if len(terms) == 2:
            several = sharing_a_window(least, t, terms, arrays)
            # as many of both have the fewest values
            root = np.sqrt(least.unrolled.sharing_windows(t, dimensions, arrays))
            several = np.minimum(several, root * root / (2 * root - 1))
        else:
            # sums of several numbers have at least as many values as all together, less one each
            along = np.array(
                [least.unrolled.sharing_windows(t, frozenset([d]), arrays) for d in dimensions]
            )
            several = along.prod(axis=0) / (along.sum(axis=0) - (len(along) - 1))
        shared = shared * np.minimum(pairs, several)
    return shared


def sharing_a_window(
    least: Least, t: int, terms: tuple[Term, ...], arrays: tuple[int, int]
) -> Floats:
    """Return how many iterations of two dimensions read a word at a time, in the mean."""
    names = [term.dimension for term in terms]
    whole, other = (least.layer.bounds[d] for d in names)
    along = [least.unrolled.sharing_windows(t, frozenset([d]), arrays) for d in names]
    m, n = (np.minimum(own, bound) for own, bound in zip(along, (whole, other), strict=True))
    others_of = [least.unrolled.others(t, d, arrays) for d in names]
    most = [own * n for own, n in zip(least.unrolled.most_of(names), others_of, strict=True)]
    # bounds of boxes are of regular mappings
    regular = [(own == 1.0) & bool(least.most) for own in others_of]
    words = words_of_sets(terms, (whole, other), (m, n), most, regular)
    return np.asarray(whole * other / words)


def words_of_sets(
    terms: tuple[Term, ...],
    bounds: tuple[int, int],
    along: Sequence[Floats],
    most: Sequence[Floats],
    regular: Sequence[Bools],
) -> Floats:
    """Return the words that elements read at a time, of all times together, at least.

    Parameters
    ----------
    terms : pair of Term
        Of the window.
    bounds : pair of int
    along : pair of arrays of choices
        Elements that read at a time along each dimension, at most.
    most : pair of arrays of choices
        Times of different iterations of each, at most.
    regular : pair of arrays of choices
        Whether nothing but regular loops over time divides these.
    """
    (m, n), (whole, other) = along, bounds
    common = gcd(*(term.coefficient for term in terms))
    first, second = (term.coefficient // common for term in terms)
    # where a set A of i meets those j whose b*j has one remainder for a, it needs |A| + |B| - 1
    # words; each pair of sets meets once, see `step_sets`
    sets, others = np.ceil(whole / m), np.ceil(other / n)
    classes = fewest_remainders(other, first, n, most[1], regular[1])
    words = sets * other + classes * (whole - sets)
    classes = fewest_remainders(whole, second, m, most[0], regular[0])
    return np.asarray(np.maximum(words, others * whole + classes * (other - others)))

"""Index expressions of several dimensions: how many of their iterations give the same word."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import ceil, gcd, inf, prod
from typing import NamedTuple

import numpy as np

from tilewright.kernels.types import Floats
from tilewright.workload.footprint import footprint
from tilewright.workload.layer import Tensor, Term

MOST_SHAPES = 100_000  # of tiles of an expression that are looked at
MOST_STEPS = 1000  # in words where there are more
AGAIN = 4 / 3  # times as many pairs where a tile comes back after some runs


def sliding(tensor: Tensor, bounds: Mapping[str, int]) -> list[tuple[Term, ...]]:
    """Return the terms of expressions of which several dimensions have more than one iteration."""
    live = [tuple(t for t in terms if bounds[t.dimension] > 1) for terms in tensor.expressions]
    return [terms for terms in live if len(terms) > 1]


def most_pairs(terms: Sequence[Term], bounds: Mapping[str, int]) -> float:
    """Return how many iterations of an index expression give the same word at most."""
    if len(terms) == 2:
        (a, m), (b, n) = ((t.coefficient, bounds[t.dimension]) for t in terms)
        g = gcd(a, b)
        return float(min(ceil(m / (b // g)), ceil(n / (a // g))))
    extents = [bounds[t.dimension] for t in terms]
    return float(prod(extents)) / max(extents)


class Windows:
    """The sliding expressions of a tensor.

    Parameters
    ----------
    tensor : Tensor
    bounds : mapping of str to int
        Iterations of every dimension.

    Attributes
    ----------
    terms : list of tuple of Term
        Of each expression, those whose dimensions have more than one iteration.
    dimensions : list of frozenset of str
        Their dimensions.
    pairs : list of float
        How many iterations of each expression give the same word at most.
    most : float
        The same, for all expressions together.
    mean : float
        How many of them give a word in the mean.
    """

    def __init__(self, tensor: Tensor, bounds: Mapping[str, int]) -> None:
        self.bounds = bounds
        self.terms = sliding(tensor, bounds)
        self.relevant = frozenset(tensor.dimensions)
        self.dimensions = [frozenset(term.dimension for term in own) for own in self.terms]
        self.pairs = [most_pairs(terms, bounds) for terms in self.terms]
        self.most = prod(self.pairs)
        self.mean = prod(bounds[d] for d in tensor.dimensions) / footprint(tensor, bounds)
        self.known: dict[tuple[float, frozenset[str] | None], float] = {}
        self.known_shared: dict[float, float] = {}

    def __bool__(self) -> bool:
        return bool(self.terms)

    def in_rows(self, e: int) -> bool:
        """Whether the words of a tile of an expression are a row of words."""
        return all(abs(term.coefficient) == 1 for term in self.terms[e])

    def most_iterations(self, words: float, spanned: frozenset[str]) -> float:
        """Return how many iterations a tile spans at most.

        Parameters
        ----------
        words : float
            Words of the tile, at most.
        spanned : frozenset of str
            Dimensions of which it may span several.
        """
        if words in (0.0, inf) or not self:
            return words
        names = [own & spanned for own in self.dimensions]
        key = words, self.relevant & spanned
        if key not in self.known:
            several = [i for i, own in enumerate(names) if len(own) > 1]
            tiles = [self.tiles(self.terms[i]) for i in several]
            fewest, most = together([steps(t.words, t.iterations, words) for t in tiles], words)
            rest = self.relevant.difference(*(self.dimensions[i] for i in several))
            others = np.minimum(
                np.floor(words / fewest), prod(self.bounds[d] for d in rest & spanned)
            )
            self.known[key] = float((most * others).max())
        return self.known[key]

    def most_reuse(self, words: float) -> float:
        """Return how many iterations a word gives in the mean while it is in a tile, at most.

        Between two loads of a whole tile one expression slides, and the others stay.

        Parameters
        ----------
        words : float
            Words of the tile, at most.
        """
        key = words, None
        if words < 1 or self.most == 1:
            return 1.0
        if key not in self.known:
            tiles = [self.tiles(terms) for terms in self.terms]
            stay = [steps(own.words, own.iterations / own.words, words) for own in tiles]
            slide = [steps(own.words, own.slid, words) for own in tiles]
            best = 1.0
            for e, own in enumerate(slide):
                best = max(best, together([*stay[:e], own, *stay[e + 1 :]], words)[1].max())
            self.known[key] = min(float(best), self.most)
        return self.known[key]

    def most_shared(self, words: float) -> float:
        """Return how many iterations a word gives at most that is sent to several elements.

        They have different iterations of one dimension of each expression, and the same of the
        other one. Of that, a tile of w words spans at most w iterations. One more comes in while it
        slides and comes back. Each iteration of all elements that a word is sent for is another one
        of these. Between two loads of a whole tile one expression slides, and the others stay.

        Parameters
        ----------
        words : float
            Words of the tile of an element, at most.
        """
        if any(len(terms) > 2 for terms in self.terms):
            return self.most
        if words in self.known_shared:
            return self.known_shared[words]
        spans = [np.arange(1.0, pairs + 1) for pairs in self.pairs]
        stay = [steps(own, own, max(1.0, words)) for own in spans]
        best = 1.0
        for e, own in enumerate(spans):
            slid = steps(own, np.minimum(own + 1, own[-1]), max(1.0, words))
            ways = together([*stay[:e], slid, *stay[e + 1 :]], max(1.0, words))
            best = max(best, float(ways[1].max()))
        self.known_shared[words] = best
        return best

    def tiles(self, terms: Sequence[Term]) -> WindowTiles:
        """Return all tiles of an expression, or of many ones what no tile exceeds."""
        most = most_pairs(terms, self.bounds)
        every = prod(self.bounds[t.dimension] for t in terms)
        if len(terms) > 2 or every > MOST_SHAPES:
            words = np.unique(np.geomspace(1, max(1.0, every / most), MOST_STEPS).astype(np.int64))
            following = np.append(words[1:] - 1, every)
            iterations = np.minimum(most * following, every)
            return WindowTiles(words.astype(np.float64), iterations, most * np.ones(len(words)))
        (a, bound), (b, other) = ((t.coefficient, self.bounds[t.dimension]) for t in terms)
        a, b = a // gcd(a, b), b // gcd(a, b)
        m, n = (np.indices((bound, other)).reshape(2, -1) + 1).astype(np.float64)
        words = m * n - np.maximum(0, m - b) * np.maximum(0, n - a)
        slid = np.full(len(m), most)
        if a == b == 1:
            run, around = np.minimum(bound, m + n), np.minimum(other, m + n)
            once = np.maximum(
                run * other / (run + other - 1), bound * around / (bound + around - 1)
            )
            slid = np.minimum(most, once * AGAIN)
        return WindowTiles(words, m * n, slid)


class WindowTiles(NamedTuple):
    """Tiles of an index expression.

    Attributes
    ----------
    words, iterations : array of tiles
    slid : array of tiles
        How many iterations give a word in the mean, at most, from one load of the tile to the next
        while it slides. A run brings in what tile and run span; with a loop on the other dimension
        around it, a tile comes back at the end of a run of m + n iterations, or does so after some
        runs only, of two at least, which is worth 4 / 3 at most. An array may leave a part of the
        iterations to others, so that what is left may be as close as in i + j.
    """

    words: Floats
    iterations: Floats
    slid: Floats


def steps(words: Floats, value: Floats, room: float) -> tuple[Floats, Floats]:
    """Return the fewest words for each value that no smaller tile has, both in ascending order."""
    fits = words <= room
    words, value = words[fits], value[fits]
    order = np.lexsort((-value, words))
    best = np.maximum.accumulate(value[order])
    first = np.flatnonzero(np.diff(best, prepend=0.0))
    return words[order][first], best[first]


def together(tables: Sequence[tuple[Floats, Floats]], room: float) -> tuple[Floats, Floats]:
    """Return words and values of several expressions, of what fits."""
    words, value = np.ones(1), np.ones(1)
    for own, more in tables:
        words = np.multiply.outer(words, own).ravel()
        fits = words <= room
        words, value = words[fits], np.multiply.outer(value, more).ravel()[fits]
    return words, value

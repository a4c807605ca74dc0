"""A tensor whose words stay in a memory, and what its tile leaves to stays inside it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import inf, prod

import numpy as np

from tilewright.kernels.types import Floats
from tilewright.mapper.relaxations.stays.unrolled import whole_at_most
from tilewright.mapper.windows.pairs import Windows


@dataclass(frozen=True)
class Stay:
    """A tensor whose words cross inward, for a number of spatial choices.

    Attributes
    ----------
    sent, received : array of choices
        Price of the words that are sent, and of those received in all instances, if there were one
        for each operation and for each operation in each instance that shares it.
    relevant, irrelevant : frozenset of str
        Its dimensions.
    windows : Windows
        Its sliding expressions.
    pairs : float
        How many of their iterations give the same word at most, where prices are not for each.
    longest : float or array of choices
        Most operations that a word serves, or for one order of tiles in all what words serve in the
        mean: they all cross once at least.
    room : float
        Words of its tile in one instance, at most.
    spread : dict of str to array of choices
        Instances along each dimension.
    instances : array of choices
        Instances along all irrelevant dimensions.
    most : callable, optional
        Most instances along some dimensions together, in arrays that bring a word of some tensor to
        several elements, if it is one; by default the product of those along each.
    again : array of choices, optional
        Part of the price received that is for words sent. Without it, nothing is known of how many
        iterations of a window give a word while it is in a tile.
    sharing : array of choices, optional
        Instances along dimensions of windows that a word is sent to at most.
    across : array of choices, optional
        The same where no more share a word than have different iterations of one dimension of each
        expression, see `Windows.most_shared`.
    place, bits : int, optional
        The memory whose room tiles share, and the bits of a word. By default each has room alone.
    whole : array of choices, optional
        Operations that a word serves in the mean if it is sent once, where all words are sent anew
        for each round of irrelevant dimensions.
    held : dict of str to array of choices, optional
        Iterations of each dimension in the tile at least.
    left : array of choices, optional
        Words of its tile at most, if those of others have the fewest that they can.
    tensor : int, optional
        Which one it is.
    elements : list of (array of choices, array of choices)
        Instances along both dimensions of each expression of two that a word is sent to at most.
    inside : int
        Arrays above the memory that receives it.
    between : callable, optional
        Instances along some dimensions of the arrays from one position on to another one.
    """

    sent: Floats
    received: Floats
    relevant: frozenset[str]
    irrelevant: frozenset[str]
    windows: Windows
    pairs: float
    longest: float | Floats
    room: float
    spread: Mapping[str, Floats]
    instances: Floats
    most: Callable[[frozenset[str], int | None], Floats] | None = None
    again: Floats | None = None
    sharing: Floats | None = None
    across: Floats | None = None
    place: int | None = None
    bits: int = 1
    whole: Floats | None = None
    held: Mapping[str, Floats] | None = None
    left: Floats | None = None
    tensor: int | None = None
    elements: Sequence[tuple[Floats, Floats]] = ()
    inside: int = 0
    between: Callable[[frozenset[str], int, int], Floats] | None = None

    def along(self, dimensions: frozenset[str], tensor: int | None = None) -> Floats:
        """Return the instances along some dimensions together, at most, see `most`."""
        if self.most is not None:
            return self.most(dimensions, tensor)
        found = np.ones(len(self.sent))
        for d in sorted(dimensions):
            found = found * self.spread[d]
        return found

    @property
    def slides(self) -> bool:
        """Whether it is known how many iterations of a window give a word in a tile."""
        return self.again is not None and self.windows.most > 1

    def reused(self, words: float) -> float:
        """Return how many iterations of windows give a word at most in a tile, of those in all."""
        if not self.slides:
            return 1.0
        return self.windows.most_reuse(words) / self.windows.most

    def shared(self, words: float) -> float:
        """Return how many iterations of windows give a word at most that is sent, of those in all.

        Times `across`, that is of all elements together.
        """
        if not self.slides:
            return 1.0
        return self.windows.most_shared(words) / self.windows.most


@dataclass(frozen=True)
class Inside:
    """What limits the product of Y of stays inside the tile of another one.

    Attributes
    ----------
    spanned : frozenset of str
        Dimensions of which the stays span several iterations.
    most : float
        The limit, of one iteration in the tile and one instance.
    held : frozenset of str
        Other dimensions of the outer tile, of which it has iterations for all elements further in.
    together : tuple of (frozenset of str, int or None)
        Dimensions, the instances along each of which together multiply the limit: where a word is
        sent to each of them, those that share one of the tensor whose stays span them.
    below, further : frozenset of str
        Dimensions, the instances along which multiply the limit where one of the two memories has
        several instances of the other one below it: the memory of the stays inside, or that of the
        outer tile.
    """

    spanned: frozenset[str]
    most: float
    held: frozenset[str]
    together: tuple[tuple[frozenset[str], int | None], ...]
    below: frozenset[str] = frozenset()
    further: frozenset[str] = frozenset()

    @classmethod
    def of(
        cls,
        outer: Stay,
        stays: Sequence[Stay],
        bounds: Mapping[str, int],
        windows: bool = False,
    ) -> Inside:
        """Return that of some stays.

        An iteration of a dimension relevant to the tile takes up room for one stay that spans it.
        What several stays span of a dimension, or any of an irrelevant one, may be the whole of it.
        A word of a window may come back after the stay of the outer tile, or slide on: it serves
        all pairs. With `windows`, it serves as many as the outer tile spans in one instance.
        """
        counts = dict.fromkeys(bounds, 0)
        pairs = 1.0
        slid: set[str] = set()
        for stay in stays:
            for d in stay.irrelevant:
                counts[d] += 1
            for e, dimensions in enumerate(stay.windows.dimensions):
                shared = sorted(dimensions & outer.relevant)
                if windows and len(shared) == len(dimensions) - 1:
                    slid.update(shared)
                    for d in shared:
                        counts[d] += 1
                else:
                    pairs *= stay.windows.pairs[e] if windows else 1.0
            pairs *= 1.0 if windows else stay.pairs
        spanned = frozenset(d for d, count in counts.items() if count > 0)
        takes_room = frozenset(d for d in spanned if d in outer.relevant)
        most = pairs
        for d, count in counts.items():
            most *= float(bounds[d]) ** (count - (d in takes_room))
        # what a tensor's stays gain by several instances is what `Stay.received` counts for it
        alone = frozenset(d for d in takes_room if counts[d] == 1)
        together = [(stay.irrelevant & alone, stay.tensor) for stay in stays]
        together += [(frozenset((d,)), None) for d in sorted(takes_room - alone)]
        # what fits a tile that slides is no product
        held = frozenset() if outer.windows else outer.relevant - spanned
        own = tuple(each for each in together if each[0])
        return cls(spanned, most, held, own, frozenset(slid))

    @classmethod
    def spanned_by(cls, outer: Stay, inner: Stay, bounds: Mapping[str, int]) -> Inside:
        """Return what limits Y of a stay of which another tensor spans a number of words.

        Where the stay spans several dimensions of a window, a word stands for all of its pairs.
        """
        free = outer.irrelevant & inner.irrelevant
        most = outer.pairs * prod(float(bounds[d]) for d in free)
        windows = inner.windows
        for dimensions, pairs in zip(windows.dimensions, windows.pairs, strict=True):
            most *= pairs if len(dimensions & outer.irrelevant) > 1 else 1.0
        spanned = outer.irrelevant - free
        together = ((spanned, outer.tensor),) if spanned else ()
        return cls(spanned, most, frozenset(), together, further=spanned)

    def limit(self, outer: Stay, inner: Stay) -> Floats:
        """Return what each iteration of those that stays may span counts for, for every choice."""
        limit = np.full(len(outer.sent), self.most)
        for own, tensor in self.together:
            limit = limit * outer.along(own, tensor)
        if outer.between is not None and self.below and inner.inside < outer.inside:
            limit = limit * outer.between(self.below, inner.inside, outer.inside)
        if outer.between is not None and self.further and outer.inside < inner.inside:
            limit = limit * outer.between(self.further, outer.inside, inner.inside)
        return limit

    def others(self, outer: Stay) -> Floats:
        """Return the iterations in the tile at least of those that no stay spans."""
        others = np.ones(len(outer.sent))
        if outer.held is not None:
            for d in sorted(self.held):
                others = others * outer.held[d]
        return others

    def room(self, outer: Stay) -> Floats:
        """Return the most iterations in the tile, for every choice."""
        if outer.left is None or outer.windows:
            return np.full(len(outer.sent), inf)
        return outer.left


def most_inside(outer: Stay, stays: Sequence[Stay], bounds: Mapping[str, int]) -> Floats:
    """Return the most that the product of Y can be for stays inside the tile of another one."""
    inside = Inside.of(outer, stays, bounds)
    most = outer.windows.most_iterations(outer.room, inside.spanned)
    return whole_at_most(most / inside.others(outer)) * inside.limit(outer, outer)

"""DividedChunks of a dimension that an array divides, and how many steps they take."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache
from math import ceil, exp, floor, inf, log, prod
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from tilewright.kernels.types import Floats, Ints

if TYPE_CHECKING:
    from tilewright.mapper.relaxations.joint.extents import Extents

MOST_LISTED = 1 << 12  # extents of a chunk
MOST_ITERATIONS = 256  # of a dimension for all chunks of its elements to be looked at
WHOLE = 1e-6  # of a number that may be whole but for rounding
MORE = 1e-5  # of what a solution has: less is not worth a decision
TWICE = 2.0  # times as much, for more than that

Pair = tuple[int, int]


class Cut(NamedTuple):
    """What no mapping has.

    Attributes
    ----------
    worth : float
        An estimate of what it raises the bound by, as a logarithm.
    inside : (int, int)
        Two stays, of which the second one is inside of the first one.
    most : list of (int, int)
        Variables, and how much they are at most.
    """

    worth: float
    inside: Pair
    most: list[Pair]


class DividedChunks(NamedTuple):
    """Chunks of a dimension which an array divides, and tiles of its elements.

    Of each chunk, the first element has s or, of a short one, all; with E elements, s is a part in
    E of the longest one at least. Loops further in change nothing about that. So all chunks
    together take the steps of as many whole ones as there may be and one with the rest, or more:
    min(s, x) is concave in x.

    Attributes
    ----------
    bound : int
        Iterations of the dimension.
    elements : int
        Most elements along it.
    shortest, longest : int
        Between what the longest chunk is.
    rounds : int
        How often loops above the array, and those between it and a tile, advance at most.
    tile : int
        The longest tile of an element.
    """

    bound: int
    elements: int
    shortest: int
    longest: int
    rounds: int
    tile: int

    def extents(self) -> tuple[Ints, Floats]:
        """Return what the longest chunk may be, and 0, or infinity where it may not.

        Where loops between array and tile have several steps, each chunk has two or more; where
        they have not, a chunk is the tiles of all elements at most.
        """
        chunks = np.arange(self.shortest, self.longest + 1)
        twice = 2 * -(-self.bound // chunks) <= self.rounds
        return chunks, np.where(twice | (chunks <= self.elements * self.tile), 0.0, inf)

    def steps(self) -> Floats:
        """Return the fewest steps with each extent of the longest chunk."""
        chunks, forbidden = self.extents()
        each = -(-chunks // self.elements)
        return self.bound // chunks * each + np.minimum(each, self.bound % chunks) + forbidden

    def parts(self, steps: int) -> Floats:
        """Return the fewest parts that elements have, in so many steps at most."""
        chunks, forbidden = self.extents()
        number, rest = self.bound // chunks, self.bound % chunks
        # the longest parts, of a rest that is shorter than one or not
        some, all_ = steps // (number + 1), (steps - rest) // number
        longest = np.where((rest > 0) & (some < rest), some, all_)
        longest = np.minimum(longest, chunks)
        fewest = np.maximum(longest, 1)
        whole = fewest_whole(self.bound, chunks)
        found = whole * -(-chunks // fewest) + -(-(self.bound - whole * chunks) // fewest)
        return np.where(longest >= -(-chunks // self.elements), found, inf) + forbidden


class WiderChunks(NamedTuple):
    """Chunks of a dimension above an array, which other loops may divide before the array does.

    Attributes
    ----------
    bound, elements, shortest, longest : int
        As for `DividedChunks`.
    """

    bound: int
    elements: int
    shortest: int
    longest: int

    def steps(self) -> Floats:
        """Return the fewest steps with each extent of the longest chunk."""
        chunks = np.arange(self.shortest, self.longest + 1)
        whole = fewest_whole(self.bound, chunks)
        rest = self.bound - whole * chunks
        return (whole * -(-chunks // self.elements) + -(-rest // self.elements)).astype(np.float64)

    def parts(self, steps: int) -> Floats:
        """Return the fewest parts that elements have: nothing is known of them."""
        return np.ones(self.longest - self.shortest + 1)


def fewest_whole(bound: int, chunks: Ints) -> Ints:
    """Return how many chunks have the extent of the longest one, at least.

    Each loop makes two chunks or more, and all but the last one are whole.
    """
    return (-(-bound // chunks) + 1) // 2


@lru_cache(maxsize=1 << 14)
def fewest_steps(chunks: DividedChunks | WiderChunks) -> float:
    """Return the fewest steps of any chunks."""
    return float(chunks.steps().min())


@lru_cache(maxsize=1 << 14)
def fewest_parts(chunks: DividedChunks | WiderChunks, steps: int) -> float:
    """Return the fewest parts of any chunks in so many steps at most."""
    return float(chunks.parts(steps).min())


@lru_cache(maxsize=1 << 14)
def element_chunks(bound: int, fewest: float, most: float, steps: int) -> tuple[int, ...]:
    """Return what the longest chunk of an element may be, in so many steps at most.

    Parameters
    ----------
    bound : int
        Iterations of the dimension.
    fewest, most : float
        Between how many times as many all elements have.
    steps : int
    """
    found = []
    for own in range(1, min(steps, int(bound / fewest + WHOLE)) + 1):
        chunks = np.arange(ceil(fewest * own - WHOLE), min(bound, int(most * own + WHOLE)) + 1)
        # as `DividedChunks.steps`
        taken = bound // chunks * own + np.minimum(own, bound % chunks)
        if (taken <= steps).any():
            found.append(own)
    return tuple(found)


class ArrayChunks:
    """The chunks of a dimension that one array alone divides.

    A stay of the dimension above the array is as long as these chunks at least. A tile below it
    that has the dimension comes in anew with each chunk, in each element, and so does what stays
    inside of it: so there are no more chunks than times that this comes in.

    Parameters
    ----------
    extents : Extents
    array : int
        Its position.
    d : str
        The dimension.
    steps : int
        The variable of its steps.
    """

    def __init__(self, extents: Extents, array: int, d: str, steps: int) -> None:
        self.d, self.steps, self.bound = d, steps, extents.bounds[d]
        self.place = extents.position[d]
        self.every = extents.halves
        self.halves = [k for k, each in enumerate(extents.halves) if each.array == array]
        others = (k for k in extents.arrays if k != array)
        self.others = list(extents.along(others, (d,)))
        self.own = list(extents.along((array,), (d,)))
        self.above: dict[int, int] = {}
        self.tiles: dict[int, int] = {}
        for i, stay in enumerate(extents.stays):
            if d in extents.least.relevant[stay.tensor]:
                below = extents.segment[stay.receiver] > array
                (self.tiles if below else self.above)[i] = extents.extents[i][d]
        # of what may stay inside: times that it comes in, and those below for each element
        self.rounds: dict[int, int] = {}
        self.parts: dict[int, list[int]] = {}
        along = set(extents.along((array,), (d,)))
        for (i, own, shared), v in extents.known_times.items():
            if own == d and i >= 0:
                outside = range(extents.segment[extents.stays[i].receiver])
                if len(shared) == len(extents.along(outside, (d,))):
                    self.rounds[i] = v
                if array in outside and not along & set(shared):
                    self.parts.setdefault(i, []).append(v)

    def pairs(self) -> Iterator[Pair]:
        """Yield stays of the dimension, and those that may be inside of them."""
        for i in (*self.above, *self.tiles):
            for k in self.rounds:
                if i != k and (i in self.above or k in self.parts):
                    yield i, k

    def divides(self, parts: Sequence[int], high: Floats) -> bool:
        """Whether the array has several elements along the dimension, and no other one has."""
        return self.elements(parts, high) > 1 and all(high[v] < WHOLE for v in self.others)

    def elements(self, parts: Sequence[int], high: Floats) -> int:
        """Return the most elements along the dimension of parts of spatial choices, and ranges."""
        most = prod(int(self.every[k].widest[parts[k], self.place]) for k in self.halves)
        return min(most, prod(ceil(exp(high[v]) - WHOLE) for v in self.own))

    def chunks(self, parts: Sequence[int], pair: Pair, most: Floats) -> DividedChunks | WiderChunks:
        """Return the chunks there may be, with the most of each variable."""
        i, k = pair
        rounds = whole(most[self.rounds[k]])
        elements, shortest = self.elements(parts, most), -(-self.bound // rounds)
        if i in self.above:
            longest = min(self.bound, whole(most[self.above[i]]))
            return WiderChunks(self.bound, elements, shortest, longest)
        longest = min([self.bound, *(whole(most[v]) for v in self.above.values())])
        tile = whole(most[self.tiles[i]])
        return DividedChunks(self.bound, elements, shortest, longest, rounds, tile)

    def best(self, inside: frozenset[Pair], parts: Sequence[int], point: Floats) -> Pair | None:
        """Return the variable of a stay, and the chunk that takes the fewest steps, if known.

        Parameters
        ----------
        inside : set of (int, int)
            Stays, of which the second one is inside of the first one.
        parts : sequence of int
            Of spatial choices.
        point : array of variables
            A solution, in which chunks may be longer.
        """
        found: list[tuple[float, int]] = []
        for pair in self.pairs():
            if pair not in inside or pair[0] in self.above or not self.above:
                continue
            own = self.chunks(parts, pair, point)
            if own.shortest <= own.longest <= own.shortest + MOST_LISTED:
                steps = own.steps()
                found.append((-float(steps.min()), own.shortest + int(np.argmin(steps))))
        if not found:
            return None
        return min(self.above.values(), key=lambda v: float(point[v])), min(found)[1]

    def settle(self, inside: frozenset[Pair], parts: Sequence[int], ranges: Floats) -> bool:
        """Raise ranges by what chunks there may be; False if there are none.

        Parameters
        ----------
        inside : set of (int, int)
            Stays, of which the second one is inside of the first one.
        parts : sequence of int
            Of spatial choices.
        ranges : array of (2, variables)
        """
        low, high = ranges
        pairs = [pair for pair in self.pairs() if pair in inside]
        if not pairs or not self.divides(parts, high):
            return True
        for pair in pairs:
            own = self.chunks(parts, pair, high)
            if own.longest < own.shortest:
                return False
            if own.longest > own.shortest + MOST_LISTED:
                continue
            steps = fewest_steps(own)
            few = fewest_parts(own, whole(min(high[self.steps], log(self.bound))))
            if inf in (steps, few):
                return False
            low[self.steps] = max(low[self.steps], log(steps))
            for v in self.parts.get(pair[1], ()):
                low[v] = max(low[v], log(few))
        return True

    def of_elements(self, parts: Sequence[int], ranges: Floats) -> tuple[int, ...] | None:
        """Limit tiles to chunks that an element may have, and return these, or None if not known.

        Parameters
        ----------
        parts : sequence of int
            Of spatial choices.
        ranges : array of (2, variables)
        """
        high = ranges[1]
        if self.bound > MOST_ITERATIONS or not self.divides(parts, high):
            return None
        found = self.some_chunks(ranges, whole(min(high[self.steps], log(self.bound))))
        for v in self.tiles.values() if found else ():
            high[v] = min(high[v], log(found[-1]))
        return found

    def some_chunks(self, ranges: Floats, steps: int) -> tuple[int, ...]:
        """Return the chunks that an element may have in so many steps at most."""
        fewest, most = (exp(sum(ends[v] for v in self.own)) for ends in ranges)
        shortest = max((exp(ranges[0, v]) for v in self.tiles.values()), default=1.0)
        found = element_chunks(self.bound, fewest, most, steps)
        return tuple(own for own in found if own >= shortest - WHOLE)

    def fewer_chunks(self, parts: Sequence[int], ranges: Floats, point: Floats) -> int | None:
        """Return the steps of a solution, if an element has other chunks with no more of them."""
        steps, most = whole(point[self.steps]), whole(min(ranges[1, self.steps], log(self.bound)))
        if steps == most or self.bound > MOST_ITERATIONS or not self.divides(parts, ranges[1]):
            return None
        few = self.some_chunks(ranges, steps)
        return steps if few != self.some_chunks(ranges, most) else None

    def cut(
        self,
        pair: Pair,
        parts: Sequence[int],
        point: Floats,
        high: Floats,
        powers: tuple[float, float],
    ) -> Cut | None:
        """Return what is wrong with a solution in which one stay is inside of another one.

        Parameters
        ----------
        pair : (int, int)
            The two, the outer one first.
        parts : sequence of int
            Of spatial choices.
        point, high : arrays of variables
            The solution, and the ends of ranges.
        powers : pair of float
            Of the steps, and of what comes in for the inner one, in the objective.
        """
        if not self.above or not self.divides(parts, high):
            return None
        i, k = pair
        # of the stays above the array, the one that has least of the dimension decides
        above = self.above.get(i, min(self.above.values(), key=lambda v: float(point[v])))
        rounds, steps = self.rounds[k], whole(point[self.steps])
        most = high.copy()
        most[rounds] = point[rounds]
        here = self.chunks(parts, pair, most)
        # a solution may have a little less than a whole number
        place = max(0, min(whole(point[above]), here.longest) - here.shortest)
        if here.longest < here.shortest or place > MOST_LISTED:
            return None
        here = here._replace(longest=min(here.longest, here.shortest + MOST_LISTED))
        tried: list[tuple[DividedChunks | WiderChunks, list[Pair]]] = [(here, [])]
        if isinstance(here, DividedChunks):
            tile = whole(point[self.tiles[i]])
            tried.append((here._replace(tile=tile), [(self.tiles[i], tile)]))
        counts = [(self.steps, powers[0], False)]
        counts += [(v, powers[1], True) for v in self.parts.get(k, ())]
        for own, more in tried:
            for v, power, limited in counts:
                few = np.minimum.accumulate(own.parts(steps) if limited else own.steps())
                missing = few > exp(point[v]) * (1 + MORE)
                if power > 0 and missing[place]:
                    end = own.shortest + int(np.flatnonzero(missing)[-1])
                    worth = power * log(min(few[place] / exp(point[v]), TWICE))
                    limits = [(rounds, whole(point[rounds])), (above, end), *more]
                    if limited:
                        limits.append((self.steps, steps))
                    return Cut(worth, pair, limits)
        return None


def whole(logarithm: float) -> int:
    """Return a whole number, or the next one below."""
    return floor(exp(logarithm) + WHOLE)

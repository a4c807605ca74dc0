"""What elements have of a dimension in one step, and how many remainders these iterations have.

Loops over a dimension divide its iterations into sets, one for each step: what all elements have at
a time. Take a window a*i + b*j. Where a set of i meets a set of j, the words of each remainder that
b*j has for a stand apart. So the fewer remainders the sets of all steps have in sum, the fewer
words they read. With few elements, or few steps, they cannot have few: of five iterations in three
steps, regular loops give two elements {0, 3}, {1, 4} and {2} at best, with five remainders for 2.
{0, 2}, {1, 3} and {4} would have three.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from tilewright.kernels.types import Bools, Floats

# iterations of a dimension whose sets are listed, of regular loops and of any: one more takes twice
# as long
MOST_REGULAR, MOST_LISTED = 14, 11
NONE = 0, 0

Part = tuple[int, int]
"""Iterations of a set, and their remainders as bits."""

Row = tuple[Part, ...]
"""What a step has of chunks of several extents."""


class Way(NamedTuple):
    """The steps of chunks of several extents, and how many elements each chunk has."""

    steps: tuple[Row, ...]
    elements: tuple[int, ...]


class StepSets:
    """All ways in which loops divide a dimension into sets, as far as remainders tell them apart.

    Parameters
    ----------
    modulus : int
        Of the remainders.
    regular : bool
        Whether loops over time are regular, see `results/regular.py`; else they are any.
    """

    def __init__(self, modulus: int, *, regular: bool) -> None:
        self.modulus, self.regular = modulus, regular
        self.known: dict[tuple[int, ...], frozenset[Way]] = {}

    def turned(self, part: Part, by: int) -> Part:
        """Return a set some iterations further on."""
        size, bits = part
        by %= self.modulus
        whole = (1 << self.modulus) - 1
        return size, (bits << by | bits >> (self.modulus - by)) & whole

    def ways(self, extents: tuple[int, ...]) -> frozenset[Way]:
        """Return the steps of chunks of these extents, ascending, in every way.

        The loops are the same in all of them. The outermost one is over elements or over time, and
        cuts each chunk into parts, of which the last may be short. The innermost one over time has
        nothing inside of it that it could change for some elements alone.
        """
        if extents in self.known:
            return self.known[extents]
        alone = (
            tuple(self.turned((1, 1), c) if c < extent else NONE for extent in extents)
            for c in range(extents[-1])
        )
        found = {Way(tuple(sorted(alone)), (1,) * len(extents))}
        for tile in range(1, extents[-1]):
            counts = [-(-extent // tile) for extent in extents]
            rests = [e - (n - 1) * tile for e, n in zip(extents, counts, strict=True)]
            inside = tuple(sorted({*rests, *([tile] if max(counts) > 1 else [])}))
            at = {extent: i for i, extent in enumerate(inside)}
            # of each chunk, its parts
            parts = [
                [at[tile]] * (n - 1) + [at[rest]] for n, rest in zip(counts, rests, strict=True)
            ]
            for rows, elements in self.ways(inside):
                over_elements, over_time = [], []
                for row in rows:
                    each = [
                        [self.turned(row[p], c * tile) for c, p in enumerate(own)] for own in parts
                    ]
                    over_elements.append(tuple(map(together, each)))
                    over_time += [
                        tuple(own[c] if c < len(own) else NONE for own in each)
                        for c in range(max(counts))
                    ]
                number = tuple(sum(elements[p] for p in own) for own in parts)
                found.add(Way(at_work(over_elements), number))
                # an element without a part of the last chunk has a step less
                steps = set(counts) | {
                    len(own) - 1
                    for own in parts
                    if len(own) > 1 and elements[own[-1]] < elements[own[0]]
                }
                if not self.regular or len(steps) == 1 or 1 not in steps:
                    found.add(Way(at_work(over_time), tuple(elements[own[0]] for own in parts)))
        self.known[extents] = frozenset(found)
        return self.known[extents]


def at_work(rows: list[Row]) -> tuple[Row, ...]:
    """Return the steps that have something, in an order that does not tell them apart."""
    return tuple(sorted(row for row in rows if any(n for n, _ in row)))


def together(parts: list[Part]) -> Part:
    """Return some sets as one."""
    bits = 0
    for _, own in parts:
        bits |= own
    return sum(size for size, _ in parts), bits


@lru_cache(maxsize=64)
def fewest_listed(bound: int, modulus: int, *, regular: bool) -> Floats:
    """Return the remainders of all sets in sum, at least.

    Returns
    -------
    array of (bound + 1, bound + 1)
        For every number of iterations that a set has at most, and of sets at most; infinite where
        these are too few.
    """
    least = np.full((bound + 1, bound + 1), np.inf)
    for way in StepSets(modulus, regular=regular).ways((bound,)):
        own = [part for (part,) in way.steps]
        place = max(size for size, _ in own), len(own)
        least[place] = min(least[place], sum(bits.bit_count() for _, bits in own))
    return np.minimum.accumulate(np.minimum.accumulate(least, axis=0), axis=1)


def fewest_remainders(
    bound: int, modulus: int, most: Floats, sets: Floats, regular: Bools
) -> Floats:
    """Return the remainders of all sets of a dimension in sum, at least.

    Parameters
    ----------
    bound : int
        Iterations of the dimension.
    modulus : int
    most : array of choices
        Iterations of a set, at most: whole numbers.
    sets : array of choices
        How many there are, at most: whole numbers, or infinite.
    regular : array of choices
        Whether sets are divided by regular loops over time alone.
    """
    classes = min(modulus, bound)
    small = bound // classes  # iterations of one remainder, at least
    # each set has one, and each remainder is in some set
    fewest = np.maximum(np.ceil(bound / most), np.ceil(bound / np.ceil(bound / modulus)))
    # sets have room for so many remainders as a whole; any other is in two of them
    each = np.minimum(most // small, classes)
    alone = np.where(each > 0, np.minimum(sets, bound) * each, 0.0)
    fewest = np.maximum(fewest, 2 * classes - np.minimum(classes, alone))
    if modulus == 1:
        return np.asarray(fewest)
    place = np.minimum(most, bound).astype(np.int64), np.minimum(sets, bound).astype(np.int64)
    if bound <= MOST_LISTED and not regular.all():
        fewest = np.maximum(fewest, fewest_listed(bound, modulus, regular=False)[place])
    if bound <= MOST_REGULAR and regular.any():
        listed = fewest_listed(bound, modulus, regular=True)[place]
        fewest = np.where(regular, np.maximum(fewest, listed), fewest)
    # where there are no such sets, all iterations are as good a bound as any
    return np.asarray(np.minimum(fewest, bound))

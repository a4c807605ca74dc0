"""Spills of an access: in closed form where there is one, else class by class."""

from __future__ import annotations

from math import prod

import numpy as np

from tilewright.errors import InputError
from tilewright.kernels.types import Bools, Ints
from tilewright.retention.spills.access import Access
from tilewright.retention.spills.classes import Classes, classify
from tilewright.retention.spills.groups import group_spills
from tilewright.retention.spills.walk import MOST_STEPS, count_spills


class SpillCounter:
    """Counts the spills of one access for any capacity.

    Attributes
    ----------
    access : Access
        What the memory needs, step by step.
    words : int
        Words that are ever touched.
    again : int
        Words that enter again because they begin anew, whatever the capacity.
    in_groups : bool
        Whether the closed form holds: no dimension is cut twice, and none that shares its index
        expression with another is cut at all.
    """

    def __init__(self, access: Access) -> None:
        self.access = access
        cut = [dimension for dimension, _ in access.loops]
        shares = [axis >= 0 and access.bounds[d] > 1 for d, axis in enumerate(access.axes)]
        alone = [
            sum(share for share, other in zip(shares, access.axes, strict=True) if other == axis)
            for axis in access.axes
        ]
        self.in_groups = not (access.anew or access.pins) and (
            len(set(cut)) == len(cut) and all(access.axes[d] < 0 or alone[d] == 1 for d in cut)
        )
        self._seen: dict[int, int] = {}
        self._classes: Classes | None = None
        self._groups: tuple[Bools, Ints, Ints, int] | None = None
        if self.in_groups:
            relevant = np.array([access.axes[d] >= 0 for d in cut], np.bool_)
            bound = np.array([access.bounds[d] for d in cut], np.int64)
            tile = np.array([t for _, t in access.loops], np.int64)
            words = access.block_words // prod(int(t) for t in tile[relevant])
            self._groups = relevant, bound, tile, words
        self.words, self.again = access.words, 0
        if access.pins:
            self._classes = classify(*access.arrays())
            self.words = touched(self._classes)
        if access.anew:
            self.again = self._count(self.words)

    def __call__(self, capacity: int) -> int:
        """Return how often a word leaves that is used again, when the best words stay.

        Raises
        ------
        InputError
            When a block does not fit, or the loops have too many steps.
        """
        if capacity >= self.words:
            return 0
        if capacity not in self._seen:
            self._seen[capacity] = self._count(capacity) - self.again
        return self._seen[capacity]

    def _count(self, capacity: int) -> int:
        if self.access.block_words > capacity:
            raise InputError(
                f"a block has {self.access.block_words} words; the memory holds {capacity}"
            )
        if self._groups is not None:
            spills = int(group_spills(*self._groups, capacity))
        else:
            if self._classes is None:
                self._classes = classify(*self.access.arrays())
            spills = int(count_spills(self._classes, capacity, self.access.anew))
        if spills < 0:
            raise InputError(f"the loops have more than {MOST_STEPS} steps; fewer can be counted")
        return spills


def touched(classes: Classes) -> int:
    """Return the words of all classes."""
    words = 1
    for axis in range(len(classes.axis_start) - 1):
        first, last = classes.start[classes.axis_start[axis : axis + 2]]
        _, once = np.unique(classes.number[first:last], return_index=True)
        words *= int(classes.words[first:last][once].sum())
    return words

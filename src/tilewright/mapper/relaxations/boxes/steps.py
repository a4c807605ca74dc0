"""Steps in time that a dimension takes, in ranges that are divided where it decides."""

from __future__ import annotations

from math import inf

import numpy as np


class StepRanges:
    """Ranges of the steps that a dimension takes, all elements together.

    Its iterations are divided into s steps, whichever iterations other dimensions have. So a word
    of a tensor that it is irrelevant to is read in s steps at least where operations read it from a
    memory, and at a time as many iterations as are left of it share the word, in the mean. What all
    elements have at a time is in the tiles of the memories above: those of the longest step are at
    least as many as of a step in the mean.

    Attributes
    ----------
    fewest, most : array of ranges
        The first one has all numbers.
    """

    def __init__(self) -> None:
        self.fewest = np.array([1.0])
        self.most = np.array([inf])
        self.divided: dict[tuple[int, float], tuple[int, int]] = {}

    def divide(self, part: int, fewest: float) -> tuple[int, int] | None:
        """Return two parts of a range, or None if it has a single number.

        Parameters
        ----------
        fewest : float
            Steps at least, for another reason.
        """
        low, high = max(float(self.fewest[part]), fewest), float(self.most[part])
        if low >= high:
            return None
        middle = 2 * low - 1 if high == inf else (low + high) // 2
        if (part, middle) not in self.divided:
            begin = len(self.fewest)
            self.fewest = np.append(self.fewest, [self.fewest[part], middle + 1])
            self.most = np.append(self.most, [middle, high])
            self.divided[part, middle] = begin, begin + 1
        return self.divided[part, middle]

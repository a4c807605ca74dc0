"""A compiled set of 64-bit numbers: what was seen before."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tilewright.kernels.kernel import kernel
from tilewright.kernels.types import Bools

Hashes = NDArray[np.uint64]


class Seen:
    """Numbers that were added; 0 counts as 1. 16 to 32 bytes for each."""

    def __init__(self) -> None:
        self.table = np.zeros(1 << 12, np.uint64)
        self.count = 0

    def add(self, numbers: Hashes) -> Bools:
        """Add numbers and return which of them were new, the first of equal ones."""
        while 2 * (self.count + len(numbers)) > len(self.table):
            old = self.table[self.table != 0]
            self.table = np.zeros(2 * len(self.table), np.uint64)
            insert(self.table, old, np.zeros(len(old), np.bool_))
        new = np.zeros(len(numbers), np.bool_)
        insert(self.table, np.maximum(numbers, np.uint64(1)), new)
        self.count += int(new.sum())
        return new


@kernel
def insert(table: Hashes, numbers: Hashes, new: Bools) -> None:
    """Put numbers into a table by open addressing; tell which were not in it."""
    mask = np.uint64(len(table) - 1)
    for i in range(len(numbers)):
        place = numbers[i] & mask
        while table[place] != 0 and table[place] != numbers[i]:
            place = (place + np.uint64(1)) & mask
        if table[place] == 0:
            table[place] = numbers[i]
            new[i] = True

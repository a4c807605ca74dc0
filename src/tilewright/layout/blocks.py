"""How many blocks of memory a set of words touches, digit by digit of the layout.

Words are a product of one set of indices per axis. A layout is a number system: each part of an
axis is a digit, and all words below one value of a digit lie before those below the next. So the
blocks below a digit are those below its values, one after the other, less one wherever a block
ends in one value and the next value begins in it. What that takes depends on the place within a
block where the words begin, and on nothing else: tables over that place are put together from the
innermost digit outward.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

import numpy as np

from tilewright.kernels.kernel import kernel
from tilewright.kernels.types import Ints
from tilewright.workload.axis_order import Digit

Indices = tuple[int, ...]
COUNT, FIRST, LAST = range(3)


class Blocks:
    """Counts the blocks of one tensor in one layout.

    Parameters
    ----------
    where : sequence of Digit
        How addresses follow from indices, see `workload.layout.digits`.
    block : int
        Words in a block; the tensor begins at the first word of one.
    """

    def __init__(self, where: Sequence[Digit], block: int) -> None:
        self.where = tuple(where)
        self.block = block
        axes = 1 + max((digit.axis for digit in where), default=-1)
        self.first = tuple(
            next(digit for digit in where if digit.axis == axis) for axis in range(axes)
        )
        self.table = cache(self._table)

    def origin(self, axis: int, index: int) -> tuple[int, int]:
        """Return an address in whole tiles of an axis before an index, and the index from there."""
        digit = self.first[axis]
        return index // digit.step * digit.stride, index % digit.step

    def touched(self, words: tuple[Indices, ...]) -> Ints:
        """Return the blocks that words touch, by the place in a block from which they are counted.

        Parameters
        ----------
        words : tuple of tuple of int
            Ascending indices along each axis.
        """
        counts: Ints = self.table(0, words)[COUNT]
        return counts

    def _table(self, position: int, words: tuple[Indices, ...]) -> Ints:
        """Return the number of blocks below some digits, the first one and the last one."""
        if position == len(self.where):
            result = np.zeros((3, self.block), np.int64)
            result[COUNT] = 1
            return result
        digit = self.where[position]
        groups: dict[int, list[int]] = {}
        for index in words[digit.axis]:
            groups.setdefault(index // digit.step, []).append(index % digit.step)
        below: dict[Indices, int] = {}
        which = [below.setdefault(tuple(rest), len(below)) for rest in groups.values()]
        tables = np.stack(
            [
                self.table(position + 1, (*words[: digit.axis], rest, *words[digit.axis + 1 :]))
                for rest in below
            ]
        )
        values = np.array(list(groups), np.int64)
        return stacked(values, np.array(which, np.int64), tables, digit.stride)


@kernel
def stacked(values: Ints, which: Ints, tables: Ints, stride: int) -> Ints:
    """Put the blocks below the values of a digit one after the other.

    Parameters
    ----------
    values : array of int
        Values of the digit, ascending.
    which : array of int
        Table of what lies below each of them.
    tables : array of (tables, 3, words of a block)
        Blocks, first block and last block, by the place in a block.
    stride : int
        Words from one value to the next.
    """
    block = tables.shape[2]
    result = np.empty((3, block), np.int64)
    for place in range(block):
        total = 0
        last = -1
        for i in range(len(values)):
            at = place + values[i] * stride
            base = at // block
            rest = at - base * block
            table = which[i]
            begin = base + tables[table, FIRST, rest]
            if i == 0:
                result[FIRST, place] = begin
            elif begin == last:
                total -= 1
            total += tables[table, COUNT, rest]
            last = base + tables[table, LAST, rest]
        result[COUNT, place] = total
        result[LAST, place] = last
    return result

"""An order of numbers inside kernels: NumPy's takes a second to compile."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tilewright.kernels.kernel import leaf

if TYPE_CHECKING:
    from tilewright.kernels.types import Floats, Ints


@leaf
def ascending(values: Floats | Ints, order: Ints, other: Ints) -> None:
    """Fill the positions of values from the least to the largest, those of equal ones in turn.

    Parameters
    ----------
    other : array like the order
        For use in between.
    """
    size = len(order)
    for i in range(size):
        order[i] = i
    run = 1
    while run < size:
        for begin in range(0, size, 2 * run):
            middle, end = min(begin + run, size), min(begin + 2 * run, size)
            i, j = begin, middle
            for k in range(begin, end):
                if i < middle and (j == end or values[order[i]] <= values[order[j]]):
                    other[k] = order[i]
                    i += 1
                else:
                    other[k] = order[j]
                    j += 1
        for k in range(size):
            order[k] = other[k]
        run *= 2

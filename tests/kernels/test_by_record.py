"""Parts that kernels call by one name, chosen by the kind of record."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tilewright.kernels.by_record import by_record
from tilewright.kernels.kernel import kernel, leaf
from tilewright.kernels.record import record


@record
class Sum(NamedTuple):
    """What is added up."""

    found: NDArray[np.float64]


@record
class Largest(NamedTuple):
    """What is the largest so far, and how often it was beaten."""

    found: NDArray[np.float64]
    beaten: NDArray[np.int64]


@leaf
def add(value: float, into: Sum) -> bool:
    """Add a value."""
    into.found[0] += value
    return True


@leaf
def beat(value: float, into: Largest) -> bool:
    """Keep a value that is larger."""
    if value <= into.found[0]:
        return False
    into.found[0] = value
    into.beaten[0] += 1
    return True


take = by_record({Sum: add, Largest: beat})


@kernel
def taken(values: NDArray[np.float64], into: Sum | Largest) -> int:
    """Take all values; return how many were of use."""
    count = 0
    for value in values:
        if take(value, into):
            count += 1
    return count


def test_the_kind_of_record_decides_which_part_runs() -> None:
    values = np.array([3.0, 1.0, 4.0, 1.0, 5.0])
    total = Sum(np.zeros(1))
    most = Largest(np.zeros(1), np.zeros(1, np.int64))
    assert taken(values, total) == 5
    assert taken(values, most) == 3
    assert total.found[0] == 14.0
    assert (most.found[0], most.beaten[0]) == (5.0, 3)


def test_each_kind_has_code_of_its_own() -> None:
    values = np.array([1.0])
    taken(values, Sum(np.zeros(1)))
    taken(values, Largest(np.zeros(1), np.zeros(1, np.int64)))
    assert len(taken.signatures) == 2  # type: ignore[attr-defined]

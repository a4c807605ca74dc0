"""What is still to come above the first array: exact but for sliding windows, for every capacity.

From a shape and a stage (which tensors have store nodes already) inward, the cheapest way to place
the rest and to go through the array costs no less than the table says. An entry is a step function
of the bits that the memory has left: (bits needed, pJ) in ascending order of the bits.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from tilewright.kernels.kernel import leaf
from tilewright.kernels.record import record

if TYPE_CHECKING:
    from tilewright.kernels.types import Floats, Ints

RUN, REGION, NONE = 1, 2, 3
STEPS = 16  # of a function; where there are more, two become one that bounds both


@record
class Scarce(NamedTuple):
    """What is still to come at one port above the first array, in cycles: see `port_table`.

    Attributes
    ----------
    port : int
        Position among the ports of limited bandwidth; -1 where nothing is known.
    memory, slot : int
        The memory whose bits count, and its position among those above the array; -1 for none.
    row, begin, length, bits, cost, stays, kind, tensor
        As in `Outer`, with cycles in place of pJ.
    least : array of tensors
        Least cycles of the link that crosses the array, per word that its sender reads.
    """

    port: int
    memory: int
    slot: int
    row: Ints
    begin: Ints
    length: Ints
    bits: Floats
    cost: Floats
    stays: Ints
    kind: Ints
    tensor: Ints
    least: Floats


@record
class Outer(NamedTuple):
    """Step functions of every state, one after the other.

    Attributes
    ----------
    row : array of (shapes, stages)
        Row of the arrays below, or -1 where no mapping that matters passes. Without shapes nothing
        is known.
    begin, length : arrays of (rows, flags)
        Where the function is.
    bits, cost : arrays of steps
    stays : array of flags
        What is paid already at this point: the tile of a tensor below the array, which stays from
        here on, or -1.
    kind, tensor, at : arrays of flags
        And the next tile of a sliding tensor, which from here on moves along one dimension (RUN)
        or within one expression (REGION, `at`), or NONE. Nothing is paid with the last flag.
    memory : int
        The memory whose bits count.
    scarce : Scarce
        The same for a port.
    """

    row: Ints
    begin: Ints
    length: Ints
    bits: Floats
    cost: Floats
    stays: Ints
    kind: Ints
    tensor: Ints
    at: Ints
    memory: int
    scarce: Scarce


@record
class Flags(NamedTuple):
    """The flags of an `Outer`, and how they follow from each other.

    Attributes
    ----------
    stays, kind, tensor, at : arrays of flags
        As in `Outer`.
    slide : array of flags
        Position of the slide among those of `tables.Slides`.
    adds : array of (flags, flags with one part more)
        Flags that come first in order, padded with -1.
    ends : array of flags
        The same flag without a slide.
    mirror : array of flags
        The same for a shape's mirror image.
    """

    stays: Ints
    kind: Ints
    tensor: Ints
    at: Ints
    slide: Ints
    adds: Ints
    ends: Ints
    mirror: Ints


@record
class NodesAbove(NamedTuple):
    """The store nodes above the first array.

    Attributes
    ----------
    stage_count, stage_next
        As in `segments.Segment`.
    need : array of tensors
        Store nodes of each tensor.
    rate, bits, share : arrays of (tensors, nodes)
        pJ per word that moves in, bits per word of the tile, and bits that the tile may take, for
        each of them.
    limit : float
        Bits of the memory.
    """

    stage_count: Ints
    stage_next: Ints
    need: Ints
    rate: Floats
    bits: Floats
    share: Floats
    limit: float


@record
class Given(NamedTuple):
    """What the functions of an `Outer` add up.

    Attributes
    ----------
    begun : array of (slides, shapes)
        Words that a run or region brings in when it begins at a shape.
    around : array of (slides, shapes)
        Words that it brings in at least when it begins at a shape or around it.
    slid : array of (tensors, shapes)
        Words that move at least into a store node at a shape, whatever the loops above; or into a
        tile that stays when the innermost relevant loop ends there.
    carried : array of tensors
        Least pJ per word for a tile below the array that stays; -1 where none does.
    end : array of (shapes, 2 x tensors + 1)
        What is below costs at least, see `tables.inner_table`.
    stages, spent, most
        As in `screening.Screening`.
    """

    begun: Floats
    around: Floats
    slid: Floats
    carried: Floats
    end: Floats
    stages: Floats
    spent: Floats
    most: float


class StepArrays(NamedTuple):
    """Steps of functions: bits, in ascending order in each, and pJ."""

    bits: Floats
    cost: Floats


@leaf
def at_least(bits: Floats, cost: Floats, begin: int, length: int, left: float) -> float:
    """Return what a state costs at least with some bits left, by the steps of its function."""
    best = np.inf
    for i in range(begin, begin + length):
        if bits[i] > left:
            break
        best = cost[i]
    return best


NO_FLAGS = np.zeros(0, np.int64)
NO_ROWS = np.zeros((0, 0), np.int64)
NO_STEPS = np.zeros(0)


NO_PORT = Scarce(
    port=-1,
    memory=-1,
    slot=-1,
    row=NO_ROWS,
    begin=NO_ROWS,
    length=NO_ROWS,
    bits=NO_STEPS,
    cost=NO_STEPS,
    stays=NO_FLAGS,
    kind=NO_FLAGS,
    tensor=NO_FLAGS,
    least=NO_STEPS,
)
NOTHING = Outer(
    row=NO_ROWS,
    begin=NO_ROWS,
    length=NO_ROWS,
    bits=NO_STEPS,
    cost=NO_STEPS,
    stays=NO_FLAGS,
    kind=NO_FLAGS,
    tensor=NO_FLAGS,
    at=NO_FLAGS,
    memory=0,
    scarce=NO_PORT,
)

"""What a layer may move, the numbers of a machine that it costs, and arrays for use in between."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from tilewright.kernels.record import record

if TYPE_CHECKING:
    from tilewright.kernels.types import Bools, Floats, Ints


MOST_CANDIDATES = 2048


@record
class Words(NamedTuple):
    """What a layer may move on the machines of a space, as plain arrays.

    Attributes
    ----------
    operations, joules : float
        Operations; the share of them that cost energy.
    output : int
        Position of the output.
    sums : array of choices
        Whether entries of partial sums that begin at a memory spare fetches for certain.
    distinct : array of tensors
        Words.
    ratio : array of (tensors, memories)
        Words of the memory per element.
    above : array of memories
        Arrays above each.
    unites : array of (arrays, tensors)
        Whether one word serves several elements, or their sums are added.
    length : array of (choices, tensors)
        Memories that store a tensor in a bypass choice.
    chain : array of (choices, tensors, memories)
        Which ones, from the outermost inward.
    group : array of (choices, groups)
        Position in `first` of what is stored side by side; -1 for no more groups.
    segment : array of (choices, groups)
        Arrays above it.
    link : array of (choices, groups, tensors)
        By which link of its chain each tensor comes in, or -1.
    first : array of groups
        Where each has its classes in `starts`.
    starts : array of classes
        Where the points of a class begin; those of a group end with the next entry.
    classes : array of (groups, ways)
    times : array of (points, tensors)
    bits : array of (points, memories)
        See `stays.Points`.
    extents, options, used, reuse, sharing
        See `spread.Spreads`.
    port_memory, port_array : array of ports
        The memory or the array that it belongs to, or -1.
    port_reads, port_writes : array of ports
    """

    operations: float
    joules: float
    output: int
    sums: Bools
    distinct: Floats
    ratio: Floats
    above: Ints
    unites: Bools
    length: Ints
    chain: Ints
    group: Ints
    segment: Ints
    link: Ints
    first: Ints
    starts: Ints
    classes: Ints
    times: Floats
    bits: Floats
    extents: Floats
    options: Ints
    used: Floats
    reuse: Floats
    sharing: Floats
    port_memory: Ints
    port_array: Ints
    port_reads: Bools
    port_writes: Bools


@record
class Costs(NamedTuple):
    """The numbers of a machine that bounds rest on, or how much higher they are than another's.

    Attributes
    ----------
    capacity, read, write : arrays of memories
        Bits; pJ per word.
    rates : array of ports
        Words per cycle.
    hops : array of arrays
        pJ per word and hop.
    extents : array of axes
        Of all arrays.
    cycles, energy : float
        Of an operation (pJ).
    leakage : float
        pJ per cycle.
    """

    capacity: Floats
    read: Floats
    write: Floats
    rates: Floats
    hops: Floats
    extents: Floats
    cycles: float
    energy: float
    leakage: float


@record
class Scratch(NamedTuple):
    """Arrays for what is of no use after a step.

    Attributes
    ----------
    cut : array of arrays + 1
        Words of a link per word that all receivers get, by the arrays between that are summed.
    price : array of (ports + 2, tensors)
        Of a word that comes in, its cycles at each port, and how much higher its price is.
    total : array of ports + 2
        Least pJ, cycles at each port, and pJ beyond, of what is the same for all ways to spread.
    least : array of ports + 2
        The same of one group.
    load : array of ports
        Cycles of one way to spread.
    ways : array of ways
        Those that fit the arrays.
    served : array of (tensors, memories)
        Units that one word serves at once, sent from a memory straight to the compute unit.
    known : array of (2, groups, ports + 2)
        What is stored above all arrays costs, by `Words.sums`; -1 where it is not known yet.
    kept : array of points
        Those of each class that fit, from where the class begins.
    fitting : array of classes
        How many; -1 where it is not known yet.
    least_above : array of 1
        The part of the least pJ that is for what is stored above all arrays.
    candidates : array of (candidates, 5)
        Bounds of a bypass choice and a way to spread: the product, the energy (pJ) and the cycles;
        pJ of what does not come into tiles, and those of tiles above all arrays.
    chosen : array of (candidates, 3)
        The bypass choice, the way to spread, and 1 where the bounds are those of nested tiles.
    filled : array of 1
        How many candidates there are.
    best : array of 2
        The bypass choice and the way to spread of the last least product; -1 for none.
    """

    cut: Floats
    price: Floats
    total: Floats
    least: Floats
    load: Floats
    ways: Ints
    served: Floats
    known: Floats
    kept: Ints
    fitting: Ints
    least_above: Floats
    candidates: Floats
    chosen: Ints
    filled: Ints
    best: Ints


def scratch_for(words: Words) -> Scratch:
    """Return arrays that are large enough."""
    ports = len(words.port_memory)
    return Scratch(
        cut=np.zeros(words.unites.shape[0] + 1),
        price=np.zeros((ports + 2, len(words.distinct))),
        total=np.zeros(ports + 2),
        least=np.zeros(ports + 2),
        load=np.zeros(ports),
        ways=np.zeros(len(words.used), np.int64),
        served=np.zeros(words.ratio.shape),
        known=np.zeros((2, len(words.first), ports + 2)),
        kept=np.zeros(len(words.times), np.int64),
        fitting=np.zeros(len(words.starts), np.int64),
        least_above=np.zeros(1),
        candidates=np.zeros((MOST_CANDIDATES, 5)),
        chosen=np.zeros((MOST_CANDIDATES, 3), np.int64),
        filled=np.zeros(1, np.int64),
        best=np.full(2, -1, np.int64),
    )

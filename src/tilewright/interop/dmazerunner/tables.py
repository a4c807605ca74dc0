"""A space of execution methods as arrays, for the compiled search."""

from __future__ import annotations

from math import prod
from typing import NamedTuple

import numpy as np

from tilewright.interop.dmazerunner.method import levels_of
from tilewright.interop.dmazerunner.orderings import covering_orderings, reuse, useful_orderings
from tilewright.interop.dmazerunner.space import Space
from tilewright.interop.dmazerunner.tiles import dma_cycles
from tilewright.kernels.types import Bools, Floats, Ints
from tilewright.model.energy import operation_cost, read_cost, write_cost


class Tables(NamedTuple):
    """What the search needs to know; shapes are positions in the tile lattice.

    Attributes
    ----------
    bounds : array of dimensions
        Iterations of each dimension that loops.
    values, sizes, strides, quotient, digits
        The lattice: see `tilewright.mapper.problem.lattice.Lattice`.
    words, dma : arrays of (tensors, shapes)
        Elements of a tile, and cycles in which it moves to or from DRAM. The output is last.
    registers, buffer : arrays of shapes
        Which tiles fit.
    spatial : array of int
        Shapes by which the array spreads a tile.
    used, different : arrays of shapes
        Elements of the array that a spatial shape uses, and that hold different outputs.
    output : int
        Bits of the dimensions that are relevant to the output.
    orders : array of patterns
        Number of orderings, for each set of dimensions that loop; bit i is dimension i.
    stays : array of (patterns, orderings, tensors)
        Bits of the dimensions over which each tensor stays.
    order : array of (patterns, orderings)
        Which ordering of `covering_orderings` it is.
    fixed : float
        Energy of the operations and of their accesses to the registers, in pJ.
    hop, reduce : float
        Energy of an element that an element of the array receives, and of a partial sum that is
        passed on and added.
    send, back, fetch : arrays of tensors
        Energy of an element of the array's tile that moves one way, of a partial sum's other way,
        and of an element that moves between DRAM and the buffer.
    again : float
        Energy of an element of the output that is read back from DRAM.
    cycles : float
        Cycles of an operation.
    """

    bounds: Ints
    values: Ints
    sizes: Ints
    strides: Ints
    quotient: Ints
    digits: Ints
    words: Floats
    dma: Floats
    registers: Bools
    buffer: Bools
    spatial: Ints
    used: Floats
    different: Floats
    output: int
    orders: Ints
    stays: Ints
    order: Ints
    fixed: float
    hop: float
    reduce: float
    send: Floats
    back: Floats
    fetch: Floats
    again: float
    cycles: float


def tables(space: Space) -> Tables:
    """Return a space as arrays."""
    layer, machine, tiles = space.layer, space.machine, space.tiles
    dram, buffer, array, registers, unit = levels_of(machine)
    output, position = layer.output, {d: i for i, d in enumerate(tiles.dimensions)}
    shapes = len(space.shapes)
    relevant = [position[d] for d in output.dimensions if d in position]
    operation, store = operation_cost(machine, layer), write_cost(registers, output)
    orders, stays, order = ordering_tables(space)
    sent = [read_cost(buffer, t) for t in layer.inputs]
    return Tables(
        bounds=space.shapes[tiles.top],
        values=tiles.values,
        sizes=tiles.sizes,
        strides=tiles.strides,
        quotient=tiles.quotient,
        digits=tiles.digits,
        words=space.words.astype(np.float64),
        dma=np.array(
            [
                np.broadcast_to(dma_cycles(t, layer, space.extents, dram, machine.clock_hz), shapes)
                for t in layer.tensors
            ],
            np.float64,
        ),
        registers=space.registers,
        buffer=space.buffer,
        spatial=space.spatial,
        used=space.shapes.prod(axis=1).astype(np.float64),
        different=space.shapes[:, relevant].prod(axis=1).astype(np.float64),
        output=bits(relevant),
        orders=orders,
        stays=stays,
        order=order,
        fixed=layer.operations
        * (operation + sum([read_cost(registers, t) for t in layer.tensors], store)),
        hop=float(array.hop_energy),
        reduce=2 * read_cost(registers, output) + store + array.hop_energy + operation,
        send=np.array([*sent, write_cost(buffer, output)]),
        back=np.array([*(0.0 for _ in sent), read_cost(buffer, output)]),
        fetch=np.array([*(read_cost(dram, t) for t in layer.inputs), write_cost(dram, output)]),
        again=float(read_cost(dram, output)),
        cycles=float(unit.cycles),
    )


def ordering_tables(space: Space) -> tuple[Ints, Ints, Ints]:
    """Return number, reuse and position of the orderings for each set of dimensions that loop.

    One that another exceeds in reuse (OPT4) may still take fewer cycles: DMA waits for outputs that
    stay, and not for those that change in every pass.
    """
    layer, names = space.layer, space.tiles.dimensions
    position = {d: i for i, d in enumerate(names)}
    every = covering_orderings(layer)
    patterns = prod([2] * len(names))
    useful = []
    for pattern in range(patterns):
        looping = frozenset(d for d in names if pattern >> position[d] & 1)
        positions = useful_orderings(layer, looping, False)
        useful.append([(i, reuse(every[i], layer, looping)) for i in positions])
    most = max(len(found) for found in useful)
    stays = np.zeros((patterns, most, len(layer.tensors)), np.int64)
    order = np.full((patterns, most), -1, np.int64)
    for pattern, found in enumerate(useful):
        for k, (i, own) in enumerate(found):
            order[pattern, k] = i
            stays[pattern, k] = [bits([position[d] for d in some]) for some in own]
    return np.array([len(found) for found in useful], np.int64), stays, order


def bits(positions: list[int]) -> int:
    """Return a number with these bits set."""
    return sum(1 << i for i in positions)

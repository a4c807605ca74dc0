"""What the words of a bypass choice cost: energy, and cycles at every resource."""

from __future__ import annotations

from itertools import pairwise
from typing import NamedTuple

import numpy as np

from tilewright.architecture.machine import Architecture, Memory
from tilewright.kernels.types import Bools, Floats
from tilewright.mapper.problem.bypass_choices import KeepChoice
from tilewright.mapping.structure import Link, arrays_between
from tilewright.model.energy import (
    leakage_per_cycle,
    operation_cost,
    read_cost,
    write_cost,
)
from tilewright.timing.ports import LinkPorts, Ports, Terms
from tilewright.workload.layer import Layer

OUTER, INNER, UNIT = range(3)  # the two memories that tiles change in, and the compute unit
SENT, OWN, ADDED = range(3)  # words of all instances together, of the first, and those added up
READ, COLLECT, EMPTY, WRITE, HOP = range(5)  # pJ per word: read from and written to the parent,
# read from and written to the child, delivered to an element
MOST_TENSORS = 5  # whose sets fit into the bits of a number
NO_ADDERS, TREE, HOPS = range(3)


class KeepCosts(NamedTuple):
    """A bypass choice of one layer on one machine (plain arrays for the kernels).

    At most two memories below the outermost one keep anything; where there is only one, it counts
    as the inner one.

    Attributes
    ----------
    array : int
        Whether the array stands right above the inner memory, or below both.
    kept : array of (3, tensors)
        Whether the memory keeps the tensor; the compute unit takes all.
    crosses : array of (3, tensors)
        Whether the words pass the array on their way there.
    above : array of (3, tensors)
        Whether the array stands above the parent.
    fill, drain : array of (3, tensors, 3, resources)
        Cycles per word that comes in, and that leaves.
    startup : array of (3, tensors)
        Cycles per contiguous run at the DMA engine of the parent.
    engine : int
        Position of the DMA engine, or -1.
    adders : int
        What adds up partial sums on the array.
    adding : array of 3
        Cycles per added word for which tiles wait, on the output's way.
    energy : array of (3, tensors, 5)
        pJ per word.
    streams : bool
        Whether operands of the compute unit take time.
    double : array of 2
        Whether the memories are double buffered.
    cycles : float
        Of an operation.
    operations : float
        pJ of all of them.
    leakage : float
        pJ per cycle.
    """

    array: int
    kept: Bools
    crosses: Bools
    above: Bools
    fill: Floats
    drain: Floats
    startup: Floats
    engine: int
    adders: int
    adding: Floats
    energy: Floats
    streams: bool
    double: Bools
    cycles: float
    operations: float
    leakage: float


def covered(layer: Layer, architecture: Architecture) -> bool:
    """Return whether `chain` describes a machine: everything that costs something there."""
    memories, arrays = architecture.memories, architecture.arrays
    names = {memory.name for memory in memories}
    return (
        len(layer.tensors) <= MOST_TENSORS
        and len(memories) <= 3
        and len(arrays) <= 1
        and (len(memories) < 3 or isinstance(architecture.levels[1], Memory))
        and all(a.multicast and a.reduction and not a.forwarding for a in arrays)
        and all(m.dma is None for m in memories[1:])
        and all(m.block_bytes is None and m.retention == "tile" for m in memories)
        and all(
            s.at not in names or s.keys[-1] in ("keep", "bypass", "even")
            for s in architecture.statements
        )
        and all(len(terms) == 1 for terms in layer.output.expressions)
    )


def chain(layer: Layer, architecture: Architecture, keep: KeepChoice) -> KeepCosts:
    """Return a bypass choice as plain arrays.

    Parameters
    ----------
    layer, architecture
        What is `covered`.
    keep : tuple of tuple of int
        Per tensor the positions of the memories that store it, outermost first.
    """
    memories = architecture.memories
    used = sorted({m for own in keep for m in own} - {0})
    # place of each memory that keeps something: the outermost one stands above all
    place = {m: INNER - len(used) + 1 + i for i, m in enumerate(used)} | {0: -1}
    nt = len(layer.tensors)
    ports = Ports(layer, architecture)
    nr = len(ports.names)
    kept = np.zeros((3, nt), np.bool_)
    crosses, above = np.zeros_like(kept), np.zeros_like(kept)
    fill, drain = np.zeros((3, nt, 3, nr)), np.zeros((3, nt, 3, nr))
    startup, adding, energy = np.zeros((3, nt)), np.zeros(3), np.zeros((3, nt, 5))
    array = UNIT
    adders = NO_ADDERS
    for each in architecture.arrays:
        outside = [m for m in used if architecture.position[memories[m].name]
                   < architecture.position[each.name]]  # fmt: skip
        array = INNER - len(used) + 1 + len(outside)
        adders = {"tree": TREE, "hops": HOPS}.get(each.adders or "", NO_ADDERS)
    for t, tensor in enumerate(layer.tensors):
        for a, b in pairwise([*keep[t], len(memories)]):
            last = b == len(memories)
            at = UNIT if last else place[b]
            parent, child = memories[a], None if last else memories[b]
            name = architecture.compute.name if child is None else child.name
            between = arrays_between(architecture, parent.name, name)
            use = ports.of(
                Link(
                    tensor=tensor,
                    parent=parent.name,
                    child=name,
                    parent_depth=0,
                    depth=0,
                    arrays=between,
                    run=frozenset(),
                )
            )
            kept[at, t] = True
            crosses[at, t] = bool(between)
            above[at, t] = bool(architecture.arrays) and not between and array <= place[a]
            put_link(use, fill[at, t], drain[at, t])
            for crossed, terms in zip(between, use.adding, strict=True):
                if crossed.adders == "network":
                    adding[at] = sum(cycles for _, cycles in terms)
            if use.dma is not None and parent.dma is not None:
                startup[at, t] = parent.dma.cycles(0.0, architecture.clock_hz)
                word = parent.dma.cycles(use.element_bytes, architecture.clock_hz) - startup[at, t]
                fill[at, t, SENT, use.dma] += word
                drain[at, t, SENT, use.dma] += word
            energy[at, t] = (
                read_cost(parent, tensor), write_cost(parent, tensor),
                0.0 if child is None else read_cost(child, tensor),
                0.0 if child is None else write_cost(child, tensor),
                sum(each.hop_energy for each in between),
            )  # fmt: skip
    double = np.zeros(2, np.bool_)
    for m in used:
        double[place[m]] = memories[m].buffering > 1
    return KeepCosts(
        array=array,
        kept=kept,
        crosses=crosses,
        above=above,
        fill=fill,
        drain=drain,
        startup=startup,
        engine=next((i for i, n in enumerate(ports.names) if n == f"{memories[0].name} DMA"), -1),
        adders=adders,
        adding=adding,
        energy=energy,
        streams=bool(adders) or any(each[UNIT].any() for each in (fill, drain, startup)),
        double=double,
        cycles=float(architecture.compute.cycles),
        operations=layer.operations * operation_cost(architecture, layer),
        leakage=leakage_per_cycle(architecture),
    )


def put_link(use: LinkPorts, fill: Floats, drain: Floats) -> None:
    """Add cycles per word of a link that come in and leave, to the resources that take them."""
    put(use.sending, fill[SENT])
    put(use.collecting, drain[SENT])
    put(use.filling, fill[OWN])
    put(use.draining, drain[OWN])
    for i, array in enumerate(use.arrays):
        if not (use.updates and use.tensor.is_output):
            put(use.reading[i], fill[SENT])
        put(use.writing[i], drain[SENT])
        if array.adders == "network":
            put(use.adding[i], drain[ADDED])


def put(terms: Terms, into: Floats) -> None:
    """Add cycles per word to the resources that take them."""
    for place, cycles in terms:
        into[place] += cycles

"""Counts of a mapping in Timeloop's terms: reads, fills and updates, and what Timeloop expects."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from math import prod

from tilewright.architecture.machine import Architecture
from tilewright.counts import Counts
from tilewright.interop.timeloop.comparison.stats import Accesses
from tilewright.mapping.structure import Link, Structure
from tilewright.workload.footprint import footprint
from tilewright.workload.layer import Layer, Tensor

MAX_CHILDREN = 1 << 20


@dataclass(frozen=True)
class Own:
    """Words of a tensor at a memory in Timeloop's terms.

    Attributes
    ----------
    counted : Accesses
        As counted here; the reads include the drains.
    drains : float
        Reads of results and partial sums on their way outward.
    broadcast : float
        Fills beyond one per partial sum, where each element that adds up a word gets it.
    undistributed : float
        Of these, those that the next update then reads as well.
    """

    counted: Accesses
    drains: float = 0.0
    broadcast: float = 0.0
    undistributed: float = 0.0


def own_counts(
    layer: Layer, machine: Architecture, structure: Structure, counts: Counts
) -> dict[tuple[str, str], Own]:
    """Return what is counted, by memory and tensor, for what the mapping stores."""
    found: dict[tuple[str, str], Own] = {}
    for tensor in layer.inputs:
        for link in structure.links[tensor.name]:
            kept = counts.memories[link.parent][tensor.name]
            found[link.parent, tensor.name] = Own(Accesses(kept.reads, kept.writes, 0))
    return found | outputs(layer, machine, structure, counts)


def outputs(
    layer: Layer, machine: Architecture, structure: Structure, counts: Counts
) -> dict[tuple[str, str], Own]:
    """Return what is counted of the output: from the outermost memory inward."""
    name = layer.output.name
    found: dict[tuple[str, str], Own] = {}
    fills = drains = broadcast = 0.0
    # words that a level's first updates find no partial sum of: here, and as Timeloop has it
    zero = theirs = float(footprint(layer.output, dict(layer.bounds)))
    for link in structure.links[name]:
        kept = counts.memories[link.parent][name]
        updates = kept.writes - fills
        counted = Accesses(kept.reads, fills, updates)
        found[link.parent, name] = Own(counted, drains, broadcast, zero - theirs)
        if link.child == machine.compute.name:
            break
        partial, expected = updates - zero, updates - theirs
        entering = updates
        if link.arrays:
            # deliveries to single elements and collections from them
            hops = counts.networks[link.arrays[-1].name][name].hops
            entering = hops - partial
        share = entering / updates if updates else 1.0
        fills, drains = partial, entering
        broadcast = expected * share - partial
        zero, theirs = entering - partial, entering - expected * share
    return found


def whole_tiles(
    tensor: Tensor, layer: Layer, structure: Structure, link: Link, *, boxes: bool
) -> int:
    """Return the words that move in where no part of a tile is kept, or of their bounding boxes.

    Summed over all instances; loops are taken as whole.
    """
    loops = structure.loops[: link.depth]
    relevant = [
        i for i, loop in enumerate(loops)
        if loop.array is None and loop.chunks > 1 and loop.dimension in tensor.dimensions
    ]  # fmt: skip
    last = relevant[-1] if relevant else -1
    changes = prod(loop.chunks for i, loop in enumerate(loops) if loop.array is None and i <= last)
    instances = prod(loop.chunks for loop in loops if loop.array is not None)
    extents = structure.extents(link.depth)
    words = footprint(tensor, extents)
    if boxes:
        words = prod(
            1 + sum(term.coefficient * (extents[term.dimension] - 1) for term in terms)
            for terms in tensor.expressions
        )
    return changes * instances * words


def shared(tensor: Tensor, structure: Structure, link: Link) -> float:
    """Return the share of fills that is read where only elements with equal tiles share words.

    Per array: the different positions of tiles over the number of elements.
    """
    result = 1.0
    loops = structure.loops[: link.depth]
    for array in link.arrays:
        own = [loop for loop in loops if loop.array == array.name]
        elements = prod(loop.chunks for loop in own)
        if elements > MAX_CHILDREN:
            return 1.0
        coefficients = [
            {term.dimension: term.coefficient for term in terms} for terms in tensor.expressions
        ]
        places = {
            tuple(
                sum(
                    c.get(loop.dimension, 0) * loop.tile * i
                    for loop, i in zip(own, at, strict=True)
                )
                for c in coefficients
            )
            for at in product(*(range(loop.chunks) for loop in own))
        }
        result *= len(places) / elements
    return result

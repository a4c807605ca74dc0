"""How far a walk is from what constraints about memories demand.

`mapping.constraints` defines what they mean. Here each demand that is not met counts as the
logarithm of a factor, as a memory does that is too small, so that annealing finds its way out.
"""

from __future__ import annotations

from math import inf
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from tilewright.architecture.constraints.constraint import ROUNDING
from tilewright.architecture.machine import Architecture
from tilewright.kernels.kernel import leaf
from tilewright.kernels.record import record
from tilewright.mapper.problem.bypass_choices import about_memories
from tilewright.mapper.problem.constraint_arrays import limit_loops, limits_of_size
from tilewright.mapper.problem.lattice import Lattice
from tilewright.mapping.names import role_names
from tilewright.workload.layer import Layer

if TYPE_CHECKING:
    from tilewright.kernels.types import Bools, Floats, Ints
    from tilewright.mapper.heuristics.walks import Tokens
    from tilewright.mapper.problem.space import Space

MISSED = 2.0  # what a loop counts that stands where it may not, at least


@record
class Demands(NamedTuple):
    """What constraints about memories demand (plain arrays for the kernels).

    Attributes
    ----------
    active : bool
        Whether there are any.
    least, most : arrays of (tensors, memories, dimensions)
        Range of what the tile of a tensor in a memory has of a dimension.
    even : array of memories
        Whether no loop may stand between its store nodes.
    after : array of (memories, dimensions)
        Dimensions, as bits, above whose loops in the block of a memory a loop has to stand.
    ends : array of (memories, dimensions)
        Whether a loop on a dimension may be the innermost of the block.
    bits : array of memories
        Bits that have to be used.
    """

    active: bool
    least: Floats
    most: Floats
    even: Bools
    after: Ints
    ends: Bools
    bits: Floats


def demands(layer: Layer, architecture: Architecture, tiles: Lattice) -> Demands:
    """Return what the constraints of a machine about its memories demand.

    Parameters
    ----------
    layer : Layer
    architecture : Architecture
        Its constraints name the dimensions of the layer, see `bypass_choices.narrowed`.
    tiles : Lattice
    """
    memories, tensors = architecture.memories, layer.tensors
    size = len(tensors), len(memories), len(tiles.dimensions)
    loops = limits_of_size(0, 0, 0, len(tiles.dimensions), 1, 0, len(memories))
    even = np.zeros(len(memories), np.bool_)
    least, most, bits = np.ones(size), np.full(size, inf), np.zeros(len(memories))
    position = {memory.name: m for m, memory in enumerate(memories)}
    statements = about_memories(architecture)
    for statement in statements:
        m = position[statement.at]
        names = [tensor.name for tensor in tensors]
        if statement.tensors:
            names = list(role_names(statement.tensors, layer))
        chosen = np.array([tensor.name in names for tensor in tensors])
        for dimension, limits in statement.tile:
            if dimension in tiles.dimensions:
                at = chosen, m, tiles.dimensions.index(dimension)
                least[at] = np.maximum(least[at], min(limits.least, layer.bounds[dimension]))
                most[at] = np.minimum(most[at], limits.most)
        even[m] |= statement.even
        if statement.min_utilization and m > 0:
            total = memories[m].total_bits or inf
            bits[m] = max(bits[m], statement.min_utilization * total * (1 - ROUNDING))
        limit_loops(statement, m, tiles, loops)
    return Demands(
        active=bool(statements), least=least, most=most, even=even, after=loops.after,
        ends=loops.ends, bits=bits,
    )  # fmt: skip


@leaf
def missed(
    sp: Space,
    tokens: Tokens,
    dm: Demands,
    order: Ints,
    unrolled: Ints,
    stored: Ints,
    used: Floats,
    digits: Ints,
    waiting: Ints,
) -> float:
    """Return the logarithm of the factors by which a walk misses demands, 0 where it meets them.

    At most one memory has an open block: the innermost one with a store node, when it has all. A
    store node of a memory further in or an array at work ends it, or else the last store node of
    all: the compute unit runs what is left, and those loops stand in no block.

    Parameters
    ----------
    used : array of memories
        Bits that the walk uses.
    digits, waiting : arrays of dimensions and of memories
        Room for the extents of the walk, and for the store nodes that are to come.
    """
    factors, nodes = len(tokens.dimension), len(tokens.tensor)
    for d in range(len(digits)):
        digits[d] = sp.sizes[d] - 1
    for m in range(len(waiting)):
        waiting[m] = 0
    for node in range(nodes):
        waiting[tokens.memory[node]] += (stored[tokens.tensor[node]] >> tokens.slot[node]) & 1
    total = 0.0
    inside, is_open = 0, True
    seen, last, wrong, sure = 0, -1, 0.0, 0.0
    between = 0  # even memories, as bits, that have some of their nodes
    for token in order:
        if token < factors:
            if unrolled[token] >= 0:
                continue
            d = tokens.dimension[token]
            digits[d] = sp.quotient[d, digits[d], tokens.digit[token]]
            if between != 0:
                total += MISSED
            if is_open:
                if seen & dm.after[inside, d] != 0:
                    wrong += MISSED
                seen |= 1 << d
                last = d
        elif token < factors + nodes:
            node = token - factors
            t, m = tokens.tensor[node], tokens.memory[node]
            if (stored[t] >> tokens.slot[node]) & 1 == 0:
                continue
            for d in range(len(digits)):
                extent = float(sp.values[d, digits[d]])
                if extent > dm.most[t, m, d]:
                    total += np.log(extent / dm.most[t, m, d])
                elif extent < dm.least[t, m, d]:
                    total += np.log(dm.least[t, m, d] / extent)
            waiting[m] -= 1
            if dm.even[m]:
                between = between | 1 << m if waiting[m] > 0 else between & ~(1 << m)
            if is_open:
                sure = wrong
                if last >= 0 and not dm.ends[inside, last]:
                    sure += MISSED
            if m > inside:
                total += sure
                inside, is_open, sure = m, False, 0.0
            if m == inside and waiting[m] == 0:
                is_open = True
                seen, last, wrong = 0, -1, 0.0
        else:
            array = token - factors - nodes
            at_work = False
            for i in range(factors):
                if unrolled[i] == array:
                    at_work = True
                    d = tokens.dimension[i]
                    digits[d] = sp.quotient[d, digits[d], tokens.digit[i]]
            if at_work and is_open:
                total += wrong
                if last >= 0 and not dm.ends[inside, last]:
                    total += MISSED
                is_open, sure = False, 0.0
    total += sure
    for m in range(len(used)):
        if used[m] < dm.bits[m]:
            total += np.log(dm.bits[m] / max(used[m], 1.0))
    return total

"""What stands below an array as a machine of its own: its optimum bounds every machine around it.

Take a mapping of the whole machine and an array. Let the loops outside the array and its own
spatial loops be temporal loops of a smaller machine, those of the array outermost: a memory
without bounds that costs nothing, and what stands below the array. Every instance of a memory down
there receives the same tiles in the same order, one instance after another, and so as many words as
before or, where two of them share some, fewer. So the links inside the array cost no less than the
best mapping of the smaller machine does, in which the link through the array is free. Partial sums
may start from zero more often below an array, so the smaller machine fetches none.

That is not so for words of windows along whose dimensions the array, or one above it, is spatial.
Loops outside then take larger steps than any loop of the smaller machine that stands for them, and
larger steps may bring back more: with stride 2, two steps along the filter are one of the window.
Such a tensor is free of charge in the smaller machine, where its tiles still take their room, and
counts by itself, see `cut_windows`.

A link that goes through further arrays, too, is counted there and not above, because what its
elements share has to do with what those of other tensors share.

The first memory below the array has no bounds either, unless it is the last: its size is what the
bounds of the whole machine look at, and the smaller machine is solved in a fraction of the time.
"""

from __future__ import annotations

from dataclasses import replace
from math import prod

import numpy as np

from tilewright.architecture.machine import Architecture, Array, Compute, Level, Memory
from tilewright.kernels.types import Bools
from tilewright.mapper.problem.bypass_choices import Keep
from tilewright.mapper.problem.link_costs import segment_of
from tilewright.mapper.problem.space import Space
from tilewright.mapper.problem.tensor_costs import Chain, Supply

SUPPLY = Memory("supply", 1)
FREE = Supply(False, False, np.zeros(1), 0.0, 0.0, free=True)


def machine_inside(architecture: Architecture, array: int) -> Architecture:
    """Return the machine below an array (a position), without limits of bandwidth or leakage."""
    last = architecture.arrays[array]
    below = architecture.levels[architecture.levels.index(last) + 1 :]
    memories = sum(isinstance(level, Memory) for level in below)
    levels: list[Level] = [SUPPLY]
    for i, level in enumerate(below):
        match level:
            case Memory():
                own = replace(
                    level, read_bandwidth=None, write_bandwidth=None, shared_bandwidth=None,
                    leakage=0.0, must_keep=frozenset(),
                )  # fmt: skip
                if i == 0 < memories - 1:
                    own = replace(own, capacity_bits=None, tensor_bits=None)
                levels.append(own)
            case Array():
                levels.append(replace(level, bandwidth=None, networks=None))
            case Compute():
                levels.append(replace(level, energy=0.0, leakage=0.0))
    names = {level.name for level in below if isinstance(level, Array)}
    constraints = tuple(c for c in architecture.constraints if c.at in names)
    return replace(architecture, levels=tuple(levels), constraints=constraints)


def keep_inside(architecture: Architecture, keep: Keep, array: int) -> Keep:
    """Return which memories below an array store each tensor, the free one first."""
    outside = sum(above <= array for above in segment_of(architecture))
    return tuple((0, *(m - outside + 1 for m in chain if m >= outside)) for chain in keep)


def cut_windows(sp: Space, array: int) -> Bools:
    """Return which tensors have windows whose dimensions may be spatial on an array or above it."""
    nd = sp.relevant.shape[1]
    spatial: Bools = np.logical_or.reduce(sp.unroll[: sp.unroll_start[array + 1]] > 0)
    slides: Bools = np.logical_or.reduce((sp.window_of[:, :nd] >= 0) & spatial, axis=1)
    cut: Bools = (sp.windows >= 0) & slides[sp.windows]
    return cut


def supply_of(
    architecture: Architecture,
    chain: Chain,
    array: int,
    words: float,
    operations: float,
    whole: bool,
) -> Supply:
    """Return what the link of a tensor through an array costs further in.

    A link that ends below the array is paid for above it. Of one that goes on through other arrays,
    what lies further in is paid for there. What lies above is, too, if `whole`, as if all elements
    of this array, and of those above it, shared what they can; or if it ends at the compute unit,
    where that is more than for each word once.

    Parameters
    ----------
    words, operations : float
        Words of the tensor, and operations of the layer.
    """
    arrays = architecture.arrays
    link = next(i for i in range(chain.length) if chain.arrays[i, 1] > array)
    begin, end = chain.arrays[link].tolist()
    if end == array + 1:
        return Supply(False, False, np.zeros(1), 0.0, 0.0)
    cost = chain.energy[link, : end - begin + 1]
    energy = cost[array + 1 - begin :].copy()
    energy[0] = 0.0
    shared = prod(arrays[k].elements for k in range(begin, array + 1) if chain.unites[k])
    inside = prod(arrays[k].elements for k in range(array + 1, end) if chain.unites[k])
    if link == chain.length - 1:
        whole = operations > inside * shared * words
    if not whole:
        return Supply(True, False, energy, 0.0, 0.0)
    shared = 1
    energy[0] = cost[array + 1 - begin]
    for k in range(array, begin - 1, -1):
        shared *= arrays[k].elements if chain.unites[k] else 1
        energy[0] += cost[k - begin] / shared
    if begin > 0:
        # partial sums may have started from zero above
        return Supply(True, True, energy, 0.0, 0.0)
    again = float(chain.again[link])
    return Supply(True, True, energy, again / shared, again * words * (1 - 1 / shared))


def worth_solving(architecture: Architecture, array: int) -> bool:
    """Whether the links inside an array cost more together than each of them does."""
    last = architecture.arrays[array]
    below = architecture.levels[architecture.levels.index(last) + 1 :]
    arrays = [level for level in below if isinstance(level, Array)]
    memories = [level for level in below if isinstance(level, Memory)]
    if any(level.forwarding for level in arrays):
        return False
    return len(memories) > 1 or bool(arrays and memories and memories[0] is below[0])

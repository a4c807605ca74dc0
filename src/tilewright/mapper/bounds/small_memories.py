"""What small memories cost in combinations of spatial choices.

Combinations are priced as if every memory were large enough. A memory that is too small fetches
words again: how many in any mapping, that is what the bounds of all tile sizes say
(`least_cost.Least`), for every combination that is left.
"""

from __future__ import annotations

import numpy as np

from tilewright.architecture.machine import Architecture
from tilewright.kernels.types import Floats, Ints
from tilewright.mapper.bounds.combinations import Combinations
from tilewright.mapper.bounds.plan import CLOSE
from tilewright.mapper.problem.bypass_choices import KeepChoice
from tilewright.mapper.relaxations.stays.least_cost import Least
from tilewright.workload.layer import Layer


def with_small_memories(
    layer: Layer, architecture: Architecture, keep: KeepChoice, cs: Combinations, cycles: Floats
) -> tuple[Floats, Floats]:
    """Return the energy (pJ) and cycles of a bypass choice at least, in every combination.

    Parameters
    ----------
    cycles : array of combinations
        Those of the operations alone.
    """
    least = Least(layer, architecture, representatives(layer, cs))
    # a representative need not divide its dimension, so that its own cycles may be too many
    least.cycles = cycles
    energy, slowest = least.cost(keep)
    return energy / CLOSE, slowest / CLOSE


def representatives(layer: Layer, cs: Combinations) -> Ints:
    """Return the instances along each dimension, by combination and array, of a choice of each.

    What crosses into a memory depends on products over the dimensions that are relevant to the
    same tensors. So one dimension of each group stands for all of them. What elements share of a
    window depends on each of its dimensions: they have to be told apart.
    """
    found = np.ones((*cs.product.shape, len(layer.bounds)), np.int64)
    divided = [i for i, bound in enumerate(layer.bounds.values()) if bound > 1]
    for g in np.unique(cs.group).tolist():
        found[:, :, divided[int((cs.group == g).argmax())]] = cs.factors[:, :, g]
    return found

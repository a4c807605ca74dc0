"""The screening bound: what mappings cost at least by where they store tensors above an array.

It tells which entries of the tables matter: those that a mapping below a ceiling can pass.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from tilewright.mapper.bounds.tables.propagation import spread_both_ways

if TYPE_CHECKING:
    from tilewright.kernels.types import Floats, Ints
    from tilewright.mapper.problem.link_costs import Links
    from tilewright.mapper.problem.space import Space

FAR = 1e300  # words into a tile that does not fit


@dataclass(frozen=True)
class Fitting:
    """Least words into tiles that fit, by the tensor, the bits of a word, and those of the tile."""

    known: dict[tuple[int, float, float], tuple[Floats, Floats]] = field(default_factory=dict)

    def words(
        self, sp: Space, slid: Floats, t: int, bits: float, limit: float
    ) -> tuple[Floats, Floats]:
        """Return the least words into tiles around each shape, and into tiles inside it."""
        key = t, bits, limit
        if key not in self.known:
            around = np.where(bits * sp.words[t] <= limit, slid[t], FAR)
            inside = around.copy()
            spread_both_ways(sp, around, inside)
            self.known[key] = around, inside
        return self.known[key]


@dataclass(frozen=True)
class Screening:
    """Least energy of a mapping but for what crosses the first array.

    Attributes
    ----------
    stages : array of (stages, shapes)
        pJ when the store nodes of the stage stand at a shape or around it, the others inside it.
    spent : array of (stages, shapes)
        The part of it without the others.
    most : float
        pJ of the mappings that matter.
    """

    stages: Floats
    spent: Floats
    most: float

    def without_energy(self) -> Screening:
        """Return what screens by the tables' own energies alone.

        What entries from zero save stays, for the tables count it nowhere.
        """
        return Screening(np.minimum(self.stages, 0.0), np.minimum(self.spent, 0.0), self.most)


def screening_bound(
    sp: Space,
    lk: Links,
    stage_count: Ints,
    slid: Floats,
    fitting: Fitting,
    energy: float,
    most: float,
) -> Screening:
    """Return the screening bound of one bypass choice.

    Parameters
    ----------
    stage_count : array of (stages, tensors)
        As in `segments.Segment`, of the first segment.
    slid : array of (tensors, shapes)
        Words that move at least into a store node at a shape.
    energy : float
        pJ of the operations.
    most : float
        As in `Screening`.
    """
    whole = len(sp.repeats) - 1
    spent = np.zeros((len(stage_count), whole + 1))
    left = np.zeros_like(spent)
    for t, count in enumerate(stage_count.T):
        distinct = float(sp.words[t, whole])
        if len(lk.rest_base):
            energy += lk.rest_base[0, t] + lk.rest_slope[0, t] * distinct
        for k in range(count[-1]):
            # entries from zero fetch nothing
            if t == len(stage_count.T) - 1:
                energy -= lk.again[t, k] * distinct
            rate = lk.energy[t, k, 0] + lk.again[t, k]
            limit = float(min(lk.share[t, k], lk.capacity[lk.memory[t, k]]))
            around, inside = fitting.words(sp, slid, t, float(lk.bits[t, k]), limit)
            around, inside = rate * around, rate * inside
            for stage, placed in enumerate(count.tolist()):
                if placed > k:
                    spent[stage] += around
                else:
                    left[stage] += inside
    spent += energy
    left += spent
    return Screening(left, spent, most)

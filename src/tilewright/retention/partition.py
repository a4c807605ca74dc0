"""A memory divided among tensors so that as little as possible is spilled."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from tilewright.retention.spills.curve import Curve


@dataclass(frozen=True)
class Claim:
    """What one tensor asks of a memory.

    Attributes
    ----------
    curve : Curve
        Its spills by capacity.
    unit : int
        Words of the tensor that one unit of the memory (a bank, say) holds.
    weight : int
        Cost of a spill.
    """

    curve: Curve
    unit: int
    weight: int = 1

    @property
    def least(self) -> int:
        """Units that it cannot do without."""
        return -(-self.curve.least // self.unit)

    def cost(self, units: int) -> int:
        """Return what its spills cost with so many units."""
        return self.weight * self.curve(units * self.unit)

    def pieces(self) -> list[tuple[int, int]]:
        """Return (saving per unit, units) for the units beyond the least, in this order."""
        end, spills = self.curve.corners[-1]
        most = end // self.unit if spills else -(-end // self.unit)
        edges = {self.least, most}
        for capacity, _ in self.curve.corners:
            edges |= {capacity // self.unit, capacity // self.unit + 1}
        ends = sorted(edge for edge in edges if self.least <= edge <= most)
        return [
            ((self.cost(low) - self.cost(high)) // (high - low), high - low)
            for low, high in pairwise(ends)
        ]


def divide(claims: Sequence[Claim], units: int) -> list[int] | None:
    """Return the units that each tensor gets, so that the cost of all spills is least.

    Parameters
    ----------
    claims : sequence of Claim
        The tensors. Units that save nothing are not handed out; among equals the first tensor
        comes first.
    units : int
        Units that there are.

    Returns
    -------
    list of int or None
        None when not even the largest blocks fit.

    Notes
    -----
    Each unit goes where it saves most (CNNFlow, Algorithm 2). As the curves are convex, a tensor's
    savings decrease, and those taken are the largest of all: no other division saves more
    (Theorem 5.2).
    """
    shares = [claim.least for claim in claims]
    left = units - sum(shares)
    if left < 0:
        return None
    offers = [
        (saving, i, count)
        for i, claim in enumerate(claims)
        for saving, count in claim.pieces()
        if saving > 0
    ]
    offers.sort(key=lambda offer: (-offer[0], offer[1]))
    for _, i, count in offers:
        taken = min(count, left)
        shares[i] += taken
        left -= taken
    return shares

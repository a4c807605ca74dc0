"""What is known of energy and cycles together: bounds of their sums at some prices of a cycle."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import inf, isfinite


@dataclass
class HalfPlanes:
    """Lower bounds of energy plus cycles at a price, of the same mappings at several prices.

    The least such sum is concave in the price, because each mapping has a sum that is linear in it.
    So a bound between two prices is that on the line between theirs.

    Attributes
    ----------
    lines : dict of float to float
        What no mapping undercuts at a price, in pJ, by pJ per cycle.
    cycles : float
        No mapping has fewer.
    """

    lines: dict[float, float] = field(default_factory=dict)
    cycles: float = 0.0

    def add(self, price: float, bound: float) -> None:
        """Take one more bound; at an infinite price it is that of the cycles alone."""
        if price == inf:
            self.cycles = max(self.cycles, bound)
        else:
            self.lines[price] = max(bound, self.lines.get(price, 0.0))

    def at(self, price: float) -> float:
        """Return what no mapping undercuts at a price."""
        if price == inf:
            return self.cycles
        bound = price * self.cycles
        for low, first in self.lines.items():
            if low > price:
                continue
            bound = max(bound, first + (price - low) * self.cycles)
            for high, second in self.lines.items():
                if high > price and isfinite(first) and isfinite(second):
                    share = (price - low) / (high - low)
                    bound = max(bound, first + share * (second - first))
        return bound

    def least_energy(self, cycles: float) -> float:
        """Return the energy in pJ that no mapping with at most so many cycles undercuts."""
        if cycles < self.cycles:
            return inf
        bounds = (bound - price * cycles for price, bound in self.lines.items() if price > 0.0)
        return max(self.at(0.0), *bounds, 0.0)

    def fewest_cycles(self, energy: float) -> float:
        """Return the cycles that no mapping with at most so much energy undercuts."""
        bounds = [(bound - energy) / price for price, bound in self.lines.items() if price > 0.0]
        return inf if energy < self.at(0.0) else max([self.cycles, *bounds])


def union(every: list[HalfPlanes]) -> HalfPlanes:
    """Return what is known of all mappings of several kinds: at each price the least bound."""
    if len(every) == 1:
        return every[0]
    prices = {price for own in every for price in own.lines}
    return HalfPlanes(
        {price: min(own.at(price) for own in every) for price in sorted(prices)},
        min(own.cycles for own in every),
    )

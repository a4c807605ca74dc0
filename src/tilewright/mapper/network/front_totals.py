"""Sums of points of fronts, of energy and cycles: all that no other sum beats in both."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from math import inf

import numpy as np
from numpy.typing import NDArray

from tilewright.mapper.search.questions.front import Front

MOST = 20_000  # points that are kept; beyond that the front is thinned
PAIRS = 1 << 21  # sums that are formed at a time
SAME = 1e-12  # sums whose energies differ by less, as a share of them, are equal


@dataclass(frozen=True)
class Sums:
    """Totals of energy and cycles, none of which is beaten in both; the fewest cycles first.

    Attributes
    ----------
    energy, cycles : array of points
    picks : array of (points, points of the fronts)
        How many runs take each point of the fronts that have been added.
    tolerance : float
        Every sum that is left out has at least 1 / (1 + tolerance) of the energy of one that is
        here and has no more cycles; 0 when only those are left out that are beaten.
    """

    energy: NDArray[np.float64]
    cycles: NDArray[np.float64]
    picks: NDArray[np.int32]
    tolerance: float = 0.0

    def __len__(self) -> int:
        return len(self.energy)

    def __getitem__(self, rows: NDArray[np.intp]) -> Sums:
        return Sums(self.energy[rows], self.cycles[rows], self.picks[rows], self.tolerance)


def undominated(sums: Sums) -> Sums:
    """Return the sums that no other one equals or beats in both, the fewest cycles first."""
    order = np.lexsort((sums.energy, sums.cycles))
    energy = sums.energy[order]
    least = np.minimum.accumulate(np.concatenate([[inf], energy[:-1]]))
    return sums[order[energy < least * (1 - SAME)]]


def thinned(sums: Sums, most: int) -> Sums:
    """Return about so many sums that stand for all, and by how much they may fall short.

    A sum is left out when the last one kept, which has fewer cycles, has less than a step more
    energy. The steps divide the range of energies evenly, as ratios.
    """
    if len(sums) <= most:
        return sums
    step = (sums.energy[0] / sums.energy[-1]) ** (1 / (most - 1))
    kept, last = [0], float(sums.energy[0])
    for i, energy in enumerate(sums.energy.tolist()):
        if last > energy * step or (i == len(sums) - 1 and kept[-1] != i):
            kept.append(i)
            last = energy
    few = sums[np.array(kept)]
    return replace(few, tolerance=(1 + sums.tolerance) * float(step) - 1)


def added(a: Sums, b: Sums, most: int = MOST) -> Sums:
    """Return the sums of one point of each that no other sum beats, thinned where they are many."""
    if len(a) < len(b):
        a, b = b, a
    tolerance = max(a.tolerance, b.tolerance)
    rows = max(1, PAIRS // len(b))
    result = None
    for start in range(0, len(a), rows):
        own = slice(start, start + rows)
        first, second = (
            index.ravel()
            for index in np.meshgrid(
                np.arange(start, min(start + rows, len(a))), np.arange(len(b)), indexing="ij"
            )
        )
        energy = (a.energy[own, None] + b.energy[None, :]).ravel()
        cycles = (a.cycles[own, None] + b.cycles[None, :]).ravel()
        # picks are made for the sums that stay alone
        pairs = np.column_stack([first, second]).astype(np.int32)
        part = undominated(Sums(energy, cycles, pairs))
        if result is not None:
            part = undominated(
                Sums(
                    np.concatenate([result.energy, part.energy]),
                    np.concatenate([result.cycles, part.cycles]),
                    np.concatenate([result.picks, part.picks]),
                )
            )
        result = part
    assert result is not None
    picks = a.picks[result.picks[:, 0]] + b.picks[result.picks[:, 1]]
    return thinned(Sums(result.energy, result.cycles, picks, tolerance), most)


def repeated(sums: Sums, runs: int, most: int = MOST) -> Sums:
    """Return the sums of so many points of the same front, each of any of them."""
    result, power = None, sums
    while runs:
        if runs & 1:
            result = power if result is None else added(result, power, most)
        runs >>= 1
        if runs:
            power = added(power, power, most)
    assert result is not None
    return result


def total(fronts: Iterable[tuple[Front, int]], most: int = MOST) -> Sums:
    """Return the totals of fronts that so many runs share each, the least energy first."""
    given = list(fronts)
    width = sum(len(front) for front, _ in given)
    result, start = None, 0
    for front, runs in given:
        costs = [point.evaluation for point in front.points]
        picks = np.zeros((len(front), width), np.int32)
        picks[np.arange(len(front)), start + np.arange(len(front))] = 1
        start += len(front)
        own = undominated(
            Sums(
                np.array([cost.energy_pj for cost in costs], np.float64),
                np.array([cost.cycles for cost in costs], np.float64),
                picks,
            )
        )
        own = repeated(own, runs, most)
        result = own if result is None else added(result, own, most)
    assert result is not None
    return result[np.arange(len(result))[::-1]]

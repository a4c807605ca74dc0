"""The designs that no other one found so far is better than."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise

from tilewright.exploration.designs.space import Indices, Space
from tilewright.exploration.result import Point

# Sums of the same energies in another order differ by less than this share.
ROUNDING = 1e-12

Values = tuple[float, ...]


class Front:
    """A front in progress.

    Parameters
    ----------
    space : Space
        What the designs are of.
    axes : tuple of str
        What is minimised.
    """

    def __init__(self, space: Space, axes: tuple[str, ...]) -> None:
        self._space, self._axes = space, axes
        self._kept: list[tuple[Values, int, Mapping[str, float]]] = []

    def __len__(self) -> int:
        return len(self._kept)

    @property
    def values(self) -> list[Values]:
        """What its designs have on the axes."""
        return [values for values, _, _ in self._kept]

    def dominated(self, bound: Mapping[str, float]) -> bool:
        """Whether a design of the front is at least as good on every axis."""
        values = [bound.get(axis, 0.0) * (1 + ROUNDING) for axis in self._axes]
        return any(as_good(kept, values) for kept, _, _ in self._kept)

    def enter(self, indices: Indices, found: Mapping[str, float]) -> bool:
        """Put a design on the front if it belongs there, and tell whether it does."""
        if self.dominated(found):
            return False
        values = tuple(found[axis] for axis in self._axes)
        self._kept = [kept for kept in self._kept if not as_good(values, kept[0])]
        self._kept.append((values, self._space.index(indices), found))
        return True

    def points(self) -> tuple[Point, ...]:
        """Return its designs in the order of the first axis."""
        return tuple(
            Point(index, self._space.values(index), metrics)
            for _, index, metrics in sorted(self._kept, key=lambda kept: kept[:2])
        )


def as_good(values: Sequence[float], others: Sequence[float]) -> bool:
    """Whether no value is above the other one's."""
    return all(a <= b for a, b in zip(values, others, strict=True))


def hypervolume(points: Sequence[Values], corner: Values) -> float:
    """Return the volume that is no better than a point and better than a corner.

    Parameters
    ----------
    points : sequence of tuple of float
        What designs have on the axes; those not below the corner on all of them add nothing.
    corner : tuple of float
        What counts as worst.

    Returns
    -------
    float
        By slices along the last axis, each as wide as up to the next point.
    """
    inside = [p for p in points if all(a < b for a, b in zip(p, corner, strict=True))]
    if not inside:
        return 0.0
    if len(corner) == 1:
        return corner[0] - min(inside)[0]
    ends = [*sorted({point[-1] for point in inside}), corner[-1]]
    return sum(
        (above - below)
        * hypervolume([point[:-1] for point in inside if point[-1] <= below], corner[:-1])
        for below, above in pairwise(ends)
    )

"""Numbers between and beyond those that were published."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Sequence

Points = tuple[tuple[int, float], ...]


def log_log(points: Sequence[tuple[float, float]], x: float, slope: float = 0.0) -> float:
    """Return a value, linear between points in the logarithms of both.

    Parameters
    ----------
    points : sequence of (float, float)
        In increasing order.
    x : float
        Where.
    slope : float
        Exponent with which values continue beyond the first and the last point.
    """
    at = bisect_right(points, x, key=lambda point: point[0])
    if at and points[at - 1][0] == x:
        return points[at - 1][1]
    if at in (0, len(points)):
        end = points[0] if at == 0 else points[-1]
        return float(end[1] * (x / end[0]) ** slope)
    (x0, y0), (x1, y1) = points[at - 1], points[at]
    share = math.log(x / x0) / math.log(x1 / x0)
    return float(y0 * (y1 / y0) ** share)


def beyond(points: Sequence[tuple[float, float]], x: float) -> float:
    """Return by what factor `x` lies outside the points: below 1 before, above 1 after them."""
    first, last = points[0][0], points[-1][0]
    return x / first if x < first else x / last if x > last else 1.0

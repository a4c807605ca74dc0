"""A lower bound of what a geometric program costs, by a primal-dual interior-point method."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tilewright.kernels.kernel import kernel, part
from tilewright.kernels.record import record
from tilewright.kernels.types import Bools, Floats, Ints
from tilewright.mapper.relaxations.joint.program import SumLimits

STEPS = 50
NARROW = 1e-8  # range of a variable that has one value
TINY = 1e-13
# products of slacks and multipliers together at the end; fewer near the ceiling
CLOSE, CLOSER, NEAR = 1e-5, 1e-10, 1e-4
ROUNDING = 1e-12  # of each part of the bound, whose gradient is multiplied by ranges
INSIDE = 0.99  # of the way to the boundary
EDGE = 1e-12, 1e-14  # of a range, and at least
FIRST = 0.1  # slack at least, and its product with a multiplier, at first


@record
class InteriorStep(NamedTuple):
    """Where the method is, and where it goes.

    SumLimits have one of each; ranges have a below and an above.

    Attributes
    ----------
    point, change, gradient : arrays of variables
        Gradient of goal and limits together.
    place : array of variables
        Position among those that are free, or -1.
    slack, slack_change : arrays of limits
        How far a sum is from 1, as a logarithm.
    multiplier, multiplier_change : arrays of limits
    value : array of limits
        Logarithms of sums.
    aim : array of limits
        What the product of slack and multiplier should become.
    side, side_change, side_aim : arrays of (2, variables)
        Multipliers of ranges.
    slope : array
        Of the variables of each limit.
    share : array of terms
        Of their sum.
    matrix : array of (free, free)
    right : array of free
    """

    point: Floats
    change: Floats
    gradient: Floats
    place: Ints
    slack: Floats
    slack_change: Floats
    multiplier: Floats
    multiplier_change: Floats
    value: Floats
    aim: Floats
    side: Floats
    side_change: Floats
    side_aim: Floats
    slope: Floats
    share: Floats
    matrix: Floats
    right: Floats


def least_value(
    limits: SumLimits, logs: Floats, active: Bools, ranges: Floats, goal: Floats, ceiling: float
) -> tuple[float, Floats]:
    """Return what a sum of variables is at least if sums of terms are at most 1, and where.

    Limits are convex in logarithms. So for any point and any multipliers, their sum with the goal
    is no less than its tangent, and the least of that in the ranges of all variables is a bound
    (Boyd, Vandenberghe, Convex Optimization, 2004, 5.2). Each step tries one, so that nothing
    depends on how well the method converges. It is that of Mehrotra (SIAM J. Optimization 2, 1992),
    with slacks, which needs no point to begin with that keeps to all limits.

    Parameters
    ----------
    limits : SumLimits
    logs : array of terms
        Logarithms of their numbers, -inf for none.
    active : array of limits
        Whether they hold.
    ranges : array of (2, variables)
    goal : array of variables
        What each counts for.
    ceiling : float
        A bound that is high enough.
    """
    number, count = len(goal), len(active)
    free = ranges[1] - ranges[0] > NARROW
    size = int(free.sum())
    place = np.full(number, -1)
    place[limits.order[free[limits.order]]] = np.arange(size)
    slack, slack_change, multiplier, multiplier_change, value, aim = np.zeros((6, count))
    side, side_change, side_aim = np.zeros((3, 2, number))
    side[:] = 1.0
    step = InteriorStep(
        point=0.5 * (ranges[0] + ranges[1]),
        change=np.zeros(number),
        gradient=np.zeros(number),
        place=place,
        slack=slack,
        slack_change=slack_change,
        multiplier=multiplier,
        multiplier_change=multiplier_change,
        value=value,
        aim=aim,
        side=side,
        side_change=side_change,
        side_aim=side_aim,
        slope=np.zeros(len(limits.variables)),
        share=np.zeros(len(logs)),
        matrix=np.zeros((size, size)),
        right=np.zeros(size),
    )
    point = step.point.copy()
    bound = converge(limits, logs, active, ranges, goal, ceiling, step, point)
    return bound, point


@kernel
def converge(
    limits: SumLimits,
    logs: Floats,
    active: Bools,
    ranges: Floats,
    goal: Floats,
    ceiling: float,
    step: InteriorStep,
    point: Floats,
) -> float:
    """Return the best bound, and put the point where it was found into `point`."""
    best = -np.inf
    for n in range(STEPS):
        bound = evaluate(limits, logs, active, ranges, goal, step, n == 0)
        if not np.isfinite(bound):
            break
        if bound > best:
            best = bound
            for i in range(len(goal)):
                point[i] = step.point[i]
        if best >= ceiling:
            break
        products, pairs, beyond = 0.0, 0, 0.0
        for g in range(len(active)):
            if active[g]:
                products += step.slack[g] * step.multiplier[g]
                pairs += 1
                beyond = max(beyond, step.value[g])
        for i in range(len(goal)):
            if step.place[i] >= 0:
                products += step.side[0, i] * (step.point[i] - ranges[0, i])
                products += step.side[1, i] * (ranges[1, i] - step.point[i])
                pairs += 2
        enough = CLOSE if best < ceiling - NEAR else CLOSER
        if (products < enough and beyond < enough) or products == 0.0:
            break
        complete(limits, active, ranges, step)
        factorise(step.matrix)
        # a step to products of nothing tells how many are left, and how they bend
        step.aim[:] = 0.0
        step.side_aim[:] = 0.0
        direct(limits, active, ranges, step)
        far, farther = lengths(active, ranges, step)
        left = 0.0
        for g in range(len(active)):
            if active[g]:
                own = step.slack[g] + far * step.slack_change[g]
                left += own * (step.multiplier[g] + farther * step.multiplier_change[g])
        for i in range(len(goal)):
            if step.place[i] >= 0:
                x = step.point[i] + far * step.change[i]
                low = step.side[0, i] + farther * step.side_change[0, i]
                high = step.side[1, i] + farther * step.side_change[1, i]
                left += low * (x - ranges[0, i]) + high * (ranges[1, i] - x)
        ratio = left / products
        aim = max(ratio * ratio * ratio, 1e-3) * products / max(1, pairs)
        for g in range(len(active)):
            step.aim[g] = aim - step.slack_change[g] * step.multiplier_change[g]
        for i in range(len(goal)):
            step.side_aim[0, i] = aim - step.change[i] * step.side_change[0, i]
            step.side_aim[1, i] = aim + step.change[i] * step.side_change[1, i]
        direct(limits, active, ranges, step)
        far, farther = lengths(active, ranges, step)
        for g in range(len(active)):
            if active[g]:
                step.slack[g] = max(step.slack[g] + far * step.slack_change[g], TINY)
                own = step.multiplier[g] + farther * step.multiplier_change[g]
                step.multiplier[g] = max(own, TINY)
        for i in range(len(goal)):
            if step.place[i] >= 0:
                low, high = ranges[0, i], ranges[1, i]
                edge = EDGE[0] * (high - low) + EDGE[1]
                x = step.point[i] + far * step.change[i]
                step.point[i] = min(max(x, low + edge), high - edge)
                for k in range(2):
                    own = step.side[k, i] + farther * step.side_change[k, i]
                    step.side[k, i] = max(own, TINY)
    return best


@part
def evaluate(
    limits: SumLimits,
    logs: Floats,
    active: Bools,
    ranges: Floats,
    goal: Floats,
    step: InteriorStep,
    begins: bool,
) -> float:
    """Return the bound at a point; set values, slopes, gradient and their part of the matrix."""
    x, matrix, place, share = step.point, step.matrix, step.place, step.share
    matrix[:] = 0.0
    total = size = 0.0
    for i in range(len(goal)):
        step.gradient[i] = goal[i]
        total += goal[i] * x[i]
    for g in range(len(active)):
        if not active[g]:
            continue
        first, last = limits.first[g], limits.first[g + 1]
        begin, end = limits.begin[g], limits.begin[g + 1]
        single = last - first == 1
        most = -np.inf
        for t in range(first, last):
            own = logs[t]
            for q in range(limits.start[t], limits.start[t + 1]):
                own += limits.powers[q] * x[limits.variables[begin + limits.slots[q]]]
            share[t] = own
            most = max(most, own)
        step.value[g] = most
        if single:
            share[first] = 1.0
        else:
            whole = 0.0
            for t in range(first, last):
                share[t] = np.exp(share[t] - most)
                whole += share[t]
            for t in range(first, last):
                share[t] /= whole
            step.value[g] += np.log(whole)
        for v in range(begin, end):
            step.slope[v] = 0.0
        for t in range(first, last):
            for q in range(limits.start[t], limits.start[t + 1]):
                step.slope[begin + limits.slots[q]] += share[t] * limits.powers[q]
        if begins:
            step.slack[g] = max(-step.value[g], FIRST)
            step.multiplier[g] = FIRST / step.slack[g]
        weight = step.multiplier[g]
        total += weight * step.value[g]
        size += weight * (abs(step.value[g]) + 1.0)
        factor = weight / step.slack[g]
        if not single:
            factor -= weight
            for t in range(first, last):
                for q in range(limits.start[t], limits.start[t + 1]):
                    i = place[limits.variables[begin + limits.slots[q]]]
                    if i < 0:
                        continue
                    own = weight * share[t] * limits.powers[q]
                    for r in range(limits.start[t], limits.start[t + 1]):
                        k = place[limits.variables[begin + limits.slots[r]]]
                        if k >= i:
                            matrix[i, k] += own * limits.powers[r]
        for v in range(begin, end):
            step.gradient[limits.variables[v]] += weight * step.slope[v]
            i = place[limits.variables[v]]
            if i < 0:
                continue
            own = factor * step.slope[v]
            for w in range(v, end):
                k = place[limits.variables[w]]
                if k >= 0:
                    matrix[min(i, k), max(i, k)] += own * step.slope[w]
    bound = total - ROUNDING * size
    for i in range(len(goal)):
        own = step.gradient[i]
        bound += min(own * (ranges[0, i] - x[i]), own * (ranges[1, i] - x[i]))
    return bound


@part
def complete(limits: SumLimits, active: Bools, ranges: Floats, step: InteriorStep) -> None:
    """Add to the matrix what ranges do."""
    for i in range(len(step.place)):
        k = step.place[i]
        if k >= 0:
            down, up = step.point[i] - ranges[0, i], ranges[1, i] - step.point[i]
            step.matrix[k, k] += step.side[0, i] / down + step.side[1, i] / up + TINY


@part
def direct(limits: SumLimits, active: Bools, ranges: Floats, step: InteriorStep) -> None:
    """Set the changes that make products what they should become."""
    right, place = step.right, step.place
    for i in range(len(place)):
        k = place[i]
        if k >= 0:
            down, up = step.point[i] - ranges[0, i], ranges[1, i] - step.point[i]
            right[k] = step.side_aim[0, i] / down - step.side_aim[1, i] / up - step.gradient[i]
    for g in range(len(active)):
        if active[g]:
            more = (step.aim[g] + step.multiplier[g] * step.value[g]) / step.slack[g]
            for v in range(limits.begin[g], limits.begin[g + 1]):
                k = place[limits.variables[v]]
                if k >= 0:
                    right[k] -= step.slope[v] * more
    substitute(step.matrix, right)
    for i in range(len(place)):
        step.change[i] = right[place[i]] if place[i] >= 0 else 0.0
        if place[i] >= 0:
            down, up = step.point[i] - ranges[0, i], ranges[1, i] - step.point[i]
            low, high = step.side[0, i], step.side[1, i]
            step.side_change[0, i] = (step.side_aim[0, i] - low * step.change[i]) / down - low
            step.side_change[1, i] = (step.side_aim[1, i] + high * step.change[i]) / up - high
    for g in range(len(active)):
        if active[g]:
            own = -step.value[g] - step.slack[g]
            for v in range(limits.begin[g], limits.begin[g + 1]):
                own -= step.slope[v] * step.change[limits.variables[v]]
            step.slack_change[g] = own
            own = step.aim[g] - step.multiplier[g] * (step.slack[g] + own)
            step.multiplier_change[g] = own / step.slack[g]


@part
def lengths(active: Bools, ranges: Floats, step: InteriorStep) -> tuple[float, float]:
    """Return how far point and slacks, and multipliers, may go so that all stay inside."""
    far = farther = 1.0
    for i in range(len(step.place)):
        if step.place[i] >= 0:
            change = step.change[i]
            if change < 0.0:
                far = min(far, INSIDE * (ranges[0, i] - step.point[i]) / change)
            elif change > 0.0:
                far = min(far, INSIDE * (ranges[1, i] - step.point[i]) / change)
            for k in range(2):
                if step.side_change[k, i] < 0.0:
                    farther = min(farther, -INSIDE * step.side[k, i] / step.side_change[k, i])
    for g in range(len(active)):
        if active[g]:
            if step.slack_change[g] < 0.0:
                far = min(far, -INSIDE * step.slack[g] / step.slack_change[g])
            if step.multiplier_change[g] < 0.0:
                own = -INSIDE * step.multiplier[g] / step.multiplier_change[g]
                farther = min(farther, own)
    return far, farther


@part
def factorise(matrix: Floats) -> None:
    """Make a symmetric positive matrix U' U; its upper part is given, and U put there."""
    number = len(matrix)
    for j in range(number):
        pivot = np.sqrt(matrix[j, j]) if matrix[j, j] > 1e-300 else 1e150
        for k in range(j, number):
            matrix[j, k] /= pivot
        matrix[j, j] = pivot
        for i in range(j + 1, number):
            factor = matrix[j, i]
            if factor != 0.0:
                for k in range(i, number):
                    matrix[i, k] -= factor * matrix[j, k]


@part
def substitute(matrix: Floats, right: Floats) -> None:
    """Solve U' U x = right in place."""
    number = len(right)
    for i in range(number):
        right[i] /= matrix[i, i]
        for k in range(i + 1, number):
            right[k] -= matrix[i, k] * right[i]
    for i in range(number - 1, -1, -1):
        for k in range(i + 1, number):
            right[i] -= matrix[i, k] * right[k]
        right[i] /= matrix[i, i]

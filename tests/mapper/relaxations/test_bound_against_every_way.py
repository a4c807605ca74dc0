"""The closed form for near and far words against trying every way through the loops."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from itertools import product
from math import inf, prod
from random import Random

import numpy as np
import pytest

import tilewright as tw
from tilewright.mapper.relaxations.stays import mixed
from tilewright.mapper.relaxations.stays.mixed import OperationShare, least_mixed
from tilewright.mapper.relaxations.stays.stay import Stay
from tilewright.mapper.windows.pairs import Windows

ANY = tw.matmul(M=2, N=2, K=2)
NONE = Windows(ANY.tensors[0], ANY.bounds)
CYCLES = (0.0, 0.01, 0.1, 0.3, 1.0, 4.0, 1e9)  # more than all elements need together


class Case:
    """Words of three tensors that cross inward, of which some are near.

    Each loop makes the operations that a word of one tensor serves `step` times as many.
    """

    def __init__(self, seed: int) -> None:
        random = Random(seed)
        self.step = random.choice([1.3, 2.0, 3.0])
        self.loops = [random.randint(0, 4) for _ in range(3)]
        self.near = (True, random.random() < 0.5, False)
        self.prices = [10.0 ** random.uniform(-2, 2) for _ in range(3)]
        total = sum(self.loops)
        self.limits = [self.step ** random.uniform(0, max(total - n, 0.1)) for n in self.loops]
        self.floor = random.choice([0.0, 10.0 ** random.uniform(-3, 1) * sum(self.prices)])

    def least(self, more: float) -> float:
        """Return what the best way costs that takes so many more cycles at most."""

        @cache
        def onward(at: tuple[int, ...], gone: tuple[int, ...]) -> float:
            serves = [self.step**n for n in at]
            best = 0.0 if at == tuple(self.loops) and len(gone) == sum(self.near) else inf
            for t in range(3):
                around = prod(y for u, y in enumerate(serves) if u != t)
                if self.near[t]:
                    if t not in gone and around <= self.limits[t] * (1 + 1e-12):
                        cost = self.prices[t] / serves[t]
                        best = min(best, cost + onward(at, (*gone, t)))
                    cost = 0.0
                else:
                    share = min(1.0, self.limits[t] / around)
                    if share < 1:
                        share = min(share, more * share / (1 - share))
                    fewer = 1 / serves[t] - 1 / (serves[t] * self.step)
                    cost = self.prices[t] * fewer * (1 - share)
                if at[t] < self.loops[t]:
                    nearer = (*at[:t], at[t] + 1, *at[t + 1 :])
                    best = min(best, cost + onward(nearer, gone))
            return best

        once = sum(
            price / self.step**n
            for price, n, near in zip(self.prices, self.loops, self.near, strict=True)
            if not near
        )
        return once + onward((0, 0, 0), ())

    def bound(self, monkeypatch: pytest.MonkeyPatch, idle: float | None) -> float:
        one = np.ones(1)
        none: frozenset[str] = frozenset()
        stays = [
            Stay(price * one, 0 * one, none, none, NONE, 1.0, self.step**n * one, limit, {}, one)
            for price, n, limit in zip(self.prices, self.loops, self.limits, strict=True)
        ]

        def most_inside(outer: Stay, inner: Sequence[Stay], _: object) -> object:
            return outer.room * one

        monkeypatch.setattr(mixed, "most_inside", most_inside)
        near = [stay for stay, is_near in zip(stays, self.near, strict=True) if is_near]
        far = [stay for stay, is_near in zip(stays, self.near, strict=True) if not is_near]
        groups = [OperationShare(1.0, near, far)]
        if idle is None:
            return float(least_mixed(groups, {})[0])
        return float(least_mixed(groups, {}, idle * one, self.floor * one)[0])


def compare(seed: int, monkeypatch: pytest.MonkeyPatch) -> float:
    """Return the largest ratio of a bound to the best way."""
    case = Case(seed)
    ways = {more: case.least(more) for more in CYCLES}
    most = case.bound(monkeypatch, None) / ways[CYCLES[-1]]
    for idle, (more, way) in product((0.0, 0.01, 0.3), ways.items()):
        bound = case.floor + case.bound(monkeypatch, idle)
        slower = (1 + max(more, idle)) / (1 + idle)
        most = max(most, bound / (slower * (case.floor + way)))
    return most


@pytest.mark.long
def test_no_way_costs_less_and_some_cost_as_much(
    monkeypatch: pytest.MonkeyPatch, whole: bool
) -> None:
    ratios = [compare(seed, monkeypatch) for seed in range(80 if whole else 25)]
    assert 0.999 < max(ratios) <= 1 + 1e-9
    assert np.mean(ratios) > 0.95


@pytest.mark.slow
@pytest.mark.parametrize("start", range(1000, 6000, 500))
def test_no_way_costs_less_in_many_cases(start: int, monkeypatch: pytest.MonkeyPatch) -> None:
    assert max(compare(seed, monkeypatch) for seed in range(start, start + 500)) <= 1 + 1e-9

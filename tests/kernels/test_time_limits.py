"""Limits of time leave out what it takes to compile kernels."""

from __future__ import annotations

import pytest

from tilewright.kernels import time_limits
from tilewright.mapper.network.running import time_shares


def test_a_limit_of_time_does_not_count_compilation(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = [100.0]
    monkeypatch.setattr(time_limits, "perf_counter", lambda: clock[0])
    is_up, never = time_limits.time_is_up(10.0), time_limits.time_is_up(None)
    with time_limits.timed(), time_limits.timed():  # one kernel compiles another one
        clock[0] += 25.0
    assert not is_up()
    clock[0] += 9.0
    assert not is_up()
    clock[0] += 1.0
    assert is_up() and not never()


def test_a_share_of_a_limited_time_is_not_spent_on_compilation(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    clock = [100.0]
    for module in (time_limits, time_shares):
        monkeypatch.setattr(module, "perf_counter", lambda: clock[0])
    part, stop = time_shares.Budget(110.0, waiting=1, workers=1).shares(first=0.3)
    with time_limits.timed():
        clock[0] += 25.0
    clock[0] += 2.0
    assert not part() and not stop()
    clock[0] += 2.0
    assert part() and not stop()
    clock[0] += 6.0
    assert stop()

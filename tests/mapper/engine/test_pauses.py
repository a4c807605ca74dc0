"""Walks that stop for room and go on: what they find is what one without stops finds."""

from __future__ import annotations

import pytest

from problems import problem
from tilewright.mapper.search import label_walk
from tilewright.mapper.search.search import Search


@pytest.mark.sampled(3)
@pytest.mark.parametrize("seed", range(24))
def test_a_walk_finds_the_same_however_often_it_stops(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    at_once = Search(*problem(seed), "edp").solve()
    asked = []

    def stop() -> bool:
        asked.append(1)
        return False

    monkeypatch.setattr(label_walk, "PAUSE", 0)
    monkeypatch.setattr(label_walk, "LABELS", 1)  # room in the tables at first
    search = Search(*problem(seed), "edp")
    found = search.solve(stop)
    assert (found.labels, found.value, found.bound) == (
        at_once.labels,
        at_once.value,
        at_once.bound,
    )
    assert found.mapping == at_once.mapping
    assert len(asked) > 0

"""Which layers may be fused, and which segments are chosen."""

import itertools
from dataclasses import replace
from random import Random

import pytest

import tilewright as tw
from tilewright.mapper.fused import segment_task
from tilewright.mapper.fused.search.segment_search import SegmentSearch
from tilewright.mapper.fused.space.partition import (
    Part,
    best_packing,
    in_turn,
    packed,
    parts_of,
    segments_of,
)


def chain(count: int) -> Part:
    names = tuple("abcdefgh"[:count])
    return Part(
        names,
        dict(zip(names, names, strict=True)),
        1,
        {n: frozenset(names[max(0, i - 1) : i + 2]) - {n} for i, n in enumerate(names)},
        {n: frozenset(names[i + 1 :]) for i, n in enumerate(names)},
        frozenset(),
    )


@pytest.mark.sampled(25)
@pytest.mark.parametrize("seed", range(50))
def test_the_segments_chosen_gain_most(seed):
    random = Random(seed)
    part = chain(random.randint(2, 6))
    sets = [
        frozenset(random.sample(part.names, random.randint(2, min(4, len(part.names)))))
        for _ in range(random.randint(1, 7))
    ]
    gains = {own: random.choice((-1.0, 1.0, 2.5, 4.0)) for own in sets}
    useful = [own for own in gains if gains[own] > 0]
    best = max(
        sum(gains[own] for own in some)
        for n in range(len(useful) + 1)
        for some in itertools.combinations(useful, n)
        if sum(map(len, some)) == len(frozenset().union(*some))
    )
    assert sum(gains[own] for own in packed(useful, gains, part)) == best
    assert in_turn(best_packing(gains, part), part)


def test_sets_that_need_each_other_are_not_chosen_together():
    after = {"a": frozenset("b"), "b": frozenset(), "c": frozenset("d"), "d": frozenset()}
    part = replace(chain(4), after=after)
    gains = {frozenset("ad"): 2.0, frozenset("bc"): 1.0}
    assert best_packing(gains, part) == [frozenset("ad")]


def test_segments_exchange_what_nobody_else_reads():
    network = tw.load_network("bert_base")
    assert network.graph is not None
    found = {
        tuple(layer.name.removeprefix("layer.") for layer in segment.layers)
        for part in parts_of(network.graph)
        for segment in segments_of(part, network)
    }
    # an activation lies between up and down; softmax ends a segment, and so does the sum
    assert ("up", "down") in found
    assert ("context", "output") in found
    assert not any({"scores", "context"} <= set(names) for names in found)
    assert not any({"output", "up"} <= set(names) for names in found)


def test_ctrl_c_gives_the_best_so_far(monkeypatch):
    solve, count = SegmentSearch.solve, itertools.count()

    def interrupted(self, most, stop, soon=None):
        if next(count) == 1:
            raise KeyboardInterrupt
        return solve(self, most, stop)

    monkeypatch.setattr(segment_task.SegmentSearch, "solve", interrupted)
    found = tw.map("bert_base", "tpu-v1", fuse=True)
    assert found.interrupted
    assert not found.optimal
    assert found.lower_bound < found.value <= found.value_alone
    assert "interrupted" in found.statement()

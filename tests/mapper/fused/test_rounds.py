"""Segments are searched as tasks of their own: the same anywhere, whatever else is searched."""

import itertools
import pickle
from dataclasses import replace
from math import inf
from random import Random

import pytest

from fused_chains import machine, network
from several_arrays import several_arrays
from tilewright.mapper.fused.network_search import FusedNetworkSearch
from tilewright.mapper.fused.rounds import Rounds
from tilewright.mapper.fused.search.known import KnownChunks, KnownOfLayers
from tilewright.mapper.fused.search.trees import tree_of
from tilewright.mapper.fused.segment_task import Outcome, solve
from tilewright.mapper.fused.space.segment_problem import SegmentProblem
from tilewright.mapper.network.network import map_network
from tilewright.workload.cascades import inverted_bottleneck


def never():
    return False


def problems():
    """Yield networks, machines and tolerances: chains with groups, windows, several arrays."""
    random = Random(1)
    yield network(4, [2, 8, 2, 8]), machine(random), (0.0,)
    yield network(4, [4, 2, 6]), several_arrays(random), (0.02, 0.0)
    small = inverted_bottleneck(rows=2, columns=2, channels=2, expanded=2, made=2)
    yield small, machine(random), (0.0,)


@pytest.mark.long
@pytest.mark.parametrize("number", range(3))
def test_a_task_has_the_same_answer_in_another_process(number):
    found, target, tolerances = list(problems())[number]
    search = FusedNetworkSearch(
        found, target, "energy", map_network(found, target, "energy").layers
    )
    search.list_segments()
    known = KnownOfLayers([la for own in search.segments.values() for la in own.layers])
    trees = chunks = 0
    for tolerance in tolerances:
        for names in sorted(search.kinds(), key=len):
            segment = search.segments[names]
            task = search.task(names, tolerance, known.about(segment.layers))
            sent = pickle.loads(pickle.dumps(task))
            chunks += len(task.known.chunks)
            here, there = solve(task, never), pickle.loads(pickle.dumps(solve(sent, never)))
            one, other = here.outcome, there.outcome
            assert (one.value, one.bound, one.least, one.searched) == (
                other.value, other.bound, other.least, other.searched
            )  # fmt: skip
            assert list(here.found.chunks) == list(there.found.chunks)
            assert len(here.found.groups) == len(there.found.groups)
            if one.best is not None:
                problem = SegmentProblem(segment, target)
                assert tree_of(problem, one.best) == tree_of(problem, other.best)
                trees += 1
            search.learn(names, other)
            known.add(there.found)
    assert trees and chunks


@pytest.mark.parametrize("hoped", [False, True])
def test_what_is_found_does_not_depend_on_the_number_of_workers(hoped):
    random = Random(3)
    found, target = network(4, [4, 2, 6]), several_arrays(random)
    alone = map_network(found, target, "energy")
    ends = []
    for workers in (1, 3):
        search = FusedNetworkSearch(found, target, "energy", alone.layers)
        search.list_segments()
        Rounds(search, inf, workers, since=-inf).carry_out(hoped=hoped)
        ends.append(
            [
                (sorted(names), own.value, own.bound, own.searched, own.candidates)
                for names, own in search.outcomes.items()
            ]
        )
    assert ends[0] == ends[1]
    assert any(value < inf for _, value, *_ in ends[0])


def test_what_is_known_is_told_of_the_layers_that_it_is_about():
    found, target = network(4, [4, 2, 6]), machine(Random(2))
    search = FusedNetworkSearch(
        found, target, "energy", map_network(found, target, "energy").layers
    )
    search.list_segments()
    (names,) = search.kinds()
    answer = solve(search.task(names, 0.0, KnownOfLayers([]).about([])), never)
    first, second = search.segments[names].layers
    known = KnownOfLayers([first, second])
    known.add(answer.found)
    own, other = known.about([first]).chunks, known.about([second]).chunks
    assert own and other
    assert known.about([first, second]).chunks.keys() == answer.found.chunks.keys()
    assert not answer.found.beyond(known.about([first, second])).chunks


@pytest.mark.long
@pytest.mark.parametrize("number", range(3))
def test_what_a_search_leaves_undone_is_in_its_bounds(number):
    found, target, _ = list(problems())[number]
    search = FusedNetworkSearch(
        found, target, "energy", map_network(found, target, "energy").layers
    )
    search.list_segments()
    random = Random(number)
    for names in search.every_kind():
        task = search.task(names, 0.0, KnownChunks())
        best = solve(replace(task, most=inf), never).outcome.value
        if best == inf:
            continue
        for _ in range(12):
            floor = best * random.choice((0.5, 0.9, 0.999, 1.0))
            calls = itertools.count()
            stop_at = random.choice((inf, inf, 1, 3, 10, 40, 200))
            one = replace(
                task,
                most=best * random.choice((0.9, 0.99, 1.0, 1.01, 1.5)),
                tolerance=random.choice((0.0, 0.02, 0.5)),
                earlier=Outcome(None, inf, floor, floor, searched=False),
                seconds=random.choice((inf, 0.0)),
            )
            ended = solve(one, lambda calls=calls, at=stop_at: next(calls) >= at).outcome
            assert ended.least <= best * (1 + 1e-12)
            assert min(ended.bound, one.most) <= best * (1 + 1e-12)
            assert ended.value >= best * (1 - 1e-12)

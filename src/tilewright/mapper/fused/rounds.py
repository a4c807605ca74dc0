"""The order in which segments are searched: in rounds, several at the same time.

What a search is given is what was known before its round, so what it finds does not depend on how
many processes there are.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import replace
from itertools import groupby
from math import isfinite
from time import perf_counter

from tilewright.mapper.fused.all_sizes import AllSizes
from tilewright.mapper.fused.network_search import FusedNetworkSearch
from tilewright.mapper.fused.search.apart import Apart, least_apart, least_of_all_sizes
from tilewright.mapper.fused.search.known import KnownOfLayers
from tilewright.mapper.fused.segment_task import Answer, Task, solve
from tilewright.mapper.fused.space.partition import Names
from tilewright.mapper.network.running.time_shares import Budget, collect
from tilewright.mapper.network.running.workers import Helpers

ROUGHLY = 0.02, 0.005  # by how much trees may be worse than the best ones at first
LEAST = 0.01  # share of the time for segments of which nothing is unknown


class Rounds:
    """The searches of all segments of a network.

    Parameters
    ----------
    search : FusedNetworkSearch
        What is known; it grows.
    last : float
        When the time is over, on the clock of `perf_counter`; infinite without a limit.
    workers : int
        Segments that are searched at the same time.
    since : float
        When the work began: other processes are only started for what takes long.
    """

    def __init__(
        self, search: FusedNetworkSearch, last: float, workers: int = 1, since: float = 0.0
    ) -> None:
        self.search = search
        self.last = last
        self.workers = workers
        self.since = since
        self.known = KnownOfLayers([la for own in search.segments.values() for la in own.layers])
        self.interrupted = False
        self.ended = 0  # searches of segments so far

    def state(self) -> str:
        """Return in a line how far the work is."""
        kinds = len(self.search.alike)
        named = f"{kinds} different segments" if kinds > 1 else "1 segment"
        return f"fused layers: {named}, {self.ended} searches ended"

    def carry_out(self, *, hoped: bool, all_sizes: bool = False) -> None:
        """Search all segments, or those that the bound rests on.

        Trees that are found in little time leave out most searches of the last round. With
        `all_sizes`, tile sizes that do not divide are tried last, in half of a limited time.
        """
        whole, other = self.last, AllSizes(self.search)
        if all_sizes:
            self.last = self.half()
        # searches that take little time do without, unless they may be cut short
        roughly = ROUGHLY if hoped else ROUGHLY[:1] if isfinite(self.last) else ()
        self.helpers = Helpers(self.workers - 1)
        self.helpers.since = self.since
        self.pool = ThreadPoolExecutor(self.workers, thread_name_prefix="tilewright")
        try:
            for tolerance in (*roughly, 0.0):
                if hoped:
                    self.hoped(tolerance)
                    if tolerance > 0.0 and isfinite(self.last):
                        self.others(tolerance)
                else:
                    self.every(tolerance)
            self.last = whole
            if all_sizes and not self.over():
                self.try_all_sizes(other)
        except KeyboardInterrupt:
            self.interrupted = True
        finally:
            self.pool.shutdown(wait=False, cancel_futures=True)
            self.helpers.close()
        if all_sizes:
            other.only_floors()

    def over(self) -> bool:
        """Whether there is no time left."""
        return self.interrupted or perf_counter() >= self.last

    def every(self, tolerance: float) -> None:
        """Search all segments, those with fewer layers first.

        Their values leave out most trees of larger ones. In a limited time each has its share, by
        what is not known of it yet.
        """
        search = self.search
        levels = [list(own) for _, own in groupby(sorted(search.kinds(), key=len), key=len)]
        for n, level in enumerate(levels):
            if self.over():
                return
            unknown = [sum(map(search.unknown, own)) for own in levels[n:]]
            share = unknown[0] / sum(unknown) if unknown[0] > 0.0 else 0.0
            now = perf_counter()
            self.together(level, tolerance, now + (self.last - now) * max(share, LEAST))

    def hoped(self, tolerance: float) -> None:
        """Search the segments that the bound rests on.

        This is for machines where searches take long: larger segments are searched before smaller
        ones, whose values would leave out most of them.

        Those that would save most together, were their bounds attained, are all that has to be
        known: when nothing is left to know of them, no other choice of segments is better. With a
        tolerance, each is searched once.
        """
        search = self.search
        tried: set[Names] = set()
        late = False
        while not self.over():
            wanted = {
                search.group[names][0][1] for part in search.parts for names in search.hoped(part)
            }
            left = [names for names in search.kinds() if names in wanted]
            untried = [names for names in left if names not in tried]
            if not untried and (tolerance > 0.0 or not late):
                return  # none is left, or what is left ran out of memory
            if not untried:
                tried, late = set(), False
                continue
            if questions := search.questions(untried):
                self.bound_apart(questions)
                continue  # the bound may rest on others now
            tried.update(untried)
            # what is left of a rough round is for others, if there are any
            others = tolerance > 0.0 and set(search.kinds()) - tried
            late |= self.together(untried, tolerance, self.half() if others else self.last)

    def others(self, tolerance: float) -> None:
        """Search segments that the bound does not rest on, of layers that are not fused so far.

        In a limited time this finds trees where those that would save most do not exist.
        """
        search = self.search
        fused = frozenset[str]().union(
            *(own for part in search.parts for own in search.chosen(part))
        )
        left = [
            names
            for names in search.kinds()
            if not names & fused
            and search.outcomes[names].bound < search.most(names) * (1 - tolerance)
        ]
        for _, level in groupby(sorted(left, key=len), key=len):
            if self.over():
                return
            self.together(list(level), tolerance, self.half())

    def try_all_sizes(self, other: AllSizes) -> None:
        """Search segments with rounder bounds, bound layers, and change tiles of what is fused."""
        search, tasks = self.search, other.tasks()
        budget = Budget(self.half(), len(tasks), self.workers)
        answers: dict[Names, Answer] = {}

        def one(names: Names, task: Task) -> None:
            answers[names] = self.helpers.compute(solve, task, stop=budget.take())

        self.finish([self.pool.submit(one, *task) for task in tasks.items()], budget)
        for names in tasks:
            if names in answers:
                other.learn(names, answers[names])
        if not self.interrupted:
            other.least = self.answers_of(least_of_all_sizes, other.questions())
        chosen = dict.fromkeys(
            search.group[names][0][1] for part in search.parts for names in search.chosen(part)
        )
        for names in chosen:
            other.change_tiles(names, self.over)

    def half(self) -> float:
        """Return when half of the time that is left will be over."""
        now = perf_counter()
        return now + (self.last - now) / 2

    def together(self, batch: Sequence[Names], tolerance: float, end: float) -> bool:
        """Search some segments, until some time of the clock; return whether that ended one."""
        search = self.search
        unknown = [search.unknown(names) for names in batch]
        whole = sum(unknown) or 1.0
        budget = Budget(end, sum(max(own / whole, LEAST) for own in unknown), self.workers)
        late: list[Names] = []
        answers: dict[Names, Answer] = {}

        def one(names: Names, task: Task, weight: float) -> None:
            seconds = budget.seconds(weight)
            end = perf_counter() + seconds

            def stop() -> bool:
                return budget.halted.is_set() or perf_counter() >= end

            task = replace(task, seconds=seconds)
            answers[names] = self.helpers.compute(solve, task, stop=stop)
            self.ended += 1
            if stop():
                late.append(names)

        futures = []
        for own, names in sorted(zip(unknown, batch, strict=True), key=lambda each: -each[0]):
            task = search.task(names, tolerance, self.known.about(search.segments[names].layers))
            futures.append(self.pool.submit(one, names, task, max(own / whole, LEAST)))
        self.finish(futures, budget)
        for names in batch:
            if names in answers:
                search.learn(names, answers[names].outcome)
                self.known.add(answers[names].found)
        return bool(late)

    def bound_apart(self, questions: Sequence[Apart]) -> None:
        """Bound layers of segments by themselves."""
        self.search.bound_apart(self.answers_of(least_apart, questions))

    def answers_of(
        self, bound: Callable[[Apart, Callable[[], bool]], float], questions: Sequence[Apart]
    ) -> dict[object, float]:
        """Return bounds of layers; they take half of the time that is left at most."""
        budget = Budget(self.half(), len(questions), self.workers)
        answers: dict[object, float] = {}

        def one(question: Apart) -> None:
            stop = budget.take()
            answers[question.key] = self.helpers.compute(bound, question, stop=stop)

        self.finish([self.pool.submit(one, question) for question in questions], budget)
        return answers

    def finish(self, futures: Sequence[Future[None]], budget: Budget) -> None:
        """Wait for searches, or for Ctrl-C, which ends them."""
        try:
            collect(futures, budget.halted)
        except KeyboardInterrupt:
            self.interrupted = True
            budget.halted.set()
            for future in futures:
                future.cancel()
            wait(futures)

"""The ranges of sizes that a frontier is searched in, side by side.

A bypass choice that uses one of the memories alone costs the same for all sizes of the other: it is
searched once. What uses both has to beat what is found there. Ranges of the sizes of both tell
little about each other, and nothing about larger ones is asked while one is searched: each begins
with the points of those alone that tell something, whatever the number of workers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from copy import copy
from dataclasses import dataclass, replace
from itertools import product
from threading import Event, Lock

import numpy as np

from tilewright.mapper.memory_sizes.sweep import Sweep
from tilewright.mapper.memory_sizes.walks import Bypass, Sizes, StoppedError, Walks
from tilewright.mapping.nodes import Mapping
from tilewright.processes import processors

FEW = 64  # words of each memory, up to which a range is not divided
NEITHER, ABOVE, BELOW, BOTH = (False, False), (True, False), (False, True), (True, True)


@dataclass(frozen=True)
class Range:
    """Sizes of both memories, for the bypass choices that use the same of them.

    Attributes
    ----------
    uses : tuple of bool
        Whether they use the memory above the first array, and the other one.
    low, high : tuple of float
        Bits.
    """

    uses: tuple[bool, bool]
    low: Sizes
    high: Sizes

    def tells(self, other: Range) -> bool:
        """Whether another range has to beat what is found in this one."""
        return self.uses != other.uses and all(
            not mine or (theirs and low <= most and least <= high)
            for mine, theirs, low, high, least, most in zip(
                self.uses, other.uses, self.low, self.high, other.low, other.high, strict=True
            )
        )


def ranges(uses: tuple[bool, bool], low: Sizes, high: Sizes, unit: Sizes) -> Iterator[Range]:
    """Yield ranges of sizes, those last where both are small.

    Bounds are the weaker the smaller the sizes are: those take longest.

    Parameters
    ----------
    unit : tuple of float
        Bits of a word of each memory.
    """
    most, root = high, 2.0
    while True:
        if all(bits <= FEW * word for bits, word in zip(high, unit, strict=True)):
            break
        middle = [
            whole(size, bits, own_root, least)
            for size, bits, own_root, least in zip(most, unit, (root, 2 * root), low, strict=True)
        ]
        halves = [
            [(m, b), (a, m - 1)] if a < m <= b else [(a, b)]
            for a, m, b in zip(low, middle, high, strict=True)
        ]
        *large, (first, second) = product(*halves)
        for one, other in large:
            yield Range(uses, (one[0], other[0]), (one[1], other[1]))
        high, root = (first[1], second[1]), 2 * root
        if not large:
            break
    yield Range(uses, low, high)


def whole(most: float, unit: float, root: float, least: float) -> float:
    """Return the root of a size, in whole words."""
    if unit == 0.0:
        return least
    size = unit * int((most / unit) ** (1 / root))
    return max(least, size if size > unit else 0.0)


def tasks(sweep: Sweep) -> list[tuple[Range, list[Bypass]]]:
    """Return all ranges with their bypass choices, what is to be told before what it tells."""
    every = [sweep.bypass(plan) for plan in sweep.search.plans()]
    sweep.walks.choices.share([choice.plan for choice in every])
    found = []
    for uses in (NEITHER, BELOW, ABOVE, BOTH):
        # what uses one of the memories alone is the same for all sizes of the other
        alike = [c for c in every if tuple((c.need[0, 0] > 0.0).tolist()) == uses]
        if alike:
            low = np.min([choice.need[0, 0] for choice in alike], axis=0).tolist()
            high = np.where(uses, sweep.most, 0.0).tolist()
            own = list(ranges(uses, tuple(low), tuple(high), sweep.unit))
            # of those that nothing waits for, what takes longest comes first
            found += [(each, alike) for each in (own[::-1] if uses == BELOW else own)]
    return found


def cover(sweep: Sweep, told: Callable[[Mapping, float, Sizes], None]) -> bool:
    """Search all sizes; return whether that was done before it was stopped.

    The walks of the sweep get what was found. What a range finds is `told` when it is done: others
    may still be better.
    """
    todo = tasks(sweep)
    before = [
        [i for i, (other, _) in enumerate(todo[:k]) if other.tells(own)]
        for k, (own, _) in enumerate(todo)
    ]
    halted, one = Event(), Lock()
    walks: dict[int, Walks] = {}

    def stop() -> bool:
        return halted.is_set() or sweep.walks.stop()

    def progress(number: int) -> None:
        with one:
            sweep.walks.number += 1
            sweep.walks.progress(sweep.walks.number)

    def run(k: int) -> None:
        search = copy(sweep.search)
        choices = replace(sweep.walks.choices, known={})
        walks[k] = own = Walks(search, sweep.walks.varied, choices, stop, progress)
        for i in before[k]:
            own.learn(walks[i])
        learned = len(own.mappings)
        searched, alike = todo[k]
        replace(sweep, search=search, walks=own).part(alike, searched.low, searched.high)
        choices.up_to(0.0)  # the bounds take much memory
        for found in own.found(learned):
            told(*found)

    workers = max(1, min(processors(), len(todo)))
    pool = ThreadPoolExecutor(workers, thread_name_prefix="tilewright")
    running: dict[Future[None], int] = {}
    waiting, done = set(range(len(todo))), set[int]()
    try:
        while len(done) < len(todo):
            for k in sorted(k for k in waiting if done.issuperset(before[k])):
                running[pool.submit(run, k)] = k
                waiting.remove(k)
            for future in wait(running, return_when=FIRST_COMPLETED).done:
                future.result()
                done.add(running.pop(future))
    except StoppedError:
        return False
    finally:
        halted.set()
        pool.shutdown(cancel_futures=True)
        for k in sorted(walks):
            sweep.walks.learn(walks[k])
    return True

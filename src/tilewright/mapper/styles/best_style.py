"""The search for the style that is best for the totals of a network.

The totals of a network in a style are at least those of layers that have been mapped in it, with
lower bounds of the others: at first what their best mapping costs in any style, and what a closed
form says of this one. The styles of the least bounds get a layer more mapped each, until no bound
is below the best totals. A layer is mapped first with any tensor stationary, which bounds all
styles that unroll the same.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from heapq import heappop, heappush
from math import inf
from threading import Event

from tilewright.architecture.machine import Architecture
from tilewright.mapper.network.running.progress import Progress
from tilewright.mapper.network.running.time_shares import collect
from tilewright.mapper.objective.tolerances import TIE
from tilewright.mapper.styles.ranking import Ranking
from tilewright.mapper.styles.shared_results import Alike
from tilewright.mapper.styles.style import Style
from tilewright.mapper.styles.styled_layer import StyledLayer
from tilewright.mapper.styles.totals import CLOSE, StyleCandidate, Totals

SIDE_BY_SIDE = 8  # candidates that get a layer more mapped at a time, whatever the workers
FIRST = 4  # layers that the first style gets more mapped at a time
SETTLED = 16  # styles that are tried for any mappings when a search is stopped early


class Queue:
    """Candidates, that of the least totals first, and of several the one that comes first."""

    def __init__(self, totals: Totals) -> None:
        self.totals = totals
        self.heap: list[tuple[float, int, StyleCandidate]] = []

    def __iter__(self) -> Iterator[StyleCandidate]:
        return (candidate for _, _, candidate in sorted(self.heap, key=lambda entry: entry[:2]))

    def push(self, candidate: StyleCandidate) -> None:
        """Add a candidate."""
        heappush(self.heap, (self.totals.least(candidate), candidate.order, candidate))

    def pop(self, limit: float) -> StyleCandidate | None:
        """Remove the first candidate and return it, if its totals may be below a limit."""
        while self.heap and self.heap[0][0] < limit:
            least, _, candidate = heappop(self.heap)
            if self.totals.least(candidate) <= least:
                return candidate
            # its layers are known better by now, for they are those of other styles as well
            self.push(candidate)
        return None


class BestStyle:
    """The search for the best style.

    Parameters
    ----------
    kinds : sequence of Alike
        The different layers.
    styles : sequence of Style
        What may be unrolled, any tensor being stationary.
    roles : sequence of str or None
        What may be stationary.
    architecture : Architecture
        What computes it.
    totals : Totals
        What is minimised.
    within : float
        Styles are mapped to the end when they are no further above the best than this share.
    workers : int
        Layers searched at the same time.
    stop : callable
        Asked every now and then whether to end.
    progress : Progress
        Told of better styles.
    only : sequence of int, optional
        Positions of the styles that are looked at; by default all.

    Attributes
    ----------
    ended : list of StyleCandidate
        Styles of which every layer is mapped.
    best : float
        The least objective of their totals.
    """

    def __init__(
        self,
        kinds: Sequence[Alike],
        styles: Sequence[Style],
        roles: Sequence[str | None],
        architecture: Architecture,
        totals: Totals,
        *,
        within: float,
        workers: int,
        stop: Callable[[], bool],
        progress: Progress,
        only: Sequence[int] | None = None,
    ) -> None:
        self.kinds, self.roles, self.architecture = kinds, roles, architecture
        self.styles = styles
        self.totals, self.within, self.workers = totals, within, workers
        self.stop, self.progress = stop, progress
        self.halted = Event()
        self.queue = Queue(totals)
        # before anything is known to prune with, styles of which all is known with any tensor
        # stationary are carried on to the end
        self.first = Queue(totals)
        self.ended: list[StyleCandidate] = []
        self.best = inf
        for i in range(len(styles)) if only is None else only:
            self.queue.push(self.candidate(styles[i], i * (len(roles) + 1)))

    def alone(self, position: int) -> BestStyle:
        """Return the search for the best of the styles that unroll what one does."""
        return BestStyle(
            self.kinds, self.styles, self.roles, self.architecture, self.totals,
            within=0.0, workers=self.workers, stop=self.stop, progress=Progress(),
            only=[position],
        )  # fmt: skip

    @property
    def limit(self) -> float:
        """Totals up to which a style is mapped to the end."""
        return self.best * (1 + self.within)

    @property
    def waiting(self) -> list[StyleCandidate]:
        """The candidates that have not ended."""
        return [*self.first, *self.queue]

    def candidate(self, style: Style, order: int) -> StyleCandidate:
        """Return a style as it stands."""
        whole = style.stationary is not None or self.roles == [None]
        return StyleCandidate(style, tuple(kind.part(style) for kind in self.kinds), whole, order)

    def search(self) -> bool:
        """Search until the best style is known or the search is stopped; return whether Ctrl-C."""
        pool = ThreadPoolExecutor(self.workers, thread_name_prefix="tilewright")
        interrupted = False
        try:
            while not self.stop() and (chosen := self.chosen()):
                self.carry_on(chosen, pool)
        except KeyboardInterrupt:
            interrupted = True
            self.progress.stopping()
        finally:
            self.halted.set()
            pool.shutdown(cancel_futures=True)
        if not self.ended:
            self.settle()
        return interrupted

    def chosen(self) -> list[StyleCandidate]:
        """Remove the candidates that get more layers mapped next, and return them."""
        if self.best == inf:
            one = self.first.pop(inf) or self.queue.pop(inf)
            return [] if one is None else [one]
        for candidate in self.first:
            self.queue.push(candidate)
        self.first.heap.clear()
        limit = self.limit * (1 - TIE)
        found = (self.queue.pop(limit) for _ in range(SIDE_BY_SIDE))
        return [candidate for candidate in found if candidate is not None]

    def carry_on(self, chosen: Sequence[StyleCandidate], pool: ThreadPoolExecutor) -> None:
        """Map more layers of candidates: one of each, or several of a single one."""
        some = 1 if self.best < inf else FIRST if chosen[0].whole else len(self.kinds)
        ceilings: dict[StyledLayer, float] = {}
        for candidate in chosen:
            # what has been looked for in vain comes later
            missing = sorted(candidate.missing, key=lambda k: candidate.parts[k].slack)
            for k in missing[:some]:
                part = candidate.parts[k]
                ceilings[part] = max(ceilings.get(part, 0.0), self.ceiling(candidate, k))
        tasks = [pool.submit(part.search, most, self.stopped) for part, most in ceilings.items()]
        try:
            collect(tasks, self.halted)
        finally:
            for candidate in chosen:
                self.sort_in(candidate)

    def ceiling(self, candidate: StyleCandidate, k: int) -> float:
        """Return up to where the best mapping of a layer is looked for."""
        part = candidate.parts[k]
        most = part.bound * part.slack if part.bound > 0.0 and part.slack < inf else inf
        # the first is known but for CLOSE, and only what is below a ceiling is found
        return max(self.totals.ceiling(candidate, k, self.limit, most), part.bound * (1 + CLOSE))

    def stopped(self) -> bool:
        """Whether the search of a layer has to end."""
        return self.halted.is_set() or self.stop()

    def sort_in(self, candidate: StyleCandidate) -> None:
        """Put a candidate back, or its heirs when all of its layers are mapped."""
        if candidate.missing:
            dive = candidate.whole and self.best == inf
            (self.first if dive else self.queue).push(candidate)
        elif candidate.whole:
            self.end(candidate)
        else:
            for heir in self.heirs(candidate):
                self.sort_in(heir)

    def end(self, candidate: StyleCandidate) -> None:
        """Take a style of which every layer is mapped."""
        self.ended.append(candidate)
        value = self.totals.value(candidate)
        if value < self.best:
            self.best = value
            self.progress.better_style(str(candidate.style), value)

    def heirs(self, candidate: StyleCandidate) -> list[StyleCandidate]:
        """Return a candidate with each tensor stationary."""
        if self.roles == [None]:
            return [candidate]
        memory = self.architecture.memories[-1].name
        styles = [replace(candidate.style, stationary=role, memory=memory) for role in self.roles]
        return [self.candidate(style, candidate.order + 1 + i) for i, style in enumerate(styles)]

    def settle(self) -> None:
        """End a style with any mappings: of those of which most is known the most promising."""
        left = [one for one in self.waiting if self.totals.least(one) < inf]
        left.sort(key=lambda one: (len(one.missing), not one.whole))
        tried = [heir for one in left for heir in ([one] if one.whole else self.heirs(one))]
        for candidate in tried[:SETTLED]:
            if all(part.settle() for part in candidate.parts):
                self.take_out(candidate)
                self.end(candidate)
                return

    def take_out(self, candidate: StyleCandidate) -> None:
        """Leave of what is waiting what a candidate does not cover."""
        left = self.waiting
        self.first, self.queue = Queue(self.totals), Queue(self.totals)
        for one in left:
            same = one.style.axes == candidate.style.axes
            for heir in self.heirs(one) if same and not one.whole else [one]:
                if heir.style != candidate.style:
                    self.queue.push(heir)

    def ranking(self) -> Ranking:
        """Return what is known of all styles, at least one of which has ended."""
        return Ranking(self.architecture, self.kinds, self.totals, self.ended, self.waiting)

"""The search of one segment as a task that any process can carry out."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from math import inf
from threading import local
from time import perf_counter

from tilewright.architecture.machine import Architecture
from tilewright.mapper.fused.search.branch import BranchSearch
from tilewright.mapper.fused.search.candidate import Candidate
from tilewright.mapper.fused.search.chunks import Chunks
from tilewright.mapper.fused.search.known import KnownChunks
from tilewright.mapper.fused.search.segment_search import SegmentSearch
from tilewright.mapper.fused.space.segment_problem import SegmentProblem
from tilewright.mapper.objective.objective import parse_objective
from tilewright.mapper.objective.tolerances import TIE
from tilewright.mapping.fused import Segment

EARLY = 0.7  # of a limited time, after which candidates with groups are listed


@dataclass(frozen=True)
class Outcome:
    """What the search of a segment has found.

    Attributes
    ----------
    best : Candidate or None
        None where no fused mapping is better than the layers otherwise.
    value, bound : float
        Of the best, infinite without one; and what no fused mapping undercuts, infinite where none
        is better than smaller segments.
    least : float
        What no fused mapping undercuts, also where none is better than smaller segments.
    searched : bool
        Whether the search has ended.
    candidates, searches : int
        Ways to share loops that had to be looked at, and chunks that were searched.
    seconds : float
    rounder : bool
        Whether the best is one of the segment with rounder bounds.
    tiles : tuple of int, optional
        Of its tree, where they are others.
    """

    best: Candidate | None
    value: float
    bound: float
    least: float = inf
    searched: bool = True
    candidates: int = 0
    searches: int = 0
    seconds: float = 0.0
    rounder: bool = False
    tiles: tuple[int, ...] | None = None


@dataclass(frozen=True)
class Task:
    """A segment that is to be searched, with all that the search depends on.

    Attributes
    ----------
    segment : Segment
    architecture : Architecture
    objective : str
    tolerance : float
        By how much its tree may be worse than the best one, see `Chunks`.
    most : float
        What its layers cost otherwise: only trees that cost less are of interest.
    alone : float
        What its layers cost at least by themselves.
    earlier : Outcome
        What an earlier search has found.
    known : KnownChunks
        What is known of chunks.
    seconds : float
        That the search may take.
    """

    segment: Segment
    architecture: Architecture
    objective: str
    tolerance: float
    most: float
    alone: float
    earlier: Outcome
    known: KnownChunks = field(default_factory=KnownChunks)
    seconds: float = inf


@dataclass(frozen=True)
class Answer:
    """What a task has found: of its segment, and of chunks."""

    outcome: Outcome
    found: KnownChunks


def solve(task: Task, stop: Callable[[], bool]) -> Answer:
    """Search a segment for a fused mapping that is better than what is known."""
    start = perf_counter()
    problem = SegmentProblem(task.segment, task.architecture)
    if not problem.possible:
        return Answer(Outcome(None, inf, inf), KnownChunks())
    earlier, most, floor = task.earlier, task.most, task.earlier.bound
    known = task.known.copy()
    searches = searches_here(task.architecture)
    chunks = Chunks(task.architecture, parse_objective(task.objective), known, searches)
    chunks.tolerance = task.tolerance
    search = SegmentSearch(problem, chunks, floor)
    if search.bounds.additive and len(task.architecture.arrays) > 1:
        # this leaves out more, but says less of what it leaves out than searches do, which
        # take long with several arrays
        search.apart = task.alone - search.bounds.saved_at_most()
    early = start + task.seconds * EARLY
    best = search.solve(min(most, earlier.value), stop, lambda: stop() or perf_counter() >= early)
    candidate = best.candidate or (earlier.best if earlier.value < most else None)
    # where there is nothing better, smaller segments say what is possible
    nothing = candidate is None and best.bound >= most * (1 - TIE)
    bound = inf if nothing else max(best.bound, min(floor, best.value))
    ended = best.bound >= best.value * (1 - TIE)
    return Answer(
        Outcome(
            best=candidate,
            value=inf if candidate is None else best.value,
            bound=bound,
            least=search.least if ended else max(best.bound, min(floor, best.value)),
            searched=ended,
            candidates=earlier.candidates + search.candidates,
            searches=earlier.searches + chunks.searches,
            seconds=earlier.seconds + perf_counter() - start,
        ),
        known.beyond(task.known),
    )


HERE = local()


def searches_here(architecture: Architecture) -> dict[object, BranchSearch]:
    """Return the searches of chunks on a machine that this thread has made before."""
    if getattr(HERE, "architecture", None) != architecture:
        HERE.architecture, HERE.searches = architecture, {}
    searches: dict[object, BranchSearch] = HERE.searches
    return searches

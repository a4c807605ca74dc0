"""The time of a search, shared among what is searched at the same time."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_EXCEPTION, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from threading import Event, Lock
from time import perf_counter

from tilewright.kernels.time_limits import Compiling

POLL = 0.2


@dataclass
class Budget:
    """Shares the time that is left among the layers that are still to be searched.

    Attributes
    ----------
    deadline : float
        When everything ends, on the clock of `perf_counter`; infinite without a limit.
    waiting : float
        Layers that have not had their share, or the sum of their weights.
    workers : int
        Layers that are searched at the same time.
    halted : Event
        Set when all searches shall end.
    """

    deadline: float
    waiting: float
    workers: int
    halted: Event = field(default_factory=Event)
    lock: Lock = field(default_factory=Lock)

    def left(self) -> float:
        """Return the seconds until everything ends; none if it has been ended."""
        return 0.0 if self.halted.is_set() else self.deadline - perf_counter()

    def take(self) -> Callable[[], bool]:
        """Return what one more search asks whether it has to end."""
        return self.shares()[1]

    def seconds(self, weight: float) -> float:
        """Return the seconds of one more search."""
        with self.lock:
            part = self.workers * weight / max(self.waiting, weight)
            self.waiting -= weight
            return max(0.0, self.deadline - perf_counter()) * min(1.0, part)

    def shares(
        self, weight: float = 1.0, first: float = 0.5
    ) -> tuple[Callable[[], bool], Callable[[], bool]]:
        """Return the same for the first part of its time, by default half, and for all of it."""
        share = self.seconds(weight)
        now = perf_counter() - Compiling.seconds

        def ended(seconds: float) -> bool:
            return self.halted.is_set() or perf_counter() - Compiling.seconds >= now + seconds

        return lambda: ended(share * first), lambda: ended(share)


def run_together(tasks: Sequence[Callable[[], None]], workers: int, halted: Event) -> bool:
    """Run all tasks, some at the same time; return whether Ctrl-C ended them.

    They have all ended then. A failure of one ends the others and is raised.
    """
    pool = ThreadPoolExecutor(workers, thread_name_prefix="tilewright")
    interrupted = False
    try:
        collect([pool.submit(task) for task in tasks], halted)
    except KeyboardInterrupt:
        interrupted = True
    finally:
        halted.set()
        pool.shutdown(wait=interrupted, cancel_futures=True)
    return interrupted


def collect(futures: Sequence[Future[None]], halted: Event) -> None:
    """Wait for all searches; a failure of one ends the others and is raised."""
    pending = set(futures)
    while pending:
        # a wait without a limit would not notice Ctrl-C on every platform
        done, pending = wait(pending, POLL, FIRST_EXCEPTION)
        if any(future.exception() for future in done):
            halted.set()
    for future in futures:
        future.result()

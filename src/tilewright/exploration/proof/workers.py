"""Who searches layers side by side: processes of this machine, or the workers of a Dask cluster."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import BrokenExecutor, ProcessPoolExecutor
from multiprocessing import get_context
from typing import Any, Protocol

from tilewright.api.mapper.search import map as best_mapping
from tilewright.architecture.machine import Architecture
from tilewright.errors import InputError, NoMappingError
from tilewright.kernels.kernel import interruptible
from tilewright.mapper.network.solution_key import version
from tilewright.mapper.results.searched_space import DIVISORS
from tilewright.mapper.search.best_first import explore
from tilewright.mapper.search.confirmed import agreed, objective_value
from tilewright.mapper.search.search import Search as MappingSearch
from tilewright.mapper.search.vast_layers import is_vast
from tilewright.mapping.nodes import Mapping
from tilewright.workload.layer import Layer

Task = tuple[Layer, Architecture, str]
"""A layer, a machine, and the objective."""

Found = tuple[tuple[float, float], Mapping, float] | None
"""Energy (pJ) and cycles of an optimum, its mapping, and its value."""

# Seconds after which one asks whether the cluster still has workers.
PATIENCE = 5.0
# Seconds in which a scheduler has to answer.
CONNECTING = 30.0


def searched(layer: Layer, machine: Architecture, objective: str) -> Found:
    """Return the optimum of a layer on a machine; None when there is no mapping."""
    if is_plain(layer, machine):
        return searched_alone(layer, machine, objective)
    try:
        result = best_mapping(layer, machine, objective, tiles=DIVISORS, workers=1, cache=False)
    except NoMappingError:
        return None
    if result.interrupted:
        raise KeyboardInterrupt
    (best,) = result.layers
    if not best.proof.optimal:
        raise InputError(
            f"the mapper proves no optimum of layer '{layer.name}' on machine "
            f"'{machine.name}': {best.proof.reason or best.proof.space}",
            key="machine",
        )
    answer = best.evaluation.energy_pj, best.evaluation.cycles
    return answer, best.mapping, best.proof.value


def is_plain(layer: Layer, machine: Architecture) -> bool:
    """Whether the search of one layer alone proves the optimum that `map` returns."""
    sliding = any(len(terms) > 1 for terms in layer.tensors[-1].expressions)
    forwarding = any(array.forwarding for array in machine.arrays)
    held = any(m.retention != "tile" or m.block_bytes for m in machine.memories)
    throughput = machine.latency == "throughput"
    return throughput and not (sliding or forwarding or held or is_vast(layer))


def searched_alone(layer: Layer, machine: Architecture, objective: str) -> Found:
    """Return the optimum of a layer, without a look at which of equal mappings is simplest.

    That takes half the time: they cost the same.
    """
    search = MappingSearch(layer, machine, objective)
    with interruptible():
        explore(search, lambda: False, lambda best, bound: None, None)
    if search.found.mapping is None:
        return None
    best = agreed(layer, machine, objective, search.found.mapping, float(search.best[0]))
    answer = best.energy_pj, float(best.cycles)
    return answer, search.found.mapping, objective_value(best, objective)


class Workers(Protocol):
    """What a solver needs of those who search for it.

    Attributes
    ----------
    count : int
        How many searches run side by side.
    """

    count: int

    def search(self, tasks: Sequence[Task]) -> Iterator[Found]:
        """Search layers side by side, and yield what was found in their order."""

    def close(self) -> None:
        """Let the workers go."""


class Processes:
    """Processes of this machine, started with the first search.

    Parameters
    ----------
    count : int
        At least 1.
    """

    def __init__(self, count: int) -> None:
        self.count = count
        self._pool: ProcessPoolExecutor | None = None

    def search(self, tasks: Sequence[Task]) -> Iterator[Found]:
        """Search layers side by side; what a process that died had to do is done here."""
        if self._pool is None:
            self._pool = ProcessPoolExecutor(self.count, get_context("spawn"))
        try:
            futures = [self._pool.submit(searched, *task) for task in tasks]
        except BrokenExecutor:
            self.close()
            yield from (searched(*task) for task in tasks)
            return
        for task, future in zip(tasks, futures, strict=True):
            try:
                found = future.result()
            except BrokenExecutor:
                self.close()  # the next search starts new ones
                found = searched(*task)
            yield found

    def close(self) -> None:
        """End the processes."""
        if self._pool is not None:
            self._pool.shutdown(cancel_futures=True)
            self._pool = None


def searched_alike(own: tuple[str, ...], layer: Layer, machine: Architecture, goal: str) -> Found:
    """Return what `searched` returns, on a worker that runs the same code.

    Raises
    ------
    InputError
        When its code is another: results might be, too.
    """
    if version() != own:
        raise InputError(
            "a worker of the cluster runs another version of tilewright; install the same on all",
            key="scheduler",
        )
    return searched(layer, machine, goal)


class Cluster:
    """The workers of a Dask cluster, which may come and go.

    What a worker that dies had to do, another one does. When there is none left, or the scheduler
    is gone, it is done here.

    Parameters
    ----------
    address : str
        Of the scheduler, such as ``tcp://host:8786``.
    count : int, optional
        Searches side by side; by default as many as the cluster has threads now, and at
        least two.

    Raises
    ------
    InputError
        When Dask is not installed, or no scheduler answers.
    """

    def __init__(self, address: str, count: int | None = None) -> None:
        try:
            import distributed.scheduler
        except ImportError:
            raise InputError(
                "needs Dask: pip install 'tilewright[dask]'", key="scheduler"
            ) from None
        self._lost: tuple[type[BaseException], ...] = (
            distributed.CancelledError, distributed.scheduler.KilledWorker,
            OSError,
        )  # fmt: skip
        try:
            connect: Any = distributed.Client
            self._client = connect(address, timeout=CONNECTING, set_as_default=False)
        except (OSError, ValueError) as failure:
            raise InputError(
                f"no scheduler of Dask answers at '{address}': {failure}", key="scheduler"
            ) from None
        self.count = count or max(2, self._threads())  # this process waits for them

    def _threads(self) -> int:
        return sum(self._client.nthreads().values())

    def search(self, tasks: Sequence[Task]) -> Iterator[Found]:
        """Search layers side by side, on whichever workers there are."""
        own = version()
        try:
            futures = [
                self._client.submit(searched_alike, own, *task, pure=False) for task in tasks
            ]
        except self._lost:
            futures = [None] * len(tasks)
        for task, future in zip(tasks, futures, strict=True):
            try:
                found: Found = self._awaited(future)
            except self._lost:
                found = searched(*task)
            yield found

    def _awaited(self, future: Any) -> Any:
        """Return the result of a task.

        Raises
        ------
        OSError
            When nobody is left who could find it.
        """
        while future is not None:
            try:
                return future.result(timeout=PATIENCE)
            except TimeoutError:
                if self._client.status != "running" or not self._threads():
                    future.cancel()
                    break
        raise ConnectionError("no worker is left")

    def close(self) -> None:
        """Leave the cluster; it stays."""
        self._client.close(timeout=PATIENCE)

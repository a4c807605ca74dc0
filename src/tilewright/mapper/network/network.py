"""The search for a network: every different layer once, in parallel.

What searches is imported when a layer is searched: results from the cache do without.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from math import isfinite
from time import perf_counter
from typing import TYPE_CHECKING

from tilewright.architecture.machine import Architecture
from tilewright.mapper.network.cache import Cache
from tilewright.mapper.network.running.progress import Progress
from tilewright.mapper.network.running.run import UNLIMITED, Run
from tilewright.mapper.network.solution_key import likeness
from tilewright.mapper.network.solved_layers import Searched, SolvedLayers
from tilewright.mapper.objective.objective import parse_objective
from tilewright.mapper.results.result import LayerResult, NetworkResult
from tilewright.mapper.results.searched_space import ALL, DIVISORS
from tilewright.mapper.search.found import Found, better
from tilewright.processes import processors
from tilewright.workload.layer import Layer, Network

if TYPE_CHECKING:
    from tilewright.mapper.network.running.time_shares import Budget

FIRST = 0.3  # of the time of a layer, for tile sizes that divide
# times as long as before: with less, a search that begins anew seldom gets farther
MUCH_LONGER, SOON = 2.0, 0.5  # and in seconds


def map_network(
    network: Network,
    architecture: Architecture,
    objective: str,
    *,
    run: Run = UNLIMITED,
    tiles: str = DIVISORS,
) -> NetworkResult:
    """Find the best mapping of every layer of a network.

    Parameters
    ----------
    network : Network
        What is computed. Layers that are equal but for their names are searched once.
    architecture : Architecture
        What computes it.
    objective : str
        What to minimise for each layer, see `objective.parse_objective`.
    run : Run
        How long it may take, with what, and who is told of it.
    tiles : str
        ``"divisors"``, or ``"all"``: their best mapping is then improved with other sizes, and
        compared with a bound of all.

    Returns
    -------
    NetworkResult
        Ctrl-C ends the search with the best mappings so far; a second one raises
        KeyboardInterrupt.

    Raises
    ------
    NoMappingError
        When no mapping can run one of the layers.
    """
    start = perf_counter()
    objective = str(parse_objective(objective))
    progress, limited = run.progress, run.time_limit is not None
    layers = different_layers(network)
    work = NetworkSearch(architecture, objective, tiles, limited, progress, run.cache)
    waiting = work.recall(layers)
    work.weights = weights(network.layers, waiting)
    compiling = 0.0
    if waiting:
        waiting = checked(waiting, architecture, limited)
        compiling = compiled(progress)
    workers = max(1, min(run.workers or processors(), len(waiting)))
    progress.begin(len(layers), objective, tiles)
    work.tell_recalled(layers)
    interrupted = work.run(waiting, start + compiling + run.seconds, workers)
    results, unmapped = work.results(network.layers)
    return NetworkResult(
        network=network,
        architecture=architecture,
        objective=objective,
        layers=tuple(results),
        seconds=perf_counter() - start - compiling,
        interrupted=interrupted,
        unmapped=tuple(unmapped),
        stopped=not interrupted and any(likeness(layer) not in work.whole for layer in layers),
    )


def different_layers(network: Network) -> list[Layer]:
    """Return the layers that differ by more than their names."""
    alike: dict[object, Layer] = {}
    for layer in network.layers:
        alike.setdefault(likeness(layer), layer)
    return list(alike.values())


def weights(every: Sequence[Layer], waiting: Sequence[Layer]) -> dict[object, float]:
    """Return by how much each layer that waits is given more than an equal share of a limited time.

    Half of the time is shared equally, half by operations in all runs: those are most of the value.
    """
    operations = dict.fromkeys(map(likeness, waiting), 0)
    for layer in every:
        if likeness(layer) in operations:
            operations[likeness(layer)] += layer.operations * layer.repeat
    mean = sum(operations.values()) / max(len(operations), 1)
    return {key: 0.5 + 0.5 * own / mean for key, own in operations.items()}


def checked(layers: Sequence[Layer], architecture: Architecture, limited: bool) -> list[Layer]:
    """Return layers in the order of their searches.

    Raises
    ------
    NoMappingError
        When no mapping can run one of them.
    """
    from tilewright.mapper.network.layer_search import check_possible, search_effort
    from tilewright.mapper.search.questions.infeasibility import check_feasible

    for layer in layers:
        check_possible(layer, architecture)
        check_feasible(layer, architecture)
    # without a limit the longest searches come first, so that none runs alone in the end
    return sorted(layers, key=search_effort, reverse=not limited)


def compiled(progress: Progress) -> float:
    """Compile the kernels where they are not; return the seconds, which count for no limit."""
    from tilewright.mapper.network.running.compilation import compile_kernels, is_compiled

    if is_compiled():
        return 0.0
    start = perf_counter()
    with progress.working(lambda: f"compiling kernels, {perf_counter() - start:.0f} s so far"):
        compile_kernels()
    return perf_counter() - start


class NetworkSearch:
    """The search of all layers: what is known of each, and what is still to be done.

    Where time is limited, sizes that divide come first in all layers, and what is left in the end
    goes to those that are not done.

    Parameters
    ----------
    architecture, objective, tiles
        As for `map_network`.
    limited : bool
        Whether time is limited.
    progress, cache
        As for `map_network`.

    Attributes
    ----------
    of_divisors, solved : SolvedLayers
        Results that are kept: of sizes that divide, and of those asked for.
    weights : dict
        Of each layer in shares of a limited time, see `weights`, by `likeness`.
    searched : dict
        What each layer's search has ended with so far, by `likeness`.
    cut : set
        Layers whose search of sizes that divide had too little time.
    done : set
        Layers that nothing more is tried for.
    whole : set
        Layers whose search no limit has ended.
    even : dict
        What the search of sizes that divide has ended with, by `likeness`.
    spent : dict
        Seconds that the last search of a layer has taken, by `likeness`.
    told : set
        Layers whose end has been told.
    """

    def __init__(
        self,
        architecture: Architecture,
        objective: str,
        tiles: str,
        limited: bool,
        progress: Progress,
        cache: Cache | None,
    ) -> None:
        self.architecture, self.objective, self.tiles = architecture, objective, tiles
        self.limited, self.progress = limited, progress
        self.of_divisors = self.solved = SolvedLayers(cache, architecture, objective, options={})
        if tiles == ALL:
            self.solved = SolvedLayers(cache, architecture, objective, {"tiles": ALL}, tiles)
        self.weights: dict[object, float] = {}
        self.searched: dict[object, Searched] = {}
        self.known: dict[object, Searched] = {}  # earlier searches of sizes that divide
        self.cut: set[object] = set()
        self.done: set[object] = set()
        self.whole: set[object] = set()
        self.even: dict[object, Searched] = {}
        self.spent: dict[object, float] = {}
        self.told: set[object] = set()

    def recall(self, layers: Sequence[Layer]) -> list[Layer]:
        """Look up what earlier searches have found; return the layers that are to be searched."""
        self.searched = found_earlier(self.solved, layers)
        self.whole = set(self.searched)
        waiting = [layer for layer in layers if likeness(layer) not in self.searched]
        if self.tiles == ALL:
            self.known = found_earlier(self.of_divisors, waiting)
        return waiting

    def tell_recalled(self, layers: Sequence[Layer]) -> None:
        """Tell which layers need not be searched."""
        for layer in layers:
            if hit := self.searched.get(likeness(layer)):
                own = hit.found
                self.progress.recalled(layer, own.value, own.bound, own.finished)

    def run(self, waiting: Sequence[Layer], deadline: float, workers: int) -> bool:
        """Search all layers that wait; return whether Ctrl-C has ended that."""
        progress = self.progress
        if not waiting:
            progress.end()
            return False
        from concurrent.futures import ThreadPoolExecutor

        from tilewright.mapper.network.running.time_shares import Budget, collect
        from tilewright.mapper.network.running.workers import Helpers

        budget = Budget(deadline, len(waiting), workers)
        pool = ThreadPoolExecutor(workers, thread_name_prefix="tilewright")
        self.helpers = Helpers(workers - 1)
        interrupted = False
        try:
            collect([pool.submit(self.begin, each, budget) for each in waiting], budget.halted)
            left = self.unfinished(waiting)
            while left:
                later = Budget(deadline, len(left), workers, budget.halted)
                collect([pool.submit(self.go_on, each, later) for each in left], budget.halted)
                left = self.worth_more(waiting, later)
            self.tell(waiting)
        except KeyboardInterrupt:
            interrupted = True
            budget.halted.set()
            progress.stopping()
            pool.shutdown(cancel_futures=True)
            for layer in self.unfinished(waiting):
                self.finish(layer, budget.halted.is_set)
            self.tell(waiting)
        finally:
            budget.halted.set()
            pool.shutdown(wait=False, cancel_futures=True)
            try:
                self.helpers.close()
            finally:
                progress.end()
        if failure := self.of_divisors.failure or self.solved.failure:
            progress.unkept(failure)
        return interrupted

    def unfinished(self, waiting: Sequence[Layer]) -> list[Layer]:
        """Return the layers of which something is known that is to be gone on with."""
        keys = self.searched.keys() - self.done
        return [layer for layer in waiting if likeness(layer) in keys]

    def worth_more(self, waiting: Sequence[Layer], later: Budget) -> list[Layer]:
        """Return the layers that a limit has ended, if there is time for much longer searches."""
        cut = [layer for layer in waiting if likeness(layer) in self.spent.keys() - self.whole]
        share = max(0.0, later.left()) * min(1.0, later.workers / max(1, len(cut)))
        longer = share / MUCH_LONGER if share >= SOON else 0.0
        return [layer for layer in cut if self.spent[likeness(layer)] < longer]

    def begin(self, layer: Layer, budget: Budget) -> None:
        """Search sizes that divide, and go on to the end where time is not limited.

        Where all tile sizes are asked for, most of the time is theirs: other sizes may be much
        better, and what bounds them bounds those that divide.
        """
        key = likeness(layer)
        part, stop = budget.shares(self.weights[key], FIRST)
        if stop():
            return
        first = part if self.tiles == ALL else stop
        self.progress.started(layer)
        self.even[key] = self.searched[key] = self.known.get(key) or self.divided(layer, first)
        if first() and not self.searched[key].found.finished:
            self.cut.add(key)
        if not self.limited or (self.tiles != ALL and key not in self.cut):
            self.finish(layer, stop)

    def go_on(self, layer: Layer, later: Budget) -> None:
        """Go on with what had too little time, in what time the other layers have left."""
        before, stop, key = perf_counter(), later.take(), likeness(layer)
        earlier = self.even[key]
        if key in self.cut and self.tiles != ALL and not stop():
            self.even[key] = self.searched[key] = self.divided(layer, stop, earlier)
        # what is proven of sizes that divide says nothing of others, so those come first
        self.finish(layer, stop)
        ended = self.searched[key]
        if key in self.cut and self.tiles == ALL and not ended.found.finished and not stop():
            self.even[key] = self.divided(layer, stop, earlier)
            again = self.even[key].found
            if again.value < ended.found.value:
                bound = min(ended.found.bound, again.value)
                found = replace(
                    ended.found, mapping=again.mapping, value=again.value, bound=bound,
                    finished=bound == again.value,
                )  # fmt: skip
                self.searched[key] = replace(ended, found=found)
        self.spent[key] = perf_counter() - before

    def divided(
        self, layer: Layer, stop: Callable[[], bool], earlier: Searched | None = None
    ) -> Searched:
        """Search sizes that divide, and keep the result."""
        from tilewright.mapper.network.layer_search import search

        ended = search(
            layer, self.architecture, self.objective, stop, self.progress, self.limited, earlier
        )
        if not stop():  # else its memory may be the least of some mappings only
            self.of_divisors.keep(layer, ended)
        return ended

    def finish(self, layer: Layer, stop: Callable[[], bool]) -> None:
        """Try all tile sizes, if these are asked for, and tell the end of the layer's search."""
        from tilewright.mapper.network.layer_search import improved

        key = likeness(layer)
        ended = self.searched[key]
        if self.tiles == ALL and not stop():
            even = self.even[key]
            proven = even.found.finished
            if isfinite(ended.found.value):
                self.progress.widened(layer, ended.found.value)
            ended = self.helpers.compute(
                improved, layer, self.architecture, self.objective, even, stop=stop
            )
            if key in self.done:
                ended = replace(ended, found=better(self.searched[key].found, ended.found))
            if proven and not stop():
                self.solved.keep(layer, ended)
        # where there was no time for other sizes, the proof of divisors is none of theirs
        self.searched[key] = self.solved.asked(layer, ended)
        self.done.add(key)
        if ended.found.finished or not stop():
            self.whole.add(key)
        if not self.limited or key in self.whole:
            self.tell([layer])

    def tell(self, layers: Sequence[Layer]) -> None:
        """Tell the end of the search of layers, once of each; one that has been cut may go on."""
        for layer in layers:
            if (key := likeness(layer)) in self.done - self.told:
                self.told.add(key)
                found = self.searched[key].found
                self.progress.done(layer, found.value, found.bound, found.finished)

    def results(self, layers: Sequence[Layer]) -> tuple[list[LayerResult], list[Layer]]:
        """Return the results of some layers, and the layers that have no mapping."""
        results, unmapped = [], []
        for layer in layers:
            outcome = self.searched.get(likeness(layer), Searched(Found(), 0.0, 0.0))
            if outcome.found.mapping is None:
                unmapped.append(layer)
            else:
                results.append(self.solved.confirm(layer, outcome))
        return results, unmapped


def found_earlier(solved: SolvedLayers, layers: Sequence[Layer]) -> dict[object, Searched]:
    """Return what is kept of some layers."""
    earlier = {likeness(layer): solved.find(layer) for layer in layers}
    return {kind: hit for kind, hit in earlier.items() if hit}

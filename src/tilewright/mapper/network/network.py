"""The search for a network: every different layer once, in parallel."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_EXCEPTION, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field, replace
from math import inf, isfinite, prod
from threading import Event, Lock
from time import perf_counter

from tilewright.architecture.machine import Architecture
from tilewright.errors import MappingError, NoMappingError
from tilewright.mapper.canonical.polish import costs
from tilewright.mapper.canonical.tidy import tidied
from tilewright.mapper.network.cache import Cache
from tilewright.mapper.network.compilation import compile_kernels, is_compiled
from tilewright.mapper.network.progress import Progress
from tilewright.mapper.network.solution_key import likeness
from tilewright.mapper.network.solved_layers import Searched, SolvedLayers
from tilewright.mapper.network.workers import Helpers
from tilewright.mapper.objective.objective import Objective, parse_objective
from tilewright.mapper.problem.bypass_choices import narrowed
from tilewright.mapper.problem.lattice import divisors
from tilewright.mapper.problem.space_size import mappings_in_space
from tilewright.mapper.results.result import NetworkResult
from tilewright.mapper.results.searched_space import ALL, DIVISORS
from tilewright.mapper.results.ticking import Told
from tilewright.mapper.search.all_tile_sizes import with_all_sizes
from tilewright.mapper.search.confirmed import DisagreementError
from tilewright.mapper.search.forwarding import forwards_words, of_reading_all
from tilewright.mapper.search.front import Front, trade_offs
from tilewright.mapper.search.infeasibility import check_satisfiable
from tilewright.mapper.search.search import Found, Search
from tilewright.mapper.search.vast_layers import found_greedily, is_vast
from tilewright.mapping.nodes import For, Mapping, Node, Store
from tilewright.mapping.validity import check
from tilewright.processes import processors
from tilewright.workload.layer import Layer, Network

POLL = 0.2
HASTE = 0.03  # seconds beyond the limit for any mapping of a layer


@dataclass
class Budget:
    """Shares the time that is left among the layers that are still to be searched.

    Attributes
    ----------
    deadline : float
        When everything ends, on the clock of `perf_counter`; infinite without a limit.
    waiting : int
        Layers that have not had their share.
    workers : int
        Layers that are searched at the same time.
    halted : Event
        Set when all searches shall end.
    """

    deadline: float
    waiting: int
    workers: int
    halted: Event = field(default_factory=Event)
    lock: Lock = field(default_factory=Lock)

    def take(self) -> Callable[[], bool]:
        """Return what one more search asks whether it has to end."""
        return self.halves()[1]

    def halves(self) -> tuple[Callable[[], bool], Callable[[], bool]]:
        """Return the same for the first half of its time, and for all of it."""
        with self.lock:
            now = perf_counter()
            share = max(0.0, self.deadline - now) * min(1.0, self.workers / self.waiting)
            self.waiting -= 1
        return (
            lambda: self.halted.is_set() or perf_counter() >= now + share / 2,
            lambda: self.halted.is_set() or perf_counter() >= now + share,
        )


def map_network(
    network: Network,
    architecture: Architecture,
    objective: str,
    *,
    time_limit: float | None = None,
    workers: int | None = None,
    progress: Progress | None = None,
    cache: Cache | None = None,
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
    time_limit : float, optional
        Seconds for all layers together. What some layers leave goes to others.
    workers : int, optional
        Layers searched at the same time; by default the number of processors. The result does not
        depend on it, unless a time limit cuts the search short.
    progress : Progress, optional
        What is told meanwhile.
    cache : Cache, optional
        Where results are looked up before a search and kept after it: proven ones, and those of all
        tile sizes that no limit of time has ended.
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
    progress = progress or Progress()
    alike: dict[object, Layer] = {}
    for layer in network.layers:
        alike.setdefault(likeness(layer), layer)
    layers = sorted(alike.values(), key=search_effort)
    if time_limit is None:
        # the longest searches first, so that none runs alone in the end
        layers.reverse()
    for layer in alike.values():
        check_possible(layer, architecture)
        check_satisfiable(layer, architecture)
    even = solved = SolvedLayers(cache, architecture, objective, options={})
    if tiles == ALL:
        solved = SolvedLayers(cache, architecture, objective, {"tiles": ALL}, tiles)
    searched = found_earlier(solved, layers)
    waiting = [layer for layer in layers if likeness(layer) not in searched]
    known = found_earlier(even, waiting) if tiles == ALL else {}
    workers = max(1, min(workers or processors(), len(waiting)))
    budget = Budget(start + (inf if time_limit is None else time_limit), len(waiting), workers)
    progress.begin(len(layers), objective, tiles)
    if waiting and not is_compiled():
        compile_kernels()
    for layer in layers:
        if hit := searched.get(likeness(layer)):
            own = hit.found
            progress.recalled(layer, own.value, own.bound, own.finished)
    pool = ThreadPoolExecutor(workers, thread_name_prefix="tilewright")
    helpers = Helpers(workers - 1)

    # where time is limited, sizes that divide come first in all layers, and what is left in the end
    # goes to those that are not done
    limited = time_limit is not None
    cut: set[object] = set()  # searches of sizes that divide that had too little time
    done: set[object] = set()
    whole: set[object] = set(searched)  # searches that no limit has ended

    def begin(layer: Layer) -> None:
        stop, key = budget.take(), likeness(layer)
        if stop():
            return
        progress.started(layer)
        searched[key] = known.get(key) or divided(layer, stop)
        if stop() and not searched[key].found.finished:
            cut.add(key)
        if not limited or (tiles != ALL and key not in cut):
            finish(layer, stop)

    def go_on(layer: Layer, later: Budget) -> None:
        half, stop = later.halves()
        if likeness(layer) in cut and not stop():
            first = half if tiles == ALL else stop
            searched[likeness(layer)] = divided(layer, first, searched[likeness(layer)])
        finish(layer, stop)

    def divided(
        layer: Layer, stop: Callable[[], bool], earlier: Searched | None = None
    ) -> Searched:
        ended = search(layer, architecture, objective, stop, progress, limited, earlier)
        if not stop():  # else its memory may be the least of some mappings only
            even.keep(layer, ended)
        return ended

    def finish(layer: Layer, stop: Callable[[], bool]) -> None:
        ended = searched[likeness(layer)]
        if tiles == ALL and not stop():
            proven = ended.found.finished
            ended = helpers.compute(improved, layer, architecture, objective, ended, stop=stop)
            if proven and not stop():
                solved.keep(layer, ended)
        # where there was no time for other sizes, the proof of divisors is none of theirs
        searched[likeness(layer)] = ended = solved.asked(layer, ended)
        done.add(likeness(layer))
        if ended.found.finished or not stop():
            whole.add(likeness(layer))
        progress.done(layer, ended.found.value, ended.found.bound, ended.found.finished)

    def unfinished() -> list[Layer]:
        keys = searched.keys() - done
        return [layer for layer in waiting if likeness(layer) in keys]

    interrupted = False
    try:
        collect([pool.submit(begin, layer) for layer in waiting], budget.halted)
        left = unfinished()
        later = Budget(budget.deadline, len(left), workers, budget.halted)
        collect([pool.submit(go_on, layer, later) for layer in left], budget.halted)
    except KeyboardInterrupt:
        interrupted = True
        budget.halted.set()
        progress.stopping()
        pool.shutdown(cancel_futures=True)
        for layer in unfinished():
            finish(layer, budget.halted.is_set)
    finally:
        budget.halted.set()
        pool.shutdown(wait=False, cancel_futures=True)
        try:
            helpers.close()
        finally:
            progress.end()
    if failure := even.failure or solved.failure:
        progress.unkept(failure)
    results = []
    unmapped = []
    for layer in network.layers:
        outcome = searched.get(likeness(layer), Searched(Found(), 0.0, 0.0))
        if outcome.found.mapping is None:
            unmapped.append(layer)
        else:
            results.append(solved.confirm(layer, outcome))
    return NetworkResult(
        network,
        architecture,
        objective,
        tuple(results),
        perf_counter() - start,
        interrupted,
        tuple(unmapped),
        stopped=not interrupted and any(likeness(layer) not in whole for layer in layers),
    )


def map_front(
    layer: Layer,
    architecture: Architecture,
    limits: str,
    *,
    time_limit: float | None = None,
    progress: Told = lambda count, now="": None,
) -> Front:
    """Find every trade-off of energy against cycles of a layer, see `front.trade_offs`.

    Raises
    ------
    NoMappingError
        When no mapping can run the layer, or none within the limits.
    """
    check_possible(layer, architecture)
    end = perf_counter() + (inf if time_limit is None else time_limit)
    objective = parse_objective(limits)
    found = trade_offs(layer, architecture, objective, lambda: perf_counter() >= end, progress)
    if not found.points and found.optimal:
        raise NoMappingError(beyond_limits(layer, architecture, objective))
    return found


def search_effort(layer: Layer) -> tuple[int, int]:
    """Return what orders layers by how long their search takes: shapes of the lattice, first."""
    return prod(len(divisors(bound)) for bound in layer.bounds.values()), layer.operations


def check_possible(layer: Layer, architecture: Architecture) -> None:
    """Refuse a layer that no mapping can run, by trying the one that needs the least storage.

    Raises
    ------
    NoMappingError
        With the memory that excludes every mapping.
    """
    outermost, *inner = architecture.memories
    nodes: list[Node] = [Store(outermost.name, tuple(t.name for t in layer.tensors))]
    nodes += [For(dimension, 1) for dimension in layer.dimensions]
    for memory in inner:
        if kept := tuple(t.name for t in layer.tensors if t.role in memory.must_keep):
            nodes.append(Store(memory.name, kept))
    try:
        check(Mapping(tuple(nodes)), layer, replace(architecture, constraints=()))
    except MappingError as failure:
        raise NoMappingError(
            f"no mapping of layer '{layer.name}' exists on '{architecture.name}': even when every "
            f"memory but the outermost holds one element of what it must keep, {failure.message}"
        ) from None


def search(
    layer: Layer,
    architecture: Architecture,
    objective: str,
    stop: Callable[[], bool],
    progress: Progress,
    hurried: bool,
    earlier: Searched | None = None,
) -> Searched:
    """Search one layer in its share of the time, knowing what an earlier search has found.

    If `hurried` and nothing is found in that time, some mapping is made.
    """
    start = perf_counter()
    size = mappings_in_space(layer, narrowed(architecture, layer))
    if is_vast(layer):
        vast = found_greedily(layer, architecture, objective, stop)
        return Searched(vast, size, perf_counter() - start)
    searching = Search(layer, architecture, objective)
    if earlier is not None and earlier.found.mapping is not None:
        searching.begin_with(earlier.found.mapping)
    elif forwards_words(layer, architecture):
        first = of_reading_all(layer, architecture, objective, stop)
        if first is not None:
            searching.begin_with(first)
            value = float(searching.best[0])
            earlier = Searched(replace(searching.found, value=value), size, 0.0)
    found = searching.solve(stop, lambda best, bound: progress.improved(layer, best, bound))
    if hurried and found.mapping is None and not found.finished:
        end = perf_counter() + HASTE
        searching.begin(lambda: perf_counter() >= end)
        found.value = float(searching.best[0])
    before = 0.0
    if earlier is not None:
        before, found.bound = earlier.seconds, max(found.bound, earlier.found.bound)
        if found.value > earlier.found.value:  # the model counts more, see `correct_value`
            found = replace(earlier.found, bound=found.bound, labels=found.labels)
    if found.finished and found.mapping is None and parse_objective(objective).limited:
        raise NoMappingError(beyond_limits(layer, architecture, parse_objective(objective)))
    if found.finished and found.mapping is None:
        raise DisagreementError(
            f"internal error: the search finds no mapping of layer '{layer.name}' on "
            f"'{architecture.name}', although there is one; please report this with the layer and "
            "the architecture"
        )
    return Searched(found, size, before + perf_counter() - start)


def found_earlier(solved: SolvedLayers, layers: Sequence[Layer]) -> dict[object, Searched]:
    """Return what is kept of some layers."""
    earlier = {likeness(layer): solved.find(layer) for layer in layers}
    return {kind: hit for kind, hit in earlier.items() if hit}


def improved(
    layer: Layer,
    architecture: Architecture,
    objective: str,
    ended: Searched,
    stop: Callable[[], bool],
) -> Searched:
    """Go on from the best mapping whose tile sizes divide with all tile sizes."""
    start = perf_counter()
    machine = narrowed(architecture, layer)
    found = with_all_sizes(layer, machine, objective, ended.found, stop)
    if found.mapping == ended.found.mapping:
        found.least_memory = ended.found.least_memory
    elif found.mapping is not None and found.finished:
        # ties are of interest where nothing is better
        found.mapping = tidied(
            found.mapping, layer, machine, lambda m: costs(m, layer, machine), stop
        )
        value = parse_objective(objective).value(*costs(found.mapping, layer, machine))
        found.value = min(found.value, value)
    seconds = ended.seconds + perf_counter() - start
    return Searched(found, ended.mappings_in_space, seconds)


def beyond_limits(layer: Layer, architecture: Architecture, objective: Objective) -> str:
    """Return why no mapping keeps to the limits of an objective."""
    free = replace(objective, most_energy=inf, most_cycles=inf)
    least = []
    if isfinite(objective.most_cycles):
        limited = replace(free, powers=(0.0, 1.0), then=(1.0, 0.0))
        limited = replace(limited, most_energy=objective.most_energy)
        least.append((limited, "cycles"))
    if isfinite(objective.most_energy):
        limited = replace(free, powers=(1.0, 0.0), then=(0.0, 1.0))
        limited = replace(limited, most_cycles=objective.most_cycles)
        least.append((limited, "pJ"))
    facts = []
    for limited, unit in least:
        found = Search(layer, architecture, str(limited)).solve()
        if found.mapping is not None:
            facts.append(f"the {limited.least} is {found.value:.10g} {unit}")
        else:
            alone = replace(limited, most_energy=inf, most_cycles=inf)
            found = Search(layer, architecture, str(alone)).solve()
            facts.append(f"the {alone.least} of all is {found.value:.10g} {unit}")
    return (
        f"no mapping of layer '{layer.name}' on '{architecture.name}' is "
        f"{objective.within('').strip()}: {', '.join(dict.fromkeys(facts))}"
    )


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

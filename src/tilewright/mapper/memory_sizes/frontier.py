"""The best cost for every size of one or two memories: an exact step function."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from math import inf
from time import perf_counter

from tilewright.architecture.machine import Architecture, Array, Compute, Level, Memory
from tilewright.errors import InputError, NoMappingError, nearest
from tilewright.mapper.memory_sizes.choice_bounds import BypassBounds
from tilewright.mapper.memory_sizes.ranges import cover
from tilewright.mapper.memory_sizes.sweep import Sweep
from tilewright.mapper.memory_sizes.walks import Sizes, Walks
from tilewright.mapper.objective.objective import Objective, parse_objective
from tilewright.mapper.problem.bypass_choices import about_memories, whole_bits
from tilewright.mapper.results.frontier import Frontier, Point, occupied
from tilewright.mapper.search.confirmed import agreed
from tilewright.mapper.search.search import Search
from tilewright.mapping.nodes import Mapping
from tilewright.model.evaluate import evaluate
from tilewright.workload.layer import Layer

SAME = 1e-12
HASTE = 0.5  # seconds for any mapping, where nothing else was found


@dataclass(frozen=True)
class KnownOptimum:
    """The optimum of one choice of sizes.

    Attributes
    ----------
    limits : tuple of float
        Bits of each memory that it was searched for.
    used : tuple of int
        Bits that it takes.
    value : float
    mapping : Mapping
    """

    limits: tuple[float, ...]
    used: tuple[int, ...]
    value: float
    mapping: Mapping


@dataclass
class FoundSizes:
    """What was found.

    Attributes
    ----------
    known : list of KnownOptimum
    finished : bool
        Whether nothing is missing.
    searches : int
    interrupted : bool
        Whether Ctrl-C ended it.
    """

    known: list[KnownOptimum]
    finished: bool
    searches: int
    interrupted: bool


def least_cost(
    layer: Layer,
    architecture: Architecture,
    over: Sequence[str],
    objective: str = "energy",
    *,
    traffic: str | None = None,
    stop: Callable[[], bool] = lambda: False,
    progress: Callable[[int], None] = lambda points: None,
) -> Frontier:
    """Return the least cost for every size of one or two memories.

    Parameters
    ----------
    layer, architecture
        What is mapped onto what. Energies per access stay what they are.
    over : sequence of str
        Names of one or two memories; their own sizes do not matter.
    objective : str
        What is minimised, see `objective.parse_objective`.
    traffic : str, optional
        A memory: its reads and writes, in elements, are minimised instead.
    stop : callable
        Asked every now and then whether to end.
    progress : callable
        Told the number of searches so far.

    Raises
    ------
    InputError
        When a memory does not exist, has no size, or is partitioned among the tensors.
    NoMappingError
        When no mapping can run the layer, however large the memories are.
    DisagreementError
        When the model gives a mapping another value than the search.
    """
    start = perf_counter()
    check_memories(architecture, over, traffic)
    wanted = parse_objective(objective if traffic is None else "energy")
    machine = architecture if traffic is None else counting(architecture, traffic)
    search = Search(layer, machine, str(wanted))

    def point(k: KnownOptimum) -> Point:
        cost = agreed(layer, sized(machine, over, k.used), str(wanted), k.mapping, k.value)
        value = wanted.value(cost.energy_pj, float(cost.cycles))
        if traffic is not None:
            cost = evaluate(layer, sized(architecture, over, k.used), k.mapping)
        return Point(k.used, value, k.mapping, cost)

    points: dict[int, Point] = {}  # by the mapping itself, while others are searched

    def check(k: KnownOptimum) -> None:
        points[id(k.mapping)] = point(k)

    if can_sweep(search, over):
        found = sweep(search, machine, tuple(over), wanted, stop, progress, check)
    else:
        found = repeat(search, machine, tuple(over), wanted, stop, progress)
    if not found.known and not found.finished:
        found.known = some(search, machine, over, wanted)
    if not found.known and found.finished:
        raise NoMappingError(
            f"no mapping of layer '{layer.name}' on '{architecture.name}' exists, however large "
            f"{' and '.join(over)} may be"
        )
    every = [points.get(id(k.mapping)) or point(k) for k in undominated(found.known)]
    return Frontier(
        layer=layer,
        architecture=architecture,
        over=tuple(over),
        objective=str(wanted),
        traffic=traffic,
        points=tuple(every),
        optimal=found.finished,
        searches=found.searches,
        seconds=perf_counter() - start,
        interrupted=found.interrupted,
    )


def can_sweep(search: Search, over: Sequence[str]) -> bool:
    """Whether one sweep finds everything, see `frontier_sweep`.

    Not where constraints hold loops, tiles or store nodes, where the model may count otherwise than
    the search (forwarding neighbours, windows of outputs), or with two memories between the same
    arrays.
    """
    machine = search.architecture
    segments = [search.of_memory[[m.name for m in machine.memories].index(name)] for name in over]
    if len(over) == 2 and (segments[0] == 0) == (segments[1] == 0):
        return False
    if any(array.forwarding for array in machine.arrays) or about_memories(machine):
        return False
    return not (search.resources and search.space.windows[-1] >= 0)


def sweep(
    search: Search,
    machine: Architecture,
    over: tuple[str, ...],
    objective: Objective,
    stop: Callable[[], bool],
    progress: Callable[[int], None],
    check: Callable[[KnownOptimum], None] = lambda known: None,
) -> FoundSizes:
    """Find the optima of all sizes at once; `check` is told of each that may be one."""
    memories = machine.memories
    places = [[m.name for m in memories].index(name) for name in over]
    above, below = (
        next((p for p in places if (search.of_memory[p] == 0) == wanted), -1)
        for wanted in (True, False)
    )
    varied = above, below

    def with_sizes(sizes: Sizes) -> Architecture:
        bits = {memories[p].name: size for p, size in zip(varied, sizes, strict=True) if p >= 0}
        return sized(machine, list(bits), list(bits.values()))

    most = tuple(
        float(whole_bits(search.layer.tensors, search.layer, memories[p])) if p >= 0 else 0.0
        for p in varied
    )
    units = tuple(float(memories[p].word_bits) if p >= 0 else 0.0 for p in varied)
    search.loop_anywhere()
    search.aim(objective, with_sizes((most[0], most[1])))
    # tables below the array pay where both sizes vary; elsewhere they take longer than they save
    tables_of = varied[1] if varied[0] >= 0 else -1
    choices = BypassBounds(search.space, search.tables.slides, tables_of)
    walks = Walks(search, varied, choices, stop, progress)
    all_sizes = Sweep(
        search=search,
        objective=objective,
        sized=with_sizes,
        most=(most[0], most[1]),
        unit=(units[0], units[1]),
        walks=walks,
    )

    def known(mapping: Mapping, value: float, sizes: Sizes) -> KnownOptimum:
        used = tuple(int(sizes[varied.index(p)]) for p in places)
        return KnownOptimum(used, used, value, mapping)

    interrupted = False
    finished = False
    try:
        finished = cover(all_sizes, lambda *found: check(known(*found)))
    except KeyboardInterrupt:
        interrupted = True
    optima = [known(*found) for found in walks.found()]
    return FoundSizes(optima, finished, walks.number, interrupted)


def repeat(
    search: Search,
    machine: Architecture,
    over: tuple[str, ...],
    objective: Objective,
    stop: Callable[[], bool],
    progress: Callable[[int], None],
) -> FoundSizes:
    """Find the optima one after the other.

    The optimum for some sizes is also the optimum for all smaller ones that its tiles fit: the next
    search is for one bit less than they take. What two searches prove, equal values included, is
    not searched again.
    """
    found = FoundSizes([], True, 0, False)

    def best(limits: tuple[float, ...]) -> KnownOptimum | None:
        """Return the optimum for some sizes."""
        known = found.known
        fitting = [k for k in known if all(u <= b for u, b in zip(k.used, limits, strict=True))]
        larger = [k for k in known if all(a >= b for a, b in zip(k.limits, limits, strict=True))]
        least = max((k.value for k in larger), default=0.0)
        nearest_known = min(fitting, key=lambda k: (k.value, k.used), default=None)
        if nearest_known is not None and nearest_known.value <= least * (1 + SAME):
            return nearest_known
        if stop():
            found.finished = False
            return None
        found.searches += 1
        progress(found.searches)
        now = sized(machine, over, limits)
        search.aim(objective, now)
        if nearest_known is not None:
            search.begin_with(nearest_known.mapping)
        result = search.solve(stop)
        found.finished = found.finished and result.finished
        if result.mapping is None or not result.finished:
            return None
        known.append(the_best(search, now, over, limits))
        return known[-1]

    try:
        ask(best, len(over))
    except KeyboardInterrupt:
        found.finished, found.interrupted = False, True
    if not found.finished and search.found.mapping is not None:
        # the best so far of the search that did not end
        found.known.append(the_best(search, search.architecture, over, ()))
    return found


def the_best(
    search: Search, machine: Architecture, over: Sequence[str], limits: tuple[float, ...]
) -> KnownOptimum:
    """Return the best mapping of a search, and the bits that it takes on a machine."""
    mapping = search.found.mapping
    assert mapping is not None
    used = occupied(evaluate(search.layer, machine, mapping), tuple(over))
    value = float(search.best[0])
    if search.found.value < inf:
        value = max(value, search.found.value)  # see `FoundSizes.correct_value`
    return KnownOptimum(limits, used, value, mapping)


def some(
    search: Search, machine: Architecture, over: Sequence[str], objective: Objective
) -> list[KnownOptimum]:
    """Return some mapping for sizes without a limit, where one is found in little time."""
    now = sized(machine, over, [inf] * len(over))
    end = perf_counter() + HASTE
    search.aim(objective, now)
    search.begin(lambda: perf_counter() >= end)
    return [] if search.found.mapping is None else [the_best(search, now, over, ())]


def ask(best: Callable[[tuple[float, ...]], KnownOptimum | None], sizes: int) -> None:
    """Ask for the optimum of every choice of sizes that differs from a larger one."""
    last = inf
    while last >= 0:
        limit = inf
        used = []
        while limit >= 0:
            known = best((limit, last)[:sizes])
            if known is None:
                break
            used.append(known.used)
            limit = known.used[0] - 1
        if sizes == 1 or not used:
            return
        last = max(u[1] for u in used) - 1


def undominated(known: Sequence[KnownOptimum]) -> list[KnownOptimum]:
    """Return the optima that no other one of at most the same sizes reaches, smallest first."""
    order = sorted(known, key=lambda k: (k.used, k.value))
    kept: list[KnownOptimum] = []
    for k in order:
        if not any(
            o.value <= k.value * (1 + SAME)
            and all(a <= b for a, b in zip(o.used, k.used, strict=True))
            for o in kept
        ):
            kept.append(k)
    return kept


def check_memories(architecture: Architecture, over: Sequence[str], traffic: str | None) -> None:
    """Refuse names of memories whose size cannot be varied."""
    names = [m.name for m in architecture.memories]
    if not 1 <= len(over) <= 2 or len(set(over)) < len(over):
        found = ", ".join(map(str, over)) or "none"
        raise InputError(f"expected one memory or two different ones, found {found}", key="over")
    for key, name in [*(("over", name) for name in over), ("traffic", traffic)]:
        if name is not None and name not in names:
            raise InputError(
                f"no memory '{name}' on '{architecture.name}'; accepted: {', '.join(names)}"
                f"{nearest(name, names)}",
                key=key,
            )
    for memory in architecture.memories:
        if memory.name in over and memory.tensor_bits is not None:
            raise InputError(
                f"memory '{memory.name}' is partitioned among the tensors: it has no one size",
                key="over",
            )
    if architecture.memories[0].name in over:
        raise InputError(
            f"'{architecture.memories[0].name}' is the outermost memory: it holds everything",
            key="over",
        )


def sized(architecture: Architecture, over: Sequence[str], bits: Sequence[float]) -> Architecture:
    """Return a machine with other sizes of some memories."""
    sizes = dict(zip(over, bits, strict=True))

    def level_of(level: Level) -> Level:
        if not isinstance(level, Memory) or level.name not in sizes:
            return level
        size = sizes[level.name]
        return replace(level, capacity_bits=None if size == inf else int(size))

    return replace(architecture, levels=tuple(level_of(level) for level in architecture.levels))


def counting(architecture: Architecture, memory: str) -> Architecture:
    """Return a machine whose energy is the number of elements that one memory reads and writes."""

    def level_of(level: Level) -> Level:
        if isinstance(level, Memory):
            own = float(level.name == memory)
            return replace(level, read_energy=own, write_energy=own, leakage=0.0)
        if isinstance(level, Array):
            return replace(level, hop_energy=0.0)
        assert isinstance(level, Compute)
        return replace(level, energy=0.0, leakage=0.0)

    return replace(architecture, levels=tuple(level_of(level) for level in architecture.levels))

"""One style for a whole network: the search for the best one.

Every style is a machine with constraints of its own. The totals of a network in a style are at
least those of layers that have been mapped in it, with lower bounds of the others: at first what
their best mapping costs in any style. The style with the least bound gets its next layer mapped,
the heaviest first, until no bound is below the best totals. A layer is mapped first with any tensor
stationary, which bounds all styles that unroll the same.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from heapq import heappop, heappush
from itertools import count
from math import inf
from time import perf_counter

from tilewright.architecture.machine import Architecture
from tilewright.errors import InputError, NoMappingError
from tilewright.mapper.cache import Cache
from tilewright.mapper.dataflow import dataflow
from tilewright.mapper.key import likeness
from tilewright.mapper.kinds import stationary_alone
from tilewright.mapper.labels import TIE
from tilewright.mapper.narrow import about_memories, narrowed
from tilewright.mapper.network import map_network
from tilewright.mapper.objective import Objective, parse_objective
from tilewright.mapper.progress import Progress
from tilewright.mapper.result import LayerResult, NetworkResult, forwards
from tilewright.mapper.size import mappings_in_space
from tilewright.mapper.solve import Search
from tilewright.mapper.solved import Searched, SolvedLayers
from tilewright.mapper.style import Style, spatial_styles, stationaries
from tilewright.mapper.uniform_result import StyleBound, StyleResult, UniformResult
from tilewright.model.kernel import interruptible
from tilewright.workload.layer import Layer, Network

SLACK = 1.01  # how far above its bound the mapping of a layer is looked for at first
MOST_SLACK = 1e3


@dataclass(frozen=True)
class Kind:
    """Layers that have the same best mapping.

    Attributes
    ----------
    layer : Layer
        The first of them.
    runs : int
        How often they occur in the network.
    free : float
        No mapping has a lower objective, in whatever style.
    """

    layer: Layer
    runs: int
    free: float


@dataclass
class Candidate:
    """A style, and what is known of the layers in it.

    Attributes
    ----------
    style : Style
    bounds : list of float
        For each kind of layers, no mapping in this style has a lower objective.
    found : dict of int to (LayerResult, Searched)
        The best mappings of those that have been searched.
    least : float
        The totals in all styles that unroll the same, whatever is stationary, are no lower.
    slack : float
        How far above its bound the mapping of the next layer is looked for.
    """

    style: Style
    bounds: list[float]
    found: dict[int, tuple[LayerResult, Searched]] = field(default_factory=dict)
    least: float = 0.0
    slack: float = SLACK


@dataclass(frozen=True)
class Totals:
    """How totals follow from layers.

    Attributes
    ----------
    goal : Objective
        What is minimised: E^a x C^b.
    kinds : sequence of Kind
        The heaviest first.
    """

    goal: Objective
    kinds: Sequence[Kind]

    def root(self, value: float) -> float:
        """Return the (a + b)-th root of a value: what can be added up.

        It is superadditive in (E, C), so that the roots of the values of layers add up to no more
        than the root of the value of their totals (Hölder's inequality).
        """
        return float(value ** (1 / sum(self.goal.powers)))

    def pair(self, candidate: Candidate, kinds: Sequence[int]) -> tuple[float, float]:
        """Return energy and cycles of the mappings of some kinds of layers together."""
        found = [(self.kinds[k].runs, candidate.found[k][0].evaluation) for k in kinds]
        energy = sum(runs * cost.energy_pj for runs, cost in found)
        return energy, sum(runs * cost.cycles for runs, cost in found)

    def product(self, powers: tuple[float, float], pair: tuple[float, float]) -> float:
        """Return a product of powers of energy and cycles."""
        return float(pair[0] ** powers[0] * pair[1] ** powers[1])

    def lower(self, candidate: Candidate) -> float:
        """Return the root of the least totals."""
        return max(self.sum(candidate), self.root(candidate.least))

    def sum(self, candidate: Candidate, without: int | None = None) -> float:
        """Return the root of the least totals as far as single layers tell, or without one kind."""
        proven = [k for k, (result, _) in candidate.found.items() if result.proof.optimal]
        rest = (k for k in range(len(self.kinds)) if k not in proven and k != without)
        open_ = sum(self.kinds[k].runs * self.root(candidate.bounds[k]) for k in rest)
        known = self.root(self.product(self.goal.powers, self.pair(candidate, proven)))
        return open_ + (known if proven else 0.0)

    def ceiling(self, candidate: Candidate, kind: int, limit: float) -> float:
        """Return the objective with which a layer raises the totals to a limit."""
        if limit == inf:
            return inf
        left = (self.root(limit) - self.sum(candidate, kind)) / self.kinds[kind].runs
        return float(max(left, 0.0) ** sum(self.goal.powers))


class Queue:
    """Candidates, that of the least totals first, and of several the one that came first."""

    def __init__(self, totals: Totals) -> None:
        self.totals = totals
        self.heap: list[tuple[float, int, Candidate]] = []
        self.order = count()

    def __len__(self) -> int:
        return len(self.heap)

    @property
    def least(self) -> float:
        """The root of the least totals."""
        return self.heap[0][0]

    def push(self, candidate: Candidate) -> None:
        """Add a candidate."""
        heappush(self.heap, (self.totals.lower(candidate), next(self.order), candidate))

    def pop(self) -> Candidate:
        """Remove the first candidate and return it."""
        return heappop(self.heap)[2]

    def take(self, other: Queue) -> None:
        """Move all candidates of another queue into this one."""
        while other:
            self.push(other.pop())


class Styles:
    """The search for the best style.

    Parameters
    ----------
    free : NetworkResult
        The best mapping of every layer in whatever style.
    cache : Cache or None
        Where proven results are looked up and kept.
    within : float
        Styles are mapped to the end when they are no further above the best than this share.
    stop : callable
        Asked every now and then whether to end.
    progress : Progress
        Told of better styles.
    """

    def __init__(
        self,
        free: NetworkResult,
        cache: Cache | None,
        within: float,
        stop: Callable[[], bool],
        progress: Progress,
    ) -> None:
        self.architecture, self.objective = free.architecture, free.objective
        self.cache, self.within, self.stop, self.progress = cache, within, stop, progress
        goal = parse_objective(self.objective)
        runs: dict[tuple[object, ...], int] = {}
        for r in free.layers:
            runs[likeness(r.layer)] = runs.get(likeness(r.layer), 0) + r.layer.repeat
        first = {likeness(r.layer): r for r in reversed(free.layers)}
        kinds = [Kind(first[key].layer, n, first[key].proof.lower_bound) for key, n in runs.items()]
        kinds.sort(key=lambda kind: -kind.runs * kind.free)
        self.totals = Totals(goal, kinds)
        self.roles = stationaries(free.network, self.architecture)
        bounds = [kind.free for kind in kinds]
        self.waiting = [
            Candidate(style, list(bounds))
            for style in spatial_styles(free.network, self.architecture)
        ]
        self.count = len(self.waiting) * len(self.roles)
        self.ended: list[Candidate] = []
        self.dropped: list[Candidate] = []
        self.best = inf

    @property
    def limit(self) -> float:
        """Totals up to which a style is mapped to the end."""
        return self.best * (1 + self.within)

    def search(self) -> bool:
        """Search until the best style is known or the search is stopped; return whether Ctrl-C."""
        interrupted = False
        # before anything is known to prune with, the first styles of which all is known with any
        # tensor stationary are carried on to the end
        first = Queue(self.totals)
        queue = Queue(self.totals)
        for candidate in self.waiting:
            queue.push(candidate)
        while (queue or first) and not self.stop() and not interrupted:
            if self.best < inf:
                queue.take(first)
            if not first and queue.least >= self.totals.root(self.limit) * (1 - TIE):
                break
            current = (first or queue).pop()
            try:
                heirs = self.step(current)
            except KeyboardInterrupt:
                heirs, interrupted = [current], True
            for heir in heirs:
                dive = self.best == inf and heir.style.stationary is not None
                (first if dive else queue).push(heir)
        queue.take(first)
        self.waiting = [candidate for _, _, candidate in queue.heap]
        return interrupted

    @interruptible()
    def step(self, candidate: Candidate) -> list[Candidate]:
        """Map one more layer, or look for its mapping further up; return what is left to do."""
        kinds = self.totals.kinds
        kind = next((k for k in range(len(kinds)) if k not in candidate.found), None)
        if kind is None:
            return self.branches(candidate)
        most = self.totals.ceiling(candidate, kind, self.limit)
        low, slack = candidate.bounds[kind], candidate.slack
        ceiling = min(most, low * slack) if low > 0 and slack < inf else most
        searched = self.map_layer(candidate.style, kinds[kind].layer, ceiling)
        found = searched.found
        if found.mapping is not None:
            result = self.solved(candidate.style, kinds[kind].layer).confirm(
                kinds[kind].layer, searched
            )
            candidate.found[kind] = result, searched
            candidate.bounds[kind] = max(candidate.bounds[kind], result.proof.lower_bound)
            candidate.slack = SLACK
        elif found.finished and ceiling == most:
            # above the limit, or without any mapping
            candidate.least = max(candidate.least, self.limit)
            self.dropped.append(candidate)
            return []
        else:
            candidate.bounds[kind] = max(candidate.bounds[kind], found.bound)
            if candidate.bounds[kind] == inf:
                self.dropped.append(candidate)
                return []
            candidate.slack = candidate.slack**2 if candidate.slack < MOST_SLACK else inf
        return [candidate]

    def branches(self, candidate: Candidate) -> list[Candidate]:
        """Return a candidate of which every layer is mapped for each tensor that may be stationary.

        Mappings in which it is need no other search. A candidate of one tensor has ended.
        """
        if candidate.style.stationary is not None or self.roles == [None]:
            self.ended.append(candidate)
            value = self.value(candidate)
            if value < self.best:
                self.best = value
                self.progress.better_style(str(candidate.style), value)
            return []
        heirs = []
        memory = self.architecture.memories[-1].name
        for role in self.roles:
            style = replace(candidate.style, stationary=role, memory=memory)
            kept = {
                k: (result, searched)
                for k, (result, searched) in candidate.found.items()
                if style.has(
                    dataflow(result.mapping, result.layer, self.architecture), result.layer
                )
            }
            least = self.least(candidate) * (1 - TIE)
            heirs.append(Candidate(style, list(candidate.bounds), kept, least))
        # those of which most is known first
        return sorted(heirs, key=lambda heir: -len(heir.found))

    def solved(self, style: Style, layer: Layer) -> SolvedLayers:
        """Return where the results of a layer in a style are kept."""
        held = style.held(layer)
        options = {} if held is None else {"stationary": held}
        machine = style.machine(self.architecture)
        return SolvedLayers(self.cache, machine, self.objective, options)

    def map_layer(self, style: Style, layer: Layer, ceiling: float) -> Searched:
        """Find the best mapping of a layer in a style, if its objective is not above a ceiling."""
        solved = self.solved(style, layer)
        if hit := solved.find(layer):
            return hit
        start = perf_counter()
        machine, held = style.machine(self.architecture), style.held(layer)
        search = Search(layer, machine, self.objective)
        search.best[0] = ceiling
        plans = list(search.plans() if held is None else stationary_alone(search, held))
        found = search.solve(self.stop, plans=plans)
        if found.mapping is None:
            # where all has been searched below the ceiling, a bound says no more than that
            bounds = (ceiling if plan.bound[0] == inf else plan.bound[0] for plan in plans)
            found.bound = min(bounds, default=inf)
        size = mappings_in_space(layer, narrowed(machine, layer))
        searched = Searched(found, size, perf_counter() - start)
        if found.mapping is not None:
            solved.keep(layer, searched)
        return searched

    def value(self, candidate: Candidate) -> float:
        """Return the objective of the totals of a candidate whose layers are all mapped."""
        pair = self.totals.pair(candidate, range(len(self.totals.kinds)))
        return self.totals.product(self.totals.goal.powers, pair)

    def ranked(self) -> list[Candidate]:
        """Return the candidates that have ended, the best first."""

        def rank(candidate: Candidate) -> tuple[float, float]:
            pair = self.totals.pair(candidate, range(len(self.totals.kinds)))
            # rounding shall not decide before the second objective does
            value = self.value(candidate)
            even = self.best if value <= self.best * (1 + TIE) else value
            return even, self.totals.product(self.totals.goal.then, pair)

        return sorted(self.ended, key=rank)

    def lower_bound(self) -> float:
        """Return the objective below which no totals are."""
        return min([self.best, *map(self.least, (*self.waiting, *self.ended))])

    def least(self, candidate: Candidate) -> float:
        """Return the objective below which the totals of a candidate are not."""
        return self.totals.lower(candidate) ** sum(self.totals.goal.powers)

    def others(self) -> tuple[StyleBound, ...]:
        """Return what is known of the styles that were not mapped to the end."""
        found = [(c.style, self.least(c)) for c in (*self.waiting, *self.dropped)]
        found.sort(key=lambda one: one[1])
        return tuple(
            StyleBound(style, low, max(0.0, low / self.best - 1) if self.best else 0.0)
            for style, low in found
        )

    def layer_results(self, candidate: Candidate, network: Network) -> tuple[LayerResult, ...]:
        """Return the result of every layer of the network in a style."""
        kinds = {likeness(kind.layer): k for k, kind in enumerate(self.totals.kinds)}
        results = []
        for layer in network.layers:
            _, searched = candidate.found[kinds[likeness(layer)]]
            result = self.solved(candidate.style, layer).confirm(layer, searched)
            space = result.proof.space
            if candidate.style.stationary is not None:
                space = f"{space} {candidate.style.words()}"
            results.append(replace(result, proof=replace(result.proof, space=space)))
        return tuple(results)


def map_uniform(
    network: Network,
    architecture: Architecture,
    objective: str,
    *,
    within: float = 0.0,
    time_limit: float | None = None,
    workers: int | None = None,
    progress: Progress | None = None,
    cache: Cache | None = None,
) -> UniformResult:
    """Find the style that is best for all layers of a network together, with their mappings.

    Parameters
    ----------
    network, architecture, objective, time_limit, workers, progress, cache
        As for `network.map_network`; one thread searches the styles.
    within : float
        Styles whose totals are above the best by no more than this share are mapped to the end.

    Raises
    ------
    InputError
        On a machine on which nothing is proven, or whose constraints fix loops or tiles.
    NoMappingError
        When no style has a mapping of every layer, or none was mapped to the end in time.
    """
    start = perf_counter()
    end = start + (inf if time_limit is None else time_limit)
    check_machine(architecture)
    progress = progress or Progress()
    free = map_network(
        network, architecture, objective,
        time_limit=time_limit, workers=workers, progress=progress, cache=cache,
    )  # fmt: skip
    late = NoMappingError("the search was stopped before it had mapped all layers in any one style")
    if free.unmapped or free.interrupted:
        raise late
    styles = Styles(free, cache, within, lambda: perf_counter() >= end, progress)
    interrupted = styles.search()
    if not styles.ended:
        if styles.waiting:
            raise late
        raise NoMappingError(
            f"no style has a mapping of every layer of '{network.name}' on '{architecture.name}'"
        )
    ranked = styles.ranked()
    lower, free_value = styles.lower_bound(), value_of(free)
    results = [style_result(styles, candidate, free_value) for candidate in ranked]
    covered = lower >= results[0].value * (1 - TIE)
    return UniformResult(
        network, ranked[0].style.machine(architecture), free.objective,
        styles.layer_results(ranked[0], network), perf_counter() - start, interrupted,
        styles=tuple(results), others=styles.others(), count=styles.count, covered=covered,
        lower_bound=results[0].value if covered else lower, free=free,
    )  # fmt: skip


def style_result(styles: Styles, candidate: Candidate, free: float) -> StyleResult:
    """Return what a style costs, compared with the best one and with free mappings."""
    energy, cycles = styles.totals.pair(candidate, range(len(styles.totals.kinds)))
    value = styles.value(candidate)
    above = max(0.0, value / styles.best - 1) if styles.best else 0.0
    return StyleResult(
        candidate.style, energy, cycles, value, 0.0 if above < TIE else above,
        value / free - 1 if free else 0.0,
        all(result.proof.optimal for result, _ in candidate.found.values()),
    )  # fmt: skip


def value_of(result: NetworkResult) -> float:
    """Return the objective of the totals of a network."""
    powers = parse_objective(result.objective).powers
    return float(result.energy_pj ** powers[0] * result.cycles ** powers[1])


def check_machine(architecture: Architecture) -> None:
    """Refuse machines on which styles are not covered."""
    if forwards(architecture):
        raise InputError(
            f"neighbours forward words on '{architecture.name}', where no mapping is proven to be "
            "the best; accepted: a machine with 'forwarding: false' on every array",
            key="uniform",
        )
    for statement in about_memories(architecture):
        raise InputError(
            f"takes no constraint on tiles, loops or the use of a memory, found '{statement}'; "
            "accepted: constraints on arrays, 'keep' and 'bypass'",
            key="uniform",
        )

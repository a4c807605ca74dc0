"""The least that layers cost on machines, each solved once."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from math import isclose
from typing import Any

from tilewright.architecture.machine import Architecture, Array, Level, Memory
from tilewright.errors import MappingError
from tilewright.exploration.proof.store import Answer, Store
from tilewright.exploration.proof.workers import Found, Processes, Workers, searched
from tilewright.mapper.network.same_object import kept_for_same
from tilewright.mapper.network.solution_key import solution_key
from tilewright.mapper.objective.objective import parse_objective
from tilewright.mapper.results.searched_space import DIVISORS
from tilewright.mapping.nodes import Mapping
from tilewright.model.energy import leakage_power
from tilewright.model.evaluate import evaluate
from tilewright.workload.layer import Layer, Network

Sizes = tuple[float, ...]

MOST_TRIED = 4  # optima of other machines
MOST_MATCHED = 12
CLOSE = 1e-9
SAME = 1e-12


@dataclass(frozen=True)
class Workload:
    """A network and how much it counts."""

    network: Network
    weight: float


class Solver:
    """Solves layers on machines, and remembers.

    Parameters
    ----------
    store : Store
        Where answers are kept.
    stopped : callable
        Whether to give up; asked before each search.
    workers : Workers, optional
        Who searches layers side by side; by default nobody but this process.
    """

    def __init__(
        self, store: Store, stopped: Callable[[], bool], workers: Workers | None = None
    ) -> None:
        self._store = store
        self._side_by_side = Processes(1) if workers is None else workers
        self.workers = self._side_by_side.count
        self._stopped = stopped
        self._optima: dict[str, list[tuple[Sizes, Sizes, Mapping, float]]] = {}
        self._mappings: dict[Layer, list[Mapping]] = {}
        self.searches = self.matched = 0

    def check(self) -> None:
        """Raise StoppedError when it is time to give up."""
        if self._stopped():
            raise StoppedError

    def layer(self, layer: Layer, machine: Architecture, objective: str) -> Answer:
        """Return energy (pJ) and cycles of the best mapping; None when there is no mapping."""
        layer, machine = _plain(layer, machine)
        key = _key(layer, machine, objective)
        if key in self._store:
            return self._store[key]
        self.check()
        if self._on_smaller(key, layer, machine, objective) is None:
            self.searches += 1
            self._keep(key, layer, machine, objective, searched(layer, machine, objective))
        return self._store[key]

    def mapping(self, layer: Layer, machine: Architecture, objective: str) -> Mapping | None:
        """Return the mapping of an optimum that `layer` has returned, if it is known."""
        return self._store.mapping(_key(*_plain(layer, machine), objective))

    def match(
        self,
        layer: Layer,
        machine: Architecture,
        objective: str,
        cost: tuple[float, float],
        more: Iterable[Mapping] = (),
    ) -> bool:
        """Look for a mapping that costs what the optimum costs at least, also on other machines.

        Parameters
        ----------
        cost : (float, float)
            Energy (pJ) and cycles that no better mapping has, and that every mapping of the same
            value has.

        Returns
        -------
        bool
            Whether `layer` knows the optimum now, without a search.
        """
        layer, machine = _plain(layer, machine)
        key = _key(layer, machine, objective)
        if key in self._store:
            return True
        known = self._mappings.get(layer, [])
        for mapping in chain(more, known[:MOST_MATCHED]):
            try:
                found = evaluate(layer, machine, mapping)
            except MappingError:
                continue
            if isclose(found.energy_pj, cost[0], rel_tol=CLOSE) and isclose(
                found.cycles, cost[1], rel_tol=CLOSE
            ):
                self.matched += 1
                value = parse_objective(objective).value(found.energy_pj, float(found.cycles))
                answer = found.energy_pj, found.cycles
                self._keep(key, layer, machine, objective, (answer, mapping, value))
                return True
        return False

    def stays(self, layer: Layer, machine: Architecture, objective: str) -> Answer:
        """Return the costs of an optimum that is known, from this or a better machine, or None."""
        layer, machine = _plain(layer, machine)
        key = _key(layer, machine, objective)
        if key not in self._store and self._on_smaller(key, layer, machine, objective) is None:
            return None
        return self._store[key]

    def _on_smaller(self, key: str, layer: Layer, machine: Architecture, objective: str) -> Answer:
        """Look for an optimum of a machine at least as good that costs the same here.

        It stays the optimum then, and is kept. Energies and leakage of both are the same.
        """
        own, own_rates = sizes(machine), rates(machine)
        known = self._optima.get(_family(layer, machine, objective), ())
        tried = 0
        for larger, faster, mapping, value in reversed(known):
            if tried == MOST_TRIED:
                break
            if not all(a >= b for a, b in zip(larger + faster, own + own_rates, strict=True)):
                continue
            tried += 1
            try:
                found = evaluate(layer, machine, mapping)
            except MappingError:
                continue
            cost = parse_objective(objective).value(found.energy_pj, float(found.cycles))
            if faster == own_rates or abs(cost - value) <= SAME * value:
                answer = found.energy_pj, found.cycles
                self._store.keep(key, mapping)
                self._store[key] = answer
                return answer
        return None

    def _keep(
        self, key: str, layer: Layer, machine: Architecture, objective: str, found: Found
    ) -> None:
        """Keep an optimum, and remember it for other machines."""
        if found is None:
            self._store[key] = None
            return
        answer, mapping, value = found
        self._store.keep(key, mapping)
        self._store[key] = answer
        known = self._mappings.setdefault(layer, [])
        if mapping in known:
            known.remove(mapping)
        known.insert(0, mapping)  # what was best last is likely to be it again
        if not any(c.min_utilization is not None for c in machine.constraints):
            optima = self._optima.setdefault(_family(layer, machine, objective), [])
            optima.append((sizes(machine), rates(machine), mapping, value))

    def ahead(self, layers: Sequence[Layer], machine: Architecture, objective: str) -> None:
        """Search the first layers side by side that nothing is known of, as many as workers."""
        if self.workers < 2:
            return
        waiting: dict[str, tuple[Layer, Architecture]] = {}
        for each in layers:
            if len(waiting) == self.workers:
                break
            layer, plain = _plain(each, machine)
            key = _key(layer, plain, objective)
            if key not in self._store and self._on_smaller(key, layer, plain, objective) is None:
                waiting[key] = layer, plain
        self.check()
        if len(waiting) < 2:
            return
        found = self._side_by_side.search([(*each, objective) for each in waiting.values()])
        for (key, (layer, plain)), optimum in zip(waiting.items(), found, strict=True):
            self.searches += 1
            self._keep(key, layer, plain, objective, optimum)

    def close(self) -> None:
        """Let the workers go."""
        self._side_by_side.close()


def _key(layer: Layer, machine: Architecture, objective: str) -> str:
    return solution_key(layer, machine, objective, {"tiles": DIVISORS})


def _plain(layer: Layer, machine: Architecture) -> tuple[Layer, Architecture]:
    """Return a layer and a machine without what no mapping depends on."""
    return _once(layer), _without_area(machine)


@kept_for_same(256)
def _once(layer: Layer) -> Layer:
    return replace(layer, repeat=1)


@kept_for_same(64)
def _without_area(machine: Architecture) -> Architecture:
    levels = tuple(replace(each, area=0.0) for each in machine.levels)
    return replace(machine, notes=(), levels=levels)


class StoppedError(Exception):
    """The exploration was asked to end."""


@kept_for_same(64)
def sizes(machine: Architecture) -> Sizes:
    """Return the sizes of a machine: those of its memories in bits, and extents of its arrays."""
    found: list[float] = []
    for level in machine.levels:
        if isinstance(level, Memory):
            parts: Any = level.tensor_bits
            whole = float("inf") if level.capacity_bits is None else level.capacity_bits
            found += [whole] if parts is None else [parts[role] for role in sorted(parts)]
        elif isinstance(level, Array):
            found += level.axes.values()
    return tuple(found)


@kept_for_same(64)
def rates(machine: Architecture) -> Sizes:
    """Return the bandwidths of a machine in words per cycle."""
    found: list[float] = []
    for level in machine.levels:
        if isinstance(level, Memory):
            limits = (level.read_bandwidth, level.write_bandwidth, level.shared_bandwidth)
        elif isinstance(level, Array):
            limits = (level.bandwidth, None, None)
        else:
            continue
        found += [float("inf") if limit is None else limit for limit in limits]
    return tuple(found)


def _family(layer: Layer, machine: Architecture, objective: str) -> str:
    """Return a key of all machines that differ in sizes and bandwidths alone."""
    return solution_key(
        layer, _without_sizes(machine), objective, {"leakage": leakage_power(machine)}
    )


@kept_for_same(64)
def _without_sizes(machine: Architecture) -> Architecture:
    return replace(machine, levels=tuple(_unsized(level) for level in machine.levels))


def _unsized(level: Level) -> Level:
    """Return a level without sizes, bandwidths, and leakage, which counts as a whole."""
    if isinstance(level, Array):
        return replace(level, axes=dict.fromkeys(level.axes, 0), bandwidth=None)
    if not isinstance(level, Memory):
        return replace(level, leakage=0.0)
    return replace(
        level,
        capacity_bits=None if level.capacity_bits is None else 0,
        tensor_bits=None if level.tensor_bits is None else dict.fromkeys(level.tensor_bits, 0),
        read_bandwidth=None,
        write_bandwidth=None,
        shared_bandwidth=None,
        leakage=0.0,
        banks=None,
    )

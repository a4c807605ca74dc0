"""The least that layers cost on machines, each solved once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from math import isclose
from multiprocessing import get_context
from typing import Any

from tilewright.api import map as best_mapping
from tilewright.architecture.machine import Architecture, Array, Level, Memory
from tilewright.errors import InputError, MappingError, NoMappingError
from tilewright.exploration.store import Answer, Store
from tilewright.kernels.kernel import interruptible
from tilewright.mapper.network.solution_key import solution_key
from tilewright.mapper.objective.objective import parse_objective
from tilewright.mapper.results.searched_space import DIVISORS
from tilewright.mapper.search.best_first import explore
from tilewright.mapper.search.confirmed import agreed, objective_value
from tilewright.mapper.search.search import Search as MappingSearch
from tilewright.mapper.search.vast_layers import is_vast
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
    workers : int
        Processes that search.
    """

    def __init__(self, store: Store, stopped: Callable[[], bool], workers: int = 1) -> None:
        self._store = store
        self.workers = workers
        self._pool: ProcessPoolExecutor | None = None
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
        answer = self._on_smaller(layer, machine, objective)
        if answer is None:
            self.searches += 1
            answer = self._keep(layer, machine, objective, searched(layer, machine, objective))
        self._store[key] = answer
        return answer

    def match(
        self, layer: Layer, machine: Architecture, objective: str, cost: tuple[float, float]
    ) -> bool:
        """Look for a mapping of another machine that costs what the optimum costs at least.

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
        for mapping in known[:MOST_MATCHED]:
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
                self._store[key] = self._keep(layer, machine, objective, (answer, mapping, value))
                return True
        return False

    def stays(self, layer: Layer, machine: Architecture, objective: str) -> Answer:
        """Return the costs of an optimum that is known, from this or a better machine, or None."""
        layer, machine = _plain(layer, machine)
        key = _key(layer, machine, objective)
        if key not in self._store:
            answer = self._on_smaller(layer, machine, objective)
            if answer is None:
                return None
            self._store[key] = answer
        return self._store[key]

    def _on_smaller(self, layer: Layer, machine: Architecture, objective: str) -> Answer:
        """Return the costs of an optimum of a machine at least as good, if it costs the same here.

        It stays the optimum then. Energies and leakage of both are the same.
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
                return found.energy_pj, found.cycles
        return None

    def _keep(self, layer: Layer, machine: Architecture, objective: str, found: Found) -> Answer:
        """Remember an optimum, for other machines."""
        if found is None:
            return None
        answer, mapping, value = found
        known = self._mappings.setdefault(layer, [])
        if mapping in known:
            known.remove(mapping)
        known.insert(0, mapping)  # what was best last is likely to be it again
        if not any(c.min_utilization is not None for c in machine.constraints):
            optima = self._optima.setdefault(_family(layer, machine, objective), [])
            optima.append((sizes(machine), rates(machine), mapping, value))
        return answer

    def ahead(self, layers: Sequence[Layer], machine: Architecture, objective: str) -> None:
        """Search layers side by side that `layer` is going to be asked for, as many as workers."""
        if self.workers < 2:
            return
        waiting: dict[str, tuple[Layer, Architecture]] = {}
        for each in layers:
            layer, plain = _plain(each, machine)
            key = _key(layer, plain, objective)
            if key not in self._store and self._on_smaller(layer, plain, objective) is None:
                waiting[key] = layer, plain
        self.check()
        if len(waiting) < 2:
            return
        if self._pool is None:
            self._pool = ProcessPoolExecutor(self.workers, get_context("spawn"))
        found = [
            (key, layer, plain, self._pool.submit(searched, layer, plain, objective))
            for key, (layer, plain) in waiting.items()
        ]
        for key, layer, plain, future in found:
            self.searches += 1
            self._store[key] = self._keep(layer, plain, objective, future.result())

    def close(self) -> None:
        """End the worker processes."""
        if self._pool is not None:
            self._pool.shutdown(cancel_futures=True)
            self._pool = None


Found = tuple[tuple[float, float], Mapping, float] | None
"""Energy (pJ) and cycles of an optimum, its mapping, and its value."""


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


def _key(layer: Layer, machine: Architecture, objective: str) -> str:
    return solution_key(layer, machine, objective, {"tiles": DIVISORS})


def _plain(layer: Layer, machine: Architecture) -> tuple[Layer, Architecture]:
    """Return a layer and a machine without what no mapping depends on."""
    levels = tuple(replace(each, area=0.0) for each in machine.levels)
    return replace(layer, repeat=1), replace(machine, notes=(), levels=levels)


class StoppedError(Exception):
    """The exploration was asked to end."""


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
    whole = replace(machine, levels=tuple(_unsized(level) for level in machine.levels))
    return solution_key(layer, whole, objective, {"leakage": leakage_power(machine)})


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

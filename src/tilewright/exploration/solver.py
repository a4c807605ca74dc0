"""The least that layers cost on machines, each solved once."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from tilewright.api import map as best_mapping
from tilewright.architecture.machine import Architecture, Array, Level, Memory
from tilewright.errors import InputError, MappingError, NoMappingError
from tilewright.exploration.store import Answer, Store
from tilewright.mapper.network.solution_key import solution_key
from tilewright.mapper.results.searched_space import DIVISORS
from tilewright.mapping.nodes import Mapping
from tilewright.model.energy import leakage_power
from tilewright.model.evaluate import evaluate
from tilewright.workload.layer import Layer, Network

Sizes = tuple[float, ...]


@dataclass(frozen=True)
class Workload:
    """A network and how much it counts."""

    network: Network
    weight: float


@dataclass(frozen=True)
class Totals:
    """What a workload costs, repeats counted.

    Attributes
    ----------
    energy_pj, cycles : float
        Sums over its layers.
    """

    energy_pj: float
    cycles: float


class Solver:
    """Solves layers on machines, and remembers.

    Parameters
    ----------
    store : Store
        Where answers are kept.
    stopped : callable
        Whether to give up; asked before each search.
    """

    def __init__(self, store: Store, stopped: Callable[[], bool]) -> None:
        self._store = store
        self._stopped = stopped
        self._optima: dict[str, list[tuple[Sizes, Mapping]]] = {}
        self.searches = 0

    def totals(self, network: Network, machine: Architecture, objective: str) -> Totals | None:
        """Return what a network costs, each layer at its optimum, or None when one has no mapping.

        Raises
        ------
        StoppedError
            When it was stopped.
        """
        energy, cycles = 0.0, 0.0
        for layer in network.layers:
            answer = self.layer(layer, machine, objective)
            if answer is None:
                return None
            energy += layer.repeat * answer[0]
            cycles += layer.repeat * answer[1]
        return Totals(energy, cycles)

    def layer(self, layer: Layer, machine: Architecture, objective: str) -> Answer:
        """Return energy (pJ) and cycles of the best mapping; None when there is no mapping."""
        layer = replace(layer, repeat=1)
        machine = replace(
            machine, notes=(), levels=tuple(replace(each, area=0.0) for each in machine.levels)
        )
        key = solution_key(layer, machine, objective, {"tiles": DIVISORS})
        if key in self._store:
            return self._store[key]
        if self._stopped():
            raise StoppedError
        answer = self._on_smaller(layer, machine, objective)
        if answer is None:
            answer = self._search(layer, machine, objective)
        self._store[key] = answer
        return answer

    def _on_smaller(self, layer: Layer, machine: Architecture, objective: str) -> Answer:
        """Return the costs of an optimum of a larger machine that still fits.

        It stays the optimum where energies, bandwidths and leakage are the same.
        """
        own = sizes(machine)
        for larger, mapping in self._optima.get(_family(layer, machine, objective), ()):
            if all(a >= b for a, b in zip(larger, own, strict=True)):
                try:
                    found = evaluate(layer, machine, mapping)
                except MappingError:
                    continue
                return found.energy_pj, found.cycles
        return None

    def _search(self, layer: Layer, machine: Architecture, objective: str) -> Answer:
        self.searches += 1
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
        if not any(c.min_utilization is not None for c in machine.constraints):
            known = self._optima.setdefault(_family(layer, machine, objective), [])
            known.append((sizes(machine), best.mapping))
        return best.evaluation.energy_pj, best.evaluation.cycles


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


def _family(layer: Layer, machine: Architecture, objective: str) -> str:
    """Return a key of all machines that differ in sizes alone."""
    whole = replace(machine, levels=tuple(_unsized(level) for level in machine.levels))
    return solution_key(layer, whole, objective, {"leakage": leakage_power(machine)})


def _unsized(level: Level) -> Level:
    """Return a level without its sizes, and without leakage, which counts as a whole."""
    if isinstance(level, Array):
        return replace(level, axes=dict.fromkeys(level.axes, 0))
    if not isinstance(level, Memory):
        return replace(level, leakage=0.0)
    return replace(
        level,
        capacity_bits=None if level.capacity_bits is None else 0,
        tensor_bits=None if level.tensor_bits is None else dict.fromkeys(level.tensor_bits, 0),
        leakage=0.0,
        banks=None,
    )

"""A black-box optimiser: CMA-ES by the `cma` package, restarted with a growing population."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from importlib.util import find_spec
from itertools import cycle
from math import inf, log, log1p
from warnings import catch_warnings, simplefilter

import numpy as np

from tilewright.errors import InputError
from tilewright.mapper.objective.objective import parse_objective
from tilewright.mapping.nodes import Mapping
from tilewright.mapping.structure import resolve
from tilewright.model.energy import element_bits
from tilewright.model.evaluate import evaluate
from tilewright.strategies.candidates.canonical import without_idle_loops
from tilewright.strategies.searches.encoding import Encoding
from tilewright.strategies.steps import Problem, Step

DOUBLINGS = 3  # of the population, from one restart to the next
INVALID = 1e4  # above the logarithm of every value


@dataclass(frozen=True)
class BlackBox:
    """The covariance matrix adaptation evolution strategy over an `Encoding` of mappings.

    It minimises the logarithm of the objective; mappings that do not fit rank behind all others,
    by how far they exceed the capacities.

    Attributes
    ----------
    spread : float
        Standard deviation of the first population, around zero, where every dimension is shared
        out evenly.
    """

    spread: float = 1.0

    def check(self, problem: Problem) -> None:
        """Accept every problem when the package is installed."""
        if not self.spread > 0:
            raise InputError(
                f"spread must be a number greater than 0, found {self.spread:g}", key="strategy"
            )
        if find_spec("cma") is None:
            raise InputError(
                "blackbox needs the package 'cma', which is not installed: "
                "pip install 'tilewright[compare]'",
                key="strategy",
            )

    def steps(self, problem: Problem, seed: int) -> Iterator[Step]:
        """Yield a step for each generation, without end."""
        self.check(problem)
        with catch_warnings():
            # it says that it cannot plot
            simplefilter("ignore")
            import cma

        encoding = Encoding(problem.layer, problem.architecture)
        rng = np.random.default_rng(seed)
        # the usual population for so many numbers, then twice, four and eight times as many
        usual = 4 + int(3 * log(encoding.length + 1))
        for population in cycle(usual << doubled for doubled in range(DOUBLINGS + 1)):
            options = {
                # the package would seed the generator that the whole process shares
                "seed": np.nan,
                "randn": lambda *shape: rng.standard_normal(shape),
                "verbose": -9,
                "popsize": population,
            }
            # one dimension more: it refuses a single one
            start = rng.normal(0.0, self.spread, encoding.length + 1)
            optimiser = cma.CMAEvolutionStrategy(start, self.spread, options)
            while not optimiser.stop():
                vectors = optimiser.ask()
                tried = [attempt(problem, encoding.decode(v[:-1])) for v in vectors]
                optimiser.tell(vectors, [rank for rank, _, _ in tried])
                _, best, mapping = min(tried, key=lambda one: one[0])
                valid = sum(number < inf for _, number, _ in tried)
                yield Step(len(tried), valid, best, mapping)


def attempt(problem: Problem, mapping: Mapping) -> tuple[float, float, Mapping | None]:
    """Return what ranks a mapping, its objective (infinite if invalid), and its shortest form."""
    shortest = without_idle_loops(mapping, problem.layer, problem.architecture)
    over = excess(problem, shortest)
    if over:
        return INVALID + log1p(over), inf, None
    cost = evaluate(problem.layer, problem.architecture, shortest, check=False)
    number = parse_objective(problem.objective).value(cost.energy_pj, cost.cycles)
    # free mappings exist on machines without energies
    return log(max(number, 1e-300)), number, shortest


def excess(problem: Problem, mapping: Mapping) -> float:
    """Return by how much the tiles exceed the memories, in capacities; 0 when they fit."""
    structure = resolve(mapping, problem.layer, problem.architecture)
    over = 0.0
    for memory in problem.architecture.memories:
        bits = {
            t.role: structure.tile_words(memory.name, t)
            * element_bits(memory, t)
            * memory.buffering
            for t in problem.layer.tensors
        }
        parts = [(sum(bits.values()), memory.capacity_bits)]
        if memory.tensor_bits is not None:
            parts += [(bits.get(role, 0), size) for role, size in memory.tensor_bits.items()]
        over += sum(max(0.0, used / size - 1.0) for used, size in parts if size)
    return over

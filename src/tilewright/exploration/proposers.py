"""Strategies that propose designs without proof."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from importlib.util import find_spec
from random import Random
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol
from warnings import catch_warnings, simplefilter

from tilewright.errors import InputError, nearest
from tilewright.exploration.designs.expression import Quantity
from tilewright.exploration.designs.space import Indices, Parameter, Space

if TYPE_CHECKING:
    from optuna.distributions import BaseDistribution
    from optuna.samplers import BaseSampler
    from optuna.trial import FrozenTrial, Trial

STRATEGIES = ("random", "nsga2", "tpe")
# Budgets are hundreds of designs: with Optuna's 50 there would be hardly any generations.
POPULATION = 20
EXCESS = "excess"


class Outcome(NamedTuple):
    """What a strategy is told of a design.

    Attributes
    ----------
    values : tuple of float
        On the axes; infinite where the design has none.
    excess : float
        How far it is beyond the limits, as a share of them; 0 for a valid design.
    """

    values: tuple[float, ...]
    excess: float


class Proposer(Protocol):
    """A strategy at work."""

    def ask(self) -> Indices:
        """Return the next design."""

    def tell(self, outcome: Outcome) -> None:
        """Learn what became of the design that was asked for last."""


def proposer_of(strategy: str, space: Space, axes: Sequence[str], seed: int) -> Proposer:
    """Return a strategy by its name; see `check_strategy`."""
    if strategy == "random":
        return RandomOrder(space, seed)
    return Sampled(strategy, space, len(axes), seed)


def check_strategy(strategy: str) -> None:
    """Refuse a strategy that is not known, or whose package is not installed."""
    if strategy not in STRATEGIES:
        raise InputError(
            f"no strategy '{strategy}'; accepted: {', '.join(STRATEGIES)}"
            f"{nearest(strategy, STRATEGIES)}",
            key="strategy",
        )
    if strategy != "random" and find_spec("optuna") is None:
        raise InputError(
            f"{strategy} needs the package 'optuna', which is not installed: "
            "pip install 'tilewright[explore]'",
            key="strategy",
        )


class RandomOrder:
    """Every design once, in random order.

    Parameters
    ----------
    space : Space
    seed : int
    """

    def __init__(self, space: Space, seed: int) -> None:
        self._space = space
        self._order = shuffled(space.designs, Random(seed))

    def ask(self) -> Indices:
        """Return the next design."""
        return self._space.indices(next(self._order))

    def tell(self, outcome: Outcome) -> None:
        """Learn nothing."""


def shuffled(count: int, random: Random) -> Iterator[int]:
    """Yield the numbers below a count in random order, and keep only those that were moved."""
    moved: dict[int, int] = {}
    for i in range(count):
        j = random.randrange(i, count)
        yield moved.pop(j, j) if j == i else moved.get(j, j)
        if j != i:
            moved[j] = moved.pop(i, i)


class Sampled:
    """Designs by a sampler of Optuna.

    Parameters
    ----------
    strategy : str
        ``"nsga2"`` or ``"tpe"``.
    space : Space
    axes : int
        How many values there are to minimise.
    seed : int
    """

    def __init__(self, strategy: str, space: Space, axes: int, seed: int) -> None:
        import optuna
        from optuna.distributions import CategoricalDistribution, IntDistribution

        # Numbers are in their order for the sampler, texts in none.
        self._orders = [_order(each) for each in space.parameters]
        self._given: dict[str, BaseDistribution] = {
            each.name: IntDistribution(0, len(order) - 1)
            if isinstance(each.values[0], Quantity)
            else CategoricalDistribution(order)
            for each, order in zip(space.parameters, self._orders, strict=True)
        }
        told = optuna.logging.get_verbosity()
        optuna.logging.set_verbosity(optuna.logging.WARNING)
        try:
            self._study = optuna.create_study(
                directions=["minimize"] * axes, sampler=_sampler(strategy, seed)
            )
        finally:
            optuna.logging.set_verbosity(told)
        self._asked: Trial | None = None

    def ask(self) -> Indices:
        """Return the next design, which may be one of before."""
        self._asked = self._study.ask(fixed_distributions=self._given)
        return tuple(
            order[self._asked.params[name]]
            for name, order in zip(self._given, self._orders, strict=True)
        )

    def tell(self, outcome: Outcome) -> None:
        """Learn what became of the design that was asked for last."""
        assert self._asked is not None
        self._asked.set_user_attr(EXCESS, outcome.excess)
        self._study.tell(self._asked, outcome.values)


def _order(parameter: Parameter) -> list[int]:
    """Return the indices of a parameter's values, numbers and sizes from the least."""
    values: list[Any] = list(parameter.values)
    numbers = isinstance(values[0], Quantity)
    return sorted(range(len(values)), key=lambda i: values[i].value if numbers else i)


def _sampler(strategy: str, seed: int) -> BaseSampler:
    from optuna.samplers import NSGAIISampler, TPESampler

    short = Random(seed).getrandbits(32)  # Optuna takes no others
    with catch_warnings():
        simplefilter("ignore")  # of an interface that may change
        if strategy == "nsga2":
            return NSGAIISampler(population_size=POPULATION, seed=short, constraints_func=_excess)
        return TPESampler(seed=short, constraints_func=_excess)


def _excess(trial: FrozenTrial) -> list[float]:
    return [trial.user_attrs[EXCESS]]

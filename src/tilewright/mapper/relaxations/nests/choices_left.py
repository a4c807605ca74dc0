"""Spatial choices with which a regular mapping may still be better than a ceiling."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from tilewright.kernels.kernel import interruptible
from tilewright.mapper.objective.objective import Objective
from tilewright.mapper.problem.bypass_choices import KeepChoice
from tilewright.mapper.relaxations.nests.regular_bound import (
    Inners,
    TilePairs,
    choices_of,
    with_tiles,
)
from tilewright.mapper.relaxations.stays.least_cost import Least

MOST_PAIRS = 1 << 16  # of a bypass choice: more take too long
MOST_LEFT = 256  # spatial choices of a bypass choice: a bound that leaves more says too little


class ChoiceLeft(NamedTuple):
    """A spatial choice with a bypass choice.

    Attributes
    ----------
    value : float
        What mappings cost at least.
    keep : bypass choice
    instances : tuple of int
        Of each dimension: how many tiles of one instance all instances together have, rounded up.
    """

    value: float
    keep: KeepChoice
    instances: tuple[int, ...]


def choices_left(
    least: Least,
    bounds: Sequence[tuple[float, KeepChoice]],
    objective: Objective,
    ceiling: float,
    stop: Callable[[], bool],
) -> list[ChoiceLeft] | None:
    """Return all spatial choices that may cost less than a ceiling, or None if it takes too long.

    Of those that others become when dimensions change places, one is returned.

    Parameters
    ----------
    least, bounds, objective, ceiling, stop
        As for `regular_bound.tightened`.
    """
    choices = choices_of(least, objective, ceiling)
    if choices is None:
        return None
    found: list[ChoiceLeft] = []
    inners: Inners = {}
    for bound, keep in sorted(bounds):
        if bound >= ceiling:
            break
        best: dict[tuple[int, ...], float] | None = None
        for both in with_tiles(least, keep, inners):
            if best is not None and not best:
                break
            own = by_choice(TilePairs(*both, keep, choices, objective, ceiling, least, stop), stop)
            # what bounds with other memories leave, too; of choices that become each other when
            # dimensions change places, each has the lexicographically largest one
            if best is None:
                best = own
            elif own is not None:
                best = {of: max(best[of], value) for of, value in own.items() if of in best}
        if best is None:
            return None
        found += [ChoiceLeft(max(bound, value), keep, own) for own, value in best.items()]
    return found


@interruptible()
def by_choice(pairs: TilePairs, stop: Callable[[], bool]) -> dict[tuple[int, ...], float] | None:
    """Return what spatial choices below the ceiling cost at least, if they are few."""
    if not pairs.finished or len(pairs.choice) > MOST_PAIRS:
        return None
    found: dict[tuple[int, ...], float] = {}
    for some in pairs.batches():
        if stop() or len(found) > MOST_LEFT:
            return None
        _, reached, _ = pairs.together(some)
        for i in np.flatnonzero(reached < pairs.ceiling).tolist():
            own = tuple(pairs.choices[pairs.choice[some.start + i]].tolist())
            found[own] = min(found.get(own, np.inf), float(reached[i]))
    return found

"""What elements of an array read of a window at a time, whichever iterations they have."""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil, exp, floor, inf, log, prod
from typing import TYPE_CHECKING

import numpy as np

from tilewright.mapper.relaxations.joint.program import NodeLimits, Values
from tilewright.mapper.relaxations.joint.windows.expression import Expression
from tilewright.mapper.relaxations.stays.at_once import words_of_sets

if TYPE_CHECKING:
    from tilewright.mapper.relaxations.joint.extents import Extents

CLOSE = 1e-9
WHOLE = 1e-6  # of a number that may be whole but for rounding


class SetLimits:
    """The limit of what elements read of a window at a time, whichever iterations loops give them.

    Parameters
    ----------
    extents : Extents
    expression : Expression
    rate : int
        The variable of words that are sent for an iteration.
    shared : sequence of int
        Arrays whose elements share words.
    """

    def __init__(
        self, extents: Extents, expression: Expression, rate: int, shared: Sequence[int]
    ) -> None:
        self.extents, self.expression, self.rate = extents, expression, rate
        self.shared = shared
        apart = [k for k in extents.arrays if k not in shared]
        self.along = [extents.along(shared, (d,)) for d in expression.names]
        self.apart = [extents.along(apart, (d,)) for d in expression.names]
        self.known: dict[tuple[float, ...], float] = {}

    def settle(self, node: NodeLimits) -> None:
        """Raise the range of the rate for those of the elements at work."""
        node.low[self.rate] = max(node.low[self.rate], self.least(node.high, node.high))

    def least(self, high: Values, steps: Values) -> float:
        """Return the logarithm of the least rate.

        Parameters
        ----------
        high, steps : arrays of variables
            With the most elements at work, and the most steps.
        """
        e = self.expression
        # at some time, more may be at work than in the mean
        along = [prod(ceil(exp(high[v]) - CLOSE) for v in own) for own in self.along]
        apart = [prod(ceil(exp(high[v]) - CLOSE) for v in own) for own in self.apart]
        most = [self.most_steps(d, steps) * n for d, n in zip(e.names, apart, strict=True)]
        key = *along, *most, *apart
        if key not in self.known:
            m, n = (np.array([min(own, bound)]) for own, bound in zip(along, e.bounds, strict=True))
            sets = [np.array([float(number)]) for number in most]
            regular = [np.array([number == 1]) for number in apart]
            whole, other = e.bounds
            words = words_of_sets(tuple(e.terms), (whole, other), (m, n), sets, regular)
            self.known[key] = log(float(words[0]) / (whole * other)) - CLOSE
        return self.known[key]

    def steps(self, d: str) -> int | None:
        """Return the variable of the steps of a dimension, if there is one."""
        every = self.extents.along(self.extents.arrays, (d,))
        return self.extents.known_times.get((-1, d, tuple(sorted(every))))

    def most_steps(self, d: str, high: Values) -> float:
        """Return the steps that a dimension has at most, as far as that is decided.

        The elements do not say: a tile of all of them may be there once, and a small one after it.
        """
        own = self.steps(d)
        return inf if own is None else floor(exp(high[own]) + WHOLE)

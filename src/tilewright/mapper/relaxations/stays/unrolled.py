"""Instances along dimensions of arrays: how many there are, and at work in the mean."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from tilewright.architecture.machine import Architecture
from tilewright.kernels.types import Floats
from tilewright.workload.layer import Layer

CLOSE = 1e-9  # of a number that may be whole but for rounding


class Unrolled:
    """What arrays unroll, for a number of spatial choices.

    Parameters
    ----------
    layer, architecture
        What is mapped onto what.
    elements : array of (arrays, dimensions, choices)
        Instances along each dimension.
    working : array of (arrays, dimensions, choices)
        How many times the iterations of one element all along a dimension have at most.
    most : sequence of callable
        For each array the most elements along some dimensions together, or nothing.
    steps : (array of (dimensions, choices), array), optional
        Steps in time that each dimension takes, at least and at most.

    Attributes
    ----------
    fewest, most_steps : arrays of (dimensions, choices)
        Steps that each dimension takes at least, and at most.
    longest : array of (dimensions, choices), or None
        Iterations of each dimension that all elements together have in some step, at least.
    possible : array of choices
        Whether there are enough elements for these.
    at_a_time : array of (dimensions, choices)
        Iterations of each dimension that all elements together have in a step, in the mean at most.
    every : array of choices
        All elements, where steps are known.
    """

    def __init__(
        self,
        layer: Layer,
        architecture: Architecture,
        elements: Floats,
        working: Floats,
        most: Sequence[Callable[[frozenset[str]], Floats]] = (),
        steps: tuple[Floats, Floats] | None = None,
    ) -> None:
        self.bounds, self.arrays = layer.bounds, architecture.arrays
        self.outputs = [tensor.is_output for tensor in layer.tensors]
        self.elements, self.spread, self.most = elements, working, most
        self.number = elements.shape[-1]
        bounds = np.array(list(layer.bounds.values()), np.float64)[:, None]
        self.fewest = np.ones((len(bounds), self.number))
        self.most_steps = np.full((len(bounds), self.number), np.inf)
        self.longest: Floats | None = None
        self.possible = np.ones(self.number, np.bool_)
        if steps is not None:
            self.most_steps = steps[1]
            # the longest steps of all dimensions meet, and each element has an iteration
            self.longest = np.maximum(whole_at_least(bounds / steps[1]), 1.0)
            every = np.prod([own(frozenset(layer.bounds)) for own in most], axis=0)
            others = self.longest.prod(axis=0) / self.longest
            most_at_once = whole_at_most(every / others)
            self.possible = np.asarray((most_at_once >= self.longest).all(axis=0))
            fewest = whole_at_least(bounds / np.maximum(most_at_once, 1.0))
            self.fewest = np.maximum(fewest, steps[0])
            self.every = every
        self.at_a_time = bounds / self.fewest
        self.known: dict[object, Floats] = {}

    def between(self, dimensions: frozenset[str], first: int, last: int) -> Floats:
        """Return the instances along dimensions of the arrays from one position on to another."""
        return self.all_along(dimensions, range(first, last))

    def instances(self, t: int, dimensions: frozenset[str], arrays: tuple[int, int]) -> Floats:
        """Return the instances at work along dimensions of some arrays, those that share words."""
        return self.together(dimensions, [k for k in range(*arrays) if self.shares(t, k)])

    def sharing_windows(
        self, t: int, dimensions: frozenset[str], arrays: tuple[int, int]
    ) -> Floats:
        """Return all instances along dimensions of some arrays, those that share words.

        Which words of windows they share depends on where each is, not on how many there are in the
        mean.
        """
        return self.all_along(dimensions, [k for k in range(*arrays) if self.shares(t, k)])

    def others(self, t: int, dimension: str, arrays: tuple[int, int]) -> Floats:
        """Return the instances along a dimension that share no words among some arrays."""
        others = [
            k for k in range(len(self.arrays)) if k not in range(*arrays) or not self.shares(t, k)
        ]
        return np.asarray(self.elements[others, list(self.bounds).index(dimension)].prod(axis=0))

    def most_of(self, dimensions: Sequence[str]) -> Floats:
        """Return the steps that dimensions take at most."""
        return self.most_steps[[list(self.bounds).index(d) for d in dimensions]]

    def together(self, dimensions: frozenset[str], arrays: Sequence[int]) -> Floats:
        """Return the instances at work along dimensions of some arrays, in the mean at most."""
        key = "together", dimensions, tuple(arrays)
        if key not in self.known:
            self.known[key] = self.multiplied(dimensions, list(arrays), self.spread, self.at_a_time)
        return self.known[key]

    def all_along(self, dimensions: frozenset[str], arrays: Sequence[int]) -> Floats:
        """Return the instances along dimensions of some arrays."""
        if self.spread is self.elements:
            return self.together(dimensions, arrays)
        return self.multiplied(dimensions, list(arrays), self.elements)

    def multiplied(
        self,
        dimensions: frozenset[str],
        own: list[int],
        spread: Floats,
        most: Floats | None = None,
    ) -> Floats:
        """Return the product of instances along dimensions of some arrays."""
        result = np.ones(self.number)
        for i, (d, bound) in enumerate(self.bounds.items()):
            if d in dimensions and own:
                along = spread[own, i].prod(axis=0)
                # each has an iteration of its own; other numbers may stand for several dimensions
                limit = bound if most is None else most[i]
                result = result * (np.minimum(along, limit) if self.most else along)
        if self.longest is not None and most is not None and own:
            # the others have elements as well
            others = [i for i, d in enumerate(self.bounds) if d not in dimensions]
            result = np.minimum(result, self.every / self.longest[others].prod(axis=0))
        if self.most and own:
            result = np.minimum(result, np.prod([self.most[k](dimensions) for k in own], axis=0))
        return result

    def along(
        self,
        crossed: tuple[int, int],
        inside: int,
        dimensions: frozenset[str],
        tensor: int | None = None,
    ) -> Floats:
        """Return the instances along dimensions of the arrays crossed, and of those further in.

        Of the arrays crossed, only those count whose elements share words of a tensor, if it is
        given.
        """
        key = "along", crossed, inside, dimensions, tensor
        if key not in self.known:
            shared = [k for k in range(*crossed) if tensor is None or self.shares(tensor, k)]
            found = self.together(dimensions, shared)
            where = [i for i, d in enumerate(self.bounds) if d in dimensions]
            every = np.ones(self.number)
            for k in (*shared, *range(crossed[1], inside)):
                every = every * self.spread[k, where].prod(axis=0)
            if inside > crossed[1]:
                found = found * self.spread[crossed[1] : inside, where].prod(axis=(0, 1))
            self.known[key] = np.minimum(found, every)
        return self.known[key]

    def shares(self, t: int, k: int) -> bool:
        """Whether the elements of an array share words of a tensor."""
        array = self.arrays[k]
        return array.reduction if self.outputs[t] else array.multicast


def whole_at_least(values: Floats) -> Floats:
    """Return the least whole numbers that are no smaller, but for rounding."""
    return np.asarray(np.ceil(values * (1 - CLOSE)))


def whole_at_most(values: Floats) -> Floats:
    """Return the greatest whole numbers that are no larger, but for rounding."""
    return np.asarray(np.floor(values * (1 + CLOSE)))

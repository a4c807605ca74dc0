"""The spatial choices of an array or an axis with any factors, halved until they are single."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any, NamedTuple

import numpy as np

from tilewright.architecture.machine import Architecture
from tilewright.kernels.types import Floats, Ints
from tilewright.mapper.problem.widest_choices import Axis, axes_of, different, rounded_up
from tilewright.workload.layer import Layer

MOST_CHOICES = 1 << 14
MOST_PRODUCTS = 1 << 22  # of choices for one axis and another
MOST_EVERY = 1 << 16  # of them, for all choices to be looked at, not only the widest
MOST_ELEMENTS = 64  # of an axis for all choices to be looked at
SINGLE = 0.1  # weight of one dimension; dimensions irrelevant to a tensor have 1 together


class ArrayChoices(NamedTuple):
    """Spatial choices of an array, or of one of its axes.

    Of chunks along an axis, the last one may be short. So elements on several axes may have less
    iterations of a dimension than there are elements.

    Attributes
    ----------
    elements : array of (choices, dimensions)
        Elements along each dimension.
    alone, chunks : arrays of (choices, dimensions)
        Iterations of each dimension in the tile of all elements at least, and how many times as
        many as in the tile of one element.
    """

    elements: Ints
    alone: Floats
    chunks: Floats


class Halves:
    """The spatial choices of one array or one axis, and parts of them.

    The first part has all choices. Parts are halved where the elements along the dimensions
    irrelevant to some tensor differ most, for these share its words; at last along single ones.

    Parameters
    ----------
    layer : Layer
    choices : ArrayChoices
    array : int
        Position of the array.

    Attributes
    ----------
    dimensions : tuple of str
    choices : array of (choices, dimensions)
        Elements along each dimension.
    children : array of (parts, 2)
        Parts into which a part is divided; -1 for a single choice.
    ranges : array of parts
        How much the choices of a part differ, 0 for a single one.
    widest : array of (parts, dimensions)
        Most elements along each dimension of any choice of a part.
    alone, chunks : arrays of (parts, dimensions)
        As for `ArrayChoices`, the least of any choice of a part.
    working : array of (parts, dimensions)
        How many times the iterations of one element all have at most.
    choice : array of parts
        Of a part of a single choice, see `divide`, the part that has this choice alone.
    holds : bool
        Whether tiles have more than one iteration for some choices.
    """

    def __init__(self, layer: Layer, choices: ArrayChoices, array: int = 0) -> None:
        elements = choices.elements
        self.array = array
        self.dimensions = layer.dimensions
        self.choices = elements
        logs = np.log2(elements)
        shared = [[d not in t.dimensions for d in self.dimensions] for t in layer.tensors]
        features = np.column_stack([*(logs[:, own].sum(axis=1) for own in shared), SINGLE * logs])
        parts, depths = [np.arange(len(elements))], [0]
        children, ranges = [], []
        for k, part in enumerate(parts):
            if len(part) == 1:
                children.append((-1, -1))
                ranges.append(0.0)
                continue
            own = features[part]
            low, high = own.min(axis=0), own.max(axis=0)
            widest = int(np.argmax(high - low))
            above = own[:, widest] * 2 > low[widest] + high[widest]
            children.append((len(parts), len(parts) + 1))
            ranges.append(float((high - low)[widest]))
            parts += [part[~above], part[above]]
            depths += [depths[k] + 1] * 2
        self.children = np.array(children)
        self.ranges = np.array(ranges)
        depth, divided = np.array(depths), self.children[:, 0] >= 0
        self.levels = [
            np.flatnonzero(divided & (depth == level)) for level in reversed(range(depth.max() + 1))
        ]
        self.single = np.array([part[0] for part in parts])
        self.widest = self.of_parts(elements, np.maximum)
        self.alone = self.of_parts(choices.alone, np.minimum)
        self.chunks = self.of_parts(choices.chunks, np.minimum)
        self.working = self.widest.astype(np.float64)
        self.choice = np.arange(len(parts))
        self.holds = bool((self.alone > 1).any())
        self.known: dict[frozenset[str], Floats] = {}
        self.known_members: dict[int, Ints] = {}
        self.parts = len(parts)  # before single choices are divided
        self.divided: dict[tuple[int, int], tuple[int, int]] = {}  # by part and dimension

    def divide(self, part: int, d: int) -> tuple[int, int]:
        """Return two parts of a single choice, by how full its elements are in the mean.

        The tile above E elements has between E - 1 and E times the iterations of a dimension that
        the tile of one element has, since the last one may have less. The more there are, the more
        the tile takes, and the more elements share words.
        """
        if (part, d) in self.divided:
            return self.divided[part, d]
        middle = (self.chunks[part, d] + self.working[part, d]) / 2
        new = np.array([part, part])
        begin = len(self.children)
        self.children = np.concatenate((self.children, np.full((2, 2), -1)))
        self.ranges = np.append(self.ranges, [0.0, 0.0])
        self.choice = np.append(self.choice, self.choice[new])
        self.alone = np.concatenate((self.alone, self.alone[new]))
        self.widest = np.concatenate((self.widest, self.widest[new]))
        self.chunks = np.concatenate((self.chunks, self.chunks[new]))
        self.working = np.concatenate((self.working, self.working[new]))
        self.working[begin, d] = self.chunks[begin + 1, d] = middle
        self.divided[part, d] = begin, begin + 1
        return begin, begin + 1

    def spans(self) -> tuple[Ints, Ints]:
        """Return where the choices of each part begin and end, in an order in which no parts mix.

        Parts of single choices that were divided have those of the choice.
        """
        number = np.ones(self.parts, np.int64)
        for level in self.levels:
            first, second = self.children[level].T
            number[level] = number[first] + number[second]
        begin = np.zeros(self.parts, np.int64)
        for level in reversed(self.levels):
            first, second = self.children[level].T
            begin[first] = begin[level]
            begin[second] = begin[level] + number[first]
        return begin[self.choice], (begin + number)[self.choice]

    def members(self, part: int) -> Ints:
        """Return the positions of the choices of a part."""
        if part not in self.known_members:
            first, second = self.children[part].tolist()
            own = np.array([self.single[part]])
            if first >= 0:
                own = np.concatenate((self.members(first), self.members(second)))
            self.known_members[part] = own
        return self.known_members[part]

    def uneven(self, part: int) -> list[int]:
        """Return along which dimensions elements of a single choice may be more or less full."""
        differ = self.working[part] > self.chunks[part]
        return [int(d) for d in np.flatnonzero(differ & (self.alone[part] > 1))]

    def of_parts(self, own: Any, combined: np.ufunc) -> Any:
        """Return what is known of choices for each part, from the smallest parts on."""
        found = own[self.single]
        for level in self.levels:
            first, second = self.children[level].T
            found[level] = combined(found[first], found[second])
        return found

    def most(self, dimensions: frozenset[str]) -> Floats:
        """Return the most elements along some dimensions together of any choice of each part."""
        if dimensions not in self.known:
            own = [i for i, d in enumerate(self.dimensions) if d in dimensions]
            elements = self.choices[:, own].prod(axis=1).astype(np.float64)
            self.known[dimensions] = self.of_parts(elements, np.maximum)
        return self.known[dimensions][self.choice]


def halves_of(layer: Layer, architecture: Architecture, every: bool = False) -> list[Halves]:
    """Return the spatial choices of every array, or of its axes where there are too many.

    Parameters
    ----------
    layer, architecture
        What is mapped onto what.
    every : bool
        Whether all are wanted, not only one as wide as each.
    """
    bounds = np.array(list(layer.bounds.values()), np.int64)
    found = []
    for k, axes in enumerate(axes_of(layer, architecture)):
        together = of_array(bounds, axes, every)
        if together is not None:
            found.append(Halves(layer, together, k))
            continue
        # axes that are alike share theirs
        alike = {
            axis: Halves(layer, of_axis(bounds, axis, every), k) for axis in dict.fromkeys(axes)
        }
        found += [alike[axis] for axis in axes]
    return found


def of_array(bounds: Ints, axes: Sequence[Axis], every: bool) -> ArrayChoices | None:
    """Return the spatial choices of an array, or None if there are too many."""
    if every:
        if any(axis.size > MOST_ELEMENTS for axis in axes):
            return None
        ways = [np.array(axis.choices(), np.int64) for axis in axes]
        few = prod(len(own) for own in ways) <= MOST_EVERY
        return every_choice(bounds, ways) if few else None
    ways = [np.array(axis.widest(), np.int64) for axis in axes]
    if prod(len(own) for own in ways) > MOST_PRODUCTS:
        return None
    widest = np.ones((1, len(bounds)), np.int64)
    for own in ways:
        widest = different(np.minimum(products(widest, own), bounds))
    if len(widest) > MOST_CHOICES:
        return None
    return ArrayChoices(widest, np.ones(widest.shape), np.ones(widest.shape))


def every_choice(bounds: Ints, ways: Sequence[Ints]) -> ArrayChoices:
    """Return all spatial choices of an array, from those of its axes."""
    elements = alone = times = np.ones((1, len(bounds)), np.int64)
    more = np.zeros((1, len(bounds)), np.int64)
    for own in ways:
        fewer, divided = np.maximum(own - 1, 1), (own > 1).astype(np.int64)
        # whichever is outside of the other
        outside = np.maximum(products(times, own), np.repeat(alone, len(own), axis=0))
        inside = np.maximum(products(alone, fewer), np.tile(own, (len(alone), 1)))
        alone = np.minimum(outside, inside)
        elements = np.minimum(products(elements, own), bounds)
        # n chunks of x, the last of which may be short, have (n - 1) x + 1 iterations at least
        within = np.repeat(more, len(own), axis=0) + products(times, divided)
        more = np.minimum(products(more, fewer) + np.tile(divided, (len(more), 1)), within)
        times = products(times, fewer)
    chunks = np.minimum(least_share(bounds, times, more), elements)
    rows, which = np.unique(elements, axis=0, return_inverse=True)
    least = [np.full(rows.shape, np.inf) for _ in range(2)]
    for own, to in zip((alone, chunks), least, strict=True):
        np.minimum.at(to, which.reshape(-1), own)
    return ArrayChoices(rows, *least)


def of_axis(bounds: Ints, axis: Axis, every: bool) -> ArrayChoices:
    """Return the spatial choices of an axis.

    Where all are too many, there is one at least as wide as each, or their numbers are rounded up.
    """
    if every and axis.size <= MOST_ELEMENTS:
        choices = np.array(axis.choices(), np.int64)
        if len(choices) <= MOST_CHOICES:
            fewer, divided = np.maximum(choices - 1, 1), (choices > 1).astype(np.int64)
            chunks = np.minimum(least_share(bounds, fewer, divided), choices)
            return ArrayChoices(choices, choices.astype(np.float64), chunks)
    choices = np.array(axis.widest(), np.int64)
    for step in (1, 2, 4):
        if len(choices) > MOST_CHOICES:
            choices = different(np.minimum(rounded_up(choices, step), bounds))
    return ArrayChoices(choices, np.ones(choices.shape), np.ones(choices.shape))


def least_share(bounds: Ints, times: Ints, more: Ints) -> Floats:
    """Return how many times x the least number of  times x + more  is that is within bounds."""
    longest = np.maximum((bounds - more) // times, 1)
    return np.asarray(times + more / longest)


def products(some: Ints, others: Ints) -> Ints:
    """Return the product of each row with each of others."""
    return np.asarray(np.repeat(some, len(others), axis=0) * np.tile(others, (len(some), 1)))

"""The ways to unroll dimensions along one axis with any factors, halved until they are single."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tilewright.architecture.machine import Architecture
from tilewright.kernels.types import Floats, Ints
from tilewright.mapper.problem.widest_choices import (
    axis_factors,
    different,
    every_axis_factors,
    rounded_up,
)
from tilewright.mapping.relevance import in_letters
from tilewright.workload.layer import Layer

MOST_CHOICES = 1 << 14
MOST_ELEMENTS = 64  # of an axis for all choices to be looked at
SINGLE = 0.1  # weight of one dimension; dimensions irrelevant to a tensor have 1 together


class Halves:
    """The spatial choices of one axis, and parts of them.

    The first part has all choices. Parts are halved where the elements along the dimensions
    irrelevant to some tensor differ most, for these share its words; at last along single ones.

    Parameters
    ----------
    layer : Layer
    choices : array of (choices, dimensions)
        Elements along each dimension.
    every : bool
        Whether all choices are there, not only one as wide as each.
    array : int
        Position of the array.

    Attributes
    ----------
    dimensions : tuple of str
    choices : array of (choices, dimensions)
    parts : list of arrays
        Positions of the choices of each part.
    children : array of (parts, 2)
        Parts into which a part is divided; -1 for a single choice.
    ranges : array of parts
        How much the choices of a part differ, 0 for a single one.
    widest, fewest : arrays of (parts, dimensions)
        Most and fewest elements along each dimension of any choice of a part.
    """

    def __init__(self, layer: Layer, choices: Ints, every: bool, array: int = 0) -> None:
        self.array = array
        self.dimensions = layer.dimensions
        self.choices = choices
        logs = np.log2(choices)
        shared = [[d not in t.dimensions for d in self.dimensions] for t in layer.tensors]
        features = np.column_stack([*(logs[:, own].sum(axis=1) for own in shared), SINGLE * logs])
        self.parts = [np.arange(len(choices))]
        children, ranges = [], []
        for part in self.parts:
            if len(part) == 1:
                children.append((-1, -1))
                ranges.append(0.0)
                continue
            own = features[part]
            low, high = own.min(axis=0), own.max(axis=0)
            widest = int(np.argmax(high - low))
            above = own[:, widest] * 2 > low[widest] + high[widest]
            children.append((len(self.parts), len(self.parts) + 1))
            ranges.append(float((high - low)[widest]))
            self.parts += [part[~above], part[above]]
        self.children = np.array(children)
        self.ranges = np.array(ranges)
        self.widest = np.array([choices[part].max(axis=0) for part in self.parts])
        self.fewest = np.ones_like(self.widest)
        if every:
            self.fewest = np.array([choices[part].min(axis=0) for part in self.parts])
        self.known: dict[frozenset[str], Floats] = {}

    def most(self, dimensions: frozenset[str]) -> Floats:
        """Return the most elements along some dimensions together of any choice of each part."""
        if dimensions not in self.known:
            own = [i for i, d in enumerate(self.dimensions) if d in dimensions]
            elements = self.choices[:, own].prod(axis=1).astype(np.float64)
            self.known[dimensions] = np.array([elements[part].max() for part in self.parts])
        return self.known[dimensions]


def halves_of(layer: Layer, architecture: Architecture) -> list[Halves]:
    """Return the spatial choices of every axis of every array."""
    machine = in_letters(architecture, layer)
    bounds = np.array(list(layer.bounds.values()), np.int64)
    found = []
    for k, array in enumerate(machine.arrays):
        alike: dict[tuple[int, frozenset[str] | None], Halves] = {}
        for axis, size in array.axes.items():
            allowed = machine.allowed_dimensions(array.name, axis)
            key = size, None if allowed is None else frozenset(allowed)
            if key not in alike:
                free = [
                    i
                    for i, (d, bound) in enumerate(layer.bounds.items())
                    if bound > 1 and (allowed is None or d in allowed)
                ]
                alike[key] = Halves(layer, *choices_of(bounds, free, size), k)
            found.append(alike[key])
    return found


def choices_of(bounds: Ints, free: Sequence[int], size: int) -> tuple[Ints, bool]:
    """Return the spatial choices of an axis, and whether all are there.

    Where they are too many, there is one at least as wide as each, or their numbers are rounded up.
    """
    if size <= MOST_ELEMENTS:
        choices = np.array(every_axis_factors(bounds, free, size), np.int64)
        if len(choices) <= MOST_CHOICES:
            return choices, True
    choices = np.array(axis_factors(bounds, free, size), np.int64)
    for step in (1, 2, 4):
        if len(choices) > MOST_CHOICES:
            choices = different(np.minimum(rounded_up(choices, step), bounds))
    return choices, False

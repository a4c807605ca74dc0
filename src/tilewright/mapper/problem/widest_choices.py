"""Spatial choices with any factors that no other one exceeds along all dimensions."""

from __future__ import annotations

from math import prod
from typing import NamedTuple

import numpy as np

from tilewright.architecture.machine import Architecture
from tilewright.kernels.types import Ints
from tilewright.mapping.relevance import in_letters
from tilewright.workload.layer import Layer

MOST_CHOICES = 1 << 15
MOST_ROWS = 1 << 17  # with more, tables of them take gigabytes


class Axis(NamedTuple):
    """What may be unrolled along an axis of an array.

    Attributes
    ----------
    size : int
        Elements along the axis.
    least, most : tuples of int
        Elements along each dimension of the layer.
    dims : int
        How many dimensions may have several elements.
    """

    size: int
    least: tuple[int, ...]
    most: tuple[int, ...]
    dims: int

    def choices(self) -> list[tuple[int, ...]]:
        """Return all ways to unroll dimensions; where none is allowed, those without `least`."""
        choices = [(1,) * len(self.most)]
        for i, most in enumerate(self.most):
            choices += [
                (*choice[:i], factor, *choice[i + 1 :])
                for choice in choices
                if most > 1 and unrolled(choice) < self.dims
                for factor in range(2, min(most, self.size // prod(choice)) + 1)
            ]
        enough = [own for own in choices if all(map(int.__ge__, own, self.least))]
        return enough or choices

    def widest(self) -> list[tuple[int, ...]]:
        """Return the choices that leave no room for another element."""

        def fills(choice: tuple[int, ...]) -> bool:
            used, more = prod(choice), unrolled(choice) < self.dims
            return not any(
                own < most and (own > 1 or more) and used // own * (own + 1) <= self.size
                for own, most in zip(choice, self.most, strict=True)
            )

        return [choice for choice in self.choices() if fills(choice)]


def unrolled(choice: tuple[int, ...]) -> int:
    """Return the number of dimensions with several elements."""
    return sum(factor > 1 for factor in choice)


def axes_of(layer: Layer, architecture: Architecture) -> list[list[Axis]]:
    """Return the axes of every array, as far as constraints of one axis limit its elements."""
    machine = in_letters(architecture, layer)
    return [
        [axis_of(layer, machine, array.name, axis, size) for axis, size in array.axes.items()]
        for array in machine.arrays
    ]


def axis_of(layer: Layer, machine: Architecture, array: str, axis: str, size: int) -> Axis:
    """Return an axis of a machine whose constraints name dimensions, see `in_letters`."""
    allowed = machine.allowed_dimensions(array, axis)
    most = {d: n if allowed is None or d in allowed else 1 for d, n in layer.bounds.items()}
    least = dict.fromkeys(most, 1)
    dims = len(most)
    for statement in machine.statements:
        if statement.at != array or statement.axis not in (None, axis):
            continue
        # a whole array has no more than that on each axis, but what it has to unroll may be on any
        if statement.max_dims is not None:
            dims = min(dims, statement.max_dims)
        named = [(d, limits) for d, limits in statement.factor if d in most]
        for d, limits in named:
            most[d] = min(most[d], limits.most)
        if statement.axis is None:
            continue
        for d, limits in named:
            least[d] = max(least[d], min(limits.least, layer.bounds[d]))
        for d in statement.require & least.keys():
            least[d] = max(least[d], min(2, layer.bounds[d]))
    return Axis(size, tuple(least.values()), tuple(most.values()), dims)


def widest_choices(layer: Layer, architecture: Architecture) -> Ints:
    """Return spatial choices with any factors, one at least as wide as each possible one.

    Returns
    -------
    array of (choices, arrays, dimensions)
        Instances along each dimension. What is wider never costs more here.
    """
    bounds = np.array(list(layer.bounds.values()), np.int64)
    arrays = axes_of(layer, architecture)
    choices = np.ones((1, len(arrays), len(bounds)), np.int64)
    for k, axes in enumerate(arrays):
        for axis in axes:
            factors = np.array(axis.widest(), np.int64)
            if len(choices) * len(factors) > MOST_CHOICES:
                choices, factors = rounded_up(choices, 1), rounded_up(factors, 1)
            for step in (2, 4):
                if len(choices) * len(factors) > MOST_ROWS:
                    choices, factors = rounded_up(choices, step), rounded_up(factors, step)
            if len(choices) * len(factors) > MOST_ROWS:
                # one that is as wide along each dimension as any
                choices = choices.max(axis=0, keepdims=True)
            wider = np.repeat(choices, len(factors), axis=0)
            wider[:, k] = np.minimum(wider[:, k] * np.tile(factors, (len(choices), 1)), bounds)
            choices = different(wider.reshape(len(wider), -1)).reshape(-1, *wider.shape[1:])
    return choices


def different(rows: Ints) -> Ints:
    """Return the rows of positive numbers that differ, in order."""
    radix = rows.max(axis=0) + 1
    weights = np.append(np.cumprod(radix[:0:-1].astype(np.float64))[::-1], 1.0)
    if weights[0] * radix[0] >= 2.0**62:
        return np.asarray(np.unique(rows, axis=0))
    # one number for a row is sorted in a fraction of the time
    return rows[np.unique(rows @ weights.astype(np.int64), return_index=True)[1]]


def rounded_up(choices: Ints, step: int) -> Ints:
    """Return fewer choices, with numbers of instances that are powers of 2**step."""
    powers = 1 << (step * np.ceil(np.log2(choices) / step)).astype(np.int64)
    return different(powers.reshape(len(powers), -1)).reshape(-1, *powers.shape[1:])

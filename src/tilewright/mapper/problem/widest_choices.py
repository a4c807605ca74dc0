"""Spatial choices with any factors that no other one exceeds along all dimensions."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

import numpy as np

from tilewright.architecture.machine import Architecture
from tilewright.kernels.types import Ints
from tilewright.mapping.relevance import in_letters
from tilewright.workload.layer import Layer

MOST_CHOICES = 1 << 15
MOST_ROWS = 1 << 17  # with more, tables of them take gigabytes


def widest_choices(layer: Layer, architecture: Architecture) -> Ints:
    """Return spatial choices with any factors, one at least as wide as each possible one.

    Returns
    -------
    array of (choices, arrays, dimensions)
        Instances along each dimension. What is wider never costs more here.
    """
    bounds = np.array(list(layer.bounds.values()), np.int64)
    machine = in_letters(architecture, layer)
    arrays = machine.arrays
    choices = np.ones((1, len(arrays), len(bounds)), np.int64)
    for k, array in enumerate(arrays):
        for axis, size in array.axes.items():
            allowed = machine.allowed_dimensions(array.name, axis)
            free = [
                i
                for i, (d, bound) in enumerate(layer.bounds.items())
                if bound > 1 and (allowed is None or d in allowed)
            ]
            factors = np.array(axis_factors(bounds, free, size), np.int64)
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


def axis_factors(bounds: Ints, free: Sequence[int], size: int) -> list[tuple[int, ...]]:
    """Return the ways to unroll dimensions along one axis that leave no room for another unit."""

    def fills(choice: tuple[int, ...]) -> bool:
        used = prod(choice)
        return not any(
            choice[i] < bounds[i] and used // choice[i] * (choice[i] + 1) <= size for i in free
        )

    return [choice for choice in every_axis_factors(bounds, free, size) if fills(choice)]


def every_axis_factors(bounds: Ints, free: Sequence[int], size: int) -> list[tuple[int, ...]]:
    """Return all ways to unroll dimensions along one axis."""
    choices = [(1,) * len(bounds)]
    for i in free:
        choices += [
            (*choice[:i], factor, *choice[i + 1 :])
            for choice in choices
            for factor in range(2, min(int(bounds[i]), size // prod(choice)) + 1)
        ]
    return choices


def rounded_up(choices: Ints, step: int) -> Ints:
    """Return fewer choices, with numbers of instances that are powers of 2**step."""
    powers = 1 << (step * np.ceil(np.log2(choices) / step)).astype(np.int64)
    return different(powers.reshape(len(powers), -1)).reshape(-1, *powers.shape[1:])

"""What an importer knows of a tensor: how it is seen in the graph, and its shape."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

from tilewright.workload.view import (
    Broadcast,
    Pad,
    Reshape,
    Shape,
    Slice,
    Step,
    Transpose,
    View,
)

MAX_COUNT = 64
MAX_DEPTH = 8


@dataclass(frozen=True)
class Value:
    """A tensor of the model: a view of tensors of the graph.

    Attributes
    ----------
    view : View
        How the graph sees it.
    shape : tuple of int
        Its shape.
    weight : bool
        Whether it is known before the network runs.
    """

    view: View
    shape: Shape
    weight: bool = False

    def reshape(self, *shape: int) -> Value:
        """Return the same words under other axes."""
        if shape == self.shape:
            return self
        steps = self.view.steps
        if steps and isinstance(steps[-1], Reshape):
            inner = Value(View(self.view.parts, steps[:-1], self.view.axis), self.shape)
            return Value(inner.view.then(Reshape(shape)), shape, self.weight)
        return self._then(Reshape(shape))

    def transpose(self, *axes: int) -> Value:
        """Return the axes in another order."""
        return self if list(axes) == sorted(axes) else self._then(Transpose(axes))

    def slice(self, ranges: Sequence[tuple[int, int, int]]) -> Value:
        """Return some indices of each axis: first, end, distance."""
        whole = all(given == (0, size, 1) for given, size in zip(ranges, self.shape, strict=True))
        return self if whole else self._then(Slice(tuple(ranges)))

    def part(self, axis: int, first: int, end: int, step: int = 1) -> Value:
        """Return some indices of one axis."""
        ranges = [(0, size, 1) for size in self.shape]
        ranges[axis] = (first, end, step)
        return self.slice(ranges)

    def pad(self, amounts: Sequence[tuple[int, int]]) -> Value:
        """Return it with words that are no data around each axis."""
        if not any(n for pair in amounts for n in pair):
            return self
        return self._then(Pad(tuple(amounts)))

    def broadcast(self, *shape: int) -> Value:
        """Return it with axes of one word repeated, and new ones in front."""
        return self if shape == self.shape else self._then(Broadcast(shape))

    def window(self, axis: int, before: int, wanted: int) -> Value:
        """Return an axis that begins `before` words earlier and has `wanted` words."""
        size = self.shape[axis]
        amounts = [(0, 0)] * len(self.shape)
        amounts[axis] = (max(0, before), max(0, wanted - before - size))
        first = max(0, -before)
        return self.pad(amounts).part(axis, first, first + wanted)

    def _then(self, step: Step) -> Value:
        return Value(self.view.then(step), step.shape_of(self.shape), self.weight)

    @property
    def words(self) -> int:
        """Number of its words."""
        return prod(self.shape)


def is_simple(value: Value) -> bool:
    """Whether a view is short enough to be looked at: others are better tensors of their own."""
    count, depth = _extent(value.view)
    return count <= MAX_COUNT and depth <= MAX_DEPTH


def _extent(view: View) -> tuple[int, int]:
    """Return how many tensors and steps a view has, and how many joins stand in each other."""
    inner = [_extent(part) for part in view.parts if isinstance(part, View)]
    count = len(view.parts) + len(view.steps) + sum(n for n, _ in inner)
    return count, 1 + max((depth for _, depth in inner), default=0)


def joined(values: Sequence[Value], axis: int) -> Value:
    """Return values joined along an axis."""
    if len(values) == 1:
        return values[0]
    shape = list(values[0].shape)
    shape[axis] = sum(value.shape[axis] for value in values)
    parts: list[str | View] = []
    for value in values:
        # a join along the same axis is part of this one
        plain = not value.view.steps and (len(value.view.parts) == 1 or value.view.axis == axis)
        parts += value.view.parts if plain else [value.view]
    return Value(View(tuple(parts), (), axis), tuple(shape), all(v.weight for v in values))

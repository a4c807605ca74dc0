"""Index expressions through views: where the words of a producer and of a reader meet."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import prod

from tilewright.workload.layer import Layer, Tensor
from tilewright.workload.view import Broadcast, Pad, Reshape, Shape, Slice, Step, Take, Transpose


@dataclass(frozen=True)
class Axis:
    """An index: ``offset`` and coefficients times dimensions of more than one iteration."""

    terms: tuple[tuple[int, str], ...] = ()
    offset: int = 0

    def moved(self, offset: int, factor: int = 1) -> Axis:
        """Return ``offset + factor * self``."""
        terms = tuple((factor * c, d) for c, d in self.terms)
        return Axis(terms, offset + factor * self.offset)

    def last(self, bounds: Mapping[str, int]) -> int:
        """Return the greatest index."""
        return self.offset + sum(c * (bounds[d] - 1) for c, d in self.terms)

    def leading(
        self, bounds: Mapping[str, int], kept: Sequence[str]
    ) -> tuple[str, int, int] | None:
        """Return the dimension that leads, its coefficient and the span of the others.

        Where only one dimension is among those `kept` (the layer's output has it), that one leads:
        the others are a window. Otherwise the one with the largest coefficient does, if it is one.
        """
        if not self.terms:
            return None
        leads = [term for term in self.terms if term[1] in kept]
        if len(leads) != 1:
            largest = max(c for c, _ in self.terms)
            leads = [term for term in self.terms if term[0] == largest]
        if len(leads) != 1:
            return None
        (lead,) = leads
        rest = (c * (bounds[d] - 1) for c, d in self.terms if d != lead[1])
        return lead[1], lead[0], 1 + sum(rest)


Axes = tuple[Axis, ...]


def tensor_axes(tensor: Tensor, layer: Layer) -> Axes:
    """Return the index expressions of a tensor without dimensions of one iteration."""
    return tuple(
        Axis(tuple((t.coefficient, t.dimension) for t in terms if layer.bounds[t.dimension] > 1))
        for terms in tensor.expressions
    )


def met(
    made: Axes, shape: Shape, steps: Sequence[Step], read: Axes, producer: Layer, reader: Layer
) -> list[tuple[Axis, Axis]]:
    """Return pairs of equal indices, of the producer and of the reader; none if views hide them.

    The producer's indices are carried forward through the first of the steps, the reader's back
    through the others, to the first place at which both can be written.
    """
    shapes = [shape]
    for step in steps:
        shapes.append(step.shape_of(shapes[-1]))
    for split in range(len(steps) + 1):
        ahead: Axes | None = made
        for step, before in zip(steps[:split], shapes, strict=False):
            ahead = None if ahead is None else forward(step, before, ahead, producer)
        back: Axes | None = read
        for i in reversed(range(split, len(steps))):
            back = None if back is None else backward(steps[i], shapes[i], back, reader)
        if ahead is not None and back is not None:
            return list(zip(ahead, back, strict=True))
    return []


def forward(step: Step, shape: Shape, axes: Axes, layer: Layer) -> Axes | None:
    """Return the indices after a step, of words with these indices before; None if they hide."""
    if isinstance(step, Transpose):
        return tuple(axes[i] for i in step.axes)
    if isinstance(step, Pad):
        pairs = zip(axes, step.amounts, strict=True)
        return tuple(axis.moved(before) for axis, (before, _) in pairs)
    if isinstance(step, Slice):
        if any(distance != 1 for _, _, distance in step.ranges):
            return None
        pairs2 = zip(axes, step.ranges, strict=True)
        return tuple(axis.moved(-first) for axis, (first, _, _) in pairs2)
    if isinstance(step, Reshape):
        return regrouped(axes, shape, step.shape, layer)
    return None


def backward(step: Step, shape: Shape, axes: Axes, layer: Layer) -> Axes | None:
    """Return the indices before a step, of words with these indices after; None if they hide."""
    if isinstance(step, Transpose):
        return tuple(axes[step.axes.index(i)] for i in range(len(shape)))
    if isinstance(step, Pad):
        pairs = zip(axes, step.amounts, strict=True)
        return tuple(axis.moved(-before) for axis, (before, _) in pairs)
    if isinstance(step, Slice):
        pairs2 = zip(axes, step.ranges, strict=True)
        return tuple(axis.moved(first, distance) for axis, (first, _, distance) in pairs2)
    if isinstance(step, Take):
        return (Axis((), step.index), *axes)
    if isinstance(step, Broadcast):
        kept = axes[len(axes) - len(shape) :]
        return tuple(Axis() if n == 1 else axis for n, axis in zip(shape, kept, strict=True))
    return regrouped(axes, step.shape, shape, layer)


def regrouped(axes: Axes, shape: Shape, new: Shape, layer: Layer) -> Axes | None:
    """Return the indices in another shape of the same words, each a sum again, or None."""
    found: list[Axis] = []
    i = j = 0
    while i < len(shape) or j < len(new):
        ends = (i + 1, j + 1)
        while prod(shape[i : ends[0]]) != prod(new[j : ends[1]]):
            small = prod(shape[i : ends[0]]) < prod(new[j : ends[1]])
            ends = (ends[0] + small, ends[1] + (not small))
        group = axes[i : ends[0]]
        total = Axis()
        for size, axis in zip(shape[i : ends[0]], group, strict=True):
            wider = total.moved(axis.offset, size)
            total = Axis(wider.terms + axis.terms, wider.offset)
        digits = split(total, new[j : ends[1]], layer.bounds)
        if digits is None:
            return None
        found += digits
        i, j = ends
    return tuple(found)


def split(axis: Axis, sizes: Sequence[int], bounds: Mapping[str, int]) -> list[Axis] | None:
    """Return an index as one index per size, the last one fastest, or None."""
    if len(sizes) == 1:
        return [axis]
    digits = []
    terms, offset = list(axis.terms), axis.offset
    for n in range(len(sizes)):
        stride = prod(sizes[n + 1 :])
        own = [term for term in terms if term[0] % stride == 0 and term[0] >= stride]
        terms = [term for term in terms if term not in own]
        digit = Axis(tuple((c // stride, d) for c, d in own), offset // stride)
        offset %= stride
        if digit.last(bounds) >= sizes[n]:
            return None
        digits.append(digit)
    return digits if not terms else None

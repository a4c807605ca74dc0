"""Views: how a layer sees a tensor of its network, without a copy and without arithmetic.

A view is a tensor, or several that are joined along an axis, and steps that are applied in order.
Each step is a function of the shape and, for those that want to see it done, of an array.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING, Any, ClassVar, TypeAlias

from tilewright.errors import InputError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array: TypeAlias = NDArray[Any]

Shape: TypeAlias = tuple[int, ...]

MAX_WORDS = 2**62


@dataclass(frozen=True)
class Reshape:
    """The same words in the same order, under other axes."""

    key: ClassVar[str] = "reshape"
    shape: Shape

    def shape_of(self, shape: Shape) -> Shape:
        """Return the shape of the result."""
        if prod(shape) != prod(self.shape):
            raise InputError(
                f"{text(shape)} has {prod(shape)} words, {text(self.shape)} {prod(self.shape)}"
            )
        return self.shape

    def apply(self, array: Array) -> Array:
        """Return the result for an array."""
        return array.reshape(self.shape)


@dataclass(frozen=True)
class Transpose:
    """The axes in another order: axis i of the result is axis ``axes[i]`` of what is given."""

    key: ClassVar[str] = "transpose"
    axes: tuple[int, ...]

    def shape_of(self, shape: Shape) -> Shape:
        """Return the shape of the result."""
        if sorted(self.axes) != list(range(len(shape))):
            raise InputError(f"{text(shape)} has {_count(len(shape))}, each named once from 0")
        return tuple(shape[axis] for axis in self.axes)

    def apply(self, array: Array) -> Array:
        """Return the result for an array."""
        return array.transpose(self.axes)


@dataclass(frozen=True)
class Slice:
    """Some indices of each axis: (first, end, distance), the end not included."""

    key: ClassVar[str] = "slice"
    ranges: tuple[tuple[int, int, int], ...]

    def shape_of(self, shape: Shape) -> Shape:
        """Return the shape of the result."""
        if len(self.ranges) != len(shape):
            raise InputError(f"{text(shape)} has {_count(len(shape))}, not {len(self.ranges)}")
        for (first, end, step), size in zip(self.ranges, shape, strict=True):
            if not (0 <= first < end <= size and step > 0):
                raise InputError(f"{first}:{end}:{step} is not within an axis of {size}")
        return tuple(len(range(*given)) for given in self.ranges)

    def apply(self, array: Array) -> Array:
        """Return the result for an array."""
        return array[tuple(slice(*given) for given in self.ranges)]


@dataclass(frozen=True)
class Pad:
    """Words that are no data (zeros) before and after each axis."""

    key: ClassVar[str] = "pad"
    amounts: tuple[tuple[int, int], ...]

    def shape_of(self, shape: Shape) -> Shape:
        """Return the shape of the result."""
        if len(self.amounts) != len(shape):
            raise InputError(f"{text(shape)} has {_count(len(shape))}, not {len(self.amounts)}")
        if min((n for pair in self.amounts for n in pair), default=0) < 0:
            raise InputError("amounts are not negative: 'slice' takes words away")
        return tuple(
            size + before + after for size, (before, after) in zip(shape, self.amounts, strict=True)
        )

    def apply(self, array: Array) -> Array:
        """Return the result for an array."""
        import numpy as np  # few programs apply views, and all that read networks import this

        return np.pad(array, self.amounts)


@dataclass(frozen=True)
class Broadcast:
    """Axes of one word repeated, and new axes in front, as in NumPy."""

    key: ClassVar[str] = "broadcast"
    shape: Shape

    def shape_of(self, shape: Shape) -> Shape:
        """Return the shape of the result."""
        new = len(self.shape) - len(shape)
        fits = zip(shape, self.shape[new:], strict=True) if new >= 0 else [(2, 1)]
        if any(size not in (1, wider) for size, wider in fits):
            raise InputError(f"{text(shape)} cannot become {text(self.shape)}")
        return self.shape

    def apply(self, array: Array) -> Array:
        """Return the result for an array."""
        import numpy as np

        return np.broadcast_to(array, self.shape)


@dataclass(frozen=True)
class Take:
    """One index of the first axis, which goes."""

    key: ClassVar[str] = "take"
    index: int

    def shape_of(self, shape: Shape) -> Shape:
        """Return the shape of the result."""
        if not shape or not 0 <= self.index < shape[0]:
            raise InputError(f"{text(shape)} has no index {self.index} of its first axis")
        return shape[1:]

    def apply(self, array: Array) -> Array:
        """Return the result for an array."""
        import numpy as np

        return np.asarray(array[self.index])


Step: TypeAlias = Reshape | Transpose | Slice | Pad | Broadcast | Take


@dataclass(frozen=True)
class View:
    """A tensor of the network, or several that are joined, as a layer sees it.

    Attributes
    ----------
    parts : tuple of str or View
        The name of one tensor; or two or more views that are joined along `axis`.
    steps : tuple of Step
        What is done with it, in order.
    axis : int
        Along which the parts are joined; of no meaning for one tensor.
    """

    parts: tuple[str | View, ...]
    steps: tuple[Step, ...] = ()
    axis: int = 0

    def then(self, *steps: Step) -> View:
        """Return this view with further steps."""
        return View(self.parts, (*self.steps, *steps), self.axis)

    def shape(self, shapes: Mapping[str, Shape]) -> Shape:
        """Return the shape of what is seen, given those of the tensors.

        Raises
        ------
        InputError
            When a step does not fit; its key is the number of that step, from 0.
        """
        try:
            parts = [
                shapes[part] if isinstance(part, str) else part.shape(shapes) for part in self.parts
            ]
        except InputError as failure:
            raise InputError(failure.message) from None
        shape = parts[0] if len(parts) == 1 else joined(parts, self.axis)
        for i, step in enumerate(self.steps):
            try:
                shape = step.shape_of(shape)
            except InputError as failure:
                raise InputError(f"{step.key}: {failure.message}", key=str(i)) from None
            if prod(shape) > MAX_WORDS:
                raise InputError(f"{step.key}: {text(shape)} has more than 2**62 words", key=str(i))
        return shape

    def apply(self, arrays: Mapping[str, Array]) -> Array:
        """Return what is seen of arrays: the definition of every view."""
        import numpy as np

        parts = [arrays[p] if isinstance(p, str) else p.apply(arrays) for p in self.parts]
        array = parts[0] if len(parts) == 1 else np.concatenate(parts, self.axis)
        for step in self.steps:
            array = step.apply(array)
        return array

    def tensors(self) -> Iterator[str]:
        """Yield the names of the tensors that it sees, in order."""
        for part in self.parts:
            if isinstance(part, str):
                yield part
            else:
                yield from part.tensors()

    def renamed(self, names: Mapping[str, str]) -> View:
        """Return the same view of tensors with other names."""
        parts = tuple(
            names.get(part, part) if isinstance(part, str) else part.renamed(names)
            for part in self.parts
        )
        return View(parts, self.steps, self.axis)


def joined(shapes: Sequence[Shape], axis: int) -> Shape:
    """Return the shape of tensors that are joined along an axis."""
    first = shapes[0]
    if not 0 <= axis < len(first):
        raise InputError(f"concat: {text(first)} has no axis {axis}")
    for other in shapes[1:]:
        if (*other[:axis], *other[axis + 1 :]) != (*first[:axis], *first[axis + 1 :]):
            raise InputError(
                f"concat: {text(first)} and {text(other)} differ in more than axis {axis}"
            )
    return (*first[:axis], sum(shape[axis] for shape in shapes), *first[axis + 1 :])


def text(shape: Sequence[int]) -> str:
    """Return a shape as it is written: ``[1, 64, 56, 56]``."""
    return f"[{', '.join(map(str, shape))}]"


def _count(axes: int) -> str:
    return f"{axes} ax{'i' if axes == 1 else 'e'}s"

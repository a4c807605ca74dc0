"""A data layout: the order of a tensor's axes in memory, whole or cut into tiles."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import permutations
from math import prod

from tilewright.document import describe
from tilewright.errors import InputError, nearest
from tilewright.workload.layer import Layer, Tensor, Term


@dataclass(frozen=True)
class Part:
    """One axis of a tensor, or what a tile of it leaves or holds.

    Attributes
    ----------
    axis : int
        Position of the axis in the tensor.
    tile : int or None
        The index within tiles of so many words; None for the axis itself, or the number of the
        tile where further parts of the axis follow.
    """

    axis: int
    tile: int | None = None


@dataclass(frozen=True)
class Layout:
    """The parts of a tensor's axes, outermost first: the last one is contiguous in memory."""

    parts: tuple[Part, ...]

    def text(self, tensor: Tensor) -> str:
        """Return the layout as it is written: ``C,P,Q,C:16``."""
        return ",".join(
            axis_name(tensor.expressions[part.axis]) + (f":{part.tile}" if part.tile else "")
            for part in self.parts
        )

    @property
    def innermost(self) -> int:
        """Position in the tensor of the axis that is contiguous."""
        return self.parts[-1].axis


@dataclass(frozen=True)
class Digit:
    """What a part adds to the address of a word.

    Attributes
    ----------
    axis : int
        Position of the axis in the tensor.
    span, step : int
        Of an index x the part takes ``(x % span) // step``.
    extent : int
        How many values that has.
    stride : int
        Words from one value to the next.
    """

    axis: int
    span: int
    step: int
    extent: int
    stride: int


def axis_name(terms: Sequence[Term]) -> str:
    """Return how an axis is written: its first dimension, ``P`` of ``2*P+R``."""
    return terms[0].dimension


def axis_extent(terms: Sequence[Term], extents: Mapping[str, int]) -> int:
    """Return the words from the first to the last that a box touches along an axis."""
    return 1 + sum(term.coefficient * (extents[term.dimension] - 1) for term in terms)


def digits(layout: Layout, tensor: Tensor, bounds: Mapping[str, int]) -> tuple[Digit, ...]:
    """Return how addresses follow from indices, outermost part first.

    Parameters
    ----------
    layout : Layout
        A layout of the tensor.
    tensor : Tensor
        What is laid out.
    bounds : mapping of str to int
        Bounds of the layer: an axis reaches from 0 to its largest index.
    """
    spans = [axis_extent(terms, bounds) for terms in tensor.expressions]
    steps: list[tuple[int, int, int]] = []
    for i, part in enumerate(layout.parts):
        inner = [p.tile for p in layout.parts[i + 1 :] if p.axis == part.axis]
        step = inner[0] if inner and inner[0] else 1
        span = part.tile or spans[part.axis]
        steps.append((span, step, -(-span // step)))
    return tuple(
        Digit(
            part.axis,
            # the number of the first tile is not bounded from above
            span if part.tile else extent * step,
            step,
            extent,
            prod(e for _, _, e in steps[i + 1 :]),
        )
        for i, (part, (span, step, extent)) in enumerate(zip(layout.parts, steps, strict=True))
    )


def address(where: Sequence[Digit], index: Sequence[int]) -> int:
    """Return the place of a word, in words from the first one of the tensor."""
    return sum((index[d.axis] % d.span) // d.step * d.stride for d in where)


def size(where: Sequence[Digit]) -> int:
    """Return the words that a tensor takes, the padding of its tiles included."""
    return prod(digit.extent for digit in where)


def row_major(tensor: Tensor) -> Layout:
    """Return the layout in the order in which the einsum writes the axes."""
    return Layout(tuple(Part(axis) for axis in range(len(tensor.expressions))))


def orders(tensor: Tensor, bounds: Mapping[str, int]) -> Iterator[Layout]:
    """Yield the orders of a tensor's axes; axes of one word stay outermost."""
    extents = [axis_extent(terms, bounds) for terms in tensor.expressions]
    single = [axis for axis, extent in enumerate(extents) if extent == 1]
    for order in permutations(axis for axis, extent in enumerate(extents) if extent > 1):
        yield Layout(tuple(Part(axis) for axis in (*single, *order)))


def parse_layout(text: str, tensor: Tensor, where: str = "layouts") -> Layout:
    """Read a layout: the axes from the outermost to the contiguous one, with commas in between.

    An axis goes by any of its dimensions, or as the einsum writes it: ``Q`` or ``2*Q+S``. Tiles
    have a size: ``C,P,Q,C:16`` keeps 16 channels together.

    Parameters
    ----------
    text : str
        What is read.
    tensor : Tensor
        Whose axes they are.
    where : str
        What errors are told about: the key under which the layouts of tensors stand.

    Raises
    ------
    InputError
        When an axis is missing, unknown or named twice, or a tile does not divide the one
        outside it.
    """
    key = f"{where}.{tensor.name}"
    if not isinstance(text, str):
        raise InputError(
            f"expected axes such as '{row_major(tensor).text(tensor)}', found {describe(text)}",
            key=key,
        )
    names: dict[str, int] = {}
    for axis, terms in enumerate(tensor.expressions):
        names["+".join(map(str, terms))] = axis
        names |= {term.dimension: axis for term in terms}
    shown = ", ".join(axis_name(terms) for terms in tensor.expressions)
    parts: list[Part] = []
    for word in filter(None, (word.strip() for word in text.split(","))):
        name, colon, number = word.partition(":")
        name = name.replace(" ", "")
        if name not in names:
            raise InputError(
                f"tensor '{tensor.name}' has no axis '{name}'; it has {shown}"
                f"{nearest(name, names)}",
                key=key,
            )
        tile = None
        if colon:
            if not number.strip().isdecimal() or not 1 <= int(number) < 2**40:
                raise InputError(
                    f"expected a number of words after '{name}:', found '{number}'", key=key
                )
            tile = int(number)
        outer = [part for part in parts if part.axis == names[name]]
        if not outer and tile is not None:
            raise InputError(
                f"'{word}' needs '{name}' outside it, which numbers its tiles", key=key
            )
        if outer and tile is None:
            raise InputError(f"axis '{name}' occurs twice; a tile has a size: '{name}:16'", key=key)
        if outer and tile and outer[-1].tile and (outer[-1].tile % tile or outer[-1].tile == tile):
            raise InputError(
                f"tiles of {tile} do not divide tiles of {outer[-1].tile} of axis '{name}'", key=key
            )
        parts.append(Part(names[name], tile))
    missing = set(range(len(tensor.expressions))) - {part.axis for part in parts}
    if missing:
        absent = ", ".join(axis_name(tensor.expressions[axis]) for axis in sorted(missing))
        raise InputError(
            f"'{text}' leaves out {absent}; tensor '{tensor.name}' has {shown}", key=key
        )
    return Layout(tuple(parts))


def own_layout(tensor: Tensor) -> Layout:
    """Return the layout that a workload gives its tensor, or else the order of the einsum."""
    return row_major(tensor) if tensor.layout is None else parse_layout(tensor.layout, tensor)


def given_layouts(given: object, layer: Layer) -> dict[str, Layout]:
    """Return the layout of each tensor; those that are not given are as the workload has them.

    Parameters
    ----------
    given : mapping of str to (str or Layout), or None
        By name or role of a tensor.
    layer : Layer
        Whose tensors they are.

    Raises
    ------
    InputError
        When a tensor is unknown or a layout cannot be read.
    """
    found = {tensor.name: own_layout(tensor) for tensor in layer.tensors}
    if given is None:
        return found
    if not isinstance(given, Mapping):
        raise InputError(
            "expected one layout per tensor, such as {'I': 'N,P,Q,C'}, or 'best', "
            f"found {describe(given)}",
            key="layouts",
        )
    by_name = {t.role: t for t in layer.tensors} | {t.name: t for t in layer.tensors}
    for name, layout in given.items():
        if name not in by_name:
            raise InputError(
                f"unknown tensor '{name}'; layer '{layer.name}' has "
                f"{', '.join(t.name for t in layer.tensors)}{nearest(str(name), by_name)}",
                key="layouts",
            )
        tensor = by_name[name]
        parsed = layout if isinstance(layout, Layout) else parse_layout(layout, tensor)
        if {part.axis for part in parsed.parts} != set(range(len(tensor.expressions))):
            raise InputError("the layout is that of another tensor", key=f"layouts.{name}")
        found[tensor.name] = parsed
    return found

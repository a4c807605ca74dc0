"""What the dimensions of directives are in a layer."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from tilewright.mapping.relevance import dimensions_of
from tilewright.workload.layer import Layer

# dimensions of convolutions that a layer need not have; they then have size 1
CONVOLUTION = ("N", "G", "K", "C", "R", "S", "Y", "X", "Y'", "X'")
AXES = {"Y": ("P", "R"), "X": ("Q", "S")}
# how MAESTRO's files write a matrix product as a convolution
AS_CONVOLUTION = {"K": "W&O", "C": "I&W", "Y": "I&O", "Y'": "I&O", "G": "all"}


@dataclass(frozen=True)
class Axis:
    """An axis of the input, on which a filter slides.

    Attributes
    ----------
    output : str
        Dimension of the layer that counts the positions of the filter (for a transposed
        convolution, in which input and output change places, the elements of the input).
    filter : str or None
        Dimension of the filter's elements; None where it has a single one.
    stride, dilation : int
        Input elements from one position, or one filter element, to the next.
    transposed : bool
        Whether the filter spreads over the output instead of gathering from the input.
    """

    output: str
    filter: str | None
    stride: int = 1
    dilation: int = 1
    transposed: bool = False

    def window(self, taps: int) -> int:
        """Return the input elements from the first to the last that so many taps see."""
        return (taps - 1) * self.dilation + 1


@dataclass(frozen=True)
class Vocabulary:
    """The dimensions that directives may name for a layer.

    Attributes
    ----------
    layer : Layer
        What is computed.
    plain : dict of str to str or None
        Dimensions that stand for one of the layer, or (None) for none: then of size 1.
    axes : dict of str to Axis
        ``Y`` and ``X``, as far as the layer has them.
    """

    layer: Layer
    plain: dict[str, str | None]
    axes: dict[str, Axis]

    @property
    def names(self) -> tuple[str, ...]:
        """All names that may be used."""
        return tuple(dict.fromkeys((*self.plain, *self.axes)))

    def size(self, name: str) -> int:
        """Return ``Sz(name)``: the iterations of a dimension, or the extent of the input."""
        if name in self.axes:
            axis = self.axes[name]
            outputs = self.layer.bounds[axis.output]
            if axis.transposed:
                return outputs
            taps = self.layer.bounds[axis.filter] if axis.filter else 1
            return (outputs - 1) * axis.stride + axis.window(taps)
        dimension = self.plain[name]
        return 1 if dimension is None else self.layer.bounds[dimension]


def vocabulary(layer: Layer, used: Iterable[str]) -> Vocabulary:
    """Return what directives that use some names may name for a layer.

    A matrix product (dimensions M, N and K) is written with its own names; where directives also
    use names that only convolutions have, it is the convolution of M rows with a 1x1 filter from K
    to N channels (where the weights come first, of N rows to M channels). In a depthwise
    convolution C is the dimension of the channels (G here).
    """
    used = set(used)
    names = set(layer.dimensions)
    plain: dict[str, str | None] = {name: name for name in layer.dimensions}
    if {"M", "N", "K"} <= names:
        if used & {"C", "R", "S", "Y", "X", "Y'", "X'"}:
            plain = dict.fromkeys(CONVOLUTION)
            meant = {name: dimensions_of(own, layer) for name, own in AS_CONVOLUTION.items()}
            plain |= {name: found[0] for name, found in meant.items() if found}
        return Vocabulary(layer, plain, {})
    plain = dict.fromkeys(CONVOLUTION) | plain
    if "C" not in names and "G" in names and "C" in used:
        plain |= {"C": "G", "G": None}
    axes = {}
    for name, (output, taps) in AXES.items():
        if output in names:
            axes[name] = find_axis(layer, output, taps)
            plain[f"{name}'"] = output
            del plain[name]
    return Vocabulary(layer, plain, axes)


def find_axis(layer: Layer, output: str, taps: str) -> Axis:
    """Return the axis of a layer along which a dimension of the output runs."""
    stride = 1
    for tensor in layer.tensors:
        for terms in tensor.expressions:
            factors = {term.dimension: term.coefficient for term in terms}
            if output not in factors:
                continue
            if taps in factors and len(factors) == 2:
                return Axis(output, taps, factors[output], factors[taps], tensor.is_output)
            stride = max(stride, factors[output])
    return Axis(output, None, stride)

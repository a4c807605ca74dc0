"""Data-centric directives: what a dataflow is made of, and how it is written."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True)
class Place:
    """Where something stands in a text: file, line and column (both from 1)."""

    source: str
    line: int
    column: int


@dataclass(frozen=True)
class Size:
    """A size: a sum of numbers and of sizes of dimensions, such as ``8+Sz(S)-1``.

    Attributes
    ----------
    terms : tuple of (int, str or None)
        Each is a factor, times the size of a dimension or (for None) one.
    """

    terms: tuple[tuple[int, str | None], ...]

    @classmethod
    def of(cls, number: int) -> Size:
        """Return a plain number."""
        return cls(((number, None),))

    def value(self, size: Callable[[str], int]) -> int:
        """Return the number that it stands for where dimensions have these sizes."""
        return sum(factor * (1 if d is None else size(d)) for factor, d in self.terms)

    def __str__(self) -> str:
        text = ""
        for factor, dimension in self.terms:
            sign = "-" if factor < 0 else "+" if text else ""
            text += sign + (str(abs(factor)) if dimension is None else f"Sz({dimension})")
        return text


@dataclass(frozen=True)
class Map:
    """``TemporalMap(size, offset) D`` or ``SpatialMap(size, offset) D``.

    Attributes
    ----------
    spatial : bool
        Whether the positions are spread over units (processing elements or clusters of them)
        instead of over time.
    size : Size
        Indices that each unit holds at a time.
    offset : Size
        From one position to the next.
    dimension : str
        ``K``, ``C``, ``R``, ``S``, ``N``, ``G``; ``Y`` and ``X`` for rows and columns of the input,
        ``Y'`` and ``X'`` for those of the output; ``M``, ``N``, ``K`` of a matrix product; or any
        dimension of the layer.
    place : Place or None
        Where it was written.
    """

    spatial: bool
    size: Size
    offset: Size
    dimension: str
    place: Place | None = None

    def __str__(self) -> str:
        kind = "Spatial" if self.spatial else "Temporal"
        return f"{kind}Map({self.size},{self.offset}) {self.dimension}"


@dataclass(frozen=True)
class Cluster:
    """``Cluster(size, P)``: the units of the directives above are clusters of so many units.

    Attributes
    ----------
    size : Size
        Units of the next level in one cluster.
    kind : str
        ``"P"`` (physical) or ``"L"`` (logical); nothing that is counted depends on it.
    place : Place or None
        Where it was written.
    """

    size: Size
    kind: str = "P"
    place: Place | None = None

    def __str__(self) -> str:
        return f"Cluster({self.size},{self.kind})"


Directive = Map | Cluster


@dataclass(frozen=True)
class Dataflow:
    """Directives, outermost first.

    Attributes
    ----------
    directives : tuple of Map or Cluster
    name : str
        Name of a style that ships, or of the layer for which it was written.
    source : str
        Publication or file that it was taken from.
    """

    directives: tuple[Directive, ...]
    name: str = ""
    source: str = ""

    def __str__(self) -> str:
        return "".join(f"{directive};\n" for directive in self.directives)


@dataclass(frozen=True)
class LayerText:
    """A layer as a file describes it.

    Attributes
    ----------
    name, type : str
        For example ``CONV2_1`` and ``CONV``.
    dimensions, strides : dict of str to int
        By dimension.
    dataflow : Dataflow or None
        Its own one, or that of the layer before it.
    place : Place
        Where it begins.
    """

    name: str
    type: str
    dimensions: dict[str, int]
    strides: dict[str, int]
    dataflow: Dataflow | None
    place: Place


@dataclass(frozen=True)
class NetworkText:
    """A network as a file describes it."""

    name: str
    layers: tuple[LayerText, ...]
    source: str

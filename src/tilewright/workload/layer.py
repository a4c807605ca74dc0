"""A layer: a perfect loop nest over tensors with affine accesses."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from math import prod
from typing import TYPE_CHECKING

from tilewright.text import html_table
from tilewright.workload.by_layer import ByLayer

if TYPE_CHECKING:
    from tilewright.workload.graph import Graph

ROLES = ("I", "W", "O")


@dataclass(frozen=True)
class Term:
    """One term ``coefficient * dimension`` of an index expression."""

    coefficient: int
    dimension: str

    def __str__(self) -> str:
        return self.dimension if self.coefficient == 1 else f"{self.coefficient}*{self.dimension}"


@dataclass(frozen=True)
class Tensor:
    """A tensor of a layer and how the loop nest touches it.

    Attributes
    ----------
    name : str
        Name in the einsum, unique within the layer.
    expressions : tuple of tuple of Term
        One index expression per tensor axis; each is a sum of terms with
        positive coefficients. No dimension occurs in two expressions.
    role : str
        How architectures refer to the tensor: ``"I"`` first input, ``"W"`` second
        input, ``"O"`` output; its own name for third and later inputs. An input
        that is itself called I or W has that role wherever it stands.
    bits : int or None
        Width of an element; None means the word of whichever memory holds it.
    density : float
        Expected share of elements that are not zero, in (0, 1].
    layout : str or None
        How the tensor lies in the outermost memory, see `axis_order.parse_layout`; None means
        nothing is said.
    """

    name: str
    expressions: tuple[tuple[Term, ...], ...]
    role: str
    bits: int | None = None
    density: float = 1.0
    layout: str | None = None

    @property
    def is_output(self) -> bool:
        """Whether the layer accumulates into this tensor."""
        return self.role == "O"

    @cached_property
    def dimensions(self) -> tuple[str, ...]:
        """Dimensions that are relevant to the tensor, in order of appearance."""
        return tuple(term.dimension for terms in self.expressions for term in terms)

    def __str__(self) -> str:
        return f"{self.name}[{','.join('+'.join(map(str, terms)) for terms in self.expressions)}]"


@dataclass(frozen=True, repr=False)
class Layer:
    """A perfect loop nest: dimensions with bounds, input tensors and one output tensor.

    Attributes
    ----------
    name : str
        Name within its network.
    bounds : mapping of str to int
        Iterations of each dimension, in the order in which they were given.
    tensors : tuple of Tensor
        Inputs first, in the order of the einsum; the output last.
    operation : str
        What the body does: ``"mac"`` (default), ``"add"``, ``"max"``. Counts do not depend on it.
    repeat : int
        How often this layer occurs in its network.
    """

    name: str
    bounds: Mapping[str, int]
    tensors: tuple[Tensor, ...]
    operation: str = "mac"
    repeat: int = 1

    @cached_property
    def dimensions(self) -> tuple[str, ...]:
        """Names of the dimensions, in the order of the bounds."""
        return tuple(self.bounds)

    @cached_property
    def operations(self) -> int:
        """Iterations of the whole nest (multiply-accumulates for a convolution)."""
        return prod(self.bounds.values())

    @property
    def inputs(self) -> tuple[Tensor, ...]:
        """The input tensors, in the order of the einsum."""
        return self.tensors[:-1]

    @property
    def output(self) -> Tensor:
        """The tensor that the layer accumulates into."""
        return self.tensors[-1]

    @cached_property
    def einsum(self) -> str:
        """The accesses in einsum notation; reads back to the same layer."""
        return f"{self.output} += {' * '.join(str(t) for t in self.inputs)}"

    def __repr__(self) -> str:
        bounds = ", ".join(f"{dimension} {bound}" for dimension, bound in self.bounds.items())
        return f"<Layer {self.name}: {self.einsum}, {bounds}>"

    def _repr_html_(self) -> str:
        return html_table(f"{self.name}: {self.einsum}", *layer_cells([self]))

    def __hash__(self) -> int:
        # Equal mappings may list their dimensions in different orders.
        return hash((self.name, frozenset(self.bounds.items()), self.tensors, self.repeat))


@dataclass(frozen=True, repr=False)
class Network(ByLayer["Layer"]):
    """Layers that are run one after the other.

    Attributes
    ----------
    name : str
        Name of the network.
    layers : tuple of Layer
        Its layers; a layer with ``repeat`` n stands for n equal ones.
    source : str
        Where the shapes were published, for networks that ship.
    graph : Graph or None
        How tensors connect the layers; None when nothing is said about it.
    variants : tuple of Network
        Other ways to compute the same, this one first; none where there is only one.
    """

    name: str
    layers: tuple[Layer, ...]
    source: str = ""
    graph: Graph | None = field(default=None, hash=False)
    variants: tuple[Network, ...] = field(default=(), hash=False)

    def __repr__(self) -> str:
        count = len(self.layers)
        layers = f"{count} different layers" if count > 1 else "1 layer"
        return f"<Network {self.name}: {layers}, {self.operations:,} operations>"

    def _repr_html_(self) -> str:
        return html_table(repr(self)[1:-1], *layer_cells(self.layers))

    @cached_property
    def operations(self) -> int:
        """Operations of all layers, repeats counted."""
        return sum(layer.operations * layer.repeat for layer in self.layers)


def layer_cells(layers: Sequence[Layer]) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
    """Return the names of the columns of a table of layers, and its rows."""
    rows: list[tuple[str, ...]] = [
        (
            layer.name,
            str(layer.repeat),
            f"{layer.operations:,}",
            layer.einsum,
            ", ".join(f"{dimension} {bound}" for dimension, bound in layer.bounds.items()),
        )
        for layer in layers
    ]
    return ("layer", "repeat", "operations", "einsum", "bounds"), rows

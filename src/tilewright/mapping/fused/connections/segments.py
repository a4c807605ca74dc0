"""Segments: layers that may share loops, the tensors between them, the dimensions that they tie.

A layer is one use of it in the graph, under the name of its node. Where the words of an exchanged
tensor run along a dimension of its producer and along one of its reader, the two are *tied*: a
shared loop over one is a shared loop over the other.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from tilewright.workload.layer import Layer, Tensor
from tilewright.workload.view import Step


@dataclass(frozen=True)
class Access:
    """A tensor of a layer: the names of the layer and of the tensor in it."""

    layer: str
    tensor: str


@dataclass(frozen=True)
class Tie:
    """A dimension of a tensor's producer and one of its reader that run along the same words.

    Iterations of the producer's dimension from i on make the words from ``made_step * i`` on, those
    of the reader's dimension from j on need ``span`` words from ``step * j + offset`` on.

    Attributes
    ----------
    made, read : str
        Dimension of the producer and of the reader.
    made_step, step : int
        Words from one iteration to the next, at least 1.
    span : int
        Words that one iteration of the reader needs: more than `step` in a sliding window.
    offset : int
        First word that the reader's first iteration needs; below 0 where the view pads.
    """

    made: str
    read: str
    made_step: int = 1
    step: int = 1
    span: int = 1
    offset: int = 0

    @property
    def plain(self) -> bool:
        """Whether the two dimensions count the same iterations."""
        return (self.made_step, self.step, self.span, self.offset) == (1, 1, 1, 0)


@dataclass(frozen=True)
class Exchange:
    """A tensor on its way from the layer that makes it to one that reads it.

    Attributes
    ----------
    tensor : str
        Its name in the segment.
    producer, reader : Access
        The two ends.
    ties : tuple of Tie
        The dimensions that it ties, at most one tie for each.
    steps : tuple of Step
        What lies between: how the reader sees what the producer makes.
    """

    tensor: str
    producer: Access
    reader: Access
    ties: tuple[Tie, ...]
    steps: tuple[Step, ...] = ()


@dataclass(frozen=True)
class SharedTensor:
    """A tensor of a segment.

    Attributes
    ----------
    name : str
        That of the graph's tensor; ``layer.tensor`` for one that a layer has for itself.
    producer : Access or None
        What makes it; None if it comes from outside.
    readers : tuple of Access
        What reads it.
    wanted : bool
        Whether something outside of the segment reads it, too.
    """

    name: str
    producer: Access | None
    readers: tuple[Access, ...]
    wanted: bool = False

    @property
    def intermediate(self) -> bool:
        """Whether it is made and read inside and nothing outside wants it."""
        return self.producer is not None and bool(self.readers) and not self.wanted

    @property
    def accesses(self) -> tuple[Access, ...]:
        """The producer, if there is one, and the readers."""
        return self.readers if self.producer is None else (self.producer, *self.readers)


@dataclass(frozen=True)
class Segment:
    """Layers that may share loops, in an order in which they can run.

    Attributes
    ----------
    layers : tuple of Layer
        With names of their own: those of the nodes of the graph.
    tensors : tuple of SharedTensor
        All tensors of the layers.
    exchanges : tuple of Exchange
        Every tensor from its producer to each of its readers inside.
    repeat : int
        How often the segment occurs in its network.
    sources : tuple of str
        Names of the layers in the network, of which these are uses.
    """

    layers: tuple[Layer, ...]
    tensors: tuple[SharedTensor, ...]
    exchanges: tuple[Exchange, ...]
    repeat: int = 1
    sources: tuple[str, ...] = ()

    @cached_property
    def layer_of(self) -> dict[str, Layer]:
        """The layers by name."""
        return {layer.name: layer for layer in self.layers}

    @cached_property
    def tensor_of(self) -> dict[str, SharedTensor]:
        """The tensors by name."""
        return {tensor.name: tensor for tensor in self.tensors}

    @cached_property
    def shared_name(self) -> dict[Access, str]:
        """Name of the segment's tensor behind each tensor of each layer."""
        return {access: tensor.name for tensor in self.tensors for access in tensor.accesses}

    def local(self, access: Access) -> Tensor:
        """Return a tensor as the layer knows it that accesses it."""
        tensors = self.layer_of[access.layer].tensors
        return next(tensor for tensor in tensors if tensor.name == access.tensor)

    def shared_name_of_output(self, layer: str) -> str:
        """Return the name of the tensor that a layer makes."""
        return self.shared_name[Access(layer, self.layer_of[layer].output.name)]

    @property
    def intermediates(self) -> tuple[SharedTensor, ...]:
        """The tensors that need not leave the chip."""
        return tuple(tensor for tensor in self.tensors if tensor.intermediate)

    @cached_property
    def _hash(self) -> int:
        return hash((self.layers, self.exchanges, self.repeat))

    def __hash__(self) -> int:
        return self._hash

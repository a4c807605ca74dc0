"""Words of the tensors of a segment: which of them a box of iterations touches, makes or reads."""

from __future__ import annotations

from collections.abc import Mapping as Dict
from collections.abc import Sequence
from functools import cache
from itertools import product
from math import prod

import numpy as np

from tilewright.mapping.fused.connections.segments import Exchange, Segment
from tilewright.mapping.fused.turns import Span
from tilewright.workload.graph import tensor_shape
from tilewright.workload.layer import Tensor

Word = tuple[int, ...]
Words = frozenset[Word]
# what is left of each dimension of each layer
Boxes = Dict[str, Dict[str, Span]]


class SegmentWords:
    """The words of a segment's tensors, in the indices of the layer that makes them."""

    def __init__(self, segment: Segment) -> None:
        self.segment = segment
        self.seen = cache(self._seen)

    def local(self, layer: str, tensor: str) -> Tensor:
        """Return a tensor of a layer."""
        return next(t for t in self.segment.layer_of[layer].tensors if t.name == tensor)

    def tile(self, readers: Sequence[Exchange], boxes: Boxes, own: Words) -> Words:
        """Return the smallest box around the words of a tensor that are made and needed."""
        words = set(own)
        output = self.local(readers[0].producer.layer, readers[0].producer.tensor)
        bounds = self.segment.layer_of[readers[0].producer.layer].bounds
        free = [expression[0].dimension for expression in output.expressions]
        axes: list[set[int]] = [{word[i] for word in own} for i in range(len(free))]
        for exchange in readers:
            tied = {tie.made for tie in exchange.ties}
            read = self.read(exchange, boxes[exchange.reader.layer])
            words |= read
            for i, dimension in enumerate(free):
                axes[i] |= {word[i] for word in read}
                if read and dimension not in tied:
                    axes[i] |= set(range(bounds[dimension]))
        if not words:
            return frozenset()
        return frozenset(product(*(range(min(axis), max(axis) + 1) for axis in axes)))

    def read(self, exchange: Exchange, box: Dict[str, Span]) -> Words:
        """Return the words of the producer's tensor that a reader's box reads."""
        local = self.local(exchange.reader.layer, exchange.reader.tensor)
        numbers = self.seen(exchange)
        shape = self.shape(exchange)
        found = {int(numbers[word]) for word in footprint(local, box)}
        return frozenset(
            tuple(int(i) for i in np.unravel_index(n - 1, shape)) for n in found if n > 0
        )

    def shape(self, exchange: Exchange) -> tuple[int, ...]:
        """Return the shape of an exchanged tensor."""
        layer = self.segment.layer_of[exchange.producer.layer]
        return tensor_shape(layer.output, layer.bounds)

    def _seen(self, exchange: Exchange) -> np.ndarray:
        """Return the words of a tensor, numbered from 1, as a reader sees them; 0 is no data."""
        shape = self.shape(exchange)
        array = np.arange(1, prod(shape) + 1).reshape(shape)
        for step in exchange.steps:
            array = step.apply(array)
        return array


def footprint(tensor: Tensor, box: Dict[str, Span]) -> Words:
    """Return the words of a tensor that the iterations of a box touch."""
    if any(first >= end for first, end in box.values()):
        return frozenset()
    axes = []
    for terms in tensor.expressions:
        points = product(*(range(*box[term.dimension]) for term in terms))
        factors = [term.coefficient for term in terms]
        axes.append({sum(c * i for c, i in zip(factors, point, strict=True)) for point in points})
    return frozenset(product(*axes))


def alive(events: Sequence[tuple[Words, Words]], *, keeps: bool) -> tuple[int, int]:
    """Return the most words that are held at a step, and between two steps.

    A word stays from a step to the next one if it has been made and a later tile needs it before
    it is made again; nothing stays where it `keeps` nothing but the tile.
    """
    stays: list[set[Word]] = [set() for _ in events]
    if keeps:
        wanted: set[Word] = set()
        for i in reversed(range(len(events))):
            stays[i] = set(wanted)
            tile, made = events[i]
            # what is made here is not wanted from before
            wanted = (wanted | tile) - made
        made_before: set[Word] = set()
        for i, (_, made) in enumerate(events):
            made_before |= made
            stays[i] &= made_before
    peak = max(len(tile | stays[i]) for i, (tile, _) in enumerate(events))
    return peak, max(map(len, stays))

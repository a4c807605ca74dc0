"""The shared loops above a layer by the dimension that they cut: every count is a product of these.

A loop cuts one dimension of each layer below. What a layer, or a tensor's tile, has of one
dimension depends on the loops over that dimension alone: its *family*. So sums over all steps of
the loops are products of sums over the steps of each family.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from tilewright.mapping.fused.connections.segments import Segment
from tilewright.mapping.fused.scopes import SharedLoop
from tilewright.mapping.fused.turns import Span, Step, spans, steps
from tilewright.workload.footprint import expression_words
from tilewright.workload.layer import Layer, Tensor, Term


@dataclass(frozen=True)
class Part:
    """What some steps of a family make one tile of, as words along one axis.

    Attributes
    ----------
    words : tuple of (first, end) or int
        An interval of indices; or a set of them as the bits of a number.
    """

    words: Span | int

    @property
    def size(self) -> int:
        """Number of words."""
        if isinstance(self.words, int):
            return self.words.bit_count()
        return self.words[1] - self.words[0]

    def new(self, old: Part) -> int:
        """Return how many of the words `old` lacks."""
        if isinstance(self.words, int):
            assert isinstance(old.words, int)
            return (self.words & ~old.words).bit_count()
        assert not isinstance(old.words, int)
        (first, end), (a, b) = self.words, old.words
        return end - first - max(0, min(end, b) - max(first, a))


@dataclass(frozen=True)
class Group:
    """Steps with the same indices in the outer loops of a family.

    Attributes
    ----------
    parts : tuple of Group
        One for each chunk of the next loop in which there is something; none at a step.
    first, last : Part
        What the first and the last step inside make.
    """

    parts: tuple[Group, ...]
    first: Part
    last: Part

    def at_depth(self, depth: int) -> Iterator[Group]:
        """Yield the groups so many loops further inward."""
        if not depth:
            yield self
            return
        for part in self.parts:
            yield from part.at_depth(depth - 1)


@dataclass(frozen=True)
class Family:
    """The loops above a layer that cut one of its dimensions.

    Attributes
    ----------
    layer : Layer
        The layer.
    dimension : str
        The dimension.
    positions : tuple of int
        Where the loops stand among those above.
    loops : tuple of SharedLoop
        The loops.
    segment : Segment
        Where the layer belongs.
    """

    layer: Layer
    dimension: str
    positions: tuple[int, ...]
    loops: tuple[SharedLoop, ...]
    segment: Segment

    @cached_property
    def steps(self) -> Sequence[Step]:
        """All steps, with what they leave of all layers below."""
        return steps(self.loops, self.segment)

    @cached_property
    def spans(self) -> Sequence[tuple[tuple[int, ...], Span]]:
        """The steps in which the layer has something to do, with its iterations."""
        return spans(self.loops, self.segment, self.layer.name)

    def groups(self, tensor: Tensor) -> Group | None:
        """Return what the steps make of a tensor's tile, nested as the loops are; None if idle."""
        terms = next((t for t in tensor.expressions if self._in(t)), None)
        parts: list[tuple[tuple[int, ...], Part]] = []
        for at, span in self.spans:
            words: Span | int = (0, 1)
            if terms is not None:
                words = along(terms, self.dimension, span, self.layer)
            parts.append((at, Part(words)))
        return nested(parts, 0) if parts else None

    def _in(self, terms: Sequence[Term]) -> bool:
        return any(term.dimension == self.dimension for term in terms)


def nested(parts: Sequence[tuple[tuple[int, ...], Part]], depth: int) -> Group:
    """Return steps, in order, grouped by their indices in the loops from some depth inward."""
    first, last = parts[0][1], parts[-1][1]
    if depth == len(parts[0][0]):
        return Group((), first, last)
    inner: dict[int, list[tuple[tuple[int, ...], Part]]] = {}
    for at, part in parts:
        inner.setdefault(at[depth], []).append((at, part))
    return Group(tuple(nested(own, depth + 1) for own in inner.values()), first, last)


def families(layer: Layer, loops: Sequence[SharedLoop], segment: Segment) -> list[Family]:
    """Return the families of loops above a layer."""
    found: dict[str, list[int]] = {}
    for i, loop in enumerate(loops):
        found.setdefault(loop.cuts.dims[layer.name], []).append(i)
    return [
        Family(layer, d, tuple(own), tuple(loops[i] for i in own), segment)
        for d, own in found.items()
    ]


def along(terms: Sequence[Term], dimension: str, span: Span, layer: Layer) -> Span | int:
    """Return the indices of an expression over a span of one dimension and all of the others.

    They are an interval where they have no gaps, and otherwise the bits of a number.
    """
    rest = tuple(term for term in terms if term.dimension != dimension)
    step = next(term.coefficient for term in terms if term.dimension == dimension)
    width = 1 + sum(term.coefficient * (layer.bounds[term.dimension] - 1) for term in rest)
    first, end = span
    if step <= width and expression_words(rest, layer.bounds) == width:
        return step * first, step * (end - 1) + width
    bits = 1
    for term in rest:
        bits = spread(bits, term.coefficient, layer.bounds[term.dimension])
    return spread(bits, step, end - first) << (step * first)


def spread(bits: int, step: int, count: int) -> int:
    """Return a set of indices together with its copies further on, by doubling."""
    done = 1
    while done < count:
        more = min(done, count - done)
        bits |= bits << (step * more)
        done += more
    return bits

"""The blocks that a mapping moves, in closed form.

The words that enter a tile in one step are a product of one set of indices per axis: the tile, or
what of it is new along the one axis on which it slides. Which sets occur, and where they begin,
each dimension decides on its own: the loops outside the one that advances stand anywhere, those
inside it at their first chunk. So the steps in which one loop is the outermost that advances are a
product as well, and it is enough to know for each axis how often each set begins at each place
within a block.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from math import prod

import numpy as np

from tilewright.kernels.types import Ints
from tilewright.layout.blocks import Blocks, Indices
from tilewright.mapping.structure import Link, Loop
from tilewright.workload.layer import Term

# which indices along an axis are new, and the address from which they are counted: how often
Begun = Counter[tuple[Indices, int]]


@dataclass(frozen=True)
class Chunk:
    """Iterations of one dimension in one step, and in the step before.

    Attributes
    ----------
    start, extent : int
        Of the first instance.
    old_start, old_extent : int
        The same in the step before.
    """

    start: int
    extent: int
    old_start: int
    old_extent: int


@dataclass(frozen=True)
class Traffic:
    """The steps of one link of a tensor, and the blocks that its new words touch.

    Attributes
    ----------
    link : Link
        From the outermost memory inward.
    loops : tuple of Loop
        The loops above the child.
    bounds : mapping of str to int
        Iterations of each dimension of the layer.
    blocks : Blocks
        Counts the blocks of the tensor.
    resident : bool
        Whether the child holds a tile; the compute unit does not.
    """

    link: Link
    loops: tuple[Loop, ...]
    bounds: Mapping[str, int]
    blocks: Blocks
    resident: bool

    @property
    def obstacle(self) -> str:
        """Why the closed form does not cover the link; empty where it does.

        Instances that share their words may idle: the first one never does, and takes what they
        take. All others advance in the same steps.
        """
        unrolled = {loop.dimension for loop in self.loops if loop.array and loop.chunks > 1}
        apart = unrolled.intersection(self.link.tensor.dimensions)
        short = [
            loop.dimension
            for loop in self.loops
            if loop.dimension in apart and loop.extent % loop.tile
        ]
        if short:
            return (
                f"its chunks of {', '.join(dict.fromkeys(short))} are uneven among the instances "
                f"that take them straight from '{self.link.parent}'; with sizes that divide, or "
                "stored in a memory above the array, it is counted at any size"
            )
        windows = any(len(terms) > 1 for terms in self.link.tensor.expressions)
        if self.link.tensor.is_output:
            return "its words lie in windows that overlap" if windows else ""
        # what an instance has held itself is forwarded too
        if any(array.forwarding for array in self.link.arrays) and (unrolled or windows):
            return (
                f"instances forward each other what they take from '{self.link.parent}'; stored "
                "in a memory above the array, it is counted at any size"
            )
        return ""

    def moved(self) -> int:
        """Return the blocks that enter, over all steps."""
        if not self.resident:
            return self.steps(None, self.passes(None))
        total = self.steps(-1, 1)
        for j, loop in enumerate(self.loops):
            if loop.array or loop.chunks == 1:
                continue
            times = self.passes(j)
            total += self.steps(j, times)
            if j not in self.link.run:
                # a tile that is the one before does not move
                total -= self.steps(j, times, unchanged=True)
        return total

    def first(self) -> int:
        """Return the blocks that enter with words that never entered before."""
        if not self.resident:
            return self.steps(None, 1)
        relevant = self.link.tensor.dimensions
        return self.steps(-1, 1) + sum(
            self.steps(j, 1)
            for j, loop in enumerate(self.loops)
            if not loop.array and loop.chunks > 1 and loop.dimension in relevant
        )

    def passes(self, j: int | None) -> int:
        """Return how often the loops on irrelevant dimensions let loop `j` advance."""
        own = [d for d in self.bounds if d not in self.link.tensor.dimensions]
        return prod(len(self.chunks(d, j)) for d in own)

    def steps(self, j: int | None, times: int, unchanged: bool = False) -> int:
        """Return the blocks of the steps in which loop `j` is the outermost that advances.

        Parameters
        ----------
        j : int or None
            Position of a loop; -1 for the first step of all, None for all steps.
        times : int
            How often each of them occurs.
        unchanged : bool
            Only those whose tile is the one of the step before.
        """
        block = self.blocks.block
        axes = []
        for axis, terms in enumerate(self.link.tensor.expressions):
            sets: dict[Indices, Ints] = {}
            for (words, origin), often in self.begun(axis, terms, j, unchanged).items():
                places = sets.setdefault(words, np.zeros(block, np.int64))
                places[origin % block] += often
            axes.append(sets)
        total = 0
        for chosen in product(*axes):
            begins = np.zeros(block, np.int64)
            begins[0] = 1
            for sets, words in zip(axes, chosen, strict=True):
                begins = around(begins, sets[words])
            total += int(begins @ self.blocks.touched(chosen))
        return total * times

    def begun(self, axis: int, terms: Sequence[Term], j: int | None, unchanged: bool) -> Begun:
        """Return which new words of an axis begin where, and how often."""
        names = [term.dimension for term in terms]
        slides = j in self.link.run and self.loops[j or 0].dimension in names
        offsets = [self.offsets(name) for name in names]
        result: Begun = Counter()
        shapes: dict[tuple[object, ...], tuple[int, Indices]] = {}
        for chunks in product(*(self.chunks(name, j) for name in names)):
            base = sum(t.coefficient * c.start for t, c in zip(terms, chunks, strict=True))
            origin, rest = self.blocks.origin(axis, base)
            shape_of = (rest, *((c.extent, c.old_start - c.start, c.old_extent) for c in chunks))
            if shape_of not in shapes:
                words: set[int] = set()
                for shift in product(*offsets):
                    new = indices(terms, [(c.start, c.extent) for c in chunks], shift)
                    old = indices(terms, [(c.old_start, c.old_extent) for c in chunks], shift)
                    if slides:
                        new -= old
                    elif unchanged and new != old:
                        new = set()
                    words |= new
                first = min(words, default=base)
                begin, inside = self.blocks.origin(axis, first)
                shapes[shape_of] = (
                    begin - origin, tuple(sorted(word - first + inside for word in words))
                )  # fmt: skip
            ahead, shape = shapes[shape_of]
            if shape:
                result[shape, origin + ahead] += 1
        return result

    def offsets(self, dimension: str) -> list[int]:
        """Return by how much the iterations of each instance lie behind those of the first."""
        shifts = [0]
        for loop in self.loops:
            if loop.array and loop.dimension == dimension:
                shifts = [at + i * loop.tile for at in shifts for i in range(loop.chunks)]
        return shifts

    def chunks(self, dimension: str, j: int | None) -> list[Chunk]:
        """Return what iterations a dimension can have when loop `j` has advanced."""
        own = [(i, x) for i, x in enumerate(self.loops) if x.dimension == dimension]
        return list(self.paths(own, j, 0, self.bounds[dimension]))

    def paths(
        self, own: list[tuple[int, Loop]], j: int | None, start: int, extent: int
    ) -> Iterator[Chunk]:
        """Yield the chunks of a dimension below its loops that are left."""
        if not own:
            yield Chunk(start, extent, start, extent)
            return
        (i, loop), *inner = own
        count = -(-extent // loop.tile)
        below = [x for _, x in inner]
        if j is None or i < j:
            for n in range(1 if loop.array else count):
                left = min(loop.tile, extent - n * loop.tile)
                yield from self.paths(inner, j, start + n * loop.tile, left)
        elif i == j:
            for n in range(1, count):
                left = min(loop.tile, extent - n * loop.tile)
                old = last_chunk(below, start + (n - 1) * loop.tile, loop.tile)
                yield Chunk(*first_chunk(below, start + n * loop.tile, left), *old)
        else:
            both = [loop, *below]
            yield Chunk(*first_chunk(both, start, extent), *last_chunk(both, start, extent))


def first_chunk(loops: Sequence[Loop], start: int, extent: int) -> tuple[int, int]:
    """Return the first chunk that loops reach."""
    return start, min(extent, *(loop.tile for loop in loops), extent)


def last_chunk(loops: Sequence[Loop], start: int, extent: int) -> tuple[int, int]:
    """Return the last chunk that loops reach, in the first instance."""
    for loop in loops:
        n = 0 if loop.array else -(-extent // loop.tile) - 1
        start, extent = start + n * loop.tile, min(loop.tile, extent - n * loop.tile)
    return start, extent


def indices(
    terms: Sequence[Term], intervals: Sequence[tuple[int, int]], shifts: Sequence[int] | None = None
) -> set[int]:
    """Return the values of an index expression over one interval per term, shifted or not."""
    values = {0}
    for term, (start, extent), shift in zip(
        terms, intervals, shifts or [0] * len(terms), strict=True
    ):
        values = {
            value + term.coefficient * (start + shift + i)
            for value in values
            for i in range(extent)
        }
    return values


def around(first: Ints, second: Ints) -> Ints:
    """Return how often sums of two addresses have each place within a block."""
    block = len(first)
    result = np.zeros(block, np.int64)
    for place in np.flatnonzero(second):
        result += second[place] * np.roll(first, place)
    return result

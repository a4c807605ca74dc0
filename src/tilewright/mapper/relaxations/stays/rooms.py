"""What fits memories: the most words of a tile, and the fewest that elements further in need."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import reduce
from itertools import permutations
from math import inf

import numpy as np

from tilewright.architecture.machine import Architecture
from tilewright.kernels.types import Bools, Floats
from tilewright.mapper.problem.link_costs import segment_of
from tilewright.mapper.relaxations.stays.links import Link
from tilewright.mapper.relaxations.stays.unrolled import Unrolled, whole_at_least
from tilewright.mapper.windows.pairs import Windows
from tilewright.model.energy import element_bits
from tilewright.workload.layer import Layer


class Rooms:
    """The room of tiles in the memories of a machine, for a number of spatial choices.

    Parameters
    ----------
    layer, architecture
        What is mapped onto what.
    windows : sequence of Windows
        Those of the tensors.
    fewest : sequence of sequences of (array, array)
        As for `least_cost.Least`, or nothing where that is not known.
    unrolled : Unrolled
        Instances along dimensions.
    """

    def __init__(
        self,
        layer: Layer,
        architecture: Architecture,
        windows: Sequence[Windows],
        fewest: Sequence[Sequence[tuple[Floats, Floats]]],
        unrolled: Unrolled,
    ) -> None:
        self.layer, self.architecture = layer, architecture
        self.windows, self.fewest = windows, fewest
        self.unrolled = unrolled
        self.one = np.ones(unrolled.number)
        self.segment = segment_of(architecture)
        self.known: dict[int, Mapping[str, Floats]] = {}
        self.known_fits: dict[tuple[Link, ...], Bools] = {}

    def words(self, link: Link, links: Sequence[Link]) -> float:
        """Return how many words a tile of a link has at most."""
        memory = self.architecture.memories[link.receiver]
        bits = self.bits(link)
        free = inf if memory.capacity_bits is None else float(memory.capacity_bits)
        if memory.tensor_bits is not None:
            free = min(free, memory.tensor_bits[self.layer.tensors[link.tensor].role])
        else:
            # the others need room for a word
            free -= sum(
                self.bits(other)
                for other in links
                if other.receiver == link.receiver and other is not link
            )
        if free < bits:
            return 0.0
        return free // bits if free < inf else inf

    def shared_place(self, link: Link) -> int | None:
        """Return the memory that a link ends in, if tensors share its room."""
        memory = self.architecture.memories[link.receiver]
        shares = memory.tensor_bits is None and memory.capacity_bits is not None
        return link.receiver if shares else None

    def bits(self, link: Link) -> int:
        """Return the bits that a word of a link takes in the memory that receives it."""
        memory = self.architecture.memories[link.receiver]
        return element_bits(memory, self.layer.tensors[link.tensor]) * memory.buffering

    def fits(self, links: tuple[Link, ...]) -> Bools:
        """Return for which choices there is room for what elements further in need at least."""
        if links not in self.known_fits:
            compute = len(self.architecture.memories)
            receivers = {link.receiver for link in links if self.fewest} - {compute}
            fits = [self.left(m, links) >= 0.0 for m in receivers]
            self.known_fits[links] = np.all([self.one > 0, *fits], axis=0)
        return self.known_fits[links]

    def held(self, m: int) -> Mapping[str, Floats]:
        """Return how many iterations of each dimension a tile in a memory has at least.

        It has some for each element further in.
        """
        if m not in self.known:
            least = np.ones((len(self.layer.bounds), len(self.one)))
            for array in reversed(self.fewest[self.segment[m] :]):
                ways = [reduce(chunked, own, least) for own in permutations(array)]
                least = whole_at_least(np.min(ways, axis=0))
            if self.unrolled.longest is not None:
                outside = self.unrolled.elements[: self.segment[m]].prod(axis=0)
                # of those that all elements have, one outside has its share
                least = np.maximum(least, whole_at_least(self.unrolled.longest / outside))
            self.known[m] = dict(zip(self.layer.bounds, least, strict=True))
        return self.known[m]

    def fewest_words(self, link: Link) -> Floats:
        """Return how many words of a link a tile in the memory that receives it has at least."""
        held, windows = self.held(link.receiver), self.windows[link.tensor]
        # sums of m and of n numbers have at least m + n - 1 values
        several = [
            np.sum([held[d] for d in own], axis=0) - (len(own) - 1) for own in windows.dimensions
        ]
        single = self.windows[link.tensor].relevant.difference(*windows.dimensions)
        return np.asarray(np.prod([*several, *(held[d] for d in single), self.one], axis=0))

    def left_words(self, link: Link, links: Sequence[Link]) -> Floats:
        """Return how many words a tile has at most if those of others have the fewest."""
        return self.left(link.receiver, links, link) / self.bits(link)

    def left(self, m: int, links: Sequence[Link], more: Link | None = None) -> Floats:
        """Return the bits of a memory that are left by the fewest words of links that end there.

        Parameters
        ----------
        m : int
        links : sequence of Link
            Those that end elsewhere take nothing.
        more : Link, optional
            One that takes nothing.
        """
        memory = self.architecture.memories[m]
        size = inf if memory.capacity_bits is None else float(memory.capacity_bits)
        if memory.tensor_bits is not None:
            size = inf  # each has room of its own
        taken = [
            self.bits(link) * self.fewest_words(link)
            for link in links
            if link.receiver == m and link != more
        ]
        return np.asarray(size - np.sum([0.0 * self.one, *taken], axis=0))


def chunked(inside: Floats, chunks: tuple[Floats, Floats]) -> Floats:
    """Return the fewest iterations of chunks, the last of which may be short."""
    alone, times = chunks
    return np.maximum(alone, times * inside)

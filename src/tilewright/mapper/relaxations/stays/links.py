"""The ways of tensors between memories, and what their words cost."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

from tilewright.architecture.machine import Architecture, Memory
from tilewright.mapper.problem.link_costs import segment_of
from tilewright.model.energy import read_cost, word_ratio, write_cost
from tilewright.workload.layer import Tensor


@dataclass(frozen=True)
class Link:
    """The way of a tensor from one memory to the next one that keeps it, or to the compute unit.

    Attributes
    ----------
    tensor, sender, receiver : int
        Positions of the tensor and the memories; the compute unit comes after all memories.
    first : int
        The first array that counts: words are those that come to it in all instances, whatever the
        arrays further out share.
    """

    tensor: int
    sender: int
    receiver: int
    first: int = 0


def links_of(t: int, chain: Sequence[int], compute: int) -> list[Link]:
    """Return the links of a tensor that a chain of memories keeps."""
    return [Link(t, *pair) for pair in zip(chain, (*chain[1:], compute), strict=True)]


@dataclass(frozen=True)
class Price:
    """What the words of a link cost.

    Attributes
    ----------
    sent, received : float
        Each one sent, and each one received.
    once : float
        All together.
    passed : tuple of (int, float)
        How many arrays a word has crossed on its way, and what it costs that it comes through the
        last of these. The arrays further in that share words count; those crossed do not.
    """

    sent: float = 0.0
    received: float = 0.0
    once: float = 0.0
    passed: tuple[tuple[int, float], ...] = ()

    @property
    def on_the_way(self) -> bool:
        """Whether anything costs that depends on what arrays share."""
        return bool(self.sent or self.passed)


class Prices:
    """What words of links cost on a machine.

    Parameters
    ----------
    tensors : sequence of Tensor
    words : sequence of float
        Of each tensor.
    machine : Architecture
    sources : sequence of int
        Positions of the memories that tensors come from.
    slides : bool
        Whether outputs have windows.
    """

    def __init__(
        self,
        tensors: Sequence[Tensor],
        words: Sequence[float],
        machine: Architecture,
        sources: Sequence[int],
        slides: bool = False,
    ) -> None:
        self.tensors, self.words, self.slides = tensors, words, slides
        self.machine, self.sources = machine, sources
        self.compute = len(machine.memories)
        self.segment = [*segment_of(machine), len(machine.arrays)]

    def energy(self, link: Link) -> Price:
        """Return what words of a link cost, in pJ."""
        tensor = self.tensors[link.tensor]
        if not self.counts(link):
            return Price()
        sender = self.machine.memories[link.sender]
        outside = self.segment[link.sender]
        crossed = self.machine.arrays[outside : self.segment[link.receiver]]
        received = crossed[-1].hop_energy if crossed else 0.0
        hops = enumerate(crossed[:-1], outside + 1)
        passed = tuple((k, array.hop_energy) for k, array in hops if array.hop_energy)
        inside = self.machine.memories[link.receiver] if link.receiver < self.compute else None
        if not tensor.is_output:
            written = 0.0 if inside is None else write_cost(inside, tensor)
            if self.passed_on(link):
                return Price(0.0, received + written)
            return Price(read_cost(sender, tensor), received + written, passed=passed)
        # what a memory sends up and fetches again is what comes up to it, and what it has fetched
        # itself; partial sums that start from zero come up once more than they are fetched
        again = read_cost(sender, tensor)
        begins = link.sender == self.sources[link.tensor]
        first = again * self.words[link.tensor] if begins else 0.0
        fetched = 0.0
        if (
            inside is not None
            and self.segment[link.sender] == 0
            and all(array.reduction for array in crossed)
        ):
            fetched = write_cost(inside, tensor) + read_cost(inside, tensor)
            fetched += sum(array.hop_energy for array in crossed)
            first += fetched * self.words[link.tensor]
        return Price(write_cost(sender, tensor) + again + fetched, received, -first, passed)

    def counts(self, link: Link) -> bool:
        """Whether words of a link count.

        Where an array does not add, each word that comes into a memory below it begins from zero. A
        tile of a window may keep one further in meanwhile, so that fewer words come in there than
        begin: what is fetched again would be less than nothing. So outputs with windows count where
        all arrays further out add; what operations update does, too, where those further out than
        the next memory do.
        """
        if not self.slides or not self.tensors[link.tensor].is_output:
            return True
        direct = link.receiver == self.compute
        outside = self.segment[max(link.sender - 1, 0) if direct else link.receiver]
        return all(array.reduction for array in self.machine.arrays[:outside])

    def passed_on(self, link: Link) -> bool:
        """Whether neighbours may pass on words of a link, which then no memory sends.

        Where sizes do not divide, an idle element holds what others get next: of any input.
        """
        crossed = self.machine.arrays[self.segment[link.sender] : self.segment[link.receiver]]
        inside = link.receiver < self.compute  # operands of the compute unit are not held
        output = self.tensors[link.tensor].is_output
        return inside and not output and any(array.forwarding for array in crossed)

    def at_port(self, link: Link, kind: str, above: int) -> Link:
        """Return the part of a link whose words pass a port.

        Arrays further out share what their memory sends, but all of their elements receive it. So
        the words that come to an array are those of the memory next to it, even of one that does
        not keep them, and what is shared on the way does not count.
        """
        if kind != "array" or not self.segment[link.sender] <= above < self.segment[link.receiver]:
            return link
        nearest = max(m for m in range(self.compute) if self.segment[m] <= above)
        return Link(link.tensor, max(link.sender, nearest), link.receiver, above)

    def load(
        self, link: Link, kind: str, level: object, direction: str, rate: float, above: int
    ) -> Price:
        """Return what words of a link cost at a port of limited bandwidth, in cycles."""
        machine = self.machine
        tensor = self.tensors[link.tensor]
        if not self.counts(link):
            return Price()
        share = 1.0 / (rate * prod(array.elements for array in machine.arrays[:above]))
        if kind == "array":
            passes = self.segment[link.sender] <= above < self.segment[link.receiver]
            return Price(share) if passes and not self.passed_on(link) else Price()
        assert isinstance(level, Memory)
        share *= word_ratio(level, tensor)
        reads, writes = direction in ("read", "both"), direction in ("write", "both")
        sends = level is machine.memories[link.sender] and not self.passed_on(link)
        if not tensor.is_output:
            receives = link.receiver < self.compute and level is machine.memories[link.receiver]
            return Price(share * reads * sends, share * writes * receives)
        begins = link.sender == self.sources[link.tensor]
        first = self.words[link.tensor] if begins else 0.0
        return Price(share * (reads + writes) * sends, 0.0, -share * reads * sends * first)

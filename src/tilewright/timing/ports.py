"""How long what moves keeps ports, networks and DMA engines busy."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil

from tilewright.architecture.machine import Architecture, Array, Memory
from tilewright.mapping.structure import Link
from tilewright.workload.layer import Layer, Tensor

# positions of resources, with cycles per word of a tensor
Terms = tuple[tuple[int, float], ...]


@dataclass(frozen=True)
class Moved:
    """What moves over a link when the child's tiles change, in words.

    Attributes
    ----------
    sent : int
        Words that the first instance of the parent sends (or that arrive at it).
    distinct : int
        The different ones among them.
    entered : int
        Words that enter the first instance of the child.
    carried, gathered : tuple of int
        For each array of the link, its first instance: words outside it, and at its elements.
    adding : tuple of int
        For each array of the link: elements whose partial sums of the same words meet.
    bursts : tuple of (int, int)
        Contiguous runs in the parent, under the layout: their length, and how many there are.
    """

    sent: int
    distinct: int
    entered: int
    carried: tuple[int, ...]
    gathered: tuple[int, ...]
    adding: tuple[int, ...]
    bursts: tuple[tuple[int, int], ...] = ()


NOTHING = Moved(0, 0, 0, (), (), ())


class Ports:
    """The resources of a machine that limit how fast words move.

    Parameters
    ----------
    layer, architecture
        Whose words move, and where.

    Attributes
    ----------
    names : list of str
        The resources of limited bandwidth, such as ``"DRAM read"`` or ``"PE read 2"``.
    """

    def __init__(self, layer: Layer, architecture: Architecture) -> None:
        self.layer = layer
        self.architecture = architecture
        self.names: list[str] = []
        self.rates: list[float] = []
        for level in architecture.levels:
            if isinstance(level, Memory):
                self._add(f"{level.name} read", level.read_bandwidth)
                self._add(f"{level.name} write", level.write_bandwidth)
                self._add(f"{level.name} port", level.shared_bandwidth)
                self._add(f"{level.name} DMA", 1.0 if level.dma else None)
            elif isinstance(level, Array):
                kinds = level.networks
                if kinds is None:
                    self._add(f"{level.name} network", level.bandwidth)
                    continue
                each = None if level.bandwidth is None else level.bandwidth / kinds.count
                for i in range(kinds.read):
                    self._add(f"{level.name} read {i + 1}", each)
                for i in range(kinds.write):
                    self._add(f"{level.name} write {i + 1}", each)
                if kinds.reduction and each is not None:
                    self._add(f"{level.name} reduction", each * kinds.reduction)
        self.place = {name: i for i, name in enumerate(self.names)}

    def _add(self, name: str, rate: float | None) -> None:
        if rate is not None:
            self.names.append(name)
            self.rates.append(rate)

    def _terms(self, names: Sequence[str], words: float = 1.0) -> Terms:
        places = [self.place[name] for name in names if name in self.place]
        return tuple((place, words / self.rates[place]) for place in places)

    def of(self, link: Link) -> LinkPorts:
        """Return the resources that a link uses."""
        memories = {memory.name: memory for memory in self.architecture.memories}
        tensor = link.tensor
        parent, child = memories[link.parent], memories.get(link.child)
        bits = parent.word_bits if tensor.bits is None else tensor.bits
        ratio = bits / parent.word_bits
        inside = 0.0
        if child is not None:
            inside = (child.word_bits if tensor.bits is None else tensor.bits) / child.word_bits
        # operands take turns on the networks that read; what comes back is an operand, too
        operand = [t.name for t in self.layer.tensors].index(tensor.name)
        reading, writing, adding = [], [], []
        for array in link.arrays:
            kinds = array.networks
            shared = f"{array.name} network"
            turn = 0 if kinds is None else operand % kinds.read + 1
            reading.append(self._terms([shared if kinds is None else f"{array.name} read {turn}"]))
            writing.append(self._terms([shared if kinds is None else f"{array.name} write 1"]))
            adding.append(self._terms([f"{array.name} reduction"]))
        return LinkPorts(
            tensor=tensor,
            arrays=link.arrays,
            reduces=all(array.reduction for array in link.arrays),
            sending=self._terms([f"{parent.name} read", f"{parent.name} port"], ratio),
            collecting=self._terms([f"{parent.name} write", f"{parent.name} port"], ratio),
            filling=self._terms([f"{link.child} write", f"{link.child} port"], inside),
            draining=self._terms([f"{link.child} read", f"{link.child} port"], inside),
            reading=tuple(reading),
            writing=tuple(writing),
            adding=tuple(adding),
            dma=self.place.get(f"{parent.name} DMA"),
            block=parent.block_bytes,
            updates=child is None,
            parent=parent,
            element_bytes=bits / 8,
            clock_hz=self.architecture.clock_hz,
        )


@dataclass(frozen=True)
class LinkPorts:
    """The resources that the words of one link need, with the cycles per word.

    Attributes
    ----------
    tensor : Tensor
        What moves.
    arrays : tuple of Array
        What is crossed.
    reduces : bool
        Whether the arrays add up partial sums; otherwise the parent does.
    sending, collecting : Terms
        Of the parent, per word read and written.
    filling, draining : Terms
        Of the child, per word written and read.
    reading, writing, adding : tuple of Terms
        For each array: per word that goes in, comes out, and is added on the way.
    dma : int or None
        Position of the parent's DMA engine.
    block : int or None
        Bytes that the parent moves at least, and multiples of them.
    updates : bool
        Whether the child is the compute unit, which updates words in the parent.
    parent : Memory
        Where the words come from.
    element_bytes : float
        Size of an element in the parent.
    clock_hz : float
        Clock of the machine.
    """

    tensor: Tensor
    arrays: tuple[Array, ...]
    reduces: bool
    sending: Terms
    collecting: Terms
    filling: Terms
    draining: Terms
    reading: tuple[Terms, ...]
    writing: tuple[Terms, ...]
    adding: tuple[Terms, ...]
    dma: int | None
    block: int | None
    updates: bool
    parent: Memory
    element_bytes: float
    clock_hz: float

    @property
    def in_bursts(self) -> bool:
        """Whether it matters which words lie side by side: operands come one by one."""
        return not self.updates and (self.dma is not None or self.block is not None)

    def fill(self, moved: Moved, partial: bool, busy: list[float]) -> None:
        """Add what it takes to bring words to the child: partial sums only where there are some."""
        if self.tensor.is_output and not (partial and self.reduces):
            return
        self._at_parent(moved, moved.sent, self.sending, busy)
        if self.updates and self.tensor.is_output:
            return
        for words, terms in zip(moved.carried, self.reading, strict=True):
            add(terms, words, busy)
        add(self.filling, moved.entered, busy)

    def drain(self, moved: Moved, partial: bool, busy: list[float]) -> None:
        """Add what it takes to carry words of the output away."""
        if not self.tensor.is_output or not moved.sent:
            return
        self._at_parent(moved, moved.sent, self.collecting, busy)
        if not self.reduces:
            again = moved.sent if partial else moved.sent - moved.distinct
            self._at_parent(moved, again, self.sending, busy)
        for words, terms in zip(moved.carried, self.writing, strict=True):
            add(terms, words, busy)
        add(self.draining, moved.entered, busy)
        for i, terms in enumerate(self.adding):
            add(terms, self._added(moved, i), busy)

    def _at_parent(self, moved: Moved, words: int, terms: Terms, busy: list[float]) -> None:
        if not words:
            return
        bursts = ((1, words),) if self.updates else moved.bursts
        in_all: float = words
        if self.block is not None:
            blocks = sum(n * ceil(size * self.element_bytes / self.block) for size, n in bursts)
            in_all = max(words, blocks * self.block / self.element_bytes)
        add(terms, in_all, busy)
        if self.dma is None or self.parent.dma is None:
            return
        for size, times in bursts:
            length = size * self.element_bytes
            if self.block is not None:
                length = ceil(length / self.block) * self.block
            busy[self.dma] += times * self.parent.dma.cycles(length, self.clock_hz)

    def _added(self, moved: Moved, array: int) -> int:
        """Return the words that the elements of an array send one another to be added up."""
        if self.arrays[array].adders != "network":
            return 0
        return moved.gathered[array] - moved.carried[array]

    def adders(self, moved: Moved, streaming: bool = False) -> float:
        """Return the cycles until the partial sums of an array's elements are added up.

        Parameters
        ----------
        streaming : bool
            Whether sums follow each other at once, so that networks alone limit them.
        """
        if not self.tensor.is_output or not moved.sent:
            return 0.0
        cycles = 0.0
        for i, array in enumerate(self.arrays):
            if not array.reduction:
                continue
            if array.adders == "tree":
                cycles += (moved.adding[i] - 1).bit_length()
            elif array.adders == "hops":
                cycles += moved.adding[i] - 1
            elif not streaming:
                cycles += sum(self._added(moved, i) * each for _, each in self.adding[i])
        return cycles


def add(terms: Terms, words: float, busy: list[float]) -> None:
    """Add words to the resources that they need."""
    for place, cycles in terms:
        busy[place] += words * cycles

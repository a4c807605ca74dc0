"""What the search for the least off-chip traffic returns."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import prod
from typing import Any

from tilewright.architecture.units import size_text
from tilewright.workload.layer import Layer


@dataclass(frozen=True)
class Banks:
    """A memory of banks, each of which holds words of one tensor only.

    Attributes
    ----------
    count : int
    bank_bits, word_bits : int
        Size of a bank, and of a word of any tensor.
    """

    count: int
    bank_bits: int
    word_bits: int

    @property
    def bank_words(self) -> int:
        """Words of a bank."""
        return self.bank_bits // self.word_bits

    def __str__(self) -> str:
        return f"{self.count} banks of {size_text(self.bank_bits)}, {self.word_bits}-bit words"


@dataclass(frozen=True)
class BlockLoop:
    """A loop over blocks.

    Attributes
    ----------
    dimension : str
    block : int
        Iterations of the dimension in a block; the last one may have fewer.
    trips : int
        Number of blocks.
    """

    dimension: str
    block: int
    trips: int


@dataclass(frozen=True)
class TensorTraffic:
    """One tensor between DRAM and the memory.

    Attributes
    ----------
    words : int
        Size of the tensor: what moves in any case.
    banks : int
        Banks of its own.
    block_words : int
        Its largest block.
    spilled : int
        Words that leave the memory before their next use.
    reads, writes : int
        Words read from and written to DRAM. A spilled word of an input is read again; one of the
        output is written and read again (CNNFlow, Equation 1).
    """

    words: int
    banks: int
    block_words: int
    spilled: int
    reads: int
    writes: int


@dataclass(frozen=True)
class ArrayTraffic:
    """What an array of processing elements moves from and to the memory.

    Attributes
    ----------
    machine : str
        The array in words.
    weight : float
        DRAM words that a word between memory and array is worth.
    words : dict of str to int
        Words of each tensor that the array reads from and writes to the memory, in all blocks.
    rows, columns : dict of str to int
        Dimensions that are spread over the rows and the columns, and over how many elements.
    box : dict of str to int
        Iterations of each dimension that an element takes at a time.
    order : tuple of str
        Loops over the batches of a block, from outermost to innermost.
    shares : dict of str to int
        Registers of each element for each tensor.
    retains : bool
        Whether registers keep words of earlier boxes too.
    box_lower_bound : float
        What DRAM words and weighted words of the array are not below for any schedule whose
        registers hold the box at work alone.
    """

    machine: str
    weight: float
    words: dict[str, int]
    rows: dict[str, int]
    columns: dict[str, int]
    box: dict[str, int]
    order: tuple[str, ...]
    shares: dict[str, int]
    retains: bool
    box_lower_bound: float

    def text(self) -> str:
        """Return a line on the batches, and one on the words."""
        sides = [
            f"{sizes_text(side) or 'nothing'} on {name}"
            for name, side in (("rows", self.rows), ("columns", self.columns))
        ]
        words = ", ".join(f"{name} {words:,}" for name, words in self.words.items())
        holds = "retaining" if self.retains else "holding"
        return (
            f"  batches over {' '.join(self.order) or 'nothing'}: {', '.join(sides)}, "
            f"each element {sizes_text(self.box)}, {holds} {sizes_text(self.shares)}\n"
            f"  words of the array: {words}; {sum(self.words.values()):,} in all, "
            f"each worth {self.weight:g} DRAM words"
        )

    def to_dict(self) -> dict[str, Any]:
        """Return plain data."""
        return {
            "words": sum(self.words.values()),
            "weight": self.weight,
            "tensors": self.words,
            "rows": self.rows,
            "columns": self.columns,
            "box": self.box,
            "order": list(self.order),
            "shares": self.shares,
            "retains": self.retains,
            "box_lower_bound": self.box_lower_bound,
        }


def sizes_text(sizes: dict[str, int]) -> str:
    """Return the sizes of dimensions."""
    return " ".join(f"{name}={size}" for name, size in sizes.items())


@dataclass(frozen=True, repr=False)
class LayerTraffic:
    """The least off-chip traffic of a layer, and the schedule that has it.

    Attributes
    ----------
    layer : Layer
    memory : Banks
    loops : tuple of BlockLoop
        From outermost to innermost; other dimensions are whole in every block.
    tensors : dict of str to TensorTraffic
    lower_bound : float
        What `value` is not below for any schedule of the space.
    nodes, simulated : int
        Partial schedules that were bounded, and schedules that were simulated.
    seconds : float
        Time of the search.
    array : ArrayTraffic, optional
        What moves between memory and array, when it counts.
    """

    layer: Layer
    memory: Banks
    loops: tuple[BlockLoop, ...]
    tensors: dict[str, TensorTraffic]
    lower_bound: float
    nodes: int
    simulated: int
    seconds: float
    array: ArrayTraffic | None = None

    @cached_property
    def compulsory(self) -> int:
        """DRAM words that move whatever the schedule: the sizes of the tensors."""
        return sum(tensor.words for tensor in self.tensors.values())

    @cached_property
    def dram_words(self) -> int:
        """Words read from and written to DRAM."""
        return sum(tensor.reads + tensor.writes for tensor in self.tensors.values())

    @property
    def array_words(self) -> int:
        """Words between memory and array; 0 when they do not count."""
        return 0 if self.array is None else sum(self.array.words.values())

    @property
    def value(self) -> float:
        """What is least: DRAM words, and those of the array by their weight."""
        if self.array is None:
            return self.dram_words
        return self.dram_words + self.array.weight * self.array_words

    @property
    def dram_mib(self) -> float:
        """The same in MiB (2**20 bytes)."""
        return self.dram_words * self.memory.word_bits / 8 / 2**20

    @property
    def gap(self) -> float:
        """By what share of its value a better schedule could be better."""
        return 0.0 if self.optimal else 1 - self.lower_bound / self.value

    @property
    def optimal(self) -> bool:
        """Whether the lower bound is the value."""
        return self.lower_bound >= self.value * (1 - 1e-9)

    def __repr__(self) -> str:
        standing = "proven optimal" if self.optimal else f"gap {self.gap:.2%}"
        return f"<LayerTraffic of {self.layer.name}: {self.dram_words:,} DRAM words, {standing}>"

    def __str__(self) -> str:
        return self.text()

    def text(self) -> str:
        """Return the schedule as an indented loop nest, and what each tensor moves."""
        standing = "proven least" if self.optimal else f"at most {self.gap:.2%} above the least"
        if self.array is not None:
            standing += ", together with the words of the array, whatever registers retain"
            least_of_boxes = self.array.box_lower_bound >= self.value * (1 - 1e-9)
            if least_of_boxes and not self.optimal and not self.array.retains:
                standing += " (the least when they hold the box at work alone)"
        lines = [
            f"{self.layer.name}: {self.dram_words:,} DRAM words ({self.dram_mib:.2f} MiB), "
            f"{standing}; {self.compulsory:,} are compulsory"
        ]
        for depth, loop in enumerate(self.loops):
            blocks = f"{loop.trips} blocks of {loop.block}"
            lines.append("  " * (depth + 1) + f"for {loop.dimension} in {blocks}")
        lines.append("  " * (len(self.loops) + 1) + f"block {self.block_text()}")
        for name, tensor in self.tensors.items():
            banks = f"{tensor.banks} bank{'s' if tensor.banks > 1 else ''}"
            lines.append(
                f"  {name}: {banks}, block of {tensor.block_words:,} words, "
                f"{tensor.spilled:,} spilled, {tensor.reads:,} read, {tensor.writes:,} written"
            )
        if self.array is not None:
            lines.append(self.array.text())
        return "\n".join(lines)

    def block_text(self) -> str:
        """Return the iterations of each dimension in a block."""
        return sizes_text(self.block)

    @cached_property
    def block(self) -> dict[str, int]:
        """Iterations of each dimension in a block."""
        return dict(self.layer.bounds) | {loop.dimension: loop.block for loop in self.loops}

    @cached_property
    def blocks(self) -> int:
        """How many blocks there are."""
        return prod(loop.trips for loop in self.loops)

    def to_dict(self) -> dict[str, Any]:
        """Return plain data."""
        return {
            "layer": self.layer.name,
            "repeat": self.layer.repeat,
            "dram_words": self.dram_words,
            "compulsory_words": self.compulsory,
            "loops": [
                {"for": loop.dimension, "block": loop.block, "trips": loop.trips}
                for loop in self.loops
            ],
            "tensors": {
                name: {
                    "words": tensor.words,
                    "banks": tensor.banks,
                    "block_words": tensor.block_words,
                    "spilled": tensor.spilled,
                    "reads": tensor.reads,
                    "writes": tensor.writes,
                }
                for name, tensor in self.tensors.items()
            },
            "proof": {
                "optimal": self.optimal,
                "lower_bound": self.lower_bound,
                "value": self.value,
                "gap": self.gap,
                "nodes": self.nodes,
                "simulated": self.simulated,
                "seconds": self.seconds,
            },
        } | ({} if self.array is None else {"array": self.array.to_dict()})

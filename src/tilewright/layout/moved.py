"""What a count of blocks is, and how many words a block has."""

from __future__ import annotations

from dataclasses import dataclass

from tilewright.architecture.machine import Architecture
from tilewright.errors import InputError
from tilewright.workload.layer import Layer, Tensor


@dataclass(frozen=True)
class BlockCounts:
    """Blocks of one tensor that the outermost memory moves.

    Attributes
    ----------
    reads, writes : int
        Blocks read and written; a block that several steps touch counts in each.
    words : int
        Words of the tensor in a block.
    """

    reads: int
    writes: int
    words: int


def block_words(architecture: Architecture, tensor: Tensor) -> int:
    """Return how many words of a tensor a block of the outermost memory holds.

    Raises
    ------
    InputError
        When the machine names no block, or a block is not a whole number of words.
    """
    outer = architecture.memories[0]
    if outer.block_bytes is None:
        raise InputError(
            f"'{outer.name}' of '{architecture.name}' has no block; data layouts need its size, "
            "such as 'block: 64 B' in the architecture",
            key="block",
        )
    bits = tensor.bits or outer.word_bits
    if outer.block_bytes * 8 % bits:
        raise InputError(
            f"a block of {outer.block_bytes} B is not a whole number of the {bits}-bit words of "
            f"tensor '{tensor.name}'",
            key="block",
        )
    return outer.block_bytes * 8 // bits


def laid_out(layer: Layer, architecture: Architecture) -> bool:
    """Whether the layouts that a workload has itself matter: the outermost memory has blocks."""
    blocks = architecture.memories[0].block_bytes is not None
    return blocks and any(tensor.layout is not None for tensor in layer.tensors)

"""The blocks that a mapping moves, by brute force: the words of every step, block by block.

This is the definition of what is counted; `tilewright.layout.traffic` computes the same numbers
in closed form.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from collections.abc import Mapping as Dict

from tilewright.architecture.machine import Architecture
from tilewright.layout.moved import BlockCounts, block_words
from tilewright.mapping.nodes import Mapping
from tilewright.mapping.structure import resolve
from tilewright.reference.simulate import Simulation, Word, restrict
from tilewright.workload.axis_order import Digit, Layout, address, digits
from tilewright.workload.layer import Layer, Tensor


def simulated_blocks(
    simulation: Simulation, tensor: Tensor, where: Sequence[Digit], block: int
) -> tuple[int, int]:
    """Return the blocks of a tensor that are read and written, by moving them.

    In every step, a block is read when it has a word that leaves the outermost memory, and
    written when it has a word that arrives: once, however many words and instances that are.

    Parameters
    ----------
    simulation : Simulation
        A mapping that is carried out.
    tensor : Tensor
        Whose blocks are counted.
    where : sequence of Digit
        Its layout, see `workload.layout.digits`.
    block : int
        Words in a block.
    """
    moved = again = 0
    seen: set[Word] = set()
    for words in moves(simulation, tensor):
        moved += distinct(words, where, block)
        again += distinct(words & seen, where, block)
        seen |= words
    # what arrives at the outermost memory was a partial sum there before: it was read back
    return (again, moved) if tensor.is_output else (moved, 0)


def simulate_blocks(
    layer: Layer, architecture: Architecture, mapping: Mapping, layouts: Dict[str, Layout]
) -> dict[str, BlockCounts]:
    """Return the blocks of each tensor that a mapping moves, see `simulated_blocks`.

    Parameters
    ----------
    layer, architecture, mapping, layouts
        As for `layout.count.count_blocks`.

    Raises
    ------
    InputError
        When the machine has no blocks.
    """
    simulation = Simulation(layer, architecture, resolve(mapping, layer, architecture))
    found = {}
    for tensor in layer.tensors:
        words = block_words(architecture, tensor)
        where = digits(layouts[tensor.name], tensor, layer.bounds)
        found[tensor.name] = BlockCounts(*simulated_blocks(simulation, tensor, where, words), words)
    return found


def moves(simulation: Simulation, tensor: Tensor) -> Iterator[set[Word]]:
    """Yield at each step the words that move between the outermost memory and those inside."""
    link = simulation.structure.links[tensor.name][0]
    cuts = [i for i in simulation.cuts if i < link.depth]
    spatial = simulation.spatial(cuts)
    inside = {array.name for array in link.arrays}
    parents = frozenset(array for array in spatial if array not in inside)
    forwards = not tensor.is_output and any(array.forwarding for array in link.arrays)
    for entering, resident in simulation.moves(link, cuts, frozenset()):
        held: dict[tuple[int, ...], set[Word]] = defaultdict(set)
        if forwards:
            for instance, tile in resident:
                held[restrict(instance, spatial, parents)] |= tile
        words: set[Word] = set()
        for instance, tile in entering:
            words |= tile - held[restrict(instance, spatial, parents)]
        yield words


def distinct(words: set[Word], where: Sequence[Digit], block: int) -> int:
    """Return how many blocks some words touch."""
    return len({address(where, word) // block for word in words})

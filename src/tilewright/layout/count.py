"""The blocks that a mapping moves between the outermost memory and those inside it."""

from __future__ import annotations

from collections.abc import Mapping as Dict

from tilewright.architecture.machine import Architecture
from tilewright.errors import InputError
from tilewright.layout.blocks import Blocks
from tilewright.layout.moved import BlockCounts, block_words
from tilewright.layout.simulate import simulated_blocks
from tilewright.layout.traffic import Traffic, indices
from tilewright.mapping.nodes import Mapping
from tilewright.mapping.structure import Structure, resolve
from tilewright.reference.simulate import LIMIT, Simulation
from tilewright.workload.axis_order import Layout, digits, orders
from tilewright.workload.footprint import footprint
from tilewright.workload.layer import Layer, Tensor


def count_blocks(
    layer: Layer, architecture: Architecture, mapping: Mapping, layouts: Dict[str, Layout]
) -> dict[str, BlockCounts]:
    """Return the blocks of each tensor that a mapping moves.

    Parameters
    ----------
    layer, architecture, mapping
        What is computed, on what, and how; the mapping is valid.
    layouts : mapping of str to Layout
        By tensor.

    Raises
    ------
    InputError
        When the machine has no blocks, or a tensor moves in a way that can only be counted step by
        step (see docs/layouts.md) and the layer has more than 2 million operations.
    """
    structure = resolve(mapping, layer, architecture)
    return {
        tensor.name: tensor_blocks(layer, architecture, structure, tensor, layouts[tensor.name])
        for tensor in layer.tensors
    }


def tensor_blocks(
    layer: Layer, architecture: Architecture, structure: Structure, tensor: Tensor, layout: Layout
) -> BlockCounts:
    """Return the blocks of one tensor that a mapping moves, see `count_blocks`."""
    words = block_words(architecture, tensor)
    where = digits(layout, tensor, layer.bounds)
    link = structure.links[tensor.name][0]
    traffic = Traffic(
        link,
        structure.loops[: link.depth],
        layer.bounds,
        Blocks(where, words),
        link.child != architecture.compute.name,
    )
    obstacle = traffic.obstacle
    if not obstacle:
        moved = traffic.moved()
        pair = (moved - traffic.first(), moved) if tensor.is_output else (moved, 0)
    elif layer.operations <= LIMIT:
        pair = simulated_blocks(Simulation(layer, architecture, structure), tensor, where, words)
    else:
        raise InputError(
            f"the blocks of tensor '{tensor.name}' can only be counted step by step: {obstacle}; "
            f"layer '{layer.name}' has {layer.operations} operations, at most {LIMIT} are carried "
            "out",
            key=f"layouts.{tensor.name}",
        )
    return BlockCounts(*pair, words)


def wasted_words(layer: Layer, architecture: Architecture, tensor: Tensor, layout: Layout) -> int:
    """Return the words in the blocks of a tensor that no operation asks for.

    A mapping moves at least so many more words in blocks than it asks for: whenever it moves a
    block, it moves all of it, and each block moves at least once.
    """
    words = block_words(architecture, tensor)
    blocks = Blocks(digits(layout, tensor, layer.bounds), words)
    touched = tuple(
        tuple(sorted(indices(terms, [(0, layer.bounds[t.dimension]) for t in terms])))
        for terms in tensor.expressions
    )
    return int(blocks.touched(touched)[0]) * words - footprint(tensor, layer.bounds)


def best_layouts(layer: Layer, architecture: Architecture, mapping: Mapping) -> dict[str, Layout]:
    """Return for each tensor the order of its axes with which a mapping moves the fewest blocks."""
    structure = resolve(mapping, layer, architecture)

    def blocks(tensor: Tensor, layout: Layout) -> int:
        counts = tensor_blocks(layer, architecture, structure, tensor, layout)
        return counts.reads + counts.writes

    return {
        tensor.name: min(orders(tensor, layer.bounds), key=lambda order: blocks(tensor, order))
        for tensor in layer.tensors
    }

"""What the tile sizes of a mapping structure must fit: axes, and capacities of memories."""

from __future__ import annotations

from math import gcd

import numpy as np

from tilewright.architecture.machine import Architecture
from tilewright.mapping.nodes import Spatial
from tilewright.model.closed_form.fits import Limits
from tilewright.model.closed_form.queries.plan import groups
from tilewright.model.closed_form.traffic import Structure, Traffic
from tilewright.model.energy import element_bits
from tilewright.workload.layer import Layer, Tensor


def limits_of(layer: Layer, architecture: Architecture, structure: Structure) -> Limits:
    """Return what tile sizes must fit."""
    number = {name: d for d, name in enumerate(layer.dimensions)}
    own = [number[node.dimension] for node in structure.loops]

    def extent_above(loops: int, dim: int) -> int:
        """Return which extent a dimension has below so many loops."""
        above = [i for i in range(loops) if own[i] == dim]
        return above[-1] if above else len(own) + dim

    axes = [(array.name, axis) for array in architecture.arrays for axis in array.axes]
    room: list[int] = []
    tile_start, tile_bits, index_start, term_start = [0], [], [0], [0]
    term_extent: list[int] = []
    term_coef: list[int] = []
    traffic = Traffic(layer, architecture, structure)

    def limit(bits: int, memory_index: int, tensors: list[Tensor]) -> None:
        memory = architecture.memories[memory_index]
        for tensor in tensors:
            for peak in traffic.peak(memory.name, tensor.name):
                for group in groups(layer, peak.tensor):
                    if not group.relevant:
                        continue
                    loops = len(peak.modes)
                    term_extent.extend(extent_above(loops, d) for d in group.dims)
                    common = gcd(*group.coefficients)
                    term_coef.extend(c // common for c in group.coefficients)
                    term_start.append(len(term_coef))
                index_start.append(len(term_start) - 1)
                tile_bits.append(element_bits(memory, tensor) * memory.buffering)
        tile_start.append(len(tile_bits))
        room.append(bits)

    for m, memory in enumerate(architecture.memories):
        if memory.capacity_bits is not None:
            limit(memory.capacity_bits, m, list(layer.tensors))
        for tensor in layer.tensors if memory.tensor_bits is not None else ():
            limit((memory.tensor_bits or {}).get(tensor.role, 0), m, [tensor])
    lists = (
        [extent_above(i, d) for i, d in enumerate(own)],
        [
            axes.index((node.array, node.axis)) if isinstance(node, Spatial) else -1
            for node in structure.loops
        ],
        [size for array in architecture.arrays for size in array.axes.values()],
        room, tile_start, tile_bits, index_start, term_start, term_extent, term_coef,
    )  # fmt: skip
    return Limits(*(np.array(values, np.int64) for values in lists))

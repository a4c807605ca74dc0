"""What distinguishes two good mappings: what is spatial, what is stored where, what stays."""

from __future__ import annotations

from collections.abc import Mapping as Dict
from dataclasses import dataclass
from typing import Any

from tilewright.architecture.machine import Architecture
from tilewright.mapping.nodes import Mapping
from tilewright.mapping.structure import Structure, resolve
from tilewright.workload.layer import Layer


@dataclass(frozen=True)
class Dataflow:
    """How a mapping works, its tile sizes aside.

    Attributes
    ----------
    unrolled : mapping of array to mapping of dimension to int
        Spatially unrolled dimensions of each array, with the number of chunks.
    stored : mapping of memory to tuple of str
        Tensors that each memory but the outermost stores.
    stationary : tuple of str
        Tensors whose tiles stay longest in the innermost memory, see `stationary`; none where that
        memory stores nothing or is the outermost one.
    """

    unrolled: Dict[str, Dict[str, int]]
    stored: Dict[str, tuple[str, ...]]
    stationary: tuple[str, ...]

    @property
    def spatial(self) -> tuple[frozenset[str], ...]:
        """The set of spatially unrolled dimensions of each array."""
        return tuple(frozenset(factors) for factors in self.unrolled.values())

    @property
    def kept(self) -> tuple[str, ...]:
        """The tensors that the innermost memory stores; none where it is the outermost one."""
        return next(reversed(list(self.stored.values())), ())

    def spatial_text(self) -> str:
        """Return what is unrolled, for people."""
        parts = [
            f"{array} {' x '.join(f'{d} {n}' for d, n in factors.items()) or 'idle'}"
            for array, factors in self.unrolled.items()
        ]
        return ", ".join(parts) or "nothing"

    def stored_text(self) -> str:
        """Return what is stored where, for people."""
        parts = [f"{name} {' '.join(held) or '-'}" for name, held in self.stored.items()]
        return ", ".join(parts) or "nothing"

    def stationary_text(self) -> str:
        """Return what stays, for people."""
        return " ".join(self.stationary) or "-"

    def to_dict(self) -> dict[str, Any]:
        """Return the dataflow as plain data."""
        return {
            "spatial": {array: dict(factors) for array, factors in self.unrolled.items()},
            "stored": {name: list(held) for name, held in self.stored.items()},
            "stationary": list(self.stationary),
        }


def dataflow(mapping: Mapping, layer: Layer, architecture: Architecture) -> Dataflow:
    """Return how a valid mapping works."""
    structure = resolve(mapping, layer, architecture)
    unrolled: dict[str, dict[str, int]] = {array.name: {} for array in architecture.arrays}
    for loop in structure.loops:
        if loop.array is not None and loop.chunks > 1:
            factors = unrolled[loop.array]
            factors[loop.dimension] = factors.get(loop.dimension, 1) * loop.chunks
    in_order = {
        array: {d: factors[d] for d in layer.dimensions if d in factors}
        for array, factors in unrolled.items()
    }
    stored = {
        memory.name: tuple(
            tensor.name
            for tensor in layer.tensors
            if (memory.name, tensor.name) in structure.depths
        )
        for memory in architecture.memories[1:]
    }
    return Dataflow(in_order, stored, stationary(structure, layer, architecture))


def stationary(structure: Structure, layer: Layer, architecture: Architecture) -> tuple[str, ...]:
    """Return the tensors whose tiles stay longest in the innermost memory.

    Only loops below the array around that memory are looked at (where it is idle, below the first
    store node inside it). The tile of a tensor changes as often as the innermost of them that is
    relevant to the tensor, and above its store node, advances. The tensors for which that loop
    stands outermost, or for which there is none, are stationary: often several.
    """
    innermost = architecture.memories[-1]
    names = [t.name for t in layer.tensors if (innermost.name, t.name) in structure.depths]
    if len(architecture.memories) == 1 or not names:
        return ()
    position = architecture.position
    around = [a.name for a in architecture.arrays if position[a.name] < position[innermost.name]]
    loops = structure.loops[: structure.named]
    inside = [
        depth
        for (memory, _), depth in structure.depths.items()
        if not around or position[memory] > position[around[-1]]
    ]
    unrolled = [i + 1 for i, x in enumerate(loops) if around and x.array == around[-1]]
    spread = [i for i in unrolled if loops[i - 1].chunks > 1]
    start = spread[-1] if spread else min(inside) if around else 0
    changes = {
        tensor.name: max(
            (
                i
                for i in range(start, structure.depths[innermost.name, tensor.name])
                if loops[i].chunks > 1 and loops[i].dimension in tensor.dimensions
            ),
            default=-1,
        )
        for tensor in layer.tensors
        if tensor.name in names
    }
    least = min(changes.values())
    return tuple(name for name, change in changes.items() if change == least)

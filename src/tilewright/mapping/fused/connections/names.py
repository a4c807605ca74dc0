"""Names in the shared nodes of fused mappings, and what they stand for."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tilewright.errors import InputError
from tilewright.mapping.fused.connections.segments import Access, Segment
from tilewright.mapping.fused.tree import HALO_MODES, Halo
from tilewright.mapping.names import unknown

HERE = "the segment"


def find_tensors(names: Sequence[str] | None, segment: Segment) -> tuple[str, ...]:
    """Return tensors of a segment, in its order; those that are not intermediate for no names.

    They are named by their name in the graph, or by ``layer.tensor``.
    """
    if names is None:
        return tuple(tensor.name for tensor in segment.tensors if not tensor.intermediate)
    own = {f"{a.layer}.{a.tensor}": name for a, name in segment.shared_name.items()}
    valid = own | {name: name for name in segment.tensor_of}
    found = []
    for name in names:
        if name not in valid:
            accepted = list(segment.tensor_of)
            raise InputError(unknown("tensor", name, accepted, HERE), key="tensors")
        if valid[name] in found:
            raise InputError(f"tensor '{name}' is named twice", key="tensors")
        found.append(valid[name])
    return tuple(name for name in segment.tensor_of if name in found)


def find_dimension(name: str, segment: Segment) -> str:
    """Return the name of a dimension that some layer has; ``layer.dimension`` says of which."""
    if not named_dimensions(name, segment):
        accepted = dict.fromkeys(d for layer in segment.layers for d in layer.bounds)
        raise InputError(unknown("dimension", name, list(accepted), HERE), key="for")
    return name


def named_dimensions(name: str, segment: Segment) -> list[Access]:
    """Return what a name of a dimension may mean: layers that have it, and its name there."""
    found = [Access(layer.name, name) for layer in segment.layers if name in layer.bounds]
    if not found and "." in name:
        owner, _, dimension = name.rpartition(".")
        layer = segment.layer_of.get(owner)
        if layer is not None and dimension in layer.bounds:
            return [Access(owner, dimension)]
    return found


def find_halo(tensor: Any, dimension: Any, mode: Any, segment: Segment) -> Halo:
    """Return a halo; the error's key is empty where it is about the tensor."""
    made = {t.name: t for t in segment.tensors if t.producer is not None and t.readers}
    if tensor not in made:
        raise InputError(unknown("exchanged tensor", str(tensor), list(made), HERE))
    producer = made[tensor].producer
    assert producer is not None
    output = segment.layer_of[producer.layer].output
    if dimension not in output.dimensions:
        where = f"tensor '{tensor}', made by layer '{producer.layer}'"
        message = unknown("dimension", str(dimension), output.dimensions, where)
        raise InputError(message, key="dimension")
    if mode not in HALO_MODES:
        message = unknown("mode", str(mode), HALO_MODES, "halos")
        raise InputError(message, key="mode")
    return Halo(tensor, dimension, mode)

"""Names that people write in mappings, and what they stand for."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from tilewright.architecture.machine import Architecture, Array, Memory
from tilewright.errors import InputError, nearest
from tilewright.workload.layer import Layer

ROLE_WORDS = {
    "input": "I",
    "inputs": "I",
    "weight": "W",
    "weights": "W",
    "output": "O",
    "outputs": "O",
}


def unknown(kind: str, name: str, valid: Collection[str], where: str) -> str:
    """Return the message for a name that does not exist."""
    listed = ", ".join(valid) if valid else "none"
    return f"no {kind} '{name}' in {where}; accepted: {listed}{nearest(name, valid)}"


def find_memory(name: str, architecture: Architecture) -> Memory:
    """Return a memory by name."""
    memories = {memory.name: memory for memory in architecture.memories}
    if name not in memories:
        where = f"architecture '{architecture.name}'"
        raise InputError(unknown("memory", name, memories, where), key="store")
    return memories[name]


def find_tensors(names: Sequence[str], layer: Layer) -> tuple[str, ...]:
    """Return tensors, in the order of the layer.

    They are named by name, by role (``I``, ``W``, ``O``) or as inputs, weights and outputs.
    """
    accepted = [tensor.name for tensor in layer.tensors]
    valid = tensor_names(layer)
    found = []
    for name in names:
        if name not in valid:
            message = unknown("tensor", name, accepted, f"layer '{layer.name}'")
            raise InputError(message, key="tensors")
        if valid[name] in found:
            raise InputError(f"tensor '{name}' is named twice", key="tensors")
        found.append(valid[name])
    return tuple(tensor.name for tensor in layer.tensors if tensor.name in found)


def tensor_names(layer: Layer) -> dict[str, str]:
    """Return the names by which people may call the tensors of a layer, with those tensors."""
    roles = {tensor.role: tensor.name for tensor in layer.tensors}
    words = {word: roles[role] for word, role in ROLE_WORDS.items() if role in roles}
    return words | roles | {tensor.name: tensor.name for tensor in layer.tensors}


def role_names(names: Collection[str], layer: Layer) -> tuple[str, ...]:
    """Return the tensors that are named and that the layer has, in its order."""
    valid = tensor_names(layer)
    found = {valid[name] for name in names if name in valid}
    return tuple(tensor.name for tensor in layer.tensors if tensor.name in found)


def storable(memory: Memory, layer: Layer) -> tuple[str, ...]:
    """Return the tensors that a memory may store: those meant where none are named."""
    return tuple(tensor.name for tensor in layer.tensors if memory.may_store(tensor.role))


def find_dimension(name: str, layer: Layer, key: str) -> str:
    """Return a dimension by name; `key` is where it stands."""
    if name not in layer.bounds:
        where = f"layer '{layer.name}'"
        raise InputError(unknown("dimension", name, layer.dimensions, where), key=key)
    return name


def find_array(name: str | None, architecture: Architecture) -> Array:
    """Return an array by name; none is needed where the machine has a single one."""
    arrays = {array.name: array for array in architecture.arrays}
    if not arrays:
        raise InputError(f"architecture '{architecture.name}' has no array", key="spatial")
    if name is None and len(arrays) == 1:
        return architecture.arrays[0]
    if name is None:
        message = f"'array' is needed, for the machine has several: {', '.join(arrays)}"
        raise InputError(message, key="spatial")
    if name not in arrays:
        where = f"architecture '{architecture.name}'"
        raise InputError(unknown("array", name, arrays, where), key="array")
    return arrays[name]


def find_axis(name: str | None, array: Array) -> str:
    """Return an axis by name; none is needed where the array has a single one."""
    if name is None and len(array.axes) == 1:
        return next(iter(array.axes))
    if name is None:
        message = f"'axis' is needed, for array '{array.name}' has several: {', '.join(array.axes)}"
        raise InputError(message, key="spatial")
    if name not in array.axes:
        raise InputError(unknown("axis", name, array.axes, f"array '{array.name}'"), key="axis")
    return name

"""Whether a mapping can be carried out on a machine."""

from __future__ import annotations

from collections.abc import Iterator
from math import prod

from tilewright.architecture.machine import Architecture, Memory
from tilewright.errors import MappingError, nearest
from tilewright.mapping.nodes import For, Mapping, Spatial, Store
from tilewright.mapping.structure import Structure, resolve
from tilewright.workload.layer import Layer, Tensor

Fault = tuple[int | None, str]
"""Position of a node (None: the mapping as a whole), and what is wrong there."""


def check(mapping: Mapping, layer: Layer, architecture: Architecture) -> None:
    """Accept a mapping that can be carried out.

    Raises
    ------
    MappingError
        For the first thing that is wrong. Its ``key`` is ``mapping[i]`` for node i.
    """
    for node, message in faults(mapping, layer, architecture):
        raise MappingError(message, key="mapping" if node is None else f"mapping[{node}]")


def faults(mapping: Mapping, layer: Layer, architecture: Architecture) -> Iterator[Fault]:
    """Yield what is wrong with a mapping; only the first fault is sure to be one."""
    yield from name_faults(mapping, layer, architecture)
    yield from loop_faults(mapping, layer, architecture)
    yield from store_faults(mapping, layer, architecture)
    yield from placement_faults(mapping, architecture)
    yield from capacity_faults(resolve(mapping, layer, architecture), layer, architecture)


def unknown(kind: str, name: str, valid: list[str], where: str) -> str:
    """Return the message for a name that does not exist."""
    listed = ", ".join(valid) if valid else "none"
    return f"no {kind} '{name}' in {where}; accepted: {listed}{nearest(name, valid)}"


def name_faults(mapping: Mapping, layer: Layer, architecture: Architecture) -> Iterator[Fault]:
    """Yield names that the layer or the machine does not have."""
    memories = [memory.name for memory in architecture.memories]
    arrays = {array.name: list(array.axes) for array in architecture.arrays}
    tensors = [tensor.name for tensor in layer.tensors]
    machine, nest = f"architecture '{architecture.name}'", f"layer '{layer.name}'"
    for i, node in enumerate(mapping.nodes):
        if isinstance(node, Store):
            if node.memory not in memories:
                yield i, unknown("memory", node.memory, memories, machine)
            for tensor in node.tensors:
                if tensor not in tensors:
                    yield i, unknown("tensor", tensor, tensors, nest)
            continue
        if node.dimension not in layer.bounds:
            yield i, unknown("dimension", node.dimension, list(layer.dimensions), nest)
        if isinstance(node, Spatial):
            if node.array not in arrays:
                yield i, unknown("array", node.array, list(arrays), machine)
            elif node.axis not in arrays[node.array]:
                yield i, unknown("axis", node.axis, arrays[node.array], f"array '{node.array}'")


def loop_faults(mapping: Mapping, layer: Layer, architecture: Architecture) -> Iterator[Fault]:
    """Yield tile sizes that do not fit, and spatial loops that an axis has no room for."""
    extents = dict(layer.bounds)
    arrays = {array.name: array for array in architecture.arrays}
    unrolled: dict[tuple[str, str], list[int]] = {}
    for i, node in enumerate(mapping.nodes):
        if isinstance(node, Store):
            continue
        dimension, tile, extent = node.dimension, node.tile, extents[node.dimension]
        if not 1 <= tile <= extent:
            yield (
                i,
                f"tile of {dimension} must be 1 to {extent}, its extent here; found {tile}",
            )
        extents[dimension] = tile
        if isinstance(node, For):
            continue
        array, axis = arrays[node.array], node.axis
        allowed = architecture.allowed_dimensions(array.name, axis)
        if allowed is not None and dimension not in allowed:
            accepted = ", ".join(sorted(allowed)) or "none"
            yield (
                i,
                (
                    f"axis {axis} of '{array.name}' may not unroll {dimension} "
                    f"(constraints of '{architecture.name}'); accepted: {accepted}"
                ),
            )
        chunks = unrolled.setdefault((array.name, axis), [])
        chunks.append(-(-extent // tile) if tile > 0 else 1)
        if prod(chunks) > array.axes[axis]:
            needs = " x ".join(map(str, chunks))
            yield (
                i,
                (
                    f"axis {axis} of '{array.name}' has {array.axes[axis]} elements, but the spatial "
                    f"loops on it need {needs}{f' = {prod(chunks)}' if len(chunks) > 1 else ''}"
                ),
            )


def store_faults(mapping: Mapping, layer: Layer, architecture: Architecture) -> Iterator[Fault]:
    """Yield store nodes that a memory or the order of the memories forbids."""
    memories = {memory.name: memory for memory in architecture.memories}
    outermost = architecture.memories[0].name
    stored: dict[str, list[str]] = {tensor.name: [] for tensor in layer.tensors}
    looped = False
    for i, node in enumerate(mapping.nodes):
        if not isinstance(node, Store):
            looped = True
            continue
        if not node.tensors:
            yield i, f"'{node.memory}' stores no tensor here"
        if looped and node.memory == outermost:
            yield i, f"'{outermost}', the outermost memory, must store its tensors above every loop"
        for tensor in (t for t in layer.tensors if t.name in node.tensors):
            above = stored[tensor.name]
            if node.tensors.count(tensor.name) > 1 or node.memory in above:
                yield i, f"'{node.memory}' stores {tensor.name} twice"
            elif not above and node.memory != outermost:
                yield (
                    i,
                    (
                        f"'{node.memory}' stores {tensor.name}, which the outermost memory "
                        f"'{outermost}' must store first"
                    ),
                )
            elif above and architecture.position[node.memory] < architecture.position[above[-1]]:
                yield (
                    i,
                    (
                        f"'{node.memory}' stores {tensor.name} below '{above[-1]}', which lies inside "
                        f"it: stores of a tensor follow the order {', '.join(memories)}"
                    ),
                )
            if not memories[node.memory].may_store(tensor.role):
                yield i, f"'{node.memory}' may not store {tensor.name}{kept(memories[node.memory])}"
            above.append(node.memory)
    for tensor in layer.tensors:
        if not stored[tensor.name]:
            yield (
                None,
                f"'{outermost}', the outermost memory, must store every tensor: {tensor.name} is missing",
            )
        for memory in architecture.memories:
            if tensor.role in memory.must_keep and memory.name not in stored[tensor.name]:
                yield None, f"'{memory.name}' must keep {tensor.name}, but has no store node for it"


def kept(memory: Memory) -> str:
    """Return what a memory keeps, for a message."""
    roles = set(memory.tensor_bits) if memory.tensor_bits is not None else None
    if memory.keep is not None:
        roles = set(memory.keep) if roles is None else roles & memory.keep
    return f"; it keeps {', '.join(sorted(roles)) or 'nothing'}" if roles is not None else ""


def placement_faults(mapping: Mapping, architecture: Architecture) -> Iterator[Fault]:
    """Yield spatial loops that do not stand between the memories around their array."""
    position = architecture.position
    for i, node in enumerate(mapping.nodes):
        if not isinstance(node, Spatial):
            continue
        for j, store in enumerate(mapping.nodes):
            if not isinstance(store, Store):
                continue
            inside = position[store.memory] > position[node.array]
            if inside and j < i:
                yield (
                    i,
                    (
                        f"spatial loop on '{node.array}' stands below the store node of "
                        f"'{store.memory}' (mapping[{j}]), which lies inside the array"
                    ),
                )
            if not inside and j > i:
                yield (
                    i,
                    (
                        f"spatial loop on '{node.array}' stands above the store node of "
                        f"'{store.memory}' (mapping[{j}]), which lies outside the array"
                    ),
                )


def capacity_faults(
    structure: Structure, layer: Layer, architecture: Architecture
) -> Iterator[Fault]:
    """Yield memories whose tiles do not fit."""
    for memory in architecture.memories:
        stored = [t for t in layer.tensors if (memory.name, t.name) in structure.depths]
        words = {t.name: structure.tile_words(memory.name, t) for t in stored}
        if memory.capacity_bits is not None:
            yield from overflow(memory, stored, words, memory.capacity_bits, "")
        for tensor in stored:
            if memory.tensor_bits is not None and tensor.role in memory.tensor_bits:
                share = memory.tensor_bits[tensor.role]
                yield from overflow(memory, [tensor], words, share, f" for {tensor.name}")


def overflow(
    memory: Memory, tensors: list[Tensor], words: dict[str, int], capacity: int, share: str
) -> Iterator[Fault]:
    """Yield by how much the tiles of some tensors exceed a capacity, and which fill it."""
    bits = {t.name: words[t.name] * element_bits(t, memory) * memory.buffering for t in tensors}
    needed = sum(bits.values())
    if needed <= capacity:
        return
    largest = sorted(tensors, key=lambda t: -bits[t.name])
    fill = ", ".join(
        f"{t.name} {words[t.name]} words x {element_bits(t, memory)} bits" for t in largest
    )
    twice = ", all of them twice (double buffering)" if memory.buffering == 2 else ""
    yield (
        None,
        (
            f"does not fit into '{memory.name}': {needed} bits needed, {capacity} there{share}, "
            f"{needed - capacity} too many; it holds {fill}{twice}"
        ),
    )


def element_bits(tensor: Tensor, memory: Memory) -> int:
    """Return the width of a tensor's element in a memory, the memory's word unless it is given."""
    return memory.word_bits if tensor.bits is None else tensor.bits

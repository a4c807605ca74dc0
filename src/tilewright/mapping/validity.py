"""Whether a mapping can be carried out on a machine."""

from __future__ import annotations

from math import prod

from tilewright.architecture.machine import Architecture, Memory
from tilewright.errors import MappingError
from tilewright.mapping.constraints import violations
from tilewright.mapping.names import unknown
from tilewright.mapping.nodes import For, Mapping, Spatial, Store
from tilewright.mapping.relevance import in_letters
from tilewright.mapping.structure import Structure, resolve
from tilewright.workload.layer import Layer, Tensor


def check(mapping: Mapping, layer: Layer, architecture: Architecture) -> None:
    """Accept a mapping that can be carried out.

    Parameters
    ----------
    mapping : Mapping
        Nodes, outermost first.
    layer : Layer
        What is computed.
    architecture : Architecture
        What computes it.

    Raises
    ------
    MappingError
        For the first thing that is wrong. Its ``key`` is ``mapping[i]`` where it concerns node i.
    """
    check_names(mapping, layer, architecture)
    check_loops(mapping, layer, architecture)
    check_stores(mapping, layer, architecture)
    check_placement(mapping, architecture)
    check_capacity(resolve(mapping, layer, architecture), layer, architecture)
    for violated in violations(mapping, layer, architecture):
        raise fault(f"by the constraints of '{architecture.name}' {violated}")


def fault(message: str, node: int | None = None) -> MappingError:
    """Return the error for node number `node`, or for the mapping as a whole."""
    return MappingError(message, key="mapping" if node is None else f"mapping[{node}]")


def check_names(mapping: Mapping, layer: Layer, architecture: Architecture) -> None:
    """Refuse names that the layer or the machine does not have."""
    memories = [memory.name for memory in architecture.memories]
    arrays = {array.name: list(array.axes) for array in architecture.arrays}
    tensors = [tensor.name for tensor in layer.tensors]
    machine, nest = f"architecture '{architecture.name}'", f"layer '{layer.name}'"
    for i, node in enumerate(mapping.nodes):
        if isinstance(node, Store):
            if node.memory not in memories:
                raise fault(unknown("memory", node.memory, memories, machine), i)
            for tensor in node.tensors:
                if tensor not in tensors:
                    raise fault(unknown("tensor", tensor, tensors, nest), i)
            continue
        if node.dimension not in layer.bounds:
            raise fault(unknown("dimension", node.dimension, list(layer.dimensions), nest), i)
        if isinstance(node, Spatial):
            if node.array not in arrays:
                raise fault(unknown("array", node.array, list(arrays), machine), i)
            if node.axis not in arrays[node.array]:
                axes = arrays[node.array]
                raise fault(unknown("axis", node.axis, axes, f"array '{node.array}'"), i)


def check_loops(mapping: Mapping, layer: Layer, architecture: Architecture) -> None:
    """Refuse tile sizes that do not fit, and spatial loops that an axis has no room for."""
    extents = dict(layer.bounds)
    machine = in_letters(architecture, layer)
    arrays = {array.name: array for array in architecture.arrays}
    unrolled: dict[tuple[str, str], list[int]] = {}
    for i, node in enumerate(mapping.nodes):
        if isinstance(node, Store):
            continue
        dimension, tile, extent = node.dimension, node.tile, extents[node.dimension]
        if not 1 <= tile <= extent:
            accepted = f"must be from 1 to {extent}, the extent of {dimension} here"
            raise fault(f"tile of {dimension} {accepted}; found {tile}", i)
        extents[dimension] = tile
        if isinstance(node, For):
            continue
        array, axis = arrays[node.array], node.axis
        allowed = machine.allowed_dimensions(array.name, axis)
        if allowed is not None and dimension not in allowed and tile < extent:
            raise fault(
                f"axis {axis} of '{array.name}' may not unroll {dimension} by the constraints "
                f"of '{architecture.name}'; accepted: {', '.join(sorted(allowed)) or 'none'}",
                i,
            )
        chunks = unrolled.setdefault((array.name, axis), [])
        chunks.append(-(-extent // tile))
        if prod(chunks) > array.axes[axis]:
            product = " x ".join(map(str, chunks))
            needs = f"{product} = {prod(chunks)}" if len(chunks) > 1 else product
            raise fault(
                f"the spatial loops on axis {axis} of '{array.name}' need {needs} elements, "
                f"it has {array.axes[axis]}",
                i,
            )


def check_stores(mapping: Mapping, layer: Layer, architecture: Architecture) -> None:
    """Refuse store nodes that a memory or the order of the memories forbids."""
    memories = {memory.name: memory for memory in architecture.memories}
    outermost = architecture.memories[0].name
    stored: dict[str, list[str]] = {tensor.name: [] for tensor in layer.tensors}
    looped = False
    for i, node in enumerate(mapping.nodes):
        if not isinstance(node, Store):
            looped = True
            continue
        memory = memories[node.memory]
        if not node.tensors:
            raise fault(f"'{memory.name}' stores no tensor here", i)
        if looped and memory.name == outermost:
            raise fault(f"'{outermost}' is the outermost memory: it stores above every loop", i)
        for name in node.tensors:
            above = stored[name]
            if memory.name in above:
                raise fault(f"'{memory.name}' stores {name} twice", i)
            if not above and memory.name != outermost:
                raise fault(
                    f"'{memory.name}' stores {name} before '{outermost}', the outermost memory", i
                )
            if above and architecture.position[memory.name] < architecture.position[above[-1]]:
                raise fault(
                    f"'{memory.name}' stores {name} below '{above[-1]}', but the stores of a "
                    f"tensor follow the order of the memories: {', '.join(memories)}",
                    i,
                )
            above.append(memory.name)
        for tensor in layer.tensors:
            if tensor.name in node.tensors and not memory.may_store(tensor.role):
                raise fault(f"'{memory.name}' may not store {tensor.name}{kept(memory)}", i)
    for tensor in layer.tensors:
        if not stored[tensor.name]:
            raise fault(f"'{outermost}', the outermost memory, does not store {tensor.name}")
        for memory in architecture.memories:
            if tensor.role in memory.must_keep and memory.name not in stored[tensor.name]:
                raise fault(f"'{memory.name}' must keep {tensor.name}, but does not store it")


def kept(memory: Memory) -> str:
    """Return what a memory keeps, for a message."""
    roles = set(memory.tensor_bits) if memory.tensor_bits is not None else None
    if memory.keep is not None:
        roles = set(memory.keep) if roles is None else roles & memory.keep
    return f"; it keeps {', '.join(sorted(roles)) or 'nothing'}" if roles is not None else ""


def check_placement(mapping: Mapping, architecture: Architecture) -> None:
    """Refuse spatial loops that do not stand between the memories around their array."""
    position = architecture.position
    stores = [(j, node) for j, node in enumerate(mapping.nodes) if isinstance(node, Store)]
    for i, node in enumerate(mapping.nodes):
        if not isinstance(node, Spatial):
            continue
        for j, store in stores:
            inside = position[store.memory] > position[node.array]
            if inside == (i < j):
                continue
            stands, lies = ("below", "inside") if inside else ("above", "outside")
            raise fault(
                f"the spatial loop on '{node.array}' stands {stands} the store node of "
                f"'{store.memory}' (mapping[{j}]), which lies {lies} that array",
                i,
            )


def check_capacity(structure: Structure, layer: Layer, architecture: Architecture) -> None:
    """Refuse tiles that do not fit into a memory."""
    for memory in architecture.memories:
        stored = [t for t in layer.tensors if (memory.name, t.name) in structure.depths]
        words = {t.name: structure.tile_words(memory.name, t) for t in stored}
        if memory.capacity_bits is not None:
            check_share(memory, stored, words, memory.capacity_bits, "")
        for tensor in stored:
            if memory.tensor_bits is not None:
                share = memory.tensor_bits[tensor.role]
                check_share(memory, [tensor], words, share, f" for {tensor.name}")


def check_share(
    memory: Memory, tensors: list[Tensor], words: dict[str, int], capacity: int, share: str
) -> None:
    """Refuse tiles that need more bits than a memory, or the share of a tensor in it, has."""
    bits = {t.name: words[t.name] * element_bits(t, memory) * memory.buffering for t in tensors}
    needed = sum(bits.values())
    if needed <= capacity:
        return
    fill = ", ".join(
        f"{t.name} {words[t.name]} words of {element_bits(t, memory)} bits"
        for t in sorted(tensors, key=lambda t: -bits[t.name])
    )
    twice = ", twice (double buffering)" if memory.buffering == 2 else ""
    raise fault(
        f"the tiles in '{memory.name}' need {needed} bits, {needed - capacity} more than the "
        f"{capacity} that it has{share}; they are: {fill}{twice}"
    )


def element_bits(tensor: Tensor, memory: Memory) -> int:
    """Return the width of a tensor's element in a memory: the memory's word unless it is given."""
    return memory.word_bits if tensor.bits is None else tensor.bits

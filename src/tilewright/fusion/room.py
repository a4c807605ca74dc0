"""The room that a fused mapping takes in each memory: all tiles that are alive at once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tilewright.architecture.machine import Architecture, Memory
from tilewright.errors import MappingError
from tilewright.fusion.uses import made_below, readers_below, users
from tilewright.mapping.fused.connections.segments import Segment
from tilewright.mapping.fused.counts import StoreCounts
from tilewright.mapping.fused.scopes import Leaf, Resolved, SharedStore
from tilewright.mapping.fused.turn_layers import (
    largest_turn,
    turn_extents,
    turn_layer,
    turn_mapping,
)
from tilewright.mapping.fused.validity import role, split_among
from tilewright.mapping.structure import resolve
from tilewright.mapping.validity import element_bits


@dataclass(frozen=True)
class Tile:
    """A tile that takes room while a layer runs.

    Attributes
    ----------
    tensor : str
        The tensor: its name in the segment, or ``layer.tensor`` for one in a branch.
    words : int
        Its words.
    bits : int
        Of the tile, buffering included.
    roles : frozenset of str
        What the tensor is to the layers that use it.
    """

    tensor: str
    words: int
    bits: int
    roles: frozenset[str]


def tiles_alive(
    resolved: Resolved, architecture: Architecture, held: Sequence[StoreCounts]
) -> dict[str, dict[str, list[Tile]]]:
    """Return by memory and layer the tiles that take room there while the layer runs.

    Parameters
    ----------
    resolved : Resolved
        The mapping.
    architecture : Architecture
        What it runs on.
    held : sequence of StoreCounts
        What each shared store holds.
    """
    found: dict[str, dict[str, list[Tile]]] = {m.name: {} for m in architecture.memories}
    memories = {memory.name: memory for memory in architecture.memories}
    for leaf in resolved.leaves:
        for memory in architecture.memories:
            found[memory.name][leaf.layer] = []
        for store, counts in zip(resolved.stores, held, strict=True):
            words = counts.carried
            if leaf.layer not in store.below:
                if not waits(store, leaf, resolved):
                    continue
            elif in_use(store, leaf, resolved):
                words = counts.peak
            if not words:
                continue
            tile = shared_tile(
                store, words * counts.tiles, memories[store.memory], resolved.segment
            )
            found[store.memory][leaf.layer].append(tile)
        for name, tile in own_tiles(leaf, resolved.segment, architecture):
            found[name][leaf.layer].append(tile)
    for pipe in resolved.pipelines:
        split = split_among(pipe, resolved, architecture)
        for memory in split.shared_memories(architecture):
            everything = dict.fromkeys(
                tile for layer in pipe.layers for tile in found[memory.name][layer]
            )
            for layer in pipe.layers:
                found[memory.name][layer] = list(everything)
    return found


def shared_tile(store: SharedStore, words: int, memory: Memory, segment: Segment) -> Tile:
    """Return the tile of a shared store that holds so many words."""
    accesses = segment.tensor_of[store.tensor].accesses
    width = max(element_bits(segment.local(access), memory) for access in accesses)
    bits = words * width * memory.buffering
    roles = frozenset(role(access, segment) for access in users(store, segment))
    return Tile(store.tensor, words, bits, roles)


def in_use(store: SharedStore, leaf: Leaf, resolved: Resolved) -> bool:
    """Return whether a shared store holds its whole tile while a layer below it runs.

    An intermediate right above the branches lives from the first one that makes it to the last one
    that reads it; between, only what later turns need stays.
    """
    if store.lasting or not made_below(store, resolved.segment):
        return True
    if leaf.layer in resolved.pipeline_of:
        return True
    tensor = resolved.segment.tensor_of[store.tensor]
    if tensor.wanted or not tensor.readers:
        return True
    order = [each.layer for each in resolved.leaves]
    places = [order.index(access.layer) for access in users(store, resolved.segment)]
    return (
        branch_of(store, min(places), resolved)
        <= branch_of(store, order.index(leaf.layer), resolved)
        <= branch_of(store, max(places), resolved)
    )


def waits(store: SharedStore, leaf: Leaf, resolved: Resolved) -> bool:
    """Return whether words of a halo wait in a shared store while a layer beside it runs."""
    made = made_below(store, resolved.segment) and readers_below(store, resolved)
    return bool(made) and any(loop in leaf.loops for loop in store.loops)


def branch_of(store: SharedStore, place: int, resolved: Resolved) -> int:
    """Return in which branch below a store's list of nodes a layer runs."""
    path = store.node[: store.node.rindex("[")]
    rest = resolved.leaves[place].node[len(path) :]
    return int(rest.split(".fuse[", 1)[1].split("]", 1)[0])


def own_tiles(leaf: Leaf, segment: Segment, architecture: Architecture) -> list[tuple[str, Tile]]:
    """Return the tiles that a branch stores for itself, with their memories."""
    boxes = turn_extents(leaf, segment) if leaf.turns else [largest_turn(leaf, segment)]
    turns = [tiles_of_turn(leaf, extents, segment, architecture) for extents in boxes]
    found = []
    for memory in architecture.memories:
        own = [[tile for name, tile in turn if name == memory.name] for turn in turns]
        if memory.tensor_bits is None:
            fullest = max(own, key=lambda tiles: sum(tile.bits for tile in tiles))
        else:  # each tensor has a share of its own
            every = sorted((tile for tiles in own for tile in tiles), key=lambda tile: tile.bits)
            fullest = list({tile.tensor: tile for tile in every}.values())
        found += [(memory.name, tile) for tile in fullest]
    return found


def tiles_of_turn(
    leaf: Leaf, extents: Mapping[str, int], segment: Segment, architecture: Architecture
) -> list[tuple[str, Tile]]:
    """Return the tiles that a branch stores for itself in a turn of some extents."""
    layer = turn_layer(segment.layer_of[leaf.layer], extents)
    structure = resolve(turn_mapping(leaf, extents, architecture), layer, architecture)
    shared = {(chain[-1].memory, tensor) for tensor, chain in leaf.chains.items()}
    found = []
    for memory in architecture.memories:
        for tensor in layer.tensors:
            if (memory.name, tensor.name) in shared:
                continue
            words = structure.tile_words(memory.name, tensor)
            if words:
                bits = words * element_bits(tensor, memory) * memory.buffering
                name = f"{leaf.layer}.{tensor.name}"
                found.append((memory.name, Tile(name, words, bits, frozenset((tensor.role,)))))
    return found


def used_bits(alive: Mapping[str, Sequence[Tile]]) -> int:
    """Return the most bits that are taken in one memory while some layer runs."""
    return max((sum(tile.bits for tile in tiles) for tiles in alive.values()), default=0)


def check_room(
    architecture: Architecture, alive: Mapping[str, Mapping[str, Sequence[Tile]]]
) -> None:
    """Refuse tiles that do not fit into a memory, or into the share of a tensor in it."""
    for memory in architecture.memories:
        for layer, tiles in alive[memory.name].items():
            if memory.capacity_bits is not None:
                _fits(memory, layer, tiles, memory.capacity_bits, "")
            for name, share in (memory.tensor_bits or {}).items():
                own = [tile for tile in tiles if name in tile.roles]
                _fits(memory, layer, own, share, f" for {name}")


def _fits(memory: Memory, layer: str, tiles: Sequence[Tile], room: int, share: str) -> None:
    needed = sum(tile.bits for tile in tiles)
    if needed <= room:
        return
    fill = ", ".join(
        f"{tile.tensor} {tile.words} words" for tile in sorted(tiles, key=lambda t: -t.bits)
    )
    twice = ", twice (double buffering)" if memory.buffering == 2 else ""
    raise MappingError(
        f"while layer '{layer}' runs, the tiles in '{memory.name}' need {needed} bits, "
        f"{needed - room} more than the {room} that it has{share}; they are: {fill}{twice}",
        key="mapping",
    )

"""Whether a fused mapping can be carried out on a machine, its capacities aside."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from tilewright.architecture.machine import Architecture, Array, Memory
from tilewright.errors import MappingError
from tilewright.mapping.constraints import violations
from tilewright.mapping.fused.connections.loop_classes import fault
from tilewright.mapping.fused.connections.segments import Access, Segment
from tilewright.mapping.fused.pipelines import LayerPipeline, Split, split_of
from tilewright.mapping.fused.scopes import Leaf, Resolved, SharedStore
from tilewright.mapping.fused.tree import REFETCH, Turn
from tilewright.mapping.fused.turn_layers import (
    largest_turn,
    turn_extents,
    turn_layer,
    turn_mapping,
)
from tilewright.mapping.fused.turns import steps
from tilewright.mapping.names import unknown
from tilewright.mapping.nodes import Mapping, Store
from tilewright.mapping.validity import check_loops, check_names, check_placement, kept
from tilewright.workload.layer import Tensor


def check_tree(resolved: Resolved, architecture: Architecture) -> None:
    """Accept a fused mapping whose names, stores, loops and halos fit together.

    Raises
    ------
    MappingError
        For the first thing that is wrong. Its ``key`` is the path of the node that it concerns,
        such as ``mapping[3].fuse[0].nodes[1]``.
    """
    for store in resolved.stores:
        check_memory(store, resolved.segment, architecture)
    check_roots(resolved, architecture)
    for store in resolved.stores:
        check_use(store, resolved)
    check_halos(resolved)
    for leaf in resolved.leaves:
        check_leaf(leaf, resolved, architecture)
    check_pipelines(resolved, architecture)


def check_memory(store: SharedStore, segment: Segment, architecture: Architecture) -> None:
    """Refuse a shared store in a memory that cannot hold its tensor there."""
    memories = {memory.name: memory for memory in architecture.memories}
    if store.memory not in memories:
        where = f"architecture '{architecture.name}'"
        raise fault(unknown("memory", store.memory, list(memories), where), store.node)
    position = architecture.position
    arrays = [level for level in architecture.levels if isinstance(level, Array)]
    if arrays and position[store.memory] > position[arrays[0].name]:
        raise fault(
            f"'{store.memory}' lies inside array '{arrays[0].name}': only memories outside of all "
            "arrays are shared; store it in the branches",
            store.node,
        )
    parent = store.parent
    if parent is not None and position[store.memory] <= position[parent.memory]:
        raise fault(
            f"'{store.memory}' stores {store.tensor} below '{parent.memory}', but the stores of a "
            f"tensor follow the order of the memories, each at most once: {', '.join(memories)}",
            store.node,
        )
    memory = memories[store.memory]
    for access in segment.tensor_of[store.tensor].accesses:
        if access.layer in store.below and not memory.may_store(role(access, segment)):
            raise fault(f"'{memory.name}' may not store {store.tensor}{kept(memory)}", store.node)


def role(access: Access, segment: Segment) -> str:
    """Return the role that a tensor has for a layer."""
    return segment.local(access).role


def check_roots(resolved: Resolved, architecture: Architecture) -> None:
    """Refuse tensors whose outermost store stands in the wrong place, or that have none."""
    outermost = architecture.memories[0].name
    roots = {store.tensor: [] for store in resolved.stores}  # type: dict[str, list[SharedStore]]
    for store in resolved.stores:
        if store.parent is None:
            roots[store.tensor].append(store)
    for tensor in resolved.segment.tensors:
        found = roots.get(tensor.name, [])
        if not found:
            place = f"'{outermost}'" if not tensor.intermediate else "a shared node"
            raise fault(f"{tensor.name} has to be stored in {place}, above what uses it", "mapping")
        users = {access.layer for access in tensor.accesses}
        for root in found:
            if missing := [name for name in users if name not in root.below]:
                raise fault(
                    f"'{root.memory}' stores {tensor.name} for {', '.join(root.below)}, but layer "
                    f"'{missing[0]}' uses it, too: store it above all of them",
                    root.node,
                )
            if tensor.intermediate:
                continue
            if root.memory != outermost:
                raise fault(
                    f"'{root.memory}' stores {tensor.name} before '{outermost}', the outermost "
                    "memory",
                    root.node,
                )
            if root.loops:
                raise fault(
                    f"'{outermost}' is the outermost memory: it stores above every loop", root.node
                )


def check_use(store: SharedStore, resolved: Resolved) -> None:
    """Refuse shared stores that hold what nobody needs, or that several layers see differently."""
    segment = resolved.segment
    tensor = segment.tensor_of[store.tensor]
    below = [access for access in tensor.accesses if access.layer in store.below]
    made = tensor.producer is not None and tensor.producer.layer in store.below
    refetched = any(
        name == store.tensor and mode == REFETCH for (name, _), mode in resolved.modes.items()
    )
    if (
        made
        and store.parent is not None
        and tensor.intermediate
        and len(below) == len(tensor.accesses)
        and not refetched
    ):
        raise fault(
            f"'{store.parent.memory}' stores {store.tensor} as well, but all that use it find it "
            f"in '{store.memory}': an intermediate tensor is stored further out only if some "
            "layer reads it there, or if a halo is refetched",
            store.parent.node,
        )
    if not made:
        for other in below[1:]:
            if not same_words(below[0], other, store, resolved):
                raise fault(
                    f"{below[0].layer} and {other.layer} use different words of {store.tensor} in "
                    f"an iteration: '{store.memory}' cannot hold one tile for both; store it in "
                    "their branches",
                    store.node,
                )
    for access in below:
        looped = [loop.cuts.dims[access.layer] for loop in store.loops]
        for terms in segment.local(access).expressions:
            cut = {term.dimension for term in terms if term.dimension in looped}
            if len(cut) > 1:
                raise fault(
                    f"shared loops cut {' and '.join(sorted(cut))}, which are added in one index "
                    f"of {store.tensor}: store it in the branches",
                    store.node,
                )


def same_words(one: Access, other: Access, store: SharedStore, resolved: Resolved) -> bool:
    """Return whether two readers use the same words of a tensor in every step above its store."""
    segment = resolved.segment
    views = {
        exchange.reader: exchange.steps for exchange in resolved.exchanges_of.get(store.tensor, ())
    }
    if views.get(one) != views.get(other):
        return False
    mine, yours = segment.local(one).expressions, segment.local(other).expressions
    if [len(terms) for terms in mine] != [len(terms) for terms in yours]:
        return False
    bounds, others = segment.layer_of[one.layer].bounds, segment.layer_of[other.layer].bounds
    pairs: list[tuple[str, str]] = []
    for terms, their in zip(mine, yours, strict=True):
        for term, twin in zip(terms, their, strict=True):
            if term.coefficient != twin.coefficient:
                return False
            if bounds[term.dimension] != others[twin.dimension]:
                return False
            pairs.append((term.dimension, twin.dimension))
    for mine_dim, your_dim in pairs:
        cut = [loop for loop in store.loops if loop.cuts.dims[one.layer] == mine_dim]
        if cut != [loop for loop in store.loops if loop.cuts.dims[other.layer] == your_dim]:
            return False
        for step in steps(cut, segment) if cut else ():
            if step.spans[one.layer] != step.spans[other.layer]:
                return False
    return True


def check_halos(resolved: Resolved) -> None:
    """Refuse halos that have no meaning."""
    segment = resolved.segment
    modes: dict[str, set[str]] = {}
    for (name, dimension), mode in resolved.modes.items():
        tensor = segment.tensor_of.get(name)
        if tensor is None or tensor.producer is None or not tensor.readers:
            raise fault(f"no exchanged tensor '{name}' in the segment", "halos")
        output = segment.layer_of[tensor.producer.layer].output
        if dimension not in output.dimensions:
            where = f"tensor '{name}'"
            raise fault(unknown("dimension", dimension, output.dimensions, where), "halos")
        modes.setdefault(name, set()).add(mode)
    for name, found in modes.items():
        if REFETCH not in found:
            continue
        if len(found) > 1:
            raise fault(f"{name} is refetched in all dimensions or in none", "halos")
        if not any(store.tensor == name and store.parent for store in resolved.stores):
            raise fault(
                f"{name} is to be refetched, but no memory stores it above the one whose tiles "
                "share words",
                "halos",
            )


def check_pipelines(resolved: Resolved, architecture: Architecture) -> None:
    """Refuse layers that cannot run at the same time."""
    for pipe in resolved.pipelines:
        split_among(pipe, resolved, architecture)
        for (tensor, _), mode in resolved.modes.items():
            uses = resolved.segment.tensor_of[tensor].accesses
            if mode == REFETCH and any(access.layer in pipe.layers for access in uses):
                raise fault(
                    f"{tensor} cannot be refetched in a pipeline: its halos are retained or "
                    "recomputed",
                    "halos",
                )


def split_among(pipe: LayerPipeline, resolved: Resolved, architecture: Architecture) -> Split:
    """Return which part of an array each layer of a pipeline has.

    Raises
    ------
    MappingError
        When they do not fit side by side.
    """
    mappings = {}
    for layer in pipe.layers:
        leaf = resolved.leaf_of[layer]
        extents = largest_turn(leaf, resolved.segment)
        mappings[layer] = turn_mapping(leaf, extents, architecture), extents
    return split_of(pipe, mappings, architecture)


def check_leaf(leaf: Leaf, resolved: Resolved, architecture: Architecture) -> None:
    """Refuse what is wrong with a layer's own nodes."""
    every = turn_extents(leaf, resolved.segment) if leaf.turns else []
    usual = [extents for extents in every if leaf.turn_of(extents) is None]
    for extents in largest(usual) if usual else [largest_turn(leaf, resolved.segment)]:
        check_nodes(leaf, extents, f"{leaf.node}.nodes", resolved, architecture)
    for n, turn in enumerate(leaf.turns):
        path = f"{leaf.node}.turns[{n}]"
        own = [extents for extents in every if leaf.turn_of(extents) is turn]
        if not own:
            text = ", ".join(f"{d} {n}" for d, n in turn.bounds)
            message = f"no turn of '{leaf.layer}' that is not spoken of before has {text}"
            raise fault(f"{message}; its turns have {known_extents(every, turn)}", path)
        for extents in own:
            check_nodes(leaf, extents, f"{path}.nodes", resolved, architecture)


def largest(every: Sequence[dict[str, int]]) -> Iterator[dict[str, int]]:
    """Yield the extents of turns that no other turn has as much of in every dimension."""
    for own in every:
        if not any(own != other and all(n <= other[d] for d, n in own.items()) for other in every):
            yield own


def known_extents(every: Sequence[dict[str, int]], turn: Turn) -> str:
    """Return the extents of all turns, of the dimensions that one of them names."""
    found = (", ".join(f"{d} {extents.get(d)}" for d, _ in turn.bounds) for extents in every)
    return "; ".join(dict.fromkeys(found))


def check_nodes(
    leaf: Leaf, extents: dict[str, int], path: str, resolved: Resolved, architecture: Architecture
) -> None:
    """Refuse what is wrong with the nodes of a turn of some extents."""
    layer = resolved.segment.layer_of[leaf.layer]
    turn, mapping = turn_layer(layer, extents), leaf.mapping
    if ".turns[" in path:
        mapping = leaf.mapping_of(extents)
    try:
        check_names(mapping, turn, architecture)
        check_loops(mapping, turn, architecture)
        check_placement(mapping, architecture)
    except MappingError as wrong:
        place = (wrong.key or "").removeprefix("mapping")
        raise MappingError(wrong.message, key=f"{path}{place}") from None
    check_own_stores(leaf, mapping, path, turn.tensors, architecture)
    whole = replace(turn, name=layer.name)
    for violated in violations(turn_mapping(leaf, extents, architecture), whole, architecture):
        message = f"by the constraints of '{architecture.name}' {violated} in layer '{layer.name}'"
        raise fault(message, leaf.node)


def check_own_stores(
    leaf: Leaf, mapping: Mapping, path: str, tensors: Sequence[Tensor], architecture: Architecture
) -> None:
    """Refuse store nodes of a branch that a memory or the order of the memories forbids."""
    memories: dict[str, Memory] = {memory.name: memory for memory in architecture.memories}
    position = architecture.position
    stored = {name: [store.memory for store in chain] for name, chain in leaf.chains.items()}
    roles = {tensor.name: tensor.role for tensor in tensors}
    for i, node in enumerate(mapping.nodes):
        if not isinstance(node, Store):
            continue
        here = f"{path}[{i}]"
        memory = memories[node.memory]
        if not node.tensors:
            raise fault(f"'{memory.name}' stores no tensor here", here)
        for name in node.tensors:
            above = stored[name][-1]
            if position[memory.name] <= position[above]:
                raise fault(
                    f"'{memory.name}' stores {name} below '{above}', but the stores of a tensor "
                    f"follow the order of the memories, each at most once: {', '.join(memories)}",
                    here,
                )
            if not memory.may_store(roles[name]):
                raise fault(f"'{memory.name}' may not store {name}{kept(memory)}", here)
            stored[name].append(memory.name)
    for tensor in tensors:
        for memory in architecture.memories:
            if tensor.role in memory.must_keep and memory.name not in stored[tensor.name]:
                raise fault(
                    f"'{memory.name}' must keep {tensor.name}, but does not store it", leaf.node
                )

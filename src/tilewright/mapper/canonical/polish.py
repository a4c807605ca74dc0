"""Which of the mappings that cost the same is returned: the least memory, then the simplest."""

from __future__ import annotations

from dataclasses import replace
from math import isclose

from tilewright.architecture.machine import Architecture
from tilewright.mapper.canonical.least_memory_walk import CROSS, LOOP, PLACE, Step, thriftiest
from tilewright.mapper.canonical.same_words import Same, same_words
from tilewright.mapper.objective.tolerances import TIE
from tilewright.mapper.problem.space import Space
from tilewright.mapping.constraints import violations
from tilewright.mapping.nodes import For, Mapping, Node, Spatial, Store
from tilewright.mapping.validity import element_bits
from tilewright.model.evaluate import evaluate
from tilewright.workload.footprint import footprint
from tilewright.workload.layer import Layer

Cost = tuple[float, float]


def polished(
    mapping: Mapping, layer: Layer, architecture: Architecture, sp: Space, cost: Cost
) -> Mapping:
    """Return the mapping of the least memory among those that move the same words as a given one.

    All have its bypass choice and its spatial choices. Less memory means fewer bits in the
    outermost memory in which two mappings differ. Of equals the one with fewer loops is returned;
    of those the one that, from the outside in, stores before it loops (in outer memories first, the
    first tensors of the layer first) and loops over the first dimensions first, with smaller tiles
    first.

    Parameters
    ----------
    mapping : Mapping
        It is valid.
    layer, architecture
        What it computes, and on what.
    sp : Space
        The tile lattice of the layer.
    cost : (float, float)
        Energy (pJ) and cycles of the mapping, as the search knows them.

    Returns
    -------
    Mapping
        The given one where constraints do not allow the other one, where the model does not confirm
        that it costs the same, or where tile sizes do not divide.
    """
    while len(sp.sizes):
        sm = same_words(mapping, layer, architecture, sp)
        if sm is None:
            break
        walk, used = thriftiest(sm)
        found = rebuilt(sm, walk, mapping, layer, architecture)
        if (
            not walk
            or found == mapping
            or used > sm.used.tolist()
            or (architecture.statements and violations(found, layer, architecture))
        ):
            break
        new = costs(found, layer, architecture)
        # the search may count otherwise than the model, see `unproven`
        if not alike(new, cost) and not alike(new, costs(mapping, layer, architecture)):
            break
        mapping = found
        # where a tile slides otherwise now, loops may go where they could not
        if not sm.slides.any() or used == sm.used.tolist():
            break
    return mapping


def costs(mapping: Mapping, layer: Layer, architecture: Architecture) -> Cost:
    """Return the energy (pJ) and the cycles of a valid mapping."""
    result = evaluate(layer, architecture, mapping, check=False)
    return result.energy_pj, float(result.cycles)


def alike(first: Cost, second: Cost) -> bool:
    """Whether two mappings cost the same, but for the last digits."""
    return all(isclose(a, b, rel_tol=TIE) for a, b in zip(first, second, strict=True))


def rebuilt(
    sm: Same, walk: list[Step], mapping: Mapping, layer: Layer, architecture: Architecture
) -> Mapping:
    """Return a walk as a mapping, with the spatial loops of another one."""
    dimensions = [d for d in layer.dimensions if layer.bounds[d] > 1]
    extents = dict(layer.bounds)
    factors: dict[str, list[tuple[Spatial, int]]] = {a.name: [] for a in architecture.arrays}
    for node in mapping.nodes:
        if isinstance(node, Store):
            continue
        if isinstance(node, Spatial) and node.tile < extents[node.dimension]:
            factors[node.array].append((node, extents[node.dimension] // node.tile))
        extents[node.dimension] = node.tile
    nodes: list[Node] = [mapping.nodes[0]]
    extents = dict(layer.bounds)
    arrays = iter(architecture.arrays)
    for action, stage, shape in walk:
        if action == CROSS:
            for node, factor in factors[next(arrays).name]:
                extents[node.dimension] //= factor
                nodes.append(replace(node, tile=extents[node.dimension]))
        elif action == LOOP:
            tiles = sm.values[range(len(dimensions)), sm.digits[shape]].tolist()
            d, tile = next((d, n) for d, n in zip(dimensions, tiles, strict=True) if n < extents[d])
            nodes.append(For(d, tile))
            extents[d] = tile
        else:
            t = action - PLACE
            memory = architecture.memories[sm.memory[t, sm.placed[stage, t]]].name
            name, last = layer.tensors[t].name, nodes[-1]
            if isinstance(last, Store) and last.memory == memory and len(nodes) > 1:
                nodes[-1] = Store(memory, (*last.tensors, name))
            else:
                nodes.append(Store(memory, (name,)))
    return Mapping(tuple(nodes))


def beyond(bound: Cost, cost: Cost) -> bool:
    """Whether what a mapping costs at least is more than another one costs."""
    return bound[0] > cost[0] * (1 + TIE) or bound[1] > cost[1] * (1 + TIE)


def occupied(mapping: Mapping, layer: Layer, architecture: Architecture) -> list[int]:
    """Return the bits that the largest tiles of a mapping take in each memory, buffering included.

    They are those of `occupied_bits` in an evaluation.
    """
    memories = {memory.name: memory for memory in architecture.memories}
    tensors = {tensor.name: tensor for tensor in layer.tensors}
    used = dict.fromkeys(memories, 0)
    extents = dict(layer.bounds)
    for node in mapping.nodes:
        if not isinstance(node, Store):
            extents[node.dimension] = node.tile
            continue
        memory = memories[node.memory]
        for name in node.tensors:
            bits = element_bits(tensors[name], memory) * memory.buffering
            used[memory.name] += footprint(tensors[name], extents) * bits
    return list(used.values())

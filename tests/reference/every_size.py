"""The best mapping of a tiny layer by trying all of them, with tile sizes that need not divide.

Energies of tensors add up, so that each is stored in every way while the others are not: what
`evaluate` says of these mappings, which equals the simulator, is the only thing taken for granted.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import product
from math import ceil, inf, prod

import numpy as np

from enumeration import Floats, merged, undominated
from tilewright.architecture.machine import Architecture, Array, Level, Memory
from tilewright.mapping.nodes import For, Mapping, Node, Spatial, Store
from tilewright.model.evaluate import evaluate
from tilewright.workload.layer import Layer, Tensor

Loops = tuple[For | Spatial, ...]
Depths = tuple[int | None, ...]


def without_ports(machine: Architecture) -> Architecture:
    """Return a machine without limits of bandwidth: the cycles are the steps of the loops."""

    def free(level: Level) -> Level:
        if isinstance(level, Memory):
            return replace(level, read_bandwidth=None, write_bandwidth=None, shared_bandwidth=None)
        return replace(level, bandwidth=None) if isinstance(level, Array) else level

    return replace(machine, levels=tuple(free(level) for level in machine.levels))


def every_nest(layer: Layer, machine: Architecture) -> Iterator[Loops]:
    """Yield the loops of every mapping; the loops of an array stand together."""
    names = layer.dimensions

    def loops(begun: Loops, left: tuple[int, ...], arrays: int) -> Iterator[Loops]:
        if arrays == len(machine.arrays):
            yield begun
        for i, extent in enumerate(left):
            for tile in range(1, extent):
                yield from loops((*begun, For(names[i], tile)), changed(left, i, tile), arrays)
        if arrays < len(machine.arrays):
            array = machine.arrays[arrays]
            for own, tiles in placed(array, list(array.axes), left):
                yield from loops((*begun, *own), tiles, arrays + 1)

    def placed(
        array: Array, axes: list[str], left: tuple[int, ...]
    ) -> Iterator[tuple[Loops, tuple[int, ...]]]:
        """Yield the loops on some axes of an array, and the tiles below them."""
        if not axes:
            yield (), left
            return
        axis, *others = axes
        allowed = machine.allowed_dimensions(array.name, axis)
        options = [
            range(1, extent + 1) if allowed is None or name in allowed else (extent,)
            for name, extent in zip(names, left, strict=True)
        ]
        for tiles in product(*options):
            cut = [i for i, tile in enumerate(tiles) if tile < left[i]]
            if prod(ceil(left[i] / tiles[i]) for i in cut) > array.axes[axis]:
                continue
            own = tuple(Spatial(names[i], tiles[i], axis, array.name) for i in cut)
            for more, inside in placed(array, others, tiles):
                yield (*own, *more), inside

    return loops((), tuple(layer.bounds.values()), 0)


def changed(values: tuple[int, ...], i: int, value: int) -> tuple[int, ...]:
    return (*values[:i], value, *values[i + 1 :])


def is_regular(nest: Loops, layer: Layer) -> bool:
    """Whether no loop of several steps has one step in a short chunk, or an element with less work.

    The steps of a loop are those with work, for each step of the loops around it and each element.
    """
    for dimension, bound in layer.bounds.items():
        own = [loop for loop in nest if loop.dimension == dimension]
        steps: list[dict[tuple[int, ...], set[int]]] = [{} for _ in own]
        for iteration in range(bound):
            at = []
            left = iteration
            for loop in own:
                at.append(left // loop.tile)
                left %= loop.tile
            elements = [i for i, loop in zip(at, own, strict=True) if isinstance(loop, Spatial)]
            for k, loop in enumerate(own):
                if not isinstance(loop, Spatial):
                    around = [i for i, o in zip(at[:k], own, strict=False) if isinstance(o, For)]
                    steps[k].setdefault((*around, -1, *elements), set()).add(at[k])
        for found in steps:
            counts = {len(which) for which in found.values()}
            if 1 in counts and len(counts) > 1:
                return False
    return True


def every_front(
    layer: Layer, machine: Architecture, nests: Iterable[Loops] | None = None
) -> Floats:
    """Return energies and cycles of the mappings that no other one undercuts in both."""
    front = np.zeros((0, 2))
    for nest in every_nest(layer, machine) if nests is None else nests:
        base = evaluate(layer, machine, stored(nest, layer, machine, {}), check=False)
        sums = np.array([[base.energy_pj, *[0.0] * len(machine.memories)]])
        for tensor in layer.tensors:
            ways = list(costs(tensor, nest, layer, machine, base.energy_pj))
            if not ways:
                break
            sums = (sums[:, None, :] + np.array(ways)[None]).reshape(-1, sums.shape[1])
            sums = sums[(sums[:, 1:] <= [m.capacity_bits or inf for m in machine.memories]).all(1)]
            sums = sums[undominated(sums)] if len(sums) else sums
        else:
            energies = sums[:, 0]
            front = merged(front, energies, np.full(len(energies), float(base.cycles)))
    return front


def costs(
    tensor: Tensor, nest: Loops, layer: Layer, machine: Architecture, without: float
) -> Iterator[list[float]]:
    """Yield the energy of each way to store a tensor, and its bits in each memory."""
    blocks = {node.array for node in nest if isinstance(node, Spatial)}
    options: list[list[int | None]] = []
    for memory in machine.memories[1:]:
        at = machine.position[memory.name]
        above = {a.name for a in machine.arrays if machine.position[a.name] < at}
        depths = [
            depth
            for depth in range(len(nest) + 1)
            if above & blocks == {n.array for n in nest[:depth] if isinstance(n, Spatial)}
            and not (
                0 < depth < len(nest)
                and isinstance(nest[depth], Spatial)
                and getattr(nest[depth - 1], "array", None) == getattr(nest[depth], "array", "")
            )
        ]
        keeps = [None] if tensor.role not in memory.must_keep else []
        options.append([*(depths if memory.may_store(tensor.role) else []), *keeps])
    for chain in product(*options):
        known = [depth for depth in chain if depth is not None]
        if known != sorted(known):
            continue
        bits = [0.0] + [
            float(tile_bits(tensor, nest[:depth], layer, memory)) if depth is not None else 0.0
            for depth, memory in zip(chain, machine.memories[1:], strict=True)
        ]
        if any(
            m.tensor_bits is not None and b > m.tensor_bits.get(tensor.role, 0)
            for b, m in zip(bits, machine.memories, strict=True)
        ):
            continue
        mapping = stored(nest, layer, machine, {tensor.name: chain})
        yield [evaluate(layer, machine, mapping, check=False).energy_pj - without, *bits]


def tile_bits(tensor: Tensor, loops: Loops, layer: Layer, memory: Memory) -> int:
    """Return the bits that a tile takes."""
    extents = dict(layer.bounds) | {loop.dimension: loop.tile for loop in loops}
    words = 1
    for terms in tensor.expressions:
        values = {
            sum(t.coefficient * i for t, i in zip(terms, at, strict=True))
            for at in product(*(range(extents[t.dimension]) for t in terms))
        }
        words *= len(values)
    return words * memory.buffering * (tensor.bits or memory.word_bits)


def stored(nest: Loops, layer: Layer, machine: Architecture, depths: dict[str, Depths]) -> Mapping:
    """Return the mapping in which tensors are stored at some depths, the others not at all."""
    nodes: list[Node] = [
        Store(machine.memories[0].name, tuple(tensor.name for tensor in layer.tensors))
    ]
    for depth in range(len(nest) + 1):
        for m, memory in enumerate(machine.memories[1:]):
            held = tuple(name for name, chain in depths.items() if chain[m] == depth)
            if held:
                nodes.append(Store(memory.name, held))
        nodes += nest[depth : depth + 1]
    return Mapping(tuple(nodes))

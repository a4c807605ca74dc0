"""Hypothesis strategies: small layers, machines, and valid mappings of the one onto the other.

`cases()` draws all three. They are small enough for the simulation (a few hundred operations) and
lean towards what is easily counted wrong: short last chunks, windows that slide in time or overlap
in space, several spatial loops on one dimension, bypassed memories, arrays next to each other and
right above the compute unit, and store nodes of one memory with loops in between.
"""

from __future__ import annotations

from collections.abc import Mapping as Dict
from dataclasses import replace
from typing import Any

from hypothesis import strategies as st

from tilewright.architecture.machine import Architecture, Array, Compute, Constraint, Level, Memory
from tilewright.mapping.nodes import For, Mapping, Node, Spatial, Store
from tilewright.workload.layer import Layer, Tensor, Term

Draw = Any

# output and inputs with {a}, {b} for stride and dilation
EINSUMS = {
    "conv1d": ("K,P", "C,{a}P+{b}R", "K,C,R"),
    "conv2d": ("N,K,P,Q", "N,C,{a}P+{b}R,{a}Q+{b}S", "K,C,R,S"),
    "depthwise": ("G,P,Q", "G,{a}P+{b}R,{a}Q+{b}S", "G,R,S"),
    "matmul": ("M,N", "M,K", "K,N"),
    "add": ("C,P", "C,P", "C,P"),
    "pooling": ("C,P,Q", "C,{a}P+{b}R,{a}Q+{b}S"),
    "three terms": ("K,P", "{a}P+{b}R+T", "K,R,T"),
    "scatter": ("K,{a}P+{b}R", "C,P", "K,C,R"),
    "dot": ("", "K", "K"),
    "three inputs": ("M,N", "M,K", "K,N", "N"),
}


def tensor(name: str, role: str, text: str) -> Tensor:
    """Return the tensor with index expressions such as ``C,2P+R``."""
    axes = []
    for axis in filter(None, text.split(",")):
        terms = (term.strip() for term in axis.split("+"))
        axes.append(tuple(Term(int(term[:-1] or 1), term[-1]) for term in terms))
    return Tensor(name, tuple(axes), role)


def layer_of(kind: str, bounds: Dict[str, int], a: int = 1, b: int = 1) -> Layer:
    """Return a layer of one of the kinds in `EINSUMS`, with stride `a` and dilation `b`."""
    output, *inputs = (text.format(a=a, b=b) for text in EINSUMS[kind])
    names = ("I", "W", "B")
    tensors = [tensor(name, name, text) for name, text in zip(names, inputs, strict=False)]
    return Layer(kind, bounds, (*tensors, tensor("O", "O", output)))


def dimensions_of(kind: str) -> list[str]:
    """Return the dimensions of a kind of layer, in order of appearance."""
    text = ",".join(EINSUMS[kind]).format(a="", b="")
    return list(dict.fromkeys(character for character in text if character.isalpha()))


@st.composite
def layers(
    draw: Draw,
    kinds: tuple[str, ...] = tuple(EINSUMS),
    operations: int = 400,
    largest: int = 12,
) -> Layer:
    """Draw a layer of at most so many operations, its bounds at most `largest`."""
    windows = tuple(kind for kind in kinds if "{a}" in "".join(EINSUMS[kind]))
    kind = draw(st.sampled_from(kinds + windows))
    a, b = draw(st.sampled_from([(1, 1), (1, 1), (2, 1), (1, 2), (3, 1), (3, 2), (2, 3), (2, 2)]))
    dimensions = dimensions_of(kind)
    bounds = dict.fromkeys(dimensions, 1)
    room = operations
    order = draw(st.permutations(dimensions))
    if draw(st.booleans()):
        order = sorted(order, key=lambda dimension: dimension not in "PQRS")
    for dimension in order:
        # mostly below the largest: the first dimensions would leave no room for the others
        top = min(draw(st.sampled_from([largest, 7, 5, 3])), largest, room)
        bounds[dimension] = draw(st.integers(min(top, draw(st.sampled_from([1, 2, 3]))), top))
        room //= bounds[dimension]
    layer = layer_of(kind, bounds, a, b)
    widths = st.sampled_from([None, None, None, 8, 32])
    return replace(layer, tensors=tuple(replace(t, bits=draw(widths)) for t in layer.tensors))


@st.composite
def arrays(draw: Draw, name: str) -> Array:
    """Draw an array of one or two axes with any network."""
    sizes = st.sampled_from([1, 2, 3, 4, 5, 8])
    axes = {"X": draw(sizes)}
    if draw(st.booleans()):
        axes["Y"] = draw(sizes)
    switch = st.sampled_from([True, True, False])
    return Array(
        name,
        axes,
        multicast=draw(switch),
        reduction=draw(switch),
        forwarding=not draw(switch),
        hop_energy=draw(st.sampled_from([0.0, 0.5])),
        bandwidth=draw(st.sampled_from([None, 2.0])),
    )


@st.composite
def memories(draw: Draw, name: str, outermost: bool = False, small: bool = False) -> Memory:
    """Draw a memory, `small` ones with room for a few dozen words."""
    word_bits = draw(st.sampled_from([8, 16, 16]))
    shared = draw(st.booleans())
    rates = st.sampled_from([None, 1.0, 4.0])
    memory = Memory(
        name,
        word_bits,
        read_energy=draw(st.sampled_from([1.0, 2.5, 6.0])) * (30 if outermost else 1),
        write_energy=draw(st.sampled_from([1.0, 3.0, 6.0])) * (30 if outermost else 1),
        read_bandwidth=None if shared else draw(rates),
        write_bandwidth=None if shared else draw(rates),
        shared_bandwidth=draw(rates) if shared else None,
    )
    if outermost:
        return memory
    kept = draw(st.sampled_from(["any", "any", "any", "I", "W", "O", "IO", "IW", "WO"]))
    roles = "IWO" if kept == "any" else kept
    words = st.integers(4, 60) if small else st.just(1 << 20)
    if draw(st.integers(0, 3)) == 0:
        partition = {role: draw(words) * word_bits for role in roles}
        return replace(memory, tensor_bits=partition, buffering=draw(st.sampled_from([1, 2])))
    return replace(
        memory,
        capacity_bits=draw(words) * word_bits,
        buffering=draw(st.sampled_from([1, 1, 2])),
        keep=None if kept == "any" else frozenset(kept),
        must_keep=frozenset(roles[:1]) if draw(st.integers(0, 5)) == 0 else frozenset(),
    )


@st.composite
def architectures(
    draw: Draw, most_memories: int = 4, most_arrays: int = 2, small: bool = False
) -> Architecture:
    """Draw a machine of 2 to 4 memories and 0 to 2 arrays, its memories roomy unless `small`."""
    inner = [
        draw(memories(f"M{i}", small=small)) for i in range(1, draw(st.integers(2, most_memories)))
    ]
    levels: list[Level] = [draw(memories("DRAM", outermost=True)), *inner]
    for _ in range(min(most_arrays, draw(st.sampled_from([0, 1, 1, 1, 2, 2])))):
        levels.insert(draw(st.integers(1, len(levels))), Array("?", {"X": 1}))
    count = 0
    for i, level in enumerate(levels):
        if isinstance(level, Array):
            levels[i] = draw(arrays(f"A{count}"))
            count += 1
    compute = Compute("MAC", energy=1.0, cycles=draw(st.sampled_from([1.0, 1.0, 2.0])))
    return Architecture("machine", (*levels, compute))


@st.composite
def mappings(draw: Draw, layer: Layer, architecture: Architecture, most_loops: int = 6) -> Mapping:
    """Draw a mapping that is valid, capacities aside: roomy machines have enough."""
    stores = draw(chains(layer, architecture))
    # each loop goes into a gap between two store nodes; an array has one gap that it may go into
    fewest = draw(st.integers(0, most_loops))
    gaps = st.integers(1, len(stores))
    temporal = draw(st.lists(gaps, min_size=fewest, max_size=most_loops))
    loops: list[tuple[int, tuple[str, str] | None]] = [(gap, None) for gap in temporal]
    for array in architecture.arrays:
        inside = architecture.levels[architecture.position[array.name] :]
        gap = sum(store.memory not in {level.name for level in inside} for store in stores)
        axes = st.sampled_from(sorted(array.axes))
        loops += [
            (gap, (array.name, axis)) for axis in draw(st.lists(axes, min_size=1, max_size=3))
        ]
    loops = sorted(draw(st.permutations(loops)), key=lambda loop: loop[0])

    extents = dict(layer.bounds)
    favourite = draw(st.sampled_from(layer.dimensions))
    room = {(a.name, axis): size for a in architecture.arrays for axis, size in a.axes.items()}
    nodes: list[Node] = []
    for i, store in enumerate(stores, start=1):
        nodes.append(store)
        for at in (at for gap, at in loops if gap == i):
            open_ = [d for d in extents if extents[d] > 1]
            if at is not None and (allowed := architecture.allowed_dimensions(*at)) is not None:
                open_ = [d for d in open_ if d in allowed]
            if not open_:
                continue
            dimension = draw(st.sampled_from(open_ + [favourite] * 2 * (favourite in open_)))
            extent = extents[dimension]
            smallest = 1 if at is None else -(-extent // room[at])
            tile = draw(tiles(extent, smallest))
            extents[dimension] = tile
            if at is None:
                nodes.append(For(dimension, tile))
            else:
                room[at] //= -(-extent // tile)
                nodes.append(Spatial(dimension, tile, at[1], at[0]))
    if draw(st.integers(0, 5)) == 0:
        nodes[:1] = [Store(stores[0].memory, (name,)) for name in stores[0].tensors]
    return Mapping(tuple(nodes))


@st.composite
def tiles(draw: Draw, extent: int, smallest: int) -> int:
    """Draw a tile size, most often one that cuts the extent into two or three chunks."""
    usual = [t for t in (-(-extent // 2), -(-extent // 3), extent // 2 + 1) if smallest <= t]
    return int(
        draw(st.sampled_from([*usual, None]) if usual else st.none())
        or draw(st.integers(smallest, extent))
    )


@st.composite
def chains(draw: Draw, layer: Layer, architecture: Architecture) -> list[Store]:
    """Draw the store nodes of a mapping, in an order that the arrays and memories allow."""
    names = tuple(t.name for t in layer.tensors)
    stores = [Store(architecture.memories[0].name, names)]
    zones: list[list[Memory]] = [[]]
    for level in architecture.levels[1:]:
        if isinstance(level, Memory):
            zones[-1].append(level)
        else:
            zones.append([])
    for zone in zones:
        waiting = {
            t.name: [m for m in zone if m.may_store(t.role) and draw(keeps(m, t))]
            for t in layer.tensors
        }
        turns = [name for name, chain in waiting.items() for _ in chain]
        for name in draw(st.permutations(turns)):
            memory = waiting[name].pop(0).name
            last = stores[-1]
            # an order of its own for each tensor, but often one node for all
            if last.memory == memory and draw(st.booleans()):
                both = {*last.tensors, name}
                stores[-1] = Store(memory, tuple(n for n in names if n in both))
            else:
                stores.append(Store(memory, (name,)))
    return stores


def keeps(memory: Memory, tensor: Tensor) -> st.SearchStrategy[bool]:
    """Draw whether a memory stores a tensor or is bypassed."""
    if tensor.role in memory.must_keep:
        return st.just(True)
    return st.sampled_from([True, True, True, False])


@st.composite
def cases(
    draw: Draw,
    kinds: tuple[str, ...] = tuple(EINSUMS),
    operations: int = 300,
    small: bool = False,
    most_memories: int = 4,
    most_arrays: int = 2,
    most_loops: int = 6,
) -> tuple[Layer, Architecture, Mapping]:
    """Draw a layer, a machine and a mapping that is valid; of a `small` machine it may not fit."""
    layer = draw(layers(kinds, operations))
    architecture = draw(architectures(most_memories, most_arrays, small))
    if architecture.arrays and draw(st.integers(0, 5)) == 0:
        dims = frozenset(draw(st.lists(st.sampled_from(layer.dimensions), min_size=1)))
        constraint = Constraint(architecture.arrays[-1].name, None, dims)
        architecture = replace(architecture, constraints=(constraint,))
    return layer, architecture, draw(mappings(layer, architecture, most_loops))

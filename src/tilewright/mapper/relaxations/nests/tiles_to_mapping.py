"""Mappings with given tiles that lie inside one another, as far as loops lead to them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from itertools import product
from math import prod

from tilewright.architecture.machine import Architecture, Array
from tilewright.mapper.problem.bypass_choices import KeepChoice
from tilewright.mapper.problem.link_costs import segment_of
from tilewright.mapper.windows.pairs import sliding
from tilewright.mapping.nodes import For, Node, Spatial, Store
from tilewright.mapping.nodes import Mapping as LoopNest
from tilewright.mapping.relevance import in_letters
from tilewright.workload.layer import Layer

Extents = dict[str, int]


@dataclass(frozen=True)
class BothSides:
    """Tiles on either side of an array, see `nest.Nest`.

    Attributes
    ----------
    value : float
        What they cost at least.
    keep : tuple
        The bypass choice.
    outer, inner : tuples of int
        Tensors of the outer and the inner memory, outermost first. In the outer one, the number of
        tensors stands for the outermost tile of the inner one.
    stays, carried : dict of str to int
        Iterations that tiles in the outer memory stay through, and that outermost tile.
    extents : dict of str to int
        What an instance has of each dimension.
    instances : dict of str to int
    sizes : dict of str to int
        What tiles in the inner memory stay through.
    window : tuple of (str, int)
        What the tile of a window spans of its dimensions in the inner memory, in the order of the
        loops that move it, outermost first; empty where it is not known.
    """

    value: float
    keep: KeepChoice
    outer: tuple[int, ...]
    inner: tuple[int, ...]
    stays: Extents
    carried: Extents
    extents: Extents
    instances: Extents
    sizes: Extents
    window: tuple[tuple[str, int], ...]

    def owner(self, layer: Layer, dimension: str) -> int:
        """Return the tensor to which a dimension is irrelevant, or -1."""
        tensors = enumerate(layer.tensors)
        return next((t for t, tensor in tensors if dimension not in tensor.dimensions), -1)


def mappings_of(tiles: BothSides, layer: Layer, machine: Architecture) -> Iterator[LoopNest]:
    """Yield different mappings with such tiles: sizes rounded to whole chunks, then as they are.

    Where a dimension is cut on several axes, each of them comes first once. The loops on a sliding
    window are above the tile in the outer, or the inner memory, or below it. Above the array, the
    tile slides along the last expression, or the first. Where a tensor has several memories above
    the array, one of them has the tile; those outside of it keep all of the tensor, or each has the
    same tile, or those inside keep what the array takes.
    """
    array = machine.arrays[0]
    factors = on_axes(array, in_letters(machine, layer), tiles.instances)
    if factors is None:
        return
    axes = list(zip(array.axes, factors, strict=True))
    several = any(sum(own.get(d, 1) > 1 for _, own in axes) > 1 for d in tiles.instances)
    orders = (axes, axes[::-1]) if several else (axes,)
    windows = [t for t, tensor in enumerate(layer.tensors) if sliding(tensor, layer.bounds)]
    late: list[tuple[int, ...]] = [()]
    late += [(own,) for own in (0, 1) if set(windows) & {*(tiles.outer, tiles.inner)[own]}]
    if len(late) == 3:
        late.append((0, 1))
    segment = segment_of(machine)
    outer = [[m for m in chain[1:] if segment[m] == 0] for chain in tiles.keep]
    places = [outer]
    if any(len(own) > 1 for own in outer):
        places = [[own[-1:] for own in outer], outer, [own[:1] for own in outer]]
    # below the array, the tile of a window may slide, in two orders, while another one stays: with
    # all loops that the carried one stays through, or with those on the window inside of all others
    slid = frozenset(d for d, _ in tiles.window)
    every = frozenset(layer.bounds)
    moved = [(own, tiles.window, frozenset[str](), False) for own in late]
    turned = (*tiles.window[:-2], *tiles.window[:-3:-1])
    moved += [
        (own, loops, below, below is slid)
        for own in late
        if 1 in own
        for loops in (tiles.window, turned)
        for below in (every, slid)
    ]
    seen = []
    ways = (False, True) if set(windows) & {*tiles.outer} else (False,)
    for order, (sides, window, below, inside), rounded, here, reverse in product(
        orders, moved, (True, False), places, ways
    ):
        own_tiles = replace(tiles, window=window)
        nodes = tuple(
            nodes_of(own_tiles, layer, machine, order, rounded, sides, here, below, inside, reverse)
        )
        if nodes not in seen:
            seen.append(nodes)
            yield LoopNest(nodes)


def nodes_of(
    tiles: BothSides,
    layer: Layer,
    machine: Architecture,
    axes: Sequence[tuple[str, Extents]],
    rounded: bool,
    late: Sequence[int],
    places: Sequence[Sequence[int]],
    below: Set[str],
    inside: bool,
    reverse: bool,
) -> Iterator[Node]:
    """Yield the nodes of a mapping.

    Parameters
    ----------
    places : sequence of sequences of int
        Of each tensor, the memories above the array that have its tile.
    below : set of str
        Dimensions of which loops that the carried tile stays through are below the array.
    inside : bool
        Whether tiles around the window's, below the array, span all that loops on the window do.
    late : sequence of int
        Sides of the array, above (0) or below it (1), where tiles span their windows, or what
        `BothSides.window` says.
    reverse : bool
        Whether loops directly above outer tiles come in the reverse order of dimensions.
    """
    tensors, bounds = layer.tensors, layer.bounds
    owners = {d: tiles.owner(layer, d) for d in bounds}
    shape = dict(bounds)
    first = tiles.inner[0] if tiles.inner else -1
    own = extents_of(tiles, owners, first, below)
    together = {d: min(bounds[d], own[d] * n) for d, n in tiles.instances.items()}
    at = {t: i for i, t in enumerate(tiles.outer)}

    def loops(dimensions: Sequence[str], target: Extents) -> Iterator[Node]:
        for d in dimensions:
            if target[d] < shape[d]:
                shape[d] = target[d]
                yield For(d, target[d])

    def above(t: int, side: int) -> list[str]:
        """Return the dimensions that have loops directly above a tile."""
        windows = sliding(tensors[t], bounds) if side in late else []
        slid = {term.dimension for terms in windows for term in terms}
        if inside and side == 1:
            slid |= {d for d, _ in tiles.window}
        own = [d for d in tensors[t].dimensions if d not in slid]
        return own[::-1] if reverse and side == 0 else own

    def stores(t: int, memories: Sequence[int]) -> Iterator[Node]:
        """Yield the store nodes of a tensor in some memories."""
        for m in memories:
            yield Store(machine.memories[m].name, (tensors[t].name,))

    segment = segment_of(machine)
    others = [
        [m for m in chain[1:] if segment[m] == 0 and m not in own]
        for chain, own in zip(tiles.keep, places, strict=True)
    ]
    yield Store(machine.memories[0].name, tuple(tensor.name for tensor in tensors))
    for t, own_place in enumerate(places):
        yield from stores(t, [m for m in others[t] if m < min(own_place, default=0)])
    for i, t in enumerate(tiles.outer):
        target = dict(together)
        for d, owner in owners.items():
            if at.get(owner, -1) > i:
                target[d] = max(target[d], tiles.stays[d])
            if owner == first and at.get(len(tensors), -1) > i:
                target[d] = max(target[d], tiles.carried[d])
            if rounded:
                target[d] = whole_chunks(bounds[d], target[d], together[d])
        carries = t == len(tensors)
        yield from loops(tensors[first].dimensions if carries else above(t, 0), target)
        if not carries:
            yield from stores(t, places[t])
    last = [d for d in bounds if owners[d] == first]
    yield from loops([d for d in bounds if d not in last] + last, together)
    for t, own_place in enumerate(places):
        yield from stores(t, [m for m in others[t] if m > max(own_place, default=m)])
    for n, (axis, factors) in enumerate(axes):
        for d, factor in factors.items():
            chunk = own[d] * prod(further.get(d, 1) for _, further in axes[n + 1 :])
            if factor > 1 and chunk < shape[d]:
                shape[d] = chunk
                yield Spatial(d, chunk, axis, machine.arrays[0].name)
    for i, t in enumerate(tiles.inner):
        yield from loops(above(t, 1), inner_spans(tiles, owners, i))
        if 1 in late and sliding(tensors[t], bounds):
            yield from loops([d for d, _ in tiles.window], dict(tiles.window))
        yield from stores(t, [m for m in tiles.keep[t][1:] if segment[m] == 1])


def inner_spans(tiles: BothSides, owners: Mapping[str, int], i: int) -> Extents:
    """Return what the i-th tile below the array spans: what those inside of it stay through."""
    inside = tiles.inner[i + 1 :]
    return {
        d: tiles.sizes[d] if owner in inside or (i == 0 and owner not in tiles.inner) else 1
        for d, owner in owners.items()
    }


def extents_of(tiles: BothSides, owners: Mapping[str, int], first: int, below: Set[str]) -> Extents:
    """Return what an instance has of each dimension.

    Parameters
    ----------
    first : int
        Whose the outermost tile below the array is, or -1.
    below : set of str
        As for `nodes_of`.
    """
    own = dict(tiles.extents)
    if any(own[d] > tiles.sizes[d] for d, t in owners.items() if t not in (-1, first)):
        # several tiles pass below the array, and what they stay through lies inside of them
        below = owners.keys()
    for d in below:
        if owners[d] == first:
            own[d] = -(-tiles.carried[d] // tiles.instances[d])
    return own


def whole_chunks(bound: int, tile: int, part: int) -> int:
    """Return a multiple of a part that cuts a bound into as many chunks as the tile, if any."""
    count = -(-bound // tile)
    largest = (bound - 1) // (count - 1) if count > 1 else bound
    return max(tile, largest // part * part)


def on_axes(
    array: Array, machine: Architecture, instances: Mapping[str, int]
) -> list[Extents] | None:
    """Return factors on every axis for as many instances, or more, or None where there are none."""
    sizes = list(array.axes.values())
    allowed = [machine.allowed_dimensions(array.name, axis) for axis in array.axes]
    wanted = [(d, n) for d, n in instances.items() if n > 1]

    def place(k: int, left: list[int], factors: list[Extents]) -> list[Extents] | None:
        if k == len(wanted):
            return factors
        d, number = wanted[k]
        free = [
            range(1, min(size, number) + 1) if own is None or d in own else range(1, 2)
            for size, own in zip(left, allowed, strict=True)
        ]
        ways = sorted(
            (way for way in product(*free) if covers(way, number)),
            key=lambda way: (sum(f > 1 for f in way), way),
        )
        for way in ways:
            after = [size // f for size, f in zip(left, way, strict=True)]
            grown = [own | {d: f} for own, f in zip(factors, way, strict=True)]
            if (found := place(k + 1, after, grown)) is not None:
                return found
        return None

    return place(0, sizes, [{} for _ in sizes])


def covers(way: Sequence[int], number: int) -> bool:
    """Whether factors give some instances, and none of them more than it takes."""
    whole = prod(way)
    return whole >= number and all(whole // f * (f - 1) < number for f in way if f > 1)

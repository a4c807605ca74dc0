"""Off-chip tiles: the tile, the layouts and the loop order of least data-movement cost."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from itertools import permutations, product
from math import inf, prod

import numpy as np

from tilewright.errors import InputError, NoMappingError
from tilewright.kernels.types import Ints
from tilewright.layout.count import tensor_blocks
from tilewright.layout.dmc import UNBOUNDED, Arrays, Cost, allowed_axes, inner_choices
from tilewright.layout.moved import BlockCounts
from tilewright.layout.tiles import count_tiles, search
from tilewright.mapping.nodes import For, Node, Store
from tilewright.mapping.nodes import Mapping as Nest
from tilewright.mapping.structure import Structure, resolve
from tilewright.workload.axis_order import Layout, orders
from tilewright.workload.layer import Tensor

MOST_SIZES = 1 << 22
MOST_CUT = 4  # cut dimensions whose loop orders are all tried
Inner = dict[str, int | None]


@dataclass(frozen=True)
class Choice:
    """A tile of a layer with layouts of its tensors and an order of the loops over tiles.

    Attributes
    ----------
    cost : Cost
        What was minimised, for which layer on which machine.
    tile : dict of str to int
        Iterations of each dimension in a tile.
    inner : dict of str to int
        Contiguous axis of each tensor in the outermost memory; None for a scalar.
    value : float
        Data-movement cost: blocks per operation.
    order : tuple of str
        Dimensions that the tile cuts, outermost loop first.
    ties : int
        Tiles of this cost that the search has seen.
    """

    cost: Cost
    tile: dict[str, int]
    inner: Inner
    value: float
    order: tuple[str, ...]
    ties: int

    @property
    def distinct(self) -> dict[str, int]:
        """MARVEL's estimate of the distinct blocks of one tile, by tensor."""
        return {
            t.name: self.cost.distinct(t, self.inner[t.name], self.tile) for t in self.cost.tensors
        }

    @property
    def tiles(self) -> int:
        """Number of tiles of the layer."""
        return prod(-(-n // self.tile[d]) for d, n in self.cost.layer.bounds.items())

    @property
    def mapping(self) -> Nest:
        """The tile as a mapping; what is inside it is left to the compute unit."""
        layer, architecture = self.cost.layer, self.cost.architecture
        nodes: list[Node] = [
            Store(architecture.memories[0].name, tuple(t.name for t in layer.tensors)),
            *(For(d, self.tile[d]) for d in self.order),
            Store(self.cost.memory.name, tuple(t.name for t in self.cost.tensors)),
        ]
        return Nest(tuple(nodes))

    @cached_property
    def structure(self) -> Structure:
        """The loops of `mapping`."""
        return resolve(self.mapping, self.cost.layer, self.cost.architecture)

    def moved(self, tensor: Tensor, layout: Layout) -> BlockCounts:
        """Return the exact blocks of a tensor that the tiles of the whole layer move."""
        cost = self.cost
        return tensor_blocks(cost.layer, cost.architecture, self.structure, tensor, layout)

    @cached_property
    def layouts(self) -> dict[str, Layout]:
        """For each tensor the order of its other axes that moves the fewest blocks."""

        def total(tensor: Tensor, layout: Layout) -> int:
            counts = self.moved(tensor, layout)
            return counts.reads + counts.writes

        found = {}
        for tensor in self.cost.layer.tensors:
            axis = self.inner.get(tensor.name)
            fitting = [
                layout
                for layout in orders(tensor, self.cost.layer.bounds)
                if axis is None or layout.innermost == axis
            ]
            found[tensor.name] = min(fitting, key=partial(total, tensor))
        return found

    @cached_property
    def blocks(self) -> dict[str, BlockCounts]:
        """The exact blocks that the tiles of the whole layer move with `layouts`, by tensor."""
        return {t.name: self.moved(t, self.layouts[t.name]) for t in self.cost.layer.tensors}

    @property
    def total_blocks(self) -> int:
        """All blocks read and written."""
        return sum(counts.reads + counts.writes for counts in self.blocks.values())


@dataclass(frozen=True)
class Tiles:
    """The tiles of a layer that are searched.

    Attributes
    ----------
    cost : Cost
        What they cost.
    arrays : Arrays
        The same for the kernels.
    order : array of int
        The dimensions, those of few sizes first.
    start, sizes : array of int
        The sizes of each dimension, see `tiles.search`.
    dense : bool
        Whether sizes are all integers, and may be jumped over.
    bounded : bool
        Whether the blocks per operation only fall with every size.
    """

    cost: Cost
    arrays: Arrays
    order: Ints
    start: Ints
    sizes: Ints
    dense: bool
    bounded: bool

    def best(self, inner: Mapping[str, int | None] | None = None) -> Choice:
        """Return the tile and the layouts of least data-movement cost, and a loop order.

        Parameters
        ----------
        inner : mapping of str to int, optional
            Contiguous axis of tensors whose layout is given; that of the others is free.

        Raises
        ------
        NoMappingError
            When no tile fits.
        """
        cost = self.cost
        value, tile, axes, ties = search(
            self.arrays, allowed_axes(cost, inner), self.order, self.start, self.sizes,
            self.dense, self.bounded,
        )  # fmt: skip
        if not np.isfinite(value):
            raise NoMappingError(
                f"no tile of layer '{cost.layer.name}' fits '{cost.memory.name}' of "
                f"'{cost.architecture.name}': "
                + ", ".join(
                    f"{d} is {self.sizes[self.start[i]]} at least"
                    for i, d in enumerate(cost.layer.dimensions)
                )
            )
        sized = {d: int(tile[i]) for i, d in enumerate(cost.layer.dimensions)}
        found: Inner = {
            t.name: int(axis) if axis >= 0 else None
            for t, axis in zip(cost.tensors, axes, strict=True)
        }
        return Choice(cost, sized, found, float(value), cost.order(found, sized), int(ties))

    def count(self) -> int:
        """Return how many tiles fit the memory, counted one by one."""
        return int(count_tiles(self.arrays, self.order, self.start, self.sizes))

    def each_layout(self, *, single: bool = False) -> Iterator[tuple[Inner, Choice]]:
        """Yield the best tile for every choice of contiguous axes: MARVEL's 36 of a convolution.

        Parameters
        ----------
        single : bool
            Whether an axis of one word counts as contiguous too: then every word has a block of
            its own. The batch is left out.
        """
        tensors = self.cost.tensors
        bounds = self.cost.layer.bounds
        axes: list[Sequence[int]] = [inner_choices(t, bounds) for t in tensors]
        if single:
            axes = [
                [i for i, terms in enumerate(t.expressions) if terms[0].dimension != "N"]
                for t in tensors
            ]
        for chosen in product(*axes):
            inner: Inner = {t.name: axis for t, axis in zip(tensors, chosen, strict=True)}
            yield inner, self.best(inner)


def tiles_of(
    cost: Cost,
    *,
    integers: bool = False,
    whole: Collection[str] = (),
    most: Mapping[str, float] | None = None,
) -> Tiles:
    """Return the tiles of a layer.

    Parameters
    ----------
    cost : Cost
        What tiles cost.
    integers : bool
        Whether tiles have any size; else their sizes divide the bounds.
    whole : collection of str
        Dimensions that are not cut.
    most : mapping of str to int, optional
        Largest sizes of dimensions.

    Raises
    ------
    InputError
        When a dimension has too many sizes.
    """
    layer = cost.layer
    arrays = cost.arrays()
    unlimited = not (arrays.room < UNBOUNDED // 2).any()
    lists = []
    for d, bound in layer.bounds.items():
        limit = (most or {}).get(d, inf)
        if d in whole or (unlimited and limit >= bound):
            lists.append(np.array([bound]))
            continue
        end = int(min(largest(cost, d), limit))
        if end > MOST_SIZES:
            raise InputError(
                f"dimension '{d}' of layer '{layer.name}' has {end} sizes that fit "
                f"'{cost.memory.name}'; at most {MOST_SIZES} are searched",
                key="layer",
            )
        every = np.arange(1, end + 1)
        lists.append(every if integers else every[bound % every == 0])
    order = np.array(sorted(range(len(lists)), key=lambda i: len(lists[i])), np.int64)
    start = np.cumsum([0, *map(len, lists)]).astype(np.int64)
    sizes = np.concatenate(lists).astype(np.int64)
    # what lies in the gaps of a stride may grow faster than the operations
    gaps = arrays.gaps or (np.diff(arrays.term_start) > 2).any()
    bounded = not (gaps and (arrays.coefficient > 1).any())
    return Tiles(
        cost=cost,
        arrays=arrays,
        order=order,
        start=start,
        sizes=sizes,
        dense=integers and bounded,
        bounded=bounded,
    )


def largest(cost: Cost, dimension: str) -> int:
    """Return the largest size of a dimension that fits the memory, the others having one."""
    tile = dict.fromkeys(cost.layer.dimensions, 1)
    low, high = 1, cost.layer.bounds[dimension]
    while low < high:
        middle = (low + high + 1) // 2
        if cost.fits(tile | {dimension: middle}):
            low = middle
        else:
            high = middle - 1
    return low


def reordered(choice: Choice) -> Choice:
    """Return a choice with the loop order that moves the fewest blocks, counted exactly.

    With more than four cut dimensions the order is left as it is.
    """
    if len(choice.order) > MOST_CUT:
        return choice

    def moved(order: tuple[str, ...]) -> int:
        return replace(choice, order=order).total_blocks

    return replace(choice, order=min(permutations(choice.order), key=moved))

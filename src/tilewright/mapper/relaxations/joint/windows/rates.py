"""Limits of the words of a window that are sent or received for an iteration."""

from __future__ import annotations

from collections.abc import Sequence
from math import inf
from typing import TYPE_CHECKING

from tilewright.kernels.types import Floats
from tilewright.mapper.relaxations.joint.program import Powers, product
from tilewright.mapper.relaxations.joint.windows.expression import Expression
from tilewright.mapper.relaxations.joint.windows.limits import NewTile, WholeSide, WindowLimits
from tilewright.mapper.relaxations.joint.windows.steps import StepLimits
from tilewright.mapper.relaxations.joint.windows.tiles_apart import SpreadTiles, TilesApart

if TYPE_CHECKING:
    from tilewright.mapper.relaxations.joint.extents import Extents

RateLimits = WindowLimits | WholeSide | NewTile | SpreadTiles


class TileRate:
    """The limits of words of an expression of two dimensions for an iteration, of a stay's tiles.

    Parameters
    ----------
    extents : Extents
    i : int
        The stay.
    e : Expression
    rate : int
        The variable of words for an iteration.
    shared : tuple of int
        Arrays whose elements share them.
    run : int
        The variable of a run's iterations.

    Attributes
    ----------
    anyhow : list of limits
        Those that hold whatever slides.
    still : list of limits
        Those of tiles that slide along dimensions of other expressions.
    sliding : dict of str to list of limits
        For each dimension those of tiles that slide along it.
    steps : dict of str to StepLimits
        The same, of a step of such a tile, where there is something to say of that.
    new : dict of str to list of NewTile
        The same, where a step takes only new words.
    apart : list of (str, TilesApart)
        With elements that lie apart: dimensions along which it slides, if there are loops on them.
    """

    def __init__(
        self,
        extents: Extents,
        i: int,
        e: Expression,
        rate: int,
        shared: tuple[int, ...],
        run: int,
    ) -> None:
        self.extents, self.e, self.rate, self.shared = extents, e, rate, shared
        self.above = range(extents.segment[extents.stays[i].receiver])
        # iterations of several elements may lie apart, and have fewer words than others
        self.few = e.apart() if shared else e
        self.divided = [extents.along(self.above, (d,)) for d in e.names]
        self.alone = [extents.extent(i, d) for d in e.names]
        self.along = [extents.along(shared, (d,)) for d in e.names]
        self.tile = [product(t, a) for t, a in zip(self.alone, self.along, strict=True)]
        self.anyhow = self.of_instances()
        of_tile = self.with_sides(self.tile)
        whole = whole_sides(extents, e, rate, self.tile, self.divided, tile=True)
        self.still: list[WindowLimits | WholeSide] = [of_tile, *whole]
        self.sliding: dict[str, list[RateLimits]] = {}
        self.steps: dict[str, StepLimits] = {}
        self.new: dict[str, list[NewTile]] = {}
        self.apart: list[tuple[str, TilesApart]] = []
        for k, d in enumerate(e.names):
            self.add_slide(k, d, run)

    def with_sides(self, sides: Sequence[Powers]) -> WindowLimits:
        """Return the limits with some iterations of both dimensions."""
        apart = ({}, {}) if self.shared else self.divided
        return WindowLimits(self.extents, self.few, {self.rate: 1.0}, sides, True, apart)

    def add_slide(self, k: int, d: str, run: int) -> None:
        """Add the limits of tiles that slide along one of the dimensions."""
        extents, e, rate = self.extents, self.e, self.rate
        own: list[RateLimits] = []
        if self.shared or not e.plain:
            self.steps[d] = StepLimits(
                extents, e, d, rate, self.alone, self.along, self.divided[k], run
            )
        if self.shared:
            counts = (e.a, e.b)[k]
            self.new[d] = [NewTile(limits, self.alone[1 - k], counts) for limits in self.still]
            own += self.new[d]
        axes = self.shared_axes(d)
        if axes and (e.a, e.b)[1 - k] == 1:
            own.append(SpreadTiles(extents, e, k, rate, self.alone, self.along, run, axes))
            self.apart.append(("", TilesApart(e, k, rate, self.alone, self.along, axes)))
            other = TilesApart(e, k, rate, self.alone, self.along, axes, slides=True)
            self.apart.append((e.names[1 - k], other))
        sides = list(self.tile)
        sides[k] = product({run: 1.0}, self.along[k])
        own += whole_sides(extents, e, rate, sides, self.divided)
        if e.plain or self.shared or not self.divided[k]:
            own.append(self.with_sides(sides))
        self.sliding[d] = own

    def shared_axes(self, d: str) -> int:
        """Return the axes of the array that alone divides a dimension, if it shares words."""
        dividing = [k for k in self.above if self.extents.along((k,), (d,))]
        if len(dividing) != 1 or dividing[0] not in self.shared:
            return 0
        return len(self.extents.least.architecture.arrays[dividing[0]].axes)

    def of_instances(self) -> list[WindowLimits | WholeSide]:
        """Return the limits of all that the elements which share words ever need of a window.

        They have some of the iterations of each dimension, perhaps apart from each other, and the
        fewer these are, the less is a word used.
        """
        extents, e = self.extents, self.e
        apart = [k for k in self.above if k not in self.shared]
        divided = [extents.along(apart, (d,)) for d in e.names]
        if not any(divided):
            return []
        sides = [{extents.times(-1, d, apart): 1.0} for d in e.names]
        limits = WindowLimits(extents, e.apart(), {self.rate: 1.0}, sides, each=True)
        return [limits, *whole_sides(extents, e, self.rate, sides, divided)]

    def least(self, d: str, point: Floats) -> float:
        """Return the logarithm of what it is at least at a point, sliding along a dimension."""
        own = self.sliding.get(d, self.still)
        return max((limits.least(point, point) for limits in own), default=-inf)


def whole_sides(
    extents: Extents,
    e: Expression,
    rate: int,
    sides: Sequence[Powers],
    divided: Sequence[Powers],
    tile: bool = False,
) -> list[WholeSide]:
    """Return the limits of a rate that hold where iterations of a dimension are all in a row."""
    if e.plain:
        return []
    return [
        WholeSide(WindowLimits(extents, e, {rate: 1.0}, sides, each=True), k, divided[k], tile)
        for k, count in enumerate((e.a, e.b))
        if count == 1
    ]

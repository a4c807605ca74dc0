"""How few of the words that instances receive are different ones, for tiles of sliding windows."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import prod
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from tilewright.kernels.kernel import leaf_kernel
from tilewright.kernels.record import record
from tilewright.mapper.label.charge import united_words
from tilewright.mapper.windows.slides import does_repeat, may_repeat

if TYPE_CHECKING:
    from tilewright.kernels.types import Bools, Floats, Ints
    from tilewright.mapper.problem.space import Space


@record
class Parts(NamedTuple):
    """Of the words of tiles in all instances, by the tile.

    Attributes
    ----------
    union : array of tiles
        Those of their union.
    missing : array of (tiles, dimensions)
        Those that a step along a dimension brings in.
    """

    union: Floats
    missing: Floats


@leaf_kernel
def least_parts(
    coef: Ints,
    tiles: Ints,
    steps: Ints,
    factor: Ints,
    tile: Ints,
    shift: Ints,
    stride: Ints,
    marks: Ints,
    union: Floats,
    missing: Floats,
) -> None:
    """Lower the parts of each tile to those of instances that stand some steps apart.

    Parameters
    ----------
    coef : array of dimensions
    tiles : array of (tiles, dimensions)
        Extents of an index expression's dimensions.
    steps : array of (steps, dimensions)
        Distances of neighbouring instances. A tile counts that divides them.
    factor : array of (1, dimensions)
        Number of instances along each dimension.
    tile, shift, stride, marks : arrays
        For use in between.
    union, missing : arrays of tiles, of (tiles, dimensions)
        As in `Parts`.
    """
    width = len(coef)
    copies = 1
    for i in range(width):
        copies *= factor[0, i]
    for k in range(len(tiles)):
        for i in range(width):
            tile[i] = tiles[k, i]
        own, _ = united_words(width, coef, tile, 0, factor, stride, 0, 0, marks)
        for s in range(len(steps)):
            divides = True
            for i in range(width):
                stride[0, i] = steps[s, i]
                divides = divides and steps[s, i] % tile[i] == 0
            if not divides:
                continue
            for i in range(width):
                # a loop inside the array moves a tile on, one outside it all instances
                for outside in range(2):
                    far = tile[i] + outside * (factor[0, i] - 1) * stride[0, i]
                    united, more = united_words(width, coef, tile, 1, factor, stride, i, far, marks)
                    union[k] = min(union[k], united / (own * copies))
                    missing[k, i] = min(missing[k, i], more / (own * copies))


@leaf_kernel
def repeating(sp: Space, w: int, e: int, cut: bool, shapes: Ints, repeats: Bools) -> None:
    """Tell at which of some shapes loops on an expression's dimensions may bring back the tile.

    The loops may be `cut` by an array.
    """
    for k in range(len(shapes)):
        shape = shapes[k]
        repeats[k] = may_repeat(sp, w, e, shape) if cut else does_repeat(sp, w, e, shape)


@dataclass(frozen=True)
class Shares:
    """The parts of one layer's windows, by the expression and the factors of a spatial choice."""

    known: dict[tuple[int, ...], Parts] = field(default_factory=dict)

    def parts(self, sp: Space, w: int, e: int, choice: int, shapes: Ints) -> Parts:
        """Return the parts of an index expression of some shapes, the least wherever they stand."""
        members = sp.members[w, e][sp.members[w, e] >= 0]
        digits = sp.unroll[choice, members]
        key = (w, e, *digits.tolist())
        if key not in self.known:
            values = [sp.values[d, : sp.sizes[d]] for d in members]
            factor = np.array([own[q] for own, q in zip(values, digits, strict=True)])
            grids = np.meshgrid(*values, indexing="ij")
            tiles = np.stack([grid.ravel() for grid in grids], axis=1)
            bounds = np.array([own[-1] for own in values])
            fits = (bounds % (tiles * factor) == 0).all(axis=1)
            parts = Parts(np.ones(len(tiles)), np.ones(tiles.shape))
            coef = sp.coefs[w, e, : len(members)].copy()
            span = 1 + int((coef * bounds).sum()) * 4
            n = len(members)
            least_parts(
                coef, tiles, tiles[fits], factor[None].copy(), np.empty(n, np.int64),
                np.empty(n, np.int64), np.empty((1, n), np.int64), np.empty(span, np.int64),
                *parts,
            )  # fmt: skip
            self.known[key] = parts
        at = np.zeros(len(shapes), np.int64)
        for position, d in enumerate(members):
            later = prod(int(sp.sizes[o]) for o in members[position + 1 :])
            at += sp.digits[shapes, d] * later
        return Parts(*(each[at] for each in self.known[key]))

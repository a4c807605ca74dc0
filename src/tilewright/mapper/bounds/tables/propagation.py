"""What holds for one shape of the lattice holds for shapes around it, or inside it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tilewright.kernels.kernel import leaf_kernel

if TYPE_CHECKING:
    from tilewright.kernels.types import Bools, Floats
    from tilewright.mapper.problem.space import Space


@leaf_kernel
def spread_both_ways(sp: Space, around: Floats, inside: Floats) -> None:
    """Lower what holds for one shape to the least of all shapes around it, or inside it."""
    for shape in range(len(around)):
        for move in range(len(sp.moves)):
            d = sp.moves[move, 0]
            digit = sp.digits[shape, d]
            smaller = sp.quotient[d, digit, sp.moves[move, 1]]
            if smaller >= 0:
                inner = shape - (digit - smaller) * sp.strides[d]
                inside[shape] = min(inside[shape], inside[inner])
    for shape in range(len(around) - 1, -1, -1):
        for move in range(len(sp.moves)):
            d = sp.moves[move, 0]
            digit = sp.digits[shape, d]
            smaller = sp.quotient[d, digit, sp.moves[move, 1]]
            if smaller >= 0:
                inner = shape - (digit - smaller) * sp.strides[d]
                around[inner] = min(around[inner], around[shape])


@leaf_kernel
def spread_down(sp: Space, table: Floats, stays: Bools) -> None:
    """Let every entry hold for the shapes that its own divides, too.

    Without tensor t only along the dimensions irrelevant to it, unless other loops may come before.
    Tensors whose tiles do not stay have no entries; of two shapes that mirror each other the first
    one has all.
    """
    nt = sp.relevant.shape[0]
    for shape in range(len(sp.repeats)):
        if sp.mirror[shape] < shape:
            for column in range(table.shape[1]):
                table[shape, column] = table[sp.mirror[shape], column]
            continue
        for t in range(nt):
            table[shape, nt + 1 + t] = table[shape, t]
        for move in range(len(sp.moves)):
            d = sp.moves[move, 0]
            digit = sp.digits[shape, d]
            smaller = sp.quotient[d, digit, sp.moves[move, 1]]
            if smaller >= 0:
                inner = shape - (digit - smaller) * sp.strides[d]
                table[shape, nt] = min(table[shape, nt], table[inner, nt])
                for t in range(nt):
                    if not stays[t]:
                        continue
                    if not sp.relevant[t, d]:
                        table[shape, t] = min(table[shape, t], table[inner, t])
                    after = nt + 1 + t
                    table[shape, after] = min(table[shape, after], table[inner, after])
        for t in range(nt):
            table[shape, nt + 1 + t] = min(table[shape, nt + 1 + t], table[shape, t])

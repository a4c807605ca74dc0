"""The words that move between two shared stores, by the reuse rule, as products over families."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from tilewright.fusion.families import Family, Group, families
from tilewright.mapping.fused.connections.segments import Segment
from tilewright.mapping.fused.scopes import SharedLoop, SharedStore
from tilewright.mapping.fused.turns import most_chunks
from tilewright.workload.footprint import expression_words
from tilewright.workload.layer import Layer, Tensor


def moved_words(
    store: SharedStore, layer: Layer, tensor: Tensor, segment: Segment, *, fresh: bool = False
) -> int:
    """Return the words that enter a shared store's tiles, summed over all steps.

    Parameters
    ----------
    store : SharedStore
        The store.
    layer : Layer
        A layer below that uses the tensor; its boxes are the tiles.
    tensor : Tensor
        The tensor, as that layer knows it.
    segment : Segment
        Where all this belongs.
    fresh : bool
        Of an output: only the words that enter while the dimensions that are summed over are at
        their beginning, from zero.

    Notes
    -----
    Of the loops above let j be the outermost one that has advanced: those outside of it stand still
    and those inside are back at their first chunk. For each family c the sums over its steps are

        N_c  the words of the new tile along the family's axis,
        U_c  the same where the old tile has the same ones,
        D    those that the old tile lacks, for the family of j.

    Where the tile slides along j, D times the N of the others have moved, otherwise the product of
    the N less that of the U: a tile that does not change does not move. Where j stands above the
    list of nodes of the store, the tile is new.
    """
    own = families(layer, store.loops, segment)
    looped = {family.dimension for family in own}
    fixed = prod(
        expression_words(terms, layer.bounds)
        for terms in tensor.expressions
        if not looped & {term.dimension for term in terms}
    )
    trees = []
    for family in own:
        tree = family.groups(tensor)
        if tree is None:
            return 0
        summed = family.dimension not in tensor.dimensions
        trees.append(first_step(tree) if fresh and summed else tree)
    total = prod(tree.first.size for tree in trees)
    run = sliding_run(store.loops, layer, tensor, segment)
    for j in range(len(store.loops)):
        news, unchanged, lacking = _advanced(j, own, trees)
        if j < store.entered:
            total += news
        elif j in run:
            total += lacking
        else:
            total += news - unchanged
    return fixed * total


def first_step(tree: Group) -> Group:
    """Return the first step alone."""
    return Group(tuple(map(first_step, tree.parts[:1])), tree.first, tree.first)


def _advanced(j: int, own: Sequence[Family], trees: Sequence[Group]) -> tuple[int, int, int]:
    """Return the products of N, of U, and of D and the other N, when loop j advances."""
    news = unchanged = lacking = 1
    for family, tree in zip(own, trees, strict=True):
        depth = sum(position < j for position in family.positions)
        n = u = d = 0
        if j in family.positions:
            for group in tree.at_depth(depth):
                for old, new in zip(group.parts, group.parts[1:], strict=False):
                    size = new.first.size
                    n += size
                    u += size if new.first == old.last else 0
                    d += new.first.new(old.last)
        else:
            for group in tree.at_depth(depth):
                size = group.first.size
                n += size
                u += size if group.first == group.last else 0
            d = n
        news, unchanged, lacking = news * n, unchanged * u, lacking * d
    return news, unchanged, lacking


def sliding_run(
    loops: Sequence[SharedLoop], layer: Layer, tensor: Tensor, segment: Segment
) -> set[int]:
    """Return the positions of the loops along which a tile below all of them slides."""
    run: set[int] = set()
    slides: str | None = None
    for position in reversed(range(len(loops))):
        loop = loops[position]
        dimension = loop.cuts.dims[layer.name]
        if dimension not in tensor.dimensions:
            continue
        if most_chunks(loop, loops[:position], segment) == 1:
            continue
        if slides not in (None, dimension):
            break
        slides = dimension
        run.add(position)
    return run

"""Which of many mappings are the same mapping, though they may be written in different ways."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from hashlib import blake2b
from itertools import groupby

import numpy as np
from numpy.typing import NDArray

from tilewright.kernels.types import Bools, Ints
from tilewright.mapping.nodes import For, Mapping, Node, Spatial, Store
from tilewright.strategies.candidates.canonical import canonical_order
from tilewright.workload.layer import Layer

Hashes = NDArray[np.uint64]

FACTOR = np.uint64(0x9E3779B97F4A7C15)
SHIFT = np.uint64(29)


def identities(layer: Layer, structure: Mapping, tiles: Ints, ordered: bool) -> Hashes:
    """Return a number for each mapping, the same for those that are one.

    Mappings are one when they differ only in loops of one chunk, in the order of neighbouring store
    nodes, or in an order of neighbouring loops that leaves all reuse as it is. Two different ones
    of a billion have the same number with a probability of 3 %.

    Parameters
    ----------
    layer : Layer
        What is mapped.
    structure : Mapping
        The nodes that the mappings have in common.
    tiles : array of (mappings, loops)
        Their tile sizes, outermost first.
    ordered : bool
        Whether every order of loops is its own.
    """
    nodes = structure.nodes
    loops = [node for node in nodes if not isinstance(node, Store)]
    result = np.empty(len(tiles), np.uint64)
    used, which = np.unique(arrays_used(layer, loops, tiles), axis=0, return_inverse=True)
    arrays = sorted({loop.array for loop in loops if isinstance(loop, Spatial)})
    for k, row in enumerate(used):
        # loops around an array where nothing is spatial are neighbours
        idle = {array for array, some in zip(arrays, row, strict=True) if not some}
        rows = which.reshape(-1) == k
        columns = [
            i for i, loop in enumerate(loops) if isinstance(loop, For) or loop.array not in idle
        ]
        kept = tuple(
            node for node in nodes if not isinstance(node, Spatial) or node.array not in idle
        )
        result[rows] = block_by_block(layer, kept, tiles[np.ix_(rows, columns)], ordered)
    return result


def arrays_used(layer: Layer, loops: Sequence[For | Spatial], tiles: Ints) -> Bools:
    """Return for each mapping on which arrays, by name, something is spatial."""
    arrays = sorted({loop.array for loop in loops if isinstance(loop, Spatial)})
    used = np.zeros((len(tiles), len(arrays)), np.bool_)
    extents = {d: np.full(len(tiles), bound) for d, bound in layer.bounds.items()}
    for i, loop in enumerate(loops):
        if isinstance(loop, Spatial):
            used[:, arrays.index(loop.array)] |= tiles[:, i] != extents[loop.dimension]
        extents[loop.dimension] = tiles[:, i]
    return used


def block_by_block(layer: Layer, nodes: Sequence[Node], tiles: Ints, ordered: bool) -> Hashes:
    """Return `identities` of mappings that use all arrays on which they have spatial loops."""
    rows = len(tiles)
    extents = {d: np.full(rows, bound) for d, bound in layer.bounds.items()}
    known = np.zeros(rows, np.uint64)
    stored = np.zeros(rows, np.uint64)
    column = 0
    for _, group in groupby(nodes, lambda node: getattr(node, "array", type(node))):
        block = list(group)
        for node in block:
            if isinstance(node, Store):
                for name in node.tensors:
                    stored += digest("store", node.memory, name)
        loops = [node for node in block if isinstance(node, For | Spatial)]
        if not loops:
            continue
        looping = np.empty((rows, len(loops)), np.bool_)
        for i, loop in enumerate(loops):
            looping[:, i] = tiles[:, column + i] != extents[loop.dimension]
            extents[loop.dimension] = tiles[:, column + i]
        own = forms(layer, loops, looping, ordered)
        for i in sorted(range(len(loops)), key=lambda i: str(loops[i])):
            sized = mixed(own, tiles[:, column + i].astype(np.uint64))
            own = np.where(looping[:, i], sized, own)
        some = looping.any(axis=1)
        known = np.where(some, mixed(mixed(known, stored), own), known)
        stored = np.where(some, np.uint64(0), stored)
        column += len(loops)
    return mixed(known, stored)


def forms(layer: Layer, loops: list[For | Spatial], looping: Bools, ordered: bool) -> Hashes:
    """Return a number for the canonical form of those of some neighbouring loops that loop."""
    weights = 1 << np.arange(len(loops))
    codes, which = np.unique(looping @ weights, return_inverse=True)
    numbers = np.empty(len(codes), np.uint64)
    for i, code in enumerate(codes.tolist()):
        own = [loop for k, loop in enumerate(loops) if code >> k & 1]
        names = tuple(loop.dimension for loop in own)
        if isinstance(loops[0], Spatial):
            names = tuple(sorted(str(loop) for loop in own))
        elif not ordered and len(set(names)) == len(names):
            names = canonical_order(names, layer)
        numbers[i] = digest(*names)
    return numbers[which.reshape(-1)]


@lru_cache(maxsize=1 << 16)
def digest(*words: str) -> np.uint64:
    """Return a number for some words."""
    text = "\0".join(words).encode()
    return np.uint64(int.from_bytes(blake2b(text, digest_size=8).digest(), "little"))


def mixed(numbers: Hashes, more: Hashes) -> Hashes:
    """Return numbers that depend on both."""
    sums = (numbers ^ (numbers >> SHIFT) ^ more) * FACTOR
    return np.asarray(sums ^ (sums >> SHIFT), np.uint64)

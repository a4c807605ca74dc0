"""What two mappings have in common that move the same words."""

from __future__ import annotations

from dataclasses import replace
from math import prod
from typing import NamedTuple

import numpy as np

from tilewright.architecture.machine import Architecture
from tilewright.kernels.types import Bools, Floats, Ints
from tilewright.mapper.canonical.route import Advance, Node, Route, route_of
from tilewright.mapper.problem.space import Space
from tilewright.mapping.nodes import Mapping
from tilewright.mapping.validity import element_bits
from tilewright.workload.footprint import expression_words, footprint
from tilewright.workload.layer import Layer, Tensor, Term

UNBOUNDED = 1 << 62
Extents = dict[str, int]


class Same(NamedTuple):
    """What a mapping has to keep so that the words that move are those of a given one.

    A loop on a dimension relevant to a tensor may stand where no more than `outside` iterations of
    irrelevant ones are outside of it, as long as one of the tensor's nodes is to come. The loops of
    a slide stay as they are, outside of them any may stand. Link l of a tensor ends at its store
    node l, counted without the outermost memory. A stage says how many nodes of each tensor a walk
    has behind it; the stages of all segments, the parts of a mapping between two arrays, are
    numbered from the outermost segment inward.

    Attributes
    ----------
    strides, sizes, values, digits, words
        The tile lattice.
    relevant : array of (tensors, dimensions)
    window : array of (tensors, dimensions)
        The expression of a tensor in which a dimension slides with others, or -1.
    slides : array of tensors
        Whether there is such an expression.
    start : array of segments + 1
        First stage of each segment.
    segment : array of stages
    placed : array of (stages, tensors)
        Nodes behind.
    following : array of (stages, tensors)
        Stage after the tensor's next node, or -1 where it stands in another segment.
    links : array of tensors
        Store nodes.
    memory, depth : arrays of (tensors, links)
        Where each node stands: position of the memory, and segment.
    bits : array of (tensors, links)
        Bits of a word there, buffering included.
    share : array of (tensors, links)
        Bits that the tensor may take there.
    capacity, used : arrays of memories
        Bits that there are, and that the given mapping uses, the outermost memory aside.
    outside : array of (tensors, links)
        See `route.Node`.
    tile : array of (tensors, links, dimensions)
        Extents at the node.
    within : array of (tensors, links, dimensions, digits)
        Whether a slide in tiles of this extent may replace the last of a slide, or a tile that does
        not slide: it brings the same words.
    slide : array of (tensors, links + 1)
        Where the slide towards each node begins in the lists below, see `route.Node`.
    slide_dimension, slide_tile : arrays of loops
    slide_shape : array of (loops, dimensions)
        Extents outside each loop.
    slide_outside : array of loops
        Temporal iterations of irrelevant dimensions outside it.
    factors : array of (arrays, dimensions)
        Spatial factors.
    above : array of (arrays, dimensions)
        Extents above an array that unrolls a dimension that slides, 0 where any will do.
    spread : array of (segments, dimensions)
        Product of the factors above a segment.
    reuse : array of (segments, tensors)
        Product of the factors of irrelevant dimensions above a segment.
    """

    strides: Ints
    sizes: Ints
    values: Ints
    digits: Ints
    words: Ints
    relevant: Bools
    window: Ints
    slides: Bools
    start: Ints
    segment: Ints
    placed: Ints
    following: Ints
    links: Ints
    memory: Ints
    depth: Ints
    bits: Ints
    share: Ints
    capacity: Ints
    used: Ints
    outside: Floats
    tile: Ints
    within: Bools
    slide: Ints
    slide_dimension: Ints
    slide_tile: Ints
    slide_shape: Ints
    slide_outside: Floats
    factors: Ints
    above: Ints
    spread: Ints
    reuse: Floats


def same_words(
    mapping: Mapping, layer: Layer, architecture: Architecture, sp: Space
) -> Same | None:
    """Return what has to stay of a mapping, if that can be said.

    Parameters
    ----------
    mapping : Mapping
        It is valid.
    layer, architecture
        What it computes, and on what.
    sp : Space
        The tile lattice and the windows.

    Returns
    -------
    Same or None
        None where tile sizes do not divide, or a memory below an array stores above one outside it.
    """
    window = windows(layer, sp)
    route = route_of(mapping, layer, architecture, sp, window)
    if route is None:
        return None
    nt, nd = sp.relevant.shape
    slides = np.any(window >= 0, axis=1)
    depth = max(map(len, route.nodes))
    memory, segment, bits, share, outside = np.zeros((5, nt, depth), np.int64)
    tile = np.zeros((nt, depth, nd), np.int64)
    within = np.zeros((nt, depth, nd, sp.values.shape[1]), np.bool_)
    slide = np.zeros((nt, depth + 1), np.int64)
    loops: list[Advance] = []
    used = np.zeros(len(architecture.memories), np.int64)
    extents = dict.fromkeys(layer.bounds, 1)
    dimensions = [d for d in layer.dimensions if layer.bounds[d] > 1]
    pinned = np.zeros(route.factors.shape, np.bool_)
    for t, (tensor, nodes) in enumerate(zip(layer.tensors, route.nodes, strict=True)):
        united = united_slides(architecture, tensor, window[t], route)
        pinned |= united
        slide[t] = len(loops)
        for link, node in enumerate(nodes):
            wide = node
            own = architecture.memories[node.memory]
            bits[t, link] = element_bits(tensor, own) * own.buffering
            words = footprint(tensor, extents | dict(zip(dimensions, node.tile, strict=True)))
            used[node.memory] += words * bits[t, link]
            share[t, link] = UNBOUNDED if own.tensor_bits is None else own.tensor_bits[tensor.role]
            if slides[t]:
                crossed = united[nodes[link - 1].segment if link else 0 : node.segment]
                wide, within[t, link] = resized(tensor, node, route, crossed, window[t], layer, sp)
                pinned[: node.segment] |= window[t] >= 0
            memory[t, link], segment[t, link] = node.memory, node.segment
            outside[t, link], tile[t, link] = node.outside, wide.tile
            loops += wide.slide
            slide[t, link + 1 :] = len(loops)
    reuse = [np.where(sp.relevant, 1, factors).prod(axis=1) for factors in route.factors]
    capacity = [m.capacity_bits for m in architecture.memories]
    start, segment_of_stage, placed, following = stages(route)
    return Same(
        strides=sp.strides,
        sizes=sp.sizes,
        values=sp.values,
        digits=sp.digits,
        words=sp.words,
        relevant=sp.relevant,
        window=window,
        slides=slides,
        start=start,
        segment=segment_of_stage,
        placed=placed,
        following=following,
        links=np.array([len(nodes) for nodes in route.nodes], np.int64),
        memory=memory,
        depth=segment,
        bits=bits,
        share=share,
        capacity=np.array([UNBOUNDED if c is None else c for c in capacity], np.int64),
        used=used,
        outside=outside.astype(np.float64),
        tile=tile,
        within=within,
        slide=slide,
        slide_dimension=np.array([loop.dimension for loop in loops], np.int64),
        slide_tile=np.array([loop.tile for loop in loops], np.int64),
        slide_shape=np.array([loop.shape for loop in loops], np.int64).reshape(-1, nd),
        slide_outside=np.array([loop.outside for loop in loops], np.float64),
        factors=route.factors,
        above=np.where(pinned & (route.factors > 1), route.above, 0),
        spread=np.cumprod([np.ones(nd, np.int64), *route.factors], axis=0),
        reuse=np.cumprod([np.ones(nt), *reuse], axis=0),
    )


def windows(layer: Layer, sp: Space) -> Ints:
    """Return for each tensor and dimension the expression in which it slides, or -1.

    Nothing slides where no word belongs to two windows, such as those of patches side by side.
    """
    nd = sp.relevant.shape[1]
    found = np.full(sp.relevant.shape, -1, np.int64)
    for t, (tensor, w) in enumerate(zip(layer.tensors, sp.windows.tolist(), strict=True)):
        if w >= 0 and footprint(tensor, layer.bounds) < prod(
            layer.bounds[d] for d in tensor.dimensions
        ):
            found[t] = sp.window_of[w, :nd]
    return found


def stages(route: Route) -> tuple[Ints, Ints, Ints, Ints]:
    """Return the arrays `start`, `segment`, `placed` and `following` of `Same`."""
    nt = len(route.nodes)
    start, segment, placed, following = [0], [], [], []
    behind = [0] * nt
    for s in range(len(route.factors) + 1):
        need = [sum(node.segment == s for node in nodes) for nodes in route.nodes]
        radix = [prod(n + 1 for n in need[t + 1 :]) for t in range(nt)]
        for stage in range(prod(n + 1 for n in need)):
            done = [stage // radix[t] % (need[t] + 1) for t in range(nt)]
            after = [start[s] + stage + radix[t] for t in range(nt)]
            segment.append(s)
            placed.append([a + b for a, b in zip(behind, done, strict=True)])
            following.append([after[t] if done[t] < need[t] else -1 for t in range(nt)])
        behind = placed[-1]
        start.append(len(placed))
    return np.array(start), np.array(segment), np.array(placed), np.array(following)


def united_slides(architecture: Architecture, tensor: Tensor, window: Ints, route: Route) -> Bools:
    """Return which dimensions that slide in a tensor an array unrolls that unites its words."""
    unites = [a.reduction if tensor.is_output else a.multicast for a in architecture.arrays]
    return np.array(unites, np.bool_)[:, None] & (window >= 0) & (route.factors > 1)


Slide = tuple[int, int, int]
"""Extent of a tile, words of the tile, and words that come when it advances by itself."""


def slide_along(terms: tuple[Term, ...], extents: Extents, d: str, tile: int) -> Slide:
    """Return a slide along dimension d in tiles of an extent."""
    own = expression_words(terms, extents | {d: tile})
    return tile, own, expression_words(terms, extents | {d: 2 * tile}) - own


def same_slide(whole: Slide, part: Slide) -> bool:
    """Whether tiles bring the words of a larger one, step by step, when they slide in it.

    Each advance of the larger tile brings what the advances of the smaller ones within it do.
    """
    return part[2] * (whole[0] // part[0]) == whole[2] and part[1] + whole[2] - part[2] == whole[1]


def may_resize(node: Node, route: Route, crossed: Bools, window: Ints, i: int) -> bool:
    """Whether a tile may slide along dimension i where it does not, or the other way round.

    Only along the dimension of its slide, if it has one; and not where elements of an array would
    share other words.

    Parameters
    ----------
    crossed : array of (arrays, dimensions)
        Which dimensions are unrolled by an array on the way to the node that unites words.
    """
    if window[i] < 0 or crossed[:, window == window[i]].any():
        return False
    unrolled = (route.factors[: node.segment, i] > 1).any()
    return not node.slide or not (unrolled or any(loop.dimension != i for loop in node.slide))


def resized(
    tensor: Tensor, node: Node, route: Route, crossed: Bools, window: Ints, layer: Layer, sp: Space
) -> tuple[Node, Bools]:
    """Return a store node with the widest tile that brings the same words, and which others do.

    Returns
    -------
    node : Node
        Its slide lacks the loops that slide within the tile.
    within : array of (dimensions, digits)
        Whether tiles of this extent may slide instead in the widest one.
    """
    dimensions = [d for d in layer.dimensions if layer.bounds[d] > 1]
    terms = {t.dimension: expression for expression in tensor.expressions for t in expression}
    extents = dict.fromkeys(layer.bounds, 1) | dict(zip(dimensions, node.tile, strict=True))
    wide = node
    if node.slide and may_resize(node, route, crossed, window, node.slide[-1].dimension):
        i = node.slide[-1].dimension
        d = dimensions[i]
        part = slide_along(terms[d], extents, d, node.tile[i])
        while wide.slide and wide.slide[-1].outside == node.outside:
            longer = extents | {d: wide.slide[-1].shape[i]}
            if not same_slide(slide_along(terms[d], longer, d, longer[d]), part):
                break
            extents = longer
            tile = tuple(extents[d] for d in dimensions)
            wide = replace(wide, tile=tile, slide=wide.slide[:-1])
    within = np.zeros((len(sp.sizes), sp.values.shape[1]), np.bool_)
    for i, d in enumerate(dimensions):
        if may_resize(wide, route, crossed, window, i):
            whole = slide_along(terms[d], extents, d, extents[d])
            for digit, own in enumerate(sp.values[i, : sp.sizes[i]].tolist()):
                if own < extents[d] and extents[d] % own == 0:
                    part = slide_along(terms[d], extents, d, own)
                    within[i, digit] = same_slide(whole, part)
    return wide, within

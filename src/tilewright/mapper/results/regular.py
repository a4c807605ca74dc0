"""Regular mappings: no loop of several steps has one step for some elements or chunks alone."""

from __future__ import annotations

from collections.abc import Sequence

from tilewright.mapping.nodes import For, Mapping, Spatial, Store
from tilewright.workload.layer import Layer


def is_regular(mapping: Mapping, layer: Layer) -> bool:
    """Whether each loop of several steps has several in every chunk and every element with work.

    The steps of a loop are those in which an element has work.
    """
    loops: dict[str, list[For | Spatial]] = {}
    for node in mapping.nodes:
        if not isinstance(node, Store):
            loops.setdefault(node.dimension, []).append(node)
    return all(is_regular_along(own, layer.bounds[d]) for d, own in loops.items())


def is_regular_along(loops: Sequence[For | Spatial], bound: int) -> bool:
    """Whether that is so of the loops over one dimension."""
    extents = {bound}
    for k, loop in enumerate(loops):
        cuts = [(extent, *chunks(extent, loop.tile)) for extent in extents]
        if isinstance(loop, For):
            inside = loops[k + 1 :]
            full = elements(loop.tile, inside)
            counts = {steps for _, steps, _ in cuts}
            counts |= {n - 1 for _, n, rest in cuts if n > 1 and elements(rest, inside) < full}
            if 1 in counts and len(counts) > 1:
                return False
        extents = {rest for *_, rest in cuts} | {loop.tile for _, n, _ in cuts if n > 1}
    return True


def chunks(extent: int, tile: int) -> tuple[int, int]:
    """Return how many chunks an extent is cut into, and the extent of the last one."""
    steps = -(-extent // tile)
    return steps, extent - (steps - 1) * tile


def elements(extent: int, loops: Sequence[For | Spatial]) -> int:
    """Return how many elements spatial loops give work, of an extent around all of the loops.

    Those of a smaller extent are always among those of a larger one.
    """
    if not loops:
        return 1
    loop, *inside = loops
    steps, rest = chunks(extent, loop.tile)
    if steps == 1:
        return elements(extent, inside)
    if isinstance(loop, For):
        return elements(loop.tile, inside)
    return (steps - 1) * elements(loop.tile, inside) + elements(rest, inside)

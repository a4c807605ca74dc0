"""The kinds of turns of a layer: how often each occurs, and what one of them counts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from functools import lru_cache
from itertools import product
from math import prod

from tilewright.architecture.machine import Architecture
from tilewright.counts import Counts
from tilewright.fusion.families import families
from tilewright.mapping.fused.connections.segments import Segment
from tilewright.mapping.fused.scopes import Leaf
from tilewright.mapping.fused.turn_layers import turn_layer, turn_mapping
from tilewright.mapping.nodes import Mapping
from tilewright.model.count import count
from tilewright.workload.layer import Layer


def turn_kinds(leaf: Leaf, segment: Segment) -> Iterator[tuple[int, dict[str, int], bool]]:
    """Yield how often a layer has a turn of some extents, and whether its output is fresh."""
    layer = segment.layer_of[leaf.layer]
    own = families(layer, leaf.loops, segment)
    kinds = []
    for family in own:
        reduced = family.dimension not in layer.output.dimensions
        seen = Counter((end - first, not reduced or first == 0) for _, (first, end) in family.spans)
        kinds.append(seen)
    for chosen in product(*(kind.items() for kind in kinds)):
        extents = dict(layer.bounds)
        for family, ((extent, _), _) in zip(own, chosen, strict=True):
            extents[family.dimension] = extent
        fresh = all(fresh for (_, fresh), _ in chosen)
        yield prod(times for _, times in chosen), extents, fresh


def turn_counts(
    leaf: Leaf, segment: Segment, architecture: Architecture
) -> Iterator[tuple[int, Counts]]:
    """Yield how often a layer has a turn, and what one such turn counts."""
    layer = segment.layer_of[leaf.layer]
    for times, extents, fresh in turn_kinds(leaf, segment):
        mapping = turn_mapping(leaf, extents, architecture)
        yield times, counted(turn_layer(layer, extents), architecture, mapping, fresh)


@lru_cache(maxsize=4096)
def counted(layer: Layer, architecture: Architecture, mapping: Mapping, fresh: bool) -> Counts:
    """Return the counts of one turn; the same ones occur in many mappings."""
    return count(layer, architecture, mapping, fresh=fresh)

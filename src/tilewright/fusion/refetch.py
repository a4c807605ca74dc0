"""Words of an intermediate tensor that a shared store reads back from the one above it.

The tile of a step is what is made and what is needed in it. It follows the reuse rule; what enters
it and is not made in the step comes from above. The sums are those of `tilewright.fusion.traffic`,
of the tile and, in its place, of what is made.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

from tilewright.fusion.alive import along, cut_and_whole
from tilewright.fusion.families import Family, Group, Part, nested
from tilewright.fusion.traffic import sliding_run
from tilewright.mapping.fused.connections.segments import Exchange, Segment
from tilewright.mapping.fused.scopes import SharedStore


@dataclass(frozen=True)
class MadePart(Part):
    """A part of a tile, and what of it is made in its step."""

    made: Part

    def __eq__(self, other: object) -> bool:
        # tiles are the same whatever is made of them
        return isinstance(other, MadePart) and self.words == other.words

    def __hash__(self) -> int:
        return hash(self.words)


def made_part(part: Part) -> Part:
    """Return what is made of a part."""
    assert isinstance(part, MadePart)
    return part.made


def refetched_words(store: SharedStore, readers: Sequence[Exchange], segment: Segment) -> int:
    """Return the words that a shared store reads back, summed over all steps.

    Parameters
    ----------
    store, readers, segment
        As for `alive.held_words`.
    """
    layer = segment.layer_of[readers[0].producer.layer]
    own, fixed = cut_and_whole(store, readers, segment)
    trees = []
    for family in own:
        parts = [
            (extent.at, MadePart(extent.both, Part(extent.made)))
            for extent in along(family, readers).extents()
            if extent.both[0] < extent.both[1]
        ]
        trees.append(nested(parts, 0))
    total = prod(t.first.size for t in trees) - prod(made_part(t.first).size for t in trees)
    run = sliding_run(store.loops, layer, layer.output, segment)
    for j in range(len(store.loops)):
        empty = j < store.entered
        total += _advanced(j, own, trees, slides=j in run and not empty, empty=empty)
    return fixed * total


def _advanced(
    j: int, own: Sequence[Family], trees: Sequence[Group], *, slides: bool, empty: bool
) -> int:
    """Return the words that are read back when loop j is the outermost one that has advanced."""
    tiles = made = same_tiles = same_made = 1
    for family, tree in zip(own, trees, strict=True):
        depth = sum(position < j for position in family.positions)
        sums = [0, 0, 0, 0]
        mine = j in family.positions
        for group in tree.at_depth(depth):
            pairs = zip(group.parts, group.parts[1:], strict=False) if mine else [(group, group)]
            for old, new in pairs:
                part, before = new.first, old.last
                whole, own_made = part.size, made_part(part).size
                if slides and mine:
                    whole, own_made = part.new(before), made_part(part).new(before)
                same = part == before and not slides and not empty
                for i, words in enumerate((whole, own_made, same * part.size, same * own_made)):
                    sums[i] += words
        tiles, made = tiles * sums[0], made * sums[1]
        same_tiles, same_made = same_tiles * sums[2], same_made * sums[3]
    return tiles - made - same_tiles + same_made

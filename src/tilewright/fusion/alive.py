"""How many words of an intermediate tensor a shared store holds at once.

A tile is what is made and what is needed in a step, a box. Words that were made before and that a
later step needs stay as well: halos of neighbouring tiles. For each family of loops a word has a
first step, in which it is made, and a last one, in which it is needed. A word is held at a step
that is not before its first and not after its last one, compared loop by loop from the outermost
one inward. How many words compare in which way is counted for each family alone.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise, product
from math import prod

from tilewright.fusion.families import Family, families
from tilewright.mapping.fused.scopes import SharedStore
from tilewright.mapping.fused.segments import Exchange, Segment
from tilewright.mapping.fused.turns import Span, needed

# by loop of a family: whether the step lies after the word's first one (1), in it (0) or before it
# (-1); the same for the last one after the step; whether a later step makes the word again
Pattern = tuple[tuple[int, int, bool], ...]
Index = tuple[int, ...]


@dataclass(frozen=True)
class Extent:
    """What a step leaves of one dimension of the tensor: made, needed, and both together."""

    at: Index
    made: Span
    need: Span

    @property
    def both(self) -> Span:
        """The smallest interval around what is made and needed."""
        spans = [span for span in (self.made, self.need) if span[0] < span[1]]
        if not spans:
            return (0, 0)
        return min(first for first, _ in spans), max(end for _, end in spans)


def held_words(
    store: SharedStore, readers: Sequence[Exchange], segment: Segment, *, keeps: bool
) -> tuple[int, int]:
    """Return the most words that a shared store holds at a step, and between two steps.

    Parameters
    ----------
    store : SharedStore
        The store, of a tensor that is made and read below it.
    readers : sequence of Exchange
        The ways of the tensor to its readers below.
    segment : Segment
        Where all this belongs.
    keeps : bool
        Whether words stay beyond the tile.
    """
    layer = segment.layer_of[readers[0].producer.layer]
    own = families(layer, store.loops, segment)
    looped = {family.dimension for family in own}
    fixed = prod(layer.bounds[d] for d in layer.output.dimensions if d not in looped)
    seen = [extents(family, readers) for family in own]
    if not keeps or not any(_overlap(found) for found in seen):
        sizes = [max((_size(e.both) for e in found), default=0) for found in seen]
        return fixed * prod(sizes), 0
    patterns = [histograms(family, found) for family, found in zip(own, seen, strict=True)]
    count = len(store.loops)
    peak = carried = 0
    for chosen in product(*patterns):
        held = stays = 0
        for mix in product(*(histogram.items() for histogram in chosen)):
            words = prod(n for _, n in mix)
            alive, later = compared([p for p, _ in mix], own, count)
            held += words if alive else 0
            stays += words if later else 0
        peak, carried = max(peak, held), max(carried, stays)
    return fixed * peak, fixed * carried


def _size(span: Span) -> int:
    return max(0, span[1] - span[0])


def extents(family: Family, readers: Sequence[Exchange]) -> list[Extent]:
    """Return what each step of a family makes and needs of the tensor's dimension."""
    bound = family.layer.bounds[family.dimension]
    found = []
    for step in family.steps:
        needs = []
        for exchange in readers:
            read = family.loops[-1].cuts.dims[exchange.reader.layer]
            tie = next(t for t in exchange.ties if (t.made, t.read) == (family.dimension, read))
            span = needed(tie, step.spans[exchange.reader.layer], bound)
            if span[0] < span[1]:
                needs.append(span)
        need = (min(a for a, _ in needs), max(b for _, b in needs)) if needs else (0, 0)
        found.append(Extent(step.at, step.spans[family.layer.name], need))
    return found


def _overlap(found: Sequence[Extent]) -> bool:
    """Return whether some step needs words that another step has made."""
    return any(e.need[0] < e.need[1] and e.both != e.made for e in found)


def histograms(family: Family, found: Sequence[Extent]) -> list[dict[Pattern, int]]:
    """Return for every different step how many words compare with it in which way."""
    edges = sorted({edge for e in found for span in (e.made, e.both) for edge in span})
    lives = []
    for first, end in pairwise(edges):
        made = [e.at for e in found if e.made[0] <= first and end <= e.made[1]]
        need = [e.at for e in found if e.both[0] <= first and end <= e.both[1]]
        if made and need:
            lives.append((end - first, made, max(need)))
    anew = [family.layer.name in loop.anew for loop in family.loops]
    different: dict[tuple[tuple[Pattern, int], ...], dict[Pattern, int]] = {}
    for extent in found:
        count: Counter[Pattern] = Counter()
        for words, made, last in lives:
            count[pattern(extent.at, made, last, anew)] += words
        different[tuple(sorted(count.items()))] = dict(count)
    return list(different.values())


def pattern(at: Index, made: Sequence[Index], last: Index, anew: Sequence[bool]) -> Pattern:
    """Return how a step compares with those that make a word and the last one that needs it."""
    signs = []
    for k in range(len(at)):
        if not anew[k]:
            first = made[0][k]
            signs.append((_sign(at[k] - first), _sign(last[k] - at[k]), False))
            made = [m for m in made if m[k] == at[k]] or made[:1]
            continue
        inside = [m[k] for m in made]
        after = 1 if at[k] > max(inside) else -1 if at[k] < min(inside) else 0
        again = after == 0 and at[k] < max(inside)
        signs.append((after, _sign(last[k] - at[k]), again))
        made = [m for m in made if m[k] == at[k]] or made[:1]
    return tuple(signs)


def _sign(number: int) -> int:
    return (number > 0) - (number < 0)


def compared(patterns: Sequence[Pattern], own: Sequence[Family], count: int) -> tuple[bool, bool]:
    """Return whether words are held at a step, and whether they stay beyond it."""
    after = before = False
    for j in range(count):
        for found, family in zip(patterns, own, strict=True):
            if j not in family.positions:
                continue
            k = family.positions.index(j)
            first, last, again = found[k]
            anew = family.layer.name in family.loops[k].anew
            if anew and not after and not before:
                # made in each of the chunks that need it: it does not stay for the next one
                if first:
                    return False, False
                continue
            if again and not after:
                before = False
                continue
            if not after:
                if first < 0:
                    return False, False
                after = first > 0
            if not before:
                if last < 0:
                    return False, False
                before = last > 0
    return True, before

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
from functools import cached_property, lru_cache
from itertools import product
from math import prod

import numpy as np
from numpy.typing import NDArray

from tilewright.errors import InputError
from tilewright.fusion.families import Family, families
from tilewright.kernels.types import Ints
from tilewright.mapping.fused.connections.segments import Exchange, Segment, Tie
from tilewright.mapping.fused.scopes import SharedStore
from tilewright.mapping.fused.turns import Bounds, Chain, Span, all_steps, chain_of, needed

# by loop of a family: whether the step lies after the word's first one (1), in it (0) or before it
# (-1); the same for the last one after the step; whether a later step makes the word again
Pattern = tuple[tuple[int, int, bool], ...]
Index = tuple[int, ...]

MOST_COMPARED = 2**24


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
    own, fixed = cut_and_whole(store, readers, segment)
    if all(follows(family, readers) for family in own):
        return fixed * prod(max(_size(span) for _, span in family.spans) for family in own), 0
    seen = [along(family, readers) for family in own]
    if not keeps or not any(overlap for overlap, _ in (each.tiles for each in seen)):
        return fixed * prod(largest for _, largest in (each.tiles for each in seen)), 0
    if prod(len(each.histograms) for each in seen) > MOST_COMPARED:
        raise InputError(
            f"the shared loops above '{store.memory}' make too many different tiles of "
            f"{store.tensor} that share words to count what stays between them",
            key="mapping",
        )
    words = [compared(mix, own, len(store.loops)) for mix in product(*(s.patterns for s in seen))]
    alive = np.array(words, np.int64).T.reshape(2, *(len(each.patterns) for each in seen))
    # sums over the patterns of each family, for every combination of steps
    for each in seen:
        alive = np.tensordot(alive, each.words, axes=(1, 1))
    return fixed * int(alive[0].max()), fixed * int(alive[1].max())


def cut_and_whole(
    store: SharedStore, readers: Sequence[Exchange], segment: Segment
) -> tuple[list[Family], int]:
    """Return the dimensions that loops above a store cut, and the words of those that none cuts."""
    layer = segment.layer_of[readers[0].producer.layer]
    own = families(layer, store.loops, segment)
    looped = {family.dimension for family in own}
    return own, prod(layer.bounds[d] for d in layer.output.dimensions if d not in looped)


def follows(family: Family, readers: Sequence[Exchange]) -> bool:
    """Return whether every step needs just what it makes: a single reader, step by step."""
    if len(readers) != 1:
        return False
    reader, maker = readers[0].reader.layer, family.layer.name
    read = family.loops[-1].cuts.dims[reader]
    plain = any(t.plain and (t.made, t.read) == (family.dimension, read) for t in readers[0].ties)
    # a reader that makes something anew itself reads again what its chunks share
    return plain and all(step.spans[maker] == step.spans[reader] for step in family.steps)


def _size(span: Span) -> int:
    return max(0, span[1] - span[0])


def along(family: Family, readers: Sequence[Exchange]) -> Along:
    """Return what the steps of a family leave of a tensor, whatever the other families are."""
    reads = []
    for exchange in readers:
        read = family.loops[-1].cuts.dims[exchange.reader.layer]
        tie = next(t for t in exchange.ties if (t.made, t.read) == (family.dimension, read))
        reads.append((exchange.reader.layer, tie))
    chain, whole = chain_of(family.loops, family.segment)
    return _along(chain, whole, family.layer.name, family.dimension, tuple(reads))


@lru_cache(maxsize=1024)
def _along(
    chain: Chain, whole: Bounds, layer: str, dimension: str, reads: tuple[tuple[str, Tie], ...]
) -> Along:
    """Return the steps of one dimension, which occur in many trees."""
    return Along(chain, whole, layer, dimension, reads)


@dataclass(frozen=True)
class Along:
    """What the steps of some loops leave of one dimension of a tensor.

    Attributes
    ----------
    chain, whole
        The loops, and the bounds that they cut; see `turns.chain_of`.
    layer, dimension : str
        What makes the tensor, and along what.
    reads : tuple of (str, Tie)
        What reads it, and how.
    """

    chain: Chain
    whole: Bounds
    layer: str
    dimension: str
    reads: tuple[tuple[str, Tie], ...]

    def extents(self) -> list[Extent]:
        """Return what each step makes and needs."""
        bound = dict(self.whole)[self.layer]
        found = []
        for step in all_steps(self.chain, self.whole):
            needs = []
            for reader, tie in self.reads:
                span = needed(tie, step.spans[reader], bound)
                if span[0] < span[1]:
                    needs.append(span)
            need = (min(a for a, _ in needs), max(b for _, b in needs)) if needs else (0, 0)
            found.append(Extent(step.at, step.spans[self.layer], need))
        return found

    @cached_property
    def tiles(self) -> tuple[bool, int]:
        """Whether some step needs words that another one has made, and the most of one step."""
        found = self.extents()
        overlap = any(e.need[0] < e.need[1] and e.both != e.made for e in found)
        return overlap, max((_size(e.both) for e in found), default=0)

    @cached_property
    def histograms(self) -> list[dict[Pattern, int]]:
        """For every different step how many words compare with it in which way.

        Words between two neighbouring edges of tiles live alike: they are compared together.
        """
        found = self.extents()
        edges = np.unique([edge for e in found for span in (e.made, e.both) for edge in span])
        anew = [self.layer in again for _, _, again in self.chain]
        self._check_steps(len(found), len(edges))
        made, need = (
            (covered([getattr(e, which) for e in found], edges)) for which in ("made", "both")
        )
        used = made.any(axis=0) & need.any(axis=0)
        words = np.diff(edges)[used]
        made, need = made[:, used], need[:, used]
        at = np.array([e.at for e in found], np.int64)
        last = at[len(found) - 1 - need[::-1].argmax(axis=0)]
        if len(anew) > 1 and any(anew):
            return _compared_one_by_one(found, words, made, last, anew)
        lowest = at[made.argmax(axis=0)]
        highest = at[len(found) - 1 - made[::-1].argmax(axis=0)] if any(anew) else lowest
        here = at[:, None, :]
        after = (here > highest).astype(np.int8) - (here < lowest)
        signs = np.stack([after, np.sign(last - here), (after == 0) & (here < highest)], axis=-1)
        codes = (signs @ np.array([6, 2, 1]) + 8) @ 16 ** np.arange(len(anew))
        values, first = np.unique(codes, return_index=True)
        flat = signs.reshape(-1, len(anew), 3)
        patterns = [
            tuple((int(f), int(n), bool(m)) for f, n, m in flat[position]) for position in first
        ]
        sums = np.stack([(codes == value) @ words for value in values], axis=1)
        return [
            {own: n for own, n in zip(patterns, row, strict=True) if n}
            for row in np.unique(sums, axis=0).tolist()
        ]

    @cached_property
    def patterns(self) -> list[Pattern]:
        """All ways in which a word compares with a step."""
        return sorted({pattern for each in self.histograms for pattern in each})

    @cached_property
    def words(self) -> Ints:
        """How many words compare in each of the ways, for every different step."""
        rows = [[each.get(pattern, 0) for pattern in self.patterns] for each in self.histograms]
        return np.array(rows, np.int64)

    def _check_steps(self, steps: int, edges: int) -> None:
        """Refuse windows over so many tiles that comparing all takes too long."""
        if steps * edges > MOST_COMPARED:
            raise InputError(
                f"the shared loops on {self.layer}.{self.dimension} make {steps} tiles that "
                "share words: too many to count what stays between them",
                key="mapping",
            )


def covered(spans: Sequence[Span], edges: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Return for each span which intervals between neighbouring edges it covers."""
    first, end = np.array(spans, np.int64).T[:, :, None]
    inside: NDArray[np.bool_] = (first <= edges[:-1]) & (edges[1:] <= end)
    return inside


def _compared_one_by_one(
    found: Sequence[Extent],
    words: NDArray[np.int64],
    made: NDArray[np.bool_],
    last: NDArray[np.int64],
    anew: Sequence[bool],
) -> list[dict[Pattern, int]]:
    """Do what `Along.histograms` does where nested loops make words again."""
    makers = [[found[int(i)].at for i in np.flatnonzero(column)] for column in made.T]
    different: dict[tuple[tuple[Pattern, int], ...], dict[Pattern, int]] = {}
    for extent in found:
        count: Counter[Pattern] = Counter()
        for size, own, end in zip(words.tolist(), makers, last.tolist(), strict=True):
            count[pattern(extent.at, own, end, anew)] += size
        different[tuple(sorted(count.items()))] = dict(count)
    return list(different.values())


def pattern(at: Index, made: Sequence[Index], last: Sequence[int], anew: Sequence[bool]) -> Pattern:
    """Return how a step compares with those that make a word and the last one that needs it."""
    signs = []
    for k in range(len(at)):
        inside = [m[k] for m in made] if anew[k] else [made[0][k]]
        after = (at[k] > max(inside)) - (at[k] < min(inside))
        signs.append((after, _sign(last[k] - at[k]), after == 0 and at[k] < max(inside)))
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

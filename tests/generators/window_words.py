"""Loops around a window of two dimensions, cut by an array or not, and the words that they move."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from math import prod

from hypothesis import assume
from hypothesis import strategies as st

Loop = tuple[int, int]  # dimension, tile size


@dataclass(frozen=True)
class WindowLoops:
    """Loops on i and j of a word a*i + b*j, outermost first.

    Attributes
    ----------
    parts, elements : tuple of int, int
        What an element has of both dimensions in a row, and how many elements cut them.
    bounds : tuple of int, int
    above, below : tuple of Loop
        Outside of the array, and inside of each element.
    coefficients : tuple of int, int
    """

    parts: tuple[int, int]
    elements: tuple[int, int]
    bounds: tuple[int, int]
    above: tuple[Loop, ...]
    below: tuple[Loop, ...]
    coefficients: tuple[int, int]

    @property
    def iterations(self) -> int:
        return prod(self.bounds)

    @property
    def tile(self) -> tuple[int, int]:
        """What the tile of an element spans of both dimensions."""
        loops = self.above + self.below
        i, j = (min([self.parts[d], *(n for own, n in loops if own == d)]) for d in range(2))
        return i, j

    @property
    def run(self) -> int:
        """The dimension along which tiles slide: that of the innermost loops."""
        return (self.above + self.below)[-1][0]

    def words(self) -> tuple[int, int, int]:
        """Return the words sent, once for all elements, those received, and the most in a tile."""
        sent, received, most, _ = self.moves()
        return sent, received, most

    def comes_back(self) -> bool:
        """Whether a loop around a run leaves a tile as it is."""
        return self.moves()[3]

    def moves(self) -> tuple[int, int, int, bool]:
        """Return `words`, and whether a tile comes back."""
        both = self.above + self.below
        slides = len(both)
        while slides > 0 and both[slides - 1][0] == self.run:
            slides -= 1
        back = False
        held: dict[tuple[int, int], set[int]] = {}
        before: tuple[int, ...] = ()
        sent = received = most = 0
        for outside, (i, j) in steps(self.bounds, self.above):
            for inside, (p, q) in steps(self.parts, self.below):
                at = (*outside, *inside)
                changed = [k for k, (x, y) in enumerate(zip(before, at, strict=False)) if x != y]
                keeps = bool(changed) and changed[0] >= slides
                moved: set[int] = set()
                for x, y in product(*map(range, self.elements)):
                    words = {
                        self.coefficients[0] * i[x * self.parts[0] + u]
                        + self.coefficients[1] * j[y * self.parts[1] + v]
                        for u in p
                        for v in q
                        if x * self.parts[0] + u < len(i) and y * self.parts[1] + v < len(j)
                    }
                    own = held.get((x, y), set())
                    back |= not keeps and words == own != set()
                    new = set() if words == own else words - own if keeps else words
                    received += len(new)
                    moved |= new
                    held[x, y] = words
                    most = max(most, len(words))
                sent += len(moved)
                before = at
        return sent, received, most, back


def steps(
    bounds: tuple[int, int], loops: tuple[Loop, ...]
) -> list[tuple[tuple[int, ...], list[range]]]:
    """Return the iterations of both dimensions in each step of some loops."""
    found: list[tuple[tuple[int, ...], list[range]]] = [((), [range(n) for n in bounds])]
    for d, tile in loops:
        found = [
            ((*at, n), [own if k != d else own[n : n + tile] for k, own in enumerate(now)])
            for at, now in found
            for n in range(0, len(now[d]), tile)
        ]
    return found


@st.composite
def chains(draw: st.DrawFn, bound: int, unit: int = 1) -> list[int]:
    """Return tile sizes, in units, of loops that have several steps in every chunk."""
    chunks, tiles = {bound}, []
    while min(chunks) > unit and draw(st.booleans()):
        tile = unit * draw(st.integers(1, (min(chunks) - 1) // unit))
        chunks = {min(tile, c - at) for c in chunks for at in range(0, c, tile)}
        tiles.append(tile)
    return tiles


@st.composite
def merged(draw: st.DrawFn, first: list[int], second: list[int]) -> tuple[Loop, ...]:
    """Return loops on two dimensions, in any order."""
    of = draw(st.permutations([0] * len(first) + [1] * len(second)))
    tiles = iter(first), iter(second)
    return tuple((d, next(tiles[d])) for d in of)


@st.composite
def window_loops(draw: st.DrawFn, most: tuple[int, int, int] = (6, 3, 3)) -> WindowLoops:
    """Return loops with at most so many iterations in a part, elements, and leaps of the array.

    Dimensions that no element cuts are as large as all parts of others.
    """
    parts, elements, bounds, above = [], [], [], []
    for _ in range(2):
        part, cut, leaps = (draw(st.integers(1, own)) for own in most)
        if cut == 1:
            part, leaps = part * leaps, 1
        unit = part * cut
        tiles = draw(chains(unit * leaps, unit))
        above.append(tiles if leaps == 1 or tiles[-1:] == [unit] else [*tiles, unit])
        parts.append(part)
        elements.append(cut)
        bounds.append(unit * leaps)
    loops = draw(merged(*above)), draw(merged(*(draw(chains(part)) for part in parts)))
    assume(min(bounds) > 1 and (loops[0] or loops[1]))
    coefficients = draw(st.sampled_from([(1, 1), (1, 1), (1, 2), (2, 1), (3, 1), (1, 3)]))
    return WindowLoops(
        (parts[0], parts[1]), (elements[0], elements[1]), (bounds[0], bounds[1]), *loops,
        coefficients=coefficients,
    )  # fmt: skip

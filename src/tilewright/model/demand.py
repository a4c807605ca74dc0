"""What one step needs of a network: words that must arrive while the step before is computed.

A step is one iteration of the loops above the tiles that a network fills. Its kind is the outermost
loop that advanced. The words of every kind follow from index sets of the first, largest step, by
the reuse rule: nothing for a tile that stays, what is missing of one that slides, else all of it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from math import prod

from tilewright.architecture.machine import Architecture, Array
from tilewright.mapping.structure import Link, Loop, Structure
from tilewright.workload.footprint import expression_words, footprint
from tilewright.workload.layer import Tensor, Term

# intervals of one dimension that instances hold: (first index, length)
Pieces = tuple[tuple[int, int], ...]


@dataclass(frozen=True)
class Bandwidth:
    """What a network must carry so that nothing waits for it.

    Attributes
    ----------
    peak : float
        Words per cycle and instance, in the step that needs most: its words, of full tiles, while
        the step before is computed. The first fill and the last drain are not steps.
    average : float
        Words per cycle of computing that the busiest instance carries.
    given : float or None
        Words per cycle that it carries; None when unlimited.
    """

    peak: float
    average: float
    given: float | None


class Held:
    """What the elements of some arrays hold in the first, largest step, below some loops.

    Parameters
    ----------
    loops : sequence of Loop
        The loops above.
    bounds : mapping of str to int
        Iterations of each dimension.
    tensor : Tensor
        What is held.
    spread : frozenset of str
        The arrays.

    Attributes
    ----------
    union : dict of str to int or None
        By dimension how many indices all elements hold where these form one interval; else None.
    extents : dict of str to int
        By dimension how many one element holds.
    """

    def __init__(
        self,
        loops: Sequence[Loop],
        bounds: Mapping[str, int],
        tensor: Tensor,
        spread: frozenset[str],
    ) -> None:
        self.extents = {d: bounds[d] for d in tensor.dimensions}
        self.union: dict[str, int | None] = dict(self.extents)
        self.spread = spread
        self.loops = [x for x in loops if x.dimension in self.extents and x.extent > x.tile]
        self.bounds = bounds
        for loop in self.loops:
            d = loop.dimension
            if loop.array not in spread:
                self.union[d] = loop.tile if self.union[d] == self.extents[d] else None
            self.extents[d] = loop.tile

    @cached_property
    def pieces(self) -> dict[str, Pieces]:
        """For each dimension the intervals of the elements, one after the other."""
        pieces: dict[str, Pieces] = {d: ((0, self.bounds[d]),) for d in self.extents}
        for loop in self.loops:
            across = loop.array in self.spread
            pieces[loop.dimension] = tuple(
                (at + begin, min(loop.tile, length - begin))
                for at, length in pieces[loop.dimension]
                for begin in (range(0, length, loop.tile) if across else (0,))
            )
        return pieces

    def words(self, terms: tuple[Term, ...]) -> int:
        """Return the distinct values of an index expression over all elements."""
        whole: dict[str, int] = {}
        for term in terms:
            length = self.union[term.dimension]
            if length is None:
                return len(values(terms, self.pieces))
            whole[term.dimension] = length
        return expression_words(terms, whole)

    def tensor_words(self, tensor: Tensor) -> int:
        """Return the distinct words of a tensor over all elements."""
        return prod(self.words(terms) for terms in tensor.expressions)

    def missing(self, terms: tuple[Term, ...], slides: str, shift: int) -> int:
        """Return the values that elements lack when their tiles move on by `shift`."""
        if len(terms) == 1 and self.extents[slides] <= shift:
            return self.words(terms)
        lists = [self.pieces[term.dimension] for term in terms]
        found: set[int] = set()
        for held in product(*lists):
            pairs = zip(terms, held, strict=True)
            old: dict[str, Pieces] = {term.dimension: (piece,) for term, piece in pairs}
            ((at, length),) = old[slides]
            found |= values(terms, old | {slides: ((at + shift, length),)}) - values(terms, old)
        return len(found)


def values(terms: tuple[Term, ...], pieces: Mapping[str, Pieces]) -> set[int]:
    """Return the values of an index expression over all elements."""
    found = {0}
    for term in terms:
        indices = {i for at, length in pieces[term.dimension] for i in range(at, at + length)}
        found = {value + term.coefficient * i for value in found for i in indices}
    return found


class Flow:
    """The words of one link of a tensor, step by step.

    Parameters
    ----------
    structure : Structure
        The mapping.
    link : Link
        From one memory to the next.
    """

    def __init__(self, structure: Structure, link: Link) -> None:
        self.structure = structure
        self.link = link
        self.loops = structure.loops[: link.depth]
        self.arrays = {array.name for array in link.arrays}
        self._held: dict[frozenset[str], tuple[Held, int]] = {}

    @cached_property
    def kinds(self) -> dict[int, int | None]:
        """How tiles move on when a loop advances and all inside it begin anew.

        By position of the loop, where the tile changes: None where all of it is replaced, else by
        how much it slides along the loop's dimension.
        """
        tensor = self.link.tensor
        found: dict[int, int | None] = {}
        shifts = dict.fromkeys(tensor.dimensions, 0)
        for kind in reversed(range(self.link.depth)):
            loop = self.loops[kind]
            if not moves(loop):
                continue
            mine = loop.dimension in shifts
            if mine:
                shifts[loop.dimension] += loop.tile
            # a tile may stay, if by other indices
            if any(sum(t.coefficient * shifts[t.dimension] for t in e) for e in tensor.expressions):
                found[kind] = shifts[loop.dimension] if kind in self.link.run else None
            if mine:
                shifts[loop.dimension] -= loop.tile * loop.chunks
        return found

    def held(self, spread: frozenset[str]) -> tuple[Held, int]:
        """Return what the elements of some arrays hold in one step, and its words."""
        if spread not in self._held:
            tensor = self.link.tensor
            held = Held(self.loops, self.structure.bounds, tensor, spread)
            self._held[spread] = held, held.tensor_words(tensor)
        return self._held[spread]

    def staged(self) -> int:
        """Return the words that all elements hold in one step, together."""
        if not self.arrays:
            return footprint(self.link.tensor, self.structure.extents(self.link.depth))
        return self.held(frozenset(self.arrays))[1]

    def entering(self, spread: frozenset[str], kind: int) -> int:
        """Return the words that enter the tiles of all elements when a loop advances."""
        if kind not in self.kinds:
            return 0
        held, words = self.held(spread)
        shift = self.kinds[kind]
        if shift is None:
            return words
        slides = self.loops[kind].dimension
        return prod(
            held.missing(terms, slides, shift)
            if slides in (term.dimension for term in terms)
            else held.words(terms)
            for terms in self.link.tensor.expressions
        )

    def comes_back(self, kind: int) -> bool:
        """Whether partial sums that had left may return when a loop advances."""
        tensor = self.link.tensor
        return any(len(terms) > 1 for terms in tensor.expressions) or any(
            moves(loop) and loop.dimension not in tensor.dimensions
            for loop in self.loops[: kind + 1]
        )


def moves(loop: Loop) -> bool:
    """Whether a loop has several temporal steps."""
    return loop.array is None and loop.chunks > 1


def peak_words(flows: list[Flow], array: Array, architecture: Architecture) -> float:
    """Return words per compute step of the kind of step that needs most of an array's network.

    Parameters
    ----------
    flows : list of Flow
        Those that cross the array.
    """
    depth = max(flow.link.depth for flow in flows)
    loops = flows[0].structure.loops
    period = prod(loop.chunks for loop in loops[depth:] if loop.array is None)
    position = architecture.position
    totals: dict[int, int] = {}
    for flow in flows:
        output = flow.link.tensor.is_output
        inward = [a for a in flow.link.arrays if position[a.name] >= position[array.name]]
        shares = frozenset(a.name for a in inward if (a.reduction if output else a.multicast))
        apart = {a.name for a in inward} - shares
        times = prod(loop.chunks for loop in flow.loops if loop.array in apart)
        for kind in flow.kinds:
            again = output and flow.comes_back(kind)
            words = flow.entering(shares, kind) * times * (1 + again)
            totals[kind] = totals.get(kind, 0) + words
    return max(totals.values(), default=0) / period

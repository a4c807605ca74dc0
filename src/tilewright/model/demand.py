"""What one step needs of a network: words that must arrive while the step before is computed.

A step is one iteration of the loops above the tiles that a network fills. Its kind is the outermost
loop that advanced. The words of every kind follow from index sets of the first, largest step, by
the reuse rule: nothing for a tile that stays, what is missing of one that slides, else all of it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import product
from math import prod

from tilewright.architecture.machine import Architecture, Array
from tilewright.mapping.structure import Link, Loop, Structure
from tilewright.workload.footprint import expression_words
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


@dataclass(frozen=True)
class Held:
    """What the elements of some arrays hold in the first, largest step, below some loops.

    Attributes
    ----------
    pieces : dict of str to Pieces
        For each dimension the intervals of the elements, one after the other.
    union : dict of str to int or None
        How many indices all of them hold where these form one interval; else None.
    """

    pieces: dict[str, Pieces]
    union: dict[str, int | None]

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
        lists = [self.pieces[term.dimension] for term in terms]
        if len(terms) == 1 and all(length <= shift for _, length in lists[0]):
            return self.words(terms)
        found: set[int] = set()
        for held in product(*lists):
            pairs = zip(terms, held, strict=True)
            old: dict[str, Pieces] = {term.dimension: (piece,) for term, piece in pairs}
            ((at, length),) = old[slides]
            found |= values(terms, old | {slides: ((at + shift, length),)}) - values(terms, old)
        return len(found)


def held_below(
    loops: Iterable[Loop], bounds: Mapping[str, int], dimensions: Iterable[str], spread: set[str]
) -> Held:
    """Return what the elements of some arrays hold of some dimensions below some loops."""
    pieces: dict[str, Pieces] = {d: ((0, bounds[d]),) for d in dimensions}
    union: dict[str, int | None] = {d: bounds[d] for d in pieces}
    for loop in loops:
        d = loop.dimension
        if d not in pieces or loop.chunks == 1:
            continue
        found, tile = pieces[d], loop.tile
        if loop.array is None or loop.array not in spread:
            if len(found) == 1:
                pieces[d] = ((0, tile),)
                union[d] = tile
            else:
                pieces[d] = tuple((at, min(length, tile)) for at, length in found)
                union[d] = None
        else:
            pieces[d] = tuple(
                (at + begin, min(tile, length - begin))
                for at, length in found
                for begin in range(0, length, tile)
            )
    return Held(pieces, union)


def values(terms: tuple[Term, ...], pieces: Mapping[str, Pieces]) -> set[int]:
    """Return the values of an index expression over all elements."""
    found = {0}
    for term in terms:
        indices = {i for at, length in pieces[term.dimension] for i in range(at, at + length)}
        found = {value + term.coefficient * i for value in found for i in indices}
    return found


def staged_words(structure: Structure, link: Link, arrays: Iterable[Array]) -> int:
    """Return the words of a tensor that the elements of some arrays hold in one step, together."""
    spread = {array.name for array in arrays}
    tensor = link.tensor
    loops = structure.loops[: link.depth]
    return held_below(loops, structure.bounds, tensor.dimensions, spread).tensor_words(tensor)


def entering(structure: Structure, link: Link, held: Held, kind: int) -> int:
    """Return the words that enter the tiles of all elements when a loop advances.

    Parameters
    ----------
    held : Held
        What the elements hold.
    kind : int
        Position of the temporal loop; all loops inside it begin anew.
    """
    tensor = link.tensor
    shifts = dict.fromkeys(tensor.dimensions, 0)
    for i in range(kind, link.depth):
        loop = structure.loops[i]
        if moves(loop) and loop.dimension in shifts:
            shifts[loop.dimension] += loop.tile * (1 - loop.chunks if i > kind else 1)
    if not any(sum(t.coefficient * shifts[t.dimension] for t in e) for e in tensor.expressions):
        return 0  # the tile stays, if by other indices
    if kind not in link.run:
        return held.tensor_words(tensor)
    slides = structure.loops[kind].dimension
    return prod(
        held.missing(terms, slides, shifts[slides])
        if slides in (term.dimension for term in terms)
        else held.words(terms)
        for terms in tensor.expressions
    )


def moves(loop: Loop) -> bool:
    """Whether a loop has several temporal steps."""
    return loop.array is None and loop.chunks > 1


def relevant(loop: Loop, tensor: Tensor) -> bool:
    """Whether a loop's dimension indexes a tensor."""
    return loop.dimension in tensor.dimensions


def comes_back(structure: Structure, link: Link, kind: int) -> bool:
    """Whether partial sums that had left may return when a loop advances."""
    loops = structure.loops[: link.depth]
    several = any(len(terms) > 1 for terms in link.tensor.expressions)
    outer = loops[: kind + 1]
    return several or any(moves(loop) and not relevant(loop, link.tensor) for loop in outer)


def peak_words(
    structure: Structure, links: list[Link], array: Array, architecture: Architecture
) -> float:
    """Return words per compute step of the kind of step that needs most of an array's network."""
    depth = max(link.depth for link in links)
    period = prod(loop.chunks for loop in structure.loops[depth:] if loop.array is None)
    kinds = [i for i, loop in enumerate(structure.loops[:depth]) if moves(loop)]
    totals = dict.fromkeys(kinds, 0)
    position = architecture.position
    for link in links:
        inward = [a for a in link.arrays if position[a.name] >= position[array.name]]
        shares = {a.name for a in inward if (a.reduction if link.tensor.is_output else a.multicast)}
        apart = {a.name for a in inward} - shares
        loops = structure.loops[: link.depth]
        times = prod(loop.chunks for loop in loops if loop.array in apart)
        held = held_below(loops, structure.bounds, link.tensor.dimensions, shares)
        for kind in kinds:
            if kind < link.depth:
                again = link.tensor.is_output and comes_back(structure, link, kind)
                totals[kind] += entering(structure, link, held, kind) * times * (1 + again)
    return max(totals.values(), default=0) / period

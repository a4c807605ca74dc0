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


def staged_words(structure: Structure, link: Link, spread: frozenset[str]) -> int:
    """Return the words of a tensor that the elements of some arrays hold in one step, together."""
    pieces = pieces_above(structure.loops[: link.depth], structure.bounds, spread)
    return prod(words(terms, pieces) for terms in link.tensor.expressions)


def pieces_above(
    loops: Iterable[Loop], bounds: Mapping[str, int], spread: frozenset[str]
) -> dict[str, Pieces]:
    """Return what instances hold of each dimension in the first step, below some loops."""
    held: dict[str, Pieces] = {d: ((0, n),) for d, n in bounds.items()}
    for loop in loops:
        found = held[loop.dimension]
        if loop.array is None or loop.array not in spread or loop.chunks == 1:
            held[loop.dimension] = tuple((at, min(length, loop.tile)) for at, length in found)
        else:
            held[loop.dimension] = tuple(
                (at + begin, min(loop.tile, length - begin))
                for at, length in found
                for begin in range(0, length, loop.tile)
            )
    return held


def words(terms: tuple[Term, ...], pieces: dict[str, Pieces]) -> int:
    """Return the distinct values of an index expression over all instances."""
    whole = {}
    for term in terms:
        joined = join(pieces[term.dimension])
        if len(joined) > 1:
            return len(values(terms, pieces))
        whole[term.dimension] = joined[0][1]
    return expression_words(terms, whole)


def join(pieces: Pieces) -> Pieces:
    """Return intervals with those that touch as one."""
    if len(pieces) == 1:
        return pieces
    joined: list[tuple[int, int]] = []
    for at, length in sorted(pieces):
        if joined and at <= sum(joined[-1]):
            first = joined[-1][0]
            joined[-1] = (first, max(sum(joined[-1]), at + length) - first)
        else:
            joined.append((at, length))
    return tuple(joined)


def values(terms: tuple[Term, ...], pieces: dict[str, Pieces]) -> set[int]:
    """Return the values of an index expression over all instances."""
    found = {0}
    for term in terms:
        indices = {i for at, length in pieces[term.dimension] for i in range(at, at + length)}
        found = {value + term.coefficient * i for value in found for i in indices}
    return found


def missing(terms: tuple[Term, ...], pieces: dict[str, Pieces], slides: str, shift: int) -> int:
    """Return the values that some instance lacks after its tile moved on by `shift`."""
    lists = [pieces[term.dimension] for term in terms]
    found: set[int] = set()
    for held in product(*lists):
        pairs = zip(terms, held, strict=True)
        old: dict[str, Pieces] = {term.dimension: (piece,) for term, piece in pairs}
        ((at, length),) = old[slides]
        found |= values(terms, old | {slides: ((at + shift, length),)}) - values(terms, old)
    return len(found)


def entering(structure: Structure, link: Link, spread: frozenset[str], kind: int) -> int:
    """Return the words that enter the tiles of all instances when a loop advances.

    Parameters
    ----------
    kind : int
        Position of the temporal loop; all loops inside it begin anew.
    """
    tensor = link.tensor
    loops = structure.loops[: link.depth]
    moving = [i for i in range(kind, len(loops)) if moves(loops[i]) and relevant(loops[i], tensor)]
    if not moving:
        return 0
    shifts = dict.fromkeys(tensor.dimensions, 0)
    for i in moving:
        back = i > kind
        shifts[loops[i].dimension] += loops[i].tile * (1 - loops[i].chunks if back else 1)
    if not any(sum(t.coefficient * shifts[t.dimension] for t in e) for e in tensor.expressions):
        return 0  # the same tile again, by other indices
    pieces = pieces_above(loops, structure.bounds, spread)
    if kind not in link.run:
        return prod(words(terms, pieces) for terms in tensor.expressions)
    slides = loops[kind].dimension
    return prod(
        missing(terms, pieces, slides, shifts[slides])
        if slides in (term.dimension for term in terms)
        else words(terms, pieces)
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
    most = 0
    for kind, loop in enumerate(structure.loops[:depth]):
        if not moves(loop):
            continue
        total = 0
        for link in links:
            if kind >= link.depth:
                continue
            spread, times = united(structure, link, array, architecture)
            moved = entering(structure, link, spread, kind) * times
            again = link.tensor.is_output and comes_back(structure, link, kind)
            total += moved * (1 + again)
        most = max(most, total)
    return most / period


def united(
    structure: Structure, link: Link, array: Array, architecture: Architecture
) -> tuple[frozenset[str], int]:
    """Return the arrays from one inward that share words, and how many others do not share."""
    position = architecture.position
    inward = [a for a in link.arrays if position[a.name] >= position[array.name]]
    shares = {a.name for a in inward if (a.reduction if link.tensor.is_output else a.multicast)}
    apart = [
        loop.chunks
        for loop in structure.loops[: link.depth]
        if loop.array in {a.name for a in inward} - shares
    ]
    return frozenset(shares), prod(apart)

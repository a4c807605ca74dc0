"""What shared loops hold: every useful way to place tiles of external tensors among them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from tilewright.mapper.fused.space.segment_problem import SegmentProblem, Shape
from tilewright.mapper.problem.lattice import divisors


@dataclass(frozen=True)
class Held:
    """A tile that shared loops hold.

    Attributes
    ----------
    tile, memory : int
        Positions of the tile among those of the segment, and of the memory.
    shape : tuple of int
        Extents of the shared dimensions where it stands.
    loops : tuple of (int, int)
        Shared loops between it and what stands above: position of the dimension, and tile size.
    moved : int
        Words that enter it over all iterations.
    """

    tile: int
    memory: int
    shape: Shape
    loops: tuple[tuple[int, int], ...]
    moved: int


@dataclass(frozen=True)
class Holding:
    """Tiles that shared loops hold, from the outermost inward.

    Attributes
    ----------
    held : tuple of Held
    energy : float
        pJ of what they move.
    bits : tuple of float
        What they take of each memory.
    shape : tuple of int
        Extents of the shared dimensions below them.
    """

    held: tuple[Held, ...]
    energy: float
    bits: tuple[float, ...]
    shape: Shape


def holdings(
    problem: SegmentProblem,
    room: tuple[float, ...],
    least: Callable[[Holding], float],
    most: float,
    stop: Callable[[], bool],
    worth: Callable[[SegmentProblem, int], bool] | None = None,
) -> Iterator[Holding]:
    """Yield ways to hold tiles above all branches, those with fewer tiles first.

    Between two tiles only loops relevant to the second of them stand: another loop could as well
    stand below it, where it repeats over a tile that stays. Of two ways to hold the same tiles that
    leave the same extents to the loops below, the one that moves more and takes more is left out.

    Parameters
    ----------
    room : tuple of float
        Bits of each memory that they may take.
    least : callable
        What a segment that holds these tiles, and perhaps others, costs at least.
    most : float
        What is too much.
    stop : callable
        Asked now and then whether to end.
    worth : callable, optional
        Which tiles are held; by default those that `retains` words.
    """
    worth = worth or retains
    bounds = problem.bounds
    choices = [divisors(bound) for bound in bounds]
    candidates = [t for t in problem.external if problem.tiles[t].memories and worth(problem, t)]
    start = Holding((), 0.0, (0.0,) * len(room), bounds)
    # with the extents right below the innermost relevant loop, of every tensor
    level: list[tuple[Holding, tuple[Shape, ...]]] = [(start, (bounds,) * len(candidates))]
    while level:
        yield from (holding for holding, _ in level)
        grown: dict[object, list[tuple[Holding, tuple[Shape, ...]]]] = {}
        for above, inside in level:
            if stop():
                return
            taken = {held.tile for held in above.held}
            for k, tile in enumerate(candidates):
                if tile in taken:
                    continue
                for shape, loops in ways_down(above.shape, choices, problem.tiles[tile].relevant):
                    below = after(problem, candidates, inside, above.shape, loops)
                    if below[k] != shape:
                        continue  # it could as well stand further out
                    moved = problem.words(tile, shape) * problem.iterations(shape)
                    for memory in problem.tiles[tile].memories:
                        more = problem.bits(tile, shape, memory)
                        if above.bits[memory] + more > room[memory]:
                            continue
                        bits = tuple(b + more * (m == memory) for m, b in enumerate(above.bits))
                        energy = above.energy + problem.held_energy(tile, memory, moved)
                        held = (*above.held, Held(tile, memory, shape, loops, moved))
                        new = Holding(held, energy, bits, shape)
                        if least(new) < most:
                            enter(grown, new, below)
        level = [entry for entries in grown.values() for entry in entries]


def enter(
    grown: dict[object, list[tuple[Holding, tuple[Shape, ...]]]],
    new: Holding,
    inside: tuple[Shape, ...],
) -> None:
    """Add a way to hold tiles to those of the same tiles and extents, unless one is as good."""
    key = frozenset((h.tile, h.memory) for h in new.held), new.shape, inside
    entries = grown.setdefault(key, [])
    for other, _ in entries:
        if other.energy <= new.energy and all(
            a <= b for a, b in zip(other.bits, new.bits, strict=True)
        ):
            return
    entries[:] = [
        (other, below)
        for other, below in entries
        if new.energy > other.energy
        or any(a > b for a, b in zip(new.bits, other.bits, strict=True))
    ]
    entries.append((new, inside))


def after(
    problem: SegmentProblem,
    candidates: list[int],
    inside: tuple[Shape, ...],
    shape: Shape,
    loops: tuple[tuple[int, int], ...],
) -> tuple[Shape, ...]:
    """Return the extents below the innermost relevant loop of every tensor, after more loops."""
    below = list(inside)
    for d, size in loops:
        shape = (*shape[:d], size, *shape[d + 1 :])
        for k, tile in enumerate(candidates):
            if problem.tiles[tile].relevant[d]:
                below[k] = shape
    return tuple(below)


def retains(problem: SegmentProblem, tile: int) -> bool:
    """Whether a tile may serve several iterations or branches."""
    return not all(problem.tiles[tile].relevant) or len(problem.tiles[tile].uses) > 1


def retains_windows(problem: SegmentProblem, tile: int) -> bool:
    """Whether a tile may serve several iterations or branches, loops with windows among them."""
    if retains(problem, tile):
        return True
    names = {layer.name: i for i, layer in enumerate(problem.layers)}
    for loop in problem.windows.loops:
        for layer, d in loop.cuts.dims.items():
            for i, t in problem.tiles[tile].uses:
                if i != names[layer]:
                    continue
                tensor = problem.tensor((i, t))
                own = [terms for terms in tensor.expressions if d in {x.dimension for x in terms}]
                if not own or any(
                    sum(problem.layers[i].bounds[x.dimension] > 1 for x in terms) > 1
                    for terms in own
                ):
                    return True
    return False


def ways_down(
    shape: Shape, choices: list[list[int]], relevant: tuple[bool, ...]
) -> Iterator[tuple[Shape, tuple[tuple[int, int], ...]]]:
    """Yield the shapes that loops on relevant dimensions lead to, and the loops in any order."""
    yield shape, ()
    for d, own in enumerate(relevant):
        if not own:
            continue
        for size in choices[d]:
            if size < shape[d] and shape[d] % size == 0:
                smaller = (*shape[:d], size, *shape[d + 1 :])
                rest = tuple(r and i != d for i, r in enumerate(relevant))
                for end, loops in ways_down(smaller, choices, rest):
                    yield end, ((d, size), *loops)

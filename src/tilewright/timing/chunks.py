"""Which part of a dimension each instance of an array works on, before and after a step."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

# Of one dimension, what an instance works on: where it begins, how many iterations, and the
# instance's index in each spatial loop on the dimension. The first instance comes first, at 0, and
# has at least as many iterations as any other.
Part = tuple[int, int, tuple[int, ...]]
Parts = tuple[Part, ...]
# The same with what it worked on one step before: new begin and size, old begin and size, indices.
Change = tuple[int, int, int, int, tuple[int, ...]]
Changes = tuple[Change, ...]


def spread(parts: Parts, tile: int) -> Parts:
    """Return the parts that a spatial loop makes; those without iterations idle."""
    return tuple(
        (begin + i * tile, min(tile, size - i * tile), (*index, i))
        for begin, size, index in parts
        for i in range(-(-size // tile))
    )


def turns(parts: Parts, tile: int) -> list[tuple[Parts, int]]:
    """Return the parts in the iterations of a temporal loop: runs of equal ones, in order.

    Each begins where the whole begins, whichever iteration it is: counts do not depend on that.
    """
    if len(parts) == 1:
        begin, size, index = parts[0]
        full, rest = divmod(size, tile)
        found: list[tuple[Parts, int]] = [(((begin, tile, index),), full)] if full else []
        return [*found, (((begin, rest, index),), 1)] if rest else found
    last = -(-parts[0][1] // tile)
    ends = {0, last}
    for _, size, _ in parts:
        ends |= {size // tile, min(last, size // tile + 1)}
    order = sorted(ends)
    runs: list[tuple[Parts, int]] = []
    for start, end in pairwise(order):
        now = turn(parts, tile, start)
        if runs and runs[-1][0] == now:
            runs[-1] = now, runs[-1][1] + end - start
        else:
            runs.append((now, end - start))
    return runs


def turn(parts: Parts, tile: int, i: int) -> Parts:
    """Return the parts in one iteration of a temporal loop."""
    return tuple(
        (begin, min(tile, size - i * tile), index)
        for begin, size, index in parts
        if size > i * tile
    )


def stay(parts: Parts) -> Changes:
    """Return parts that a step has not changed so far."""
    return tuple((begin, size, begin, size, index) for begin, size, index in parts)


def advance(old: Parts, new: Parts, tile: int) -> Changes:
    """Return what changes when a temporal loop goes on from one iteration to the next."""
    before = {index: size for _, size, index in old}
    return tuple((begin + tile, size, begin, before[index], index) for begin, size, index in new)


def descend(changes: Changes, tiles: Sequence[tuple[int, bool]]) -> Changes:
    """Follow changes into deeper loops, given as (tile, whether it is spatial).

    Temporal loops begin anew. Before, they were at the last chunk in which the instance works: not
    always the very last one, where a spatial loop inside leaves it nothing of that.
    """
    found = [(begin, size, [(old, was)], index) for begin, size, old, was, index in changes]
    for n, (tile, spatial) in enumerate(tiles):
        if spatial:
            found = [
                (
                    begin + i * tile,
                    min(tile, size - i * tile),
                    [(old + i * tile, min(tile, w - i * tile)) for old, w in olds if w > i * tile],
                    (*index, i),
                )
                for begin, size, olds, index in found
                for i in range(-(-size // tile))
            ]
            continue
        several = any(inner for _, inner in tiles[n + 1 :])
        found = [
            (begin, min(tile, size), last_chunks(olds, tile, several), index)
            for begin, size, olds, index in found
        ]
    return tuple((begin, size, *olds[0], index) for begin, size, olds, index in found)


def last_chunks(olds: Sequence[tuple[int, int]], tile: int, several: bool) -> list[tuple[int, int]]:
    """Return where each of some parts ended, the last first: with `several` its full chunk too."""
    found = []
    for old, was in olds:
        last = (was - 1) // tile
        found.append((old + last * tile, was - last * tile))
        if not several:
            break
        if last and was - last * tile < tile:
            found.append((old + (last - 1) * tile, tile))
    return found


def steps_of(parts: Parts, tiles: Sequence[tuple[int, bool]]) -> list[tuple[Parts, int]]:
    """Return the parts in each step of some loops, equal ones together: (parts, how many)."""
    found = [(parts, 1)]
    for tile, spatial in tiles:
        if spatial:
            found = [(spread(each, tile), times) for each, times in found]
        else:
            found = [
                (now, times * count) for each, times in found for now, count in turns(each, tile)
            ]
    together: dict[Parts, int] = {}
    for each, times in found:
        together[each] = together.get(each, 0) + times
    return list(together.items())

"""Optimal retention by explicit sets: the words that stay are those with the nearest next use.

This is the definition. It takes time in proportion to the words of all blocks; `spills` computes
the same number without looking at single words.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, TypeVar

from tilewright.errors import InputError

Word = TypeVar("Word", bound=tuple[Any, ...])


def missing(blocks: Iterable[frozenset[Word]], capacity: int) -> Iterator[frozenset[Word]]:
    """Yield at each step the words that move in: those of the block that did not stay.

    Parameters
    ----------
    blocks : iterable of frozenset
        The words that the memory must hold at each step.
    capacity : int
        Words that it holds at most: the block, and others that are used again.

    Raises
    ------
    InputError
        When a block has more words than the memory holds.

    Notes
    -----
    Between two steps words leave. A word without a next use leaves for nothing. Of the others those
    with the nearest next use stay, as far as there is room beside the next block (Belady,
    A study of replacement algorithms for a virtual-storage computer, 1966); of words with the same
    next use those stay that come first in the order of their indices. So memories whose words
    differ by a shift alone keep the same of them.
    """
    sequence = list(blocks)
    later: dict[Word, list[int]] = {}
    for step in reversed(range(len(sequence))):
        for word in sequence[step]:
            later.setdefault(word, []).append(step)
    held: frozenset[Word] = frozenset()
    for block in sequence:
        if len(block) > capacity:
            raise InputError(f"a block has {len(block)} words; the memory holds {capacity}")
        yield block - held
        for word in block:
            later[word].pop()
        useful = [word for word in held - block if later[word]]
        useful.sort(key=lambda word: (later[word][-1], word))
        held = block.union(useful[: capacity - len(block)])


def simulated_spills(blocks: Iterable[frozenset[Word]], capacity: int) -> int:
    """Return how often a word leaves that is used again, under `missing`."""
    sequence = list(blocks)
    moved = sum(map(len, missing(sequence, capacity)))
    return moved - len(frozenset().union(*sequence))

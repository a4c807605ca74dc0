"""Ways to cut a dimension among the elements of an array, against all regular loops above it."""

from collections.abc import Iterator

import numpy as np
import pytest

from tilewright.kernels.kernel import kernel
from tilewright.kernels.types import Ints
from tilewright.mapper.relaxations.nests.cuts import ALIKE, MOST_WAYS, WAY, ways_to_cut

EXTENT, LOW, HIGH, TILES = 0, 1, 2, 4


@kernel
def fill(bound: int, size: int, elements: int, ways: Ints) -> int:
    """Fill the ways to cut a bound, and return how many."""
    return int(ways_to_cut(bound, size, elements, elements, True, ALIKE, ways))


def parts_of_regular_loops(parts: list[int], last: int) -> Iterator[tuple[int, list[int]]]:
    """Yield the tile of the last of some loops, and the parts that they cut a dimension into."""
    yield last, parts
    for tile in range(1, min(parts)):
        chunks = [tile for part in parts for _ in range(part // tile)]
        short = [part % tile for part in parts if part % tile]
        yield from parts_of_regular_loops(chunks + short, tile)


@pytest.mark.parametrize("bound", range(2, 14))
def test_elements_have_as_many_tiles_as_the_loops_that_have_fewest(bound: int) -> None:
    fewest: dict[tuple[int, int], int] = {}
    for together, parts in parts_of_regular_loops([bound], bound):
        for size in range(1, together):
            tiles = sum(-(-part // size) for part in parts)
            of = size, together
            fewest[of] = min(tiles, fewest.get(of, tiles))
    ways = np.empty((MOST_WAYS, WAY), np.int64)
    for (size, together), tiles in fewest.items():
        count = fill(bound, size, -(-together // size), ways)
        known = [
            int(way[TILES])
            for way in ways[:count]
            if way[EXTENT] == size and way[LOW] <= together <= way[HIGH]
        ]
        # all elements together have this extent in one way at least
        assert known and min(known) == tiles

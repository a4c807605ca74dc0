"""What loops around a sliding tile bring in is no less than the mapper's bounds say."""

from __future__ import annotations

from functools import cache
from itertools import permutations
from math import prod

import numpy as np
import pytest

from strategies import layer_of
from tilewright.architecture import load_architecture
from tilewright.mapper.bounds.crossing.window_reuse import Reuse
from tilewright.mapper.bounds.tables.choice_tables import slides_above
from tilewright.mapper.problem.lattice import divisors, prime_factors
from tilewright.mapper.problem.space import most_served
from tilewright.mapper.search.search import Search

Loop = tuple[str, int]
INPUT = 0


@cache
def search(k: int, p: int, r: int, stride: int, dilation: int) -> Search:
    layer = layer_of("conv1d", {"K": k, "P": p, "C": 1, "R": r}, stride, dilation)
    return Search(layer, load_architecture("simple"), "energy")


def moved(
    loops: tuple[Loop, ...],
    tile: dict[str, int],
    stride: int,
    dilation: int,
    spatial: tuple[int, ...] = (),
) -> int:
    """Count the words that move into a tile of the input below `loops`, by explicit sets.

    The loops at the positions `spatial` are those of an array, of which the first instance counts.
    """
    relevant = [d for n, (d, _) in enumerate(loops) if d != "K" and n not in spatial]
    if not relevant:
        return len(window(tile, {"P": 0, "R": 0}, stride, dilation))
    # the sliding run: the innermost relevant loop and those on its dimension around it
    run = set()
    for n in range(len(loops) - 1, -1, -1):
        if n in spatial:
            continue
        if loops[n][0] == relevant[-1]:
            run.add(n)
        elif loops[n][0] != "K":
            break
    total, held, before = 0, set[int](), None
    counts = [1 if n in spatial else count for n, (_, count) in enumerate(loops)]
    for step in np.ndindex(*counts):
        begin = {"K": 0, "P": 0, "R": 0}
        extent = dict(tile)
        for n in range(len(loops) - 1, -1, -1):
            d, count = loops[n]
            begin[d] += step[n] * extent.get(d, 1)
            extent[d] = extent.get(d, 1) * count
        words = window(tile, begin, stride, dilation)
        first = next((n for n in range(len(loops)) if before and step[n] != before[n]), -1)
        if words != held:
            total += len(words - held) if first in run else len(words)
        held, before = words, step
    return total


def window(tile: dict[str, int], begin: dict[str, int], stride: int, dilation: int) -> set[int]:
    return {
        stride * (begin["P"] + i) + dilation * (begin["R"] + j)
        for i in range(tile["P"])
        for j in range(tile["R"])
    }


def primes(n: int) -> list[int]:
    return [f for p in prime_factors(n) for f in [p] * _power(n, p)]


def _power(n: int, p: int) -> int:
    return 0 if n % p else 1 + _power(n // p, p)


@pytest.mark.parametrize("stride, dilation", [(1, 1), (2, 1), (1, 2), (3, 2)])
@pytest.mark.parametrize("p, r", [(4, 3), (6, 3), (8, 2), (4, 4), (9, 2)])
def test_every_order_of_loops_moves_at_least_the_bounds(
    p: int, r: int, stride: int, dilation: int
) -> None:
    own = search(2, p, r, stride, dilation)
    sp, names = own.space, own.tiles.dimensions
    reuse = Reuse()
    at = (INPUT, 1.0, 1e9)
    tiles = reuse.options(sp, at).tiles
    served = reuse.rows(sp, at, [len(sp.unroll) - 1], [False])[0].reuse
    least = slides_above(sp).least[INPUT]
    reached = 0
    for shape in np.unique(tiles).tolist():
        tile = {d: int(sp.values[i, sp.digits[shape, i]]) for i, d in enumerate(names)}
        bounds = {"K": 2, "P": p, "R": r}
        loops = [(d, f) for d in bounds for f in primes(bounds[d] // tile[d])]
        # a loop on K directly above could as well stand inside the tile's node
        orders = [o for o in set(permutations(loops)) if not o or o[-1][0] != "K"]
        if not orders:
            continue
        counts = [moved(order, tile, stride, dilation) for order in orders]
        best = served[tiles == shape].max()
        assert min(counts) * best >= prod(bounds.values()) * (1 - 1e-12), tile
        assert min(counts) >= least[shape] * (1 - 1e-12), tile
        reached += min(counts) == least[shape]
    assert reached > 1, "the bound is exact at some shapes"


@pytest.mark.parametrize("stride, dilation", [(1, 1), (2, 1), (1, 2), (3, 2)])
@pytest.mark.parametrize("p, r", [(4, 3), (6, 4), (8, 4)])
def test_an_instance_reuses_no_more_than_the_bounds(
    p: int, r: int, stride: int, dilation: int
) -> None:
    own = search(2, p, r, stride, dilation)
    sp, names = own.space, own.tiles.dimensions
    reuse, at = Reuse(), (INPUT, 1.0, 1e9)
    tiles = reuse.options(sp, at).tiles
    reached = 0
    for choice, digits in enumerate(sp.unroll):
        factors = {d: int(sp.values[i, digits[i]]) for i, d in enumerate(names)}
        array = [(d, f) for d, f in factors.items() if f > 1]
        if not array or factors["K"] > 1:
            continue
        served = reuse.rows(sp, at, [choice], [False])[0].reuse
        for shape in np.unique(tiles).tolist():
            tile = {d: int(sp.values[i, sp.digits[shape, i]]) for i, d in enumerate(names)}
            left = {"K": 2, "P": p // factors["P"], "R": r // factors["R"]}
            best = served[tiles == shape].max()
            if any(left[d] % tile[d] for d in left) or p % factors["P"] or r % factors["R"]:
                assert best == 0.0
                continue
            loops = [(d, f) for d in left for f in primes(left[d] // tile[d])]
            for order in set(permutations(loops)):
                if order and order[-1][0] == "K":
                    continue
                for above in range(len(order) + 1):
                    whole = (*order[:above], *array, *order[above:])
                    spatial = tuple(range(above, above + len(array)))
                    count = moved(whole, tile, stride, dilation, spatial)
                    assert count * best >= prod(left.values()) * (1 - 1e-12), (tile, whole)
                    reached += count * best == prod(left.values())
    assert reached > 1, "the bound is exact at some shapes"


@pytest.mark.parametrize("stride, dilation", [(1, 1), (2, 1), (1, 2), (3, 2), (2, 4)])
@pytest.mark.parametrize("p, r", [(4, 3), (6, 3), (8, 2), (9, 4)])
def test_instances_share_no_more_words_than_sets_of_them_say(
    p: int, r: int, stride: int, dilation: int
) -> None:
    tiles = search(2, p, r, stride, dilation).tiles
    pair = np.array([tiles.dimensions.index("P"), tiles.dimensions.index("R")])
    shared = most_served(tiles, pair, np.array([stride, dilation]))
    for i, m in enumerate(divisors(p)):
        for j, n in enumerate(divisors(r)):
            fewest = min(
                len({stride * a * x + dilation * b * y for x in range(m) for y in range(n)})
                for a in divisors(p // m)
                for b in divisors(r // n)
            )
            assert shared[i, j] == m * n / fewest


def test_joint_bounds_leave_few_labels_of_a_convolution() -> None:
    layer = layer_of("conv2d", {"N": 1, "K": 256, "C": 256, "P": 14, "Q": 14, "R": 3, "S": 3})
    found = Search(layer, load_architecture("simple"), "energy").solve()
    assert found.finished
    assert found.value == 493_998_080.0
    assert found.labels < 2000

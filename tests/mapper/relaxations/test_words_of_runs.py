"""What a tile of a window of two dimensions serves at most, whatever loops move it."""

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from tilewright.kernels.kernel import kernel
from tilewright.mapper.relaxations.nests.sliding.returns import (
    come_back_around,
    come_back_in_line,
)
from tilewright.mapper.relaxations.nests.sliding.served import parts_serve, slid_along

Loop = tuple[int, int]  # dimension, tile size


@kernel
def line(m: int, n: int, run: int, other: int) -> float:
    """Return what a tile serves at most that slides or comes back, both coefficients being 1."""
    return float(max(slid_along(m, n, run, 1, 1), come_back_in_line(m, n, run, other, 1)))


@kernel
def around(m: int, n: int, run: int, b: int) -> float:
    """Return what a tile serves at most where an array cuts the second dimension alone."""
    return float(max(slid_along(m, n, run, 1, b), come_back_around(m, n, run, run, 1, b)))


@kernel
def parts(m: int, n: int, row: int, count: int, whole: int, a: int, b: int) -> float:
    """Return what words serve at most that elements share which lie apart."""
    return float(parts_serve(m, n, row, count, whole, a, b))


@st.composite
def chains(draw: st.DrawFn, bound: int) -> list[int]:
    """Return tile sizes of loops on a dimension that have several steps in every chunk."""
    chunks = {bound}
    tiles = []
    while min(chunks) > 1 and draw(st.booleans()):
        tile = draw(st.integers(1, min(chunks) - 1))
        chunks = {min(tile, c - at) for c in chunks for at in range(0, c, tile)}
        tiles.append(tile)
    return tiles


@st.composite
def merged(draw: st.DrawFn, first: list[int], second: list[int]) -> tuple[Loop, ...]:
    """Return loops on two dimensions, in any order."""
    of = draw(st.permutations([0] * len(first) + [1] * len(second)))
    tiles = iter(first), iter(second)
    return tuple((d, next(tiles[d])) for d in of)


def counted(
    bounds: tuple[int, int], loops: tuple[Loop, ...], a: int, b: int, array: int, part: int
) -> tuple[int, int]:
    """Return the iterations of an instance, and the words of a*i + b*j that come into its tile.

    Inside of so many loops an array cuts the second dimension, and each has a part of it.
    """
    total = work = 0
    held, before = set[int](), tuple[int, ...]()
    slides = len(loops)
    while slides > 0 and loops[slides - 1][0] == loops[-1][0]:
        slides -= 1

    def walk(k: int, at: tuple[int, ...], i: range, j: range) -> None:
        nonlocal total, work, held, before
        if k == array:
            j = j[:part]
        if k < len(loops):
            d, tile = loops[k]
            for n in range(0, len((i, j)[d]), tile):
                own = (i, j)[d][n : n + tile]
                walk(k + 1, (*at, n), own if d == 0 else i, j if d == 0 else own)
            return
        work += len(i) * len(j)
        words = {a * x + b * y for x in i for y in j}
        if words != held:
            pairs = enumerate(zip(before, at, strict=False))
            keeps = bool(before) and next(k for k, (x, y) in pairs if x != y) >= slides
            total += len(words - held) if keeps else len(words)
        held, before = words, at

    walk(0, (), range(bounds[0]), range(bounds[1]))
    return work, total


def least_of(bound: int, loops: tuple[Loop, ...], d: int) -> int:
    """Return what the innermost tile spans of a dimension."""
    return min([bound, *(tile for own, tile in loops if own == d)])


@settings(max_examples=600, deadline=None)
@given(st.data(), st.tuples(st.integers(2, 12), st.integers(2, 7)))
def test_no_loops_serve_more_in_a_line_than_a_run_that_comes_back(
    data: st.DataObject, bounds: tuple[int, int]
) -> None:
    loops = data.draw(merged(data.draw(chains(bounds[0])), data.draw(chains(bounds[1]))))
    assume(loops)
    m, n = (least_of(bounds[d], loops, d) for d in range(2))
    work, words = counted(bounds, loops, 1, 1, -1, 0)
    stays = sum(
        min(m, bounds[0] - i) + min(n, bounds[1] - j) - 1
        for i in range(0, bounds[0], m)
        for j in range(0, bounds[1], n)
    )
    most = max(work / stays, line(m, n, *bounds), line(n, m, *bounds[::-1]))
    assert work / words <= most * (1 + 1e-9)


@settings(max_examples=600, deadline=None)
@given(st.data(), st.integers(2, 9), *[st.integers(1, 4)] * 3, st.integers(1, 3))
def test_no_run_that_leaps_bring_back_serves_more(
    data: st.DataObject, run: int, part: int, instances: int, leaps: int, b: int
) -> None:
    # loops above the array take all instances together
    all_parts = part * instances
    above = [all_parts * t for t in data.draw(chains(leaps))]
    if leaps > 1 and (not above or above[-1] > all_parts):
        above.append(all_parts)
    first = data.draw(chains(run))
    cut = data.draw(st.integers(0, len(first)))
    outside = data.draw(merged(first[:cut], above))
    loops = outside + data.draw(merged(first[cut:], data.draw(chains(part))))
    assume(loops and loops[-1][0] == 0)
    m, n = least_of(run, loops, 0), least_of(part, loops[len(outside) :], 1)
    work, words = counted((run, all_parts * leaps), loops, 1, b, len(outside), part)
    one = len({x + b * y for x in range(m) for y in range(n)})
    assert work / words <= max(m * n / one, around(m, n, run, b)) * (1 + 1e-9)


def test_a_last_chunk_that_is_shorter_begins_anew() -> None:
    # 7 columns in twos, 3 of the filter one by one: 4 + 2 + 2 + 3 words for 21 iterations
    loops = (0, 2), (1, 1)
    assert counted((7, 3), loops, 1, 1, -1, 0) == (21, 11)
    assert line(1, 2, 3, 7) == pytest.approx(21 / 11)
    assert counted((8, 3), loops, 1, 1, -1, 0) == (24, 10)
    assert line(1, 2, 3, 8) == pytest.approx(24 / 10)


@settings(max_examples=600, deadline=None)
@given(
    *[st.integers(1, most) for most in (6, 5, 4, 3)],
    st.data(),
    st.sampled_from([(1, 1), (1, 2), (2, 1), (3, 1), (1, 3)]),
)
def test_no_words_of_elements_that_lie_apart_serve_more(
    row: int, n: int, count: int, leaps: int, data: st.DataObject, steps: tuple[int, int]
) -> None:
    a, b = steps
    m = data.draw(st.integers(1, row))
    words = 0
    for at in range(0, row, m):
        own = [k * row + i for k in range(count) for i in range(at, min(row, at + m))]
        words += len({a * i + b * j for i in own for j in range(n)})
    most = parts(m, n, row, count, row * count * leaps, a, b)
    assert row * count * n / words <= most * (1 + 1e-9)


def test_elements_that_lie_apart_may_share_words_of_steps() -> None:
    # 0 and 2, with 0 and 2 added: 3 words, where 0 and 1 would give 4
    assert parts(1, 2, 2, 2, 4, 1, 2) >= 4 / 3

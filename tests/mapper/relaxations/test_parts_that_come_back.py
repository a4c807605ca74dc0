"""What words serve where it is known in which parts, or after how long a run, a tile comes back."""

from collections.abc import Iterator
from itertools import product

import numpy as np
import pytest

import tilewright as tw
from test_words_of_runs import MACHINE, ROOMY
from tilewright.kernels.kernel import kernel
from tilewright.kernels.types import Ints
from tilewright.mapper.relaxations.nests.nest import Nest, nest
from tilewright.mapper.relaxations.nests.sliding.case_numbers import (
    HEAD,
    LONG,
    NEAR,
    REACH,
    ROOM,
    SLID,
    WAY,
)
from tilewright.mapper.relaxations.nests.sliding.case_serves import case_serves
from tilewright.mapper.relaxations.nests.sliding.cases import case_fields
from tilewright.mapper.relaxations.nests.sliding.served import RETURNS, SLIDES, STAYS
from tilewright.mapper.relaxations.nests.sliding.window_spans import Instances
from tilewright.mapper.relaxations.stays.least_cost import Least
from window_words import Loop, WindowLoops


@kernel
def in_runs(
    ns: Nest, tile: Ints, elements: Ints, rows: Ints, run: int, near: int, long: int, sent: bool
) -> float:
    """Return what words serve at most where it is known in what, and after which runs, a tile may
    come back.
    """
    e = ns.terms.shape[1] - 1
    nd = len(ns.bounds)
    case, far = np.zeros(case_fields(ns), np.int64), np.ones((5, nd), np.int64)
    case[SLID], case[ROOM] = e, ROOMY
    instances = Instances(np.ones(nd, np.int64), np.ones(nd, np.int64))
    for k in range(2):
        d = ns.terms[ns.window, e, 2 * k]
        case[REACH + k] = far[0, d] = ns.bounds[d]
        far[3, d], far[4, d] = rows[k], ns.bounds[d]
        case[HEAD + 4 * e + 2 * k] = case[HEAD + 4 * e + 2 * k + 1] = tile[k]
        instances.spread[d] = instances.active[d] = elements[k]
    most = 1.0
    for way in (STAYS, SLIDES + run, RETURNS + run):
        case[WAY] = way
        case[NEAR], case[LONG] = (near, long) if way == RETURNS + run else (0, 0)
        most = max(most, case_serves(ns, case, instances, far, sent, 1.0))
    return most


def chunks_of(sizes: list[int], tile: int) -> list[int]:
    """Return the chunks of chunks."""
    return [min(tile, size - at) for size in sizes for at in range(0, size, tile)]


def nests(bounds: tuple[int, int]) -> Iterator[tuple[tuple[Loop, ...], int, int]]:
    """Yield regular loops that end with loops on j and a run on i; the parts of j, and the run.

    The longest part is what loops on j directly around the run go through.
    """
    for order in ("ji", "iji", "jiji", "ijji", "jjii", "ijii", "ijjii"):
        dims = ["ij".index(letter) for letter in order]
        for sizes in product(*(range(1, bounds[d]) for d in dims)):
            now = [[bounds[0]], [bounds[1]]]
            near = long = 0
            fits = True
            run = len(order.rstrip("i"))
            around = len(order[:run].rstrip("j"))
            for at, (d, size) in enumerate(zip(dims, sizes, strict=True)):
                near = max(now[1]) if at == around else near
                long = max(now[0]) if at == run else long
                fits = fits and size < min(now[d])
                now[d] = chunks_of(now[d], size)
            if fits:
                yield tuple(zip(dims, sizes, strict=True)), near, long


@pytest.mark.parametrize("bounds", [(6, 8), (12, 6), (9, 9), (10, 7)])
def test_no_loops_serve_more_than_their_parts_and_runs(bounds: tuple[int, int]) -> None:
    checked = closer = equal = 0
    i, j = bounds
    ns = nest(Least(tw.einsum("O[P] += I[P+R] * W[R]", P=i, R=j), MACHINE), ((0, 1),) * 3)
    assert ns is not None
    one, rows = np.ones(2, np.int64), np.array(bounds)
    for loops, near, long in nests(bounds):
        own = WindowLoops(bounds, (1, 1), bounds, (), loops, (1, 1))
        words = own.words()[1]
        known = [
            in_runs(ns, np.array(own.tile), one, rows, 0, *which, False)
            for which in ((0, 0), (near, 0), (0, long), (near, long))
        ]
        for most in known:
            assert own.iterations <= most * words * (1 + 1e-9), (loops, near, long, known)
        checked += 1
        closer += min(known) < known[0] * (1 - 1e-9)
        equal += own.iterations >= min(known) * words * (1 - 1e-9)
    assert checked > 40
    assert closer > 10
    assert equal > 3


def runs_in_rows() -> Iterator[tuple[WindowLoops, int]]:
    """Yield whole runs inside of loops on j, which an array cuts; the rows of elements."""
    for run, row, elements, blocks in product(range(2, 12), range(1, 5), range(2, 5), range(1, 4)):
        for tile, step in product(range(1, run), range(1, row + 1)):
            above = ((1, row * elements),) if blocks > 1 else ()
            below = ((1, step),) if step < row else ()
            yield (
                WindowLoops(
                    (run, row), (1, elements), (run, row * elements * blocks), above,
                    (*below, (0, tile)), (1, 1),
                ),
                row,
            )  # fmt: skip


def test_no_loops_serve_more_where_elements_have_rows() -> None:
    checked = closer = back = 0
    for loops, row in runs_in_rows():
        i, j = loops.bounds
        ns = nest(Least(tw.einsum("O[P] += I[P+R] * W[R]", P=i, R=j), MACHINE), ((0, 1),) * 3)
        assert ns is not None
        sent, received, _ = loops.words()
        tile, elements = np.array(loops.tile), np.array(loops.elements)
        # all loops are inside of a row only where none is above the array
        inside = row if not loops.above else 0
        for rows, near in (((i, row), 0), ((i, row), inside), ((i, j), 0)):
            known = [
                in_runs(ns, tile, elements, np.array(rows), 0, near, long, False) for long in (0, i)
            ]
            assert loops.iterations <= min(known) * received * (1 + 1e-9), (loops, rows, near)
            closer += known[1] < known[0] * (1 - 1e-9)
            most = in_runs(ns, tile, elements, np.array(rows), 0, near, i, True)
            assert loops.iterations <= most * sent * (1 + 1e-9), (loops, rows, near)
        checked, back = checked + 1, back + loops.comes_back()
    assert checked > 1000
    assert min(closer, back) > 100


def received_words(i: int, tile: int, rows: list[list[int]], steps: int) -> int:
    """Return the words that an element receives: for each of its rows of j, in steps, all of i."""
    words, before = 0, (-1, -1)
    for row in rows:
        for at in range(0, len(row), steps):
            j = row[at : at + steps]
            for run in range(0, i, tile):
                now = run + j[0], min(i, run + tile) - 1 + j[-1]
                new = now[1] - now[0] + 1
                if run > 0:  # the tile slides
                    new = now[1] - max(now[0] - 1, before[1])
                words, before = words + (new if now != before else 0), now
    return words


def test_no_loops_serve_more_where_a_last_row_is_shorter() -> None:
    checked = shorter = closer = 0
    sizes = [*product((3, 5, 8, 11), (1, 2, 3), (2, 3, 4), range(5, 24)), (11, 1, 7, 55)]
    for i, row, count, bound in sizes:
        block = row * count
        ns = nest(Least(tw.einsum("O[P] += I[P+R] * W[R]", P=i, R=bound), MACHINE), ((0, 1),) * 3)
        assert ns is not None
        # blocks of rows, in chunks that may end with a shorter block
        for chunk in {bound, *range(block + 1, bound)} if bound > block else set[int]():
            cut = [(a, min(bound, a + chunk)) for a in range(0, bound, chunk)]
            if min(b - a for a, b in cut) <= block:
                continue
            begins = [(at, min(b, at + block)) for a, b in cut for at in range(a, b, block)]
            turns = sum(min(row, end - at) for at, end in begins)
            idle = turns * count - bound
            fewest = bound // block * row + min(row, bound % block)
            even = turns == fewest and (idle == 0 or idle < count - 1)
            rows = [
                [
                    list(range(at + e * row, min(end, at + e * row + row)))
                    for at, end in begins
                    if at + e * row < end
                ]
                for e in range(count)
            ]
            for tile, steps in product(range(1, i), range(1, row + 1)):
                words = sum(received_words(i, tile, own, steps) for own in rows)
                span, elements = np.array([tile, steps]), np.array([1, count])
                for known in {bound, row if even else bound}:
                    own = [
                        in_runs(ns, span, elements, np.array([i, known]), 0, 0, long, False)
                        for long in (0, i)
                    ]
                    where = i, row, count, bound, chunk, tile, steps, known
                    assert i * bound <= min(own) * words * (1 + 1e-9), where
                    closer += own[1] < own[0] * (1 - 1e-9)
                checked, shorter = checked + 1, shorter + (even and idle == 1)
    assert checked > 1000
    assert min(closer, shorter) > 100

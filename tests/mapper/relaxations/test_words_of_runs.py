"""What a tile of a window of two dimensions serves at most, whatever loops move it."""

from collections.abc import Iterator
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tilewright as tw
from tilewright.architecture.machine import Architecture, Array, Compute, Memory
from tilewright.kernels.kernel import kernel
from tilewright.kernels.types import Ints
from tilewright.mapper.relaxations.nests.nest import Nest, nest
from tilewright.mapper.relaxations.nests.sliding.case_numbers import HEAD, REACH, ROOM, SLID, WAY
from tilewright.mapper.relaxations.nests.sliding.case_serves import (
    NEVER,
    case_serves,
    comes_back,
    rows_serve,
    runs_in_parts_serve,
)
from tilewright.mapper.relaxations.nests.sliding.cases import case_fields
from tilewright.mapper.relaxations.nests.sliding.returns import come_back_in_line
from tilewright.mapper.relaxations.nests.sliding.served import RETURNS, WAYS, parts_serve, served
from tilewright.mapper.relaxations.nests.sliding.window_spans import Instances
from tilewright.mapper.relaxations.stays.least_cost import Least
from window_words import WindowLoops, window_loops

ROOMY = 1 << 20

MACHINE = Architecture(
    "small", (Memory("DRAM", 8), Array("A", {"X": 4}), Memory("RF", 8), Compute("MAC"))
)


@kernel
def most_served(ns: Nest, tile: Ints, elements: Ints, rows: Ints, together: bool) -> float:
    """Return the most that a tile serves in any of its ways."""
    most = 0.0
    e = ns.terms.shape[1] - 1
    reach = ns.bounds[ns.terms[ns.window, e, 0]], ns.bounds[ns.terms[ns.window, e, 2]]
    for way in range(-1, WAYS):
        known = 1, 1, 1, rows[0], rows[1], 0
        span = tile[0], tile[1]
        instances = Instances(elements, elements)
        most = max(most, served(ns, e, way, span, reach, instances, together, known))
    return most


@kernel
def in_cases(
    ns: Nest, tile: Ints, elements: Ints, rows: Ints, together: bool, run: int
) -> tuple[float, bool]:
    """Return the most that a tile of just this size serves in any of its cases.

    And whether it is known that no loop brings it back after a run.
    """
    e = ns.terms.shape[1] - 1
    case, far = np.zeros(case_fields(ns), np.int64), np.ones((5, len(ns.bounds)), np.int64)
    case[SLID], case[ROOM] = e, ROOMY
    instances = Instances(np.ones(len(ns.bounds), np.int64), np.ones(len(ns.bounds), np.int64))
    for k in range(2):
        d = ns.terms[ns.window, e, 2 * k]
        case[REACH + k] = far[0, d] = ns.bounds[d]
        far[3, d], far[4, d] = rows[k], ns.bounds[d] // elements[k]
        case[HEAD + 4 * e + 2 * k] = case[HEAD + 4 * e + 2 * k + 1] = tile[k]
        instances.spread[d] = instances.active[d] = elements[k]
    most = 1.0
    for way in range(-1, WAYS):
        case[WAY] = way
        most = max(most, case_serves(ns, case, instances, far, together, 1.0))
    case[WAY] = RETURNS + run
    back = comes_back(ns, case, e, (tile[0], tile[1]), instances.spread, far)
    return most, back == NEVER


@kernel
def in_rows(ns: Nest, tile: Ints, elements: Ints, run: int) -> float:
    """Return what words serve at most that are sent to rows of elements, if a tile comes back."""
    e = ns.terms.shape[1] - 1
    case, spread = np.zeros(case_fields(ns), np.int64), np.ones(len(ns.bounds), np.int64)
    case[WAY] = RETURNS + run
    for k in range(2):
        spread[ns.terms[ns.window, e, 2 * k]] = elements[k]
    return float(rows_serve(ns, case, e, (tile[0], tile[1]), spread))


@kernel
def parts(m: int, n: int, row: int, count: int, whole: int, a: int, b: int) -> float:
    """Return what words serve at most that elements share which lie apart."""
    return float(parts_serve(m, n, row, count, whole, a, b))


@kernel
def line(m: int, n: int, run: int, other: int) -> float:
    """Return what a tile serves at most that comes back, both coefficients being 1."""
    return float(come_back_in_line(m, n, run, other, 1))


@kernel
def in_parts(bound: int, reach: int, lines: int) -> float:
    """Return what words serve at most where runs come back, in parts of a dimension."""
    return float(runs_in_parts_serve(bound, reach, lines))


def of_elements(loops: WindowLoops) -> tuple[Ints, Ints, Ints]:
    """Return tiles, elements, and what an element has in a row, of both dimensions."""
    rows = [
        part if cut > 1 else bound
        for part, cut, bound in zip(loops.parts, loops.elements, loops.bounds, strict=True)
    ]
    return np.array(loops.tile), np.array(loops.elements), np.array(rows)


@settings(max_examples=600, deadline=None)
@given(window_loops())
def test_no_loops_serve_more(loops: WindowLoops) -> None:
    a, b = loops.coefficients
    layer = tw.einsum(f"O[P] += I[{a}*P+{b}*R] * W[R]", P=loops.bounds[0], R=loops.bounds[1])
    ns = nest(Least(layer, MACHINE), ((0, 1),) * 3)
    assert ns is not None
    sent, received, _ = loops.words()
    tile, elements, known = of_elements(loops)
    for words, together in ((received, False), (sent, True)):
        most = most_served(ns, tile, elements, known, together)
        assert loops.iterations <= most * words * (1 + 1e-9), together
        most, never = in_cases(ns, tile, elements, known, together, loops.run)
        assert loops.iterations <= most * words * (1 + 1e-9), together
        assert not never or not loops.comes_back()


def regular(chunks: set[int], tile: int) -> bool:
    """Whether a loop has several steps in every chunk."""
    return min(chunks) > tile


def runs_with_others(elements: int) -> Iterator[WindowLoops]:
    """Yield runs with a loop around that is on the other dimension, and perhaps one around both."""
    for part, leaps, other in product(range(1, 4), range(1, 9), range(2, 5)):
        unit = part * elements if elements > 1 else 1
        bound = unit * leaps
        for inner, outer, step in product(
            range(unit, bound, unit), range(unit, bound + 1, unit), range(1, other)
        ):
            chunks = {outer, bound % outer or outer}
            if (elements == 1 and part > 1) or (outer < bound and not regular({bound}, outer)):
                continue
            if not regular(chunks, inner) or (elements > 1 and inner > unit):
                continue
            around = ((0, outer),) if outer < bound else ()
            own = part if elements > 1 else bound
            yield WindowLoops(
                (own, other), (elements, 1), (bound, other), (*around, (1, step), (0, inner)), (),
                (1, 1),
            )  # fmt: skip


@pytest.mark.parametrize("elements", [1, 2])
def test_no_tile_comes_back_of_which_that_is_known(elements: int) -> None:
    known = back = 0
    for loops in runs_with_others(elements):
        i, j = loops.bounds
        ns = nest(Least(tw.einsum("O[P] += I[P+R] * W[R]", P=i, R=j), MACHINE), ((0, 1),) * 3)
        assert ns is not None
        _, never = in_cases(ns, *of_elements(loops), False, loops.run)
        comes = loops.comes_back()
        assert not never or not comes, loops
        known, back = known + never, back + comes
    assert min(known, back) > 20


def rows_of_elements() -> Iterator[WindowLoops]:
    """Yield runs inside of loops below an array that cuts the other dimension."""
    for run, row, elements in product(range(2, 6), range(2, 7), range(2, 5)):
        for tile, step, leaps in product(range(1, run), range(1, row), (1, 2)):
            above = ((1, row * elements),) if leaps > 1 else ()
            yield WindowLoops(
                (run, row), (1, elements), (run, row * elements * leaps), above,
                ((1, step), (0, tile)), (1, 1),
            )  # fmt: skip


def test_rows_of_elements_that_tiles_come_back_in_are_sent_each_for_itself() -> None:
    checked = equal = 0
    for loops in rows_of_elements():
        if loops.comes_back():
            i, j = loops.bounds
            ns = nest(Least(tw.einsum("O[P] += I[P+R] * W[R]", P=i, R=j), MACHINE), ((0, 1),) * 3)
            assert ns is not None
            tile, elements, _ = of_elements(loops)
            most, real = in_rows(ns, tile, elements, loops.run), loops.iterations / loops.words()[0]
            assert real <= most * (1 + 1e-9), loops
            checked, equal = checked + (most < np.inf), equal + (real == pytest.approx(most))
    assert checked > 20
    assert equal > 3


def test_a_last_chunk_that_is_shorter_begins_anew() -> None:
    # columns in twos, 3 of the filter one by one: 4 + 2 + 2 + 3 words for 7 columns
    for columns, words in ((7, 11), (8, 10)):
        loops = WindowLoops((columns, 3), (1, 1), (columns, 3), (), ((0, 2), (1, 1)), (1, 1))
        assert loops.words()[1] == words
        assert line(1, 2, 3, columns) == pytest.approx(columns * 3 / words)


@settings(max_examples=400, deadline=None)
@given(
    *[st.integers(1, most) for most in (6, 5, 4, 3)],
    st.data(),
    st.sampled_from([(1, 1), (1, 2), (2, 1), (3, 1), (1, 3)]),
)
def test_no_words_of_elements_that_lie_apart_serve_more(
    row: int, n: int, count: int, leaps: int, data: st.DataObject, coefficients: tuple[int, int]
) -> None:
    a, b = coefficients
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


def parts_of_runs() -> Iterator[tuple[int, WindowLoops]]:
    """Yield the longest parts that other loops cut a run's dimension into, and these loops."""
    for bound, other in product(range(3, 9), range(2, 8)):
        for part, n, size in product(range(2, bound), range(1, other), range(1, bound)):
            if size >= part or not regular({bound}, part):
                continue
            around = ((1, size), (0, n), (1, 1)) if size > 1 else ((0, n), (1, 1))
            chunks = {min(part, bound - at) for at in range(0, bound, part)}
            inner = {min(size, c - at) for c in chunks for at in range(0, c, size)}
            if regular(chunks, size) and (size == 1 or regular(inner, 1)):
                yield (
                    part,
                    WindowLoops(
                        (other, bound), (1, 1), (other, bound), ((1, part), *around), (), (1, 1)
                    ),
                )


def test_a_part_that_is_shorter_than_a_run_that_comes_back_does_not() -> None:
    # a filter of 5 in parts of 3 and 2, with columns in twos, comes back in the first part only
    checked = closer = 0
    for part, loops in parts_of_runs():
        _, bound = loops.bounds
        most = in_parts(bound, part, loops.tile[0])
        assert loops.iterations <= most * loops.words()[1] * (1 + 1e-9), (part, loops)
        checked += 1
        closer += most < in_parts(bound, bound, loops.tile[0])
    assert checked > 200
    assert closer > 50

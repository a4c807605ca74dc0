"""What a tile of a window of two dimensions serves at most, whatever loops move it."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tilewright as tw
from tilewright.architecture.machine import Architecture, Array, Compute, Memory
from tilewright.kernels.kernel import kernel
from tilewright.kernels.types import Ints
from tilewright.mapper.relaxations.nests.nest import Nest, nest
from tilewright.mapper.relaxations.nests.sliding.returns import come_back_in_line
from tilewright.mapper.relaxations.nests.sliding.served import WAYS, parts_serve, served
from tilewright.mapper.relaxations.nests.sliding.window_spans import Instances
from tilewright.mapper.relaxations.stays.least_cost import Least
from window_words import WindowLoops, window_loops

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
def parts(m: int, n: int, row: int, count: int, whole: int, a: int, b: int) -> float:
    """Return what words serve at most that elements share which lie apart."""
    return float(parts_serve(m, n, row, count, whole, a, b))


@kernel
def line(m: int, n: int, run: int, other: int) -> float:
    """Return what a tile serves at most that comes back, both coefficients being 1."""
    return float(come_back_in_line(m, n, run, other, 1))


@settings(max_examples=600, deadline=None)
@given(window_loops())
def test_no_loops_serve_more(loops: WindowLoops) -> None:
    a, b = loops.coefficients
    layer = tw.einsum(f"O[P] += I[{a}*P+{b}*R] * W[R]", P=loops.bounds[0], R=loops.bounds[1])
    ns = nest(Least(layer, MACHINE), ((0, 1),) * 3)
    assert ns is not None
    sent, received, _ = loops.words()
    rows = [
        part if cut > 1 else bound
        for part, cut, bound in zip(loops.parts, loops.elements, loops.bounds, strict=True)
    ]
    tile, elements, known = (np.array(own) for own in (loops.tile, loops.elements, rows))
    for words, together in ((received, False), (sent, True)):
        most = most_served(ns, tile, elements, known, together)
        assert loops.iterations <= most * words * (1 + 1e-9), together


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

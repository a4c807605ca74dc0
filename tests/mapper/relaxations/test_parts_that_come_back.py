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

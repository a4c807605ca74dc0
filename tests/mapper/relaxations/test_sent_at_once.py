"""Elements that share words of a window are sent them at once only as often as the bound says."""

from __future__ import annotations

from itertools import product
from math import ceil
from random import Random

import numpy as np
import pytest

from tilewright.mapper.relaxations.stays.least_of_orders import sent_at_once

Along = list[tuple[int, int]]  # iterations of a tile: the first one and how many


def tiles(random: Random, bound: int, elements: int) -> list[Along]:
    """Return for each step what the tile of each element spans of a dimension, as loops cut it."""
    own = random.randint(1, max(1, bound // elements))
    apart = random.randint(own, max(own, ceil(bound / elements)))
    above = random.randint(apart, apart * elements)
    steps = []
    for first in range(0, bound, above):
        end = min(first + above, bound)
        for inside in range(0, min(apart, end - first), own):
            starts = [first + e * apart + inside for e in range(elements)]
            ends = [min(first + (e + 1) * apart, end) for e in range(elements)]
            steps.append([(s, max(0, min(own, e - s))) for s, e in zip(starts, ends, strict=True)])
    return steps


def words(p: tuple[int, int], r: tuple[int, int], step: int) -> set[int]:
    (a, m), (b, n) = p, r
    return {step * i + j for i in range(a, a + m) for j in range(b, b + n)}


def shared(seed: int) -> None:
    random = Random(seed)
    expressions, step = random.choice([1, 1, 2]), random.choice([1, 1, 2, 3])
    bounds = [random.randint(2, 9) for _ in range(2 * expressions)]
    elements = [random.randint(1, 4) for _ in bounds]
    loops = [tiles(random, *own) for own in zip(bounds, elements, strict=True)]
    order = random.sample(range(len(loops)), len(loops))
    places = list(product(*(range(n) for n in elements)))
    held: dict[tuple[int, ...], set[tuple[int, ...]]] = {place: set() for place in places}
    sent = received = most = 0
    for index in product(*(range(len(loops[d])) for d in order)):
        at = dict(zip(order, index, strict=True))
        new: set[tuple[int, ...]] = set()
        for place in places:
            spans = [loops[d][at[d]][place[d]] for d in range(len(loops))]
            own = set(
                product(*(words(*spans[2 * e : 2 * e + 2], step) for e in range(expressions)))
            )
            if not own:
                continue  # it is idle, and keeps what it has
            received += len(own - held[place])
            new |= own - held[place]
            most = max(most, len(own))
            held[place] = own
        sent += len(new)
    rows = []
    for e in range(expressions):
        less, more = sorted(elements[2 * e : 2 * e + 2])
        rows.append([less, more, less if step == 1 else 1])
    bound = sent_at_once.py_func(np.array(rows, np.float64), float(most))
    assert received <= bound * sent * (1 + 1e-9), seed


@pytest.mark.sampled(40)
@pytest.mark.parametrize("seed", range(2000))
def test_elements_share_what_is_new_to_all_of_them(seed: int) -> None:
    shared(seed)


def test_no_element_is_sent_more_than_the_bound_allows_for() -> None:
    """A row of elements that read whole tiles anew reaches the bound."""
    for across, own in product((2, 3, 5), (1, 2, 4)):
        rows = np.array([[1, across, 1]], np.float64)
        every = len(words((0, own), (0, across), 1))
        assert sent_at_once.py_func(rows, float(own)) == pytest.approx(across * own / every)

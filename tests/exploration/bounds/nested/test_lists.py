"""Lists of tiles above an array: which shapes share one, and which tiles need not be in any."""

from __future__ import annotations

from random import Random
from typing import Any

import numpy as np
import pytest
from tests.exploration.bounds.nested.test_nested_tiles import KINDS, drawn_layer, one_design
from tests.exploration.bounds.test_quick_bounds import space

from tilewright.exploration.bounds.layer_words import Moved, words_of
from tilewright.exploration.bounds.nested import nodes, tiles
from tilewright.exploration.bounds.nested.lists import fill_list
from tilewright.exploration.bounds.nested.records import Lists, Nested
from tilewright.exploration.bounds.nested.slide_words import Slides
from tilewright.exploration.bounds.quick import QuickBounds
from tilewright.exploration.designs.numbers import Numbers
from tilewright.kernels.kernel import kernel
from tilewright.kernels.types import Floats
from tilewright.mapper.problem.space import Space
from tilewright.workload.layer import Layer
from tilewright.workload.operators import conv1d, conv2d

WINDOWS = (
    conv1d(K=4, C=8, P=8, R=3, name="c"),
    conv2d(K=2, C=4, P=4, Q=4, R=3, S=3, name="d"),
    conv1d(K=4, C=8, P=6, R=3, stride=2, name="s"),
)


@kernel
def fill(nested: Nested, lists: Lists, sp: Space, slides: Slides, which: int, shape: int) -> None:
    """Let Python call a part of a kernel."""
    fill_list(nested, lists, sp, slides, which, shape)


def listed(moved: Moved, which: int, shape: int) -> Floats:
    lists = moved.lists
    if lists.first[which, shape] < 0:
        fill(moved.nested, lists, moved.space, moved.slides, which, shape)
    return lists.entries[lists.first[which, shape] : lists.end[which, shape]]


def drawn(seed: int) -> Moved | None:
    random = Random(seed)
    numbers = Numbers(space(random.choice(KINDS)))
    return words_of(drawn_layer(random), numbers.machine, numbers.ports, numbers.sizes())


@pytest.mark.sampled(6)
@pytest.mark.parametrize("seed", range(200))
def test_tiles_around_a_rough_shape_cost_no_more(seed: int) -> None:
    moved = drawn(seed)
    if moved is None or not len(moved.nested.order_starts) > 1:
        return
    nested, random = moved.nested, Random(seed)
    stays = {(int(which), t) for row in nested.above for t, which in enumerate(row) if which >= 0}
    for which, t in sorted(stays):
        for _ in range(6):
            shape = random.randrange(len(nested.digits))
            rough = int(nested.rough[t, shape])
            assert (nested.digits[rough] <= nested.digits[shape]).all()
            better = listed(moved, which, rough)
            for entry in listed(moved, which, shape):
                assert (better <= entry * (1 + 1e-12)).all(axis=1).any()


@pytest.mark.long
@pytest.mark.sampled(4)
@pytest.mark.parametrize("seed", range(100))
def test_bounds_are_the_same_without_rough_shapes(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    random = Random(seed)
    kind, layer = space(random.choice(KINDS)), drawn_layer(random)

    def both() -> list[QuickBounds]:
        return [QuickBounds(kind, [layer], energy=energy) for energy in (True, False)]

    usual = both()
    monkeypatch.setattr(tiles, "STEP", 1)
    changed = both()
    for _ in range(4):
        row = usual[0].numbers.of(one_design(kind, random)[1])
        assert row is not None
        found = [own.floors(row, lambda _: False)[0] for own in (*usual, *changed)]
        np.testing.assert_allclose(found[0], found[2], rtol=1e-12)
        # energies by themselves are rough where they are not asked for
        np.testing.assert_allclose(found[1][:, 2], found[3][:, 2], rtol=1e-12)


@pytest.mark.parametrize("layer", WINDOWS, ids=lambda layer: layer.name)
def test_lists_are_the_same_without_tiles_that_hold_more_for_nothing(
    layer: Layer, monkeypatch: pytest.MonkeyPatch
) -> None:
    numbers = Numbers(space("two register files"))

    def found() -> Moved:
        moved = words_of(layer, numbers.machine, numbers.ports, numbers.sizes())
        assert moved is not None
        return moved

    def always(*_: Any) -> bool:
        return True

    few = found()
    monkeypatch.setattr(nodes, "has_use", always)
    every = found()
    assert len(few.nested.sequences) < len(every.nested.sequences)
    for which in range(len(few.nested.order_starts) - 1):
        for shape in range(0, len(few.nested.digits), 7):
            own, other = (np.unique(listed(m, which, shape), axis=0) for m in (few, every))
            np.testing.assert_allclose(own, other, rtol=1e-12)

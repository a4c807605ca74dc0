"""Spatial choices that bounds with several orders of memories leave."""

import pytest

import tilewright as tw
from tilewright.mapper.objective.objective import parse_objective
from tilewright.mapper.problem.bypass_choices import keep_choices
from tilewright.mapper.relaxations.nests import choices_left
from tilewright.mapper.relaxations.stays.least_cost import Least

Left = dict[tuple[int, ...], float]


@pytest.mark.parametrize(
    ("by_order", "expected", "asked"),
    [
        ([{(1, 2): 3.0, (2, 1): 4.0}, {(2, 1): 5.0, (4, 1): 6.0}], {(2, 1): 5.0}, 2),
        ([{(1, 2): 3.0}, None], {(1, 2): 3.0}, 2),
        ([None, {(1, 2): 3.0}], {(1, 2): 3.0}, 2),
        ([{}, {(1, 2): 3.0}], {}, 1),
        ([None, None], None, 2),
    ],
)
def test_a_choice_is_left_where_every_bound_leaves_it(
    monkeypatch: pytest.MonkeyPatch, by_order: list[Left | None], expected: Left | None, asked: int
) -> None:
    """With the highest of its values; where one leaves none, the next is not asked."""
    layer = tw.einsum("O[M,N] += I[M,K] * W[K,N]", M=4, N=4, K=4)
    machine = tw.load_architecture("four-level")
    waiting = list(by_order)
    monkeypatch.setattr(choices_left, "with_tiles", lambda *_: [()] * len(by_order))
    monkeypatch.setattr(choices_left, "TilePairs", lambda *_: None)
    monkeypatch.setattr(choices_left, "by_choice", lambda *_: waiting.pop(0))
    left = choices_left.choices_left(
        Least(layer, machine),
        [(1.0, next(keep_choices(layer, machine)))],
        parse_objective("edp"),
        1e12,
        lambda: False,
    )
    assert (None if left is None else {own.instances: own.value for own in left}) == expected
    assert len(by_order) - len(waiting) == asked

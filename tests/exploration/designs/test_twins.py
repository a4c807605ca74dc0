"""Designs whose rows and columns are swapped cost the same, and one stands for both."""

from __future__ import annotations

import pytest
from tests.exploration.test_explore import every_design, front_of

from tilewright.document import parse
from tilewright.exploration import Box, Space, explore, parse_space
from tilewright.exploration.designs.twins import all_have_twins, twins
from tilewright.workload.layer import Network
from tilewright.workload.operators import conv1d, matmul

AXES = ("edp", "area")
NETWORK = Network("two", (matmul(M=4, N=6, K=4, name="m"), conv1d(K=2, C=3, P=6, R=3, name="c")))


def space(rows: str = "[1, 2, 3]", axes: str = "{X: $columns, Y: $rows}", more: str = "") -> Space:
    text = f"""
name: swapped
parameters:
  columns: [1, 2, 3]
  rows: {rows}
  glb: [48 B, 96 B]
machine:
  technology: cacti7-28nm
  levels:
    - {{memory: D, word: 16 bits, bandwidth: 4, energy: 60}}
    - {{memory: B, word: 16 bits, size: $glb}}
    - {{array: PE, axes: {axes}}}
    - {{memory: R, word: 16 bits, size: 8 B}}
    - {{compute: M, area: 0.01, energy: 1}}
{more}"""
    return parse_space(parse(text, "space.yaml"))


@pytest.mark.long
def test_swapped_designs_cost_the_same_and_one_stands_for_both() -> None:
    drawn = space()
    assert twins(drawn) == ((0, 1),)
    designs = every_design(drawn, NETWORK, "edp")
    by_place = {drawn.indices(index): found for index, found in designs.items()}
    for (a, b, c), found in by_place.items():
        assert found == pytest.approx(by_place[b, a, c], rel=1e-12)
    found = explore(NETWORK, drawn, axes=AXES, objective="edp")
    told = {tuple(float(f"{p.metrics[axis]:.9g}") for axis in AXES) for p in found.front}
    assert told == front_of(designs, AXES)
    assert 0 < found.certificate.mirrored <= 6
    assert found.optimal


def test_the_worth_of_a_value_counts_designs_whose_twins_have_another() -> None:
    found = explore(NETWORK, space(), axes=AXES, objective="edp", worth="edp")
    assert found.worth is not None
    best = {(each.parameter, each.value): each.point for each in found.worth[1]}
    one = best["columns", "1"], best["rows", "1"]
    assert one[0] is not None and one[1] is not None
    assert one[0].parameters["rows"] == "3"
    assert one[0].metrics["edp"] == pytest.approx(one[1].metrics["edp"], rel=1e-12)


@pytest.mark.parametrize(
    "drawn",
    [
        space(rows="[1, 2, 4]"),
        space(axes="{X: $columns, Y: $rows * 2}"),
        space(axes="{X: $columns, Y: $rows, Z: $rows}"),
        space(more="limits: {columns: <= 2}\n"),
        space(more="  constraints: [{at: PE, axis: X, dims: [K]}]\n"),
    ],
    ids=["other values", "not the extent", "two axes", "limited", "constraints"],
)
def test_others_are_not_swapped(drawn: Space) -> None:
    assert twins(drawn) == ()


def test_a_box_stays_where_one_of_its_designs_stands_for_others() -> None:
    assert all_have_twins(Box(((0, 2), (2, 3))), ((0, 1),))
    assert not all_have_twins(Box(((0, 3), (2, 3))), ((0, 1),))

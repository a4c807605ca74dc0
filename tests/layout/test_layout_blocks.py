"""Blocks of a layout: the closed form counts what moving them word by word counts."""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import tilewright as tw
from strategies import cases
from tilewright.architecture.machine import Architecture
from tilewright.errors import InputError
from tilewright.layout.blocks import Blocks
from tilewright.layout.count import count_blocks
from tilewright.layout.simulate import simulated_blocks
from tilewright.mapping.nodes import Mapping
from tilewright.mapping.structure import resolve
from tilewright.reference.simulate import Simulation
from tilewright.workload.axis_order import (
    Layout,
    Part,
    address,
    axis_extent,
    digits,
    orders,
    parse_layout,
    row_major,
    size,
)
from tilewright.workload.einsum import einsum
from tilewright.workload.layer import Layer, Tensor
from tilewright.workload.operators import transposed_conv2d

Draw = Any
Case = tuple[Layer, Architecture, Mapping]


def relaxed(examples: int) -> settings:
    return settings(max_examples=examples, deadline=None, suppress_health_check=list(HealthCheck))


@st.composite
def layouts(draw: Draw, tensor: Tensor) -> Layout:
    """Draw an order of the axes of a tensor, some of them cut into tiles once or twice."""
    parts: list[Part] = []
    for axis in range(len(tensor.expressions)):
        parts.append(Part(axis))
        for tile in draw(st.sampled_from([(), (), (2,), (3,), (4, 2), (8, 2)])):
            parts.append(Part(axis, tile))
    order = draw(st.permutations(range(len(parts))))
    # the parts of one axis stay in their order
    of_axis = {axis: [p for p in parts if p.axis == axis] for axis in range(len(parts))}
    return Layout(tuple(of_axis[parts[i].axis].pop(0) for i in order))


@relaxed(40)
@given(data=st.data())
def test_every_word_has_a_place_of_its_own(data: Draw) -> None:
    layer = einsum("O[K,P] += I[C,2*P+R] * W[K,C,R]", K=3, C=5, P=3, R=2)
    tensor = data.draw(st.sampled_from(layer.tensors))
    where = digits(data.draw(layouts(tensor)), tensor, layer.bounds)
    extents = [range(axis_extent(terms, layer.bounds)) for terms in tensor.expressions]
    places = [address(where, index) for index in product(*extents)]
    assert len(set(places)) == len(places)
    assert set(places) <= set(range(size(where)))


@relaxed(60)
@given(data=st.data())
def test_blocks_of_a_product_are_those_of_its_words(data: Draw) -> None:
    layer = einsum("O[K,C,P] += I[K,C,P]", K=6, C=9, P=7)
    tensor = layer.tensors[0]
    where = digits(data.draw(layouts(tensor)), tensor, layer.bounds)
    block = data.draw(st.integers(1, 9))
    sets = [
        sorted(data.draw(st.sets(st.integers(0, layer.bounds[d] - 1), min_size=1)))
        for d in tensor.dimensions
    ]
    counter = Blocks(where, block)
    begins = [counter.origin(axis, indices[0]) for axis, indices in enumerate(sets)]
    shapes = tuple(
        tuple(index - indices[0] + rest for index in indices)
        for indices, (_, rest) in zip(sets, begins, strict=True)
    )
    place = sum(begin for begin, _ in begins) % block
    expected = {address(where, index) // block for index in product(*sets)}
    assert counter.touched(shapes)[place] == len(expected)


@relaxed(120)
@given(case=cases(operations=200), data=st.data())
def test_closed_form_equals_moving_the_blocks(case: Case, data: Draw) -> None:
    compare(case, data)


@pytest.mark.slow
@relaxed(3000)
@given(case=cases(operations=300), data=st.data())
def test_closed_form_equals_moving_the_blocks_at_length(case: Case, data: Draw) -> None:
    compare(case, data)


def compare(case: Case, data: Draw) -> None:
    """Count the blocks of a case in closed form and by moving them."""
    layer, architecture, mapping = case
    block_bytes = data.draw(st.sampled_from([4, 8, 8, 16, 32]))
    outer = replace(architecture.levels[0], block_bytes=block_bytes)
    machine = replace(architecture, levels=(outer, *architecture.levels[1:]))
    chosen = {tensor.name: data.draw(layouts(tensor)) for tensor in layer.tensors}
    simulation = Simulation(layer, machine, resolve(mapping, layer, machine))
    for name, counts in count_blocks(layer, machine, mapping, chosen).items():
        tensor = next(t for t in layer.tensors if t.name == name)
        where = digits(chosen[name], tensor, layer.bounds)
        expected = simulated_blocks(simulation, tensor, where, counts.words)
        assert (counts.reads, counts.writes) == expected


def test_layout_reads_back() -> None:
    layer = einsum("O[K,P] += I[C,2*P+R] * W[K,C,R]", K=3, C=5, P=3, R=2)
    for tensor in layer.tensors:
        for layout in orders(tensor, layer.bounds):
            assert parse_layout(layout.text(tensor), tensor) == layout
    image = layer.tensors[0]
    assert parse_layout("C, 2*P+R, C:16", image).text(image) == "C,P,C:16"
    assert parse_layout("R,C", image) == Layout((Part(1), Part(0)))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("C", "leaves out P"),
        ("C,Q", "has no axis 'Q'"),
        ("C,P,C", "occurs twice"),
        ("C:4,P", "needs 'C' outside"),
        ("C,P,C:x", "expected a number"),
        ("C,P,C:8,C:3", "do not divide"),
        (3, "expected axes"),
    ],
)
def test_bad_layouts_are_refused(text: Any, message: str) -> None:
    layer = einsum("O[K,P] += I[C,2*P+R] * W[K,C,R]", K=3, C=5, P=3, R=2)
    with pytest.raises(InputError, match=message):
        parse_layout(text, layer.tensors[0])


def test_row_major_is_the_order_of_the_einsum() -> None:
    layer = einsum("O[K,P] += I[C,2*P+R] * W[K,C,R]", K=3, C=5, P=3, R=2)
    (weights,) = (t for t in layer.tensors if t.name == "W")
    assert [d.stride for d in digits(row_major(weights), weights, layer.bounds)] == [10, 2, 1]


def test_large_layers_say_why_their_blocks_cannot_be_counted() -> None:
    plain = tw.conv2d(K=20, C=256, P=14, Q=14, R=3, S=3)
    uneven = {"spatial": "K", "tile": 7, "axis": "X"}
    with pytest.raises(InputError, match="chunks of K are uneven among the instances"):
        tw.evaluate(plain, "marvel-p1", [{"store": "DRAM"}, uneven], layouts={})
    # K does not index I, and what it does index stays above the array
    kept = [{"store": "DRAM"}, {"store": "L2", "tensors": ["W", "O"]}, {"for": "C", "tile": 1}]
    assert tw.evaluate(plain, "marvel-p1", [*kept, uneven], layouts={}).cycles > 0
    summed = transposed_conv2d(K=32, C=256, P=14, Q=14, R=3, S=3)
    with pytest.raises(InputError, match="its words lie in windows that overlap"):
        tw.evaluate(summed, "marvel-p1", [{"store": "DRAM"}], layouts={})

"""How many iterations a word of a window gives: no tile spans more, and no loops reuse more."""

from __future__ import annotations

from itertools import product
from math import prod

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tilewright as tw
from every_size import every_nest, stored, tile_bits
from tilewright.architecture.machine import Architecture, Compute, Memory
from tilewright.mapper.relaxations.stays.elements import Pays
from tilewright.mapper.relaxations.stays.least_cost import Least
from tilewright.mapper.windows.pairs import Windows
from tilewright.mapper.windows.slides import words_of_steps
from tilewright.mapping.nodes import For, Mapping, Store
from tilewright.workload.footprint import footprint
from tilewright.workload.layer import Layer


def line(a: int, b: int, p: int, r: int) -> Layer:
    return tw.einsum(f"O[P] += I[{a}*P+{b}*R] * W[R]", P=p, R=r)


def plane(p: int, q: int, r: int, s: int) -> Layer:
    return tw.einsum("O[P,Q] += I[P+R,Q+S] * W[R,S]", P=p, Q=q, R=r, S=s)


LINES = [line(a, b, p, r) for a, b in ((1, 1), (2, 1), (1, 2), (2, 3)) for p, r in ((6, 3), (4, 5))]
PLANES = [plane(3, 3, 2, 2), plane(4, 2, 3, 1), plane(5, 3, 2, 3)]


@pytest.mark.parametrize("layer", [*LINES, *PLANES], ids=str)
def test_no_tile_spans_more_iterations(layer: Layer, exact: bool = True) -> None:
    tensor = layer.tensors[0]
    windows = Windows(tensor, layer.bounds)
    boxes = [
        dict(zip(layer.bounds, extents, strict=True))
        for extents in product(*(range(1, bound + 1) for bound in layer.bounds.values()))
    ]
    for words in range(1, footprint(tensor, layer.bounds) + 2):
        fit = [box for box in boxes if footprint(tensor, box) <= words]
        most = max(prod(box[d] for d in tensor.dimensions) for box in fit)
        found = windows.most_iterations(words, frozenset(layer.bounds))
        assert found == most if exact else found >= most
        for d in tensor.dimensions:
            # of tiles that span one dimension, no two iterations give the same word
            assert windows.most_iterations(words, frozenset([d])) <= words


@settings(max_examples=300, deadline=None)
@given(st.data())
def test_no_steps_of_instances_read_fewer_words(data: st.DataObject) -> None:
    whole, other, a, b = (data.draw(st.integers(1, most)) for most in (8, 5, 4, 4))
    m, n = data.draw(st.integers(1, whole)), data.draw(st.integers(1, other))

    def steps(bound: int, most: int) -> list[list[int]]:
        """Return which indices instances have in each step, in any order."""
        left = data.draw(st.permutations(range(bound)))
        if data.draw(st.booleans()):
            stride = data.draw(st.integers(1, 3))
            left = sorted(left, key=lambda i: (i % stride, i))
        found = []
        while left:
            count = data.draw(st.integers(max(1, most - 1), most))
            found.append(left[:count])
            left = left[count:]
        return found

    read = sum(
        len({a * i + b * j for i in some for j in others})
        for some in steps(whole, m)
        for others in steps(other, n)
    )
    assert words_of_steps(m, n, whole, other, a, b) <= read


@pytest.mark.parametrize(("m", "n", "a", "fewest"), [(4, 3, 2, 16), (7, 3, 1, 9), (7, 1, 2, 21)])
def test_what_instances_read_of_seven_by_three(m: int, n: int, a: int, fewest: int) -> None:
    assert words_of_steps(m, n, 7, 3, a, 1) == fewest


@pytest.mark.long
@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    "layer", [*LINES, plane(3, 2, 2, 2), plane(4, 1, 3, 1), plane(2, 3, 2, 2)], ids=str
)
def test_no_loops_reuse_a_word_more_often(layer: Layer) -> None:
    tensor = layer.tensors[0]
    memory = Memory("RF", 8, read_energy=0.0, write_energy=0.0)
    machine = Architecture("one", (Memory("DRAM", 8), memory, Compute("MAC")))
    windows = Windows(tensor, layer.bounds)
    most: dict[int, float] = {}
    for nest in every_nest(layer, machine):
        for depth in range(len(nest) + 1):
            words = tile_bits(tensor, nest[:depth], layer, memory) // 8
            mapping = stored(nest, layer, machine, {"I": (depth,)})
            cost = tw.evaluate(layer, machine, mapping)
            reads = cost.memories["DRAM"].tensors["I"].reads
            most[words] = max(most.get(words, 0.0), layer.operations / reads)
    assert all(pairs <= windows.most_reuse(words) * (1 + 1e-12) for words, pairs in most.items())


SUM = tw.einsum("O[P] += I[P+R+T] * W[R,T]", P=4, R=3, T=2)


@pytest.mark.long
def test_no_tile_of_three_terms_spans_more_iterations() -> None:
    test_no_tile_spans_more_iterations(SUM, exact=False)
    test_no_loops_reuse_a_word_more_often(SUM)


@pytest.mark.parametrize("r", [250, 251])
def test_no_tile_of_many_spans_more_iterations(r: int) -> None:
    layer = tw.einsum("O[K,P] += I[P+R] * W[K,R]", K=8, P=400, R=r)
    windows = Windows(layer.tensors[0], layer.bounds)
    for p, own in ((1, 1), (1, r), (400, 1), (20, 30), (399, r - 1), (400, r)):
        assert p * own <= windows.most_iterations(p + own - 1, frozenset("PR")) <= 400 * r
    machine = Architecture(
        "large",
        (
            Memory("DRAM", 8, read_energy=1.0, write_energy=1.0),
            Memory("GLB", 8, tensor_bits={"I": 8 * (399 + r), "W": 8 * r, "O": 8}),
            Compute("MAC", energy=0.0),
        ),
    )
    nodes = (
        Store("DRAM", ("I", "W", "O")), Store("GLB", ("I",)), For("K", 1), Store("GLB", ("W",)),
        For("P", 1), Store("GLB", ("O",)),
    )  # fmt: skip
    value = tw.evaluate(layer, machine, Mapping(nodes)).energy_pj
    least = Least(layer, machine)
    for pays in (None, Pays.EITHER):
        assert 0.99 < least.cost(((0, 1),) * 3, pays)[0].min() / value <= 1 + 1e-9


def test_few_words_are_not_reused_as_often_as_all() -> None:
    layer = plane(14, 14, 3, 3)
    windows = Windows(layer.tensors[0], layer.bounds)
    pairs = [windows.most_reuse(words) for words in (1, 2, 4, 12, 40, 256)]
    assert pairs == sorted(pairs)
    assert pairs[0] < 3 < pairs[2] < 4 < pairs[3] < 7 < pairs[-1] <= windows.most == 9

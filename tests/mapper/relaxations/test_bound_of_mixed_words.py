"""The bound of all mappings where elements with less work keep what the others fetch again."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import product
from typing import Any

import pytest

import tilewright as tw
from tilewright.architecture.machine import Architecture, Array, Compute, Memory
from tilewright.errors import MappingError
from tilewright.mapper.objective.objective import parse_objective
from tilewright.mapper.problem.bypass_choices import KeepChoice, narrowed
from tilewright.mapper.relaxations.stays import mixed
from tilewright.mapper.relaxations.stays.elements import Pays
from tilewright.mapper.relaxations.stays.least_cost import Least
from tilewright.mapping.nodes import For, Mapping, Node, Spatial, Store
from tilewright.workload.layer import Layer

OBJECTIVES = [parse_objective(text) for text in ("energy", "edp", "energy*latency^0.5")]


def machine(elements: int, buffer: int, registers: int, read: float) -> Architecture:
    """Return a machine on which only the outermost memory costs energy."""
    return Architecture(
        "mixed",
        (
            Memory("DRAM", 8, read_energy=read, write_energy=10.0),
            Memory("GLB", 8, capacity_bits=8 * buffer),
            Array("A", {"X": elements}),
            Memory("RF", 8, capacity_bits=8 * registers),
            Compute("MAC", energy=0.0),
        ),
    )


def mappings(layer: Layer, near: str, far: str, elements: int) -> Iterator[Mapping]:
    """Yield mappings of which the first elements have two steps of K, and the others one."""
    buffer, registers = Store("GLB", (near,)), Store("RF", (far,))
    m, n, k = For("M", 1), For("N", 1), For("K", elements)
    array = Spatial("K", 1, "X", "A")
    nests: list[tuple[Node, ...]] = [
        (m, buffer, k, array, registers),
        (m, buffer, k, array, registers, n),
        (n, m, buffer, k, array, registers),
        (m, buffer, n, k, array, registers),
        (k, m, buffer, array, registers),
    ]
    for nest in nests:
        yield Mapping(
            (
                Store("DRAM", ("I", "W", "O")),
                *(
                    node
                    for node in nest
                    if isinstance(node, Store) or layer.bounds[node.dimension] > node.tile
                ),
            )
        )


def keep_of(layer: Layer, near: str, far: str) -> KeepChoice:
    chains = {near: (0, 1), far: (0, 2)}
    return tuple(chains.get(tensor.name, (0,)) for tensor in layer.tensors)


def closest(near: str, far: str, whole: bool) -> float:
    """Return the largest ratio of the bound to what mappings of its bypass choice cost."""
    most = 0.0
    few, many = ((2, 3, 20), (2, 4, 16)) if whole else ((2, 20), (2,))
    for m, elements, n, more in product(few, many, (1, 2), (1, 2)):
        layer = tw.einsum("O[M,N] += I[M,K] * W[K,N]", M=m, N=n, K=elements + more)
        for buffer, registers, read in product((1, 2), (1, 2), (1.0, 2.0, 10.0)):
            target = machine(elements, buffer, registers, read)
            least = Least(layer, narrowed(target, layer))
            keep = keep_of(layer, near, far)
            for objective in OBJECTIVES:
                bound = objective.values(*least.cost(keep, Pays.EITHER, objective)).min()
                for mapping in mappings(layer, near, far, elements):
                    try:
                        cost = tw.evaluate(layer, target, mapping)
                    except MappingError:
                        continue
                    value = objective.value(cost.energy_pj, float(cost.cycles))
                    most = max(most, float(bound) / value)
    return most


@pytest.mark.sampled(2)
@pytest.mark.parametrize(("near", "far"), [("O", "W"), ("I", "W"), ("W", "I")])
def test_elements_with_less_work_do_not_undercut_the_bound(
    near: str, far: str, whole: bool
) -> None:
    assert 0.9 < closest(near, far, whole) <= 1 + 1e-9


def test_what_such_elements_save_is_allowed_for(
    monkeypatch: pytest.MonkeyPatch, whole: bool
) -> None:
    begin = mixed.Outermost.__init__

    def without(self: mixed.Outermost, *args: Any) -> None:
        begin(self, *args)
        self.kept = {f: 0 * kept for f, kept in self.kept.items()}

    monkeypatch.setattr(mixed.Outermost, "__init__", without)
    assert closest("O", "W", whole) > 1.05


Bits = dict[str, int]


def product_of(sizes: tuple[int, int, int], bits: Bits) -> Layer:
    """Return a product of M, N, K whose words take so many bits."""
    m, n, k = sizes
    layer = tw.einsum("O[M,N] += I[M,K] * W[K,N]", M=m, N=n, K=k)
    return replace(layer, tensors=tuple(replace(t, bits=bits[t.name]) for t in layer.tensors))


def ratio(layer: Layer, target: Architecture, keep: KeepChoice, text: str, *nodes: Node) -> float:
    """Return the bound of a bypass choice over the value of a mapping."""
    cost = tw.evaluate(layer, target, Mapping((Store("DRAM", ("I", "W", "O")), *nodes)))
    objective = parse_objective(text.replace("now", f"{cost.cycles}"))
    values = objective.values(
        *Least(layer, narrowed(target, layer)).cost(keep, Pays.EITHER, objective)
    )
    return float(values.min()) / objective.value(cost.energy_pj, float(cost.cycles))


@pytest.mark.parametrize("text", ["edp", "ed2p", "energy, latency<=now"])
@pytest.mark.parametrize(
    ("m", "k", "elements", "w", "prices", "glb", "apart"),
    [
        (8, 11, 7, 17, (1.0, 1.25), 135, False),
        (6, 9, 7, 8, (1.0, 0.625), 135, False),
        (2, 13, 9, 9, (512.0, 0.0), 137, True),
    ],
)
def test_a_cheap_word_need_not_stay(
    text: str,
    m: int,
    k: int,
    elements: int,
    w: int,
    prices: tuple[float, float],
    glb: int,
    apart: bool,
) -> None:
    layer = product_of((m, 1, k), {"I": 1, "W": w, "O": 128})
    target = Architecture(
        "cheap",
        (
            Memory("DRAM", 8, read_energy=prices[0], write_energy=prices[1]),
            Memory("GLB", 8, capacity_bits=glb),
            Array("A", {"X": elements}),
            Memory("RF", 8, capacity_bits=w),
            Compute("MAC", energy=0.0),
        ),
    )
    loop = For("K", elements)
    middle = (Store("GLB", ("O",)), loop, Store("GLB", ("I",)))
    nodes = (
        For("M", 1), *(middle if apart else (loop, Store("GLB", ("I", "O")))),
        Spatial("K", 1, "X", "A"), Store("RF", ("W",)),
    )  # fmt: skip
    assert ratio(layer, target, ((0, 1), (0, 2), (0, 1)), text, *nodes) <= 1 + 1e-9


@pytest.mark.parametrize("text", ["edp", "energy, latency<=now"])
@pytest.mark.parametrize(("cycles", "m"), [(0.1, 9), (0.25, 4), (1.5, 2), (1.01, 9)])
def test_operations_may_take_parts_of_cycles(text: str, cycles: float, m: int) -> None:
    layer = product_of((m, 1, 1), {"I": 1, "W": 8, "O": 1})
    target = Architecture(
        "parts",
        (
            Memory("DRAM", 8, read_energy=1.0, write_energy=0.0),
            Array("A", {"X": m}, multicast=False),
            Memory("RF", 8, capacity_bits=8),
            Compute("MAC", energy=0.0, cycles=cycles),
        ),
    )
    nodes = [Store("RF", ("W",))]
    assert ratio(layer, target, ((0,), (0, 1), (0,)), text, *nodes) <= 1 + 1e-9


@pytest.mark.parametrize("text", ["edp", "ed2p", "energy"])
def test_partial_sums_that_begin_from_zero_may_be_most_of_the_energy(text: str) -> None:
    layer = product_of((1, 1, 3), {"I": 1, "W": 1, "O": 64})
    target = Architecture(
        "sums",
        (
            Memory("DRAM", 8, read_energy=10.0, write_energy=1.0),
            Array("A", {"X": 3}, reduction=False),
            Memory("RF", 8, capacity_bits=64),
            Compute("MAC", energy=0.0),
        ),
    )
    nodes = [Store("RF", ("O",))]
    assert ratio(layer, target, ((0,), (0,), (0, 1)), text, *nodes) <= 1 + 1e-9


@pytest.mark.parametrize("text", ["edp", "energy"])
@pytest.mark.parametrize("filters", [2, 4])
def test_windows_of_elements_overlap_where_one_dimension_is_cut(text: str, filters: int) -> None:
    # words of I are sent to several elements, which use each of them once
    layer = tw.einsum("O[P] += I[C,P+R] * W[C,R]", C=8, P=4, R=filters)
    target = Architecture(
        "windows",
        (
            Memory("DRAM", 8, read_energy=1.0, write_energy=10.0),
            Array("A", {"X": 4}),
            Memory("RF", 8, capacity_bits=8 * (filters + 1)),
            Compute("MAC", energy=0.0),
        ),
    )
    nodes = [Spatial("P", 1, "X", "A"), Store("RF", ("O",)), For("C", 1), Store("RF", ("I",))]
    assert ratio(layer, target, ((0, 1), (0,), (0, 1)), text, *nodes) <= 1 + 1e-9


def test_a_tile_above_the_array_has_what_its_elements_share_directly() -> None:
    # all of K is cut by the array, so that a tile of W has all of it, and two of eight N
    layer = tw.einsum("O[M,N] += I[M,K] * W[K,N]", M=16, N=8, K=4)
    target = machine(4, 8, 1, 1.0)
    nodes = [
        For("N", 2), Store("GLB", ("W",)), For("M", 1), Spatial("K", 1, "X", "A"),
        Store("RF", ("I",)), For("N", 1),
    ]  # fmt: skip
    for text in ("energy", "edp"):
        assert 0.97 < ratio(layer, target, ((0, 2), (0, 1), (0,)), text, *nodes) <= 1 + 1e-9

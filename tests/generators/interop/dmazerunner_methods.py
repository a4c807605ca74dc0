"""Execution methods of small layers: random ones, and all of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import permutations, product
from math import prod
from typing import Any

from hypothesis import strategies as st

from strategies import dimensions_of, layer_of
from tilewright.architecture.machine import Architecture, Array, Compute, Memory
from tilewright.interop.dmazerunner.method import Method
from tilewright.interop.dmazerunner.tiles import tile_words
from tilewright.mapper.problem.lattice import divisors
from tilewright.workload.layer import Layer

Draw = Any
NO_WINDOWS = ("matmul", "add", "dot", "three inputs")


def machine_of(
    registers: int | None = None,
    buffer: int | None = None,
    elements: int = 64,
    banks: int | None = None,
    prices: Sequence[float] = (200, 200, 13.5, 13.5, 0.96, 0.96, 2, 0.075),
    cycles: float = 1,
    clock_hz: float = 5e8,
) -> Architecture:
    """Return a machine of dMazeRunner's kind; sizes of a tile in words, None for no limit."""
    dram_read, dram_write, read, write, rf_read, rf_write, hop, operation = prices
    return Architecture(
        "machine",
        (
            Memory("DRAM", 16, read_energy=dram_read, write_energy=dram_write),
            Memory(
                "SPM", 16, capacity_bits=None if buffer is None else 32 * buffer, buffering=2,
                read_energy=read, write_energy=write, banks=banks,
            ),
            Array("PE", {"X": elements}, hop_energy=hop),
            Memory(
                "RF", 16, capacity_bits=None if registers is None else 16 * registers,
                read_energy=rf_read, write_energy=rf_write,
            ),
            Compute("MAC", energy=operation, cycles=cycles),
        ),
        clock_hz=clock_hz,
    )  # fmt: skip


@st.composite
def small_layers(draw: Draw, kinds: Sequence[str], most: int = 4, loops: int = 3) -> Layer:
    """Draw a layer of which at most some dimensions have more than one iteration."""
    kind = draw(st.sampled_from(list(kinds)))
    names = dimensions_of(kind)
    some = draw(st.permutations(names))[:loops]
    bounds = dict.fromkeys(names, 1) | {d: draw(st.integers(1, most)) for d in some}
    return layer_of(kind, bounds, draw(st.integers(1, 2)))


@st.composite
def methods_of(draw: Draw, layer: Layer) -> Method:
    """Draw an execution method."""
    four = {d: draw(st.sampled_from(splits(n))) for d, n in layer.bounds.items()}
    outer, inner = (
        tuple((d, four[d][level]) for d in draw(st.permutations(layer.dimensions)))
        for level in (0, 1)
    )
    return Method(
        tuple(loop for loop in outer if loop[1] > 1),
        tuple(loop for loop in inner if loop[1] > 1),
        {d: factors[2] for d, factors in four.items()},
        {d: factors[3] for d, factors in four.items()},
    )


def splits(n: int) -> list[tuple[int, int, int, int]]:
    """Return all ways to write a number as a product of four, in order."""
    return [
        (a, b, c, n // (a * b * c))
        for a, b, c in product(divisors(n), repeat=3)
        if n % (a * b * c) == 0
    ]


def all_tilings(
    layer: Layer, registers: int, buffer: int, elements: int, bank: int = 1
) -> Iterator[tuple[dict[str, int], dict[str, int], dict[str, int], dict[str, int]]]:
    """Yield the factors of every tiling that fits, one after the other."""
    for four in product(*(splits(n) for n in layer.bounds.values())):
        outer, inner, spatial, held = (
            dict(zip(layer.bounds, factors, strict=True)) for factors in zip(*four, strict=True)
        )
        whole = {d: held[d] * spatial[d] * inner[d] for d in held}
        banks = sum(-(-tile_words(t, whole) // bank) for t in layer.tensors)
        words = sum(tile_words(t, held) for t in layer.tensors)
        if words <= registers and banks * bank <= buffer and prod(spatial.values()) <= elements:
            yield outer, inner, spatial, held


def all_methods(layer: Layer, registers: int, buffer: int, elements: int) -> Iterator[Method]:
    """Yield every tiling that fits with every order of its loops."""
    for outer, inner, spatial, held in all_tilings(layer, registers, buffer, elements):
        orders = [
            permutations([(d, n) for d, n in factors.items() if n > 1])
            for factors in (outer, inner)
        ]
        for above, below in product(*orders):
            yield Method(above, below, spatial, held)

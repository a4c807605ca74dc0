"""How many iterations of a window a word serves at most: against every nest of loops around it."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

import numpy as np
import pytest

import tilewright as tw
from strategies import layer_of
from tilewright.architecture.machine import Architecture, Array, Compute, Memory
from tilewright.kernels.kernel import kernel
from tilewright.kernels.types import Floats, Ints
from tilewright.mapper.objective.objective import parse_objective
from tilewright.mapper.relaxations.nests.nest import Nest, nest
from tilewright.mapper.relaxations.nests.regular_bound import tightened
from tilewright.mapper.relaxations.nests.sliding.served import STEPS, WAYS, served
from tilewright.mapper.relaxations.nests.sliding.window_spans import Instances
from tilewright.mapper.relaxations.stays.least_cost import Least
from tilewright.mapping.nodes import For, Mapping, Node, Spatial, Store
from tilewright.model.evaluate import evaluate
from tilewright.workload.layer import Layer

Loops = tuple[tuple[str, int], ...]
COEFFICIENTS = [(1, 1), (2, 1), (1, 2), (3, 1), (2, 3), (2, 2)]


@kernel
def most_served(ns: Nest, m: int, n: int, spread: Ints, active: Ints, most: Floats) -> None:
    """Fill what is served at most in any way, in an instance and by all instances together."""
    far, wide = ns.bounds[0], ns.bounds[1]
    own = Instances(spread, active)
    for k in range(2):
        most[k] = 1.0
        for way in range(-1, WAYS - 2):
            most[k] = max(most[k], served(ns, 0, way, (m, n), (far, wide), own, k == 1, STEPS))


def window(a: int, b: int, p: int, r: int) -> Layer:
    return tw.einsum(f"O[P] += I[{a}*P+{b}*R] * W[R]", P=p, R=r)


MACHINE = Architecture(
    name="two memories",
    levels=(
        Memory("DRAM", 16),
        Array("PE", {"X": 8, "Y": 8}),
        Memory("RF", 16),
        Compute("MAC"),
    ),
)


def chains(extent: int, most: int) -> Iterator[tuple[int, ...]]:
    """Yield tile sizes of loops, one inside the other."""
    yield ()
    if most:
        for tile in range(1, extent):
            if extent % tile == 0:
                for rest in chains(tile, most - 1):
                    yield tile, *rest


def interleaved(first: Loops, second: Loops) -> Iterator[Loops]:
    """Yield every order of loops that keeps those of either sequence in order."""
    if not first or not second:
        yield first + second
        return
    for rest in interleaved(first[1:], second):
        yield first[0], *rest
    for rest in interleaved(first, second[1:]):
        yield second[0], *rest


def orders(p: int, r: int) -> Iterator[Loops]:
    """Yield loops on both dimensions, up to three of each."""
    for first, second in product(chains(p, 3), chains(r, 3)):
        loops = tuple(("P", tile) for tile in first), tuple(("R", tile) for tile in second)
        yield from interleaved(*loops)


def compare(layer: Layer, nodes: tuple[Node, ...], instances: dict[str, int]) -> None:
    """Compare the words that a mapping moves with the most that a word serves."""
    own = nest(Least(layer, MACHINE), ((0, 1), (0,), (0,)))
    assert own is not None
    tile = dict(layer.bounds)
    for node in nodes:
        if not isinstance(node, Store):
            tile[node.dimension] = node.tile
    top, below = Store("DRAM", ("I", "W", "O")), Store("RF", ("I",))
    found = evaluate(layer, MACHINE, Mapping((top, *nodes, below)))
    spread = np.array([instances.get(d, 1) for d in layer.bounds], np.int64)
    most = np.empty(2)
    most_served(own, tile["P"], tile["R"], spread, spread, most)
    received = found.memories["RF"].tensors["I"].writes
    sent = found.networks["PE"].words["I"]
    assert layer.operations <= received * most[0] * (1 + 1e-12), (nodes, most)
    assert layer.operations <= sent * most[1] * (1 + 1e-12), (nodes, most)


@pytest.mark.parametrize(("a", "b"), COEFFICIENTS)
def test_no_nest_of_loops_makes_a_word_serve_more(a: int, b: int) -> None:
    layer = window(a, b, 8, 4)
    for loops in orders(8, 4):
        compare(layer, tuple(For(d, tile) for d, tile in loops), {})


@pytest.mark.sampled(3)
@pytest.mark.parametrize(("a", "b"), COEFFICIENTS)
def test_no_array_makes_a_word_serve_more(a: int, b: int) -> None:
    layer = window(a, b, 8, 4)
    for loops in orders(8, 4):
        for cut in range(len(loops)):
            nodes: list[Node] = [For(d, tile) for d, tile in loops[:cut]]
            d, tile = loops[cut]
            before = [own for e, own in loops[:cut] if e == d]
            extent = before[-1] if before else layer.bounds[d]
            nodes.append(Spatial(d, tile, "X", "PE"))
            nodes += [For(e, own) for e, own in loops[cut + 1 :]]
            compare(layer, tuple(nodes), {d: extent // tile})


def test_an_outermost_tile_that_stays_for_less_leaves_room_above() -> None:
    """The tile of O comes in twelve times, so that a tile of I above it can slide on."""
    layer = layer_of("pooling", {"C": 1, "P": 1, "Q": 16, "R": 24, "S": 4})
    machine = Architecture(
        "three memories",
        (
            Memory("DRAM", 16, read_energy=64.0, write_energy=16.0),
            Memory("GLB", 16, capacity_bits=96, read_energy=2.0, write_energy=4.0),
            Array("PE", {"X": 1}, multicast=False, reduction=False, hop_energy=2.0),
            Memory(
                "RF", 16, capacity_bits=80, buffering=2, read_energy=1.0, write_energy=2.0,
                read_bandwidth=0.25,
            ),
            Compute("MAC", cycles=0.5, leakage=0.25),
        ),
    )  # fmt: skip
    mapping = Mapping(
        (
            Store("DRAM", ("I", "O")),
            *(For(d, 2) for d in "RQS"),
            Store("GLB", ("I",)),
            Store("RF", ("O",)),
        )
    )
    value = evaluate(layer, machine, mapping).energy_pj
    least, keep = Least(layer, machine), ((0, 1), (0, 2))
    bound, _ = tightened(least, [(0.0, keep)], parse_objective("energy"), 2 * value, lambda: False)
    assert 0.5 * value < bound <= value

"""The size of the search space equals the number of mappings that can be written down."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from math import inf, prod
from time import perf_counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from strategies import architectures, layers
from tilewright.architecture.files import load_architecture
from tilewright.architecture.machine import Architecture, Array, Compute, Constraint, Level, Memory
from tilewright.mapper.problem import space_size as size
from tilewright.mapper.problem.space_size import mappings_in_space
from tilewright.workload.layer import Layer
from tilewright.workload.operators import matmul, pointwise

Shape = tuple[int, ...]
Path = tuple[object, ...]


def enumerated(layer: Layer, architecture: Architecture) -> int:
    """Write down every mapping of the space and count those that differ."""
    segments: list[list[Memory]] = [[]]
    arrays: list[Array] = []
    for level in architecture.levels[1:]:
        if isinstance(level, Memory):
            segments[-1].append(level)
        elif isinstance(level, Array):
            segments.append([])
            arrays.append(level)
    every = set()
    options = [
        [
            kept
            for kept in product((False, True), repeat=len(architecture.memories) - 1)
            if all(
                (memory.may_store(tensor.role) if keep else tensor.role not in memory.must_keep)
                for keep, memory in zip(kept, architecture.memories[1:], strict=True)
            )
        ]
        for tensor in layer.tensors
    ]
    inner = [memory.name for memory in architecture.memories[1:]]
    for kept in product(*options):
        chains = [
            tuple(
                tuple(m.name for m in segment if keep[inner.index(m.name)]) for segment in segments
            )
            for keep in kept
        ]
        top = tuple(layer.bounds.values())
        every |= {canonical(path) for path in walks(layer, architecture, arrays, chains, top, 0)}
    return len(every)


def walks(
    layer: Layer,
    architecture: Architecture,
    arrays: list[Array],
    chains: list[tuple[tuple[str, ...], ...]],
    shape: Shape,
    segment: int,
) -> Iterator[Path]:
    waiting = tuple(chain[segment] for chain in chains)
    for path, left in nests(shape, waiting, last=segment == len(arrays)):
        if segment == len(arrays):
            yield path
            continue
        for factors in spatial(layer, architecture, arrays[segment]):
            if all(x % f == 0 for x, f in zip(left, factors, strict=True)):
                below = tuple(x // f for x, f in zip(left, factors, strict=True))
                for rest in walks(layer, architecture, arrays, chains, below, segment + 1):
                    yield (*path, ("spatial", factors), *rest)


def nests(
    shape: Shape, waiting: tuple[tuple[str, ...], ...], *, last: bool
) -> Iterator[tuple[Path, Shape]]:
    """Store nodes in every order, and loops on single dimensions, in every order between them."""
    if not any(waiting):
        yield (), shape
        if last:
            return
    for t, chain in enumerate(waiting):
        if chain:
            left = (*waiting[:t], chain[1:], *waiting[t + 1 :])
            for path, end in nests(shape, left, last=last):
                yield (("store", t, chain[0]), *path), end
    for d, x in enumerate(shape):
        for tile in (y for y in range(1, x) if x % y == 0):
            smaller = (*shape[:d], tile, *shape[d + 1 :])
            for path, end in nests(smaller, waiting, last=last):
                yield (("for", d, tile), *path), end


def spatial(layer: Layer, architecture: Architecture, array: Array) -> set[Shape]:
    """Total spatial factors of each dimension, over all axes."""
    bounds = layer.bounds
    totals = {(1,) * len(bounds)}
    for axis, elements in array.axes.items():
        allowed = architecture.allowed_dimensions(array.name, axis)
        ranges = [
            [
                f
                for f in range(1, b + 1)
                if b % f == 0 and (f == 1 or allowed is None or d in allowed)
            ]
            for d, b in bounds.items()
        ]
        own = [factors for factors in product(*ranges) if prod(factors) <= elements]
        totals = {
            tuple(a * b for a, b in zip(total, factors, strict=True))
            for total in totals
            for factors in own
        }
    return {t for t in totals if all(b % f == 0 for b, f in zip(bounds.values(), t, strict=True))}


def canonical(path: Path) -> Path:
    """Join loops on one dimension and forget the order of neighbouring store nodes."""
    result: list[object] = []
    for node in path:
        kind = node[0]
        before = result[-1] if result else None
        if kind == "store" and isinstance(before, frozenset):
            result[-1] = before | {node[1:]}
        elif kind == "store":
            result.append(frozenset({node[1:]}))
        elif kind == "for" and isinstance(before, tuple) and before[:2] == node[:2]:
            result[-1] = node
        else:
            result.append(node)
    return tuple(result)


def chain(*levels: Level) -> Architecture:
    return Architecture("chain", (*levels, Compute("MAC")))


DRAM = Memory("DRAM", 16)


def memory(name: str, **keys: object) -> Memory:
    return Memory(name, 16, capacity_bits=1 << 20, **keys)


MACHINES = {
    "one memory": chain(DRAM),
    "two memories": chain(DRAM, memory("RF")),
    "three memories": chain(DRAM, memory("GLB"), memory("RF")),
    "an array": chain(DRAM, memory("GLB"), Array("PE", {"X": 2, "Y": 2}), memory("RF")),
    "an array above the compute unit": chain(DRAM, memory("GLB"), Array("PE", {"X": 4})),
    "two arrays": chain(DRAM, Array("A", {"X": 2}), memory("RF"), Array("B", {"X": 3})),
    "kept and bypassed": chain(
        DRAM, memory("GLB", keep=frozenset("IO"), must_keep=frozenset("O")), memory("RF")
    ),
    "constrained": Architecture(
        "constrained",
        (DRAM, Array("PE", {"X": 2, "Y": 2}), memory("RF"), Compute("MAC")),
        constraints=(Constraint("PE", "X", frozenset({"K", "C"})),),
    ),
}


@pytest.mark.long
@pytest.mark.parametrize("machine", MACHINES.values(), ids=MACHINES.keys())
def test_the_count_equals_the_mappings_written_down(machine: Architecture) -> None:
    for layer in (matmul(M=2, N=1, K=2), pointwise(K=4, C=1, P=1, Q=2)):
        assert mappings_in_space(layer, machine) == enumerated(layer, machine)


@settings(max_examples=25, deadline=None)
@given(st.data())
def test_the_count_equals_the_mappings_written_down_on_any_machine(data: st.DataObject) -> None:
    machine = data.draw(architectures(most_memories=3, most_arrays=1))
    layer = data.draw(layers(kinds=("matmul", "add", "dot"), operations=6, largest=4))
    assert mappings_in_space(layer, machine) == enumerated(layer, machine)


def test_a_layer_of_one_operation_has_one_mapping_per_choice_of_bypasses() -> None:
    layer = matmul(M=1, N=1, K=1)
    assert mappings_in_space(layer, MACHINES["one memory"]) == 1
    assert mappings_in_space(layer, MACHINES["two memories"]) == 2**3
    assert mappings_in_space(layer, MACHINES["an array"]) == 2**6


def test_large_numbers_of_divisors_are_counted_at_once() -> None:
    # one array: what it leaves has no more shapes than it has spatial choices
    begin = perf_counter()
    small, large = (
        mappings_in_space(matmul(M=n, N=n, K=n), load_architecture("simple")) for n in (64, 55440)
    )
    assert small < large < inf
    assert perf_counter() - begin < 60
    # known from a count shape by shape
    assert small == 447_689_641_384_098


@pytest.mark.parametrize("most", ["MOST_SHAPES", "MOST_STEPS"])
def test_a_space_that_takes_seconds_to_count_is_not_counted(
    most: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    layer, machine = matmul(M=4, N=4, K=4), MACHINES["an array"]
    assert mappings_in_space(layer, machine) < inf
    monkeypatch.setattr(size, most, 1)
    assert mappings_in_space(layer, machine) == inf

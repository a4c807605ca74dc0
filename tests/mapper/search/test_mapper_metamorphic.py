"""How optima of ordinary layers compare: what must not be worse, and what must not matter."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tilewright
from tilewright.architecture.machine import Architecture, Array, Compute, Level, Memory
from tilewright.mapper.search.search import Search
from tilewright.strategies.candidates.structures import random_structure
from tilewright.strategies.candidates.tilings import random_tiles
from tilewright.workload.einsum import einsum
from tilewright.workload.layer import Layer

CONV = "O[N,K,P,Q] += I[N,C,P+R,Q+S] * W[K,C,R,S]"
LAYERS = {
    "matmul": einsum("O[M,N] += I[M,K] * W[K,N]", M=96, N=60, K=84),
    "conv": einsum(CONV, N=1, K=8, C=12, P=7, Q=14, R=3, S=3),
    "strided": einsum("O[K,P,Q] += I[C,2*P+R,2*Q+S] * W[K,C,R,S]", K=8, C=6, P=7, Q=7, R=3, S=3),
    "depthwise": einsum("O[G,P,Q] += I[G,P+R,Q+S] * W[G,R,S]", G=8, P=14, Q=7, R=3, S=3),
}
MACHINES = ("simple", "eyeriss")
OBJECTIVES = ("energy", "latency", "edp")


@cache
def machine_of(name: str) -> Architecture:
    """Return a preset whose memories are small enough to matter on these layers."""
    machine = tilewright.load_architecture(name)

    def smaller(level: Level) -> Level:
        if isinstance(level, Memory) and level.capacity_bits is not None:
            return replace(level, capacity_bits=max(64, level.capacity_bits // 16))
        return level

    return replace(machine, levels=tuple(smaller(level) for level in machine.levels))


def value(layer: Layer, machine: Architecture, objective: str) -> float:
    found = Search(layer, machine, objective).solve()
    assert found.finished
    return found.value


@cache
def optimum(layer: str, machine: str, objective: str) -> float:
    return value(LAYERS[layer], machine_of(machine), objective)


def grown(level: Level) -> list[Level]:
    """Return the level with each of its limits relaxed."""
    if isinstance(level, Array):
        larger = [replace(level, axes={**level.axes, a: n + 2}) for a, n in level.axes.items()]
        return larger + ([replace(level, bandwidth=2 * level.bandwidth)] if level.bandwidth else [])
    if not isinstance(level, Memory):
        return []
    result: list[Level] = []
    if level.capacity_bits is not None:
        result.append(replace(level, capacity_bits=level.capacity_bits + level.word_bits * 7))
    if level.tensor_bits is not None:
        more = {role: bits * 2 for role, bits in level.tensor_bits.items()}
        result.append(replace(level, tensor_bits=more))
    for key in ("read_bandwidth", "write_bandwidth", "shared_bandwidth"):
        if (bandwidth := getattr(level, key)) is not None:
            result.append(replace(level, **{key: bandwidth * 1.5}))
    return result


CASES = st.tuples(st.sampled_from(list(LAYERS)), st.sampled_from(MACHINES))


@settings(max_examples=6, deadline=None)
@given(case=CASES, objective=st.sampled_from(OBJECTIVES), data=st.data())
def test_optimum_is_not_worse_when_a_limit_grows(
    case: tuple[str, str], objective: str, data: st.DataObject
) -> None:
    layer, name = case
    machine = machine_of(name)
    changes = [
        replace(machine, levels=(*machine.levels[:i], other, *machine.levels[i + 1 :]))
        for i, level in enumerate(machine.levels)
        for other in grown(level)
    ]
    larger = data.draw(st.sampled_from(changes))
    assert value(LAYERS[layer], larger, objective) <= optimum(layer, name, objective) * (1 + 1e-12)


@settings(max_examples=5, deadline=None)
@given(case=CASES, objective=st.sampled_from(OBJECTIVES), order=st.randoms(use_true_random=False))
def test_order_of_dimensions_does_not_matter(
    case: tuple[str, str], objective: str, order: object
) -> None:
    name, machine = case
    layer = LAYERS[name]
    names = list(layer.bounds)
    order.shuffle(names)  # type: ignore[attr-defined]
    shuffled = replace(layer, bounds={d: layer.bounds[d] for d in names})
    found = value(shuffled, machine_of(machine), objective)
    assert found == pytest.approx(optimum(name, machine, objective), rel=1e-12)


@pytest.mark.parametrize("objective", OBJECTIVES)
def test_names_of_dimensions_and_swapped_operands_do_not_matter(objective: str) -> None:
    machine = machine_of("simple")
    first = value(einsum("O[M,N] += I[M,K] * W[K,N]", M=96, N=60, K=84), machine, objective)
    other = value(einsum("C[A,B] += X[Z,B] * Y[A,Z]", A=96, B=60, Z=84), machine, objective)
    assert first == pytest.approx(other, rel=1e-12)


@settings(max_examples=6, deadline=None)
@given(case=CASES, seed=st.integers(0, 10**6))
def test_no_sampled_mapping_is_better_than_the_optimum(case: tuple[str, str], seed: int) -> None:
    name, machine = case
    layer, target = LAYERS[name], machine_of(machine)
    rng = np.random.default_rng(seed)
    for _ in range(4):
        mapping = random_structure(layer, target, rng)
        batch = tilewright.evaluate_batch(
            layer, target, mapping, random_tiles(layer, target, mapping, 500, rng)
        )
        if not batch.valid.any():
            continue
        for objective, values in (
            ("energy", batch.energy_pj),
            ("latency", batch.cycles),
            ("edp", batch.edp),
        ):
            best = values[batch.valid].min()
            assert best >= optimum(name, machine, objective) * (1 - 1e-12)


@pytest.mark.long
def test_tiles_of_two_tensors_may_stay_through_loops_above_an_array() -> None:
    """A scalar operand and a sum both stay: no bound may take one of them alone to do so."""
    layer = einsum("O[M] += I[M,K] * W[K] * B[N]", M=6, K=8, N=1)
    tensors = tuple(replace(t, bits=32) if t.name == "B" else t for t in layer.tensors)
    layer = replace(layer, tensors=tensors)

    def memory(name: str, energy: tuple[float, float], bits: int | None, keep: str) -> Memory:
        kept = frozenset(t.role for t in layer.tensors if t.name in keep)
        return Memory(
            name, 16, read_energy=energy[0], write_energy=energy[1], capacity_bits=bits,
            keep=None if bits is None else kept, must_keep=frozenset() if bits is None else kept,
        )  # fmt: skip

    machine = Architecture(
        "machine",
        (
            memory("M0", (16, 32), None, ""),
            memory("M1", (6.5, 4), 48, "IW"),
            Array("A", {"X": 6}, hop_energy=2.0),
            memory("M3", (2, 1), 80, "BO"),
            Array("B", {"X": 4}),
            Compute("MAC", energy=1.0),
        ),
    )
    found = tilewright.map(layer, machine, "energy", cache=False).layers[0]
    better = tilewright.map(
        layer, machine, "energy", cache=False, constraints="A.max_dims=0"
    ).layers[0]
    assert found.proof.value <= better.proof.value

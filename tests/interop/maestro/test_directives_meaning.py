"""Translated directives do what directives mean, processing element by element, step by step."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from random import Random

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from directive_meaning import steps
from tilewright.architecture.machine import Architecture, Array, Compute, Memory
from tilewright.errors import InputError
from tilewright.interop.maestro.syntax import Cluster, Dataflow, Directive, Map, Size
from tilewright.interop.maestro.translate import Translation, translate
from tilewright.mapping.structure import resolve
from tilewright.reference.simulate import Simulation
from tilewright.workload.layer import Layer
from tilewright.workload.operators import conv2d, depthwise, grouped, matmul, pointwise


def machine(elements: int) -> Architecture:
    levels = (
        Memory("L2", 8),
        Array("PE", {"X": elements}),
        Memory("L1", 8, 1 << 20),
        Compute("MAC"),
    )
    return Architecture("pes", levels)


def mapped_steps(found: Translation, layer: Layer) -> list[dict[tuple[int, ...], frozenset]]:
    """Return the same as `steps`, from the loops of the translated mapping."""
    structure = resolve(found.mapping, layer, found.architecture)
    run = Simulation(layer, found.architecture, structure)
    cuts = [i for i in run.cuts if i < structure.named]
    arrays = [array.name for array in found.architecture.arrays]
    result = []
    for _, active in run.steps(cuts, frozenset()):
        step = {}
        for instance, box in active:
            at = dict(zip(run.spatial(cuts), instance, strict=True))
            unit = tuple(at.get(name, 0) for name in arrays)
            points = [()]
            for interval in box:
                points = [(*point, i) for point in points for i in interval]
            step[unit] = frozenset(points)
        result.append(step)
    return result


def layer_of(random: Random) -> Layer:
    n = random.randint
    window = {"P": n(1, 5), "Q": n(1, 3), "R": n(1, 4), "S": n(1, 2)}
    window |= {"stride": n(1, 3), "dilation": random.choice([1, 1, 2])}
    kind = n(0, 5)
    if kind <= 1:
        return conv2d(K=n(1, 4), C=n(1, 3), **window)
    if kind == 2:
        return depthwise(G=n(1, 5), **window)
    if kind == 3:
        return grouped(G=n(1, 2), K=n(1, 2), C=n(1, 2), **window)
    if kind == 4:
        return pointwise(K=n(1, 4), C=n(1, 4), P=n(1, 5), Q=n(1, 4), stride=n(1, 2))
    return matmul(M=n(1, 5), N=n(1, 5), K=n(1, 5))


def dataflow_of(random: Random, layer: Layer) -> tuple[Dataflow, int]:
    """Return directives that are often legal, and a number of processing elements."""
    if "M" in layer.dimensions and random.random() < 0.5:
        names = ["M", "N", "K"]
    else:
        names = ["K", "C", "R", "S", random.choice(["Y", "Y'"]), random.choice(["X", "X'", "X'"])]
    tiles = {name: 6 for name in names}
    taps = {"Y": 4, "X": 2}
    directives: list[Directive] = []
    inner = 1
    for level in range(random.randint(1, 3)):
        if level:
            size = random.choice([1, 2, 2, 3])
            inner *= size
            directives.append(Cluster(Size.of(size)))
        spatial = random.choice([0, 1, 1, 1, 2])
        for name in random.sample(names, random.randint(1, len(names))):
            tile = random.randint(1, tiles[name])
            tiles[name] = tile
            size, offset = Size.of(tile), Size.of(tile)
            if name in taps:
                whole = random.random() < 0.6
                rest = {"Y": "R", "X": "S"}[name]
                size = Size(((tile - 1, None), (1, rest))) if whole else Size.of(tile)
                outputs = tile if random.random() < 0.8 else random.randint(1, 4)
                offset = Size.of(outputs)
            elif random.random() < 0.05:
                offset = Size.of(random.randint(1, 3))
            elif random.random() < 0.1:
                size = offset = Size(((1, name),))
            across = spatial > 0 and random.random() < 0.4
            spatial -= across
            directives.append(Map(across, size, offset, name))
    return Dataflow(tuple(directives)), inner * random.randint(1, 3) + random.randint(0, 1)


def once(found: list[dict[tuple[int, ...], frozenset]], layer: Layer) -> bool:
    """Whether every operation is done exactly once."""
    done = Counter(point for step in found for points in step.values() for point in points)
    return len(done) == layer.operations and set(done.values()) == {1}


def check(seed: int) -> str:
    random = Random(seed)
    layer = layer_of(random)
    flow, elements = dataflow_of(random, layer)
    try:
        found = translate(flow, layer, machine(elements))
    except InputError as failure:
        if "not legal" in failure.message or "left out" in failure.message:
            assert not once(steps(flow, layer, elements), layer), (str(flow), layer, failure)
            return "illegal"
        return "refused"
    meant = steps(flow, layer, elements)
    assert mapped_steps(found, layer) == meant, (str(flow), layer, elements)
    assert mapped_steps(replace(found, mapping=found.padded), layer) == meant
    assert once(meant, layer)
    return "translated"


@settings(max_examples=120, deadline=None)
@given(seed=st.integers(0, 2**32))
@example(seed=89)
@example(seed=236)
@example(seed=411)
@example(seed=4834)
@example(seed=5242)
def test_translation_does_what_directives_mean(seed: int) -> None:
    check(seed)


@pytest.mark.slow
def test_translation_does_what_many_directives_mean() -> None:
    outcomes = Counter(check(seed) for seed in range(6000))
    assert outcomes["translated"] > 1500
    assert outcomes["illegal"] > 100

"""Random layers and machines that are small enough to try every mapping."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from itertools import islice
from random import Random

from enumeration import Enumeration
from strategies import dimensions_of, layer_of
from tilewright.architecture.machine import Architecture, Array, Compute, Constraint, Level, Memory
from tilewright.workload.layer import Layer

Problem = tuple[Layer, Architecture]

# windows and their lattices of 2 and 3 make most of what can go wrong
KINDS = ("conv1d",) * 5 + ("depthwise",) * 2 + ("matmul",) * 3 + (
    "conv2d", "pooling", "three terms", "three terms", "scatter", "add", "dot", "three inputs",
)  # fmt: skip
BOUNDS = (1, 2, 2, 2, 3, 3, 4, 4, 4, 5, 6, 6, 8, 9)


@cache
def problem(seed: int, fewest: int = 100, most: int = 6000) -> Problem:
    """Return a layer and a machine, the same for a seed whenever it is asked.

    Parameters
    ----------
    seed : int
        Where to start.
    fewest, most : int
        Bounds of the number of loop nests times stores of one tensor, which take some 50 us each.
    """
    random = Random(seed)
    while True:
        drawn = layer(random), machine(random)
        if fewest <= size(*drawn, most) < most:
            return drawn


def size(layer: Layer, architecture: Architecture, most: int) -> int:
    """Return the number of ways to store one tensor along all nests, at most about `most`."""
    space = Enumeration(layer, architecture, run=False)
    total = 0
    for nest in islice(space.all_nests(), most):
        total += max(sum(1 for _ in space.chains(tensor, nest)) for tensor in layer.tensors)
        if total >= most:
            break
    return total


def layer(random: Random) -> Layer:
    """Return a layer of at most 300 operations, most often with a window."""
    kind = random.choice(KINDS)
    a, b = random.choice([(1, 1)] * 4 + [(2, 1)] * 2 + [(3, 1), (1, 2), (2, 2), (3, 2), (2, 3)])
    dimensions = dimensions_of(kind)
    while True:
        bounds = {d: random.choice(BOUNDS) for d in dimensions}
        for d in bounds:
            if random.random() < len(bounds) / 16:
                bounds[d] = 1
        drawn = layer_of(kind, bounds, a, b)
        if 4 <= drawn.operations <= 300:
            break
    bits = (None, None, None, 8, 32)
    return replace(
        drawn, tensors=tuple(replace(t, bits=random.choice(bits)) for t in drawn.tensors)
    )


def machine(random: Random) -> Architecture:
    """Return a machine of 2 to 4 memories and up to 2 arrays whose capacities bind."""
    memories = random.choice([2, 2, 3, 3, 3, 4])
    levels: list[Level] = [memory(random, f"M{i}", i == 0) for i in range(memories)]
    for n in range(random.choice([0, 1, 1, 1, 2, 2])):
        levels.insert(random.randint(1, len(levels)), array(random, f"A{n}"))
    names = iter(["A", "B"])
    levels = [replace(x, name=next(names)) if isinstance(x, Array) else x for x in levels]
    compute = Compute(
        "MAC",
        energy=random.choice([0.0, 1.0]),
        cycles=random.choice([1.0, 1.0, 1.0, 1.0, 2.0, 0.5, 1.5]),
        leakage=random.choice([0.0, 0.0, 0.25]),
    )
    constraints = [
        Constraint(
            level.name,
            random.choice([None, *level.axes]),
            frozenset(random.sample("KPCRMNGQT", random.randint(1, 5))),
        )
        for level in levels
        if isinstance(level, Array) and random.random() < 0.25
    ]
    return Architecture("machine", (*levels, compute), 1e9, tuple(constraints))


def array(random: Random, name: str) -> Array:
    """Return an array of one or two short axes with any network but a forwarding one."""
    axes = {"X": random.choice([2, 2, 3, 4, 4, 6, 8])}
    if random.random() < 0.35:
        axes["Y"] = random.choice([2, 2, 3, 4])
    return Array(
        name,
        axes,
        multicast=random.random() < 0.75,
        reduction=random.random() < 0.75,
        hop_energy=random.choice([0.0, 0.0, 0.25, 2.0]),
        bandwidth=random.choice([None, None, 0.5, 1.0, 2.0]),
    )


def memory(random: Random, name: str, outermost: bool) -> Memory:
    """Return a memory; all but the outermost one have room for a few words."""
    word = random.choice([8, 16, 16])
    rates = (None, None, None, 0.25, 0.5, 1.0, 2.0)
    shared = random.random() < 0.5
    cost = (1.0, 2.0, 4.0, 6.5)
    drawn = Memory(
        name,
        word,
        read_energy=random.choice(cost) * (16 if outermost else 1),
        write_energy=random.choice(cost) * (16 if outermost else 1),
        read_bandwidth=None if shared else random.choice(rates),
        write_bandwidth=None if shared else random.choice(rates),
        shared_bandwidth=random.choice(rates) if shared else None,
        leakage=random.choice([0.0, 0.0, 0.0, 0.5]),
    )
    if outermost:
        return drawn
    kept = random.choice(["IWO"] * 4 + ["I", "W", "O", "IO", "IW", "WO"])
    drawn = replace(drawn, buffering=random.choice([1, 1, 1, 2]))
    if random.random() < 0.2:
        shares = {role: random.choice([1, 2, 3, 4, 6, 8, 12, 20]) * word for role in kept}
        return replace(drawn, tensor_bits=shares)
    words = random.choice([2, 3, 4, 5, 6, 8, 10, 12, 16, 24, 40, 1000, None])
    return replace(
        drawn,
        capacity_bits=None if words is None else words * word,
        keep=None if kept == "IWO" else frozenset(kept),
        must_keep=frozenset(r for r in kept if random.random() < 0.4)
        if random.random() < 0.3
        else frozenset(),
    )

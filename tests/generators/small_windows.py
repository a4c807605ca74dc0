"""Small convolutions on machines with a small buffer and smaller register files."""

from __future__ import annotations

from random import Random

import tilewright as tw
from tilewright.architecture.machine import Architecture, Array, Compute, Memory
from tilewright.workload.layer import Layer

MOST_OPERATIONS = 12_000
AXES = ({"X": 1}, {"X": 2}, {"X": 3}, {"X": 4}, {"X": 2, "Y": 2}, {"X": 3, "Y": 2})


def memory(name: str, words: int | None, read: float, write: float) -> Memory:
    """Return a memory with words of a byte."""
    bits = None if words is None else 8 * words
    return Memory(name, 8, capacity_bits=bits, read_energy=read, write_energy=write)


def small_window(seed: int) -> tuple[Layer, Architecture, str]:
    """Return a convolution in one dimension or two, a machine with an array, and an objective."""
    random = Random(seed)
    stride = random.choice([1, 1, 1, 2])
    several = random.random() < 0.7
    while True:
        bounds = {
            "K": random.choice([1, 2, 3, 4, 6]),
            "C": random.choice([1, 1, 2, 3]),
            "P": random.choice([3, 4, 5, 6, 7, 8, 9, 12]),
            "R": random.choice([2, 3, 3, 4, 5]),
        }
        text = f"O[K,P] += I[C,{stride}*P+R] * W[K,C,R]"
        if several:
            bounds |= {"Q": random.choice([2, 3, 4, 5, 6, 8]), "S": random.choice([1, 2, 3])}
            text = f"O[K,P,Q] += I[C,{stride}*P+R,{stride}*Q+S] * W[K,C,R,S]"
        layer = tw.einsum(text, **bounds)
        if layer.operations <= MOST_OPERATIONS:
            break

    def drawn(name: str, words: int | None, read: float) -> Memory:
        return memory(name, words, read, read * random.choice([1.0, 2.0]))

    levels: list[Memory | Array] = [drawn("DRAM", None, random.choice([20.0, 50.0, 200.0]))]
    if random.random() < 0.75:
        words = random.choice([12, 16, 24, 32, 48, 64, 96, 128])
        levels.append(drawn("GLB", words, random.choice([2.0, 6.0])))
    levels.append(
        Array(
            "A", dict(random.choice(AXES)), multicast=random.random() < 0.85,
            reduction=random.random() < 0.85, hop_energy=random.choice([0.0, 1.0]),
        )
    )  # fmt: skip
    levels.append(drawn("RF", random.choice([3, 4, 6, 8, 10, 12, 16, 24]), random.choice([0.5, 1])))
    machine = Architecture("small", (*levels, Compute("MAC")))
    return layer, machine, random.choice(["edp", "edp", "energy"])


def two_above(seed: int) -> tuple[Layer, Architecture, str]:
    """Return the problem of `small_window` with two memories above the array."""
    layer, own, objective = small_window(seed)
    random = Random(-1 - seed)
    inside = [level for level in own.levels if not isinstance(level, Compute)][1:]
    if isinstance(inside[0], Array):
        read = random.choice([2.0, 6.0])
        words = random.choice([12, 16, 24, 32, 48, 64])
        inside = [memory("GLB", words, read, read * random.choice([1.0, 2.0])), *inside]
    buffer = inside[0]
    assert isinstance(buffer, Memory)
    assert buffer.capacity_bits is not None
    words = buffer.capacity_bits // 8 * random.choice([1, 2, 3, 4])
    read = random.choice([4.0, 10.0, 30.0])
    second = memory("L2", words, read, read * random.choice([1.0, 2.0]))
    levels = (own.levels[0], second, *inside, own.levels[-1])
    return layer, Architecture("small", levels), objective

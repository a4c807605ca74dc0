"""Small machines with two memories above, between or below arrays."""

from random import Random

from tilewright.architecture.machine import Array, Memory


def two_memories(random: Random) -> list[Memory | Array]:
    """Return an outermost memory and two small ones, each of which keeps some tensors."""
    levels: list[Memory | Array] = [Memory("DRAM", 8, read_energy=32.0, write_energy=16.0)]
    for name in ("L1", "L0"):
        kept = random.choice(["IWO", "IWO", "IW", "O"])
        levels.append(
            Memory(
                name, 8, capacity_bits=8 * random.choice([3, 4, 5, 7]),
                read_energy=random.choice([1.0, 2.0, 8.0]),
                write_energy=random.choice([1.0, 4.0]), keep=frozenset(kept),
                must_keep=frozenset(random.choice(["", kept])),
            )
        )  # fmt: skip
    return levels


def small_array(name: str, random: Random) -> Array:
    """Return an array of two elements or three."""
    return Array(
        name, {"X": random.choice([2, 3])}, multicast=random.random() < 0.6,
        reduction=random.random() < 0.7, hop_energy=random.choice([0.0, 1.0]),
    )  # fmt: skip

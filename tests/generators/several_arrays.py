"""Small machines with two arrays."""

from tilewright.architecture.machine import Architecture, Array, Compute, Memory


def several_arrays(random):
    """Return a machine with two arrays and memories above, between and below them."""

    def memory(name, words, energy):
        return Memory(
            name, 16, capacity_bits=None if words is None else 16 * words,
            read_energy=energy, write_energy=energy * random.choice((1.0, 1.2)),
            read_bandwidth=random.choice((None, 2.0)), write_bandwidth=random.choice((None, 1.0)),
        )  # fmt: skip

    def array(name):
        return Array(
            name, {"X": random.choice((2, 3, 4))}, hop_energy=random.choice((0.0, 0.5)),
            multicast=random.random() < 0.8, reduction=random.random() < 0.8,
        )  # fmt: skip

    levels = [memory("DRAM", None, 100.0), memory("L2", random.choice((24, 60)), 8.0), array("A")]
    if random.random() < 0.7:
        levels.append(memory("L1", random.choice((8, 16)), 2.0))
    levels.append(array("B"))
    if random.random() < 0.7:
        levels.append(memory("RF", random.choice((2, 4)), 0.5))
    return Architecture("arrays", (*levels, Compute("MAC", energy=1.0)))

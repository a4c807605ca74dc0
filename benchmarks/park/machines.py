"""Machines that an architect could have drawn, by the dozen: each seed gives one.

The numbers follow published tables (Horowitz, ISSCC 2014; Yang et al., ASPLOS 2020): a word from
DRAM costs 50 to 200 pJ; 16 bits from 32 KiB of SRAM 1 to 9 pJ, and more with the square root of the
size; a word from registers 0.05 to 1 pJ.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import log2, prod, sqrt
from random import Random

from tilewright.architecture.constraints.constraint import Constraint
from tilewright.architecture.machine import Architecture, Array, Compute, Level, Memory
from tilewright.architecture.units import size_text

KIB = 8 * 1024  # bits
MOST_REGISTERS = KIB  # what is larger is a macro of SRAM
MOST_ELEMENTS = 65_536
WIDEST_ELEMENT = 32  # bits; a memory that must keep a tensor has room for a few elements
SCARCE, FAIR, AMPLE, UNLIMITED = "scarce", "fair", "ample", "unlimited"
PARTS = ((1, 2, 1), (1, 1, 2), (2, 1, 1), (1, 6, 1), (1, 13, 2))  # of inputs, weights, outputs
SPLITS = {
    2: ((("I", "W"), ("O",)), (("W",), ("I", "O")), (("I", "W"), ("O",)), (("W",), ("O",))),
    3: ((("I",), ("W",), ("O",)),),
}
NAMES = {
    frozenset("IW"): "SPAD", frozenset("O"): "ACC", frozenset("IO"): "ABUF",
    frozenset("W"): "WBUF", frozenset("I"): "IBUF",
}  # fmt: skip


@dataclass(frozen=True)
class Process:
    """What things cost in the technology of one machine, in pJ and mW.

    Attributes
    ----------
    word : int
        Bits of an operand.
    dram, sram, registers : float
        pJ per word: from DRAM, from 32 KiB of SRAM, from 64 B of registers.
    operation : float
        pJ per operation.
    leakage : float
        mW per KiB.
    supply : str
        How much bandwidth its memories have.
    """

    word: int
    dram: float
    sram: float
    registers: float
    operation: float
    leakage: float
    supply: str

    def energy(self, bits: int, word: int) -> float:
        """Return pJ per word of a memory of this size."""
        if bits <= MOST_REGISTERS:
            cost = self.registers * sqrt(bits / (KIB / 16))
            low, high = 0.05, 1.0
        else:
            cost = self.sram * sqrt(bits / (32 * KIB))
            low, high = 0.3, self.dram / 2
        return nice(min(max(cost * word / self.word, low), high))


def nice(value: float) -> float:
    """Return a number as people write it, with two digits."""
    return float(f"{value:.2g}")


def spread(rng: Random, low: float, high: float) -> float:
    """Return a number between two, each order of magnitude alike."""
    return nice(low * (high / low) ** rng.random())


def random_process(rng: Random) -> Process:
    """Return what things cost in some technology."""
    word = rng.choice((8, 8, 16, 16, 16, 32))
    return Process(
        word=word,
        dram=spread(rng, 50, 200),
        sram=spread(rng, 1, 9) * word / 16,
        registers=spread(rng, 0.05, 0.4) * word / 16,
        operation=spread(rng, 0.05, 0.4) * word / 8,
        leakage=spread(rng, 0.01, 0.05) if rng.random() < 0.2 else 0.0,
        supply=rng.choices((SCARCE, FAIR, AMPLE, UNLIMITED), (3, 5, 3, 1))[0],
    )


def random_machine(seed: int) -> Architecture:
    """Return a plausible machine: two to five memories, none to three arrays.

    Parameters
    ----------
    seed : int
        Equal seeds give equal machines.
    """
    rng = Random(f"machine {seed}")
    process = random_process(rng)
    memories = rng.choices((2, 3, 4, 5), (2, 4, 4, 3))[0]
    tiers = tuple(random_tiers(rng, memories - 1))
    arrays = random_arrays(rng, rng.choices((0, 1, 2, 3), (1, 4, 4, 3))[0])
    gaps = places(rng, arrays, len(tiers))
    units = prod(array.elements for array in arrays)
    levels: list[Level] = [dram(rng, process, units)]
    total = smallest = KIB * 2 ** rng.randint(6, 14)  # of the outermost buffers together
    instances = 1
    for number in range(len(tiers) + 1):
        if number:
            below, left = units // instances, len(tiers) - number
            own = left if below == 1 and units > 1 else -1
            bits = total if number == 1 else total // instances
            if number > 1 or instances > 1:
                bits = tier_bits(rng, process, total // instances, smallest, own)
            name = f"L{left + 1}" if len(tiers) > 1 else "GLB"
            if bits <= MOST_REGISTERS and not left:
                name = "RF"
            levels += tier(rng, process, tiers[number - 1], name, bits, below)
            smallest, total = bits, total >> rng.randint(0, 2)
        for array, gap in zip(arrays, gaps, strict=True):
            if gap == number:
                levels.append(array)
                instances *= array.elements
    leakage = nice(process.leakage / 10)
    cycles = rng.choices((1.0, 2.0, 4.0), (20, 1, 1))[0]
    levels.append(Compute("MAC", nice(process.operation), cycles, leakage))
    return Architecture(
        name=f"park-{seed}",
        levels=tuple(levels),
        clock_hz=rng.choice((2e8, 5e8, 7e8, 1e9, 1e9, 1e9, 1.5e9)),
        constraints=wiring(rng, arrays),
    )


def random_tiers(rng: Random, memories: int) -> Iterator[tuple[tuple[str, ...] | None, ...]]:
    """Yield, from outside to inside, what each memory of a tier keeps; None is everything."""
    while memories:
        apart = rng.choices((1, 2, 3), (10, 3, 1))[0]
        if apart > memories:
            continue
        memories -= apart
        yield rng.choice(SPLITS[apart]) if apart > 1 else (None,)


def random_arrays(rng: Random, number: int) -> tuple[Array, ...]:
    """Return arrays, the outermost first, with at most 65,536 elements together."""
    names = {0: (), 1: ("PE",), 2: ("Cluster", "PE"), 3: ("Core", "SubCore", "PE")}[number]
    while True:
        arrays = tuple(random_array(rng, name, innermost=name == "PE") for name in names)
        if prod(array.elements for array in arrays) <= MOST_ELEMENTS:
            return arrays


def places(rng: Random, arrays: Sequence[Array], tiers: int) -> list[int]:
    """Return the number of tiers above each array, in order.

    An array right below DRAM is a few channels or chiplets: rare.
    """
    gaps = sorted(rng.choices(range(1, tiers + 1), k=len(arrays)))
    if len(arrays) > 1 and arrays[0].elements <= 8 and rng.random() < 0.1:
        gaps[0] = 0
    return gaps


def random_array(rng: Random, name: str, *, innermost: bool) -> Array:
    """Return an array: rows and columns of elements, lanes, or a few clusters."""
    if innermost:
        side = rng.choice((4, 8, 8, 12, 14, 16, 16, 16, 24, 32, 64))
        other = rng.choice((side, side, 2 * side if side < 32 else side, 4))
        shape = rng.choices(((side, other), (side,), (4, 4, 4)), (8, 3, 1))[0]
    else:
        shape = rng.choice(((2,), (4,), (4,), (8,), (16,), (2, 2), (4, 2), (4, 4), (6,)))
    return Array(
        name,
        dict(zip("XYZ", shape, strict=False)),
        multicast=rng.random() > 0.12,
        reduction=rng.random() > 0.2,
        hop_energy=spread(rng, 0.02, 0.2) if rng.random() < 0.5 else 0.0,
        bandwidth=float(2 ** rng.randint(2, 8)) if rng.random() < 0.15 else None,
    )


def dram(rng: Random, process: Process, units: int) -> Memory:
    """Return the outermost memory."""
    name = rng.choice(("DRAM", "DDR4", "LPDDR4", "HBM2"))
    low, high = {
        SCARCE: (0.5, 4), FAIR: (4, 32), AMPLE: (32, 256), UNLIMITED: (64, 256)
    }[process.supply]  # fmt: skip
    if units < 32:
        low, high = low / 2, high / 8
    rate = None if process.supply == UNLIMITED else max(0.25, spread(rng, low, high))
    return Memory(
        name,
        process.word,
        read_energy=process.dram,
        write_energy=process.dram,
        shared_bandwidth=rate,
        leakage=100.0 if process.leakage and rng.random() < 0.5 else 0.0,
    )


def tier_bits(rng: Random, process: Process, share: int, outer: int, left: int) -> int:
    """Return the size of a memory: a share of all that there is, less than those around it.

    Parameters
    ----------
    share : int
        Bits for each instance, if all of them are as large as the tier above.
    outer : int
        Bits of the memory above it.
    left : int
        Tiers below it when it belongs to one element alone: registers then; -1 otherwise.
    """
    bits = min(share, outer >> rng.randint(1, 4))
    if left >= 0:
        bits = min(bits, 8 * 2 ** (rng.randint(1, 9) if left == 0 else rng.randint(6, 11)))
    bits = 1 << max(int(log2(max(bits, 1))), 4)
    if bits >= KIB and rng.random() < 0.15:
        bits = bits * 3 // 4
    return max(bits, 2 * process.word)


def tier(
    rng: Random,
    process: Process,
    kept: Sequence[tuple[str, ...] | None],
    name: str,
    bits: int,
    units: int,
) -> Iterator[Memory]:
    """Yield the memories of a tier: one that all tensors share, or one for each set of them."""
    double = bits > MOST_REGISTERS and rng.random() < 0.25
    for roles in kept:
        apart = roles is not None
        own = max(bits >> (1 if apart and len(kept) > 1 else 0), 2 * process.word)
        word = process.word
        if roles == ("O",):  # accumulators are wide
            word = min(32, rng.choice((word, 2 * word, 4 * word)))
            own = max(own if bits > MOST_REGISTERS else bits, word)
        parts = None
        if not apart and bits <= 64 * KIB and rng.random() < 0.15:
            parts = partition(rng, own, process.word)
        buffering = 2 if double else 1
        accessed = max(parts.values()) if parts else own
        energy = process.energy(accessed, word)
        yield Memory(
            f"{name}-{NAMES[frozenset(roles)]}" if roles else name,
            word,
            capacity_bits=sum(parts.values()) if parts else own,
            tensor_bits=parts,
            read_energy=energy,
            write_energy=nice(energy * rng.choice((1, 1, 1, 1.1, 1.5))),
            buffering=buffering,
            keep=frozenset(roles) if roles else pass_by(rng, bits, parts),
            must_keep=demanded(rng, roles, own, buffering, parts),
            leakage=nice(process.leakage * own / KIB),
            **rates(rng, process, units, registers=own <= MOST_REGISTERS),
        )


def partition(rng: Random, bits: int, word: int) -> dict[str, int]:
    """Return a part of a memory for each tensor, whole words of it."""
    shares = rng.choice(PARTS)
    words = [max(4, share * bits // (sum(shares) * word)) for share in shares]
    return {role: count * word for role, count in zip("IWO", words, strict=True)}


def pass_by(rng: Random, bits: int, parts: dict[str, int] | None) -> frozenset[str] | None:
    """Return what a shared buffer keeps where something passes it by; mostly None: anything."""
    if parts or bits <= MOST_REGISTERS or rng.random() > 0.1:
        return None
    return frozenset(rng.choice(("IO", "IW", "WO")))


def demanded(
    rng: Random,
    roles: tuple[str, ...] | None,
    bits: int,
    buffering: int,
    parts: dict[str, int] | None,
) -> frozenset[str]:
    """Return what a memory must keep: nothing, but in some machines."""
    if parts or bits < 3 * WIDEST_ELEMENT * buffering or rng.random() > 0.15:
        return frozenset()
    if roles is not None:
        return frozenset(roles)
    return frozenset()


def rates(rng: Random, process: Process, units: int, *, registers: bool) -> dict[str, float]:
    """Return the bandwidths of a memory above so many compute units, in words per cycle."""
    if process.supply == UNLIMITED or rng.random() < (0.7 if registers else 0.1):
        return {}
    edge = 2 * sqrt(units)  # rows and columns of an array
    share = {SCARCE: (0.1, 0.5), FAIR: (0.5, 2), AMPLE: (2, sqrt(units) + 2)}[process.supply]
    rate = max(1.0, float(2 ** round(log2(edge * spread(rng, *share)))))
    if rng.random() < 0.6:
        return {"shared_bandwidth": rate}
    return {"read_bandwidth": rate, "write_bandwidth": max(1.0, rate / rng.choice((1, 2)))}


def wiring(rng: Random, arrays: Sequence[Array]) -> tuple[Constraint, ...]:
    """Return what simple networks demand: an axis advances along one dimension."""
    if rng.random() > 0.1:
        return ()
    return tuple(
        Constraint(array.name, axis, max_dims=1) for array in arrays for axis in array.axes
    )


def chain(machine: Architecture) -> str:
    """Return the levels of a machine in a line."""
    return " > ".join(described(level) for level in machine.levels)


def described(level: Level) -> str:
    """Return the name of a level with its size."""
    if isinstance(level, Array):
        return f"{level.name} {'x'.join(map(str, level.axes.values()))}"
    if isinstance(level, Memory) and level.total_bits is not None:
        return f"{level.name} {size_text(level.total_bits)}"
    return level.name

"""Millions of machines a second for one mapping style: MAESTRO's case study II.

A style says where every loop stands, so that its counts depend on the number of elements alone.
They are taken from the model, once for each number; sizes, bandwidths, area and power of all
combinations follow in closed form.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import ceil
from time import process_time
from typing import TYPE_CHECKING

import numpy as np

from tilewright.api.cost import evaluate
from tilewright.api.inputs import ArchitectureLike, the_architecture
from tilewright.architecture.machine import Architecture, Array, Level, Memory
from tilewright.architecture.technology.components import ComponentTable, load_components
from tilewright.errors import InputError, TilewrightError
from tilewright.kernels.kernel import leaf, leaf_kernel
from tilewright.kernels.types import Floats, Ints
from tilewright.workload.layer import Layer

if TYPE_CHECKING:
    from tilewright.model.results.result import Evaluation

SLOW = 2.0**-20  # words per cycle at which only the network counts
UM2_PER_MM2 = 1e6
GOALS = ("throughput", "energy", "edp")


@dataclass(frozen=True)
class FixedDesign:
    """A machine, and what a style costs on it.

    Attributes
    ----------
    elements : int
    inner_bytes, outer_bytes : int
        Sizes of the memory of an element, and of the one that all share.
    bandwidth : float
        Words per cycle between them.
    cycles, energy : float
        Energy in the unit of the machine.
    area_mm2, power_mw : float
    """

    elements: int
    inner_bytes: int
    outer_bytes: int
    bandwidth: float
    cycles: float
    energy: float
    area_mm2: float
    power_mw: float


@dataclass(frozen=True)
class FixedStyle:
    """What became of all machines.

    Attributes
    ----------
    style : str
    operations : int
        Of the layer.
    designs, valid : int
        Combinations; those that hold the tiles and are within the limits.
    computed : int
        Those whose time, area and power were computed one by one. Of the others, a memory does
        not hold the tiles, or the memories and elements alone are beyond a limit.
    seconds : float
        CPU time of the sweep.
    best : mapping of str to FixedDesign
        For each of `GOALS`, the best valid design, of equals the one of least area; none without
        valid designs.
    by_bandwidth : array of bandwidths
        Fewest cycles of the valid designs with each bandwidth; infinite without any.
    by_buffer : array of (inner sizes, outer sizes)
        Fewest cycles of the valid designs with memories of each size.
    """

    style: str
    operations: int
    designs: int
    valid: int
    computed: int
    seconds: float
    best: dict[str, FixedDesign]
    by_bandwidth: Floats
    by_buffer: Floats


def explore_style(
    layer: Layer,
    machine: ArchitectureLike,
    style: str,
    *,
    elements: Sequence[int],
    inner_bytes: Sequence[int],
    outer_bytes: Sequence[int],
    bandwidths: Sequence[float],
    components: str = "maestro-28nm",
    area_mm2: float = 16.0,
    power_mw: float = 450.0,
) -> FixedStyle:
    """Find the best machines for one layer in one mapping style.

    Parameters
    ----------
    layer : Layer
    machine : str, path or Architecture
        One memory, an array with a limit of bandwidth, and one memory below it. Energies per word
        do not depend on sizes.
    style : str
        A style that ships, or directives; see ``tilewright styles``.
    elements, inner_bytes, outer_bytes, bandwidths : sequence of numbers
        What is combined: elements of the array, bytes of the memory below and above it, and words
        per cycle of its network.
    components : str
        Table of areas and powers (H. Kwon et al., IEEE Micro 40(3), 2020, case study II).
    area_mm2, power_mw : float
        Limits.

    Raises
    ------
    InputError
        When the machine has other levels, or the style fits none of the numbers of elements.
    """
    given = the_architecture(machine)
    if len(given.memories) != 2 or len(given.arrays) != 1:
        raise InputError(
            f"a fixed style is explored on a memory, an array and a memory; '{given.name}' has "
            f"{len(given.memories)} memories and {len(given.arrays)} arrays",
            key="architecture",
        )
    table = load_components(components)
    rows, failure = [], ""
    for count in elements:
        try:
            rows.append(_row(layer, given, style, count, table))
        except TilewrightError as why:
            failure = str(why)
    if not rows:
        raise InputError(f"style '{style}' runs on none of these arrays: {failure}", key="style")
    inner = np.array(sorted(inner_bytes), np.float64)
    outer = np.array(sorted(outer_bytes), np.float64)
    rates = np.array(sorted(bandwidths), np.float64)
    counts = np.zeros(2, np.int64)
    best = np.full((len(GOALS), 10), np.inf)
    by_bandwidth = np.full(len(rates), np.inf)
    by_buffer = np.full((len(inner), len(outer)), np.inf)
    args = (
        np.array(rows), inner, outer, rates, table.memory.area_um2 / UM2_PER_MM2,
        table.memory.power_mw, area_mm2, power_mw,
    )  # fmt: skip
    none = (counts[:0], best[:0], by_bandwidth, by_buffer)
    sweep(np.zeros((0, 10)), *args[1:], *none)  # compiles
    start = process_time()
    sweep(*args, counts, best, by_bandwidth, by_buffer)
    seconds = process_time() - start
    designs = len(elements) * len(inner) * len(outer) * len(rates)
    found = {
        goal: FixedDesign(
            int(row[2]), int(row[3]), int(row[4]), float(row[5]), *map(float, row[6:10])
        )
        for goal, row in zip(GOALS, best, strict=True)
        if row[0] < np.inf
    }
    return FixedStyle(
        style=style,
        operations=layer.operations,
        designs=designs,
        valid=int(counts[1]),
        computed=int(counts[0]),
        seconds=seconds,
        best=found,
        by_bandwidth=by_bandwidth,
        by_buffer=by_buffer,
    )


def with_elements(machine: Architecture, elements: int, bandwidth: float | None) -> Architecture:
    """Return a machine with another array, and memories without limits."""
    levels: list[Level] = []
    for level in machine.levels:
        if isinstance(level, Array):
            levels.append(replace(level, axes={"X": elements}, bandwidth=bandwidth))
        elif isinstance(level, Memory):
            levels.append(replace(level, capacity_bits=None, tensor_bits=None))
        else:
            levels.append(level)
    return replace(machine, levels=tuple(levels))


def _row(
    layer: Layer, machine: Architecture, style: str, elements: int, table: ComponentTable
) -> list[float]:
    """Return what all machines of so many elements have in common, see `sweep`."""
    free = evaluate(layer, with_elements(machine, elements, None), style)
    slow = evaluate(layer, with_elements(machine, elements, SLOW), style)
    above, below = (memory.name for memory in machine.memories)
    inner, outer = inner_bytes_of(free, below), outer_bytes_of(free, above, below)
    arbiter = table.arbiter.scale(elements)
    bus = table.bus.scale(elements)
    fixed_area = elements * table.mac.area_um2 + arbiter * table.arbiter.area_um2
    return [
        float(elements), inner, outer, float(free.cycles), float(slow.cycles) * SLOW,
        free.energy_pj, fixed_area / UM2_PER_MM2, bus * table.bus.area_um2 / UM2_PER_MM2,
        elements * table.mac.power_mw + arbiter * table.arbiter.power_mw,
        bus * table.bus.power_mw,
    ]  # fmt: skip


def inner_bytes_of(found: Evaluation, memory: str) -> float:
    """Return the bytes that a mapping needs of the memory of an element."""
    return float(-(-found.memories[memory].occupied_bits // 8))


def outer_bytes_of(found: Evaluation, outer: str, inner: str) -> float:
    """Return the bytes of all words that the elements hold at once, each counted once, twice over.

    Twice, as what comes next waits beside them (buffers of two tiles, as in the publication). How
    many elements share a word is how many copies arrive of each that is sent.
    """
    used = found.memories[inner].instances_used
    bits = 0.0
    for tensor in found.layer.tensors:
        own, above = found.memories[inner].tensors[tensor.name], found.memories[outer].tensors
        sent, arrive = above[tensor.name].reads, own.writes
        if tensor.is_output:
            sent, arrive = _collected(found, tensor.name)
        word = tensor.bits or found.architecture.memories[0].word_bits
        bits += own.peak * used * word * (sent / arrive if arrive else 1.0)
    return float(ceil(2 * bits / 8 - 1e-9))


def _collected(found: Evaluation, tensor: str) -> tuple[int, int]:
    """Return the words of an output that leave all arrays, and those that leave elements."""
    networks = list(found.networks.values())
    return networks[0].words[tensor], networks[-1].hops[tensor]


@leaf
def better(row: Floats, value: float, area: float) -> bool:
    """Whether a design is better than the one of a row, or as good and smaller."""
    return bool(value < row[0]) or (value == row[0] and area < row[1])


@leaf
def enter(
    row: Floats,
    value: float,
    elements: float,
    inner: float,
    outer: float,
    rate: float,
    cycles: float,
    energy: float,
    area: float,
    power: float,
) -> None:
    """Put a design into a row."""
    row[0], row[1], row[2], row[3], row[4] = value, area, elements, inner, outer
    row[5], row[6], row[7], row[8], row[9] = rate, cycles, energy, area, power


@leaf_kernel
def sweep(
    rows: Floats,
    inner: Floats,
    outer: Floats,
    rates: Floats,
    byte_area: float,
    byte_power: float,
    most_area: float,
    most_power: float,
    counts: Ints,
    best: Floats,
    by_bandwidth: Floats,
    by_buffer: Floats,
) -> None:
    """Compute every combination, and keep the best ones.

    Parameters
    ----------
    rows : array of (numbers of elements, 10)
        Elements; bytes of the inner and the outer memory that the tiles take; cycles of the
        elements; cycles of the network at one word per cycle; energy; area without memories and
        bus; area of the bus per word and cycle; power without memories and bus; power of the bus
        per word and cycle.
    counts : array of 2
        Takes the designs that are computed one by one, and the valid ones.
    """
    for k in range(len(rows)):
        elements, steps, words, energy = rows[k, 0], rows[k, 3], rows[k, 4], rows[k, 5]
        for i in range(len(inner)):
            if inner[i] < rows[k, 1]:
                continue
            for o in range(len(outer)):
                if outer[o] < rows[k, 2]:
                    continue
                size = elements * inner[i] + outer[o]
                area_here = rows[k, 6] + size * byte_area
                power_here = rows[k, 8] + size * byte_power
                if area_here > most_area or power_here > most_power:
                    continue
                for r in range(len(rates)):
                    counts[0] += 1
                    area = area_here + rates[r] * rows[k, 7]
                    power = power_here + rates[r] * rows[k, 9]
                    if area > most_area or power > most_power:
                        continue
                    counts[1] += 1
                    cycles = max(steps, words / rates[r])
                    by_bandwidth[r] = min(by_bandwidth[r], cycles)
                    by_buffer[i, o] = min(by_buffer[i, o], cycles)
                    for goal in range(3):
                        value = cycles if goal == 0 else energy * (1.0 if goal == 1 else cycles)
                        if better(best[goal], value, area):
                            enter(
                                best[goal], value, elements, inner[i], outer[o], rates[r], cycles,
                                energy, area, power,
                            )  # fmt: skip

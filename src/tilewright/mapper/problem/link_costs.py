"""What one bypass choice of a layer and a machine costs, as plain arrays for the kernels."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from tilewright.architecture.machine import Architecture, Array, Memory
from tilewright.kernels.record import record
from tilewright.kernels.types import Bools, Floats, Ints
from tilewright.mapper.problem.bypass_choices import KeepChoice
from tilewright.mapper.problem.space import Space
from tilewright.mapper.problem.tensor_costs import Chain, Port, chain_costs
from tilewright.model.energy import leakage_per_cycle
from tilewright.workload.layer import Layer

if TYPE_CHECKING:
    from tilewright.kernels.types import Floats, Ints


@record
class Reach(NamedTuple):
    """Operations per word and iteration of the irrelevant dimensions, by what a memory has left.

    Attributes
    ----------
    rows : array of (choices, tensors, 2)
        For each spatial choice the row of what every instance receives, and of what is sent to all
        instances together; -1 where nothing is known.
    corner : array of (windows, shapes)
        Position of a shape's extents in the window among all such extents.
    begin : array of (rows, corners + 1)
        Where the steps of a row begin.
    bits, reuse : arrays of steps
        Bits of the tile, and its reuse, both in ascending order.
    """

    rows: Ints
    corner: Ints
    begin: Ints
    bits: Floats
    reuse: Floats


COMPARED = 200  # labels that a new one is compared with; to miss a dominance costs time alone

NOTHING_KNOWN = Reach(
    np.full((0, 0, 0), -1, np.int64),
    np.zeros((0, 0), np.int64),
    np.zeros((0, 0), np.int64),
    np.zeros(0),
    np.zeros(0),
)


@record
class Links(NamedTuple):
    """What one bypass choice costs (plain arrays for the kernels).

    Link l of a tensor runs from its l-th memory to the next one, the last link to the compute
    unit. T_j are its words with the first j arrays between its ends summed and the rest united.

    Attributes
    ----------
    length : array of tensors
        Number of links.
    first : array of (segments + 1, tensors)
        Memory links that end above each segment.
    arrays : array of (tensors, links, 2)
        First array that the link crosses, and one past the last.
    unites : array of (arrays, tensors)
        Whether an array unites words of the tensor (multicast, or reduction for the output).
    energy : array of (tensors, links, cuts)
        pJ per word of T_j.
    again : array of (tensors, links)
        pJ per refetched word, T_0 minus the partial sums that start from zero.
    fresh : array of (tensors, links)
        1 when the receiver starts every entry from zero (no spatial reduction), else 0.
    capacity : array of memories
        Bits, infinite when unbounded or partitioned.
    bits : array of (tensors, links)
        Bits that one word of a tile takes at the receiving memory, buffering included; -1 at
        the compute unit.
    share : array of (tensors, links)
        Bits that the tensor may take there at most.
    memory : array of (tensors, links)
        Position of the receiving memory.
    most : array of (tensors, links)
        Most operations that a word of a sliding tensor serves there per iteration of the
        dimensions irrelevant to it, see `slides.option_reuse`; 0 where not known.
    slot : array of (tensors, links)
        Position of the receiving memory among those between the same arrays.
    ahead : Reach
        The same for a sliding tensor whose link crosses one array, from every shape on.
    load : array of (resources, tensors, links, cuts)
        Cycles of a bandwidth-limited port per word of T_j, over all instances.
    held : array of (resources, tensors, links)
        Cycles per output word that are not spent where its partial sum starts from zero.
    load_arrays : array of resources
        Arrays above the port.
    rate : array of (choices, tensors)
        pJ per word delivered by the link that crosses an array, for each of its spatial choices.
    besides : array of choices
        pJ of that link and those further in that are known besides, see `spatial_choices`.
    cycles_of : array of choices
        Cycles that mappings with a spatial choice take at least, see `spatial_choices`.
    fewest_cycles : float
        Cycles that all take at least.
    least : array of (arrays, tensors)
        Least pJ of such a link per word that its sender reads.
    matters : array of choices
        Whether mappings that matter may have a spatial choice.
    table : array of (arrays, shapes, 2 x tensors + 1)
        Lower bound of the links that cross an array, see `tables.inner_table`.
    rest_slope, rest_base : arrays of (arrays, tensors)
        Lower bound of the links inside it: slope x words + base.
    cycles : float
        Cycles per operation.
    leakage : float
        pJ per cycle.
    filling : array of (segments, stages, slots)
        Whether a memory has to be used by more bits than some labels may use, see `limits`.
    reach : bool
        Whether any mapping will do, so that labels that can be completed alike are one.
    ordered : bool
        Whether some store nodes have to wait for others, see `restricted.reordered`.
    compared : int
        Labels that a new one is compared with, see `dominance.insert`.
    """

    length: Ints
    first: Ints
    arrays: Ints
    unites: Bools
    energy: Floats
    again: Floats
    fresh: Ints
    capacity: Floats
    bits: Floats
    share: Floats
    memory: Ints
    most: Floats
    slot: Ints
    ahead: Reach
    load: Floats
    held: Floats
    load_arrays: Ints
    rate: Floats
    besides: Floats
    cycles_of: Floats
    fewest_cycles: float
    least: Floats
    matters: Bools
    table: Floats
    rest_slope: Floats
    rest_base: Floats
    cycles: float
    leakage: float
    filling: Bools
    reach: bool
    ordered: bool
    compared: int


Stored = tuple[int, tuple[int, ...]]
"""Position of a tensor, and the memories that it is stored in."""


def segment_of(architecture: Architecture) -> list[int]:
    """Return for each memory how many arrays stand above it."""
    result = []
    arrays = 0
    for level in architecture.levels:
        if isinstance(level, Array):
            arrays += 1
        elif isinstance(level, Memory):
            result.append(arrays)
    return result


def ports(architecture: Architecture) -> list[Port]:
    """Return the bandwidth limits.

    Each is (kind of level, level, "read", "write" or "both", words per cycle, arrays above).
    """
    found: list[Port] = []
    arrays = 0
    for level in architecture.levels:
        if isinstance(level, Array):
            if level.bandwidth is not None:
                found.append(("array", level, "both", level.bandwidth, arrays))
            arrays += 1
        elif isinstance(level, Memory):
            for kind, limit in (
                ("read", level.read_bandwidth),
                ("write", level.write_bandwidth),
                ("both", level.shared_bandwidth),
            ):
                if limit is not None:
                    found.append(("memory", level, kind, limit, arrays))
    return found


def chains_of(
    layer: Layer,
    architecture: Architecture,
    stored: Sequence[Stored],
    sp: Space,
    known: dict[Stored, Chain],
) -> list[Chain]:
    """Return the costs of single tensors; what is `known` of them grows."""
    segment, limits = segment_of(architecture), ports(architecture)
    for t, chain in stored:
        if (t, chain) not in known:
            known[t, chain] = chain_costs(layer, architecture, t, chain, sp, segment, limits)
    return [known[each] for each in stored]


@lru_cache(maxsize=1)
def no_table(arrays: int, shapes: int, columns: int) -> Floats:
    """Return a table of zeros, which nobody writes to: thousands of bypass choices share it."""
    return np.zeros((arrays, shapes, columns))


def links(
    layer: Layer,
    architecture: Architecture,
    keep: KeepChoice,
    sp: Space,
    known: dict[Stored, Chain],
) -> Links:
    """Return the costs of one bypass choice; what is `known` of single tensors grows."""
    limits = ports(architecture)
    chains = chains_of(layer, architecture, list(enumerate(keep)), sp, known)

    def stacked(name: str, axis: int = 0) -> Any:
        parts = np.array([getattr(chain, name) for chain in chains])
        return np.ascontiguousarray(parts.swapaxes(0, axis))  # np.stack takes five times as long

    return Links(
        length=stacked("length"),
        first=stacked("first", 1),
        arrays=stacked("arrays"),
        unites=stacked("unites", 1),
        energy=stacked("energy"),
        again=stacked("again"),
        fresh=stacked("fresh"),
        capacity=np.array(
            [np.inf if m.capacity_bits is None else m.capacity_bits for m in architecture.memories],
            np.float64,
        ),
        bits=stacked("bits"),
        share=stacked("share"),
        memory=stacked("memory"),
        most=np.zeros((len(keep), len(architecture.memories))),
        slot=stacked("slot"),
        ahead=NOTHING_KNOWN,
        load=stacked("load", 1),
        held=stacked("held", 1),
        load_arrays=np.array([limit[4] for limit in limits], np.int64),
        rate=stacked("rate", 1),
        besides=np.zeros(len(sp.unroll)),
        cycles_of=np.zeros(len(sp.unroll)),
        fewest_cycles=0.0,
        least=stacked("least", 1),
        matters=np.ones(len(sp.unroll), np.bool_),
        table=no_table(len(architecture.arrays), len(sp.repeats), 2 * len(keep) + 1),
        rest_slope=stacked("rest_slope", 1),
        rest_base=stacked("rest_base", 1),
        cycles=float(architecture.compute.cycles),
        leakage=leakage_per_cycle(architecture),
        filling=np.zeros((0, 0, 0), np.bool_),
        reach=False,
        ordered=False,
        compared=COMPARED,
    )

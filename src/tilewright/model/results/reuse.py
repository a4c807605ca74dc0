"""Reuse factors: how often a word is used per move, in time and in space.

The four kinds are those of Table 1 of H. Kwon et al., "MAESTRO: A Data-Centric Approach to
Understand Reuse, Performance, and Hardware Cost of DNN Mappings", IEEE Micro 40(3), 2020: multicast
of inputs and reduction of outputs, each in space (by a network) or in time (by a memory).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from tilewright.architecture.machine import Architecture
from tilewright.counts import Counts
from tilewright.mapping.structure import Link
from tilewright.workload.layer import Tensor

Kind = Literal["spatial multicast", "temporal multicast", "spatial reduction", "temporal reduction"]


@dataclass(frozen=True)
class Reuse:
    """How often a level uses what it is sent once.

    Attributes
    ----------
    level : str
        An array (in space) or a memory (in time).
    tensor : str
    kind : str
        ``"spatial multicast"``: elements that receive a word that is sent once;
        ``"temporal multicast"``: reads of a word while it stays;
        ``"spatial reduction"``: partial sums of elements that are added to one on their way;
        ``"temporal reduction"``: updates of a partial sum while it stays.
    factor : float
        On average; 1 is no reuse.
    """

    level: str
    tensor: str
    kind: Kind
    factor: float


def reuse_factors(
    tensor: Tensor, links: tuple[Link, ...], counts: Counts, architecture: Architecture
) -> list[Reuse]:
    """Return the reuse of a tensor at every level on its way, outermost first.

    The product of the factors is the number of operations per word that the outermost memory sends
    (or, for the output, receives).
    """
    multicast = not tensor.is_output
    space: Kind = "spatial multicast" if multicast else "spatial reduction"
    time: Kind = "temporal multicast" if multicast else "temporal reduction"
    found: list[Reuse] = []
    arrived = 0
    returned = 0  # partial sums that came back to the parent from above
    for i, link in enumerate(links):
        own = counts.memories[link.parent][tensor.name]
        sent = own.reads if multicast else own.writes - returned
        if i:
            found.append(Reuse(link.parent, tensor.name, time, ratio(sent, arrived)))
        partial = 0 if multicast else own.reads - (arrived if i else 0)
        reduces = all(array.reduction for array in link.arrays)
        last = link.child == architecture.compute.name
        returned = partial if reduces and not last else 0
        arrived = sent
        for array in link.arrays:
            carried = counts.networks[array.name][tensor.name]
            arrived = carried.hops - returned
            found.append(
                Reuse(array.name, tensor.name, space, ratio(arrived, carried.words - returned))
            )
        if last and not link.arrays:
            arrived = counts.operations
    return found


def ratio(uses: int, words: int) -> float:
    """Return uses per word; 1 where there are none of either."""
    return uses / words if words else 1.0

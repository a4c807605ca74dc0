"""Bounds of boxes that take no search: numbers of machines times words of layers."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from tilewright.architecture.machine import Architecture
from tilewright.exploration.bounds.corners import MARGIN
from tilewright.exploration.bounds.layer_words import Moved, words_of
from tilewright.exploration.bounds.least_costs import least_costs
from tilewright.exploration.bounds.nested.mapping import mappings_of
from tilewright.exploration.bounds.totals import Corners
from tilewright.exploration.bounds.words import Costs, Scratch, scratch_for
from tilewright.exploration.designs.numbers import NoNumbersError, Numbers, Row
from tilewright.exploration.designs.space import Space
from tilewright.kernels.types import Floats
from tilewright.mapping.nodes import Mapping
from tilewright.workload.layer import Layer

MOST_CORNERS = 48
NONE = np.zeros(3)
EVERY = 2  # layers between two looks at whether it is enough


class Solved(NamedTuple):
    """What a layer costs at least on machines that are no better than one that was solved.

    Attributes
    ----------
    row : Row
        The numbers of that machine.
    least : array of 3
        Its least energy (pJ), cycles, or product of both; 0 for what was not asked.
    """

    row: Row
    least: Floats


class QuickBounds:
    """What layers cost at least on the machines of a box.

    Parameters
    ----------
    space : Space
    layers : sequence of Layer
    energy : bool
        Whether bounds of the energy alone have to be tight.

    Raises
    ------
    NoNumbersError
        When designs differ in more than numbers.
    """

    def __init__(self, space: Space, layers: Sequence[Layer], energy: bool) -> None:
        self.numbers = Numbers(space)
        known: dict[Layer, Moved | None] = {}
        sizes = self.numbers.sizes()
        self._words: list[tuple[Moved, Scratch] | None] = []
        for layer in layers:
            if layer not in known:
                known[layer] = words_of(layer, self.numbers.machine, self.numbers.ports, sizes)
            moved = known[layer]
            self._words.append(None if moved is None else (moved, scratch_for(moved.words)))
        if not any(self._words):
            raise NoNumbersError
        # layers whose bounds are known without a search, and by one on a better machine
        self.bounded = [own is not None for own in self._words]
        # and those whose bounds mostly equal optima: tiles contain others in all bypass choices
        self.close = [
            own is not None and bool((own[0].nested.below >= 0).all()) for own in self._words
        ]
        self._energy = energy
        self._layers = [replace(layer, repeat=1) for layer in layers]
        # what takes most is looked at first
        self._order = sorted(
            range(len(layers)), key=lambda i: -layers[i].repeat * layers[i].operations
        )

    def floors(
        self,
        row: Row,
        enough: Callable[[Floats], bool],
        solved: Sequence[Solved | None] | None = None,
        *,
        energy: bool = False,
        above: Floats | None = None,
    ) -> tuple[Floats, Corners | None]:
        """Return least energy (pJ), time (s) and product of both of each layer.

        Parameters
        ----------
        enough : callable
            Told what is known so far, every few layers; whether the others may be left out.
        solved : sequence of Solved or None, optional
            Of each layer, on a machine that is at least as good as those of the row.
        energy : bool
            Whether bounds of the energy have to be tight now.
        above : array of (layers, 3), optional
            Bounds of machines that are at least as good.

        Returns
        -------
        array of (layers, 3), Corners or None
            Infinite where a layer has no mapping. Corners unless it was enough before.
        """
        found = np.zeros((len(self._words), 3)) if above is None else above.copy()
        own = np.zeros(3)
        corners = Corners(
            np.zeros((len(self._words), MOST_CORNERS, 3)),
            np.zeros(len(self._words), np.int64),
            np.zeros(len(self._words)),
        )
        costs = _costs(row)
        scale = np.array([1.0, 1.0 / row.clock_hz, 1.0 / row.clock_hz])
        for n, i in enumerate(self._order):
            words = self._words[i]
            if words is None:
                continue
            moved, scratch = words
            triples = corners.triples[i]
            least, more = _more(row, costs, None if solved is None else solved[i])
            filled = least_costs(
                *moved, costs, more, least, self._energy or energy, scratch, own, triples
            )
            found[i] = np.maximum(found[i], own * scale)
            triples *= scale
            corners.filled[i] = max(filled, 0)
            corners.others[i] = own[2] * scale[2] * (MARGIN if filled >= 0 else 1.0)
            if n % EVERY == EVERY - 1 and enough(found):
                return found, None
        return found, corners

    def mappings(self, row: Row, layer: int, machine: Architecture) -> Iterator[Mapping]:
        """Return mappings that may cost what `floors` has just found to be the least product."""
        own = self._words[layer]
        if own is not None:
            moved, scratch = own
            yield from mappings_of(moved, scratch, self._layers[layer], machine)


def _costs(row: Row) -> Costs:
    """Return the numbers of a row that bounds rest on."""
    return Costs(
        capacity=row.capacity, read=row.read, write=row.write, rates=row.rates, hops=row.hops,
        extents=row.extents, cycles=row.cycles, energy=row.energy, leakage=row.leakage,
    )  # fmt: skip


def _more(row: Row, costs: Costs, solved: Solved | None) -> tuple[Floats, Costs]:
    """Return what is known of a better machine, and how much higher energies are than there."""
    if solved is not None:
        a = solved.row
        more = costs._replace(
            read=row.read - a.read, write=row.write - a.write, hops=row.hops - a.hops,
            energy=row.energy - a.energy, leakage=row.leakage - a.leakage,
        )  # fmt: skip
        parts = (each.min(initial=0.0) for each in (more.read, more.write, more.hops))
        if min(more.energy, more.leakage, *parts) >= 0.0:
            return solved.least, more
    return NONE, costs

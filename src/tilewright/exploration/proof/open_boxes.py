"""The boxes that are not decided yet, and which of them comes next."""

from __future__ import annotations

from collections.abc import Iterator
from heapq import heappop, heappush
from typing import NamedTuple

from tilewright.exploration.designs.space import Box
from tilewright.exploration.proof.tightening import Known
from tilewright.kernels.types import Floats

DIVES = 0.3  # share of boxes that are looked at in dives, see `OpenBoxes.next`

Bound = dict[str, float]


class Item(NamedTuple):
    """A box, in the order of bounds.

    Attributes
    ----------
    order : float
        Product of what is known on all axes.
    number : int
        Of two that are alike, the older one comes first.
    box : Box
    bound : mapping of str to float
        What its designs have at least.
    bounded : bool
        Whether that is its own bound, not that of a larger box.
    floors : array of (layers, 3)
        Least energy (pJ), time (s) and product of each layer.
    solved : tuple of Solved or None
        What is known of each layer on a better machine.
    """

    order: float
    number: int
    box: Box
    bound: Bound
    bounded: bool
    floors: Floats
    solved: Known


class OpenBoxes:
    """A queue in the order of bounds, and the dive that is going on.

    Dives find designs that close many boxes, long before boxes of small bounds are cut into
    designs.

    Parameters
    ----------
    axes : tuple of str
        What is minimised.
    dives : bool
        Whether there are dives.
    """

    def __init__(self, axes: tuple[str, ...], *, dives: bool) -> None:
        self._axes, self._dives = axes, dives
        self._heap: list[Item] = []
        self._dive: list[Item] = []  # what the last box was cut into
        self._looked = self._dived = self._pushed = 0
        self.designs = 0  # in all of them
        self.diving = False

    def __len__(self) -> int:
        return len(self._heap) + len(self._dive)

    def __iter__(self) -> Iterator[Item]:
        return iter((*self._heap, *self._dive))

    def next(self) -> Item:
        """Take the next box: that of the least bound, or in a dive the better half of the last."""
        self._looked += 1
        if self._dive:
            item = self._next_of_dive()
        else:
            self.diving = self._dives and self._dived <= self._looked * DIVES
            item = heappop(self._heap)
        self.designs -= item.box.designs
        return item

    def _next_of_dive(self) -> Item:
        self._dived += 1
        rough = [item for item in self._dive if not item.bounded]
        item = min(rough or self._dive, key=lambda each: each[:2])
        self._dive.remove(item)
        if not rough:
            for each in self._dive:
                heappush(self._heap, each)
            self._dive = []
        return item

    def push(
        self, box: Box, bound: Bound, floors: Floats, solved: Known, *, bounded: bool = False
    ) -> None:
        """Open a box."""
        order = 1.0
        for axis in self._axes:
            order *= bound.get(axis, 0.0)
        self._pushed += 1
        self.designs += box.designs
        item = Item(
            order=order, number=self._pushed, box=box, bound=bound, bounded=bounded,
            floors=floors, solved=solved,
        )  # fmt: skip
        if self.diving:
            self._dive.append(item)
        else:
            heappush(self._heap, item)

    def put_back(self, item: Item) -> None:
        """Open a box again that was taken and not decided, and end the dive."""
        self.designs += item.box.designs
        for each in (item, *self._dive):
            heappush(self._heap, each)
        self._dive = []

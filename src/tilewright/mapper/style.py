"""Styles: what a machine that maps every layer alike unrolls on each axis, and what stays put."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product

from tilewright.architecture.constraints import Constraint
from tilewright.architecture.machine import Architecture
from tilewright.mapper.dataflow import Dataflow
from tilewright.mapping.constraints import under
from tilewright.mapping.names import role_names
from tilewright.mapping.relevance import in_letters
from tilewright.workload.layer import Layer, Network

NOTHING = ""
"""Instead of a role: the innermost memory stores no tensor."""


@dataclass(frozen=True)
class Style:
    """One dimension for each axis of each array, and the tensor that stays longest.

    Attributes
    ----------
    axes : tuple of (str, str, str)
        Array, axis, and the dimension that the axis may unroll, or nothing; by any factor, 1
        included.
    stationary : str or None
        Role of the tensor that is stationary in the innermost memory, see `Dataflow`. ``""`` when
        that memory stores nothing, None when it does not matter.
    memory : str
        Name of the innermost memory.
    """

    axes: tuple[tuple[str, str, str], ...]
    stationary: str | None = None
    memory: str = ""

    @property
    def constraints(self) -> tuple[Constraint, ...]:
        """What it demands of the arrays."""
        return tuple(
            Constraint(array, axis, dims=frozenset(filter(None, (dimension,))))
            for array, axis, dimension in self.axes
        )

    def machine(self, architecture: Architecture) -> Architecture:
        """Return a machine that unrolls nothing else."""
        return under(architecture, self.constraints)

    def held(self, layer: Layer) -> str | None:
        """Return the tensor of a layer that is stationary, ``""``, or None when any may be.

        A layer that has no tensor of the role is free.
        """
        if not self.stationary:
            return self.stationary
        return next(iter(role_names((self.stationary,), layer)), None)

    def has(self, flow: Dataflow, layer: Layer) -> bool:
        """Whether a mapping that unrolls what the style demands keeps the same tensor."""
        held = self.held(layer)
        return held is None or (held in flow.stationary if held else not flow.kept)

    def __str__(self) -> str:
        parts = [f"{array}.{axis} {dimension or '-'}" for array, axis, dimension in self.axes]
        if self.stationary is not None:
            parts.append(f"{self.stationary or 'nothing'} in {self.memory}")
        return ", ".join(parts)

    def words(self) -> str:
        """Return what it demands of the innermost memory, as a sentence."""
        if self.stationary == NOTHING:
            return f"Only mappings in which {self.memory} stores nothing."
        return (
            f"Only mappings in which no tensor stays longer in {self.memory} than "
            f"{self.stationary}, where the layer has it."
        )


def spatial_styles(network: Network, architecture: Architecture) -> Iterator[Style]:
    """Yield every choice of a dimension for each axis, without those that another one contains.

    A dimension may be unrolled by 1: an axis gets none only where the machine allows none. Axes of
    equal size of one array are interchangeable unless a constraint names one of them.
    """
    dimensions = dict.fromkeys(d for layer in network.layers for d in layer.dimensions)
    cut = [d for d in dimensions if any(x.bounds.get(d, 1) > 1 for x in network.layers)]
    axes = [(array, axis) for array in architecture.arrays for axis in array.axes]
    machines = {id(one): one for one in (in_letters(architecture, x) for x in network.layers)}
    options = []
    for array, axis in axes:
        allowed = [one.allowed_dimensions(array.name, axis) for one in machines.values()]
        options.append([d for d in cut if any(own is None or d in own for own in allowed)] or [""])
    named = {(s.at, s.axis) for s in architecture.statements}
    seen = set()
    for choice in product(*options):
        kinds = sorted(
            (array.name, axis if (array.name, axis) in named else str(array.axes[axis]), dimension)
            for (array, axis), dimension in zip(axes, choice, strict=True)
        )
        if tuple(kinds) not in seen:
            seen.add(tuple(kinds))
            pairs = zip(axes, choice, strict=True)
            yield Style(tuple((array.name, axis, d) for (array, axis), d in pairs))


def stationaries(network: Network, architecture: Architecture) -> list[str | None]:
    """Return the roles that may be stationary, nothing, or None when no memory could hold any."""
    innermost = architecture.memories[-1]
    if len(architecture.memories) == 1:
        return [None]
    roles = dict.fromkeys(t.role for layer in network.layers for t in layer.tensors)
    found: list[str | None] = [role for role in roles if innermost.may_store(role)]
    return found if innermost.must_keep else [*found, NOTHING]

"""Arrays that constraints leave mostly idle, whatever the mapping: little may be unrolled."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from math import prod
from typing import Any

from tilewright.architecture.machine import Architecture, Array
from tilewright.mapping.relevance import in_letters
from tilewright.workload.layer import Layer

MOST = 0.5
"""Share of an array below which it counts as mostly idle."""
SHOWN = 3


@dataclass(frozen=True)
class Idle:
    """An array most of which no mapping of a layer can use, because of constraints.

    Attributes
    ----------
    layer : str
        Name of the layer.
    array : str
        The array.
    axis : str or None
        Its axis with the least of its elements in use; None where its axes together can use less
        than each of them.
    demand : str
        What the constraints on that axis, or on all, say.
    used, elements : int
        The most elements of the axis, or of the array, that can be in use, and how many it has.
    utilization : float
        The greatest share of the whole array that can be in use, 0 to 1.
    operations : int
        Of the layer, repeats counted.
    """

    layer: str
    array: str
    axis: str | None
    demand: str
    used: int
    elements: int
    utilization: float
    operations: int

    def __str__(self) -> str:
        return (
            f"{self.layer} can use at most {100 * self.utilization:.2g}% of {self.array} "
            f"({self.demand}: {self.used} of {self.elements})"
        )

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain data."""
        return asdict(self)


def idle_arrays(layers: Iterable[Layer], architecture: Architecture) -> tuple[Idle, ...]:
    """Return what constraints on the unrolled dimensions leave mostly idle.

    An array counts where less than half of it can be in use, and at least twice as much could be
    without the constraints. What takes the most steps comes first.
    """
    if not any(s.dims is not None for s in architecture.statements):
        return ()
    found = [
        idle
        for layer in layers
        for array in architecture.arrays
        if (idle := idle_array(layer, architecture, array)) is not None
    ]
    return tuple(sorted(found, key=lambda idle: -idle.operations / idle.utilization))


def idle_array(layer: Layer, architecture: Architecture, array: Array) -> Idle | None:
    """Return how much of an array a layer can use at most, if that is little."""
    machine = in_letters(architecture, layer)
    bounds = layer.bounds
    allowed = [
        [d for d in bounds if own is None or d in own]
        for own in (machine.allowed_dimensions(array.name, axis) for axis in array.axes)
    ]
    sizes = array.axes.values()
    used = [
        most_elements([bounds[d] for d in names], size)
        for names, size in zip(allowed, sizes, strict=True)
    ]
    together = prod(bounds[d] for d in bounds if any(d in names for names in allowed))
    most = min(prod(used), together)
    free = min(array.elements, layer.operations)
    if most >= MOST * array.elements or 2 * most > free:
        return None
    name, own, size = None, together, array.elements
    if prod(used) <= together:
        name, own, size = min(
            zip(array.axes, used, sizes, strict=True), key=lambda entry: entry[1] / entry[2]
        )
    demands = [
        statement.words()
        for statement in architecture.statements
        if statement.at == array.name
        and statement.dims is not None
        and (name is None or statement.axis in (None, name))
    ]
    return Idle(
        layer=layer.name,
        array=array.name,
        axis=name,
        demand="; ".join(demands),
        used=own,
        elements=size,
        utilization=most / array.elements,
        operations=layer.operations * layer.repeat,
    )


def most_elements(bounds: Sequence[int], size: int) -> int:
    """Return the greatest product of factors within bounds that an axis has room for."""
    reached = {1}
    for bound in bounds:
        reached |= {n * f for n in reached for f in range(2, min(bound, size // n) + 1)}
        if size in reached:
            return size
    return max(reached)


def idle_text(idle: Sequence[Idle], layers: int) -> str:
    """Return in one line what is mostly idle, or nothing.

    Parameters
    ----------
    idle : sequence of Idle
        What is idle, that of the most steps first.
    layers : int
        Layers in all.
    """
    if not idle:
        return ""
    names = {one.layer for one in idle}
    which = f" in {len(names)} of {layers} layers" if layers > 1 else ""
    left = f"; and {len(idle) - SHOWN} more" if len(idle) > SHOWN else ""
    told = "; ".join(map(str, idle[:SHOWN]))
    return f"constraints leave most of an array idle{which}, whatever the mapping: {told}{left}"

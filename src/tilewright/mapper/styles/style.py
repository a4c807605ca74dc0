"""Styles: what a machine that maps every layer alike unrolls on each axis, and what stays put."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product

from tilewright.architecture.constraints.constraint import Constraint
from tilewright.architecture.machine import Architecture
from tilewright.mapper.results.dataflow import Dataflow
from tilewright.mapping.constraints import under
from tilewright.mapping.names import role_names
from tilewright.mapping.relevance import dimensions_of, in_letters
from tilewright.workload.layer import Layer, Network

NOTHING = ""
"""Instead of a role: the innermost memory stores no tensor."""
ALIKE = ("W&O", "I&W", "I&O", "all")
APART = (
    "W&O", "I&W not sliding", "I&W sliding rows", "I&W sliding columns", "I&O rows", "I&O columns",
    "all",
)  # fmt: skip


@dataclass(frozen=True)
class Style:
    """One dimension for each axis of each array, and the tensor that stays longest.

    Attributes
    ----------
    axes : tuple of (str, str, str)
        Array, axis, and the dimension that the axis may unroll (a letter, or what it is relevant
        to), or nothing; by any factor, 1 included.
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


def cut(name: str, layer: Layer) -> tuple[str, ...]:
    """Return the dimensions of more than one iteration that a name stands for."""
    return tuple(d for d in dimensions_of(name, layer) if layer.bounds.get(d, 1) > 1)


def style_dimensions(network: Network) -> list[str]:
    """Return the names of what styles may unroll: one dimension of each layer at most.

    They are letters, unless one of them is relevant to other tensors in one layer than in another:
    then they say what dimensions are relevant to, as far as that tells those of a layer apart.
    """
    layers = network.layers
    letters = dict.fromkeys(d for layer in layers for d in layer.dimensions if cut(d, layer))
    meanings = [
        {next((n for n in ALIKE if d in cut(n, x)), "") for x in layers if cut(d, x)}
        for d in letters
    ]
    if all(len(found) == 1 for found in meanings):
        return list(letters)
    names = [name for name in APART if max(len(cut(name, layer)) for layer in layers) == 1]
    covered = [(layer, {d for name in names for d in cut(name, layer)}) for layer in layers]
    left = [d for d in letters if any(cut(d, x) and d not in own for x, own in covered)]
    return names + left


def spatial_styles(network: Network, architecture: Architecture) -> Iterator[Style]:
    """Yield every choice of a dimension for each axis, without those that another one contains.

    A dimension may be unrolled by 1: an axis gets none only where the machine allows none. Axes of
    equal size of one array are interchangeable unless a constraint names one of them.
    """
    names = style_dimensions(network)
    axes = [(array, axis) for array in architecture.arrays for axis in array.axes]
    machines = [(layer, in_letters(architecture, layer)) for layer in network.layers]
    options = []
    for array, axis in axes:
        allowed = [(x, one.allowed_dimensions(array.name, axis)) for x, one in machines]
        free = any(own is None for _, own in allowed)
        able = [n for n in names if free or any(own & {*cut(n, x)} for x, own in allowed if own)]
        options.append(able or [""])
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

"""Layers that have the same best mapping, in all styles: what is known of one is known of others.

A style says nothing to a layer about dimensions that it lacks. And where rows and columns of a
layer may change places, so they may in a style: what is found for one is the mapping of another.
"""

from __future__ import annotations

from collections.abc import Mapping as Dict
from collections.abc import Sequence
from dataclasses import dataclass, replace

from tilewright.architecture.machine import Architecture
from tilewright.mapper.network.cache import Cache
from tilewright.mapper.objective.objective import parse_objective
from tilewright.mapper.problem.symmetry import swaps
from tilewright.mapper.results.searched_space import DIVISORS
from tilewright.mapper.search.search import Search
from tilewright.mapper.styles.style import Style, cut
from tilewright.mapper.styles.style_bounds import Axes, style_bounds
from tilewright.mapper.styles.styled_layer import StyledLayer
from tilewright.mapping.nodes import Mapping, Store
from tilewright.workload.layer import Layer


@dataclass(frozen=True)
class Swap:
    """Dimensions of a layer that change places, which alters no cost.

    Attributes
    ----------
    places : mapping of str to str
        What takes the place of each.
    """

    places: Dict[str, str]

    def axes(self, axes: Axes) -> Axes:
        """Return what is unrolled after the swap."""
        return tuple(self.places.get(d, d) for d in axes)

    def mapping(self, mapping: Mapping) -> Mapping:
        """Return a mapping after the swap."""
        return Mapping(
            tuple(
                node
                if isinstance(node, Store)
                else replace(node, dimension=self.places.get(node.dimension, node.dimension))
                for node in mapping.nodes
            )
        )


class Alike:
    """Layers of a network that have the same best mapping.

    Parameters
    ----------
    layer : Layer
        The first of them.
    runs : int
        How often they occur in the network.
    free : float
        No mapping has a lower objective, in whatever style.
    styles : sequence of Style
        All styles, any tensor being stationary.
    architecture, objective, cache
        As for `uniform.map_uniform`.

    Attributes
    ----------
    parts : dict of (Axes, str or None) to StyledLayer
        What is known for what is unrolled, and the tensor that is stationary.
    """

    def __init__(
        self,
        layer: Layer,
        runs: int,
        free: float,
        styles: Sequence[Style],
        architecture: Architecture,
        objective: str,
        cache: Cache | None,
    ) -> None:
        self.layer, self.runs, self.free = layer, runs, free
        self.architecture, self.objective, self.cache = architecture, objective, cache
        self.names = [(array, axis) for array, axis, _ in styles[0].axes]
        self.swaps = [Swap({}), *layer_swaps(layer, architecture, styles[0])]
        self.every = list(dict.fromkeys(self.place(style)[0] for style in styles))
        self.parts: dict[tuple[Axes, str | None], StyledLayer] = {
            (axes, None): part for axes, part in self.bounded(DIVISORS).items()
        }

    def bounded(self, tiles: str) -> dict[Axes, StyledLayer]:
        """Return what no mappings of some tile sizes undercut, for all that may be unrolled."""
        goal = parse_objective(self.objective)
        bounds = style_bounds(self.layer, self.architecture, self.every, goal, tiles)
        found = {}
        for k, axes in enumerate(self.every):
            own = zip(self.names, axes, strict=True)
            style = Style(tuple((array, axis, d) for (array, axis), d in own))
            found[axes] = StyledLayer(
                self.layer, style, self.architecture, self.objective, self.cache, bounds.keeps,
                bounds.values[:, k].copy(), (float(bounds.energy[k]), float(bounds.cycles[k])),
                self.free,
            )  # fmt: skip
        return found

    def place(self, style: Style) -> tuple[Axes, Swap]:
        """Return the axes under which a style is found, and the swap that leads there and back."""
        own = tuple(next(iter(cut(name, self.layer)), "") for _, _, name in style.axes)
        swap = min(self.swaps, key=lambda swap: swap.axes(own))
        return swap.axes(own), swap

    def part(self, style: Style) -> StyledLayer:
        """Return the layer in a style."""
        axes, _ = self.place(style)
        held = style.held(self.layer)
        if (axes, held) not in self.parts:
            wide = self.parts[axes, None]
            same = replace(wide.style, stationary=style.stationary, memory=style.memory)
            self.parts[axes, held] = wide.heir(same)
        return self.parts[axes, held]


def layer_swaps(layer: Layer, architecture: Architecture, style: Style) -> list[Swap]:
    """Return the swaps of dimensions that alter no cost; none when the machine tells them apart."""
    if any(statement.dimensions for statement in architecture.statements):
        return []
    search = Search(layer, style.machine(architecture), "energy")
    names = search.tiles.dimensions
    return [
        Swap({names[i]: names[j] for i, j in enumerate(swap.tolist()) if i != j})
        for swap in swaps(search.space)
    ]

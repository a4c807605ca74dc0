"""The best mapping of an off-chip tile: a search of the machine inside the outermost memory."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from tilewright.architecture.machine import Architecture, Memory
from tilewright.errors import MappingError
from tilewright.layout.choose import Choice
from tilewright.mapper.search.search import Search
from tilewright.mapping.nodes import Mapping
from tilewright.mapping.validity import check


def inside(architecture: Architecture) -> Architecture:
    """Return a machine without its outermost memory: the next one holds all tensors from there.

    Demands of a constraint on the memories that the tile is made for are left out.
    """
    _, tile, *inner = architecture.levels
    assert isinstance(tile, Memory)
    whole = replace(
        tile, capacity_bits=None, tensor_bits=None, keep=None, must_keep=frozenset(), buffering=1
    )
    gone = {architecture.levels[0].name, tile.name}
    kept = tuple(each for each in architecture.statements if each.at not in gone)
    return replace(architecture, levels=(whole, *inner), constraints=kept)


def tile_mapping(
    choice: Choice, objective: str, stop: Callable[[], bool] = lambda: False
) -> tuple[Mapping, bool] | None:
    """Return the best mapping found of one tile within the loops over tiles.

    Parameters
    ----------
    choice : Choice
        The tile, with the order of the loops over tiles.
    objective : str
        What is minimised for the tile, counted from the memory that holds it.
    stop : callable
        Asked every now and then whether to end.

    Returns
    -------
    (Mapping, bool) or None
        The mapping of the layer, and whether that of the tile is proven to be best; None where
        there is none that the machine allows.
    """
    layer, architecture = choice.cost.layer, choice.cost.architecture
    tile = replace(layer, bounds=choice.tile)
    try:
        found = Search(tile, inside(architecture), objective).solve(stop)
        if found.mapping is None:
            return None
        mapping = Mapping((*choice.mapping.nodes, *found.mapping.nodes[1:]))
        check(mapping, layer, architecture)
    except MappingError:
        return None
    return mapping, found.finished

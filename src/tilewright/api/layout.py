"""Find off-chip tiles and data layouts."""

from __future__ import annotations

from collections.abc import Collection
from time import perf_counter
from typing import TYPE_CHECKING

from tilewright.api.inputs import ArchitectureLike, WorkloadLike, the_architecture, the_network
from tilewright.document import describe
from tilewright.errors import InputError, nearest

if TYPE_CHECKING:
    from tilewright.layout.result import LayoutResult

EXTENTS = ("words", "box")


def best_layout(
    workload: WorkloadLike,
    architecture: ArchitectureLike,
    *,
    layer: str | None = None,
    integers: bool = False,
    whole: Collection[str] = (),
    extents: str = "words",
    uniform: bool = False,
) -> LayoutResult:
    """Find the off-chip tile and data layouts of least data-movement cost, layer by layer.

    The cost is MARVEL's (P. Chatarasi et al., section 3.1): the distinct blocks of the tiles of all
    tensors, those of the output twice, for each operation of a tile. The optimum is exact.

    Parameters
    ----------
    workload, architecture
        What runs on what, as for `map`. The outermost memory has a ``block``; the tiles of all
        tensors fit the second one together, its buffering included.
    layer : str, optional
        This layer of the workload alone.
    integers : bool
        Whether tiles have any size; else their sizes divide the bounds.
    whole : collection of str
        Dimensions that are not cut, such as R and S.
    extents : str
        What a strided window takes of an axis: the ``"words"`` that it touches, or the ``"box"``
        from the first to the last of them.
    uniform : bool
        Whether to find the best layout that all layers share as well.

    Returns
    -------
    LayoutResult
        For each layer tile, layouts, order of the loops over tiles, and exact counts of blocks.

    Raises
    ------
    InputError
        When something cannot be read, or the machine has no blocks.
    NoMappingError
        When no tile fits.
    """
    network = the_network(workload, layer)
    machine = the_architecture(architecture)
    names = list(dict.fromkeys(d for each in network.layers for d in each.dimensions))
    for d in whole:
        if d not in names:
            raise InputError(
                f"no layer has a dimension '{d}'; there are {', '.join(names)}{nearest(d, names)}",
                key="whole",
            )
    if extents not in EXTENTS:
        raise InputError(f"expected 'words' or 'box', found {describe(extents)}", key="extents")
    from tilewright.layout.choose import tiles_of
    from tilewright.layout.dmc import Cost
    from tilewright.layout.result import LayoutResult
    from tilewright.layout.uniform import uniform_layouts

    start = perf_counter()
    costs = [Cost(each, machine, extents=extents) for each in network.layers]
    spaces = [tiles_of(cost, integers=integers, whole=whole) for cost in costs]
    choices = tuple(space.best() for space in spaces)
    shared = uniform_layouts(spaces)[0] if uniform else None
    space = (
        f"Exact optimum over {'all integer' if integers else 'evenly dividing'} tile sizes"
        f"{' with all of ' + ', '.join(whole) if whole else ''} and all orders of axes."
    )
    return LayoutResult(network, machine, choices, shared, space, perf_counter() - start)

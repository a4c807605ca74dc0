"""The search for the least data-movement cost: MARVEL's off-chip tile, then its best mapping.

P. Chatarasi et al., "MARVEL", section 3.1. The cost depends on the tile and on the contiguous axes
alone, and its optimum is exact. What the tile leaves open is decided by a second objective.
"""

from __future__ import annotations

from collections.abc import Mapping as Dict
from dataclasses import replace
from math import prod
from time import perf_counter

from tilewright.architecture.machine import Architecture, Memory
from tilewright.errors import InputError, NoMappingError
from tilewright.kernels.kernel import interruptible
from tilewright.layout.choose import Choice, tiles_of
from tilewright.layout.dmc import Cost, allowed_axes
from tilewright.layout.moved import laid_out
from tilewright.mapper.network.in_turn import InTurn
from tilewright.mapper.network.running.run import UNLIMITED, Run
from tilewright.mapper.objective.objective import Objective, name_of, parse_objective
from tilewright.mapper.results.proof import Proof
from tilewright.mapper.results.result import LayerResult, NetworkResult
from tilewright.mapper.results.searched_space import ALL, DIVISORS
from tilewright.mapper.variants.blocks import BEST, LayoutsLike, blocks_of
from tilewright.mapper.variants.tile_mapping import tile_mapping
from tilewright.workload.axis_order import Layout, given_layouts
from tilewright.workload.layer import Layer, Network


def map_movement(
    network: Network,
    architecture: Architecture,
    objective: str,
    layouts: LayoutsLike,
    *,
    tiles: str = DIVISORS,
    run: Run = UNLIMITED,
) -> NetworkResult:
    """Find the off-chip tile of least data-movement cost of every layer, and a mapping of it.

    Parameters
    ----------
    network, architecture
        What is mapped onto what. The outermost memory has blocks, and another one follows it.
    objective : str
        ``dmc``, and after a comma what decides between the mappings of a tile.
    layouts : mapping of str to (str or Layout), "best" or None
        How tensors lie, by name or role; the others, and with ``"best"`` all, are as the cost
        wants them. With None the layouts are those of the workload where it has some.
    tiles : str
        ``"divisors"`` or ``"all"``: which sizes off-chip tiles have.
    run : Run
        How long it may take, for all layers together, and who is told of it. With a limit the
        mappings of tiles are not proven.

    Returns
    -------
    NetworkResult
        The value of each layer is its data-movement cost, in blocks per operation, which is
        optimal; energy and cycles count the blocks that the mapping moves. Ctrl-C ends the search
        with the layers that are done.

    Raises
    ------
    InputError
        When a layout cannot be read or is cut into tiles, or the machine has no blocks.
    NoMappingError
        When no tile fits, or the machine allows no mapping of the best one.
    """
    start = perf_counter()
    end = start + run.seconds
    goal = parse_objective(objective)

    def solve(layer: Layer, until: float) -> LayerResult:
        given = fixed_layouts(layer, architecture, layouts)
        return least_movement(layer, architecture, goal, given, tiles, until)

    work = InTurn(solve, objective, end, run.progress, tiles)
    work.run(network.layers)
    results, missing = work.results(network.layers)
    return NetworkResult(
        network=network,
        architecture=architecture,
        objective=str(goal),
        layers=results,
        seconds=perf_counter() - start,
        interrupted=work.interrupted,
        unmapped=missing,
    )


def fixed_layouts(
    layer: Layer, architecture: Architecture, given: LayoutsLike
) -> dict[str, Layout]:
    """Return the layouts of the tensors that have one."""
    if given == BEST or (given is None and not laid_out(layer, architecture)):
        return {}
    own = {} if given is None else given
    assert isinstance(own, Dict)
    named = {t.name for t in layer.tensors if t.layout or {t.name, t.role} & own.keys()}
    found = {name: layout for name, layout in given_layouts(own, layer).items() if name in named}
    for tensor in layer.tensors:
        if tensor.name in found and any(part.tile for part in found[tensor.name].parts):
            raise InputError(
                "the data-movement cost knows layouts of whole axes; that of "
                f"'{tensor.name}' is {found[tensor.name].text(tensor)}",
                key="layouts",
            )
    return found


@interruptible()
def least_movement(
    layer: Layer,
    architecture: Architecture,
    goal: Objective,
    given: Dict[str, Layout],
    tiles: str,
    end: float,
) -> LayerResult:
    """Return the off-chip tile of least data-movement cost of a layer, and a mapping of it.

    Parameters
    ----------
    layer, architecture, goal
        What is mapped onto what, and what decides between the mappings of the tile.
    given : mapping of str to Layout
        The layouts that are fixed.
    tiles : str
        Which sizes tiles have.
    end : float
        When the search for the mapping ends, on the clock of `perf_counter`.
    """
    start = perf_counter()
    if not isinstance(architecture.levels[1], Memory):
        raise InputError(
            "'dmc' is about tiles of the memory inside the outermost one; "
            f"'{architecture.name}' has '{architecture.levels[1].name}' there",
            key="objective",
        )
    second = replace(goal, movement=False)
    space = tiles_of(Cost(layer, architecture), integers=tiles == ALL)
    choice = space.best({name: layout.innermost for name, layout in given.items()})
    found = tile_mapping(choice, str(second), lambda: perf_counter() >= end)
    if found is None:
        raise NoMappingError(
            f"the machine '{architecture.name}' allows no mapping of the off-chip tile of least "
            f"data-movement cost of layer '{layer.name}', or none was found in time"
        )
    mapping, best = found
    cost = blocks_of(layer, architecture, mapping, {**choice.layouts, **given})
    proof = Proof(
        optimal=True,
        lower_bound=choice.value,
        value=choice.value,
        gap=0.0,
        space=space_text(choice, tiles, second, best),
        mappings_in_space=float(space.count()) * axes_in_space(choice, given),
        seconds=perf_counter() - start,
        tiles=tiles,
    )
    return LayerResult(layer, mapping, cost, str(goal), proof)


def axes_in_space(choice: Choice, given: Dict[str, Layout]) -> int:
    """Return how many combinations of contiguous axes there are."""
    inner = {name: layout.innermost for name, layout in given.items()}
    allowed = allowed_axes(choice.cost, inner)
    counts = []
    for tensor in choice.cost.tensors:
        own, allowed = allowed[: len(tensor.expressions)], allowed[len(tensor.expressions) :]
        counts.append(max(1, int(own.sum())))
    return prod(counts)


def space_text(choice: Choice, tiles: str, second: Objective, best: bool) -> str:
    """Return what was searched, in words."""
    sizes = "whose sizes divide evenly" if tiles == DIVISORS else "of all integer sizes"
    found = "proven least" if best else "least that was found in time"
    return (
        f"Off-chip tiles of {choice.cost.memory.name} {sizes}, with every contiguous axis of the "
        "tensors whose layout is free: the least blocks per operation, by MARVEL's estimate of a "
        f"tile. Of the mappings of that tile the one of {found} {name_of(second.powers)}."
    )

"""Find the best mapping of every layer, with a proof."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tilewright.api.inputs import (
    ArchitectureLike,
    CacheLike,
    WorkloadLike,
    check_fuse,
    check_limits_of_fused,
    check_options,
    check_together,
    the_architecture,
    the_cache,
    the_constraints,
    the_latency,
    the_network,
    the_searched_architecture,
)
from tilewright.api.mapper.searches import Exact, Fused, Heuristic, SearchKind, Uniform, the_search
from tilewright.architecture.machine import Architecture
from tilewright.frontends.load import Options
from tilewright.layout.moved import laid_out
from tilewright.mapper.network.running.progress import Progress, watching
from tilewright.mapper.network.running.run import Run
from tilewright.mapper.objective.objective import parse_objective
from tilewright.mapper.results.searched_space import ALL, DIVISORS
from tilewright.mapping.constraints import under
from tilewright.mapping.given import ConstraintsLike, check_own_names
from tilewright.workload.layer import Network

if TYPE_CHECKING:
    from tilewright.mapper.results.result import NetworkResult


def map(
    workload: WorkloadLike,
    architecture: ArchitectureLike,
    objective: str = "energy",
    *,
    search: SearchKind | None = None,
    layer: str | None = None,
    constraints: ConstraintsLike = None,
    latency: str | None = None,
    time_limit: float | None = None,
    workers: int | None = None,
    progress: bool | Progress = False,
    cache: CacheLike = True,
    example_inputs: Any = None,
    **options: Any,
) -> NetworkResult:
    """Find the best mapping of every layer of a workload, and prove that none is better.

    Parameters
    ----------
    workload : str, path, Layer or Network
        Name of a network that ships, a file, or the thing itself.
    architecture : str, path or Architecture
        Name of a machine that ships, a file, or the thing itself.
    objective : str
        What to minimise for each layer: ``"energy"`` (pJ), ``"latency"`` (cycles), ``"edp"``,
        ``"ed2p"`` or a product of powers such as ``"energy*latency^0.5"``. After a comma a second
        one that decides between equals (else the other one of energy and cycles), and
        limits: ``"energy, latency<=1e6"`` is the least energy within a million cycles. They hold
        for each layer, and with `Fused` for the network as a whole. ``"dmc"``:
        MARVEL's data-movement cost, in blocks per operation; what comes after a comma (else
        energy) decides between the mappings of the best off-chip tile.
    search : Exact, Uniform, Fused or Heuristic, optional
        What is searched, and how: the best mapping of each layer (`Exact`, the default), the best
        style for all layers (`Uniform`), which layers share loops (`Fused`), or as another mapper
        does, without a proof (`Heuristic`).
    layer : str, optional
        Map this layer of the workload alone.
    constraints : str, path, dict, Constraint, Constraints, or a list of those, optional
        What the mappings must satisfy besides the constraints of the machine: the name of a
        dataflow, a file, statements such as ``"PE.X.dims=C,K"``, or the thing itself.
    latency : str, optional
        How cycles are counted: ``"throughput"`` or ``"pipelined"``, by default as the machine says.
        Under pipelined latency layers are searched one after the other, for the best even mapping
        where the machine allows a proof of that, see `Proof.space`; otherwise for good ones.
    time_limit : float, optional
        Seconds for all layers together, more than 0; the result has the best mappings so far.
    workers : int, optional
        Layers searched at the same time, at least 1; by default the number of processors.
    progress : bool or Progress
        Whether to show bars on the standard error stream, or who is told instead.
    cache : bool, str or path
        Whether results are looked up in the user's cache and kept there, or in which
        directory instead. Where the cache cannot be written, results are only not kept.
    example_inputs : tensor, shape, or a tuple, list or dict of those, optional
        Of a workload that is a module of PyTorch: what its `forward` gets, see `load_workload`.
    **options
        The same as `search` in single words: ``tiles="divisors"`` and ``layouts="best"`` are
        ``Exact(tiles=..., layouts=...)``, ``uniform="dataflow", within=0.05`` is
        ``Uniform(within=0.05)``, ``fuse=True`` is ``Fused()``, and ``strategy="decoupled"`` is
        ``Heuristic("decoupled")``.

    Returns
    -------
    NetworkResult
        Mapping, evaluation and proof of each layer. Ctrl-C ends the search with the best so far.
        With `Uniform` a `UniformResult`, which has the styles as well; with `Fused` a
        `FusedResult`, which has what is fused.

    Raises
    ------
    InputError
        When something cannot be read.
    NoMappingError
        When no mapping can run one of the layers, or satisfies the constraints.
    """
    # inputs are checked from the cheapest to the dearest
    names = ("strategy", "uniform", "fuse")
    plain = isinstance(search, Exact | None) and not any(options.get(name) for name in names)
    check_options(objective, time_limit, workers, movement=plain)
    how = the_search(search, options)
    kept = the_cache(cache)
    said = None if example_inputs is None else Options(example_inputs=example_inputs)
    network = the_network(workload, layer, said)
    machine = the_architecture(architecture)
    if not isinstance(how, Exact) or the_latency(latency, machine) == "pipelined":
        machine = the_searched_architecture(machine)
    check_own_names(machine, network.layers)
    machine = under(machine, the_constraints(constraints, machine, network.layers))
    kind = the_latency(latency, machine)
    if isinstance(how, Heuristic):
        check_together(kind, DIVISORS, how.strategy, None)
        from tilewright.strategies.apply import apply_strategy

        return apply_strategy(network, machine, objective, how.strategy, time_limit)
    if isinstance(progress, bool):
        progress = watching() if progress else Progress()
    run = Run(time_limit, workers, progress, kept)
    if isinstance(how, Fused):
        check_fuse(network, machine, kind, layer)
        return map_fused_layers(network, machine, objective, how, run)
    if isinstance(how, Uniform):
        return map_in_one_style(network, machine, objective, how, kind, run)
    return map_exactly(network, machine, objective, how, kind, run)


def map_in_one_style(
    network: Network, machine: Architecture, objective: str, how: Uniform, kind: str, run: Run
) -> NetworkResult:
    """Find the style that is best for all layers together."""
    tiles = how.tiles or DIVISORS
    blocks = any(laid_out(each, machine) for each in network.layers)
    check_together(kind, tiles, None, "dataflow", blocks)
    # the compiled search is only imported once the input is known to be good
    from tilewright.mapper.styles.uniform import map_uniform

    return map_uniform(network, machine, objective, within=how.within or 0.0, tiles=tiles, run=run)


def map_fused_layers(
    network: Network, machine: Architecture, objective: str, how: Fused, run: Run
) -> NetworkResult:
    """Find which layers share loops, and the best tree of each segment of them."""
    if parse_objective(objective).limited:
        check_limits_of_fused(objective, how.tiles)
        from tilewright.mapper.fused.trade_offs.trade_off_search import map_within

        return map_within(network, machine, objective, run=run)
    from tilewright.mapper.fused.network import map_fused
    from tilewright.mapper.fused.variants import map_variants

    search = map_variants if network.variants else map_fused
    return search(network, machine, objective, tiles=how.tiles or DIVISORS, run=run)


def map_exactly(
    network: Network, machine: Architecture, objective: str, how: Exact, kind: str, run: Run
) -> NetworkResult:
    """Find the best mapping of each layer, as what is asked for allows it to be proven."""
    pipelined = kind == "pipelined"
    blocks = how.layouts is not None
    blocks |= not pipelined and any(laid_out(each, machine) for each in network.layers)
    least_movement = parse_objective(objective).movement
    tiles = how.tiles or (DIVISORS if pipelined or blocks or least_movement else ALL)
    if least_movement:
        check_options(objective, None, None, movement=not pipelined)
        from tilewright.mapper.variants.offchip_tiles import map_movement

        return map_movement(network, machine, objective, how.layouts, tiles=tiles, run=run)
    check_together(kind, tiles, None, None, blocks)
    if pipelined:
        from tilewright.mapper.pipelined.pipelined import map_pipelined

        return map_pipelined(network, machine, objective, run=run)
    if blocks:
        from tilewright.mapper.variants.blocks import map_blocks

        return map_blocks(network, machine, objective, how.layouts, run=run)
    if any(memory.retention != "tile" for memory in machine.memories):
        from tilewright.mapper.variants.retaining import map_retaining as map_network
    else:
        from tilewright.mapper.network.network import map_network
    return map_network(network, machine, objective, tiles=tiles, run=run)

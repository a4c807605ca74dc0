"""Find mappings: the best one, every trade-off, every buffer size, and why."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf
from time import perf_counter
from typing import TYPE_CHECKING, Any

from tilewright.api.inputs import (
    ArchitectureLike,
    CacheLike,
    WorkloadLike,
    check_fuse,
    check_options,
    check_together,
    check_within,
    the_architecture,
    the_cache,
    the_constraints,
    the_latency,
    the_layer,
    the_network,
    the_searched_architecture,
)
from tilewright.api.searches import Exact, Fused, Heuristic, Search, Uniform, the_search
from tilewright.architecture.machine import Architecture
from tilewright.document import describe
from tilewright.errors import InputError
from tilewright.frontends.load import Options
from tilewright.layout.moved import laid_out
from tilewright.mapper.network.cache import Cache
from tilewright.mapper.network.progress import Progress, counted, watching
from tilewright.mapper.objective.objective import parse_objective
from tilewright.mapper.results.searched_space import ALL, DIVISORS
from tilewright.mapping.constraints import under
from tilewright.mapping.given import ConstraintsLike, check_own_names
from tilewright.workload.layer import Network

if TYPE_CHECKING:
    from tilewright.mapper.explain.explanation import Explanation
    from tilewright.mapper.fused.explanation import FusedExplanation
    from tilewright.mapper.network.front_of_network import NetworkFront
    from tilewright.mapper.results.frontier import Frontier
    from tilewright.mapper.results.result import LayerResult, NetworkResult
    from tilewright.mapper.search.front import Front
    from tilewright.mapper.search.least_memory import LeastMemory

WITHIN = 0.05  # how far above the optimum runner-ups are looked for, by default


def map(
    workload: WorkloadLike,
    architecture: ArchitectureLike,
    objective: str = "energy",
    *,
    search: Search | None = None,
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
        limits: ``"energy, latency<=1e6"`` is the least energy within a million cycles. ``"dmc"``:
        MARVEL's data-movement cost, in blocks per operation; what comes after a comma (else
        energy) decides between the mappings of the best off-chip tile.
    search : Exact, Uniform or Heuristic, optional
        What is searched, and how: the best mapping of each layer (`Exact`, the default), the best
        style for all layers (`Uniform`), or as another mapper does, without a proof (`Heuristic`).
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
        return map_fused_layers(network, machine, objective, how, kind, run)
    if isinstance(how, Uniform):
        return map_in_one_style(network, machine, objective, how, kind, run)
    return map_exactly(network, machine, objective, how, kind, run)


@dataclass(frozen=True)
class Run:
    """How long a search may take, on how many processors, and who is told of it."""

    time_limit: float | None
    workers: int | None
    progress: Progress
    cache: Cache | None


def map_in_one_style(
    network: Network, machine: Architecture, objective: str, how: Uniform, kind: str, run: Run
) -> NetworkResult:
    """Find the style that is best for all layers together."""
    tiles = how.tiles or DIVISORS
    blocks = any(laid_out(each, machine) for each in network.layers)
    check_together(kind, tiles, None, "dataflow", blocks)
    # the compiled search is only imported once the input is known to be good
    from tilewright.mapper.styles.uniform import map_uniform

    return map_uniform(
        network, machine, objective, within=how.within or 0.0, tiles=tiles, **vars(run)
    )


def map_fused_layers(
    network: Network, machine: Architecture, objective: str, how: Fused, kind: str, run: Run
) -> NetworkResult:
    """Find which layers share loops, and the best tree of each segment of them."""
    check_fuse(network, machine, objective, kind)
    from tilewright.mapper.fused.network import map_fused
    from tilewright.mapper.fused.variants import map_variants

    search = map_variants if network.variants else map_fused
    return search(network, machine, objective, tiles=how.tiles or DIVISORS, **vars(run))


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

        return map_movement(
            network, machine, objective, how.layouts,
            tiles=tiles, time_limit=run.time_limit, progress=run.progress,
        )  # fmt: skip
    check_together(kind, tiles, None, None, blocks)
    if pipelined:
        from tilewright.mapper.pipelined.pipelined import map_pipelined

        return map_pipelined(
            network, machine, objective,
            time_limit=run.time_limit, progress=run.progress, cache=run.cache,
        )  # fmt: skip
    if blocks:
        from tilewright.mapper.variants.blocks import map_blocks

        return map_blocks(network, machine, objective, how.layouts, **vars(run))
    if any(memory.retention != "tile" for memory in machine.memories):
        from tilewright.mapper.variants.retaining import map_retaining as map_network
    else:
        from tilewright.mapper.network.network import map_network
    return map_network(network, machine, objective, tiles=tiles, **vars(run))


def pareto(
    workload: WorkloadLike,
    architecture: ArchitectureLike,
    limits: str = "energy",
    *,
    layer: str | None = None,
    constraints: ConstraintsLike = None,
    time_limit: float | None = None,
    progress: bool = False,
) -> Front | NetworkFront:
    """Find every trade-off of energy against cycles, and prove that none is missing.

    Tile sizes divide; mappings with others, as `map` finds them, may be better in both.
    Of a network with several layers it is that of the totals: each run of a layer has a mapping of
    its own, and the runs follow each other.

    Parameters
    ----------
    workload : str, path, Layer or Network
        Name of a network that ships, a file, or the thing itself.
    architecture : str, path or Architecture
        Name of a machine that ships, a file, or the thing itself.
    limits : str
        An objective whose limits hold for every point, for example ``"energy, latency<=1e6"``.
    layer : str, optional
        This layer of the workload alone.
    constraints : str, path, dict, Constraint, Constraints, or a list of those, optional
        What the mappings must satisfy besides the constraints of the machine, as in `map`.
    time_limit : float, optional
        Seconds, more than 0; the result has the points found until then.
    progress : bool
        Whether to show the number of points on the standard error stream.

    Returns
    -------
    Front or NetworkFront
        Mapping and evaluation of each point of one layer, or the totals of each point of a network
        with the mappings of its layers; the least energy first.

    Raises
    ------
    InputError
        When something cannot be read.
    NoMappingError
        When no mapping can run a layer, or none is within the limits.
    """
    check_options(limits, time_limit, None)
    network = the_network(workload, layer)
    machine = the_searched_architecture(architecture)
    check_own_names(machine, network.layers)
    machine = under(machine, the_constraints(constraints, machine, network.layers))
    from tilewright.mapper.network.front_of_network import map_network_front
    from tilewright.mapper.network.network import map_front

    with counted(network.name, "points", progress) as told:
        if len(network.layers) == 1:
            (only,) = network.layers
            return map_front(only, machine, limits, time_limit=time_limit, progress=told)
        return map_network_front(
            network, machine, parse_objective(limits), time_limit=time_limit, progress=told
        )


def frontier(
    workload: WorkloadLike,
    architecture: ArchitectureLike,
    over: Sequence[str],
    objective: str = "energy",
    *,
    traffic: str | None = None,
    layer: str | None = None,
    time_limit: float | None = None,
    progress: bool = False,
) -> Frontier:
    """Find the least cost of one layer for every size of one or two memories, with a proof.

    Tile sizes divide; mappings with others, as `map` finds them, may cost less.

    Parameters
    ----------
    workload : str, path, Layer or Network
        Name of a network that ships, a file, or the thing itself.
    architecture : str, path or Architecture
        Name of a machine that ships, a file, or the thing itself. The energy per access stays what
        it is whatever the size; the reads and writes at every point allow for another.
    over : sequence of str
        Names of one or two memories whose size varies.
    objective : str
        What to minimise, as for `map`.
    traffic : str, optional
        Name of a memory: its reads and writes, in elements, are minimised instead: the bound on
        data movement.
    layer : str, optional
        Which layer of the workload; needed where it has several.
    time_limit : float, optional
        Seconds, more than 0; the result has the points found until then.
    progress : bool
        Whether to show the number of searches on the standard error stream.

    Returns
    -------
    Frontier
        A step function: the least size of each step, its value, mapping and evaluation.

    Raises
    ------
    InputError
        When something cannot be read, or a memory has no size that can vary.
    NoMappingError
        When no mapping can run the layer.
    """
    check_options(objective, time_limit, None)
    if traffic is not None and objective != "energy":
        raise InputError("has no effect with 'traffic': words are minimised", key="objective")
    chosen = the_layer(workload, layer)
    machine = the_searched_architecture(architecture)
    from tilewright.mapper.memory_sizes.frontier import least_cost

    end = perf_counter() + (inf if time_limit is None else time_limit)
    names = (over,) if isinstance(over, str) else tuple(over)
    with counted(chosen.name, "searches", progress, sweep=True) as told:
        return least_cost(
            chosen, machine, names, objective,
            traffic=traffic, stop=lambda: perf_counter() >= end, progress=told,
        )  # fmt: skip


def explain(
    workload: WorkloadLike,
    architecture: ArchitectureLike,
    objective: str = "energy",
    *,
    layer: str | None = None,
    constraints: ConstraintsLike = None,
    within: float = WITHIN,
    time_limit: float | None = None,
    progress: bool | Progress = False,
    fuse: bool = False,
) -> Explanation | FusedExplanation:
    """Say what limits the best mapping of a layer, and what else is nearly as good.

    With `fuse`, say of a whole network why layers that exchange tensors are not fused, what memory
    fusing them takes, and what they move instead.

    Tile sizes divide; mappings with others, as `map` finds them, may cost less.

    Every limit of the machine (capacities, axes, bandwidths, constraints, bypasses) is relaxed
    alone, and the best mapping found anew. Then come the best mapping of every other bypass choice
    and of every other set of spatially unrolled dimensions near the optimum, and the best one with
    another dataflow.

    Parameters
    ----------
    workload : str, path, Layer or Network
        Name of a network that ships, a file, or the thing itself.
    architecture : str, path or Architecture
        Name of a machine that ships, a file, or the thing itself.
    objective : str
        What is minimised, as in `map`.
    layer : str, optional
        Which layer of the workload; needed where it has several.
    constraints : str, path, dict, Constraint, Constraints, or a list of those, optional
        What mappings must satisfy besides the constraints of the machine, as in `map`. Each is one
        of the limits.
    within : float
        How far above the optimum runner-ups are looked for, as a share of it, from 0 to 1.
    time_limit : float, optional
        Seconds, more than 0; the result then says what is not proven.
    progress : bool or Progress
        Whether to show the search for the optimum on the standard error stream, or who is told.
    fuse : bool
        Whether it is about fused layers; then `layer`, `constraints` and `within` have no meaning.

    Returns
    -------
    Explanation or FusedExplanation
        The second with `fuse`. Ctrl-C ends the searches with what is known so far.

    Raises
    ------
    InputError
        When something cannot be read, or on a machine whose arrays forward words: no mapping is
        proven there.
    NoMappingError
        When no mapping can run the layer or satisfies the constraints, or none was found in time.
    """
    check_options(objective, time_limit, None)
    check_within(within)
    if fuse:
        given = {
            "layer": layer is not None,
            "constraints": constraints is not None and constraints != [],
            "within": within != WITHIN,
        }
        if useless := [key for key, is_given in given.items() if is_given]:
            key = useless[0]
            raise InputError("has no effect with 'fuse': leave out one of the two", key=key)
        from tilewright.mapper.fused.explanation import FusedExplanation
        from tilewright.mapper.fused.result import FusedResult

        found = map(
            workload, architecture, objective, fuse=True, time_limit=time_limit, progress=progress
        )
        assert isinstance(found, FusedResult)
        return FusedExplanation(found)
    chosen = the_layer(workload, layer)
    machine = the_searched_architecture(architecture)
    check_own_names(machine, [chosen])
    machine = under(machine, the_constraints(constraints, machine, [chosen]))
    from tilewright.mapper.explain.explain import explain_layer

    if isinstance(progress, bool):
        progress = watching() if progress else Progress()
    return explain_layer(
        chosen, machine, objective,
        within=within, time_limit=time_limit, cache=the_cache(True), progress=progress,
    )  # fmt: skip


def least_memory(result: LayerResult, *, time_limit: float | None = None) -> LeastMemory:
    """Find the mapping of the least memory among all that cost what the optimum of a layer does.

    Most mappings of `map` are that already, and their ``proof.least_memory`` says so. For the
    others the search is repeated, and looks at as many mappings of equal energy and cycles as there
    are. Of two mappings the one needs less that uses fewer bits in the outermost memory in which
    they differ.

    Parameters
    ----------
    result : LayerResult
        What `map` has proven to be the best of a layer, such as ``map(...)["conv1"]``; with tile
        sizes that divide, throughput latency, and costs in words.
    time_limit : float, optional
        Seconds, more than 0; without a limit it takes as long as `map` did, and a little longer.

    Returns
    -------
    LeastMemory
        Its `proven` says whether nothing needs less.

    Raises
    ------
    InputError
        When the result is no such result.
    """
    check_options("energy", time_limit, None)
    from tilewright.mapper.results.result import LayerResult

    if not isinstance(result, LayerResult):
        raise InputError(
            f"expected the result of one layer, as 'map(...)[NAME]' is, found {describe(result)}",
            key="result",
        )
    from tilewright.mapper.search.least_memory import prove_least_memory

    end = perf_counter() + (inf if time_limit is None else time_limit)
    return prove_least_memory(result, lambda: perf_counter() >= end)

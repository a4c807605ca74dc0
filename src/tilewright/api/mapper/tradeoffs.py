"""Every trade-off of energy against cycles, and the least cost for every size of memories."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from tilewright.api.inputs import (
    ArchitectureLike,
    WorkloadLike,
    check_fuse,
    check_limits_alone,
    check_options,
    the_constraints,
    the_layer,
    the_network,
    the_searched_architecture,
)
from tilewright.errors import InputError
from tilewright.kernels.time_limits import time_is_up
from tilewright.mapper.network.running.progress import Progress, counted, watching
from tilewright.mapper.network.running.run import Run
from tilewright.mapper.objective.objective import parse_objective
from tilewright.mapping.constraints import under
from tilewright.mapping.given import ConstraintsLike, check_own_names

if TYPE_CHECKING:
    from tilewright.mapper.fused.results.front_result import FusedFront
    from tilewright.mapper.network.front_of_network import NetworkFront
    from tilewright.mapper.results.frontier import Frontier
    from tilewright.mapper.search.questions.front import Front


def pareto(
    workload: WorkloadLike,
    architecture: ArchitectureLike,
    limits: str = "energy",
    *,
    layer: str | None = None,
    constraints: ConstraintsLike = None,
    time_limit: float | None = None,
    workers: int | None = None,
    progress: bool = False,
    fuse: bool = False,
) -> Front | NetworkFront | FusedFront:
    """Find every trade-off of energy against cycles, and prove that none is missing.

    Tile sizes divide; mappings with others, as `map` finds them, may be better in both.
    Of a network with several layers it is that of the totals: each run of a layer has a mapping of
    its own, and the runs follow each other. With `fuse`, layers may share loops as well; what lies
    below the points that are found is bounded then.

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
    workers : int, optional
        With `fuse`, segments searched at the same time; by default the number of processors.
    progress : bool
        Whether to show the number of points on the standard error stream.
    fuse : bool
        Whether layers that exchange tensors may be fused; the workload says how they are connected.

    Returns
    -------
    Front, NetworkFront or FusedFront
        Mapping and evaluation of each point of one layer, or the totals of each point of a network
        with the mappings of its layers; the least energy first. With `fuse` the points that were
        found, and how much less energy others may have at most.

    Raises
    ------
    InputError
        When something cannot be read.
    NoMappingError
        When no mapping can run a layer, or none is within the limits.
    """
    check_options(limits, time_limit, workers)
    check_limits_alone(limits)
    if workers is not None and not fuse:
        raise InputError("has no effect without 'fuse'", key="workers")
    network = the_network(workload, layer)
    machine = the_searched_architecture(architecture)
    check_own_names(machine, network.layers)
    machine = under(machine, the_constraints(constraints, machine, network.layers))
    if fuse:
        check_fuse(network, machine, "throughput", layer)
        from tilewright.mapper.fused.trade_offs.trade_off_search import trade_off_front

        run = Run(time_limit, workers, watching() if progress else Progress())
        return trade_off_front(network, machine, parse_objective(limits), run=run)
    from tilewright.mapper.network.front_of_network import map_front, map_network_front

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

    stop = time_is_up(time_limit)
    names = (over,) if isinstance(over, str) else tuple(over)
    with counted(chosen.name, "searches", progress) as told:
        return least_cost(
            chosen, machine, names, objective,
            traffic=traffic, stop=stop, progress=told,
        )  # fmt: skip

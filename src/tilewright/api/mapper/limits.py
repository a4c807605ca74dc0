"""What limits an optimum, what else is nearly as good, and the least memory among its equals."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tilewright.api.inputs import (
    ArchitectureLike,
    WorkloadLike,
    check_options,
    check_within,
    the_cache,
    the_constraints,
    the_layer,
    the_searched_architecture,
)
from tilewright.document import describe
from tilewright.errors import InputError
from tilewright.kernels.time_limits import time_is_up
from tilewright.mapper.network.running.progress import Progress, watching
from tilewright.mapper.objective.objective import parse_objective
from tilewright.mapping.constraints import under
from tilewright.mapping.given import ConstraintsLike, check_own_names

if TYPE_CHECKING:
    from tilewright.mapper.explain.explanation import Explanation
    from tilewright.mapper.fused.results.explanation import FusedExplanation
    from tilewright.mapper.results.result import LayerResult
    from tilewright.mapper.search.questions.least_memory import LeastMemory

WITHIN = 0.05  # how far above the optimum runner-ups are looked for, by default


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
        if parse_objective(objective).limited:
            raise InputError("limits cannot go with the reasons of fused layers", key="objective")
        from tilewright.api.mapper.search import map as map_workload
        from tilewright.mapper.fused.results.explanation import FusedExplanation
        from tilewright.mapper.fused.results.result import FusedResult

        found = map_workload(
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
    from tilewright.mapper.search.questions.least_memory import prove_least_memory

    return prove_least_memory(result, time_is_up(time_limit))

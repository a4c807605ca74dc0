"""The searches that tell what limits an optimum and what else is nearly as good."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from math import inf
from time import perf_counter

from tilewright.architecture.machine import Architecture
from tilewright.errors import InputError, NoMappingError
from tilewright.mapper.explain.alternatives import (
    Nearby,
    OtherDataflow,
    Otherwise,
    Stop,
    other_bypasses,
    other_kept,
    other_spatial_sets,
    other_stationary,
)
from tilewright.mapper.explain.entries import Alternative, Relaxed, by_gain
from tilewright.mapper.explain.explanation import Explanation
from tilewright.mapper.explain.relaxed_machines import RelaxedLimit, limits, why_not
from tilewright.mapper.network.cache import Cache
from tilewright.mapper.network.network import map_network
from tilewright.mapper.network.running.progress import Progress
from tilewright.mapper.network.running.run import Run
from tilewright.mapper.network.running.time_shares import Budget, run_together
from tilewright.mapper.objective.objective import parse_objective
from tilewright.mapper.objective.tolerances import TIE
from tilewright.mapper.results.dataflow import dataflow
from tilewright.mapper.results.result import LayerResult
from tilewright.mapper.results.searched_space import forwards
from tilewright.mapper.search.confirmed import agreed, objective_value
from tilewright.mapper.search.search import Search
from tilewright.processes import processors
from tilewright.workload.layer import Layer, Network


def explain_layer(
    layer: Layer,
    architecture: Architecture,
    objective: str,
    *,
    within: float,
    time_limit: float | None = None,
    cache: Cache | None = None,
    progress: Progress | None = None,
) -> Explanation:
    """Find the best mapping of a layer, what limits it and what else is nearly as good.

    Parameters
    ----------
    layer, architecture
        What is mapped onto what.
    objective : str
        What is minimised, see `objective.parse_objective`.
    within : float
        How far above the optimum runner-ups are looked for, as a share of it.
    time_limit : float, optional
        Seconds for everything.
    cache : Cache, optional
        Where the optimum is looked up first.
    progress : Progress, optional
        What is told of the search for the optimum.

    Raises
    ------
    InputError
        On a machine on which nothing is proven.
    NoMappingError
        When no mapping can run the layer, or none was found in time.
    """
    start = perf_counter()
    deadline = start + (inf if time_limit is None else time_limit)
    if forwards(architecture):
        raise InputError(
            f"neighbours forward words on '{architecture.name}', where mappings are not always "
            "proven to be the best; accepted: a machine with 'forwarding: false' on every array",
            key="architecture",
        )
    network = Network(layer.name, (layer,))
    run = Run(time_limit, progress=progress or Progress(), cache=cache)
    mapped = map_network(network, architecture, objective, run=run)
    if not mapped.layers:
        raise NoMappingError(
            f"the search was stopped before it had any mapping of layer '{layer.name}'"
        )
    optimum = mapped.layers[0]
    if not optimum.proof.optimal:
        return Explanation(
            optimum=optimum,
            architecture=architecture,
            within=within,
            limits=(),
            runner_ups=(),
            otherwise=(),
            open=("the optimum itself", "its limits", "runner-ups"),
            seconds=perf_counter() - start,
            interrupted=mapped.interrupted,
        )
    work = Work(optimum, architecture, within)
    with run.progress.working(work.state):
        interrupted = work.carry_out(deadline)
    return Explanation(
        optimum=optimum,
        architecture=architecture,
        within=within,
        limits=by_gain(list(work.relaxed.values())),
        runner_ups=work.runner_ups(),
        otherwise=work.otherwise(),
        open=tuple(work.left()),
        seconds=perf_counter() - start,
        interrupted=interrupted,
    )


class Work:
    """All searches for one optimum, and what they have found so far.

    Parameters
    ----------
    optimum : LayerResult
        Proven to be the best.
    architecture : Architecture
        What computes it.
    within : float
        How far above it runner-ups are looked for, as a share.
    """

    def __init__(self, optimum: LayerResult, architecture: Architecture, within: float) -> None:
        self.optimum = optimum
        self.architecture = architecture
        self.goal = parse_objective(optimum.objective)
        self.ceiling = optimum.proof.value * (1 + within)
        self.flow = dataflow(optimum.mapping, optimum.layer, architecture)
        self.search = Search(optimum.layer, architecture, optimum.objective)
        self.limits = list(limits(architecture))
        self.relaxed: dict[int, Relaxed] = {}
        self.bypasses, self.sets = Nearby(), Nearby()
        self.by_sets, self.by_kept, self.by_stationary = Otherwise(), Otherwise(), Otherwise()
        for i, limit in enumerate(self.limits):
            reason = why_not(limit, optimum.layer, architecture, self.goal)
            # until it has been searched nothing is known of the others
            self.relaxed[i] = unchanged(limit, optimum, reason)

    def carry_out(self, deadline: float) -> bool:
        """Run all searches, some at the same time; return whether Ctrl-C ended them."""
        waiting = [i for i, relaxed in self.relaxed.items() if not relaxed.proven]
        # runner-ups are two searches after each other
        workers = max(1, min(processors(), len(waiting) + 3))
        budget = Budget(deadline, len(waiting) + 4, workers)
        tasks: list[Callable[[], None]] = [lambda: self.look_around(budget)]
        tasks += [lambda: self.keep(budget.take()), lambda: self.reorder(budget.take())]
        tasks += [lambda i=i: self.relax(i, budget.take()) for i in waiting]  # type: ignore[misc]
        return run_together(tasks, workers, budget.halted)

    def state(self) -> str:
        """Return in a line how much of the work is done."""
        done = sum(relaxed.proven for relaxed in self.relaxed.values())
        return f"{self.optimum.layer.name}: {done} of {len(self.relaxed)} limits relaxed"

    def look_around(self, budget: Budget) -> None:
        """Find the runner-ups, and the best mapping that unrolls other dimensions."""
        around = (self.search, self.goal, self.flow, self.ceiling)
        self.bypasses, keeps = other_bypasses(*around, budget.take())
        self.by_sets, self.sets = other_spatial_sets(*around, keeps, budget.take())

    def keep(self, stop: Stop) -> None:
        """Find the best mapping in which the innermost memory stores other tensors."""
        self.by_kept = other_kept(self.search, self.goal, self.flow, stop)

    def reorder(self, stop: Stop) -> None:
        """Find the best mapping in which another tensor is stationary."""
        self.by_stationary = other_stationary(self.search, self.goal, self.flow, stop)

    def relax(self, i: int, stop: Stop) -> None:
        """Find the best mapping of the machine with one limit relaxed."""
        self.relaxed[i] = relax(self.limits[i], self.optimum, stop)

    def alternatives(self, candidates: Iterable[OtherDataflow]) -> list[Alternative]:
        """Return candidates as the model values them, the best first."""
        layer, machine, objective = self.optimum.layer, self.architecture, self.optimum.objective
        found = []
        for one in candidates:
            evaluation = agreed(layer, machine, objective, one.mapping, one.value)
            value = objective_value(evaluation, objective)
            least = self.optimum.proof.value
            above = max(0.0, value / least - 1) if least else 0.0
            if above < TIE:
                above = 0.0
            flow = dataflow(one.mapping, layer, machine)
            found.append(Alternative((one.kind,), evaluation, value, above, flow, one.proven))
        return sorted(found, key=lambda one: one.value)

    @property
    def respects(self) -> tuple[Otherwise, ...]:
        """The best mappings that work otherwise, by what they do otherwise."""
        return (self.by_sets, self.by_kept, self.by_stationary)

    def runner_ups(self) -> tuple[Alternative, ...]:
        """Return the best mapping of each kind; one that is the best of two kinds stands once."""
        found = self.alternatives([*self.sets.candidates, *self.bypasses.candidates])
        merged: dict[object, Alternative] = {}
        for one in found:
            # the best of a bypass choice and the best of a set are the same where both agree
            kind = (tuple(one.dataflow.stored.items()), one.dataflow.spatial)
            if kind in merged:
                first = merged[kind]
                kinds = tuple(sorted({*first.kinds, *one.kinds}))
                merged[kind] = Alternative(
                    kinds, first.evaluation, first.value, first.above, first.dataflow,
                    first.proven and one.proven,
                )  # fmt: skip
            else:
                merged[kind] = one
        return tuple(merged.values())

    def otherwise(self) -> tuple[Alternative, ...]:
        """Return the best mappings with another dataflow, the better one first."""
        found = [respect.candidate for respect in self.respects]
        return tuple(self.alternatives([one for one in found if one is not None]))

    def left(self) -> list[str]:
        """Return in words what is not proven."""
        facts = [str(one.limit) for one in self.relaxed.values() if not one.proven]
        result = [f"the gain of {', '.join(facts)}"] if facts else []
        if not (self.bypasses.complete and self.sets.complete):
            result.append("that no runner-up is missing and each is the best of its kind")
        if not all(respect.complete for respect in self.respects):
            result.append("the nearest other dataflow")
        return result


def unchanged(limit: RelaxedLimit, optimum: LayerResult, reason: str | None) -> Relaxed:
    """Return what is known of a limit before it is relaxed: all, if there is a reason."""
    value = optimum.proof.value
    proven = reason is not None
    most = 0.0 if proven else 1.0
    return Relaxed(
        limit=limit,
        value=value,
        lower_bound=value if proven else 0.0,
        gain=0.0,
        most_gain=most,
        proven=proven,
        reason=reason,
    )


def relax(limit: RelaxedLimit, optimum: LayerResult, stop: Stop) -> Relaxed:
    """Find the best mapping of the machine with one limit relaxed, if it is better."""
    least = optimum.proof.value
    search = Search(optimum.layer, limit.relaxed, optimum.objective)
    # what the machine can do the relaxed one can, too: only what is better counts
    search.best[:2] = least, -inf
    found = search.solve(stop)
    bound = least if found.finished and found.mapping is None else min(found.bound, least)
    if found.mapping is None:
        most = (least - bound) / least if least else 0.0
        return Relaxed(limit, least, bound, 0.0, most, found.finished)
    evaluation = agreed(optimum.layer, limit.relaxed, optimum.objective, found.mapping, found.value)
    value = objective_value(evaluation, optimum.objective)
    bound = value if found.finished else min(bound, value)
    return Relaxed(
        limit, value, bound, (least - value) / least, (least - bound) / least, found.finished,
        evaluation=evaluation,
    )  # fmt: skip

"""Compile the kernels of the search before they are needed, on several processors."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
from math import inf
from pathlib import Path
from typing import Any

import numpy as np

from tilewright.kernels.announcement import announce
from tilewright.kernels.on_disk.folders import folder_of
from tilewright.processes import other_process

# the walk alone needs no tables under this constraint; it excludes nothing
WITHOUT_TABLES = "GLB.even=true"


def is_compiled() -> bool:
    """Whether there is machine code of the search as it stands in the source."""
    from tilewright.mapper.engine import expand as walk
    from tilewright.mapper.relaxations.joint import interior_point
    from tilewright.mapper.relaxations.nests import together as nest_together

    kernels: tuple[Any, ...] = (
        walk.expand,
        nest_together.least_together,
        interior_point.converge,
    )
    if not can_keep():
        return all(kernel.signatures for kernel in kernels)
    return all(kernel._cache.is_there for kernel in kernels)


def can_keep() -> bool:
    """Whether machine code can be kept for other processes."""
    return folder_of(str(Path(__file__).parent)) is not None


def compile_kernels() -> None:
    """Compile in several processes, for Numba compiles one function at a time in each.

    This one finds on disk what they have compiled. Where nothing can be kept there, it compiles
    alone.
    """
    announce()
    if not (sys.executable and can_keep()):
        for compile_share in SHARES.values():
            compile_share()
        return
    others = [other_process(__name__, share, subprocess.DEVNULL) for share in SHARES]
    try:
        for other in others:
            other.wait()
    finally:
        for other in others:
            other.kill()


def compile_search() -> None:
    """Search a tiny layer, with tables of bounds and without, anneal, and polish what is found.

    Annealing gives a search that is ended by its time limit a mapping, so it must not have to be
    compiled then.
    """
    from tilewright.mapper.problem.space_size import mappings_in_space

    layer, machine = tiny_problem(WITHOUT_TABLES)
    search(layer, machine).solve()
    mappings_in_space(layer, machine)
    tiny = search(*tiny_problem(None))
    plan = next(iter(tiny.plans()))
    for jointly in (False, True):
        tiny.tables.fill(plan, np.diff(tiny.space.unroll_start), jointly, inf)
    tiny.anneal(1, 1, lambda: False)


def compile_model() -> None:
    """Evaluate a mapping of a tiny layer, change its tile sizes, and add up prices of words."""
    from tilewright.mapper.objective.objective import parse_objective
    from tilewright.mapper.relaxations.stays.least_of_orders import least_sums
    from tilewright.mapper.search.all_sizes.climbing import climb
    from tilewright.mapping.nodes import For, Mapping, Store
    from tilewright.model.evaluate import evaluate

    layer, machine = tiny_problem(None)
    everything = tuple(tensor.name for tensor in layer.tensors)
    mapping = Mapping((Store("DRAM", everything), For("P", 1)))
    evaluate(layer, machine, mapping)
    climb(layer, machine, parse_objective("edp"), mapping, lambda: False)
    one = np.ones(1)
    least_sums(one[None], one[None], one)


def compile_bounds() -> None:
    """Find the lower bounds of all tile sizes for a tiny layer."""
    from tilewright.mapper.objective.objective import parse_objective
    from tilewright.mapper.problem.bypass_choices import keep_choices
    from tilewright.mapper.relaxations.nests.regular_bound import tightened
    from tilewright.mapper.relaxations.stays.least_cost import Least
    from tilewright.mapper.search.all_sizes.bounds_of_all_sizes import RegularBounds, closed_form

    (layer, machine), goal = tiny_problem(None), parse_objective("edp")
    keep = next(iter(keep_choices(layer, machine)))
    tightened(Least(layer, machine), [(1.0, keep)], goal, inf, lambda: False)
    bounds = RegularBounds(closed_form(layer, machine, goal), goal)
    bounds.lower_jointly(inf, lambda: False, 1)


def tiny_problem(constraint: str | None) -> tuple[Any, Any]:
    """Return a tiny convolution and a machine, under a constraint."""
    from tilewright.architecture.files import load_architecture
    from tilewright.mapping.constraints import under
    from tilewright.mapping.given import given_constraints
    from tilewright.workload.operators import conv2d

    layer = conv2d(K=2, C=2, P=2, Q=2, R=2, S=2)
    machine = load_architecture("simple")
    return layer, under(machine, given_constraints(constraint, machine, [layer]))


def search(layer: Any, machine: Any) -> Any:
    """Return a search of the tiny problem."""
    from tilewright.mapper.search.search import Search

    return Search(layer, machine, "edp")


# with few kernels in common; two processors are busy with three until the end
SHARES = {"search": compile_search, "bounds": compile_bounds, "model": compile_model}

if __name__ == "__main__":
    gc.disable()  # Numba keeps most of the millions of objects that it makes
    SHARES[sys.argv[1]]()
    os._exit(0)  # to free them one by one would take a second

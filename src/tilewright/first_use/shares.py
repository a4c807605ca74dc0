"""The kernels of each part of the package, compiled by a tiny use of them."""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Callable
from math import inf
from typing import Any

import numpy as np

# the walk alone needs no tables under this constraint; it excludes nothing
WITHOUT_TABLES = "GLB.even=true"

SPACE = """
name: tiny
parameters: {size: [64 KiB, 128 KiB]}
machine:
  technology: cacti7-45nm
  levels:
    - {memory: DRAM, kind: LPDDR4, word: 16 bits, bandwidth: 8}
    - {memory: GLB, size: $size, word: 16 bits, width: 64 bits, bandwidth: 16}
    - {array: PE, axes: {X: 4, Y: 4}}
    - {memory: RF, size: 64 B, word: 16 bits, keep: [weight]}
    - {compute: MAC}
"""


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


def compile_memory_sizes() -> None:
    """Find the cost for every size of a memory."""
    from tilewright.api.mapper.tradeoffs import frontier

    frontier(small_layer(), "simple", over=["GLB"])


def compile_pipelined() -> None:
    """Find the best even mapping under pipelined latency."""
    from tilewright.mapper.pipelined.best_even import EvenSearch

    EvenSearch(*tiny_problem(None), "latency").solve()


def compile_traffic() -> None:
    """Find the least off-chip traffic, that of the array counted and not."""
    from tilewright.api.offchip import least_traffic

    layer, _ = tiny_problem(None)
    for weight in (0.0, 1.0):
        least_traffic(layer, weight=weight)


def compile_layout() -> None:
    """Find the best data layout."""
    from tilewright.api.layout import best_layout

    best_layout(small_layer(), "marvel-p1")


def compile_comparison() -> None:
    """Remember which mappings a strategy has drawn."""
    from tilewright.strategies.candidates.seen import Seen

    Seen().add(np.ones(1, np.uint64))


def compile_exploration() -> None:
    """Bound what a layer costs on the machines of a tiny design space."""
    from tilewright.document import parse
    from tilewright.exploration.bounds.quick import QuickBounds
    from tilewright.exploration.bounds.totals import Runs
    from tilewright.exploration.designs.reading import parse_space
    from tilewright.exploration.designs.space import Box

    quick = QuickBounds(parse_space(parse(SPACE, "space.yaml")), [small_layer()], energy=True)
    row = quick.numbers.of(Box(((0, 2),)))
    assert row is not None
    for maximum in (False, True):
        Runs([1.0], [[1]], maximum).least(*quick.floors(row, lambda _: False))


def small_layer() -> Any:
    """Return a convolution with tile sizes to choose from."""
    from tilewright.workload.operators import conv2d

    return conv2d(K=8, C=8, P=8, Q=8, R=3, S=3)


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


def compile_for_search() -> None:
    """Compile what the search of a layer needs."""
    compile_model()
    compile_search()
    compile_bounds()


# Those of a group share many of their parts, which a process compiles once. The longest come first.
GROUPS: tuple[tuple[Callable[[], None], ...], ...] = (
    (compile_model, compile_search, compile_memory_sizes),
    (compile_bounds,),
    (compile_traffic,),
    (compile_exploration,),
    (compile_pipelined,),  # finds what `compile_model` has kept
    (compile_layout, compile_comparison),
)


def compile_what_waits() -> None:
    """Compile one group after the other: each byte of the standard input says which."""
    while claimed := os.read(sys.stdin.fileno(), 1):
        for share in GROUPS[claimed[0]]:
            share()


if __name__ == "__main__":
    gc.disable()  # Numba keeps most of the millions of objects that it makes
    compile_what_waits()
    os._exit(0)  # to free them one by one would take a second

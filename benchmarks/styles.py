"""How long a whole network with a mapping style takes, all statistics included.

python -m benchmarks.styles
"""

from __future__ import annotations

from collections.abc import Callable
from statistics import median
from time import perf_counter, process_time

import tilewright
from benchmarks import Section
from tilewright.interop.maestro.styles import style_names
from tilewright.model.count import plan, shape_plan
from tilewright.model.results.network import NetworkEvaluation

RUNS = 9
NETWORK, MACHINE = "resnet50", "maestro-256"


def with_statistics(style: str) -> NetworkEvaluation:
    """Translate a style for every layer, evaluate it, and compute all statistics."""
    found = tilewright.evaluate_network(network, machine, style)
    for layer in found.layers:
        assert layer.statistics.to_dict()
    return found


network = tilewright.load_network(NETWORK)
machine = tilewright.load_architecture(MACHINE)


def forget() -> None:
    """Throw away what was compiled for mapping structures."""
    plan.cache_clear()
    shape_plan.cache_clear()


def timed(work: Callable[[], object], before: Callable[[], None] | None) -> tuple[float, float]:
    """Return the best CPU time and the median wall time of several runs, in ms."""
    cpu, wall = [], []
    for _ in range(RUNS):
        if before is not None:
            before()
        begin, begin_wall = process_time(), perf_counter()
        work()
        cpu.append((process_time() - begin) * 1e3)
        wall.append((perf_counter() - begin_wall) * 1e3)
    return min(cpu), median(wall)


def section() -> Section:
    """Return the table."""
    rows = []
    for style in style_names():
        with_statistics(style)  # loads the compiled kernels
        first, again = (
            timed(lambda style=style: with_statistics(style), before) for before in (forget, None)
        )
        rows.append((style, *(f"{value:.1f}" for value in (*first, *again))))
    layers = sum(layer.repeat for layer in network.layers)
    return Section(
        f"Mapping styles: {NETWORK} on {MACHINE}, {layers} layers ({len(network.layers)} different "
        "ones, each evaluated once), ms",
        ("style", "first, CPU best", "first, wall median", "again, CPU best", "again, wall median"),
        tuple(rows),
        "Translation, validity, counts, energy, throughput latency and all statistics. The first "
        "time mapping structures are compiled, once for all layers of a shape; later they are "
        "known.",
    )


if __name__ == "__main__":
    print(section().markdown())

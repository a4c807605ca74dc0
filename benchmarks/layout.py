"""What off-chip tiles, exact blocks and the decoupled search take."""

from __future__ import annotations

from itertools import pairwise
from time import process_time

from benchmarks import Section
from tilewright.architecture.files import load_architecture
from tilewright.layout.choose import tiles_of
from tilewright.layout.dmc import Cost
from tilewright.strategies.searches.decoupled import Decoupled
from tilewright.strategies.steps import Problem
from tilewright.workload.network import load_network, select

MACHINE = "marvel-p1"
CASES = (
    ("resnet50", "conv1"),
    ("resnet50", "conv2_1.expand"),
    ("resnet50", "conv4_2.3x3"),
    ("resnet50", "fc"),
    ("mobilenet_v2", "block1.depthwise"),
    ("vgg16", "conv1_2"),
)


def section() -> Section:
    """Return the table."""
    machine = load_architecture(MACHINE)
    rows = []
    for network, name in CASES:
        layer = select(load_network(network), name)
        cost = Cost(layer, machine)
        whole = [d for d in ("R", "S") if d in layer.dimensions]
        times: list[float] = []
        for _ in range(2):  # the first one loads the kernels
            times = [process_time()]
            best = tiles_of(cost, whole=whole).best()
            times.append(process_time())
            layouts = len(list(tiles_of(cost, whole=whole).each_layout()))
            times.append(process_time())
            free = tiles_of(cost, whole=whole, integers=True).best()
            times.append(process_time())
            blocks = best.total_blocks
            times.append(process_time())
            found = Decoupled().search(Problem(layer, machine, "energy"), best)
            times.append(process_time())
        spent = [f"{b - a:.3g}" for a, b in pairwise(times)]
        rows.append(
            (
                f"{network} {name}",
                *spent[:2],
                str(layouts),
                spent[2],
                f"{best.value / free.value - 1:.1%}",
                spent[3],
                f"{blocks:,}",
                spent[4],
                f"{found.evaluated:,}",
            )
        )
    return Section(
        f"Off-chip tiles and decoupled search, CPU s of one core, {MACHINE}",
        (
            "layer", "divisors", "every layout", "layouts", "integers", "gain", "exact blocks",
            "blocks", "on-chip", "mappings",
        ),
        tuple(rows),
        "Filters are whole. Exact blocks include the best order of the other axes.",
    )  # fmt: skip

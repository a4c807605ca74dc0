"""What the proof of the least off-chip traffic costs, on the layers and the machine of CNNFlow."""

from __future__ import annotations

from time import perf_counter, process_time

import tilewright as tw
from benchmarks import Section

# AlexNet with batch 4 and VGG-16 with batch 3 on 27 banks of 4 KiB, 16-bit words
LAYERS = {
    "AlexNet conv2": tw.conv2d(N=4, K=256, C=48, P=27, Q=27, R=5, S=5),
    "AlexNet conv3": tw.conv2d(N=4, K=384, C=256, P=13, Q=13, R=3, S=3),
    "VGG-16 conv1_2": tw.conv2d(N=3, K=64, C=64, P=224, Q=224, R=3, S=3),
    "VGG-16 conv2_2": tw.conv2d(N=3, K=128, C=128, P=112, Q=112, R=3, S=3),
    "VGG-16 conv3_2": tw.conv2d(N=3, K=256, C=256, P=56, Q=56, R=3, S=3),
    "VGG-16 conv4_2": tw.conv2d(N=3, K=512, C=512, P=28, Q=28, R=3, S=3),
    "VGG-16 conv5_1": tw.conv2d(N=3, K=512, C=512, P=14, Q=14, R=3, S=3),
}


WEIGHT = 0.03  # DRAM words that a word between memory and array is worth


def section() -> Section:
    """Return the times to proof, of DRAM words alone and with those of 12 x 14 elements.

    The kernels are compiled before.
    """
    rows = []
    for weight, counted in ((0.0, "DRAM"), (WEIGHT, "DRAM and array")):
        small = tw.conv1d(K=2, C=2, P=4, R=2)
        tw.least_traffic(small, banks=4, bank="4 words", weight=weight)
        rows += [timed(name, layer, weight, counted) for name, layer in LAYERS.items()]
    return Section(
        "Least off-chip traffic with retention, one core, 27 banks of 4 KiB",
        ("layer", "words", "s", "CPU s", "nodes", "simulated nests", "DRAM words", "gap"),
        tuple(rows),
        "Nodes are beginnings of loop nests that were bounded. With the array, 12 x 14 elements of "
        f"260 registers, a word between memory and array is worth {WEIGHT} DRAM words.",
    )


def timed(name: str, layer: tw.Layer, weight: float, counted: str) -> tuple[str, ...]:
    """Return the row of a layer."""
    begin, cpu = perf_counter(), process_time()
    (found,) = tw.least_traffic(layer, weight=weight).layers
    return (
        name,
        counted,
        f"{perf_counter() - begin:.3g}",
        f"{process_time() - cpu:.3g}",
        f"{found.nodes:,}",
        f"{found.simulated:,}",
        f"{found.dram_words:,}",
        f"{found.gap:.1%}",
    )

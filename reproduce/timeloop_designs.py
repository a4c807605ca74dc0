"""Timeloop's case studies of NVDLA, DianNao and Eyeriss (ISPASS 2019, VIII-A and VIII-D).

python -m reproduce.timeloop_designs [--write]

Prints the tables of docs/reproductions/timeloop-designs.md; with --write puts them into that page.
The searches take some CPU minutes.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from itertools import pairwise
from math import log10, prod
from pathlib import Path
from statistics import median

from docs.pictures import Picture

import tilewright
from reproduce.pages import Rows, publish
from reproduce.timeloop_eyeriss import LAYERS as ALEXNET
from reproduce.timeloop_machines import diannao, eyeriss, nvdla
from tilewright import Architecture, Evaluation, Layer
from tilewright.mapper.network.solution_key import likeness
from tilewright.model.energy import area
from tilewright.workload.footprint import footprint

PAGE = Path(__file__).parents[1] / "docs" / "reproductions" / "timeloop-designs.md"
FIGURE = PAGE.parents[1] / "assets" / "timeloop-reuse.svg"
TECHNOLOGY = "cacti7-22nm"
BUFFER = "512 KiB"  # as many words as the 256 KiB of 8 bits that the primer gives
SUITES = ("deepbench_conv", "deepbench_gemm", "deepbench_rnn")
LARGEST = 2**28  # operations of a convolution: larger ones take minutes each
REUSE = (0, 2, 5, 20, 100, 500, 10_000)
SHOWN = ("151x40_c1_k32_20x5_s2x8_n1", "7x7_c512_k512_3x3_n1")
CONVOLUTIONS = tilewright.load_workload("deepbench_conv").layers
LAYERS = (*ALEXNET[:3], *(each for each in CONVOLUTIONS if each.name in SHOWN))


@cache
def best(layer: Layer, machine: Architecture) -> Evaluation:
    """Return the mapping with the least energy-delay product, proven."""
    (found,) = tilewright.map(layer, machine, "edp", tiles="divisors", workers=1).layers
    assert found.proof.optimal, layer.name
    return found.evaluation


@cache
def characterization() -> tuple[Evaluation, ...]:
    """Return the best mapping of each workload of DeepBench on NVDLA."""
    machine = nvdla(TECHNOLOGY, buffer=BUFFER)
    return tuple(best(layer, machine) for layer in workloads())


def workloads() -> list[Layer]:
    """Return the workloads of DeepBench; of convolutions those of one image, and not too large."""
    every = [layer for suite in SUITES for layer in tilewright.load_workload(suite).layers]
    some = [
        layer for layer in every
        if "P" not in layer.bounds
        or (layer.bounds.get("N", 1) == 1 and layer.operations <= LARGEST)
    ]  # fmt: skip
    return list({likeness(layer): layer for layer in some}.values())


def reuse(found: Evaluation) -> float:
    """Return operations per word of all tensors, each counted once: the algorithmic reuse."""
    layer = found.layer
    return found.operations / sum(footprint(each, layer.bounds) for each in layer.tensors)


def over_arithmetic(found: Evaluation) -> float:
    """Return the whole energy over that of the multiply-accumulates."""
    return found.energy_pj / found.compute.energy_pj


def dram_share(found: Evaluation) -> float:
    """Return which share of the energy off-chip accesses take."""
    return found.memories["DRAM"].energy_share


def channels(layer: Layer) -> tuple[int, int]:
    """Return how many input and output channels a layer has; of products, terms and rows."""
    names = ("C", "K") if "P" in layer.bounds else ("K", "M")
    return layer.bounds[names[0]], layer.bounds[names[1]]


def by_reuse() -> Rows:
    """Return energy over that of the arithmetic, and the share of DRAM, for classes of reuse."""
    rows: Rows = [
        ("operations per word", "workloads", "energy / arithmetic: median", "least", "most",
         "DRAM share: median", "least", "most"),
    ]  # fmt: skip
    for low, high in pairwise(REUSE):
        own = [each for each in characterization() if low <= reuse(each) < high]
        if not own:
            continue
        ratios, shares = [over_arithmetic(x) for x in own], [dram_share(x) for x in own]
        rows.append((
            f"{low} to {high}", str(len(own)), f"{median(ratios):.3g}", f"{min(ratios):.3g}",
            f"{max(ratios):.3g}", f"{median(shares):.0%}", f"{min(shares):.0%}",
            f"{max(shares):.0%}",
        ))  # fmt: skip
    return rows


def by_channels() -> Rows:
    """Return which share of the multipliers works, for few and for many channels."""
    rows: Rows = [("input channels", "output channels", "workloads", "utilization: median",
                   "least", "most", "below 0.9")]  # fmt: skip
    classes = {
        ("at least 64", "at least 16"): lambda c, k: c >= 64 and k >= 16,
        ("fewer than 64", "any"): lambda c, k: c < 64,
        ("at least 64", "fewer than 16"): lambda c, k: c >= 64 and k < 16,
    }
    for (inputs, outputs), belongs in classes.items():
        own = [e.utilization for e in characterization() if belongs(*channels(e.layer))]
        if own:
            low = sum(each < 0.9 for each in own)
            rows.append((inputs, outputs, str(len(own)), f"{median(own):.2f}", f"{min(own):.2f}",
                         f"{max(own):.2f}", str(low)))  # fmt: skip
    return rows


def largest(machine: Callable[[int], Architecture], limit: float, most: int) -> int:
    """Return the largest number of units of memory with which a machine is within an area."""
    low, high = 1, most
    while low < high:
        half = (low + high + 1) // 2
        low, high = (half, high) if area(machine(half)) <= limit else (low, half - 1)
    return low


@cache
def machines() -> dict[str, Architecture]:
    """Return the five machines; those with 1024 elements have the area of NVDLA."""
    reference = nvdla(TECHNOLOGY, buffer=BUFFER)

    def scaled_diannao(units: int) -> Architecture:
        return diannao(TECHNOLOGY, side=32, own=128 * units)

    def scaled_eyeriss(units: int) -> Architecture:
        return eyeriss(TECHNOLOGY, columns=32, rows=32, buffer=f"{units} KiB")

    limit = area(reference)
    return {
        "NVDLA": reference,
        "DianNao 256": diannao(TECHNOLOGY),
        "DianNao 1024": scaled_diannao(largest(scaled_diannao, limit, 1024)),
        "Eyeriss 256": eyeriss(TECHNOLOGY),
        "Eyeriss 1024": scaled_eyeriss(largest(scaled_eyeriss, limit, 1024)),
    }


def areas() -> Rows:
    """Return memories and areas of the machines."""
    rows: Rows = [("machine", "elements", "memories", "area (mm2)")]
    for name, machine in machines().items():
        elements = prod(array.elements for array in machine.arrays)
        sizes = ", ".join(
            f"{m.name} {(m.capacity_bits or 0) / 8:,.0f} B" for m in machine.memories[1:]
        )
        rows.append((name, str(elements), sizes, f"{area(machine):.3f}"))
    return rows


def energies() -> Rows:
    """Return energy per operation on every machine."""
    return compared(lambda found: f"{found.energy_pj / found.operations:.3g}")


def speeds() -> Rows:
    """Return operations per cycle on every machine."""
    return compared(lambda found: f"{found.operations_per_cycle:.0f}")


def compared(measure: Callable[[Evaluation], str]) -> Rows:
    """Return a row for each layer and a column for each machine."""
    rows: Rows = [("layer", *machines())]
    for layer in LAYERS:
        rows.append((layer.name, *(measure(best(layer, each)) for each in machines().values())))
    return rows


TABLES = {
    "reuse": by_reuse, "channels": by_channels, "areas": areas, "energies": energies,
    "speeds": speeds,
}  # fmt: skip


def figure() -> Picture:
    """Draw energy over that of the arithmetic, a bar for each workload, by algorithmic reuse."""
    width, height, left, bottom = 560, 200, 60, 230
    found = sorted(characterization(), key=reuse)
    picture = Picture("Energy over arithmetic energy of DeepBench on NVDLA", 640, 290)
    most = max(map(over_arithmetic, found))

    def up(ratio: float) -> float:
        return height * log10(ratio) / log10(most)

    for i, each in enumerate(found):
        x, step = left + width * i / len(found), width / len(found)
        whole, chip = over_arithmetic(each), over_arithmetic(each) * (1 - dram_share(each))
        picture.box(x, bottom - up(whole), step, up(whole) - up(chip), "W")
        picture.box(x, bottom - up(chip), step, up(chip), "I")
    for power in range(int(log10(most)) + 1):
        picture.text(left - 8, bottom - up(10**power) + 5, f"{10**power}", "dim", "end")
    picture.text(left, 18, "energy / arithmetic energy; orange: with DRAM, blue: without")
    for place in range(5):
        i = min(len(found) - 1, place * len(found) // 4)
        picture.text(left + width * place / 4, bottom + 20, f"{reuse(found[i]):.3g}", "dim",
                     "middle")  # fmt: skip
    picture.text(left + width / 2, bottom + 44, "operations per word, workloads in this order",
                 anchor="middle")  # fmt: skip
    return picture


def main() -> None:
    """Print the tables, and put them and the figure into the page with --write."""
    if publish(TABLES, PAGE):
        FIGURE.write_text(figure().svg(), encoding="utf-8")


if __name__ == "__main__":
    main()

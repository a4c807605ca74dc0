"""Reproduces the tables of CNNFlow and writes them into docs/reproductions/cnnflow.md.

Q. Nie, S. Malik, CNNFlow: Memory-driven Data Flow Optimization for Convolutional Neural Networks,
ACM TODAES 28(3), 2023. Run it with `python reproduce/cnnflow.py`; names of sections make only
these anew.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from math import floor
from pathlib import Path
from time import perf_counter

import tilewright as tw
from tilewright.architecture.reading import parse_architecture
from tilewright.document import parse
from tilewright.errors import InputError
from tilewright.offchip.arrays.extents import Elements
from tilewright.offchip.nest import read_nest
from tilewright.offchip.spills.belady import trace
from tilewright.offchip.weighted import WeightedFound, search_weighted

PAGE = Path(__file__).parents[1] / "docs" / "reproductions" / "cnnflow.md"
SECTION = re.compile(r"<!-- begin (?P<name>\S+) -->\n.*?<!-- end (?P=name) -->", re.DOTALL)
SECONDS = 30.0  # for each layer
FIGURE_SECONDS = 5.0  # for each layer and size of Fig. 14
MIB = 2**20 / 2  # words of 16 bits
BANKS_PER_MBIT = 2**20 // 8 // 4096

# name: (shape, tensor size in MB, DRAM accesses in MB, minutes), Tables 1 and 2. Layers in two
# groups are taken as one group of c/g input channels, as the published sizes are
ALEXNET = {
    "Conv1": (tw.conv2d(N=4, K=96, C=3, P=55, Q=55, R=11, S=11, stride=4), 3.58, 3.58, 16.8),
    "Conv2": (tw.conv2d(N=4, K=256, C=48, P=27, Q=27, R=5, S=5), 2.36, 4.13, 7.6),
    "Conv3": (tw.conv2d(N=4, K=384, C=256, P=13, Q=13, R=3, S=3), 2.62, 4.78, 4.7),
    "Conv4": (tw.conv2d(N=4, K=384, C=192, P=13, Q=13, R=3, S=3), 2.09, 3.69, 4.8),
    "Conv5": (tw.conv2d(N=4, K=256, C=192, P=13, Q=13, R=3, S=3), 1.50, 2.48, 3.5),
}


def vgg(k: int, c: int, size: int, batch: int = 3) -> tw.Layer:
    """Return a 3x3 layer of VGG-16."""
    return tw.conv2d(N=batch, K=k, C=c, P=size, Q=size, R=3, S=3)


VGG = {
    "Conv11": (vgg(64, 3, 224), 19.25, 19.25, 3.3),
    "Conv12": (vgg(64, 64, 224), 37.14, 37.99, 10.1),
    "Conv21": (vgg(128, 64, 112), 14.08, 19.19, 7.4),
    "Conv22": (vgg(128, 128, 112), 18.98, 47.55, 18.8),
    "Conv31": (vgg(256, 128, 56), 7.62, 24.17, 12.6),
    "Conv32": (vgg(256, 256, 56), 10.64, 45.47, 53.8),
    "Conv33": (vgg(256, 256, 56), 10.64, 45.57, 53.8),
    "Conv41": (vgg(512, 256, 28), 5.86, 24.52, 22.0),
    "Conv42": (vgg(512, 512, 28), 9.43, 46.91, 45.4),
    "Conv43": (vgg(512, 512, 28), 9.43, 46.91, 46.3),
    "Conv51": (vgg(512, 512, 14), 5.82, 11.81, 7.71),
    "Conv52": (vgg(512, 512, 14), 5.82, 11.81, 7.71),
    "Conv53": (vgg(512, 512, 14), 5.82, 11.81, 7.71),
}
# total SRAM accesses in MB, Tables 1 and 2
SRAM_WORDS = {
    "Conv1": 16.48, "Conv2": 29.35, "Conv3": 37.69, "Conv4": 28.27, "Conv5": 18.85,
    "Conv11": 38.54, "Conv12": 135.35, "Conv21": 85.87, "Conv22": 171.75, "Conv31": 78.75,
    "Conv32": 209.50, "Conv33": 209.50, "Conv41": 91.14, "Conv42": 186.08, "Conv43": 186.08,
    "Conv51": 50.30, "Conv52": 50.30, "Conv53": 50.30,
}  # fmt: skip
# energy of a word from the buffer over one from DRAM: 6 and 200, Y.-H. Chen et al., Eyeriss: A
# Spatial Architecture for Energy-Efficient Dataflow, ISCA 2016, Table IV
WEIGHT = 6 / 200
ARRAY_SECONDS = 60.0  # for each layer
BANKS, BANK_WORDS = 27, 2048
FEW_LAYERS = ("Conv5", "Conv31", "Conv51")
FEW_REGISTERS = (16, 64)
EYERISS_ALEXNET = 22.9  # Table 1, DRAM accesses of Eyeriss in MB
ONLY_DRAM = """
name: only-dram
levels:
  - {memory: DRAM, word: 16 bits, energy: {read: 1, write: 1}}
  - {memory: SRAM, size: 108 KiB, word: 16 bits, energy: {read: 0, write: 0}}
  - {compute: MAC, energy: 0}
"""
known: dict[tuple[object, ...], tw.LayerTraffic] = {}


def least(layer: tw.Layer, banks: int = 27, seconds: float = SECONDS) -> tw.LayerTraffic:
    """Return the least traffic of a layer; shapes that occur again are searched once."""
    key = (layer.einsum, tuple(layer.bounds.items()), banks)
    if key not in known:
        known[key] = tw.least_traffic(layer, banks=banks, time_limit=seconds).layers[0]
    return known[key]


def mib(words: float) -> str:
    """Return words of 16 bits in MiB, cut off after two decimals as in the paper."""
    return f"{floor(words / MIB * 100) / 100:.2f}"


def schedule(found: tw.LayerTraffic) -> str:
    """Return loops and banks in a few characters."""
    loops = " ".join(f"{loop.dimension}:{loop.block}" for loop in found.loops)
    banks = "/".join(str(tensor.banks) for tensor in found.tensors.values())
    return f"`{loops}`, {banks}"


def simulated(found: tw.LayerTraffic) -> str:
    """Run the simulation of the whole trace for each tensor; say for how many it agrees."""
    nest = read_nest(found.layer)
    loops = [(nest.dimensions.index(loop.dimension), loop.block) for loop in found.loops]
    agree = 0
    for t, tensor in enumerate(found.tensors.values()):
        try:
            spilled = trace(nest, t, loops).spills(tensor.banks * found.memory.bank_words)
        except InputError:
            continue
        assert spilled == tensor.spilled, (found, tensor)
        agree += 1
    return f"{agree} of {len(found.tensors)}"


def rows(header: str, lines: list[str]) -> str:
    """Return a Markdown table; the first column is text, the others are numbers."""
    rule = "| --- |" + " ---: |" * (header.count("|") - 2)
    return "\n".join([header, rule, *lines])


def total(name: str, sizes: int, published: float, words: int) -> str:
    """Return a row of sums: sizes and DRAM accesses in words, the paper's accesses in MiB."""
    return (
        f"| {name} | | {mib(sizes)} | {published:.2f} | {mib(words)} | "
        f"{1 - words / MIB / published:.1%} less | | | | | | |"
    )


def table(layers: dict[str, tuple[tw.Layer, float, float, float]], other: str | None = None) -> str:
    """Return one of the paper's tables beside what is found here.

    `other` is a layer whose shape is not the paper's: there is a total without it.
    """
    lines, published, ours, sizes = [], 0.0, 0, 0
    for name, (layer, size, dram, minutes) in layers.items():
        found = least(layer)
        # the published value is cut off, and one in the last place is lost where layers add up
        verdict = "equal" if mib(found.dram_words) == f"{dram:.2f}" else (
            f"{1 - found.dram_words / MIB / dram:.1%} less"
        )  # fmt: skip
        assert found.dram_words / MIB < dram + 0.01, name
        proven = "proven" if found.optimal else f"gap {found.gap:.3%}"
        lines.append(
            f"| {name} | {size:.2f} | {mib(found.compulsory)} | {dram:.2f} | "
            f"{mib(found.dram_words)} | {verdict} | {proven} | {minutes:g} min | "
            f"{found.seconds:.1f} s | {found.nodes:,} | {schedule(found)} | {simulated(found)} |"
        )
        published, ours, sizes = (
            published + dram, ours + found.dram_words, sizes + found.compulsory,
        )  # fmt: skip
    lines.append(total("total", sizes, published, ours))
    if other is not None:
        layer, _, dram, _ = layers[other]
        found = least(layer)
        sums = sizes - found.compulsory, published - dram, ours - found.dram_words
        lines.append(total(f"total without {other}", *sums))
    return rows(
        "| layer | tensors, paper | tensors | DRAM, paper | DRAM | less | | time, paper | time | "
        "nodes | schedule, banks I/W/O | simulated |",
        lines,
    )


def alexnet() -> str:
    """Return Table 1; the published sizes of Conv1 are those of a 56x56 output."""
    return table(ALEXNET, other="Conv1")


def vgg16() -> str:
    """Return Table 2."""
    return table(VGG)


def arrays() -> str:
    """Return Tables 1 and 2 with the words of the array, when both count."""
    compile_array()
    lines = []
    sums = [0.0, 0.0]
    done: dict[tuple[int, ...], tw.LayerTraffic] = {}
    for name, (layer, _, dram, _) in (ALEXNET | VGG).items():
        shape = tuple(layer.bounds.values())
        if shape not in done:
            done[shape] = tw.least_traffic(layer, weight=WEIGHT, time_limit=ARRAY_SECONDS).layers[0]
        found = done[shape]
        assert found.array is not None
        published = dram + WEIGHT * SRAM_WORDS[name]
        sums = [sums[0] + published, sums[1] + found.value / MIB]
        sides = " x ".join(
            "+".join(f"{dim}{n}" for dim, n in side.items())
            for side in (found.array.rows, found.array.columns)
        )
        box = " ".join(f"{dim}{n}" for dim, n in found.array.box.items() if n > 1)
        lines.append(
            f"| {name} | {dram:.2f} | {mib(found.dram_words)} | {SRAM_WORDS[name]:.2f} | "
            f"{mib(found.array_words)} | {published:.2f} | {mib(found.value)} | "
            f"{found.value / MIB / published - 1:+.1%} | {standing(found.gap)} | "
            f"{found.seconds:.1f} s | {schedule(found)}; {sides}; {box} |"
        )
    lines.append(
        f"| total | | | | | {sums[0]:.2f} | {sums[1]:.2f} | {sums[1] / sums[0] - 1:+.1%} | | | |"
    )
    return rows(
        "| layer | DRAM, paper | DRAM | SRAM, paper | SRAM | sum, paper | sum | | | time "
        "| schedule, banks I/W/O; array; box |",
        lines,
    )


def equation_2() -> str:
    """Return the least sums when an output that goes on in another block is not read back."""
    compile_array()
    lines = []
    sums = [0.0, 0.0]
    done: dict[tuple[int, ...], tuple[WeightedFound, float]] = {}
    for name, (layer, _, dram, _) in (ALEXNET | VGG).items():
        nest = read_nest(layer)
        shape = tuple(layer.bounds.values())
        if shape not in done:
            begin = perf_counter()
            end = begin + ARRAY_SECONDS
            found = search_weighted(
                nest, BANK_WORDS, BANKS, Elements(12, 14, 260), WEIGHT,
                stop=lambda end=end: perf_counter() >= end, reread=False,
            )  # fmt: skip
            done[shape] = found, perf_counter() - begin
        found, seconds = done[shape]
        assert found.schedule is not None
        total = found.value + int(nest.words.sum())
        published = dram + WEIGHT * SRAM_WORDS[name]
        sums = [sums[0] + published, sums[1] + total / MIB]
        loops = " ".join(f"{nest.dimensions[d]}:{block}" for d, block in found.schedule.loops)
        banks = "/".join(map(str, found.schedule.banks))
        gap = 0.0 if found.bound >= found.below else (found.value - found.bound) / total
        lines.append(
            f"| {name} | {dram:.2f} | {mib(total - WEIGHT * found.words)} | "
            f"{SRAM_WORDS[name]:.2f} | {mib(found.words)} | {published:.2f} | {mib(total)} | "
            f"{total / MIB / published - 1:+.1%} | {standing(gap)} | {seconds:.1f} s | "
            f"`{loops}`, {banks} |"
        )
    lines.append(
        f"| total | | | | | {sums[0]:.2f} | {sums[1]:.2f} | {sums[1] / sums[0] - 1:+.1%} | | | |"
    )
    return rows(
        "| layer | DRAM, paper | DRAM | SRAM, paper | SRAM | sum, paper | sum | | | time "
        "| schedule, banks I/W/O |",
        lines,
    )


def compile_array() -> None:
    """Compile the kernels, which is not timed."""
    small = tw.conv1d(K=2, C=2, P=4, R=2)
    tw.least_traffic(small, banks=4, bank="4 words", weight=WEIGHT)


def standing(gap: float) -> str:
    """Return whether a sum is proven."""
    return f"gap {gap:.1%}" if gap else "proven"


def few_registers() -> str:
    """Return what registers that retain save where they are few."""
    compile_array()
    lines = []
    for name in FEW_LAYERS:
        layer = (ALEXNET | VGG)[name][0]
        for registers in FEW_REGISTERS:
            (found,) = tw.least_traffic(
                layer, weight=WEIGHT, registers=registers, time_limit=ARRAY_SECONDS
            ).layers
            assert found.array is not None
            lines.append(
                f"| {name} | {registers} | {mib(found.array.box_lower_bound)} | {mib(found.value)} "
                f"| {mib(found.lower_bound)} | {found.gap:.1%} | {found.seconds:.1f} s |"
            )
    return rows(
        "| layer | registers | boxes, at least | found | retaining, at least | gap | time |", lines
    )


def retention() -> str:
    """Return what holding more than tiles saves: against the mapper's best tiles."""
    machine = parse_architecture(parse(ONLY_DRAM))
    tw.map(tw.matmul(M=2, N=2, K=2), machine, cache=False, tiles="divisors")  # compiles
    lines = []
    for name, (layer, *_) in (ALEXNET | VGG).items():
        if name in ("Conv33", "Conv43", "Conv52", "Conv53"):
            continue
        found = least(layer)
        searched = tw.map(layer, machine, time_limit=SECONDS, cache=False, tiles="divisors")
        if not searched.layers:
            lines.append(
                f"| {name} | {mib(found.compulsory)} | | none in {SECONDS:g} s | "
                f"{mib(found.dram_words)} | | | {found.seconds:.1f} s |"
            )
            continue
        mapped = searched.layers[0]
        tiles = mapped.evaluation.energy_pj
        proven = "proven" if mapped.proof.optimal else f"gap {mapped.proof.gap:.1%}"
        lines.append(
            f"| {name} | {mib(found.compulsory)} | {mib(tiles)} | {proven} | "
            f"{mib(found.dram_words)} | {1 - found.dram_words / tiles:.2%} | "
            f"{mapped.proof.seconds:.1f} s | {found.seconds:.1f} s |"
        )
    return rows(
        "| layer | compulsory | tiles | | with retention | saved | time, tiles | time, retention |",
        lines,
    )


def sram_sizes() -> str:
    """Return Fig. 14: DRAM traffic of VGG-16 against the size of the memory."""
    lines = []
    for mbit in (0.5, 1, 2, 4, 7, 10, 15, 20):
        banks = int(mbit * BANKS_PER_MBIT)
        cells = [f"{mbit:g}", f"{banks}"]
        for batch in (1, 3):
            layers = [tw.conv2d(**dict(layer.bounds, N=batch)) for layer, *_ in VGG.values()]
            found = [least(layer, banks, FIGURE_SECONDS) for layer in layers]
            total = sum(each.dram_words for each in found)
            compulsory = sum(each.compulsory for each in found)
            cells += [
                mib(total), mib(sum(each.lower_bound for each in found)), mib(compulsory),
                f"{total / compulsory:.3f}",
            ]  # fmt: skip
        lines.append("| " + " | ".join(cells) + " |")
    return rows(
        "| SRAM, Mbit | banks | batch 1 | lower bound | compulsory | ratio "
        "| batch 3 | lower bound | compulsory | ratio |",
        lines,
    )


SECTIONS: dict[str, Callable[[], str]] = {
    "alexnet": alexnet,
    "vgg16": vgg16,
    "arrays": arrays,
    "equation-2": equation_2,
    "registers": few_registers,
    "retention": retention,
    "sram": sram_sizes,
}


def put(name: str, text: str) -> None:
    """Replace a section of the page."""
    made = f"<!-- begin {name} -->\n{text}\n<!-- end {name} -->"
    page = PAGE.read_text(encoding="utf-8")
    page = SECTION.sub(lambda old: made if old["name"] == name else old[0], page)
    PAGE.write_text(page, encoding="utf-8")


def main() -> None:
    """Write the sections into the page."""
    for name in sys.argv[1:] or SECTIONS:
        text = SECTIONS[name]()
        print(text, flush=True)
        put(name, text)


if __name__ == "__main__":
    main()

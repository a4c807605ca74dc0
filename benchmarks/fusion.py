"""Fused layers: chains that AccelForge's fused mapper was run on, and parts of transformers.

python -m benchmarks --fusion [--markdown]
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from time import process_time

import tilewright as tw
from benchmarks import Section
from tilewright.architecture.machine import Architecture, Compute, Memory
from tilewright.document import Document
from tilewright.mapper.fused.results.result import FusedResult
from tilewright.mapping.fused import Fuse
from tilewright.workload.cascades import (
    experts,
    fsrcnn,
    gated_feed_forward,
    inverted_bottleneck,
    six_products,
)
from tilewright.workload.layer import Network
from tilewright.workload.network import parse_network

# M, the widths from layer to layer, words of the buffer, and the energy in pJ of the mapping that
# AccelForge 1.0.467 finds, run with the energies of `two_levels` and all tensors kept in the
# buffer; it was not run for the last ones, which fuse twice
CHAINS: tuple[tuple[int, tuple[int, ...], int, int | None], ...] = (
    (64, (64, 64, 64), 256, 34_996_224),
    (64, (64, 64, 64), 1024, 24_027_136),
    (64, (64, 64, 64), 4096, 18_120_704),
    (64, (64, 64, 64), 16384, 16_433_152),
    (256, (64, 256, 64), 4096, 293_601_280),
    (256, (64, 256, 64), 16384, 242_974_720),
    (256, (64, 256, 64), 65536, 222_724_096),
    (128, (32, 128, 32, 128), 4096, 53_444_608),
    (128, (32, 128, 32, 128), 16384, 45_850_624),
    (512, (768, 3072, 768), 65536, 65_327_333_376),
    (64, (16, 128, 16, 128), 1024, None),
    (64, (16, 128, 16, 128), 2048, None),
    (512, (64, 1024, 64, 1024), 4096, None),
)
NAMES = (
    "bert_base", "gpt2", "llama2_7b_prefill", "llama2_7b_decode", "mobilenet_v2", "resnet50",
)  # fmt: skip
NPU = Path(__file__).parent / "park" / "npu.yaml"
# a large buffer, several arrays, and a small buffer; with seconds that a search may take, for
# machines where some searches do not end soon
MACHINES = (("tpu-v1", None), (NPU, 60.0), ("eyeriss", None))
TERMS: tuple[tuple[str, Path | str, str, float | None], ...] = (
    ("bert_base", "tpu-v1", "latency", None), ("bert_base", "tpu-v1", "edp", None),
    ("bert_base", NPU, "edp", 60.0),
)  # fmt: skip


def two_levels(words: int) -> Architecture:
    """Return a machine of DRAM and a buffer that holds all tensors on their way."""
    kept = frozenset("IWO")
    return Architecture(
        "two-levels",
        (
            Memory("DRAM", 16, read_energy=200.0, write_energy=200.0),
            Memory(
                "GLB", 16, capacity_bits=16 * words, read_energy=6.0, write_energy=6.0,
                must_keep=kept,
            ),
            Compute("MAC", energy=1.0),
        ),
    )  # fmt: skip


def products(m: int, widths: tuple[int, ...]) -> Network:
    """Return a chain of matrix products."""
    layers = [
        {
            "name": f"product{i + 1}",
            "op": "matmul",
            "M": m,
            "K": k,
            "N": n,
            "tensors": {"I": f"T{i}", "O": f"T{i + 1}"},
        }
        for i, (k, n) in enumerate(pairwise(widths))
    ]
    data = {"name": "chain", "layers": layers, "inputs": {"T0": [m, widths[0]]}}
    return parse_network(Document(data, "chain"))


def fused(
    network: Network | str,
    architecture: Architecture | Path | str,
    objective: str = "energy",
    seconds: float | None = None,
    tiles: str = "divisors",
) -> tuple[FusedResult, float]:
    """Return the best mapping, and the CPU seconds that it took without a cache."""
    begin = process_time()
    found = tw.map(
        network, architecture, objective, fuse=True, tiles=tiles, time_limit=seconds, cache=False,
        workers=1,
    )  # fmt: skip
    assert isinstance(found, FusedResult)
    return found, process_time() - begin


def grouped(fuse: Fuse) -> str:
    """Return which products are fused, groups that fuse again in brackets."""
    branches = []
    for branch in fuse.branches:
        if branch.layer is not None:
            branches.append(branch.layer[-1])
        elif branch.nodes and isinstance(inside := branch.nodes[-1], Fuse):
            branches.append(f"({grouped(inside)})")
    return "+".join(branches)


def chains() -> Section:
    """Return the table of chains of products."""
    fused(products(4, (4, 4, 4)), two_levels(64))  # loads the compiled kernels
    rows = []
    for m, widths, words, theirs in CHAINS:
        found, seconds = fused(products(m, widths), two_levels(words))
        sets = " | ".join(grouped(s.mapping.fuse) for s in found.segments)
        rows.append(
            (
                f"{m} x {'-'.join(map(str, widths))}, {words:,} words",
                f"{found.value_alone:,.0f}", f"{found.value:,.0f}",
                f"{theirs:,}" if theirs else "", sets or "none",
                "yes" if found.optimal else f"gap {found.gap:.1%}", f"{seconds:.2f}",
            )
        )  # fmt: skip
    return Section(
        "Chains of matrix products on DRAM and a buffer, energy in pJ",
        ("chain", "alone", "fused", "AccelForge", "which", "proven", "CPU s"),
        tuple(rows),
        "A chain is M x the widths from product to product. AccelForge 1.0.467, energy objective, "
        "the same energies and all tensors kept in the buffer; it took 14 to 23 s for each. "
        "In brackets: a group that fuses again. CPU s: of one process.",
    )


def row(
    network: Network | str, architecture: Path | str, objective: str, seconds: float | None
) -> tuple[str, ...]:
    """Return what a table says of a network."""
    found, taken = fused(network, architecture, objective, seconds)
    words = sum(s.outer_words_saved * s.repeat for s in found.segments)
    layers = sum(len(s.names) * s.repeat for s in found.segments)
    return (
        f"{found.network.name} on {found.architecture.name}, {objective}",
        f"{found.value_alone:.5g}", f"{found.value:.5g}",
        f"{1 - found.value / found.value_alone:.1%}", f"{words * 1e-6:,.1f}",
        f"{layers} of {found.runs}",
        "yes" if found.optimal else f"gap {found.gap:.1%}", f"{taken:.1f}",
    )  # fmt: skip


COLUMNS = ("network", "alone", "fused", "saved", "Mwords", "layers", "proven", "CPU s")
NOTE = "Mwords: millions of words that DRAM does not move. Layers: runs of layers that are fused."


def networks() -> Section:
    """Return the table of networks that ship."""
    rows = [row(name, *machine) for name in NAMES for machine in every_machine()]
    rows += [row(*term) for term in TERMS]
    return Section(
        "Networks, layers by themselves and fused (pJ, cycles, pJ x cycles)",
        COLUMNS, tuple(rows), NOTE,
    )  # fmt: skip


def every_machine() -> Iterator[tuple[Path | str, str, float | None]]:
    """Yield what a row takes of each machine for energy."""
    for machine, seconds in MACHINES:
        yield machine, "energy", seconds


def cascades() -> Section:
    """Return the table of parts of networks."""
    parts = (
        six_products(tokens=512, width=768, heads=12),
        gated_feed_forward(tokens=2048, width=4096, hidden=11008),
        experts(count=8, tokens=256, width=1024, hidden=2048),
        inverted_bottleneck(rows=28, columns=28, channels=32, expanded=192, made=32),
    )
    rows = [row(part, machine, "energy", 60.0) for part in parts for machine in ("tpu-v1", NPU)]
    rows += [row(fsrcnn(), machine, "energy", 60.0) for machine in ("tpu-v1", "eyeriss")]
    return Section("Cascades, energy in pJ", COLUMNS, tuple(rows), NOTE)


def all_sizes() -> Section:
    """Return the table of parts whose bounds have few divisors, with all tile sizes."""
    parts = (
        inverted_bottleneck(rows=29, columns=31, channels=32, expanded=192, made=32),
        six_products(tokens=197, width=192, heads=3),
        gated_feed_forward(tokens=197, width=192, hidden=509),
        "bert_base",
    )
    rows = []
    for part in parts:
        for machine in ("tpu-v1", "eyeriss"):
            (divided, own), (found, taken) = (
                fused(part, machine, "energy", 60.0, tiles) for tiles in ("divisors", "all")
            )
            rows.append(
                (
                    f"{found.network.name} on {machine}", f"{divided.value_alone:.5g}",
                    f"{divided.value:.5g}", f"{own:.1f}", f"{found.value_alone:.5g}",
                    f"{found.value:.5g}", "yes" if found.optimal else f"gap {found.gap:.1%}",
                    f"{taken:.1f}",
                )
            )  # fmt: skip
    return Section(
        "Bounds with few divisors, energy in pJ: tile sizes that divide, and all",
        ("network", "alone", "fused", "CPU s", "all sizes: alone", "fused", "proven", "CPU s"),
        tuple(rows),
        "29 x 31 rows and columns; 197 tokens of 192 words, 509 hidden ones.",
    )


def sections() -> Iterator[Section]:
    """Yield the tables."""
    yield chains()
    yield networks()
    yield cascades()
    yield all_sizes()

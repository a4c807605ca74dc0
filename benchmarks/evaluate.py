"""How long one evaluation takes, and how many mappings per second a batch evaluates on one core.

python -m benchmarks.evaluate
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from statistics import median
from time import process_time

import numpy as np
from rich.console import Console
from rich.table import Table

from tilewright.architecture.files import load_architecture
from tilewright.kernels.types import Ints
from tilewright.mapping.nodes import For, Mapping, Node, Spatial, Store
from tilewright.model.batch import evaluate_batch
from tilewright.model.closed_form.traffic import with_tiles
from tilewright.model.count import plan
from tilewright.model.evaluate import evaluate
from tilewright.workload.einsum import einsum
from tilewright.workload.layer import Layer

TENSORS = ("I", "W", "O")
BLOCKS = (
    "KPCQ",
    "KCP",
    "QRSCK",
    "P",
)  # temporal loops at DRAM, above and below the array, below RF
RUNS = 5
BATCH = 500_000


@dataclass(frozen=True)
class Measurement:
    """One line of the table: CPU time per item, in us, and what the items are."""

    what: str
    best: float
    typical: float
    note: str = ""


def convolution(stride: int, **bounds: int) -> Layer:
    return einsum(
        f"O[N,K,P,Q] += I[N,C,{stride}*P+R,{stride}*Q+S] * W[K,C,R,S]", name="convolution", **bounds
    )


def structure() -> Mapping:
    """Return 15 loops, 2 of them spatial; their tile sizes are to be replaced."""
    above, middle, below, inside = ([For(d, 1) for d in block] for block in BLOCKS)
    across = [Spatial("K", 1, "X", "PE"), Spatial("C", 1, "Y", "PE")]
    stores = [Store(memory, TENSORS) for memory in ("DRAM", "GLB", "RF")]
    nodes: list[Node] = [stores[0], *above, stores[1], *middle, *across, *below, stores[2], *inside]
    return Mapping(tuple(nodes))


def random_tiles(layer: Layer, mapping: Mapping, count: int, divisors: bool, seed: int) -> Ints:
    """Draw tile sizes loop by loop, outermost first, evenly among those that shrink inward.

    A size is at most the extent that the enclosing loops leave, and divides it when only divisors
    are asked for; the chunks of a spatial loop fit its axis. Whether memories have room is not
    looked at.
    """
    rng = np.random.default_rng(seed)
    loops = [node for node in mapping.nodes if not isinstance(node, Store)]
    tiles = np.empty((count, len(loops)), np.int64)
    extents = {d: np.full(count, bound) for d, bound in layer.bounds.items()}
    for i, loop in enumerate(loops):
        bound, extent = layer.bounds[loop.dimension], extents[loop.dimension]
        most = 16 if isinstance(loop, Spatial) else bound
        choices = [
            [t for t in range(1, e + 1) if -(-e // t) <= most and not (divisors and e % t)]
            for e in range(1, bound + 1)
        ]
        table = np.zeros((bound + 1, max(map(len, choices))), np.int64)
        for e, sizes in enumerate(choices, start=1):
            table[e, : len(sizes)] = sizes
        lengths = np.array([1, *map(len, choices)])
        tiles[:, i] = table[extent, (rng.random(count) * lengths[extent]).astype(np.int64)]
        extents[loop.dimension] = tiles[:, i]
    return tiles


def short_chunks(layer: Layer, mapping: Mapping, tiles: Ints) -> float:
    """Return the share of mappings in which the last chunk of some loop is short."""
    short = np.zeros(len(tiles), np.bool_)
    extents: dict[str, Ints] = {}
    loops = [node for node in mapping.nodes if not isinstance(node, Store)]
    for loop, sizes in zip(loops, tiles.T, strict=True):
        short |= extents.get(loop.dimension, layer.bounds[loop.dimension]) % sizes != 0
        extents[loop.dimension] = sizes
    return float(short.mean())


def timed(what: str, work: Callable[[], object], items: int = 1, note: str = "") -> Measurement:
    times = []
    for _ in range(RUNS):
        begin = process_time()
        work()
        times.append((process_time() - begin) / items * 1e6)
    return Measurement(what, min(times), median(times), note)


def measurements() -> list[Measurement]:
    machine = load_architecture("simple")
    mapping = structure()
    layers = {
        "3x3": convolution(1, N=1, K=256, C=256, P=14, Q=14, R=3, S=3),
        "7x7, stride 2": convolution(2, N=1, K=64, C=3, P=112, Q=112, R=7, S=7),
    }
    found = []
    for name, layer in layers.items():
        tiles = random_tiles(layer, mapping, 100, divisors=True, seed=0)
        some = [with_tiles(mapping, sizes) for sizes in tiles.tolist()]
        evaluate(layer, machine, some[0], check=False)

        def first(layer: Layer = layer, one: Mapping = some[0]) -> None:
            plan.cache_clear()
            evaluate(layer, machine, one, check=False)

        def again(layer: Layer = layer, some: list[Mapping] = some) -> None:
            for one in some:
                evaluate(layer, machine, one, check=False)

        found.append(timed(f"evaluate {name}, first of its structure", first))
        found.append(timed(f"evaluate {name}", again, len(some)))
    layer = layers["3x3"]
    for kind in ("divisors", "any size"):
        tiles = random_tiles(layer, mapping, BATCH, kind == "divisors", seed=1)
        valid = evaluate_batch(layer, machine, mapping, tiles).valid
        for rows, chosen in (("random rows", tiles), ("valid rows", tiles[valid])):
            fit = len(tiles[valid]) / len(chosen)
            short = short_chunks(layer, mapping, chosen)
            found.append(
                timed(
                    f"evaluate_batch 3x3, {kind}, {rows}",
                    lambda chosen=chosen: evaluate_batch(layer, machine, mapping, chosen),
                    len(chosen),
                    f"{len(chosen):,} rows, {fit:.0%} fit, {short:.0%} with short chunks",
                )
            )
    return found


def main() -> None:
    table = Table(title="Evaluation: CPU time, one core, machine 'simple', 15 loops")
    for column in ("what", "us, best", "us, median", "per second, best", ""):
        table.add_column(column, justify="left" if column in ("what", "") else "right")
    for m in measurements():
        row = (f"{m.best:.3g}", f"{m.typical:.3g}", f"{1e6 / m.best:,.0f}")
        table.add_row(m.what, *row, m.note)
    Console(width=160).print(table)


if __name__ == "__main__":
    main()

"""What each part of the search of a layer is worth: the same search without it.

The value of a search that ended is the same without any part; a run that finds another one ends
with an error. CPU seconds are those of one process with kernels loaded, at most `MOST` a search.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from time import process_time

from benchmarks import Section
from benchmarks.mapper import LAYERS, MACHINE, every_kernel
from tilewright.architecture.files import load_architecture
from tilewright.architecture.machine import Architecture
from tilewright.mapper.objective.settings import EVERY_PART, Settings
from tilewright.mapper.problem.bypass_choices import narrowed
from tilewright.mapper.search.all_sizes.all_tile_sizes import with_all_sizes
from tilewright.mapper.search.found import Found
from tilewright.mapper.search.search import Search
from tilewright.workload.layer import Layer
from tilewright.workload.network import load_network, select

MOST = 10.0  # CPU s of a search
RUNS, SHORT = 3, 1.0  # the least time of so many searches of at most so many CPU s
CLOSE = 1e-9
TWO_ARRAYS = str(Path(__file__).with_name("two-arrays.yaml"))


@dataclass(frozen=True)
class Case:
    """A search: its title in the table, and what is searched."""

    title: str
    layer: str
    machine: str
    objective: str


CASES = (
    Case("conv 14x14, energy", "convolution 256x256x14x14x3x3", MACHINE, "energy"),
    Case("conv 56x56, edp", "convolution 256x256x56x56x3x3", MACHINE, "edp"),
    Case("matrix product, edp", "matrix product 2048x11008x4096", MACHINE, "edp"),
    Case("conv 14x14, two arrays, edp", "convolution 256x256x14x14x3x3", TWO_ARRAYS, "edp"),
)
PARTS: tuple[tuple[str, dict[str, bool]], ...] = (
    ("everything", {}),
    ("dominance", {"dominance": False}),
    ("symmetry", {"symmetry": False}),
    ("table across each array", {"tables_across": False}),
    ("table above the array", {"table_above": False}),
    ("both tables", {"tables_across": False, "table_above": False}),
    ("tables of ports", {"port_tables": False}),
    ("screening bound", {"screening": False}),
    ("windows share a memory", {"joint_windows": False}),
    ("combinations of spatial choices", {"combinations": False}),
    ("closed form", {"closed_form": False}),
    ("ceilings", {"ceilings": False}),
    ("annealing", {"annealing": False}),
    ("dives", {"dives": False}),
    ("annealing, dives and ceilings", {"annealing": False, "dives": False, "ceilings": False}),
    ("least memory among equals", {"canonical": False}),
)

NETWORK, CHIP = "resnet50", "eyeriss"
SOME = ("conv1", "conv2_1.3x3", "conv3_1.3x3", "conv3_1.shortcut", "conv5_2.reduce", "fc")
BOUNDS: tuple[tuple[str, dict[str, bool]], ...] = (
    ("everything", {}),
    ("enumerated bound of regular mappings", {"regular_bound": False}),
    ("bound of all memories together", {"joint_bound": False}),
    ("shares of single elements", {"shares": False}),
    ("all three", {"regular_bound": False, "joint_bound": False, "shares": False}),
)


@dataclass(frozen=True)
class Measured:
    """What a search ended with, and the CPU seconds that it took."""

    found: Found
    seconds: float


def measured(search: Callable[[Callable[[], bool]], Found]) -> Measured:
    """Run a search that is told to stop after `MOST` CPU seconds; a short one a few times."""
    times: list[float] = []
    while not times or (len(times) < RUNS and times[0] < SHORT):
        begin = process_time()
        found = search(lambda begin=begin: process_time() - begin > MOST)
        times.append(process_time() - begin)
    return Measured(found, min(times))


def divisors(case: Case, settings: Settings) -> Measured:
    """Search a layer among the tile sizes that divide."""
    layer, machine = LAYERS[case.layer], load_architecture(case.machine)
    return measured(lambda stop: Search(layer, machine, case.objective, settings).solve(stop))


def check(name: str, whole: Found, found: Found) -> None:
    """End with an error where a search without a part proves something else."""
    value = whole.value
    same = abs(found.value - value) <= CLOSE * value if found.finished else found.value >= value
    if not same or found.bound > value * (1 + CLOSE):
        raise SystemExit(
            f"without {name}: value {found.value!r}, bound {found.bound!r}; with it {value!r}"
        )


def one_layer() -> Section:
    """Return what the search among divisors takes without each part."""
    rows = []
    wholes: list[Found] = []
    for name, off in PARTS:
        row = [name]
        for n, case in enumerate(CASES):
            result = divisors(case, replace(EVERY_PART, **off))
            if not off:
                assert result.found.finished
                wholes.append(result.found)
            check(name, wholes[n], result.found)
            row += [shown(result), f"{result.found.labels:,}"]
        rows.append(tuple(row))
    heads = [head for case in CASES for head in (f"{case.title}: CPU s", "labels")]
    return Section(
        "The search of a layer without one of its parts, tile sizes that divide",
        ("without", *heads),
        tuple(rows),
        f"The first row is the search as it is. Least of {RUNS} runs where one takes less than "
        f"{SHORT:g} s. *gap*: not proven after {MOST:g} CPU s; infinite "
        "where no mapping was found. All searches that ended found the same value. Machine "
        f"{MACHINE}; two arrays: benchmarks/two-arrays.yaml.",
    )


def shown(result: Measured) -> str:
    """Return the time of a search, or how far it is from its bound where that was not enough."""
    if result.found.finished:
        return f"{result.seconds:.3g}"
    gap = 1 - result.found.bound / result.found.value
    return f"gap {gap:.1%}" if result.found.mapping else "gap inf"


def all_sizes() -> Section:
    """Return what is proven of all tile sizes without some bounds."""
    machine = load_architecture(CHIP)
    layers = [select(load_network(NETWORK), name) for name in SOME]
    evens = [Search(layer, machine, "edp").solve() for layer in layers]
    rows: list[tuple[str, ...]] = []
    best: dict[str, float] = {}
    for name, off in BOUNDS:
        gaps, certain, seconds, proven = 0.0, 0.0, 0.0, 0
        for layer, even in zip(layers, evens, strict=True):
            result = continued(layer, machine, even, replace(EVERY_PART, **off))
            found = result.found
            if found.bound > best.setdefault(layer.name, found.value) * (1 + CLOSE):
                raise SystemExit(f"without {name}: bound {found.bound!r} of {layer.name}")
            best[layer.name] = min(best[layer.name], found.value)
            gaps = max(gaps, 1 - found.bound / found.value)
            certain = max(certain, 1 - found.irregular_bound / found.value)
            proven += found.finished
            seconds += result.seconds
        rows.append(
            (name, f"{proven} of {len(layers)}", f"{gaps:.1%}", f"{certain:.1%}", f"{seconds:.3g}")
        )
    return Section(
        "All tile sizes without one of the bounds",
        ("without", "proven", "largest gap", "of all mappings", "CPU s"),
        tuple(rows),
        f"Layers {', '.join(SOME)} of {NETWORK} on {CHIP}, edp. The time is what comes after the "
        f"search among divisors, {MOST:g} s at most for each layer.",
    )


def continued(layer: Layer, machine: Architecture, even: Found, settings: Settings) -> Measured:
    """Go on from the best mapping whose tile sizes divide with any."""
    narrow = narrowed(machine, layer)
    return measured(lambda stop: with_all_sizes(layer, narrow, "edp", even, stop, settings))


def sections() -> Iterator[Section]:
    """Yield both tables."""
    every_kernel()
    yield one_layer()
    yield all_sizes()

"""Reproduces MARVEL: ``python -m reproduce.marvel`` writes its tables into the page.

P. Chatarasi et al., "MARVEL: A Decoupled Model-driven Approach for Efficiently Mapping Convolutions
on Spatial DNN Accelerators", arXiv:2002.07752. With names of sections it runs these alone; without
any, all of them, and notes how long they took.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache
from itertools import combinations, product
from math import exp, inf, log, prod
from pathlib import Path
from time import perf_counter, process_time
from typing import Any

import tilewright as tw
from tilewright.architecture.constraints.constraint import Constraint
from tilewright.architecture.constraints.dataflow import load_dataflow
from tilewright.architecture.machine import Architecture
from tilewright.layout.choose import Choice, Tiles, reordered, tiles_of
from tilewright.layout.dmc import BOX, Cost
from tilewright.layout.uniform import uniform_layouts
from tilewright.mapper.problem.lattice import divisors
from tilewright.mapping.constraints import under
from tilewright.strategies.run import Run, improvements, warm_up
from tilewright.strategies.searches.decoupled import Decoupled, Decoupling
from tilewright.strategies.searches.dmazerunner import DMazeRunner
from tilewright.strategies.searches.sampling import Random
from tilewright.strategies.steps import Problem, Strategy
from tilewright.workload.footprint import footprint
from tilewright.workload.layer import Layer, Tensor

HERE = Path(__file__).parent
PAGE = HERE.parent / "docs" / "reproductions" / "marvel.md"
PAPER = json.loads((HERE / "marvel.json").read_text())
ROWS: dict[str, dict[str, Any]] = PAPER["table 3"]
FILTER = ("R", "S")
PLATFORMS = ("marvel-p1", "marvel-p2")
NETWORKS = ("vgg16", "alexnet", "resnet50", "mobilenet_v2")
DATAFLOWS = {"QR": "yr-p", "KC": "kc-p", "QP": "yx-p"}
# our P and Q are the height and the width of the output, the paper's Q and P; depthwise C is our G
OURS = {"P": "Q", "Q": "P", "X": "Q", "Y": "P"}
PAPERS = {"P": "Q", "Q": "P", "G": "C"}
SAMPLING_SECONDS = 0.5
ENDS = ("latency", "energy")
# the paper's options: filters unrolled, batch 1, at least a tenth of the array, symmetry
OPTIONS = Decoupled(unrolled=1, batch=1, utilization=0.1)


def layer(name: str, stride: int | None = None) -> Layer:
    """Return a layer of Table 3, with its stride or with another one."""
    row = ROWS[name]
    k, c, r, s, width, height = row["K C R S P Q"]
    sizes = {"P": height, "Q": width, "R": r, "S": s}
    step = row["stride"] if stride is None else stride
    # the residual addition L1 has an output per channel, L10 one output in all
    if row["type"] == "DSCONV" or name == "L1":
        return tw.depthwise(name=name, G=c, stride=step, **sizes)
    return tw.conv2d(name=name, K=k, C=c, stride=step, **sizes)


def paper_tile(name: str) -> dict[str, int]:
    """Return the tile of Table 3, by our dimensions."""
    k, c, r, s, width, height = ROWS[name]["tile"]
    sizes = {"N": 1, "K": k, "C": c, "G": c, "P": height, "Q": width, "R": r, "S": s}
    return {d: sizes[d] for d in layer(name).dimensions}


def paper_axes(name: str) -> dict[str, int | None]:
    """Return the contiguous axes of Table 3."""
    letters = dict(zip("WIO", ROWS[name]["layout W I O"], strict=True))

    def axis(tensor: Tensor) -> int:
        wanted = OURS.get(letters[tensor.role], letters[tensor.role])
        if "G" in tensor.dimensions and wanted in "KC":
            wanted = "G"
        firsts = [terms[0].dimension for terms in tensor.expressions]
        return firsts.index(wanted)

    return {t.name: axis(t) for t in layer(name).tensors}


def sizes(tile: dict[str, int]) -> str:
    """Return a tile in the paper's order: K, C, P, Q."""
    channels = tile.get("G", tile.get("C", 1))
    return f"{tile.get('K', 1)}, {channels}, {tile['Q']}, {tile['P']}"


def order_text(order: Sequence[str]) -> str:
    return "".join(PAPERS.get(d, d) for d in order) or "-"


def space(name: str, *, stride: int = 1, integers: bool = False, extents: str = "words") -> Tiles:
    """Return the tiles of a layer of Table 3; without its stride unless it is given."""
    cost = Cost(layer(name, stride), tw.load_architecture("marvel-p1"), extents=extents)
    return tiles_of(cost, integers=integers, whole=FILTER)


def table(headers: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [headers, ["---", *("---:" for _ in headers[1:])], *rows]
    return "\n".join("| " + " | ".join(cells) + " |" for cells in lines)


def geomean(values: Sequence[float]) -> float:
    return exp(sum(map(log, values)) / len(values))


# --- Tables 3 and 4, Figures 6 and 7: off-chip ---------------------------------------------------


def table_3() -> str:
    """The tiles, as published and as found."""
    space("L1").best(), space("L1", integers=True).best()  # compiles
    rows, seconds = [], []
    agree = 0
    for name in ROWS:
        begin = process_time()
        best = space(name).best()
        list(space(name).each_layout())
        between = process_time()
        integers = space(name, integers=True).best()
        seconds.append((between - begin, process_time() - between))
        cost = best.cost
        published = cost.value(paper_axes(name), paper_tile(name))
        fits = cost.fits(paper_tile(name))
        agree += published == best.value and fits
        stride = ROWS[name]["stride"]
        words = space(name, stride=stride).best()
        box = space(name, stride=stride, extents=BOX).best()
        rows.append(
            (
                f"{name} {ROWS[name]['type']}",
                sizes(paper_tile(name)),
                f"{published:.4g}",
                f"{best.value:.4g}",
                sizes(best.tile),
                str(best.ties),
                f"{integers.value:.4g}",
                f"{best.value / integers.value - 1:.1%}",
                f"{words.value:.4g}" if stride > 1 else "",
                f"{box.value:.4g}" if stride > 1 else "",
            )
        )
    headers = (
        "layer", "published tile", "its cost", "optimum", "a tile of it", "ties", "any integers",
        "gain", "stride, words", "stride, box",
    )  # fmt: skip
    slowest = [max(times) for times in zip(*seconds, strict=True)]
    return (
        f"{table(headers, rows)}\n\n"
        f"{agree} of {len(rows)} published tiles fit and are optimal with the published layouts. "
        f"CPU seconds: at most {slowest[0]:.2g} for a layer over divisors, the best layouts and "
        f"all others one by one; at most {slowest[1]:.2g} over all integers."
    )


def printed_formula() -> str:
    """How the published tiles do under the formula as it is printed."""
    optimal, large = [], []
    for name, row in ROWS.items():
        k, c, r, s, width, height = row["K C R S P Q"]
        costs: dict[tuple[int, ...], float] = {}
        for tile in product(*(divisors(n) for n in (k, c, width, height))):
            if (cost := printed_cost(name, *tile, r, s)) is not None:
                costs[tile] = cost
        tk, tc, _, _, tp, tq = row["tile"]
        published = costs.get((tk, tc, tp, tq))
        if published is None:
            large.append(name)
        elif published <= min(costs.values()):
            optimal.append(name)
    return (
        "With the formula as printed (the input twice, no output, T_P + T_S columns of the input) "
        f"{len(optimal)} of {len(ROWS)} published tiles are optimal ({', '.join(optimal)}), and "
        f"{len(large)} do not fit ({', '.join(large)})."
    )


def printed_cost(name: str, k: int, c: int, p: int, q: int, r: int, s: int) -> float | None:
    """Return the printed cost of a tile with its best layout; None where it does not fit."""
    channels = c if ROWS[name]["type"] in ("DSCONV", "RAdd") else k
    weights, image, output = (k, c, r, s), (c, p + s, q + r), (channels, p, q)
    if 2 * sum(map(prod, (weights, image, output))) > 108 * 1024:
        return None
    distinct = [min(-(-n // 64) * prod(axes) // n for n in axes) for axes in (weights, image)]
    return (distinct[0] + 2 * distinct[1]) / (k * c * p * q * r * s)


def loop_orders() -> str:
    """The loops over tiles: published, by slopes, and by exact counts of blocks."""
    rows = []
    for name in ROWS:
        found = space(name).best()
        tile = paper_tile(name)
        axes = paper_axes(name)
        cut = tuple(found.cost.order(axes, tile))
        choice = replace(found, tile=tile, inner=axes, order=cut)
        exact = reordered(choice)
        given = ROWS[name]["order"]
        estimate = found.cost.value(axes, tile) * found.cost.layer.operations
        rows.append(
            (
                name,
                given,
                order_text(cut),
                order_text(exact.order),
                f"{estimate:,.0f}",
                f"{choice.total_blocks:,}",
                f"{exact.total_blocks:,}",
                f"{exact.total_blocks / estimate:.2f}",
            )
        )
    headers = (
        "layer", "published", "by slopes", "exact", "estimated blocks", "exact, by slopes",
        "exact, best", "ratio",
    )  # fmt: skip
    return table(headers, rows)


def table_4() -> str:
    """How many mappings there are."""
    unpruned, fitting, chip = [], [], []
    for name in ROWS:
        k, c, r, s, width, height = ROWS[name]["K C R S P Q"]
        across, down = (1, 1) if ROWS[name]["type"] == "FC" else (width + s - 1, height + r - 1)
        unpruned.append(k * c * across * down * 720 * 36)
        fitting.append(space(name, integers=True).count() * 36)
        chip.append(
            OPTIONS.search(Problem(layer(name), tw.load_architecture("marvel-p2"), "edp")).evaluated
        )
    rows = []
    for what, counts in (
        ("off-chip", unpruned),
        ("off-chip, pruned", fitting),
        ("on-chip, pruned", chip),
    ):
        ours = (min(counts), sum(counts) / len(counts), max(counts))
        pairs = zip(PAPER["table 4"][what], ours, strict=True)
        rows.append((what, *(f"{a:.2g} / {b:.3g}" for a, b in pairs)))
    return table(("published / ours", "least", "average", "most"), rows)


def figure_6() -> str:
    """What the layout costs a layer, tiles chosen for each layout."""
    rows = []
    for name in ROWS:
        values = sorted(c.value for _, c in space(name).each_layout(single=True))
        rows.append(
            (
                name,
                str(len(values)),
                f"{values[len(values) // 2] / values[0]:.2f}",
                f"{values[-1] / values[0]:.2f}",
            )
        )
    return table(("layer", "layouts", "median / best", "worst / best"), rows)


def figure_7() -> str:
    """What one layout for all layers costs."""
    spaces = [space(name) for name in ROWS]
    own = [s.best() for s in spaces]
    found = uniform_layouts(spaces)
    least_blocks = sum(c.value * c.cost.layer.operations for c in own)
    least_sum = sum(c.value for c in own)
    rows = []
    paper = {"I": "Q", "W": "K", "O": "K"}
    by_sum = min(found, key=lambda u: sum(c.value for c in u.choices))
    picked = [("best for all blocks", found[0]), ("best for the sum of costs", by_sum)]
    picked += [("the paper's", u) for u in found if u.axes == paper]
    picked += [("worst", found[-1])]
    for what, uniform in picked:
        letters = {"P": "Y", "Q": "X"}, {}, {"P": "Q", "Q": "P"}
        i, w, o = (uniform.axes[role] for role in "IWO")
        rows.append(
            (
                what,
                f"{letters[0].get(i, i)}, {letters[2].get(o, o)}, {w}",
                f"{uniform.blocks / least_blocks - 1:.1%}",
                f"{sum(c.value for c in uniform.choices) / least_sum - 1:.1%}",
            )
        )
    return table(("layout", "contiguous in I, O, W", "more blocks", "more cost, summed"), rows)


# --- Figures 8 to 10: on-chip --------------------------------------------------------------------


@cache
def machine(platform: str, dataflow: str = "") -> Architecture:
    """Return a platform, confined to a dataflow where one is named."""
    free = tw.load_architecture(platform)
    return under(free, load_dataflow(dataflow)) if dataflow else free


@cache
def decoupled(work: Layer, platform: str, objective: str, dataflow: str = "") -> Decoupling:
    """Return what the decoupled search finds, within a dataflow where one is named."""
    options = Decoupled(unrolled=1, batch=1) if dataflow else OPTIONS
    problem = Problem(work, machine(platform, dataflow), objective)
    return options.search(problem, offchip(work))


@cache
def offchip(work: Layer) -> Choice:
    """Return the off-chip tile, which both platforms share."""
    return OPTIONS.offchip(work, machine(PLATFORMS[0]))


def roofline(work: Layer, platform: str) -> float:
    """Return cycles that no mapping can beat: the array's peak, and each word crossing it once."""
    chip = machine(platform)
    (array,) = chip.arrays
    words = sum(footprint(t, work.bounds) for t in work.tensors)
    return max(work.operations / array.elements, words / (array.bandwidth or inf))


def figure_8() -> str:
    """Cycles and energy of the decoupled search against dataflows, layer by layer."""
    parts = []
    gains: dict[str, list[float]] = {"latency": [], "energy": []}
    started = perf_counter()
    own_seconds = 0.0
    for platform in PLATFORMS:
        rows = []
        for name in ROWS:
            work = layer(name)
            row = [name]
            for objective in ENDS:
                own = decoupled(work, platform, objective)
                own_seconds += own.seconds
                value = {"latency": own.evaluation.cycles, "energy": own.evaluation.energy_pj}
                row.append(f"{value[objective]:.4g}")
                for dataflow in DATAFLOWS.values():
                    other = decoupled(work, platform, objective, dataflow)
                    gains[objective].append(other.value / own.value)
                    row.append(f"{other.value / own.value:.2f}")
                if objective == "latency":
                    row.append(f"{own.value / roofline(work, platform):.2f}")
            rows.append(row)
        headers = (
            "layer", "cycles", "QR", "KC", "QP", "above roofline", "energy (pJ)", "QR", "KC", "QP",
        )  # fmt: skip
        parts.append(f"**{platform}**\n\n{table(headers, rows)}")
    faster, saved = geomean(gains["latency"]), geomean(gains["energy"])
    parts.append(
        "QR, KC, QP: cycles and energy of the dataflow, divided by those of the decoupled search. "
        f"Geometric means: {faster:.2f} times the throughput (the paper: 5.23), {saved:.2f} times "
        f"less energy (the paper: 1.12). The decoupled searches took {own_seconds:.1f} s for both "
        f"platforms and both objectives; with the dataflows {perf_counter() - started:.1f} s."
    )
    return "\n\n".join(parts)


def joint() -> str:
    """The decoupled search against the proven joint optimum of energy."""
    rows = []
    ratios, same = [], []
    for name in ROWS:
        work = layer(name)
        row = [name]
        for platform in PLATFORMS:
            found = decoupled(work, platform, "energy")
            best = (
                tw.map(work, machine(platform), "energy", workers=1, cache=False, tiles="divisors")
                .layers[0]
                .proof
            )
            kept = tw.map(
                work, machine(platform), "energy", workers=1, cache=False,
                tiles="divisors", constraints="L2.keep=I,W,O; L1.keep=I,W,O",
            ).layers[0].proof  # fmt: skip
            assert best.optimal and kept.optimal
            ratios.append(found.value / best.value)
            same.append(found.value / kept.value)
            row += [f"{ratios[-1]:.3f}", f"{same[-1]:.3f}"]
            row += [f"{found.seconds:.2f}", f"{best.seconds:.2f}"]
        rows.append(row)
    heads = ("of all", "of those that keep all", "s", "joint s")
    text = table(("layer", *(f"{p[-2:]}: {h}" for p in PLATFORMS for h in heads)), rows)
    return (
        f"{text}\n\nGeometric mean {geomean(ratios):.3f} of the optimum of all mappings, "
        f"{geomean(same):.3f} of the optimum of mappings that keep every tensor in L2 and L1."
    )


def figure_9() -> str:
    """Whole networks: cycles and energy of dataflows, divided by those of the decoupled search."""
    rows = []
    gains: dict[str, list[float]] = {"latency": [], "energy": []}
    for platform in PLATFORMS:
        for network in NETWORKS:
            works = tw.load_network(network).layers
            row = [f"{network}, {platform[-2:]}"]
            for objective in ENDS:
                own = total(works, platform, objective)
                row.append(f"{own:.4g}")
                for dataflow in DATAFLOWS.values():
                    other = total(works, platform, objective, dataflow)
                    gains[objective].append(other / own)
                    row.append(f"{other / own:.2f}")
            rows.append(row)
            print(*row, file=sys.stderr, flush=True)
    headers = ("network", "cycles", "QR", "KC", "QP", "energy (pJ)", "QR", "KC", "QP")
    saved = 1 - 1 / geomean(gains["energy"])
    return (
        f"{table(headers, rows)}\n\nGeometric means: {geomean(gains['latency']):.2f} times the "
        f"throughput (the paper: 3.43), {saved:.1%} less energy (the paper: 9.19 %)."
    )


def total(works: Sequence[Layer], platform: str, objective: str, dataflow: str = "") -> float:
    return sum(w.repeat * decoupled(w, platform, objective, dataflow).value for w in works)


def figure_10() -> str:
    """Sampling and enumeration of the joint space under a time limit."""
    rows = []
    strategies: dict[str, Strategy] = {"random": Random(), "exhaustive": DMazeRunner(opt=())}
    ratios: dict[tuple[str, str], list[float]] = {}
    warm_up(Problem(layer("L13"), machine(PLATFORMS[0]), "latency"))
    for platform in PLATFORMS:
        for name in ROWS:
            work = layer(name)
            row = [f"{name}, {platform[-2:]}"]
            for objective in ENDS:
                own = decoupled(work, platform, objective)
                row.append(f"{own.seconds:.2f}")
                for what, strategy in strategies.items():
                    run = Run(what)
                    problem = Problem(work, machine(platform), objective)
                    for _ in improvements(run, strategy, problem, SAMPLING_SECONDS, 0):
                        pass
                    ratio = run.best.value / own.value if run.best else inf
                    ratios.setdefault((objective, what), []).append(ratio)
                    row.append(f"{ratio:.2f}")
            rows.append(row)
    means = ["", *(["", *(f"{geomean(ratios[o, w]):.2f}" for w in strategies)] for o in ENDS)]
    rows.append(["geometric mean", *means[1], *means[2]])
    headers = (
        "layer", "decoupled, s", "cycles: random", "exhaustive", "decoupled, s", "energy: random",
        "exhaustive",
    )  # fmt: skip
    return (
        f"{table(headers, rows)}\n\nCycles and energy after {SAMPLING_SECONDS:g} CPU seconds, "
        "divided by those of the decoupled search."
    )


def dataflows() -> str:
    """The best pair of dimensions in parallel for all layers together."""
    pairs: dict[str, list[float]] = {}
    # dimensions by the paper's names; depthwise channels count as C
    groups = {"K": ["K"], "C": ["C", "G"], "P": ["Q"], "Q": ["P"], "R": ["R"], "S": ["S"]}
    platform = PLATFORMS[0]
    for pair in combinations(groups, 2):
        dims = frozenset(d for name in pair for d in groups[name])
        confined = under(machine(platform), [Constraint("PE", dims=dims)])
        pairs["".join(pair)] = [
            Decoupled(unrolled=1, batch=1)
            .search(Problem(layer(name), confined, "latency"), offchip(layer(name)))
            .value
            / decoupled(layer(name), platform, "latency").value
            for name in ROWS
        ]
    best = sorted(pairs.items(), key=lambda item: geomean(item[1]))
    rows = [(name, f"{geomean(own):.2f}", f"{max(own):.1f}") for name, own in best]
    return table(("in parallel", "cycles, geometric mean", "worst layer"), rows)


def blocks() -> str:
    """Energy when DRAM moves blocks: of the optimum in words, and of searches in blocks."""
    rows = []
    factors: list[list[float]] = [[], [], [], []]
    proven = 0
    for name in ROWS:
        work, chip = layer(name), machine(PLATFORMS[0])
        words = tw.map(work, chip, workers=1, tiles="divisors").layers[0]
        least = words.proof.value
        given = [tw.evaluate(work, chip, words.mapping, layouts=x).energy_pj for x in ({}, "best")]
        begin = perf_counter()
        found = [tw.map(work, chip, layouts=x, workers=1).layers[0] for x in ({}, "best")]
        seconds = perf_counter() - begin
        proven += sum(each.proof.optimal for each in found)
        energies = [*given, *(each.proof.value for each in found)]
        for own, energy in zip(factors, energies, strict=True):
            own.append(energy / least)
        gap = found[1].proof.gap
        rows.append(
            (
                name,
                f"{least:.4g}",
                *(f"{energy / least:.3f}" for energy in energies),
                "proven" if found[1].proof.optimal else f"{gap:.1%}",
                f"{seconds:.1f}",
            )
        )
    rows.append(("geometric mean", "", *(f"{geomean(own):.3f}" for own in factors), "", ""))
    headers = (
        "layer", "in words (pJ)", "einsum's order", "best layouts", "searched: einsum's order",
        "searched: best layouts", "gap", "s",
    )  # fmt: skip
    return f"{table(headers, rows)}\n\n{proven} of {2 * len(ROWS)} searches in blocks are proven."


SECTIONS: dict[str, Callable[[], str]] = {
    "table 3": table_3,
    "printed": printed_formula,
    "loop orders": loop_orders,
    "table 4": table_4,
    "figure 6": figure_6,
    "figure 7": figure_7,
    "figure 8": figure_8,
    "joint": joint,
    "figure 9": figure_9,
    "figure 10": figure_10,
    "dataflows": dataflows,
    "blocks": blocks,
}


def main() -> None:
    """Run sections and put their tables into the page."""
    chosen = sys.argv[1:] or list(SECTIONS)
    took = {}
    for name in chosen:
        begin = perf_counter()
        text = SECTIONS[name]()
        took[name] = perf_counter() - begin
        print(f"== {name}, {took[name]:.0f} s\n\n{text}\n", flush=True)
        put(name, text)
    if chosen == list(SECTIONS):
        each = ", ".join(f"{name} {seconds:.0f}" for name, seconds in took.items())
        put("run", f"One run, on one core: {sum(took.values()) / 60:.0f} minutes. Seconds: {each}.")


def put(name: str, text: str) -> None:
    """Put a text into the page where it has a place of this name."""
    begin, end = f"<!-- {name} -->", "<!-- end -->"
    before, found, rest = PAGE.read_text().partition(begin)
    if found:
        _, _, after = rest.partition(end)
        PAGE.write_text(f"{before}{begin}\n\n{text}\n\n{end}{after}")


if __name__ == "__main__":
    main()

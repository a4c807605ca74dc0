"""MAESTRO's case studies (IEEE Micro 40(3), 2020), run again.

python -m reproduce.maestro [--write]

Prints the tables of docs/reproductions/maestro.md; with --write puts them into that page.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import cache
from pathlib import Path
from statistics import mean

import tilewright
from reproduce.pages import Rows, publish
from tilewright import Architecture, Evaluation, Layer
from tilewright.architecture.machine import Array
from tilewright.interop.maestro.layers import network_of
from tilewright.interop.maestro.reader import parse_network_text
from tilewright.interop.maestro.styles import style_names

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "reproductions" / "maestro.md"
CASES = ROOT / "tests" / "data" / "maestro"
MACHINE = "maestro-256"
MODELS = ("resnet50", "vgg16", "resnext50_32x4d", "mobilenet_v2", "unet")
STYLES = ("c-p", "x-p", "yx-p", "yr-p", "kc-p")
MEASURES: dict[str, Callable[[Evaluation], float]] = {
    "latency": lambda found: found.cycles,
    "energy": lambda found: found.energy_pj,
}


def operator_class(layer: Layer) -> str:
    """Return the class of an operator, as in Figure 4(b): early if C is at most Y, else late."""
    dims = layer.bounds
    if any(len(terms) > 1 for terms in layer.output.expressions):
        return "transposed convolution"
    if "P" not in dims:
        return "fully connected"
    if "G" in dims:
        return "depthwise" if "C" not in dims else "aggregated residual (grouped)"
    if dims.get("R", 1) == 1:
        return "pointwise"
    rows = next(t for t in layer.inputs[0].expressions if any(x.dimension == "P" for x in t))
    height = 1 + sum(t.coefficient * (dims[t.dimension] - 1) for t in rows)
    return "late convolution" if dims["C"] > height else "early convolution"


@cache
def evaluations(model: str, style: str) -> tuple[Evaluation, ...]:
    """Return the evaluation of each layer of a model with a style."""
    return tilewright.evaluate_network(model, MACHINE, style).layers


def total(found: Iterable[Evaluation], measure: str) -> float:
    """Return the sum over layers, repeats counted."""
    return sum(MEASURES[measure](e) * e.layer.repeat for e in found)


def models() -> Rows:
    """Return latency and energy of every model with every style."""
    rows: Rows = [("model", "", *STYLES, "best")]
    for model in MODELS:
        for measure, unit in (("latency", "Mcycles"), ("energy", "1e9 MACs")):
            values = [total(evaluations(model, style), measure) for style in STYLES]
            scale = 1e6 if measure == "latency" else 1e9
            best = STYLES[values.index(min(values))]
            rows.append((model, unit, *(f"{v / scale:.4g}" for v in values), best))
    return rows


def classes() -> Rows:
    """Return the best style of every operator class, over all models together."""
    rows: Rows = [
        ("operators", "layers", "best latency", "over second", "best energy", "over second")
    ]
    members: dict[str, list[tuple[str, int]]] = {}
    for model in MODELS:
        for i, found in enumerate(evaluations(model, STYLES[0])):
            members.setdefault(operator_class(found.layer), []).append((model, i))
    for name, places in members.items():
        cells = []
        for measure in MEASURES:
            values = {
                style: total((evaluations(m, style)[i] for m, i in places), measure)
                for style in STYLES
            }
            first, second = sorted(values, key=lambda style: values[style])[:2]
            cells += [first, f"{values[second] / values[first]:.2f}x {second}"]
        count = sum(evaluations(m, STYLES[0])[i].layer.repeat for m, i in places)
        rows.append((name, str(count), *cells))
    return rows


def adaptive() -> Rows:
    """Return what choosing the best style for each operator saves over one style for all."""
    rows: Rows = [("baseline and weights", "latency", "energy")]

    def gain(one: float, many: float) -> str:
        return f"{1 - many / one:.1%}"

    def best_of(model: str, measure: str, group: bool) -> float:
        layers = range(len(evaluations(model, STYLES[0])))
        if not group:
            return sum(
                min(total([evaluations(model, style)[i]], measure) for style in STYLES)
                for i in layers
            )
        groups: dict[str, list[int]] = {}
        for i in layers:
            name = operator_class(evaluations(model, STYLES[0])[i].layer)
            groups.setdefault(name, []).append(i)
        return sum(
            min(total((evaluations(model, s)[i] for i in chosen), measure) for s in STYLES)
            for chosen in groups.values()
        )

    for group, what in ((False, "each layer its own style"), (True, "each operator class its own")):
        per_model: dict[str, list[float]] = {m: [] for m in MEASURES}
        sums: dict[str, tuple[float, float]] = {}
        fixed: dict[str, tuple[float, float]] = {}
        for measure in MEASURES:
            table = {
                model: [total(evaluations(model, style), measure) for style in STYLES]
                for model in MODELS
            }
            many = {model: best_of(model, measure, group) for model in MODELS}
            per_model[measure] = [1 - many[m] / min(table[m]) for m in MODELS]
            one_style = min(sum(table[m][i] for m in MODELS) for i in range(len(STYLES)))
            sums[measure] = (one_style, sum(many.values()))
            kc_p = STYLES.index("kc-p")
            fixed[measure] = (mean(many[m] / table[m][kc_p] for m in MODELS), 0.0)
        rows.append(
            (f"{what}; best single style of each model; mean of the five gains",
             *(f"{mean(per_model[m]):.1%}" for m in MEASURES))
        )  # fmt: skip
        rows.append(
            (f"{what}; best single style for all models; gain of the sums",
             *(gain(*sums[m]) for m in MEASURES))
        )  # fmt: skip
        rows.append(
            (f"{what}; KC-P for every model; mean of the five gains",
             *(f"{1 - fixed[m][0]:.1%}" for m in MEASURES))
        )  # fmt: skip
        everything = []
        for measure in MEASURES:
            averages = [
                mean(total(evaluations(model, style), measure) for model in MODELS)
                for style in STYLES
            ]
            all_styles = mean(averages)
            everything.append(gain(all_styles, sums[measure][1] / len(MODELS)))
        rows.append((f"{what}; the average of the five styles; gain of the sums", *everything))
    return rows


def supports(multicast: bool, reduction: bool) -> Architecture:
    """Return the machine with or without multicast and reduction."""
    machine = tilewright.load_architecture(MACHINE)
    levels = tuple(
        replace(x, multicast=multicast, reduction=reduction) if isinstance(x, Array) else x
        for x in machine.levels
    )
    return replace(machine, levels=levels)


def hardware() -> Rows:
    """Return the energy of VGG-16 conv2 with KC-P when networks can do less."""
    rows: Rows = [("networks", "energy (1e9 MACs)", "over the first", "published")]
    first = 0.0
    for multicast, reduction, published in (
        (True, True, "reference"),
        (False, True, "about +47 %"),
        (True, False, "about +47 %"),
        (False, False, "not given"),
    ):
        found = tilewright.evaluate(
            "vgg16", supports(multicast, reduction), "kc-p", layer="conv1_2"
        )
        first = first or found.energy_pj
        words = [
            ("" if has else "no ") + what
            for has, what in (
                (multicast, "multicast"),
                (reduction, "reduction"),
            )
        ]
        name = ", ".join(words)
        rows.append(
            (name, f"{found.energy_pj / 1e9:.4g}", f"{found.energy_pj / first - 1:+.1%}", published)
        )
    return rows


def bandwidths() -> Rows:
    """Return what less bandwidth does to VGG-16 conv2 with KC-P."""
    rows: Rows = [("words per cycle", "Mcycles", "energy (1e9 MACs)", "bound by")]
    machine = tilewright.load_architecture(MACHINE)
    for rate in (64, 32, 16, 8, 4):
        levels = tuple(
            replace(x, bandwidth=rate) if isinstance(x, Array) else x for x in machine.levels
        )
        slower = replace(machine, levels=levels)
        found = tilewright.evaluate("vgg16", slower, "kc-p", layer="conv1_2")
        row = (f"{found.cycles / 1e6:.4g}", f"{found.energy_pj / 1e9:.4g}", found.bound)
        rows.append((str(rate), *row))
    return rows


def reuse() -> Rows:
    """Return local accesses per word fetched, of VGG-16's early and late convolutions."""
    rows: Rows = [
        ("convolutions", "per word", "tensor", "YR-P", "KC-P", "YR-P / KC-P", "published")
    ]
    published = {("early", "I"): "5.8", ("early", "W"): "15.17"}
    for kind in ("early", "late"):
        for tensor, name in (("I", "activations"), ("W", "filters")):
            for what in ("sent by L2", "written into L1"):
                factors = []
                for style in ("yr-p", "kc-p"):
                    chosen = [
                        found
                        for found in evaluations("vgg16", style)
                        if operator_class(found.layer) == f"{kind} convolution"
                    ]
                    fetched = [
                        found.memories["L2"].tensors[tensor].reads
                        if what == "sent by L2"
                        else found.memories["L1"].tensors[tensor].writes
                        for found in chosen
                    ]
                    used = sum(found.operations for found in chosen)
                    factors.append(used / sum(fetched))
                yr, kc = factors
                claim = published.get((kind, tensor), "0.89 to 1.11")
                rows.append((kind, what, name, f"{yr:.4g}", f"{kc:.4g}", f"{yr / kc:.3g}", claim))
    return rows


# AlexNet on the chip: processing time of a batch of 4 images at 200 MHz, in ms, and active elements
# (Y.-H. Chen, T. Krishna, J. Emer, V. Sze, IEEE JSSC 52(1), 2017, Table V)
CHIP = {
    "conv1": (16.5, 154), "conv2": (39.2, 135), "conv3": (21.8, 156), "conv4": (16.0, 156),
    "conv5": (10.0, 156),
}  # fmt: skip
ELEMENTS = 168


def row_stationary(layer: Layer) -> str:
    """Return YR-P with as many sets of rows side by side as the elements have room for."""
    rows = min(layer.bounds["P"], ELEMENTS // layer.bounds["R"])
    return (
        "TemporalMap(1,1) G; TemporalMap(2,2) C; SpatialMap(2,2) K;"
        f"Cluster({rows},P);"
        "SpatialMap(Sz(R),1) Y; TemporalMap(Sz(S),1) X; TemporalMap(Sz(R),Sz(R)) R;"
        "TemporalMap(Sz(S),Sz(S)) S;"
        "Cluster(Sz(R),P);"
        "SpatialMap(1,1) Y; SpatialMap(1,1) R;"
    )


def eyeriss() -> Rows:
    """Return cycles of AlexNet's convolutions on 168 elements, and those of the chip."""
    machine = tilewright.load_architecture(MACHINE)
    levels = tuple(
        replace(x, axes={"X": ELEMENTS}) if isinstance(x, Array) else x for x in machine.levels
    )
    machine = replace(machine, name="168 elements", levels=levels)
    rows: Rows = [
        ("layer", "chip, cycles", "elements", "YR-P", "elements", "ratio", "YR-P, sets", "elements",
         "ratio")
    ]  # fmt: skip
    totals = [0.0, 0.0, 0.0]
    for layer in tilewright.load_network("alexnet").layers:
        if layer.name not in CHIP:
            continue
        milliseconds, active = CHIP[layer.name]
        chip = milliseconds * 1e-3 * 200e6 / 4
        totals[0] += chip
        cells = [layer.name, f"{chip:,.0f}", str(active)]
        for i, flow in enumerate(("yr-p", row_stationary(layer)), start=1):
            found = tilewright.evaluate(layer, machine, flow)
            totals[i] += found.cycles
            used = found.compute.instances_used
            cells += [f"{found.cycles:,.0f}", str(used), f"{found.cycles / chip:.2f}"]
        rows.append(cells)
    chip, one, sets = totals
    last = ("all", f"{chip:,.0f}", "", f"{one:,.0f}", "", f"{one / chip:.2f}", f"{sets:,.0f}", "",
            f"{sets / chip:.2f}")  # fmt: skip
    return [*rows, last]


def reference_cases() -> Rows:
    """Return every count of three runs of MAESTRO's code next to those of this package."""
    rows: Rows = [
        ("count", *(part for case in cases() for part in (case["short"], "tilewright")), "why")
    ]
    columns: list[list[tuple[str, str, str]]] = []
    for case in cases():
        columns.append(compared(case))
    for parts in zip(*columns, strict=True):
        name, *_ = parts[0]
        cells = [cell for part in parts for cell in part[1:]]
        rows.append((name, *cells, WHY[name]))
    return rows


@cache
def cases() -> tuple[dict, ...]:
    """Return the stored runs of MAESTRO's public code."""
    found = []
    for path in sorted(CASES.glob("*.json")):
        data = json.loads(path.read_text())
        dims = data["layer"]["dims"]
        data["short"] = f"MAESTRO, {dims['K']}x{dims['C']}x{dims['Y']}x{dims['X']}"
        found.append(data)
    return tuple(found)


WHY = {
    "operations": "equal",
    "cycles": "theirs: 45 cycles for a step of 9 operations per element; here 9, or what the "
    "networks' 32 words/cycle allow",
    "L2 required, bytes": "equal: one step of all elements, twice",
    "L1 required, bytes": "theirs: 9 outputs; an element accumulates 1",
    "I, L2 reads": "theirs leaves out the first window after every advance of K",
    "I, L1 writes": "theirs: once per word sent; here once per element that receives it",
    "I, L1 reads": "equal",
    "W, L2 reads": "equal",
    "W, L1 writes": "equal",
    "W, L1 reads": "equal",
    "O, L2 writes": "equal: every drain, reduced over 64 elements",
    "O, L2 reads": "theirs: final outputs on their way to DRAM; here partial sums that come back",
    "O, L1 writes": "theirs never reads partial sums back; here they are written into L1",
    "O, L1 reads": "theirs never reads partial sums back; here they are drained again",
    "I, L2 writes": "theirs: from DRAM, which is not modelled here",
    "W, L2 writes": "theirs: from DRAM, which is not modelled here",
    "reuse of I": "theirs: L1 reads per L2 read; here the product of all factors: operations per "
    "L2 read",
    "reuse of W": "equal",
    "reuse of O": "theirs ignores that partial sums stay; here operations per L2 write",
    "average words/cycle": "theirs over its longer run time; here of L2's network while computing",
    "peak words/cycle": "theirs is not defined in the paper; here the largest step, in which all "
    "elements get new tiles within the 9 cycles of the step before",
    "utilised elements": "equal",
    "energy (MACs)": "follows from the counts; the same energy per access",
    "area, mm2": "theirs: one array of 256; here 4 of 64 and one of 4, whose arbiters are smaller",
}


def compared(case: dict) -> list[tuple[str, str, str]]:
    """Return name, MAESTRO's and our value of every count of a case."""
    dims = ", ".join(f"{d}: {n}" for d, n in case["layer"]["dims"].items())
    text = f"Network n {{ Layer a {{ Type: CONV Dimensions {{ {dims} }} }} }}"
    layer = network_of(parse_network_text(text)).layers[0]
    found = tilewright.evaluate(layer, MACHINE, "; ".join(case["mapping_directives"]))
    theirs, l2, l1 = case["csv_columns"], found.memories["L2"].tensors, found.memories["L1"].tensors
    stats = found.statistics
    outer = stats.bandwidth["Cluster1"]
    operations = found.operations
    needed = {name: buffer.bits // 8 for name, buffer in stats.buffers.items()}
    return [
        (name, f"{one:,.6g}" if isinstance(one, float) else f"{one:,}",
         f"{two:,.6g}" if isinstance(two, float) else f"{two:,}")
        for name, one, two in (
            ("operations", theirs["Num MACs"], operations),
            ("cycles", theirs["Runtime (Cycles)"], found.cycles),
            ("L2 required, bytes", theirs["L2 SRAM Size Req (Bytes)"], needed["L2"]),
            ("L1 required, bytes", theirs["L1 SRAM Size Req (Bytes)"], needed["L1"]),
            ("I, L2 reads", theirs["input l2 read"], l2["I"].reads),
            ("I, L1 writes", theirs["input l1 write"], l1["I"].writes),
            ("I, L1 reads", theirs["input l1 read"], l1["I"].reads),
            ("W, L2 reads", theirs["filter l2 read"], l2["W"].reads),
            ("W, L1 writes", theirs["filter l1 write"], l1["W"].writes),
            ("W, L1 reads", theirs["filter l1 read"], l1["W"].reads),
            ("O, L2 writes", theirs["output l2 write"], l2["O"].writes),
            ("O, L2 reads", theirs["output l2 read"], l2["O"].reads),
            ("O, L1 writes", theirs["output l1 write"], l1["O"].writes),
            ("O, L1 reads", theirs["output l1 read"], l1["O"].reads),
            ("I, L2 writes", theirs["input l2 write"], l2["I"].writes),
            ("W, L2 writes", theirs["filter l2 write"], l2["W"].writes),
            ("reuse of I", theirs["input reuse factor"], operations / l2["I"].reads),
            ("reuse of W", theirs["filter reuse factor"], operations / l2["W"].reads),
            ("reuse of O", theirs["output reuse factor"], operations / l2["O"].writes),
            ("average words/cycle", theirs["Avg BW Req"], outer.average),
            ("peak words/cycle", theirs["Peak BW Req"], outer.peak),
            ("utilised elements", theirs["Avg number of utilized PEs"],
             round(stats.spatial_utilization * 256)),
            ("energy (MACs)", case["energy_from_counts"]["total"], found.energy_pj),
            ("area, mm2", theirs["Area"] / 1e6, stats.parts().total_area_mm2),
        )
    ]  # fmt: skip


TABLES: dict[str, Callable[[], Rows]] = {
    "models": models,
    "classes": classes,
    "adaptive": adaptive,
    "hardware": hardware,
    "bandwidths": bandwidths,
    "reuse": reuse,
    "eyeriss": eyeriss,
    "cases": reference_cases,
}


def main() -> None:
    """Print the tables, and put them into the page with --write."""
    assert set(STYLES) == set(style_names())
    publish(TABLES, PAGE)


if __name__ == "__main__":
    main()

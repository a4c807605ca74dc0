"""Reproduces what S. Dave et al., dMazeRunner, ACM TECS 18(5s), 2019, state, as tables.

    python reproduce/dmazerunner.py [heuristics|optima|mechanisms|pairs|energy|memories|examples|
                                     counts|own|pipelined ...]

Without names of tables all are made, which takes some minutes: `own` searches all mappings of the
six layers, `pairs` the execution methods of 21 dataflows. Every number is computed here, those in
columns named "paper" aside.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from pathlib import Path

import tilewright as tw
from tilewright.architecture.machine import Memory
from tilewright.architecture.technology.files import load_technology
from tilewright.interop.dmazerunner.counting import Passes
from tilewright.interop.dmazerunner.method import Method, mapping_of
from tilewright.interop.dmazerunner.result import MethodCost
from tilewright.interop.dmazerunner.search import best_of
from tilewright.interop.dmazerunner.space import PRUNED, Pruning, Space
from tilewright.kernels.types import Bools, Ints
from tilewright.text import aligned as lines_of

NETWORK = tw.load_network(str(Path(__file__).with_suffix(".yaml")))
MACHINE = tw.load_architecture("dmazerunner-256")
Row = Sequence[str]


@dataclass(frozen=True)
class Mechanism(Space):
    """Execution methods of one dataflow: what is spread over the array."""

    only: str = ""
    always: str = ""

    def spreads(self, factors: Ints) -> Bools:
        """Return which rows of spatial factors the array and the dataflow allow."""
        names = self.tiles.dimensions
        kept = super().spreads(factors)
        if self.only:
            others = [i for i, d in enumerate(names) if d not in self.only]
            kept = kept & (factors[:, others] == 1).all(axis=1)
        for d in self.always:
            kept = kept & (factors[:, names.index(d)] > 1)
        return kept


def aligned(rows: Sequence[Row]) -> str:
    """Return a table as text."""
    return "\n".join(lines_of(rows, (0,)))


def found(space: Space, goal: str = "edp") -> MethodCost:
    """Return the best method of a space that has one."""
    best = best_of(space, goal)
    assert best is not None
    return best


def total_edp(best: Sequence[MethodCost]) -> float:
    """Return the sum over the layers, as the paper adds them up."""
    return sum(own.edp_pj_cycles for own in best)


def heuristics() -> str:
    """Count methods with more and more heuristics, and their least EDP: section 6.3, Fig. 11."""
    paper_counts = {"all": "2.12E+09", "OPT1": "2.57E+06", "OPT1+2": "1.28E+06",
                    "OPT1+2+3": "2.35E+05"}  # fmt: skip
    paper_edp = {"all": "0 %", "OPT1": "2 %", "OPT1+2": "", "OPT1+2+3": "2.56 %"}
    result = tw.methods(NETWORK, MACHINE, best="edp")
    sums = {
        name: sum(own.best[name].edp_pj_cycles for own in result.layers if own.best[name])
        for name in PRUNED
    }
    rows: list[Row] = [("pruned by", "methods", "paper", "EDP of all layers", "above all", "paper")]
    for name in PRUNED:
        above = f"{100 * (sums[name] / sums['all'] - 1):.2f} %"
        rows.append((name, f"{result.total(name):,}", paper_counts[name], f"{sums[name]:.6g}",
                     above, paper_edp[name]))  # fmt: skip
    return aligned(rows)


def optima() -> str:
    """Find least EDP and fewest cycles of each layer."""
    rows: list[Row] = [
        ("layer", "least EDP", "its energy", "its cycles", "OPT1-3", "above", "fewest cycles")
    ]
    for layer in NETWORK.layers:
        best = found(Space(layer, MACHINE))
        pruned = found(Space(layer, MACHINE, Pruning(PRUNED["OPT1+2+3"])))
        fewest = found(Space(layer, MACHINE), "cycles")
        above = pruned.edp_pj_cycles / best.edp_pj_cycles - 1
        rows.append((
            layer.name, f"{best.edp_pj_cycles:.6g}", f"{best.energy_pj:,.0f}",
            f"{best.cycles:,.0f}", f"{pruned.edp_pj_cycles:.6g}", f"{100 * above:.2f} %",
            f"{fewest.cycles:,.0f}",
        ))  # fmt: skip
    return aligned(rows)


# the dataflows of section 6, here by the names of our dimensions
MECHANISMS = {"SOC": "PQ", "MOC": "KPQ", "WS1": "RS", "RS": "PR", "WS2": "KC"}


def mechanisms() -> str:
    """Compare the best method of each dataflow with the optimum: Fig. 9(a)."""
    best = [found(Space(layer, MACHINE)) for layer in NETWORK.layers]
    names = [layer.name for layer in NETWORK.layers]
    rows: list[Row] = [("ratio of", "spread", *names, "all layers")]
    for name, spread in MECHANISMS.items():
        own = [found(Mechanism(layer, MACHINE, only=spread)) for layer in NETWORK.layers]
        edp = [a.edp_pj_cycles / b.edp_pj_cycles for a, b in zip(own, best, strict=True)]
        cycles = [a.cycles / b.cycles for a, b in zip(own, best, strict=True)]
        whole = total_edp(own) / total_edp(best)
        time = sum(a.cycles for a in own) / sum(b.cycles for b in best)
        rows.append((f"{name} EDP", spread, *(f"{r:.2f}" for r in edp), f"{whole:.2f}"))
        rows.append((f"{name} cycles", "", *(f"{r:.2f}" for r in cycles), f"{time:.2f}"))
    return aligned(rows)


def pairs() -> str:
    """Find the best method that spreads two loops, and more if it likes: Fig. 9."""
    names = [layer.name for layer in NETWORK.layers]
    rows: list[Row] = [("spread", *names, "all layers", "cycles of all")]
    best = total_edp([found(Space(layer, MACHINE)) for layer in NETWORK.layers])
    for pair in combinations("NKCPQRS", 2):
        own = [found(Mechanism(layer, MACHINE, always="".join(pair))) for layer in NETWORK.layers]
        cells = [f"{cost.edp_pj_cycles:.3g}" for cost in own]
        ratio = f"{total_edp(own) / best:.2f}"
        rows.append(("|".join(pair), *cells, ratio, f"{sum(c.cycles for c in own):.4g}"))
    return aligned(rows)


def energy() -> str:
    """Find the least energy of each layer, in microjoules: dMazeRunner in Fig. 10."""
    levels = [level.name for level in reversed(MACHINE.levels)]
    rows: list[Row] = [("layer", "energy", *levels, "cycles")]
    for layer in NETWORK.layers:
        best = found(Space(layer, MACHINE), "energy")
        parts = (f"{best.energy[name] / 1e6:.1f}" for name in levels)
        rows.append((layer.name, f"{best.energy_pj / 1e6:.1f}", *parts, f"{best.cycles:,.0f}"))
    return aligned(rows)


REGISTERS = [16, 32, 64, 128, 256, 512, 1024]  # bytes
BUFFERS = [16, 32, 64, 128, 256, 512, 1024]  # KiB
TABLE4 = {
    "conv1": ((256, 512), 1.59e16, "1x, 1.16x"), "conv2_2": ((256, 512), 4.52e15, "1x, 1.03x"),
    "conv3_2": ((256, 1024), 3.56e15, "1.10x, 1x"),
    "conv4_2": ((256, 1024), 3.57e15, "1.11x, 1x"),
    "conv5_1": ((256, 1024), 2.83e15, "1.08x, 1x"),
    "conv5_2": ((256, 128), 6.14e15, "1.05x, 1.03x"),
    "all layers": ((256, 512), 3.78e16, "1x, 1.04x"),
}  # fmt: skip


def sized(registers: int, buffer: int) -> tw.Architecture:
    """Return the machine with other memories, at the energies of their sizes, banks of 2 KiB."""
    technology = load_technology("dmazerunner")

    def resized(memory: Memory, kind: str, size: int) -> Memory:
        price = technology.memory_energy("sram" if kind == "sram" else "registers", 8 * size, 16)
        assert price is not None
        banks = size // 2048 if kind == "sram" else None
        return replace(
            memory, capacity_bits=8 * size, banks=banks, read_energy=price, write_energy=price
        )

    dram, spm, array, rf, mac = MACHINE.levels
    assert isinstance(spm, Memory) and isinstance(rf, Memory)
    chain = (dram, resized(spm, "sram", 1024 * buffer), array, resized(rf, "registers", registers))
    return replace(MACHINE, levels=(*chain, mac))


def memories() -> str:
    """Find the EDP for 49 pairs of sizes, with OPT1 to OPT3: section 6.4, Table 4, Fig. 12."""
    edp: dict[tuple[int, int], dict[str, float | None]] = {}
    for registers in REGISTERS:
        for buffer in BUFFERS:
            machine = sized(registers, buffer)
            own: dict[str, float | None] = {}
            for layer in NETWORK.layers:
                best = best_of(Space(layer, machine, Pruning(PRUNED["OPT1+2+3"])))
                own[layer.name] = None if best is None else best.edp_pj_cycles
            every = [value for value in own.values() if value is not None]
            own["all layers"] = sum(every) if len(every) == len(own) else None
            edp[registers, buffer] = own
    rows: list[Row] = [
        ("layer", "best sizes", "EDP", "512k, 1024k", "paper: sizes", "EDP", "512k, 1024k")
    ]
    for name, (sizes, stated, ratios) in TABLE4.items():
        least = {key: own[name] for key, own in edp.items() if own[name] is not None}
        key = min(least, key=lambda k: least[k] or 0.0)
        ours = (
            f"{(edp[256, buffer][name] or 0.0) / (least[key] or 1.0):.2f}x"
            for buffer in (512, 1024)
        )
        rows.append((name, f"<{key[0]},{key[1]}k>", f"{least[key]:.3g}", ", ".join(ours),
                     f"<{sizes[0]},{sizes[1]}k>", f"{stated:.3g}", ratios))  # fmt: skip
    grid: list[Row] = [("EDP of all layers", *(f"SPM {buffer}k" for buffer in BUFFERS))]
    for registers in REGISTERS:
        cells = (edp[registers, buffer]["all layers"] for buffer in BUFFERS)
        grid.append((f"RF {registers} B", *("-" if c is None else f"{c:.3g}" for c in cells)))
    return aligned(rows) + "\n\n" + aligned(grid)


def examples() -> str:
    """Compute what the text works out: sections 2, 4.2.2 and 6.1."""
    window = tw.einsum("O[M,Y,X] += I[Y+Fy,X+Fx] * W[M,Fy,Fx]", M=2, Y=3, X=3, Fy=3, Fx=3)
    ones = dict.fromkeys(window.dimensions, 1)
    loops = (("M", 2), ("Fy", 3))
    inside = Passes(window, MACHINE, Method((), loops, ones | {"Y": 3, "X": 3}, ones | {"Fx": 3}))
    rows: list[Row] = [("number", "computed", "paper")]
    moves = [str(inside.moves(tensor)) for tensor in window.tensors]
    rows.append(("Fig. 2(b): loads of I, W, and stores of O", ", ".join(moves), "6, 6, 2"))
    words = sum(inside.words["registers"].values())
    rows.append(("Fig. 2(b): registers that a PE uses, of 8", str(words), "7"))
    swapped = replace(inside, method=replace(inside.method, inner=tuple(reversed(loops))))
    rows.append(("  ... loads of I after interchange", str(swapped.moves(window.tensors[0])), "3"))
    batch = tw.conv2d(N=4, K=8, C=8, P=4, Q=4, R=3, S=3)
    held = dict.fromkeys(batch.dimensions, 1) | {"N": 2, "S": 3}
    every = Passes(batch, MACHINE, Method((), (), dict.fromkeys(held, 1), held))
    words = sum(every.words["registers"].values())
    rows.append(("4.2.2: registers of tiling <2,1,1,1,1,1,3>", str(words), "11"))
    eight = sum(1 for a in (1, 2, 4, 8) for b in (1, 2, 4, 8) for c in (1, 2, 4, 8)
                if 8 % (a * b * c) == 0)  # fmt: skip
    rows.append(("4.2.2: ways to tile a loop of 8 at four levels", str(eight), "20"))
    # tile factors that follow from the sizes and the numbers of accesses in section 6.1
    conv5_1 = next(layer for layer in NETWORK.layers if layer.name == "conv5_1")
    for whose, n, k, c, stated in (
        ("SOC", 1, 16, 64, "14.74, 9.44, 0.2"), ("dMazeRunner", 2, 64, 16, "3.68, 4.7, 0.2")
    ):  # fmt: skip
        ones = dict.fromkeys(conv5_1.dimensions, 1)
        tile = ones | {"N": n, "K": k, "C": c, "P": 7, "Q": 7, "R": 3, "S": 3}
        above = tuple((d, conv5_1.bounds[d] // tile[d]) for d in "NKC")
        passes = Passes(conv5_1, MACHINE, Method(above, (), ones, tile))
        sizes, bytes_moved = [], []
        for tensor in conv5_1.tensors:
            changes = passes.passes[0] // passes.reuse[0][tensor.name]
            sizes.append(f"{passes.words['buffer'][tensor.name] * 2 / 1024:.4g}")
            bytes_moved.append(f"{passes.words['buffer'][tensor.name] * 2 * changes / 1e6:.4g}")
        kib = {"SOC": "28, 18, 1.5", "dMazeRunner": "14.06, 18, 12.25"}[whose]
        rows.append((f"6.1: conv5_1, {whose}: kB of I, W, O in SPM", ", ".join(sizes), kib))
        rows.append((f"6.1: conv5_1, {whose}: MB from DRAM", ", ".join(bytes_moved), stated))
    return aligned(rows)


def counts() -> str:
    """Count one method as dMazeRunner does and as tilewright does.

    It is that of `examples/conv.py` in dMazeRunner's public code with half the channels in the
    buffer, so that it fits: partial sums pass between elements that share outputs, and return.
    """
    layer = NETWORK.layers[-1]
    spatial = dict.fromkeys(layer.dimensions, 1) | {"K": 2, "C": 2, "P": 7, "Q": 7}
    held = dict.fromkeys(layer.dimensions, 1) | {"N": 4, "K": 16, "C": 8}
    method = Method((("K", 8), ("C", 32)), (("K", 2), ("R", 3), ("S", 3)), spatial, held)
    mapping = mapping_of(method, layer, MACHINE)
    best = tw.evaluate(layer, MACHINE, mapping, counting="dmazerunner")
    passes = Passes(layer, MACHINE, method)
    ours = tw.evaluate(layer, MACHINE, mapping)
    spm, rf = ours.memories["SPM"].tensors, ours.memories["RF"].tensors
    used, different = passes.elements
    rows: list[Row] = [("count (elements)", "dMazeRunner", "tilewright", "energy (uJ)", "")]

    def row(name: str, theirs: int, own: int, price: float) -> None:
        rows.append((name, f"{theirs:,}", f"{own:,}", f"{theirs * price / 1e6:.1f}",
                     f"{own * price / 1e6:.1f}"))  # fmt: skip

    for tensor in layer.tensors:
        name, moves = tensor.name, passes.moves(tensor)
        changes, tile = passes.passes[0] // passes.reuse[0][name], passes.words["buffer"][name]
        back = tile * passes.returns if tensor.is_output else 0
        ways = 2 if tensor.is_output and not passes.continues(tensor) else 1
        received = passes.words["registers"][name] * (different if tensor.is_output else used)
        adds = passes.reduction if tensor.is_output else 0
        dram = (
            ours.memories["DRAM"].tensors[name].reads + ours.memories["DRAM"].tensors[name].writes
        )
        both = spm[name].reads + spm[name].writes - dram
        sent = passes.words["array"][name] * moves * ways
        row(f"{name} at DRAM", tile * changes + back, dram, 200)
        row(f"{name} at SPM, from and to DRAM", 0, dram, 13.5)
        row(f"{name} at SPM, to and from RF", sent, both, 13.5)
        row(f"{name} in the network", (received * ways + adds) * moves,
            ours.networks["PE"].hops[name], 2)  # fmt: skip
    accesses = 4 * layer.operations + 3 * passes.reduction * passes.moves(layer.output)
    row(
        "all at RF",
        accesses,
        sum(rf[t.name].reads + rf[t.name].writes for t in layer.tensors),
        0.96,
    )
    rows.append(("energy (pJ)", f"{best.energy_pj:,.0f}", f"{ours.energy_pj:,.0f}", "", ""))
    rows.append(("cycles", f"{best.cycles:,.0f}", f"{ours.cycles:,.0f}", "", ""))
    return aligned(rows)


LIMIT = 240.0  # seconds for a search


def own() -> str:
    """Map the six layers in tilewright's space, by its counts; energies in microjoules."""
    names = [level.name for level in MACHINE.levels]
    rows: list[Row] = [("mapping", "EDP", "ratio", "energy", "cycles", *names, "gap")]
    kept = replace(
        MACHINE,
        levels=tuple(
            replace(level, must_keep=frozenset("IWO")) if isinstance(level, Memory) else level
            for level in MACHINE.levels
        ),
    )
    for layer in NETWORK.layers:
        best = found(Space(layer, MACHINE))
        base = best.edp_pj_cycles
        levels = [best.energy[name] for name in names]
        rows.append((f"{layer.name}: dMazeRunner's best, its counts",
                     *cells(base, base, best.energy_pj, best.cycles, levels), ""))  # fmt: skip
        ours = tw.evaluate(layer, MACHINE, best.mapping)
        rows.append(("  the same mapping, our counts", *our_cells(ours, base), ""))
        variants = {"every memory keeps all": kept, "our best": MACHINE}
        for name, machine in variants.items():
            label = f"  {name}, our counts"
            layers = tw.map(layer, machine, "edp", time_limit=LIMIT, tiles="divisors").layers
            if not layers:
                rows.append((label, *[""] * (len(rows[0]) - 2), f"none in {LIMIT:g} s"))
                continue
            proof = layers[0].proof
            gap = "optimal" if proof.optimal else f"{100 * proof.gap:.1f} %"
            rows.append((label, *our_cells(layers[0].evaluation, base), gap))
    return aligned(rows)


def our_cells(ours: tw.Evaluation, base: float) -> Row:
    """Return the cells of an evaluation in `own`."""
    memories = {name: memory.energy_pj for name, memory in ours.memories.items()}
    networks = {name: network.energy_pj for name, network in ours.networks.items()}
    unit = {ours.architecture.compute.name: ours.compute.energy_pj}
    parts = memories | networks | unit
    levels = [parts[level.name] for level in ours.architecture.levels]
    return cells(ours.edp_pj_cycles, base, ours.energy_pj, ours.cycles, levels)


def cells(edp: float, base: float, energy_pj: float, cycles: float, levels: Sequence[float]) -> Row:
    """Return the cells of a row of `own`."""
    energies = [f"{value / 1e6:.0f}" for value in (energy_pj, *levels)]
    return (f"{edp:.4g}", f"{edp / base:.3f}", energies[0], f"{cycles:,.0f}", *energies[1:])


def pipelined() -> str:
    """Map the six layers under pipelined latency; energies in microjoules."""
    rows: list[Row] = [("mapping", "EDP", "ratio", "energy", "cycles", "computing", "gap")]
    for layer in NETWORK.layers:
        best = found(Space(layer, MACHINE))
        same = tw.evaluate(layer, MACHINE, best.mapping, latency="pipelined")
        rows.append((f"{layer.name}: dMazeRunner's best method", *timed_cells(same, same), ""))
        for objective in ("edp", "latency"):
            ours = tw.map(layer, MACHINE, objective, latency="pipelined", cache=False).layers[0]
            standing = "optimal" if ours.proof.optimal else f"{100 * ours.proof.gap:.1f} %"
            name = {"edp": "least EDP", "latency": "fewest cycles"}[objective]
            rows.append((f"  {name}", *timed_cells(ours.evaluation, same), standing))
    return aligned(rows)


def timed_cells(ours: tw.Evaluation, same: tw.Evaluation) -> Row:
    """Return the cells of an evaluation in `pipelined`, relative to another."""
    assert ours.pipeline is not None
    return (
        f"{ours.edp_pj_cycles:.4g}", f"{ours.edp_pj_cycles / same.edp_pj_cycles:.3f}",
        f"{ours.energy_pj / 1e6:.0f}", f"{ours.cycles:,.0f}", f"{ours.pipeline.computing:,.0f}",
    )  # fmt: skip


TABLES: dict[str, Callable[[], str]] = {
    "heuristics": heuristics, "optima": optima, "mechanisms": mechanisms, "pairs": pairs,
    "energy": energy, "memories": memories, "examples": examples, "counts": counts, "own": own,
    "pipelined": pipelined,
}  # fmt: skip


def main() -> None:
    """Print the tables that are asked for."""
    wanted = sys.argv[1:] or list(TABLES)
    for name in wanted:
        if name not in TABLES:
            sys.exit(f"no table '{name}'; there are: {', '.join(TABLES)}")
    for name in wanted:
        if len(wanted) > 1:
            print(f"== {name}: {TABLES[name].__doc__}\n")
        print(TABLES[name]() + ("\n" if len(wanted) > 1 else ""), flush=True)


if __name__ == "__main__":
    main()

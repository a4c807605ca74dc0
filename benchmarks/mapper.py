"""What a proof costs: time, peak memory, compilation; and what random sampling reaches instead.

Every case runs in a process of its own, so that its peak memory is its own.
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from math import inf
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from time import perf_counter, process_time
from typing import Any

from benchmarks import Section
from tilewright.architecture.files import load_architecture
from tilewright.mapper.network.running.compilation import (
    compile_kernels,
    is_compiled,
)
from tilewright.mapper.problem.space_size import mappings_in_space
from tilewright.mapper.search.search import Search
from tilewright.mapping.files import mapping_data
from tilewright.model.batch import evaluate_batch
from tilewright.model.evaluate import evaluate
from tilewright.strategies.run import Run, improvements
from tilewright.strategies.searches.sampling import Random
from tilewright.strategies.steps import Problem
from tilewright.workload.einsum import einsum
from tilewright.workload.network import load_network, select

RUNS = 3
STARTS = 5
SEEDS = 3
CHECKPOINTS = (1, 10, 30)  # multiples of the time of the proof
MOST_SECONDS = 30.0
MACHINE = "simple"
NETWORK, CHIP = "resnet50", "eyeriss"

LAYERS = {
    "matrix product 64x64x64": einsum("O[M,N] += I[M,K] * W[K,N]", M=64, N=64, K=64),
    "matrix product 128x96x80": einsum("O[M,N] += I[M,K] * W[K,N]", M=80, N=128, K=96),
    "matrix-vector product 4096": einsum("O[M,N] += I[M,K] * W[K,N]", M=1, N=4096, K=4096),
    "pointwise 1024x256x14x14": einsum("O[K,P,Q] += I[C,P,Q] * W[K,C]", K=1024, C=256, P=14, Q=14),
    "convolution 256x256x14x14x3x3": einsum(
        "O[N,K,P,Q] += I[N,C,P+R,Q+S] * W[K,C,R,S]", N=1, K=256, C=256, P=14, Q=14, R=3, S=3
    ),
    "convolution 256x256x56x56x3x3": einsum(
        "O[N,K,P,Q] += I[N,C,P+R,Q+S] * W[K,C,R,S]", N=1, K=256, C=256, P=56, Q=56, R=3, S=3
    ),
    "depthwise convolution 256x28x28x3x3": einsum(
        "O[G,P,Q] += I[G,P+R,Q+S] * W[G,R,S]", G=256, P=28, Q=28, R=3, S=3
    ),
    "matrix product 2048x11008x4096": einsum("O[M,N] += I[M,K] * W[K,N]", M=2048, N=11008, K=4096),
}
SMALL = einsum("O[K,P,Q] += I[C,P+R,Q] * W[K,C,R]", K=4, C=4, P=4, Q=2, R=3)


@dataclass(frozen=True)
class Case:
    """A layer and an objective.

    Attributes
    ----------
    layer, objective : str
    known : float or None
        The optimum that another exact program found for the same space.
    """

    layer: str
    objective: str
    known: float | None = None


CASES = (
    Case("matrix product 64x64x64", "energy", 3252224.0),
    Case("matrix product 64x64x64", "edp"),
    Case("matrix product 128x96x80", "energy", 9010688.0),
    Case("matrix-vector product 4096", "energy", 3391426560.0),
    Case("pointwise 1024x256x14x14", "energy", 257057792.0),
    Case("convolution 256x256x14x14x3x3", "energy"),
    Case("convolution 256x256x14x14x3x3", "edp"),
    Case("convolution 256x256x56x56x3x3", "energy"),
    Case("convolution 256x256x56x56x3x3", "edp"),
    Case("depthwise convolution 256x28x28x3x3", "energy"),
    Case("matrix product 2048x11008x4096", "edp"),
)
SAMPLED = (CASES[0], CASES[4], CASES[5], CASES[6])


# --- what runs in a process of its own -----------------------------------------------------------


def peak_memory() -> float:
    """Return the most memory that this process has held, with one that it has started, in MB."""
    unit = 1 if sys.platform == "darwin" else 1024
    kinds = (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
    return sum(resource.getrusage(kind).ru_maxrss for kind in kinds) * unit / 1e6


def process_times() -> float:
    """Return the CPU seconds of this process and of those that it has started and that ended."""
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return process_time() + children.ru_utime + children.ru_stime


def every_kernel() -> dict[str, float]:
    """Call what is compiled: the search, its bounds, the evaluation of a mapping and of a batch."""
    begin, cpu_begin = perf_counter(), process_times()
    if not is_compiled():
        compile_kernels()  # as `map` does
    machine = load_architecture(MACHINE)
    mappings_in_space(SMALL, machine)
    for objective in ("energy", "edp"):
        mapping = Search(SMALL, machine, objective).solve().mapping
    assert mapping is not None
    evaluate(SMALL, machine, mapping)
    tiles = [[node.tile for node in mapping.nodes if hasattr(node, "tile")]]
    evaluate_batch(SMALL, machine, mapping, tiles)
    return {"wall": perf_counter() - begin, "cpu": process_times() - cpu_begin}


def prove(name: str, objective: str) -> dict[str, float]:
    """Search one layer to the end, several times; the kernels are loaded before."""
    every_kernel()
    before = peak_memory()
    layer, machine = LAYERS[name], load_architecture(MACHINE)
    wall, cpu = [], []
    for _ in range(RUNS):
        begin, cpu_begin = perf_counter(), process_time()
        found = Search(layer, machine, objective).solve()
        wall.append(perf_counter() - begin)
        cpu.append(process_time() - cpu_begin)
    assert found.finished and found.mapping is not None
    peak = peak_memory()
    cost = evaluate(layer, machine, found.mapping)
    exact = {"energy": cost.energy_pj, "latency": cost.cycles, "edp": cost.edp_pj_cycles}[objective]
    assert abs(exact - found.value) <= 1e-9 * exact
    return {
        "wall": median(wall),
        "cpu": median(cpu),
        "before": before,
        "peak": peak,
        "value": found.value,
        "labels": found.labels,
        "space": mappings_in_space(layer, machine),
    }


def sample(name: str, objective: str, seconds: str) -> dict[str, list[float]]:
    """Draw mappings at random for multiples of a CPU time; return the best value after each."""
    every_kernel()
    problem = Problem(LAYERS[name], load_architecture(MACHINE), objective)
    times = [min(float(seconds) * times, MOST_SECONDS) for times in CHECKPOINTS]
    best, counts = [], []
    for seed in range(SEEDS):
        run = Run("random")
        for _ in improvements(run, Random(), problem, times[-1], seed):
            pass
        reached = [run.after(time) for time in times]
        best.append([inf if found is None else found.value for found in reached])
        counts.append(run.evaluated)
    return {
        "best": [median(values) for values in zip(*best, strict=True)],
        "rows": [median(counts)],
    }


def prove_network() -> dict[str, float]:
    """Map a whole network with two workers."""
    import tilewright

    every_kernel()
    before = peak_memory()
    cpu = process_time()
    result = tilewright.map(NETWORK, CHIP, "edp", workers=2, cache=False, tiles="divisors")
    assert result.optimal
    return {
        "wall": result.seconds,
        "cpu": process_time() - cpu,
        "before": before,
        "peak": peak_memory(),
        "layers": len(result.layers),
        "slowest": max(layer.proof.seconds for layer in result.layers),
        "space": sum(layer.proof.mappings_in_space for layer in result.layers),
        "energy": result.energy_pj,
        "cycles": result.cycles,
    }


JOBS: dict[str, Callable[..., dict[str, Any]]] = {
    "every_kernel": every_kernel,
    "prove": prove,
    "sample": sample,
    "prove_network": prove_network,
}


def in_process(job: str, *arguments: str, **environment: str) -> dict[str, Any]:
    """Run one of the above in a new process."""
    command = [sys.executable, "-m", "benchmarks.mapper", job, *arguments]
    answer = subprocess.run(
        command, env=os.environ | environment, capture_output=True, text=True, check=False
    )
    if answer.returncode:
        raise SystemExit(answer.stderr)
    result: dict[str, Any] = json.loads(answer.stdout)
    return result


# --- tables --------------------------------------------------------------------------------------


def sections() -> Iterator[Section]:
    """Yield the tables, as they are measured."""
    yield compilation()
    in_process("every_kernel")  # no case shall compile
    proofs = {case: in_process("prove", case.layer, case.objective) for case in CASES}
    yield proof_table(proofs)
    yield sampling_table(proofs)
    yield network()
    yield processes()


def compilation() -> Section:
    """Measure a first run, which compiles everything, and a second one, which loads it."""
    with TemporaryDirectory() as folder:
        runs = [in_process("every_kernel", NUMBA_CACHE_DIR=folder) for _ in range(2)]
    names = ("first, compiles", "later, loads")
    return Section(
        "Compilation of all kernels, imports excluded",
        ("run", "s", "CPU s"),
        tuple(
            (name, f"{r['wall']:.2f}", f"{r['cpu']:.2f}")
            for name, r in zip(names, runs, strict=True)
        ),
    )


def proof_table(proofs: dict[Case, dict[str, Any]]) -> Section:
    """Return times and values of single layers."""
    rows = []
    for case, r in proofs.items():
        known = "" if case.known is None else f"{r['value'] / case.known:.9g}"
        rows.append(
            (
                case.layer,
                case.objective,
                f"{r['wall']:.3g}",
                f"{r['cpu']:.3g}",
                f"{r['peak']:.0f}",
                f"{r['peak'] - r['before']:.0f}",
                f"{r['space']:.2g}",
                f"{r['labels']:,}",
                f"{r['value']:.7g}",
                known,
            )
        )
    return Section(
        "Time to proof, one core, machine simple, any bypass",
        (
            "layer", "objective", "s", "CPU s", "peak MB", "of it the search", "mappings", "labels",
            "value", "value / known optimum",
        ),
        tuple(rows),
        f"Median of {RUNS} runs in one process, kernels loaded.",
    )  # fmt: skip


def sampling_table(proofs: dict[Case, dict[str, Any]]) -> Section:
    """Return what random mappings reach in the time of the proof and multiples of it."""
    rows = []
    for case in SAMPLED:
        proof = proofs[case]
        found = in_process("sample", case.layer, case.objective, str(proof["cpu"]))
        ratios = [f"{best / proof['value']:.2f}" for best in found["best"]]
        rows.append((case.layer, case.objective, *ratios, f"{found['rows'][0]:,.0f}"))
    return Section(
        "Best random mapping / proven optimum, after multiples of the CPU time of the proof",
        (
            "layer", "objective", *(f"{times} x" for times in CHECKPOINTS), "mappings drawn",
        ),
        tuple(rows),
        f"Median of {SEEDS} seeds, {MOST_SECONDS:g} s at most. Drawing and evaluation are timed.",
    )  # fmt: skip


def network() -> Section:
    """Return what a whole network takes."""
    r = in_process("prove_network")
    row = (
        f"{NETWORK} on {CHIP}, edp, {r['layers']} layers", f"{r['wall']:.2f}", f"{r['cpu']:.2f}",
        f"{r['slowest']:.2f}", f"{r['peak']:.0f}", f"{r['peak'] - r['before']:.0f}",
        f"{r['space']:.2g}", f"{r['energy']:.5g}", f"{r['cycles']:,.0f}",
    )  # fmt: skip
    columns = (
        "network, 2 workers", "s", "CPU s", "slowest layer, s", "peak MB", "of it the search",
        "mappings", "pJ", "cycles",
    )  # fmt: skip
    return Section("All layers of a network, each proven optimal", columns, (row,))


def processes() -> Section:
    """Measure commands from start to end."""
    layer, machine = select(load_network(NETWORK), "conv4_2.3x3"), load_architecture(MACHINE)
    mapping = Search(layer, machine, "edp").solve().mapping
    assert mapping is not None
    with TemporaryDirectory() as folder:
        file = Path(folder) / "mapping.yaml"
        file.write_text(json.dumps({"mapping": mapping_data(mapping, layer)}))
        commands = {
            "tilewright --help": ["--help"],
            "tilewright evaluate": [
                "evaluate", NETWORK, MACHINE, str(file), "--layer", layer.name,
            ],
            "tilewright map": [
                "map", NETWORK, MACHINE, "--layer", layer.name, "--objective", "edp", "--no-cache",
            ],
        }  # fmt: skip
        rows = []
        for name, arguments in commands.items():
            times = []
            for _ in range(STARTS):
                begin = perf_counter()
                subprocess.run(
                    [sys.executable, "-m", "tilewright", *arguments],
                    check=True, capture_output=True,
                )  # fmt: skip
                times.append(perf_counter() - begin)
            rows.append((name, f"{min(times):.2f}", f"{median(times):.2f}"))
    return Section(
        f"Processes from start to end, {layer.name} of {NETWORK} on {MACHINE}",
        ("command", "s, best", "s, median"),
        tuple(rows),
    )


if __name__ == "__main__":
    print(json.dumps(JOBS[sys.argv[1]](*sys.argv[2:])))

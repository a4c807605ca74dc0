"""What takes long or cannot be proven: all tile sizes, many levels, two sizes at once.

Every case runs in a process of its own and ends at a time limit, with a bound of how much better an
answer can be.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from time import perf_counter
from typing import Any

import tilewright
from benchmarks import Section
from benchmarks.mapper import CHIP, LAYERS, MACHINE, NETWORK, every_kernel, peak_memory
from tilewright.workload.einsum import einsum

LIMIT = 120.0  # seconds
CONVOLUTION = LAYERS["convolution 256x256x14x14x3x3"]
PRIMES = einsum("O[M,N] += I[M,K] * W[K,N]", M=127, N=131, K=61)
CLUSTERS = Path(__file__).parent / "two-arrays.yaml"


def mapped(
    workload: Any, machine: str, tiles: str, time_limit: float | None = LIMIT
) -> dict[str, Any]:
    """Map a workload for the least energy-delay product."""
    found = tilewright.map(
        workload, machine, "edp", tiles=tiles, time_limit=time_limit, workers=2, cache=False
    )
    left = f"no, gap {found.gap:.1%}"
    return {"value": found.edp_pj_cycles, "proven": found.optimal, "left": left}


def prefill() -> dict[str, Any]:
    """Map a large matrix product with all tile sizes."""
    return mapped(LAYERS["matrix product 2048x11008x4096"], MACHINE, "all")


def primes() -> dict[str, Any]:
    """Map a matrix product of prime sizes, all tile sizes."""
    return mapped(PRIMES, MACHINE, "all")


def clusters() -> dict[str, Any]:
    """Map a convolution onto four memories and two arrays."""
    return mapped(CONVOLUTION, str(CLUSTERS), "divisors")


def network() -> dict[str, Any]:
    """Map a network with all tile sizes."""
    return mapped(NETWORK, CHIP, "all", time_limit=None)


def sizes() -> dict[str, Any]:
    """Find the least energy for every size of two memories."""
    found = tilewright.frontier(CONVOLUTION, MACHINE, ["GLB", "RF"], time_limit=LIMIT)
    return {"value": float(len(found)), "proven": found.optimal}


JOBS: dict[str, tuple[str, Callable[[], dict[str, Any]]]] = {
    "prefill": ("matrix product 2048x11008x4096, edp, all tile sizes", prefill),
    "primes": ("matrix product 127x131x61, edp, all tile sizes", primes),
    "clusters": ("convolution 256x256x14x14x3x3, edp, two arrays", clusters),
    "sizes": ("convolution 256x256x14x14x3x3, energy, sizes of two buffers", sizes),
    "network": (f"{NETWORK} on {CHIP}, edp, all tile sizes", network),
}


def cpu_seconds() -> float:
    """Return the CPU time of this process and of those it has started and seen end."""
    return sum(os.times()[:4])


def measure(job: str) -> dict[str, Any]:
    """Run one case in this process, kernels loaded."""
    every_kernel()
    before, begin, cpu = peak_memory(), perf_counter(), cpu_seconds()
    found = JOBS[job][1]()
    times = {"wall": perf_counter() - begin, "cpu": cpu_seconds() - cpu}
    return found | times | {"peak": peak_memory(), "before": before}


def section() -> Section:
    """Return the table of all cases."""
    rows = []
    for job, (what, _) in JOBS.items():
        command = [sys.executable, "-m", "benchmarks.harder", job]
        answer = subprocess.run(command, capture_output=True, text=True, check=False)
        if answer.returncode:
            raise SystemExit(answer.stderr)
        r = json.loads(answer.stdout)
        value = f"{r['value']:.0f} points" if job == "sizes" else f"{r['value']:.5g}"
        left = r.get("left", "no, points may be missing")
        rows.append(
            (
                what, f"{r['wall']:.3g}", f"{r['cpu']:.3g}", f"{r['peak']:.0f}",
                f"{r['peak'] - r['before']:.0f}", value, "yes" if r["proven"] else left,
            )
        )  # fmt: skip
    return Section(
        f"What takes longer, {LIMIT:g} s at most each, but for the network",
        ("case", "s", "CPU s", "peak MB", "of it the search", "value", "proven"),
        tuple(rows),
        "On simple unless another machine is named; two arrays: benchmarks/two-arrays.yaml. The "
        "gap of a network is the largest of its layers.",
    )


def main() -> None:
    if sys.argv[1:]:
        print(json.dumps(measure(sys.argv[1])))
    else:
        print(section().markdown())


if __name__ == "__main__":
    main()

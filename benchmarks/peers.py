"""Another exact mapper beside this one: AccelForge, from PyPI, in an environment of its own.

python -m benchmarks --accelforge [--markdown]

It needs Python 3.12 and a way to PyPI; without either the comparison says so and is left out. Both
get the machine `simple`, tile sizes that divide, the same objective and the same restriction.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from time import process_time
from typing import Any

from benchmarks import Section
from benchmarks.mapper import LAYERS, MACHINE, every_kernel
from tilewright.architecture.files import load_architecture
from tilewright.architecture.machine import Architecture, Memory
from tilewright.mapper.search.search import Search
from tilewright.model.evaluate import evaluate
from tilewright.workload.einsum import einsum
from tilewright.workload.layer import Layer

LIMIT = 120  # CPU seconds that one layer may take there, imports included
INSTALL = 600.0
HOME = Path(__file__).parents[1] / "out" / "accelforge"
PYTHONS = ("python3.12", "python3.13")
SCRIPT = Path(__file__).parent / "accelforge_run.py"
CUBE = "matrix product 64x64x64"
PRODUCTS = {
    f"matrix product {m}x{n}x{k}": einsum("O[M,N] += I[M,K] * W[K,N]", M=m, N=n, K=k)
    for m, n, k in ((1024, 1024, 1024), (512, 3072, 768))
}
KNOWN = LAYERS | PRODUCTS


@dataclass(frozen=True)
class Case:
    """A layer, an objective, and whether every memory has to keep every tensor."""

    layer: str
    objective: str
    keep: bool


CASES = (
    Case(CUBE, "energy", True),
    Case(CUBE, "edp", True),
    Case(CUBE, "energy", False),
    *(Case(name, "energy", True) for name in PRODUCTS),
    Case("pointwise 1024x256x14x14", "energy", True),
    Case("pointwise 1024x256x14x14", "edp", True),
    Case("depthwise convolution 256x28x28x3x3", "energy", True),
    Case("convolution 256x256x14x14x3x3", "energy", True),
)


def interpreters() -> Iterator[str]:
    """Yield the Pythons that can run it."""
    named = [*filter(None, map(shutil.which, PYTHONS))]
    versions = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    named += [str(x / "bin" / "python") for x in sorted(versions.glob("3.12*"), reverse=True)]
    for python in named:
        # a shim may stand for a version that is not there
        if subprocess.run([python, "-c", ""], capture_output=True, check=False).returncode == 0:
            yield python


def environment() -> tuple[str | None, str]:
    """Return the Python that has AccelForge, installed now if need be, or None and why not."""
    python = HOME / "bin" / "python"
    ready = [str(python), "-c", "import accelforge"]
    if python.exists() and subprocess.run(ready, capture_output=True, check=False).returncode == 0:
        return str(python), ""
    for found in interpreters():
        HOME.parent.mkdir(exist_ok=True)
        commands = [
            [found, "-m", "venv", "--clear", str(HOME)],
            [str(python), "-m", "pip", "install", "--quiet", "accelforge"],
        ]
        try:
            for command in commands:
                subprocess.run(command, check=True, capture_output=True, timeout=INSTALL)
        except (OSError, subprocess.CalledProcessError, subprocess.TimeoutExpired) as failure:
            output = getattr(failure, "stderr", None) or str(failure).encode()
            return None, f"it cannot be installed: {output.decode().strip().splitlines()[-1]}"
        return str(python), ""
    return None, "there is no Python 3.12"


def there(python: str, case: Case) -> dict[str, Any] | None:
    """Return what AccelForge finds, or None when it takes too long.

    Raises
    ------
    SystemExit
        When it fails.
    """
    layer = KNOWN[case.layer]
    given = {
        "layer": {
            "bounds": dict(layer.bounds),
            "tensors": {
                tensor.name: [" + ".join(map(str, terms)) for terms in tensor.expressions]
                for tensor in layer.tensors
            },
            "output": layer.output.name,
        },
        "keep": case.keep,
        "objective": case.objective,
    }
    answer = subprocess.run(
        [python, str(SCRIPT), str(LIMIT)], input=json.dumps(given), capture_output=True,
        text=True, check=False, cwd=HOME,
    )  # fmt: skip
    if answer.returncode == -signal.SIGXCPU:
        return None
    if answer.returncode:
        raise SystemExit(answer.stderr)
    result: dict[str, Any] = json.loads(answer.stdout.splitlines()[-1])
    return result


def kept(machine: Architecture) -> Architecture:
    """Return a machine whose memories keep every tensor."""
    return replace(
        machine,
        levels=tuple(
            replace(level, must_keep=frozenset("IWO"))
            if isinstance(level, Memory) and level is not machine.memories[0]
            else level
            for level in machine.levels
        ),
    )


def here(layer: Layer, case: Case) -> tuple[float, float]:
    """Return the proven optimum as the model values it, and the CPU seconds that it takes."""
    machine = load_architecture(MACHINE)
    machine = kept(machine) if case.keep else machine
    begin = process_time()
    found = Search(layer, machine, case.objective).solve()
    seconds = process_time() - begin
    assert found.finished and found.mapping is not None
    cost = evaluate(layer, machine, found.mapping)
    value = {"energy": cost.energy_pj, "edp": cost.edp_pj_cycles}[case.objective]
    assert abs(value - found.value) <= 1e-9 * value
    return value, seconds


def section() -> Section:
    """Return the table, or why there is none."""
    title = f"AccelForge beside tilewright, machine {MACHINE}, tile sizes that divide"
    python, reason = environment()
    if python is None:
        return Section(title, ("layer",), (), f"Left out: {reason}.")
    every_kernel()
    rows, versions = [], set()
    for case in CASES:
        value, seconds = here(KNOWN[case.layer], case)
        found = there(python, case)
        if found is None:
            other, ratio, cpu = "", "", f"over {LIMIT}"
        else:
            (least,) = (min(values) for values in found["columns"].values())
            versions.add(found["version"])
            other, ratio, cpu = f"{least:.7g}", f"{least / value:.6f}", f"{found['cpu']:.3g}"
        rows.append(
            (
                case.layer, "keep all" if case.keep else "any bypass", case.objective, other,
                f"{value:.7g}", ratio, cpu, f"{seconds:.3g}",
            )
        )  # fmt: skip
    return Section(
        title,
        (
            "layer", "memories", "objective", "value there", "value here", "there / here",
            "CPU s there", "CPU s here",
        ),
        tuple(rows),
        f"AccelForge {', '.join(sorted(versions))}, at most {LIMIT} CPU s for each layer with one "
        "job. Imports and compilation of kernels are not counted in the times shown.",
    )  # fmt: skip

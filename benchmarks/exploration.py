"""How much of a proven front strategies without proof find, and in what time.

python -m benchmarks --explore-strategies [DESIGNS ...]
"""

from __future__ import annotations

from itertools import product
from pathlib import Path
from time import process_time

from benchmarks import Section
from tilewright.exploration import Exploration, explore
from tilewright.exploration.proposers import STRATEGIES
from tilewright.workload.layer import Network
from tilewright.workload.operators import matmul

SPACE = Path(__file__).parent / "explore-space.yaml"
NETWORK = Network(
    "attention",
    (
        matmul(M=128, N=768, K=768, name="project"),
        matmul(M=128, N=128, K=64, name="scores"),
    ),
)
AXES = ("edp", "area")
DESIGNS = (30, 60)
SEEDS = (0, 1)


def explored(**more: object) -> tuple[Exploration, float]:
    """Return the front of the space and CPU seconds; each run begins with nothing known."""
    begin = process_time()
    found = explore(NETWORK, SPACE, axes=AXES, objective="edp", **more)  # type: ignore[arg-type]
    return found, process_time() - begin


def row(name: str, found: Exploration, seconds: float) -> tuple[str, ...]:
    """Return a row of the table."""
    c, trial = found.certificate, found.trial
    share = ("100.0 %", f"{len(found)} of {len(found)}", "yes") if trial is None else (
        f"{100 * trial.moments[-1].value:.1f} %", f"{trial.reached} of {trial.proven}", "no"
    )  # fmt: skip
    return name, f"{c.solved:,}", f"{c.searches:,}", f"{seconds:.1f}", *share


def section(designs: list[int]) -> Section:
    """Return the table; strategies stop after so many designs."""
    budgets = tuple(designs) or DESIGNS
    explored(strategy="random", designs=1)  # loads the compiled kernels
    proven, seconds = explored()
    rows = [row("boxes and bounds", proven, seconds)]
    for most, strategy, seed in product(budgets, STRATEGIES, SEEDS):
        found = explored(strategy=strategy, designs=most, seed=seed, against=proven)
        rows.append(row(f"{strategy}, seed {seed}", *found))
    return Section(
        f"Energy-delay product against area, {proven.certificate.designs:,} designs",
        ("strategy", "designs solved", "searches of layers", "CPU s", "hypervolume",
         "of the proven front", "proof"),
        tuple(rows),
        f"Strategies without proof stop after {' or '.join(map(str, budgets))} designs.",
    )  # fmt: skip

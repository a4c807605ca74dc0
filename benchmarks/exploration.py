"""Proven fronts of machines: how long they take, and what strategies without proof find of them.

python -m benchmarks --explore [NETWORK] [SPACE] [SECONDS] [EVERY]
python -m benchmarks --explore-strategies [DESIGNS ...]
"""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from pathlib import Path
from resource import RUSAGE_SELF, getrusage
from time import process_time

from benchmarks import Section
from tilewright.exploration import Exploration, explore, load_space
from tilewright.exploration.proposers import STRATEGIES
from tilewright.workload.layer import Network
from tilewright.workload.operators import matmul

SPACE = Path(__file__).parent / "explore-space.yaml"
ARRAYS = Path(__file__).parent / "explore-arrays.yaml"
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


def proof(words: list[str]) -> Section:
    """Return how many designs of a space are decided for a network, and in what CPU time.

    `EVERY` thins the space: of each parameter, every so many values count.
    """
    usual = ("bert_base", str(ARRAYS), "600", "1")
    network, path, limit, every = (*words[:4], *usual[len(words) :])
    whole = load_space(path)
    space = replace(
        whole,
        parameters=tuple(replace(p, values=p.values[:: int(every)]) for p in whole.parameters),
    )
    begin = process_time()
    found = explore(network, space, axes=AXES, objective="edp", time_limit=float(limit))
    seconds, c = process_time() - begin, found.certificate
    decided = c.designs - c.open
    peak = getrusage(RUSAGE_SELF).ru_maxrss // 1024
    row = (
        network, f"{c.designs:,}", f"{decided:,}", f"{seconds:.0f}", f"{decided / seconds:,.0f}",
        f"{c.searches:,}", f"{c.solved:,}", str(len(found)), f"{peak:,}",
        "yes" if found.optimal else "no",
    )  # fmt: skip
    return Section(
        f"Energy-delay product against area, one process, space '{found.space.name}'",
        ("network", "designs", "decided", "CPU s", "decided per CPU s", "searches of layers",
         "designs solved", "front", "peak MB", "proof"),
        (row,),
        f"Stopped after {limit} s at the latest.",
    )  # fmt: skip


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

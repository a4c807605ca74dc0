"""Every network that ships on every machine that ships: what is proven, and how soon."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from benchmarks import Section
from benchmarks.park.measure import Answer, Call, asked
from tilewright.architecture.files import preset_names
from tilewright.mapper.results.searched_space import ALL, DIVISORS
from tilewright.workload.network import zoo_names

SECONDS = 30.0
Answers = dict[tuple[str, str], Answer]


def parser() -> argparse.ArgumentParser:
    """Return the command line."""
    options = argparse.ArgumentParser(prog="python -m benchmarks --zoo", description=__doc__)
    options.add_argument("--network", action="append", choices=zoo_names(), help="these alone")
    options.add_argument("--machine", action="append", choices=preset_names(), help="these alone")
    options.add_argument("--seconds", type=float, default=SECONDS, help="limit of each pair")
    options.add_argument("--objective", choices=("edp", "energy", "latency"), default="edp")
    options.add_argument("--tiles", choices=(DIVISORS, ALL), default=DIVISORS)
    options.add_argument("--workers", type=int, help="processes of the mapper")
    options.add_argument("--json", type=Path, help="answers; pairs that it has are not run again")
    options.add_argument("--markdown", action="store_true")
    return options


def zoo(arguments: Sequence[str]) -> Section:
    """Measure what the command line asks for."""
    options = parser().parse_args(arguments)
    networks, machines = options.network or zoo_names(), options.machine or preset_names()
    kept = {}
    if options.json and options.json.exists():
        kept = json.loads(options.json.read_text())
    answers: Answers = {}
    for network in networks:
        for machine in machines:
            call = Call(
                network, machine, options.objective, options.tiles, options.seconds,
                options.workers,
            )  # fmt: skip
            key = json.dumps(asdict(call))
            if key not in kept:
                kept[key] = asdict(asked(call))
                if options.json:
                    options.json.write_text(json.dumps(kept, indent=1) + "\n")
            answers[network, machine] = found = Answer(**kept[key])
            print(f"{network} on {machine}: {cell(found)}", file=sys.stderr)
    return section(answers, options)


def cell(answer: Answer) -> str:
    """Return the time to proof; or how many layers are proven, and the greatest gap."""
    if answer.fault:
        return answer.fault
    if answer.optimal:
        return f"{answer.seconds:.1f} s"
    return f"{answer.proven} of {answer.layers}, {answer.gap:.1%}"


def section(answers: Answers, options: argparse.Namespace) -> Section:
    """Return the table."""
    networks = list(dict.fromkeys(network for network, _ in answers))
    machines = list(dict.fromkeys(machine for _, machine in answers))
    whole = [answer for answer in answers.values() if answer.optimal]
    open_ = [answer for answer in answers.values() if not answer.optimal]
    times = sorted(answer.seconds for answer in whole) or [0.0]
    layers = sum(answer.layers for answer in answers.values())
    proven = sum(answer.proven for answer in answers.values())
    late = max(answer.seconds - options.seconds for answer in answers.values())
    return Section(
        f"Networks on machines, {options.objective}, {options.seconds:g} s at most each, tile "
        f"sizes: {options.tiles}",
        ("network", *machines),
        tuple((name, *(cell(answers[name, machine]) for machine in machines)) for name in networks),
        "Seconds until every layer is proven, or how many layers are, and the greatest gap. "
        f"{len(whole)} of {len(answers)} pairs are proven in full, {proven} of {layers} layers, "
        f"median {times[len(times) // 2]:.1f} s; greatest gap "
        f"{max((answer.gap for answer in open_), default=0.0):.1%}, most memory "
        f"{max(answer.memory for answer in answers.values()):.0f} MB, greatest time beyond the "
        f"limit {max(late, 0.0):.1f} s.",
    )

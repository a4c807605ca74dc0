"""What is proven with all tile sizes: layers of networks on machines, and the largest gap."""

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
from tilewright.mapper.results.searched_space import ALL
from tilewright.workload.network import zoo_names

NETWORKS = ("alexnet", "vgg16", "resnet50", "mobilenet_v2", "bert_base", "gpt2")
MACHINES = ("eyeriss", "simple", "four-level", "nvdla-1024", "tpu-v1")
QUICK = (("alexnet", "bert_base"), ("eyeriss", "simple", "nvdla-1024", "tpu-v1"))
SECONDS = 900.0


def parser() -> argparse.ArgumentParser:
    """Return the command line."""
    options = argparse.ArgumentParser(prog="python -m benchmarks --tile-sizes", description=__doc__)
    options.add_argument("--quick", action="store_true", help="a few pairs that take seconds")
    options.add_argument("--network", action="append", choices=zoo_names(), help="these alone")
    options.add_argument("--machine", action="append", choices=preset_names(), help="these alone")
    options.add_argument("--objective", choices=("edp", "energy", "latency"), default="edp")
    options.add_argument("--seconds", type=float, default=SECONDS, help="limit of each pair")
    options.add_argument("--json", type=Path, help="answers; pairs that it has are not run again")
    options.add_argument("--markdown", action="store_true")
    return options


def tile_sizes(arguments: Sequence[str]) -> Section:
    """Measure what the command line asks for, each pair in one process of its own."""
    options = parser().parse_args(arguments)
    networks, machines = QUICK if options.quick else (NETWORKS, MACHINES)
    kept = json.loads(options.json.read_text()) if options.json and options.json.exists() else {}
    answers: dict[tuple[str, str], Answer] = {}
    for network in options.network or networks:
        for machine in options.machine or machines:
            call = Call(network, machine, options.objective, ALL, options.seconds, workers=1)
            key = json.dumps(asdict(call))
            if key not in kept:
                kept[key] = asdict(asked(call))
                if options.json:
                    options.json.write_text(json.dumps(kept, indent=1) + "\n")
            answers[network, machine] = found = Answer(**kept[key])
            print(f"{network} on {machine}: {', '.join(cells(found))}", file=sys.stderr)
    return section(answers, options.objective)


def cells(answer: Answer) -> tuple[str, str, str]:
    """Return how many layers are proven, the largest gap, and the CPU time."""
    if answer.fault:
        return answer.fault, "", f"{answer.cpu:.1f}"
    return f"{answer.proven} of {answer.layers}", f"{answer.worst:.2%}", f"{answer.cpu:.1f}"


def section(answers: dict[tuple[str, str], Answer], objective: str) -> Section:
    """Return the table."""
    proven = sum(answer.proven for answer in answers.values())
    layers = sum(answer.layers for answer in answers.values())
    return Section(
        f"All tile sizes, {objective}",
        ("network on machine", "layers proven", "largest gap", "CPU s"),
        tuple(
            (f"{network} on {machine}", *cells(answer))
            for (network, machine), answer in answers.items()
        ),
        f"{proven} of {layers} different layers are proven, {proven / max(layers, 1):.1%}; the "
        f"largest gap is {max((answer.worst for answer in answers.values()), default=0.0):.1%}. "
        "A gap says how much better a regular mapping of a layer may be at most.",
    )

"""What is measured: a machine of the park with a layer and an objective."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from hashlib import sha256
from pathlib import Path
from random import Random

from benchmarks.park.layers import random_layer
from benchmarks.park.machines import chain, random_machine
from tilewright.architecture.files import dump_architecture, load_architecture
from tilewright.architecture.machine import Architecture
from tilewright.errors import InputError, nearest
from tilewright.workload import operators as op
from tilewright.workload.layer import Layer, Network
from tilewright.workload.network import dump_network

FOLDER = Path(__file__).parent
MACHINES = tuple(sorted(path.stem for path in FOLDER.glob("*.yaml")))
LAYERS = {
    "conv": op.conv2d(name="conv-64x64x56x56x3x3", K=64, C=64, P=56, Q=56, R=3, S=3),
    "product": op.matmul(name="product-512x3072x768", M=512, N=3072, K=768),
    "depthwise": op.depthwise(name="depthwise-144x56x56x3x3", G=144, P=56, Q=56, R=3, S=3),
}
SMALL = "small-"
SHORT = (1, 2, 3, 4, 4, 6, 7, 8, 9, 12, 16)
OBJECTIVES = ("edp", "energy", "latency")
QUICK = (
    "npu.conv", "three-tier.product", "no-registers.conv", "three-arrays.conv", "four-lanes.conv",
    "large-array.depthwise", "weights-apart.product", "0", "1", "2", "3", "4",
)  # fmt: skip


@dataclass(frozen=True)
class Case:
    """A machine, a layer and what is minimised.

    Attributes
    ----------
    name : str
        A seed such as ``"17"``; ``"small-17"`` for the same machine with a part of the layer; or a
        machine with a file and a layer such as ``"npu.conv"``.
    objective : str
    """

    name: str
    objective: str

    @property
    def seed(self) -> int | None:
        """The seed, if it is one that names the case."""
        digits = self.name.removeprefix(SMALL)
        return int(digits) if digits.isdigit() else None

    @cached_property
    def machine(self) -> Architecture:
        """The machine."""
        if self.seed is not None:
            return random_machine(self.seed)
        return load_architecture(FOLDER / f"{self.name.partition('.')[0]}.yaml")

    @cached_property
    def layer(self) -> Layer:
        """The layer."""
        if self.seed is not None:
            layer = random_layer(self.seed)
            return part(layer, self.seed) if self.name.startswith(SMALL) else layer
        return LAYERS[self.name.partition(".")[2]]

    @property
    def key(self) -> str:
        """Name of the case among all that were ever measured."""
        return f"{self.name} {self.objective}"

    @cached_property
    def digest(self) -> str:
        """What tells this case from one of the same name that an earlier generator made."""
        network = Network("park", (replace(self.layer, name="layer"),))
        text = dump_architecture(self.machine) + dump_network(network)
        return sha256(text.encode()).hexdigest()[:12]

    def text(self) -> str:
        """Return the chain of the machine and the layer."""
        return f"{chain(self.machine)}; {self.layer.name}"

    def write(self, folder: Path) -> tuple[Path, Path]:
        """Write the layer and the machine as files that every command reads, and return them."""
        folder.mkdir(parents=True, exist_ok=True)
        layer, machine = (folder / f"{self.name}-{what}.yaml" for what in ("layer", "machine"))
        layer.write_text(dump_network(Network(f"park-{self.name}", (self.layer,))))
        machine.write_text(dump_architecture(self.machine))
        return layer, machine


def part(layer: Layer, seed: int) -> Layer:
    """Return a layer with short dimensions, which other searches cover better."""
    rng = Random(f"part {seed}")
    bounds = {d: min(bound, rng.choice(SHORT)) for d, bound in layer.bounds.items()}
    return replace(layer, bounds=bounds, name=f"part-of-{layer.name}")


def case(name: str, objective: str | None = None) -> Case:
    """Return the case of a name; by default a seed has an objective of its own, others edp."""
    digits = name.removeprefix(SMALL)
    if digits.isdigit():
        own = Random(f"objective {digits}").choices(OBJECTIVES, (2, 1, 1))[0]
        return Case(name, objective or own)
    known = [f"{machine}.{layer}" for machine in MACHINES for layer in LAYERS]
    if name not in known:
        raise InputError(
            f"no case '{name}' in the park; accepted: a seed, or one of {', '.join(known)}"
            f"{nearest(name, known)}"
        )
    return Case(name, objective or "edp")


def cases(seeds: range, objective: str | None = None) -> Iterator[Case]:
    """Yield the machines with files on every layer, then those of the seeds."""
    for machine in MACHINES:
        for layer in LAYERS:
            yield case(f"{machine}.{layer}", objective)
    for seed in seeds:
        yield case(str(seed), objective)

"""The frontier with fusion: at every size what the mapper finds for that size alone."""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path
from random import Random

import pytest

import tilewright as tw
from fused_chains import machine, network
from tilewright.architecture.machine import Architecture, Compute, Memory
from tilewright.cli import main
from tilewright.document import Document
from tilewright.mapper.fused.frontier import fused_frontier
from tilewright.mapper.fused.network import map_fused
from tilewright.mapper.memory_sizes.frontier import sized
from tilewright.mapper.network.running.run import Run
from tilewright.workload.layer import Network
from tilewright.workload.network import parse_network

TWO_LEVELS = Architecture(
    "two",
    (
        Memory("DRAM", 16, read_energy=200.0, write_energy=200.0),
        Memory(
            "GLB", 16, read_energy=6.0, write_energy=6.0, must_keep=frozenset("IWO"),
            capacity_bits=2**14,
        ),
        Compute("MAC", energy=1.0),
    ),
)  # fmt: skip


def best(net: Network, target: Architecture, bits: int) -> float:
    """Return the least energy of a network on a machine with a buffer of some size."""
    here = sized(target, ("GLB",), (max(bits, 1),))
    found = map_fused(net, here, "energy", run=Run(workers=1), tiles="divisors")
    assert found.optimal
    return found.value


def check(seed: int) -> None:
    random = Random(seed)
    target = machine(random)
    count = random.choice((2, 3))
    net = network(random.choice((2, 4)), [random.choice((1, 2, 3, 4)) for _ in range(count + 1)])
    found = fused_frontier(net, target, "GLB")
    assert found.optimal
    values = [point.value for point in found]
    assert values == sorted(values, reverse=True)
    before = None
    for point in found:
        assert point.value <= point.alone * (1 + 1e-12)
        assert best(net, target, point.bits) == pytest.approx(point.value, rel=1e-9)
        if before is None:
            if point.bits:
                with pytest.raises(tw.NoMappingError):
                    best(net, target, point.bits - 1)
        else:
            assert best(net, target, point.bits - 1) == pytest.approx(before, rel=1e-9)
        before = point.value
    # the trees are valid at the size of their point, and cost what it says
    for point in found:
        here = sized(target, ("GLB",), (max(point.bits, 1),))
        total = sum(own.evaluation.energy_pj * times for own, times in point.layers)
        for own in point.segments:
            total += tw.fusion.evaluate(own.segment, here, own.mapping).energy_pj
        assert total == pytest.approx(point.value, rel=1e-9)


@pytest.mark.sampled(1)
@pytest.mark.parametrize("seed", (1, 5))
def test_every_size_has_the_value_of_a_search_for_it(seed: int) -> None:
    check(seed)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(6, 40))
def test_every_size_of_many_chains(seed: int) -> None:
    check(seed)


def test_the_chain_of_two_products() -> None:
    net = network(8, [8, 8, 8])
    found = fused_frontier(net, TWO_LEVELS, "GLB")
    assert found.optimal
    saved = 2 * 8 * 8 * (200 + 6)  # the tensor between goes nowhere
    largest = found[-1]
    assert [own.names for own in largest.segments] == [("l0", "l1")]
    assert largest.alone - largest.value == saved
    # the bound of the traffic: every tensor but the one between once
    words = fused_frontier(net, TWO_LEVELS, "GLB", traffic="DRAM")
    assert words[-1].value == 4 * 8 * 8 == words[-1].words("DRAM")
    (edge,) = words.fused_from()
    assert edge == ("l0", "l1")
    assert words.fused_from()[edge].bits <= words[-1].bits
    assert words.at(words[-1].bits - 1) is words[-2]
    assert words.at(0) is None


@pytest.mark.slow
def test_every_size_of_two_convolutions() -> None:
    layers = [
        {"name": "a", "einsum": "O[K,P] += I[C,P] * W[K,C]",
         "bounds": {"K": 2, "P": 6, "C": 2}, "tensors": {"I": "X", "O": "A"}},
        {"name": "b", "einsum": "O[K,P] += I[C,P+R] * W[K,C,R]",
         "bounds": {"K": 2, "P": 4, "C": 2, "R": 3}, "tensors": {"I": "A", "O": "B"}},
    ]  # fmt: skip
    data = {"name": "windows", "layers": layers, "inputs": {"X": [2, 6]}}
    net = parse_network(Document(data, "windows"))
    found = fused_frontier(net, TWO_LEVELS, "GLB")
    assert found.optimal
    assert found[-1].segments
    for smaller, point in pairwise(found):
        assert best(net, TWO_LEVELS, point.bits) == pytest.approx(point.value, rel=1e-9)
        assert best(net, TWO_LEVELS, point.bits - 1) == pytest.approx(smaller.value, rel=1e-9)


@pytest.mark.slow
def test_the_energies_that_accelforge_finds() -> None:
    # AccelForge 1.0.467, two products of 64 x 64 x 64
    found = fused_frontier(network(64, [64, 64, 64]), TWO_LEVELS, "GLB")
    energies = {256: 34_996_224, 1024: 24_027_136, 4096: 18_120_704, 16384: 16_433_152}
    for words, energy in energies.items():
        point = found.at(words * 16)
        assert point is not None
        assert point.value == energy


NET = """\
name: net
layers:
  - {name: fc1, op: matmul, M: 8, K: 4, N: 4, tensors: {I: X, O: H}}
  - {name: fc2, op: matmul, M: 8, K: 4, N: 4, tensors: {I: H, O: Y}}
inputs: {X: [8, 4]}
"""


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "net.yaml").write_text(NET)
    words = ["frontier", str(tmp_path / "net.yaml"), "simple", "--fuse", "--over"]
    assert main([*words, "GLB", "--json", str(tmp_path / "out.json")]) == 0
    text = capsys.readouterr().out
    assert "fc1 > fc2: from" in text
    assert "Proven: for every size of GLB" in text
    data = json.loads((tmp_path / "out.json").read_text())
    assert data["optimal"]
    assert data["points"][-1]["fused"] == [["fc1", "fc2"]]
    assert main([*words, "GLB", "--layer", "fc1"]) == 2
    assert main([*words, "RF"]) == 2
    assert "inside an array" in capsys.readouterr().err


def test_a_search_that_is_stopped_says_so() -> None:
    net = network(8, [8, 8, 8])
    found = fused_frontier(net, TWO_LEVELS, "GLB", stop=lambda: True)
    assert not found.optimal
    assert "Not complete" in found.statement()

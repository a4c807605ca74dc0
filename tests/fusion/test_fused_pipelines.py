"""Layers that run at the same time: the closed form takes the cycles of the simulator."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from random import Random

import pytest
from hypothesis import HealthCheck, given, settings

from fused_cases import (
    FusedCase,
    pipelined,
    pipelined_cases,
    random_kind,
    random_machine,
    random_tree,
    splittable,
)
from tilewright import InputError, evaluate_fused, load_architecture
from tilewright import simulate_fused as simulate
from tilewright.cli import main
from tilewright.document import parse
from tilewright.fusion.count import count_fused
from tilewright.fusion.room import tiles_alive
from tilewright.mapping.fused import (
    FusedMapping,
    dump_fused,
    fused_text,
    parse_fused,
    parse_fused_text,
    segment,
)
from tilewright.mapping.fused.pipelines import LayerPipeline
from tilewright.mapping.fused.scopes import Leaf, resolve_fused
from tilewright.mapping.fused.turns import Span
from tilewright.reference.fused import FusedSimulation, simulate_fused
from tilewright.reference.fused_words import Words, footprint


def assert_equal(case: FusedCase) -> None:
    segment, architecture, mapping = case
    simulated = simulate_fused(segment, architecture, mapping)
    counted = count_fused(resolve_fused(mapping, segment), architecture)
    assert counted.stores == simulated.stores
    for found, expected in zip(counted.pipelines, simulated.pipelines, strict=True):
        assert found.layers == expected.layers
        assert found.slots == expected.slots
        assert found.cycles == pytest.approx(expected.cycles, rel=1e-12)
        assert found.filling == pytest.approx(expected.filling, rel=1e-12)
        assert sum(found.pace.values()) == pytest.approx(expected.cycles, rel=1e-12)
    assert replace(counted, pipelines=()) == replace(simulated, pipelines=())


@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(case=pipelined_cases())
def test_slots_take_what_the_simulator_takes(case: FusedCase) -> None:
    assert_equal(case)


NETWORK = """\
name: ffn
layers:
  - {name: fc1, op: matmul, M: 8, N: 6, K: 4, tensors: {I: X, O: H}}
  - {name: fc2, op: matmul, M: 8, N: 6, K: 6, tensors: {I: H, O: Y}}
inputs: {X: [8, 4]}
"""
MACHINE = """\
name: small
levels:
  - {memory: DRAM, word: 16 bits, energy: {read: 200, write: 200}}
  - {memory: GLB, size: 256 B, word: 16 bits, energy: {read: 6, write: 6}, leakage: 0.5}
  - {array: PE, axes: {X: 4}, split: [X]}
  - {memory: RF, size: 16 B, word: 16 bits, energy: {read: 1, write: 1}}
  - {compute: MAC, energy: 1}
"""
MAPPING = """\
mapping:
  - {store: DRAM}
  - {for: M, tile: 2}
  - {store: GLB, tensors: [H]}
  - pipeline:
      - layer: fc1
        nodes:
          - {spatial: N, tile: 3, axis: X}
      - layer: fc2
        nodes:
          - {store: GLB, tensors: [W]}
          - {spatial: N, tile: 3, axis: X}
"""


@pytest.fixture
def files(tmp_path: Path) -> tuple[Path, Path, Path]:
    found = tmp_path / "net.yaml", tmp_path / "machine.yaml", tmp_path / "tree.yaml"
    for path, text in zip(found, (NETWORK, MACHINE, MAPPING), strict=True):
        path.write_text(text)
    return found


def test_the_slowest_layer_sets_the_pace(files: tuple[Path, Path, Path]) -> None:
    # a turn of fc1 takes 2 x 3 x 4 steps, one of fc2 2 x 3 x 6; there are four of each
    found = evaluate_fused(*files)
    (pipe,) = found.counts.pipelines
    assert (pipe.slots, pipe.cycles, pipe.filling) == (5, 24 + 4 * 36, 24 + 36)
    assert pipe.pace == {"fc1": 24, "fc2": 4 * 36}
    assert found.cycles == 168
    assert found.splits[0].elements == {"fc1": 2, "fc2": 2}
    assert simulate(*files).to_dict() == found.to_dict()
    # two tiles of H are under way, and the weights of fc2 stand beside them
    assert found.rooms["GLB"].bits == (2 * 2 * 6 + 6 * 6) * 16
    power = load_architecture(files[1]).memories[1].leakage
    leaks = sum(one.leakage_pj for one in found.layers.values())
    rest = sum(one.energy_pj for one in found.layers.values()) - leaks
    assert found.energy_pj == pytest.approx(rest + 168 * power)  # 1 mW for 1 ns is 1 pJ


def test_a_shared_memory_serves_all_layers_of_a_slot(files: tuple[Path, Path, Path]) -> None:
    # a word a cycle: in a slot both layers take their words, one after the other
    files[1].write_text(MACHINE.replace("200}}", "200}, bandwidth: 1}"))
    found = evaluate_fused(*files)
    words = sum(each.reads + each.writes for each in found.tensors["DRAM"].values())
    (pipe,) = found.counts.pipelines
    assert pipe.cycles >= words
    assert pipe.pace["DRAM"] > 0
    assert pipe.cycles == pytest.approx(simulate(*files).counts.pipelines[0].cycles)


@pytest.mark.parametrize(
    ("old", "new", "line", "message"),
    [
        ("tile: 3, axis: X}\n      - layer", "tile: 2, axis: X}\n      - layer", 5,
         "side by side on axis X of 'PE' they need 3 \\+ 2 = 5 elements, it has 4"),
        ("mapping:\n", "halos: {H: {M: refetch}}\nmapping:\n", 1, "refetched"),
        ("  - pipeline:\n", "  - pipeline: []\n  - fuse:\n", 5, "'pipeline' is the last node"),
    ],
)  # fmt: skip
def test_what_cannot_run_at_the_same_time_is_refused(
    files: tuple[Path, Path, Path], old: str, new: str, line: int, message: str
) -> None:
    text = MAPPING.replace(old, new)
    assert text != MAPPING
    files[2].write_text(text)
    with pytest.raises(InputError, match=message) as failure:
        evaluate_fused(*files)
    assert failure.value.line == line


def test_arrays_are_whole_unless_the_machine_says_so(files: tuple[Path, Path, Path]) -> None:
    files[1].write_text(MACHINE.replace(", split: [X]", ""))
    with pytest.raises(InputError, match="no array of 'small' may be split"):
        evaluate_fused(*files)
    files[1].write_text(MACHINE.replace("split: [X]", "split: [Z]"))
    with pytest.raises(InputError, match="no axis 'Z' to split along"):
        evaluate_fused(*files)


def test_latency_and_timeline(files: tuple[Path, Path, Path], tmp_path: Path) -> None:
    with pytest.raises(InputError, match="not defined for fused layers"):
        evaluate_fused(*files, latency="pipelined")
    files[1].write_text(MACHINE + "latency: pipelined\n")
    with pytest.raises(InputError, match="what 'small' says"):
        evaluate_fused(*files)
    assert evaluate_fused(*files, latency="throughput").cycles == 168
    page = tmp_path / "slots.html"
    argv = ["evaluate", *map(str, files), "--latency", "throughput", "--timeline", str(page)]
    assert main(argv) == 0
    assert "the first 5 of 5 slots" in page.read_text()


@pytest.mark.parametrize("seed", range(20))
def test_files_and_text_are_read_back(seed: int) -> None:
    random = Random(seed)
    network = random_kind(random)
    own = segment(network, [layer.name for layer in network.layers])
    machine = splittable(random, random_machine(random))
    tree = random_tree(random, own, ("retain", "recompute"))
    mapping = FusedMapping(pipelined(random, tree.nodes), tree.halos)
    text = dump_fused([(own, mapping)], [], network)
    assert parse_fused(parse(text, "x"), network, machine).segments[0][1] == mapping
    assert parse_fused_text(fused_text(mapping, own, machine), network, machine)[1] == mapping


def alive(run: FusedSimulation, pipe: LayerPipeline, tensor: str) -> int:
    """Return the most words of a tensor that are needed at once, slot by slot.

    Made in this slot or before, and read in this one or later.
    """
    steps = run.happened.visited[pipe.node]
    boxes: dict[tuple[str, tuple[int, ...]], dict[str, Span]] = run.__dict__["boxes"]
    most = 0
    made: set[tuple[int, ...]] = set()
    reads: list[Words] = []
    makes: list[Words] = []
    for slot in range(len(steps) + pipe.stages - 1):
        read: Words = frozenset()
        own: Words = frozenset()
        for layer in pipe.layers:
            n = slot - pipe.stage[layer]
            box = boxes.get((layer, steps[n])) if 0 <= n < len(steps) else None
            if box is None:
                continue
            if run.segment.shared_name_of_output(layer) == tensor:
                own |= footprint(run.segment.layer_of[layer].output, box)
            for exchange in run.segment.exchanges:
                if exchange.reader.layer == layer and exchange.tensor == tensor:
                    read |= run.words.read(exchange, box)
        reads.append(read)
        makes.append(own)
    for slot, own in enumerate(makes):
        made |= own
        later = frozenset[tuple[int, ...]]().union(*reads[slot:])
        most = max(most, len(made & later | own))
    return most


class Recorded(FusedSimulation):
    """A simulation that remembers the boxes of its turns."""

    def turn(self, leaf: Leaf, box: dict[str, Span]) -> None:  # type: ignore[override]
        super().turn(leaf, box)
        self.__dict__.setdefault("boxes", {})[leaf.layer, self.at] = box


@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(case=pipelined_cases(modes=("retain",)))
def test_all_words_alive_in_a_pipeline_have_room(case: FusedCase) -> None:
    segment, architecture, mapping = case
    resolved = resolve_fused(mapping, segment)
    run = Recorded(segment, architecture, resolved)
    run.counts()
    room = tiles_alive(resolved, architecture, count_fused(resolved, architecture).stores)
    for pipe in resolved.pipelines:
        if pipe.entered or any(store.entered for store in resolved.stores):
            continue  # what stays from one filling to the next is not looked at here
        for tensor in segment.intermediates:
            stores = [store for store in resolved.stores if store.tensor == tensor.name]
            if len(stores) != 1:
                continue
            tiles = room[stores[0].memory][pipe.layers[0]]
            held = sum(tile.words for tile in tiles if tile.tensor == tensor.name)
            assert alive(run, pipe, tensor.name) <= held

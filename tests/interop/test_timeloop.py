"""Timeloop's files: read, written, and its counts beside ours."""

from __future__ import annotations

from itertools import islice
from pathlib import Path
from random import Random
from typing import Any

import pytest

import tilewright as tw
from even_mappings import even_mappings
from problems import layer as random_layer
from problems import machine as random_machine
from tilewright.api.interop import read_timeloop
from tilewright.architecture.machine import Array
from tilewright.cli import main
from tilewright.interop.timeloop.comparison.differences import UNKNOWN, Differences, differences
from tilewright.interop.timeloop.comparison.stats import Accesses, Stats
from timeloop_cases import CASES, write_case

EYERISS = Path(__file__).parents[1] / "data" / "timeloop" / "eyeriss.yaml"


def compared(case: dict[str, Any], folder: Path) -> Differences:
    """Return a case's counts beside ours."""
    own = tw.evaluate(*write_case(case, folder))
    levels: dict[str, dict[str, Accesses]] = {}
    for place, numbers in case["counts"].items():
        level, tensor = place.split(".")
        levels.setdefault(level, {})[tensor] = Accesses(*numbers)
    stats = Stats(levels, case["cycles"], None)
    return differences(own.layer, own.architecture, own.mapping, own.counts, own.cycles, stats)


@pytest.mark.parametrize("case", CASES, ids=[case["name"] for case in CASES])
def test_every_count_of_timeloop_is_ours_or_differs_by_a_known_rule(
    case: dict[str, Any], tmp_path: Path
) -> None:
    found = compared(case, tmp_path)
    assert UNKNOWN not in found.classes, found.text()
    assert all(row.classes or abs(row.ours - row.timeloop) < 1 for row in found.rows)


@pytest.mark.parametrize(
    ("name", "classes"),
    [
        ("tiny_os_slideP", {"drains"}),
        ("tiny_rowstat_P8xR3", {"drains", "partial sums sent to all"}),
        ("tiny_spatial_Q8xP8", {"drains", "unshared halo"}),
        ("tiny_spatial_Q8xP8_linkxfer", {"drains", "link transfers"}),
        ("tiny_ruby_temporal", {"drains", "whole passes"}),
    ],
)
def test_differences_have_the_class_of_their_rule(
    name: str, classes: set[str], tmp_path: Path
) -> None:
    case = next(case for case in CASES if case["name"] == name)
    assert set(compared(case, tmp_path).classes) == classes


def test_a_number_that_no_rule_gives_is_not_explained(tmp_path: Path) -> None:
    case = next(case for case in CASES if case["name"] == "tiny_os_slideP")
    counts = case["counts"] | {"GlobalBuffer.Inputs": [12345.0, 400.0, 0.0]}
    assert UNKNOWN in compared(case | {"counts": counts}, tmp_path).classes


def test_the_eyeriss_like_design_takes_timeloops_cycles() -> None:
    found = tw.evaluate(str(EYERISS), str(EYERISS), str(EYERISS))
    assert found.cycles == 86016
    assert found.utilization == 0.75
    assert {axis for array in found.architecture.arrays for axis in array.axes} == {"X", "Y"}
    reads = {name: memory.tensors for name, memory in found.memories.items()}
    assert reads["DRAM"]["Weights"].reads == 13824
    assert reads["ifmap_spad"]["Inputs"].writes == 1354752


def test_constraints_at_nodes_rule_out_other_mappings(tmp_path: Path) -> None:
    text = EYERISS.read_text().replace("C=3, S=3, M=1, Q=1", "C=3, S=1, M=1, Q=3")
    text = text.replace("factors: [M=1, P=14, Q=4]", "factors: [M=1, P=14, Q=4, S=3]")
    text = text.replace("factors: [P=8, Q=2, M=4]", "factors: [P=8, Q=1, M=4]")
    path = tmp_path / "other.yaml"
    path.write_text(text)
    with pytest.raises(tw.MappingError, match=r"other\.yaml"):
        tw.evaluate(str(path), str(path), str(path))


def test_the_report_names_what_changes_nothing_with_its_line() -> None:
    found = read_timeloop(str(EYERISS), str(EYERISS), str(EYERISS))
    ignored = {remark.key: remark.line for remark in found.report.ignored}
    lines = EYERISS.read_text().splitlines()
    (banks,) = [line for key, line in ignored.items() if key.endswith("n_banks")]
    assert banks is not None
    assert "n_banks" in lines[banks - 1]
    assert "problem.instance.Hpad" in ignored
    assert "shared_glb" in found.text()


def plain(seed: int) -> tuple[tw.Layer, tw.Architecture]:
    """Return a small layer and a machine whose arrays are named as meshes are."""
    random = Random(seed)
    layer = random_layer(random)
    while layer.operations > 200 or layer.output.name != "O":
        layer = random_layer(random)
    machine = random_machine(random)
    while len(machine.memories) > 3:
        machine = random_machine(random)
    return layer, machine


@pytest.mark.long
@pytest.mark.sampled(12)
@pytest.mark.parametrize("seed", range(40))
def test_what_is_written_is_read_again(seed: int, tmp_path: Path) -> None:
    layer, machine = plain(seed)
    for mapping in islice(even_mappings(layer, machine), 0, 200, 20):
        try:
            written = tw.export(layer, machine, mapping)
        except tw.InputError as failure:
            assert "Timeloop" in str(failure)
            continue
        paths = []
        for name, text in written.files.items():
            (tmp_path / name).write_text(text)
            paths.append(str(tmp_path / name))
        problem, arch, nest = paths
        try:
            again = read_timeloop(problem, arch, nest)
        except tw.MappingError:
            # widths of elements that are not those of words cannot be written: tiles may not fit
            assert any("bits" in what for what in written.left_out)
            continue
        (read,) = again.network.layers
        assert read.bounds == layer.bounds
        assert [(t.name, t.expressions) for t in read.tensors] == [
            (t.name, t.expressions) for t in layer.tensors
        ]
        assert [level.name for level in again.architecture.levels] == [
            level.name
            for level in machine.levels
            if not isinstance(level, Array) or level.elements > 1
        ]
        assert again.mapping is not None
        before = tw.evaluate(layer, machine, mapping)
        after = tw.evaluate(read, again.architecture, again.mapping)
        if all(array.multicast and array.reduction for array in machine.arrays) and not any(
            array.forwarding for array in machine.arrays
        ):
            assert after.counts.memories == before.counts.memories
            assert after.counts.steps == before.counts.steps
        once_more = tw.export(read, again.architecture, again.mapping)
        assert once_more.files["mapping.yaml"] == written.files["mapping.yaml"]
        assert once_more.files["problem.yaml"] == written.files["problem.yaml"]
        assert (
            once_more.files["arch.yaml"] == written.files["arch.yaml"]
            or any(array.elements == 1 or 1 in array.axes.values() for array in machine.arrays)
            or written.left_out
        )
        # whatever the first writing lost, the next one loses nothing
        for name, text in once_more.files.items():
            (tmp_path / name).write_text(text)
        third = read_timeloop(*paths)
        assert third.network == again.network
        assert third.architecture == again.architecture
        assert third.mapping == again.mapping
        assert tw.export(read, third.architecture, third.mapping).files == once_more.files


def test_uneven_storage_is_refused() -> None:
    layer = tw.matmul(M=4, N=4, K=4)
    machine = tw.load_architecture("eyeriss")
    memories = [memory.name for memory in machine.memories]
    names = [tensor.name for tensor in layer.tensors]
    nodes: list[tw.Store | tw.For] = [tw.Store(memories[0], tuple(names))]
    first, *others = names
    nodes += [tw.Store(memories[1], (first,)), tw.For(layer.dimensions[0], 1)]
    nodes += [tw.Store(memories[1], tuple(others))]
    mapping = tw.Mapping(tuple(nodes))
    from tilewright.interop.timeloop.mapping_writing import mapping_text

    with pytest.raises(tw.MappingError, match="several store nodes"):
        mapping_text(mapping, layer, machine)


OLD = """
architecture:
  version: 0.3
  subtree:
  - name: system
    local:
    - {name: DRAM, class: DRAM, attributes: {width: 64, word-bits: 16, block-size: 4}}
    subtree:
    - name: chip
      local:
      - name: buffer
        class: SRAM
        attributes: {depth: 1024, width: 64, word-bits: 16, block-size: 4, read_bandwidth: 8}
      subtree:
      - name: PE[0..15]
        local:
        - {name: spad, class: regfile, attributes: {depth: 32, width: 16, word-bits: 16, meshX: 4}}
        - {name: mac, class: intmac, attributes: {datawidth: 16, meshX: 4}}
"""


def test_trees_of_older_versions_are_the_same_machine(tmp_path: Path) -> None:
    path = tmp_path / "old.yaml"
    path.write_text(OLD)
    from tilewright.interop.timeloop.files import timeloop_architecture

    machine = timeloop_architecture(str(path))
    assert machine is not None
    assert [level.name for level in machine.levels] == ["DRAM", "buffer", "PE", "spad", "mac"]
    (array,) = machine.arrays
    assert array.axes == {"X": 4, "Y": 4}
    assert machine.memories[1].capacity_bits == 1024 * 64
    assert machine.memories[2].capacity_bits == 32 * 16


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("factors: [P=8, Q=2, M=4]", "factors: [P=8, Q=2, M=5]", "factors of M are"),
        ("target: DRAM", "target: DRM", "did you mean 'DRAM'"),
        ("type: spatial, split", "type: spacial, split", "did you mean 'spatial'"),
        ("depth: 16384", "depth: 16 * 1024", "expressions are not run"),
        ("[R, Wdilation]", "[R, Wdilations]", "did you mean 'Wdilation'"),
        ("M: 32", "M: thirty", "whole number"),
        ("meshX: 14", "meshX: -1", "whole number"),
    ],
)
def test_what_is_wrong_is_said_with_its_line(
    old: str, new: str, message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = EYERISS.read_text()
    assert old in text
    path = str(tmp_path / "bad.yaml")
    Path(path).write_text(text.replace(old, new, 1))
    assert main(["import", path, path, path]) == 2
    error = capsys.readouterr().err
    assert message in error
    assert "bad.yaml" in error


def test_templates_are_resolved_as_far_as_nothing_is_run(tmp_path: Path) -> None:
    folder = tmp_path / "design"
    folder.mkdir()
    (folder / "base.yaml").write_text("base: {shape: cnn-layer, R: 1, S: 1, P: 2, Q: 2, C: 2}\n")
    path = folder / "problem.yaml"
    path.write_text(
        "{% set channels = 4 %}\n{{include_text('base_text.yaml')}}\n"
        "problem:\n  <<<: *shared\n  K: {{channels}}\n  N: 1\n"
    )
    (folder / "base_text.yaml").write_text(
        "ignored: &shared {shape: cnn-layer, R: 1, S: 1, P: 2, Q: 2, C: 2, K: 1}\n"
    )
    layer = tw.load_workload(str(path)).layers[0]
    assert layer.bounds["K"] == 4
    path.write_text("problem: {{include('base.yaml', 'base')}}\n")
    with pytest.raises(tw.InputError, match="missing the size of dimension 'K'"):
        tw.load_workload(str(path))


@pytest.mark.parametrize(
    "text",
    [
        "problem: {{cwd()}}\n",
        "{% for i in range(9) %}\nproblem: x\n{% endfor %}\n",
        "problem: {{include('../../outside.yaml', 'problem')}}\n",
        "problem: {{include('/etc/passwd', 'problem')}}\n",
        "problem: {{include('problem.yaml', 'problem')}}\n",
    ],
)
def test_templates_that_would_be_run_or_leave_their_folder_are_refused(
    text: str, tmp_path: Path
) -> None:
    folder = tmp_path / "up" / "design"
    folder.mkdir(parents=True)
    (tmp_path / "outside.yaml").write_text("problem: {}\n")
    (folder / "problem.yaml").write_text(text)
    with pytest.raises(tw.InputError):
        tw.load_workload(str(folder / "problem.yaml"))


def test_the_commands_write_and_compare(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = str(EYERISS)
    out = str(tmp_path / "out")
    assert main(["export", path, path, path, "--timeloop", out]) == 0
    assert "constraints" in capsys.readouterr().err
    names = [f"{out}/{name}.yaml" for name in ("problem", "arch", "mapping")]
    assert main(["evaluate", *names]) == 0
    assert "86,016" in capsys.readouterr().out
    stats = tmp_path / "timeloop-model.stats.txt"
    stats.write_text(
        "Level 7\n-------\n=== DRAM ===\n\n    STATS\n    -----\n    Cycles               : 86016\n"
        "    Inputs:\n        Utilized instances (max)                 : 1\n"
        "        Scalar reads (per-instance)              : 157296\n"
        "        Scalar fills (per-instance)              : 0\n"
        "        Scalar updates (per-instance)            : 0\n\n"
        "Summary Stats\n-------------\nUtilization: 75.00%\nCycles: 86016\n"
    )
    assert main(["compare-counts", *names, str(stats)]) == 0
    shown = capsys.readouterr().out
    assert "157,296" in shown
    assert "not in the statistics" in shown

"""Pipelined executions as traces: rows that do not overlap, times of the closed form."""

from __future__ import annotations

import json
from collections import defaultdict
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given

import tilewright as tw
from tilewright.cli import main
from tilewright.model.evaluate import evaluate
from tilewright.report import trace, write_trace
from timed_cases import Timed, quick, timed

LAYER = tw.conv2d(name="c", K=8, C=4, P=6, Q=6, R=3, S=3)
NEST = """
DRAM stores I, W, O
  for K in 4 x 2
    SPM stores I, W, O
      for P in 6 x 1
        for Q in 2 x 3
          spatial C in 4 x 1 on PE.X
            RF stores I, W, O
              MAC computes K 2, Q 3, R 3, S 3
"""


@quick(40)
@given(case=timed(operations=200))
def test_a_trace_has_the_times_of_the_evaluation(case: Timed) -> None:
    layer, architecture, mapping, layouts = case
    found = evaluate(
        layer, architecture, mapping, check=False, latency="pipelined", layouts=layouts
    )
    pipeline = found.pipeline
    assert pipeline is not None
    for most in (1000, 100_000):
        document = trace(found, most)
        events = document["traceEvents"]
        assert len(events) <= most
        rows, groups = names(events)
        bars = defaultdict(list)
        busy: dict[str, float] = defaultdict(float)
        for event in events:
            if event["ph"] != "X":
                continue
            place = event["pid"], event["tid"]
            assert place in rows
            bars[place].append((event["ts"], event["ts"] + event["dur"]))
            busy[groups[event["pid"]]] += event.get("args", {}).get("busy", event["dur"])
        for spans in bars.values():
            spans.sort()
            for (_, end), (start, _) in pairwise(spans):
                assert end <= start * (1 + 1e-9) + 1e-9
        ends = [end for spans in bars.values() for _, end in spans]
        assert max(ends) == pytest.approx(pipeline.cycles)
        for port, cycles in pipeline.busy.items():
            assert busy[port] == pytest.approx(cycles, abs=1e-6)


def names(events: list[dict[str, object]]) -> tuple[set[object], dict[object, str]]:
    rows = {(e["pid"], e["tid"]) for e in events if e["name"] == "thread_name"}
    groups = {e["pid"]: e["args"]["name"] for e in events if e["name"] == "process_name"}  # type: ignore[index]
    return rows, groups


def test_counters_show_the_tiles_that_memories_hold(tmp_path: Path) -> None:
    (tmp_path / "nest.txt").write_text(NEST)
    found = tw.evaluate(LAYER, "dmazerunner-256", str(tmp_path / "nest.txt"), latency="pipelined")
    document = trace(found)
    _, groups = names(document["traceEvents"])
    counts = defaultdict(list)
    for event in document["traceEvents"]:
        if event["ph"] == "C":
            counts[groups[event["pid"]]].append(event["args"])
    held = found.memories["SPM"].tensors
    for tensor, result in held.items():
        assert max(each[tensor] for each in counts["words in SPM"]) == result.peak
    assert max(sum(each.values()) for each in counts["words in SPM"]) <= 2 * sum(
        result.peak for result in held.values()
    )
    assert all(set(each.values()) == {0} for each in (counts["words in SPM"][-1],))


def test_a_long_execution_is_told_in_few_events(tmp_path: Path) -> None:
    layer = tw.matmul(name="m", M=2**20, N=2**20, K=4)
    nest = [
        {"store": "DRAM"},
        {"for": "M", "tile": 2},
        {"for": "N", "tile": 2},
        {"store": "SPM"},
        {"store": "RF"},
    ]
    found = tw.evaluate(layer, "dmazerunner-256", nest, latency="pipelined")
    target = write_trace(found, tmp_path / "trace.json")
    document = json.loads(target.read_text())
    assert len(document["traceEvents"]) < 5000
    assert document["otherData"]["cycles"] == found.cycles
    assert any("iterations of M" in event["name"] for event in document["traceEvents"])
    with pytest.raises(tw.InputError, match="from 1000 to 1000000"):
        trace(found, 10)
    with pytest.raises(tw.InputError, match="pipelined"):
        trace(tw.evaluate(layer, "dmazerunner-256", nest))


def test_commands_write_traces(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "net.yaml").write_text(
        "name: net\nlayers:\n  - {name: m, op: matmul, M: 4, N: 4, K: 4}\n"
        "  - {name: n, op: matmul, M: 8, N: 4, K: 4, repeat: 3}\n"
    )
    found, mappings = tmp_path / "found.json", tmp_path / "mappings.yaml"
    words = [str(tmp_path / "net.yaml"), "simple"]
    pipelined = ["--latency", "pipelined", "--trace", str(found)]
    assert main(["map", *words, *pipelined, "-o", str(mappings), "--no-cache"]) == 0
    layers = [e for e in json.loads(found.read_text())["traceEvents"] if e["ph"] == "X"]
    assert [e["name"] for e in layers if e["pid"] == e["tid"] == 1] == [
        "m", "n, 3 times; one run is shown",
    ]  # fmt: skip
    found.unlink()
    chosen = ["evaluate", *words, str(mappings), "--layer", "n"]
    assert main([*chosen, *pipelined]) == 0
    assert found.exists()
    capsys.readouterr()
    assert main([*chosen, "--trace", str(found)]) == 2
    assert "--trace: shows pipelined latency" in capsys.readouterr().err

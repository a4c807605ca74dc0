"""A pipelined execution as a trace that Perfetto and Chrome open (Trace Event Format, JSON).

Rows are what computes, the tiles of each stage and the waits for them, and each port, network and
DMA engine by what it moves for. Counters are the words that the first instance of a memory holds.
A cycle is shown as a microsecond.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator
from functools import lru_cache
from pathlib import Path
from typing import Any, TypeAlias

from tilewright.document import describe
from tilewright.errors import InputError
from tilewright.mapper.results.result import NetworkResult
from tilewright.model.results.network import NetworkEvaluation
from tilewright.model.results.result import Evaluation
from tilewright.timing.chunks import stay
from tilewright.timing.latency import Nest, State
from tilewright.timing.walk import Slice, most_detailed

MOST = 200_000
WORDS = {
    "fill": "first tiles come",
    "exchange": "next tiles come, results go",
    "drain": "last results go",
    "stall": "everything inside waits",
    "compute": "operations",
}
EXECUTION = "execution"
Timed: TypeAlias = NetworkResult | NetworkEvaluation | Evaluation
Entry = dict[str, Any]


def trace(result: Timed, most: int = MOST) -> dict[str, Any]:
    """Return a pipelined execution as a trace, as JSON has it.

    Parameters
    ----------
    result : NetworkResult, NetworkEvaluation or Evaluation
        Evaluated under pipelined latency. Layers follow each other; each runs once.
    most : int
        How many events at most, from 1000 to a million. Where a layer has more, equal iterations
        are told together: the first ones of each loop are told one by one, and the last.

    Returns
    -------
    dict
        ``traceEvents`` and what they are about. A cycle is a microsecond.

    Raises
    ------
    InputError
        When the latency is not pipelined.
    """
    if not isinstance(most, int) or isinstance(most, bool) or not 1000 <= most <= 1_000_000:
        raise InputError(
            f"expected a whole number from 1000 to 1000000, found {describe(most)}", key="most"
        )
    evaluations = evaluations_of(result)
    rows = Rows()
    events: list[Entry] = []
    now = 0.0
    for evaluation in evaluations:
        layer = LayerTrace(evaluation, rows, now)
        events += layer.events(most // max(1, len(evaluations)))
        now = layer.end
    machine = result.architecture
    about = {
        "machine": machine.name,
        "clock_hz": machine.clock_hz,
        "time": "a cycle is shown as a microsecond",
        "cycles": now,
    }
    return {"traceEvents": rows.names(events) + events, "displayTimeUnit": "ms", "otherData": about}


def trace_text(result: Timed) -> str:
    """Return a trace as JSON, an event per line."""
    found = trace(result)
    dumps = json.JSONEncoder(separators=(",", ":"), allow_nan=False).encode
    lines = ",\n".join(map(dumps, found.pop("traceEvents")))
    return f'{{"traceEvents":[\n{lines}\n],{dumps(found)[1:]}\n'


def write_trace(result: Timed, path: str | os.PathLike[str]) -> Path:
    """Write a trace; see `trace`.

    Raises
    ------
    InputError
        When the latency is not pipelined, or the file cannot be written.
    """
    text = trace_text(result)
    target = Path(path)
    try:
        target.write_text(text, encoding="utf-8")
    except OSError as failure:
        raise InputError(f"cannot be written: {failure.strerror}", source=str(path)) from None
    return target


def evaluations_of(result: Timed) -> list[Evaluation]:
    """Return what was evaluated, layer by layer.

    Raises
    ------
    InputError
        When the latency is not pipelined.
    """
    if isinstance(result, Evaluation):
        found = [result]
    elif isinstance(result, NetworkEvaluation):
        found = list(result.layers)
    else:
        found = [layer.evaluation for layer in result.layers]
    if any(evaluation.pipeline is None for evaluation in found):
        raise InputError("shows pipelined latency: add --latency pipelined", key="trace")
    return found


class Rows:
    """The rows of a trace, numbered as they are first used: groups of rows, and rows in them."""

    def __init__(self) -> None:
        self.groups: dict[str, dict[str, int]] = {}

    def place(self, group: str, row: str) -> Entry:
        """Return the numbers by which events name a row."""
        rows = self.groups.setdefault(group, {})
        thread = rows.setdefault(row, len(rows) + 1)
        return {"pid": list(self.groups).index(group) + 1, "tid": thread}

    def names(self, events: Iterable[Entry]) -> list[Entry]:
        """Return the events that name the rows of some events and keep them in order."""
        used = {(event["pid"], event["tid"]) for event in events}
        found: list[Entry] = []
        for pid, (group, rows) in enumerate(self.groups.items(), start=1):
            found.append(meta("process_name", pid, 0, name=group))
            found.append(meta("process_sort_index", pid, 0, sort_index=pid))
            for row, tid in rows.items():
                if (pid, tid) not in used:
                    continue
                found.append(meta("thread_name", pid, tid, name=row))
                found.append(meta("thread_sort_index", pid, tid, sort_index=tid))
        return found


def meta(what: str, pid: int, tid: int, **values: object) -> Entry:
    """Return an event that says something about a row."""
    return {"ph": "M", "name": what, "pid": pid, "tid": tid, "args": values}


class LayerTrace:
    """The events of one layer.

    Parameters
    ----------
    evaluation : Evaluation
        Under pipelined latency.
    rows : Rows
        Where events stand.
    start : float
        Cycles before this layer.

    Attributes
    ----------
    end : float
        Cycles when it has ended.
    """

    def __init__(self, evaluation: Evaluation, rows: Rows, start: float) -> None:
        pipeline = evaluation.pipeline
        assert pipeline is not None
        self.layer, self.machine = evaluation.layer, evaluation.architecture
        self.start, self.end = start, start + pipeline.cycles
        self.nest = Nest(self.layer, self.machine, evaluation.mapping, pipeline.layouts)
        self.words = lru_cache(maxsize=100_000)(self.words_of)
        self.held: dict[str, dict[str, int]] = {}
        tensors = [[link.tensor.name for link in stage.links] for stage in self.nest.stages]
        self.stages = [
            f"{stage.memory} ({', '.join(names)})"
            for stage, names in zip(self.nest.stages, tensors, strict=True)
        ]
        compute = self.machine.compute.name
        self.layer_row = rows.place(EXECUTION, "layers")
        self.compute_row = rows.place(EXECUTION, compute)
        self.tile_rows = [rows.place(EXECUTION, f"tiles of {name}") for name in self.stages]
        self.wait_rows = [rows.place(EXECUTION, f"waits for {name}") for name in self.stages]
        purposes = [*(f"tiles of {name}" for name in self.stages), f"operands of {compute}"]
        self.port_rows = [
            [rows.place(port, purpose) for purpose in purposes] for port in self.nest.ports.names
        ]
        self.count_rows = {
            stage.memory: rows.place(f"words in {stage.memory}", "words")
            for stage in self.nest.stages
        }

    def events(self, most: int) -> Iterator[Entry]:
        """Yield the events of the layer, about `most` at most."""
        runs = f", {self.layer.repeat} times; one run is shown" if self.layer.repeat > 1 else ""
        yield bar(self.layer_row, f"{self.layer.name}{runs}", self.start, self.end)
        most_of_slice = 3 + len(self.nest.ports.names)
        for each in most_detailed(self.nest, most // most_of_slice).slices():
            yield from self.bars(each)
            yield from self.counters(each)

    def bars(self, each: Slice) -> Iterator[Entry]:
        """Yield what a slice looks like in the rows."""
        start, end = self.start + each.start, self.start + each.end
        name = WORDS.get(each.what, "passes together")
        if each.steady is not None:
            name = f"{each.steady.iterations} iterations of {each.steady.dimension}"
        if each.what == "steady":
            yield from self.steady_bars(each, name, start, end)
        elif end > start:
            row = self.compute_row
            if each.what != "compute":
                row = (self.wait_rows if each.what == "stall" else self.tile_rows)[each.stage]
            waits = {"waiting for operands": each.times[2]} if each.times[2] else {}
            yield bar(row, name, start, end, **waits)
        for rows, busy in zip(self.port_rows, each.times[self.nest.fixed :], strict=True):
            if not busy:
                continue
            row = rows[each.stage]
            if each.what == "steady":
                share = f"busy {busy / (end - start):.1%}"
                yield bar(row, f"{share}: {name}", start, end, busy=busy)
            else:
                yield bar(row, name, start, start + busy)

    def steady_bars(self, each: Slice, name: str, start: float, end: float) -> Iterator[Entry]:
        """Yield what is told together: what computes, and what waits, with their cycles."""
        cycles, computing, operands = each.times[:3]
        values = {"computing": computing, "waiting for operands": operands}
        yield bar(self.compute_row, f"busy {computing / cycles:.1%}: {name}", start, end, **values)
        for row, waiting in zip(self.wait_rows, each.times[3 : self.nest.fixed], strict=True):
            if waiting:
                share = f"waits {waiting / cycles:.1%} of the time: {name}"
                yield bar(row, share, start, end, waiting=waiting)

    def counters(self, each: Slice) -> Iterator[Entry]:
        """Yield what the memory of a stage holds when a slice begins, and when it ends."""
        if each.tile is None and each.what != "drain":
            return
        stages = [each.stage] if each.what != "steady" else list(self.nest.every(each.stage))
        for s in stages:
            stage = self.nest.stages[s]
            held = self.held.setdefault(stage.memory, {})
            words = {} if each.tile is None else self.words(s, each.tile.at, each.tile.state)
            names = [link.tensor.name for link in stage.links]
            if stage.double and each.what == "exchange" and s == each.stage:
                coming = {f"next {name}": words[name] for name in names}
                yield self.counter(stage.memory, held | coming, each.start)
            held.update({name: words.get(name, 0) for name in names})
            held.update({f"next {name}": 0 for name in names if stage.double})
            yield self.counter(stage.memory, held, each.end)

    def counter(self, memory: str, held: dict[str, int], at: float) -> Entry:
        """Return what a memory holds from a moment on, in words of its first instance."""
        place = self.count_rows[memory]
        return {"ph": "C", "name": "words", **place, "ts": self.start + at, "args": dict(held)}

    def words_of(self, s: int, at: int, state: State) -> dict[str, int]:
        """Return the words of the first instance's tiles of a stage, by tensor."""
        nest = self.nest
        found = {}
        for words, _, _ in nest.links[s]:
            changes = [
                nest.follow(d, at - 1, words.depth, stay(parts)) for d, parts in enumerate(state)
            ]
            moved = words.change(changes, -1, False)
            found[words.link.tensor.name] = 0 if moved is None else moved.entered
        return found


def bar(place: Entry, name: str, start: float, end: float, **values: float) -> Entry:
    """Return something that takes time."""
    entry = {"ph": "X", "name": name, **place, "ts": start, "dur": end - start}
    return {**entry, "args": values} if values else entry

"""Whether results are still those of the last release, to the last bit: for steps that only move.

python -m benchmarks --guards [--long]

Labels are counted as well: a search that visits others has changed, even if its result is the same.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from hashlib import blake2b
from pathlib import Path
from typing import Any

import tilewright
from benchmarks.mapper import LAYERS, MACHINE, SMALL
from tilewright.architecture.files import load_architecture
from tilewright.mapper.search.search import Search
from tilewright.mapping.files import mapping_data

KNOWN = Path(__file__).with_name("identical.json")
PROVEN = (
    "matrix product 64x64x64",
    "matrix-vector product 4096",
    "pointwise 1024x256x14x14",
    "convolution 256x256x14x14x3x3",
    "depthwise convolution 256x28x28x3x3",
    "matrix product 2048x11008x4096",
)
LONG = ("convolution 256x256x56x56x3x3",)
TIMES = ("seconds", "search_seconds", "cached")
Case = tuple[str, Callable[[], Any]]


def searched(layer: str, objective: str) -> dict[str, Any]:
    """Return what the search of a layer among divisors ends with."""
    found = Search(LAYERS[layer], load_architecture(MACHINE), objective).solve()
    assert found.mapping is not None
    mapping = json.dumps(mapping_data(found.mapping, LAYERS[layer]))
    return {
        "value": found.value,
        "bound": found.bound,
        "labels": found.labels,
        "mapping": digest(mapping),
    }


def points() -> list[Any]:
    """Return the least energy for every size of two memories."""
    layer = LAYERS["convolution 256x256x14x14x3x3"]
    found = tilewright.frontier(layer, MACHINE, ["GLB", "RF"])
    return [len(found), digest(json.dumps(timeless(found.to_dict())))]


def written(found: Any) -> str:
    """Return a digest of a result as it is written."""
    return digest(json.dumps(timeless(found.to_dict())))


def digest(text: str) -> str:
    """Return what stands for a text."""
    return blake2b(text.encode(), digest_size=12).hexdigest()


def timeless(data: Any) -> Any:
    """Return data without the times that a run took."""
    if isinstance(data, dict):
        return {key: timeless(value) for key, value in data.items() if key not in TIMES}
    if isinstance(data, list):
        return [timeless(value) for value in data]
    return data


def cases(long: bool) -> Iterator[Case]:
    """Yield the names of the cases, and what runs them."""
    for layer in (*PROVEN, *(LONG if long else ())):
        for objective in ("energy", "edp"):
            yield f"{layer}, {objective}", lambda layer=layer, goal=objective: searched(layer, goal)
    for tiles in ("divisors", "all"):
        for objective in ("energy", "latency", "edp", "energy, latency<=1000"):
            yield (
                f"{tiles} of a small window, {objective}",
                lambda tiles=tiles, goal=objective: written(
                    tilewright.map(SMALL, MACHINE, goal, tiles=tiles, cache=False)
                ),
            )
    yield "front", lambda: written(tilewright.pareto(SMALL, MACHINE))
    yield (
        "least memory",
        lambda: written(
            tilewright.least_memory(tilewright.map(SMALL, MACHINE, cache=False).layers[0])
        ),
    )
    yield "explained", lambda: written(tilewright.explain(SMALL, MACHINE))
    yield (
        "pipelined",
        lambda: written(tilewright.map(SMALL, MACHINE, "edp", latency="pipelined", cache=False)),
    )
    yield (
        "one style",
        lambda: written(tilewright.map(SMALL, MACHINE, "edp", uniform="dataflow", cache=False)),
    )
    yield "sizes of one memory", lambda: written(tilewright.frontier(SMALL, MACHINE, ["GLB"]))
    if long:
        yield "sizes of two memories", points


def main(arguments: list[str]) -> int:
    """Run all cases and say which are not as they were; return their number.

    With ``--write`` they become those that later runs are compared with.
    """
    known = json.loads(KNOWN.read_text()) if KNOWN.exists() else {}
    changed = 0
    for name, run in cases("--long" in arguments):
        now = run()
        if "--write" in arguments:
            known[name] = now
        elif known.get(name) != now:
            changed += 1
            print(f"{name}: was {known.get(name)}, is {now}")
        else:
            print(f"{name}: as it was", flush=True)
    if "--write" in arguments:
        KNOWN.write_text(json.dumps(known, indent=1) + "\n")
    return changed


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]) != 0)

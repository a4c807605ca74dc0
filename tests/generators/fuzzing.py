"""Files and command lines that nobody should write, as Hypothesis strategies."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from hypothesis import strategies as st
from ruamel.yaml import YAML

import tilewright as tw
from tilewright.architecture import preset_names
from tilewright.architecture.constraints.dataflow import dataflow_names
from tilewright.cli.help import MODULES
from tilewright.cli.options import find_command
from tilewright.interop.maestro.styles import style_names
from tilewright.workload import zoo_names

ROOT = Path(tw.__file__).parent
GOOD: dict[str, str] = YAML(typ="safe", pure=True).load(
    (Path(__file__).parents[1] / "bad_input.yaml").read_text(encoding="utf-8")
)["good"]
KINDS = tuple(GOOD)  # net.yaml, machine.yaml, mapping.yaml

ODD = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-3, 20),
    st.sampled_from([0, -1, 2**31, 2**40, 2**40 + 1, 2**62, 2**63, 2**64, 10**30, -(10**30)]),
    st.sampled_from([0.0, -0.0, 0.5, 1e-320, 1e308, -1e308, float("nan"), float("inf"), 6.5]),
    st.sampled_from(["", " ", "I", "K", "C", "O", "all", "DRAM", "RF", "1 KiB", "0 B", "-1 KiB"]),
    st.sampled_from(["1e400 KiB", "nan KiB", "9" * 30 + " KiB", "16 bits", "0 bits", "0 MHz"]),
    st.sampled_from(["O[K] += I[K]", "O[K] += I[2*K+C] * W[C]", "O[] += I[C]", "O[K,K] += I[K]"]),
    st.sampled_from(
        ["O[K] += I[99999999999999999999*K+C]", "a[b]", "O[K] +=", "K,C", "2..", "..2"]
    ),
    st.text(max_size=8),
    st.builds(list),
    st.builds(dict),
    st.lists(st.sampled_from(["I", "O", "W", "K", "C", 1, None]), max_size=4),
    st.dictionaries(st.sampled_from(["I", "K", "min", "max", "X"]), st.integers(-1, 9), max_size=3),
)


def places(data: Any) -> list[tuple[Any, Any]]:
    """Return all containers of plain data with their keys."""
    found = []
    pairs = data.items() if isinstance(data, dict) else enumerate(data)
    for key, value in pairs:
        found.append((data, key))
        if isinstance(value, dict | list):
            found += places(value)
    return found


@st.composite
def broken_data(draw: st.DrawFn, text: str) -> str:
    """Draw a file with some values changed, removed, doubled, moved or renamed."""
    data = YAML(typ="safe", pure=True).load(text)
    for _ in range(draw(st.integers(1, 3))):
        here = places(data)
        if not here:
            break
        owner, key = draw(st.sampled_from(here))
        change = draw(st.sampled_from(["odd", "odd", "odd", "remove", "wrap", "copy", "rename"]))
        if change == "odd":
            owner[key] = draw(ODD)
        elif change == "remove":
            del owner[key]
        elif change == "wrap":
            owner[key] = [owner[key]]
        elif change == "copy":
            other, at = draw(st.sampled_from(here))
            owner[key] = json.loads(json.dumps(other[at])) if at in keys(other) else None
        elif isinstance(owner, dict):
            owner[draw(st.sampled_from(["name", "bits", "size", "for", "x", ""]))] = owner.pop(key)
    return json.dumps(data)


@st.composite
def damaged(draw: st.DrawFn, tree: Any) -> Any:
    """Draw plain data of which some key is lost, or its value replaced; `tree` is changed."""
    owner, key = draw(st.sampled_from(places(tree)))
    if isinstance(owner, dict) and draw(st.booleans()):
        del owner[key]
    else:
        owner[key] = draw(st.sampled_from([None, -1, 10**12, "x", [], {}, [[]], 2.5]))
    return tree


def keys(owner: Any) -> Any:
    """Return the keys of a container."""
    return owner.keys() if isinstance(owner, dict) else range(len(owner))


@st.composite
def broken_text(draw: st.DrawFn, text: str) -> str:
    """Draw a file with some characters or lines cut, doubled or put in."""
    for _ in range(draw(st.integers(1, 3))):
        a, b = sorted(draw(st.tuples(*[st.integers(0, len(text))] * 2)))
        b = min(b, a + 40)
        new = draw(
            st.one_of(
                st.just(""),
                st.just(text[a:b] * 2),
                st.text(max_size=4),
                st.sampled_from(
                    ["\t", "\n", "- ", ": ", "{", "[", "}", "&a ", "*a", "!!int ", "|\n", "'", '"',
                     "\u2028", "\ufeff", "%", "<<: ", "? ", "---\n", "...\n", "1e999", "0x", "~"]
                ),
            )
        )  # fmt: skip
        text = text[:a] + new + text[b:]
    return text


def broken(text: str) -> st.SearchStrategy[str]:
    """Draw a file that began as a good one."""
    return st.one_of(broken_data(text), broken_data(text), broken_text(text))


def shipped() -> list[str]:
    """Return files that ship, none of them long."""
    folders = ("workload/zoo", "architecture/presets", "architecture/dataflows")
    paths = [path for folder in folders for path in sorted((ROOT / folder).glob("*.yaml"))]
    return [path.read_text(encoding="utf-8") for path in paths if path.stat().st_size < 2500]


WORDS = st.one_of(
    st.sampled_from([*zoo_names()[:2], *preset_names(), *dataflow_names()[:3], *style_names()]),
    st.sampled_from(
        ["net.yaml", "machine.yaml", "mapping.yaml", "conv", "fc", "GLB", "RF", "-", "."]
    ),
    st.sampled_from(["0", "-1", "1", "nan", "inf", "1e400", "5%", "", "energy", "edp", "I=P,Q,C"]),
    st.sampled_from(
        ["energy*latency^0.5", "energy, latency<=1", "dmc", "random", "pruned:victory=1"]
    ),
    st.sampled_from(["PE.X.dims=C", "even=true", "RF.tile.P=1", "divisors", "all", "pipelined"]),
    st.sampled_from(["out.json", "no/out.json", "net.yaml", "out.html", "dataflow", "best"]),
    st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=6),
)
QUICK = {"--time-limit": "0.05", "--seconds": "0.05", "--samples": "20"}


def options() -> dict[str, list[str]]:
    """Return the options of every command."""
    return {name: list(find_command(name).options) for name in MODULES}


@st.composite
def command_lines(draw: st.DrawFn) -> list[str]:
    """Draw a command with options, most of whose words make no sense."""
    table = options()
    command = draw(st.sampled_from(sorted(table)))
    words = [command, *draw(st.lists(WORDS, max_size=3))]
    if draw(st.booleans()):
        words = [command, "net.yaml", "machine.yaml"]
        words += ["mapping.yaml"] * (command in ("evaluate", "simulate", "convert"))
        words = [command] if command in ("list", "cache") else words
        words += ["--layer", draw(st.sampled_from(["conv", "fc", "x"]))] * draw(st.integers(0, 1))
    for option in draw(st.lists(st.sampled_from([*table[command], "--help"]), max_size=4)):
        words.append(option)
        if draw(st.integers(0, 3)):
            words.append(draw(WORDS))
    for option in table[command]:
        # the last one counts: searches are short
        if option in QUICK:
            words += [option, draw(st.sampled_from([QUICK[option], QUICK[option], "0", "x"]))]
    return words


CHAIN = """
name: chain
inputs: {x: [8, 6]}
layers:
- {name: up, op: matmul, M: 8, K: 6, N: 12, repeat: 3}
- {name: down, op: matmul, M: 8, K: 12, N: 6, repeat: 3}
- {name: last, op: matmul, M: 8, K: 6, N: 5}
graph:
- block: part
  repeat: 3
  inputs: {h: x}
  carry: {h: down}
  nodes:
  - {layer: up, name: up, tensors: {I: h}}
  - {layer: down, name: down, tensors: {I: up}}
- {layer: last, name: last, tensors: {I: part.down}}
"""
LEAKING = """
name: leaking
clock: 1 GHz
levels:
- {memory: DRAM, word: 16 bits, energy: {read: 100, write: 100}, bandwidth: 1}
- {memory: GLB, size: 128 B, word: 16 bits, energy: {read: 6, write: 6}, leakage: 2.0e+3}
- {array: PE, axes: {X: 2}}
- {memory: RF, size: 8 B, word: 16 bits, energy: {read: 1, write: 1}}
- {array: LANE, axes: {X: 2}}
- {compute: MAC, energy: 1}
"""
FUSED = (
    ("--pareto", ()),
    ("--objective", ("energy, latency<=900", "latency, energy<=1e6", "edp", "edp, latency<=9")),
    ("--objective", ("energy, latency<=1", "energy, energy<=1e5, latency<=1e4", "latency")),
    ("--constraint", ("GLB.keep=W", "GLB.bypass=O", "GLB.tile.M=2")),
    ("--tiles", ("all", "divisors")),
    ("--json", ("out.json", "-")),
    ("--output", ("out.yaml",)),
    ("--report", ("out.html",)),
    ("--layer", ("up",)),
)


@st.composite
def fused_lines(draw: st.DrawFn) -> list[str]:
    """Draw a search of fused layers, with options that it has or that it refuses."""
    words = ["map", "net.yaml", "machine.yaml", "--fuse", "--time-limit"]
    words.append(draw(st.sampled_from(["0.2", "1", "3"])))
    for option, values in draw(st.lists(st.sampled_from(FUSED), max_size=4, unique=True)):
        words += [option, *([draw(st.sampled_from(values))] if values else [])]
    return words

"""Files of other tools, broken in any way: one message, a documented status, soon.

TILEWRIGHT_FUZZ is the number of cases of each kind; by default a sample.
"""

from __future__ import annotations

import os
import time
from contextlib import redirect_stderr, redirect_stdout
from io import StringIO
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import tilewright as tw
from fuzzing import broken, broken_text
from keras_files import save, small
from onnx_models import Model
from other_files import (
    ACCELFORGE_ARCHITECTURE,
    ACCELFORGE_CONVOLUTION,
    ACCELFORGE_WORKLOAD,
    SCALESIM_CONFIGURATION,
    SCALESIM_TOPOLOGY,
    ZIGZAG_MAPPING,
    ZIGZAG_WORKLOAD,
    zigzag_hardware,
)
from tilewright.cli import main
from torch_files import small_network

CASES = int(os.environ.get("TILEWRIGHT_FUZZ", "0"))
SECONDS = 10 if not CASES else 60  # by hand other work may be going on
LAYER = tw.conv2d(name="c", K=4, C=4, P=6, Q=6, R=3, S=3)
NODES = [
    {"store": "DRAM"}, {"for": "K", "tile": 2}, {"store": "GLB"}, {"for": "P", "tile": 3},
    {"spatial": "C", "tile": 1, "axis": "X"}, {"store": "RF"},
]  # fmt: skip
TIMELOOP = tw.export(LAYER, "simple", NODES).files
PLAIN = "\n".join(line for line in ACCELFORGE_WORKLOAD.splitlines() if "{%" not in line)
LLAMA = (Path(tw.__file__).parent / "frontends" / "models" / "llama-3-8b.json").read_text(
    encoding="utf-8"
)
DIRECTIVES = """\
Network net {
    Layer one {
        Type: CONV
        Stride { X: 1, Y: 1 }
        Dimensions { K: 4, C: 4, R: 3, S: 3, Y: 8, X: 8 }
        Dataflow {
            SpatialMap(1,1) K;
            TemporalMap(1,1) C;
            TemporalMap(Sz(R),1) Y;
            TemporalMap(Sz(S),1) X;
            TemporalMap(Sz(R),Sz(R)) R;
            TemporalMap(Sz(S),Sz(S)) S;
        }
    }
}
"""
# the file, what it holds, whether it is YAML as well, and the words of a command
TEXTS = {
    "problem": ("p.yaml", TIMELOOP["problem.yaml"], True, "show p.yaml"),
    "architecture": ("a.yaml", TIMELOOP["arch.yaml"], False, "import problem.yaml a.yaml"),
    "mapping": ("m.yaml", TIMELOOP["mapping.yaml"], True,
                "evaluate problem.yaml arch.yaml m.yaml"),
    "topology": ("t.csv", SCALESIM_TOPOLOGY, False, "show t.csv"),
    "configuration": ("s.cfg", SCALESIM_CONFIGURATION, False, "show s.cfg"),
    "equations": ("w.yaml", ZIGZAG_WORKLOAD, True, "show w.yaml"),
    "hardware": ("h.yaml", zigzag_hardware(), True, "show h.yaml"),
    "unrolling": ("u.yaml", ZIGZAG_MAPPING, True,
                  "map tiny.yaml hardware.yaml --constraint u.yaml --time-limit 0.2"),
    "einsums": ("e.yaml", ACCELFORGE_WORKLOAD, False, "show e.yaml"),
    "plain einsums": ("e.yaml", PLAIN.replace("{{TOKENS}}", "4"), True, "show e.yaml"),
    "windows": ("c.yaml", ACCELFORGE_CONVOLUTION, True, "show c.yaml"),
    "hierarchy": ("r.yaml", ACCELFORGE_ARCHITECTURE, False, "show r.yaml"),
    "configuration of a model": ("config.json", LLAMA, True, "show config.json --batch 2"),
    "directives": ("d.m", DIRECTIVES, False, "show d.m"),
}  # fmt: skip


def cases(sample: int) -> settings:
    return settings(
        max_examples=CASES or sample, deadline=None, derandomize=not CASES, database=None,
        suppress_health_check=list(HealthCheck),
    )  # fmt: skip


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    # a fault raises what it is
    monkeypatch.setenv("TILEWRIGHT_TRACEBACK", "1")
    monkeypatch.setenv("TILEWRIGHT_CACHE", "off")
    for name, text in TIMELOOP.items():
        Path(name).write_text(text)
    Path("hardware.yaml").write_text(zigzag_hardware())
    Path("tiny.yaml").write_text("name: n\nlayers:\n  - {name: l, op: matmul, M: 2, N: 2, K: 2}\n")
    return tmp_path


def run(words: list[str]) -> int:
    """Run a command, check how it ends and return its status."""
    out, error = StringIO(), StringIO()
    for _ in range(2):  # what has to be compiled is there the second time
        start = time.perf_counter()
        with redirect_stdout(out), redirect_stderr(error):
            status = main(words)
        if time.perf_counter() - start <= SECONDS:
            break
    else:
        pytest.fail(f"{words} takes more than {SECONDS} s")
    assert status in (0, 2, 3), words
    if status == 2:
        said = error.getvalue().splitlines()
        assert sum(line.startswith("error: ") for line in said) == 1, said
    return status


@pytest.mark.parametrize("kind", TEXTS)
def test_files_are_good_before_they_are_broken(kind: str) -> None:
    name, text, _, command = TEXTS[kind]
    Path(name).write_text(text)
    # on a busy machine there may be no mapping in so little time
    assert run(command.split()) in ((0, 3) if "--time-limit" in command else (0,))


@pytest.mark.parametrize("kind", TEXTS)
def test_broken_texts(kind: str) -> None:
    name, text, is_yaml, command = TEXTS[kind]

    @cases(6)
    @given(broken(text) if is_yaml else broken_text(text))
    def check(changed: str) -> None:
        Path(name).write_bytes(changed.encode("utf-8", "surrogatepass"))
        run(command.split())

    check()


@st.composite
def broken_bytes(draw: st.DrawFn, content: bytes) -> bytes:
    """Draw a file with some bytes cut, doubled, changed or put in."""
    for _ in range(draw(st.integers(1, 4))):
        a = draw(st.integers(0, len(content)))
        b = min(len(content), a + draw(st.integers(0, 60)))
        new = draw(
            st.one_of(st.binary(max_size=6), st.just(content[a:b] * 2), st.just(b"\xff" * 9))
        )
        content = content[:a] + new + content[b:]
    return content


@pytest.mark.parametrize("kind", ["onnx", "pt2", "keras"])
def test_broken_binaries(kind: str, tmp_path: Path) -> None:
    file = tmp_path / f"net.{kind}"
    if kind == "onnx":
        model = Model()
        x = model.input("x", (1, 4, 8, 8))
        y = model.add("Conv", x, model.weight(4, 4, 3, 3), pads=[1, 1, 1, 1])
        model.output(model.add("Relu", y))
        model.save(file)
    elif kind == "keras":
        save(file, small().data())
    else:
        small_network().save(file)
    assert run(["show", str(file)]) == 0
    content = file.read_bytes()

    @cases(20)
    @given(broken_bytes(content))
    def check(changed: bytes) -> None:
        file.write_bytes(changed)
        run(["show", str(file)])

    check()

"""AccelForge's workloads and architectures: einsums, ranks, chains; nothing of a file is run."""

from __future__ import annotations

from pathlib import Path

import pytest

import tilewright as tw
from other_files import ACCELFORGE_ARCHITECTURE, ACCELFORGE_CONVOLUTION, ACCELFORGE_WORKLOAD
from tilewright.interop.accelforge.arithmetic import number
from tilewright.workload.graph import Node
from tilewright.workload.graphs.graph_checks import check


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    for name, text in (
        ("net", ACCELFORGE_WORKLOAD),
        ("conv", ACCELFORGE_CONVOLUTION),
        ("machine", ACCELFORGE_ARCHITECTURE),
    ):
        (tmp_path / f"{name}.yaml").write_text(text)
    return tmp_path


def test_einsums_become_connected_layers(folder: Path) -> None:
    network = tw.load_workload("net.yaml")
    assert [layer.name for layer in network.layers] == ["V", "K", "Q", "QK", "apply"]
    value, _, _, scores, apply = network.layers
    assert value.bounds == {"b": 1, "m": 16, "d": 32, "h": 4, "e": 8}
    assert [t.bits for t in value.tensors] == [8, 4, 8]
    assert scores.einsum == "QK[b,m,p,h] += Q[b,m,h,e] * K[b,p,h,e]"
    # ranks have names: the order in which an access writes them means nothing
    assert apply.einsum == "AV[b,m,h,f] += QK[b,m,p,h] * V[b,p,h,f]"
    assert apply.operations == 16 * 16 * 4 * 8
    graph = network.graph
    assert graph is not None
    check(graph, {layer.name: layer for layer in network.layers})
    last = graph.nodes[-1]
    assert isinstance(last, Node)
    assert {key: list(view.tensors()) for key, view in last.inputs.items()} == {
        "QK": ["QK"], "V": ["V"],
    }  # fmt: skip


def test_windows_and_ranges(folder: Path) -> None:
    (layer,) = tw.load_workload("conv.yaml").layers
    assert layer.einsum == "Z[p,c] += A[2*p+r,c] * W[r,c]"
    assert layer.bounds == {"p": 10, "r": 3, "c": 6}


def test_a_hierarchy_becomes_a_machine(folder: Path) -> None:
    result = tw.map("net.yaml", "machine.yaml", layer="V", tiles="divisors")
    machine = result.architecture
    names = [level.name for level in machine.levels]
    assert names == ["Main", "Buffer", "Array_array", "Register", "MAC"]
    main, buffer, register = machine.memories
    assert machine.clock_hz == 2e9
    assert main.read_energy == pytest.approx(56)  # 7 pJ per bit
    assert main.shared_bandwidth == pytest.approx(8 * 600e9 / 8 / 2e9)
    assert buffer.read_energy == pytest.approx(16)  # half of an action of 16 bits
    assert buffer.write_energy == pytest.approx(16)  # 8 actions of a bit
    assert buffer.read_bandwidth == pytest.approx(1.0)  # 2e9 bytes per s at 2 GHz
    assert buffer.write_bandwidth is None
    assert buffer.capacity_bits == 1024 * 16 * 8
    assert buffer.must_keep == {"I", "O"}
    assert register.capacity_bits == 8
    assert machine.compute.energy == pytest.approx(0.5)
    unrolled = {node.axis: node.dimension for node in result.layers[0].mapping.nodes
                if isinstance(node, tw.Spatial)}  # fmt: skip
    # what reuses the input is in weights and output alone; what adds up is in no output
    assert unrolled.get("X", "h") in {"h", "e"}
    assert unrolled.get("Y", "d") == "d"


def test_what_component_models_would_say_comes_from_a_table(folder: Path) -> None:
    text = ACCELFORGE_ARCHITECTURE.replace(
        "arch:\n", "arch:\n  extra_attributes_for_all_component_models: {tech_node: 65e-9}\n"
    )
    unit = "actions: [{name: compute, energy: 0.5e-12, latency: 1 / 2e9}]"
    assert unit in text
    text = text.replace(unit, "total_latency: compute_actions / 200e6")
    text = text.replace("energy: 32e-12, ", "").replace("energy: 2e-12, ", "")
    (folder / "machine.yaml").write_text(text)
    machine = tw.map("net.yaml", "machine.yaml", layer="V", tiles="divisors").architecture
    assert machine.clock_hz == 200e6
    _, buffer, register = machine.memories
    assert buffer.read_energy > 0
    assert register.read_energy == 0  # that is what the file says
    assert machine.compute.energy > 0
    assert any("Buffer, MAC: energies of cacti7-65nm" in note for note in machine.notes)


def test_arithmetic_is_computed_and_nothing_else() -> None:
    assert number("1024*1024*128*8") == 2**30
    assert number("1 / (8 * 614e9)") == pytest.approx(1 / (8 * 614e9))
    assert number("-3 + 2") == -1
    assert number("inf") == float("inf")
    for text in ("__import__('os')", "(1).__class__", "2**99", "1/0", "x", "[1]", "1 if 1 else 2",
                 "9" * 300, "True", "'a'"):  # fmt: skip
        assert number(text) is None, text


@pytest.mark.parametrize(
    ("file", "old", "new", "says"),
    [
        ("net", "D: 32", "D: many", "workload.rank_sizes.D: expected a whole number"),
        ("net", "    D: 32\n", "", "no size of variable 'd'"),
        ("net", "= I[b, m, d] * WV[h, e, d]", "I[b, m, d]", "expected an einsum such as"),
        ("net", "name: apply", "name: QK", "einsum 'QK' occurs twice"),
        ("net", "| default(16)", "| default(range(3))", "net.yaml:3"),
        ("net", "  bits", "  {% for i in range(3) %}\n  bits", "net.yaml:11"),
        ("machine", "!Fanout", "!Fork", "'!Fork' is not understood: a machine is one chain"),
        ("machine", "1024*16*8", "open('x')", "expected bits or arithmetic"),
        ("machine", "fanout: 4", "fanout: 0", "a name and a whole fanout"),
        ("machine", "energy: 32e-12", "energy: -1", "for 'energy' of 'read'"),
        ("machine", "  - !Compute\n    name: MAC\n", "  - !Toll\n    name: MAC\n",
         "has no !Compute"),
    ],
)  # fmt: skip
def test_bad_files_are_told_with_their_place(
    folder: Path, file: str, old: str, new: str, says: str
) -> None:
    text = (folder / f"{file}.yaml").read_text()
    assert old in text
    (folder / f"{file}.yaml").write_text(text.replace(old, new, 1))
    with pytest.raises(tw.InputError) as failure:
        tw.map("net.yaml", "machine.yaml")
    assert says in str(failure.value)

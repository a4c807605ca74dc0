"""SCALE-Sim's topologies and configurations: its own sizes, its dataflows, errors with lines."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tilewright as tw
from other_files import SCALESIM_CONFIGURATION, SCALESIM_TOPOLOGY
from tilewright.cli import main
from tilewright.interop.scalesim.topology import load_topology, topology_text
from tilewright.workload import load_network


@pytest.fixture
def topology(tmp_path: Path) -> str:
    (tmp_path / "net.csv").write_text(SCALESIM_TOPOLOGY)
    return str(tmp_path / "net.csv")


def test_sizes_are_those_of_scalesim(topology: str) -> None:
    network = tw.load_workload(topology)
    first, second, depthwise, sparse, again = network.layers
    # ceil((224 - 11 + 4) / 4) = 55: what SCALE-Sim computes
    assert first.bounds == {"N": 1, "K": 96, "C": 3, "P": 55, "Q": 55, "R": 11, "S": 11}
    assert first.operations == 55 * 55 * 11 * 11 * 3 * 96
    assert second.bounds["P"] == 23
    assert depthwise.bounds == {"N": 1, "G": 8, "P": 6, "Q": 7, "R": 3, "S": 3}
    # 10 - 3 is no multiple of the stride: rounded up
    assert (sparse.bounds["P"], sparse.bounds["Q"]) == (5, 4)
    assert str(sparse.inputs[0]) == "I[N,C,2*P+R,3*Q+S]"
    assert sparse.inputs[1].density == 0.5
    assert [sparse.name, again.name] == ["two", "two_2"]


def test_products_have_three_sizes(tmp_path: Path) -> None:
    (tmp_path / "gemm.csv").write_text("Layer,M,N,K\nQKT,1024,512,64\nPV,7,8,9,1:4,\n")
    first, second = tw.load_workload(tmp_path / "gemm.csv").layers
    assert first.einsum == "O[M,N] += I[M,K] * W[K,N]"
    assert first.bounds == {"M": 1024, "N": 512, "K": 64}
    assert second.inputs[1].density == 0.25


@pytest.mark.parametrize(
    ("flow", "stays", "rows", "columns"),
    [("os", "O", {"P", "Q", "N"}, {"K"}), ("ws", "W", {"C", "R", "S"}, {"K"}),
     ("is", "I", {"C", "R", "S"}, {"P", "Q", "N"})],
)  # fmt: skip
def test_dataflows_say_what_stays_and_what_is_unrolled(
    tmp_path: Path, topology: str, flow: str, stays: str, rows: set[str], columns: set[str]
) -> None:
    (tmp_path / "scale.cfg").write_text(SCALESIM_CONFIGURATION.replace(": os", f": {flow}"))
    machine = tw.load_architecture("simple")
    result = tw.map(topology, str(tmp_path / "scale.cfg"), layer="two", tiles="divisors")
    machine = result.architecture
    assert machine.name == "example"
    assert machine.memories[2].must_keep == {stays}
    assert machine.memories[2].keep == {stays}
    assert dict(machine.arrays[0].axes) == {"rows": 16, "columns": 8}
    assert machine.memories[1].tensor_bits == {"I": 2**19, "W": 2**18, "O": 2**17}
    assert machine.memories[0].read_bandwidth == 40  # two interfaces of two banks
    assert any("[architecture_presets] ifmapcustomlayout: True" in n for n in machine.notes)
    used = {
        axis: {node.dimension for node in result.layers[0].mapping.nodes
               if isinstance(node, tw.Spatial) and node.axis == axis}
        for axis in ("rows", "columns")
    }  # fmt: skip
    assert used["rows"] <= rows
    assert used["columns"] <= columns
    assert result.optimal


@settings(max_examples=30, deadline=None)
@given(
    sizes=st.tuples(*[st.integers(1, 5)] * 6), stride=st.integers(1, 3), repeat=st.integers(1, 2)
)
def test_what_is_written_reads_back(
    tmp_path_factory: pytest.TempPathFactory, sizes: tuple[int, ...], stride: int, repeat: int
) -> None:
    k, c, p, q, r, s = sizes
    layers = (
        tw.conv2d(name="one, DP", K=k, C=c, P=p, Q=q, R=r, S=s, stride=stride, repeat=repeat),
        tw.matmul(name="two", M=k, N=c, K=p),
    )
    left_out: list[str] = []
    text = topology_text(tw.Network("n", layers), left_out)
    file = tmp_path_factory.mktemp("t") / "t.csv"
    file.write_text(text)
    found = load_topology(file).layers
    assert not left_out
    assert len(found) == repeat + 1
    assert dict(found[0].bounds) == dict(layers[0].bounds)
    assert found[0].tensors == layers[0].tensors
    assert found[-1].operations == layers[1].operations


def test_shipped_networks_are_written_with_all_their_operations(tmp_path: Path) -> None:
    for name in ("resnet50", "vgg16", "bert_base"):
        network = load_network(name)
        left_out: list[str] = []
        file = tmp_path / f"{name}.csv"
        file.write_text(topology_text(network, left_out))
        lost = {line.split(":")[0] for line in left_out}
        kept = sum(x.operations * x.repeat for x in network.layers if x.name not in lost)
        assert load_topology(file).operations == kept
        assert lost == ({"attention.scores", "attention.context"} if name == "bert_base" else set())


def test_the_command_writes_topologies(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["export", "alexnet", "--scalesim", "out"]) == 0
    assert capsys.readouterr().out == "out/topology.csv\n"
    assert main(["show", "out/topology.csv"]) == 0
    assert "5 layers" in capsys.readouterr().out
    assert main(["export", "alexnet"]) == 2
    assert "ARCH" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ("Dataflow : os", "Dataflow : ows", "scale.cfg:14: Dataflow: no dataflow 'ows'"),
        ("ArrayHeight:    16", "ArrayHeight: many", "scale.cfg:5: ArrayHeight: expected a whole"),
        ("ArrayHeight:    16", "ArrayHeigt: 4", "'ArrayHeight' in [architecture_presets]; did you"),
        (
            "[architecture_presets]",
            "[architecture]",
            "has no section [architecture_presets] with the key 'Dataflow'; did you mean 'archi",
        ),
        ("[run_presets]", "#", "has no section [run_presets] with the key 'InterfaceBandwidth'"),
        ("10,10", "10,-1", "scale.cfg:13: Bandwidth: expected words per cycle"),
        ("USER", "AUTO", "InterfaceBandwidth: expected USER or CALC"),
        ("MemoryBanks: 2", "rubbish", "scale.cfg:15: expected [section] or 'key: value'"),
    ],
)
def test_bad_configurations_are_told_with_their_line(
    tmp_path: Path, old: str, new: str, says: str
) -> None:
    assert old in SCALESIM_CONFIGURATION
    (tmp_path / "scale.cfg").write_text(SCALESIM_CONFIGURATION.replace(old, new))
    with pytest.raises(tw.InputError) as failure:
        tw.map("alexnet", str(tmp_path / "scale.cfg"))
    assert says in str(failure.value)


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ("Conv2, 27, 27", "Conv2, 27, x", "net.csv:4: Conv2: IFMAP Width is a whole number"),
        ("Conv2, 27", "Conv2, 0", "net.csv:4: Conv2: IFMAP Height"),
        ("Conv2, 27, 27, 5, 5, 96, 256, 1", "Conv2, 2, 27, 5, 5, 96, 256, 1", "larger than"),
        ("Conv2, 27, 27, 5, 5, 96, 256, 1", "Conv2, 27, 27, 5, 5", "of these 7 columns"),
        ("1:2", "3:2", "net.csv:6: two: after the sizes"),
        (SCALESIM_TOPOLOGY.partition("\n")[2], "", "has no layers"),
    ],
)
def test_bad_topologies_are_told_with_their_line(
    tmp_path: Path, old: str, new: str, says: str
) -> None:
    assert old in SCALESIM_TOPOLOGY
    (tmp_path / "net.csv").write_text(SCALESIM_TOPOLOGY.replace(old, new))
    with pytest.raises(tw.InputError) as failure:
        tw.load_workload(tmp_path / "net.csv")
    assert says in str(failure.value)

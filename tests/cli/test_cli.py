"""The command line: what it writes where, and the status with which it ends."""

from __future__ import annotations

import json
import os
import re
import stat
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

import tilewright
import tilewright as tw
from tilewright.architecture import preset_names
from tilewright.architecture.constraints.dataflow import dataflow_names
from tilewright.architecture.files import dump_architecture
from tilewright.cli import main
from tilewright.interop.maestro.styles import style_names
from tilewright.mapping import load_mapping
from tilewright.workload import zoo_names

WORKLOAD = """\
name: net
source: A paper
layers:
  - {name: a, op: matmul, M: 8, N: 4, K: 6}
  - {name: b, op: conv1d, K: 4, C: 2, P: 6, R: 3, repeat: 2}
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "net.yaml").write_text(WORKLOAD)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture(scope="module")
def mapped(tmp_path_factory: pytest.TempPathFactory) -> tw.NetworkResult:
    path = tmp_path_factory.mktemp("mapped") / "net.yaml"
    path.write_text(WORKLOAD)
    return tw.map(path, "simple")


def process(*words: str, stdout: int = subprocess.PIPE) -> subprocess.CompletedProcess[bytes]:
    command = [sys.executable, "-m", "tilewright", *words]
    env = os.environ | {"PYTHONPATH": str(Path(tw.__file__).parents[1])}
    return subprocess.run(command, env=env, stdout=stdout, stderr=subprocess.PIPE, check=False)


def timeless(data: object) -> object:
    """Leave out how long things took."""
    if isinstance(data, dict):
        return {k: timeless(v) for k, v in data.items() if not k.endswith("seconds")}
    return [timeless(item) for item in data] if isinstance(data, list) else data


def test_the_package_runs_as_a_module() -> None:
    shown = process("--version")
    assert shown.returncode == 0
    assert shown.stdout.decode() == f"tilewright {tw.__version__}\n"


def test_help_names_the_commands(capsys: pytest.CaptureFixture[str]) -> None:
    for words in ([], ["--help"]):
        assert main(words) == 0
        shown = capsys.readouterr().out
        names = (
            "map",
            "frontier",
            "evaluate",
            "simulate",
            "list",
            "show",
            "compare",
            "mapspace",
            "explore",
            "cache",
        )
        for command in names:
            assert f"  {command} " in shown


def test_list_names_what_ships(capsys: pytest.CaptureFixture[str]) -> None:
    kinds = {
        "workloads": zoo_names(), "architectures": preset_names(), "styles": style_names(),
    }  # fmt: skip
    for kind, names in kinds.items():
        assert main(["list", kind]) == 0
        shown = capsys.readouterr().out.split()
        assert set(names) <= set(shown)
    assert main(["list"]) == 0
    assert {*zoo_names(), *preset_names()} <= set(capsys.readouterr().out.split())


def test_mapping_styles_are_listed_and_shown(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["list", "styles"]) == 0
    assert "SpatialMap(1,1) K; Cluster(64,P); SpatialMap(1,1) C" in capsys.readouterr().out
    assert main(["show", "x-p"]) == 0
    shown = capsys.readouterr().out
    assert "TemporalMap(Sz(R),Sz(R)) R;" in shown
    assert "Source: X-P: output columns in parallel" in shown
    assert main(["show", "kc-p"]) == 0
    shown = capsys.readouterr().out
    assert "array unrolls only I&W not sliding, W&O" in shown  # the dataflow of that name
    assert "SpatialMap(1,1) K;" in shown


def test_dataflows_are_listed_and_shown(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["list", "dataflows"]) == 0
    shown = capsys.readouterr().out
    assert all(name in shown for name in dataflow_names())
    assert main(["show", "row-stationary"]) == 0
    shown = capsys.readouterr().out
    assert "tiles in local have all of I&W sliding columns" in shown
    assert "Source: Timeloop" in shown
    (folder / "flow.yaml").write_text("- {at: RF, tile: {P: 1}}\n")
    assert main(["show", "flow.yaml"]) == 0
    assert "RF.tile.P=1" in capsys.readouterr().out


def test_constraints_and_dataflows_of_a_command_all_hold(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "flow.yaml").write_text("- {at: PE, axis: X, max_dims: 1}\n")
    options = ["--dataflow", "kc-p", "--constraint", "flow.yaml", "--constraint", "even=true"]
    assert main(["map", "net.yaml", "simple", "--json", "-", *options]) == 0
    for layer in json.loads(capsys.readouterr().out)["layers"]:
        assert layer["proof"]["space"].endswith(
            "Only mappings in which PE unrolls only I&W not sliding, W&O; PE.X unrolls at most 1 "
            "dimension; GLB stores all its tensors at one point; RF stores all its tensors at one "
            "point."
        )
        nodes = [node for node in layer["mapping"] if "spatial" in node]
        assert {node["spatial"] for node in nodes} <= {"K", "C", "N"}


def test_show_tells_layers_levels_and_sources(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["show", "net.yaml"]) == 0
    shown = capsys.readouterr().out
    assert "O[M,N] += I[M,K] * W[K,N]" in shown
    assert "Source: A paper" in shown
    (folder / "machine.yaml").write_text(
        "name: m\n"
        "levels:\n"
        "  - {memory: DRAM, word: 16 bits, energy: {read: 1, write: 1}}\n"
        "  - {compute: MAC, energy: 1}\n"
    )
    assert main(["show", "machine.yaml"]) == 0
    assert "m: DRAM > MAC" in capsys.readouterr().out
    for name in ("resnet50", *preset_names()):
        assert main(["show", name]) == 0
        shown = capsys.readouterr().out
        assert f"{name}: " in shown
        assert "Source: " in shown
        assert "Source: not given" not in shown


@pytest.mark.long
def test_map_writes_what_the_api_returns(
    folder: Path, mapped: tw.NetworkResult, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["--json", "out.json", "-o", "out.yaml", "--report", "out.html"]
    assert main(["map", "net.yaml", "simple", *words]) == 0
    written = json.loads((folder / "out.json").read_text())
    assert timeless(written) == timeless(json.loads(mapped.to_json()))
    machine = tw.load_architecture("simple")
    for found in mapped.layers:
        read = load_mapping(folder / "out.yaml", found.layer, machine)
        again = tw.evaluate(found.layer, machine, read)
        assert again.energy_pj == found.evaluation.energy_pj
    assert "<html" in (folder / "out.html").read_text()
    output, error = capsys.readouterr()
    for text in ("net on simple", "total", "2 of 2 layers proven optimal", "Space: "):
        assert text in output
    # a search that takes long tells of it in between
    lines = [line for line in error.splitlines() if line.startswith("[")]
    done = [line.split("] ")[1].split(":")[0] for line in lines]
    assert sorted(done) == ["a", "b"]


def test_json_on_standard_output_stands_alone(
    folder: Path, mapped: tw.NetworkResult, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["map", "net.yaml", "simple", "--json", "-"]) == 0
    assert timeless(json.loads(capsys.readouterr().out)) == timeless(json.loads(mapped.to_json()))
    assert {path.name for path in folder.iterdir()} == {"net.yaml"}


def test_one_layer_is_mapped_alone_and_its_nest_is_shown(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["map", "net.yaml", "simple", "--layer", "b", "--objective", "latency"]) == 0
    output = capsys.readouterr().out
    assert "DRAM stores I, W, O" in output
    assert "fewer cycles" in output


def test_evaluate_and_simulate_say_the_same(
    folder: Path, mapped: tw.NetworkResult, capsys: pytest.CaptureFixture[str]
) -> None:
    nodes = mapped.to_dict()["layers"][0]["mapping"]
    (folder / "mapping.json").write_text(json.dumps({"mapping": nodes}))
    shown = []
    for command in ("evaluate", "simulate"):
        words = [command, "net.yaml", "simple", "mapping.json", "--layer", "a"]
        assert main([*words, "--json", "-"]) == 0
        data = json.loads(capsys.readouterr().out)
        assert main([*words, "--json", "out.json"]) == 0
        assert json.loads((folder / "out.json").read_text()) == data
        shown.append((data, capsys.readouterr().out))
    assert shown[0] == shown[1]
    assert shown[0][0] == json.loads(json.dumps(mapped.layers[0].evaluation.to_dict()))
    assert "MAC computes" in shown[0][1]


def test_an_interrupted_map_writes_the_best_so_far(
    folder: Path,
    mapped: tw.NetworkResult,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    first, second = mapped.layers
    proof = replace(first.proof, optimal=False, lower_bound=0.5 * first.proof.value, gap=0.5)
    stopped = replace(
        mapped,
        layers=(replace(first, proof=proof),),
        unmapped=(second.layer,),
        interrupted=True,
    )
    monkeypatch.setattr(tilewright, "map", lambda *_, **__: stopped)
    words = ["--json", "out.json", "-o", "out.yaml", "--report", "out.html"]
    assert main(["map", "net.yaml", "simple", *words]) == 130
    written = json.loads((folder / "out.json").read_text())
    assert written["interrupted"]
    assert written["unmapped"] == ["b"]
    assert written["layers"][0]["proof"]["gap"] == 0.5
    assert not written["layers"][0]["proof"]["optimal"]
    assert (folder / "out.yaml").is_file()
    assert (folder / "out.html").is_file()
    output, error = capsys.readouterr()
    assert "0 of 2 layers proven optimal: the search was interrupted" in output
    assert error == "interrupted: these are the best mappings so far\n"


def test_a_time_limit_that_leaves_layers_unmapped_ends_with_status_3(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["map", "net.yaml", "simple", "--time-limit", "1e-9", "--json", "out.json"]) == 3
    assert json.loads((folder / "out.json").read_text())["unmapped"] == ["a", "b"]
    assert "before it had any mapping of a, b" in capsys.readouterr().err


def test_a_second_ctrl_c_ends_with_status_130(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(tilewright, "map", interrupted)
    assert main(["map", "net.yaml", "simple", "--json", "out.json"]) == 130
    assert not (folder / "out.json").exists()


def test_a_fault_of_the_program_ends_with_status_1(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def faulty(*_: object, **__: object) -> None:
        raise ZeroDivisionError("division by zero")

    monkeypatch.setattr(tilewright, "map", faulty)
    monkeypatch.delenv("TILEWRIGHT_TRACEBACK", raising=False)
    assert main(["map", "net.yaml", "simple"]) == 1
    error = capsys.readouterr().err
    assert error.startswith("internal error: ZeroDivisionError: division by zero; please report")
    assert len(error.splitlines()) == 1
    monkeypatch.setenv("TILEWRIGHT_TRACEBACK", "1")
    with pytest.raises(ZeroDivisionError):
        main(["map", "net.yaml", "simple"])


@pytest.fixture
def quick(mapped: tw.NetworkResult, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tilewright, "map", lambda *_, **__: mapped)


@pytest.mark.usefixtures("quick")
def test_a_file_is_replaced_whole_or_not_at_all(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "out.json").write_text("old")

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", full)
    assert main(["map", "net.yaml", "simple", "--json", "out.json"]) == 2
    assert "out.json: cannot be written: No space left on device" in capsys.readouterr().err
    assert (folder / "out.json").read_text() == "old"
    assert {path.name for path in folder.iterdir()} == {"net.yaml", "out.json"}


@pytest.mark.usefixtures("quick")
@pytest.mark.skipif(os.name != "posix", reason="permissions and links of POSIX")
def test_a_replaced_file_keeps_its_place_and_permissions(folder: Path) -> None:
    (folder / "real.json").write_text("old")
    (folder / "real.json").chmod(0o640)
    (folder / "link.json").symlink_to("real.json")
    assert main(["map", "net.yaml", "simple", "--json", "link.json"]) == 0
    assert (folder / "link.json").is_symlink()
    assert stat.S_IMODE((folder / "real.json").stat().st_mode) == 0o640
    assert json.loads((folder / "real.json").read_text())["network"] == "net"


@pytest.mark.usefixtures("quick")
@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
def test_what_is_not_a_file_is_written_to_and_not_replaced(folder: Path) -> None:
    assert main(["map", "net.yaml", "simple", "--json", os.devnull]) == 0
    assert stat.S_ISCHR(os.stat(os.devnull).st_mode)


@pytest.mark.skipif(os.name != "posix", reason="needs pipes of POSIX")
def test_a_reader_that_goes_away_is_no_error() -> None:
    reading, writing = os.pipe()
    os.close(reading)
    shown = process("list", stdout=writing)
    os.close(writing)
    assert shown.returncode == 141
    assert shown.stderr == b""


def test_what_ships_is_listed_from_rows_that_are_up_to_date() -> None:
    from tilewright.cli.output.listing import READY, prepared

    assert READY.read_text(encoding="utf-8") == prepared()


def test_rows_of_other_files_are_read_from_them(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from tilewright.cli.output import listing

    assert main(["list", "styles"]) == 0
    shown = capsys.readouterr().out
    monkeypatch.setattr(listing, "digest", lambda kind: "other")
    monkeypatch.setattr(listing, "rows_of", lambda kind: [("new", "row")])
    assert main(["list", "styles"]) == 0
    assert "kc-p" in shown
    assert capsys.readouterr().out.split()[-2:] == ["new", "row"]


def test_a_dash_reads_the_standard_input(folder: Path) -> None:
    command = [sys.executable, "-m", "tilewright", "show"]
    env = os.environ | {"PYTHONPATH": str(Path(tw.__file__).parents[1])}
    named = subprocess.run([*command, "net.yaml"], env=env, capture_output=True, check=True)
    given = (folder / "net.yaml").read_bytes()
    read = subprocess.run([*command, "-"], env=env, input=given, capture_output=True, check=True)
    assert read.stdout == named.stdout
    wrong = subprocess.run(
        [*command, "-"], env=env, input=b"layers: 3", capture_output=True, check=False
    )
    assert wrong.returncode == 2
    assert wrong.stderr.startswith(b"error: standard input:1: missing key")


def test_only_one_argument_is_the_standard_input(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["evaluate", "-", "-", "kc-p"]) == 2
    assert "only one argument can be '-'" in capsys.readouterr().err


def test_all_layers_are_evaluated_with_what_map_wrote(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["map", "net.yaml", "simple", "-o", "out.yaml", "--json", "map.json"]) == 0
    assert main(["evaluate", "net.yaml", "simple", "out.yaml", "--json", "-"]) == 0
    found = json.loads(capsys.readouterr().out.partition("\n{")[2].join(("{", "")))
    wanted = json.loads((folder / "map.json").read_text())
    assert found["total"]["energy_pj"] == pytest.approx(wanted["total"]["energy_pj"])
    assert [x["layer"] for x in found["layers"]] == ["a", "b"]
    assert main(["evaluate", "net.yaml", "simple", "out.yaml", "--layer", "b"]) == 0


def test_help_is_never_cut_off(capsys: pytest.CaptureFixture[str]) -> None:
    from tilewright.cli.help import MODULES

    assert main(["--help"]) == 0
    shown = capsys.readouterr().out
    assert "..." not in shown.replace("COMMAND ...", "")
    assert all(f"  {name} " in shown for name in MODULES)


def test_the_table_of_mappings_has_the_columns_that_it_names(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["map", "net.yaml", "simple"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[2].split("   ")[0] == " layer"
    assert lines[2].split()[-4:] == ["bound", "by", "gap", "proven"]
    assert any(line.startswith(" total") for line in lines)
    assert not lines[-2].startswith(" ") and "proven optimal" in " ".join(lines[-3:]).lower()


def test_the_help_knows_the_module_of_every_command() -> None:
    from tilewright.cli import help as listed

    folder = Path(tw.__file__).parent / "cli" / "commands"
    named = {
        name: path.stem
        for path in folder.glob("*.py")
        for name in re.findall(r"^def (\w+)_command\(", path.read_text(), re.MULTILINE)
    }
    # the command line looks for a function by its command's name
    assert named == {name.replace("-", "_"): module for name, module in listed.MODULES.items()}


def test_mappings_of_another_machine_are_noted(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = str(tmp_path / "mappings.yaml")
    assert main(["map", "bert_base", "simple", "--tiles", "divisors", "-o", file]) == 0
    capsys.readouterr()
    assert main(["evaluate", "bert_base", "simple", file]) == 0
    assert "note:" not in capsys.readouterr().err
    other = tmp_path / "other.yaml"
    text = dump_architecture(tw.load_architecture("simple"))
    other.write_text(text.replace("name: simple", "name: own", 1))
    assert main(["evaluate", "bert_base", str(other), file]) == 0
    assert "were found for 'simple', not for 'own'" in capsys.readouterr().err

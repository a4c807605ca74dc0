"""Solved layers: found again when everything that matters is the same, and only then."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import fields, replace
from pathlib import Path

import numpy as np
import pytest

import tilewright as tw
from tilewright.architecture.machine import Array, Compute, Constraint, Memory
from tilewright.cli import main
from tilewright.mapper import key as key_module
from tilewright.mapper import network as network_module
from tilewright.mapper.cache import Cache
from tilewright.mapper.key import solution_key
from tilewright.mapper.progress import Progress
from tilewright.mapper.solve import Found, Search
from tilewright.workload.layer import Term

LAYER = tw.matmul(name="a", M=8, N=4, K=6)
WINDOW = tw.conv1d(name="w", K=4, C=2, P=6, R=3)
NETWORK = tw.Network("net", (LAYER, replace(LAYER, name="b", repeat=3), WINDOW))
MACHINE = tw.load_architecture("simple")


class Recorder(Progress):
    """Remembers what was searched and what was not."""

    def __init__(self) -> None:
        self.searched: list[str] = []
        self.found: list[str] = []
        self.reasons: list[str] = []

    def started(self, layer: tw.Layer) -> None:
        self.searched.append(layer.name)

    def recalled(self, layer: tw.Layer, best: float) -> None:
        self.found.append(layer.name)

    def unkept(self, reason: str) -> None:
        self.reasons.append(reason)


def mapped(workload: object = NETWORK, **options: object) -> tuple[tw.NetworkResult, Recorder]:
    recorder = Recorder()
    usual = {"architecture": MACHINE, "progress": recorder}
    return tw.map(workload, **usual | options), recorder


def files(directory: Path) -> list[Path]:
    return sorted(path for path in directory.rglob("*") if path.is_file())


def untimed(result: tw.NetworkResult) -> tw.NetworkResult:
    """Leave out how long things took, and when."""
    layers = tuple(
        replace(each, proof=replace(each.proof, seconds=0.0, search_seconds=None))
        for each in result.layers
    )
    return replace(result, layers=layers, seconds=0.0)


def key(
    layer: tw.Layer = WINDOW,
    machine: tw.Architecture = MACHINE,
    objective: str = "energy",
    **options: object,
) -> str:
    return solution_key(layer, machine, objective, options)


def with_tensors(**changes: object) -> tw.Layer:
    return replace(WINDOW, tensors=tuple(replace(t, **changes) for t in WINDOW.tensors))


def with_level(kind: type, **changes: object) -> tw.Architecture:
    """The machine with a change of one of its levels: of the last memory, array or compute unit."""
    last = [level for level in MACHINE.levels if isinstance(level, kind)][-1]
    levels = (replace(x, **changes) if x is last else x for x in MACHINE.levels)
    return replace(MACHINE, levels=tuple(levels))


# --- keys ----------------------------------------------------------------------------------------


LAYERS = {
    "bound": replace(WINDOW, bounds=WINDOW.bounds | {"P": 7}),
    "order of the dimensions": replace(WINDOW, bounds=dict(reversed(WINDOW.bounds.items()))),
    "stride": tw.conv1d(name="w", K=4, C=2, P=6, R=3, stride=2),
    "dilation": tw.conv1d(name="w", K=4, C=2, P=6, R=3, dilation=2),
    "bits": with_tensors(bits=8),
    "other bits": with_tensors(bits=4),
    "density": with_tensors(density=0.5),
    "role": with_tensors(role="X"),
    "name of a tensor": with_tensors(name="X"),
    "expressions": with_tensors(expressions=((Term(1, "P"),),)),
    "operation": replace(WINDOW, operation="max"),
}
MACHINES = {
    "capacity": with_level(Memory, capacity_bits=1024),
    "no capacity": with_level(Memory, capacity_bits=None),
    "partition": with_level(Memory, tensor_bits={"I": 64, "W": 64, "O": 64}),
    "order of a partition": with_level(Memory, tensor_bits={"O": 64, "W": 64, "I": 64}),
    "word": with_level(Memory, word_bits=8),
    "read energy": with_level(Memory, read_energy=1.5),
    "write energy": with_level(Memory, write_energy=1.5),
    "read bandwidth": with_level(Memory, read_bandwidth=2.5),
    "write bandwidth": with_level(Memory, write_bandwidth=2.5),
    "shared bandwidth": with_level(Memory, shared_bandwidth=2.5),
    "buffering": with_level(Memory, buffering=2),
    "banks": with_level(Memory, banks=3),
    "block": with_level(Memory, block_bytes=48),
    "keep": with_level(Memory, keep=frozenset("IW")),
    "must keep": with_level(Memory, must_keep=frozenset("I")),
    "leakage": with_level(Memory, leakage=0.5),
    "area of a memory": with_level(Memory, area=0.5),
    "name of a memory": with_level(Memory, name="REG"),
    "size of the array": with_level(Array, axes={"X": 16, "Y": 8}),
    "order of the axes": with_level(Array, axes={"Y": 16, "X": 16}),
    "multicast": with_level(Array, multicast=False),
    "reduction": with_level(Array, reduction=False),
    "forwarding": with_level(Array, forwarding=True),
    "hop energy": with_level(Array, hop_energy=0.5),
    "bandwidth of the array": with_level(Array, bandwidth=3.0),
    "name of the array": with_level(Array, name="Q"),
    "energy of an operation": with_level(Compute, energy=3.5),
    "cycles of an operation": with_level(Compute, cycles=2.0),
    "leakage of a unit": with_level(Compute, leakage=0.5),
    "area of a unit": with_level(Compute, area=0.5),
    "gating": with_level(Compute, gated=True),
    "name of the unit": with_level(Compute, name="ALU"),
    "clock": replace(MACHINE, clock_hz=1.5e9),
    "constraint": replace(MACHINE, constraints=(Constraint("PE", "X", frozenset("KC")),)),
    "another constraint": replace(MACHINE, constraints=(Constraint("PE", "Y", frozenset("KC")),)),
    "a level less": replace(MACHINE, levels=(MACHINE.levels[0], *MACHINE.levels[2:])),
}


@pytest.mark.parametrize("layer", LAYERS.values(), ids=LAYERS)
def test_what_is_computed_is_part_of_the_key(layer: tw.Layer) -> None:
    assert key(layer) != key()


@pytest.mark.parametrize("machine", MACHINES.values(), ids=MACHINES)
def test_what_computes_it_is_part_of_the_key(machine: tw.Architecture) -> None:
    assert key(machine=machine) != key()


@pytest.mark.parametrize("kind", [Memory, Array, Compute])
def test_every_property_of_a_level_is_tried(kind: type) -> None:
    tried = set()
    for machine in MACHINES.values():
        for old, new in zip(MACHINE.levels, machine.levels, strict=False):
            if isinstance(new, kind) and isinstance(old, kind):
                names = [field.name for field in fields(kind)]
                tried |= {name for name in names if getattr(old, name) != getattr(new, name)}
    assert tried >= {field.name for field in fields(kind)}


def test_all_keys_differ() -> None:
    different = {key(layer) for layer in LAYERS.values()}
    different |= {key(machine=machine) for machine in MACHINES.values()}
    assert len(different) == len(LAYERS) + len(MACHINES)


def test_the_objective_is_part_of_the_key() -> None:
    assert len({key(objective=name) for name in ("energy", "latency", "edp")}) == 3


def test_options_are_part_of_the_key() -> None:
    values: list[object] = [None, True, 1, 1.0, "1", (), (1,), {"K": 1}, {"K": 2}, {"C": 1}]
    values += [Constraint("PE", None, frozenset("K")), Constraint("PE", None, frozenset("C"))]
    different = {key(tiles=value) for value in values}
    different |= {key(), key(other=1), key(tiles=1, other=1)}
    assert len(different) == len(values) + 3
    assert key(tiles={"K"}, other=1) == key(other=1, tiles=frozenset("K"))
    with pytest.raises(TypeError, match="function cannot be part of a key"):
        key(tiles=key)


def test_the_code_and_the_version_are_part_of_the_key(monkeypatch: pytest.MonkeyPatch) -> None:
    old = key()
    for part in range(len(key_module.version())):
        other = list(key_module.version())
        other[part] += "x"
        with monkeypatch.context() as patch:
            patch.setattr(key_module, "version", lambda other=other: tuple(other))
            assert key() != old
    assert key() == old


@pytest.mark.parametrize("folder", key_module.FOLDERS)
def test_a_change_of_any_source_is_another_version(
    folder: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for each in key_module.FOLDERS:
        (tmp_path / each).mkdir()
        (tmp_path / each / "code.py").write_text("x = 1\n")
    monkeypatch.setattr(key_module, "PACKAGE", tmp_path)
    digest = key_module.source_digest.__wrapped__
    monkeypatch.setattr(key_module, "source_digest", digest)
    old = key_module.version.__wrapped__()
    (tmp_path / folder / "code.py").write_text("x = 2\n")
    assert key_module.version.__wrapped__() != old


def test_names_that_nothing_depends_on_are_no_part_of_the_key() -> None:
    assert key(replace(WINDOW, name="other", repeat=7)) == key()
    assert key(machine=replace(MACHINE, name="other", source="A paper")) == key()


def test_numbers_of_numpy_are_numbers() -> None:
    bounds = {name: np.int64(bound) for name, bound in WINDOW.bounds.items()}
    assert key(replace(WINDOW, bounds=bounds)) == key()
    energy = np.float64(MACHINE.memories[-1].read_energy)
    assert key(machine=with_level(Memory, read_energy=energy)) == key()


# --- results -------------------------------------------------------------------------------------


@pytest.mark.parametrize("objective", ["energy", "latency", "edp"])
def test_what_is_found_equals_what_was_searched(objective: str) -> None:
    searched, first = mapped(objective=objective)
    found, second = mapped(objective=objective)
    assert (sorted(first.searched), first.found) == (["a", "w"], [])
    assert (second.searched, sorted(second.found)) == ([], ["a", "w"])
    assert untimed(found) == untimed(searched)
    assert not any(each.proof.cached for each in searched.layers)
    for old, new in zip(searched.layers, found.layers, strict=True):
        assert new.proof.cached
        assert new.proof.optimal
        assert new.proof.search_seconds == old.proof.seconds
        assert new.to_dict()["proof"]["search_seconds"] == old.to_dict()["proof"]["search_seconds"]
    assert found.optimal
    assert "cache" not in searched.statement()
    assert "; 3 of 3 layers by earlier searches, whose results were in the cache." in str(found)
    assert list(found.to_frame()["cached"]) == [True] * 3


def test_what_is_found_shows_its_search_in_the_report() -> None:
    mapped(LAYER)
    found, _ = mapped(LAYER)
    from tilewright.report import html

    assert "; by an earlier search, whose result was in the cache." in found.statement()
    page = html(found)
    assert "earlier; from the cache in" in page
    assert "by an earlier search, whose result was in the cache" in page


def test_other_names_find_the_same() -> None:
    mapped(LAYER)
    machine = replace(MACHINE, name="other")
    found, recorder = mapped(replace(LAYER, name="other"), architecture=machine)
    assert recorder.found == ["other"]
    assert found.layers[0].layer.name == "other"
    assert found.layers[0].evaluation.architecture.name == "other"


def test_a_network_that_is_known_in_part_searches_the_rest() -> None:
    mapped(LAYER)
    result, recorder = mapped()
    assert (recorder.searched, recorder.found) == (["w"], ["a"])
    assert [each.proof.cached for each in result.layers] == [True, True, False]
    assert "2 of 3 layers by earlier searches" in result.statement()


def test_a_known_layer_takes_no_share_of_the_time(monkeypatch: pytest.MonkeyPatch) -> None:
    mapped(LAYER)
    budgets = []

    class Watched(network_module.Budget):
        def take(self) -> Callable[[], bool]:
            budgets.append(self.waiting)
            return super().take()

    monkeypatch.setattr(network_module, "Budget", Watched)
    mapped(time_limit=60)
    assert budgets == [1]
    found, _ = mapped(time_limit=1e-9)
    assert found.optimal


def test_without_a_cache_nothing_is_found_and_nothing_is_kept(
    cache_directory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mapped(LAYER, cache=False)
    assert not cache_directory.exists()
    mapped(LAYER)
    before = files(cache_directory)
    assert len(before) == 1
    _, recorder = mapped(LAYER, cache=False)
    assert recorder.searched == ["a"]
    assert files(cache_directory) == before
    monkeypatch.setenv("TILEWRIGHT_CACHE", "off")
    _, recorder = mapped(LAYER)
    assert recorder.searched == ["a"]


def test_a_directory_may_be_given(tmp_path: Path, cache_directory: Path) -> None:
    for own in (tmp_path / "own", str(tmp_path / "two" / "levels")):
        assert mapped(LAYER, cache=own)[1].searched == ["a"]
        assert mapped(LAYER, cache=own)[1].found == ["a"]
        assert len(files(Path(own))) == 1
    assert not cache_directory.exists()


def test_a_cache_that_cannot_be_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    for wrong, says in ((None, "nothing"), (3, "3"), ("", "''"), (tmp_path / "file", "is no dir")):
        with pytest.raises(tw.InputError, match=f"cache: .*{says}") as error:
            mapped(LAYER, cache=wrong)
        assert "the path of a directory" in str(error.value)


def test_unfinished_searches_are_not_kept(
    cache_directory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Halfway(Search):
        def solve(self, *_: object) -> Found:
            found = super().solve()
            return replace(found, bound=found.value / 2, finished=False)

    with monkeypatch.context() as patch:
        patch.setattr(network_module, "Search", Halfway)
        assert not mapped(LAYER)[0].optimal
    assert files(cache_directory) == []
    result, recorder = mapped(LAYER)
    assert recorder.searched == ["a"]
    assert result.optimal


def test_what_is_not_proven_where_neighbours_forward_is_not_kept(cache_directory: Path) -> None:
    for _ in range(2):
        result, recorder = mapped(LAYER, architecture=with_level(Array, forwarding=True))
        assert recorder.searched == ["a"]
        assert not result.optimal
    assert files(cache_directory) == []


def test_what_the_model_does_not_confirm_is_not_kept(
    cache_directory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Wrong(Search):
        def solve(self, *_: object) -> Found:
            found = super().solve()
            return replace(found, value=found.value * 1.01)

    monkeypatch.setattr(network_module, "Search", Wrong)
    with pytest.raises(RuntimeError, match="internal error"):
        mapped(LAYER)
    assert files(cache_directory) == []


def change(data: dict[str, object], **changes: object) -> bytes:
    return json.dumps(data | changes).encode()


def other_mapping(data: dict[str, object]) -> bytes:
    """A mapping that is valid, but worth something else."""
    loops = [{"dimension": dimension, "tile": 1} for dimension in LAYER.bounds]
    return change(data, mapping={"nodes": [{"memory": "DRAM", "tensors": list("IWO")}, *loops]})


@pytest.mark.parametrize(
    "entry",
    [
        lambda data: b"",
        lambda data: b"{",
        lambda data: b"\xff\xfe",
        lambda data: b"[" * 100_000,
        lambda data: b"null",
        lambda data: change(data, value=None),
        lambda data: change(data, value="1"),
        lambda data: change(data, value=float("nan")),
        lambda data: change(data, value=data["value"] * 1.001),
        lambda data: change(data, extra=1),
        lambda data: change(data, mapping={"nodes": []}),
        lambda data: change(data, mapping={"nodes": [{"memory": "DRAM"}]}),
        lambda data: change(data, mapping={"nodes": [{"memory": "CACHE", "tensors": ["I"]}]}),
        lambda data: change(data, mapping={"nodes": [{"dimension": "M", "tile": -5}]}),
        lambda data: change(data, mapping={"nodes": [{"dimension": "M", "tile": 10**30}]}),
        other_mapping,
    ],
)
def test_a_wrong_entry_is_searched_again_and_replaced(
    cache_directory: Path, entry: Callable[[dict[str, object]], bytes]
) -> None:
    result, _ = mapped(LAYER)
    cache, name = Cache(cache_directory), key(LAYER)
    right = cache.get(name)
    assert right is not None
    cache.put(name, entry(json.loads(right)))
    assert cache.get(name) != right
    again, recorder = mapped(LAYER)
    assert recorder.searched == ["a"]
    assert untimed(again) == untimed(result)
    assert mapped(LAYER)[1].found == ["a"]


def test_a_damaged_file_is_searched_again_and_replaced(cache_directory: Path) -> None:
    mapped(LAYER)
    (file,) = files(cache_directory)
    whole = file.read_bytes()
    file.write_bytes(whole.replace(b"value", b"VALUE"))
    assert mapped(LAYER)[1].searched == ["a"]
    assert mapped(LAYER)[1].found == ["a"]


def test_a_wrong_entry_goes_even_when_the_search_does_not_end(cache_directory: Path) -> None:
    mapped(LAYER)
    cache, name = Cache(cache_directory), key(LAYER)
    cache.put(name, b"{}")
    result, _ = mapped(LAYER, time_limit=1e-9)
    assert result.unmapped == (LAYER,)
    assert cache.get(name) is None


def test_threads_may_map_the_same_at_the_same_time() -> None:
    with ThreadPoolExecutor(4) as pool:
        results = [pool.submit(mapped) for _ in range(8)]
    assert len({repr(untimed(future.result()[0]).to_dict()) for future in results}) == 1
    assert mapped()[1].searched == []


def test_what_one_process_has_solved_another_one_finds(
    tmp_path: Path, cache_directory: Path
) -> None:
    (tmp_path / "net.yaml").write_text("{name: a, op: matmul, M: 8, N: 4, K: 6}")
    command = [sys.executable, "-m", "tilewright", "map", "net.yaml", "simple"]
    env = os.environ | {"PYTHONPATH": str(Path(tw.__file__).parents[1])}
    running = [
        subprocess.Popen(command, cwd=tmp_path, env=env, stderr=subprocess.PIPE, stdout=-3)
        for _ in range(2)
    ]
    for process in running:
        error = process.communicate()[1].decode()
        assert process.returncode == 0, error
        assert "a: " in error
    _, recorder = mapped(LAYER)
    assert recorder.found == ["a"]
    assert len(files(cache_directory)) == 1


def test_a_cache_without_room_keeps_nothing(cache_directory: Path) -> None:
    result = network_module.map_network(NETWORK, MACHINE, "energy", cache=Cache(cache_directory, 0))
    assert result.optimal
    assert files(cache_directory) == []


@pytest.mark.parametrize("blocked", ["file", "below a file", "read-only"])
def test_a_directory_that_cannot_be_written_means_no_cache(
    blocked: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("mine")
    places = {"file": "file", "below a file": "file/cache", "read-only": "locked/cache"}
    if blocked == "read-only":
        (tmp_path / "locked").mkdir(mode=0o500)
        if os.access(tmp_path / "locked", os.W_OK):
            pytest.skip("this user may write everywhere")
    monkeypatch.setenv("TILEWRIGHT_CACHE", str(tmp_path / places[blocked]))
    result, recorder = mapped()
    assert result.optimal
    assert sorted(recorder.searched) == ["a", "w"]
    (reason,) = recorder.reasons
    assert "cannot be written: " in reason
    assert (tmp_path / "file").read_text() == "mine"


# --- the command line ----------------------------------------------------------------------------


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "net.yaml").write_text("{name: a, op: matmul, M: 8, N: 4, K: 6}")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.usefixtures("folder")
def test_map_says_what_comes_from_the_cache(capsys: pytest.CaptureFixture[str]) -> None:
    told = []
    for words in ((), (), ("--no-cache",)):
        assert main(["map", "net.yaml", "simple", "--json", "-", *words]) == 0
        output, error = capsys.readouterr()
        told.append((json.loads(output)["layers"][0]["proof"], error))
    (first, one), (second, two), (third, three) = told
    assert [proof["cached"] for proof in (first, second, third)] == [False, True, False]
    assert first["search_seconds"] == second["search_seconds"] == first["seconds"]
    assert third["search_seconds"] == third["seconds"]
    assert two == one.replace("proven optimal\n", "proven optimal, from the cache\n")
    assert three == one


@pytest.mark.usefixtures("folder")
def test_no_cache_keeps_nothing(cache_directory: Path) -> None:
    assert main(["map", "net.yaml", "simple", "--no-cache"]) == 0
    assert not cache_directory.exists()


@pytest.mark.usefixtures("folder")
def test_the_cache_is_shown_and_cleared(
    cache_directory: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def shown(*words: str) -> str:
        assert main(["cache", *words]) == 0
        return capsys.readouterr().out

    assert "entries   0\n" in shown()
    main(["map", "net.yaml", "simple"])
    capsys.readouterr()
    text = shown()
    assert f"location  {cache_directory}\n" in text
    assert "entries   1\n" in text
    assert "size      0.00 MiB of at most 256.00 MiB\n" in text
    assert shown("--clear") == f"removed 1 entry from {cache_directory}\n"
    assert shown("--clear") == f"removed 0 entries from {cache_directory}\n"
    assert "entries   0\n" in shown()
    monkeypatch.setenv("TILEWRIGHT_CACHE", "off")
    assert shown() == shown("--clear")
    assert "no cache: TILEWRIGHT_CACHE is 'off'" in shown()


@pytest.mark.usefixtures("folder")
def test_a_cache_that_cannot_be_cleared_is_one_message(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    main(["map", "net.yaml", "simple"])
    capsys.readouterr()

    def refused(*_: object, **__: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "unlink", refused)
    assert main(["cache", "--clear"]) == 2
    assert capsys.readouterr().err.endswith(": cannot be cleared: Permission denied\n")


@pytest.mark.usefixtures("folder")
def test_a_cache_that_cannot_be_written_is_one_note(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("TILEWRIGHT_CACHE", "net.yaml")
    assert main(["map", "net.yaml", "simple"]) == 0
    notes = [line for line in capsys.readouterr().err.splitlines() if "note" in line]
    assert len(notes) == 1
    assert notes[0].startswith("note: results are not kept in the cache: 'net.yaml' cannot be")

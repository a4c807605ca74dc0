"""Solved layers: found again when everything that matters is the same."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from io import StringIO
from pathlib import Path

import pytest
from rich.console import Console

import tilewright as tw
from tilewright.cli import main
from tilewright.first_use import shares
from tilewright.mapper.network import layer_search
from tilewright.mapper.network import network as network_module
from tilewright.mapper.network.cache import Cache
from tilewright.mapper.network.running import compilation, time_shares
from tilewright.mapper.network.running.bars import Bars
from tilewright.mapper.network.running.progress import Lines, Progress
from tilewright.mapper.network.running.run import Run
from tilewright.mapper.network.solution_key import solution_key
from tilewright.mapper.search.found import Found
from tilewright.mapper.search.search import Search

LAYER = tw.matmul(name="a", M=8, N=4, K=6)
WINDOW = tw.conv1d(name="w", K=4, C=2, P=6, R=3)
NETWORK = tw.Network("net", (LAYER, replace(LAYER, name="b", repeat=3), WINDOW))
DIVISORS = ("--tiles", "divisors")
MACHINE = tw.load_architecture("simple")


class Recorder(Progress):
    """Remembers what was searched and what was not."""

    def __init__(self) -> None:
        self.searched: list[str] = []
        self.found: list[str] = []
        self.reasons: list[str] = []

    def started(self, layer: tw.Layer) -> None:
        self.searched.append(layer.name)

    def recalled(self, layer: tw.Layer, best: float, bound: float, proven: bool) -> None:
        self.found.append(layer.name)

    def unkept(self, reason: str) -> None:
        self.reasons.append(reason)


def mapped(workload: object = NETWORK, **options: object) -> tuple[tw.NetworkResult, Recorder]:
    recorder = Recorder()
    usual = {"architecture": MACHINE, "progress": recorder, "tiles": "divisors"}
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


def key(layer: tw.Layer) -> str:
    return solution_key(layer, MACHINE, "energy", {})


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
    assert "Taken from the cache in 0." in str(found)
    assert list(found.to_frame()["cached"]) == [True] * 3


def test_what_is_found_shows_its_search_in_the_report() -> None:
    mapped(LAYER)
    found, _ = mapped(LAYER)
    from tilewright.report import html

    assert "Taken from the cache in 0." in found.statement()
    page = html(found)
    assert "earlier; from the cache in" in page
    assert "Taken from the cache" in page


@pytest.mark.parametrize("bars", [False, True])
def test_progress_tells_each_layer_once(bars: bool) -> None:
    told = []
    for _ in range(2):
        text = StringIO()
        console = Console(file=text, force_terminal=True, width=100)
        progress = Bars(console) if bars else Lines(console.print)
        tw.map(NETWORK, MACHINE, progress=progress, tiles="divisors")
        told.append([line for line in text.getvalue().splitlines() if "proven optimal" in line])
    assert [len(lines) for lines in told] == [2, 2]
    assert [sum("from the cache" in line for line in lines) for lines in told] == [0, 2]


def test_compilation_takes_nothing_of_a_time_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compilation, "is_compiled", lambda: False)
    monkeypatch.setattr(compilation, "compile_kernels", lambda: time.sleep(0.6))
    found = tw.map(LAYER, MACHINE, tiles="divisors", time_limit=0.5, cache=False)
    assert found.layers


def test_what_a_time_limit_leads_to_is_compiled_before(monkeypatch: pytest.MonkeyPatch) -> None:
    # else a search that its limit ends would first compile what gives it a mapping
    annealed: list[Search] = []
    monkeypatch.setattr(Search, "anneal", lambda search, *_: annealed.append(search))
    shares.compile_search()
    assert annealed


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
    assert "2 of 3 results are from the cache" in result.statement()


def test_a_known_layer_takes_no_share_of_the_time(monkeypatch: pytest.MonkeyPatch) -> None:
    mapped(LAYER)
    budgets = []

    class Watched(time_shares.Budget):
        def shares(
            self, weight: float = 1.0, first: float = 0.5
        ) -> tuple[Callable[[], bool], Callable[[], bool]]:
            budgets.append(self.waiting)
            return super().shares(weight, first)

    monkeypatch.setattr(time_shares, "Budget", Watched)
    mapped(time_limit=60)
    assert set(budgets) == {1}
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
        patch.setattr(layer_search, "Search", Halfway)
        assert not mapped(LAYER)[0].optimal
    assert files(cache_directory) == []
    result, recorder = mapped(LAYER)
    assert recorder.searched == ["a"]
    assert result.optimal


def test_what_is_proven_where_neighbours_forward_is_kept(cache_directory: Path) -> None:
    (array,) = MACHINE.arrays
    forwarding = replace(array, forwarding=True)
    levels = tuple(forwarding if level is array else level for level in MACHINE.levels)
    for searched in (["a"], []):
        # without windows the search sees all that is forwarded: nothing
        result, recorder = mapped(LAYER, architecture=replace(MACHINE, levels=levels))
        assert recorder.searched == searched
        assert result.optimal
    assert len(files(cache_directory)) == 1


def test_what_the_model_does_not_confirm_is_not_kept(
    cache_directory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Wrong(Search):
        def solve(self, *_: object) -> Found:
            found = super().solve()
            return replace(found, value=found.value * 1.01)

    monkeypatch.setattr(layer_search, "Search", Wrong)
    with pytest.raises(RuntimeError, match="internal error"):
        mapped(LAYER)
    assert files(cache_directory) == []


def change(data: dict[str, object], **changes: object) -> bytes:
    return json.dumps(data | changes).encode()


def other_mapping(data: dict[str, object]) -> bytes:
    """A mapping that is valid, but worth something else."""
    loops = [{"dimension": dimension, "tile": 1} for dimension in LAYER.bounds]
    return change(data, mapping={"nodes": [{"memory": "DRAM", "tensors": list("IWO")}, *loops]})


def other_counts(data: dict[str, object]) -> bytes:
    """Counts that cost the same: the accesses of one instance more, of no energy."""
    counts = json.loads(json.dumps(data["counts"]))
    counts["busiest"]["RF"]["W"]["peak"] += 1
    return change(data, counts=counts)


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
        lambda data: change(data, digest=""),
        lambda data: change(data, counts=None),
        other_counts,
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


@pytest.mark.long
def test_what_one_process_has_solved_another_one_finds(
    tmp_path: Path, cache_directory: Path
) -> None:
    (tmp_path / "net.yaml").write_text("{name: a, op: matmul, M: 8, N: 4, K: 6}")
    command = [
        sys.executable,
        "-m",
        "tilewright",
        "map",
        "net.yaml",
        "simple",
        "--tiles",
        "divisors",
    ]
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


@pytest.mark.long
def test_what_is_found_needs_no_compiled_kernel(tmp_path: Path) -> None:
    (tmp_path / "net.yaml").write_text("{name: a, op: matmul, M: 8, N: 4, K: 6}")
    code = (
        "import sys; from tilewright.cli import main; "
        "main(['map', 'net.yaml', 'simple', '--json', '-']); print('numba' in sys.modules)"
    )
    env = os.environ | {"PYTHONPATH": str(Path(tw.__file__).parents[1])}
    told = []
    for _ in range(2):
        shown = subprocess.run(
            [sys.executable, "-c", code], cwd=tmp_path, env=env, capture_output=True, check=True
        )
        *lines, imported = shown.stdout.decode().splitlines()
        told.append((json.loads("\n".join(lines))["layers"][0], imported))
    (searched, first), (found, second) = told
    assert (first, second) == ("True", "False")
    for each in (searched, found):
        each.pop("proof")
    assert found == searched


def test_a_cache_without_room_keeps_nothing(cache_directory: Path) -> None:
    result = network_module.map_network(
        NETWORK, MACHINE, "energy", run=Run(cache=Cache(cache_directory, 0))
    )
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
        assert main(["map", "net.yaml", "simple", *DIVISORS, "--json", "-", *words]) == 0
        output, error = capsys.readouterr()
        told.append((json.loads(output)["layers"][0]["proof"], error))
    (first, one), (second, two), (third, three) = told
    assert [proof["cached"] for proof in (first, second, third)] == [False, True, False]
    assert first["search_seconds"] == second["search_seconds"] == first["seconds"]
    assert third["search_seconds"] == third["seconds"]
    assert two == one.replace("divide\n", "divide, from the cache\n")
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
    main(["map", "net.yaml", "simple", *DIVISORS])
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
    main(["map", "net.yaml", "simple", *DIVISORS])
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


def test_results_of_all_tile_sizes_are_kept_though_not_proven(cache_directory: Path) -> None:
    layer = tw.einsum("O[P,Q] += I[P+R,Q+S] * W[R,S]", P=5, Q=3, R=3, S=3)
    machine = tw.load_architecture("eyeriss")
    first, _ = mapped(layer, architecture=machine, tiles="all")
    second, recorder = mapped(layer, architecture=machine, tiles="all")
    assert recorder.found == [layer.name]
    assert len(files(cache_directory)) == 2
    kept, proof = second.layers[0].proof, first.layers[0].proof
    assert not proof.optimal
    assert (kept.optimal, kept.value, kept.lower_bound, kept.tiles) == (
        proof.optimal,
        proof.value,
        proof.lower_bound,
        "all",
    )
    assert second.layers[0].mapping == first.layers[0].mapping
    divided, _ = mapped(layer, architecture=machine, tiles="divisors")
    assert divided.layers[0].proof.tiles != "all"

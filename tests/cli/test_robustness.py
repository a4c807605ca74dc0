"""What surrounds a command may be odd: it ends with one clear line, and nothing half written."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import tilewright as tw
from tilewright.cli import main
from tilewright.document import MAX_VALUES, load, parse
from tilewright.errors import InputError, ReaderGoneError
from tilewright.kernels.on_disk import folders, kept
from tilewright.mapper.memory_sizes.frontier import least_cost
from tilewright.mapper.network.running import progress
from tilewright.mapper.results import ticking
from tilewright.text import say

posix = pytest.mark.skipif(os.name != "posix", reason="streams and signals of POSIX")
full = pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")


def shell(words: str, **env: str) -> subprocess.CompletedProcess[str]:
    """Run a command line with redirections."""
    paths = {"PYTHONPATH": str(Path(tw.__file__).parents[1])}
    command = words.replace("tilewright", f"'{sys.executable}' -m tilewright", 1)
    return subprocess.run(
        ["/bin/sh", "-c", command], env=os.environ | paths | env, capture_output=True, text=True,
        check=False, errors="replace",
    )  # fmt: skip


def test_aliases_of_aliases_are_refused_before_they_fill_the_memory() -> None:
    bomb = ["a0: &x0 [1, 1, 1, 1, 1, 1, 1, 1, 1, 1]"]
    bomb += [f"a{i}: &x{i} [{', '.join([f'*x{i - 1}'] * 10)}]" for i in range(1, 40)]
    start = time.process_time()
    with pytest.raises(InputError, match=f"more than {MAX_VALUES:,} values"):
        parse("\n".join(bomb))
    assert time.process_time() - start < 10


@pytest.mark.long
@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("&a [*a]", "nested too deeply"),
        ("{" * 5000, "nested too deeply"),
        ('a: "\\ud800"', "half a character"),
        ('"\\ud800": a', "half a character"),
        ("a: !!bool maybe", "cannot be read|maybe"),
        ("a: !!int ''", "cannot be read|index"),
        ("a: !!python/object:os.system x", "could not determine a constructor|not valid"),
        (f"a: {'9' * 5000}", "digits|limit"),
    ],
)
def test_what_yaml_can_say_and_no_file_should_is_refused(text: str, says: str) -> None:
    with pytest.raises(InputError, match=says):
        parse(text)


def test_huge_numbers_are_described() -> None:
    document = parse(f"name: n\nlevels: 0x{'f' * 5000}")
    with pytest.raises(InputError, match="more than 60 digits"):
        raise document.error(f"found {tw.document.describe(document.data['levels'])}")


@pytest.mark.skipif(not Path("/dev/zero").exists(), reason="needs /dev/zero")
def test_a_device_without_an_end_is_not_read_to_the_end() -> None:
    with pytest.raises(InputError, match="has more than"):
        load("/dev/zero")


@posix
def test_links_that_lead_to_each_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("a").symlink_to("b")
    Path("b").symlink_to("a")
    for words in (["show", "a"], ["map", "a", "a"], ["evaluate", "alexnet", "simple", "a"]):
        assert main([*words, "--layer", "fc8"] if words[0] == "evaluate" else words) == 2
        assert "a: cannot be read: Too many levels" in capsys.readouterr().err
    assert main(["map", "alexnet", "simple", "--json", "a"]) == 2
    assert "'a' cannot be written: it is one of the links" in capsys.readouterr().err


@pytest.mark.parametrize("encoding", ["cp1252", "ascii", "utf-8"])
def test_output_in_any_encoding(encoding: str) -> None:
    shown = shell("tilewright list styles", PYTHONIOENCODING=encoding)
    assert (shown.returncode, shown.stderr) == (0, "")
    assert "kc-p" in shown.stdout


def test_names_that_the_encoding_lacks_become_numbers(tmp_path: Path) -> None:
    file = tmp_path / "net.yaml"
    file.write_text("name: ñ\nlayers: [{name: 层, op: matmul, M: 2, N: 2, K: 2}]", encoding="utf-8")
    shown = shell(f"tilewright show '{file}'", PYTHONIOENCODING="ascii")
    assert (shown.returncode, shown.stderr) == (0, "")
    assert "\\xf1: 1 layer, " in shown.stdout
    assert "\\u5c42" in shown.stdout


@posix
def test_a_closed_output_is_said_and_a_closed_error_stream_is_none() -> None:
    shown = shell("tilewright list styles >&-")
    assert shown.returncode == 2
    assert shown.stderr == "error: standard output: cannot be written: it is closed\n"
    shown = shell("tilewright list nothing 2>&-")
    assert (shown.returncode, shown.stdout) == (2, "")


@full
def test_a_full_disk_is_said_once() -> None:
    for words in ("list styles", "--help", "map --help"):
        shown = shell(f"tilewright {words} >/dev/full")
        assert shown.returncode == 2
        (line,) = shown.stderr.splitlines()
        assert line.startswith("error: ")
        assert "No space left on device" in line
    assert shell("tilewright list nothing 2>/dev/full").returncode == 2


@posix
def test_messages_that_nobody_reads_end_a_command() -> None:
    reading, writing = os.pipe()
    os.close(reading)
    with os.fdopen(writing, "w") as stream, pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "stderr", stream)
        with pytest.raises(ReaderGoneError):
            say("anything")
        patch.undo()
        os.dup2(os.open(os.devnull, os.O_WRONLY), writing)


@posix
@pytest.mark.parametrize("after", [0.06, 0.12, 0.25])
def test_ctrl_c_while_packages_are_imported(after: float, tmp_path: Path) -> None:
    # before that Python itself is not up; a file says when it is
    begun = tmp_path / "begun"
    code = (
        "import sys; sys.argv = ['tilewright', 'map', 'vgg16', 'eyeriss', '--json', 'out.json']; "
        f"from tilewright.__main__ import run; open({str(begun)!r}, 'w').close(); run()"
    )
    env = os.environ | {"PYTHONPATH": str(Path(tw.__file__).parents[1])}
    process = subprocess.Popen(
        [sys.executable, "-c", code], env=env, cwd=tmp_path, text=True,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip
    while not begun.exists():
        time.sleep(0.005)
    time.sleep(after)
    process.send_signal(signal.SIGINT)
    _, error = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "Traceback" not in error
    assert error.splitlines()[-1].startswith("interrupted")
    assert not list(tmp_path.glob(".out*"))


def test_kernels_are_kept_where_that_is_possible(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = tmp_path / "source"
    source.mkdir()
    find = folders.folder_of.__wrapped__
    assert find(str(source)) == str(source / "__pycache__")
    writable = folders.is_writable
    monkeypatch.setattr(folders, "is_writable", lambda f: "source/" not in f and writable(f))
    monkeypatch.setattr(folders, "user_folder", lambda: None)
    monkeypatch.setattr(folders, "temporary_folders", lambda: iter([str(tmp_path)]))
    folder = find(str(source))
    assert folder is not None and Path(folder).is_relative_to(tmp_path)
    if hasattr(os, "getuid"):
        # what others can write to may hold what others wrote
        Path(folder).parent.chmod(0o777)
        assert find(str(source)) is None
    monkeypatch.setattr(folders, "is_writable", lambda folder: False)
    assert find(str(source)) is None


def test_a_kernel_runs_without_any_place_to_be_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    from tilewright.kernels.kernel import stamped
    from tilewright.mapper.network.running import compilation

    monkeypatch.setattr(kept, "folder_of", lambda source: None)
    monkeypatch.setattr(compilation, "folder_of", lambda source: None)

    def twice(number: int) -> int:
        return 2 * number

    assert stamped(twice)(21) == 42
    assert not compilation.can_keep()


def test_damaged_code_on_disk_is_compiled_again(tmp_path: Path) -> None:
    from tilewright.kernels.kernel import stamped

    def thrice(number: int) -> int:
        return 3 * number

    keeping = kept.Kept(thrice, "stamp")
    Path(keeping._cache_file._index_path).write_bytes(b"\x80\x04")
    try:
        assert not keeping.is_there
        assert stamped(thrice)(2) == 6
    finally:
        for file in Path(keeping.cache_path).glob("*thrice*"):
            file.unlink()


def test_lines_tell_what_is_under_way() -> None:
    told: list[str] = []
    lines = progress.Lines(told.append)
    layers = [tw.matmul(M=m, N=2, K=2, name=f"l{m}") for m in range(1, 8)]
    lines.begin(len(layers), "energy")
    for layer in layers:
        lines.started(layer)
    lines.improved(layers[0], 200.0, 150.0)
    shown = lines.under_way()
    first = "l1: best 200, bound 150 pJ, gap 25.0% among tile sizes that divide, "
    assert shown[0].startswith(first)
    assert shown[1].startswith("l2: no mapping yet")
    assert shown[-1] == "and 3 more under way"
    lines.widened(layers[0], 200.0)
    now = "l1: best 200 pJ among tile sizes that divide; now all tile sizes, "
    assert lines.under_way()[0].startswith(now)
    lines.done(layers[0], 200.0, 200.0, True)
    assert lines.under_way()[0].startswith("l2: ")
    lines.end()
    assert lines.under_way() == []


def test_work_that_takes_long_says_how_far_it_is() -> None:
    told: list[str] = []
    with ticking.every(lambda: [f"so far {len(told)}"], told.append, seconds=0.01):
        while len(told) < 2:
            time.sleep(0.005)
    assert told[:2] == ["so far 0", "so far 1"]
    with ticking.every(lambda: ["never"], told.append, seconds=60):
        pass
    assert "never" not in told


def test_a_frontier_that_is_stopped_at_once_still_has_a_point() -> None:
    layer, machine = tw.matmul(M=8, N=8, K=8), tw.load_architecture("simple")
    for over in (["GLB"], ["GLB", "RF"]):
        found = least_cost(layer, machine, over, stop=lambda: True)
        assert len(found) >= 1
        assert not found.optimal
        assert "Not complete: the time limit ended it" in found.text()
        assert json.loads(found.to_json())["interrupted"] is False


def test_a_comparison_says_what_its_proof_has_reached_in_its_time() -> None:
    layer = tw.load_network("alexnet").layers[1]
    found = tw.compare(layer, "eyeriss", strategies=["random"], seconds=0.2, time_limit=0.001)
    assert found.optimum is None or not found.optimum.proven
    assert "proven optimum:" not in found.text().lower()


@pytest.mark.parametrize("given", [None, "2"])
def test_linear_algebra_starts_no_threads_unless_it_is_told_to(given: str | None) -> None:
    program = (
        "import os, sys; from tilewright.__main__ import run; sys.argv = ['', 'list']\n"
        "try: run()\n"
        "finally: print(os.environ['OPENBLAS_NUM_THREADS'])"
    )
    environment = {k: v for k, v in os.environ.items() if k != "OPENBLAS_NUM_THREADS"}
    environment |= {"OPENBLAS_NUM_THREADS": given} if given else {}
    done = subprocess.run(
        [sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=True
    )
    assert done.stdout.splitlines()[-1] == (given or "1")

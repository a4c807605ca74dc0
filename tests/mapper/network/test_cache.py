"""The directory of the cache: shared, bounded, and never trusted to be whole."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from tilewright.mapper.network.cache import BLOCK, LIMIT, SHARDS, Cache, user_cache

KEY = "ab" * 32
WRITER = """
import sys
from pathlib import Path
from tilewright.mapper.network.cache import Cache

cache = Cache(Path(sys.argv[1]))
value = sys.argv[2].encode() * 20_000
own = [f"{int(sys.argv[2]):02x}{n:062x}" for n in range(20)]
shared = [f"ff{n:062x}" for n in range(4)]
print(flush=True)
sys.stdin.readline()
for turn in range(50):
    for key in (*own, *shared):
        cache.put(key, value)
        found = cache.get(key)
        assert found is not None, "a value was lost"
        assert len(found) == 20_000 and len(set(found)) == 1, "a value was mixed"
"""


@pytest.fixture
def cache(tmp_path: Path) -> Cache:
    return Cache(tmp_path / "cache")


def keys(count: int) -> list[str]:
    """Keys of one folder."""
    return [f"ab{n:062x}" for n in range(count)]


def age(cache: Cache, key: str, seconds: int) -> None:
    """Make a value as if it had been used some time ago."""
    stat = cache.path(key).stat()
    os.utime(cache.path(key), (stat.st_atime - seconds, stat.st_mtime - seconds))


def test_what_was_put_is_got(cache: Cache) -> None:
    assert cache.get(KEY) is None
    cache.put(KEY, b"one\ntwo")
    assert cache.get(KEY) == b"one\ntwo"
    cache.put(KEY, b"")
    assert cache.get(KEY) == b""
    cache.drop(KEY)
    cache.drop(KEY)
    assert cache.get(KEY) is None


@pytest.mark.parametrize(
    "damage",
    [
        lambda whole: b"",
        lambda whole: whole[:-1],
        lambda whole: whole + b" ",
        lambda whole: whole[:-1] + b"?",
        lambda whole: b"0" + whole[1:],
        lambda whole: whole.partition(b"\n")[2],
        lambda whole: b"\xff" * 100,
    ],
)
def test_what_is_damaged_is_no_value_and_is_replaced(
    cache: Cache, damage: Callable[[bytes], bytes]
) -> None:
    cache.put(KEY, b"value")
    cache.path(KEY).write_bytes(damage(cache.path(KEY).read_bytes()))
    assert cache.get(KEY) is None
    cache.put(KEY, b"value")
    assert cache.get(KEY) == b"value"


def test_the_value_of_another_key_is_no_value(cache: Cache) -> None:
    cache.put(KEY, b"value")
    other = KEY[:-1] + "0"
    cache.path(KEY).rename(cache.path(other))
    assert cache.get(other) is None


@pytest.mark.long
def test_two_processes_write_and_read_at_the_same_time(cache: Cache) -> None:
    writers = [
        subprocess.Popen(
            [sys.executable, "-c", WRITER, str(cache.directory), f"{number}"],
            env=os.environ | {"PYTHONPATH": str(Path(__file__).parents[3] / "src")},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        for number in (1, 2)
    ]
    for writer in writers:
        assert writer.stdout is not None
        writer.stdout.readline()
    for writer in writers:
        assert writer.stdin is not None
        writer.stdin.write(b"\n")
        writer.stdin.flush()
    for writer in writers:
        _, error = writer.communicate()
        assert writer.returncode == 0, error.decode()
    assert cache.usage().entries == 2 * 20 + 4
    assert len([path for path in cache.directory.rglob("*") if path.is_file()]) == 44


def test_the_least_recently_used_go_when_it_is_full(cache: Cache) -> None:
    small = replace(cache, limit=3 * BLOCK * SHARDS)
    first, second, third, fourth, fifth = keys(5)
    for seconds, key in ((40, first), (30, second), (20, third)):
        small.put(key, b"value")
        age(small, key, seconds)
    assert small.get(first) == b"value"
    small.put(fourth, b"value")
    assert [key for key in keys(4) if small.path(key).exists()] == [first, third, fourth]
    small.put(fifth, bytes(BLOCK))
    assert [key for key in keys(5) if small.path(key).exists()] == [fourth, fifth]


def test_it_takes_no_more_than_its_limit(cache: Cache) -> None:
    small = replace(cache, limit=2 * BLOCK * SHARDS)
    for n in range(2000):
        small.put(f"{n * 7919 % SHARDS:02x}{n:062x}", bytes(BLOCK // 2))
    assert small.limit * 0.9 < small.usage().size <= small.limit
    assert LIMIT == 256 * 2**20


def test_what_writers_left_behind_is_removed_in_time(cache: Cache) -> None:
    cache.put(KEY, b"value")
    folder = cache.path(KEY).parent
    (folder / "unfinished-old").write_bytes(b"")
    (folder / "unfinished-new").write_bytes(b"")
    os.utime(folder / "unfinished-old", (1e9, 1e9))
    cache.put(KEY, b"value")
    assert {path.name for path in folder.iterdir()} == {KEY[2:], "unfinished-new"}


def test_clearing_removes_values_and_nothing_else(cache: Cache) -> None:
    for key in (*keys(3), "cd" * 32):
        cache.put(key, b"value")
    assert cache.usage().entries == 4
    assert cache.usage().size == 4 * BLOCK
    (cache.directory / "thesis.tex").write_text("mine")
    (cache.path(KEY).parent / "notes").write_text("mine")
    assert cache.clear() == 4
    assert cache.usage().entries == cache.usage().size == 0
    assert (cache.directory / "thesis.tex").exists()
    assert (cache.path(KEY).parent / "notes").exists()
    assert Cache(cache.directory / "nowhere").clear() == 0


def test_a_place_that_cannot_be_written_is_an_error_of_putting_alone(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    blocked = Cache(tmp_path / "file")
    assert blocked.get(KEY) is None
    assert blocked.usage().entries == 0
    with pytest.raises(OSError, match=r"Not a directory|exists"):
        blocked.put(KEY, b"value")


def test_a_value_that_cannot_be_written_leaves_the_old_one(
    cache: Cache, monkeypatch: pytest.MonkeyPatch
) -> None:
    cache.put(KEY, b"old")

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", full)
    with pytest.raises(OSError, match="No space left"):
        cache.put(KEY, b"new")
    assert cache.get(KEY) == b"old"
    assert len(list(cache.path(KEY).parent.iterdir())) == 1


def test_the_environment_says_where_it_lies(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TILEWRIGHT_CACHE", str(tmp_path / "own"))
    assert user_cache() == Cache(tmp_path / "own")
    monkeypatch.setenv("TILEWRIGHT_CACHE", "off")
    assert user_cache() is None
    for unset in (True, False):
        monkeypatch.setenv("TILEWRIGHT_CACHE", "")
        if unset:
            monkeypatch.delenv("TILEWRIGHT_CACHE")
        monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
        if sys.platform.startswith("linux"):
            assert user_cache() == Cache(tmp_path / "xdg" / "tilewright")


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the rules of XDG")
def test_a_user_without_a_home_has_no_cache(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("TILEWRIGHT_CACHE", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(os.path, "expanduser", lambda path: path)
    assert user_cache() is None

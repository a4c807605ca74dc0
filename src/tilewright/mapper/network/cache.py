"""Values on disk under keys, in a directory that several processes may share and that stays small.

Every value is a file of its own, written aside and renamed into its place: whoever reads sees a
whole file or none. It begins with a checksum of its key and its value, so that what is damaged,
or was put there by something else, is no value.
"""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from time import time_ns

VARIABLE = "TILEWRIGHT_CACHE"
OFF = "off"
LIMIT = 256 * 2**20
SHARDS = 256
BLOCK = 4096  # a file takes whole blocks of the disk
FOLDER = "layers"
SHARD = re.compile(r"[0-9a-f]{2}")
ENTRY = re.compile(r"[0-9a-f]{62}")
UNFINISHED = "unfinished-"
ABANDONED = 3600 * 10**9  # nanoseconds after which nobody is still writing a file


@dataclass(frozen=True)
class Usage:
    """How much a cache holds.

    Attributes
    ----------
    entries : int
        Values.
    size : int
        Bytes that they take on the disk.
    """

    entries: int
    size: int


@dataclass(frozen=True)
class Cache:
    """Values under keys, the least recently used of which go when it is full.

    Threads and processes may read and write at the same time.

    Attributes
    ----------
    directory : Path
        Where the files lie, below ``layers``. It is created when the first value is put.
    limit : int
        Bytes that the values may take on the disk. The keys spread them evenly over 256 folders,
        and each folder holds its share of the bytes.
    """

    directory: Path
    limit: int = LIMIT

    def get(self, key: str) -> bytes | None:
        """Return the value of a key, if there is one that can be read.

        Parameters
        ----------
        key : str
            64 hexadecimal digits, as is every key here.
        """
        path = self.path(key)
        try:
            checksum, _, value = path.read_bytes().partition(b"\n")
        except OSError:
            return None
        if checksum != checksum_of(key, value):
            return None
        # how long it stays depends on when it was last used
        with suppress(OSError):
            os.utime(path)
        return value

    def put(self, key: str, value: bytes) -> None:
        """Give a key a value, in one step, and remove what is too much.

        Raises
        ------
        OSError
            When it cannot be written.
        """
        path = self.path(key)
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        handle, unfinished = tempfile.mkstemp(dir=path.parent, prefix=UNFINISHED)
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(checksum_of(key, value) + b"\n" + value)
            os.replace(unfinished, path)
        finally:
            Path(unfinished).unlink(missing_ok=True)
        self.shrink(path.parent)

    def drop(self, key: str) -> None:
        """Remove a key with its value."""
        remove(self.path(key))

    def clear(self) -> int:
        """Remove all values, and return how many there were. Other files stay.

        Raises
        ------
        OSError
            When one of them cannot be removed.
        """
        paths = [Path(entry) for shard in self.shards() for entry, _ in entries(shard)]
        for path in paths:
            path.unlink(missing_ok=True)
        return len(paths)

    def usage(self) -> Usage:
        """Return how much there is."""
        sizes = [on_disk(stat) for shard in self.shards() for _, stat in entries(shard)]
        return Usage(len(sizes), sum(sizes))

    def path(self, key: str) -> Path:
        """Return the file of a key."""
        return self.directory / FOLDER / key[:2] / key[2:]

    def shards(self) -> Iterator[Path]:
        """Yield the folders that there are."""
        with suppress(OSError):
            for folder in sorted((self.directory / FOLDER).iterdir()):
                if SHARD.fullmatch(folder.name):
                    yield folder

    def shrink(self, shard: Path) -> None:
        """Remove the least recently used values of a folder until the rest fits."""
        found = sorted((stat.st_mtime_ns, path, on_disk(stat)) for path, stat in entries(shard))
        excess = sum(size for *_, size in found) - self.limit // SHARDS
        for _, path, size in found:
            if excess <= 0:
                break
            remove(path)
            excess -= size
        for path, stat in entries(shard, re.compile(f"{UNFINISHED}.*")):
            if stat.st_mtime_ns < time_ns() - ABANDONED:
                remove(path)


def user_cache() -> Cache | None:
    """Return the cache of this user, or None when there shall be none.

    It lies in the directory that the environment variable ``TILEWRIGHT_CACHE`` names (``off`` for
    none), else in the cache directory of the platform, which respects ``XDG_CACHE_HOME``.
    """
    from platformdirs import user_cache_path

    given = os.environ.get(VARIABLE)
    if given == OFF:
        return None
    try:
        if given:
            return Cache(Path(given).expanduser())
        directory = user_cache_path("tilewright", appauthor=False)
    except RuntimeError:
        return None  # a user without a home has no such directory
    # which some versions of platformdirs do not notice
    return Cache(directory) if directory.is_absolute() else None


def checksum_of(key: str, value: bytes) -> bytes:
    """Return what the file of a value begins with."""
    return blake2b(value, digest_size=32, key=key.encode()).hexdigest().encode()


def entries(shard: Path, names: re.Pattern[str] = ENTRY) -> Iterator[tuple[Path, os.stat_result]]:
    """Yield the files of a folder whose names match; others may come and go meanwhile."""
    with suppress(OSError), os.scandir(shard) as found:
        for entry in found:
            if names.fullmatch(entry.name):
                with suppress(OSError):
                    yield Path(entry.path), entry.stat(follow_symlinks=False)


def on_disk(stat: os.stat_result) -> int:
    """Return the bytes that a file takes on the disk."""
    return -(-stat.st_size // BLOCK) * BLOCK


def remove(path: Path) -> None:
    """Remove a file if that is possible; another process may be using it, or may be quicker."""
    with suppress(OSError):
        path.unlink()

"""Where the machine code of kernels is kept between processes, wherever tilewright is installed.

It lies next to the source, else in the cache directory of the user, else in a temporary directory.
Where none of these can be written, in a container without any, it is kept in memory alone.
"""

from __future__ import annotations

import os
import pickle
import tempfile
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import cache
from hashlib import blake2b
from pathlib import Path
from typing import Any

from numba.core import config
from numba.core.caching import (
    CompileResultCacheImpl,
    FunctionCache,
    NullCache,
    UserProvidedCacheLocator,
)

PLACES_IN_MEMORY = ("/dev/shm",)  # where a container that cannot be written to often still can


class Locator(UserProvidedCacheLocator):
    """Says where the code of one function lies, without trying to write for each of them."""

    def __init__(self, function: Callable[..., object], file: str, folder: str) -> None:
        self._py_file = file
        self._lineno = function.__code__.co_firstlineno
        self._cache_path = folder

    @classmethod
    def from_function(cls, function: Callable[..., object], file: str) -> Locator | None:
        """Return where it lies, or None if nowhere."""
        folder = folder_of(os.path.dirname(os.path.abspath(file)))
        return None if folder is None else cls(function, file, folder)

    def get_source_stamp(self) -> str:
        """Return no stamp of the one file: kernels have one of all files that they are made of."""
        return ""


class Located(CompileResultCacheImpl):
    """How code is written down; Numba's own way, but for the place."""

    _locator_classes: list[Any] = [Locator]  # noqa: RUF012


class Kept(FunctionCache):
    """The code of one kernel on disk. What cannot be read or written there is compiled."""

    _impl_class = Located

    def __init__(self, function: Callable[..., object], stamp: str) -> None:
        usual: Any = super().__init__
        usual(function)
        kept = self._cache_file
        kept._source_stamp = stamp
        # read first: what older code has kept may name classes that are no longer where they were
        kept._version = f"{kept._version} {stamp}"

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """Return the code for some types, if it is there."""
        usual: Any = super().load_overload
        with suppress(OSError, EOFError, ValueError, pickle.UnpicklingError):
            return usual(sig, target_context)
        return None

    def save_overload(self, sig: Any, data: Any) -> None:
        """Write down the code for some types, if the disk takes it."""
        usual: Any = super().save_overload
        with suppress(OSError, EOFError, ValueError, pickle.UnpicklingError):
            usual(sig, data)

    @property
    def is_there(self) -> bool:
        """Whether there is code, of the source as it stands."""
        with suppress(OSError, EOFError, ValueError, pickle.UnpicklingError):
            return bool(self._cache_file._load_index())
        return False


def keeping(function: Callable[..., object], stamp: str) -> Any:
    """Return what keeps the code of a kernel, on disk if there is any that can be written."""
    can = folder_of(os.path.dirname(os.path.abspath(function.__code__.co_filename)))
    nowhere: Any = NullCache
    return nowhere() if can is None else Kept(function, stamp)


@cache
def folder_of(source: str) -> str | None:
    """Return the folder for the code of the kernels in a folder of sources, or None."""
    return next(filter(is_writable, folders(source)), None)


def folders(source: str) -> Iterator[str]:
    """Yield folders that may serve, the best one first."""
    name = f"{os.path.basename(source)}_{blake2b(source.encode(), digest_size=16).hexdigest()}"
    if given := getattr(config, "CACHE_DIR", ""):
        yield os.path.join(given, name)
    yield os.path.join(source, "__pycache__")
    if own := user_folder():
        yield os.path.join(own, name)
    for place in temporary_folders():
        if folder := private(place):
            yield os.path.join(folder, name)


def user_folder() -> str | None:
    """Return the folder of this user, who may have none."""
    from platformdirs import user_cache_path

    with suppress(RuntimeError):
        path = user_cache_path("tilewright", appauthor=False)
        # without a home directory some versions return one below the working directory
        return str(path / "kernels") if path.is_absolute() else None
    return None


def temporary_folders() -> Iterator[str]:
    """Yield where temporary files may lie."""
    with suppress(OSError):
        folder = tempfile.gettempdir()
        if not os.path.samefile(folder, os.curdir):  # the last resort of Python
            yield folder
    yield from PLACES_IN_MEMORY


def private(place: str) -> str | None:
    """Return a folder in a place that others may write to, if it belongs to this user alone."""
    folder = Path(place) / f"tilewright-{os.getuid() if hasattr(os, 'getuid') else 'kernels'}"
    with suppress(OSError):
        with suppress(FileExistsError):
            folder.mkdir(mode=0o700)
        found = folder.lstat()
        alone = not hasattr(os, "getuid") or (found.st_uid, found.st_mode & 0o077) == (
            os.getuid(),
            0,
        )
        return str(folder) if folder.is_dir() and not folder.is_symlink() and alone else None
    return None


def is_writable(folder: str) -> bool:
    """Whether files can be made in a folder, which is made as well."""
    try:
        os.makedirs(folder, exist_ok=True)
        tempfile.TemporaryFile(dir=folder).close()
    except OSError:
        return False
    return True

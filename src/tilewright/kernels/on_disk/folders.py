"""Where the machine code of kernels is kept between processes, wherever tilewright is installed.

It lies next to the source, else in the cache directory of the user, else in a temporary directory.
Where none of these can be written, in a container without any, it is kept in memory alone.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from functools import cache
from hashlib import blake2b
from pathlib import Path

PLACES_IN_MEMORY = ("/dev/shm",)  # where a container that cannot be written to often still can


@cache
def folder_of(source: str) -> str | None:
    """Return the folder for the code of the kernels in a folder of sources, or None."""
    return next(filter(is_writable, folders(source)), None)


def folders(source: str) -> Iterator[str]:
    """Yield folders that may serve, the best one first."""
    name = f"{os.path.basename(source)}_{blake2b(source.encode(), digest_size=16).hexdigest()}"
    if given := os.environ.get("NUMBA_CACHE_DIR"):
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

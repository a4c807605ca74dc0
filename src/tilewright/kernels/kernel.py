"""How kernels are compiled and kept."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from hashlib import blake2b
from pathlib import Path
from typing import Any, TypeVar, cast

from tilewright.kernels.deferred import Deferred

Kernel = TypeVar("Kernel", bound=Callable[..., object])

ROOT = Path(__file__).parents[1]
ALWAYS = tuple(  # what every kernel builds on
    Path(__file__).with_name(name) for name in ("kernel.py", "record.py", "dispatchers.py")
)
IMPORT = re.compile(
    r"^(?:from (tilewright[\w.]*) import (\([^)]*\)|.*)|import (tilewright[\w.]*))", re.MULTILINE
)
WORD = re.compile(r"\w+")
# else a function is copied into its callers if the first of them is: Numba hands that on
OWN_CODE = {"forceinline": False}


@cache
def source_digest(folder: Path) -> str:
    """Return a digest of the Python files of a folder and of all folders in it."""
    digest = blake2b(digest_size=16)
    for path in sorted(folder.rglob("*.py")):
        digest.update(path.relative_to(folder).as_posix().encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()


@cache
def read(path: Path) -> tuple[bytes, frozenset[Path]]:
    """Return a file, and the files of this package that it imports, or functions of which."""
    text = path.read_bytes()
    files = set()
    for module, names, whole in IMPORT.findall(text.decode()):
        for name in (module or whole, *(f"{module}.{name}" for name in WORD.findall(names))):
            place = os.path.join(ROOT.parent, *name.split("."))
            files |= {f"{place}.py", os.path.join(place, "__init__.py")}
    return text, frozenset(Path(file) for file in files if os.path.isfile(file))


@cache
def module_digest(path: Path) -> str:
    """Return a digest of a Python file and of all files of this package that it builds on."""
    digest = blake2b(digest_size=16)
    found, left = {path, *ALWAYS}, [path, *ALWAYS]
    while left:
        new = read(left.pop())[1] - found
        found |= new
        left += new
    for each in sorted(found):
        name = str(each).removeprefix(str(ROOT)).replace(os.sep, "/")
        digest.update(name.encode() + b"\0" + read(each)[0])
    return digest.hexdigest()


@contextmanager
def interruptible() -> Iterator[None]:
    """Raise KeyboardInterrupt, too, where Ctrl-C came while a kernel ran.

    The kernel returns then, and Python calls it a SystemError that something has been raised.
    """
    try:
        yield
    except SystemError as failure:
        cause: BaseException | None = failure
        while cause is not None:
            if isinstance(cause, KeyboardInterrupt):
                raise cause from None
            cause = cause.__cause__ or cause.__context__
        raise


def kernel(function: Kernel) -> Kernel:
    """Compile a function when it is first called, and keep the machine code on disk.

    Numba keeps code until the file of the function itself changes. But the code of a kernel
    contains that of the kernels that it calls, from other files: here it is kept until any file
    changes that its own imports, lest an old kernel counts on unnoticed.
    """
    return stamped(function)


def part(function: Kernel) -> Kernel:
    """Compile a function that only kernels call: without the way in from Python, in less time."""
    return pasted(function)


def inlined(function: Kernel) -> Kernel:
    """Compile a small part into its callers: what it takes, such as tables, is not copied then."""
    return pasted(function, forceinline=True)


def leaf(function: Kernel) -> Kernel:
    """Compile a part that makes no arrays into its callers, without counts of references.

    The counts are atomic, and a call copies every table that it passes: both take longer than most
    of what such a part does. It calls leaves only.
    """
    return pasted(function, forceinline=True, _nrt=False)


def called_leaf(function: Kernel) -> Kernel:
    """Compile a leaf that its callers call: one that takes little, does much, and is long."""
    return pasted(function, _nrt=False)


def leaf_kernel(function: Kernel) -> Kernel:
    """Compile a kernel that makes and returns no arrays, see `leaf`."""
    return stamped(function, _nrt=False)


def pasted(function: Kernel, **options: bool) -> Kernel:
    """Compile a function of which the kernels that call it have copies; none is kept on disk."""

    def build() -> Any:
        from tilewright.kernels import dispatchers

        return dispatchers.pasted(function, OWN_CODE | options)

    return cast("Kernel", Deferred(function, build))


def stamped(function: Kernel, **options: bool) -> Kernel:
    """Compile a function, with the digest of what it is made of as the stamp of what is kept."""

    def build() -> Any:
        from tilewright.kernels import dispatchers

        stamp = module_digest(Path(function.__code__.co_filename))
        return dispatchers.stamped(function, OWN_CODE | options, stamp)

    return cast("Kernel", Deferred(function, build))

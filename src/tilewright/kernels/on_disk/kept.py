"""The machine code of kernels, kept between processes."""

from __future__ import annotations

import os
import pickle
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from numba.core.caching import (
    CompileResultCacheImpl,
    FunctionCache,
    NullCache,
    UserProvidedCacheLocator,
)

from tilewright.kernels.on_disk.folders import folder_of
from tilewright.kernels.on_disk.loaded import rebuilt, reduced


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
    """Where code is written down, and how."""

    _locator_classes: list[Any] = [Locator]  # noqa: RUF012

    def reduce(self, result: Any) -> Any:
        """Return what is written down."""
        return reduced(result)

    def rebuild(self, target_context: Any, payload: Any) -> Any:
        """Return the code as it was compiled."""
        return rebuilt(target_context, payload)


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
        # Numba's own method prepares for compiling first, which is not needed, see `loaded`
        usual: Any = super()._load_overload
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

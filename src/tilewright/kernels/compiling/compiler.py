"""The steps that compile kernels and parts of kernels."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from numba.core.compiler import Compiler, Flags

from tilewright.kernels.announcement import announce
from tilewright.kernels.compiling.known_calls import known_calls
from tilewright.kernels.compiling.library import Library, Part
from tilewright.kernels.time_limits import timed


@contextmanager
def no_collection() -> Iterator[None]:
    """Look for no garbage meanwhile."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


class KernelFlags(Flags):
    """Numba's flags, faster to look up: it does so for every call and operator of a kernel."""

    __slots__ = ()
    HASH = hash(Flags())  # does not depend on what is set

    def __hash__(self) -> int:
        """Return that of any flags."""
        return self.HASH

    def __eq__(self, other: object) -> bool:
        """Whether the same is set, or what is not set is the same by default."""
        usual: Any = super().__eq__
        return isinstance(other, Flags) and (self._values == other._values or usual(other))


class KernelCompiler(Compiler):
    """Numba's steps, with a library and look-ups that take less time.

    Numba makes millions of objects and keeps most of them: to look through them for garbage again
    and again took a sixth of the time.
    """

    library: Any = Library

    def compile_extra(self, func: Callable[..., object]) -> Any:
        """Compile a function."""
        usual: Any = super().compile_extra
        flags: Any = KernelFlags
        announce()
        self.state.flags = flags(self.state.flags)
        self.state.library = self.library(self.state.targetctx.codegen(), func.__qualname__)
        self.state.library.enable_object_caching()
        with timed(), no_collection(), known_calls():
            return usual(func)


class PartCompiler(KernelCompiler):
    """The same steps, into a `Part`."""

    library = Part

"""The compilers of kernels and of parts of kernels."""

from __future__ import annotations

from collections.abc import Callable
from inspect import iscode
from typing import Any

from numba.core.compiler import Compiler, Flags

from tilewright.kernels.announcement import announce
from tilewright.kernels.compiling.library import Library, Part
from tilewright.kernels.compiling.meanwhile import quicker
from tilewright.kernels.compiling.steps import steps_of_kernels
from tilewright.kernels.time_limits import timed


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
    """Numba's compiler with fewer steps, and a library and look-ups that take less time."""

    library: Any = Library

    def define_pipelines(self) -> list[Any]:
        """Return the steps: all of Numba's for a function with a comprehension or a closure."""
        usual: Any = super().define_pipelines
        inside = self.state.func_id.code.co_consts
        return usual() if any(map(iscode, inside)) else [steps_of_kernels()]

    def compile_extra(self, func: Callable[..., object]) -> Any:
        """Compile a function."""
        usual: Any = super().compile_extra
        flags: Any = KernelFlags
        announce()
        self.state.flags = flags(self.state.flags)
        self.state.library = self.library(self.state.targetctx.codegen(), func.__qualname__)
        self.state.library.enable_object_caching()
        with timed(), quicker():
            return usual(func)


class PartCompiler(KernelCompiler):
    """The same steps, into a `Part`."""

    library = Part

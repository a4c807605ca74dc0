"""How kernels are compiled, and parts of kernels that exist as copies in their callers alone."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import Compiler, Flags

from tilewright.kernels.announcement import announce


class Part(JITCodeLibrary):
    """The code of a part as it goes into its callers, which optimise it and make machine code.

    Else each part would be optimised anew with all parts inside it, and its machine code would
    never run.
    """

    @property
    def codegen(self) -> Any:
        """What is told of the environment of a function that runs: this one does not run."""
        return self

    def set_env(self, name: str, env: object) -> None:
        """Forget the environment."""

    def get_pointer_to_function(self, name: str) -> int:
        """Return that there is none."""
        return 0

    def _optimize_final_module(self) -> None:
        """Leave that to the callers."""

    def _finalize_final_module(self) -> None:
        """Make no machine code."""
        own: Any = self
        own._finalize_dynamic_globals()
        own._finalized = True


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
    """The usual steps.

    Numba makes millions of objects and keeps most of them: to look through them for garbage again
    and again took a sixth of the time.
    """

    def compile_extra(self, func: Callable[..., object]) -> Any:
        """Compile a function."""
        usual: Any = super().compile_extra
        flags: Any = KernelFlags
        announce()
        self.state.flags = flags(self.state.flags)
        with no_collection():
            return usual(func)


class PartCompiler(KernelCompiler):
    """The usual steps, into a `Part`."""

    def compile_extra(self, func: Callable[..., object]) -> Any:
        """Compile a function."""
        part: Any = Part
        usual: Any = super().compile_extra
        self.state.library = part(self.state.targetctx.codegen(), func.__qualname__)
        return usual(func)

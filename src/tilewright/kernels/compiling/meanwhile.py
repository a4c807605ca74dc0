"""What Numba does otherwise while a kernel is compiled, and only then."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, cast

from llvmlite.binding import ffi
from numba.core import types
from numba.core.base import BaseContext
from numba.core.compiler import Compiler
from numba.core.postproc import PostProcessor, VariableLifetime
from numba.core.transforms import canonicalize_cfg

from tilewright.kernels.compiling.known import known_call, known_size
from tilewright.kernels.compiling.library import Part

COMPILE: Any = Compiler.compile_extra
POST_PROCESS: Any = PostProcessor.run
LLVM: Any = ffi.lib


def compile_into_kernels(compiler: Any, function: Callable[..., object]) -> Any:
    """Compile a function of Numba's as a part of kernels, without machine code of its own."""
    if type(compiler) is Compiler:
        state, part = compiler.state, cast("Any", Part)
        state.library = part(state.targetctx.codegen(), function.__qualname__)
        state.flags.no_cpython_wrapper = state.flags.no_cfunc_wrapper = True
        state.flags.forceinline = False  # not what the first caller says of itself
    return COMPILE(compiler, function)


def post_process(processor: Any, emit_dels: bool = False, **options: bool) -> None:
    """Simplify the blocks of a function, and leave where variables live to whoever asks.

    Numba finds it out after each step, and uses it after the last: it says then where values end.
    """
    code: Any = processor.func_ir
    if emit_dels or code.is_generator:
        POST_PROCESS(processor, emit_dels, **options)
        return
    code.blocks = canonicalize_cfg(code.blocks)
    lifetime: Any = VariableLifetime
    code.variable_lifetime = lifetime(code.blocks)
    code.generator_info = None


INSTEAD: tuple[tuple[Any, str, Any], ...] = (
    (types.BaseFunction, "get_call_type", known_call),
    (BaseContext, "get_abi_sizeof", known_size),
    (Compiler, "compile_extra", compile_into_kernels),
    (PostProcessor, "run", post_process),
    (LLVM._lock, "_cblist", []),  # who hears of each call of LLVM: Numba measures their time
)


@contextmanager
def quicker() -> Iterator[None]:
    """Do it in less time meanwhile, and look for no garbage.

    Numba makes millions of objects and keeps most of them: to look through them again and again
    took a sixth of the time.
    """
    before = [getattr(place, name) for place, name, _ in INSTEAD]
    enabled = gc.isenabled()
    gc.disable()
    try:
        for place, name, instead in INSTEAD:
            setattr(place, name, instead)
        yield
    finally:
        for (place, name, _), usual in zip(INSTEAD, before, strict=True):
            setattr(place, name, usual)
        if enabled:
            gc.enable()

"""Numba's objects that compile and call functions, made as kernels need them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from numba import njit, types

import tilewright.kernels.record_type
from tilewright.kernels.compiling.compiler import KernelCompiler, PartCompiler
from tilewright.kernels.on_disk.kept import keeping

assert tilewright.kernels.record_type  # imported for what it tells Numba


def pasted(function: Callable[..., object], options: dict[str, bool]) -> Any:
    """Return the dispatcher of a function of which the kernels that call it have copies."""
    compiler: Any = njit
    return with_general_arguments(
        compiler(
            nogil=True, no_cpython_wrapper=True, no_cfunc_wrapper=True,
            pipeline_class=PartCompiler, **options,
        )(function)
    )  # fmt: skip


def stamped(function: Callable[..., object], options: dict[str, bool], stamp: str) -> Any:
    """Return the dispatcher of a function whose code is kept under a stamp."""
    compiler: Any = njit
    options = {"no_cfunc_wrapper": True} | options  # C calls none
    compiled = compiler(nogil=True, pipeline_class=KernelCompiler, **options)(function)
    compiled._cache = keeping(function, stamp)
    return with_general_arguments(compiled)


def with_general_arguments(compiled: Any) -> Any:
    """Let a call with a constant not make Numba compile all again for that constant."""
    template = compiled.get_call_template
    general: Any = types.unliteral
    compiled.get_call_template = lambda args, kws: template(
        tuple(general(kind) for kind in args), {name: general(kws[name]) for name in kws}
    )
    return compiled

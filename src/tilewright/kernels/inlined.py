"""Small functions that become part of the kernels that call them."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from tilewright.kernels.kernel import stamped

Kernel = TypeVar("Kernel", bound=Callable[..., object])


def inlined(function: Kernel) -> Kernel:
    """Compile a function into its callers: what it takes, such as tables, is not copied then."""
    return stamped(function, no_cpython_wrapper=True, no_cfunc_wrapper=True, forceinline=True)

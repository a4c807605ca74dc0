"""What Numba is asked again and again while it compiles, and looks up once for each kind.

Numba tries all that an operator may mean anew at every place where it stands: arithmetic of arrays,
of numbers of every size, and literal values first. Kernels have tens of thousands of such places,
and some hundred combinations of an operator and types. For the size of each variable, it lets LLVM
parse a module.
"""

from __future__ import annotations

from typing import Any

from numba.core import types
from numba.core.base import BaseContext
from numba.core.targetconfig import ConfigStack

CALL_TYPE: Any = types.BaseFunction.get_call_type
SIZE: Any = BaseContext.get_abi_sizeof

# By identity, for functions that are equal each keep what is compiled for them, and types of LLVM
# are long to compare. The object itself stands with the answer, so that no other gets its identity.
_calls: dict[tuple[Any, ...], tuple[Any, Any]] = {}
_sizes: dict[int, tuple[int, Any]] = {}


def known_call(function: Any, context: Any, args: Any, kws: Any) -> Any:
    """Return the types that a call of a function or an operator of Numba's takes and returns."""
    if kws:
        return CALL_TYPE(function, context, args, kws)
    # a function that counts no references is compiled apart
    flags = ConfigStack().top_or_none()
    key = (id(function), flags is None or flags.nrt, *(kind._code for kind in args))
    if key not in _calls:
        _calls[key] = CALL_TYPE(function, context, args, kws), function
    return _calls[key][0]


def known_size(context: Any, kind: Any) -> Any:
    """Return the bytes that values of a type of LLVM's take."""
    if id(kind) not in _sizes:
        _sizes[id(kind)] = SIZE(context, kind), kind
    return _sizes[id(kind)][0]

"""What the operators and functions that Numba has for kernels return, looked up once for each kind.

Numba tries all that an operator may mean anew at every place where it stands: arithmetic of arrays,
of numbers of every size, and literal values first. Kernels have tens of thousands of such places,
and some hundred combinations of an operator and types.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from numba.core import types
from numba.core.targetconfig import ConfigStack

FUNCTION: Any = types.BaseFunction
USUAL = FUNCTION.get_call_type

# By the identity of a function, for equal ones each keep what is compiled for them. The function
# itself stands with the answer, so that no other gets its identity.
_known: dict[tuple[Any, ...], tuple[Any, Any]] = {}


@contextmanager
def known_calls() -> Iterator[None]:
    """Let Numba look up what it has found before; it compiles in one thread at a time."""
    before = FUNCTION.get_call_type
    FUNCTION.get_call_type = known_call
    try:
        yield
    finally:
        FUNCTION.get_call_type = before


def known_call(function: Any, context: Any, args: Any, kws: Any) -> Any:
    """Return the types that a call takes and returns."""
    if kws:
        return USUAL(function, context, args, kws)
    # a function that counts no references is compiled apart
    flags = ConfigStack().top_or_none()
    key = (id(function), flags is None or flags.nrt, *args)
    if key not in _known:
        _known[key] = USUAL(function, context, args, kws), function
    return _known[key][0]

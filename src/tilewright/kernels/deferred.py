"""Functions that are compiled when they are first called: until then Numba is not imported.

To import Numba takes longer than much of what commands do, and many of them call no kernel.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from threading import RLock
from typing import Any

LOCK = RLock()


class Deferred:
    """Stands for the dispatcher of a function, Numba's object that compiles and calls it.

    Parameters
    ----------
    function : callable
        What is compiled.
    build : callable
        Returns its dispatcher.

    Attributes
    ----------
    py_func : callable
        The function itself.
    """

    # with `__call__` in a slot, Python calls what stands there without a frame of its own
    __slots__ = ("__call__", "__weakref__", "_build", "_built", "py_func")

    def __init__(self, function: Callable[..., object], build: Callable[[], Any]) -> None:
        self.py_func = function
        self._build = build
        self._built: Any = None
        self.__call__: Callable[..., Any] = partial(first_call, self)

    @property
    def dispatcher(self) -> Any:
        """The dispatcher, made when it is first asked for."""
        with LOCK:
            if self._built is None:
                self._built = self.__call__ = self._build()
        return self._built

    def __getattr__(self, name: str) -> Any:
        # Numba asks for `_numba_type_`: in a kernel that calls this one, that is the dispatcher's
        owner = self.py_func if name.startswith("__") else self.dispatcher
        return getattr(owner, name)

    def __repr__(self) -> str:
        return f"<Deferred {self.py_func.__module__}.{self.py_func.__qualname__}>"


def first_call(kernel: Deferred, *args: Any, **named: Any) -> Any:
    """Call a kernel that has no dispatcher yet."""
    return kernel.dispatcher(*args, **named)

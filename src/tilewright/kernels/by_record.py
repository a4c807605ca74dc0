"""One name for several parts: the record that they are given last decides which one runs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


class ByRecord:
    """Stands for the dispatcher of several parts, in the kernels that call them by one name.

    A kernel is compiled once for each kind of record, and kept on disk each time; it contains the
    parts of that kind alone. So one source serves several uses and none pays for another. A closure
    or a function as an argument would do that, too, but Numba keeps no code of kernels with them.

    Parameters
    ----------
    parts : mapping
        The part for each kind of the last argument.
    """

    is_compiling = False  # what Numba asks before a function calls itself: these do not

    def __init__(self, parts: Mapping[type, Any]) -> None:
        self.parts = parts

    @property
    def _numba_type_(self) -> Any:
        """What Numba asks of a global that a kernel calls."""
        from numba import types

        dispatcher: Any = types.Dispatcher
        return dispatcher(self)

    def of(self, arguments: tuple[Any, ...]) -> Any:
        """Return the dispatcher of the part for some types."""
        return self.parts[arguments[-1].fields.instance_class].dispatcher

    def get_call_template(self, arguments: tuple[Any, ...], named: dict[str, Any]) -> Any:
        """Return how Numba types a call."""
        return self.of(arguments).get_call_template(arguments, named)

    def get_overload(self, arguments: tuple[Any, ...]) -> Any:
        """Return the code for some types."""
        return self.of(arguments).get_overload(arguments)


def by_record(parts: Mapping[type, Any]) -> Any:
    """Return what kernels call for any of some parts, each for one kind of the last argument."""
    return ByRecord(parts)

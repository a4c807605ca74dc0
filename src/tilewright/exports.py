"""Public names: listed once, in a stub, and imported when they are first used.

The stub of a package (``__init__.pyi``) imports every name as itself, on a line of its own, which
tells type checkers that it is public. The package reads the stub, so that nothing is listed again.
"""

from __future__ import annotations

import sys
from collections.abc import Callable


def homes(stub: str) -> dict[str, str]:
    """Return the module of each name that a stub imports as itself."""
    found = {}
    with open(stub, encoding="utf-8") as lines:
        for line in lines:
            match line.split():
                case ["from", module, "import", name, "as", public] if name == public:
                    found[name] = module
    return found


def on_use(package: str, file: str) -> tuple[Callable[[str], object], Callable[[], list[str]]]:
    """Return ``__getattr__`` and ``__dir__`` of a package with a stub, for its ``__init__``.

    Parameters
    ----------
    package, file : str
        Its ``__name__`` and ``__file__``.
    """
    found = homes(f"{file.removesuffix('.py')}.pyi")

    def use(name: str) -> object:
        if name not in found:
            raise AttributeError(f"module '{package}' has no attribute '{name}'")
        from importlib import import_module

        value = getattr(import_module(found[name]), name)
        setattr(sys.modules[package], name, value)
        return value

    return use, lambda: sorted(found)

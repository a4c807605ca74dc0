"""Public names: listed once, in a stub, and imported when they are first used.

The stub of a package (``__init__.pyi``) imports every name as itself, on a line of its own, which
tells type checkers that it is public. The package reads the stub, so that nothing is listed again.
"""

from __future__ import annotations


def homes(stub: str) -> dict[str, str]:
    """Return the module of each name that a stub imports as itself."""
    found = {}
    with open(stub, encoding="utf-8") as lines:
        for line in lines:
            match line.split():
                case ["from", module, "import", name, "as", public] if name == public:
                    found[name] = module
    return found

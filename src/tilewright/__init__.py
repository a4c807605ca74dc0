"""Exact counts and proven-optimal mappings of tensor workloads on spatial accelerators.

`map` finds the best mapping of a workload on a machine, `evaluate` tells what a given one costs,
`simulate` counts the same by brute force, `compare` shows what other strategies find, `mapspace`
what mappings there are, `explore` the best machines of a space, `least_traffic` the fewest words
to and from DRAM. Names are imported when they are first used.
"""

from __future__ import annotations

from tilewright.exports import homes

HOMES = homes(f"{__file__.removesuffix('.py')}.pyi")

__all__ = [*sorted(HOMES), "__version__"]  # noqa: PLE0604


def __getattr__(name: str) -> object:
    if name == "__version__":
        from importlib.metadata import PackageNotFoundError, version

        try:
            return version("tilewright")
        except PackageNotFoundError:
            return "unknown"
    if name not in HOMES:
        raise AttributeError(f"module 'tilewright' has no attribute '{name}'")
    from importlib import import_module  # here, so that Ctrl-C is heeded sooner at the start

    value = getattr(import_module(HOMES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)

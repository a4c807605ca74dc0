"""Along which parameter a box is cut."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from tilewright.exploration.designs.numbers import Numbers, Row
from tilewright.exploration.designs.space import Box, Space, named_in
from tilewright.kernels.types import Floats

RATES = ("bandwidth", "channels")
# numbers of a row in the order of `logarithms`, and whether more is better
BETTER = {
    "capacity": True, "read": False, "write": False, "rates": True, "hops": False,
    "extents": True, "cycles": False, "energy": False, "leakage": False,
}  # fmt: skip


def only_bandwidths(space: Space) -> frozenset[int]:
    """Return the parameters on which bandwidths of memories depend, and nothing else."""
    limited = {name for each in space.conditions for name in each.left.names | each.right.names}
    return frozenset(i for i in _only(space, RATES, ()) if space.parameters[i].name not in limited)


def only_arrays(space: Space) -> frozenset[int]:
    """Return the parameters on which extents of arrays and bandwidths depend, and nothing else."""
    return _only(space, RATES, ("axes",))


def _only(space: Space, of_memories: tuple[str, ...], of_arrays: tuple[str, ...]) -> frozenset[int]:
    """Return the parameters that are in some keys of memories and of arrays, and nowhere else."""
    levels = space.machine.data["levels"]
    keys = [
        of_memories if "memory" in level else of_arrays if "array" in level else ()
        for level in levels
    ]
    own = [
        {key: level[key] for key in some if key in level}
        for level, some in zip(levels, keys, strict=True)
    ]
    rest = {
        **space.machine.data,
        "levels": [
            {key: value for key, value in level.items() if key not in some}
            for level, some in zip(levels, own, strict=True)
        ],
    }
    named, others = named_in(own), named_in(rest)
    return frozenset(i for i, each in enumerate(space.parameters) if each.name in named - others)


def best_cut(numbers: Numbers, box: Box, last: frozenset[int], weights: Floats) -> int:
    """Return the parameter along which a cut changes what bounds rest on most.

    Parameters
    ----------
    last : set of int
        Parameters that wait for all others.
    weights : array
        How much each number of `logarithms` counts.
    """
    widths = [end - begin for begin, end in box.ranges]
    wide = [i for i, width in enumerate(widths) if width > 1]
    parameters = [i for i in wide if i not in last] or wide
    if len(parameters) == 1:
        return parameters[0]
    own = numbers.of(box)
    whole = None if own is None else logarithms(own)

    def gain(i: int) -> float:
        halves = [numbers.of(half) for half in box.halves(i)]
        if whole is None or any(half is None for half in halves):
            return float("inf")
        return sum(
            float((np.abs(logarithms(h) - whole) * weights).sum()) for h in halves if h is not None
        )

    return max(parameters, key=lambda i: (gain(i), widths[i]))


def logarithms(row: Row) -> Floats:
    """Return the logarithms of the numbers that bounds rest on, the area last."""
    found = np.concatenate(
        [
            row.capacity, row.read, row.write, row.rates, row.hops, row.extents,
            [row.cycles, row.energy, row.leakage, row.area_mm2],
        ]
    )  # fmt: skip
    logarithms: Floats = np.log(np.clip(found, 1e-12, 1e15))
    return logarithms


def worse_rows(row: Row, factor: float) -> Iterator[Row]:
    """Yield rows with one number of `logarithms` worse by a factor, the area left out."""
    for name, better in BETTER.items():
        value = getattr(row, name)
        for i in range(np.size(value)):
            changed: Any = np.array(value, np.float64).reshape(-1)
            changed[i] *= 1 / factor if better else factor
            own: Any = changed if np.ndim(value) else float(changed[0])
            yield row._replace(**{name: own})

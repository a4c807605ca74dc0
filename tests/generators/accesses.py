"""Accesses of one tensor: random ones, and those of a convolution."""

from __future__ import annotations

from collections.abc import Mapping as Dict
from math import prod
from typing import Any

from hypothesis import strategies as st

from tilewright.retention.spills.access import Access

DIMENSIONS = "fkcxymn"
CONVOLUTION = {
    "I": {"f": 0, "c": 1, "x": 2, "m": 2, "y": 3, "n": 3},
    "W": {"k": 0, "c": 1, "m": 2, "n": 3},
    "O": {"f": 0, "k": 1, "x": 2, "y": 3},
}


def convolution(
    tensor: str, bounds: Dict[str, int], order: str, tiles: Dict[str, int], stride: int = 1
) -> Access:
    """Return the access of a tensor of a convolution; x and y are the output's dimensions."""
    axes = CONVOLUTION[tensor]
    window = {"x": stride, "y": stride} if tensor == "I" else {}
    return Access(
        tuple(bounds.get(d, 1) for d in DIMENSIONS),
        tuple(axes.get(d, -1) for d in DIMENSIONS),
        tuple(window.get(d, 1) if d in axes else 0 for d in DIMENSIONS),
        tuple((DIMENSIONS.index(d), tiles.get(d, bounds.get(d, 1))) for d in order),
    ).shortened()


@st.composite
def accesses(draw: Any, steps: int = 400, words: int = 400, windows: bool = True) -> Access:
    """Draw an access with any loops: windows of any stride, short last chunks, repeated cuts.

    Without windows no dimension is cut twice, either: there is a closed form.
    """
    count = draw(st.integers(2, 6))
    bounds = tuple(draw(st.sampled_from([1, 2, 3, 4, 5, 6, 7, 9, 11])) for _ in range(count))
    if windows:
        drawn = [draw(st.integers(-1, 2)) for _ in range(count)]
    else:
        drawn = [draw(st.sampled_from([-1, d])) for d in range(count)]
    used = sorted(set(drawn) - {-1})
    axes = tuple(used.index(axis) if axis >= 0 else -1 for axis in drawn)
    coefficients = tuple(
        draw(st.sampled_from([1, 1, 2, 3])) if windows and axis >= 0 else int(axis >= 0)
        for axis in axes
    )
    cuts = draw(st.permutations(range(count)))
    if windows:
        cuts += draw(st.lists(st.integers(0, count - 1), max_size=2))
    extents = list(bounds)
    loops = []
    for d in cuts:
        if extents[d] > 1 and draw(st.integers(0, 4)):
            extents[d] = draw(st.integers(1, extents[d] - 1))
            loops.append((d, extents[d]))
    access = Access(bounds, axes, coefficients, tuple(loops)).shortened()
    while upper_bound(access) > steps or access.words > words:
        access = Access(bounds, axes, coefficients, access.loops[1:]).shortened()
        if not access.loops:
            bounds = tuple(min(bound, 4) for bound in bounds)
            access = Access(bounds, axes, coefficients, ())
            break
    return access


def upper_bound(access: Access) -> int:
    """Return the steps of an access, or a few more."""
    extents = list(access.bounds)
    chunks = []
    for d, tile in access.loops:
        chunks.append(-(-extents[d] // tile))
        extents[d] = tile
    return prod(chunks)

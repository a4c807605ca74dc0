"""Designs that cost the same because axes of an array are swapped."""

from __future__ import annotations

from itertools import combinations
from typing import Any

from tilewright.exploration.designs.space import Box, Space, named_in


def twins(space: Space) -> tuple[tuple[int, int], ...]:
    """Return pairs of parameters whose values may be swapped: the designs cost the same.

    Both have the same values, each is the whole extent of one axis of the same array, and nothing
    else depends on them. Mappings name axes, but what they cost does not depend on names; unless
    there are constraints.
    """
    data = space.machine.data
    if "constraints" in data:
        return ()
    limited = {name for each in space.conditions for name in each.left.names | each.right.names}
    found = []
    for i, level in enumerate(data["levels"]):
        axes: dict[str, Any] = level.get("axes", {}) if "array" in level else {}
        rest = {key: value for key, value in level.items() if key != "axes"}
        others = [*data["levels"][:i], rest, *data["levels"][i + 1 :]]
        used = limited | named_in({**data, "levels": others})
        extents = list(axes.values())
        own = [
            k
            for k, parameter in enumerate(space.parameters)
            if extents.count(f"${parameter.name}") == 1
            and parameter.name not in used
            and sum(parameter.name in named_in(extent) for extent in extents) == 1
        ]
        found += [
            (a, b)
            for a, b in combinations(own, 2)
            if space.parameters[a].values == space.parameters[b].values
        ]
    return tuple(found)


def all_have_twins(box: Box, pairs: tuple[tuple[int, int], ...]) -> bool:
    """Whether every design of a box costs the same as one that is larger in the first of a pair.

    Those whose first parameter is at least the second stand for both.
    """
    return any(box.ranges[a][1] <= box.ranges[b][0] for a, b in pairs)

"""Machines with one array for each level of clusters."""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache
from math import prod

from tilewright.architecture.machine import Architecture, Array, Level
from tilewright.errors import InputError


def elements(architecture: Architecture) -> int:
    """Return the processing elements of a machine that directives can be written for.

    Raises
    ------
    InputError
        When it has no array, or a memory between two arrays.
    """
    arrays = architecture.arrays
    if not arrays:
        raise InputError(
            f"architecture '{architecture.name}' has no array for directives to spread work over",
            key="architecture",
        )
    first = architecture.position[arrays[0].name]
    last = architecture.position[arrays[-1].name]
    if last - first != len(arrays) - 1:
        between = [
            m.name for m in architecture.memories if first < architecture.position[m.name] < last
        ]
        raise InputError(
            f"architecture '{architecture.name}' has memory '{between[0]}' between two arrays; "
            "directives know one memory outside the processing elements and one inside",
            key="architecture",
        )
    return prod(array.elements for array in arrays)


@lru_cache(maxsize=64)
def clustered(architecture: Architecture, units: tuple[int, ...]) -> Architecture:
    """Return a machine whose arrays are levels of clusters.

    Parameters
    ----------
    architecture : Architecture
        A machine without memories between its arrays.
    units : tuple of int
        Units of each level, outermost first.

    Returns
    -------
    Architecture
        The same one when its arrays are of these sizes, one axis each. Otherwise its arrays are
        replaced by a chain of arrays, each with the same network.

    Raises
    ------
    InputError
        When it has arrays of other sizes with different networks, or constraints on an array.
    """
    arrays = architecture.arrays
    if tuple(tuple(array.axes.values()) for array in arrays) == tuple((n,) for n in units):
        return architecture
    shape = " x ".join(map(str, units))
    networks = {network_of(array) for array in arrays}
    if len(networks) > 1:
        found = " x ".join(str(array.elements) for array in arrays)
        raise InputError(
            f"the directives arrange the processing elements as {shape}, but the arrays of "
            f"architecture '{architecture.name}' are {found}, with "
            "different networks",
            key="architecture",
        )
    whole = arrays[-1]
    for constraint in architecture.constraints:
        if constraint.at in ("array", *(array.name for array in arrays)):
            raise InputError(
                f"architecture '{architecture.name}' constrains its array '{whole.name}', which "
                f"the directives arrange as {shape}",
                key="architecture",
            )
    taken = {level.name for level in architecture.levels if not isinstance(level, Array)}
    taken.add(whole.name)
    # the networks stay what they were, whatever is called a cluster: the first one has their area
    network_area = sum(architecture.instances(array.name) * array.area for array in arrays)
    chain: list[Level] = []
    for i, size in enumerate(units):
        name = whole.name
        if i < len(units) - 1:
            name = next(
                n for n in (f"Cluster{i + 1}", f"{whole.name}Cluster{i + 1}") if n not in taken
            )
        chain.append(
            Array(
                name=name,
                axes={"X": size},
                multicast=whole.multicast,
                reduction=whole.reduction,
                forwarding=whole.forwarding,
                hop_energy=whole.hop_energy,
                bandwidth=whole.bandwidth,
                area=0.0 if i else network_area,
            )
        )
    first, last = (architecture.position[array.name] for array in (arrays[0], whole))
    levels = (*architecture.levels[:first], *chain, *architecture.levels[last + 1 :])
    name = architecture.name.partition(" (")[0]
    return replace(architecture, name=f"{name} ({shape})", levels=levels)


def network_of(array: Array) -> tuple[object, ...]:
    """Return what an array's network is like, whatever its axes are."""
    return (array.multicast, array.reduction, array.forwarding, array.hop_energy, array.bandwidth)

"""Machines on which time costs energy: it leaks."""

from __future__ import annotations

from dataclasses import replace

from tilewright.architecture.machine import Architecture, Array
from tilewright.model.energy import PJ_PER_MJ, leakage_per_cycle


def with_priced_time(architecture: Architecture, price: float) -> Architecture:
    """Return a machine on which each cycle takes so many pJ more: its compute unit leaks them.

    A price of minus its leakage leaves none.
    """
    if price == 0.0:
        return architecture
    if price == -leakage_per_cycle(architecture):
        levels = (
            level if isinstance(level, Array) else replace(level, leakage=0.0)
            for level in architecture.levels
        )
        return replace(architecture, levels=tuple(levels))
    compute = architecture.compute
    power = price * architecture.clock_hz / PJ_PER_MJ / architecture.instances(compute.name)
    leaking = replace(compute, leakage=compute.leakage + power)
    own = (leaking if level is compute else level for level in architecture.levels)
    return replace(architecture, levels=tuple(own))

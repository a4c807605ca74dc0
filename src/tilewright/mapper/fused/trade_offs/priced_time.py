"""Machines on which time costs energy: it leaks."""

from __future__ import annotations

from dataclasses import replace

from tilewright.architecture.machine import Architecture
from tilewright.model.energy import PJ_PER_MJ


def with_priced_time(architecture: Architecture, price: float) -> Architecture:
    """Return a machine on which each cycle takes so many pJ more: its compute unit leaks them."""
    if price == 0.0:
        return architecture
    compute = architecture.compute
    power = price * architecture.clock_hz / PJ_PER_MJ / architecture.instances(compute.name)
    leaking = replace(compute, leakage=compute.leakage + power)
    own = (leaking if level is compute else level for level in architecture.levels)
    return replace(architecture, levels=tuple(own))

"""What designs are compared by, and what bounds it over a box."""

from __future__ import annotations

from collections.abc import Sequence

from tilewright.architecture.machine import Architecture
from tilewright.errors import InputError, nearest
from tilewright.exploration.proof.solver import Workload
from tilewright.model.energy import area, leakage_power

# unit of each, for people
METRICS = {
    "energy": "pJ", "latency": "s", "edp": "pJ*s", "area": "mm2", "power": "mW", "leakage": "mW",
}  # fmt: skip
MAPPED = ("energy", "latency", "edp")
PJ_PER_MJ = 1e9


def column(name: str) -> str:
    """Return what a metric is called in tables and files, with its unit."""
    return f"{name}_{METRICS[name].replace('*', '_')}"


def check_axes(axes: Sequence[str]) -> tuple[str, ...]:
    """Return the axes of a front, or refuse them."""
    for axis in axes:
        if axis not in METRICS:
            raise InputError(
                f"no axis '{axis}'; accepted: {', '.join(METRICS)}{nearest(axis, METRICS)}",
                key="axes",
            )
    if not axes or len(set(axes)) < len(axes):
        raise InputError("expected different axes, at least one", key="axes")
    return tuple(axes)


def metrics_of(
    workloads: Sequence[Workload],
    answers: Sequence[tuple[float, float]],
    machine: Architecture,
    maximum: bool,
) -> dict[str, float]:
    """Return all metrics of a design.

    Parameters
    ----------
    answers : sequence of (float, float)
        Energy (pJ) and cycles of every layer of every workload.
    maximum : bool
        Whether the worst workload counts instead of their weighted sum.
    """
    energies, times = [], []
    rest = iter(answers)
    for each in workloads:
        energy, cycles = 0.0, 0.0
        for layer in each.network.layers:
            own = next(rest)
            energy += layer.repeat * own[0]
            cycles += layer.repeat * own[1]
        energies.append(energy)
        times.append(seconds(cycles, machine))
    if maximum:
        found = {
            "energy": max(energies), "latency": max(times),
            "edp": max(e * t for e, t in zip(energies, times, strict=True)),
            "power": max(e / t / PJ_PER_MJ for e, t in zip(energies, times, strict=True)),
        }  # fmt: skip
    else:
        energy, time = _weighted(workloads, energies), _weighted(workloads, times)
        power = energy / time / PJ_PER_MJ
        found = {"energy": energy, "latency": time, "edp": energy * time, "power": power}
    return found | {"area": area(machine), "leakage": leakage_power(machine)}


def _weighted(workloads: Sequence[Workload], values: Sequence[float]) -> float:
    total = 0.0
    for each, value in zip(workloads, values, strict=True):
        total += each.weight * value
    return total


def seconds(cycles: float, machine: Architecture) -> float:
    """Return a time, or a product with a time, in s from one in cycles."""
    return cycles / machine.clock_hz

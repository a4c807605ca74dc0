"""What designs are compared by, and what bounds it over a box."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tilewright.architecture.machine import Architecture
from tilewright.errors import InputError, nearest
from tilewright.explore.relaxation import Relaxed
from tilewright.explore.solver import Solver, Totals, Workload

# unit of each, for people
METRICS = {
    "energy": "pJ", "latency": "s", "edp": "pJ*s", "area": "mm2", "power": "mW", "leakage": "mW",
}  # fmt: skip
MAPPED = ("energy", "latency", "edp")
PJ_PER_MJ = 1e9


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


def costs(
    solver: Solver, workloads: Sequence[Workload], relaxed: Relaxed, objective: str, maximum: bool
) -> dict[str, float] | None:
    """Return all metrics of a design, or None when a layer has no mapping on it."""
    totals = [solver.totals(each.network, relaxed.machine, objective) for each in workloads]
    known = [total for total in totals if total is not None]
    if len(known) < len(totals):
        return None
    return _metrics(workloads, known, relaxed, maximum)


def _metrics(
    workloads: Sequence[Workload], totals: Sequence[Totals], relaxed: Relaxed, maximum: bool
) -> dict[str, float]:
    machine = relaxed.machine
    if maximum:
        energies = [total.energy_pj for total in totals]
        times = [seconds(total.cycles, machine) for total in totals]
        products = [e * t for e, t in zip(energies, times, strict=True)]
        powers = [e / t / PJ_PER_MJ for e, t in zip(energies, times, strict=True)]
        found = {
            "energy": max(energies), "latency": max(times), "edp": max(products),
            "power": max(powers),
        }  # fmt: skip
    else:
        energy = _weighted(workloads, [total.energy_pj for total in totals])
        time = seconds(_weighted(workloads, [total.cycles for total in totals]), machine)
        power = energy / time / PJ_PER_MJ
        found = {"energy": energy, "latency": time, "edp": energy * time, "power": power}
    return found | {"area": relaxed.area_mm2, "leakage": relaxed.leakage_mw}


def bounds(
    solver: Solver,
    workloads: Sequence[Workload],
    relaxed: Relaxed,
    wanted: frozenset[str],
    maximum: bool,
) -> Mapping[str, float] | None:
    """Return what no design of a box is below, for each metric; None when none has a mapping."""
    found = {
        "area": relaxed.area_mm2, "leakage": relaxed.leakage_mw, "power": relaxed.leakage_mw,
    } | dict.fromkeys(MAPPED, 0.0)  # fmt: skip
    for name in MAPPED:
        if name not in wanted:
            continue
        totals = []
        for each in workloads:
            total = solver.totals(each.network, relaxed.machine, name)
            if total is None:
                return None
            totals.append(total)
        if name == "edp":
            # sums of weighted parts: the root of each product adds up
            products = [seconds(total.edp_bound, relaxed.machine) for total in totals]
            roots = _weighted(workloads, [product**0.5 for product in products])
            found[name] = max(products) if maximum else roots**2
        elif maximum:
            values = [_value(total, name, relaxed.machine) for total in totals]
            found[name] = max(values)
        else:
            values = [_value(total, name, relaxed.machine) for total in totals]
            found[name] = _weighted(workloads, values)
    return found


def _value(total: Totals, name: str, machine: Architecture) -> float:
    return total.energy_pj if name == "energy" else seconds(total.cycles, machine)


def _weighted(workloads: Sequence[Workload], values: Sequence[float]) -> float:
    total = 0.0
    for each, value in zip(workloads, values, strict=True):
        total += each.weight * value
    return total


def seconds(cycles: float, machine: Architecture) -> float:
    """Return a time, or a product with a time, in s from one in cycles."""
    return cycles / machine.clock_hz

"""What designs are compared by, and what bounds it over a box."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tilewright.architecture.machine import Architecture
from tilewright.errors import InputError, nearest
from tilewright.exploration.relaxation import Relaxed
from tilewright.exploration.solver import Solver, Totals, Workload
from tilewright.workload.layer import Layer

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


Floors = dict[str, tuple[float, ...]]


def bounds(
    solver: Solver,
    workloads: Sequence[Workload],
    relaxed: Relaxed,
    wanted: Sequence[str],
    maximum: bool,
    known: Floors,
    enough: Callable[[dict[str, float]], bool],
) -> tuple[dict[str, float], Floors] | None:
    """Return what no design of a box is below, for each metric; None when none has a mapping.

    Parameters
    ----------
    wanted : sequence of str
        Of `MAPPED`, those that layers are solved for.
    known : mapping of str to tuple of float
        What a larger box says of each layer; the second result is the same of this one.
    enough : callable
        Told the bounds after each layer; whether the others need not be solved.
    """
    runs = [(w, layer) for w, workload in enumerate(workloads) for layer in workload.network.layers]
    fixed = {
        "area": relaxed.area_mm2, "leakage": relaxed.leakage_mw, "power": relaxed.leakage_mw,
    }  # fmt: skip
    floors = {name: list(known.get(name, (0.0,) * len(runs))) for name in MAPPED}

    def bound() -> dict[str, float]:
        return fixed | {
            name: _total(workloads, runs, floors[name], name, maximum) for name in MAPPED
        }

    for name in (name for name in MAPPED if name in wanted):
        # what weighs most is solved first, so that it is soon enough
        order = sorted(
            range(len(runs)),
            key=lambda i: -workloads[runs[i][0]].weight * runs[i][1].repeat * floors[name][i],
        )
        for i in order:
            answer = solver.layer(runs[i][1], relaxed.machine, name)
            if answer is None:
                return None
            energy, time = answer[0], seconds(answer[1], relaxed.machine)
            least = {"energy": energy, "latency": time, "edp": energy * time}[name]
            floors[name][i] = max(floors[name][i], least)
            found = bound()
            if enough(found):
                return found, {each: tuple(values) for each, values in floors.items()}
    return bound(), {each: tuple(values) for each, values in floors.items()}


def _total(
    workloads: Sequence[Workload],
    runs: Sequence[tuple[int, Layer]],
    floors: Sequence[float],
    name: str,
    maximum: bool,
) -> float:
    """Return a bound from those of single layers.

    No products of sums are below the square of the sum of the roots of the products (Cauchy and
    Schwarz), for the layers of a workload and for workloads.
    """
    root = 0.5 if name == "edp" else 1.0
    parts = [0.0] * len(workloads)
    for (w, layer), least in zip(runs, floors, strict=True):
        parts[w] += layer.repeat * least**root
    total = max(parts) if maximum else _weighted(workloads, parts)
    return total * total if name == "edp" else total


def _weighted(workloads: Sequence[Workload], values: Sequence[float]) -> float:
    total = 0.0
    for each, value in zip(workloads, values, strict=True):
        total += each.weight * value
    return total


def seconds(cycles: float, machine: Architecture) -> float:
    """Return a time, or a product with a time, in s from one in cycles."""
    return cycles / machine.clock_hz

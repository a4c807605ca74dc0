"""Machines for one style, computed by the million, are what the model says of each."""

from __future__ import annotations

from itertools import product

import pytest

from tilewright import evaluate
from tilewright.api.inputs import the_architecture
from tilewright.architecture.technology.components import load_components, parts
from tilewright.errors import InputError
from tilewright.exploration.fixed import (
    explore_style,
    inner_bytes_of,
    outer_bytes_of,
    with_elements,
)
from tilewright.workload.operators import conv2d

LAYER = conv2d(K=8, C=6, P=6, Q=6, R=3, S=3, name="c")
ELEMENTS = (3, 6, 9, 18)
INNER, OUTER, RATES = (32, 48, 96), (64, 256, 1024), (1, 3, 8)
STYLE = "yr-p"


def every_design(most_area: float, most_power: float) -> list[tuple[float, ...]]:
    """Return cycles, energy, area and bandwidth of each valid machine, one evaluation each."""
    machine, table = the_architecture("maestro-256"), load_components("maestro-28nm")
    found = []
    for elements, inner, outer, rate in product(ELEMENTS, INNER, OUTER, RATES):
        design = with_elements(machine, elements, float(rate))
        result = evaluate(LAYER, design, STYLE)
        if inner_bytes_of(result, "L1") > inner or outer_bytes_of(result, "L2", "L1") > outer:
            continue
        own = parts(table, design, {"L1": inner * 8, "L2": outer * 8})
        if own.total_area_mm2 <= most_area and own.total_power_mw <= most_power:
            found.append((float(result.cycles), result.energy_pj, own.total_area_mm2, float(rate)))
    return found


@pytest.mark.parametrize(("area", "power"), [(1e9, 1e9), (0.25, 1e9), (1e9, 30.0)])
def test_the_sweep_is_an_evaluation_of_every_design(area: float, power: float) -> None:
    swept = explore_style(
        LAYER, "maestro-256", STYLE, elements=ELEMENTS, inner_bytes=INNER, outer_bytes=OUTER,
        bandwidths=RATES, area_mm2=area, power_mw=power,
    )  # fmt: skip
    designs = every_design(area, power)
    assert swept.designs == 4 * 3 * 3 * 3
    assert swept.valid == len(designs) > 0
    assert swept.best["throughput"].cycles == pytest.approx(min(d[0] for d in designs))
    assert swept.best["energy"].energy == pytest.approx(min(d[1] for d in designs))
    best = swept.best["edp"]
    assert best.energy * best.cycles == pytest.approx(min(d[0] * d[1] for d in designs))
    smallest = min(d[2] for d in designs if d[0] == pytest.approx(swept.best["throughput"].cycles))
    assert swept.best["throughput"].area_mm2 == pytest.approx(smallest)
    for rate, cycles in zip(RATES, swept.by_bandwidth.tolist(), strict=True):
        own = [d[0] for d in designs if d[3] == rate]
        assert cycles == pytest.approx(min(own, default=float("inf")))


def test_a_style_that_runs_nowhere_is_an_error() -> None:
    with pytest.raises(InputError, match="runs on none of these arrays"):
        explore_style(
            LAYER, "maestro-256", "kc-p", elements=[7], inner_bytes=[64], outer_bytes=[64],
            bandwidths=[1],
        )  # fmt: skip

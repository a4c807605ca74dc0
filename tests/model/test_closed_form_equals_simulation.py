"""The closed form counts what the simulator counts, on every input."""

from __future__ import annotations

from hypothesis import HealthCheck, given, settings

from strategies import cases
from tilewright.architecture.machine import Architecture
from tilewright.mapping.nodes import Mapping
from tilewright.model.count import count
from tilewright.reference.simulate import simulate
from tilewright.workload.layer import Layer

Case = tuple[Layer, Architecture, Mapping]


@settings(max_examples=300, deadline=None, suppress_health_check=list(HealthCheck))
@given(case=cases())
def test_closed_form_equals_simulation(case: Case) -> None:
    layer, architecture, mapping = case
    assert count(layer, architecture, mapping) == simulate(
        layer, architecture, mapping, check=False
    )

"""The order in which boxes are looked at."""

from __future__ import annotations

import pytest
from tests.exploration.bounds.test_quick_bounds import space

from tilewright.exploration import explore
from tilewright.exploration.proof import open_boxes
from tilewright.exploration.result import Certificate
from tilewright.workload.operators import matmul

LAYER = matmul(M=4, N=6, K=4, name="m")


def test_dives_find_designs_before_boxes_of_small_bounds_are_cut(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    drawn = space("one memory in each element")
    sizes = list[int]()

    def listen(_: Certificate, front: int) -> None:
        sizes.append(front)

    found = explore(LAYER, drawn, axes=["edp", "area"], objective="edp", progress=listen)
    first = next(n for n, size in enumerate(sizes) if size)
    monkeypatch.setattr(open_boxes, "DIVES", -1.0)
    sizes.clear()
    plain = explore(LAYER, drawn, axes=["edp", "area"], objective="edp", progress=listen)
    assert first <= 40 < next(n for n, size in enumerate(sizes) if size)
    assert found.optimal
    assert [each.metrics["edp"] for each in found.front] == pytest.approx(
        [each.metrics["edp"] for each in plain.front], rel=1e-9
    )
    for certificate in (found.certificate, plain.certificate):
        decided = certificate.solved + certificate.excluded_by_bound + certificate.excluded_by_limit
        assert decided + certificate.without_mapping == len(drawn)

"""Objectives are read from text, and say what they mean."""

from __future__ import annotations

from math import inf

import pytest

import tilewright
from tilewright.errors import InputError, NoMappingError
from tilewright.mapper.objective.objective import parse_objective
from tilewright.mapper.search.search import Search

LAYER = tilewright.matmul(M=16, N=16, K=16)


@pytest.mark.parametrize(
    ("text", "value", "unit"),
    [
        ("energy", 3.0, "pJ"),
        ("latency", 5.0, "cycles"),
        ("edp", 15.0, "pJ x cycles"),
        ("ed2p", 75.0, "pJ x cycles^2"),
        ("energy*latency", 15.0, "pJ x cycles"),
        ("energy^2*delay", 45.0, "pJ^2 x cycles"),
        ("energy**2*cycles", 45.0, "pJ^2 x cycles"),
        ("energy, latency<=5", 3.0, "pJ"),
        ("energy, latency<4", inf, "pJ"),
        ("latency, energy<=2.5", inf, "cycles"),
    ],
)
def test_text_means_a_value(text: str, value: float, unit: str) -> None:
    objective = parse_objective(text)
    assert objective.value(3.0, 5.0) == value
    assert objective.unit == unit


@pytest.mark.parametrize(
    "text",
    ["energy", "edp", "ed2p", "energy*latency^0.5", "edp, latency", "energy, latency<=1e6",
     "latency, energy<=2.5e9", "energy^2*latency, latency, energy<=10, latency<=7"],
)  # fmt: skip
def test_text_round_trips(text: str) -> None:
    assert parse_objective(str(parse_objective(text))) == parse_objective(text)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("enrgy", "did you mean 'energy'?"),
        ("", "no objective ''"),
        ("energy*", "no objective 'energy*'"),
        ("energy^-1", "greater than 0"),
        ("energy^x", "found 'x'"),
        ("energy^99", "at most 8"),
        ("energy, latency<=0", "greater than 0"),
        ("energy, latency<=nan", "greater than 0"),
        ("energy, edp, latency", "found 3"),
        ("latency<=5", "found 0"),
        ("energy, power<=5", "no objective 'power<=5'"),
    ],
)
def test_what_is_no_objective_is_refused(text: str, says: str) -> None:
    with pytest.raises(InputError, match="objective") as failure:
        tilewright.map(LAYER, "simple", text)
    assert says in str(failure.value)


def test_limits_hold_and_cost() -> None:
    free = tilewright.map(LAYER, "simple", "energy").layers[0].evaluation
    fast = tilewright.map(LAYER, "simple", "latency").layers[0].evaluation
    limit = (free.cycles + fast.cycles) / 2
    held = tilewright.map(LAYER, "simple", f"energy, latency<={limit}").layers[0].evaluation
    assert held.cycles <= limit
    assert held.energy_pj >= free.energy_pj


def test_limits_that_no_mapping_keeps_say_what_is_possible() -> None:
    fast = tilewright.map(LAYER, "simple", "latency").layers[0].evaluation
    with pytest.raises(NoMappingError, match=f"the fewest cycles is {fast.cycles:.10g} cycles"):
        tilewright.map(LAYER, "simple", f"energy, latency<={fast.cycles - 1}")


def test_front_runs_from_least_energy_to_fewest_cycles() -> None:
    front = tilewright.pareto(LAYER, "simple")
    assert front.optimal
    energies = [p.evaluation.energy_pj for p in front.points]
    cycles = [p.evaluation.cycles for p in front.points]
    assert energies == sorted(energies)
    assert cycles == sorted(cycles, reverse=True)
    least = tilewright.map(LAYER, "simple", "energy").layers[0].evaluation
    fast = tilewright.map(LAYER, "simple", "latency").layers[0].evaluation
    assert (energies[0], cycles[0]) == (least.energy_pj, least.cycles)
    assert (energies[-1], cycles[-1]) == (fast.energy_pj, fast.cycles)
    assert len(front.to_frame()) == len(front) == len(front.rows())
    assert "Proven" in front.text()


@pytest.mark.parametrize("twice", [False, True])
def test_an_interrupt_inside_a_kernel_ends_with_what_is_known(
    monkeypatch: pytest.MonkeyPatch, twice: bool
) -> None:
    def told(*_: object) -> None:
        # what Python makes of Ctrl-C while compiled code runs
        first = SystemError("a kernel ended with an exception set")
        first.__cause__ = KeyboardInterrupt()
        if not twice:
            raise first
        try:
            raise first
        except SystemError:
            raise SystemError("another kernel ended with an exception set")  # noqa: B904

    monkeypatch.setattr(Search, "search", told)
    front = tilewright.pareto(tilewright.matmul(M=4, N=4, K=4), "simple")
    assert front.interrupted
    assert not front.optimal

"""The search on machines whose memories retain optimally: its value, and what bounds it."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import HealthCheck, given, settings

import tilewright as tw
from test_retention_instances import accepted, retaining_instances
from test_retention_policy import Case, retaining_cases
from tilewright.architecture.machine import Architecture, Array, Compute, Memory
from tilewright.mapper.network.network import map_network
from tilewright.mapper.search.confirmed import objective_value
from tilewright.mapper.variants.retaining import unbounded
from tilewright.retention.evaluate import evaluate
from tilewright.workload.layer import Network

CONV = tw.conv1d(name="conv", K=12, C=8, P=16, R=3)


def machine(words: int, **keys: object) -> Architecture:
    """A buffer of so many words that retains optimally."""
    buffer = Memory("GLB", 16, 16 * words, retention="optimal", read_energy=6, write_energy=6)
    return Architecture(
        "retaining",
        (
            Memory("DRAM", 16, read_energy=200, write_energy=200),
            replace(buffer, **keys),
            Array("PE", {"X": 4}),
            Memory("RF", 16, 16 * 8, read_energy=1, write_energy=1),
            Compute("MAC", energy=1),
        ),
    )


def tiles_alone(architecture: Architecture) -> Architecture:
    levels = [
        replace(level, retention="tile") if isinstance(level, Memory) else level
        for level in architecture.levels
    ]
    return replace(architecture, levels=tuple(levels))


@pytest.mark.sampled(1)
@pytest.mark.parametrize("objective", ["energy", "edp"])
@pytest.mark.parametrize("keys", [{}, {"banks": 16}])
def test_retention_is_made_use_of(objective: str, keys: dict, whole: bool) -> None:
    retains = machine(128, **keys)
    sizes = "all" if whole else "divisors"
    (found,) = tw.map(CONV, retains, objective, tiles=sizes, cache=False).layers
    (tiles,) = tw.map(CONV, tiles_alone(retains), objective, tiles=sizes, cache=False).layers
    assert found.proof.lower_bound <= found.proof.value <= tiles.proof.value
    # a round of the best tiles does not fit
    assert found.proof.value < tiles.proof.value or keys or objective != "energy"
    assert found.evaluation.to_dict() == tw.evaluate(CONV, retains, found.mapping).to_dict()
    assert found.proof.value == objective_value(found.evaluation, objective)
    assert found.evaluation.memories["GLB"].shares
    assert found.proof.optimal == (found.proof.gap <= 1e-9)
    assert "Evaluated with optimal retention" in found.proof.space
    assert str(found)


def test_optimal_where_everything_fits() -> None:
    result = tw.map(CONV, machine(1 << 16), cache=False, tiles="divisors")
    assert result.optimal
    assert result.layers[0].proof.gap == 0


few = settings(max_examples=6, deadline=None, suppress_health_check=list(HealthCheck))


@pytest.mark.long
@few
@given(case=retaining_cases() | retaining_instances(most=8).filter(accepted))
def test_no_mapping_is_below_the_bound(case: Case) -> None:
    layer, architecture, mapping = case
    network = Network("net", (layer,))
    cost = evaluate(layer, architecture, mapping, check=False)
    (bound,) = map_network(network, unbounded(architecture), "edp", tiles="all").layers
    assert bound.proof.lower_bound <= objective_value(cost, "edp") * (1 + 1e-9)


def test_parts_of_a_memory_become_unbounded() -> None:
    parts = {"I": 512 * 16, "W": 256 * 16}
    free = unbounded(machine(768, tensor_bits=parts))
    (buffer,) = [level for level in free.memories if level.name == "GLB"]
    assert buffer.capacity_bits is None
    assert buffer.tensor_bits is None
    assert buffer.keep == frozenset("IW")


def test_layers_without_a_mapping_are_named() -> None:
    # an output may not come from a memory that holds tiles of it alone
    levels = machine(64).levels
    above = Memory("L2", 16, 16 * 150, read_energy=20, write_energy=20, must_keep=frozenset("O"))
    deep = Architecture("deep", (levels[0], above, *levels[1:]))
    small = replace(CONV, bounds=CONV.bounds | {"K": 4, "C": 2, "P": 8})
    result = tw.map(small, deep, tiles="divisors", cache=False)
    assert len(result.layers) + len(result.unmapped) == 1
    assert not result.unmapped or "conv" in str(result)


def test_a_time_limit_ends_it() -> None:
    result = tw.map(tw.conv1d(K=64, C=64, P=28, R=3), machine(128), time_limit=0.5)
    for found in result.layers:
        assert found.proof.lower_bound <= found.proof.value


def test_other_searches_refuse() -> None:
    with pytest.raises(tw.InputError, match="this search does not cover"):
        tw.map(CONV, machine(128), latency="pipelined")
    with pytest.raises(tw.InputError, match="this search does not cover"):
        tw.map(CONV, machine(128), strategy="decoupled")

"""Networks with what is fused: values are those of the model, and never above those without."""

from dataclasses import replace
from math import inf, isclose
from random import Random
from time import perf_counter

import pytest

import tilewright
import tilewright as tw
from fused_chains import chain, machine, network
from fused_trees import random_costs
from several_arrays import several_arrays
from tilewright.architecture.files import load_architecture
from tilewright.architecture.machine import Architecture, Compute, Memory
from tilewright.document import Document
from tilewright.errors import InputError, NoMappingError
from tilewright.fusion import evaluate
from tilewright.mapper.fused.network import map_fused
from tilewright.mapper.fused.network_search import FusedNetworkSearch
from tilewright.mapper.fused.rounds import Rounds
from tilewright.mapper.fused.search.chunks import Chunks
from tilewright.mapper.fused.search.segment_search import SegmentSearch
from tilewright.mapper.fused.space.segment_problem import SegmentProblem
from tilewright.mapper.fused.whole_search import map_alone
from tilewright.mapper.network.network import map_network
from tilewright.mapper.network.running.run import Run
from tilewright.mapper.objective.objective import parse_objective
from tilewright.mapping.fused import parse_fused
from tilewright.report.page import html
from tilewright.workload.network import parse_network

OBJECTIVES = ("energy", "latency", "edp", "energy*latency^0.5")


def limited(random: Random, target: Architecture) -> Architecture:
    """Return a machine whose outer memories have ports, and perhaps leak."""
    levels = [
        replace(
            level,
            read_bandwidth=random.choice((None, 1.0, 2.0)),
            write_bandwidth=random.choice((None, 0.5, 2.0)),
            leakage=random.choice((0.0, 0.0, 3e3)),
        )
        if isinstance(level, Memory) and level.name in ("DRAM", "GLB")
        else level
        for level in target.levels
    ]
    return replace(target, levels=tuple(levels))


@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    "seed", [*range(8), *(pytest.param(s, marks=pytest.mark.slow) for s in range(8, 24))]
)
def test_the_model_gives_mappings_the_value_that_was_found(seed):
    random = Random(seed)
    sizes = [random.choice((2, 3, 4, 6)) for _ in range(random.choice((3, 4)))]
    found = network(random.choice((2, 4, 6)), sizes)
    target = limited(random, machine(random))
    objective = OBJECTIVES[seed % len(OBJECTIVES)]
    try:
        # a difference between search and model is an error there
        result = map_fused(found, target, objective)
    except NoMappingError:
        pytest.skip("no layer fits")
    alone = tilewright.map(found, target, objective, tiles="divisors", cache=False)
    assert result.optimal
    assert isclose(result.value_alone, alone.value)
    assert result.value <= alone.value * (1 + 1e-12)
    text = parse_fused(_data(result.mapping_file()), found, target)
    cost = sum(evaluate(own, target, tree).energy_pj for own, tree in text.segments)
    assert isclose(cost, sum(s.evaluation.energy_pj for s in result.segments))


def test_no_tree_is_below_the_bound(whole):
    seeds = range(40, 60 if whole else 44)
    assert sum(trees_above_the_bound(Random(seed), seed) for seed in seeds) > 5 * len(seeds)


def trees_above_the_bound(random: Random, seed: int) -> int:
    """Compare random trees of a random chain with the bound, and return how many fitted."""
    (found, shared), target = chain(random), limited(random, machine(random))
    goal = parse_objective(OBJECTIVES[seed % len(OBJECTIVES)])
    search = SegmentSearch(SegmentProblem(found, target), Chunks(target, goal))
    bound = search.solve(inf, lambda: False).bound
    trees = 0
    for cost in random_costs(random, found, target, shared, 60):
        trees += 1
        value = sum(goal.value(one.energy_pj, one.cycles) for one in cost.layers.values())
        assert value >= bound * (1 - 1e-12)
    return trees


def test_repeated_blocks_are_searched_once_and_counted_as_often_as_they_occur():
    found = map_fused(tw.load_workload("bert_base"), load_architecture("tpu-v1"), "energy")
    assert found.optimal
    assert {s.repeat for s in found.segments} == {12}
    assert found.value == sum(s.value * 12 for s in found.segments) + sum(
        u.result.proof.value * u.repeat for u in found.unfused
    )
    runs = sum(len(s.names) * s.repeat for s in found.segments) + sum(
        u.repeat for u in found.unfused
    )
    assert runs == sum(layer.repeat for layer in found.network.layers)


@pytest.mark.long
def test_branches_that_meet_again_are_fused():
    product = {"einsum": "O[M,N] += I[M,K] * W[K,N]"}
    wide = {"M": 8, "N": 12, "K": 6}
    layers = [
        {"name": "gate", **product, "bounds": wide, "tensors": {"I": "x", "O": "g"}},
        {"name": "up", **product, "bounds": wide, "tensors": {"I": "x", "O": "u"}},
        {
            "name": "multiply",
            "einsum": "O[M,N] += I[M,N] * U[M,N]",
            "bounds": {"M": 8, "N": 12},
            "tensors": {"I": "g", "U": "u", "O": "h"},
        },
        {
            "name": "down",
            **product,
            "bounds": {"M": 8, "N": 6, "K": 12},
            "tensors": {"I": "h", "O": "y"},
        },
    ]
    data = {"name": "gated", "layers": layers, "inputs": {"x": [8, 6]}}
    memories = (
        Memory("DRAM", 16, read_energy=100.0, write_energy=100.0),
        Memory("GLB", 16, capacity_bits=16 * 200, read_energy=6.0, write_energy=6.0),
    )
    target = Architecture("small", (*memories, Compute("MAC", energy=1.0)))
    # the model gives the tree the value that was found, or that is an error
    found = map_fused(parse_network(Document(data, "gated")), target, "energy")
    assert found.optimal
    (segment,) = found.segments
    assert segment.names == ("gate", "up", "multiply", "down")
    assert segment.outer_words_saved > 0
    assert {tile.tensor for tile in segment.exchanged} == {"g", "u", "h"}


def test_a_time_limit_is_kept_and_the_bound_holds():
    whole = tilewright.map("bert_base", "tpu-v1", fuse=True)
    start = perf_counter()
    found = tilewright.map("bert_base", "tpu-v1", fuse=True, time_limit=0.3, cache=False)
    assert perf_counter() - start < 3.0
    assert found.lower_bound <= whole.value * (1 + 1e-12)
    assert found.unmapped or found.value >= whole.value * (1 - 1e-12)


@pytest.mark.parametrize("count", [0, 1])
def test_totals_and_bounds_without_some_layers_say_so(count, monkeypatch):
    def stopped(*args, **options):
        whole = map_network(*args, **options)
        missing = tuple(result.layer for result in whole.layers[count:])
        return replace(whole, layers=whole.layers[:count], unmapped=missing, stopped=True)

    monkeypatch.setattr("tilewright.mapper.fused.whole_search.map_network", stopped)
    found = map_fused(network(4, [2, 3, 4]), machine(Random(1)), "energy")
    assert (found.stopped, found.optimal) == (True, False)
    missing = [layer.name for layer in found.unmapped]
    assert len(missing) == 2 - count
    said = found.text()
    assert f"\ntotal of {count} of 2 layers  " in said
    assert "the search was stopped at the time limit" in said
    assert f"There is no mapping yet of {', '.join(missing)}." in said
    assert "mapping of the space can be" not in said
    assert ("No mapping of the other layers can be more than" in said) == (count > 0)
    total = found.to_dict()["total"]
    assert (total["layers"], total["repeat"]) == (count, sum(r.layer.repeat for r in found.layers))
    page = html(found)
    assert f"{count} of 2 layers" in page
    assert "the totals are without the layers that have no mapping yet" in page


@pytest.mark.sampled(1)
@pytest.mark.parametrize("seed", range(6))
def test_segments_that_the_bound_does_not_rest_on_need_no_search(seed):
    random = Random(seed)
    sizes = [random.choice((2, 3, 4)) for _ in range(4)]
    found, target = network(random.choice((2, 4)), sizes), several_arrays(random)
    alone = map_network(found, target, "energy")
    totals, searched = [], []
    for hoped in (False, True):
        search = FusedNetworkSearch(found, target, "energy", alone.layers)
        search.list_segments()
        rounds = Rounds(search, inf)
        rounds.carry_out(hoped=hoped)
        (part,) = search.parts
        gained = sum(search.gain(part, own) for own in search.chosen(part))
        totals.append(search.values(part, frozenset(part.names)) - gained)
        assert isclose(totals[-1], search.bound(part))
        searched.append(sum(own.searched for own in search.outcomes.values()))
    assert isclose(*totals)
    assert searched[1] <= searched[0]


def test_layers_that_are_nearly_proven_are_not_searched_again(monkeypatch):
    found, target = network(4, [2, 3, 4]), machine(Random(1))
    asked = []

    def stopped(some, *args, **options):
        """Return results with a gap, a little less of it each time."""
        asked.append([layer.name for layer in some.layers])
        whole = map_network(some, *args, **options)
        share = gap / len(asked)
        layers = [
            replace(own, proof=own.proof.of(own.proof.value, own.proof.value * (1 - share)))
            if own.layer.name == "l1"
            else own
            for own in whole.layers
        ]
        return replace(whole, layers=tuple(layers), stopped=True)

    monkeypatch.setattr("tilewright.mapper.fused.whole_search.map_network", stopped)
    run = Run(60.0, 1)
    for gap, times in ((1e-3, 1), (0.5, 2)):
        asked.clear()
        alone = map_alone(found, target, "energy", run=run, tiles="divisors")
        assert asked == [["l0", "l1"], ["l1"]][:times]
        assert [own.layer.name for own in alone.layers] == ["l0", "l1"]
        assert alone.layers[0].proof.optimal
        assert alone.layers[1].proof.gap == pytest.approx(gap / times)
        assert alone.stopped


@pytest.mark.parametrize("seed", range(5))
def test_constraints_say_what_memories_store_as_their_attributes_do(seed):
    random = Random(seed)
    sizes = [random.choice((2, 3, 4, 6)) for _ in range(3)]
    found = network(random.choice((2, 4, 6)), sizes)
    target = limited(random, machine(random))
    role, keeps = random.choice("IWO"), random.random() < 0.5
    levels = [
        level
        if level.name != "GLB"
        else replace(level, must_keep=level.must_keep | {role})
        if keeps
        else replace(level, must_keep=level.must_keep - {role}, keep=frozenset("IWO") - {role})
        for level in target.levels
    ]
    said = replace(target, levels=tuple(levels))
    if not keeps:
        free = [
            replace(level, must_keep=level.must_keep - {role}) if level.name == "GLB" else level
            for level in target.levels
        ]
        target = replace(target, levels=tuple(free))
    try:
        wanted = map_fused(found, said, "energy")
    except NoMappingError:
        pytest.skip("no layer fits")
    constraint = f"GLB.{'keep' if keeps else 'bypass'}={role}"
    given = tilewright.map(found, target, fuse=True, constraints=constraint, cache=False)
    assert given.optimal
    assert isclose(given.value, wanted.value)


def test_layers_that_nothing_connects_are_refused():
    with pytest.raises(InputError, match="does not say how its layers are connected"):
        tilewright.map("alexnet", "tpu-v1", fuse=True)
    with pytest.raises(InputError, match="has no effect with 'fuse'"):
        tilewright.map("bert_base", "tpu-v1", fuse=True, strategy="decoupled")
    with pytest.raises(InputError, match="'keep' and 'bypass' of memories; found one on 'UB'"):
        tilewright.map("bert_base", "tpu-v1", fuse=True, constraints="UB.tile.M=4")


def _data(text):
    from ruamel.yaml import YAML

    return YAML(typ="safe").load(text)

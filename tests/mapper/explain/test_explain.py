"""What limits an optimum, and what is nearly as good, is what trying every mapping finds."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from functools import cache
from itertools import combinations, count, product
from math import inf, isclose

import pytest

import tilewright as tw
from enumeration import Enumeration, Optimum
from problems import problem
from set_counts import Chain, Nest
from tilewright.architecture.constraints.constraint import Constraint
from tilewright.architecture.machine import Architecture, Array, Compute, Memory
from tilewright.cli import main
from tilewright.errors import InputError, NoMappingError
from tilewright.mapper.explain.explain import explain_layer
from tilewright.mapper.explain.explanation import Explanation
from tilewright.mapper.explain.relaxed_machines import limits
from tilewright.mapper.network.layer_search import check_possible
from tilewright.mapper.objective.objective import parse_objective
from tilewright.mapper.results.dataflow import dataflow
from tilewright.mapper.search.questions.restricted import afresh
from tilewright.mapper.search.search import Search
from tilewright.mapping.validity import check
from tilewright.workload.layer import Layer, Tensor

OBJECTIVES = ("energy", "latency", "edp")
# the first one alone takes half a minute
SLOW = 0, *range(16, 100)
SEEDS = [*range(1, 16), *(pytest.param(seed, marks=pytest.mark.slow) for seed in SLOW)]
FEW_CHOICES = 12
WITHIN = 0.25


def same(a: float, b: float) -> bool:
    return isclose(a, b, rel_tol=1e-9)


class BySet(Enumeration):
    """Remembers the best mapping of every set of spatially unrolled dimensions."""

    def __post_init__(self) -> None:
        self.by_set: dict[tuple[frozenset[str], ...], dict[str, Optimum]] = {}
        super().__post_init__()

    def spatial_set(self, nest: Nest) -> tuple[frozenset[str], ...]:
        return tuple(
            frozenset(self.dimensions[loop.dimension] for loop in nest.loops[start:end])
            for start, end in nest.blocks
        )

    def try_stores(self, nest: Nest) -> None:
        own = self.spatial_set(nest)
        self.best = self.by_set.get(own, {name: Optimum() for name in OBJECTIVES})
        super().try_stores(nest)
        self.by_set[own] = self.best


class OthersFirst(Enumeration):
    """Only mappings whose outermost store node in the innermost memory is that of another tensor.

    Store nodes stand as far out as they can at no cost: below the array, or below a loop that is
    relevant to their tensor.
    """

    held: tuple[str, ...] = ()
    first: str | None = None
    depth = 0

    def chains(self, tensor: Tensor, nest: Nest) -> Iterator[Chain]:
        zone = self.zone[-1]
        start = nest.blocks[zone - 1][1] if zone else 0
        for chain in super().chains(tensor, nest):
            depth = chain[-1]
            if self.first is None:
                if depth is None:
                    yield chain
                continue
            if depth is not None:
                above = self.dimensions[nest.loops[depth - 1].dimension] if depth else ""
                if depth < self.depth or (depth > start and above not in tensor.dimensions):
                    continue
            if tensor.name != self.first or depth == self.depth:
                yield chain

    def try_stores(self, nest: Nest) -> None:
        if self.held:
            self.first = None
            super().try_stores(nest)
        for tensor in self.layer.tensors:
            if tensor.name not in self.held:
                self.first = tensor.name
                for self.depth in range(len(nest.loops) + 1):
                    super().try_stores(nest)


class OthersKept(Enumeration):
    """Only mappings whose innermost memory stores other tensors."""

    held: tuple[str, ...] = ()
    changed = ""

    def chains(self, tensor: Tensor, nest: Nest) -> Iterator[Chain]:
        for chain in super().chains(tensor, nest):
            stays = (chain[-1] is not None) == (tensor.name in self.held)
            if tensor.name != self.changed or not stays:
                yield chain

    def try_stores(self, nest: Nest) -> None:
        for tensor in self.layer.tensors:
            self.changed = tensor.name
            super().try_stores(nest)


@cache
def small(seed: int) -> tuple[Layer, Architecture]:
    return problem(seed, fewest=20, most=400)


@cache
def explained(seed: int, objective: str) -> Explanation | None:
    layer, machine = small(seed)
    try:
        check_possible(layer, machine)
    except NoMappingError:
        return None
    return explain_layer(layer, machine, objective, within=WITHIN)


def bypasses(layer: Layer, machine: Architecture) -> list[dict[str, tuple[str, ...]]]:
    """Return every choice of tensors that each memory but the outermost may store."""
    options = []
    for memory in machine.memories[1:]:
        may = [t.name for t in layer.tensors if memory.may_store(t.role)]
        must = {t.name for t in layer.tensors if t.role in memory.must_keep}
        subsets = (c for n in range(len(may) + 1) for c in combinations(may, n))
        options.append([c for c in subsets if must <= set(c)])
    names = [memory.name for memory in machine.memories[1:]]
    return [dict(zip(names, choice, strict=True)) for choice in product(*options)]


def forced(
    layer: Layer, machine: Architecture, stored: Mapping[str, tuple[str, ...]]
) -> Architecture:
    """Return a machine that stores the same tensors as a mapping, in the same memories."""
    roles = {tensor.name: tensor.role for tensor in layer.tensors}

    def storing(level: Memory) -> Memory:
        kept = frozenset(roles[name] for name in stored[level.name])
        return replace(level, keep=kept, must_keep=kept)

    levels = tuple(storing(x) if x.name in stored else x for x in machine.levels)  # type: ignore[arg-type]
    return replace(machine, levels=levels)


@pytest.mark.sampled(4)
@pytest.mark.parametrize("seed", SEEDS)
def test_gains_equal_enumeration_and_are_never_negative(seed: int) -> None:
    layer, machine = small(seed)
    found = {name: explained(seed, name) for name in OBJECTIVES}
    if found["energy"] is None:
        pytest.skip("no mapping fits")
    best = {str(limit): Enumeration(layer, limit.relaxed).best for limit in limits(machine)}
    for name, explanation in found.items():
        assert explanation is not None
        assert explanation.complete
        gains = [one.gain for one in explanation.limits]
        assert len(gains) == len(list(limits(machine)))
        assert gains == sorted(gains, reverse=True)
        for one in explanation.limits:
            assert one.gain >= 0
            assert same(one.value, best[str(one.limit)][name].value), (name, one.limit)
            assert same(1 - one.gain, one.value / explanation.optimum.proof.value)
            if one.evaluation is not None:
                check(one.evaluation.mapping, layer, one.limit.relaxed)


@pytest.mark.sampled(4)
@pytest.mark.parametrize("seed", SEEDS)
def test_runner_ups_are_the_best_of_their_kinds_and_none_is_missing(seed: int) -> None:
    layer, machine = small(seed)
    if explained(seed, "energy") is None:
        pytest.skip("no mapping fits")
    by_set = BySet(layer, machine).by_set
    by_choice = {
        tuple(stored.values()): Enumeration(layer, forced(layer, machine, stored)).best
        for stored in bypasses(layer, machine)[:FEW_CHOICES]
    }
    for name in OBJECTIVES:
        explanation = explained(seed, name)
        assert explanation is not None
        optimum = explanation.optimum
        flow = dataflow(optimum.mapping, layer, machine)
        ceiling = optimum.proof.value * (1 + WITHIN) * (1 + 1e-12)
        sets = {own: best[name].value for own, best in by_set.items() if own != flow.spatial}
        found, by_bypass = {}, {}
        for one in explanation.runner_ups:
            assert one.proven
            assert one.value <= ceiling
            assert same(one.above + 1, one.value / optimum.proof.value)
            check(one.evaluation.mapping, layer, machine)
            if "spatial" in one.kinds:
                assert one.dataflow.spatial not in found
                found[one.dataflow.spatial] = one.value
            if "bypass" in one.kinds:
                assert one.dataflow.stored != flow.stored
                by_bypass[tuple(one.dataflow.stored.values())] = one.value
        within = {own: value for own, value in sets.items() if value <= ceiling}
        assert found.keys() == within.keys()
        assert all(same(value, within[own]) for own, value in found.items())
        for choice, bests in by_choice.items():
            value = inf if choice == tuple(flow.stored.values()) else bests[name].value
            assert same(by_bypass.get(choice, inf), value if value <= ceiling else inf), choice
        values = [one.value for one in explanation.runner_ups]
        assert values == sorted(values)
        mappings = [one.evaluation.mapping for one in explanation.runner_ups]
        assert len({*mappings, optimum.mapping}) == len(mappings) + 1


def compare_otherwise(explanation: Explanation, sets: Iterable[float]) -> None:
    layer, machine = explanation.optimum.layer, explanation.architecture
    flow = dataflow(explanation.optimum.mapping, layer, machine)
    otherwise = {one.kinds[0]: one for one in explanation.otherwise}
    best = {"spatial": min(sets, default=inf)}
    first = OthersFirst(layer, machine, run=False)
    first.held = flow.stationary
    kept = OthersKept(layer, machine, run=False)
    kept.held = flow.kept
    for respect, others in (("stationary", first), ("kept", kept)):
        for nest in others.all_nests():
            others.try_stores(nest)
        best[respect] = others.best[explanation.optimum.objective].value
    for respect, value in best.items():
        found = otherwise[respect].value if respect in otherwise else inf
        assert same(found, value), (explanation.optimum.objective, respect, flow)
    if "kept" in otherwise:
        assert otherwise["kept"].dataflow.kept != flow.kept
    if "stationary" in otherwise:
        own = otherwise["stationary"].dataflow.stationary
        assert set(own) - set(flow.stationary) or (not own and flow.stationary)
    values = [one.value for one in explanation.otherwise]
    assert values == sorted(values)


@pytest.mark.long
@pytest.mark.sampled(4)
@pytest.mark.parametrize("seed", SEEDS)
def test_nearest_other_dataflows_equal_enumeration(seed: int) -> None:
    layer, machine = small(seed)
    if explained(seed, "energy") is None:
        pytest.skip("no mapping fits")
    by_set = BySet(layer, machine).by_set
    for name in OBJECTIVES:
        explanation = explained(seed, name)
        assert explanation is not None
        own = dataflow(explanation.optimum.mapping, layer, machine).spatial
        compare_otherwise(
            explanation, [best[name].value for one, best in by_set.items() if one != own]
        )


@pytest.mark.sampled(4)
@pytest.mark.parametrize("words", [3, 4, 5, 7, 8, 11])
@pytest.mark.parametrize("bounds", [(4, 2, 4), (2, 4, 4), (4, 4, 2)])
def test_another_tensor_is_stationary_as_enumeration_says(
    words: int, bounds: tuple[int, int, int]
) -> None:
    registers = Memory("RF", 16, words * 16, read_energy=1.0, write_energy=2.0)
    machine = Architecture(
        "registers",
        (
            Memory("DRAM", 16, read_energy=20.0, write_energy=30.0),
            replace(registers, must_keep=frozenset("IWO")),
            Compute("MAC", 1.0),
        ),
    )
    m, n, k = bounds
    compare_otherwise(tw.explain(tw.matmul(M=m, N=n, K=k), machine), [])


def two_levels(size: int, **array: object) -> Architecture:
    return Architecture(
        "two levels",
        (
            Memory("DRAM", 16, read_energy=200.0, write_energy=200.0, shared_bandwidth=8.0),
            Memory("GLB", 16, size, read_energy=6.0, write_energy=6.0),
            Array("PE", {"X": 4}, bandwidth=1000.0, **array),  # type: ignore[arg-type]
            Compute("MAC", 1.0, leakage=0.0),
        ),
        1e9,
        (Constraint("PE", "X", frozenset("M")),),
    )


LAYER = tw.matmul(M=16, N=16, K=16)


def test_a_small_buffer_is_named_first() -> None:
    explanation = tw.explain(LAYER, two_levels(20 * 16))
    assert str(explanation.limits[0].limit) == "GLB capacity"
    assert explanation.binding[0] is explanation.limits[0]
    assert "GLB capacity (" in explanation.statement()
    assert "limited most by GLB capacity" in repr(explanation)


def test_gain_is_that_of_mapping_the_relaxed_machine() -> None:
    machine = two_levels(40 * 16)
    explanation = tw.explain(LAYER, machine, "edp")
    for one in explanation.limits:
        alone = tw.map(LAYER, one.limit.relaxed, "edp", cache=False).layers[0].proof.value
        assert same(one.value, alone)


def test_what_cannot_matter_is_not_searched_and_says_why() -> None:
    explanation = tw.explain(LAYER, two_levels(16 * 16 * 3 * 16))
    reasons = {str(one.limit): one.reason for one in explanation.limits}
    assert reasons["GLB capacity"] == "all of its tensors fit whole"
    assert reasons["DRAM bandwidth"] == reasons["PE bandwidth"] == "cycles do not count"
    assert reasons["PE size of axis X"] is None
    faster = tw.explain(LAYER, two_levels(16 * 16 * 3 * 16), "latency")
    assert {str(one.limit): one.reason for one in faster.limits}["DRAM bandwidth"] is None


def test_twice_the_elements_leak_as_much_as_before() -> None:
    machine = two_levels(40 * 16)
    levels = (*machine.levels[:-1], replace(machine.compute, leakage=5.0))
    leaky = replace(machine, levels=levels)
    longer = next(one for one in limits(leaky) if one.kind == "axis")
    mapping = tw.map(LAYER, leaky).layers[0]
    again = tw.evaluate(LAYER, longer.relaxed, mapping.mapping)
    assert again.energy_pj == mapping.evaluation.energy_pj


def test_the_same_explanation_comes_twice() -> None:
    once, twice = (json.loads(tw.explain(LAYER, "simple").to_json()) for _ in range(2))
    for data in (once, twice):
        data.pop("seconds")
        for key in ("seconds", "search_seconds", "cached"):
            data["optimum"]["proof"].pop(key)
    assert once == twice


def test_searches_at_the_same_time_share_nothing_that_changes() -> None:
    # each gives numbers to what it finds: with those of two threads mixed, tables did not fit
    (layer,) = (each for each in tw.load_workload("alexnet").layers if each.name == "conv3")
    search = Search(layer, tw.load_architecture("eyeriss"), "energy")
    one, two = (afresh(search, parse_objective("energy"), inf) for _ in range(2))
    for name in ("fitting", "reuse", "inner"):
        known = [getattr(each.tables, name) for each in (search, one, two)]
        assert len({id(each) for each in known}) == 3


def test_a_stopped_explanation_says_what_is_not_proven(monkeypatch: pytest.MonkeyPatch) -> None:
    from tilewright.mapper.explain import explain

    whole = tw.explain(LAYER, two_levels(20 * 16))
    mapped = tw.map(LAYER, two_levels(20 * 16), cache=False)
    asked = count()
    monkeypatch.setattr(explain.Budget, "take", lambda budget: lambda: next(asked) >= 0)
    monkeypatch.setattr(explain, "map_network", lambda *args, **options: mapped)
    stopped = tw.explain(LAYER, two_levels(20 * 16))
    assert not stopped.complete
    assert "Not proven" in stopped.text()
    assert "nothing found in time with another dataflow" in stopped.text()
    exact = {str(one.limit): one.gain for one in whole.limits}
    for one in stopped.limits:
        gain = exact[str(one.limit)]
        assert one.gain - 1e-12 <= gain <= one.most_gain + 1e-12
        assert not one.proven or one.reason is not None


def test_an_optimum_that_is_not_proven_is_not_explained(monkeypatch: pytest.MonkeyPatch) -> None:
    from tilewright.mapper.explain import explain

    mapped = tw.map(LAYER, two_levels(20 * 16), cache=False)
    (layer,) = mapped.layers
    guess = replace(layer, proof=replace(layer.proof, optimal=False, lower_bound=1.0, gap=0.5))
    unproven = replace(mapped, layers=(guess,))
    monkeypatch.setattr(explain, "map_network", lambda *args, **options: unproven)
    explanation = tw.explain(LAYER, two_levels(20 * 16))
    assert not explanation.complete
    assert explanation.limits == explanation.runner_ups == ()
    assert "the optimum itself" in explanation.text()


def test_limits_of_the_objective_hold_for_everything() -> None:
    fast = tw.map(LAYER, "simple", "latency").layers[0].evaluation.cycles
    explanation = tw.explain(LAYER, "simple", f"energy, latency<={fast}", within=0.2)
    for one in (*explanation.runner_ups, *explanation.otherwise):
        assert one.evaluation.cycles <= fast


def test_given_constraints_are_limits() -> None:
    explanation = tw.explain(LAYER, "simple", constraints=["PE.dims=M", "GLB.bypass=I"])
    named = {str(one.limit): one for one in explanation.limits}
    assert named["constraint PE.dims=M"].gain > 0
    assert named["constraint GLB.bypass=I"].proven
    for one in (*explanation.runner_ups, *explanation.otherwise):
        assert one.dataflow.spatial <= (frozenset("M"),)
        assert "I" not in one.dataflow.stored["GLB"]


def test_machines_that_forward_are_refused() -> None:
    with pytest.raises(InputError, match="forward"):
        tw.explain(LAYER, two_levels(20 * 16, forwarding=True))


@pytest.mark.parametrize("within", [-0.1, 5, "5%", True, float("nan")])
def test_what_is_no_share_is_refused(within: object) -> None:
    with pytest.raises(InputError, match=r"within.*from 0 to 1"):
        tw.explain(LAYER, "simple", within=within)  # type: ignore[arg-type]


def test_tables_have_a_row_per_limit_and_per_runner_up() -> None:
    explanation = tw.explain(LAYER, "simple", "edp", within=0.3)
    assert len(explanation.to_frame()) == len(explanation.limits)
    assert len(explanation.runner_ups_frame()) == len(explanation.runner_ups) + 1
    text, page = explanation.text(), explanation._repr_html_()
    for one in explanation.limits:
        assert str(one.limit) in text
        assert str(one.limit) in page
    assert "Everything above is proven" in text
    assert str(explanation) == text


def test_command_writes_text_and_json(capsys: pytest.CaptureFixture[str]) -> None:
    words = ["explain", "alexnet", "eyeriss", "--layer", "fc8", "--within", "1%"]
    assert main(words) == 0
    shown = capsys.readouterr().out
    assert "What limits it" in shown
    assert "Runner-ups within 1.0%" in shown
    assert main([*words, "--json", "-"]) == 0
    data = json.loads(capsys.readouterr().out)
    assert data["within"] == 0.01
    assert {one["limit"] for one in data["limits"]} >= {"GLB capacity", "PE size of axis X"}


@pytest.mark.parametrize("text", ["5", "five", "5%%", "-1%"])
def test_command_refuses_what_is_no_share(text: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", "alexnet", "eyeriss", "--layer", "fc8", f"--within={text}"]) == 2
    assert "error: --within: " in capsys.readouterr().err

"""Of mappings that cost the same, the one of the least memory is returned, then the simplest."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from math import isclose
from random import Random

import numpy as np
import pytest

import tilewright as tw
from enumeration import Enumeration, Floats
from problems import problem
from set_counts import NO_ARRAY, Chain, Nest
from strategies import layer_of
from tilewright.architecture.files import load_architecture
from tilewright.architecture.machine import Architecture, Array, Compute, Memory
from tilewright.mapper.canonical.polish import occupied, polished
from tilewright.mapper.canonical.same_words import same_words, windows
from tilewright.mapper.objective.objective import Objective
from tilewright.mapper.results.dataflow import dataflow
from tilewright.mapper.search import search as solve
from tilewright.mapper.search import ties
from tilewright.mapper.search.questions.restricted import stationary_alone
from tilewright.mapper.search.search import Search
from tilewright.mapping.constraints import under, violations
from tilewright.mapping.given import given_constraints
from tilewright.mapping.nodes import For, Mapping, Store
from tilewright.mapping.structure import resolve
from tilewright.mapping.text import mapping_text
from tilewright.mapping.validity import check
from tilewright.model.evaluate import evaluate
from tilewright.workload.einsum import einsum
from tilewright.workload.layer import Layer, Tensor
from tilewright.workload.network import load_network

OBJECTIVES = ("energy", "latency", "edp")
SAME = 1e-10


def found_by(layer: Layer, machine: Architecture, objective: str, polish: bool) -> Search:
    """Return a search that has ended, with or without the last step, which looks at no ties."""

    def last(search: Search, *_: object) -> tuple[Mapping, bool]:
        mapping, best = search.found.mapping, search.best
        assert mapping is not None
        if polish:
            cost = float(best[2]), float(best[3])
            mapping = polished(mapping, layer, search.architecture, search.space, cost)
        return mapping, False

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(solve, "least_of_ties", last)
        search = Search(layer, machine, objective)
        search.solve()
    return search


def used(mapping: Mapping, layer: Layer, machine: Architecture) -> list[int]:
    """Return the bits in each memory, the outermost first."""
    memories = evaluate(layer, machine, mapping).memories.values()
    return [memory.occupied_bits for memory in memories]


def loops(mapping: Mapping) -> int:
    return sum(isinstance(node, For) for node in mapping.nodes)


def in_general(machine: Architecture, seed: int) -> Architecture:
    """Return a machine on which different words never cost the same by chance."""
    random = Random(seed)
    levels = []
    for level in machine.levels:
        if isinstance(level, Memory):
            read, write = (
                e * (1 + random.random()) for e in (level.read_energy, level.write_energy)
            )
            levels.append(replace(level, read_energy=read, write_energy=write))
        elif isinstance(level, Array):
            levels.append(replace(level, hop_energy=0.1 + random.random()))
        else:
            levels.append(level)
    return replace(machine, levels=tuple(levels))


@dataclass
class LeastMemory(Enumeration):
    """The least bits in each memory of the best mappings, of all or of those like a given one.

    Attributes
    ----------
    given : Mapping
        They have its bypass choice and its spatial choices; without it they are all.
    objective : str
        What makes a mapping the best.
    least : tuple of float
        The objective and what comes next of the best mapping, to ten digits, then the bits.
    """

    given: Mapping | None = None
    objective: str = "energy"
    least: tuple[float, ...] = ()

    def all_nests(self) -> Iterator[Nest]:
        if self.given is None:
            yield from super().all_nests()
            return
        names = [array.name for array in self.arrays]
        own = factors(
            (names.index(loop.array), loop.dimension, loop.chunks)
            for loop in resolve(self.given, self.layer, self.architecture).loops
            if loop.array is not None
        )
        for nest in super().all_nests():
            found = factors(
                (loop.array, self.dimensions[loop.dimension], loop.chunks)
                for loop in nest.loops
                if loop.array != NO_ARRAY
            )
            if found == own:
                yield nest

    def chains(self, tensor: Tensor, nest: Nest) -> Iterator[Chain]:
        if self.given is None:
            yield from super().chains(tensor, nest)
            return
        stored = {
            n.memory for n in self.given.nodes if isinstance(n, Store) and tensor.name in n.tensors
        }
        wanted = [memory.name in stored for memory in self.memories]
        for chain in super().chains(tensor, nest):
            if [depth is not None for depth in chain] == wanted:
                yield chain

    def consider(
        self, sums: Floats, energy: Floats, cycles: Floats, nest: Nest, picks: list[list[Chain]]
    ) -> None:
        first = {"energy": energy, "latency": cycles, "edp": energy * cycles}[self.objective]
        then = cycles if self.objective == "energy" else energy
        costs = [[float(f"{x:.10g}") for x in each.tolist()] for each in (first, then)]
        rows = np.column_stack([*costs, sums[:, 1 + self.ports :]])
        best = tuple(rows[np.lexsort(rows.T[::-1])[0]].tolist())
        if not self.least or best < self.least:
            self.least = best


def factors(cuts: Iterable[tuple[int, str, int]]) -> dict[tuple[int, str], int]:
    """Return the product of the chunks of each array and dimension, where it is more than 1."""
    found: dict[tuple[int, str], int] = {}
    for array, dimension, chunks in cuts:
        if chunks > 1:
            found[array, dimension] = found.get((array, dimension), 1) * chunks
    return found


def slides(layer: Layer) -> bool:
    terms = [t for tensor in layer.tensors for t in tensor.expressions]
    return any(sum(layer.bounds[term.dimension] > 1 for term in each) > 1 for each in terms)


@pytest.mark.sampled(5)
@pytest.mark.parametrize("seed", range(2, 13))
def test_least_memory_equals_enumeration_where_nothing_slides(seed: int) -> None:
    compare(seed)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(13, 100))
def test_least_memory_equals_enumeration_of_many_problems(seed: int) -> None:
    compare(seed)


def compare(seed: int) -> None:
    layer, machine = problem(seed)
    if slides(layer):
        return
    machine = in_general(machine, seed)
    mapping = found_by(layer, machine, "energy", polish=True).found.mapping
    if mapping is None:
        return
    every = LeastMemory(layer, machine, given=mapping)
    assert tuple(used(mapping, layer, machine)[1:]) == every.least[2:]


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("objective", OBJECTIVES)
def test_nothing_costs_more_and_nothing_needs_more(seed: int, objective: str) -> None:
    not_worse(seed, objective)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(8, 400))
@pytest.mark.parametrize("objective", OBJECTIVES)
def test_nothing_costs_more_in_many_problems(seed: int, objective: str) -> None:
    not_worse(seed, objective)


def not_worse(seed: int, objective: str) -> None:
    layer, machine = problem(seed)
    before = found_by(layer, machine, objective, polish=False).found.mapping
    search = found_by(layer, machine, objective, polish=True)
    after = search.found.mapping
    if before is None:
        assert after is None
        return
    assert after is not None
    check(after, layer, machine)
    old, new = (evaluate(layer, machine, mapping) for mapping in (before, after))
    assert isclose(old.energy_pj, new.energy_pj, rel_tol=SAME)
    assert isclose(old.cycles, new.cycles, rel_tol=SAME)
    needs = [(used(mapping, layer, machine), loops(mapping)) for mapping in (after, before)]
    assert needs == sorted(needs)
    # nothing is left to do
    cost = new.energy_pj, float(new.cycles)
    assert polished(after, layer, machine, search.space, cost) == after


def test_a_tile_is_as_small_as_its_reuse_allows() -> None:
    layer, machine = einsum("O[M,N] += I[M,K] * W[K,N]", M=64, N=64, K=64), "simple"
    assert best(layer, machine) == [
        "DRAM stores I, W, O",
        "spatial K in 4 x 16 on PE.X",
        "spatial K in 16 x 1 on PE.Y",
        "RF stores I",
        "for N in 64 x 1",
        "RF stores W",
        "MAC computes M 64",
    ]


def test_a_tile_that_slides_grows_where_an_outer_memory_gains() -> None:
    # inputs that stay through all of K in the register files spare all but one channel of outputs
    layer = load_network("alexnet").layers[2]
    assert layer.bounds["K"] == 384
    assert best(layer, "simple")[:3] == [
        "DRAM stores I, W, O",
        "for K in 384 x 1",
        "GLB stores O",
    ]


def best(layer: Layer, machine: str) -> list[str]:
    """Return the lines of the mapping of the least energy."""
    architecture = load_architecture(machine)
    mapping = Search(layer, architecture, "energy").solve().mapping
    assert mapping is not None
    return [line.strip() for line in mapping_text(mapping, layer, architecture).splitlines()]


def test_loops_come_in_the_order_of_the_dimensions() -> None:
    layer = einsum("O[A,B,C] += I[A,B,C] * W[A,B,C]", A=2, B=3, C=5)
    machine = load_architecture("simple")
    search = Search(layer, machine, "energy")
    mapping = search.solve().mapping
    assert mapping is not None
    cost = evaluate(layer, machine, mapping)
    everything = Store("DRAM", ("I", "W", "O"))
    unordered = Mapping((everything, For("C", 1), For("A", 1), For("B", 1), Store("RF", ("O",))))
    value = evaluate(layer, machine, unordered)
    ordered = polished(
        unordered, layer, machine, search.space, (value.energy_pj, float(value.cycles))
    )
    assert cost.energy_pj <= value.energy_pj
    assert ordered.nodes == (
        everything, For("A", 1), For("B", 1), For("C", 1), Store("RF", ("O",)),
    )  # fmt: skip


def test_what_constraints_demand_stays() -> None:
    layer = layer_of("conv1d", {"K": 8, "P": 6, "C": 4, "R": 3})
    for text in ("RF.tile.K=4", "RF.min_utilization=0.5", "GLB.even=true", "RF.order=K,C"):
        plain = load_architecture("simple")
        machine = under(plain, given_constraints(text, plain, [layer]))
        mapping = Search(layer, machine, "energy").solve().mapping
        assert mapping is not None
        assert not violations(mapping, layer, machine)


def test_windows_side_by_side_are_no_windows() -> None:
    def sliding(expression: str, **bounds: int) -> bool:
        layer = einsum(f"O[K,P] += I[C,{expression}] * W[K,C,R]", K=2, C=2, **bounds)
        search = Search(layer, load_architecture("simple"), "energy")
        return bool((windows(layer, search.space) >= 0).any())

    assert sliding("P+R", P=4, R=3)
    assert sliding("2*P+R", P=4, R=3)
    assert not sliding("4*P+R", P=4, R=4)
    assert not sliding("P+4*R", P=4, R=3)


def test_tile_sizes_that_do_not_divide_are_left_alone() -> None:
    layer = einsum("O[M,N] += I[M,K] * W[K,N]", M=5, N=4, K=4)
    machine = load_architecture("simple")
    search = Search(layer, machine, "energy")
    mapping = Mapping((Store("DRAM", ("I", "W", "O")), For("M", 2), Store("GLB", ("W",))))
    assert same_words(mapping, layer, machine, search.space) is None
    assert polished(mapping, layer, machine, search.space, (0.0, 0.0)) == mapping


# bypass choices, spatial choices and tiles differ that cost the same
TIED = (9, 55, 70, 88)


@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    ("seed", "objective"), [*((seed, "energy") for seed in TIED), (9, "latency"), (88, "edp")]
)
def test_least_memory_of_all_ties_equals_enumeration(seed: int, objective: str) -> None:
    least(seed, objective)


@pytest.mark.slow
@pytest.mark.parametrize("objective", OBJECTIVES)
@pytest.mark.parametrize("seed", range(100, 300))
def test_least_memory_of_all_ties_equals_enumeration_of_many_problems(
    seed: int, objective: str
) -> None:
    least(seed, objective)


def least(seed: int, objective: str) -> None:
    layer, machine = problem(seed)
    every = LeastMemory(layer, machine, objective=objective)
    if not every.least:
        return
    result = tw.map(layer, machine, objective, tiles="divisors", cache=False).layers[0]
    if not result.proof.optimal:
        return  # windows of an output that overlap among instances
    assert result.proof.least_memory
    assert tuple(used(result.mapping, layer, machine)[1:]) == every.least[2:]
    if objective == "energy":
        # the same by another search, from a mapping that may need more
        before = found_by(layer, machine, objective, polish=False).found.mapping
        assert before is not None
        dear = replaced(result, least_memory=False)
        dear = replace(dear, mapping=before, evaluation=evaluate(layer, machine, before))
        found = tw.least_memory(dear)
        assert found.proven
        assert tuple(found.used.values()) == every.least[2:]
        assert list(found.used.values()) <= list(found.before.values())
        assert found.to_dict()["used_bits"] == found.used
        assert isclose(found.evaluation.energy_pj, result.evaluation.energy_pj, rel_tol=SAME)
        assert isclose(found.evaluation.cycles, result.evaluation.cycles, rel_tol=SAME)


def test_given_bypass_choices_are_polished() -> None:
    layer, machine = problem(TIED[0])
    keeps = Search(layer, machine, "energy").keeps()
    gained = 0
    for keep in keeps:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(solve, "polished_alike", lambda search: search.found.mapping)
            search = Search(layer, machine, "energy")
            before = search.solve(plans=search.plans([keep])).mapping
        search = Search(layer, machine, "energy")
        after = search.solve(plans=search.plans([keep])).mapping
        assert after is not None
        assert before is not None
        was, now = (dataflow(mapping, layer, machine) for mapping in (before, after))
        assert was == now
        assert used(after, layer, machine) <= used(before, layer, machine)
        gained += used(after, layer, machine) < used(before, layer, machine)
    assert gained


def test_what_is_stationary_stays_where_that_was_asked_for() -> None:
    layer, machine = problem(TIED[0])
    keeps = Search(layer, machine, "energy").keeps()
    for held in layer.tensors:
        part = Search(layer, machine, "energy")
        part.loop_anywhere()
        found = part.solve(plans=stationary_alone(part, held.name, keeps))
        if found.mapping is not None:
            assert held.name in dataflow(found.mapping, layer, machine).stationary


def test_mappings_that_move_other_words_may_need_less() -> None:
    """The problems above tell a look at all ties from one at those that move the same words."""
    for seed in TIED:
        layer, machine = problem(seed)
        same = found_by(layer, machine, "energy", polish=True).found.mapping
        best = Search(layer, machine, "energy").solve().mapping
        assert same is not None
        assert best is not None
        assert used(best, layer, machine) < used(same, layer, machine)


def test_nothing_is_found_in_less_room_afresh() -> None:
    """Tables that are made for smaller memories agree with those that were made for larger ones."""
    layer, machine = load_network("alexnet").layers[3], load_architecture("simple")
    search = Search(layer, machine, "edp")
    found = search.solve()
    assert found.least_memory
    assert found.mapping is not None
    energy, cycles = float(search.best[2]), float(search.best[3])
    within = Objective((1.0, 0.0), (0.0, 1.0), energy, cycles)
    bits = used(found.mapping, layer, machine)[1:]
    room: dict[str, int] = {}
    for memory, own in zip(machine.memories[1:], bits, strict=True):
        search.aim(within, with_capacities(machine, room | {memory.name: own - 1}))
        assert search.solve().mapping is None
        room[memory.name] = own


def with_capacities(machine: Architecture, bits: dict[str, int]) -> Architecture:
    """Return a machine some of whose memories have other capacities."""
    levels = [
        replace(level, capacity_bits=bits.get(level.name, level.capacity_bits))
        if isinstance(level, Memory)
        else level
        for level in machine.levels
    ]
    return replace(machine, levels=tuple(levels))


def test_a_search_that_looks_at_few_ties_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    layer, machine = problem(TIED[0])
    monkeypatch.setattr(solve, "FEW", -1)
    monkeypatch.setattr(ties, "SHARE", 0.0)
    few = tw.map(layer, machine, tiles="divisors", cache=False).layers[0]
    assert few.proof.optimal
    assert not few.proof.least_memory
    more = tw.least_memory(few)
    assert more.proven
    assert list(more.used.values()) < list(more.before.values())


@pytest.mark.parametrize("seed", range(12))
def test_bits_of_a_mapping_are_those_of_its_evaluation(seed: int) -> None:
    layer, machine = problem(seed)
    mapping = Search(layer, machine, "energy").solve().mapping
    if mapping is not None:
        assert occupied(mapping, layer, machine) == used(mapping, layer, machine)


def test_least_memory_is_that_of_a_proven_result_in_words() -> None:
    layer, machine = tw.matmul(M=8, N=6, K=4), tw.load_architecture("simple")
    good = tw.map(layer, machine, tiles="divisors", cache=False)
    result = good.layers[0]
    plain = Mapping((Store("DRAM", ("I", "W", "O")),))
    worse = replace(result, mapping=plain, evaluation=evaluate(layer, machine, plain))
    blocks = replace(result.evaluation, energy_pj=2 * result.evaluation.energy_pj)
    for wrong, says in (
        (good, "expected the result of one layer"),
        (replaced(result, optimal=False), "that of layer 'layer' is not"),
        (replaced(worse, tiles="all", least_memory=False), "that of layer 'layer' is not"),
        (replace(result, objective="dmc, energy"), "the costs of layer 'layer' are others"),
        (replace(result, evaluation=blocks), "the costs of layer 'layer' are others"),
    ):
        with pytest.raises(tw.InputError, match=says):
            tw.least_memory(wrong)
    with pytest.raises(tw.InputError, match="time_limit"):
        tw.least_memory(result, time_limit=-1)
    others = tw.map(layer, machine, tiles="all", cache=False).layers[0]
    assert others.proof.least_memory
    assert tw.least_memory(replaced(others, least_memory=False)).proven
    ended = tw.least_memory(replaced(result, least_memory=False), time_limit=1e-9)
    assert not ended.proven
    assert ended.mapping == result.mapping


def replaced(result: tw.LayerResult, **proof: object) -> tw.LayerResult:
    return replace(result, proof=replace(result.proof, **proof))


def test_least_memory_is_not_proven_where_words_move_free_of_charge() -> None:
    layer = einsum("O[I,J] += A[I,K,L] * B[K,J] * C[L,J]", I=1, J=1, K=2, L=2)
    machine = Architecture(
        "free",
        (
            Memory("M0", 16, read_energy=0.0, write_energy=0.0),
            Memory("M1", 16, 160, must_keep=frozenset({"W", "C"})),
            Compute("MAC", 1.0),
        ),
    )
    found = tw.map(layer, machine, tiles="divisors", cache=False).layers[0]
    assert found.proof.optimal
    assert not found.proof.least_memory
    assert not tw.least_memory(found).proven

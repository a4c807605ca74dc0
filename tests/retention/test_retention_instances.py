"""Optimal retention below arrays: each instance keeps its own best words."""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from operator import mul
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from strategies import architectures, dimensions_of, layer_of, layers, mappings
from tilewright.architecture.machine import Architecture, Array, Compute, Level, Memory
from tilewright.errors import InputError, MappingError
from tilewright.mapping.nodes import For, Mapping, Spatial, Store
from tilewright.mapping.structure import resolve
from tilewright.mapping.validity import element_bits
from tilewright.model.closed_form.words import S, U
from tilewright.model.evaluate import evaluate as evaluate_tiles
from tilewright.retention.evaluate import RetainingSimulation, evaluate, simulate
from tilewright.retention.instances.blocks import blocks_of, moves, strides
from tilewright.retention.instances.lockstep import groups, received, spills_of
from tilewright.retention.instances.moves import moved_words
from tilewright.retention.instances.nest import Trace
from tilewright.retention.policy import held, needs_of
from tilewright.workload.layer import Layer

Case = tuple[Layer, Architecture, Mapping]
quick = settings(max_examples=80, deadline=None, suppress_health_check=list(HealthCheck))


@st.composite
def retaining_instances(draw: Any, most: int = 40) -> Case:
    """Draw a layer, a machine some memories of which retain, most of them below arrays."""
    layer = draw(layers())
    levels: list[Level] = []
    for level in draw(architectures()).levels:
        if isinstance(level, Array):
            levels.append(replace(level, forwarding=False))
        elif isinstance(level, Memory) and levels and draw(st.integers(0, 3)):
            roomy = replace(level, capacity_bits=1 << 40, tensor_bits=None, buffering=1)
            levels.append(replace(roomy, retention="optimal"))
        else:
            levels.append(level)
    machine = Architecture("machine", tuple(levels))
    assume(any(memory.retention == "optimal" for memory in machine.memories))
    mapping = draw(mappings(layer, machine))
    structure = resolve(mapping, layer, machine)
    for i, level in enumerate(levels):
        if not isinstance(level, Memory) or level.retention == "tile":
            continue
        words = {t: structure.tile_words(level.name, t) for t in layer.tensors}
        bits = {t: element_bits(t, level) for t in words}
        if len(layer.tensors) == 3 and all(words.values()) and draw(st.booleans()):
            parts = {
                t.role: bits[t] * (words[t] + draw(st.integers(0, most))) for t in layer.tensors
            }
            levels[i] = replace(level, capacity_bits=sum(parts.values()), tensor_bits=parts)
        else:
            need = sum(-(-words[t] * bits[t] // 32) * 32 for t in words if words[t])
            levels[i] = replace(level, capacity_bits=need + 32 * (1 + draw(st.integers(0, most))))
    return layer, replace(machine, levels=tuple(levels)), mapping


@quick
@given(case=retaining_instances())
def test_evaluation_equals_simulation(case: Case) -> None:
    layer, machine, mapping = case
    try:
        expected = simulate(layer, machine, mapping)
    except MappingError as refused:
        with pytest.raises(MappingError, match="retains optimally: the output"):
            evaluate(layer, machine, mapping)
        assert "retains optimally: the output" in str(refused)
        return
    assert evaluate(layer, machine, mapping).to_dict() == expected.to_dict()


@quick
@given(case=retaining_instances())
def test_instances_never_receive_more_than_tiles(case: Case) -> None:
    layer, machine, mapping = case
    assume(accepted(case))
    kept = evaluate(layer, machine, mapping).counts
    tiles = evaluate_tiles(layer, machine, mapping, check=False).counts
    for memory in machine.memories:
        if memory.retention == "tile":
            continue
        for t in layer.tensors[:-1]:
            written = kept.memories[memory.name][t.name].writes
            assert written <= tiles.memories[memory.name][t.name].writes


@quick
@given(case=retaining_instances(), part=st.floats(0, 1))
def test_each_further_word_saves_no_more_than_the_one_before(case: Case, part: float) -> None:
    layer, machine, mapping = case
    assume(accepted(case))
    for hold in held(layer, machine, resolve(mapping, layer, machine)).values():
        needs = needs_of(hold.nest)
        room = round(part * max(0, needs.words - 2 - needs.block_words))
        shares = range(needs.block_words + room, needs.block_words + room + 3)
        moved = [received(hold.nest, [S] * len(hold.nest.loops), share) for share in shares]
        assert moved[0] - moved[1] >= moved[1] - moved[2] >= 0


@quick
@given(case=retaining_instances(), part=st.floats(0, 1))
def test_word_by_word_equals_loop_by_loop(case: Case, part: float) -> None:
    """Both ways to count what moves into an instance agree, where it idles, too."""
    layer, machine, mapping = case
    assume(accepted(case))
    for hold in held(layer, machine, resolve(mapping, layer, machine)).values():
        for _, members in groups(hold.nest, [U] * len(hold.nest.loops)):
            trace = members[-1][0]
            spills = spills_of(trace)
            share = spills.least + round(part * (spills.words - spills.least))
            moved, _, _ = moved_words(blocks_of(trace), share, False)
            assert spills.entries + spills(share) == moved


@quick
@given(case=retaining_instances(most=6))
def test_the_same_words_move(case: Case) -> None:
    """Not only as many: which of some words with the same next use stay is laid down."""
    layer, machine, mapping = case
    assume(accepted(case))
    structure = resolve(mapping, layer, machine)
    holds = held(layer, machine, structure)
    simulation = RetainingSimulation(layer, machine, structure, holds)
    for (memory, name), hold in holds.items():
        (link,) = [link for link in structure.links[name] if link.child == memory]
        cuts = [i for i in simulation.cuts if i < link.depth]
        expected = [
            {sum(map(mul, word, strides(hold.nest))) for word in words}
            for moved, _ in simulation.moves(link, cuts, frozenset())
            for instance, words in moved
            if words and not any(instance)
        ]
        chains = [hold.nest.chain(dimension) for dimension in hold.nest.dimensions]
        spatial = [[i for i in chain if hold.nest.loops[i].array] for chain in chains]
        first = Trace(hold.nest, tuple((0,) * len(each) for each in spatial))
        step, word = moves(first, hold.share)
        found = [{int(w) for w in word[step == each]} for each in np.unique(step)]
        assert found == expected


@pytest.mark.parametrize(
    ("bounds", "message"),
    [
        ({"K": 2, "C": 80000, "P": 1000, "R": 3}, "I has 80160000 words and they would"),
        pytest.param(
            {"K": 60, "C": 2000, "P": 1000, "R": 3},
            "need more than 50000000 words",
            marks=pytest.mark.slow,
        ),
    ],
)
def test_what_cannot_be_followed_is_refused(bounds: dict[str, int], message: str) -> None:
    """Words of overlapping windows are followed one by one, up to a number of them."""
    nodes = (Store("DRAM", ("I", "W", "O")), For("K", 1), For("C", 1), Spatial("P", 500, "X", "PE"))
    memory = Memory("RF", 16, 1 << 20, retention="optimal")
    machine = Architecture(
        "machine", (Memory("DRAM", 16), Array("PE", {"X": 2}), memory, Compute("MAC"))
    )
    with pytest.raises(InputError, match=message):
        evaluate(layer_of("conv1d", bounds), machine, Mapping((*nodes, Store("RF", ("I",)))))


def accepted(case: Case) -> bool:
    """Whether nothing has to be known of partial sums that cannot be."""
    layer, machine, mapping = case
    try:
        held(layer, machine, resolve(mapping, layer, machine))
    except MappingError:
        return False
    return True


@quick
@given(data=st.data())
def test_shares_left_open_move_the_fewest_bits(data: st.DataObject) -> None:
    """No division of a small memory below an array moves less into its instances."""
    kind = data.draw(st.sampled_from(["conv1d", "matmul", "pooling"]))
    layer = layer_of(kind, {d: data.draw(st.integers(2, 5)) for d in dimensions_of(kind)})
    memory = Memory("RF", 16, 1 << 30, retention="optimal")
    levels = (Memory("DRAM", 16), Array("PE", {"X": 3}), memory, Compute("MAC"))
    machine = Architecture("machine", levels)
    mapping = data.draw(mappings(layer, machine))
    structure = resolve(mapping, layer, machine)
    least = {t.name: words for t in layer.tensors if (words := structure.tile_words("RF", t))}
    assume(least)
    words = sum(least.values()) + data.draw(st.integers(0, 6))
    small = replace(memory, capacity_bits=16 * words)
    holds = held(layer, replace(machine, levels=(*levels[:2], small, levels[3])), structure)
    nests = {name: hold.nest for (_, name), hold in holds.items()}

    def moved(shares: dict[str, int]) -> int:
        return sum(
            received(nest, [S] * len(nest.loops), shares[name]) * (2 if name == "O" else 1)
            for name, nest in nests.items()
        )

    divisions = (
        dict(zip(least, division, strict=True))
        for division in product(*(range(each, words + 1) for each in least.values()))
        if sum(division) <= words
    )
    chosen = moved({name: hold.share for (_, name), hold in holds.items()})
    assert chosen == min(map(moved, divisions))

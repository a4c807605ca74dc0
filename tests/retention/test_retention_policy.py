"""Machines whose memories retain optimally: evaluated as simulated, and divided at its best."""

from __future__ import annotations

import json
from dataclasses import replace
from itertools import permutations, product
from math import inf, lcm
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import tilewright
from accesses import accesses, convolution
from strategies import architectures, layers, mappings
from tilewright.architecture.machine import Architecture, Array, Compute, Memory
from tilewright.architecture.reading import parse_architecture
from tilewright.architecture.writing import dump_architecture
from tilewright.document import parse
from tilewright.errors import InputError, MappingError
from tilewright.mapping.nodes import For, Mapping, Store
from tilewright.mapping.structure import resolve
from tilewright.mapping.validity import element_bits
from tilewright.model.evaluate import evaluate as evaluate_tiles
from tilewright.retention.evaluate import evaluate, simulate
from tilewright.retention.partition import Claim, divide
from tilewright.retention.spills.access import Access
from tilewright.retention.spills.count import SpillCounter
from tilewright.retention.spills.curve import Curve, spill_curve
from tilewright.workload.einsum import einsum
from tilewright.workload.layer import Layer

Case = tuple[Layer, Architecture, Mapping]
KNOWN = json.loads((Path(__file__).parents[1] / "data" / "cnnflow_spills.json").read_text())
quick = settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))


@st.composite
def retaining_cases(draw: Any) -> Case:
    """Draw a layer, a machine whose second memory retains optimally, and a mapping that fits."""
    layer = draw(layers())
    roomy = draw(architectures())
    levels = sorted(roomy.levels, key=lambda level: ["DRAM", "M1"].count(level.name), reverse=True)
    outer, memory, *inner = levels
    assert isinstance(memory, Memory)
    bare = Memory(memory.name, memory.word_bits, 1 << 40, keep=memory.keep, retention="optimal")
    machine = replace(roomy, levels=(outer, bare, *inner))
    mapping = draw(mappings(layer, machine))
    structure = resolve(mapping, layer, machine)
    stored = [t for t in layer.tensors if ("M1", t.name) in structure.depths]
    depths = {t.name: structure.depths["M1", t.name] for t in stored}
    access = {t.name: Access.of(layer, t, structure.loops[: depths[t.name]]) for t in stored}
    bits = {t.name: element_bits(t, bare) for t in stored}
    kind = draw(st.sampled_from(["parts", "banks", "words"]))
    if kind == "parts" and len(stored) == len(layer.tensors) == 3:
        parts = {
            t.role: bits[t.name] * (access[t.name].block_words + draw(st.integers(0, 60)))
            for t in stored
        }
        memory = replace(bare, capacity_bits=sum(parts.values()), tensor_bits=parts)
    else:
        unit = lcm(*bits.values()) * (draw(st.integers(1, 9)) if kind == "banks" else 1)
        held = {n: unit // width for n, width in bits.items()}
        least = sum(-(-access[n].block_words // held[n]) for n in bits)
        count = max(least, 1) + draw(st.integers(0, 30))
        memory = replace(bare, capacity_bits=count * unit, banks=count if kind == "banks" else None)
    return layer, replace(machine, levels=(outer, memory, *inner)), mapping


@quick
@given(case=retaining_cases())
def test_evaluation_equals_simulation(case: Case) -> None:
    layer, machine, mapping = case
    expected = simulate(layer, machine, mapping, check=False)
    assert evaluate(layer, machine, mapping, check=False).to_dict() == expected.to_dict()


@quick
@given(case=retaining_cases())
def test_only_the_traffic_above_falls(case: Case) -> None:
    layer, machine, mapping = case
    kept = evaluate(layer, machine, mapping, check=False).counts
    tiles = evaluate_tiles(layer, machine, mapping, check=False).counts
    for memory, tensors in kept.memories.items():
        for tensor, counts in tensors.items():
            plain = tiles.memories[memory][tensor]
            assert counts.reads <= plain.reads
            assert counts.writes <= plain.writes
            if memory not in ("DRAM", "M1"):
                assert counts == plain
    assert kept.networks == tiles.networks


@quick
@given(data=st.data())
def test_greedy_division_is_optimal(data: st.DataObject) -> None:
    small = accesses(steps=80, words=80)
    claims = [
        Claim(
            spill_curve(data.draw(small)),
            data.draw(st.sampled_from([1, 2, 3, 8])),
            data.draw(st.sampled_from([1, 2, 32])),
        )
        for _ in range(data.draw(st.integers(1, 3)))
    ]
    units = sum(claim.least for claim in claims) + data.draw(st.integers(0, 10))
    shares = divide(claims, units)
    assert shares is not None and sum(shares) <= units

    def cost(division: tuple[int, ...] | list[int]) -> int:
        return sum(claim.cost(n) for claim, n in zip(claims, division, strict=True))

    ranges = [range(claim.least, units + 1) for claim in claims]
    assert cost(shares) == min(cost(d) for d in product(*ranges) if sum(d) <= units)
    # what is left over would save nothing
    assert sum(shares) == units or cost(shares) == 0
    assert divide(claims, sum(claim.least for claim in claims) - 1) is None


def test_division_follows_the_savings() -> None:
    steep = Curve(((2, 90), (5, 0)))
    shallow = Curve(((2, 40), (4, 20), (14, 0)))
    assert divide([Claim(steep, 1), Claim(shallow, 1)], 9) == [5, 4]
    assert divide([Claim(steep, 1), Claim(shallow, 1, weight=4)], 6) == [2 + 0, 4]
    assert divide([Claim(steep, 1), Claim(shallow, 1)], 100) == [5, 14]


LAYER = einsum("O[K,P] += I[C,P+R] * W[K,C,R]", K=6, C=4, P=12, R=3)
NODES = (
    Store("DRAM", ("I", "W", "O")), For("K", 1), For("C", 2), For("P", 4),
    Store("BUF", ("I", "W", "O")),
)  # fmt: skip


def buffer(**keys: Any) -> Architecture:
    memory = Memory("BUF", 16, read_energy=1, write_energy=1, **({"retention": "optimal"} | keys))
    return Architecture(
        "machine", (Memory("DRAM", 16, read_energy=100, write_energy=100), memory, Compute("MAC"))
    )


def test_shares_of_a_memory_that_is_left_open() -> None:
    words = 56
    result = evaluate(LAYER, buffer(capacity_bits=16 * words), Mapping(NODES))
    shares = result.memories["BUF"].shares
    assert shares is not None and sum(shares.values()) <= words
    structure = resolve(Mapping(NODES), LAYER, buffer(capacity_bits=1 << 20))
    counters = {
        t.name: SpillCounter(Access.of(LAYER, t, structure.loops[:3])) for t in LAYER.tensors
    }

    def moved(i: int, w: int, o: int) -> int:
        return counters["I"](i) + counters["W"](w) + 2 * counters["O"](o)

    least = [counters[name].access.block_words for name in "IWO"]
    divisions = product(*(range(fewest, words + 1) for fewest in least))
    best = min(moved(*division) for division in divisions if sum(division) <= words)
    assert moved(shares["I"], shares["W"], shares["O"]) == best
    dram = result.counts.memories["DRAM"]
    compulsory = sum(counter.access.words for counter in counters.values())
    assert sum(c.reads + c.writes for c in dram.values()) == compulsory + best
    assert result.memories["BUF"].occupied_bits == 16 * sum(shares.values())


def test_banks_hold_one_tensor_each() -> None:
    machine = buffer(capacity_bits=16 * 60, banks=6)
    shares = evaluate(LAYER, machine, Mapping(NODES)).memories["BUF"].shares
    assert shares is not None
    assert all(words % 10 == 0 or words == 48 for words in shares.values())
    with pytest.raises(MappingError, match="divided into 4 parts of 160 bits"):
        evaluate(
            replace(LAYER, bounds=LAYER.bounds | {"K": 6}),
            buffer(capacity_bits=16 * 40, banks=4),
            Mapping((*NODES[:1], For("K", 2), *NODES[2:])),
        )


def test_given_parts_are_the_shares() -> None:
    parts = {"I": 16 * 30, "W": 16 * 6, "O": 16 * 4}
    machine = buffer(capacity_bits=16 * 40, tensor_bits=parts)
    result = evaluate(LAYER, machine, Mapping(NODES))
    assert result.memories["BUF"].shares == {"I": 30, "W": 6, "O": 4}
    assert result.to_dict()["memories"]["BUF"]["shares_words"] == {"I": 30, "W": 6, "O": 4}
    assert "BUF retains optimally, shares in words: I 30, W 6, O 4" in result.text()
    assert "shares_words" not in result.to_dict()["memories"]["DRAM"]


def test_a_large_buffer_leaves_the_compulsory_traffic() -> None:
    result = evaluate(LAYER, buffer(capacity_bits=1 << 20), Mapping(NODES))
    dram = result.counts.memories["DRAM"]
    assert {t: (c.reads, c.writes) for t, c in dram.items()} == {
        "I": (56, 0), "W": (72, 0), "O": (0, 72),
    }  # fmt: skip


def test_partial_sums_leave_with_the_tile_above() -> None:
    inner = Memory("L1", 16, 16 * 100, retention="optimal")
    machine = buffer(capacity_bits=1 << 20, retention="tile")
    machine = replace(machine, levels=(*machine.levels[:2], inner, machine.levels[2]))
    for nodes in (
        (*NODES, For("C", 1), Store("L1", ("I", "W", "O"))),
        (*NODES, For("P", 2), Store("L1", ("I", "W"))),
        (NODES[0], Store("BUF", ("O",)), *NODES[1:4], Store("L1", ("I", "W", "O"))),
        (NODES[0], For("C", 2), Store("BUF", ("W", "O")), For("K", 4), For("P", 3), For("C", 1),
         Store("BUF", ("I",)), Store("L1", ("I", "W", "O"))),
    ):  # fmt: skip
        found = evaluate(LAYER, machine, Mapping(nodes))
        assert found.to_dict() == simulate(LAYER, machine, Mapping(nodes)).to_dict()
        assert found.memories["L1"].shares
    # L1 has room for all of O, but C is cut outside its tiles in BUF: each word leaves twice
    nodes = (NODES[0], For("C", 2), For("K", 1), Store("BUF", ("O",)), Store("L1", ("I", "W", "O")))
    moved = evaluate(LAYER, machine, Mapping(nodes)).counts.memories
    assert moved["BUF"]["O"].writes == 72 + 2 * 72
    assert moved["L1"]["O"].writes == 72 + LAYER.operations


@pytest.mark.parametrize(
    ("text", "retention", "above", "message"),
    [
        ("O[K,P] += I[C,P+R] * W[K,C,R]", "optimal", For("K", 1), "'BUF', which retains some of"),
        ("O[K,P+R] += I[C,P] * W[K,C,R]", "tile", For("P", 2), "'BUF', which moves along its win"),
    ],
)
def test_where_partial_sums_cannot_be_followed(
    text: str, retention: str, above: For, message: str
) -> None:
    layer = einsum(text, K=6, C=4, P=12, R=3)
    inner = Memory("L1", 16, 16 * 100, retention="optimal")
    machine = buffer(capacity_bits=16 * 14, retention=retention)
    machine = replace(machine, levels=(*machine.levels[:2], inner, machine.levels[2]))
    mapping = Mapping((NODES[0], For("C", 2), above, Store("BUF", ("O",)), Store("L1", ("O",))))
    for run in (evaluate, simulate):
        with pytest.raises(MappingError, match=message):
            run(layer, machine, mapping, check=False)


FILE = """
name: machine
levels:
  - {memory: DRAM, word: 16 bits, energy: 100%s}
  - {memory: BUF, size: 120 B, word: 16 bits, energy: 1, retention: %s}
%s  - {compute: MAC, energy: 1}
"""
RF = "  - {array: PE, axes: {X: 2}}\n  - {memory: RF, size: 8 B, word: 16 bits, energy: 1%s}\n"


def test_architecture_files() -> None:
    machine = parse_architecture(parse(FILE % ("", "optimal", RF % "")))
    assert [m.retention for m in machine.memories] == ["tile", "optimal", "tile"]
    assert parse_architecture(parse(dump_architecture(machine))) == machine


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (FILE % (", retention: optimal", "tile", ""), "the outermost memory holds every word"),
        (
            (FILE % ("", "tile", RF % ", retention: optimal")).replace(
                "X: 2}", "X: 2}, network: {forwarding: true}"
            ),
            "array 'PE' above it has 'forwarding: true'",
        ),
        (FILE % ("", "optimal, buffering: double", ""), "it goes with 'buffering: single'"),
        (FILE % ("", "optimum", ""), "should be 'tile' or 'optimal'"),
    ],
)
def test_where_retention_is_not_defined(text: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        parse_architecture(parse(text))


def test_machines_made_in_python_are_checked() -> None:
    inner = Memory("RF", 16, 160, retention="optimal")
    levels = (Memory("DRAM", 16), Array("PE", {"X": 2}, forwarding=True), inner, Compute("MAC"))
    mapping = Mapping((NODES[0], Store("RF", ("I", "W", "O"))))
    with pytest.raises(InputError, match="array 'PE' above it has 'forwarding: true'"):
        evaluate(LAYER, Architecture("m", levels), mapping, check=False)
    between = Memory("L1", 16, 1600, keep=frozenset("O"))
    with pytest.raises(MappingError, match="through 'PE' with forwarding"):
        evaluate(
            LAYER, Architecture("m", (*levels[:2], between, *levels[2:])), mapping, check=False
        )
    unbounded = evaluate(LAYER, buffer(), Mapping(NODES))
    assert unbounded.memories["BUF"].shares == {"I": 56, "W": 72, "O": 72}


def test_other_searches_refuse_it() -> None:
    machine = buffer(capacity_bits=1 << 20)
    for search in (
        lambda: tilewright.pareto(LAYER, machine),
        lambda: tilewright.explain(LAYER, machine),
        lambda: tilewright.frontier(LAYER, machine, ["BUF"]),
        lambda: tilewright.compare(LAYER, machine),
        lambda: tilewright.mapspace(LAYER, machine),
    ):
        with pytest.raises(InputError, match="'optimal' retention, which this search"):
            search()


def test_public_functions_honour_it() -> None:
    machine = buffer(capacity_bits=16 * 56)
    found = tilewright.evaluate(LAYER, machine, Mapping(NODES))
    assert found.to_dict() == tilewright.simulate(LAYER, machine, Mapping(NODES)).to_dict()
    assert found.energy_pj < evaluate_tiles(LAYER, machine, Mapping(NODES)).energy_pj


def test_a_large_layer_is_not_simulated() -> None:
    large = einsum("O[K,P] += I[C,P+R] * W[K,C,R]", K=600, C=400, P=12, R=3)
    with pytest.raises(InputError, match="accepts at most 2000000"):
        tilewright.simulate(large, buffer(capacity_bits=1 << 20), Mapping(NODES))


@pytest.mark.parametrize("case", KNOWN["exhaustive_optima"], ids=lambda case: case["banks"])
def test_known_optima_over_orders_and_blocks(case: dict[str, Any]) -> None:
    """Every order and blocking of a small layer, its banks divided by savings."""
    bounds, blocked = case["layer"], case["loops_blocked"]
    sizes = [sorted({-(-bounds[d] // n) for n in range(1, bounds[d] + 1)}) for d in blocked]
    costs = []
    for blocks in product(*sizes):
        tiles = bounds | dict(zip(blocked, blocks, strict=True))
        for order in permutations([d for d in blocked if tiles[d] < bounds[d]]):
            claims = [
                Claim(
                    spill_curve(convolution(tensor, bounds, "".join(order), tiles)),
                    case["bank_elements"],
                    2 if tensor == "O" else 1,
                )
                for tensor in "IWO"
            ]
            units = divide(claims, case["banks"])
            costs.append(
                inf if units is None else sum(c.cost(n) for c, n in zip(claims, units, strict=True))
            )
    assert len(costs) == case["configs"]
    assert min(costs) == case["optimum_Ad_sim"]

"""What fused mappings mean, on cases whose counts are known."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fused_cases import random_machine, random_segment, random_tree
from tilewright.architecture.machine import Architecture, Array, Compute, Memory
from tilewright.counts import Counts
from tilewright.document import Document
from tilewright.errors import MappingError
from tilewright.fusion import FusedEvaluation, evaluate, parse_fused, simulate
from tilewright.mapping.fused.notation.text import fused_text, parse_fused_text
from tilewright.mapping.fused.tree import Branch, Fuse, FusedMapping
from tilewright.mapping.nodes import Mapping, Store
from tilewright.model.count import count
from tilewright.workload.layer import Network
from tilewright.workload.network import parse_network


def machine(capacity: int | None = None, **keys: Any) -> Architecture:
    """Return a machine of DRAM, a buffer of so many words and one unit."""
    bits = None if capacity is None else 16 * capacity
    return Architecture(
        "small",
        (
            Memory("DRAM", 16, read_energy=200.0, write_energy=200.0),
            Memory("GLB", 16, capacity_bits=bits, read_energy=6.0, write_energy=6.0, **keys),
            Compute("MAC", energy=1.0),
        ),
    )


def network(*layers: dict[str, Any], **inputs: list[int]) -> Network:
    """Return a network of connected layers."""
    data = {"name": "net", "layers": list(layers), "inputs": inputs}
    return parse_network(Document(data, "net"))


def product(name: str, m: int, k: int, n: int, reads: str, makes: str) -> dict[str, Any]:
    """Return a matrix product that reads and makes some tensors."""
    tensors = {"I": reads, "O": makes}
    return {"name": name, "op": "matmul", "M": m, "K": k, "N": n, "tensors": tensors}


def chain(m: int = 8, k: int = 4, n: int = 6, j: int = 5) -> Network:
    """Return two matrix products, the second of what the first makes."""
    return network(product("fc1", m, k, n, "X", "H"), product("fc2", m, n, j, "H", "Y"), X=[m, k])


def window(p: int = 8, r: int = 3) -> Network:
    """Return a layer and a window over its output."""
    return network(
        {"name": "a", "einsum": "O[P,Q] += I[P,Q]", "bounds": {"P": p, "Q": p},
         "tensors": {"I": "X", "O": "H"}},
        {"name": "b", "einsum": "O[P,Q] += I[P+R,Q+S] * W[R,S]",
         "bounds": {"P": p - r + 1, "Q": p - r + 1, "R": r, "S": r},
         "tensors": {"I": "H", "O": "Y"}},
        X=[p, p],
    )  # fmt: skip


def priced(net: Network, arch: Architecture, mapping: Any) -> FusedEvaluation:
    """Return what a mapping costs; the simulator has to agree."""
    ((found, tree),) = parse_fused(mapping, net, arch).segments
    result = evaluate(found, arch, tree)
    assert simulate(found, arch, tree).counts == result.counts
    return result


def test_an_intermediate_never_leaves_the_memory_that_holds_it() -> None:
    tree = [
        {"store": "DRAM"},
        {"for": "M", "tile": 2},
        {"store": "GLB", "tensors": ["H"]},
        {"fuse": [{"layer": "fc1", "nodes": []}, {"layer": "fc2", "nodes": []}]},
    ]
    found = priced(chain(), machine(), tree)
    assert (found.tensors["DRAM"]["H"].reads, found.tensors["DRAM"]["H"].writes) == (0, 0)
    # 8 x 6 sums of 4 products; each of the 48 words is read for 5 columns
    h = found.tensors["GLB"]["H"]
    assert (h.reads, h.writes, h.peak) == (48 * 3 + 48 * 5, 48 * 4, 2 * 6)


def test_fusing_saves_what_the_intermediate_cost_outside() -> None:
    """An intermediate of W words saves 2 W accesses of DRAM and 2 W of the buffer."""
    whole = {"store": "GLB", "tensors": ["H"]}
    branches = [{"layer": "fc1", "nodes": []}, {"layer": "fc2", "nodes": []}]
    fused = priced(chain(), machine(), [{"store": "DRAM"}, whole, {"fuse": branches}])
    inside = {"store": "GLB", "tensors": ["O"]}, {"store": "GLB", "tensors": ["I"]}
    apart = [{"layer": f"fc{i + 1}", "nodes": [inside[i]]} for i in range(2)]
    both = [{"store": "DRAM", "tensors": ["X", "fc1.W", "H", "fc2.W", "Y"]}, {"fuse": apart}]
    unfused = priced(chain(), machine(), both)
    assert unfused.energy_pj - fused.energy_pj == 2 * 48 * (200 + 6)


@settings(max_examples=60, deadline=None)
@given(random=st.randoms(use_true_random=False))
def test_without_shared_nodes_layers_count_as_they_do_alone(random: Any) -> None:
    segment, arch = random_segment(random), random_machine(random)
    drawn = random_tree(random, segment, ("retain",))
    branches = [
        Branch(branch.layer, tuple(n for n in branch.nodes if getattr(n, "memory", "RF") == "RF"))
        for branch in drawn.leaves()
    ]
    everything = Store("DRAM", tuple(segment.tensor_of))
    found = evaluate(segment, arch, FusedMapping((everything, Fuse(tuple(branches)))), check=False)
    for branch in branches:
        layer = segment.layer_of[branch.layer or ""]
        stores = Store("DRAM", tuple(tensor.name for tensor in layer.tensors))
        nodes = [stores, *branch.nodes]
        if any(node.tile > layer.bounds[node.dimension] for node in branch.nodes if tiled(node)):
            continue
        alone = count(layer, arch, Mapping(tuple(nodes)))  # type: ignore[arg-type]
        fused = found.layers[layer.name].counts
        assert moved(fused) == moved(alone)
        assert (fused.steps, fused.networks) == (alone.steps, alone.networks)


def tiled(node: Any) -> bool:
    """Return whether a node is a loop."""
    return not isinstance(node, Store)


def moved(counts: Counts) -> dict[tuple[str, str], tuple[int, int]]:
    """Return reads and writes by memory and tensor."""
    return {
        (memory, tensor): (part.reads, part.writes)
        for memory, tensors in counts.memories.items()
        for tensor, part in tensors.items()
    }


@pytest.mark.parametrize("mode", ["retain", "recompute"])
def test_halos_by_hand(mode: str) -> None:
    """Tiles of 1 x 1 of a 3 x 3 window: rows are retained as a line buffer, or made again."""
    tree = {
        "mapping": [
            {"store": "DRAM"},
            {"for": "b.P", "tile": 1},
            {"for": "b.Q", "tile": 1},
            {"store": "GLB", "tensors": ["H"]},
            {"fuse": [{"layer": "a", "nodes": []}, {"layer": "b", "nodes": []}]},
        ],
        "halos": {"H": {"P": mode, "Q": mode}},
    }
    found = priced(window(), machine(), tree)
    if mode == "retain":
        assert found.repeated_operations == 0
        # two whole rows and three words of the next one: nothing else is needed any more
        assert found.counts.stores[-1].peak == 2 * 8 + 3
    else:
        assert found.layers["a"].operations == 36 * 9
        assert found.repeated_operations == 36 * 9 - 64
        assert found.counts.stores[-1].peak == 9


def test_refetched_halos_come_from_the_memory_above() -> None:
    tree = {
        "mapping": [
            {"store": "DRAM", "tensors": ["X", "H", "b.W", "Y"]},
            {"for": "b.P", "tile": 1},
            {"for": "b.Q", "tile": 1},
            {"store": "GLB", "tensors": ["H"]},
            {"fuse": [{"layer": "a", "nodes": []}, {"layer": "b", "nodes": []}]},
        ],
        "halos": {"H": {"P": "refetch", "Q": "refetch"}},
    }
    found = priced(window(), machine(), tree)
    dram = found.tensors["DRAM"]["H"]
    assert dram.writes == 64
    # in each of the 5 rows of tiles after the first one, the two rows above come back once
    assert dram.reads == 5 * 2 * 8
    assert found.counts.stores[-1].peak == 9


def test_room_is_that_of_all_tiles_alive_at_once() -> None:
    tree = [
        {"store": "DRAM"},
        {"for": "M", "tile": 2},
        {"store": "GLB", "tensors": ["H"]},
        {"fuse": [
            {"layer": "fc1", "nodes": [{"store": "GLB", "tensors": ["W"]}]},
            {"layer": "fc2", "nodes": [{"store": "GLB", "tensors": ["W"]}]},
        ]},
    ]  # fmt: skip
    # H is 2 x 6; the weights take turns: 4 x 6, then 6 x 5
    found = priced(chain(), machine(12 + 30), tree)
    assert found.rooms["GLB"].bits == 16 * (12 + 30)
    assert found.rooms["GLB"].layer == "fc2"
    with pytest.raises(Exception, match="while layer 'fc2' runs, the tiles in 'GLB' need 672 bits"):
        priced(chain(), machine(12 + 29), tree)


# M1, N1, K1, mM1 (rows of a tile), then bits from memory to the buffer, and back: RTL simulation of
# a fused chain on a 16 x 16 systolic array, S. Zheng et al., TileFlow, MICRO 2023 (artifact)
TILEFLOW = [
    (512, 512, 64, 16, 34078720, 524288),
    (512, 512, 64, 32, 17301504, 524288),
    (256, 256, 64, 16, 8650752, 262144),
    (256, 256, 64, 32, 4456448, 262144),
    (256, 256, 64, 64, 2359296, 262144),
    (256, 256, 80, 16, 10813440, 327680),
    (256, 256, 80, 32, 5570560, 327680),
    (256, 256, 80, 64, 2949120, 327680),
    (512, 256, 48, 16, 12976128, 393216),
    (512, 256, 48, 32, 6684672, 393216),
]


@pytest.mark.parametrize(("m", "n", "k", "rows", "to_buffer", "to_memory"), TILEFLOW)
def test_traffic_of_fused_chains_in_rtl(
    m: int, n: int, k: int, rows: int, to_buffer: int, to_memory: int
) -> None:
    arch = Architecture(
        "systolic",
        (
            Memory("DRAM", 16),
            Memory("BUF", 16),
            Array("PE", {"X": 16, "Y": 16}),
            Memory("REG", 16),
            Compute("MAC"),
        ),
    )
    nodes = [
        {"store": "BUF"},
        {"for": "K", "tile": 16},
        {"for": "N", "tile": 16},
        {"spatial": "K", "tile": 1, "axis": "Y"},
        {"spatial": "N", "tile": 1, "axis": "X"},
        {"store": "REG", "tensors": ["W"]},
    ]
    inner = [dict(node) for node in nodes]
    inner[0] = {"store": "BUF", "tensors": ["I", "W"]}
    last = [dict(node) for node in nodes]
    last[0] = {"store": "BUF", "tensors": ["W", "O"]}
    tree = [
        {"store": "DRAM"},
        {"for": "M", "tile": rows},
        {"store": "BUF", "tensors": ["H"]},
        {"fuse": [{"layer": "fc1", "nodes": inner}, {"layer": "fc2", "nodes": last}]},
    ]
    net = chain(m, k, n, k)
    ((found, mapping),) = parse_fused(tree, net, arch).segments
    dram = evaluate(found, arch, mapping).tensors["DRAM"].values()
    assert sum(part.reads for part in dram) * 16 == to_buffer
    assert sum(part.writes for part in dram) * 16 == to_memory


def test_nodes_have_to_suit_the_turns_that_use_them() -> None:
    # turns of the first layer have 4, 2 and 2 rows; there are elements for 2
    arch = machine()
    arch = Architecture("array", (*arch.levels[:2], Array("PE", {"X": 2}), arch.levels[2]))
    spatial = [{"spatial": "P", "tile": 1, "axis": "X"}]
    first = {"layer": "a", "nodes": spatial}
    tree = [
        {"store": "DRAM"},
        {"for": "b.P", "tile": 2},
        {"store": "GLB", "tensors": ["H"]},
        {"fuse": [first, {"layer": "b", "nodes": spatial}]},
    ]
    with pytest.raises(MappingError, match="axis X of 'PE' need 4 elements, it has 2"):
        priced(window(), arch, tree)
    first["turns"] = [{"bounds": {"P": 4}, "nodes": [{"for": "P", "tile": 2}, *spatial]}]
    found = priced(window(), arch, tree)
    assert found.counts.layers["a"].operations == 64
    text = fused_text(found.mapping, found.segment, arch)
    assert parse_fused_text(text, window(), arch)[1] == found.mapping

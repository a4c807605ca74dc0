"""Random segments, machines and fused mappings: chains, windows, residual edges, nested trees."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from random import Random
from typing import Any

from hypothesis import strategies as st

from tilewright.architecture.machine import Architecture, Array, Compute, Memory
from tilewright.document import Document
from tilewright.errors import MappingError
from tilewright.mapping.fused.connections.connected_layers import segment
from tilewright.mapping.fused.connections.loop_classes import LoopClass, loop_class
from tilewright.mapping.fused.connections.segments import Segment
from tilewright.mapping.fused.tree import Branch, Fuse, FusedMapping, Halo, TreeNode, Turn
from tilewright.mapping.nodes import For, Node, Spatial, Store
from tilewright.workload.layer import Network
from tilewright.workload.network import parse_network

FusedCase = tuple[Segment, Architecture, FusedMapping]


@st.composite
def fused_cases(draw: Any, modes: tuple[str, ...] = ("retain",)) -> FusedCase:
    """Draw a fused mapping that is well formed; it may need more room than the machine has."""
    random = draw(st.randoms(use_true_random=False))
    found = random_segment(random)
    machine = random_machine(random)
    return found, machine, random_tree(random, found, modes)


@st.composite
def pipelined_cases(draw: Any, modes: tuple[str, ...] = ("retain", "recompute")) -> FusedCase:
    """Draw a fused mapping some of whose layers run at the same time."""
    segment, machine, tree = draw(fused_cases(modes))
    random = draw(st.randoms(use_true_random=False))
    return (
        segment,
        splittable(random, machine),
        FusedMapping(pipelined(random, tree.nodes), tree.halos),
    )


def pipelined(random: Random, nodes: tuple[TreeNode, ...]) -> tuple[TreeNode, ...]:
    """Return a list of nodes in which layers below the last ``fuse`` run at the same time."""
    *shared, last = nodes
    assert isinstance(last, Fuse)
    if all(branch.layer is not None for branch in last.branches):
        return (*shared, Fuse(last.branches, pipelined=random.random() < 0.85))
    return (
        *shared,
        Fuse(
            tuple(
                branch if branch.layer else Branch(None, pipelined(random, branch.nodes))
                for branch in last.branches
            )
        ),
    )


def splittable(random: Random, machine: Architecture) -> Architecture:
    """Return a machine whose array has room for several layers, and limits that matter."""
    levels: list[Any] = []
    for level in machine.levels:
        if isinstance(level, Array):
            rate = random.choice((None, 1.0, 3.0))
            levels.append(replace(level, axes={"X": 8, "Y": 2}, split=("X",), bandwidth=rate))
        elif isinstance(level, Compute):
            levels.append(replace(level, cycles=random.choice((0.5, 1.0, 5.0)), leakage=2.0))
        elif level.name == "RF":
            levels.append(replace(level, shared_bandwidth=random.choice((None, 1.0))))
        else:
            levels.append(level)
    return replace(machine, levels=tuple(levels))


def random_machine(random: Random) -> Architecture:
    """Return a machine with two memories above an array and one below."""
    flags = [random.random() < 0.7 for _ in range(3)]
    return Architecture(
        "random",
        (
            Memory("DRAM", 16, read_energy=100.0, write_energy=100.0, shared_bandwidth=2.0),
            Memory("L2", 16, read_energy=6.0, write_energy=6.0, read_bandwidth=1.0),
            Memory("L1", 16, read_energy=3.0, write_energy=3.0, write_bandwidth=1.0),
            Array("PE", {"X": 2, "Y": 2}, multicast=flags[0], reduction=flags[1],
                  forwarding=not flags[2]),
            Memory("RF", 16, read_energy=1.0, write_energy=1.0),
            Compute("MAC", energy=1.0),
        ),
    )  # fmt: skip


def random_segment(random: Random) -> Segment:
    """Return a segment of two to four layers."""
    network = random_kind(random)
    return segment(network, [layer.name for layer in network.layers])


def random_kind(random: Random) -> Network:
    """Return a network of two to four connected layers."""
    kinds = (products, products, convolutions, convolutions, residual, reduction, heads)
    kind = random.choice(kinds)
    layers, inputs = kind(random)
    return parse_network(Document({"name": "net", "layers": layers, "inputs": inputs}, "net"))


def products(random: Random) -> tuple[list[Any], dict[str, Any]]:
    """Return a chain of matrix products."""
    m = random.randint(1, 6)
    sizes = [random.randint(1, 5) for _ in range(random.randint(3, 4))]
    layers = [
        {
            "name": f"fc{i}",
            "op": "matmul",
            "M": m,
            "K": k,
            "N": n,
            "tensors": {"I": f"T{i}", "O": f"T{i + 1}"},
        }
        for i, (k, n) in enumerate(pairwise(sizes))
    ]
    return layers, {"T0": [m, sizes[0]]}


def convolutions(random: Random) -> tuple[list[Any], dict[str, Any]]:
    """Return a chain of convolutions in one or two dimensions, with windows, strides and pads."""
    flat = random.random() < 0.5
    count = 2 if not flat else random.randint(2, 3)
    layers: list[Any] = []
    p, q = random.randint(1, 4), 1 if flat else random.randint(1, 4)
    channels = random.randint(1, 2)
    view: Any = None
    # from the last layer to the first one: each has to make what the next one reads
    for i in reversed(range(count)):
        stride = random.choice((1, 1, 2))
        r, s = random.randint(1, 3), 1 if flat else random.randint(1, 3)
        own = random.randint(1, 2)
        layers.insert(
            0,
            {
                "name": f"conv{i}",
                "einsum": f"O[K,P,Q] += I[C,{stride}*P+R,{stride}*Q+S] * W[K,C,R,S]",
                "bounds": {"K": channels, "P": p, "Q": q, "C": own, "R": r, "S": s},
                "tensors": {"I": f"T{i}", "O": f"T{i + 1}"},
            },
        )
        if view is not None:
            layers[1]["tensors"]["I"] = view
        rows, columns = stride * (p - 1) + r, stride * (q - 1) + s
        shape = [own, rows, columns]
        view = f"T{i}"
        p, q, channels = rows, columns, own
        if i and rows > 2 and random.random() < 0.4:
            before, after = random.choice(((1, 0), (0, 1), (1, 1)))
            if rows - before - after > 0:
                p = rows - before - after
                view = [view, {"pad": [0, [before, after], 0]}]
        elif i and random.random() < 0.3:
            p = rows + 1
            view = [view, {"slice": [f"0:{own}", f"1:{rows + 1}", f"0:{columns}"]}]
    return layers, {"T0": shape}


def residual(random: Random) -> tuple[list[Any], dict[str, Any]]:
    """Return a layer whose output a window and a sum read."""
    p, r, k = random.randint(2, 6), random.randint(1, 3), random.randint(1, 3)
    before = random.randint(0, r - 1)
    layers = [
        {"name": "a", "einsum": "O[K,P] += I[C,P] * W[K,C]",
         "bounds": {"K": k, "P": p, "C": 2}, "tensors": {"I": "X", "O": "A"}},
        {"name": "b", "einsum": "O[K,P] += I[C,P+R] * W[K,C,R]",
         "bounds": {"K": k, "P": p, "C": k, "R": r},
         "tensors": {"I": ["A", {"pad": [0, [before, r - 1 - before]]}], "O": "B"}},
        {"name": "sum", "einsum": "O[K,P] += I[K,P] * J[K,P]", "operation": "add",
         "bounds": {"K": k, "P": p}, "tensors": {"I": "B", "J": "A", "O": "Y"}},
    ]  # fmt: skip
    if random.random() < 0.4:
        layers.append(
            {"name": "c", "einsum": "O[J,P] += I[K,P] * W[J,K]",
             "bounds": {"J": 2, "K": k, "P": p}, "tensors": {"I": "Y", "O": "Z"}}
        )  # fmt: skip
    return layers, {"X": [2, p]}


def reduction(random: Random) -> tuple[list[Any], dict[str, Any]]:
    """Return a product, a maximum over its rows, and what is left of the product."""
    m, n, k = random.randint(1, 5), random.randint(1, 5), random.randint(1, 3)
    layers = [
        {"name": "a", "op": "matmul", "M": m, "N": n, "K": k,
         "tensors": {"I": "X", "W": "X2", "O": "A"}},
        {"name": "most", "einsum": "O[M] += I[M,N]", "operation": "max",
         "bounds": {"M": m, "N": n}, "tensors": {"I": "A", "O": "B"}},
        {"name": "less", "einsum": "O[M,N] += I[M,N] * J[M]", "operation": "add",
         "bounds": {"M": m, "N": n}, "tensors": {"I": "A", "J": "B", "O": "Y"}},
    ]  # fmt: skip
    return layers, {"X": [m, k], "X2": [k, n]}


def heads(random: Random) -> tuple[list[Any], dict[str, Any]]:
    """Return a projection of several heads, and products of each with itself and others."""
    m, b, d = random.randint(1, 4), random.randint(1, 3), random.randint(1, 3)
    order = {"transpose": [1, 0, 2]}
    layers = [
        {"name": "q", "op": "matmul", "M": m, "N": b * d, "K": 2,
         "tensors": {"I": "X", "O": "Q"}},
        {"name": "s", "einsum": "O[B,M,N] += I[B,M,D] * W[B,D,N]",
         "bounds": {"B": b, "M": m, "D": d, "N": 3},
         "tensors": {"I": ["Q", {"reshape": [m, b, d]}, order], "O": "S"}},
        {"name": "c", "op": "matmul", "M": m, "N": 2, "K": 3 * b,
         "tensors": {"I": ["S", order, {"reshape": [m, 3 * b]}], "O": "Y"}},
    ]  # fmt: skip
    return layers, {"X": [m, 2]}


def random_tree(random: Random, found: Segment, modes: tuple[str, ...]) -> FusedMapping:
    """Return a fused mapping of a segment."""
    twice = {t.name for t in found.intermediates if "refetch" in modes and random.random() < 0.7}
    nodes = _Growing(random, found, twice).nodes()
    halos = [
        Halo(exchange.tensor, tie.made, "refetch")
        for exchange in found.exchanges
        if exchange.tensor in twice
        for tie in exchange.ties
    ]
    for exchange in found.exchanges:
        for tie in exchange.ties:
            mode = random.choice([mode for mode in modes if mode != "refetch"])
            known = {(halo.tensor, halo.dimension) for halo in halos}
            if mode != "retain" and (exchange.tensor, tie.made) not in known:
                halos.append(Halo(exchange.tensor, tie.made, mode))
    order = sorted(dict.fromkeys(halos), key=lambda halo: (halo.tensor, halo.dimension))
    return FusedMapping(nodes, tuple(order))


class _Growing:
    """Grows a tree from its root."""

    def __init__(self, random: Random, found: Segment, twice: set[str]) -> None:
        self.random = random
        self.segment = found
        self.twice = twice

    def nodes(self) -> tuple[TreeNode, ...]:
        outside = tuple(t.name for t in self.segment.tensors if not t.intermediate)
        held = {name: 0 for name in outside}
        layers = [layer.name for layer in self.segment.layers]
        return (Store("DRAM", outside), *self.scope(layers, held, {}))

    def scope(
        self, layers: list[str], held: dict[str, int], cut: dict[tuple[str, str], int]
    ) -> tuple[TreeNode, ...]:
        random = self.random
        held, cut = dict(held), dict(cut)
        groups = self.groups(layers)
        nodes: list[TreeNode] = []
        todo = random.randint(0, 4)
        due = self.due(layers, groups, held)
        while todo or due:
            if todo and (not due or random.random() < 0.5):
                todo -= 1
                nodes += self.loop(layers, cut)
            elif due:
                tensor = due.pop(random.randrange(len(due)))
                memory = random.choice((0, 1) if tensor in self.twice else (1, 1, 2))
                held[tensor] = memory
                nodes.append(Store(("DRAM", "L2", "L1")[memory], (tensor,)))
            if random.random() < 0.4:
                nodes += self.extra(layers, held)
        for _ in range(2):
            if random.random() < 0.5:
                nodes += self.extra(layers, held)
        branches = []
        for group in groups:
            if len(group) > 1:
                branches.append(Branch(None, self.scope(group, held, cut)))
            else:
                turns = self.turns(group[0], held, cut)
                branches.append(Branch(group[0], self.leaf(group[0], held, cut), turns))
        return (*nodes, Fuse(tuple(branches)))

    def groups(self, layers: list[str]) -> list[list[str]]:
        """Cut the layers into branches."""
        groups = [[layers[0]]]
        for layer in layers[1:]:
            if self.random.random() < 0.3 and len(groups[-1]) < len(layers) - 1:
                groups[-1].append(layer)
            else:
                groups.append([layer])
        return groups

    def due(self, layers: list[str], groups: list[list[str]], held: dict[str, int]) -> list[str]:
        """Return the intermediates that have to be stored here, and some that may be."""
        found = []
        for tensor in self.segment.intermediates:
            users = {access.layer for access in tensor.accesses}
            if tensor.name in held or not users <= set(layers):
                continue
            inside = any(users <= set(group) for group in groups)
            if not inside or self.random.random() < 0.2:
                found.append(tensor.name)
        return found

    def loop(self, layers: list[str], cut: dict[tuple[str, str], int]) -> list[TreeNode]:
        """Return a loop that the layers can share, if there is one."""
        options = []
        for layer in (self.segment.layer_of[name] for name in layers):
            for dimension in layer.bounds:
                try:
                    cuts = loop_class(self.segment, tuple(layers), f"{layer.name}.{dimension}")
                except MappingError:
                    continue
                extent = self.extent(cuts, cut)
                if layer.name in cuts.ends and extent > 1:
                    options.append((f"{layer.name}.{dimension}", cuts, extent))
        if not options:
            return []
        name, cuts, extent = self.random.choice(options)
        tile = self.random.randint(1, extent - (self.random.random() < 0.8))
        for other, own in cuts.dims.items():
            cut[other, own] = tile
        return [For(name, tile)]

    def extent(self, cuts: LoopClass, cut: dict[tuple[str, str], int]) -> int:
        """Return the largest tile of one more loop."""
        ends = ((end, cuts.dims[end]) for end in cuts.ends)
        bounds = ((end, d, self.segment.layer_of[end].bounds[d]) for end, d in ends)
        return min(min(bound, cut.get((end, d), bound)) for end, d, bound in bounds)

    def extra(self, layers: list[str], held: dict[str, int]) -> list[TreeNode]:
        """Return a store further inward of a tensor that one layer below uses, or all alike."""
        options = []
        for tensor in self.segment.tensors:
            users = [access.layer for access in tensor.accesses if access.layer in layers]
            again = tensor.name in self.twice and len(users) == len(tensor.accesses)
            if (again or len(users) == 1) and held.get(tensor.name, 9) < 2:
                options.append(tensor.name)
        if not options:
            return []
        name = self.random.choice([name for name in options if name in self.twice] or options)
        memory = self.random.randint(held[name] + 1, 2)
        held[name] = memory
        return [Store(("DRAM", "L2", "L1")[memory], (name,))]

    def turns(
        self, name: str, held: dict[str, int], cut: dict[tuple[str, str], int]
    ) -> tuple[Turn, ...]:
        """Return other nodes for turns of some extents; there may be none of these."""
        random, bounds = self.random, self.segment.layer_of[name].bounds
        found = []
        for _ in range(random.choice((0, 0, 1, 2))):
            own = random.sample(list(bounds), random.choice((1, 1, 2)))
            extents = tuple((d, random.randint(1, bounds[d])) for d in own)
            found.append(Turn(extents, self.leaf(name, held, cut)))
        return tuple(found)

    def leaf(
        self, name: str, held: dict[str, int], cut: dict[tuple[str, str], int]
    ) -> tuple[Node, ...]:
        """Return the nodes of a layer."""
        random, layer = self.random, self.segment.layer_of[name]
        extents = dict(layer.bounds)
        nodes: list[Node] = []
        above: list[tuple[str, str]] = []
        for access, tensor in self.segment.shared_name.items():
            if access.layer == name and held[tensor] < 2 and random.random() < 0.3:
                above.append(("L1", access.tensor))
                if held[tensor] < 1 and random.random() < 0.3:
                    above.append(("L2", access.tensor))
        above.sort(key=lambda item: item[0] == "L1")
        nodes += self.mixed([Store(memory, (t,)) for memory, t in above], extents)
        for axis in ("X", "Y"):
            if random.random() < 0.5:
                d = random.choice(list(extents))
                tile = -(-extents[d] // 2)
                nodes.append(Spatial(d, tile, axis, "PE"))
                extents[d] = tile
        inner = [t.name for t in layer.tensors if random.random() < 0.5]
        nodes += self.mixed([Store("RF", (t,)) for t in inner], extents)
        return tuple(nodes)

    def mixed(self, stores: list[Node], extents: dict[str, int]) -> list[Node]:
        """Return stores with loops between them."""
        nodes: list[Node] = []
        for item in (*stores, None):
            for _ in range(self.random.randint(0, 2)):
                d = self.random.choice(list(extents))
                extents[d] = self.random.randint(1, extents[d])
                nodes.append(For(d, extents[d]))
            if item is not None:
                nodes.append(item)
        return nodes

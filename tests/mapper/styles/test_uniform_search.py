"""The best style is what separate searches of every layer in every style find."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import product
from math import inf, isclose
from random import Random

import numpy as np
import pytest

import tilewright as tw
from tilewright.architecture.machine import Architecture, Memory
from tilewright.errors import NoMappingError, TilewrightError
from tilewright.mapper.network.running.run import Run
from tilewright.mapper.objective.objective import parse_objective
from tilewright.mapper.results.dataflow import dataflow
from tilewright.mapper.search.questions.restricted import stationary_alone
from tilewright.mapper.search.search import Search
from tilewright.mapper.styles.shared_results import Alike
from tilewright.mapper.styles.style import Style, spatial_styles, stationaries
from tilewright.mapper.styles.style_bounds import style_bounds
from tilewright.mapper.styles.totals import Totals, times
from tilewright.mapper.styles.uniform import map_uniform
from tilewright.mapping.nodes import For, Mapping, Node, Spatial, Store
from tilewright.workload.layer import Layer, Network
from tilewright.workload.operators import grouped

OBJECTIVES = ("energy", "latency", "edp", "energy*latency^2")
SLOW = [pytest.param(seed, marks=pytest.mark.slow) for seed in range(1, 40)]


def small_network(random: Random) -> Network:
    """Return two layers, of which one is often square."""
    layers = []
    for i in range(2):
        size = random.choice([2, 4, 6])
        filters = random.choice([1, 3])
        layers.append(
            tw.conv2d(
                name=f"layer{i}", repeat=random.choice([1, 3]),
                K=random.choice([2, 4, 12]), C=random.choice([1, 3, 8]), P=size,
                Q=random.choice([size, size, 3]), R=filters, S=random.choice([filters, 1]),
                stride=random.choice([1, 2]),
            )
        )  # fmt: skip
    return Network("small", tuple(layers))


def separate(layer: Layer, style: Style, machine: Architecture, objective: str) -> Search:
    """Return a search of a layer in a style that has come to its end, without any bound."""
    search = Search(layer, style.machine(machine), objective)
    held = style.held(layer)
    search.solve(plans=search.plans() if held is None else stationary_alone(search, held))
    return search


def every_style(network: Network, machine: Architecture) -> list[Style]:
    memory = machine.memories[-1].name
    pairs = product(spatial_styles(network, machine), stationaries(network, machine))
    return [replace(style, stationary=role, memory=memory) for style, role in pairs]


@pytest.mark.long
@pytest.mark.parametrize("seed", [0, *SLOW])
def test_best_style_equals_separate_searches_in_all_styles(seed: int) -> None:
    random = Random(f"separate {seed}")
    machine = tw.load_architecture(("eyeriss", "simple", "marvel-p1")[seed % 3])
    network, objective = small_network(random), OBJECTIVES[seed % len(OBJECTIVES)]
    a, b = parse_objective(objective).powers
    costs = {}
    for style in every_style(network, machine):
        ended = [separate(x, style, machine, objective) for x in network.layers]
        energy = sum(
            x.repeat * float(s.best[2]) for x, s in zip(network.layers, ended, strict=True)
        )
        cycles = sum(
            x.repeat * float(s.best[3]) for x, s in zip(network.layers, ended, strict=True)
        )
        mapped = all(search.found.mapping for search in ended)
        costs[style] = energy**a * cycles**b if mapped else inf
    least = min(costs.values())
    if least == inf:
        with pytest.raises(NoMappingError):
            map_uniform(network, machine, objective)
        return
    result = map_uniform(
        network, machine, objective, within=random.choice([0.0, 0.2]), run=Run(workers=2)
    )
    assert result.optimal
    assert isclose(result.best.value, least, rel_tol=1e-9)
    known = {one.style: one.value for one in result.styles}
    for style, cost in costs.items():
        if style in known:
            assert isclose(known[style], cost, rel_tol=1e-9), style
            continue
        wide = (replace(style, stationary=None, memory=""), style)
        (low,) = [other.lower_bound for other in result.others if other.style in wide]
        assert cost >= low * (1 - 1e-9), style


@pytest.mark.parametrize("tiles", ["divisors", "all"])
def test_closed_form_of_a_style_is_that_of_its_machine(tiles: str, whole: bool) -> None:
    machine = tw.load_architecture("eyeriss")
    network = small_network(Random(7))
    styles = list(spatial_styles(network, machine))
    for layer in network.layers:
        axes = [tuple(d for _, _, d in style.axes) for style in styles]
        goal = parse_objective("edp")
        found = style_bounds(layer, machine, axes, goal, tiles)
        assert found.values.shape == (len(found.keeps), len(styles))
        for k in range(0, len(styles), 5 if whole else 17):
            search = separate(layer, styles[k], machine, "edp")
            assert search.best[0] >= found.values[:, k].min() * (1 - 1e-9)
            assert search.best[2] >= found.energy[k] * (1 - 1e-9)
            assert search.best[3] >= found.cycles[k] * (1 - 1e-9)


def test_rows_and_columns_that_change_places_share_what_is_known() -> None:
    machine = tw.load_architecture("eyeriss")
    square = tw.conv2d(K=4, C=3, P=6, Q=6, R=3, S=3)
    tall = tw.conv2d(K=4, C=3, P=6, Q=3, R=3, S=3)
    for layer, shared in ((square, True), (tall, False)):
        network = Network("one", (layer,))
        styles = list(spatial_styles(network, machine))
        kind = Alike(layer, 1, 0.0, styles, machine, "energy", None)
        by_axes = {tuple(d for _, _, d in style.axes): style for style in styles}
        one, other = by_axes["P", "S"], by_axes["Q", "R"]
        assert (kind.part(one) is kind.part(other)) == shared
        for style in (one, other):
            kind.part(style).search(inf, lambda: False)
            result = kind.part(style).result
            assert result is not None
            mapping = kind.place(style)[1].mapping(result.mapping)
            own = style.machine(machine)
            cost = tw.evaluate(layer, own, mapping)
            assert isclose(cost.energy_pj, separate(layer, style, machine, "energy").best[0])
            unrolled = dataflow(mapping, layer, own).unrolled["PE"]
            assert set(unrolled) <= {d for _, _, d in style.axes}


def test_a_machine_that_tells_rows_from_columns_has_no_swaps() -> None:
    machine = tw.load_architecture("nvdla-1024")
    layer = tw.conv2d(K=4, C=4, P=6, Q=6, R=3, S=3)
    styles = list(spatial_styles(Network("one", (layer,)), machine))
    assert any(statement.dimensions for statement in machine.statements)
    assert len(Alike(layer, 1, 0.0, styles, machine, "energy", None).swaps) == 1


def test_a_bound_that_is_raised_in_vain_holds(whole: bool) -> None:
    machine = tw.load_architecture("simple")
    layer = tw.conv2d(K=8, C=4, P=6, Q=6, R=3, S=3)
    styles = list(spatial_styles(Network("one", (layer,)), machine))
    kind = Alike(layer, 1, 0.0, styles, machine, "edp", None)
    for style in styles[:: 7 if whole else 19]:
        part, exact = kind.part(style), float(separate(layer, style, machine, "edp").best[0])
        for ceiling in np.linspace(part.bound, exact, 5)[1:-1]:
            part.search(float(ceiling), lambda: False)
            assert part.result is None
            assert ceiling * (1 - 1e-9) <= part.bound <= exact * (1 + 1e-9)
        part.search(exact * 1.01, lambda: False)
        assert part.result is not None
        assert isclose(part.bound, exact, rel_tol=1e-9)


def moved(mapping: Mapping) -> Iterator[Mapping]:
    """Yield mappings in which one node stands elsewhere."""
    nodes = mapping.nodes
    apart = [
        Store(n.memory, (t,)) if isinstance(n, Store) else n
        for n in nodes[1:]
        for t in (n.tensors if isinstance(n, Store) else "-")
    ]
    for i, j in product(range(len(apart)), repeat=2):
        rest = [*apart[:i], *apart[i + 1 :]]
        yield Mapping((nodes[0], *rest[:j], apart[i], *rest[j:]))


@pytest.mark.parametrize("seed", [4, *SLOW[:3], *SLOW[4:]])
def test_no_mapping_beside_a_best_one_is_better_in_another_style(seed: int) -> None:
    random = Random(f"beside {seed}")
    machine = tw.load_architecture(("marvel-p1", "eyeriss")[seed % 2])
    layer = grouped(
        K=random.choice([8, 32]), C=random.choice([3, 12, 48]), P=random.choice([3, 9]),
        Q=random.choice([9, 27]), R=random.choice([1, 3]), S=3, G=random.choice([1, 2]),
    )  # fmt: skip
    network = Network("one", (layer,))
    objective = random.choice(["energy", "edp"])
    wide = random.choice([*spatial_styles(network, machine)])
    memory = machine.memories[-1].name
    styles = {
        role: replace(wide, stationary=role, memory=memory)
        for role in stationaries(network, machine)
    }
    found = {role: separate(layer, style, machine, objective) for role, style in styles.items()}
    own = wide.machine(machine)
    for start in [search.found.mapping for search in found.values()]:
        for mapping in moved(start) if start is not None else ():
            try:
                cost = tw.evaluate(layer, own, mapping)
            except TilewrightError:
                continue
            value = parse_objective(objective).value(cost.energy_pj, float(cost.cycles))
            flow = dataflow(mapping, layer, own)
            for role, style in styles.items():
                if style.has(flow, layer):
                    assert value >= float(found[role].best[0]) * (1 - 1e-9), (role, mapping)


def test_a_tensor_may_be_stationary_for_a_loop_that_stands_above_the_array() -> None:
    machine = tw.load_architecture("marvel-p1")
    layer = tw.conv2d(K=32, C=48, P=9, Q=27, R=3, S=3)
    style = Style((("PE", "X", "C"),), stationary="I", memory="L1")
    nodes = (
        Store("DRAM", ("I", "W", "O")), Store("L2", ("I",)), For("K", 16), Store("L2", ("O",)),
        For("Q", 1), Spatial("C", 1, "X", "PE"), Store("L1", ("I", "W")),
    )  # fmt: skip
    own = style.machine(machine)
    assert style.has(dataflow(Mapping(nodes), layer, own), layer)
    cost = tw.evaluate(layer, own, Mapping(nodes))
    assert separate(layer, style, machine, "energy").best[0] <= cost.energy_pj * (1 + 1e-9)


def any_sizes(random: Random, layer: Layer, style: Style, machine: Architecture) -> Mapping:
    """Return a mapping in a style with tile sizes at random, which may not fit."""
    extent = dict(layer.bounds)
    nodes: list[Node] = [Store("DRAM", tuple(t.name for t in layer.tensors))]

    def loops(count: int, memory: Memory) -> None:
        able = [t for t in layer.tensors if memory.may_store(t.role)]
        stored = [t for t in able if random.random() < 0.7]
        own: list[Node] = [Store(memory.name, (t.name,)) for t in stored]
        for _ in range(count):
            d = random.choice(list(extent))
            extent[d] = random.randint(1, extent[d])
            own.insert(random.randint(0, len(own)), For(d, extent[d]))
        # sizes fall from outside in
        sizes: dict[str, list[int]] = {}
        for node in own:
            if isinstance(node, For):
                sizes.setdefault(node.dimension, []).append(node.tile)
        falling = {d: iter(sorted(each, reverse=True)) for d, each in sizes.items()}
        nodes.extend(
            For(node.dimension, next(falling[node.dimension])) if isinstance(node, For) else node
            for node in own
        )

    loops(random.randint(0, 4), machine.memories[1])
    for array, axis, d in style.axes:
        size = machine.arrays[0].axes[axis]
        if d in extent and random.random() < 0.8:
            extent[d] = random.randint(-(-extent[d] // size), extent[d])
            nodes.append(Spatial(d, extent[d], axis, array))
    loops(random.randint(0, 4), machine.memories[2])
    return Mapping(tuple(nodes))


@pytest.mark.parametrize("seed", [0, 1, *SLOW[1:]])
def test_no_mapping_of_any_sizes_is_below_the_bound_of_its_style(seed: int) -> None:
    random = Random(f"sizes {seed}")
    machine = tw.load_architecture(("marvel-p1", "eyeriss")[seed % 2])
    layer = tw.conv2d(
        K=7, C=5, P=5, Q=3, R=3, S=random.choice([1, 2]), stride=random.choice([1, 2])
    )
    styles = list(spatial_styles(Network("one", (layer,)), machine))
    axes = [tuple(d for _, _, d in style.axes) for style in styles]
    goal = parse_objective("edp")
    bounds = style_bounds(layer, machine, axes, goal, "all")
    counted = 0
    for _ in range(150):
        k = random.randrange(len(styles))
        own = styles[k].machine(machine)
        try:
            cost = tw.evaluate(layer, own, any_sizes(random, layer, styles[k], own))
        except TilewrightError:
            continue
        counted += 1
        assert cost.energy_pj >= bounds.energy[k]
        assert cost.cycles >= bounds.cycles[k]
        assert cost.edp_pj_cycles >= bounds.values[:, k].min()
    assert counted > 10


@pytest.mark.long
@pytest.mark.parametrize("objective", ["edp", pytest.param("energy", marks=pytest.mark.slow)])
def test_all_sizes_improve_the_best_style_and_bound_all(objective: str, whole: bool) -> None:
    machine = tw.load_architecture("eyeriss")
    layers = (
        tw.conv2d(name="a", repeat=2, K=19, C=17, P=7, Q=7, R=1, S=1),
        tw.conv2d(name="b", K=17, C=5, P=7, Q=7, R=1, S=3),
    )[: 2 if whole else 1]
    network = Network("odd", layers)
    even = map_uniform(network, machine, objective)
    result = map_uniform(network, machine, objective, tiles="all")
    assert result.best.value <= even.best.value * (1 + 1e-12)
    assert result.lower_bound <= even.lower_bound * (1 + 1e-12)
    assert objective == "energy" or result.best.value < 0.9 * even.best.value
    assert result.optimal or "costs more than the lower bound" in result.text()
    totals = Totals(parse_objective(objective), [layer.repeat for layer in layers])
    for one in result.layers:
        assert one.proof.tiles == "all"
        flow = dataflow(one.mapping, one.layer, result.architecture)
        assert result.best.style.has(flow, one.layer)
        cost = tw.evaluate(one.layer, result.architecture, one.mapping)
        assert cost.energy_pj == one.evaluation.energy_pj
    pair = result.energy_pj, result.cycles
    assert isclose(times(totals.goal.powers, *pair), result.best.value)
    assert all(one.lower_bound <= one.value for one in result.styles)
    assert {one.style.axes for one in (*result.styles, *result.others)} == {
        style.axes for style in spatial_styles(network, machine)
    }


@pytest.mark.parametrize("seed", [0, *SLOW])
def test_what_is_known_of_any_tensor_holds_for_each(seed: int) -> None:
    random = Random(f"heirs {seed}")
    machine = tw.load_architecture(("marvel-p1", "eyeriss")[seed % 2])
    layer = grouped(
        K=random.choice([8, 32]), C=random.choice([3, 12, 48]), P=random.choice([9, 27]),
        Q=random.choice([9, 27]), R=random.choice([1, 3]), S=3, G=random.choice([1, 2]),
    )  # fmt: skip
    objective = random.choice(["energy", "edp"])
    network = Network("one", (layer,))
    styles = list(spatial_styles(network, machine))
    kind = Alike(layer, 1, 0.0, styles, machine, objective, None)
    for wide in random.sample(styles, 3):
        part = kind.part(wide)
        while part.result is None:
            part.search(part.bound * part.slack if part.slack < inf else inf, lambda: False)
        for role in stationaries(network, machine):
            style = replace(wide, stationary=role, memory=machine.memories[-1].name)
            own = kind.part(style)
            exact = float(separate(layer, style, machine, objective).best[0])
            assert own.bound <= exact * (1 + 1e-9)
            while own.result is None and own.bound < inf:
                own.search(own.bound * own.slack if own.slack < inf else inf, lambda: False)
            assert isclose(own.bound, exact, rel_tol=1e-9)


def test_bounds_of_tables_say_no_more_than_what_was_found() -> None:
    machine = tw.load_architecture("marvel-p1")
    layer = next(x for x in tw.load_network("alexnet").layers if x.name == "conv2")
    styles = list(spatial_styles(Network("one", (layer,)), machine))
    kind = Alike(layer, 1, 0.0, styles, machine, "energy", None)
    (wide,) = (style for style in styles if style.axes[0][2] == "P")
    held = replace(wide, stationary="I", memory="L1")
    for style in (wide, held):
        part = kind.part(style)
        part.search(part.bound * 1.1, lambda: False)
        assert part.result is not None
    exact = float(separate(layer, held, machine, "energy").best[0])
    assert isclose(kind.part(held).bound, exact, rel_tol=1e-9)

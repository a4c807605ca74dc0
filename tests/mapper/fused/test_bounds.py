"""What is left out is not better: bounds of candidates, and places of held tiles."""

from math import inf
from random import Random

import pytest

from fused_chains import chain, machine, network, two_readers
from fused_trees import every_prefix
from tilewright.architecture.machine import Architecture, Compute, Memory
from tilewright.errors import NoMappingError
from tilewright.fusion.count import store_moves
from tilewright.mapper.fused.network_search import FusedNetworkSearch
from tilewright.mapper.fused.search.chunks import Chunks
from tilewright.mapper.fused.search.segment_search import SegmentSearch
from tilewright.mapper.fused.space.holding import holdings
from tilewright.mapper.fused.space.segment_problem import SegmentProblem
from tilewright.mapper.network.network import map_network
from tilewright.mapper.objective.objective import parse_objective
from tilewright.mapping.fused import Branch, Fuse, FusedMapping
from tilewright.mapping.fused.connections.connected_layers import segment as make_segment
from tilewright.mapping.fused.scopes import resolve_fused
from tilewright.mapping.nodes import For
from tilewright.model.energy import read_cost, write_cost
from window_chains import buffered, windows


def never():
    return False


def every_candidate(search):
    """Return the candidates of a search, as they are before any branch is searched."""
    found = []
    for places in search.problem.places():
        found += search.candidates_below(places, inf, never, False)
    if search.problem.windows.loops:
        for opened in search.windows.below(inf, never):
            while opened.bound < inf:
                found += search.windows.candidates(opened)
    return found


@pytest.mark.sampled(8)
@pytest.mark.parametrize("objective", ["energy", "latency", "edp"])
@pytest.mark.parametrize("seed", range(8))
def test_no_candidate_costs_less_than_its_first_bound(seed, objective):
    random = Random(seed)
    if seed % 2:
        leakage = 100.0 if seed % 4 == 3 else 0.0
        segment, target = windows(random), buffered(random, limited=True, leakage=leakage)
    else:
        (segment, _), target = chain(random), machine(random)
    search = SegmentSearch(
        SegmentProblem(segment, target), Chunks(target, parse_objective(objective))
    )
    found = every_candidate(search)
    closest = inf
    for candidate in random.sample(found, min(30, len(found))):
        bound = candidate.bound
        best = search.best_of([candidate], inf, never)
        if best.candidate is None:
            continue
        assert best.value >= bound * (1 - 1e-12)
        closest = min(closest, best.value / bound)
    assert closest < 1.35 or closest == inf


def test_a_bound_is_reached_where_all_tensors_fit():
    random = Random(3)
    for _ in range(5):
        segment, _ = chain(random)
        target = Architecture(
            "wide",
            (
                Memory("DRAM", 16, read_energy=100.0, write_energy=100.0),
                Memory("GLB", 16, capacity_bits=16 * 200, read_energy=0.5, write_energy=0.5),
                Compute("MAC", energy=0.1),
            ),
        )
        chunks = Chunks(target, parse_objective("energy"))
        search = SegmentSearch(SegmentProblem(segment, target), chunks)
        for candidate in every_candidate(search):
            bound = candidate.bound
            best = search.best_of([candidate], inf, never)
            # what comes from DRAM is most of the cost: a bound on that may not be too high
            assert best.value >= bound * (1 - 1e-12)


@pytest.mark.parametrize("seed", range(12))
def test_no_place_of_a_held_tile_is_better_than_those_looked_at(seed):
    random = Random(seed)
    segment, names = chain(random)
    target = Architecture(
        "two",
        (
            Memory("DRAM", 16, read_energy=100.0, write_energy=80.0),
            Memory("GLB", 16, read_energy=6.0, write_energy=9.0),
            Compute("MAC", energy=1.0),
        ),
    )
    problem = SegmentProblem(segment, target)
    position = {tile.name: i for i, tile in enumerate(problem.tiles)}
    looked_at = list(holdings(problem, (inf, inf), lambda h: 0.0, inf, never))
    outside = {problem.tiles[t].name for t in problem.external}
    prefixes = list(every_prefix(segment, target, names))
    checked = 0
    for nodes in random.sample(prefixes, min(len(prefixes), 60)):
        bare = FusedMapping((*nodes, Fuse(tuple(Branch(x.name) for x in segment.layers))))
        resolved = resolve_fused(bare, segment)
        held = {s.tensor: s for s in resolved.stores if s.parent and s.tensor in outside}
        energy, bits = 0.0, 0.0
        for name, store in held.items():
            tile = problem.tiles[position[name]]
            use = tile.uses[0]
            for move in store_moves(store, resolved):
                memory = target.memories[0 if move.memory == "DRAM" else 1]
                tensor = problem.tensor(use)
                energy += move.reads * read_cost(memory, tensor)
                energy += move.writes * write_cost(memory, tensor)
            bits += problem.bits(position[name], extents_above(problem, nodes, name), 1)
        shape = extents_above(problem, nodes, None)
        useful = [position[name] for name in held if keeps(problem, position[name])]
        if len(useful) != len(held):
            continue  # it serves a single turn: a branch may as well hold it
        checked += 1
        assert any(
            {h.tile for h in other.held} == set(useful)
            and all(a % b == 0 for a, b in zip(other.shape, shape, strict=True))
            and other.energy <= energy * (1 + 1e-12)
            and other.bits[1] <= bits
            for other in looked_at
        ), (nodes, energy, bits)
    assert checked


def keeps(problem, tile):
    """Return whether a tile may serve several turns or layers."""
    own = problem.tiles[tile]
    return not all(own.relevant) or len(own.uses) > 1


def extents_above(problem, nodes, name):
    """Return the extents of shared dimensions where a tensor is held, or below everything."""
    shape = list(problem.bounds)
    for node in nodes:
        if isinstance(node, For):
            for i, dimension in enumerate(problem.shared):
                if node.dimension in (dimension.names[-1], dimension.names[0]):
                    shape[i] = node.tile // dimension.scale[-1]
        elif name in node.tensors and node.memory != "DRAM":
            break
    return tuple(shape)


@pytest.mark.long
@pytest.mark.parametrize("objective", ["energy", "latency"])
def test_fusing_saves_no_more_than_is_said(objective):
    seen = 0
    for seed in range(30):
        random = Random(seed)
        m, sizes = random.choice((2, 4)), [random.choice((2, 3, 4)) for _ in range(3)]
        found, target = network(m, sizes), machine(random)
        if objective == "latency":
            target = buffered(random, limited=True)
        try:
            alone = map_network(found, target, objective)
        except NoMappingError:
            continue
        search = FusedNetworkSearch(found, target, objective, alone.layers)
        own = make_segment(found, ["l0", "l1"])
        problem = SegmentProblem(own, target)
        if not problem.possible:
            continue
        fused = SegmentSearch(problem, search.chunks)
        best = fused.solve(inf, never)
        floor = search.floor(own, fused.bounds)
        assert floor <= best.value * (1 + 1e-12)
        seen += best.value < inf and floor > fused.bounds.floor()
    assert seen > 2


@pytest.mark.parametrize("seed", range(12))
def test_what_several_layers_share_saves_no_more_than_is_said(seed):
    random = Random(seed)
    found, names = two_readers(random)
    target = buffered(random, limited=random.random() < 0.5)
    alone = map_network(found, target, "energy")
    known = FusedNetworkSearch(found, target, "energy", alone.layers)
    own = make_segment(found, names)
    problem = SegmentProblem(own, target)
    plain = SegmentSearch(problem, known.chunks)
    best = plain.solve(inf, never)
    assert best.value < inf
    bounds = plain.bounds
    floor = known.floor(own, bounds)
    assert floor <= best.value * (1 + 1e-12)
    assert floor >= bounds.floor()
    # tiles that are held for several layers move once for all of them
    apart = known.least_alone(own) - bounds.saved_at_most()
    closer = SegmentSearch(problem, known.chunks)
    closer.apart = apart
    again = closer.solve(inf, never)
    assert (again.value, again.bound) == (best.value, best.bound)
    every = every_candidate(closer)
    for candidate in random.sample(every, min(20, len(every))):
        bound = candidate.bound
        value = closer.best_of([candidate], inf, never).value
        assert value >= bound * (1 - 1e-12)


def test_what_is_shared_may_save_more_than_what_is_exchanged():
    # both layers read x, which is held once: more is saved than the exchanged tensors move
    more = 0
    for seed in range(12):
        random = Random(seed)
        found, names = two_readers(random)
        target = buffered(random)
        alone = map_network(found, target, "energy")
        known = FusedNetworkSearch(found, target, "energy", alone.layers)
        own = make_segment(found, names)
        search = SegmentSearch(SegmentProblem(own, target), known.chunks)
        best = search.solve(inf, never)
        apart = known.least_alone(own) - search.bounds.saved_at_most()
        more += best.value < apart * (1 - 1e-9)
    assert more

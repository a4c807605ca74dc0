"""The counts of a mapping by brute force: explicit sets of words, moved step by step.

This is the definition of what tilewright counts. It takes time in proportion to the operations of
the layer; the package `tilewright.model` computes the same numbers in closed form.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache
from itertools import product

from tilewright.architecture.machine import Architecture
from tilewright.counts import Counts, NetworkCounts, TensorCounts
from tilewright.errors import InputError
from tilewright.mapping.nodes import Mapping
from tilewright.mapping.structure import Link, Structure, resolve
from tilewright.mapping.validity import check as check_validity
from tilewright.workload.layer import Layer

LIMIT = 2_000_000

Words = frozenset[tuple[int, ...]]
# the iterations below some loops, an interval for each dimension of the layer
Box = tuple[range, ...]
# index of each spatial loop, outermost first
Instance = tuple[int, ...]
# index of each temporal loop, outermost first
Step = tuple[int, ...]
Moved = list[tuple[Instance, Words]]


def simulate(
    layer: Layer, architecture: Architecture, mapping: Mapping, *, check: bool = True
) -> Counts:
    """Count what a mapping causes by carrying it out.

    Parameters
    ----------
    layer : Layer
        At most 2 million operations.
    architecture : Architecture
        The machine.
    mapping : Mapping
        How the layer runs on it.
    check : bool
        Whether the mapping is checked first; without, it must be known to be valid (but may
        exceed the capacities).

    Returns
    -------
    Counts

    Raises
    ------
    MappingError
        When the mapping is not valid.
    InputError
        When the layer has too many operations.
    """
    if layer.operations > LIMIT:
        raise InputError(
            f"layer '{layer.name}' has {layer.operations} operations and each of them would be "
            f"carried out: the simulation accepts at most {LIMIT}; 'evaluate' computes the same "
            "counts in closed form"
        )
    if check:
        check_validity(mapping, layer, architecture)
    return Simulation(layer, architecture, resolve(mapping, layer, architecture)).counts()


@dataclass
class Traffic:
    """Words that move over one link, summed over all steps.

    Attributes
    ----------
    entering : int
        Words that enter the child's tiles, summed over its instances.
    distinct : int
        Words of the tensor that are ever touched.
    words, hops : dict of str to int
        By array that is crossed: words outside the array and words at its elements.
    """

    entering: int = 0
    distinct: int = 0
    words: dict[str, int] = field(default_factory=dict)
    hops: dict[str, int] = field(default_factory=dict)

    @property
    def sent(self) -> int:
        """Words that the parent sends, or that arrive at it."""
        return next(iter(self.words.values()), self.entering)


@dataclass
class Ledger:
    """Counts of one tensor by memory and by array, as its links are added."""

    reads: dict[str, int]
    writes: dict[str, int]
    words: dict[str, int] = field(default_factory=dict)
    hops: dict[str, int] = field(default_factory=dict)

    def cross(self, traffic: Traffic, refetch: int = 0) -> None:
        """Add what crosses the arrays of a link, either way."""
        self.words |= {array: words + refetch for array, words in traffic.words.items()}
        self.hops |= {array: hops + refetch for array, hops in traffic.hops.items()}


class Simulation:
    """A mapping that is carried out.

    In its methods `alone` is a set of arrays of which only the first element takes part: with all
    arrays above a level, what is counted is the first instance of that level.
    """

    def __init__(self, layer: Layer, architecture: Architecture, structure: Structure) -> None:
        self.layer = layer
        self.architecture = architecture
        self.structure = structure
        # loops of a single chunk do nothing
        self.cuts = [i for i, loop in enumerate(structure.loops) if loop.chunks > 1]
        self.expressions = {tensor.name: tensor.expressions for tensor in layer.tensors}
        self.footprint = cache(self._footprint)
        self.traffic = cache(self._traffic)
        self.touched = cache(self._touched)
        self.ledger = cache(self._ledger)

    def counts(self) -> Counts:
        """Return all counts."""
        everywhere: frozenset[str] = frozenset()
        above = {level.name: self.arrays_above(level.name) for level in self.architecture.levels}
        memories = [memory.name for memory in self.architecture.memories]
        arrays = [array.name for array in self.architecture.arrays]
        steps = 0
        used: set[Instance] = set()
        for _, active in self.lockstep(self.cuts, everywhere):
            steps += 1
            used.update(instance for instance, _ in active)
        spatial = self.spatial(self.cuts)
        return Counts(
            operations=self.layer.operations,
            steps=steps,
            memories={m: self.memory(m, everywhere) for m in memories},
            networks={a: self.network(a, everywhere) for a in arrays},
            busiest={m: self.memory(m, above[m]) for m in memories},
            busiest_networks={a: self.network(a, above[a]) for a in arrays},
            instances={
                level: len({restrict(instance, spatial, outside) for instance in used})
                for level, outside in above.items()
            },
        )

    def memory(self, memory: str, alone: frozenset[str]) -> dict[str, TensorCounts]:
        """Return the counts of a memory by tensor."""
        ledgers = {tensor.name: self.ledger(tensor.name, alone) for tensor in self.layer.tensors}
        return {
            tensor.name: TensorCounts(
                reads=ledgers[tensor.name].reads[memory],
                writes=ledgers[tensor.name].writes[memory],
                peak=self.structure.tile_words(memory, tensor),
            )
            for tensor in self.layer.tensors
        }

    def network(self, array: str, alone: frozenset[str]) -> dict[str, NetworkCounts]:
        """Return the counts of an array by tensor."""
        ledgers = {tensor.name: self.ledger(tensor.name, alone) for tensor in self.layer.tensors}
        return {
            tensor: NetworkCounts(ledger.words[array], ledger.hops[array])
            for tensor, ledger in ledgers.items()
        }

    def arrays_above(self, level: str) -> frozenset[str]:
        """Return the arrays outside a level."""
        position = self.architecture.position
        arrays = (array.name for array in self.architecture.arrays)
        return frozenset(array for array in arrays if position[array] < position[level])

    def _ledger(self, tensor: str, alone: frozenset[str]) -> Ledger:
        """Follow a tensor from the outermost memory to the compute unit."""
        levels = [level.name for level in self.architecture.levels]
        ledger = Ledger(dict.fromkeys(levels, 0), dict.fromkeys(levels, 0))
        links = self.structure.links[tensor]
        traffics = [self.traffic(tensor, i, alone) for i in range(len(links))]
        if tensor == self.layer.output.name:
            self.accumulate(links, traffics, ledger)
        else:
            for link, traffic in zip(links, traffics, strict=True):
                ledger.reads[link.parent] += traffic.sent
                ledger.writes[link.child] += traffic.entering
                ledger.cross(traffic)
        return ledger

    def accumulate(
        self, links: Sequence[Link], traffics: Sequence[Traffic], ledger: Ledger
    ) -> None:
        """Enter the partial sums of the output, which leave as often as they enter."""
        # zero(A): words that enter the parent's tiles without a partial sum
        zero = traffics[0].distinct
        for link, traffic in zip(links, traffics, strict=True):
            partial = traffic.sent - zero
            ledger.writes[link.parent] += traffic.sent
            ledger.reads[link.parent] += partial
            if link.child == self.architecture.compute.name:
                ledger.cross(traffic)
            elif all(array.reduction for array in link.arrays):
                ledger.writes[link.child] += partial
                ledger.reads[link.child] += traffic.entering
                ledger.cross(traffic, refetch=partial)
                zero = traffic.entering - partial
            else:
                ledger.reads[link.child] += traffic.entering
                ledger.cross(traffic)
                zero = traffic.entering

    def _traffic(self, tensor: str, number: int, alone: frozenset[str]) -> Traffic:
        """Move the words of one link of a tensor, step by step."""
        link = self.structure.links[tensor][number]
        cuts = [i for i in self.cuts if i < link.depth]
        spatial = self.spatial(cuts)
        # what the first instance ever touches depends on the cuts below the link too
        shaping = self.spatial(self.cuts) if link.tensor.is_output else spatial
        if not alone <= set(shaping):
            return self.traffic(tensor, number, alone & set(shaping))
        names = [array.name for array in link.arrays]
        unites = [a.reduction if link.tensor.is_output else a.multicast for a in link.arrays]
        # by array: the arrays that unite words from it inward
        united = [
            frozenset(name for name, unite in zip(names[i:], unites[i:], strict=True) if unite)
            for i in range(len(names) + 1)
        ]
        forwards = not link.tensor.is_output and any(array.forwarding for array in link.arrays)
        parents = frozenset(array for array in spatial if array not in names)

        traffic = Traffic(words=dict.fromkeys(names, 0), hops=dict.fromkeys(names, 0))
        touched: set[tuple[int, ...]] = set()
        resident: dict[Instance, tuple[Step, Words]] = {}
        for moved in self.moves(link, cuts, alone, resident):
            if alone and link.tensor.is_output:
                mine = self.touched(tensor, alone)
                moved = [(instance, words & mine) for instance, words in moved]
            sent = moved
            if forwards:
                held: dict[Instance, set[tuple[int, ...]]] = defaultdict(set)
                for instance, (_, words) in resident.items():
                    held[restrict(instance, spatial, parents)] |= words
                sent = [(i, words - held[restrict(i, spatial, parents)]) for i, words in moved]
            traffic.entering += sum(len(words) for _, words in moved)
            for i, name in enumerate(names):
                traffic.words[name] += count(sent, spatial, united[i])
                traffic.hops[name] += count(moved, spatial, united[i + 1])
            touched.update(*(words for _, words in moved))
        traffic.distinct = len(touched)
        return traffic

    def _touched(self, tensor: str, alone: frozenset[str]) -> Words:
        """Return the words that are ever touched below the first element of some arrays.

        Memories above those arrays hold words of other elements as well: a partial sum that comes
        back to one of them is not the first element's.
        """
        link = self.structure.links[tensor][-1]
        moves = self.moves(link, self.cuts, alone, {})
        return frozenset().union(*(words for moved in moves for _, words in moved))

    def moves(
        self,
        link: Link,
        cuts: Sequence[int],
        alone: frozenset[str],
        resident: dict[Instance, tuple[Step, Words]],
    ) -> Iterator[Moved]:
        """Yield at each step what enters the child's instances; then keep it in `resident`."""
        axes = [self.layer.dimensions.index(d) for d in link.tensor.dimensions]
        temporal = [i for i in cuts if self.structure.loops[i].array is None]
        keeps = link.child != self.architecture.compute.name
        for step, active in self.lockstep(cuts, alone):
            tiles = [
                (instance, self.footprint(link.tensor.name, tuple(box[i] for i in axes)))
                for instance, box in active
            ]
            if not keeps:
                yield tiles
                continue
            moved = []
            for instance, tile in tiles:
                last, old = resident.get(instance, (step, frozenset()))
                advanced = next(
                    (t for t, i, j in zip(temporal, step, last, strict=True) if i != j), None
                )
                if tile == old:
                    moved.append((instance, frozenset[tuple[int, ...]]()))
                elif advanced in link.run:
                    moved.append((instance, tile - old))
                else:
                    moved.append((instance, tile))
            yield moved
            resident.update((instance, (step, tile)) for instance, tile in tiles)

    def lockstep(
        self, cuts: Sequence[int], alone: frozenset[str]
    ) -> Iterator[tuple[Step, list[tuple[Instance, Box]]]]:
        """Yield the steps of some loops in order, with the instances that do not idle."""

        def run(
            cuts: Sequence[int], step: Step, active: list[tuple[Instance, Box]]
        ) -> Iterator[tuple[Step, list[tuple[Instance, Box]]]]:
            if not cuts:
                yield step, active
                return
            loop = self.structure.loops[cuts[0]]
            axis = self.layer.dimensions.index(loop.dimension)

            def chunk(box: Box, i: int) -> Box:
                cut = box[axis][i * loop.tile : (i + 1) * loop.tile]
                return (*box[:axis], cut, *box[axis + 1 :])

            chunks = range(loop.chunks)
            if loop.array is not None:
                chunks = range(1) if loop.array in alone else chunks
                spread = [((*at, i), chunk(box, i)) for at, box in active for i in chunks]
                yield from run(cuts[1:], step, [(at, box) for at, box in spread if box[axis]])
                return
            for i in chunks:
                turn = [(at, chunk(box, i)) for at, box in active]
                if turn := [(at, box) for at, box in turn if box[axis]]:
                    yield from run(cuts[1:], (*step, i), turn)

        yield from run(cuts, (), [((), tuple(map(range, self.layer.bounds.values())))])

    def spatial(self, cuts: Sequence[int]) -> list[str]:
        """Return the array of each spatial loop among some loops."""
        arrays = (self.structure.loops[i].array for i in cuts)
        return [array for array in arrays if array is not None]

    def _footprint(self, tensor: str, intervals: Box) -> Words:
        """Return the words of a tensor over intervals of its dimensions, in order of appearance."""
        remaining = iter(intervals)
        axes = []
        for terms in self.expressions[tensor]:
            points = product(*(next(remaining) for _ in terms))
            coefficients = [term.coefficient for term in terms]
            axes.append({sum(map(int.__mul__, coefficients, point)) for point in points})
        return frozenset(product(*axes))


def restrict(instance: Instance, spatial: Sequence[str], arrays: frozenset[str]) -> Instance:
    """Return an instance's indices over some arrays alone."""
    return tuple(i for i, array in zip(instance, spatial, strict=True) if array in arrays)


def count(moved: Moved, spatial: Sequence[str], united: frozenset[str]) -> int:
    """Return the words of all instances; instances apart in `united` arrays share theirs."""
    apart = frozenset(spatial) - united
    shared: dict[Instance, set[tuple[int, ...]]] = defaultdict(set)
    for instance, words in moved:
        shared[restrict(instance, spatial, apart)] |= words
    return sum(map(len, shared.values()))

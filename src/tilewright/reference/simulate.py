"""The counts of a mapping by brute force: explicit sets of words, moved step by step.

This is the definition of what tilewright counts. It takes time in proportion to the operations of
the layer; the package `tilewright.model` computes the same numbers in closed form.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache
from itertools import product

from tilewright.architecture.machine import Architecture
from tilewright.counts import Counts, NetworkCounts, TensorCounts
from tilewright.errors import InputError
from tilewright.mapping.nodes import Mapping
from tilewright.mapping.structure import Link, Loop, Structure, resolve
from tilewright.mapping.validity import check as check_validity
from tilewright.workload.layer import Layer, Tensor

LIMIT = 2_000_000

Word = tuple[int, ...]
Words = frozenset[Word]
# the iterations below some loops, an interval for each dimension of the layer
Box = tuple[range, ...]
# index of each spatial loop, outermost first
Instance = tuple[int, ...]
# index of each temporal loop, outermost first
Step = tuple[int, ...]
Active = list[tuple[Instance, Box]]
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
    check_size(layer)
    if check:
        check_validity(mapping, layer, architecture)
    return Simulation(layer, architecture, resolve(mapping, layer, architecture)).counts()


def check_size(layer: Layer) -> None:
    """Refuse a layer with too many operations."""
    if layer.operations > LIMIT:
        raise InputError(
            f"layer '{layer.name}' has {layer.operations} operations and each of them would be "
            f"carried out: the simulation accepts at most {LIMIT}; 'evaluate' computes the same "
            "counts in closed form"
        )


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
    """Counts of one tensor, by memory (reads, writes) and by array (words, hops)."""

    reads: Counter[str] = field(default_factory=Counter)
    writes: Counter[str] = field(default_factory=Counter)
    words: dict[str, int] = field(default_factory=dict)
    hops: dict[str, int] = field(default_factory=dict)

    def cross(self, traffic: Traffic, refetch: int = 0) -> None:
        """Enter what crosses the arrays of a link, either way."""
        self.words |= {array: words + refetch for array, words in traffic.words.items()}
        self.hops |= {array: hops + refetch for array, hops in traffic.hops.items()}


class Simulation:
    """A mapping that is carried out.

    With `fresh` the output starts from zero; otherwise the outermost memory already holds partial
    sums of all its words.

    In its methods `alone` is a set of arrays of which only the first element takes part: with all
    arrays above a level, what is counted is the first instance of that level.
    """

    def __init__(
        self,
        layer: Layer,
        architecture: Architecture,
        structure: Structure,
        *,
        fresh: bool = True,
    ) -> None:
        self.layer = layer
        self.architecture = architecture
        self.fresh = fresh
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
        for _, active in self.steps(self.cuts, everywhere):
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
        counts = {}
        for tensor in self.layer.tensors:
            ledger = self.ledger(tensor.name, alone)
            peak = self.structure.tile_words(memory, tensor)
            counts[tensor.name] = TensorCounts(ledger.reads[memory], ledger.writes[memory], peak)
        return counts

    def network(self, array: str, alone: frozenset[str]) -> dict[str, NetworkCounts]:
        """Return the counts of an array by tensor."""
        ledgers = {tensor.name: self.ledger(tensor.name, alone) for tensor in self.layer.tensors}
        return {
            t: NetworkCounts(book.words[array], book.hops[array]) for t, book in ledgers.items()
        }

    def arrays_above(self, level: str) -> frozenset[str]:
        """Return the arrays outside a level."""
        position = self.architecture.position
        arrays = (array.name for array in self.architecture.arrays)
        return frozenset(array for array in arrays if position[array] < position[level])

    def _ledger(self, tensor: str, alone: frozenset[str]) -> Ledger:
        """Follow a tensor from the outermost memory to the compute unit."""
        ledger = Ledger()
        links = self.structure.links[tensor]
        moved = [(link, self.traffic(tensor, i, alone)) for i, link in enumerate(links)]
        if tensor == self.layer.output.name:
            self.accumulate(moved, ledger)
            return ledger
        for link, traffic in moved:
            ledger.reads[link.parent] += traffic.sent
            ledger.writes[link.child] += traffic.entering
            ledger.cross(traffic)
        return ledger

    def accumulate(self, moved: Sequence[tuple[Link, Traffic]], ledger: Ledger) -> None:
        """Enter the partial sums of the output, which leave as often as they enter."""
        # zero(A): words that enter the parent's tiles without a partial sum
        zero = moved[0][1].distinct if self.fresh else 0
        for link, traffic in moved:
            partial = traffic.sent - zero
            ledger.writes[link.parent] += traffic.sent
            ledger.reads[link.parent] += partial
            if link.child == self.architecture.compute.name:
                ledger.cross(traffic)
                break
            # where the arrays between do not add up, the parent does, and sends nothing back
            refetch = partial if all(array.reduction for array in link.arrays) else 0
            ledger.writes[link.child] += refetch
            ledger.reads[link.child] += traffic.entering
            ledger.cross(traffic, refetch)
            zero = traffic.entering - refetch

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
        touched: set[Word] = set()
        for moved, resident in self.moves(link, cuts, alone):
            sent = moved
            if forwards:
                held: dict[Instance, set[Word]] = defaultdict(set)
                for instance, tile in resident:
                    held[restrict(instance, spatial, parents)] |= tile
                sent = [(i, words - held[restrict(i, spatial, parents)]) for i, words in moved]
            traffic.entering += sum(len(words) for _, words in moved)
            for i, name in enumerate(names):
                traffic.words[name] += count(sent, spatial, united[i])
                traffic.hops[name] += count(moved, spatial, united[i + 1])
            touched.update(*(words for _, words in moved))
        traffic.distinct = len(touched)
        return traffic

    def moves(
        self, link: Link, cuts: Sequence[int], alone: frozenset[str]
    ) -> Iterator[tuple[Moved, Moved]]:
        """Yield at each step what enters the child's instances, and what they held before."""
        temporal = [i for i in cuts if self.structure.loops[i].array is None]
        mine = self.touched(alone) if alone and link.tensor.is_output else None
        resident: dict[Instance, tuple[Step, Words]] = {}
        for step, active in self.steps(cuts, alone):
            tiles = self.tiles(link.tensor, active)
            moved = []
            for instance, tile in tiles:
                last, old = resident.get(instance, (step, frozenset()))
                advanced = (t for t, i, j in zip(temporal, step, last, strict=True) if i != j)
                slides = next(advanced, None) in link.run
                moved.append((instance, tile - old if slides or tile == old else tile))
            if mine is not None:
                moved = [(instance, words & mine) for instance, words in moved]
            yield moved, [(instance, tile) for instance, (_, tile) in resident.items()]
            if link.child != self.architecture.compute.name:
                resident.update((instance, (step, tile)) for instance, tile in tiles)

    def _touched(self, alone: frozenset[str]) -> Words:
        """Return the words of the output below the first elements of some arrays.

        Memories above those arrays hold words of other elements as well: a partial sum that comes
        back to one of them is not the first element's.
        """
        steps = (self.tiles(self.layer.output, at) for _, at in self.steps(self.cuts, alone))
        return frozenset().union(*(words for tiles in steps for _, words in tiles))

    def tiles(self, tensor: Tensor, active: Active) -> Moved:
        """Return the words of a tensor that the boxes of instances touch."""
        axes = [self.layer.dimensions.index(dimension) for dimension in tensor.dimensions]
        return [
            (instance, self.footprint(tensor.name, tuple(box[axis] for axis in axes)))
            for instance, box in active
        ]

    def steps(self, cuts: Sequence[int], alone: frozenset[str]) -> Iterator[tuple[Step, Active]]:
        """Yield the steps of some loops in order, with the instances that do not idle."""
        whole = tuple(map(range, self.layer.bounds.values()))
        return self.lockstep(cuts, alone, (), [((), whole)])

    def lockstep(
        self, cuts: Sequence[int], alone: frozenset[str], step: Step, active: Active
    ) -> Iterator[tuple[Step, Active]]:
        """Yield the steps of the loops that are left, within one step of those above."""
        if not cuts:
            yield step, active
            return
        loop = self.structure.loops[cuts[0]]
        if loop.array is None:
            for i in range(loop.chunks):
                if turn := self.chunk(loop, i, active):
                    yield from self.lockstep(cuts[1:], alone, (*step, i), turn)
        else:
            elements = range(1 if loop.array in alone else loop.chunks)
            spread = [((*at, i), box) for i in elements for at, box in self.chunk(loop, i, active)]
            yield from self.lockstep(cuts[1:], alone, step, spread)

    def chunk(self, loop: Loop, i: int, active: Active) -> Active:
        """Return chunk `i` of a loop in the instances that have one."""
        axis = self.layer.dimensions.index(loop.dimension)
        return [
            (instance, (*box[:axis], cut, *box[axis + 1 :]))
            for instance, box in active
            if (cut := box[axis][i * loop.tile : (i + 1) * loop.tile])
        ]

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
    shared: dict[Instance, set[Word]] = defaultdict(set)
    for instance, words in moved:
        shared[restrict(instance, spatial, apart)] |= words
    return sum(map(len, shared.values()))

"""What a bypass choice costs, as sums of products of extents of stays."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from math import exp, inf, log, prod
from typing import NamedTuple

from numpy import logaddexp

from tilewright.mapper.objective.objective import Objective
from tilewright.mapper.problem.bypass_choices import KeepChoice
from tilewright.mapper.problem.link_costs import ports
from tilewright.mapper.relaxations.boxes.halves import Halves
from tilewright.mapper.relaxations.joint.array_chunks import ArrayChunks
from tilewright.mapper.relaxations.joint.program import (
    Powers,
    Program,
    Term,
    inverse,
    product,
    united,
)
from tilewright.mapper.relaxations.joint.windows.words import WindowWords
from tilewright.mapper.relaxations.stays.least_cost import Least
from tilewright.mapper.relaxations.stays.links import Link, Price
from tilewright.model.energy import leakage_per_cycle

NARROW = 1e-9
LEAST, MOST = -60.0, 700.0  # logarithms of energy and cycles, before anything is known of them
TOO_LARGE = 60.0  # logarithm of a tile, in rooms that there are


class Negative(NamedTuple):
    """A sum of terms that may be as much as a product, and a number more.

    Attributes
    ----------
    limit : int
    product : mapping of int to float
        Variables that no term has otherwise, the most important one first.
    log : float
        Logarithm of the number.
    """

    limit: int
    product: Powers
    log: float

    def more(self, value: float) -> float:
        """Return the logarithm of the most that it may be."""
        return float(logaddexp(value, self.log))

    def chord(self, low: float, high: float) -> tuple[float, float]:
        """Return number and slope of a line above `more`, which is convex."""
        ends = self.more(low), self.more(high)
        if high - low < NARROW:
            return ends[1], 0.0
        slope = (ends[1] - ends[0]) / (high - low)
        return ends[0] - slope * low, slope


class Extents:
    """The program of one bypass choice.

    A tile stays in a memory while loops around it change other dimensions only. Each link that ends
    in a memory has the extents of its stay there: of its own dimensions they are those of the tile,
    and the others say how often a word is used. All loops stand on one path from the whole layer to
    an operation, and extents shrink along it. So of two stays, one has no smaller extent than the
    other of any dimension, and that is all that order means. Where arrays lie in between, extents
    are of an instance further in, times the elements at work.

    Parameters
    ----------
    least : Least
        The layer and the machine, with all spatial choices at once.
    halves : sequence of Halves
        The spatial choices, and their parts.
    keep : bypass choice
    objective : Objective

    Attributes
    ----------
    dimensions : list of str
        Those of several iterations.
    stays : list of Link
        The links that end in a memory.
    extents : list of dict of str to int
        For each stay the variable of each dimension's extent.
    elements : list of dict of str to int
        For each of the halves the variable of the elements at work along each dimension.
    together : list of (int, frozenset of str, int)
        Of which of the halves elements along some dimensions are limited together, and where.
    cycles, energy : int
        Variables.
    leakage : float
        In pJ a cycle.
    less : float
        Energy that is to be taken off, in pJ: without cycles it is no part of the program.
    negative : list of Negative
    sums : dict of int to list of int
        The limits of what energy and cycles are at least.
    known_times : dict of (int, str, tuple of int) to int
        Variables of how often words come in, see `times`: by stay, dimension, and the elements at
        work that share them.
    more_times : list of (int, int)
        Rounds of a stay, and how often words come in that not all elements share.
    chunks : list of ArrayChunks
    within : dict of (int, int) to list of int
        For each pair of stays the limits that hold if the second one is inside of the first one.
    inside : set of (int, int)
        The pairs of which that is certain.
    """

    def __init__(
        self, least: Least, halves: Sequence[Halves], keep: KeepChoice, objective: Objective
    ) -> None:
        self.least, self.halves, self.objective = least, halves, objective
        bounds = least.layer.bounds
        self.bounds = bounds
        self.dimensions = [d for d, bound in bounds.items() if bound > 1]
        self.position = {d: i for i, d in enumerate(bounds)}
        self.links = least.links(keep)
        self.stays = [link for link in self.links if link.receiver < least.compute]
        self.arrays = range(len(least.architecture.arrays))
        self.program = program = Program()
        self.less = 0.0
        self.negative: list[Negative] = []
        self.sums: dict[int, list[int]] = {}
        self.add_arrays()
        self.add_stays()
        self.windows = WindowWords(self)
        self.leakage = leakage_per_cycle(least.architecture)
        energy, cycles = objective.powers
        self.timed = cycles > 0 or self.leakage > 0 or objective.most_cycles < inf
        self.cycles = program.variable(log(least.cycles[0]), MOST)
        self.energy = program.variable(log(least.work) if least.work > 0 else LEAST, MOST)
        self.sums |= {self.cycles: [], self.energy: []}
        self.add_room()
        if self.timed:
            self.add_time()
        if energy > 0 or objective.most_energy < inf:
            self.add_energy()
        self.windows.compare_rates()
        self.chunks = list(self.divided())
        self.limits, self.logs, self.always = program.compiled()

    def add_arrays(self) -> None:
        """Add elements at work."""
        least, program = self.least, self.program
        self.elements: list[dict[str, int]] = []
        self.together: list[tuple[int, frozenset[str], int]] = []
        relevant = [own & frozenset(self.dimensions) for own in least.relevant]
        every = frozenset(self.dimensions)
        for k, each in enumerate(self.halves):
            most = {d: float(each.widest[0, self.position[d]]) for d in self.dimensions}
            own = {d: program.variable(0.0, log(n)) for d, n in most.items() if n > 1}
            self.elements.append(own)
            for some in dict.fromkeys((every, *relevant, *(every - r for r in relevant))):
                along = {own[d]: 1.0 for d in self.dimensions if d in some and d in own}
                if len(along) > 1:
                    limited = program.limit(Term(0.0, along))
                    self.together.append((k, some, limited))
        for d in self.dimensions:
            along = self.along(self.arrays, (d,))
            if len(along) > 1:
                program.limit(Term(-log(self.bounds[d]), along))

    def add_stays(self) -> None:
        """Add extents of stays, and what holds for pairs of them."""
        least, program = self.least, self.program
        self.segment = least.segment
        self.extents = [
            {d: program.variable(0.0, log(self.bounds[d])) for d in self.dimensions}
            for _ in self.stays
        ]
        self.known_times: dict[tuple[int, str, tuple[int, ...]], int] = {}
        self.more_times: list[tuple[int, int]] = []
        for own, stay in zip(self.extents, self.stays, strict=True):
            outside = self.segment[stay.receiver]
            for d in self.dimensions:
                above, below = range(outside), range(outside, len(self.arrays))
                if along := self.along(above, (d,)):
                    program.limit(Term(-log(self.bounds[d]), product(along, {own[d]: 1.0})))
                if along := self.along(below, (d,)):
                    program.limit(Term(0.0, product(along, {own[d]: -1.0})))
        self.within: dict[tuple[int, int], list[int]] = {}
        self.inside: set[tuple[int, int]] = set()
        for i, outer in enumerate(self.stays):
            for k, inner in enumerate(self.stays):
                if i == k:
                    continue
                same = outer.tensor == inner.tensor
                if same and outer.receiver > inner.receiver:
                    continue
                if same:
                    self.inside.add((i, k))
                further = self.segment[outer.receiver] < self.segment[inner.receiver]
                open_ones = []
                for d in self.dimensions:
                    inside = product(self.extent(k, d), self.scale(i, k, d))
                    term = Term(0.0, product(inside, inverse(self.extent(i, d))))
                    # a tile is inside of those of memories above the array
                    certain = same or (further and d in least.relevant[inner.tensor])
                    limited = program.limit(term, always=certain)
                    if not certain:
                        open_ones.append(limited)
                self.within[i, k] = open_ones

    def times(self, i: int, d: str, sharing: Iterable[int]) -> int:
        """Return the variable of how often a word comes in, along a dimension irrelevant to it.

        Parameters
        ----------
        i : int
            The stay, or -1 for operations, each of which reads a word.
        sharing : iterable of int
            Arrays above whose elements share what comes in. If all do, it is the number of rounds:
            a whole one, which the others are no less than.
        """
        outside = len(self.arrays) if i < 0 else self.segment[self.stays[i].receiver]
        every = self.along(range(outside), (d,))
        shared = self.along((k for k in sharing if k < outside), (d,))
        key = i, d, tuple(sorted(shared))
        if key not in self.known_times:
            bound = log(self.bounds[d])
            self.known_times[key] = own = self.program.variable(0.0, bound)
            alone = self.extent(i, d) if i >= 0 else {}
            fewest = product(inverse(shared), inverse(alone), {own: -1.0})
            self.program.limit(Term(bound, fewest))
            if shared != every:
                rounds = self.times(i, d, range(outside))
                self.program.limit(Term(0.0, {rounds: 1.0, own: -1.0}))
                self.more_times.append((rounds, own))
        return self.known_times[key]

    def divided(self) -> Iterator[ArrayChunks]:
        """Yield the dimensions that each array may divide, if their steps count."""
        for d in self.dimensions:
            every = tuple(sorted(self.along(self.arrays, (d,))))
            if (-1, d, every) in self.known_times:
                for array in self.arrays:
                    if self.along((array,), (d,)):
                        yield ArrayChunks(self, array, d, self.known_times[-1, d, every])

    def ranges_of(self, instances: Sequence[int]) -> tuple[tuple[int, float, float], ...]:
        """Return the ranges of elements at work, of each dimension n - 1 to n for n instances."""
        found = []
        for d in self.dimensions:
            along = self.along(self.arrays, (d,))
            most = instances[self.position[d]]
            fewest = max(1, most - 1) if len(along) == 1 else 1
            found += [(v, log(fewest), log(most)) for v in along]
        return tuple(found)

    def extent(self, i: int, d: str) -> dict[int, float]:
        """Return the extent of a dimension of a stay."""
        return {self.extents[i][d]: 1.0}

    def along(self, arrays: Iterable[int], dimensions: Iterable[str]) -> dict[int, float]:
        """Return the elements at work of some arrays along some dimensions."""
        wanted, names = set(arrays), set(dimensions)
        return {
            variable: 1.0
            for each, own in zip(self.halves, self.elements, strict=True)
            if each.array in wanted
            for d, variable in own.items()
            if d in names
        }

    def scale(self, outer: int, inner: int, d: str) -> dict[int, float]:
        """Return how many times as much all instances of one stay have that another one's has."""
        first, last = (self.segment[self.stays[i].receiver] for i in (outer, inner))
        if first <= last:
            return self.along(range(first, last), (d,))
        return inverse(self.along(range(last, first), (d,)))

    def add_room(self) -> None:
        """Let tiles fit their memories."""
        for m in range(1, self.least.compute):
            memory = self.least.architecture.memories[m]
            own = [i for i, stay in enumerate(self.stays) if stay.receiver == m]
            if memory.tensor_bits is not None:
                for i in own:
                    role = self.least.layer.tensors[self.stays[i].tensor].role
                    self.program.limit(self.taken(i, memory.tensor_bits[role]))
            elif memory.capacity_bits is not None and own:
                self.program.limit(*(self.taken(i, memory.capacity_bits) for i in own))

    def taken(self, i: int, bits: float) -> Term:
        """Return the part of some room that a tile takes."""
        word = self.least.rooms.bits(self.stays[i])
        alone = [self.extent(i, d) for d in self.windows.alone[self.stays[i].tensor]]
        number = log(word / bits) if bits > 0 else TOO_LARGE
        return Term(number, product(*alone, *self.windows.tile(i)))

    def add_time(self) -> None:
        """Let cycles be those of the operations and of each port at least."""
        least = self.least
        steps = {self.times(-1, d, self.arrays): 1.0 for d in self.dimensions}
        cycles = {self.cycles: 1.0}
        self.at_most([Term(log(least.architecture.compute.cycles), steps)], 0.0, cycles)
        for port in ports(least.architecture):
            own = [least.prices.at_port(link, port[0], port[-1]) for link in self.links]
            prices = [least.prices.load(link, *port) for link in own]
            terms, constant = self.costs(own, prices)
            # of first words that need not be read, an instance may have any part
            above = 0 if any(price.once for price in prices) else port[-1]
            if terms:
                self.at_port(terms, constant, above)

    def at_port(self, terms: Sequence[Term], constant: float, above: int) -> None:
        """Let cycles be those of a port in each instance below some arrays at least, on average.

        One that has most iterations of each dimension has its share of the words, or more.
        """
        most = {self.cycles: 1.0}
        number = log(prod(array.elements for array in self.least.architecture.arrays[:above]))
        for d in self.dimensions:
            if self.along(range(above), (d,)):
                most[self.times(-1, d, range(above))] = -1.0
                number -= log(self.bounds[d])
        terms = [Term(term.log + number, term.powers) for term in terms]
        self.at_most(terms, constant * exp(number), most)

    def add_energy(self) -> None:
        """Let energy be at least what all words, operations and cycles cost."""
        prices = [self.least.prices.energy(link) for link in self.links]
        terms, constant = self.costs(self.links, prices)
        constant += self.least.work
        if self.leakage > 0:
            terms.append(Term(log(self.leakage), {self.cycles: 1.0}))
        if constant < 0 and not self.timed:
            self.less, constant = -constant, 0.0
        self.at_most(terms, constant, {self.energy: 1.0})

    def at_most(self, terms: Sequence[Term], constant: float, most: Powers) -> None:
        """Let the sum of terms and a number be at most a product, which begins with what counts."""
        every = [*terms, Term(log(constant), {})] if constant > 0 else terms
        own = inverse(most)
        limit = self.program.limit(*(Term(t.log, product(t.powers, own)) for t in every))
        self.sums[next(iter(most))].append(limit)
        if constant < 0:
            self.negative.append(Negative(limit, most, log(-constant)))

    def costs(self, links: Sequence[Link], prices: Sequence[Price]) -> tuple[list[Term], float]:
        """Return what words of links cost, as terms and a number."""
        terms: list[Term] = []
        constant = 0.0
        place = {link: i for i, link in enumerate(self.stays)}
        for original, link, price in zip(self.links, links, prices, strict=True):
            constant += price.once
            i = place.get(original, -1)
            if i < 0:
                # operations receive a word each
                constant += price.received * self.least.layer.operations
            terms += self.words(i, link, price)
        found, more = united(terms)
        return found, constant + more

    def words(self, i: int, link: Link, price: Price) -> list[Term]:
        """Return what words of a link cost; i is its stay, or -1 where operations read them."""
        least, t = self.least, link.tensor
        operations = float(least.layer.operations)
        irrelevant = [d for d in self.dimensions if d in least.irrelevant[t]]
        # iterations of its own dimensions
        number = operations / prod(self.bounds[d] for d in irrelevant)
        found = []
        if price.received and i >= 0:
            times = {self.times(i, d, ()): 1.0 for d in irrelevant}
            rates = self.windows.rates(i, t, ())
            found.append(Term(log(price.received * number), product(times, rates)))
        begin, inside = max(self.segment[link.sender], link.first), self.segment[link.receiver]
        for outside, own in ((begin, price.sent), *price.passed):
            if own == 0.0:
                continue
            sharing = tuple(k for k in range(outside, inside) if least.unrolled.shares(t, k))
            times = {self.times(i, d, sharing): 1.0 for d in irrelevant}
            rates = self.windows.rates(i, t, sharing)
            found.append(Term(log(own * number), product(times, rates)))
        return found

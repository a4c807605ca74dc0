"""What a layer costs at least on the machine of some numbers: a walk over words, not over mappings.

For every bypass choice, and every way to spread the layer over the arrays, each link moves at least
the words of `stays`; their prices are those of the row. See `docs/explore.md`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from tilewright.kernels.kernel import leaf
from tilewright.kernels.record import record

if TYPE_CHECKING:
    from tilewright.kernels.types import Bools, Floats, Ints


MOST_CANDIDATES = 2048


@record
class Words(NamedTuple):
    """What a layer may move on the machines of a space, as plain arrays.

    Attributes
    ----------
    operations, joules : float
        Operations; the share of them that cost energy.
    output : int
        Position of the output.
    sums : array of choices
        Whether entries of partial sums that begin at a memory spare fetches for certain.
    distinct : array of tensors
        Words.
    ratio : array of (tensors, memories)
        Words of the memory per element.
    above : array of memories
        Arrays above each.
    unites : array of (arrays, tensors)
        Whether one word serves several elements, or their sums are added.
    length : array of (choices, tensors)
        Memories that store a tensor in a bypass choice.
    chain : array of (choices, tensors, memories)
        Which ones, from the outermost inward.
    group : array of (choices, groups)
        Position in `first` of what is stored side by side; -1 for no more groups.
    segment : array of (choices, groups)
        Arrays above it.
    link : array of (choices, groups, tensors)
        By which link of its chain each tensor comes in, or -1.
    first : array of groups
        Where each has its classes in `starts`.
    starts : array of classes
        Where the points of a class begin; those of a group end with the next entry.
    classes : array of (groups, ways)
    times : array of (points, tensors)
    bits : array of (points, memories)
        See `stays.Points`.
    extents, options, used, reuse, sharing
        See `spread.Spreads`.
    port_memory, port_array : array of ports
        The memory or the array that it belongs to, or -1.
    port_reads, port_writes : array of ports
    """

    operations: float
    joules: float
    output: int
    sums: Bools
    distinct: Floats
    ratio: Floats
    above: Ints
    unites: Bools
    length: Ints
    chain: Ints
    group: Ints
    segment: Ints
    link: Ints
    first: Ints
    starts: Ints
    classes: Ints
    times: Floats
    bits: Floats
    extents: Floats
    options: Ints
    used: Floats
    reuse: Floats
    sharing: Floats
    port_memory: Ints
    port_array: Ints
    port_reads: Bools
    port_writes: Bools


@record
class Costs(NamedTuple):
    """The numbers of a machine that bounds rest on, or how much higher they are than another's.

    Attributes
    ----------
    capacity, read, write : arrays of memories
        Bits; pJ per word.
    rates : array of ports
        Words per cycle.
    hops : array of arrays
        pJ per word and hop.
    extents : array of axes
        Of all arrays.
    cycles, energy : float
        Of an operation (pJ).
    leakage : float
        pJ per cycle.
    """

    capacity: Floats
    read: Floats
    write: Floats
    rates: Floats
    hops: Floats
    extents: Floats
    cycles: float
    energy: float
    leakage: float


@record
class Scratch(NamedTuple):
    """Arrays for what is of no use after a step.

    Attributes
    ----------
    cut : array of arrays + 1
        Words of a link per word that all receivers get, by the arrays between that are summed.
    price : array of (ports + 2, tensors)
        Of a word that comes in, its cycles at each port, and how much higher its price is.
    total : array of ports + 2
        Least pJ, cycles at each port, and pJ beyond, of what is the same for all ways to spread.
    least : array of ports + 2
        The same of one group.
    load : array of ports
        Cycles of one way to spread.
    ways : array of ways
        Those that fit the arrays.
    served : array of (tensors, memories)
        Units that one word serves at once, sent from a memory straight to the compute unit.
    known : array of (2, groups, ports + 2)
        What is stored above all arrays costs, by `Words.sums`; -1 where it is not known yet.
    kept : array of points
        Those of each class that fit, from where the class begins.
    fitting : array of classes
        How many; -1 where it is not known yet.
    least_above : array of 1
        The part of the least pJ that is for what is stored above all arrays.
    candidates : array of (candidates, 5)
        Bounds of a bypass choice and a way to spread: the product, the energy (pJ) and the cycles;
        pJ of what does not come into tiles, and those of tiles above all arrays.
    chosen : array of (candidates, 3)
        The bypass choice, the way to spread, and 1 where the bounds are those of nested tiles.
    count : array of 1
        How many candidates there are.
    best : array of 2
        The bypass choice and the way to spread of the last least product; -1 for none.
    """

    cut: Floats
    price: Floats
    total: Floats
    least: Floats
    load: Floats
    ways: Ints
    served: Floats
    known: Floats
    kept: Ints
    fitting: Ints
    least_above: Floats
    candidates: Floats
    chosen: Ints
    count: Ints
    best: Ints


def scratch_for(words: Words) -> Scratch:
    """Return arrays that are large enough."""
    ports = len(words.port_memory)
    return Scratch(
        cut=np.zeros(words.unites.shape[0] + 1),
        price=np.zeros((ports + 2, len(words.distinct))),
        total=np.zeros(ports + 2),
        least=np.zeros(ports + 2),
        load=np.zeros(ports),
        ways=np.zeros(len(words.used), np.int64),
        served=np.zeros(words.ratio.shape),
        known=np.zeros((2, len(words.first), ports + 2)),
        kept=np.zeros(len(words.times), np.int64),
        fitting=np.zeros(len(words.starts), np.int64),
        least_above=np.zeros(1),
        candidates=np.zeros((MOST_CANDIDATES, 5)),
        chosen=np.zeros((MOST_CANDIDATES, 3), np.int64),
        count=np.zeros(1, np.int64),
        best=np.full(2, -1, np.int64),
    )


@leaf
def cut_words(words: Words, t: int, lo: int, hi: int, way: int, every: bool, cut: Floats) -> None:
    """Fill the words of a link, per word that all receivers get, for each cut."""
    cut[hi - lo] = 1.0
    for k in range(hi - 1, lo - 1, -1):
        cut[k - lo] = cut[k - lo + 1]
        if words.unites[k, t]:
            shared = words.sharing[way, k, t] if every else words.reuse[way, k, t]
            cut[k - lo] /= shared


@leaf
def saved_later(words: Words, costs: Costs, choice: int, t: int, link: int) -> float:
    """Return what an entry of a partial sum that begins after a link costs less than any other."""
    total = 0.0
    for later in range(link + 1, words.length[choice, t]):
        total += again(words, costs, choice, t, later)
    return float(total)


@leaf
def again(words: Words, costs: Costs, choice: int, t: int, link: int) -> float:
    """Return what it costs to fetch a partial sum over a link."""
    a = words.chain[choice, t, link]
    total = costs.read[a] * words.ratio[t, a]
    if link + 1 < words.length[choice, t]:
        b = words.chain[choice, t, link + 1]
        total += costs.write[b] * words.ratio[t, b]
        for k in range(words.above[a], words.above[b]):
            total += costs.hops[k]
    return float(total)


@leaf
def price_of(
    words: Words,
    costs: Costs,
    choice: int,
    t: int,
    link: int,
    way: int,
    sums: bool,
    cut: Floats,
) -> float:
    """Return the pJ of each word that all receivers of a link get together.

    With `sums`, entries of an output that begin at a memory are fetched by no link.
    """
    a = words.chain[choice, t, link]
    lo = words.above[a]
    last = link == words.length[choice, t] - 1
    hi = words.unites.shape[0] if last else words.above[words.chain[choice, t, link + 1]]
    n = hi - lo
    cut_words(words, t, lo, hi, way, last, cut)
    is_output = t == words.output
    total = (costs.write[a] if is_output else costs.read[a]) * words.ratio[t, a] * cut[0]
    for k in range(n):
        total += costs.hops[lo + k] * cut[k + 1]
    if not last:
        b = words.chain[choice, t, link + 1]
        total += (costs.read[b] if is_output else costs.write[b]) * words.ratio[t, b]
    if is_output and sums:
        later = saved_later(words, costs, choice, t, link)
        total += again(words, costs, choice, t, link) * cut[0]
        total -= later * (1.0 - cut[0])
    return float(total)


@leaf
def cycles_of(
    words: Words, costs: Costs, choice: int, t: int, link: int, way: int, port: int, cut: Floats
) -> float:
    """Return the cycles at a port of each word that all receivers of a link get; after `price_of`.

    Partial sums that are fetched again count at memories above all arrays, where there is one
    instance, and if it is known how often that is; see `first_fetches`.
    """
    a = words.chain[choice, t, link]
    lo = words.above[a]
    last = link == words.length[choice, t] - 1
    hi = words.unites.shape[0] if last else words.above[words.chain[choice, t, link + 1]]
    is_output = t == words.output
    k = words.port_array[port]
    if k >= 0:
        found = cut[k - lo] / costs.rates[port] if lo <= k < hi else 0.0
        instances_above = k
    else:
        m = words.port_memory[port]
        found = 0.0
        if m == a and (words.port_writes[port] if is_output else words.port_reads[port]):
            found += cut[0]
        into = words.port_reads[port] if is_output else words.port_writes[port]
        if into and not last and m == words.chain[choice, t, link + 1]:
            found += 1.0
        if is_output and words.sums[choice]:
            found += fetching(words, choice, t, link, port) * cut[0]
        found *= words.ratio[t, m] / costs.rates[port]
        instances_above = words.above[m]
    for i in range(instances_above):
        found /= words.used[way, i]
    return float(found)


@leaf
def fetching(words: Words, choice: int, t: int, link: int, port: int) -> float:
    """Return how often a partial sum that is fetched over a link passes a port above all arrays."""
    m = words.port_memory[port]
    found = 0.0
    if m >= 0 and words.above[m] == 0:
        if m == words.chain[choice, t, link] and words.port_reads[port]:
            found += 1.0
        inner = words.length[choice, t] - 1 > link
        if inner and m == words.chain[choice, t, link + 1] and words.port_writes[port]:
            found += 1.0
    return found


@leaf
def first_fetches(words: Words, costs: Costs, choice: int, port: int) -> float:
    """Return the cycles at a port that `cycles_of` counts though words begin from zero.

    Each word of the output begins once at the outermost memory, and is fetched over no link then.
    Below an array no port counts, so entries that begin there spare nothing.
    """
    t, m = words.output, words.port_memory[port]
    total = 0.0
    if words.sums[choice] and m >= 0:
        for link in range(words.length[choice, t]):
            total += fetching(words, choice, t, link, port)
        total *= words.distinct[t] * words.ratio[t, m] / costs.rates[port]
    return float(total)


@leaf
def fitting_points(words: Words, capacity: Floats, begin: int, scratch: Scratch) -> None:
    """Keep the points of a class that fit and that no other one is better than."""
    kept, fitting = scratch.kept, scratch.fitting
    start = words.starts[begin]
    found = 0
    for p in range(start, words.starts[begin + 1]):
        fine = True
        for m in range(len(capacity)):
            fine = fine and words.bits[p, m] <= capacity[m]
        q = 0
        while fine and q < found:
            worse = True
            for t in range(words.times.shape[1]):
                worse = worse and words.times[kept[start + q], t] <= words.times[p, t]
            fine = not worse
            q += 1
        if not fine:
            continue
        left = 0
        for q in range(found):
            worse = True
            for t in range(words.times.shape[1]):
                worse = worse and words.times[p, t] <= words.times[kept[start + q], t]
            if not worse:
                kept[start + left] = kept[start + q]
                left += 1
        kept[start + left] = p
        found = left + 1
    fitting[begin] = found


@leaf
def least_of_group(
    words: Words, capacity: Floats, choice: int, g: int, way: int, scratch: Scratch
) -> bool:
    """Fill the least pJ, and cycles at each port, of what is stored side by side, if it fits."""
    group = words.group[choice, g]
    begin = words.first[group] + words.classes[group, way]
    if scratch.fitting[begin] < 0:
        fitting_points(words, capacity, begin, scratch)
    price, least, kept = scratch.price, scratch.least, scratch.kept
    start = words.starts[begin]
    for r in range(len(least)):
        least[r] = np.inf
        for q in range(start, start + scratch.fitting[begin]):
            total = 0.0
            for t in range(len(words.distinct)):
                total += price[r, t] * words.times[kept[q], t]
            least[r] = min(least[r], total)
    return bool(scratch.fitting[begin] > 0)


@leaf
def price_group(
    words: Words,
    costs: Costs,
    more: Costs,
    choice: int,
    g: int,
    way: int,
    raises: bool,
    scratch: Scratch,
) -> None:
    """Fill what one time of all words of each tensor of a group costs."""
    price, cut, sums = scratch.price, scratch.cut, bool(words.sums[choice])
    last = len(costs.rates) + 1
    for t in range(len(words.distinct)):
        price[:, t] = 0.0
        link = words.link[choice, g, t]
        if link < 0:
            continue
        price[0, t] = words.distinct[t] * price_of(words, costs, choice, t, link, way, sums, cut)
        for r in range(len(costs.rates)):
            if costs.rates[r] < np.inf:
                price[r + 1, t] = words.distinct[t] * cycles_of(
                    words, costs, choice, t, link, way, r, cut
                )
        if raises:
            price[last, t] = words.distinct[t] * price_of(
                words, more, choice, t, link, way, sums, cut
            )

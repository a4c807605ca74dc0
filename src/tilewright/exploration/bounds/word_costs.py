"""What a layer costs at least on the machine of some numbers: a walk over words, not over mappings.

For every bypass choice, and every way to spread the layer over the arrays, each link moves at least
the words of `stays`; their prices are those of the row. See `docs/explore.md`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tilewright.kernels.kernel import called_leaf, leaf

if TYPE_CHECKING:
    from tilewright.exploration.bounds.words import Costs, Scratch, Words
    from tilewright.kernels.types import Floats


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


@called_leaf
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


@called_leaf
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

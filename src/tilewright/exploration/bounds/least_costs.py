"""The least of all ways to move the words of a layer on machines of some numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tilewright.exploration.bounds.corners import MARGIN, tidied, with_candidates
from tilewright.exploration.bounds.nested.refined import refine, refine_near
from tilewright.exploration.bounds.word_costs import (
    again,
    cycles_of,
    first_fetches,
    least_of_group,
    price_group,
    price_of,
    saved_later,
)
from tilewright.kernels.kernel import leaf, leaf_kernel

if TYPE_CHECKING:
    from tilewright.exploration.bounds.nested.records import Lists, Nested
    from tilewright.exploration.bounds.nested.slide_words import Slides
    from tilewright.exploration.bounds.words import Costs, Scratch, Words
    from tilewright.kernels.types import Floats
    from tilewright.mapper.problem.space import Space


@leaf_kernel
def least_costs(
    words: Words,
    nested: Nested,
    lists: Lists,
    sp: Space,
    slides: Slides,
    costs: Costs,
    more: Costs,
    solved: Floats,
    wanted: bool,
    scratch: Scratch,
    found: Floats,
    corners: Floats,
) -> int:
    """Fill bounds of the energy (pJ), the cycles, and the product of both.

    All are infinite where nothing fits. Unless the energy is `wanted`, its bound is rough.

    On a machine that is at least as good, every mapping has at least the energy, the cycles and
    the product that are `solved` (0 where that is not known). Here energies are higher by `more`.

    Returns
    -------
    int
        How many rows of `corners`, an array of (rows, 3), are filled: every mapping has at least
        the energy, the cycles and the product of one of them, or `MARGIN` times the least
        product. -1 when there are more than rows.
    """
    raises = solved[0] + solved[1] + solved[2] > 0.0
    found[:] = np.inf
    scratch.known[:] = -1.0
    scratch.fitting[:] = -1
    fitting = ways_that_fit(words, costs, scratch)
    scratch.filled[0] = 0
    least, full = np.inf, False
    # what was best on the last machine is likely to be good here: then less has to be looked at
    first, at = scratch.best[0], scratch.best[1]
    if (
        first >= 0
        and fits_extents(words, costs, at)
        and begun(words, costs, more, first, raises, scratch)
        and spread_costs(words, costs, more, solved, first, at, wanted, scratch, found)
    ):
        least = scratch.candidates[0, 0]
        refine(words, nested, lists, sp, slides, costs, scratch, 0, wanted, found)
    else:
        first = -1
    for choice in range(len(words.length)):
        if not begun(words, costs, more, choice, raises, scratch):
            continue
        direct = scratch.total[0] + least_sent(words, costs, choice, scratch)
        for i in range(fitting):
            way = scratch.ways[i]
            if choice == first and way == at:
                continue
            steps = steps_of(words, costs, way)
            floor = direct + costs.leakage * steps
            if not wanted and floor * steps >= found[2] * MARGIN:
                # of all further ways, none of which uses more elements, this much is certain
                found[0] = min(found[0], floor)
                found[1] = min(found[1], steps)
                break
            if hopeless(found, floor, steps, wanted) or not spread_costs(
                words, costs, more, solved, choice, way, wanted, scratch, found
            ):
                continue
            row = scratch.filled[0] - 1
            last = row == len(scratch.candidates) - 1
            if scratch.candidates[row, 0] < least or last:
                least = min(least, scratch.candidates[row, 0])
                refine(words, nested, lists, sp, slides, costs, scratch, row, wanted, found)
            if last:
                # no room for more: this one is counted at once, and told in no corner
                scratch.filled[0] -= 1
                full = True
    refine_near(words, nested, lists, sp, slides, costs, scratch, wanted, found)
    filled = with_candidates(scratch, found, corners)
    if raises:
        for k in range(2):
            found[k] = max(found[k], solved[k])
    if full or filled < 0:
        return -1
    return tidied(corners, filled, found[2] * MARGIN)


@leaf
def fits_extents(words: Words, costs: Costs, way: int) -> bool:
    """Whether arrays are large enough for a way to spread the layer."""
    for option in range(words.options[way], words.options[way + 1]):
        fits = True
        for axis in range(len(costs.extents)):
            fits = fits and words.extents[option, axis] <= costs.extents[axis]
        if fits:
            return True
    return False


@leaf
def steps_of(words: Words, costs: Costs, way: int) -> float:
    """Return the cycles that the elements of a way to spread the layer work."""
    steps = words.operations * costs.cycles
    for k in range(words.used.shape[1]):
        steps /= words.used[way, k]
    return float(steps)


@leaf
def ways_that_fit(words: Words, costs: Costs, scratch: Scratch) -> int:
    """Fill the ways that fit, and how many units a word can serve in them; return their number."""
    ways, served = scratch.ways, scratch.served
    fitting = 0
    for way in range(len(words.used)):
        if fits_extents(words, costs, way):
            ways[fitting] = way
            fitting += 1
    nt, na = len(words.distinct), words.unites.shape[0]
    for t in range(nt):
        for m in range(len(costs.capacity)):
            served[t, m] = 1.0
            for i in range(fitting):
                most = 1.0
                for k in range(words.above[m], na):
                    if words.unites[k, t]:
                        most *= words.sharing[ways[i], k, t]
                served[t, m] = max(served[t, m], most)
    return fitting


@leaf
def least_sent(words: Words, costs: Costs, choice: int, scratch: Scratch) -> float:
    """Return the least pJ of what crosses arrays or goes straight to the compute unit."""
    total = 0.0
    sums = bool(words.sums[choice])
    for t in range(len(words.distinct)):
        m = words.chain[choice, t, words.length[choice, t] - 1]
        own = costs.write[m] if t == words.output else costs.read[m]
        if t == words.output and sums:
            own += costs.read[m]
        total += words.operations * own * words.ratio[t, m] / scratch.served[t, m]
        total += certain_of(words, costs, choice, t, sums)
    return float(total)


@leaf
def begun(
    words: Words, costs: Costs, more: Costs, choice: int, raises: bool, scratch: Scratch
) -> bool:
    """Fill the totals of a bypass choice that all ways to spread share; whether anything fits."""
    total, o = scratch.total, words.output
    last = len(total) - 1
    sums = bool(words.sums[choice])
    known = scratch.known[int(sums)]
    total[:] = 0.0
    total[0] = words.operations * words.joules * costs.energy
    for r in range(len(costs.rates)):
        total[r + 1] = -first_fetches(words, costs, choice, r)
    if sums:
        total[0] -= words.distinct[o] * saved_later(words, costs, choice, o, -1)
    if raises:
        total[last] = words.operations * words.joules * more.energy
        if sums:
            total[last] -= words.distinct[o] * saved_later(words, more, choice, o, -1)
    scratch.least_above[0] = 0.0
    g = 0
    while g < words.group.shape[1] and words.group[choice, g] >= 0:
        if words.segment[choice, g] == 0:
            own = words.group[choice, g]
            if known[own, 0] < 0.0:
                # no array is crossed: it costs the same in every choice that counts sums alike
                price_group(words, costs, more, choice, g, 0, raises, scratch)
                least_of_group(words, costs.capacity, choice, g, 0, scratch)
                for r in range(len(total)):
                    known[own, r] = scratch.least[r]
            if known[own, 0] == np.inf:
                return False
            for r in range(len(total)):
                total[r] += known[own, r]
            scratch.least_above[0] += known[own, 0]
        g += 1
    return True


@leaf
def certain_of(words: Words, costs: Costs, choice: int, t: int, sums: bool) -> float:
    """Return the least pJ of what a tensor sends through arrays to memories: each word once."""
    total = 0.0
    for link in range(words.length[choice, t] - 1):
        a, b = words.chain[choice, t, link], words.chain[choice, t, link + 1]
        if words.above[b] == 0:
            continue
        if t == words.output:
            total += costs.write[a] * words.ratio[t, a]
            if sums:
                total += again(words, costs, choice, t, link)
                total += saved_later(words, costs, choice, t, link)
                if words.above[b] == words.above[a]:
                    total += costs.read[b] * words.ratio[t, b]
                    total -= saved_later(words, costs, choice, t, link)
        else:
            total += costs.read[a] * words.ratio[t, a] + costs.write[b] * words.ratio[t, b]
    return float(total * words.distinct[t])


@leaf
def hopeless(found: Floats, energy: float, cycles: float, wanted: bool) -> bool:
    """Whether nothing that costs at least so much lowers what is found.

    Unless the energy is `wanted`, it is enough that the product does not fall; what is certain of
    the others counts for all that is left out.
    """
    if energy * cycles < found[2] * MARGIN:
        return False
    if not wanted:
        found[0] = min(found[0], energy)
        found[1] = min(found[1], cycles)
        return True
    return bool(energy >= found[0] and cycles >= found[1])


@leaf
def spread_costs(
    words: Words,
    costs: Costs,
    more: Costs,
    solved: Floats,
    choice: int,
    way: int,
    wanted: bool,
    scratch: Scratch,
    found: Floats,
) -> bool:
    """Add a candidate: what one bypass choice costs with one way to spread the layer.

    Return whether it may lower what is found; else it is none.
    """
    cut, load, rates = scratch.cut, scratch.load, costs.rates
    sums = bool(words.sums[choice])
    raises = solved[0] + solved[1] + solved[2] > 0.0
    energy = scratch.total[0]
    extra = scratch.total[len(rates) + 1]
    for r in range(len(rates)):
        load[r] = scratch.total[r + 1]
    # what goes straight to the compute unit
    for t in range(len(words.distinct)):
        last = words.length[choice, t] - 1
        energy += words.operations * price_of(words, costs, choice, t, last, way, sums, cut)
        for r in range(len(rates)):
            if rates[r] < np.inf:
                load[r] += words.operations * cycles_of(words, costs, choice, t, last, way, r, cut)
        if raises:
            extra += words.operations * price_of(words, more, choice, t, last, way, sums, cut)
    rest = energy - scratch.least_above[0]
    busiest = steps_of(words, costs, way)
    for r in range(len(rates)):
        busiest = max(busiest, load[r])
    if hopeless(found, energy + costs.leakage * busiest, busiest, wanted):
        return False
    g = 0
    while g < words.group.shape[1] and words.group[choice, g] >= 0:
        if words.segment[choice, g] > 0:
            price_group(words, costs, more, choice, g, way, raises, scratch)
            if not least_of_group(words, costs.capacity, choice, g, way, scratch):
                return False
            energy += scratch.least[0]
            for r in range(len(rates)):
                load[r] += scratch.least[r + 1]
            extra += scratch.least[len(rates) + 1]
        g += 1
    for r in range(len(rates)):
        busiest = max(busiest, load[r])
    if raises:
        busiest = max(busiest, solved[1])
        extra += more.leakage * busiest
    value = energy + costs.leakage * busiest
    product = value * busiest
    if raises:
        value = max(value, solved[0] + extra)
        product = max(value * busiest, solved[2] + extra * busiest)
    if hopeless(found, value, busiest, wanted):
        return False
    row = scratch.filled[0]
    scratch.filled[0] += 1
    candidate = scratch.candidates[row]
    candidate[0], candidate[1], candidate[2] = product, value, busiest
    candidate[3], candidate[4] = rest, scratch.least_above[0]
    scratch.chosen[row, 0], scratch.chosen[row, 1], scratch.chosen[row, 2] = choice, way, 0
    return True

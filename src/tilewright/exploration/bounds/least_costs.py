"""The least of all ways to move the words of a layer on machines of some numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tilewright.exploration.bounds.word_costs import (
    More,
    Scratch,
    Words,
    again,
    cycles_of,
    least_of_group,
    price_group,
    price_of,
    saved_later,
)
from tilewright.kernels.kernel import leaf, leaf_kernel

if TYPE_CHECKING:
    from tilewright.kernels.types import Floats, Ints

MARGIN = 1.06
"""Mappings whose product is up to this many times the least are told one by one."""


@leaf_kernel
def least_costs(
    words: Words,
    capacity: Floats,
    read: Floats,
    write: Floats,
    rates: Floats,
    hops: Floats,
    extents: Floats,
    cycles: float,
    energy: float,
    leakage: float,
    wanted: bool,
    solved: Floats,
    more_read: Floats,
    more_write: Floats,
    more_hops: Floats,
    more_energy: float,
    more_leakage: float,
    cut: Floats,
    price: Floats,
    total: Floats,
    least: Floats,
    load: Floats,
    ways: Ints,
    served: Floats,
    known: Floats,
    kept: Ints,
    in_class: Ints,
    found: Floats,
    corners: Floats,
) -> int:
    """Fill bounds of the energy (pJ), the cycles, and the product of both.

    All are infinite where nothing fits. Unless the energy is `wanted`, its bound is rough. The ten
    arrays before the last two are those of `Scratch`.

    On a machine that is at least as good, every mapping has at least the energy, the cycles and
    the product that are `solved` (0 where that is not known). Here energies are higher by those
    called `more`.

    Returns
    -------
    int
        How many rows of `corners`, an array of (rows, 3), are filled: every mapping has at least
        the energy, the cycles and the product of one of them, or `MARGIN` times the least
        product. -1 when there are more than rows.
    """
    scratch = Scratch(
        cut=cut,
        price=price,
        total=total,
        least=least,
        load=load,
        ways=ways,
        served=served,
        known=known,
        kept=kept,
        fitting=in_class,
    )
    more = More(solved, more_read, more_write, more_hops, more_leakage)
    raises = solved[0] + solved[1] + solved[2] > 0.0
    last = len(total) - 1
    filled = 0
    o = words.output
    found[:] = np.inf
    known[:] = -1.0
    in_class[:] = -1
    fixed = words.operations * words.joules * energy
    fitting = 0
    for way in range(len(words.used)):
        for option in range(words.options[way], words.options[way + 1]):
            fits = True
            for axis in range(len(extents)):
                fits = fits and words.extents[option, axis] <= extents[axis]
            if fits:
                ways[fitting] = way
                fitting += 1
                break
    # the most units that a word can serve at once which a memory sends to the compute unit
    nt, na = len(words.distinct), words.unites.shape[0]
    for t in range(nt):
        for m in range(len(capacity)):
            served[t, m] = 1.0
            for i in range(fitting):
                most = 1.0
                for k in range(words.above[m], na):
                    if words.unites[k, t]:
                        most *= words.sharing[ways[i], k, t]
                served[t, m] = max(served[t, m], most)
    for choice in range(len(words.length)):
        sums = words.sums[choice]
        direct = 0.0
        for t in range(nt):
            m = words.chain[choice, t, words.length[choice, t] - 1]
            own = write[m] if t == o else read[m]
            if t == o and sums:
                own += read[m]
            direct += words.operations * own * words.ratio[t, m] / served[t, m]
            direct += certain_of(words, read, write, hops, choice, t, sums)
        total[:] = 0.0
        total[0] = fixed
        if sums:
            total[0] -= words.distinct[o] * saved_later(words, read, write, hops, choice, o, -1)
        if raises:
            total[last] = words.operations * words.joules * more_energy
            if sums:
                total[last] -= words.distinct[o] * saved_later(
                    words, more_read, more_write, more_hops, choice, o, -1
                )
        fits = True
        g = 0
        while fits and g < words.group.shape[1] and words.group[choice, g] >= 0:
            if words.segment[choice, g] == 0:
                own = words.group[choice, g]
                if known[own, 0] < 0.0:
                    # no array is crossed: it costs the same in every choice that has it
                    price_group(
                        words, read, write, hops, rates, choice, g, 0, sums, raises, more, scratch
                    )
                    least_of_group(words, capacity, choice, g, 0, scratch)
                    for r in range(len(total)):
                        known[own, r] = least[r]
                fits = known[own, 0] < np.inf
                for r in range(len(total)):
                    total[r] += known[own, r]
            g += 1
        if not fits:
            continue
        for i in range(fitting):
            way = ways[i]
            steps = words.operations * cycles
            for k in range(words.used.shape[1]):
                steps /= words.used[way, k]
            floor = total[0] + direct + leakage * steps
            if not wanted and floor * steps >= found[2] * MARGIN:
                # of all further ways, none of which uses more elements, this much is certain
                found[0] = min(found[0], floor)
                found[1] = min(found[1], steps)
                break
            if not hopeless(found, floor, steps, wanted):
                filled = spread_costs(
                    words, capacity, read, write, rates, hops, leakage, choice, way, steps, sums,
                    wanted, raises, more, scratch, found, corners, filled,
                )  # fmt: skip
    if raises:
        for k in range(2):
            found[k] = max(found[k], solved[k])
    if filled < 0:
        return filled
    return tidied(corners, filled, found[2] * MARGIN)


@leaf
def certain_of(
    words: Words, read: Floats, write: Floats, hops: Floats, choice: int, t: int, sums: bool
) -> float:
    """Return the least pJ of what a tensor sends through arrays to memories: each word once."""
    total = 0.0
    for link in range(words.length[choice, t] - 1):
        a, b = words.chain[choice, t, link], words.chain[choice, t, link + 1]
        if words.above[b] == 0:
            continue
        if t == words.output:
            total += write[a] * words.ratio[t, a]
            if sums:
                total += again(words, read, write, hops, choice, t, link)
                total += saved_later(words, read, write, hops, choice, t, link)
                if words.above[b] == words.above[a]:
                    total += read[b] * words.ratio[t, b]
                    total -= saved_later(words, read, write, hops, choice, t, link)
        else:
            total += read[a] * words.ratio[t, a] + write[b] * words.ratio[t, b]
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
    capacity: Floats,
    read: Floats,
    write: Floats,
    rates: Floats,
    hops: Floats,
    leakage: float,
    choice: int,
    way: int,
    steps: float,
    sums: bool,
    wanted: bool,
    raises: bool,
    more: More,
    scratch: Scratch,
    found: Floats,
    corners: Floats,
    filled: int,
) -> int:
    """Lower what is found to what one bypass choice costs with one way to spread the layer."""
    cut, load = scratch.cut, scratch.load
    energy = scratch.total[0]
    extra = scratch.total[len(rates) + 1]
    for r in range(len(rates)):
        load[r] = scratch.total[r + 1]
    # what goes straight to the compute unit
    for t in range(len(words.distinct)):
        last = words.length[choice, t] - 1
        energy += words.operations * price_of(
            words, read, write, hops, choice, t, last, way, sums, cut
        )
        for r in range(len(rates)):
            if rates[r] < np.inf:
                load[r] += words.operations * cycles_of(words, rates, choice, t, last, way, r, cut)
        if raises:
            extra += words.operations * price_of(
                words, more.read, more.write, more.hops, choice, t, last, way, sums, cut
            )
    busiest = steps
    for r in range(len(rates)):
        busiest = max(busiest, load[r])
    if hopeless(found, energy + leakage * busiest, busiest, wanted):
        return filled
    g = 0
    while g < words.group.shape[1] and words.group[choice, g] >= 0:
        if words.segment[choice, g] > 0:
            price_group(
                words, read, write, hops, rates, choice, g, way, sums, raises, more, scratch
            )
            if not least_of_group(words, capacity, choice, g, way, scratch):
                return filled
            energy += scratch.least[0]
            for r in range(len(rates)):
                load[r] += scratch.least[r + 1]
            extra += scratch.least[len(rates) + 1]
        g += 1
    for r in range(len(rates)):
        busiest = max(busiest, load[r])
    if raises:
        busiest = max(busiest, more.solved[1])
        extra += more.leakage * busiest
    value = energy + leakage * busiest
    product = value * busiest
    if raises:
        value = max(value, more.solved[0] + extra)
        product = max(value * busiest, more.solved[2] + extra * busiest)
    found[0] = min(found[0], value)
    found[1] = min(found[1], busiest)
    found[2] = min(found[2], product)
    return with_corner(corners, filled, value, busiest, product, found[2] * MARGIN)


@leaf
def with_corner(
    corners: Floats, filled: int, energy: float, cycles: float, product: float, most: float
) -> int:
    """Add a corner that no other one is below; return how many there are, or -1 for too many."""
    if filled < 0 or product > most:
        return filled
    for i in range(filled):
        a, b, c = corners[i, 0], corners[i, 1], corners[i, 2]
        if a <= energy and b <= cycles and c <= product:
            return filled
    left = 0
    for i in range(filled):
        a, b, c = corners[i, 0], corners[i, 1], corners[i, 2]
        if (energy > a or cycles > b or product > c) and c <= most:
            corners[left, 0], corners[left, 1], corners[left, 2] = a, b, c
            left += 1
    if left == len(corners):
        return -1
    corners[left, 0], corners[left, 1], corners[left, 2] = energy, cycles, product
    return left + 1


@leaf
def tidied(corners: Floats, filled: int, most: float) -> int:
    """Leave out the corners of more than a product."""
    left = 0
    for i in range(filled):
        a, b, c = corners[i, 0], corners[i, 1], corners[i, 2]
        if c <= most:
            corners[left, 0], corners[left, 1], corners[left, 2] = a, b, c
            left += 1
    return left

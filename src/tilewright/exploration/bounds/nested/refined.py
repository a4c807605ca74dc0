"""Candidates whose tiles above the array contain those below it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tilewright.exploration.bounds.nested.costs import NEAR, nested_costs
from tilewright.exploration.bounds.nested.lists import walk_chains
from tilewright.exploration.bounds.word_costs import cycles_of, first_fetches, price_of
from tilewright.kernels.kernel import leaf, leaf_kernel

if TYPE_CHECKING:
    from tilewright.exploration.bounds.nested.records import Lists, Nested
    from tilewright.exploration.bounds.nested.slide_words import Slides
    from tilewright.exploration.bounds.words import Costs, Scratch, Words
    from tilewright.kernels.types import Floats
    from tilewright.mapper.problem.space import Space


@leaf
def refine(
    words: Words,
    nested: Nested,
    lists: Lists,
    sp: Space,
    slides: Slides,
    costs: Costs,
    scratch: Scratch,
    row: int,
    wanted: bool,
    found: Floats,
) -> None:
    """Let tiles above the array contain those below in a candidate, and count it as found."""
    choice, way = scratch.chosen[row, 0], scratch.chosen[row, 1]
    candidate = scratch.candidates[row]
    scratch.chosen[row, 2] = 1
    lists.at[0] = -1
    least = candidate[0]
    if nested.below[choice] >= 0:
        price_sides(words, lists, costs, choice, way, candidate[3], nested.shared_by, scratch.cut)
        lists.least[0] = found[2]
        nested_costs(nested, lists, sp, slides, costs, choice, way, candidate, wanted)
        least = max(least, lists.least[0])
        tell_pairs(lists, scratch, row)
    if least < found[2]:
        scratch.best[0], scratch.best[1] = choice, way
        for k in range(3):
            lists.best_at[k] = lists.at[k]
        for k in range(len(lists.row)):
            lists.best_row[k] = lists.row[k]
    found[0] = min(found[0], candidate[1])
    found[1] = min(found[1], candidate[2])
    found[2] = min(found[2], least)


@leaf
def tell_pairs(lists: Lists, scratch: Scratch, row: int) -> None:
    """Make a candidate of each pair; what is left of their own one has a larger product."""
    candidate, count = scratch.candidates[row], scratch.filled[0]
    near = lists.least[0] * NEAR
    room = count + lists.told[0] < len(scratch.candidates)
    for i in range(lists.told[0]):
        pair = lists.pairs[i]
        if pair[0] >= near:
            continue
        if not room:
            near = min(near, pair[0])
            continue
        new = scratch.candidates[scratch.filled[0]]
        for k in range(3):
            new[k] = max(candidate[k], pair[k])
            scratch.chosen[scratch.filled[0], k] = scratch.chosen[row, k]
        scratch.filled[0] += 1
    candidate[0] = max(candidate[0], near)
    candidate[1] = max(candidate[1], lists.least[1])


@leaf
def price_sides(
    words: Words,
    lists: Lists,
    costs: Costs,
    choice: int,
    way: int,
    rest: float,
    shared_by: int,
    cut: Floats,
) -> None:
    """Fill pJ and cycles of words that come into tiles above and below the array, and of others."""
    lists.above[:] = 0.0
    lists.below[:] = 0.0
    lists.outer[:] = 0.0
    sums, ports = bool(words.sums[choice]), len(costs.rates)
    lists.rest[0] = rest
    for r in range(ports):
        lists.rest[r + 1] = -first_fetches(words, costs, choice, r)
        for t in range(len(words.distinct)):
            last = words.length[choice, t] - 1
            price_of(words, costs, choice, t, last, way, sums, cut)
            lists.rest[r + 1] += words.operations * cycles_of(
                words, costs, choice, t, last, way, r, cut
            )
    price_direct(words, lists, costs, choice, way, shared_by)
    for g in range(words.group.shape[1]):
        if words.group[choice, g] < 0:
            break
        for t in range(len(words.distinct)):
            link = words.link[choice, g, t]
            if link < 0:
                continue
            price = price_of(words, costs, choice, t, link, way, sums, cut)
            for r in range(ports + 1):
                if r > 0:
                    price = cycles_of(words, costs, choice, t, link, way, r - 1, cut)
                if words.segment[choice, g] == 0:
                    lists.above[r, t] = price
                else:
                    lists.below[r, t] = words.distinct[t] * price
                    lists.outer[r, t] = lists.below[r, t] * words.reuse[way, 0, t]


@leaf
def price_direct(words: Words, lists: Lists, costs: Costs, choice: int, way: int, t: int) -> None:
    """Fill what one more word sent costs for each word of the window that reaches a unit."""
    lists.direct[:] = 0.0
    lists.shared[0] = 1.0
    if t < 0:
        return
    m = words.chain[choice, t, words.length[choice, t] - 1]
    if words.above[m] > 0 or not words.unites[0, t]:
        return
    reuse = words.reuse[way, 0, t]
    lists.shared[0] = words.sharing[way, 0, t] / reuse
    sent = words.operations * words.ratio[t, m] / reuse
    lists.direct[0] = costs.read[m] * sent
    for r in range(len(costs.rates)):
        if words.port_memory[r] == m and words.port_reads[r]:
            lists.direct[r + 1] = sent / costs.rates[r]


@leaf_kernel
def find_nodes(nested: Nested, lists: Lists, sp: Space, slides: Slides, scratch: Scratch) -> bool:
    """Fill `Lists.chain` with the nodes above the array of the least product, if it has some."""
    choice = scratch.best[0]
    if choice < 0 or lists.best_at[0] < 0:
        return False
    t, shape = nested.stays[lists.best_at[1]], lists.best_at[2]
    lists.order[0] = -1
    walk_chains(nested, lists, sp, slides, nested.above[choice, t + 1], shape, True)
    return bool(lists.order[0] >= 0)


@leaf
def refine_near(
    words: Words,
    nested: Nested,
    lists: Lists,
    sp: Space,
    slides: Slides,
    costs: Costs,
    scratch: Scratch,
    wanted: bool,
    found: Floats,
) -> None:
    """Refine the candidates that may have the least product, and the least energy if `wanted`."""
    for column in range(1 + wanted):
        while True:
            least, row = np.inf, -1
            for i in range(scratch.filled[0]):
                if scratch.chosen[i, 2] == 0 and scratch.candidates[i, column] < least:
                    least, row = scratch.candidates[i, column], i
            if row < 0 or least >= (found[2] * NEAR if column == 0 else found[0]):
                break
            refine(words, nested, lists, sp, slides, costs, scratch, row, wanted, found)

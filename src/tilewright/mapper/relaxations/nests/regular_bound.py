"""A tighter lower bound of regular mappings of all tile sizes, and the tiles that it belongs to."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from time import perf_counter

import numpy as np

from tilewright.kernels.kernel import interruptible
from tilewright.kernels.types import Bools, Floats, Ints
from tilewright.mapper.objective.objective import Objective
from tilewright.mapper.problem.bypass_choices import KeepChoice
from tilewright.mapper.relaxations.nests.inner_tiles import Inner, inner_tiles, likely
from tilewright.mapper.relaxations.nests.instances import one_of_mirrored, spatial_choices
from tilewright.mapper.relaxations.nests.nest import Nest, Side, nest, sides
from tilewright.mapper.relaxations.nests.sliding.case_numbers import HEAD, ROOM, SLID, WAY
from tilewright.mapper.relaxations.nests.tiles_to_mapping import BothSides
from tilewright.mapper.relaxations.nests.together import least_together
from tilewright.mapper.relaxations.stays.least_cost import Least
from tilewright.mapper.relaxations.stays.links import Link, Price

MOST_TILES = 200_000  # in the inner memory
MOST_PAIRS = 200_000_000  # of such tiles and spatial choices that are looked at
AT_A_TIME = 20_000_000  # before time is looked at again
FIRST_PAIRS = 2  # that get outer tiles before time is looked at again
QUICK, SLOW = 0.05, 0.15  # seconds after which there are more of them the next time, or fewer
MOST_LIKELY = 100_000  # that get outer tiles
MOST_AROUND = 20_000  # spatial choices for which these are bounded first
SOME, MANY = 4, 16  # tiles of each bypass choice that are returned
MOST_FAR = 1 << 15  # pairs of a bypass choice of which also those far from the best are looked at
CLOSE = 1e-12
CLOSER = 1.05  # times the bound that is known: the first ceiling
MOST_CLOSER = 1.5

Known = dict[KeepChoice, list[tuple[Nest, Inner]]]
Inners = dict[Side, Inner]


def tightened(
    least: Least,
    bounds: Sequence[tuple[float, KeepChoice]],
    objective: Objective,
    ceiling: float,
    stop: Callable[[], bool],
) -> tuple[float, list[BothSides]]:
    """Return a lower bound of all regular mappings below a ceiling, and the most promising tiles.

    Parameters
    ----------
    least : Least
        The layer and the machine.
    bounds : sequence of (float, bypass choice)
        Lower bounds that are known.
    objective : Objective
        What is minimised.
    ceiling : float
        The best value so far; what costs more is of no interest.
    stop : callable
        Whether to end with the bounds that are known.

    Returns
    -------
    float, list of BothSides
        The ceiling where nothing costs less. The best tiles come first.
    """
    lowest = certain = min(bound for bound, _ in bounds)
    choices = choices_of(least, objective, ceiling)
    if choices is None:
        return min(lowest, ceiling), []
    closer = CLOSER
    known: Known = {}
    inners: Inners = {}
    while True:
        # few tiles cost less than a low ceiling
        limit = lowest * closer
        if closer >= MOST_CLOSER or limit * CLOSER > ceiling:
            limit = ceiling
        best, found = least_below(least, bounds, choices, objective, limit, stop, known, inners)
        # with a higher limit, there may be too many tiles to look at
        certain = max(certain, best)
        if limit == ceiling or (best < limit and found) or stop():
            return certain, found
        closer = 1 + (closer - 1) * 4


def choices_of(least: Least, objective: Objective, ceiling: float) -> tuple[Ints, Ints] | None:
    """Return the spatial choices of the only array, or None if there are too many."""
    if len(least.architecture.arrays) != 1:
        return None
    choices = spatial_choices(least)
    if choices is None:
        choices = spatial_choices(least, fast_enough(least, objective, ceiling))
    return choices if choices is not None and len(choices[0]) else None


def fast_enough(least: Least, objective: Objective, ceiling: float) -> Callable[[Ints], Bools]:
    """Return which spatial choices take so few cycles that they may cost less than a ceiling."""
    bounds = np.array(list(least.layer.bounds.values()))
    # of one choice as wide as any: there may be too many to price each
    widest = least.at(least.choices.max(axis=0, keepdims=True))
    energy = min(float(energies.min()) for _, energies, _ in widest.all_costs())

    def below(choices: Ints) -> Bools:
        steps = np.prod(np.ceil(bounds / choices), axis=1)
        cycles = least.architecture.compute.cycles * steps
        return objective.values(np.full(len(cycles), energy), cycles) < ceiling

    return below


def least_below(
    least: Least,
    bounds: Sequence[tuple[float, KeepChoice]],
    choices: tuple[Ints, Ints],
    objective: Objective,
    ceiling: float,
    stop: Callable[[], bool],
    known: Known,
    inners: Inners,
) -> tuple[float, list[BothSides]]:
    """Return a lower bound of regular mappings below a ceiling, or that, and tiles below it."""
    best = ceiling
    found: list[BothSides] = []
    for bound, keep in sorted(bounds):
        if bound >= best:
            break
        some: list[BothSides] = []
        if keep not in known and not stop():
            known[keep] = with_tiles(least, keep, inners)
        value = 0.0
        for own in known.get(keep, []):
            if stop() or value >= best:
                break
            pairs = TilePairs(*own, keep, choices, objective, best, least, stop)
            least_one, found_some = least_tiles(pairs, list(least.layer.bounds), stop)
            if least_one > value:
                value, some = least_one, found_some
        found += some
        best = min(best, max(bound, value))
    return best, sorted(found, key=lambda tiles: tiles.value)


@interruptible()
def with_tiles(least: Least, keep: KeepChoice, inners: Inners) -> list[tuple[Nest, Inner]]:
    """Return a bypass choice with its inner tiles, unless it is none to look at, or has too many.

    Where tensors have several memories on a side of the array, it is one for each of `sides`.
    Choices that keep the same tensors below the array have the same inner tiles.
    """
    found = []
    for memories in sides(least, keep):
        ns = nest(least, keep, memories)
        if ns is None:
            continue
        inside = memories[1]
        if inside not in inners:
            inners[inside] = inner_tiles(ns, MOST_TILES)
        if len(inners[inside].which) <= MOST_TILES:
            found.append((ns, inners[inside]))
    return found


class TilePairs:
    """Pairs of an inner tile and a spatial choice that may cost less than a ceiling.

    Attributes
    ----------
    finished : bool
        Whether these are all of them: there may be too many.
    choices, actives : arrays
        As `spatial_choices` returns them.
    choice, tile, values : arrays of pairs
        As `likely` returns them, in ascending order of the values.
    """

    def __init__(
        self,
        ns: Nest,
        tiles: Inner,
        keep: KeepChoice,
        spatial: tuple[Ints, Ints],
        objective: Objective,
        ceiling: float,
        least: Least,
        stop: Callable[[], bool],
    ) -> None:
        self.ns, self.tiles, self.keep = ns, tiles, keep
        self.goal, self.ceiling = objective.goal(), ceiling
        self.choices, self.actives = one_of_mirrored(ns, *spatial)
        around = around_inner(least, ns, keep, self.actives)
        many = max(1, AT_A_TIME // max(1, len(tiles.which)))
        looks = count = 0
        found = []
        for begin in range(0, len(self.choices), many):
            some = slice(begin, begin + many)
            with interruptible():
                choice, tile, values, own = likely(
                    ns, tiles, self.choices[some], self.actives[some], around[some], self.goal,
                    ceiling,
                )  # fmt: skip
            found.append((choice + begin, tile, values))
            looks, count = looks + own, count + len(choice)
            if looks > MOST_PAIRS or count > MOST_LIKELY or stop():
                break
        self.finished = looks <= MOST_PAIRS and count <= MOST_LIKELY and not stop()
        choice, tile, values = map(np.concatenate, zip(*found, strict=True))
        order = np.argsort(values, kind="stable")
        self.choice, self.tile, self.values = choice[order], tile[order], values[order]

    def batches(self) -> Iterator[slice]:
        """Yield all of them, as many at a time as take a moment."""
        begin, many = 0, FIRST_PAIRS
        while begin < len(self.choice):
            before = perf_counter()
            yield slice(begin, min(begin + many, len(self.choice)))
            begin, took = begin + many, perf_counter() - before
            many = 2 * many if took < QUICK else max(1, many // 2) if took > SLOW else many

    def together(self, some: slice, best: float | None = None) -> tuple[float, Floats, Ints]:
        """Return what some of them cost with outer tiles, as `least_together`.

        Parameters
        ----------
        some : slice
        best : float, optional
            The least value of pairs looked at before; all pairs are of interest without it.
        """
        ceilings = np.array([self.ceiling, self.ceiling if best is None else best])
        return least_together(
            self.ns, self.tiles, self.choices, self.actives, self.choice[some], self.tile[some],
            self.values[some], self.goal, ceilings, best is None,
        )  # fmt: skip


def tiles_below(
    least: Least,
    bounds: Sequence[tuple[float, KeepChoice]],
    objective: Objective,
    ceiling: float,
    stop: Callable[[], bool],
) -> list[BothSides]:
    """Return tiles that may cost less than a ceiling, the best first, also those far from the best.

    Parameters
    ----------
    least, bounds, objective, ceiling, stop
        As for `tightened`.
    """
    choices = choices_of(least, objective, ceiling)
    found: list[BothSides] = []
    inners: Inners = {}
    for bound, keep in sorted(bounds):
        if bound >= ceiling or choices is None or stop():
            break
        value, some = 0.0, list[BothSides]()
        for own in with_tiles(least, keep, inners):
            pairs = TilePairs(*own, keep, choices, objective, ceiling, least, stop)
            if len(pairs.choice) <= MOST_FAR and value < ceiling:
                least_one, tiles = least_tiles(pairs, list(least.layer.bounds), stop, every=True)
                if least_one > value:
                    value, some = least_one, tiles
        found += some
    return sorted(found, key=lambda tiles: tiles.value)


@interruptible()
def least_tiles(
    pairs: TilePairs, names: Sequence[str], stop: Callable[[], bool], every: bool = False
) -> tuple[float, list[BothSides]]:
    """Return what a bypass choice costs at least, or 0 where that takes too long, and tiles.

    Parameters
    ----------
    every : bool, optional
        Whether tiles that cost more than others are of interest, too.
    """
    if not pairs.finished:
        return 0.0, []
    ns, tiles, ceiling = pairs.ns, pairs.tiles, pairs.ceiling
    choices, choice, tile, values = pairs.choices, pairs.choice, pairs.tile, pairs.values
    value, begin = ceiling, 0
    reached, details = np.full(len(choice), np.inf), [np.zeros((0, 0), np.int64)] * len(choice)
    for some in pairs.batches():
        begin = some.start
        if values[begin] >= value or stop():
            break
        value, reached[some], details[some] = pairs.together(some, None if every else value)
        begin = some.stop
    # and of pairs that were not looked at, the first one costs least
    value = min([value, *reached.tolist(), *values[begin : begin + 1].tolist()])

    def named(own: Ints) -> dict[str, int]:
        return dict(zip(names, map(int, own), strict=True))

    found: list[BothSides] = []
    equal: set[tuple[int, int]] = set()
    # of those that cost the same, loops reach least far with the first kind
    for i in np.lexsort((tiles.kinds[tile], reached)).tolist():
        if not reached[i] < ceiling or len(found) == (MANY if every else SOME):
            break
        if found and reached[i] > found[-1].value * (1 + CLOSE):
            equal = set()
        kind = int(tiles.which[tile[i]]), int(tiles.kinds[tile[i]])
        if kind in equal:
            continue  # perhaps the same with dimensions in each other's places
        equal.add(kind)
        inner = tuple(ns.inner_orders[tiles.which[tile[i]]].tolist())
        nd = len(names)
        stays, carried, row, extents, case = np.split(
            details[i], [nd, 2 * nd, 2 * nd + 1, 3 * nd + 1]
        )
        outer = ns.outer_orders[inner[0] if inner else 0, row[0]]

        found.append(
            BothSides(
                value=float(reached[i]),
                keep=pairs.keep,
                outer=tuple(t for t in outer.tolist() if t >= 0),
                inner=inner,
                stays=named(stays),
                carried=named(carried),
                extents=named(extents),
                instances=named(choices[choice[i]]),
                sizes=named(tiles.sizes[tile[i]]),
                window=window_tile(ns, names, case),
            )
        )
    return value, found


def window_tile(ns: Nest, names: Sequence[str], case: Ints) -> tuple[tuple[str, int], ...]:
    """Return what the tile of a window spans of its dimensions in a case, if there is one.

    Loops on them move the tile in that order. The expression along which it slides comes last, and
    the dimension of its run at the very end. Others take the room that is left.
    """
    left = int(case[ROOM])
    spans: list[tuple[str, int]] = []
    slid = int(case[SLID])
    expressions = [e for e in range(ns.terms.shape[1]) if left and ns.terms[ns.window, e, 2] >= 0]
    for e in sorted(expressions, key=lambda e: e != slid):
        d, a, o, b = ns.terms[ns.window, e].tolist()
        span, most, other, _ = case[HEAD + 4 * e : HEAD + 4 * e + 4].tolist()
        words = {a * i + b * j for i in range(span) for j in range(other)}
        while span < most and len(more := words | {a * span + b * j for j in range(other)}) <= left:
            span, words = span + 1, more
        left //= len(words)
        own = [(names[o], other), (names[d], span)]
        spans = (own[::-1] if case[WAY] % 2 else own) + spans
    return tuple(spans)


def around_inner(least: Least, ns: Nest, keep: KeepChoice, actives: Ints) -> Floats:
    """Return what the outer memory needs at least, in pJ, as `inner_tiles.likely` takes it."""
    result = np.zeros((len(actives), len(keep) + 1))
    kept = {m for chain in keep for m in chain[1:] if least.segment[m] == 0}
    if len(kept) != 1 or len(sides(least, keep)) > 1 or len(actives) > MOST_AROUND:
        return result
    (outer,) = kept
    wide = Least(least.layer, least.architecture, actives[:, None, :])
    links = [
        Link(t, *pair)
        for t, chain in enumerate(keep)
        for pair in zip(chain, (*chain[1:], least.compute), strict=True)
    ]
    near = [
        (link, Price(float(ns.price[0, link.tensor]))) for link in links if link.receiver == outer
    ]
    inner = [link for link in links if outer < link.receiver < least.compute]
    for link in inner:
        t = link.tensor
        own = (link, Price(float(ns.sent[0, t]), float(ns.received[0, t])))
        result[:, t] = wide.crossing(outer, (*near, own), links)
    past = [
        (link, Price(float(ns.sent[0, link.tensor])))
        for link in inner
        if not ns.outside[link.tensor]
    ]
    result[:, -1] = wide.crossing(outer, (*near, *past), links)
    return result * (1 - CLOSE)

"""The tables of lower bounds of one bypass choice, filled before its labels walk."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from tilewright.kernels.types import Bools, Floats, Ints
from tilewright.mapper.bounds.crossing.across_array import (
    Delivered,
    inner_shapes,
    lower_column,
    shapes_that_matter,
)
from tilewright.mapper.bounds.crossing.crossing_links import Children, children
from tilewright.mapper.bounds.crossing.slide_options import fill_missing
from tilewright.mapper.bounds.crossing.window_reuse import Reuse, Row, padded
from tilewright.mapper.bounds.tables.above_array import (
    NO_PORT,
    NONE,
    NOTHING,
    REGION,
    RUN,
    Flags,
    Given,
    NodesAbove,
    Outer,
)
from tilewright.mapper.bounds.tables.above_array_table import outer_table
from tilewright.mapper.bounds.tables.propagation import spread_down
from tilewright.mapper.bounds.tables.screening import (
    Fitting,
    Screening,
    screening_bound,
)
from tilewright.mapper.objective.settings import EVERY_PART, Settings
from tilewright.mapper.problem.link_costs import Links
from tilewright.mapper.problem.segments import Segment
from tilewright.mapper.problem.space import Space
from tilewright.mapper.windows.slides import all_region_words, all_run_words, slid_words

if TYPE_CHECKING:
    from tilewright.mapper.bounds.plan import Plan


Known = dict[tuple[object, ...], tuple[Ints, Floats]]
"""Shapes, and the reuse of sliding tensors or 0 where not known yet, by what they depend on."""


class Slides(NamedTuple):
    """What slides above the first array bring in, whatever is bypassed.

    Attributes
    ----------
    kinds : list of (kind, tensor, dimension or expression)
        As in `above_array.Outer`, NONE first.
    words : array of (slides, shapes)
        Words that each of them brings in at least when it begins at a shape.
    around : array of (slides, shapes)
        The same when it begins there or further out.
    least : array of (tensors, shapes)
        Words that move at least into a store node at a shape.
    """

    kinds: list[tuple[int, int, int]]
    words: Floats
    around: Floats
    least: Floats


def slides_above(sp: Space) -> Slides:
    """Return the slides above the first array."""
    nt, shapes = sp.words.shape
    kinds, words = [(NONE, nt, -1)], [np.zeros(shapes)]
    for t in np.flatnonzero(sp.windows >= 0).tolist():
        w = sp.windows[t]
        for e, members in enumerate(sp.members[w]):
            if members[0] < 0:
                continue
            kinds.append((REGION, t, e))
            words.append(np.empty(shapes))
            all_region_words(sp, t, w, e, words[-1])
            for i, d in enumerate(members[:2] if len(members[members >= 0]) == 2 else ()):
                kinds.append((RUN, t, int(d)))
                words.append(np.empty(shapes))
                all_run_words(sp, t, w, e, i, words[-1])
    least = np.empty((nt, shapes))
    for t in range(nt):
        slid_words(sp, t, least[t])
    around = [begun_around(sp, *kind, own) for kind, own in zip(kinds, words, strict=True)]
    return Slides(kinds, np.array(words), np.array(around), least)


def begun_around(sp: Space, kind: int, t: int, at: int, words: Floats) -> Floats:
    """Return what a slide brings in at least that begins at a shape or further out on its way."""
    if kind == NONE:
        return words
    slid = [at] if kind == RUN else [d for d in sp.members[sp.windows[t], at].tolist() if d >= 0]
    least = words.reshape(sp.sizes[: sp.relevant.shape[1]])  # a shape's digits are its position
    for d in slid:
        least = np.flip(np.minimum.accumulate(np.flip(least, d), d), d)
    return least.ravel()


def images(sp: Space, kinds: list[tuple[int, int, int]]) -> list[int]:
    """Return the position of the mirror image of each slide."""
    found = [0]
    for kind, t, at in kinds[1:]:
        w = sp.windows[t]
        d = int(sp.mirror_dimension[at if kind == RUN else sp.members[w, at, 0]])
        found.append(kinds.index((kind, t, d if kind == RUN else int(sp.window_of[w, d]))))
    return found


def bounded_above(lk: Links, segment: Segment) -> list[int]:
    """Return the memories of limited size above the first array."""
    own = np.flatnonzero(segment.place_memory >= 0).tolist()
    return [m for m in own if np.isfinite(lk.capacity[m])]


def outer_bounds(
    sp: Space, lk: Links, segment: Segment, slides: Slides, screening: Screening
) -> Outer:
    """Return what the way from the outermost memory to the first array costs at least."""
    need = segment.stage_count[-1]
    bounded = bounded_above(lk, segment)
    if not bounded or not need.any():
        return NOTHING
    return outer_steps(
        sp, lk, segment, slides, screening, min(bounded, key=lk.capacity.__getitem__)
    )


def outer_steps(
    sp: Space, lk: Links, segment: Segment, slides: Slides, screening: Screening, memory: int
) -> Outer:
    """Return the same by the bits of one memory, or of none where that is -1."""
    nt = sp.relevant.shape[0]
    need = segment.stage_count[-1]
    rate = np.zeros((nt, int(need.max())))
    bits, share = np.zeros_like(rate), np.full_like(rate, np.inf)
    for t in range(nt):
        for k in range(need[t]):
            rate[t, k] = lk.energy[t, k, 0] + lk.again[t, k]
            share[t, k] = min(lk.share[t, k], lk.capacity[lk.memory[t, k]])
            if lk.memory[t, k] == memory:
                bits[t, k] = lk.bits[t, k]
    if len(lk.table):
        end = lk.table[0]
        below = may_stay(sp) & (need < lk.length - 1)
        stays = np.where(below, lk.least[0], -1.0)
    else:
        end = np.zeros((len(sp.repeats), nt + 1))
        stays = np.full(nt, -1.0)
    flags = flags_of(sp, slides, np.flatnonzero(stays >= 0).tolist())
    nodes = NodesAbove(
        stage_count=segment.stage_count,
        stage_next=segment.stage_next,
        need=need,
        rate=rate,
        bits=bits,
        share=share,
        limit=float(lk.capacity[memory]) if memory >= 0 else np.inf,
    )
    given = Given(
        begun=slides.words,
        around=slides.around,
        slid=slides.least,
        carried=stays,
        end=end,
        stages=screening.stages,
        spent=screening.spent,
        most=screening.most,
    )
    row, begin, length, step_bits, cost = outer_table(sp, flags, nodes, given)
    return Outer(
        row=row,
        begin=begin,
        length=length,
        bits=step_bits,
        cost=cost,
        stays=flags.stays,
        kind=flags.kind,
        tensor=flags.tensor,
        at=flags.at,
        memory=int(memory),
        scarce=NO_PORT,
    )


def flags_of(sp: Space, slides: Slides, below: list[int]) -> Flags:
    """Return what may be paid already: tiles of some tensors that stay below the array, and slides.

    See `Outer`.
    """
    flags = [
        (tensor, n)
        for tensor in (*below, -1)
        for n in range(len(slides.kinds) - 1, -1, -1)
        if tensor < 0 or n == 0 or goes_on(sp, tensor, *slides.kinds[n])
    ]
    kind, slid, at = np.array([slides.kinds[n] for _, n in flags], np.int64).T.copy()
    stayed = np.array([tensor for tensor, _ in flags], np.int64)
    # where a tile begins to stay or a slide begins, and where it ends
    more = [
        [
            to
            for to, (other, slide) in enumerate(flags)
            if (tensor < 0 <= other and n == slide) or (tensor == other and n == 0 < slide)
        ]
        for tensor, n in flags
    ]
    adds = padded([np.array(each, np.int64) for each in more], -1)
    ends = np.array([flags.index((tensor, 0)) for tensor, _ in flags])
    image = images(sp, slides.kinds)
    mirror = np.array([flags.index((tensor, image[n])) for tensor, n in flags])
    return Flags(
        stays=stayed,
        kind=kind,
        tensor=slid,
        at=at,
        slide=np.array([n for _, n in flags]),
        adds=adds,
        ends=ends,
        mirror=mirror,
    )


def may_stay(sp: Space) -> Bools:
    """Return which tensors' tiles may stay through loops above an array: those irrelevant to it."""
    everything: Bools = np.logical_and.reduce(sp.relevant, axis=1)
    return ~everything


def goes_on(sp: Space, stayed: int, kind: int, t: int, at: int) -> bool:
    """Whether the tile of another tensor may stay while tensor t slides.

    Loops of the slide let it stay, or others do that are irrelevant to both.
    """
    if t == stayed:
        return False
    if (~sp.relevant[stayed] & ~sp.relevant[t]).any():
        return True
    if kind == RUN:
        return not sp.relevant[stayed, at]
    return bool((~sp.relevant[stayed] & (sp.window_of[sp.windows[t]] == at)).any())


def inner_table(
    sp: Space,
    ch: Children,
    key: tuple[object, ...],
    rows: tuple[Row, ...],
    table: Floats,
    matters: Bools,
    known: Known,
    jointly: bool,
    paid: Floats,
    most: float,
) -> None:
    """Fill the bound of what an array's children cost, for every shape above the array.

    A tile that is stored below the array with u iterations of its tensor's irrelevant dimensions
    moves at least distinct words x product(bound / u). A shape x' collects these u; it is possible
    only if, for some order of the store nodes of one memory, each tile spans the u of the tensors
    stored inside it and all of them fit. The reuse of a sliding tensor is that of its best tile
    that fits, too. For each possible x' and spatial choice s the bound holds at shape x' s and at
    every shape that it divides.

    Parameters
    ----------
    key : tuple
        What the shapes x' and their reuse depend on.
    rows : tuple of rows
        The reuse of sliding tensors that have all of the memory.
    table : array of (shapes, 2 x tensors + 1)
        Out: the bound without tensor t, whose tile stays through loops above the array that are
        irrelevant to it, all there are below the shape; the bound with all tensors; and the first
        again where other loops may come before.
    matters : array of choices
        Out: set where a spatial choice may be that of a mapping that matters.
    known : dict
        The shapes x' and their reuse, which many bypass choices share.
    jointly : bool
        Whether sliding tensors share the memory with the others; else each of them has all of it.
    paid : array of shapes
        pJ that mappings cost besides that enter the array at a shape.
    most : float
        pJ of the mappings that matter.
    """
    parts = (ch.used, ch.used, ch.row_tensor, ch.used)
    between = Delivered(*(np.empty(len(part)) for part in parts))
    # a tile that stays through loops above the array is stored first, with all that is below
    stays = may_stay(sp) & (ch.used == 1)
    for carried in (-1, *np.flatnonzero(stays).tolist()):
        own = (carried, *key)
        if own not in known:
            shapes = inner_shapes(sp, ch, carried)
            shapes = shapes[shapes <= sp.mirror[shapes]]
            known[own] = shapes, np.zeros((len(shapes), len(rows)))
        shapes, reuse = known[own]
        matter = np.empty(len(shapes), np.bool_)
        counts = np.zeros((len(shapes) if jointly and rows else 0, len(rows)), np.bool_)
        shapes_that_matter(sp, ch, carried, shapes, paid, most, matter, counts, between)
        if len(counts):
            fill_missing(sp, ch, carried, shapes, rows, counts, reuse)
            reuse = reuse[matter]
        else:
            reuse = ch.most[None]
        lower_column(sp, ch, carried, shapes[matter], reuse, table, matters, paid, most, between)
    matters |= matters[sp.mirror_choice]
    spread_down(sp, table, stays)


def inner_bounds(
    sp: Space,
    lk: Links,
    segment: list[int],
    choices: Ints,
    reuse: Reuse,
    known: Known,
    jointly: bool,
    screening: Screening,
) -> Links:
    """Return the costs with the bounds of what crosses each array, for every shape.

    Of the spatial choices of each array the first `choices` are considered, as far as the links
    tell that they matter. It takes longer to
    bound the tiles of all tensors of a memory `jointly`.
    Entries that only mappings pass that do not matter may be infinite.
    """
    na, nt = len(sp.unroll_start) - 1, sp.relevant.shape[0]
    table = np.full((na, len(sp.repeats), 2 * nt + 1), np.inf)
    matters = np.zeros(len(sp.unroll), np.bool_)
    for k in range(na):
        crossing, key, rows = children(sp, lk, segment, k, int(choices[k]), reuse)
        # of the ways to the inner arrays nothing is known
        paid, most = (
            (screening.stages[-1], screening.most) if k == 0 else (np.zeros(len(table[k])), np.inf)
        )
        # what arrays further in unroll is still there
        moves = sp.moves if k == na - 1 else np.concatenate((sp.moves, sp.outermost))
        own = sp._replace(moves=moves)
        inner_table(own, crossing, key, rows, table[k], matters, known, jointly, paid, most)
    return lk._replace(table=table, matters=matters)


@dataclass(frozen=True)
class Tables:
    """What many bypass choices of a layer on a machine share, and what fills their tables.

    Attributes
    ----------
    space : Space
    of_memory : list of int
        How many arrays stand above each memory.
    energy : float
        pJ of the operations.
    slides : Slides
    settings : Settings
    fitting, reuse, inner
        What has been found so far; the last two depend on the spatial choices.
    """

    space: Space
    of_memory: list[int]
    energy: float
    slides: Slides
    settings: Settings = EVERY_PART
    fitting: Fitting = field(default_factory=Fitting)
    reuse: Reuse = field(default_factory=Reuse)
    inner: Known = field(default_factory=dict)

    def anew(self) -> Tables:
        """Return the same with nothing found yet, for a search in another thread."""
        return Tables(self.space, self.of_memory, self.energy, self.slides, self.settings)

    def fill(self, plan: Plan, choices: Ints, jointly: bool, most: float) -> None:
        """Fill the tables of a bypass choice for its mappings of up to `most` pJ.

        `choices` and `jointly` are those of `inner_bounds`.
        """
        sp, part = self.space, plan.parts[0]
        screening = screening_bound(
            sp, plan.lk, part.stage_count, self.slides.least, self.fitting, self.energy, most
        )
        if not self.settings.screening:
            screening = screening.without_energy()
        if self.settings.tables_across:
            plan.lk = inner_bounds(
                sp, plan.lk, self.of_memory, choices, self.reuse, self.inner, jointly, screening
            )
            adds = self.reuse.extend if jointly else self.reuse.fill
            plan.lk = adds(sp, plan.lk)
        if self.settings.table_above:
            plan.outer = outer_bounds(sp, plan.lk, part, self.slides, screening)

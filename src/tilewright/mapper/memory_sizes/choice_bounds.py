"""Bounds of what is below an array in each of its spatial choices, found when they are asked."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from tilewright.kernels.types import Bools, Floats, Ints
from tilewright.mapper.bounds.plan import Plan
from tilewright.mapper.bounds.tables.above_array import NONE, REGION, RUN
from tilewright.mapper.bounds.tables.below_array import (
    Below,
    Costs,
    NodesBelow,
    Positions,
    below_table,
)
from tilewright.mapper.bounds.tables.choice_tables import Slides
from tilewright.mapper.memory_sizes.shared_words import Parts, Shares, repeating
from tilewright.mapper.problem.bypass_choices import KeepChoice
from tilewright.mapper.problem.link_costs import Links
from tilewright.mapper.problem.space import Space

NO_INTS, NO_FLOATS = np.zeros(0, np.int64), np.zeros(0)
NOTHING = Below(
    stage=NO_INTS,
    row=NO_INTS.astype(np.int32),
    begin=NO_INTS.astype(np.int32),
    bits=NO_FLOATS,
    cost=NO_FLOATS,
    kind=NO_INTS,
    tensor=NO_INTS,
    at=NO_INTS,
    united=NO_INTS,
    received=NO_FLOATS,
    sent=NO_FLOATS,
    copies=NO_FLOATS,
    union=np.zeros((0, 0)),
    tail=0.0,
    stage_next=np.zeros((0, 0), np.int64),
    memory=-1,
)


@dataclass
class BypassBounds:
    """Bounds of one layer on one machine below its only array.

    Bypass choices that do not differ in the tensors that both store below the array share tables:
    the table of the one that stores most begins at every stage.

    Attributes
    ----------
    sp : Space
    slides : Slides
        What slides, whatever the array.
    memory : int
        Position of the memory below the array whose sizes vary, -1 for none.
    most : float
        Bits of it up to which the bounds hold.
    hosts : dict
        The bypass choice whose tables another one shares, and the stages there that are its own.
    known : dict
        Bounds of every shape, by the bypass choice with the tables and the spatial choice.
    shares : Shares
        The parts of the windows that instances share.
    """

    sp: Space
    slides: Slides
    memory: int
    most: float = 0.0
    hosts: dict[KeepChoice, tuple[Plan, Ints]] = field(default_factory=dict)
    known: dict[tuple[KeepChoice, int], Below] = field(default_factory=dict)
    shares: Shares = field(default_factory=Shares)

    def up_to(self, most: float) -> None:
        """Find bounds for other sizes of the memory from now on."""
        if most != self.most:
            self.most, self.known = most, {}

    def are_known(self, plan: Plan) -> bool:
        """Whether there are bounds of a bypass choice.

        It stores tensors once below the array.
        """
        if len(plan.parts) != 2 or self.memory < 0:
            return False
        return int(stored(plan).max()) == 1

    def share(self, plans: Sequence[Plan]) -> None:
        """Let some bypass choices share tables."""
        able = [plan for plan in plans if self.are_known(plan)]
        able.sort(key=lambda plan: (-int(stored(plan).sum()), sum(map(len, plan.keep))))
        for plan in able:
            own = stored(plan) == 1
            host = next(
                other
                for other in able
                if all(other.keep[t] == plan.keep[t] for t in np.flatnonzero(own))
            )
            counts = np.where(own, plan.parts[1].stage_count, stored(host))
            same = (counts[:, None] == host.parts[1].stage_count).all(axis=2)
            self.hosts[plan.keep] = host, same.argmax(axis=1)

    def host(self, plan: Plan) -> tuple[Plan, Ints]:
        """Return the bypass choice whose tables another one shares, and its stages there."""
        return self.hosts.get(plan.keep, (plan, np.arange(len(plan.parts[1].stage_count))))

    def bound(self, plan: Plan, choice: int) -> Below:
        """Return the bounds of a bypass choice in a spatial choice."""
        host, stage = self.host(plan)
        return self.shared(host, choice)._replace(stage=stage, tail=self.tail(plan, choice))

    def shared(self, host: Plan, choice: int) -> Below:
        """Return the bounds of a bypass choice but for what goes to the compute unit."""
        key = (host.keep, choice)
        if key not in self.known:
            image = int(self.sp.mirror_choice[choice])
            if image < choice:
                self.known[key] = mirrored(self.sp, self.shared(host, image))
            else:
                nodes = self.nodes(host, choice)
                stages = host.parts[1].stage_next
                begin, bits, cost = self.table(host, nodes)
                self.known[key] = Below(
                    stage=np.arange(len(stages)),
                    row=nodes.row,
                    begin=begin,
                    bits=bits,
                    cost=cost,
                    kind=nodes.kind,
                    tensor=nodes.tensor,
                    at=nodes.at,
                    united=nodes.united,
                    received=nodes.received,
                    sent=nodes.sent,
                    copies=nodes.copies,
                    union=nodes.union,
                    tail=0.0,
                    stage_next=stages,
                    memory=self.memory,
                )
        return self.known[key]

    def tail(self, plan: Plan, choice: int) -> float:
        """Return what goes to the compute unit in a bypass choice at least."""
        return sum(to_compute(self.sp, plan.lk, t, choice) for t in range(len(self.sp.relevant)))

    def table(self, plan: Plan, nodes: NodesBelow) -> tuple[Positions, Floats, Floats]:
        """Return the step functions of all shapes."""
        return below_table(self.sp, nodes, plan.parts[1].stage_next, self.most)

    def nodes(self, plan: Plan, choice: int) -> NodesBelow:
        """Return what the store nodes of a bypass choice cost in a spatial choice."""
        lk, sp, part = plan.lk, self.sp, plan.parts[1]
        nt = len(sp.relevant)
        kinds = [*self.slides.kinds[:0:-1], (NONE, nt, -1)]
        kind, tensor, at = (np.array(column, np.int64) for column in zip(*kinds, strict=True))
        shapes = shapes_inside(sp, choice)
        row = np.full(len(sp.repeats), -1, np.int32)
        row[shapes] = np.arange(len(shapes))
        received, sent, bits = np.zeros((3, nt))
        copies = sp.unroll_reuse[choice]
        union = np.repeat(1.0 / copies[:, None], len(shapes), axis=1)
        place, least = np.full((2, nt, len(shapes)), np.inf)
        begin, end = np.full((2, len(kinds), len(shapes)), np.inf)
        united = np.ones(len(kinds), np.int64)
        for t in np.flatnonzero(stored(plan)).tolist():
            link = int(part.first[t])
            counts = lk.memory[t, link] == self.memory
            bits[t] = lk.bits[t, link] * counts
            room = self.most if counts else lk.capacity[lk.memory[t, link]]
            fits = lk.bits[t, link] * sp.words[t, shapes] <= min(lk.share[t, link], room)
            received[t], sent[t] = rates(lk, t, link, t == nt - 1)
            w = int(sp.windows[t])
            each = np.flatnonzero(sp.members[w, :, 0] >= 0).tolist() if w >= 0 else []
            parts = {e: self.shares.parts(sp, w, e, choice, shapes) for e in each}
            for each_part in parts.values():
                union[t] *= each_part.union
            words = sp.words[t, shapes] * sp.repeats[shapes]
            place[t, fits] = ((received[t] + sent[t] * union[t]) * words)[fits]
            least[t] = place[t]
            if w < 0:
                continue
            least[t, fits] = received[t] * sp.words[t, -1]
            for f in np.flatnonzero(tensor == t).tolist():
                begin[f], end[f], united[f] = slide_costs(
                    sp, choice, shapes, (int(kind[f]), t, int(at[f])), parts,
                    self.slides.words[len(kinds) - 1 - f][shapes], words, received[t],
                    sent[t] * union[t],
                )  # fmt: skip
                end[f, ~fits] = np.inf
        costs = Costs(place, least, begin, end, bits)
        return NodesBelow(
            shapes=shapes,
            row=row,
            costs=costs,
            kind=kind,
            tensor=tensor,
            at=at,
            united=united,
            received=received,
            sent=sent,
            copies=copies,
            union=union,
        )


def stored(plan: Plan) -> Ints:
    """Return how often a bypass choice stores each tensor below the first array."""
    count: Ints = plan.parts[1].stage_count[-1]
    return count


def slide_costs(
    sp: Space,
    choice: int,
    shapes: Ints,
    slide: tuple[int, int, int],
    parts: dict[int, Parts],
    moved: Floats,
    words: Floats,
    received: float,
    sent: Floats,
) -> tuple[Floats, Floats, bool]:
    """Return what a slide below an array costs at least where it begins and where the node stands.

    Parameters
    ----------
    slide : tuple of (kind, tensor, dimension or expression)
    parts : dict
        Parts of the words of each expression, see `frontier_share`.
    moved, words : arrays of shapes
        Words that the slide brings in where it begins, and that tiles bring in as a whole.
    received : float
        pJ per word that instances receive.
    sent : array of shapes
        pJ for what is sent to them, per word of a whole tile.

    Returns
    -------
    array, array, bool
        pJ where it begins; pJ where the node stands; whether what is sent is part of the former.
    """
    kind, t, at = slide
    w = sp.windows[t]
    e = at if kind == REGION else int(sp.window_of[w, at])
    members = sp.members[w, e][sp.members[w, e] >= 0]
    cut = bool((sp.unroll[choice, members] > 0).any())
    if cut:
        # no more than half of the pieces of a slide begin with words that are there
        moved = np.where(may_go_on(sp, t, members, shapes), words / 2, moved)
    begin, end = received * moved, np.zeros(len(shapes))
    at_begin = len(members) > 2 or (kind == REGION and not cut)
    if at_begin:
        begin += sent * np.where(moved < words * (1 - 1e-12), words / 2, words)
    else:
        # every step of a run brings in words, and no two steps of a region bring in none
        new = parts[e].missing
        step = new[:, members == at][:, 0] if kind == RUN else new.min(axis=1) / 2
        end = sent * step / parts[e].union * words
    if kind == REGION:
        stands = np.empty(len(shapes), np.bool_)
        repeating(sp, w, e, cut, shapes, stands)
        end[~stands] = np.inf
    return begin, end, at_begin


def rates(lk: Links, t: int, link: int, output: bool) -> tuple[float, float]:
    """Return pJ per word that instances receive through a link, and per word that is sent to them.

    For the output, with what entries from zero save and what is read again.
    """
    received, sent = float(lk.energy[t, link, 1]), float(lk.energy[t, link, 0])
    if output:
        last = lk.length[t] - 1
        # entries that are not sent begin from zero, and save a read at the compute unit
        received -= float(lk.again[t, last])
        sent += float(lk.again[t, link])
        if not lk.fresh[t, link]:
            sent += float(lk.again[t, last])
    return (received, sent) if lk.unites[0, t] else (received + sent, 0.0)


def to_compute(sp: Space, lk: Links, t: int, choice: int) -> float:
    """Return what a tensor's link to the compute unit costs at least, all partial sums read."""
    last = int(lk.length[t]) - 1
    lo, hi = lk.arrays[t, last]
    sent = sp.operations
    energy = 0.0
    for j in range(hi - lo, -1, -1):
        energy += float(lk.energy[t, last, j]) * sent
        if j > 0 and lk.unites[lo + j - 1, t]:
            sent /= float(sp.unroll_sharing[choice, t])
    return energy + float(lk.again[t, last]) * sent * (t == len(sp.relevant) - 1)


def shapes_inside(sp: Space, choice: int) -> Ints:
    """Return the shapes that may stand inside an array in a spatial choice, in ascending order."""
    inside = np.zeros(1, np.int64)
    for d, factor in enumerate(sp.unroll[choice]):
        largest = sp.quotient[d, sp.sizes[d] - 1, factor]
        digits = np.flatnonzero(sp.quotient[d, largest, : sp.sizes[d]] >= 0)
        inside = (inside[:, None] + digits * sp.strides[d]).ravel()
    return inside


def may_go_on(sp: Space, t: int, members: Ints, shapes: Ints) -> Bools:
    """Whether loops irrelevant to a tensor may stand inside a longer slide around each shape."""
    outside: Bools = np.less(sp.digits[shapes], sp.sizes - 1)
    around_tile: Bools = np.logical_or.reduce(outside[:, members], axis=1)
    irrelevant: Bools = np.logical_or.reduce(outside[:, ~sp.relevant[t]], axis=1)
    return around_tile & irrelevant


def least_cost_below(below: Below) -> float:
    """Return what everything below the array costs at least, in pJ: of the largest tile."""
    flags = len(below.kind)
    last = len(below.begin) - 1 - (len(below.stage_next) - 1 - int(below.stage[0])) * flags
    own = below.cost[below.begin[last - 1] : below.begin[last]]
    return below.tail + float(own[-1] if len(own) else np.inf)


def mirrored(sp: Space, below: Below) -> Below:
    """Return the bounds of the mirror image of a spatial choice."""
    at = below.at.copy()
    for f, (kind, t) in enumerate(zip(below.kind, below.tensor, strict=True)):
        if kind == RUN:
            at[f] = sp.mirror_dimension[at[f]]
        elif kind == REGION:
            w = sp.windows[t]
            at[f] = sp.window_of[w, sp.mirror_dimension[sp.members[w, at[f], 0]]]
    return below._replace(row=below.row[sp.mirror], at=at)

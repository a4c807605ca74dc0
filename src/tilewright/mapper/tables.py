"""The tables of lower bounds of one bypass choice, filled before its labels walk."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from tilewright.mapper.bounds import all_run_words, inner_table, most_reuse, slid_words
from tilewright.mapper.lattice import Ints
from tilewright.mapper.links import Links
from tilewright.mapper.outer import CARRIED, NONE, REGION, RUN, Outer, outer_table
from tilewright.mapper.problem import Space


@dataclass(frozen=True)
class Segment:
    """Memories between two arrays, and in which order one bypass choice can fill them.

    Attributes
    ----------
    place_memory : array of memories
        Position among the memories of the segment, or -1.
    stage_count : array of (stages, tensors)
        Store nodes that each tensor has already.
    stage_next : array of (stages, tensors)
        Stage after one more store node, or -1.
    first : array of tensors
        Links that end above the segment.
    """

    place_memory: Ints
    stage_count: Ints
    stage_next: Ints
    first: Ints


NO_FLAGS = np.zeros(0, np.int64)
NOTHING = Outer(
    np.zeros((0, 0, 0), np.int64),
    np.zeros((0, 0, 0), np.int64),
    np.zeros(0),
    np.zeros(0),
    NO_FLAGS,
    NO_FLAGS,
    NO_FLAGS,
    0,
)


@dataclass(frozen=True)
class Reuse:
    """The most that words of sliding tensors serve, found once for all bypass choices."""

    known: dict[tuple[object, ...], float] = field(default_factory=dict)

    def most(self, sp: Space, t: int, bits: float, limit: float, choice: int = -1) -> float:
        """Return `bounds.most_reuse`, 0 without a limit."""
        if not np.isfinite(limit):
            return 0.0
        key: tuple[object, ...] = (t, bits, limit)
        if choice >= 0:
            slides = sp.window_of[sp.windows[t]] >= 0
            key = (*key, *(int(v) for v in sp.unroll[choice][slides]))
        if key not in self.known:
            self.known[key] = most_reuse(sp, t, bits, limit, choice)
        return self.known[key]

    def fill(self, sp: Space, lk: Links) -> None:
        """Fill what links hold of it."""
        for t in np.flatnonzero(sp.windows[:-1] >= 0).tolist():
            for link in range(int(lk.length[t]) - 1):
                limit = float(min(lk.share[t, link], lk.capacity[lk.memory[t, link]]))
                lk.most[t, link] = self.most(sp, t, lk.bits[t, link], limit)
                first, end = lk.arrays[t, link]
                if end == first + 1 and lk.unites[first, t]:
                    for c in range(sp.unroll_start[first], sp.unroll_start[end]):
                        lk.sent[c, t] = self.most(sp, t, lk.bits[t, link], limit, c)


def outer_bounds(sp: Space, lk: Links, segment: Segment) -> Outer:
    """Return what the way from the outermost memory to the first array costs at least."""
    nt = sp.relevant.shape[0]
    need = segment.stage_count[-1]
    bounded = [m for m in np.flatnonzero(segment.place_memory >= 0) if np.isfinite(lk.capacity[m])]
    if not bounded or not need.any():
        return NOTHING
    memory = min(bounded, key=lambda m: lk.capacity[m])
    rate = np.zeros((nt, int(need.max())))
    bits, share = np.zeros_like(rate), np.full_like(rate, np.inf)
    for t in range(nt):
        for k in range(need[t]):
            rate[t, k] = lk.energy[t, k, 0] + lk.again[t, k]
            share[t, k] = min(lk.share[t, k], lk.capacity[lk.memory[t, k]])
            if lk.memory[t, k] == memory:
                bits[t, k] = lk.bits[t, k]
    whole = len(sp.repeats) - 1
    if len(lk.table):
        end = lk.table[0]
        stays = np.array(
            [lk.least[0, t] if need[t] < lk.length[t] - 1 else -1.0 for t in range(nt)]
        )
    else:
        end = np.full((whole + 1, nt + 1), 0.0)
        stays = np.full(nt, -1.0)
    kinds = [(CARRIED, t, -1) for t in range(nt)]
    runs = [np.zeros(whole + 1)] * nt
    for t in np.flatnonzero(sp.windows >= 0).tolist():
        w = sp.windows[t]
        for e, members in enumerate(sp.members[w]):
            if members[0] < 0:
                continue
            kinds.append((REGION, t, e))
            runs.append(sp.words[t] * sp.repeats)
            if len(members[members >= 0]) == 2:
                kinds += [(RUN, t, int(d)) for d in members[:2]]
                runs += [all_run_words(sp, t, w, e, i) for i in range(2)]
    kinds.append((NONE, nt, -1))
    kind, tensor, at = np.array(kinds, np.int64).T.copy()
    slid = np.array([slid_words(sp, t) for t in range(nt)])
    return Outer(
        *outer_table(
            sp, kind, tensor, at, segment.stage_count, segment.stage_next, need, rate, bits, share,
            np.array(runs), slid, stays, slid, end, lk.capacity[memory],
        ),
        kind,
        tensor,
        at,
        int(memory),
    )  # fmt: skip


def inner_bounds(sp: Space, lk: Links, segment: list[int], choices: Ints) -> Links:
    """Return the costs with the bounds of what crosses each array, for every shape.

    Of the spatial choices of each array the first `choices` are considered.
    """
    na, nt = len(sp.unroll_start) - 1, sp.relevant.shape[0]
    table = np.full((na, len(sp.repeats), 2 * nt + 1), np.inf)
    allowed = np.ones(len(sp.repeats), np.bool_)
    for k in range(na):
        for m in np.flatnonzero(np.array(segment) == k):
            used_bits = np.zeros(len(sp.repeats))
            for t in range(nt):
                for link in range(int(lk.length[t]) - 1):
                    if lk.memory[t, link] == m:
                        own_bits = lk.bits[t, link] * sp.words[t]
                        used_bits += own_bits
                        allowed &= own_bits <= lk.share[t, link]
            allowed &= used_bits <= lk.capacity[m]
        used = np.zeros(nt, np.int64)
        own, most = np.zeros(nt), np.zeros(nt)
        below = np.full(nt, -1, np.int64)
        bits, room, part = np.ones(nt), np.full(nt, np.inf), np.full(nt, np.inf)
        for t in range(nt):
            link = next(i for i in range(int(lk.length[t])) if lk.arrays[t, i, 1] > k)
            if link == lk.length[t] - 1:
                continue
            used[t] = 1
            if sp.windows[t] >= 0 and t < nt - 1:
                own[t], most[t] = (
                    lk.energy[t, link, lk.arrays[t, link, 1] - lk.arrays[t, link, 0]],
                    lk.most[t, link],
                )
            if segment[lk.memory[t, link]] == k + 1:
                below[t] = lk.memory[t, link]
                bits[t], room[t] = lk.bits[t, link], lk.capacity[below[t]]
                part[t] = lk.share[t, link]
        # u counts for dimensions irrelevant to exactly one tensor that is stored below
        irrelevant = ((~sp.relevant) & (used == 1)[:, None]).sum(axis=0)
        begin = sp.unroll_start[k]
        inner_table(
            sp, begin, lk.rate[begin : begin + choices[k]], own, most,
            lk.sent[begin : begin + choices[k]], used,
            irrelevant == 1, irrelevant > 1, bits, room, part, below, allowed, table[k],
        )  # fmt: skip
    return lk._replace(table=table)

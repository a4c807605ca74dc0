"""How sliding tensors are reused below an array, found once for all bypass choices."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tilewright.kernels.types import Bools, Floats, Ints
from tilewright.mapper.problem.link_costs import Links, Reach
from tilewright.mapper.problem.space import Space
from tilewright.mapper.windows.reuse_ahead import find_ahead, find_steps
from tilewright.mapper.windows.slides import REPEATS, SLIDES, STAYS, option_reuse

Steps = tuple[Ints, Floats]
Memory = tuple[int, float, float]
"""A tensor, the bits of its words in a memory, and the bits that it may take there."""


def corner_shapes(sp: Space, t: int) -> Ints:
    """Return the shapes of a sliding tensor's window alone, in ascending order."""
    other = sp.window_of[sp.windows[t]] < 0
    return np.flatnonzero((sp.digits[:, other] == 0).all(axis=1))


def padded(rows: list[NDArray[Any]], fill: float) -> NDArray[Any]:
    """Return rows of different lengths as one array with at least one column."""
    widest = max([1, *map(len, rows)])
    kind = rows[0] if rows else np.zeros(0, np.asarray(fill).dtype)
    result = np.full((len(rows), widest, *kind.shape[1:]), fill, kind.dtype)
    for row, values in zip(result, rows, strict=True):
        row[: len(values)] = values
    return result


@dataclass(frozen=True, eq=False)
class Row:
    """Reuse of all options of a tensor in a memory, for spatial choices that do not differ in it.

    Attributes
    ----------
    reuse : array of options
        0 for those that are none.
    most : float
        The most reuse; 1 where no tile fits: there is no mapping, and any bound will do.
    """

    reuse: Floats
    most: float

    @cached_property
    def rank(self) -> Ints:
        """Positions of the options, those of the most reuse first."""
        some = np.flatnonzero(self.reuse)
        return some[np.argsort(-self.reuse[some], kind="stable")]


class Ahead(NamedTuple):
    """The options that loops inside each corner may lead to, see `reuse_ahead.find_ahead`.

    `bits` are those of the tile of each option.
    """

    bits: Floats
    begin: Ints
    options: Ints


class Options(NamedTuple):
    """Tiles of a tensor's window that fit a memory, and what the loops around them do.

    The tile that stays comes before its other options, see `slides.option_reuse`.
    """

    tiles: Ints
    kinds: Ints
    parts: Ints
    begin: Ints
    part: Ints


class Across(NamedTuple):
    """How sliding tensors that cross an array are reused below it, see `crossing_links.Children`.

    The first two have a row for each spatial choice of the array.
    """

    rows: Ints
    sent_rows: Ints
    tiles: Ints
    slides: Ints
    row_tensor: Ints
    reuse: tuple[Row, ...]
    most: Floats


@dataclass(frozen=True)
class Reuse:
    """What has been found so far, by what it depends on."""

    options_known: dict[Memory, Options] = field(default_factory=dict)
    rows_known: dict[tuple[object, ...], Row] = field(default_factory=dict)
    classes_known: dict[tuple[object, ...], tuple[list[Row], Ints]] = field(default_factory=dict)
    across_known: dict[tuple[object, ...], Across] = field(default_factory=dict)
    ahead_known: dict[Memory, Ahead] = field(default_factory=dict)
    steps_known: dict[tuple[object, ...], Steps] = field(default_factory=dict)
    alike_known: list[Ints] = field(default_factory=list)

    def alike(self, sp: Space) -> Ints:
        """Return numbers that are equal where spatial choices reuse tensors without windows alike.

        In order, from 0 on.
        """
        if not self.alike_known:
            reuse = sp.unroll_reuse[:, sp.windows < 0]
            number = np.zeros(len(reuse), np.int64)
            for own in reuse.T:
                number *= len(number)
                number += np.unique(own, return_inverse=True)[1]
                number = np.unique(number, return_inverse=True)[1]
            self.alike_known.append(number)
        return self.alike_known[0]

    def options(self, sp: Space, at: Memory) -> Options:
        """Return the tiles of a tensor's window that fit, with what loops around them may do."""
        if at not in self.options_known:
            t, bits, limit = at
            fitting = corner_shapes(sp, t)
            fitting = fitting[bits * sp.words[t, fitting] <= limit]
            members = sp.members[sp.windows[t]]
            members = members[members[:, 0] >= 0]
            # each with a dimension and a digit, and possible where that of the tile is below it
            kinds = [(STAYS, 0, 0, 0)]
            limits = [(0, int(sp.sizes[0]))]
            for e, own in enumerate(members):
                if len(own) > 2 and own[2] >= 0:
                    kinds.append((SLIDES, e, 0, 0))
                    limits.append(limits[0])
                    continue
                kinds.append((REPEATS, e, 0, 0))
                limits.append(limits[0])
                for i, d in enumerate(own[:2].tolist()):
                    kinds.append((SLIDES, e, i, 0))
                    limits.append(limits[0])
                    extents = sp.values[d, 1 : sp.sizes[d]].tolist()
                    kinds += [(REPEATS, e, i, extent) for extent in extents]
                    limits += [(d, k) for k in range(1, len(extents) + 1)]
            along, below = np.array(limits, np.int64).T
            tile, kind = np.nonzero(sp.digits[fitting][:, along] < below)
            slides = np.array(kinds, np.int64)[kind]
            parts: list[Ints] = []
            part: list[Ints] = []
            for e, terms in enumerate(members):
                own = terms[terms >= 0]
                extents = (sp.digits[fitting][:, own] @ sp.strides[own])[tile]
                key = extents * len(kinds) + np.where(slides[:, 1] == e, kind, 0)
                _, first, which = np.unique(key, return_index=True, return_inverse=True)
                part.append(which.reshape(-1) + sum(len(each) for each in parts))
                parts.append(first)
            self.options_known[at] = Options(
                fitting[tile], slides, np.concatenate(parts),
                np.cumsum([0, *(len(each) for each in parts)]), np.array(part).T.copy(),
            )  # fmt: skip
        return self.options_known[at]

    def rows(self, sp: Space, at: Memory, choices: list[int], together: list[bool]) -> list[Row]:
        """Return the reuse of the options with some spatial choices, or any where that is -1."""
        options = self.options(sp, at)
        reuse = np.empty((len(choices), len(options.tiles)))
        option_reuse(
            sp, at[0], *options, np.array(choices, np.int64), np.array(together, np.bool_),
            np.empty(len(options.parts)), reuse,
        )  # fmt: skip
        return list(map(Row, reuse, reuse.max(axis=1, initial=1.0).tolist()))

    def classes(self, sp: Space, at: Memory, array: int, together: bool) -> tuple[list[Row], Ints]:
        """Return the different rows of an array's spatial choices, and which one each choice has.

        They are those of what instances receive, or, `together`, of what is sent to all of them.
        """
        key = (at, array, together)
        if key not in self.classes_known:
            first, end = sp.unroll_start[array], sp.unroll_start[array + 1]
            window = sp.window_of[sp.windows[at[0]]]
            cut = np.where(window >= 0, sp.unroll[first:end], 0)
            united: Bools = np.logical_and((cut > 0).any(axis=1), together)
            cut = np.column_stack([united, cut])
            radix = cut.max(axis=0, initial=0) + 1
            numbers = cut @ np.append(np.cumprod(radix[:0:-1])[::-1], 1)
            _, one, which = np.unique(numbers, return_index=True, return_inverse=True)
            keys = [(at, array, *each) for each in cut[one].tolist()]
            missing = [k for k, each in enumerate(keys) if each not in self.rows_known]
            chosen = one[missing]
            found = self.rows(sp, at, (first + chosen).tolist(), united[chosen].tolist())
            self.rows_known.update(zip([keys[k] for k in missing], found, strict=True))
            self.classes_known[key] = [self.rows_known[each] for each in keys], which.reshape(-1)
        return self.classes_known[key]

    def across(self, sp: Space, crossing: tuple[tuple[Memory, bool], ...], array: int) -> Across:
        """Return the reuse of sliding tensors in memories below an array, for all its choices.

        `crossing` tells of each whether the array unites what is sent to its elements.
        """
        key = (crossing, array)
        if key in self.across_known:
            return self.across_known[key]
        nt = len(sp.relevant)
        choices = int(sp.unroll_start[array + 1] - sp.unroll_start[array])
        tiles = [np.zeros(0, np.int64)] * nt
        slides = [np.zeros((0, 4), np.int64)] * nt
        row_of, sent_row = np.full((2, choices, nt), -1, np.int64)
        position: dict[Row, int] = {}
        row_tensor: list[int] = []
        for at, unites in crossing:
            t = at[0]
            tiles[t], slides[t] = self.options(sp, at)[:2]
            for together, into in ((False, row_of), (True, sent_row))[: 1 + unites]:
                different, which = self.classes(sp, at, array, together)
                for row in different:
                    if row not in position:
                        position[row] = len(position)
                        row_tensor.append(t)
                into[:, t] = np.array([position[row] for row in different])[which]
        self.across_known[key] = Across(
            rows=row_of,
            sent_rows=sent_row,
            tiles=padded(tiles, -1),
            slides=padded(slides, -1),
            row_tensor=np.array(row_tensor, np.int64),
            reuse=tuple(position),
            most=np.array([row.most for row in position]),
        )
        return self.across_known[key]

    def most(self, sp: Space, at: Memory) -> float:
        """Return the most reuse with any spatial choice."""
        known = (at,)
        if known not in self.rows_known:
            self.rows_known[known] = self.rows(sp, at, [-1], [False])[0]
        return self.rows_known[known].most

    def ahead(self, sp: Space, at: Memory) -> Ahead:
        """Return the options that can still be reached from each corner."""
        if at not in self.ahead_known:
            t, bits, _ = at
            tiles, kinds = self.options(sp, at)[:2]
            corners = corner_shapes(sp, t)
            own = bits * sp.words[t, tiles]
            begin = np.empty(len(corners) + 1, np.int64)
            found = np.empty(len(corners) * len(tiles), np.int64)
            order = np.argsort(own, kind="stable")
            n = find_ahead(sp, t, corners, tiles, kinds, order, begin, found)
            self.ahead_known[at] = Ahead(own, begin, found[:n].copy())
        return self.ahead_known[at]

    def steps(self, sp: Space, at: Memory, rows: Sequence[Row]) -> list[Steps]:
        """Return where the steps of each corner begin, and what they are, for some rows."""
        ahead = self.ahead(sp, at)
        steps = np.empty((2, len(ahead.options)))
        for row in rows:
            if (at, row) not in self.steps_known:
                begin = np.empty_like(ahead.begin)
                n = find_steps(ahead.begin, ahead.options, ahead.bits, row.reuse, begin, steps)
                self.steps_known[at, row] = begin, steps[:, :n].copy()
        return [self.steps_known[at, row] for row in rows]

    def fill(self, sp: Space, lk: Links) -> Links:
        """Return the links with the most reuse of each."""
        most = np.zeros_like(lk.most)
        for t, link in sliding_links(sp, lk):
            most[t, link] = self.most(sp, memory_of(lk, t, link))
        return lk._replace(most=most)

    def extend(self, sp: Space, lk: Links) -> Links:
        """Return the links with the reuse from every shape on, where they cross one array.

        It is found for spatial choices that matter.
        """
        crossing = [
            (memory_of(lk, t, link), int(lk.arrays[t, link, 0]), bool(lk.unites[first, t]))
            for t, link in sliding_links(sp, lk)
            for first in [lk.arrays[t, link, 0]]
            if lk.arrays[t, link, 1] == first + 1
        ]
        if not crossing:
            return lk
        rows = np.full((len(sp.unroll), len(sp.relevant), 2), -1, np.int64)
        parts: list[Steps] = []
        corner = np.zeros((len(sp.members), len(sp.repeats)), np.int64)
        for at, array, unites in crossing:
            t = at[0]
            slides = sp.window_of[sp.windows[t]] >= 0
            own = sp.digits[:, slides] @ sp.strides[slides]
            corner[sp.windows[t]] = np.searchsorted(corner_shapes(sp, t), own)
            choices = slice(sp.unroll_start[array], sp.unroll_start[array + 1])
            for together in (False, True)[: 1 + unites]:
                different, which = self.classes(sp, at, array, together)
                matter = np.unique(which[lk.matters[choices]])
                found = np.full(len(different), -1)
                found[matter] = np.arange(len(parts), len(parts) + len(matter))
                parts += self.steps(sp, at, [different[k] for k in matter])
                rows[choices, t, int(together)] = found[which]
        if not parts:
            return lk
        starts = np.cumsum([0, *(steps.shape[1] for _, steps in parts)])
        begin = padded([own + start for (own, _), start in zip(parts, starts, strict=False)], 0)
        bits, reuse = np.concatenate([steps for _, steps in parts], axis=1)
        return lk._replace(ahead=Reach(rows, corner, begin, bits, reuse))


def memory_of(lk: Links, t: int, link: int) -> Memory:
    """Return what the reuse of a tensor depends on in the memory where its link ends."""
    limit = float(min(lk.share[t, link], lk.capacity[lk.memory[t, link]]))
    return t, float(lk.bits[t, link]), limit


def sliding_links(sp: Space, lk: Links) -> list[tuple[int, int]]:
    """Return the links of sliding inputs that end in a bounded memory."""
    return [
        (t, link)
        for t in np.flatnonzero(sp.windows[:-1] >= 0).tolist()
        for link in range(int(lk.length[t]) - 1)
        if np.isfinite(memory_of(lk, t, link)[2])
    ]

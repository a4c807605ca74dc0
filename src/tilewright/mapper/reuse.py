"""How sliding tensors are reused below an array, found once for all bypass choices."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tilewright.mapper.lattice import Floats, Ints
from tilewright.mapper.links import Links
from tilewright.mapper.problem import Space
from tilewright.mapper.remaining import Reach, row_steps
from tilewright.mapper.slides import REPEATS, SLIDES, STAYS, option_reuse

Row = tuple[Ints, Floats]
"""Positions of options, those of the most reuse first, and their reuse."""
Steps = tuple[Ints, Floats, Floats]
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


class Across(NamedTuple):
    """How the sliding tensors that cross an array may be reused below it, see `children.Children`.

    The first two have a row for each spatial choice of the array.
    """

    rows: Ints
    sent_rows: Ints
    tiles: Ints
    slides: Ints
    rank: Ints
    reuse: Floats
    row_tensor: Ints


@dataclass(frozen=True)
class Reuse:
    """What has been found so far, by what it depends on."""

    options_known: dict[Memory, tuple[Ints, Ints]] = field(default_factory=dict)
    rows_known: dict[tuple[object, ...], Row] = field(default_factory=dict)
    classes_known: dict[tuple[object, ...], tuple[list[Row], Ints]] = field(default_factory=dict)
    across_known: dict[tuple[object, ...], Across] = field(default_factory=dict)
    steps_known: dict[tuple[object, ...], Steps] = field(default_factory=dict)

    def options(self, sp: Space, at: Memory) -> tuple[Ints, Ints]:
        """Return the tiles of a tensor's window that fit, and what the loops around them do.

        See `slides.option_reuse`. The tile that stays comes before its other options.
        """
        if at not in self.options_known:
            t, bits, limit = at
            w = sp.windows[t]
            found = []
            for tile in corner_shapes(sp, t).tolist():
                if bits * sp.words[t, tile] > limit:
                    continue
                found.append((tile, STAYS, 0, 0, 0))
                for e, members in enumerate(sp.members[w]):
                    own = members[members >= 0].tolist()
                    if len(own) > 2:
                        found.append((tile, SLIDES, e, 0, 0))
                    elif own:
                        found.append((tile, REPEATS, e, 0, 0))
                        for i, d in enumerate(own):
                            found.append((tile, SLIDES, e, i, 0))
                            extents = sp.values[d, sp.digits[tile, d] + 1 : sp.sizes[d]]
                            found += [(tile, REPEATS, e, i, int(v)) for v in extents]
            table = np.array(found, np.int64).reshape(-1, 5)
            self.options_known[at] = table[:, 0].copy(), table[:, 1:].copy()
        return self.options_known[at]

    def row(self, sp: Space, at: Memory, choice: int, together: bool) -> Row:
        """Return the options and their reuse, for any spatial choice where `choice` is -1."""
        tiles, kinds = self.options(sp, at)
        reuse = np.empty(len(tiles))
        option_reuse(sp, at[0], tiles, kinds, choice, together, reuse)
        # a slide that saves nothing is no option of its own
        alone = kinds[:, 0] == STAYS
        reuse[~alone & (reuse <= reuse[alone][np.cumsum(alone) - 1] * (1 + 1e-12))] = 0.0
        rank = np.argsort(-reuse, kind="stable")[: np.count_nonzero(reuse)]
        return rank, reuse[rank]

    def classes(self, sp: Space, at: Memory, array: int, together: bool) -> tuple[list[Row], Ints]:
        """Return the different rows of an array's spatial choices, and which one each choice has.

        What instances receive depends on which expressions a choice cuts alone, what is sent to all
        of them on the factors.
        """
        key = (at, array, together)
        if key not in self.classes_known:
            first, end = sp.unroll_start[array], sp.unroll_start[array + 1]
            window = sp.window_of[sp.windows[at[0]]]
            cut = np.zeros((end - first, len(window)), np.int64)
            for e in range(len(sp.members[0])):
                some = (sp.unroll[first:end, window == e] > 0).any(axis=1)
                cut[:, e] = some
            united = np.array([together and bool(some.any()) for some in cut], np.bool_)
            cut[united] = np.where(window >= 0, 1 + sp.unroll[first:end], 0)[united]
            cut = np.column_stack([united, cut])
            _, one, which = np.unique(cut, axis=0, return_index=True, return_inverse=True)
            rows = []
            for c in one.tolist():
                known = (at, array, *cut[c].tolist())
                if known not in self.rows_known:
                    self.rows_known[known] = self.row(sp, at, int(first) + c, bool(united[c]))
                rows.append(self.rows_known[known])
            self.classes_known[key] = rows, which.reshape(-1)
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
        rows: list[Row] = []
        row_tensor: list[int] = []
        for at, unites in crossing:
            t = at[0]
            tiles[t], slides[t] = self.options(sp, at)
            position: dict[int, int] = {}
            for together, into in ((False, row_of), (True, sent_row))[: 1 + unites]:
                different, which = self.classes(sp, at, array, together)
                for row in different:
                    if id(row) not in position:
                        position[id(row)] = len(rows)
                        rows.append(row)
                        row_tensor.append(t)
                into[:, t] = np.array([position[id(row)] for row in different])[which]
        self.across_known[key] = Across(
            row_of, sent_row, padded(tiles, -1), padded(slides, -1),
            padded([rank for rank, _ in rows], -1), padded([reuse for _, reuse in rows], 0.0),
            np.array(row_tensor, np.int64),
        )  # fmt: skip
        return self.across_known[key]

    def most(self, sp: Space, at: Memory) -> float:
        """Return the most reuse with any spatial choice."""
        known = (at,)
        if known not in self.rows_known:
            self.rows_known[known] = self.row(sp, at, -1, False)
        return float(max(self.rows_known[known][1], default=1.0))

    def steps(self, sp: Space, at: Memory, row: Row) -> Steps:
        """Return `remaining.row_steps` of one row of options."""
        key = (at, id(row))
        if key not in self.steps_known:
            corners = corner_shapes(sp, at[0])
            self.steps_known[key] = row_steps(
                sp, at[0], corners, *self.options(sp, at), *row, at[1]
            )
        return self.steps_known[key]

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
        position: dict[int, int] = {}
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
                found = np.full(len(different), -1)
                for k in np.unique(which[lk.matters[choices]]):
                    row = different[k]
                    if id(row) not in position:
                        position[id(row)] = len(parts)
                        parts.append(self.steps(sp, at, row))
                    found[k] = position[id(row)]
                rows[choices, t, int(together)] = found[which]
        if not parts:
            return lk
        starts = np.cumsum([0, *(len(bits) for _, bits, _ in parts)])
        begin = padded([own + start for (own, _, _), start in zip(parts, starts, strict=False)], 0)
        bits, reuse = (np.concatenate([part[i] for part in parts]) for i in (1, 2))
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

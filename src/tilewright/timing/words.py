"""The words of a link that move in a step, as products over index expressions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import product
from math import prod

from tilewright.mapping.structure import Link, Loop
from tilewright.timing.chunks import Change, Changes, Parts
from tilewright.timing.ports import Moved
from tilewright.timing.sets import runs, values
from tilewright.workload.layer import Layer

FIRST, UNITED, APART = range(3)
# by loop of a dimension that is spatial: whether the first instance counts alone, instances share
# equal words, or each has its own
Modes = tuple[int, ...]
Runs = tuple[tuple[int, int], ...]


@dataclass(frozen=True)
class Group:
    """Dimensions that share an index expression, or one that the tensor lacks.

    Attributes
    ----------
    dims : tuple of int
        Positions of the dimensions.
    coefficients : tuple of int
        Their coefficients; empty when the tensor lacks the dimension.
    size : int
        Largest value of the expression and one: its extent in memory.
    """

    dims: tuple[int, ...]
    coefficients: tuple[int, ...]
    size: int


def groups_of(layer: Layer, link: Link, axes: Sequence[int]) -> tuple[list[Group], list[Group]]:
    """Return the groups of a link's tensor in the order of its axes in memory, and the others."""
    number = {name: d for d, name in enumerate(layer.dimensions)}
    relevant = []
    for axis in axes:
        terms = link.tensor.expressions[axis]
        wide = [term for term in terms if layer.bounds[term.dimension] > 1]
        size = 1 + sum(term.coefficient * (layer.bounds[term.dimension] - 1) for term in terms)
        dims = tuple(number[term.dimension] for term in wide)
        relevant.append(Group(dims, tuple(term.coefficient for term in wide), size))
    lacking = [
        Group((d,), (), 1)
        for name, d in number.items()
        if name not in link.tensor.dimensions and layer.bounds[name] > 1
    ]
    return relevant, lacking


@dataclass(frozen=True)
class Share:
    """What one index expression contributes to the words that move.

    Attributes
    ----------
    all : int
        Words of the new tiles.
    same : int
        Those that only instances with an unchanged tile hold.
    missing : int
        Words of the new tiles that an instance did not hold before.
    """

    all: int
    same: int
    missing: int


def _chosen(changes: Changes, modes: Modes) -> dict[tuple[int, ...], list[Change]]:
    """Return the changes that count, by the indices of the instances that share no words."""
    found: dict[tuple[int, ...], list[Change]] = {}
    for change in changes:
        index = change[4]
        if any(i and mode == FIRST for i, mode in zip(index, modes, strict=True)):
            continue
        key = tuple(i for i, mode in zip(index, modes, strict=True) if mode == APART)
        found.setdefault(key, []).append(change)
    return found


@lru_cache(maxsize=100_000)
def share(group: Group, changes: tuple[Changes, ...], modes: tuple[Modes, ...]) -> Share:
    """Return the contribution of a group whose dimensions change in these ways."""
    if not group.dims:
        return Share(1, 1, 0)
    if not group.coefficients:
        count = len(_chosen(changes[0], modes[0]))
        return Share(count, count, 0)
    if len(group.dims) == 1:
        words = same = 0
        for each in _chosen(changes[0], modes[0]).values():
            for begin, size, old, was, _ in each:
                words += size
                if begin == old and size == was:
                    same += size
        return Share(words, same, words - same)
    words = same = missing = 0
    parts = [
        _chosen(each, modes_of).values() for each, modes_of in zip(changes, modes, strict=True)
    ]
    for together in product(*parts):
        union = changed = moved = 0
        for box in product(*together):
            new = values(group.coefficients, [c[0] for c in box], [c[1] for c in box])
            union |= new
            if any(c[0] != c[2] or c[1] != c[3] for c in box):
                old = values(group.coefficients, [c[2] for c in box], [c[3] for c in box])
                moved |= new & ~old
                if new != old:
                    changed |= new
        words += union.bit_count()
        same += (union & ~changed).bit_count()
        missing += moved.bit_count()
    return Share(words, same, missing)


@lru_cache(maxsize=100_000)
def lines(
    group: Group, changes: tuple[Changes, ...], modes: tuple[Modes, ...], slides: bool
) -> tuple[tuple[int, bool, Runs], ...]:
    """Return, for all instances that share no words: words, whether that is all, and runs."""
    if not group.dims:
        return ((1, True, ((1, 1),)),)
    parts = [
        _chosen(each, modes_of).values() for each, modes_of in zip(changes, modes, strict=True)
    ]
    found: list[tuple[int, bool, Runs]] = []
    for together in product(*parts):
        if not group.coefficients:
            found.append((1, True, ((1, 1),)))
            continue
        if len(together) == 1 and len(together[0]) == 1:
            size = together[0][0][1]
            alone: Runs = ((size, 1),) if group.coefficients == (1,) else ((1, size),)
            found.append((size, size == group.size, alone))
            continue
        union = 0
        for box in product(*together):
            new = values(group.coefficients, [c[0] for c in box], [c[1] for c in box])
            if slides:
                new &= ~values(group.coefficients, [c[2] for c in box], [c[3] for c in box])
            union |= new
        count = union.bit_count()
        if count:
            lengths = tuple(sorted(Counter(runs(union)).items()))
            found.append((count, count == group.size, lengths))
    return tuple(found)


def bursts(axes: Sequence[tuple[tuple[int, bool, Runs], ...]]) -> Runs:
    """Return the contiguous runs of a product of axes, the innermost last: (length, how many)."""
    total: Counter[int] = Counter()
    for each in product(*axes):
        length = 1
        inner = len(each)
        while inner > 0 and each[inner - 1][1]:
            inner -= 1
            length *= each[inner][0]
        if inner == 0:
            total[length] += 1
            continue
        outer = prod(count for count, _, _ in each[: inner - 1])
        for size, times in each[inner - 1][2]:
            total[size * length] += times * outer
    return tuple(sorted(total.items()))


@lru_cache(maxsize=100_000)
def stepwise(
    group: Group, steps: tuple[tuple[tuple[Parts, int], ...], ...], modes: tuple[Modes, ...]
) -> int:
    """Return the words of a group, summed over the steps of its dimensions."""
    if not group.dims:
        return 1
    total = 0
    for classes in product(*steps):
        times = prod(count for _, count in classes)
        parts = [
            _chosen(tuple((b, s, b, s, i) for b, s, i in each), modes_of).values()
            for (each, _), modes_of in zip(classes, modes, strict=True)
        ]
        for together in product(*parts):
            if not group.coefficients:
                total += times
            elif len(group.dims) == 1:
                total += times * len(together[0])
            else:
                places = {
                    sum(a * c[0] for a, c in zip(group.coefficients, box, strict=True))
                    for box in product(*together)
                }
                total += times * len(places)
    return total


class LinkWords:
    """What moves over one link.

    Parameters
    ----------
    layer, link, axes
        The link, and the order of its tensor's axes in memory.
    cuts : list of Loop
        Loops of more than one chunk.
    depth : int
        How many of them stand above the child's tiles.
    in_bursts : bool
        Whether the contiguous runs are wanted.

    Attributes
    ----------
    groups : list of Group
        Index expressions in the order of memory, then dimensions that the tensor lacks.
    """

    def __init__(
        self,
        layer: Layer,
        link: Link,
        axes: Sequence[int],
        cuts: Sequence[Loop],
        depth: int,
        in_bursts: bool,
    ) -> None:
        self.link = link
        self.depth = depth
        self.in_bursts = in_bursts
        relevant, lacking = groups_of(layer, link, axes)
        self.relevant = len(relevant)
        self.groups = relevant + lacking
        self.owner = {d: g for g, group in enumerate(self.groups) for d in group.dims}
        spatial: list[list[str]] = [[] for _ in layer.dimensions]
        for loop in cuts[:depth]:
            if loop.array is not None:
                spatial[layer.dimensions.index(loop.dimension)].append(loop.array)
        output = link.tensor.is_output
        names = [array.name for array in link.arrays]
        unite = [array.reduction if output else array.multicast for array in link.arrays]

        def view(first: Sequence[str], united: Sequence[str]) -> tuple[tuple[Modes, ...], ...]:
            """Return the modes of each group's spatial loops."""
            within = set(names) - set(first)
            modes = [
                tuple(
                    FIRST if a not in within else UNITED if a in united else APART for a in arrays
                )
                for arrays in spatial
            ]
            return tuple(tuple(modes[d] for d in group.dims) for group in self.groups)

        sharing = [
            [name for name, one in zip(names[i:], unite[i:], strict=True) if one]
            for i in range(len(names) + 1)
        ]
        arrays = range(len(names))
        self.sent = view((), sharing[0])
        self.distinct = view((), names)
        self.entered = view(names, ())
        self.carried = [view(names[:i], sharing[i]) for i in arrays]
        self.gathered = [view(names[:i], sharing[i + 1]) for i in arrays]
        self.adding = [view([name for name in names if name != own], ()) for own in names]

    def change(self, changes: Sequence[Changes], advanced: int, slides: bool) -> Moved | None:
        """Return what moves in a step.

        Parameters
        ----------
        changes : sequence of Changes
            How the parts of each dimension change.
        advanced : int
            Dimension of the loop that goes on; -1 for the first step, when everything moves.
        slides : bool
            Whether that loop belongs to the sliding run of the tiles.

        Returns
        -------
        Moved or None
            None when nothing moves.
        """
        own = [tuple(changes[d] for d in group.dims) for group in self.groups]
        sliding = self.owner.get(advanced, -1) if slides else -1
        known: dict[tuple[tuple[Modes, ...], ...], int] = {}

        def words(view: tuple[tuple[Modes, ...], ...]) -> int:
            if view not in known:
                total = same = 1
                for g, group in enumerate(self.groups):
                    part = share(group, own[g], view[g])
                    total *= part.missing if g == sliding else part.all
                    same *= part.same
                known[view] = total if sliding >= 0 or advanced < 0 else total - same
            return known[view]

        def elements(view: tuple[tuple[Modes, ...], ...]) -> int:
            return prod(
                share(group, own[g], view[g]).all
                for g, group in enumerate(self.groups)
                if g >= self.relevant
            )

        sent = words(self.sent)
        if not sent:
            return None
        runs_of: Runs = ()
        if self.in_bursts:
            runs_of = bursts(
                [
                    lines(group, own[g], self.sent[g], g == sliding)
                    for g, group in enumerate(self.groups)
                    if g >= self.relevant
                ]
                + [
                    lines(group, own[g], self.sent[g], g == sliding)
                    for g, group in enumerate(self.groups)
                    if g < self.relevant
                ]
            )
        output = self.link.tensor.is_output
        return Moved(
            sent=sent,
            distinct=words(self.distinct) if output else sent,
            entered=words(self.entered),
            carried=tuple(map(words, self.carried)),
            gathered=tuple(map(words, self.gathered)) if output else (),
            adding=tuple(map(elements, self.adding)) if output else (),
            bursts=runs_of,
        )

    def stream(self, steps: Sequence[tuple[tuple[Parts, int], ...]]) -> Moved:
        """Return what moves over all steps of a pass, to or from the compute unit."""
        own = [tuple(steps[d] for d in group.dims) for group in self.groups]
        first = [tuple(tuple((b, s, b, s, i) for b, s, i in each[0][0]) for each in o) for o in own]

        def words(view: tuple[tuple[Modes, ...], ...]) -> int:
            return prod(stepwise(g, o, v) for g, o, v in zip(self.groups, own, view, strict=True))

        def elements(view: tuple[tuple[Modes, ...], ...]) -> int:
            return prod(
                share(group, first[g], view[g]).all
                for g, group in enumerate(self.groups)
                if g >= self.relevant
            )

        sent = words(self.sent)
        output = self.link.tensor.is_output
        return Moved(
            sent=sent,
            distinct=sent,
            entered=0,
            carried=tuple(map(words, self.carried)),
            gathered=tuple(map(words, self.gathered)) if output else (),
            adding=tuple(map(elements, self.adding)) if output else (),
        )

"""Constraints: what a mapping must satisfy beyond fitting the machine."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, fields
from math import inf
from typing import Any

ALL = 1 << 40
"""Stands for the whole bound: no bound is larger."""


@dataclass(frozen=True)
class Limits:
    """A range of tile sizes or spatial factors.

    Attributes
    ----------
    least, most : int
        Both included, at least 1. A number above the bound of a dimension stands for the bound.
    """

    least: int = 1
    most: int = ALL

    def allow(self, value: int, bound: int) -> bool:
        """Whether a value of a dimension with this bound is in the range."""
        return min(self.least, bound) <= value <= self.most

    def __str__(self) -> str:
        low = "all" if self.least == ALL else str(self.least)
        if self.least == self.most:
            return low
        high = "" if self.most == ALL else str(self.most)
        return f"{low if self.least > 1 else ''}..{high}"


@dataclass(frozen=True)
class Constraint:
    """What must hold at one level. What is left at its default is not constrained.

    Attributes
    ----------
    at : str
        Name of an array or a memory, or a role such as ``"array"`` or ``"innermost"``.
    axis : str or None
        One of the array's axes; None means the array as a whole.
    dims : frozenset of str or None
        Dimensions that may be unrolled; None means any.
    require : frozenset of str
        Dimensions that must be unrolled.
    factor : tuple of (str, Limits)
        Range of the spatial factor of a dimension.
    max_dims : int or None
        How many dimensions may be unrolled.
    min_utilization : float or None
        Least share of an array's elements, or of a memory's capacity, that is used, 0 to 1.
    tensors : frozenset of str
        Tensors to whose store nodes `tile` is confined; empty means all.
    tile : tuple of (str, Limits)
        Range of what is left of a dimension below the memory's store nodes.
    keep, bypass : frozenset of str
        Tensors that the memory must, or may not, store.
    order : tuple of str
        Dimensions in the order of their loops in the memory's block, outermost first.
    innermost : frozenset of str
        Dimensions of which one is that of the innermost loop of the block; empty means any.
    even : bool
        Whether the memory stores all its tensors at one point.
    """

    at: str
    axis: str | None = None
    dims: frozenset[str] | None = None
    require: frozenset[str] = frozenset()
    factor: tuple[tuple[str, Limits], ...] = ()
    max_dims: int | None = None
    min_utilization: float | None = None
    tensors: frozenset[str] = frozenset()
    tile: tuple[tuple[str, Limits], ...] = ()
    keep: frozenset[str] = frozenset()
    bypass: frozenset[str] = frozenset()
    order: tuple[str, ...] = ()
    innermost: frozenset[str] = frozenset()
    even: bool = False

    @property
    def keys(self) -> tuple[str, ...]:
        """What it constrains: names of the attributes that say something."""
        return tuple(name for name, default in FREE.items() if getattr(self, name) != default)

    def statements(self) -> Iterator[Constraint]:
        """Yield the same as constraints with one key and, where each stands alone, one name."""
        for key in self.keys:
            value = getattr(self, key)
            if key == "tile":
                for pair in value:
                    yield self.alone(tile=(pair,), tensors=self.tensors)
            elif key == "factor":
                for pair in value:
                    yield self.alone(factor=(pair,))
            elif key in ("require", "keep", "bypass"):
                for name in sorted(value):
                    yield self.alone(**{key: frozenset((name,))})
            elif key != "tensors":
                yield self.alone(**{key: value})

    def alone(self, **keys: Any) -> Constraint:
        """Return a constraint at the same place with these keys alone."""
        return Constraint(self.at, self.axis, **keys)

    @property
    def dimensions(self) -> frozenset[str]:
        """The dimensions that it names."""
        ranges = (name for name, _ in (*self.factor, *self.tile))
        named = (self.dims or frozenset()) | self.require | self.innermost
        return named.union(self.order, ranges)

    @property
    def named_tensors(self) -> frozenset[str]:
        """The tensors that it names."""
        return self.tensors | self.keep | self.bypass

    def __str__(self) -> str:
        """Return it as people write it on a command line: ``PE.X.dims=C,K``."""
        place = self.at if self.axis is None else f"{self.at}.{self.axis}"
        keys = (key for key in self.keys if key in TEXTS)
        return "; ".join(f"{place}.{text}" for key in keys for text in TEXTS[key](self))

    def words(self) -> str:
        """Return what it demands, as part of a sentence."""
        place = self.at if self.axis is None else f"{self.at}.{self.axis}"
        return ", and ".join(WORDS[s.keys[-1]](s, place) for s in self.statements())


FREE = {item.name: item.default for item in fields(Constraint) if item.name not in ("at", "axis")}


@dataclass(frozen=True)
class Constraints:
    """A set of constraints, all of which must hold.

    Attributes
    ----------
    items : tuple of Constraint
        In the order in which they were given.
    name, source : str
        Of a dataflow: its name, and where it was published.
    also : tuple of str
        Other names of the dataflow.
    """

    items: tuple[Constraint, ...] = ()
    name: str = ""
    source: str = ""
    also: tuple[str, ...] = field(default=())

    def __iter__(self) -> Iterator[Constraint]:
        return iter(self.items)

    def __len__(self) -> int:
        return len(self.items)

    def __add__(self, other: Iterable[Constraint]) -> Constraints:
        """Return both together; what occurs in both is kept once."""
        return Constraints(tuple(dict.fromkeys((*self.items, *other))))

    def statements(self) -> tuple[Constraint, ...]:
        """Return each demand as a constraint of its own."""
        return tuple(dict.fromkeys(s for item in self.items for s in item.statements()))

    def __str__(self) -> str:
        return "; ".join(map(str, self.items))


def listed(names: Iterable[str]) -> str:
    """Return names with commas in between, in the order of the alphabet."""
    return ",".join(sorted(names))


def spoken(names: Iterable[str], last: str = "and") -> str:
    """Return names as part of a sentence."""
    *some, end = sorted(names)
    return f"{', '.join(some)} {last} {end}" if some else end


def range_words(limits: Limits) -> str:
    """Return a range as part of a sentence."""
    if limits.least == limits.most:
        return str(limits.least)
    if limits.most == ALL:
        return f"at least {limits.least}"
    return f"at most {limits.most}" if limits.least == 1 else f"{limits.least} to {limits.most}"


def factor_words(c: Constraint, place: str) -> str:
    """Return what a statement about a spatial factor demands."""
    (name, limits), *_ = c.factor
    if limits.least == ALL:
        return f"{place} unrolls all of {name}"
    return f"{place} unrolls {name} by {range_words(limits)}"


def tile_words(c: Constraint, place: str) -> str:
    """Return what a statement about tiles demands."""
    (name, limits), *_ = c.tile
    tiles = f"tiles of {spoken(c.tensors)} in {place}" if c.tensors else f"tiles in {place}"
    if limits.least == ALL:
        return f"{tiles} have all of {name}"
    relation = "=" if limits.least == limits.most else "of"
    return f"{tiles} have {name} {relation} {range_words(limits)}"


def utilization_words(c: Constraint, place: str) -> str:
    """Return what a statement about utilization demands."""
    return f"at least {100 * (c.min_utilization or 0):.4g}% of {place} is used"


# by key, for constraints with this key alone
WORDS: dict[str, Callable[[Constraint, str], str]] = {
    "dims": lambda c, p: f"{p} unrolls only {', '.join(sorted(c.dims or ())) or 'nothing'}",
    "require": lambda c, p: f"{p} unrolls {spoken(c.require)}",
    "factor": factor_words,
    "max_dims": lambda c, p: f"{p} unrolls at most {c.max_dims} dimension{'s' * (c.max_dims != 1)}",
    "min_utilization": utilization_words,
    "tile": tile_words,
    "keep": lambda c, p: f"{p} stores {spoken(c.keep)}",
    "bypass": lambda c, p: f"{p} does not store {spoken(c.bypass, 'or')}",
    "order": lambda c, p: f"the loops at {p} are in the order {', '.join(c.order)}",
    "innermost": lambda c, p: f"the innermost loop at {p} is on {spoken(c.innermost, 'or')}",
    "even": lambda c, p: f"{p} stores all its tensors at one point",
}
TEXTS: dict[str, Callable[[Constraint], list[str]]] = {
    "dims": lambda c: [f"dims={listed(c.dims or ())}"],
    "require": lambda c: [f"require={listed(c.require)}"],
    "factor": lambda c: [f"factor.{name}={limits}" for name, limits in c.factor],
    "max_dims": lambda c: [f"max_dims={c.max_dims}"],
    "min_utilization": lambda c: [f"min_utilization={c.min_utilization!r}"],
    "tile": lambda c: [
        f"{listed(c.tensors)}.tile.{name}={limits}" if c.tensors else f"tile.{name}={limits}"
        for name, limits in c.tile
    ],
    "keep": lambda c: [f"keep={listed(c.keep)}"],
    "bypass": lambda c: [f"bypass={listed(c.bypass)}"],
    "order": lambda c: [f"order={','.join(c.order)}"],
    "innermost": lambda c: [f"innermost={listed(c.innermost)}"],
    "even": lambda c: ["even=true"],
}
ARRAY_KEYS = ("dims", "require", "factor", "max_dims", "min_utilization")
MEMORY_KEYS = (
    "tile", "tensors", "keep", "bypass", "order", "innermost", "even", "min_utilization",
)  # fmt: skip
ROUNDING = 1e-12


def used_enough(used: float, share: float, whole: float) -> bool:
    """Whether a share of a whole is used, but for the rounding of its product."""
    return used >= share * whole * (1 - ROUNDING) and whole < inf

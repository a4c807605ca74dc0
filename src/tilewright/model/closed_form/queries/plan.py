"""A mapping structure compiled to flat arrays: its queries as products over dimension groups."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable
from dataclasses import dataclass, field
from math import prod
from typing import NamedTuple

import numpy as np

from tilewright.kernels.types import Ints
from tilewright.model.closed_form.queries import program as kinds
from tilewright.model.closed_form.queries.program import NONE, OWN_STEPS, Program
from tilewright.model.closed_form.traffic import Kind, Query, Structure
from tilewright.model.closed_form.words import F, G, H, S, T, U
from tilewright.workload.layer import Layer


class Group(NamedTuple):
    """Dimensions that share an index expression of a tensor, or one irrelevant dimension."""

    dims: tuple[int, ...]
    coefficients: tuple[int, ...]
    relevant: bool


class Factor(NamedTuple):
    """What a query needs of a group: a kernel, and the loops that it looks at."""

    kind: int
    group: Group
    loops: tuple[int, ...]
    modes: tuple[int, ...]

    @property
    def depth(self) -> int:
        """Number of temporal loops."""
        return self.modes.count(T)

    @property
    def width(self) -> int:
        """Number of numbers that the kernel computes."""
        if self.kind in (kinds.PEAK, kinds.DISTINCT):
            return 1
        if self.kind == kinds.TOTAL:
            return 2
        sums = 3 if self.kind == kinds.CHAIN else 4
        return sums * (self.depth + 1)


class Part(NamedTuple):
    """A group's part in a query.

    Attributes
    ----------
    factor : Factor
        What computes its numbers.
    words : bool
        Whether the words of its tiles count; each tile is a single word when not.
    constant : bool
        Whether its total is in the constant factor of the query.
    """

    factor: Factor
    words: bool
    constant: bool = False

    @property
    def all(self) -> int:
        """Where its numbers `all` begin in the factor."""
        if self.words or self.factor.kind not in (kinds.CHAIN, kinds.TOTAL):
            return 0
        return 1 if self.factor.kind == kinds.TOTAL else 2 * (self.factor.depth + 1)

    @property
    def only(self) -> int:
        """Where its numbers `only` begin."""
        if self.factor.kind == kinds.CHAIN and not self.words:
            return self.all
        return self.factor.depth + 1

    @property
    def total(self) -> int:
        """Where its total stands."""
        sums = (kinds.CHAIN, kinds.WINDOW, kinds.HELD)
        return self.all + (self.factor.depth if self.factor.kind in sums else 0)


@dataclass(frozen=True)
class Compiled:
    """Queries as arrays.

    Attributes
    ----------
    program : Program
        The arrays.
    queries : tuple of Query
        The queries, in the order of the values.
    tables : tuple of tuple of int
        For each table the loops whose tile sizes its rows depend on.
    rows : array of (tables, 1, 2)
        Where the row of each table begins when one mapping's stand one after the other, and 0.
    varying : int
        How many of the first queries depend on tile sizes.
    residual : int
        Loops at the compute unit, of tile 1, that follow the mapping's own.
    """

    program: Program
    queries: tuple[Query, ...]
    tables: tuple[tuple[int, ...], ...]
    rows: Ints
    varying: int
    residual: int


def groups(layer: Layer, tensor: int) -> tuple[Group, ...]:
    """Return the dimension groups of a tensor (all dimensions alone and irrelevant for none).

    A dimension of one iteration changes nothing and is left out.
    """
    number = {name: d for d, name in enumerate(layer.dimensions)}
    found: list[Group] = []
    seen: set[int] = set()
    for terms in layer.tensors[tensor].expressions if tensor >= 0 else ():
        kept = [term for term in terms if layer.bounds[term.dimension] > 1]
        dims = tuple(number[term.dimension] for term in kept)
        seen.update(dims)
        if dims:
            found.append(Group(dims, tuple(term.coefficient for term in kept), True))
    for name, d in number.items():
        if d not in seen and layer.bounds[name] > 1:
            found.append(Group((d,), (0,), False))
    return tuple(found)


def word_numbers(layer: Layer, tensor: int) -> list[int]:
    """Return coefficients per dimension that number the words of a tensor, 0 where irrelevant."""
    coefficients = dict.fromkeys(layer.dimensions, 0)
    stride = 1
    for terms in layer.tensors[tensor].expressions:
        for term in terms:
            coefficients[term.dimension] = stride * term.coefficient
        stride *= 1 + sum(t.coefficient * (layer.bounds[t.dimension] - 1) for t in terms)
    return list(coefficients.values())


@dataclass
class _Lists:
    """The arrays of a program while they grow."""

    lists: dict[str, list[int]] = field(default_factory=dict)

    def put(self, **values: int) -> None:
        for name, value in values.items():
            self.lists.setdefault(name, []).append(value)

    def arrays(self) -> Program:
        return Program(
            **{name: np.array(self.lists.get(name, []), np.int64) for name in Program._fields}
        )


def compile_queries(layer: Layer, structure: Structure, queries: Iterable[Query]) -> Compiled:
    """Compile queries about a mapping structure.

    Groups that several queries need are computed once; groups that depend on the same loops share
    a table. Queries that do not depend on tile sizes come last.
    """
    queries = tuple(queries)
    number = {name: d for d, name in enumerate(layer.dimensions)}
    loop_dim = [number[node.dimension] for node in structure.loops] + list(number.values())
    groups_of = {t: groups(layer, t) for t in range(-1, len(layer.tensors))}
    bounds = list(layer.bounds.values())
    loops_of = {
        group: [i for i, d in enumerate(loop_dim) if d in group.dims]
        for own in groups_of.values()
        for group in own
    }
    parts = {query: _parts(query, groups_of[query.tensor], loops_of, bounds) for query in queries}
    parts = _with_whole_chains(dict(sorted(parts.items(), key=lambda item: not item[1][1])))
    varying = sum(bool(chosen) for _, chosen in parts.values())

    tables: dict[tuple[int, ...], int] = {}
    members: list[dict[Factor, int]] = []
    widths: list[int] = []
    table_of: dict[Factor, tuple[int, int]] = {}
    for _, chosen in parts.values():
        for part in chosen:
            factor = part.factor
            if factor in table_of:
                continue
            key = factor.loops
            if key not in tables:
                tables[key] = len(tables)
                members.append({})
                widths.append(0)
            t = tables[key]
            table_of[factor] = (t, widths[t])
            members[t][factor] = widths[t]
            widths[t] += factor.width

    out = _Lists()
    out.lists["bounds"] = bounds
    out.lists["loop_dim"] = loop_dim
    out.lists["table_width"] = widths
    out.put(table_factor_start=0, factor_dim_start=0, factor_loop_start=0)
    for table in members:
        for factor, place in table.items():
            _put_factor(out, factor, place, bounds, loop_dim)
        out.put(table_factor_start=len(out.lists.get("factor_kind", [])))
    code: list[int] = []
    for query, (scale, chosen) in parts.items():
        out.put(query=len(code))
        code.extend(_code(query, scale, chosen, table_of, loop_dim))
    out.lists["code"] = code
    rows = np.zeros((len(widths), 1, 2), np.int64)
    rows[1:, 0, 0] = np.cumsum(widths)[:-1]
    return Compiled(out.arrays(), tuple(parts), tuple(tables), rows, varying, len(layer.dimensions))


def _with_whole_chains(
    parts: dict[Query, tuple[int, list[Part]]],
) -> dict[Query, tuple[int, list[Part]]]:
    """Take totals from chains that are computed anyway."""
    factors = {part.factor for _, chosen in parts.values() for part in chosen}

    def whole(part: Part) -> Part:
        if part.factor.kind != kinds.TOTAL:
            return part
        chain = part.factor._replace(kind=kinds.CHAIN)
        return part._replace(factor=chain) if chain in factors else part

    return {q: (scale, [whole(part) for part in chosen]) for q, (scale, chosen) in parts.items()}


def _parts(
    query: Query,
    groups: tuple[Group, ...],
    loops_of: dict[Group, list[int]],
    bounds: list[int],
) -> tuple[int, list[Part]]:
    """Return the constant factor of a query and the part of each group that is not constant."""
    scale = 1
    parts = []
    for group in groups:
        if not group.relevant and query.kind in (Kind.PEAK, Kind.DISTINCT):
            continue
        loops_here = loops_of[group]
        loops = tuple(loops_here[: bisect_left(loops_here, len(query.modes))])
        modes = tuple([query.modes[i] for i in loops])
        volume = prod([bounds[d] for d in group.dims])
        single = len(group.dims) == 1
        match query.kind:
            case Kind.PEAK:
                parts.append(Part(Factor(kinds.PEAK, group, loops, ()), True))
            case Kind.DISTINCT:
                if F not in modes:
                    parts.append(Part(Factor(kinds.PEAK, group, (), ()), True))
                elif single:
                    parts.append(_alone(kinds.TOTAL, group, loops, modes))
                else:
                    parts.append(Part(Factor(kinds.DISTINCT, group, loops, modes), True))
            case Kind.STEPS:
                # the last loop, at the compute unit, has a step per iteration that is left
                kept = Group(group.dims, group.coefficients, True)
                alike = tuple(F if mode == U else mode for mode in modes[:-1])
                parts.append(_alone(kinds.TOTAL, kept, loops[:-1], alike))
            case Kind.INSTANCES:
                first = tuple(F if mode == T else mode for mode in modes)
                parts.append(_alone(kinds.TOTAL, group, loops, first))
            case Kind.EVERY:
                apart = F not in modes and (U not in modes or (single and group.relevant))
                if apart:
                    scale *= volume
                elif single:
                    parts.append(_alone(kinds.TOTAL, group, loops, modes))
                else:
                    parts.append(Part(Factor(kinds.WINDOW, group, loops, modes), True))
            case Kind.MOVED:
                masked = group.relevant and G in modes
                if not masked:
                    loops, modes = _above(loops, modes)
                if masked or not single:
                    parts.append(Part(Factor(kinds.WINDOW, group, loops, modes), True))
                    continue
                constant = group.relevant and F not in modes
                if constant:
                    scale *= volume
                parts.append(_alone(kinds.CHAIN, group, loops, modes, constant))
            case Kind.MISSING:
                parts.append(Part(Factor(kinds.HELD, group, loops, modes), group.relevant))
    return scale, parts


def _above(
    loops: tuple[int, ...], modes: tuple[int, ...]
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Leave out the loops below the tile."""
    above = sum(mode not in (G, H) for mode in modes)
    return loops[:above], modes[:above]


def _alone(
    kind: int,
    group: Group,
    loops: tuple[int, ...],
    modes: tuple[int, ...],
    constant: bool = False,
) -> Part:
    """Return the part of a group of one dimension.

    Chunks of a uniting loop are apart in a relevant dimension, and all alike in another.
    """
    what = tuple((S if group.relevant else F) if mode == U else mode for mode in modes)
    return Part(Factor(kind, Group(group.dims, (1,), True), loops, what), group.relevant, constant)


def _put_factor(
    out: _Lists, factor: Factor, place: int, bounds: list[int], loop_dim: list[int]
) -> None:
    out.put(factor_kind=factor.kind, factor_place=place)
    for d, coefficient in zip(factor.group.dims, factor.group.coefficients, strict=True):
        out.put(dim_coef=coefficient, dim_bound=bounds[d])
    modes = factor.modes or (S,) * len(factor.loops)
    for loop, mode in zip(factor.loops, modes, strict=True):
        local = factor.group.dims.index(loop_dim[loop])
        out.put(loop_index=loop, loop_local=local, loop_mode=mode)
    out.put(
        factor_dim_start=len(out.lists["dim_coef"]),
        factor_loop_start=len(out.lists.get("loop_index", [])),
    )


def _code(
    query: Query,
    scale: int,
    parts: list[Part],
    table_of: dict[Factor, tuple[int, int]],
    loop_dim: list[int],
) -> list[int]:
    """Return a query as `combine.query_values` reads it."""
    totals: list[int] = []
    checks: list[int] = []
    steps: list[int] = []
    number = 0
    owner = {d: i for i, part in enumerate(parts) for d in part.factor.group.dims}
    for part in parts:
        table, place = table_of[part.factor]
        if not part.constant:
            totals += [table, place + part.total]
        if query.kind is Kind.MISSING:
            checks += [table, place + 3 * (part.factor.depth + 1)]
    depths = [part.factor.depth for part in parts]
    for loop in range(len(query.modes) - 1, -1, -1):
        dim = loop_dim[loop]
        if query.kind not in (Kind.MOVED, Kind.MISSING):
            break
        if query.modes[loop] != T or dim not in owner:
            continue
        own = owner[dim]
        steps += [loop, *_step(parts[own], depths[own], dim, *table_of[parts[own].factor])]
        for other, part in enumerate(parts):
            if other != own:
                table, place = table_of[part.factor]
                q = depths[other]
                steps += [table, place + part.only + q, place + part.all + q]
        depths[own] -= 1
        number += 1
    head = [scale, len(totals) // 2, len(checks) // 2, number, len(parts)]
    return [*head, *totals, *checks, *steps]


def _step(part: Part, q: int, dim: int, table: int, place: int) -> list[int]:
    """Return what a step says of its own group, which has q temporal loops down to it."""
    width = part.factor.depth + 1
    adv, slide = NONE, NONE
    if part.factor.kind in (kinds.WINDOW, kinds.HELD):
        adv, slide = place + 2 * width + q, place + 3 * width + q
    elif not part.words:
        adv = OWN_STEPS
    relevant = dim if part.words else -1
    return [relevant, table, place + part.all + q, adv, slide, place + part.only + q]

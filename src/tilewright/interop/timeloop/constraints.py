"""Constraints of Timeloop's architectures, as far as they have a meaning here."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from tilewright.architecture.constraints.constraint import ALL, Constraint, Limits
from tilewright.architecture.machine import Architecture, Array, Memory
from tilewright.architecture.roles import TENSOR_ROLES, role
from tilewright.document import Document, KeyPath, describe
from tilewright.errors import nearest
from tilewright.interop.timeloop.loops import Factor, read_factors, read_permutation
from tilewright.interop.timeloop.reading import normal
from tilewright.interop.timeloop.report import Report
from tilewright.interop.timeloop.tree import Part

LISTS = ("architecture_constraints", "mapspace_constraints", "constraints")
KINDS = {"bypass": "dataspace", "datatype": "dataspace", "bypassing": "dataspace"}
Item = tuple[str, str, dict[str, Any], KeyPath]


def read_constraints(
    document: Document, parts: list[Part], machine: Architecture, report: Report
) -> tuple[Constraint, ...]:
    """Return what the constraints of nodes and of lists of targets demand here."""
    items = [*of_nodes(document, parts), *of_lists(document, machine)]
    reader = Constrained(document, machine, report, items)
    found: list[Constraint] = []
    for kind, level, data, path in items:
        if kind == "dataspace":
            found += reader.dataspace(level, data, path)
        elif kind == "spatial":
            found += reader.spatial(level, data, path)
        elif kind == "temporal":
            found += reader.order(level, data, path)
        elif kind == "utilization":
            found += reader.utilization(level, data, path)
        else:
            report.open(document, path, f"no kind of constraint that is known: '{kind}'")
    found += reader.tiles(items)
    return tuple(dict.fromkeys(found))


def of_nodes(document: Document, parts: list[Part]) -> Iterable[Item]:
    """Yield the constraints that stand at the nodes of version 0.4."""
    for part in parts:
        for kind, (data, path) in part.constraints.items():
            if not isinstance(data, dict):
                raise document.error(f"expected a constraint, found {describe(data)}", path)
            name = part.name
            yield KINDS.get(kind, kind), name, {normal(k): v for k, v in data.items()}, path


def of_lists(document: Document, machine: Architecture) -> Iterable[Item]:
    """Yield the constraints of lists of targets."""
    for key, value in document.data.items():
        if normal(key) not in LISTS:
            continue
        path: KeyPath = (key,)
        items = value
        if isinstance(value, dict):
            path, items = (key, "targets"), value.get("targets")
        for i, item in enumerate(items if isinstance(items, list) else []):
            place = (*path, i)
            if not isinstance(item, dict):
                raise document.error(f"expected a constraint, found {describe(item)}", place)
            kind = str(item.get("type", ""))
            kind = KINDS.get(kind, kind)
            name = level_named(document, item.get("target"), machine, kind, place)
            yield kind, name, {normal(k): v for k, v in item.items()}, place


def level_named(
    document: Document, target: Any, machine: Architecture, kind: str, place: KeyPath
) -> str:
    """Return the level that a target names: for spatial loops, the array below a memory."""
    names = [level.name for level in machine.levels]
    name = str(target)
    if name.startswith("inter_") and name.removeprefix("inter_").removesuffix("_spatial") in names:
        name = name.removeprefix("inter_").removesuffix("_spatial")
    if name not in names:
        raise document.error(
            f"no target '{target}'; accepted: {', '.join(names)}{nearest(str(target), names)}",
            place,
        )
    position = machine.position[name]
    if kind == "spatial" and isinstance(machine.levels[position], Memory):
        below = arrays_below(machine, name)
        if len(below) == 1:
            return below[0].name
        if len(below) > 1:
            listed = ", ".join(array.name for array in below)
            raise document.error(
                f"several fan-outs are below '{name}': name one of {listed}", place
            )
    return name


def arrays_below(machine: Architecture, memory: str) -> list[Array]:
    """Return the arrays between a memory and the next one inward, outermost first."""
    found = []
    for level in machine.levels[machine.position[memory] + 1 :]:
        if not isinstance(level, Array):
            break
        found.append(level)
    return found


class Constrained:
    """Constraints while they are read."""

    def __init__(
        self, document: Document, machine: Architecture, report: Report, items: list[Item]
    ) -> None:
        self.document = document
        self.machine = machine
        self.report = report
        self.dimensions: set[str] = set()
        for _, _, data, path in items:
            for key, reader in (("factors", read_factors), ("permutation", read_permutation)):
                self.dimensions |= set(reader(document, data.get(key), (*path, key)))

    def leave(self, data: dict[str, Any], path: KeyPath, *understood: str) -> None:
        """Name the keys of a constraint that have no meaning here."""
        for key in data:
            if key in understood:
                self.report.understand((*path, key))
            elif key not in ("type", "target", "name"):
                self.report.open(self.document, (*path, key), "no such demand here: left open")

    def dataspace(self, level: str, data: dict[str, Any], path: KeyPath) -> list[Constraint]:
        """Return what must be stored, and what may not be: all else where some is named alone."""
        self.leave(data, path, "keep", "bypass", "keep_only")
        if level not in {memory.name for memory in self.machine.memories}:
            return []
        keep = frozenset(self.names(data, "keep", path) + self.names(data, "keep_only", path))
        bypass = frozenset(self.names(data, "bypass", path))
        closed = "keep_only" in data or ("bypass" not in data and bool(keep))
        if closed and level != self.machine.memories[0].name:
            named = {TENSOR_ROLES.get(name.lower()) for name in keep}
            if None in named:
                self.report.open(
                    self.document, path, "what is not named is not known here: it may be kept"
                )
            else:
                bypass |= {"I", "W", "O"} - named
        if level == self.machine.memories[0].name:
            bypass = frozenset()
        found = []
        if keep:
            found.append(Constraint(level, keep=frozenset(map(role, keep))))
        if bypass:
            found.append(Constraint(level, bypass=frozenset(map(role, bypass))))
        return found

    def names(self, data: dict[str, Any], key: str, path: KeyPath) -> list[str]:
        """Return a list of data spaces."""
        given = data.get(key) or []
        given = [given] if isinstance(given, str) else given
        if not isinstance(given, list) or not all(isinstance(name, str) for name in given):
            raise self.document.error(
                f"expected data spaces, found {describe(given)}", (*path, key)
            )
        return list(given)

    def spatial(self, level: str, data: dict[str, Any], path: KeyPath) -> list[Constraint]:
        """Return what an array may unroll, by how much and along which axis."""
        arrays = {array.name: array for array in self.machine.arrays}
        if level not in arrays:
            self.report.open(self.document, path, "there is no fan-out here")
            return []
        self.leave(data, path, "factors", "permutation", "split")
        found = []
        for name, factor in read_factors(
            self.document, data.get("factors"), (*path, "factors")
        ).items():
            limits = limits_of(factor)
            if limits is not None:
                found.append(Constraint(level, factor=((name, limits),)))
        order = read_permutation(self.document, data.get("permutation"), (*path, "permutation"))
        if "split" in data and len(arrays[level].axes) > 1:
            found += self.axes(level, data["split"], order, path)
        return found

    def axes(
        self, level: str, split: Any, order: tuple[str, ...], path: KeyPath
    ) -> list[Constraint]:
        """Return what lies along X, the first dimensions of a permutation, and what along Y."""
        if not isinstance(split, int) or isinstance(split, bool) or split < 0:
            raise self.document.error(
                f"expected a whole number, found {describe(split)}", (*path, "split")
            )
        if split == 0:
            return [Constraint(level, axis="X", dims=frozenset())]
        if split > len(self.dimensions):
            return [Constraint(level, axis="Y", dims=frozenset())]
        if not order or self.dimensions - set(order):
            # those that a permutation leaves out count as its first ones
            self.report.open(
                self.document,
                (*path, "split"),
                "the permutation does not name all dimensions: the axes are left open",
            )
            return []
        found = [Constraint(level, axis="X", dims=frozenset(order[:split]))]
        if split < len(order):
            found.append(Constraint(level, axis="Y", dims=frozenset(order[split:])))
        return found

    def order(self, level: str, data: dict[str, Any], path: KeyPath) -> list[Constraint]:
        """Return in what order the loops at a memory stand."""
        self.leave(data, path, "factors", "permutation")
        order = read_permutation(self.document, data.get("permutation"), (*path, "permutation"))
        known = {memory.name for memory in self.machine.memories}
        if len(order) < 2 or level not in known:
            return []
        return [Constraint(level, order=tuple(reversed(order)))]

    def utilization(self, level: str, data: dict[str, Any], path: KeyPath) -> list[Constraint]:
        """Return the least share of a level that is used."""
        share = data.get("min")
        if not isinstance(share, int | float) or not 0 <= share <= 1:
            self.report.open(self.document, path, "no least share from 0 to 1 is given")
            return []
        self.report.understand((*path, "min"))
        return [Constraint(level, min_utilization=float(share))]

    def tiles(self, items: list[Item]) -> list[Constraint]:
        """Return temporal factors as tiles: of the innermost levels, as far as all are given."""
        factors: dict[tuple[str, str], dict[str, Factor]] = {}
        paths: dict[tuple[str, str], KeyPath] = {}
        for kind, name, data, path in items:
            if kind in ("temporal", "spatial"):
                given = read_factors(self.document, data.get("factors"), (*path, "factors"))
                factors.setdefault((kind, name), {}).update(given)
                paths[kind, name] = (*path, "factors")
        names = {name for own in factors.values() for name in own}
        found: list[Constraint] = []
        below: dict[str, Limits | None] = dict.fromkeys(names, Limits(1, 1))
        for level in reversed(self.machine.levels[:-1]):
            kind = "spatial" if isinstance(level, Array) else "temporal"
            own = factors.get((kind, level.name), {})
            for name in sorted(names):
                limits = limits_of(own[name]) if name in own else None
                product = below[name] = times(limits, below[name])
                if limits is None or kind == "spatial":
                    continue
                if product is not None:
                    found.append(Constraint(level.name, tile=((name, product),)))
                    continue
                self.report.open(
                    self.document,
                    paths[kind, level.name],
                    f"the factor of {name} is left open: a level inside leaves its own open",
                )
        return found


def limits_of(factor: Factor) -> Limits | None:
    """Return the range of a factor; None where all that is left, or anything, is allowed."""
    if factor.bound == 0:
        return None
    if factor.relation == "=":
        return Limits(factor.bound, factor.bound)
    if factor.relation == "<=":
        return Limits(1, factor.bound)
    return Limits(factor.bound, ALL)


def times(one: Limits | None, other: Limits | None) -> Limits | None:
    """Return the range of a product."""
    if one is None or other is None:
        return None
    return Limits(min(ALL, one.least * other.least), min(ALL, one.most * other.most))

"""Timeloop's mappings as lists of nodes."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import prod
from typing import Any

from tilewright.architecture.machine import Architecture, Array, Compute, Memory
from tilewright.document import Document, KeyPath, describe
from tilewright.errors import InputError, MappingError, nearest
from tilewright.interop.timeloop.constraints import KINDS, level_named
from tilewright.interop.timeloop.loops import Factor, read_factors, read_permutation
from tilewright.interop.timeloop.reading import normal
from tilewright.interop.timeloop.report import Report
from tilewright.mapping.nodes import For, Mapping, Node, Spatial, Store
from tilewright.mapping.validity import check
from tilewright.workload.layer import Layer

MEANT = ("target", "type", "factors", "permutation", "split", "keep", "bypass")


def is_mapping(document: Document) -> bool:
    """Whether a file has a mapping of Timeloop: a list of items with a target."""
    data = document.data
    items = data.get("mapping") if isinstance(data, dict) else data
    return isinstance(items, list) and any(isinstance(i, dict) and "target" in i for i in items)


@dataclass
class Block:
    """What a mapping says at one level.

    Attributes
    ----------
    loops : mapping of str to (Factor, KeyPath)
        Its loops by dimension, innermost first.
    across : int or None
        How many dimensions of the permutation lie along X, of a fan-out.
    """

    loops: dict[str, Factor] = field(default_factory=dict)
    path: KeyPath = ()
    order: tuple[str, ...] = ()
    across: int | None = None


def read_mapping(
    document: Document, layer: Layer, machine: Architecture, report: Report
) -> Mapping:
    """Return a mapping as nodes, checked for the machine.

    Parameters
    ----------
    document : Document
        With the key ``mapping``: a list of temporal, spatial and datatype (bypass) items.
    layer : Layer
        What is computed.
    machine : Architecture
        What computes it; targets are its levels.
    report : Report
        Takes what is left out.

    Raises
    ------
    InputError
        When it is malformed; a MappingError when it does not fit the layer or the machine.
    """
    mapping = Mappings(document, layer, machine, report).nodes()
    try:
        check(mapping, layer, machine)
    except MappingError as fault:
        raise MappingError(fault.message, source=document.source, key="mapping") from None
    return mapping


class Mappings:
    """A mapping while it is read."""

    def __init__(
        self, document: Document, layer: Layer, machine: Architecture, report: Report
    ) -> None:
        self.document = document
        self.layer = layer
        self.machine = machine
        self.report = report
        self.tensors = tuple(tensor.name for tensor in layer.tensors)
        self.kept: dict[str, tuple[str, ...]] = {}
        self.blocks: dict[tuple[str, str], Block] = {}

    def nodes(self) -> Mapping:
        """Return the nodes, outermost first."""
        data = self.document.data
        path: KeyPath = () if isinstance(data, list) else ("mapping",)
        for i, item in enumerate(data if isinstance(data, list) else data["mapping"]):
            self.item(item, (*path, i))
        self.check_products(path)
        found: list[Node] = []
        left = dict.fromkeys(self.layer.dimensions, 1)
        for level in reversed(self.machine.levels):
            # from the inside out: a loop's tile is the product of the factors inside it
            if isinstance(level, Compute):
                continue
            kinds = ("spatial", "temporal") if isinstance(level, Array) else ("temporal",)
            for kind in kinds:
                block = self.blocks.get((kind, level.name), Block())
                for name in block.order:
                    factor = block.loops[name].bound
                    if factor > 1:
                        found.append(self.loop(kind, level, name, left[name], block))
                    left[name] *= factor
            if isinstance(level, Memory):
                kept = self.kept.get(level.name, self.storable(level))
                if kept:
                    found.append(Store(level.name, kept))
        return Mapping(tuple(reversed(found)))

    def loop(
        self, kind: str, level: Array | Memory | Compute, name: str, tile: int, block: Block
    ) -> Node:
        """Return a loop of a block."""
        tile = min(tile, self.layer.bounds[name])
        if kind == "temporal" or not isinstance(level, Array):
            return For(name, tile)
        if len(level.axes) == 1:
            return Spatial(name, tile, next(iter(level.axes)), level.name)
        along = block.across is not None and block.order.index(name) >= block.across
        return Spatial(name, tile, "Y" if along else "X", level.name)

    def storable(self, memory: Memory) -> tuple[str, ...]:
        """Return what a memory stores where the mapping does not say."""
        return tuple(t.name for t in self.layer.tensors if memory.may_store(t.role))

    def item(self, item: Any, path: KeyPath) -> None:
        """Take one item into account."""
        if not isinstance(item, dict):
            raise self.document.error(f"expected keys, found {describe(item)}", path)
        keys = {normal(key): value for key, value in item.items()}
        for key in keys:
            if key in MEANT:
                self.report.understand((*path, key))
            else:
                self.report.ignore(self.document, (*path, key), "changes nothing here")
        given = str(keys.get("type", ""))
        kind = KINDS.get(given, given)
        if kind not in ("dataspace", "temporal", "spatial"):
            accepted = ("temporal", "spatial", "datatype", "dataspace", "bypass")
            raise self.document.error(
                f"no type '{given}'; accepted: {', '.join(accepted)}{nearest(given, accepted)}",
                (*path, "type"),
            )
        ones = kind != "dataspace" and all(
            factor.bound == 1 for factor in self.factors(keys, path).values()
        )
        try:
            name = level_named(self.document, keys.get("target"), self.machine, kind, path)
        except InputError:
            if ones:
                return
            raise
        level = self.machine.levels[self.machine.position[name]]
        if kind == "dataspace":
            if isinstance(level, Memory):
                self.kept[name] = self.stored(keys, path)
            return
        if isinstance(level, Compute) or (kind == "spatial" and not isinstance(level, Array)):
            if not ones:
                what = "fan-out" if kind == "spatial" else "storage"
                raise self.document.error(f"'{name}' is no {what} that loops may stand at", path)
            return
        self.blocks[kind, name] = self.block(keys, path)

    def factors(self, keys: dict[str, Any], path: KeyPath) -> dict[str, Factor]:
        """Return the factors of an item."""
        found = read_factors(self.document, keys.get("factors"), (*path, "factors"))
        for name, factor in found.items():
            if factor.relation != "=":
                raise self.document.error(
                    f"a mapping gives each factor: write {name}={factor.bound}", (*path, "factors")
                )
            if name not in self.layer.bounds and factor.bound != 1:
                raise self.document.error(
                    f"no dimension '{name}'; accepted: {', '.join(self.layer.dimensions)}"
                    f"{nearest(name, self.layer.dimensions)}",
                    (*path, "factors"),
                )
        return {name: factor for name, factor in found.items() if name in self.layer.bounds}

    def block(self, keys: dict[str, Any], path: KeyPath) -> Block:
        """Return the loops of an item, innermost first: those of the permutation, then the rest."""
        factors = self.factors(keys, path)
        names = self.layer.dimensions
        given = read_permutation(
            self.document, keys.get("permutation"), (*path, "permutation"), names
        )
        permutation = tuple(name for name in given if name in names)
        across = keys.get("split")
        if across is not None and (not isinstance(across, int) or isinstance(across, bool)):
            raise self.document.error(
                f"expected a whole number, found {describe(across)}", (*path, "split")
            )
        rest = tuple(name for name in names if name not in permutation)
        order = tuple(name for name in (*permutation, *rest) if name in factors)
        if across is not None:
            across = sum(1 for name in (*permutation, *rest)[:across] if name in factors)
        return Block(factors, path, order, across)

    def stored(self, keys: dict[str, Any], path: KeyPath) -> tuple[str, ...]:
        """Return the tensors that a level keeps; what is not named is kept."""
        named: dict[str, list[str]] = {}
        for key in ("keep", "bypass"):
            given = keys.get(key) or []
            if not isinstance(given, list):
                raise self.document.error(
                    f"expected data spaces, found {describe(given)}", (*path, key)
                )
            for name in given:
                if name not in self.tensors:
                    raise self.document.error(
                        f"no data space {describe(name)}; accepted: {', '.join(self.tensors)}"
                        f"{nearest(str(name), self.tensors)}",
                        (*path, key),
                    )
            named[key] = given
        both = [name for name in named["keep"] if name in named["bypass"]]
        if both:
            raise self.document.error(f"'{both[0]}' is kept and bypassed", path)
        return tuple(name for name in self.tensors if name not in named["bypass"])

    def check_products(self, path: KeyPath) -> None:
        """Give factors of 0 what is left, and refuse factors whose product is not the bound."""
        for name, bound in self.layer.bounds.items():
            chain = [
                (block, block.loops[name])
                for kind_level in self.inward()
                if (block := self.blocks.get(kind_level)) is not None and name in block.loops
            ]
            open_ones = [(block, f) for block, f in chain if f.bound == 0]
            known = prod(f.bound for _, f in chain if f.bound)
            if len(open_ones) == 1 and bound % known == 0:
                open_ones[0][0].loops[name] = Factor("=", bound // known)
                continue
            total = 0
            size = 1
            for _, factor in chain:
                last = factor.bound if factor.last is None else factor.last
                total += (last - 1) * size
                size *= factor.bound
            if open_ones or total + 1 != bound:
                shown = " x ".join(
                    str(f.bound) if f.last is None else f"{f.bound},{f.last}"
                    for _, f in reversed(chain)
                )
                raise MappingError(
                    f"the factors of {name} are {shown or 'none'}, which make no {bound}",
                    source=self.document.source,
                    line=self.document.line(chain[0][0].path if chain else path),
                    key="mapping",
                )

    def inward(self) -> list[tuple[str, str]]:
        """Return the kinds and names of all blocks, innermost first."""
        found = []
        for level in reversed(self.machine.levels):
            if isinstance(level, Array):
                found.append(("spatial", level.name))
            if not isinstance(level, Compute):
                found.append(("temporal", level.name))
        return found

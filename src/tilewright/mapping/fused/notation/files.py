"""Fused mappings in files: lists of nodes in YAML or JSON, one for each segment of a network."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from collections.abc import Mapping as Dict
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from tilewright.architecture.machine import Architecture
from tilewright.document import Document, KeyPath, describe, load
from tilewright.errors import InputError, nearest
from tilewright.mapping.files import (
    ForNode,
    StoreNode,
    at,
    read_node,
)
from tilewright.mapping.fused.connections.connected_layers import segment
from tilewright.mapping.fused.connections.names import find_dimension, find_halo, find_tensors
from tilewright.mapping.fused.connections.segments import Segment
from tilewright.mapping.fused.tree import Branch, Fuse, FusedMapping, Halo, TreeNode, Turn
from tilewright.mapping.names import find_memory, unknown
from tilewright.mapping.nodes import For, Mapping, Node, Store
from tilewright.workload.layer import Layer, Network

SEGMENT_KEYS = ("mapping", "halos", "runs", "layer", "layers", "architecture", "workload")
FILE_KEYS = ("segments", "mappings", "architecture", "workload")
BRANCH_KEYS = ("layer", "nodes", "turns")
TURN_KEYS = ("bounds", "nodes")
RUN_KEYS = ("runs", "mapping")
TOGETHER = ("fuse", "pipeline")  # branches one after the other, or at the same time


@dataclass(frozen=True)
class FusedFile:
    """What a file says about a network.

    Attributes
    ----------
    segments : tuple of (Segment, FusedMapping)
        The layers that are fused, and how.
    mappings : mapping of str to tuple of (Mapping, int or None)
        The mappings of other layers, by name of the layer, and how many runs take each; None for
        all that are left.
    """

    segments: tuple[tuple[Segment, FusedMapping], ...]
    mappings: Dict[str, tuple[tuple[Mapping, int | None], ...]]


def is_fused(data: Any) -> bool:
    """Return whether the data of a mapping file have a fuse node, or segments."""
    if isinstance(data, dict):
        return "segments" in data or is_fused(data.get("mapping"))
    return isinstance(data, list) and any(isinstance(x, dict) and together(x) for x in data)


def together(item: Any) -> str | None:
    """Return the key under which a node has branches; None where it has none."""
    keys = [key for key in TOGETHER if isinstance(item, dict) and key in item]
    return keys[0] if keys else None


def load_fused(path: str | Path, network: Network, architecture: Architecture) -> FusedFile:
    """Read fused mappings of a network from a file.

    Parameters
    ----------
    path : str or Path
        YAML or JSON: a list of nodes that ends in ``fuse:``, ``mapping:`` with such a list and
        ``halos:``, or ``segments:`` with several of these and ``mappings:`` for other layers.
    network : Network
        With a graph.
    architecture : Architecture
        What computes it.

    Raises
    ------
    InputError
        With file, line and key of the first thing that cannot be read.
    """
    return parse_fused(load(path), network, architecture)


def parse_fused(
    document: Document | list[Any] | dict[str, Any], network: Network, architecture: Architecture
) -> FusedFile:
    """Read fused mappings from a document, or from the same as plain data, like `load_fused`."""
    if not isinstance(document, Document):
        document = Document(document, "mapping")
    reader = Reader(document, network, architecture)
    data = document.data
    if not isinstance(data, dict) or "segments" not in data:
        return FusedFile((reader.segment(()),), {})
    reader.check_keys(data, FILE_KEYS, ())
    items = data["segments"]
    if not isinstance(items, list):
        raise document.error(f"expected a list of segments, found {describe(items)}", ("segments",))
    segments = tuple(reader.segment(("segments", i)) for i in range(len(items)))
    return FusedFile(segments, reader.mappings(data.get("mappings", {})))


class Reader:
    """Reads the fused mappings of one file."""

    def __init__(self, document: Document, network: Network, architecture: Architecture) -> None:
        self.document = document
        self.network = network
        self.architecture = architecture

    def check_keys(self, data: Dict[str, Any], accepted: Iterable[str], path: KeyPath) -> None:
        """Refuse keys that are not accepted."""
        accepted = tuple(accepted)
        for key in data:
            if key not in accepted:
                listed = f"accepted: {', '.join(accepted)}{nearest(str(key), accepted)}"
                raise self.document.error(f"unknown key '{key}'; {listed}", (*path, key))

    def mappings(self, data: Any) -> dict[str, tuple[tuple[Mapping, int | None], ...]]:
        """Read the mappings of layers that are not fused."""
        if not isinstance(data, dict):
            message = f"expected layer names with a list of nodes each, found {describe(data)}"
            raise self.document.error(message, ("mappings",))
        layers = {layer.name: layer for layer in self.network.layers}
        found: dict[str, tuple[tuple[Mapping, int | None], ...]] = {}
        for name, items in data.items():
            path: KeyPath = ("mappings", name)
            if name not in layers:
                raise self.document.error(f"no layer '{name}'{nearest(name, layers)}", path)
            several = isinstance(items, list) and bool(items)
            if several and all(isinstance(item, dict) and "runs" in item for item in items):
                found[name] = tuple(
                    self.some_runs((*path, i), layers[name]) for i in range(len(items))
                )
            else:
                found[name] = ((self.alone(path, layers[name]), None),)
        return found

    def alone(self, path: KeyPath, layer: Layer) -> Mapping:
        """Read the mapping of a layer by itself."""
        items = at(self.document, path)
        if not isinstance(items, list):
            message = f"expected a list of nodes, found {describe(items)}"
            raise self.document.error(message, path)
        nodes = (
            read_node(self.document, (*path, i), layer, self.architecture)
            for i in range(len(items))
        )
        return Mapping(tuple(nodes))

    def some_runs(self, path: KeyPath, layer: Layer) -> tuple[Mapping, int]:
        """Read a mapping that some runs of a layer take."""
        item = at(self.document, path)
        self.check_keys(item, RUN_KEYS, path)
        if "mapping" not in item:
            raise self.document.error("expected a mapping beside 'runs'", path)
        runs = self.runs(path, layer.repeat, f"layer '{layer.name}'")
        return self.alone((*path, "mapping"), layer), runs

    def runs(self, path: KeyPath, most: int, of: str) -> int:
        """Read how many runs take a mapping."""
        runs = at(self.document, path)["runs"]
        if not isinstance(runs, int) or isinstance(runs, bool) or not 1 <= runs <= most:
            message = f"expected a number of runs from 1 to {most}, which {of} has, found "
            raise self.document.error(message + describe(runs), (*path, "runs"))
        return runs

    def segment(self, path: KeyPath) -> tuple[Segment, FusedMapping]:
        """Read one segment and how it runs."""
        data = at(self.document, path)
        halos: Any = {}
        counted = None
        if isinstance(data, dict):
            self.check_keys(data, SEGMENT_KEYS, path)
            halos = data.get("halos", {})
            counted = path if "runs" in data else None
            path, data = (*path, "mapping"), data.get("mapping")
        if not isinstance(data, list):
            raise self.document.error(f"expected a list of nodes, found {describe(data)}", path)
        places: dict[str, KeyPath] = {}
        for name, place in self.layer_names(path):
            if name in places:
                raise self.document.error(f"layer '{name}' runs in two branches", place)
            places[name] = place
        try:
            found = segment(self.network, places)
        except InputError as failure:
            named = (place for name, place in places.items() if f"'{name}'" in failure.message)
            raise self.document.error(failure.message, next(named, path)) from None
        if counted is not None:
            found = replace(found, repeat=self.runs(counted, found.repeat, "the segment"))
        nodes = self.nodes(path, found)
        return found, FusedMapping(nodes, self.halos(halos, (*path[:-1], "halos"), found))

    def layer_names(self, path: KeyPath) -> Iterator[tuple[str, KeyPath]]:
        """Yield the layers of all branches below a list of nodes, and where they stand."""
        items = at(self.document, path)
        if not isinstance(items, list):
            raise self.document.error(f"expected a list of nodes, found {describe(items)}", path)
        last = items[-1] if items else None
        here = (*path, len(items) - 1) if items else path
        key = together(last)
        if key is None or not isinstance(last, dict):
            raise self.document.error(
                "expected 'fuse' or 'pipeline' with a list of branches as last node", here
            )
        self.check_keys(last, (key,), here)
        branches = last[key]
        if not isinstance(branches, list) or not branches:
            found = "an empty list" if branches == [] else describe(branches)
            message = f"expected a list of branches, found {found}"
            raise self.document.error(message, (*here, key))
        for i, item in enumerate(branches):
            branch = (*here, key, i)
            if isinstance(item, list):
                yield from self.layer_names(branch)
                continue
            if not isinstance(item, dict) or not isinstance(item.get("layer"), str):
                raise self.document.error(
                    "expected a branch: {layer: NAME, nodes: [...]}, or a list of nodes that ends "
                    f"in 'fuse', found {describe(item)}",
                    branch,
                )
            self.check_keys(item, BRANCH_KEYS, branch)
            yield item["layer"], (*branch, "layer")

    def nodes(self, path: KeyPath, found: Segment) -> tuple[TreeNode, ...]:
        """Read shared nodes and the fuse node at their end."""
        items = at(self.document, path)
        nodes: list[TreeNode] = [self.shared((*path, i), found) for i in range(len(items) - 1)]
        key = together(items[-1])
        assert key is not None
        here = (*path, len(items) - 1, key)
        branches = []
        for i, item in enumerate(items[-1][key]):
            if isinstance(item, list):
                branches.append(Branch(None, self.nodes((*here, i), found)))
                continue
            layer = found.layer_of[item["layer"]]
            own = self.own_nodes((*here, i), layer)
            branches.append(Branch(layer.name, own, self.turns((*here, i), layer)))
        return (*nodes, Fuse(tuple(branches), pipelined=key == "pipeline"))

    def own_nodes(self, path: KeyPath, layer: Layer) -> tuple[Node, ...]:
        """Read the nodes of a layer, under the key ``nodes`` at a path."""
        own = at(self.document, path).get("nodes", [])
        path = (*path, "nodes")
        if not isinstance(own, list):
            raise self.document.error(f"expected a list of nodes, found {describe(own)}", path)
        return tuple(
            read_node(self.document, (*path, n), layer, self.architecture) for n in range(len(own))
        )

    def turns(self, path: KeyPath, layer: Layer) -> tuple[Turn, ...]:
        """Read the nodes of turns of certain extents."""
        items = at(self.document, path).get("turns", [])
        path = (*path, "turns")
        if not isinstance(items, list):
            raise self.document.error(f"expected a list of turns, found {describe(items)}", path)
        found = []
        for i, item in enumerate(items):
            bounds = item.get("bounds") if isinstance(item, dict) else None
            if not isinstance(bounds, dict) or not bounds:
                expected = "expected a turn: {bounds: {DIMENSION: EXTENT}, nodes: [...]}"
                raise self.document.error(f"{expected}, found {describe(item)}", (*path, i))
            self.check_keys(item, TURN_KEYS, (*path, i))
            for d, n in bounds.items():
                place = (*path, i, "bounds", d)
                if d not in layer.bounds:
                    message = unknown("dimension", str(d), list(layer.bounds), layer.name)
                    raise self.document.error(message, place)
                if not isinstance(n, int) or isinstance(n, bool):
                    raise self.document.error(f"expected a number, found {describe(n)}", place)
            own = self.own_nodes((*path, i), layer)
            found.append(Turn(tuple((str(d), int(n)) for d, n in bounds.items()), own))
        return tuple(found)

    def shared(self, path: KeyPath, found: Segment) -> Store | For:
        """Read one shared node."""
        item = at(self.document, path)
        keys = list(item) if isinstance(item, dict) else []
        if "spatial" in keys:
            raise self.document.error(
                "the layers of a segment do not share spatial loops: they stand in the branches",
                (*path, "spatial"),
            )
        if key := together(item):
            raise self.document.error(f"'{key}' is the last node of its list", (*path, key))
        if ("store" in keys) == ("for" in keys):
            listed = ", ".join(f"'{key}'" for key in keys) or describe(item)
            message = "expected a node with one of the keys 'store', 'for', 'fuse'"
            raise self.document.error(f"{message}, found {listed}", path)
        key = "store" if "store" in keys else "for"
        try:
            if key == "store":
                store = self.document.validate(StoreNode, path)
                memory = find_memory(store.store, self.architecture)
                return Store(memory.name, find_tensors(store.tensors, found))
            loop = self.document.validate(ForNode, path)
            return For(find_dimension(loop.dimension, found), loop.tile)
        except InputError as failure:
            if failure.line is not None:
                raise
            raise self.document.error(failure.message, (*path, failure.key or key)) from None

    def halos(self, data: Any, path: KeyPath, found: Segment) -> tuple[Halo, ...]:
        """Read what becomes of the words that neighbouring tiles share."""
        if not isinstance(data, dict) or not all(isinstance(x, dict) for x in data.values()):
            message = "expected tensors with a mode per dimension, such as {H: {P: recompute}}"
            raise self.document.error(f"{message}, found {describe(data)}", path)
        halos = []
        for tensor, modes in data.items():
            for dimension, mode in modes.items():
                try:
                    halos.append(find_halo(tensor, dimension, mode, found))
                except InputError as failure:
                    here = (*path, tensor, *([dimension] if failure.key else []))
                    raise self.document.error(failure.message, here) from None
        return tuple(halos)

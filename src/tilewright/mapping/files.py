"""Mappings in files: lists of nodes in YAML or JSON, for one layer or for several."""

from __future__ import annotations

from collections.abc import Iterable
from collections.abc import Mapping as Dict
from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import Field

from tilewright.architecture.machine import Architecture
from tilewright.document import Document, KeyPath, Strict, describe, key_text, load
from tilewright.errors import InputError, MappingError, nearest
from tilewright.mapping.names import (
    find_array,
    find_axis,
    find_dimension,
    find_memory,
    find_tensors,
    storable,
)
from tilewright.mapping.nodes import For, Mapping, Node, Spatial, Store
from tilewright.mapping.validity import check as check_validity
from tilewright.workload.layer import Layer

if TYPE_CHECKING:
    from ruamel.yaml.comments import CommentedMap

Tile = Annotated[int, Field(ge=1)]
TOP_KEYS = ("mapping", "mappings", "layer", "architecture", "workload")


class StoreNode(Strict):
    """``{store: GLB, tensors: [I, O]}``."""

    store: str
    tensors: list[str] | None = None

    def resolve(self, layer: Layer, architecture: Architecture) -> Node:
        """Return the node, its names resolved."""
        memory = find_memory(self.store, architecture)
        if self.tensors is None:
            return Store(memory.name, storable(memory, layer))
        return Store(memory.name, find_tensors(self.tensors, layer))


class ForNode(Strict):
    """``{for: C, tile: 16}``."""

    dimension: str = Field(alias="for")
    tile: Tile

    def resolve(self, layer: Layer, architecture: Architecture) -> Node:
        """Return the node, its names resolved."""
        return For(find_dimension(self.dimension, layer, "for"), self.tile)


class SpatialNode(Strict):
    """``{spatial: K, tile: 4, axis: X, array: PE}``."""

    spatial: str
    tile: Tile
    axis: str | None = None
    array: str | None = None

    def resolve(self, layer: Layer, architecture: Architecture) -> Node:
        """Return the node, its names resolved."""
        dimension = find_dimension(self.spatial, layer, "spatial")
        array = find_array(self.array, architecture)
        return Spatial(dimension, self.tile, find_axis(self.axis, array), array.name)


KINDS: dict[str, type[StoreNode] | type[ForNode] | type[SpatialNode]] = {
    "store": StoreNode,
    "for": ForNode,
    "spatial": SpatialNode,
}


def load_mapping(
    path: str | Path,
    layer: Layer,
    architecture: Architecture,
    layer_name: str | None = None,
    *,
    check: bool = True,
) -> Mapping:
    """Read the mapping of a layer from a file.

    Parameters
    ----------
    path : str or Path
        YAML or JSON: a list of nodes, ``mapping:`` with such a list, or ``mappings:`` with one for
        each of several layers.
    layer : Layer
        What is computed.
    architecture : Architecture
        What computes it.
    layer_name : str, optional
        Which one to take under ``mappings:``; by default the name of the layer.
    check : bool
        Whether the mapping must also be valid on the machine.

    Returns
    -------
    Mapping

    Raises
    ------
    InputError
        When the file cannot be read, has no such mapping, or the mapping is malformed; a
        MappingError when it is not valid.
    """
    return parse_mapping(load(path), layer, architecture, layer_name, check=check)


def parse_mapping(
    document: Document | list[Any] | dict[str, Any],
    layer: Layer,
    architecture: Architecture,
    layer_name: str | None = None,
    *,
    check: bool = True,
) -> Mapping:
    """Read the mapping of a layer from a document, or from the same as plain data.

    Parameters, result and errors are otherwise those of `load_mapping`.
    """
    if not isinstance(document, Document):
        document = Document(document, "mapping")
    path = find_nodes(document, layer_name or layer.name)
    items = at(document, path)
    if not isinstance(items, list):
        raise document.error(f"expected a list of nodes, found {describe(items)}", path)
    paths = [(*path, i) for i in range(len(items))]
    mapping = Mapping(tuple(read_node(document, p, layer, architecture) for p in paths))
    if check:
        try:
            check_validity(mapping, layer, architecture)
        except MappingError as fault:
            keys = {f"mapping[{i}]": place for i, place in enumerate(paths)}
            place = keys.get(fault.key or "", path)
            line, key = document.line(place), key_text(place) or None
            raise MappingError(fault.message, source=document.source, line=line, key=key) from None
    return mapping


def at(document: Document, path: KeyPath) -> Any:
    """Return the part of a document's data at a path."""
    data = document.data
    for key in path:
        data = data[key]
    return data


def find_nodes(document: Document, layer_name: str) -> KeyPath:
    """Return where in a document the nodes for a layer stand."""
    data = document.data
    if isinstance(data, list):
        return ()
    if not isinstance(data, dict):
        raise document.error(f"expected a list of nodes or 'mapping:', found {describe(data)}")
    for key in data:
        if key not in TOP_KEYS:
            accepted = f"accepted: {', '.join(TOP_KEYS)}{nearest(key, TOP_KEYS)}"
            raise document.error(f"unknown key '{key}'; {accepted}", (key,))
    if ("mapping" in data) == ("mappings" in data):
        raise document.error("expected 'mapping' (a list of nodes) or 'mappings' (one per layer)")
    if "mapping" in data:
        return ("mapping",)
    layers = data["mappings"]
    if not isinstance(layers, dict):
        message = f"expected layer names with a list of nodes each, found {describe(layers)}"
        raise document.error(message, ("mappings",))
    if layer_name not in layers:
        listed = ", ".join(layers) or "none"
        message = f"no mapping for layer '{layer_name}'; there are: {listed}"
        raise document.error(message + nearest(layer_name, layers), ("mappings",))
    return ("mappings", layer_name)


def read_node(document: Document, path: KeyPath, layer: Layer, architecture: Architecture) -> Node:
    """Read one node and resolve its names."""
    item = at(document, path)
    keys = list(item) if isinstance(item, dict) else []
    kinds = [kind for kind in KINDS if kind in keys]
    if len(kinds) != 1:
        found = ", ".join(f"'{key}'" for key in keys) or describe(item)
        guess = next((n for n in (nearest(key, KINDS) for key in keys) if n and not kinds), "")
        expected = "expected a node with one of the keys 'store', 'for', 'spatial'"
        raise document.error(f"{expected}, found {found}{guess}", path)
    node = document.validate(KINDS[kinds[0]], path)
    try:
        return node.resolve(layer, architecture)
    except InputError as failure:
        raise document.error(failure.message, (*path, failure.key or kinds[0])) from None


def mapping_data(mapping: Mapping, layer: Layer) -> list[dict[str, Any]]:
    """Return a mapping as the plain data of a ``mapping:`` list."""
    everything = {tensor.name for tensor in layer.tensors}
    data: list[dict[str, Any]] = []
    for node in mapping.nodes:
        if isinstance(node, For):
            data.append({"for": node.dimension, "tile": node.tile})
        elif isinstance(node, Spatial):
            data.append(
                {
                    "spatial": node.dimension,
                    "tile": node.tile,
                    "axis": node.axis,
                    "array": node.array,
                }
            )
        elif set(node.tensors) == everything:
            data.append({"store": node.memory})
        else:
            data.append({"store": node.memory, "tensors": list(node.tensors)})
    return data


def dump_mapping(mapping: Mapping, layer: Layer) -> str:
    """Return a mapping as the text of a mapping file."""
    return yaml_text({"mapping": one_per_line(mapping_data(mapping, layer))})


def dump_mappings(
    mappings: Iterable[tuple[Layer, Mapping]], architecture: str, workload: str
) -> str:
    """Return the mappings of several layers as the text of one file.

    Parameters
    ----------
    mappings : iterable of (Layer, Mapping)
        Layers with names of their own.
    architecture, workload : str
        Names of the machine and the network, written for people: they are not read back.
    """
    nodes = {layer.name: one_per_line(mapping_data(mapping, layer)) for layer, mapping in mappings}
    return yaml_text({"architecture": architecture, "workload": workload, "mappings": nodes})


def one_per_line(data: Iterable[Dict[str, Any]]) -> list[CommentedMap]:
    """Return nodes that YAML writes on one line each."""
    from ruamel.yaml.comments import CommentedMap

    nodes = []
    for item in data:
        node = CommentedMap(item)
        node.fa.set_flow_style()
        nodes.append(node)
    return nodes


def yaml_text(data: dict[str, Any]) -> str:
    """Return data as YAML."""
    from ruamel.yaml import YAML

    yaml = YAML()
    yaml.width = 1 << 16
    yaml.indent(mapping=2, sequence=4, offset=2)
    text = StringIO()
    yaml.dump(data, text)
    return text.getvalue()

"""Networks by name or from files, and networks written as files."""

from __future__ import annotations

from inspect import Parameter, signature
from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import Field

from tilewright.document import Document, KeyPath, Strict, describe, load_named, shipped
from tilewright.errors import InputError, nearest
from tilewright.workload.einsum import build_layer
from tilewright.workload.graphs.graph_files import graph_data, read_graph
from tilewright.workload.layer import Layer, Network
from tilewright.workload.operators import OPERATORS, LayerKeys
from tilewright.workload.variants import with_variants

if TYPE_CHECKING:
    from ruamel.yaml.comments import CommentedMap

ZOO = Path(__file__).parent / "zoo"
KINDS = {
    "layers": "a list",
    "einsum": "an expression, with 'bounds'",
    "op": "an operator, with its sizes",
}
LAYER_KINDS = ("einsum", "op")
NO_SIZES = ("op", "source", "tensors")


class NetworkFile(Strict):
    """A file with several layers."""

    name: Annotated[str, Field(min_length=1)]
    layers: list[Any]
    source: str = ""
    inputs: dict[str, Any] = Field(default_factory=dict)
    weights: dict[str, Any] = Field(default_factory=dict)
    state: dict[str, Any] = Field(default_factory=dict)
    graph: list[Any] = Field(default_factory=list)
    outputs: list[str] = Field(default_factory=list)


class EinsumLayer(Strict):
    """A layer that gives its einsum. Its values are checked where the layer is built."""

    einsum: Any
    bounds: dict[str, Any]
    name: str | None = None
    bits: Any = None
    density: Any = None
    layout: Any = None
    repeat: Any = 1
    operation: Any = "mac"
    source: str = ""
    tensors: Any = None


def zoo_names() -> list[str]:
    """Return the names of the networks that ship, sorted."""
    return shipped(ZOO)


def load_network(name_or_path: str | Path) -> Network:
    """Return a network that ships, or the one in a file.

    Parameters
    ----------
    name_or_path : str or Path
        Name of a network, such as ``"resnet50"``, or path of a YAML or JSON file. A file that
        holds one layer alone is a network of one layer.

    Raises
    ------
    InputError
        When there is no such network or file, or it is malformed.
    """
    return parse_network(load_named(name_or_path, ZOO, "workload"))


def parse_network(document: Document) -> Network:
    """Return the network that a document describes.

    Raises
    ------
    InputError
        For the first thing that is wrong, with its line and key.
    """
    data = document.data
    if isinstance(data, dict) and "variants" in data:
        return with_variants(document, parse_network)
    if isinstance(data, dict) and "layers" not in data:
        if "tensors" in data:
            message = "connects layers of a network; here is one layer alone"
            raise document.error(message, ("tensors",))
        _check_kind(document, (), data, ("layers", *LAYER_KINDS))
        layer = _layer(document, (), Path(document.source).stem)
        return Network(layer.name, (layer,), _source(document))
    keys = document.validate(NetworkFile)
    if not keys.layers:
        raise document.error("a network needs at least one layer", ("layers",))
    layers: dict[str, Layer] = {}
    for i in range(len(keys.layers)):
        layer = _layer(document, ("layers", i), f"layer{i + 1}")
        if layer.name in layers:
            first = document.line(("layers", list(layers).index(layer.name)))
            raise document.error(
                f"layer '{layer.name}' occurs twice (first on line {first}); "
                "write 'repeat' for equal layers",
                ("layers", i, "name"),
            )
        layers[layer.name] = layer
    graph = read_graph(document, layers)
    return Network(keys.name, tuple(layers.values()), keys.source, graph)


def select(network: Network, layer_name: str) -> Layer:
    """Return the layer of a network that has this name.

    Raises
    ------
    InputError
        When there is none, with the nearest name that there is.
    """
    names = [layer.name for layer in network.layers]
    if layer_name in names:
        return network.layers[names.index(layer_name)]
    shown = ", ".join(names[:20]) + (", ..." if len(names) > 20 else "")
    raise InputError(
        f"no layer '{layer_name}' in network '{network.name}'; it has {shown}"
        f"{nearest(layer_name, names)}"
    )


def dump_network(network: Network) -> str:
    """Return a network as the text of a network file; reading it gives an equal network."""
    from ruamel.yaml import YAML

    yaml = YAML()
    yaml.default_flow_style = None
    yaml.width = 100
    data: dict[str, Any] = {"name": network.name}
    if network.source:
        data["source"] = network.source
    if network.variants:
        data["variants"] = {own.name: _network_data(own) for own in network.variants}
    else:
        data |= _network_data(network)
    text = StringIO()
    yaml.dump(data, text)
    return text.getvalue()


def _network_data(network: Network) -> dict[str, Any]:
    data: dict[str, Any] = {"layers": [_layer_data(layer) for layer in network.layers]}
    if network.graph is not None:
        data |= graph_data(network.graph, {layer.name: layer for layer in network.layers})
    return data


def _layer(document: Document, path: KeyPath, name: str) -> Layer:
    data = document.data
    for key in path:
        data = data[key]
    if not isinstance(data, dict):
        raise document.error(f"expected the keys of a layer, found {describe(data)}", path)
    kind = _check_kind(document, path, data, LAYER_KINDS)
    try:
        if kind == "einsum":
            keys = document.validate(EinsumLayer, path).model_dump(exclude={"source", "tensors"})
            keys["name"] = name if keys["name"] is None else keys["name"]
            return build_layer(keys.pop("einsum"), keys.pop("bounds"), **keys)
        return _operator_layer(document, path, data, name)
    except InputError as failure:
        if failure.source is not None:
            raise
        raise document.error(failure.message, _place(document, path, failure.key)) from None


def _source(document: Document) -> str:
    source = document.data.get("source", "")
    if not isinstance(source, str):
        raise document.error(f"expected text, found {describe(source)}", ("source",))
    return source


def _check_kind(
    document: Document, path: KeyPath, data: dict[str, Any], accepted: tuple[str, ...]
) -> str:
    """Return the one key that says what a mapping of keys describes."""
    given = [kind for kind in accepted if kind in data]
    if len(given) == 1:
        return given[0]
    if given:
        raise document.error(f"give either '{given[0]}' or '{given[1]}', not both", path)
    if not path and "levels" in data:
        raise document.error(
            "describes a machine, not a workload; commands take the workload first, then the "
            "machine",
            ("levels",),
        )
    guess = next((hint for key in data if (hint := nearest(key, accepted))), "")
    shown = ", ".join(f"'{kind}' ({KINDS[kind]})" for kind in accepted)
    raise document.error(f"needs one of the keys {shown}{guess}", path)


def _operator_layer(document: Document, path: KeyPath, data: dict[str, Any], name: str) -> Layer:
    op = data["op"]
    if not isinstance(op, str) or op not in OPERATORS:
        raise document.error(
            f"no operator {describe(op)}; accepted: {', '.join(OPERATORS)}"
            f"{nearest(str(op), OPERATORS)}",
            (*path, "op"),
        )
    sizes = {
        key: parameter
        for key, parameter in signature(OPERATORS[op]).parameters.items()
        if parameter.kind is Parameter.KEYWORD_ONLY
    }
    accepted = [*sizes, *LayerKeys.__annotations__]
    values = {key: value for key, value in data.items() if key not in NO_SIZES}
    for key in values:
        if key not in accepted:
            raise document.error(
                f"unknown key '{key}'; {op} accepts {', '.join(accepted)}{nearest(key, accepted)}",
                (*path, key),
            )
    missing = [key for key, p in sizes.items() if p.default is p.empty and key not in values]
    if missing:
        raise document.error(
            f"{op} needs the key{'s'[: len(missing) - 1]} {', '.join(missing)}", path
        )
    return OPERATORS[op](**{"name": name} | values)


def _place(document: Document, path: KeyPath, key: str | None) -> KeyPath:
    """Return the path of a key that the building of a layer complained about."""
    parts = tuple(key.split(".")) if key else ()
    for place in ((*path, "bounds", *parts), (*path, *parts)):
        if place in document.lines:
            return place
    return path


def _layer_data(layer: Layer) -> CommentedMap:
    from ruamel.yaml.comments import CommentedMap

    data = CommentedMap(name=layer.name, einsum=layer.einsum)
    data["bounds"] = CommentedMap(layer.bounds)
    bits = {t.name: t.bits for t in layer.tensors if t.bits is not None}
    density = {t.name: t.density for t in layer.tensors if t.density != 1.0}
    layout = {t.name: t.layout for t in layer.tensors if t.layout is not None}
    for key, values in (("bits", bits), ("density", density), ("layout", layout)):
        if values:
            data[key] = CommentedMap(values)
    if layer.operation != "mac":
        data["operation"] = layer.operation
    if layer.repeat != 1:
        data["repeat"] = layer.repeat
    for value in data.values():
        if isinstance(value, CommentedMap):
            value.fa.set_flow_style()
    return data

"""Files of Keras 3, ``.keras``: a zip whose ``config.json`` has the layers; weights are not read.

What a layer reads stands in its ``inbound_nodes``, with the shapes of these tensors.
"""

from __future__ import annotations

import json
import zipfile
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from math import prod
from pathlib import Path
from typing import Any, TypeAlias

from tilewright.document import describe
from tilewright.errors import InputError
from tilewright.frontends.builder import Builder
from tilewright.frontends.values import Value
from tilewright.workload.layer import Network
from tilewright.workload.view import MAX_WORDS, Shape, View

MAX_JSON = 64 * 1024 * 1024
MAX_DEPTH = 20
MODELS = ("Sequential", "Functional", "Model")
Tensor: TypeAlias = "tuple[str, int, int]"
Operator: TypeAlias = "Callable[[Use], Value]"


@dataclass(frozen=True)
class Use:
    """One use of a layer.

    Attributes
    ----------
    model : Importer
        What reads the file.
    name, kind : str
        Of the layer, and its class.
    config : mapping
        Its configuration.
    inputs : list of Value
        What it reads, in order.
    named : mapping of str to Value
        What it reads by name.
    alone : bool
        Whether nobody else reads the first input.
    """

    model: Importer
    name: str
    kind: str
    config: Mapping[str, Any]
    inputs: list[Value]
    named: Mapping[str, Value] = field(default_factory=dict)
    alone: bool = True

    @property
    def builder(self) -> Builder:
        """Where layers are added."""
        return self.model.builder

    @property
    def x(self) -> Value:
        """The first input."""
        if not self.inputs:
            raise InputError("reads nothing")
        return self.inputs[0]

    def size(self, key: str, default: int | None = None) -> int:
        """Return a whole number of at least 1."""
        value = self.config.get(key, default)
        value = default if value is None else value
        if type(value) is not int or not 0 < value < 2**31:
            raise InputError(f"'{key}' is {describe(value)}, not a whole number of at least 1")
        return value

    def sizes(self, key: str, rank: int, default: int = 1) -> list[int]:
        """Return a whole number per axis; one alone is for all."""
        value = self.config.get(key)
        given = value if isinstance(value, list) else [default if value is None else value]
        given = given * rank if len(given) == 1 else given
        if len(given) != rank or any(type(n) is not int or not 0 < n < 2**31 for n in given):
            raise InputError(f"'{key}' is {describe(value)}, not {rank} whole numbers")
        return given

    def weight(self, name: str, *shape: int) -> Value:
        """Return parameters of the layer, the same for all its uses."""
        key = self.name, name
        if key not in self.model.weights:
            self.model.weights[key] = self.builder.weight(f"{self.name}.{name}", shape)
        return self.model.weights[key]


def load_keras(
    path: str | Path,
    *,
    bind: Mapping[str, int] | None = None,
    only: Sequence[str] | None = None,
) -> Network:
    """Return the network in a ``.keras`` file; Keras is not needed.

    Parameters
    ----------
    path : str or Path
        The file: a Sequential or Functional model, with others inside as layers.
    bind : mapping of str to int, optional
        Sizes of axes without one: ``batch`` (1 by default), or the input and the axis, such as
        ``image.1``.
    only : sequence of str, optional
        Kinds of operations that become layers; the others are left out, on record.

    Raises
    ------
    InputError
        When the file cannot be read, or is malformed.
    """
    name = Path(path)
    builder = Builder(name.stem, f"Keras file {name.name}", only)
    model = read_json(str(path))
    try:
        return Importer(builder, dict(bind or {})).network(model)
    except InputError as failure:
        raise InputError(failure.message, source=str(path), key=failure.key) from None
    except (KeyError, TypeError, AttributeError, IndexError, ValueError, RecursionError) as failure:
        raise InputError(
            f"its model is malformed: {type(failure).__name__}: {str(failure)[:200]}",
            source=str(path),
        ) from None


def read_json(source: str) -> dict[str, Any]:
    """Return the model in a file as plain data."""
    try:
        with zipfile.ZipFile(source) as archive:
            entry = archive.getinfo("config.json")
            if entry.file_size > MAX_JSON:
                raise InputError(
                    f"its model has {entry.file_size} bytes; at most {MAX_JSON} are read",
                    source=source,
                )
            data = json.loads(archive.read(entry))
    except InputError:
        raise
    except OSError as failure:
        raise InputError(f"cannot be read: {failure.strerror}", source=source) from None
    except KeyError:
        raise InputError("is no file of Keras 3: it has no config.json", source=source) from None
    except Exception as failure:
        # zipfile, zlib and json have errors of their own for damaged data
        raise InputError(f"is no file of Keras 3: {failure}", source=source) from None
    if not isinstance(data, dict) or data.get("class_name") not in MODELS:
        kind = data.get("class_name") if isinstance(data, dict) else data
        raise InputError(
            f"expected a Sequential or Functional model, found {describe(kind)}", source=source
        )
    return data


class Importer:
    """Turns the layers of a model into layers, views and records.

    Parameters
    ----------
    builder : Builder
        Collects the network.
    bind : dict of str to int
        Sizes of axes without one.
    """

    def __init__(self, builder: Builder, bind: dict[str, int]) -> None:
        self.builder = builder
        self.bind = bind
        self.bound = {"batch"}
        self.weights: dict[tuple[str, str], Value] = {}
        # results of convolutions and products without an activation: a normalisation is folded
        self.linear: set[View] = set()

    def network(self, model: dict[str, Any]) -> Network:
        """Read a model and return the network."""
        for value in self.model(model, None, "", 0):
            self.builder.output(value)
        for name in self.bind:
            if name not in self.bound:
                known = ", ".join(sorted(self.bound))
                raise InputError(f"no axis '{name}'; accepted: {known}", key="bind")
        return self.builder.network()

    def model(
        self, data: dict[str, Any], given: list[Value] | None, prefix: str, depth: int
    ) -> list[Value]:
        """Return what a model makes of what it is given, or of inputs from outside."""
        if depth > MAX_DEPTH:
            raise InputError("has models in models, too deep")
        config = data["config"]
        layers = config["layers"]
        if data["class_name"] == "Sequential":
            return self.sequence(config, layers, given, prefix, depth)
        return self.graph(config, layers, given, prefix, depth)

    def sequence(
        self,
        config: dict[str, Any],
        layers: list[dict[str, Any]],
        given: list[Value] | None,
        prefix: str,
        depth: int,
    ) -> list[Value]:
        """Apply one layer after the other."""
        values = given
        for layer in layers:
            if layer["class_name"] == "InputLayer":
                values = values or [self.input(layer["config"])]
                continue
            if values is None:
                values = [self.input({"name": "input", "batch_shape": config["build_input_shape"]})]
            values = self.apply(layer, values, {}, prefix, depth, True, None)
        return values or []

    def graph(
        self,
        config: dict[str, Any],
        layers: list[dict[str, Any]],
        given: list[Value] | None,
        prefix: str,
        depth: int,
    ) -> list[Value]:
        """Apply each node of each layer as soon as what it reads is there."""
        made: dict[Tensor, Value] = {}
        names = [tensor[0] for tensor in listed(config["input_layers"])]
        for name, value in zip(names, given or [], strict=False):
            made[name, 0, 0] = value
        waiting = []
        readers: Counter[Tensor] = Counter(map(tuple, listed(config["output_layers"])))
        shapes: dict[Tensor, Shape] = {}
        for layer in layers:
            name = layer.get("name", layer["config"].get("name"))
            if layer["class_name"] == "InputLayer":
                if (name, 0, 0) not in made:
                    made[name, 0, 0] = self.input(layer["config"])
                continue
            for i, node in enumerate(layer["inbound_nodes"]):
                found = list(references(node))
                refs = [tensor for tensor, _ in found]
                readers.update(refs)
                shapes |= dict(found)
                waiting.append((name, i, layer, node, refs))
        while waiting:
            ready = [use for use in waiting if all(tensor in made for tensor in use[4])]
            if not ready:
                raise InputError(f"layer '{waiting[0][0]}' reads what no layer makes")
            waiting = [use for use in waiting if use not in ready]
            for name, i, layer, node, refs in ready:
                args = node.get("args", []) if isinstance(node, dict) else node
                named = node.get("kwargs", {}) if isinstance(node, dict) else {}
                inputs = [made[tensor] for tensor, _ in references(args)]
                by_name = {
                    key: made[tensor]
                    for key, value in named.items()
                    for tensor, _ in references(value)
                }
                alone = bool(refs) and readers[refs[0]] == 1
                expected = shapes.get((name, i, 0))
                results = self.apply(layer, inputs, by_name, prefix, depth, alone, expected)
                made |= {(name, i, j): value for j, value in enumerate(results)}
        return [made[tensor[0], tensor[1], tensor[2]] for tensor in listed(config["output_layers"])]

    def apply(
        self,
        layer: dict[str, Any],
        inputs: list[Value],
        named: Mapping[str, Value],
        prefix: str,
        depth: int,
        alone: bool,
        expected: Shape | None,
    ) -> list[Value]:
        """Return what a layer makes."""
        from tilewright.frontends.keras.layers import OPERATORS

        kind, config = layer["class_name"], layer["config"]
        name = prefix + str(config["name"])
        if kind in MODELS:
            return self.model(layer, inputs, f"{name}.", depth + 1)
        use = Use(
            model=self, name=name, kind=kind, config=config, inputs=inputs, named=named, alone=alone
        )
        operator = OPERATORS.get(kind)
        if operator is None:
            shape = self.sized(expected, name) if expected else use.x.shape
            return self.builder.unknown(name, kind, [*inputs, *named.values()], [shape])
        try:
            return [operator(use)]
        except InputError as failure:
            raise InputError(f"layer '{name}' ({kind}): {failure.message}") from None

    def input(self, config: dict[str, Any]) -> Value:
        """Add an input from outside."""
        name = str(config["name"])
        given = config.get("batch_shape", config.get("batch_input_shape"))
        return self.builder.input(name, self.sized(given, name))

    def sized(self, given: Any, name: str) -> Shape:
        """Return a shape whose open axes have the sizes that are bound."""
        if not isinstance(given, list | tuple) or not given:
            raise InputError(f"expected the shape of '{name}', found {describe(given)}")
        shape = []
        for axis, known in enumerate(given):
            key = "batch" if axis == 0 else f"{name}.{axis}"
            size = known
            if known is None:
                self.bound.add(key)
                size = self.bind.get(key, 1 if axis == 0 else None)
            if size is None:
                raise InputError(
                    f"axis {axis} of '{name}' has no size: --bind {key}=64 gives it one "
                    f"(bind={{'{key}': 64}})"
                )
            if type(size) is not int or not 0 < size < 2**31:
                raise InputError(f"'{name}' has the shape {describe(list(given))}")
            shape.append(size)
        if prod(shape) > MAX_WORDS:
            raise InputError(f"'{name}' has the shape {describe(list(given))}")
        return tuple(shape)


def listed(given: Any) -> list[Any]:
    """Return tensors of a model as a list: one alone stands without."""
    if isinstance(given, dict):
        return [item for value in given.values() for item in listed(value)]
    return [given] if given and isinstance(given[0], str) else list(given)


def references(data: Any) -> Iterator[tuple[Tensor, Shape]]:
    """Yield the tensors that arguments name, with their shapes."""
    if isinstance(data, dict):
        if data.get("class_name") == "__keras_tensor__":
            layer, node, tensor = data["config"]["keras_history"]
            yield (str(layer), int(node), int(tensor)), tuple(data["config"]["shape"])
        else:
            for value in data.values():
                yield from references(value)
    elif isinstance(data, list):
        for value in data:
            yield from references(value)

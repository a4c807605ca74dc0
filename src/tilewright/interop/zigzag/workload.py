"""ZigZag's workloads as networks.

A workload is a list of layers, each with an equation over lower-case indices, relations between
them, and the sizes of its loops (`zigzag/parser/workload_validator.py`, version 3).
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from tilewright.document import Document, KeyPath, describe
from tilewright.errors import InputError, nearest
from tilewright.interop.chains import connected
from tilewright.interop.zigzag.names import dimension
from tilewright.workload.einsum import build_layer
from tilewright.workload.layer import Layer, Network

ACCESS = r"(\w+)((?:\[\w*\])+)"
EQUATION = re.compile(rf"{ACCESS}\+?={ACCESS}[*+]{ACCESS}")
RELATION = re.compile(r"(\w+)=(?:(\d+)\*)?(\w+)\+(?:(\d+)\*)?(\w+)")
OPERATIONS = {
    "Add": "add", "Max": "max", "Pooling": "max", "Pool": "max", "MaxPool": "max",
    "AveragePool": "add", "GlobalAveragePool": "add",
}  # fmt: skip
KEYS = {
    "id", "name", "operator_type", "equation", "dimension_relations", "loop_dims", "loop_sizes",
    "operand_precision", "operand_source",
}  # fmt: skip
# sizes of inputs and their padding follow from the loops
FOLLOWING = {"pr_loop_dims", "pr_loop_sizes", "padding", "time_dim"}


def is_workload(document: Document) -> bool:
    """Whether a file is a workload of ZigZag: a list of layers with equations."""
    data = document.data
    return isinstance(data, list) and any(isinstance(x, dict) and "equation" in x for x in data)


def read_workload(document: Document) -> Network:
    """Return the network of a workload.

    Raises
    ------
    InputError
        With the line of the first layer that cannot be read.
    """
    entries = [ZigzagLayer(document, i) for i in range(len(document.data))]
    numbers: dict[int, int] = {}
    names: set[str] = set()
    layers, sources = [], []
    for i, entry in enumerate(entries):
        number = entry.number()
        if number in numbers:
            raise entry.error(f"id {number} occurs twice", "id")
        layer = entry.layer(names)
        names.add(layer.name)
        sources.append(entry.sources(numbers, layer))
        numbers[number] = i
        layers.append(layer)
    name = Path(document.source).stem
    graph = connected(layers, sources)
    return Network(name, tuple(layers), f"ZigZag workload {document.source}", graph)


class ZigzagLayer:
    """A layer of a workload while it is read."""

    def __init__(self, document: Document, i: int) -> None:
        self.document = document
        self.path: KeyPath = (i,)
        self.data = document.data[i]
        if not isinstance(self.data, dict):
            raise document.error(f"expected the keys of a layer, found {describe(self.data)}", (i,))
        for key in self.data:
            if key not in KEYS and key not in FOLLOWING:
                raise self.error(f"unknown key '{key}'{nearest(key, KEYS)}", key)

    def error(self, message: str, key: str | None = None) -> InputError:
        """Return an error that points at the layer or one of its keys."""
        return self.document.error(message, self.path if key is None else (*self.path, key))

    def get(self, key: str, kind: type, default: Any = None) -> Any:
        """Return a value of a layer; one without a default has to be there."""
        value = self.data.get(key, default)
        if not isinstance(value, kind) or isinstance(value, bool):
            expected = {int: "a whole number", str: "text", list: "a list", dict: "keys"}[kind]
            raise self.error(f"expected {expected} under '{key}', found {describe(value)}",
                             key if key in self.data else None)  # fmt: skip
        return value

    def number(self) -> int:
        """Return what other layers call this one."""
        return int(self.get("id", int))

    def layer(self, taken: set[str]) -> Layer:
        """Return the layer under a name that is not taken."""
        sizes = self.sizes()
        equation = self.get("equation", str).replace(" ", "")
        match = EQUATION.fullmatch(equation)
        if match is None:
            raise self.error(
                "expected an equation such as O[b][k]+=W[k][c]*I[b][c], "
                f"found {describe(equation)}", "equation",
            )  # fmt: skip
        relations = self.relations()
        widths = self.get("operand_precision", dict, {})
        output, *inputs = [(match[i], match[i + 1]) for i in (1, 3, 5)]
        # a constant of no bits is no tensor: ZigZag writes the window of a pooling like that
        inputs = [pair for pair in inputs if widths.get(pair[0]) != 0] or inputs
        inputs.sort(key=lambda pair: pair[0] != "I")
        texts = [self.access(name, axes, relations, sizes) for name, axes in (*inputs, output)]
        kept = {name for name, _ in (*inputs, output)}
        bits = {name: width for name, width in widths.items() if name in kept}
        kind = self.get("operator_type", str)
        given = self.data.get("name")
        name = given if isinstance(given, str) and given.strip() else f"{kind}_{self.number()}"
        if name in taken:
            name = f"{name}_{self.number()}"
        try:
            return build_layer(
                f"{texts[-1]} += {' * '.join(texts[:-1])}", sizes, name=name, bits=bits or None,
                operation=OPERATIONS.get(kind, "mac"),
            )  # fmt: skip
        except InputError as failure:
            raise self.error(failure.message, "equation") from None

    def sizes(self) -> dict[str, int]:
        """Return the bounds of the loops under tilewright's names."""
        names, sizes = self.get("loop_dims", list), self.get("loop_sizes", list)
        if len(names) != len(sizes):
            raise self.error(f"{len(names)} loop_dims have {len(sizes)} loop_sizes", "loop_sizes")
        found: dict[str, int] = {}
        for name, size in zip(names, sizes, strict=True):
            if not isinstance(name, str) or not re.fullmatch(r"[A-Za-z]\w*", name):
                raise self.error(f"expected names of loops, found {describe(name)}", "loop_dims")
            found[dimension(name)] = size
        if len(found) < len(names):
            raise self.error("a loop occurs twice", "loop_dims")
        return found

    def relations(self) -> dict[str, str]:
        """Return the index expressions that relations give names."""
        found = {}
        for text in self.get("dimension_relations", list, []):
            match = RELATION.fullmatch(str(text).replace(" ", ""))
            if match is None:
                raise self.error(
                    f"expected a relation such as ix=2*ox+1*fx, found {describe(text)}",
                    "dimension_relations",
                )
            terms = [(int((match[i] or "1")[:12]), dimension(match[i + 1])) for i in (2, 4)]
            found[match[1].lower()] = "+".join(d if c == 1 else f"{c}*{d}" for c, d in terms)
        return found

    def access(self, name: str, axes: str, relations: dict[str, str], sizes: dict[str, int]) -> str:
        """Return a tensor and its index expressions as einsum text."""
        parts = []
        for index in re.findall(r"\[(\w*)\]", axes):
            if not index:
                continue
            part = relations.get(index.lower(), dimension(index))
            if index.lower() not in relations and part not in sizes:
                raise self.error(
                    f"index '{index}' of {name} is neither a loop nor related to loops"
                    f"{nearest(index, [*relations, *map(str.lower, sizes)])}", "equation",
                )  # fmt: skip
            parts.append(part)
        return f"{name}[{','.join(parts)}]"

    def sources(self, numbers: dict[int, int], layer: Layer) -> dict[str, int]:
        """Return which inputs are results of layers before; others are the layer's own."""
        found = {}
        tensors = {tensor.name for tensor in layer.inputs}
        for name, number in self.get("operand_source", dict, {}).items():
            if not isinstance(number, int) or isinstance(number, bool):
                raise self.error(f"expected the id of a layer, found {describe(number)}",
                                 "operand_source")  # fmt: skip
            if number != self.number() and name in tensors:
                if number not in numbers:
                    raise self.error(f"{name} comes from layer {number}, which is not before it",
                                     "operand_source")  # fmt: skip
                found[name] = numbers[number]
        return found

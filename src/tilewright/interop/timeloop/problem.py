"""Timeloop's problems as layers."""

from __future__ import annotations

import re
from typing import Any

from tilewright.document import Document, KeyPath, describe
from tilewright.errors import InputError, nearest
from tilewright.interop.timeloop.reading import entries, normal
from tilewright.interop.timeloop.report import Report
from tilewright.workload.einsum import build_layer
from tilewright.workload.layer import Layer, Network

NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
FIRST = ("input", "inputs")
KNOWN_SHAPES = ("cnn_layer", "cnn")
CNN: dict[str, Any] = {
    "name": "cnn_layer",
    "dimensions": ["R", "S", "P", "Q", "C", "K", "N"],
    "coefficients": [
        {"name": "Wstride", "default": 1},
        {"name": "Hstride", "default": 1},
        {"name": "Wdilation", "default": 1},
        {"name": "Hdilation", "default": 1},
    ],
    "data_spaces": [
        {"name": "Weights", "projection": [[["C"]], [["K"]], [["R"]], [["S"]]]},
        {
            "name": "Inputs",
            "projection": [
                [["N"]],
                [["C"]],
                [["R", "Wdilation"], ["P", "Wstride"]],
                [["S", "Hdilation"], ["Q", "Hstride"]],
            ],
        },
        {
            "name": "Outputs",
            "projection": [[["N"]], [["K"]], [["Q"]], [["P"]]],
            "read_write": True,
        },
    ],
}


def is_problem(document: Document) -> bool:
    """Whether a file has a problem of Timeloop."""
    return isinstance(document.data, dict) and isinstance(document.data.get("problem"), dict)


def read_problem(document: Document, report: Report) -> Network:
    """Return the layer of a problem, as a network of its own.

    Parameters
    ----------
    document : Document
        With the key ``problem``: shape and instance of version 0.4, or dimensions beside the shape.
    report : Report
        Takes what is left out.

    Raises
    ------
    InputError
        When the problem is malformed or is no layer with affine accesses.
    """
    layer = Problem(document, report).layer()
    return Network(layer.name, (layer,), "")


class Problem:
    """A problem while it is read."""

    def __init__(self, document: Document, report: Report) -> None:
        self.document = document
        self.report = report
        self.path: KeyPath = ("problem",)
        self.data = document.data["problem"]
        self.keys = entries(self.data)

    def layer(self) -> Layer:
        """Return the layer."""
        shape, place = self.shape()
        sizes, instance = self.sizes()
        dimensions = self.names(shape, "dimensions", place)
        coefficients = self.coefficients(shape, place, sizes)
        spaces = self.spaces(shape, place, coefficients)
        used = {name for text, *_ in spaces for name in NAME.findall(text.partition("[")[2])}
        bounds = self.bounds(dimensions, used, sizes, instance)
        self.rest(dimensions, coefficients, sizes, instance)
        outputs = [text for text, _, output in spaces if output]
        inputs = [(text, name) for text, name, output in spaces if not output]
        if len(outputs) != 1 or not inputs:
            raise self.document.error(
                f"expected inputs and one data space with 'read_write: true', found "
                f"{len(inputs)} and {len(outputs)}",
                (*place, "data_spaces"),
            )
        # weights come first in most problems; roles go by position where names do not say them
        inputs.sort(key=lambda pair: pair[1].lower() not in FIRST)
        expression = f"{outputs[0]} += {' * '.join(text for text, _ in inputs)}"
        try:
            return build_layer(
                expression, bounds, name=self.name(shape), density=self.densities(sizes, instance)
            )
        except InputError as failure:
            raise self.document.error(failure.message, place) from None

    def shape(self) -> tuple[dict[str, Any], KeyPath]:
        """Return the shape and where it stands."""
        if "shape" not in self.keys:
            raise self.document.error("missing key 'shape'", self.path)
        place = (*self.path, self.keys["shape"])
        shape = self.data[self.keys["shape"]]
        if isinstance(shape, str):
            if normal(shape).removesuffix(".yaml") not in KNOWN_SHAPES:
                raise self.document.error(
                    f"no shape '{shape}'; accepted: {', '.join(KNOWN_SHAPES)}, or its dimensions "
                    "and data spaces",
                    place,
                )
            return CNN, place
        if not isinstance(shape, dict):
            raise self.document.error(f"expected a shape, found {describe(shape)}", place)
        return {normal(key): value for key, value in shape.items()}, place

    def sizes(self) -> tuple[dict[str, Any], KeyPath]:
        """Return the sizes of the instance and where they stand."""
        if "instance" in self.keys:
            place = (*self.path, self.keys["instance"])
            given = self.data[self.keys["instance"]]
            if not isinstance(given, dict):
                raise self.document.error(f"expected sizes, found {describe(given)}", place)
            return given, place
        apart = ("shape", "version", "name")
        return {k: v for k, v in self.data.items() if normal(k) not in apart}, self.path

    def name(self, shape: dict[str, Any]) -> str:
        """Return the name of the problem or its shape."""
        given = self.data.get("name", shape.get("name"))
        return given if isinstance(given, str) and given.strip() else "layer"

    def names(self, shape: dict[str, Any], key: str, place: KeyPath) -> list[str]:
        """Return a list of names of the shape."""
        given = shape.get(key)
        if not isinstance(given, list) or not all(
            isinstance(name, str) and NAME.fullmatch(name) for name in given
        ):
            raise self.document.error(
                f"expected a list of names under '{key}', found {describe(given)}", (*place, key)
            )
        return list(given)

    def coefficients(
        self, shape: dict[str, Any], place: KeyPath, sizes: dict[str, Any]
    ) -> dict[str, int]:
        """Return the coefficients: of the instance, otherwise their defaults."""
        found = {}
        given = shape.get("coefficients") or []
        if not isinstance(given, list):
            raise self.document.error("expected a list", (*place, "coefficients"))
        for i, item in enumerate(given):
            path = (*place, "coefficients", i)
            if not isinstance(item, dict) or not isinstance(item.get("name"), str):
                raise self.document.error("expected {name: , default: }", path)
            name = item["name"]
            value = sizes.get(name, item.get("default"))
            if not isinstance(value, int) or isinstance(value, bool) or value < 1:
                raise self.document.error(
                    f"coefficient '{name}' must be a whole number of at least 1, "
                    f"found {describe(value)}",
                    path,
                )
            found[name] = value
        return found

    def spaces(
        self, shape: dict[str, Any], place: KeyPath, coefficients: dict[str, int]
    ) -> list[tuple[str, str, bool]]:
        """Return each data space as einsum text, with its name and whether it is written."""
        given = shape.get("data_spaces")
        if not isinstance(given, list):
            raise self.document.error(
                f"expected a list under 'data_spaces', found {describe(given)}", place
            )
        found = []
        for i, space in enumerate(given):
            path = (*place, "data_spaces", i)
            keys = {normal(k): v for k, v in space.items()} if isinstance(space, dict) else {}
            name, projection = keys.get("name"), keys.get("projection")
            if not isinstance(name, str) or not NAME.fullmatch(name):
                raise self.document.error(f"expected a name, found {describe(name)}", path)
            if not isinstance(projection, list):
                raise self.document.error(
                    f"expected lists of terms under 'projection', found {describe(projection)}",
                    path,
                )
            axes = [self.axis(a, (*path, "projection"), coefficients) for a in projection]
            found.append((f"{name}[{','.join(axes)}]", name, keys.get("read_write") is True))
        return found

    def axis(self, terms: Any, path: KeyPath, coefficients: dict[str, int]) -> str:
        """Return the index expression of an axis as einsum text."""
        if not isinstance(terms, list) or not terms:
            raise self.document.error(f"expected a list of terms, found {describe(terms)}", path)
        parts = []
        for term in terms:
            if not isinstance(term, list) or not 1 <= len(term) <= 2:
                raise self.document.error(
                    f"expected [dimension] or [dimension, coefficient], found {describe(term)}",
                    path,
                )
            dimension, *factor = term
            scale = factor[0] if factor else 1
            if isinstance(scale, str):
                if scale not in coefficients:
                    raise self.document.error(
                        f"no coefficient '{scale}'; accepted: {', '.join(coefficients) or 'none'}"
                        f"{nearest(scale, coefficients)}",
                        path,
                    )
                scale = coefficients[scale]
            if not isinstance(dimension, str) or not NAME.fullmatch(dimension):
                raise self.document.error(
                    f"expected a dimension, found {describe(dimension)}", path
                )
            if not isinstance(scale, int) or isinstance(scale, bool) or scale < 1:
                raise self.document.error(
                    f"expected a whole coefficient of at least 1, found {describe(scale)}", path
                )
            parts.append(dimension if scale == 1 else f"{scale}*{dimension}")
        return "+".join(parts)

    def bounds(
        self, dimensions: list[str], used: set[str], sizes: dict[str, Any], instance: KeyPath
    ) -> dict[str, int]:
        """Return the bounds of the dimensions that some data space uses."""
        found = {}
        for name in dimensions:
            if name not in sizes:
                raise self.document.error(f"missing the size of dimension '{name}'", instance)
            value = sizes[name]
            place = (*instance, name)
            if not isinstance(value, int) or isinstance(value, bool):
                raise self.document.error(
                    f"expected a whole number, found {describe(value)}", place
                )
            if name in used:
                found[name] = value
                self.report.understand(place)
            elif value == 1:
                self.report.ignore(self.document, place, "a size of 1 that no data space uses")
            else:
                raise self.document.error(
                    f"no data space uses dimension '{name}' of size {value}; "
                    "here each dimension belongs to some tensor",
                    place,
                )
        return found

    def densities(self, sizes: dict[str, Any], instance: KeyPath) -> dict[str, Any] | None:
        """Return the densities of tensors; how zeros are distributed changes nothing here."""
        given = sizes.get("densities")
        if not isinstance(given, dict):
            return None
        found = {}
        for name, value in given.items():
            place = (*instance, "densities", name)
            keys = value if isinstance(value, dict) else {"density": value}
            density = keys.get("density")
            if isinstance(density, int | float) and not isinstance(density, bool):
                found[name] = float(density)
                self.report.understand(place)
            else:
                self.report.ignore(self.document, place, "no single number says its density")
            if "distribution" in keys:
                self.report.ignore(
                    self.document, (*place, "distribution"), "zeros are taken as spread evenly"
                )
        return found

    def rest(
        self,
        dimensions: list[str],
        coefficients: dict[str, int],
        sizes: dict[str, Any],
        instance: KeyPath,
    ) -> None:
        """Name what the instance says beyond its dimensions and coefficients."""
        known = [*dimensions, *coefficients]
        for name in sizes:
            if name not in known and normal(name) != "densities":
                self.report.ignore(
                    self.document,
                    (*instance, name),
                    f"neither a dimension nor a coefficient{nearest(name, known)}",
                )

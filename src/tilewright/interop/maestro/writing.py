"""Networks and dataflows written in MAESTRO's file format."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from tilewright.errors import InputError
from tilewright.interop.maestro.layers import layer_of
from tilewright.interop.maestro.syntax import Dataflow, LayerText, Place
from tilewright.interop.maestro.vocabulary import Axis, vocabulary
from tilewright.workload.layer import Layer, Term

NOWHERE = Place("", 0, 0)


def dump_network(
    name: str, layers: Sequence[tuple[Layer, Dataflow | None]], comments: Sequence[str] = ()
) -> str:
    """Return layers with their dataflows as the text of a file.

    Raises
    ------
    InputError
        When the format has no layer type for one of them.
    """
    lines = [f"// {comment}" for comment in comments]
    lines.append(f"Network {word(name)} {{")
    for layer, flow in layers:
        text = layer_text(layer)
        lines.append(f"  Layer {text.name} {{")
        lines.append(f"    Type: {text.type}")
        if text.strides:
            lines.append(f"    Stride {{ {sizes(text.strides)} }}")
        lines.append(f"    Dimensions {{ {sizes(text.dimensions)} }}")
        if flow is not None:
            lines += [f"    {line}" for line in dataflow_lines(flow)]
        lines.append("  }")
    return "\n".join([*lines, "}"]) + "\n"


def dataflow_lines(flow: Dataflow) -> list[str]:
    """Return ``Dataflow { ... }`` as lines."""
    return ["Dataflow {", *(f"  {directive};" for directive in flow.directives), "}"]


def sizes(values: dict[str, int]) -> str:
    """Return ``K: 64, C: 3``."""
    return ", ".join(f"{name}: {value}" for name, value in values.items())


def word(name: str) -> str:
    """Return a name as one word."""
    return re.sub(r"[^\w.]", "_", name)


def layer_text(layer: Layer) -> LayerText:
    """Return a layer as the format describes it.

    Raises
    ------
    InputError
        When the format has no layer type for it.
    """
    text = described(layer)
    if text is not None and same(layer_of(text), layer):
        return text
    raise InputError(
        f"MAESTRO's format has no layer type for layer '{layer.name}', {layer.einsum}", key="layer"
    )


def described(layer: Layer) -> LayerText | None:
    """Return the nearest that the format has to a layer."""
    bounds = dict(layer.bounds)
    name = word(layer.name)
    if {"M", "N", "K"} <= set(bounds):
        kind = "BMM" if "B" in bounds else "GEMM"
        return LayerText(name, kind, bounds, {}, None, NOWHERE)
    axes = vocabulary(layer, ()).axes
    if "P" not in bounds and set(bounds) <= {"N", "K", "C"}:
        return LayerText(name, "FC", bounds, {}, None, NOWHERE)
    dims = {d: bounds[d] for d in "NGKC" if d in bounds and (d != "N" or bounds[d] > 1)}
    kind = "CONV"
    if any(axis.transposed for axis in axes.values()):
        kind = "TRCONV"
    elif len(layer.inputs) == 1:
        kind = "POOL"
    elif "K" not in bounds and "R" not in bounds:
        kind = "RESIDUAL"
    elif "G" in bounds and "C" in bounds:
        kind, dims["C"] = "NGCONV", bounds["C"] * bounds["G"]
    elif "G" in bounds:
        kind, dims = (
            "DSCONV",
            {d: n for d, n in dims.items() if d == "N"} | {"K": 1, "C": bounds["G"]},
        )
    strides = {}
    whole = Axis("", None)
    for axis_name, taps in (("Y", "R"), ("X", "S")):
        axis = axes.get(axis_name, whole)
        dims[taps] = bounds.get(taps, 1)
        outputs = bounds.get(axis.output, 1)
        rows = outputs if axis.transposed else (outputs - 1) * axis.stride + dims[taps]
        dims[axis_name] = rows
        if axis.stride > 1 or axis.transposed:
            strides[axis_name] = axis.stride
    if kind == "RESIDUAL":
        dims = {d: n for d, n in dims.items() if d not in "RS"}
    return LayerText(name, kind, dims, strides, None, NOWHERE)


def same(one: Layer, other: Layer) -> bool:
    """Whether two layers compute the same; dimensions of one iteration do not count."""
    return lean(one) == lean(other)


def lean(layer: Layer) -> object:
    """Return what a layer computes, without names and dimensions of one iteration."""
    kept = {d: n for d, n in layer.bounds.items() if n > 1}

    def terms(expression: tuple[Term, ...]) -> tuple[Term, ...]:
        return tuple(sorted((t for t in expression if t.dimension in kept), key=str))

    def single(found: tuple[Term, ...]) -> tuple[Term, ...]:
        # a stride alone does not change which words are distinct
        return (replace(found[0], coefficient=1),) if len(found) == 1 else found

    tensors = [
        (t.role, frozenset(single(terms(e)) for e in t.expressions if terms(e)))
        for t in layer.tensors
    ]
    return (kept, tensors, layer.operation)

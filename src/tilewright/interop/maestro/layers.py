"""Layers of MAESTRO's files as layers."""

from __future__ import annotations

from typing import Any

from tilewright.errors import InputError
from tilewright.interop.maestro.reader import error_at
from tilewright.interop.maestro.syntax import LayerText, NetworkText
from tilewright.workload.layer import Layer, Network
from tilewright.workload.operators import (
    add,
    conv2d,
    depthwise,
    fully_connected,
    grouped,
    matmul,
    pooling,
    transposed_conv2d,
)

# MAESTRO's own files give transposed convolutions no stride; its code takes 2
UPSCALING = 2
ALLOWED = {
    "CONV": "N K C R S Y X",
    "TRCONV": "N K C R S Y X",
    "DSCONV": "N K C R S Y X",
    "NGCONV": "N G K C R S Y X",
    "POOL": "N C K R S Y X",
    "RESIDUAL": "N C K Y X R S",
    "RESIDUAL_IDENTITY": "N C K Y X R S",
    "FC": "N K C R S Y X",
    "GEMM": "M N K",
    "BMM": "B M N K",
}
NEEDED = {
    "CONV": "K C R S Y X",
    "TRCONV": "K C R S Y X",
    "DSCONV": "C R S Y X",
    "NGCONV": "G K C R S Y X",
    "POOL": "C R S Y X",
    "RESIDUAL": "C",
    "RESIDUAL_IDENTITY": "C",
    "FC": "K C",
    "GEMM": "M N K",
    "BMM": "B M N K",
}


def network_of(text: NetworkText) -> Network:
    """Return the network that a file describes; layers of the same name are numbered."""
    seen: dict[str, int] = {}
    layers = []
    for layer in text.layers:
        seen[layer.name] = seen.get(layer.name, 0) + 1
        number = f"_{seen[layer.name]}" if seen[layer.name] > 1 else ""
        layers.append(layer_of(layer, layer.name + number))
    return Network(text.name, tuple(layers), text.source)


def layer_of(text: LayerText, name: str | None = None) -> Layer:
    """Return the layer that a file describes.

    Notes
    -----
    Sizes follow MAESTRO's files: Y and X are the height and width of the input, padding included;
    in ``NGCONV`` C counts the input channels of all groups and K the output channels of one;
    ``TRCONV`` scales up by 2 unless a stride is given. Rows that no position of the filter
    reaches (stride) are left out.

    Raises
    ------
    InputError
        When dimensions are missing, unknown, or do not fit each other.
    """
    name = name or text.name
    sizes, kind = text.dimensions, text.type
    allowed, needed = ALLOWED[kind].split(), NEEDED[kind].split()
    for given in sizes:
        if given not in allowed:
            raise _error(text, f"{kind} has no dimension '{given}'; accepted: {', '.join(allowed)}")
    for wanted in needed:
        if wanted not in sizes:
            raise _error(text, f"{kind} needs dimension '{wanted}'; given: {', '.join(sizes)}")
    if kind in ("GEMM", "BMM"):
        return matmul(B=sizes.get("B"), M=sizes["M"], N=sizes["N"], K=sizes["K"], name=name)
    n, k, c = sizes.get("N", 1), sizes.get("K", 1), sizes.get("C", 1)
    r, s = sizes.get("R", 1), sizes.get("S", 1)
    if kind == "TRCONV":
        stride = [text.strides.get(axis, UPSCALING) for axis in "YX"]
        return transposed_conv2d(
            N=n, K=k, C=c, P=sizes["Y"], Q=sizes["X"], R=r, S=s, stride=stride, name=name
        )
    if kind == "FC" and not {"Y", "X", "R", "S"} & set(sizes):
        return fully_connected(N=n, K=k, C=c, name=name)
    stride = [text.strides.get(axis, 1) for axis in "YX"]
    p = _outputs(text, "Y", "R", stride[0])
    q = _outputs(text, "X", "S", stride[1])
    window: dict[str, Any] = {"P": p, "Q": q, "R": r, "S": s, "stride": stride, "name": name}
    if kind in ("CONV", "FC"):
        return conv2d(N=n, K=k, C=c, **window)
    if kind == "NGCONV":
        g = sizes["G"]
        if c % g:
            raise _error(text, f"C counts the channels of all groups: {c} is no multiple of G, {g}")
        return grouped(N=n, G=g, K=k, C=c // g, **window)
    if kind == "DSCONV" and k > 1:
        return grouped(N=n, G=c, K=k, C=1, **window)
    if k > 1:
        raise _error(text, f"{kind} keeps its channels: K must be 1, found {k}")
    if kind == "DSCONV":
        return depthwise(N=n, G=c, **window)
    if kind == "POOL":
        return pooling(N=n, C=c, **window)
    return add(N=n, C=c, P=p, Q=q, name=name)


def _outputs(text: LayerText, axis: str, taps: str, stride: int) -> int:
    size, window = text.dimensions.get(axis, 1), text.dimensions.get(taps, 1)
    if window > size:
        raise _error(text, f"{taps} {window} is larger than {axis} {size}, the input with padding")
    return (size - window) // stride + 1


def _error(text: LayerText, message: str) -> InputError:
    return error_at(text.place, f"layer '{text.name}': {message}")

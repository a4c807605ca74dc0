"""Small convolutions that read each other through windows, and machines that hold some of them."""

from __future__ import annotations

from random import Random
from typing import Any

from tilewright.architecture.machine import Architecture, Compute, Memory
from tilewright.document import Document
from tilewright.mapping.fused import Segment, segment
from tilewright.workload.network import parse_network


def convolutions(random: Random, count: int) -> tuple[list[Any], dict[str, Any]]:
    """Return a chain of convolutions over rows, with strides, pads and perhaps channels."""
    channels = random.choice((1, 1, 2))
    layers: list[Any] = []
    p = random.choice((2, 3, 4))
    view: Any = None
    for i in reversed(range(count)):
        stride, r = random.choice((1, 1, 1, 2)), random.choice((1, 2, 2, 3) if i else (1, 2))
        layers.insert(0, {
            "name": f"conv{i}",
            "einsum": f"O[C,P] += I[C,{stride}*P+R] * W[C,R]",
            "bounds": {"C": channels, "P": p, "R": r},
            "tensors": {"I": f"T{i}", "O": f"T{i + 1}"},
        })  # fmt: skip
        if view is not None:
            layers[1]["tensors"]["I"] = view
        rows, view = stride * (p - 1) + r, f"T{i}"
        shape, p = [channels, rows], rows
        if i and rows > 2 and random.random() < 0.4:
            view, p = [view, {"pad": [0, [1, 0]]}], rows - 1
    return layers, {"T0": shape}


def squares(random: Random) -> tuple[list[Any], dict[str, Any]]:
    """Return two convolutions over rows and columns."""
    p, q, r, s = random.choice((2, 3)), 2, 2, random.choice((1, 2))
    layers = [
        {"name": "one", "einsum": "O[P,Q] += I[P,Q] * W[]", "tensors": {"I": "X", "O": "H"},
         "bounds": {"P": p + r - 1, "Q": q + s - 1}},
        {"name": "two", "einsum": "O[P,Q] += I[P+R,Q+S] * W[R,S]",
         "bounds": {"P": p, "Q": q, "R": r, "S": s}, "tensors": {"I": "H", "O": "Y"}},
    ]  # fmt: skip
    layers[0]["einsum"] = "O[P,Q] += I[P,Q]"
    return layers, {"X": [p + r - 1, q + s - 1]}


def residual(random: Random) -> tuple[list[Any], dict[str, Any]]:
    """Return a layer whose output a window and a sum read."""
    p, r = random.choice((2, 3, 4)), random.choice((2, 3))
    before = random.randint(0, r - 1)
    layers = [
        {"name": "a", "einsum": "O[P] += I[P]", "bounds": {"P": p},
         "tensors": {"I": "X", "O": "A"}},
        {"name": "b", "einsum": "O[P] += I[P+R] * W[R]", "bounds": {"P": p, "R": r},
         "tensors": {"I": ["A", {"pad": [[before, r - 1 - before]]}], "O": "B"}},
        {"name": "sum", "einsum": "O[P] += I[P] * J[P]", "operation": "add",
         "bounds": {"P": p}, "tensors": {"I": "B", "J": "A", "O": "Y"}},
    ]  # fmt: skip
    return layers, {"X": [p]}


def windows(random: Random) -> Segment:
    """Return a small segment with windows."""
    kind = random.choice(("two", "two", "three", "squares", "residual"))
    if kind == "squares":
        layers, inputs = squares(random)
    elif kind == "residual":
        layers, inputs = residual(random)
    else:
        layers, inputs = convolutions(random, 2 if kind == "two" else 3)
    data = {"name": "net", "layers": layers, "inputs": inputs}
    return segment(parse_network(Document(data, "net")), [layer["name"] for layer in layers])


def buffered(random: Random, *, limited: bool = False, leakage: float = 0.0) -> Architecture:
    """Return a machine with a buffer of a few words; with `limited`, its ports are."""
    words = random.choice((3, 4, 5, 6, 8, 10, 14))
    rates = (0.5, 1.0, 2.0) if limited else (None,)
    return Architecture(
        "small",
        (
            Memory("DRAM", 16, read_energy=100.0, write_energy=random.choice((100.0, 30.0)),
                   shared_bandwidth=random.choice(rates)),
            Memory("GLB", 16, capacity_bits=16 * words, read_energy=6.0, write_energy=5.0,
                   read_bandwidth=random.choice(rates), write_bandwidth=random.choice(rates)),
            Compute("MAC", energy=random.choice((1.0, 40.0)), leakage=leakage),
        ),
    )  # fmt: skip

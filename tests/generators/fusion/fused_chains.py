"""Random chains of products, and machines on which some of their tensors fit on chip."""

from __future__ import annotations

from itertools import pairwise
from random import Random
from re import findall

from tilewright.architecture.machine import Architecture, Array, Compute, Memory
from tilewright.document import Document
from tilewright.mapping.fused import Segment, segment
from tilewright.workload.layer import Network
from tilewright.workload.network import parse_network


def network(m: int, sizes: list[int]) -> Network:
    """Return a chain of products: all have M, and each letter is a dimension of two of them."""
    layers = [
        {
            "name": f"l{i}",
            "einsum": f"O[M,{n}] += I[M,{k}] * W[{k},{n}]",
            "bounds": {"M": m, k: sizes[i], n: sizes[i + 1]},
            "tensors": {"I": f"T{i}", "O": f"T{i + 1}"},
        }
        for i, (k, n) in enumerate(pairwise("ABCDE"[: len(sizes)]))
    ]
    data = {"name": "net", "layers": layers, "inputs": {"T0": [m, sizes[0]]}}
    return parse_network(Document(data, "net"))


def chain(random: Random) -> tuple[Segment, list[str]]:
    """Return a chain of products, and the dimensions that run through all of them."""
    count = random.choice((2, 2, 2, 3))
    m = random.choice((2, 2, 2, 3))
    sizes = [random.choice((1, 1, 2, 2, 3)) for _ in range(count + 1)]
    found = segment(network(m, sizes), [f"l{i}" for i in range(count)])
    return found, ["M", "B"] if count == 2 else ["M"]


def two_readers(random: Random) -> tuple[Network, list[str]]:
    """Return a network whose first two layers read the same tensor, and a third one both results.

    With weights of their own, and sometimes one more layer that reads the same tensor.
    """
    m, n, k = (random.choice((2, 3, 4)) for _ in range(3))
    names = ["one", "two", "three"][: random.choice((2, 2, 3))]
    return reading_one(names, {"M": m, "N": n, "K": k})


def gated(random: Random) -> tuple[Network, list[str]]:
    """Return two products of one tensor, one times the other, and a product of that."""
    sizes = {d: random.choice((1, 2, 2, 3)) for d in "MNKL"}
    return reading_one(["gate", "up"], sizes)


def reading_one(names: list[str], sizes: dict[str, int]) -> tuple[Network, list[str]]:
    """Return products of one tensor, one times the others, and a product of that if there is L."""
    layers = [
        layer(name, "O[M,N] += I[M,K] * W[K,N]", sizes, {"I": "x"}) for name in names
    ]  # fmt: skip
    read = dict(zip("IJL", names, strict=False))
    factors = " * ".join(f"{letter}[M,N]" for letter in read)
    layers.append(layer("sum", f"O[M,N] += {factors}", sizes, read))
    if "L" in sizes:
        layers.append(layer("down", "O[M,L] += I[M,N] * W[N,L]", sizes, {"I": "sum"}))
    data = {"name": "net", "layers": layers, "inputs": {"x": [sizes["M"], sizes["K"]]}}
    return parse_network(Document(data, "net")), [str(own["name"]) for own in layers]


def layer(
    name: str, einsum: str, sizes: dict[str, int], tensors: dict[str, str]
) -> dict[str, object]:
    """Return a layer as files have it, with the bounds of its dimensions."""
    dimensions = {d for part in findall(r"\[([^]]*)\]", einsum) for d in part.split(",")}
    bounds = {d: n for d, n in sizes.items() if d in dimensions}
    return {"name": name, "einsum": einsum, "bounds": bounds, "tensors": tensors}


def machine(random: Random) -> Architecture:
    """Return a machine with a small buffer, with or without an array of two and registers."""
    kept = frozenset(random.choice(("IWO", "W", "")))
    buffer = Memory(
        "GLB", 16, capacity_bits=16 * random.choice((4, 6, 8, 10, 14, 20)), read_energy=6.0,
        write_energy=random.choice((6.0, 9.0)), must_keep=kept,
        buffering=random.choice((1, 1, 2)),
    )  # fmt: skip
    inside: tuple[Array | Memory, ...] = ()
    if random.random() < 0.4:
        array = Array("PE", {"X": 2}, hop_energy=0.5, reduction=random.random() < 0.7)
        inside = (
            array,
            Memory(
                "RF",
                16,
                capacity_bits=16 * 3,
                read_energy=1.0,
                write_energy=1.0,
                must_keep=frozenset(random.choice(("", "O"))),
            ),
        )
    outermost = Memory("DRAM", 16, read_energy=100.0, write_energy=random.choice((100.0, 80.0)))
    return Architecture("small", (outermost, buffer, *inside, Compute("MAC", energy=1.0)))

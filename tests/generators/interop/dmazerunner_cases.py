"""Output of dMazeRunner's public code, and its methods as layers and mappings of ours."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tilewright.architecture.files import load_architecture
from tilewright.interop.dmazerunner.method import Method, mapping_of
from tilewright.mapping.nodes import Mapping
from tilewright.workload.einsum import einsum
from tilewright.workload.layer import Layer

FOLDER = Path(__file__).parents[2] / "data" / "dmazerunner"
SUMMARIES = ("space_and_optima", "orderings")
NAMES = sorted(path.stem for path in FOLDER.glob("*.json") if path.stem not in SUMMARIES)
SPACE: dict[str, Any] = json.loads((FOLDER / "space_and_optima.json").read_text())
ORDERINGS: dict[str, Any] = json.loads((FOLDER / "orderings.json").read_text())
MACHINE = load_architecture("dmazerunner-256")

# its code has the column of an image innermost, and calls it y
CONVOLUTION = "O[N,M,Ox,Oy] += I[N,C,{s}*Ox+Fx,{s}*Oy+Fy] * W[M,C,Fx,Fy]"
DEPTHWISE = "O[N,C,Ox,Oy] += I[N,C,{s}*Ox+Fx,{s}*Oy+Fy] * W[C,Fx,Fy]"
PRODUCT = "C[X,Y] += A[X,K] * B[K,Y]"


def convolution(given: dict[str, Any]) -> Layer:
    """Return a layer of `space_and_optima.json`."""
    _, m, x, y = given["output_shape"]
    fx, fy = json.loads(given["kernel_size"])
    stride = json.loads(given["strides"])[0]
    return einsum(
        CONVOLUTION.format(s=stride), name=given["name"],
        N=given["batch_size"], M=m, C=given["channels"], Ox=x, Oy=y, Fx=fx, Fy=fy,
    )  # fmt: skip


def case(name: str) -> dict[str, Any]:
    """Return the contents of a case's file."""
    data: dict[str, Any] = json.loads((FOLDER / f"{name}.json").read_text())
    return data


def layer_of(given: dict[str, Any]) -> Layer:
    """Return the layer of a case."""
    kind = given["layer"]["kind"]
    if kind.startswith("gemm"):
        return einsum(PRODUCT, name=given["layer"]["name"], **given["loop_bounds"])
    bounds = dict(given["loop_bounds"])
    if kind == "depthwise":
        del bounds["M"]
    stride = json.loads(given["layer"]["strides"])[0]
    form = DEPTHWISE if kind == "depthwise" else CONVOLUTION
    return einsum(form.format(s=stride), name=given["layer"]["name"], **bounds)


def orderings_of(name: str) -> Iterator[tuple[dict[str, Any], dict[str, Any], Layer, Mapping]]:
    """Yield a case, each of its orderings, its layer and the mapping that it is."""
    given = case(name)
    layer, tiling = layer_of(given), given["tiling"]

    def loops(level: str, order: list[str]) -> tuple[tuple[str, int], ...]:
        return tuple((d, tiling[d][level]) for d in order if tiling[d][level] > 1)

    for ordering in given["orderings"]:
        method = Method(
            loops("DRAM", ordering["dram_order_outer_to_inner"]),
            loops("SPM", ordering["spm_order_outer_to_inner"]),
            {d: tiling[d]["Spatial"] for d in layer.dimensions},
            {d: tiling[d]["RF"] for d in layer.dimensions},
        )
        yield given, ordering, layer, mapping_of(method, layer, MACHINE)

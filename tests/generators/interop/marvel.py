"""The 15 layers of MARVEL's Table 3, with its tiles and what they should cost."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tilewright.workload.layer import Layer
from tilewright.workload.operators import conv2d, depthwise

ROWS: dict[str, dict[str, Any]] = json.loads(
    (Path(__file__).parents[2] / "data" / "marvel_table3.json").read_text()
)["rows"]


def layer(name: str, stride: int = 1) -> Layer:
    """Return a layer; our P and Q are the height and the width, the paper's Q and P."""
    row = ROWS[name]
    k, c, r, s, width, height = row["dims"]
    sizes = {"P": height, "Q": width, "R": r, "S": s}
    # the residual addition L1 has an output per channel in the table, L10 has one in all
    if row["type"] == "DSCONV" or name == "L1":
        return depthwise(name=name, G=c, stride=stride, **sizes)
    return conv2d(name=name, K=k, C=c, stride=stride, **sizes)


def tile(name: str) -> dict[str, int]:
    """Return the tile of the table."""
    k, c, r, s, width, height = ROWS[name]["tile"]
    sizes = {"N": 1, "K": k, "C": c, "G": c, "P": height, "Q": width, "R": r, "S": s}
    return {d: sizes[d] for d in layer(name).dimensions}

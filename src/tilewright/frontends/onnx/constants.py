"""Small tensors that are known before a network runs: they say something about shapes."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from tilewright.frontends.onnx.model import OnnxNode

MAX_COMPUTED = 4096  # numbers
COMPUTED = {
    "Add", "And", "Cast", "Ceil", "Concat", "ConstantOfShape", "Div", "Equal", "Expand", "Floor",
    "Gather", "Greater", "GreaterOrEqual", "Identity", "Less", "LessOrEqual", "Max", "Min", "Mod",
    "Mul", "Neg", "Not", "Or", "Range", "ReduceMax", "ReduceMin", "ReduceProd", "ReduceSum",
    "Reshape", "Slice", "Split", "Sqrt", "Squeeze", "Sub", "Tile", "Transpose", "Unsqueeze",
    "Where", "Pow", "Reciprocal", "Round",
}  # fmt: skip

Numbers: TypeAlias = NDArray[Any]


def numbers_of(tensor: Any) -> Numbers | None:
    """Return the numbers of a tensor of the file, if they are there."""
    from onnx.numpy_helper import to_array

    try:
        return np.asarray(to_array(tensor))
    except Exception:
        # weights that were stripped, or of types without numbers
        return None


def is_small(op: str, given: Sequence[Numbers]) -> bool:
    """Whether the result of an operator whose output can grow is small."""
    if op in ("ConstantOfShape", "Expand", "Tile"):
        sizes = [abs(int(n)) for n in np.atleast_1d(given[0 if op == "ConstantOfShape" else 1])]
        return prod(sizes) * (1 if op == "ConstantOfShape" else given[0].size) <= MAX_COMPUTED
    if op == "Range":
        first, end, step = (float(np.ravel(numbers)[0]) for numbers in given)
        return bool(step) and abs((end - first) / step) <= MAX_COMPUTED
    return sum(numbers.size for numbers in given) <= 4 * MAX_COMPUTED


def evaluated(
    node: OnnxNode, given: Sequence[Numbers | None], opsets: dict[str, int]
) -> list[Numbers] | None:
    """Compute a node from numbers that are given, if ONNX can and the results are small."""
    from onnx.reference import ReferenceEvaluator

    feeds = {n: v for n, v in zip(node.inputs, given, strict=True) if n and v is not None}
    try:
        with np.errstate(all="ignore"):
            results = ReferenceEvaluator(node.proto, opsets=opsets).run(None, feeds)
    except Exception:
        # what ONNX itself cannot compute is read like any other node
        return None
    arrays = [np.asarray(result) for result in results]
    return arrays if all(a.size <= MAX_COMPUTED for a in arrays) else None

"""ONNX operators that move words: views where that is possible, tensors of their own elsewhere."""

from __future__ import annotations

from math import prod

import numpy as np

from tilewright.errors import InputError
from tilewright.frontends import operators
from tilewright.frontends.onnx.model import Importer, NotUnderstoodError, OnnxNode, Operator
from tilewright.frontends.values import joined
from tilewright.workload.graph import MOVES


def reshape(importer: Importer, node: OnnxNode) -> None:
    """Read other axes for the same words."""
    x, sizes = importer.value(node.inputs[0]), importer.whole(node, 1)
    if sizes is None:
        raise InputError("has no shape")
    if not node.get("allowzero", 0):
        sizes = [x.shape[i] if n == 0 else n for i, n in enumerate(sizes)]
    if -1 in sizes:
        rest = prod(n for n in sizes if n != -1)
        sizes[sizes.index(-1)] = x.words // rest if rest else 0
    if prod(sizes) != x.words or min(sizes, default=1) < 1:
        raise InputError(f"{list(x.shape)} cannot become {sizes}")
    importer.view(node, x.reshape(*sizes))


def flatten(importer: Importer, node: OnnxNode) -> None:
    """Read two axes for the same words."""
    x = importer.value(node.inputs[0])
    axis = int(node.get("axis", 1))
    axis += len(x.shape) if axis < 0 else 0
    importer.view(node, x.reshape(prod(x.shape[:axis]), prod(x.shape[axis:])))


def squeeze(importer: Importer, node: OnnxNode) -> None:
    """Read without axes of one word."""
    x, axes = importer.value(node.inputs[0]), importer.whole(node, 1, "axes")
    rank = len(x.shape)
    gone = {axis % rank for axis in axes or ()} if axes is not None else None
    kept = [n for i, n in enumerate(x.shape) if (i not in gone if gone is not None else n != 1)]
    importer.view(node, x.reshape(*kept))


def unsqueeze(importer: Importer, node: OnnxNode) -> None:
    """Read with further axes of one word."""
    x, axes = importer.value(node.inputs[0]), importer.whole(node, 1, "axes")
    rank = len(x.shape) + len(axes or ())
    sizes, rest = [1] * rank, iter(x.shape)
    new = {axis % rank for axis in axes or ()}
    for i in range(rank):
        if i not in new:
            sizes[i] = next(rest)
    importer.view(node, x.reshape(*sizes))


def transpose(importer: Importer, node: OnnxNode) -> None:
    """Read the axes in another order."""
    x = importer.value(node.inputs[0])
    axes = node.ints("perm", list(reversed(range(len(x.shape)))))
    if sorted(axes) != list(range(len(x.shape))):
        raise InputError(f"perm {axes} does not name the axes of {list(x.shape)}")
    importer.view(node, x.transpose(*axes))


def split(importer: Importer, node: OnnxNode) -> None:
    """Read parts along an axis."""
    x = importer.value(node.inputs[0])
    axis = int(node.get("axis", 0)) % len(x.shape)
    sizes = importer.whole(node, 1, "split")
    count = len(node.outputs)
    if sizes is None:
        each = -(-x.shape[axis] // count)
        sizes = [min(each, x.shape[axis] - i * each) for i in range(count)]
    if sum(sizes) != x.shape[axis] or min(sizes) < 1 or len(sizes) < count:
        raise InputError(f"parts {sizes[:12]} of an axis of {x.shape[axis]}")
    ends = np.cumsum(sizes).tolist()
    parts = [x.part(axis, end - size, end) for size, end in zip(sizes, ends, strict=True)]
    importer.view(node, *parts)


def slice_(importer: Importer, node: OnnxNode) -> None:
    """Read some indices of some axes."""
    x = importer.value(node.inputs[0])
    starts, ends = importer.whole(node, 1), importer.whole(node, 2)
    if starts is None or ends is None:
        raise NotUnderstoodError
    axes = importer.whole(node, 3) or list(range(len(starts)))
    steps = importer.whole(node, 4) or [1] * len(starts)
    ranges = [(0, size, 1) for size in x.shape]
    backward = False
    for start, end, axis, step in zip(starts, ends, axes, steps, strict=True):
        size = x.shape[axis % len(x.shape)]
        taken = range(*slice(start, end, step).indices(size))
        if not taken:
            raise NotUnderstoodError
        backward |= step < 0
        low, high = min(taken), max(taken)
        ranges[axis % len(x.shape)] = (low, high + 1, abs(step))
    if backward:
        importer.moved(node, [x.slice(ranges).shape], 1)
    else:
        importer.view(node, x.slice(ranges))


def concat(importer: Importer, node: OnnxNode) -> None:
    """Read several tensors along an axis."""
    values = importer.inputs(node, 10**6)
    axis = int(node.get("axis", 0)) % len(values[0].shape)
    for value in values[1:]:
        operators.broadcast_shape([value.shape[:axis], values[0].shape[:axis]])
        if len(value.shape) != len(values[0].shape) or any(
            a != b for i, (a, b) in enumerate(zip(value.shape, values[0].shape, strict=True))
            if i != axis
        ):  # fmt: skip
            raise InputError(f"{list(values[0].shape)} and {list(value.shape)} along axis {axis}")
    importer.view(node, joined(values, axis))


def expand(importer: Importer, node: OnnxNode) -> None:
    """Read axes of one word repeated."""
    x, sizes = importer.value(node.inputs[0]), importer.whole(node, 1)
    importer.view(node, x.broadcast(*operators.broadcast_shape([x.shape, tuple(sizes or ())])))


def pad(importer: Importer, node: OnnxNode) -> None:
    """Read words around each axis; other modes than zeros copy words that are there."""
    x = importer.value(node.inputs[0])
    pads = importer.whole(node, 1, "pads") or []
    axes = importer.whole(node, 3) or list(range(len(x.shape)))
    amounts = [(0, 0)] * len(x.shape)
    for i, axis in enumerate(axes):
        amounts[axis % len(x.shape)] = (pads[i], pads[len(axes) + i])
    made = x
    for axis, (before, after) in enumerate(amounts):
        if x.shape[axis] + before + after < 1:
            raise NotUnderstoodError
        made = made.window(axis, before, x.shape[axis] + before + after)
    importer.view(node, made)


def gather(importer: Importer, node: OnnxNode) -> None:
    """Read one known index of an axis is a view; what the network itself computes moves words."""
    x = importer.value(node.inputs[0])
    axis = int(node.get("axis", 0)) % len(x.shape)
    index = importer.constant(node.inputs[1])
    if index is not None and index.size == 1:
        first = int(index.ravel()[0])
        first += x.shape[axis] if first < 0 else 0
        shape = (*x.shape[:axis], *index.shape, *x.shape[axis + 1 :])
        importer.view(node, x.part(axis, first, first + 1).reshape(*shape))
        return
    places = importer.value(node.inputs[1]).shape if index is None else index.shape
    importer.moved(node, [(*x.shape[:axis], *places, *x.shape[axis + 1 :])])


def tile(importer: Importer, node: OnnxNode) -> None:
    """Read copies along each axis."""
    x, times = importer.value(node.inputs[0]), importer.whole(node, 1) or []
    shape = tuple(size * n for size, n in zip(x.shape, times, strict=True))
    importer.moved(node, [shape], 1)


def depth_to_space(importer: Importer, node: OnnxNode) -> None:
    """Read channels moved into the image, or back."""
    x, block = importer.value(node.inputs[0]), int(node.get("blocksize"))
    n, c, h, w = x.shape
    if node.op == "SpaceToDepth":
        made = x.reshape(n, c, h // block, block, w // block, block).transpose(0, 3, 5, 1, 2, 4)
        importer.view(node, made.reshape(n, c * block * block, h // block, w // block))
        return
    if node.get("mode", b"DCR") == b"DCR":
        made = x.reshape(n, block, block, c // block**2, h, w).transpose(0, 3, 4, 1, 5, 2)
    else:
        made = x.reshape(n, c // block**2, block, block, h, w).transpose(0, 1, 4, 2, 5, 3)
    importer.view(node, made.reshape(n, c // block**2, h * block, w * block))


def resize(importer: Importer, node: OnnxNode) -> None:
    """Read another size: the nearest words are copies; others cost one operation per element."""
    x = importer.value(node.inputs[0])
    sizes = importer.whole(node, 3) if len(node.inputs) > 3 else None
    if sizes is None:
        position = 2 if node.op == "Resize" else 1
        scales = importer.constant(node.inputs[position]) if len(node.inputs) > position else None
        if scales is None:
            raise NotUnderstoodError
        sizes = [int(size * float(s)) for size, s in zip(x.shape, np.ravel(scales), strict=True)]
    axes = node.get("axes")
    shape = list(x.shape)
    for axis, size in zip(axes or range(len(sizes)), sizes, strict=True):
        shape[axis] = size
    if min(shape) < 1:
        raise NotUnderstoodError
    moved = importer.builder.other(node.name, node.op, [x], [tuple(shape)], MOVES)
    if node.get("mode", b"nearest") != b"nearest":
        moved = [operators.elementwise(importer.builder, f"{node.name}.mix", node.op, moved)]
    importer.put(node, *moved)


def inferred_move(importer: Importer, node: OnnxNode) -> None:
    """Read words moved to places that the network computes."""
    importer.moved(node, [importer.shape(name) for name in node.outputs if name])


VIEWS: dict[str, Operator] = {
    "Reshape": reshape,
    "Flatten": flatten,
    "Squeeze": squeeze,
    "Unsqueeze": unsqueeze,
    "Transpose": transpose,
    "Split": split,
    "Slice": slice_,
    "Concat": concat,
    "Expand": expand,
    "Pad": pad,
    "Gather": gather,
    "Tile": tile,
    "DepthToSpace": depth_to_space,
    "SpaceToDepth": depth_to_space,
    "Resize": resize,
    "Upsample": resize,
    "GatherElements": inferred_move,
    "GatherND": inferred_move,
    "ScatterElements": inferred_move,
    "ScatterND": inferred_move,
    "Scatter": inferred_move,
    "ReverseSequence": inferred_move,
    "OneHot": inferred_move,
    "EyeLike": inferred_move,
    "TensorScatter": inferred_move,
    "ConstantOfShape": inferred_move,
    "Range": inferred_move,
}

"""Operators of PyTorch (aten) that move words: views where that is possible."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from tilewright.errors import InputError
from tilewright.frontends import operators
from tilewright.frontends.torch.export import Importer, NotUnderstoodError, Operator
from tilewright.frontends.torch.program import Call
from tilewright.frontends.values import Value, joined

RESHAPES = "view reshape _unsafe_view flatten unflatten squeeze unsqueeze view_as ravel"
COPIES = """
contiguous clone detach detach_ alias to _to_copy dropout alpha_dropout feature_dropout
native_dropout lift_fresh lift_fresh_copy type_as float half bfloat16 requires_grad_ _to_dense
view_as_real
"""
MOVES = """
embedding index_select gather index index_put scatter scatter_add select_scatter slice_scatter
repeat repeat_interleave roll flip rot90 tile upsample_nearest1d upsample_nearest2d
upsample_nearest3d copy masked_select channel_shuffle pixel_unshuffle reflection_pad1d
reflection_pad2d replication_pad2d unfold im2col take_along_dim sort argsort one_hot
as_strided expand_copy constant_pad_nd_copy
"""


def reshape(importer: Importer, call: Call) -> Sequence[Value]:
    """Read other axes for the same words."""
    return importer.view(call, importer.tensor(call, "self", "input").reshape(*importer.out(call)))


def copy(importer: Importer, call: Call) -> Sequence[Value]:
    """Read what changes nothing, or only the type of the elements."""
    importer.builder.folded(call.name, call.target)
    return [importer.tensor(call, "self", "input")]


def permute(importer: Importer, call: Call) -> Sequence[Value]:
    """Read the axes in another order."""
    x = importer.tensor(call, "self")
    axes, rank = list(range(len(x.shape))), len(x.shape)
    name = call.target.removeprefix("aten.")
    if name == "permute":
        axes = [axis % rank for axis in importer.number(call, "dims")]
    elif name in ("movedim", "moveaxis"):
        raise NotUnderstoodError
    else:
        a, b = (0, 1) if name in ("t", "numpy_T") else (
            importer.number(call, "dim0", importer.number(call, "axis0")),
            importer.number(call, "dim1", importer.number(call, "axis1")),
        )  # fmt: skip
        if rank > 1:
            axes[a % rank], axes[b % rank] = axes[b % rank], axes[a % rank]
    if sorted(axes) != list(range(rank)):
        raise InputError(f"dims {axes} do not name the axes of {list(x.shape)}")
    return importer.view(call, x.transpose(*axes))


def expand(importer: Importer, call: Call) -> Sequence[Value]:
    """Read axes of one word repeated."""
    return importer.view(call, importer.tensor(call, "self").broadcast(*importer.out(call)))


def slice_(importer: Importer, call: Call) -> Sequence[Value]:
    """Read some indices of one axis."""
    x = importer.tensor(call, "self")
    axis = importer.number(call, "dim", 0) % len(x.shape)
    start = importer.number(call, "start", 0) or 0
    end, step = importer.number(call, "end"), importer.number(call, "step", 1)
    if call.target == "aten.narrow":
        end = start + importer.number(call, "length")
    taken = range(*slice(start, end, step).indices(x.shape[axis]))
    return importer.view(call, x.part(axis, taken[0], taken[-1] + 1, step))


def select(importer: Importer, call: Call) -> Sequence[Value]:
    """Read one index of an axis, which goes."""
    x = importer.tensor(call, "self")
    axis = importer.number(call, "dim", 0) % len(x.shape)
    index = importer.number(call, "index") % x.shape[axis]
    return importer.view(call, x.part(axis, index, index + 1).reshape(*importer.out(call)))


def split(importer: Importer, call: Call) -> Sequence[Value]:
    """Read parts along an axis."""
    x = importer.tensor(call, "self")
    axis = importer.number(call, "dim", 0) % len(x.shape)
    parts, first = [], 0
    for name in call.outputs:
        shape = importer.shape(name)
        size = 1 if call.target == "aten.unbind" else shape[axis]
        parts.append(x.part(axis, first, first + size).reshape(*shape))
        first += size
    return importer.view(call, *parts)


def concatenate(importer: Importer, call: Call) -> Sequence[Value]:
    """Read several tensors along an axis, a new one when they are stacked."""
    values = importer.tensors(call, "tensors")
    rank = len(importer.out(call))
    axis = importer.number(call, "dim", 0) % rank
    if call.target == "aten.stack":
        values = [v.reshape(*v.shape[:axis], 1, *v.shape[axis:]) for v in values]
    return importer.view(call, joined(values, axis))


def pad(importer: Importer, call: Call) -> Sequence[Value]:
    """Read words around the last axes; other modes than zeros copy words."""
    x, amounts = importer.tensor(call, "self"), importer.number(call, "pad")
    made = x
    for i in range(len(amounts) // 2):
        axis, (before, after) = len(x.shape) - 1 - i, amounts[2 * i : 2 * i + 2]
        made = made.window(axis, before, x.shape[axis] + before + after)
    return importer.view(call, made)


def pixel_shuffle(importer: Importer, call: Call) -> Sequence[Value]:
    """Read channels moved into the image."""
    x, block = importer.tensor(call, "self"), importer.number(call, "upscale_factor")
    *lead, c, h, w = x.shape
    n = prod(lead)
    made = x.reshape(n, c // block**2, block, block, h, w).transpose(0, 1, 4, 2, 5, 3)
    return importer.view(call, made.reshape(*importer.out(call)))


def moved(importer: Importer, call: Call) -> Sequence[Value]:
    """Read what moves words in a way that is no view."""
    return importer.moved(call)


def resized(importer: Importer, call: Call) -> Sequence[Value]:
    """Read an image of another size that is mixed of neighbours."""
    made = importer.moved(call)
    name = f"{call.name}.mix"
    return [operators.elementwise(importer.builder, name, call.target, made[:1])]


VIEWS: dict[str, Operator] = {
    "permute": permute,
    "transpose": permute,
    "swapaxes": permute,
    "swapdims": permute,
    "t": permute,
    "numpy_T": permute,
    "movedim": permute,
    "expand": expand,
    "expand_as": expand,
    "broadcast_to": expand,
    "slice": slice_,
    "narrow": slice_,
    "select": select,
    "split": split,
    "split_with_sizes": split,
    "chunk": split,
    "tensor_split": split,
    "unbind": split,
    "unsafe_chunk": split,
    "cat": concatenate,
    "concat": concatenate,
    "stack": concatenate,
    "pad": pad,
    "constant_pad_nd": pad,
    "pixel_shuffle": pixel_shuffle,
    "upsample_bilinear2d": resized,
    "upsample_bicubic2d": resized,
    "upsample_linear1d": resized,
    "upsample_trilinear3d": resized,
    "_upsample_bilinear2d_aa": resized,
}
VIEWS |= dict.fromkeys(RESHAPES.split(), reshape)
VIEWS |= dict.fromkeys(COPIES.split(), copy)
VIEWS |= dict.fromkeys(MOVES.split(), moved)

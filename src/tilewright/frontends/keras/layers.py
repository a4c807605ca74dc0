"""What Keras calls layers, as layers here: data is N, ..., C unless a layer says otherwise."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from math import prod
from typing import Any

from tilewright.errors import InputError
from tilewright.frontends import operators, products
from tilewright.frontends.keras.file import Operator, Use
from tilewright.frontends.operators import Window
from tilewright.frontends.recurrent import GRU, LSTM, RNN, recurrent
from tilewright.frontends.values import Value, joined
from tilewright.workload.graph import MOVES

ELEMENTWISE = """
Add Subtract Multiply Average Maximum Minimum Divide Relu Sigmoid Tanh Exp Sqrt Silu Gelu ReLU
LeakyReLU PReLU ELU Rescaling Normalization
"""
IDENTITIES = """
Dropout SpatialDropout1D SpatialDropout2D SpatialDropout3D GaussianNoise GaussianDropout
AlphaDropout ActivityRegularization Identity RandomFlip RandomRotation RandomZoom RandomContrast
RandomTranslation
"""
NORMALIZATIONS = "LayerNormalization GroupNormalization UnitNormalization RMSNormalization"


def rank_of(use: Use) -> int:
    """Return the number of axes of windows that a class has in its name."""
    found = re.search(r"([123])D", use.kind)
    assert found is not None
    return int(found[1])


def first(use: Use) -> bool:
    """Whether the channels of a layer's data come before its places."""
    return bool(use.config.get("data_format") == "channels_first")


def channels_first(use: Use, x: Value) -> Value:
    """Return data as N, C, ..."""
    rank = len(x.shape)
    return x if first(use) else x.transpose(0, rank - 1, *range(1, rank - 1))


def as_before(use: Use, x: Value) -> Value:
    """Return N, C, ... as a layer's data."""
    return x if first(use) else x.transpose(0, *range(2, len(x.shape)), 1)


def windows_of(use: Use, x: Value, size_key: str, stride: int | None = None) -> list[Window]:
    """Return the windows of a layer over N, C, ..."""
    rank = len(x.shape) - 2
    sizes = use.sizes(size_key, rank)
    strides = use.sizes("strides", rank) if use.config.get("strides") or stride else sizes
    dilations = use.sizes("dilation_rate", rank)
    padding = use.config.get("padding", "valid")
    found = []
    for axis, (size, step, dilation) in enumerate(zip(sizes, strides, dilations, strict=True)):
        window = Window(size, step, dilation)
        if padding == "same":
            length = x.shape[2 + axis]
            missing = max(0, (-(-length // step) - 1) * step + window.reach - length)
            window = replace(window, before=missing // 2, after=missing - missing // 2)
        elif padding == "causal":
            window = replace(window, before=window.reach - 1)
        elif padding != "valid":
            raise InputError(f"padding '{padding}' is none of valid, same, causal")
        found.append(window)
    return found


def activated(use: Use, value: Value, linear: bool = False) -> Value:
    """Return what the activation of a layer makes; `linear`: a normalisation can be folded."""
    given = use.config.get("activation")
    name = given if isinstance(given, str) else None
    if isinstance(given, dict):
        inner = given.get("config")
        name = inner if isinstance(inner, str) else str(given.get("class_name", "activation"))
    if name in (None, "linear"):
        if linear:
            use.model.linear.add(value.view)
        return value
    kind = "softmax" if name in ("softmax", "log_softmax") else "elementwise"
    return operators.elementwise(use.builder, f"{use.name}.{name}", str(name), [value], kind)


def biased(use: Use, size: int) -> None:
    """Add the words of a bias, which is no operation."""
    if use.config.get("use_bias", True):
        use.weight("bias", size)


def convolution(use: Use) -> Value:
    """Read a convolution of any rank."""
    x = channels_first(use, use.x)
    filters, groups = use.size("filters"), use.size("groups", 1)
    kernel = use.sizes("kernel_size", rank_of(use))
    w = use.weight("kernel", filters, max(1, x.shape[1] // groups), *kernel)
    biased(use, filters)
    windows = windows_of(use, x, "kernel_size", 1)
    made = operators.convolution(use.builder, use.name, use.kind, x, w, windows, groups)
    return activated(use, as_before(use, made), linear=True)


def depthwise(use: Use) -> Value:
    """Read a convolution of each channel alone."""
    x = channels_first(use, use.x)
    made = by_channel(use, x, use.name)
    biased(use, made.shape[1])
    return activated(use, as_before(use, made), linear=True)


def by_channel(use: Use, x: Value, name: str) -> Value:
    """Add a convolution of each channel alone to N, C, ..."""
    channels, times = x.shape[1], use.size("depth_multiplier", 1)
    kernel = use.sizes("kernel_size", rank_of(use))
    w = use.weight("depthwise_kernel", channels * times, 1, *kernel)
    windows = windows_of(use, x, "kernel_size", 1)
    return operators.convolution(use.builder, name, use.kind, x, w, windows, channels)


def separable(use: Use) -> Value:
    """Read a convolution of each channel, and one over all channels of each place."""
    x = by_channel(use, channels_first(use, use.x), f"{use.name}.depthwise")
    filters, rank = use.size("filters"), rank_of(use)
    w = use.weight("pointwise_kernel", filters, x.shape[1], *(1,) * rank)
    biased(use, filters)
    ones = [Window(1)] * rank
    made = operators.convolution(use.builder, f"{use.name}.pointwise", use.kind, x, w, ones)
    return activated(use, as_before(use, made), linear=True)


def transposed(use: Use) -> Value:
    """Read a transposed convolution."""
    x = channels_first(use, use.x)
    filters, rank = use.size("filters"), rank_of(use)
    kernel = use.sizes("kernel_size", rank)
    w = use.weight("kernel", x.shape[1], filters, *kernel)
    biased(use, filters)
    windows = []
    for size, step, dilation in zip(
        kernel, use.sizes("strides", rank), use.sizes("dilation_rate", rank), strict=True
    ):
        window = Window(size, step, dilation)
        over = window.reach - step
        if use.config.get("padding") == "same":
            cut = max(0, over)
            window = replace(window, before=cut // 2, after=cut - cut // 2)
        windows.append(replace(window, beyond=max(0, -over)))
    if use.config.get("output_padding") is not None:
        raise InputError("output_padding is not understood")
    made = operators.transposed_convolution(use.builder, use.name, use.kind, x, w, windows)
    return activated(use, as_before(use, made), linear=True)


def dense(use: Use) -> Value:
    """Read a product with a matrix."""
    units = use.size("units")
    w = use.weight("kernel", units, use.x.shape[-1])
    biased(use, units)
    *outer, width = use.x.shape
    flat = use.x.reshape(prod(outer), width)
    made = products.matmul(use.builder, use.name, use.kind, flat, w, True)
    return activated(use, made.reshape(*outer, units), linear=True)


def batch_normalization(use: Use) -> Value:
    """Read a normalisation of each channel, which is part of a convolution before."""
    axis = use.config.get("axis", -1)
    axis = axis[0] if isinstance(axis, list) else axis
    if type(axis) is not int or not -len(use.x.shape) <= axis < len(use.x.shape):
        raise InputError(f"there is no axis {axis}")
    size = use.x.shape[axis]
    for name in ("moving_mean", "moving_variance"):
        use.weight(name, size)
    scales = [
        use.weight(name, size)
        for name, key in (("gamma", "scale"), ("beta", "center"))
        if use.config.get(key, True)
    ]
    if use.alone and use.x.view in use.model.linear:
        use.builder.folded(use.name, use.kind)
        return use.x
    scale = scales[0] if scales else None
    return operators.normalization(use.builder, use.name, use.kind, use.x, scale, axis)


def normalization(use: Use) -> Value:
    """Read a normalisation over the last axis."""
    scale = None
    for name, key in (("gamma", "scale"), ("beta", "center")):
        if use.config.get(key, use.kind != "UnitNormalization"):
            weight = use.weight(name, use.x.shape[-1])
            scale = scale or weight
    return operators.normalization(use.builder, use.name, use.kind, use.x, scale, -1)


def pooling(use: Use) -> Value:
    """Read a pooling of any rank."""
    x = channels_first(use, use.x)
    windows = windows_of(use, x, "pool_size")
    operation = "max" if use.kind.startswith("Max") else "add"
    made = operators.pooling(use.builder, use.name, use.kind, x, windows, operation)
    return as_before(use, made)


def global_pooling(use: Use) -> Value:
    """Read a pooling over all places."""
    rank = rank_of(use)
    axes = range(2, 2 + rank) if first(use) else range(1, 1 + rank)
    keep = bool(use.config.get("keepdims", False))
    operation = "max" if "Max" in use.kind else "mean"
    return operators.reduction(use.builder, use.name, operation, use.x, list(axes), keep, "pool")


def elementwise(use: Use) -> Value:
    """Read one operation per element."""
    values = [*use.inputs, *use.named.values()]
    if use.kind == "PReLU":
        use.weight("alpha", *use.x.shape[1:])
    return operators.elementwise(use.builder, use.name, use.kind, values)


def softmax(use: Use) -> Value:
    """Read a softmax."""
    return operators.elementwise(use.builder, use.name, use.kind, [use.x], "softmax")


def concatenation(use: Use) -> Value:
    """Read a join along an axis, which is a view."""
    axis = use.config.get("axis", -1)
    rank = len(use.x.shape)
    if type(axis) is not int or not -rank <= axis < rank:
        raise InputError(f"there is no axis {axis}")
    axis %= rank
    others = {value.shape[:axis] + value.shape[axis + 1 :] for value in use.inputs}
    if len(others) > 1:
        raise InputError("what is joined differs in other axes as well")
    use.builder.moved(use.name, use.kind)
    return joined(use.inputs, axis)


def reshape(use: Use) -> Value:
    """Read other axes for the same words."""
    n, *rest = use.x.shape
    shape = [prod(rest)]
    if use.kind == "Reshape":
        shape = list(use.config["target_shape"])
        if any(type(size) is not int or (size < 1 and size != -1) for size in shape):
            raise InputError(f"target_shape is {shape}")
        known = prod(size for size in shape if size > 0)
        shape = [prod(rest) // known if size == -1 else size for size in shape]
    use.builder.moved(use.name, use.kind)
    return use.x.reshape(n, *shape)


def permute(use: Use) -> Value:
    """Read axes in another order."""
    dims = use.config["dims"]
    if sorted(dims) != list(range(1, len(use.x.shape))):
        raise InputError(f"dims is {dims}")
    use.builder.moved(use.name, use.kind)
    return use.x.transpose(0, *dims)


def edges(use: Use) -> Value:
    """Read words put around the places, or cut off there."""
    rank = rank_of(use)
    cuts = use.kind.startswith("Cropping")
    given = use.config["cropping" if cuts else "padding"]
    given = given if isinstance(given, list) else [given]
    if rank == 1 and all(type(pair) is int for pair in given):
        given = [given]
    pairs = [pair if isinstance(pair, list) else [pair, pair] for pair in given]
    pairs = [pair * 2 if len(pair) == 1 else pair for pair in pairs]
    if len(pairs) != rank or any(type(n) is not int or n < 0 for pair in pairs for n in pair):
        raise InputError(f"expected two numbers for each of {rank} axes, found {given}")
    x = channels_first(use, use.x)
    if cuts:
        sizes = zip(x.shape[2:], pairs, strict=True)
        ranges = [(before, size - after, 1) for size, (before, after) in sizes]
        x = x.slice([*((0, size, 1) for size in x.shape[:2]), *ranges])
    else:
        x = x.pad([(0, 0), (0, 0), *((before, after) for before, after in pairs)])
    use.builder.moved(use.name, use.kind)
    return as_before(use, x)


def upsampling(use: Use) -> Value:
    """Read words that are copied to more places."""
    x, rank = channels_first(use, use.x), rank_of(use)
    sizes = use.sizes("size", rank, 2)
    shape = (*x.shape[:2], *(n * m for n, m in zip(x.shape[2:], sizes, strict=True)))
    (made,) = use.builder.other(use.name, use.kind, [x], [shape], MOVES)
    return as_before(use, made)


def embedding(use: Use) -> Value:
    """Read rows of a table."""
    width = use.size("output_dim")
    use.weight("embeddings", use.size("input_dim"), width)
    shape = (*use.x.shape, width)
    (made,) = use.builder.other(use.name, use.kind, [use.x], [shape], MOVES)
    return made


def attention(use: Use) -> Value:
    """Read attention with several heads: four products with matrices, and two of attention."""
    named = dict(use.named)
    order = [named.get("query"), named.get("value"), named.get("key")]
    given = iter(use.inputs)
    query, value, key = (item if item is not None else next(given, None) for item in order)
    if query is None or value is None or len(query.shape) != 3:
        raise InputError("expected a query and a value of three axes")
    key = value if key is None else key
    heads, width = use.size("num_heads"), use.size("key_dim")
    wide = use.size("value_dim", width)
    n = query.shape[0]

    def projected(what: str, x: Value, size: int) -> Value:
        *outer, inner = x.shape
        w = use.weight(f"{what}.kernel", heads * size, inner)
        if use.config.get("use_bias", True):
            use.weight(f"{what}.bias", heads * size)
        flat = x.reshape(prod(outer), inner)
        made = products.matmul(use.builder, f"{use.name}.{what}", use.kind, flat, w, True)
        return made.reshape(n, x.shape[1], heads, size).transpose(0, 2, 1, 3)

    parts = (("query", query, width), ("key", key, width), ("value", value, wide))
    q, k, v = (projected(*part) for part in parts)
    made = products.attention(use.builder, use.name, use.kind, q, k, v)
    last = use.config.get("output_shape") or query.shape[-1]
    last = last[-1] if isinstance(last, list) else last
    joint = made.transpose(0, 2, 1, 3).reshape(n * query.shape[1], heads * wide)
    w = use.weight("output.kernel", last, heads * wide)
    if use.config.get("use_bias", True):
        use.weight("output.bias", last)
    out = products.matmul(use.builder, f"{use.name}.output", use.kind, joint, w, True)
    return out.reshape(n, query.shape[1], last)


def sequence(use: Use) -> Value:
    """Read a recurrent layer in one direction."""
    gates = {"LSTM": LSTM, "GRU": GRU}.get(use.kind, RNN)
    if len(use.x.shape) != 3 or use.config.get("return_state"):
        raise InputError("expected one sequence in and one out: states are not understood")
    units = use.size("units")
    w = use.weight("kernel", gates * units, use.x.shape[2])
    r = use.weight("recurrent_kernel", gates * units, units)
    if use.config.get("use_bias", True):
        both = gates == GRU and use.config.get("reset_after", True)
        use.weight("bias", gates * units * (2 if both else 1))
    x = use.x.transpose(1, 0, 2)
    made = recurrent(use.builder, use.name, use.kind, x, w, r, gates)
    return made.all.transpose(1, 0, 2) if use.config.get("return_sequences") else made.last


def identity(use: Use) -> Value:
    """Read what does nothing when the network runs."""
    use.builder.folded(use.name, use.kind)
    return use.x


def ranks(name: str, operator: Callable[[Use], Value], *of: int) -> dict[str, Any]:
    """Return an operator for the classes of several ranks."""
    return {f"{name}{rank}D": operator for rank in of or (1, 2, 3)}


OPERATORS: dict[str, Operator] = {
    **ranks("Conv", convolution),
    **ranks("DepthwiseConv", depthwise, 1, 2),
    **ranks("SeparableConv", separable, 1, 2),
    **{f"Conv{rank}DTranspose": transposed for rank in (1, 2, 3)},
    **ranks("MaxPooling", pooling),
    **ranks("AveragePooling", pooling),
    **ranks("GlobalMaxPooling", global_pooling),
    **ranks("GlobalAveragePooling", global_pooling),
    **ranks("ZeroPadding", edges),
    **ranks("Cropping", edges),
    **ranks("UpSampling", upsampling),
    **dict.fromkeys(ELEMENTWISE.split(), elementwise),
    **dict.fromkeys(IDENTITIES.split(), identity),
    **dict.fromkeys(NORMALIZATIONS.split(), normalization),
    **dict.fromkeys(("LSTM", "GRU", "SimpleRNN"), sequence),
    "BatchNormalization": batch_normalization,
    "Dense": dense,
    "Activation": lambda use: activated(use, use.x),
    "Softmax": softmax,
    "Concatenate": concatenation,
    "Flatten": reshape,
    "Reshape": reshape,
    "Permute": permute,
    "Embedding": embedding,
    "MultiHeadAttention": attention,
}

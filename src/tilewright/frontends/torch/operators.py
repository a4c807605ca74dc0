"""Operators of PyTorch (aten), composed ones and core ones, as what they add to the network."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from tilewright.frontends import operators, products
from tilewright.frontends.operators import Window
from tilewright.frontends.recurrent import GRU, LSTM, RNN, recurrent
from tilewright.frontends.torch.export import Importer, NotUnderstoodError, Operator
from tilewright.frontends.torch.program import Call
from tilewright.frontends.torch.views import VIEWS
from tilewright.frontends.values import Value, joined

CONVOLUTIONS = (
    "conv1d", "conv2d", "conv3d", "convolution", "_convolution", "conv_transpose1d",
    "conv_transpose2d", "conv_transpose3d",
)  # fmt: skip
PRODUCTS = ("linear", "addmm", "mm", "bmm", "matmul", "baddbmm")
ELEMENTWISE = """
abs acos acosh add addcdiv addcmul asin atan atan2 atanh bitwise_and bitwise_not bitwise_or
bitwise_xor ceil celu clamp clamp_max clamp_min clip copysign cos cosh cumsum deg2rad div elu eq
erf erfc exp exp2 expm1 fill floor floor_divide fmod ge gelu glu gt hardsigmoid hardswish hardtanh
isinf isnan le leaky_relu lerp log log10 log1p log2 log_sigmoid logical_and logical_not logical_or
logical_xor logit lt masked_fill maximum minimum mish mul ne neg nan_to_num pow prelu _prelu_kernel
reciprocal relu relu6 remainder rms round rsqrt rsub selu sigmoid sign silu sin sinh softplus
softshrink sqrt square sub tan tanh threshold tril triu true_divide trunc where xlogy hypot
"""
REDUCTIONS = """
all amax amin any argmax argmin cumprod linalg_vector_norm logsumexp max mean median min norm prod
std std_mean sum var var_mean
"""
NORMALIZATIONS = """
layer_norm native_layer_norm batch_norm _native_batch_norm_legit_no_training native_batch_norm
_native_batch_norm_legit group_norm native_group_norm instance_norm rms_norm _fused_rms_norm
cudnn_batch_norm
"""
POOLINGS = """
max_pool1d max_pool2d max_pool3d max_pool2d_with_indices max_pool3d_with_indices avg_pool1d
avg_pool2d avg_pool3d
"""
ADAPTIVE_POOLINGS = """
adaptive_avg_pool1d adaptive_avg_pool2d adaptive_avg_pool3d _adaptive_avg_pool2d
_adaptive_avg_pool3d adaptive_max_pool1d adaptive_max_pool2d
"""


def convolution(importer: Importer, call: Call) -> Sequence[Value]:
    """Read convolutions of any rank, transposed ones too; the bias is no operation."""
    x, w = importer.tensor(call, "input"), importer.tensor(call, "weight")
    importer.tensors(call, "bias")
    rank = len(w.shape) - 2
    alone = len(x.shape) == rank + 1
    x = x.reshape(1, *x.shape) if alone else x
    stride, dilation = (importer.per_axis(call, key, rank, 1) for key in ("stride", "dilation"))
    padding = call.arguments.get("padding")
    if padding == "same":
        pads = [(d * (size - 1) // 2, d * (size - 1) - d * (size - 1) // 2)
                for d, size in zip(dilation, w.shape[2:], strict=True)]  # fmt: skip
    elif padding == "valid":
        pads = [(0, 0)] * rank
    else:
        pads = [(n, n) for n in importer.per_axis(call, "padding", rank, 0)]
    beyond = importer.per_axis(call, "output_padding", rank, 0)
    windows = [
        Window(size, s, d, before, after, more)
        for size, s, d, (before, after), more in zip(
            w.shape[2:], stride, dilation, pads, beyond, strict=True
        )
    ]
    groups = importer.number(call, "groups", 1)
    transposed = "transpose" in call.target or bool(importer.number(call, "transposed", False))
    add = operators.transposed_convolution if transposed else operators.convolution
    return [add(importer.builder, call.name, call.target, x, w, windows, groups)]


def product(importer: Importer, call: Call) -> Sequence[Value]:
    """Read products of matrices; what is added to them is no operation."""
    name = call.target.removeprefix("aten.")
    first = {"linear": "input", "addmm": "mat1", "baddbmm": "batch1"}.get(name, "self")
    second = {"linear": "weight", "addmm": "mat2", "mm": "mat2", "bmm": "mat2",
              "baddbmm": "batch2"}.get(name, "other")  # fmt: skip
    importer.tensors(call, *(("bias",) if name == "linear" else ("self",)))
    a, b = importer.tensor(call, first), importer.tensor(call, second)
    transposed = name == "linear"
    return [products.matmul(importer.builder, call.name, call.target, a, b, transposed)]


def vector(importer: Importer, call: Call) -> Sequence[Value]:
    """Read products with vectors."""
    a, b = importer.tensor(call, "self"), importer.tensor(call, "vec", "tensor", "other")
    return [products.matmul(importer.builder, call.name, call.target, a, b)]


def einsum(importer: Importer, call: Call) -> Sequence[Value]:
    """Read a product of tensors by an equation."""
    values = importer.tensors(call, "tensors")
    equation = str(call.arguments.get("equation", ""))
    return [products.einsum(importer.builder, call.name, call.target, equation, values)]


def attention(importer: Importer, call: Call) -> Sequence[Value]:
    """Read attention as two products with a softmax between."""
    q, k, v = (importer.tensor(call, key) for key in ("query", "key", "value"))
    lead = q.shape[:-3]
    q, k, v = (t.reshape(prod(t.shape[:-3]), *t.shape[-3:]) for t in (q, k, v))
    made = products.attention(importer.builder, call.name, call.target, q, k, v)
    return [made.reshape(*lead, *made.shape[1:])]


def elementwise(importer: Importer, call: Call) -> Sequence[Value]:
    """Read one operation per element of all tensors; a bias after a product is none."""
    values = importer.tensors(call)
    if all(value.weight for value in values) and values[0].shape == importer.out(call):
        # what is done with weights alone is done before the network runs
        importer.builder.folded(call.name, call.target)
        return values[:1]
    plain = call.target == "aten.add" and len(values) == 2 and values[1].weight
    if plain and importer.follows(call, *PRODUCTS, *CONVOLUTIONS) and len(values[1].shape) == 1:
        importer.builder.folded(call.name, call.target)
        return values[:1]
    return [operators.elementwise(importer.builder, call.name, call.target, values)]


def softmax(importer: Importer, call: Call) -> Sequence[Value]:
    """Read a softmax or its logarithm."""
    x = importer.tensor(call, "self")
    return [operators.elementwise(importer.builder, call.name, call.target, [x], "softmax")]


def normalization(importer: Importer, call: Call) -> Sequence[Value]:
    """Read a normalisation with its scale; that of a batch is part of a convolution before."""
    x = importer.tensor(call, "input", "self")
    batch = "batch_norm" in call.target
    importer.tensors(call, "weight", "bias")
    if batch and importer.follows(call, *CONVOLUTIONS):
        importer.builder.folded(call.name, call.target)
        return [x]
    scales = importer.tensors(call, "weight")
    by_channel = batch or "group_norm" in call.target or "instance_norm" in call.target
    axis = 1 if by_channel else -len(scales[0].shape) if scales else -1
    return [
        operators.normalization(
            importer.builder, call.name, call.target, x, scales[0] if scales else None, axis
        )
    ]


def pooling(importer: Importer, call: Call) -> Sequence[Value]:
    """Read pooling of any rank."""
    x, out = importer.tensor(call, "self"), importer.out(call)
    rank = int(next(c for c in call.target if c.isdigit()))
    x = x.reshape(1, *x.shape) if len(x.shape) == rank + 1 else x
    sizes = importer.per_axis(call, "kernel_size", rank, 1)
    given = call.arguments.get("stride")
    strides = importer.per_axis(call, "stride", rank, 1) if given else sizes
    pads, dilations = (
        importer.per_axis(call, key, rank, default)
        for key, default in (("padding", 0), ("dilation", 1))
    )
    windows = [
        Window(size, stride, dilation, pad, pad)
        for size, stride, dilation, pad in zip(sizes, strides, dilations, pads, strict=True)
    ]
    ceil = bool(importer.number(call, "ceil_mode", False))
    operation = "max" if "max" in call.target else call.target
    made = operators.pooling(importer.builder, call.name, call.target, x, windows, operation, ceil)
    return [made.reshape(*out)]


def adaptive_pooling(importer: Importer, call: Call) -> Sequence[Value]:
    """Read pooling to a size: windows where that divides the input, as the global one does."""
    x, out = importer.tensor(call, "self"), importer.out(call)
    rank = int(next(c for c in call.target if c.isdigit()))
    places = out[-rank:]
    if all(n == 1 for n in places):
        axes = range(len(x.shape) - rank, len(x.shape))
        return [operators.reduction(
            importer.builder, call.name, call.target, x, axes, True, "pool")]  # fmt: skip
    if any(size % n for size, n in zip(x.shape[-rank:], places, strict=True)):
        raise NotUnderstoodError
    x = x.reshape(1, *x.shape) if len(x.shape) == rank + 1 else x
    windows = [
        Window(size // n, size // n) for size, n in zip(x.shape[-rank:], places, strict=True)
    ]
    return [operators.pooling(importer.builder, call.name, call.target, x, windows, call.target)]


def reduction(importer: Importer, call: Call) -> Sequence[Value]:
    """Read a reduction; with two tensors it is the larger or smaller of each pair."""
    values = importer.tensors(call)
    if len(values) > 1:
        return elementwise(importer, call)
    x, given = values[0], importer.number(call, "dim")
    axes = given if isinstance(given, list) else [] if given is None else [given]
    axes = axes or list(range(len(x.shape)))
    made = operators.reduction(importer.builder, call.name, call.target, x, axes, True)
    # of the largest of an axis there are the values and the places
    return [made] * max(1, len(call.outputs))


def sequence(importer: Importer, call: Call) -> Sequence[Value]:
    """Read recurrent layers, several and in both directions."""
    kind = call.target.removeprefix("aten.")
    gates = {"lstm": LSTM, "gru": GRU}.get(kind, RNN)
    x = importer.tensor(call, "input")
    params = importer.tensors(call, "params")
    states = importer.tensors(call, "hx")
    flat = len(x.shape) == 2
    x = x.reshape(x.shape[0], 1, x.shape[1]) if flat else x
    if importer.number(call, "batch_first", False) and not flat:
        x = x.transpose(1, 0, 2)
    sides = 2 if importer.number(call, "bidirectional", False) else 1
    each = 4 if importer.number(call, "has_biases", True) else 2
    layers = importer.number(call, "num_layers", 1)
    if len(params) != each * sides * layers or not states:
        raise NotUnderstoodError
    last, cells = [], []
    for layer in range(layers):
        outputs = []
        for side in range(sides):
            place = layer * sides + side
            w, r = params[each * place : each * place + 2]
            first = [s.part(0, place, place + 1).reshape(x.shape[1], s.shape[-1]) for s in states]
            made = recurrent(
                importer.builder, f"{call.name}.{layer + 1}" + ".back" * side, call.target, x, w, r,
                gates, first[0], first[1] if len(first) > 1 else None,
            )  # fmt: skip
            outputs.append(made.all)
            last.append(made.last.reshape(1, *made.last.shape))
            cells.append(made.cell.reshape(1, *made.cell.shape))
        x = joined(outputs, 2)
    if importer.number(call, "batch_first", False) and not flat:
        x = x.transpose(1, 0, 2)
    return [x, joined(last, 0), joined(cells, 0)]


OPERATORS: dict[str, Operator] = VIEWS | {
    "mv": vector,
    "dot": vector,
    "vdot": vector,
    "einsum": einsum,
    "scaled_dot_product_attention": attention,
    "_scaled_dot_product_flash_attention": attention,
    "_scaled_dot_product_flash_attention_for_cpu": attention,
    "_scaled_dot_product_efficient_attention": attention,
    "_scaled_dot_product_cudnn_attention": attention,
    "softmax": softmax,
    "_softmax": softmax,
    "_safe_softmax": softmax,
    "log_softmax": softmax,
    "_log_softmax": softmax,
    "lstm": sequence,
    "gru": sequence,
    "rnn_tanh": sequence,
    "rnn_relu": sequence,
}
for _operator, _names in (
    (convolution, CONVOLUTIONS),
    (product, PRODUCTS),
    (normalization, NORMALIZATIONS.split()),
    (pooling, POOLINGS.split()),
    (adaptive_pooling, ADAPTIVE_POOLINGS.split()),
    (elementwise, ELEMENTWISE.split()),
    (reduction, REDUCTIONS.split()),
):
    OPERATORS |= dict.fromkeys(_names, _operator)

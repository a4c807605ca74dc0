"""ONNX operators (https://onnx.ai/onnx/operators), each as what it adds to the network."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from tilewright.errors import InputError
from tilewright.frontends import operators, products
from tilewright.frontends.onnx.model import Importer, OnnxNode, Operator
from tilewright.frontends.onnx.recurrent import attention, gru, lstm, rnn
from tilewright.frontends.onnx.views import VIEWS
from tilewright.frontends.operators import Window
from tilewright.frontends.values import Value

UNARY = """
Abs Acos Acosh Asin Asinh Atan Atanh BitwiseNot Ceil Celu Clip Cos Cosh CumSum DequantizeLinear
DynamicQuantizeLinear Elu Erf Exp Floor Gelu HardSigmoid HardSwish Hardmax IsInf IsNaN LeakyRelu
Log Mish Neg Not QuantizeLinear Reciprocal Relu RotaryEmbedding Round Selu Shrink Sigmoid Sign Sin
Sinh Softplus Softsign Sqrt Swish Tan Tanh ThresholdedRelu Trilu
"""
BINARY = """
Add And BitShift BitwiseAnd BitwiseOr BitwiseXor Div Equal Greater GreaterOrEqual Less LessOrEqual
Max Mean Min Mod Mul Or PRelu Pow Sub Sum Where Xor
"""
REDUCTIONS = """
ReduceL1 ReduceL2 ReduceLogSum ReduceLogSumExp ReduceMax ReduceMean ReduceMin ReduceProd ReduceSum
ReduceSumSquare
"""


def unary(importer: Importer, node: OnnxNode) -> None:
    """Read one operation per element of the first input; the others are scales and the like."""
    x = importer.value(node.inputs[0])
    if not _prepared(importer, node, [x]):
        importer.put(node, operators.elementwise(importer.builder, node.name, node.op, [x]))


def binary(importer: Importer, node: OnnxNode) -> None:
    """Read one operation per element of all inputs; the bias of a product is none."""
    values = [importer.value(n) for n in node.inputs if n and not importer.is_number(n)]
    values = values or importer.inputs(node, 1)
    if _prepared(importer, node, values):
        return
    if node.op == "Add" and _is_bias(importer, node):
        importer.builder.folded(node.name, node.op, 0)
        data = node.inputs[1 if importer.is_constant(node.inputs[0]) else 0]
        importer.put(node, importer.value(data))
        return
    importer.put(node, operators.elementwise(importer.builder, node.name, node.op, values))


def _prepared(importer: Importer, node: OnnxNode, values: Sequence[Value]) -> bool:
    """Fold what is done with weights alone, before the network runs; say whether it is that."""
    shape = operators.broadcast_shape([value.shape for value in values])
    if not all(value.weight for value in values) or values[0].shape != shape:
        return False
    importer.builder.folded(node.name, node.op)
    importer.put(node, values[0])
    return True


def _is_bias(importer: Importer, node: OnnxNode) -> bool:
    for data, bias in (node.inputs, reversed(node.inputs)):
        maker = importer.makers.get(data)
        if (
            importer.is_constant(bias)
            and maker is not None
            and maker.op in ("MatMul", "Gemm", "Conv", "ConvTranspose", "Einsum")
            and importer.only_reader(data)
        ):
            axis = 1 if maker.op.startswith("Conv") else -1
            shape, given = importer.value(data).shape, importer.value(bias).shape
            return prod(given) in (1, shape[axis]) and len(given) <= len(shape)
    return False


def same(importer: Importer, node: OnnxNode) -> None:
    """Read what changes nothing when the network is used, or only the type of the elements."""
    importer.builder.folded(node.name, node.op)
    importer.put(node, importer.value(node.inputs[0]))


def softmax(importer: Importer, node: OnnxNode) -> None:
    """Read softmax and its logarithm."""
    x = importer.value(node.inputs[0])
    importer.put(node, operators.elementwise(importer.builder, node.name, node.op, [x], "softmax"))


def normalization(importer: Importer, node: OnnxNode) -> None:
    """Read normalisations: one operation per element, with a scale; the bias is none."""
    x, *rest = importer.inputs(node, 3)
    first = {"LayerNormalization": -1, "RMSNormalization": -1}.get(node.op, 1)
    axis = int(node.get("axis", first)) if first < 0 else 1
    scale = rest[0] if rest and node.op not in ("LRN", "LpNormalization") else None
    if scale is not None and scale.shape != x.shape[axis % len(x.shape) :][: len(scale.shape)]:
        scale = None
    made = operators.normalization(importer.builder, node.name, node.op, x, scale, axis)
    importer.put(node, made)


def batch_normalization(importer: Importer, node: OnnxNode) -> None:
    """Read a scale and a shift per channel: part of the convolution before, where there is one."""
    maker = importer.makers.get(node.inputs[0])
    convolution = maker is not None and maker.op in ("Conv", "ConvTranspose", "Gemm", "MatMul")
    if convolution and importer.only_reader(node.inputs[0]):
        importer.inputs(node, 3)
        importer.builder.folded(node.name, node.op)
        importer.put(node, importer.value(node.inputs[0]))
        return
    normalization(importer, node)


def _windows(node: OnnxNode, x: Value, kernel: tuple[int, ...]) -> list[Window]:
    rank = len(kernel)
    if len(x.shape) != rank + 2:
        raise InputError(f"an input of shape {list(x.shape)} and a filter {list(kernel)}")
    strides, dilations = node.ints("strides", [1] * rank), node.ints("dilations", [1] * rank)
    pads = node.ints("pads", [0] * 2 * rank)
    if len(strides) != rank or len(dilations) != rank or len(pads) != 2 * rank:
        raise InputError(f"strides, dilations or pads are not for {rank} axes")
    if min((*strides, *dilations, *kernel)) < 1:
        raise InputError("strides, dilations and filters are at least 1")
    auto = node.get("auto_pad", b"NOTSET").decode()
    windows = []
    for i, size in enumerate(x.shape[2:]):
        window = Window(kernel[i], strides[i], dilations[i], pads[i], pads[rank + i])
        if auto in ("SAME_UPPER", "SAME_LOWER"):
            places = -(-size // strides[i])
            total = max(0, (places - 1) * strides[i] + window.reach - size)
            small, large = total // 2, total - total // 2
            pair = (small, large) if auto == "SAME_UPPER" else (large, small)
            window = Window(kernel[i], strides[i], dilations[i], *pair)
        elif auto == "VALID":
            window = Window(kernel[i], strides[i], dilations[i])
        windows.append(window)
    return windows


def conv(importer: Importer, node: OnnxNode) -> None:
    """Read convolutions of any rank; the bias is no operation."""
    position = {"QLinearConv": 3}.get(node.op, 1)
    x, w = importer.value(node.inputs[0]), importer.value(node.inputs[position])
    if node.op == "Conv" and len(node.inputs) > 2 and node.inputs[2]:
        importer.value(node.inputs[2])
    windows = _windows(node, x, w.shape[2:])
    groups = int(node.get("group", 1))
    made = operators.convolution(importer.builder, node.name, node.op, x, w, windows, groups)
    importer.put(node, made)


def conv_transpose(importer: Importer, node: OnnxNode) -> None:
    """Read transposed convolutions; padding is what is cut off the output."""
    x, w, *_ = importer.inputs(node, 3)
    kernel = w.shape[2:]
    plain = _windows(node, x, kernel)
    more = node.ints("output_padding", [0] * len(kernel))
    wanted = node.get("output_shape")
    auto = node.get("auto_pad", b"NOTSET").decode()
    windows = []
    for i, (window, size) in enumerate(zip(plain, x.shape[2:], strict=True)):
        before, after, beyond = window.before, window.after, more[i]
        full = window.stride * (size - 1) + window.reach + beyond
        if wanted is not None or auto in ("SAME_UPPER", "SAME_LOWER"):
            end = int(wanted[-len(kernel) + i]) if wanted is not None else size * window.stride
            total = max(0, full - end)
            small, large = total // 2, total - total // 2
            before, after = (small, large) if auto == "SAME_UPPER" else (large, small)
            beyond += max(0, end - full)
        windows.append(Window(window.size, window.stride, window.dilation, before, after, beyond))
    groups = int(node.get("group", 1))
    importer.put(
        node,
        operators.transposed_convolution(
            importer.builder, node.name, node.op, x, w, windows, groups
        ),
    )


def pool(importer: Importer, node: OnnxNode) -> None:
    """Read pooling of any rank."""
    x = importer.value(node.inputs[0])
    windows = _windows(node, x, tuple(node.ints("kernel_shape", [])))
    operation = "max" if node.op == "MaxPool" else node.op
    ceil = bool(node.get("ceil_mode", 0))
    made = operators.pooling(importer.builder, node.name, node.op, x, windows, operation, ceil)
    importer.put(node, made)


def global_pool(importer: Importer, node: OnnxNode) -> None:
    """Read pooling of whole channels."""
    x = importer.value(node.inputs[0])
    axes = range(2, len(x.shape))
    made = operators.reduction(importer.builder, node.name, node.op, x, axes, True, "pool")
    importer.put(node, made)


def reduction(importer: Importer, node: OnnxNode) -> None:
    """Read reductions over some axes, or all."""
    x = importer.value(node.inputs[0])
    axes = importer.whole(node, 1, "axes")
    keep = bool(node.get("keepdims", 1))
    if not axes and node.get("noop_with_empty_axes", 0):
        importer.view(node, x)
        return
    axes = axes or list(range(len(x.shape)))
    made = operators.reduction(importer.builder, node.name, node.op, x, axes, keep)
    importer.put(node, made)


def arg(importer: Importer, node: OnnxNode) -> None:
    """Read where the largest or smallest is."""
    x = importer.value(node.inputs[0])
    axis, keep = int(node.get("axis", 0)), bool(node.get("keepdims", 1))
    made = operators.reduction(importer.builder, node.name, node.op, x, [axis], keep)
    importer.put(node, made)


def gemm(importer: Importer, node: OnnxNode) -> None:
    """Read a product of matrices; what is added to it is no operation."""
    a, b, *_ = importer.inputs(node, 3)
    if len(a.shape) != 2 or len(b.shape) != 2:
        raise InputError(f"{list(a.shape)} and {list(b.shape)} are no matrices")
    a = a.transpose(1, 0) if node.get("transA", 0) else a
    transposed = bool(node.get("transB", 0))
    importer.put(node, products.matmul(importer.builder, node.name, node.op, a, b, transposed))


def matmul(importer: Importer, node: OnnxNode) -> None:
    """Read a product of matrices, broadcast."""
    second = 3 if node.op == "QLinearMatMul" else 1
    a, b = importer.value(node.inputs[0]), importer.value(node.inputs[second])
    importer.put(node, products.matmul(importer.builder, node.name, node.op, a, b))


def einsum(importer: Importer, node: OnnxNode) -> None:
    """Read a product of tensors by an equation."""
    equation = node.get("equation", b"").decode()
    values = importer.inputs(node)
    importer.put(node, products.einsum(importer.builder, node.name, node.op, equation, values))


OPERATORS: dict[str, Operator] = VIEWS | {
    "Identity": same,
    "Dropout": same,
    "Cast": same,
    "CastLike": same,
    "Softmax": softmax,
    "LogSoftmax": softmax,
    "LayerNormalization": normalization,
    "RMSNormalization": normalization,
    "InstanceNormalization": normalization,
    "GroupNormalization": normalization,
    "LRN": normalization,
    "LpNormalization": normalization,
    "MeanVarianceNormalization": normalization,
    "BatchNormalization": batch_normalization,
    "Conv": conv,
    "ConvInteger": conv,
    "QLinearConv": conv,
    "ConvTranspose": conv_transpose,
    "MaxPool": pool,
    "AveragePool": pool,
    "LpPool": pool,
    "GlobalAveragePool": global_pool,
    "GlobalMaxPool": global_pool,
    "GlobalLpPool": global_pool,
    "ArgMax": arg,
    "ArgMin": arg,
    "Gemm": gemm,
    "MatMul": matmul,
    "MatMulInteger": matmul,
    "QLinearMatMul": matmul,
    "Einsum": einsum,
    "Attention": attention,
    "LSTM": lstm,
    "GRU": gru,
    "RNN": rnn,
}
OPERATORS |= dict.fromkeys(UNARY.split(), unary)
OPERATORS |= dict.fromkeys(BINARY.split(), binary)
OPERATORS |= dict.fromkeys(REDUCTIONS.split(), reduction)

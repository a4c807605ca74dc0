"""Operators compute what their names say: loop nests against direct NumPy."""

from __future__ import annotations

import re
from inspect import signature
from itertools import product
from math import prod
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

from tilewright.errors import InputError
from tilewright.workload import OPERATORS, Layer, Tensor
from tilewright.workload.operators import (
    add,
    conv1d,
    conv2d,
    conv3d,
    depthwise,
    fully_connected,
    grouped,
    matmul,
    pointwise,
    pooling,
    transposed_conv2d,
)

Array = NDArray[np.int64]
SIZE = st.integers(1, 3)
PAIR = st.lists(SIZE, min_size=2, max_size=2)


def shape(tensor: Tensor, layer: Layer) -> tuple[int, ...]:
    """Words of each axis from index 0 to the last that is touched."""
    return tuple(
        1 + sum(t.coefficient * (layer.bounds[t.dimension] - 1) for t in terms)
        for terms in tensor.expressions
    )


def operands(layer: Layer, seed: int = 0) -> list[Array]:
    random = np.random.default_rng(seed)
    return [random.integers(-9, 10, shape(tensor, layer)) for tensor in layer.inputs]


def run(layer: Layer, inputs: list[Array]) -> Array:
    """Execute the loop nest, one iteration at a time."""
    start = -100 if layer.operation == "max" else 0
    output: Array = np.full(shape(layer.output, layer), start, dtype=np.int64)
    combine = {"mac": prod, "add": sum, "max": max}[layer.operation]
    for point in product(*map(range, layer.bounds.values())):
        at = dict(zip(layer.bounds, point, strict=True))

        def word(tensor: Tensor, at: dict[str, int] = at) -> tuple[int, ...]:
            return tuple(
                sum(t.coefficient * at[t.dimension] for t in terms) for terms in tensor.expressions
            )

        value = combine(int(x[word(t)]) for x, t in zip(inputs, layer.inputs, strict=True))
        here = word(layer.output)
        output[here] = (
            max(output[here], value) if layer.operation == "max" else (output[here] + value)
        )
    return output


def windows(
    image: Array, filter_size: tuple[int, ...], stride: list[int], dilation: list[int]
) -> Array:
    """Windows of the last axes: ``[..., output position, ..., filter position, ...]``."""
    n = len(filter_size)
    reach = [d * (r - 1) + 1 for d, r in zip(dilation, filter_size, strict=True)]
    view = sliding_window_view(image, reach, tuple(range(-n, 0)))
    steps = [slice(None, None, s) for s in stride] + [slice(None, None, d) for d in dilation]
    result: Array = view[(..., *steps)]
    return result


@given(N=SIZE, K=SIZE, C=SIZE, P=SIZE, Q=SIZE, R=SIZE, S=SIZE, stride=PAIR, dilation=PAIR)
def test_conv2d_is_the_strided_dilated_convolution(
    N: int, K: int, C: int, P: int, Q: int, R: int, S: int, stride: list[int], dilation: list[int]
) -> None:
    layer = conv2d(N=N, K=K, C=C, P=P, Q=Q, R=R, S=S, stride=stride, dilation=dilation)
    image, weights = operands(layer)
    view = windows(image, (R, S), stride, dilation)
    expected = np.einsum("ncpqrs,kcrs->nkpq", view, weights)
    assert np.array_equal(run(layer, [image, weights]), expected)


def test_conv1d_and_conv3d_are_the_convolutions_of_their_rank() -> None:
    line = conv1d(N=2, K=2, C=3, P=4, R=3, stride=2)
    image, weights = operands(line)
    view = windows(image, (3,), [2], [1])
    assert np.array_equal(run(line, [image, weights]), np.einsum("ncpr,kcr->nkp", view, weights))
    volume = conv3d(K=2, C=2, D=2, P=2, Q=3, T=2, R=2, S=1, stride=[1, 2, 1])
    image, weights = operands(volume)
    view = windows(image, (2, 2, 1), [1, 2, 1], [1, 1, 1])
    expected = np.einsum("ncdpqtrs,kctrs->nkdpq", view, weights)
    assert np.array_equal(run(volume, [image, weights]), expected)


@given(G=SIZE, K=SIZE, C=SIZE, P=SIZE, R=SIZE, stride=SIZE)
def test_grouped_is_one_convolution_per_group(
    G: int, K: int, C: int, P: int, R: int, stride: int
) -> None:
    sizes = {"K": K, "C": C, "P": P, "Q": 2, "R": R, "S": 2, "stride": stride}
    layer = grouped(G=G, **sizes)
    image, weights = operands(layer)
    result = run(layer, [image, weights])
    for g in range(G):
        assert np.array_equal(result[:, g], run(conv2d(**sizes), [image[:, g], weights[g]]))


def test_depthwise_is_grouped_with_one_channel_per_group() -> None:
    sizes = {"G": 3, "P": 3, "Q": 2, "R": 3, "S": 2, "stride": 2}
    layer = depthwise(**sizes)
    image, weights = operands(layer)
    one = run(grouped(K=1, C=1, **sizes), [image[:, :, None], weights[:, None, None]])
    assert np.array_equal(run(layer, [image, weights]), one[:, :, 0])


def test_pointwise_is_a_convolution_with_a_filter_of_one() -> None:
    layer = pointwise(K=3, C=2, P=3, Q=2, stride=[2, 3])
    image, weights = operands(layer)
    wide = conv2d(K=3, C=2, P=3, Q=2, R=1, S=1, stride=[2, 3])
    assert np.array_equal(
        run(layer, [image, weights]), run(wide, [image, weights[:, :, None, None]])
    )


@given(K=SIZE, C=SIZE, P=SIZE, Q=SIZE, R=SIZE, S=SIZE, stride=PAIR, dilation=PAIR)
def test_transposed_convolution_is_the_adjoint_of_the_convolution(
    K: int, C: int, P: int, Q: int, R: int, S: int, stride: list[int], dilation: list[int]
) -> None:
    sizes = {"P": P, "Q": Q, "R": R, "S": S, "stride": stride, "dilation": dilation}
    up = transposed_conv2d(K=K, C=C, **sizes)  # type: ignore[arg-type]
    down = conv2d(K=C, C=K, **sizes)  # type: ignore[arg-type]
    small, weights = operands(up)
    (large, _) = operands(down, seed=1)
    lifted = run(up, [small, weights])
    lowered = run(down, [large, weights.swapaxes(0, 1)])
    assert (lifted * large).sum() == (small * lowered).sum()


def test_transposed_convolution_is_a_convolution_of_the_zero_inserted_input() -> None:
    layer = transposed_conv2d(K=2, C=3, P=3, Q=4, R=3, S=2, stride=2)
    small, weights = operands(layer)
    dense = np.zeros((1, 3, 5 + 2 * 2, 7 + 2 * 1), dtype=np.int64)
    dense[:, :, 2:7:2, 1:8:2] = small
    view = windows(dense, (3, 2), [1, 1], [1, 1])
    expected = np.einsum("ncpqrs,kcrs->nkpq", view, weights[:, :, ::-1, ::-1])
    assert np.array_equal(run(layer, [small, weights]), expected)


def test_matrix_products_are_matrix_products() -> None:
    layer = matmul(M=3, N=4, K=5)
    left, right = operands(layer)
    assert np.array_equal(run(layer, [left, right]), left @ right)
    layer = matmul(B=2, M=3, N=4, K=5)
    left, right = operands(layer)
    assert np.array_equal(run(layer, [left, right]), left @ right)
    layer = fully_connected(N=2, K=3, C=4)
    left, right = operands(layer)
    assert np.array_equal(run(layer, [left, right]), left @ right.T)


def test_pooling_is_the_largest_of_each_window() -> None:
    layer = pooling(C=2, P=3, Q=2, R=3, S=2, stride=2)
    (image,) = operands(layer)
    expected = windows(image, (3, 2), [2, 2], [1, 1]).max((-2, -1))
    assert np.array_equal(run(layer, [image]), expected)


def test_add_is_the_sum_of_two_tensors() -> None:
    layer = add(N=2, C=3, P=2, Q=2)
    left, right = operands(layer)
    assert np.array_equal(run(layer, [left, right]), left + right)


@pytest.mark.parametrize("name", OPERATORS)
def test_every_operator_takes_its_sizes_a_name_bits_density_and_repeat(name: str) -> None:
    operator = OPERATORS[name]
    sizes = {key: 2 for key, p in signature(operator).parameters.items() if p.default is p.empty}
    sizes.pop("keys")
    layer = operator(**sizes, name="x", bits={"O": 16}, density={"I": 0.5}, repeat=3)
    assert (layer.name, layer.repeat, layer.output.bits) == ("x", 3, 16)
    assert layer.inputs[0].density == 0.5
    assert layer.operations == prod(layer.bounds.values())


def test_documentation_lists_the_operators_with_their_einsums_and_keys() -> None:
    page = Path(__file__).parents[2] / "docs" / "reference" / "workloads.md"
    rows = re.findall(r"^\| `(\w+)` \| `(.*?)` \| (.*?) \|", page.read_text(), re.MULTILINE)
    shown = {name: (expression, keys.split(", ")) for name, expression, keys in rows}
    assert list(shown) == list(OPERATORS)
    for name, (expression, keys) in shown.items():
        accepted = [key for key in signature(OPERATORS[name]).parameters if key != "keys"]
        assert keys == accepted
        required = {key: 2 for key in keys if key not in ("stride", "dilation")}
        assert OPERATORS[name](**required).einsum == expression


@pytest.mark.parametrize(
    ("stride", "says"),
    [(0, "found 0"), ([1], "one number or 2"), ([1, 2, 3], "found 3"), (1.5, "found 1.5")],
)
def test_strides_are_positive_numbers_one_per_axis(stride: object, says: str) -> None:
    with pytest.raises(InputError, match=says) as caught:
        conv2d(K=1, C=1, P=1, Q=1, R=1, S=1, stride=stride)  # type: ignore[arg-type]
    assert caught.value.key == "stride"

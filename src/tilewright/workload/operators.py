"""The operators that everybody uses, each as the einsum that it stands for.

A new operator is one more function and its name in `OPERATORS`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TypedDict, Unpack

from tilewright.errors import InputError
from tilewright.workload.einsum import einsum, whole_number
from tilewright.workload.layer import Layer
from tilewright.workload.notation import MAX_COEFFICIENT

PerAxis = int | Sequence[int]


class LayerKeys(TypedDict, total=False):
    """What every operator takes besides its sizes; see `tilewright.workload.einsum`."""

    name: str
    bits: Mapping[str, int] | None
    density: Mapping[str, float] | None
    layout: Mapping[str, str] | None
    repeat: int


def conv1d(
    *,
    N: int = 1,
    K: int,
    C: int,
    P: int,
    R: int,
    stride: PerAxis = 1,
    dilation: PerAxis = 1,
    **keys: Unpack[LayerKeys],
) -> Layer:
    """Return a 1-D convolution; N batch, K and C channels, P output length, R filter length."""
    (x,) = _windows("P+R", stride, dilation)
    return einsum(f"O[N,K,P] += I[N,C,{x}] * W[K,C,R]", N=N, K=K, C=C, P=P, R=R, **keys)


def conv2d(
    *,
    N: int = 1,
    K: int,
    C: int,
    P: int,
    Q: int,
    R: int,
    S: int,
    stride: PerAxis = 1,
    dilation: PerAxis = 1,
    **keys: Unpack[LayerKeys],
) -> Layer:
    """Return a 2-D convolution.

    Parameters
    ----------
    N, K, C : int
        Batch, output channels, input channels.
    P, Q : int
        Height and width of the output.
    R, S : int
        Height and width of the filter.
    stride, dilation : int or sequence of int
        For both axes, or one number for each.
    **keys
        ``name``, ``bits``, ``density`` and ``repeat`` of the layer.

    Examples
    --------
    >>> conv2d(K=64, C=3, P=112, Q=112, R=7, S=7, stride=2).einsum
    'O[N,K,P,Q] += I[N,C,2*P+R,2*Q+S] * W[K,C,R,S]'
    """
    y, x = _windows("P+R Q+S", stride, dilation)
    return einsum(
        f"O[N,K,P,Q] += I[N,C,{y},{x}] * W[K,C,R,S]", N=N, K=K, C=C, P=P, Q=Q, R=R, S=S, **keys
    )


def conv3d(
    *,
    N: int = 1,
    K: int,
    C: int,
    D: int,
    P: int,
    Q: int,
    T: int,
    R: int,
    S: int,
    stride: PerAxis = 1,
    dilation: PerAxis = 1,
    **keys: Unpack[LayerKeys],
) -> Layer:
    """Return a 3-D convolution: as `conv2d`, with output depth D and filter depth T."""
    z, y, x = _windows("D+T P+R Q+S", stride, dilation)
    return einsum(
        f"O[N,K,D,P,Q] += I[N,C,{z},{y},{x}] * W[K,C,T,R,S]",
        N=N,
        K=K,
        C=C,
        D=D,
        P=P,
        Q=Q,
        T=T,
        R=R,
        S=S,
        **keys,
    )


def depthwise(
    *,
    N: int = 1,
    G: int,
    P: int,
    Q: int,
    R: int,
    S: int,
    stride: PerAxis = 1,
    dilation: PerAxis = 1,
    **keys: Unpack[LayerKeys],
) -> Layer:
    """Return a depthwise 2-D convolution: G channels, each with a filter of its own."""
    y, x = _windows("P+R Q+S", stride, dilation)
    return einsum(f"O[N,G,P,Q] += I[N,G,{y},{x}] * W[G,R,S]", N=N, G=G, P=P, Q=Q, R=R, S=S, **keys)


def grouped(
    *,
    N: int = 1,
    G: int,
    K: int,
    C: int,
    P: int,
    Q: int,
    R: int,
    S: int,
    stride: PerAxis = 1,
    dilation: PerAxis = 1,
    **keys: Unpack[LayerKeys],
) -> Layer:
    """Return a 2-D convolution in G groups; K and C are the channels of one group."""
    y, x = _windows("P+R Q+S", stride, dilation)
    return einsum(
        f"O[N,G,K,P,Q] += I[N,G,C,{y},{x}] * W[G,K,C,R,S]",
        N=N,
        G=G,
        K=K,
        C=C,
        P=P,
        Q=Q,
        R=R,
        S=S,
        **keys,
    )


def pointwise(
    *,
    N: int = 1,
    K: int,
    C: int,
    P: int,
    Q: int,
    stride: PerAxis = 1,
    **keys: Unpack[LayerKeys],
) -> Layer:
    """Return a 2-D convolution with a 1x1 filter."""
    y, x = _windows("P Q", stride)
    return einsum(f"O[N,K,P,Q] += I[N,C,{y},{x}] * W[K,C]", N=N, K=K, C=C, P=P, Q=Q, **keys)


def transposed_conv2d(
    *,
    N: int = 1,
    K: int,
    C: int,
    P: int,
    Q: int,
    R: int,
    S: int,
    stride: PerAxis = 1,
    dilation: PerAxis = 1,
    **keys: Unpack[LayerKeys],
) -> Layer:
    """Return a transposed 2-D convolution; P and Q are the height and width of its *input*.

    Notes
    -----
    It is the convolution with input and output exchanged: every input pixel is multiplied by the
    whole filter and added to the window of the output at its place. Nothing is multiplied
    by inserted zeros, and there are N*K*C*P*Q*R*S multiply-accumulates for any stride and filter
    (V. Dumoulin, F. Visin, A guide to convolution arithmetic for deep learning,
    arXiv:1603.07285, chapter 4).
    """
    y, x = _windows("P+R Q+S", stride, dilation)
    return einsum(
        f"O[N,K,{y},{x}] += I[N,C,P,Q] * W[K,C,R,S]", N=N, K=K, C=C, P=P, Q=Q, R=R, S=S, **keys
    )


def fully_connected(*, N: int = 1, K: int, C: int, **keys: Unpack[LayerKeys]) -> Layer:
    """Return a fully connected layer from C to K features, for a batch of N."""
    return einsum("O[N,K] += I[N,C] * W[K,C]", N=N, K=K, C=C, **keys)


def matmul(*, B: int | None = None, M: int, N: int, K: int, **keys: Unpack[LayerKeys]) -> Layer:
    """Return the product of an MxK and a KxN matrix, or of B pairs of them."""
    if B is None:
        return einsum("O[M,N] += I[M,K] * W[K,N]", M=M, N=N, K=K, **keys)
    return einsum("O[B,M,N] += I[B,M,K] * W[B,K,N]", B=B, M=M, N=N, K=K, **keys)


def pooling(
    *,
    N: int = 1,
    C: int,
    P: int,
    Q: int,
    R: int,
    S: int,
    stride: PerAxis = 1,
    dilation: PerAxis = 1,
    **keys: Unpack[LayerKeys],
) -> Layer:
    """Return a 2-D max pooling over windows of RxS; the stride is 1 unless it is given."""
    y, x = _windows("P+R Q+S", stride, dilation)
    return einsum(
        f"O[N,C,P,Q] += I[N,C,{y},{x}]",
        operation="max",
        N=N,
        C=C,
        P=P,
        Q=Q,
        R=R,
        S=S,
        **keys,
    )


def add(*, N: int = 1, C: int, P: int = 1, Q: int = 1, **keys: Unpack[LayerKeys]) -> Layer:
    """Return the sum of two tensors, element by element."""
    expression = "O[N,C,P,Q] += I[N,C,P,Q] * W[N,C,P,Q]"
    return einsum(expression, operation="add", N=N, C=C, P=P, Q=Q, **keys)


OPERATORS: dict[str, Callable[..., Layer]] = {
    operator.__name__: operator
    for operator in (
        conv1d,
        conv2d,
        conv3d,
        depthwise,
        grouped,
        pointwise,
        transposed_conv2d,
        fully_connected,
        matmul,
        pooling,
        add,
    )
}


def _windows(axes: str, stride: PerAxis, dilation: PerAxis = 1) -> list[str]:
    """Return one index expression per axis: ``P+R`` with stride 2 becomes ``2*P+R``."""
    pairs = [axis.split("+") for axis in axes.split()]
    factors = [
        _per_axis("stride", stride, len(pairs)),
        _per_axis("dilation", dilation, len(pairs)),
    ]
    return [
        "+".join(f"{by}*{dim}" for by, dim in zip(axis, pair, strict=False))
        for axis, pair in zip(zip(*factors, strict=True), pairs, strict=True)
    ]


def _per_axis(key: str, value: PerAxis, axes: int) -> list[int]:
    values = list(value) if isinstance(value, Sequence) else [value] * axes
    if len(values) != axes:
        raise InputError(
            f"{key} must be one number or {axes}, one per axis, found {len(values)}", key=key
        )
    return [whole_number(f"the {key}", number, MAX_COEFFICIENT, key) for number in values]

"""Layers of networks that ship, and odd ones: each seed gives one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from random import Random

from tilewright.workload import operators as op
from tilewright.workload.layer import Layer
from tilewright.workload.network import load_network, zoo_names

PRIMES = (3, 5, 7, 11, 13, 17, 23, 31, 37, 53, 61, 73, 97, 101, 127, 131, 197, 251, 257, 509)
CHANNELS = (16, 24, 32, 48, 64, 96, 128, 160, 192, 256, 320, 384, 512)
SIDES = (7, 8, 13, 14, 19, 28, 32, 35, 56, 64, 75, 112)
BITS = ({"I": 8, "W": 8, "O": 32}, {"I": 8, "W": 8, "O": 16}, {"I": 16, "W": 8, "O": 16})


def prime_product(rng: Random) -> Layer:
    """Return a matrix product with sizes that have no divisors."""
    m, n, k = (rng.choice(PRIMES[6:]) for _ in "MNK")
    return op.matmul(M=m, N=n, K=k, name=f"product-{m}x{n}x{k}")


def prime_convolution(rng: Random) -> Layer:
    """Return a convolution with an image and channels of prime sizes."""
    side, r = rng.choice(PRIMES[3:13]), rng.choice((1, 3, 5))
    k, c = (rng.choice(PRIMES[5:17]) for _ in "KC")
    return op.conv2d(K=k, C=c, P=side, Q=side, R=r, S=r, name=f"conv-{k}x{c}x{side}x{side}x{r}x{r}")


def narrow_convolution(rng: Random) -> Layer:
    """Return a convolution with filters of one row or one column."""
    k, c, side, s = *rng.choices(CHANNELS, k=2), rng.choice(SIDES), rng.choice((3, 5, 7, 15, 31))
    filters = {"R": 1, "S": s} if rng.random() < 0.5 else {"R": s, "S": 1}
    name = f"conv-{k}x{c}x{side}x{side}x{filters['R']}x{filters['S']}"
    return op.conv2d(K=k, C=c, P=side, Q=side, **filters, name=name)


def vector_product(rng: Random) -> Layer:
    """Return the product of a matrix and a vector, or a few of them."""
    n, k, c = (
        rng.choice((1, 1, 1, 2, 5)),
        rng.choice((1000, 4096, 11008, 768)),
        rng.choice((4096, 2048, 9216, 25088)),
    )
    return op.fully_connected(N=n, K=k, C=c, name=f"vector-{n}x{k}x{c}")


def large_depthwise(rng: Random) -> Layer:
    """Return a depthwise convolution with many channels or a large image."""
    g, side = rng.choice(((2048, 14), (1152, 28), (960, 56), (672, 112), (144, 224)))
    r, stride = rng.choice((3, 3, 5, 7)), rng.choice((1, 1, 2))
    name = f"depthwise-{g}x{side}x{side}x{r}x{r}s{stride}"
    return op.depthwise(G=g, P=side, Q=side, R=r, S=r, stride=stride, name=name)


def attention(rng: Random) -> Layer:
    """Return one of the two products of attention."""
    heads, tokens, width = (
        rng.choice((8, 12, 16, 32)),
        rng.choice((197, 256, 512, 1024, 1500)),
        rng.choice((64, 80, 128)),
    )
    queries = rng.choice((tokens, tokens, 1))
    if rng.random() < 0.5:
        name = f"scores-{heads}x{queries}x{tokens}x{width}"
        return op.matmul(B=heads, M=queries, N=tokens, K=width, name=name)
    name = f"context-{heads}x{queries}x{width}x{tokens}"
    return op.matmul(B=heads, M=queries, N=width, K=tokens, name=name)


def spaced_convolution(rng: Random) -> Layer:
    """Return a convolution with strides or dilation, or both."""
    k, c, side, r = *rng.choices(CHANNELS, k=2), rng.choice(SIDES), rng.choice((1, 3, 3, 5, 7))
    stride, dilation = rng.choice(((2, 1), (3, 1), (4, 1), (1, 2), (1, 4), (2, 2), (1, 12)))
    name = f"conv-{k}x{c}x{side}x{side}x{r}x{r}s{stride}d{dilation}"
    return op.conv2d(
        K=k, C=c, P=side, Q=side, R=r, S=r, stride=stride, dilation=dilation, name=name
    )


def transposed(rng: Random) -> Layer:
    """Return a transposed convolution."""
    k, c, side = *rng.choices(CHANNELS, k=2), rng.choice(SIDES[:8])
    r, stride = rng.choice(((4, 2), (2, 2), (3, 2), (4, 4), (5, 2)))
    name = f"transposed-{k}x{c}x{side}x{side}x{r}x{r}s{stride}"
    return op.transposed_conv2d(K=k, C=c, P=side, Q=side, R=r, S=r, stride=stride, name=name)


def volume(rng: Random) -> Layer:
    """Return a convolution of volumes."""
    k, c, side, d = (
        *rng.choices(CHANNELS[:9], k=2),
        rng.choice((7, 14, 16, 28, 56)),
        rng.choice((2, 4, 8, 16)),
    )
    t, r = rng.choice(((3, 3), (3, 3), (1, 3), (3, 1), (5, 5)))
    name = f"volume-{k}x{c}x{d}x{side}x{side}x{t}x{r}x{r}"
    return op.conv3d(K=k, C=c, D=d, P=side, Q=side, T=t, R=r, S=r, name=name)


def grouped(rng: Random) -> Layer:
    """Return a convolution in groups."""
    g, k, side = rng.choice((2, 4, 8, 32, 64)), rng.choice((4, 8, 16, 24, 60)), rng.choice(SIDES)
    name = f"grouped-{g}x{k}x{k}x{side}x{side}x3x3"
    return op.grouped(G=g, K=k, C=k, P=side, Q=side, R=3, S=3, name=name)


def sequence(rng: Random) -> Layer:
    """Return a convolution of a long sequence."""
    k, c, p, r = (
        *rng.choices(CHANNELS, k=2),
        rng.choice((1500, 3000, 16000)),
        rng.choice((3, 9, 41)),
    )
    return op.conv1d(K=k, C=c, P=p, R=r, name=f"sequence-{k}x{c}x{p}x{r}")


def batched(rng: Random) -> Layer:
    """Return a convolution of several images."""
    n, k, c, side = rng.choice((2, 8, 16)), *rng.choices(CHANNELS, k=2), rng.choice(SIDES[:8])
    name = f"batch-{n}x{k}x{c}x{side}x{side}x3x3"
    return op.conv2d(N=n, K=k, C=c, P=side, Q=side, R=3, S=3, name=name)


def two_tensors(rng: Random) -> Layer:
    """Return a sum of two tensors, or the largest of each window of one."""
    c, side = rng.choice(CHANNELS), rng.choice(SIDES)
    if rng.random() < 0.5:
        return op.add(C=c, P=side, Q=side, name=f"add-{c}x{side}x{side}")
    name = f"pooling-{c}x{side}x{side}x3x3s2"
    return op.pooling(C=c, P=side, Q=side, R=3, S=3, stride=2, name=name)


ODD: tuple[Callable[[Random], Layer], ...] = (
    prime_product, prime_convolution, narrow_convolution, vector_product, large_depthwise,
    attention, attention, spaced_convolution, spaced_convolution, transposed, volume, grouped,
    sequence, batched, two_tensors,
)  # fmt: skip


def zoo_layer(rng: Random) -> Layer:
    """Return a layer of a network that ships, each network alike."""
    name = rng.choice(zoo_names())
    layer = rng.choice(load_network(name).layers)
    return replace(layer, name=f"{name}.{layer.name}", repeat=1)


def random_layer(seed: int) -> Layer:
    """Return a layer of some network, or one of an odd size.

    Parameters
    ----------
    seed : int
        Equal seeds give equal layers.
    """
    rng = Random(f"layer {seed}")
    layer = zoo_layer(rng) if rng.random() < 0.5 else rng.choice(ODD)(rng)
    if rng.random() > 0.25:
        return layer
    bits = rng.choice(BITS)
    tensors = tuple(replace(tensor, bits=bits[tensor.role]) for tensor in layer.tensors)
    return replace(layer, tensors=tensors, name=f"{layer.name}-{bits['I']}b{bits['O']}b")

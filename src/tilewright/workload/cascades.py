"""Parts of networks with all their operations as layers: attention, feed-forward, bottlenecks.

In networks that ship, softmax and activations are left out of the layers. Here they are layers, so
that they can be fused. Attention comes in variants, of which the mapper chooses.
"""

from __future__ import annotations

from typing import Any

from tilewright.document import Document
from tilewright.errors import InputError
from tilewright.workload.layer import Network
from tilewright.workload.network import parse_network


def attention(
    *, heads: int, queries: int, keys: int, depth: int, block: int = 128, name: str = "attention"
) -> Network:
    """Return attention with softmax in three, two or one passes over the keys.

    Parameters
    ----------
    heads, queries, keys, depth : int
        Heads, tokens that ask, tokens that are asked, and words of a head.
    block : int
        Keys that the variant of one pass takes at a time; it divides the keys.
    name : str
        Of the network.

    Notes
    -----
    - *three passes*: the largest score, the sum of exponentials, the division; then the product
      with the values.
    - *two passes*: exponentials are multiplied with the values at once, and divided at last.
    - *one pass*, as FlashAttention does: a block of keys after the other, with the largest score
      so far; what earlier blocks have added up is scaled anew. The sum of exponentials is one more
      column of the values. That the largest score is taken over from the block before is not told:
      it is one word for each query, and stays where it is.
    """
    if keys % block:
        raise InputError(f"block {block} does not divide the {keys} keys", key="block")
    data = {
        "name": name,
        "inputs": {
            "query": [heads, queries, depth],
            "key": [heads, depth, keys],
            "value": [heads, keys, depth],
        },
        "variants": {
            "three passes": {"layers": several_passes(heads, queries, keys, depth, divided=True)},
            "two passes": {"layers": several_passes(heads, queries, keys, depth, divided=False)},
            "one pass": one_pass(heads, queries, keys, depth, block),
        },
    }
    return parse_network(Document(data, name))


def layer(
    name: str, einsum: str, bounds: dict[str, int], tensors: dict[str, Any], does: str = "mac"
) -> dict[str, Any]:
    """Return a layer as network files have it; it makes a tensor of its name."""
    return {
        "name": name, "einsum": einsum, "operation": does,
        "bounds": {d: n for d, n in bounds.items() if d in einsum}, "tensors": tensors,
    }  # fmt: skip


def several_passes(
    heads: int, queries: int, keys: int, depth: int, *, divided: bool
) -> list[dict[str, Any]]:
    """Return attention with a softmax of three passes, or of two."""
    b = {"B": heads, "M": queries, "N": keys, "F": depth}
    layers = [
        layer("scores", "O[B,M,N] += I[B,M,F] * W[B,F,N]", b, {"I": "query", "W": "key"}),
        layer("largest", "O[B,M] += I[B,M,N]", b, {"I": "scores"}, "max"),
        layer("exponential", "O[B,M,N] += I[B,M,N] * J[B,M]", b,
              {"I": "scores", "J": "largest"}, "exp"),
        layer("sum", "O[B,M] += I[B,M,N]", b, {"I": "exponential"}, "add"),
    ]  # fmt: skip
    if divided:
        return [
            *layers,
            layer("probabilities", "O[B,M,N] += I[B,M,N] * J[B,M]", b,
                  {"I": "exponential", "J": "sum"}, "divide"),
            layer("context", "O[B,M,F] += I[B,M,N] * W[B,N,F]", b,
                  {"I": "probabilities", "W": "value"}),
        ]  # fmt: skip
    return [
        *layers,
        layer("weighted", "O[B,M,F] += I[B,M,N] * W[B,N,F]", b,
              {"I": "exponential", "W": "value"}),
        layer("context", "O[B,M,F] += I[B,M,F] * J[B,M]", b,
              {"I": "weighted", "J": "sum"}, "divide"),
    ]  # fmt: skip


def one_pass(heads: int, queries: int, keys: int, depth: int, block: int) -> dict[str, Any]:
    """Return attention that takes a block of keys at a time."""
    b = {"B": heads, "M": queries, "J": keys // block, "N": block, "F": depth, "G": depth + 1}
    blocks = {"reshape": [heads, b["J"], block, depth + 1]}
    last = {"slice": [f"0:{heads}", f"0:{queries}", f"{depth}:{depth + 1}"]}
    return {
        "inputs": {"value": [heads, keys, depth + 1]},
        "layers": [
            layer("scores", f"O[B,M,J,N] += I[B,M,F] * W[B,F,{block}*J+N]", b,
                  {"I": "query", "W": "key"}),
            layer("largest", "O[B,M,J] += I[B,M,J,N]", b, {"I": "scores"}, "max"),
            layer("scale", "O[B,M,J] += I[B,M,J]", b, {"I": "largest"}, "exp"),
            layer("exponential", "O[B,M,J,N] += I[B,M,J,N] * L[B,M,J]", b,
                  {"I": "scores", "L": "largest"}, "exp"),
            layer("weighted", "O[B,M,J,G] += I[B,M,J,N] * W[B,J,N,G]", b,
                  {"I": "exponential", "W": ["value", blocks]}),
            layer("added", "O[B,M,G] += I[B,M,J,G] * L[B,M,J]", b,
                  {"I": "weighted", "L": "scale"}),
            layer("context", "O[B,M,F] += I[B,M,F] * L[B,M]", b,
                  {"I": ["added", {"slice": [f"0:{heads}", f"0:{queries}", f"0:{depth}"]}],
                   "L": ["added", last, {"reshape": [heads, queries]}]}, "divide"),
        ],
    }  # fmt: skip


def gated_feed_forward(
    *, tokens: int, width: int, hidden: int, name: str = "feed_forward"
) -> Network:
    """Return a gated feed-forward part: two products, one times the other, and a product back.

    Parameters
    ----------
    tokens, width, hidden : int
        Tokens, words of each, and words of each in between.
    name : str
        Of the network. The activation of the gate is no layer: it changes single words.
    """
    b = {"M": tokens, "N": hidden, "K": width}
    up = "O[M,N] += I[M,K] * W[K,N]"
    layers = [
        layer("gate", up, b, {"I": "x"}),
        layer("up", up, b, {"I": "x"}),
        layer("hidden", "O[M,N] += I[M,N] * J[M,N]", b, {"I": "gate", "J": "up"}, "multiply"),
        layer("down", "O[M,K] += I[M,N] * W[N,K]", b, {"I": "hidden"}),
    ]
    data = {"name": name, "inputs": {"x": [tokens, width]}, "layers": layers}
    return parse_network(Document(data, name))


def inverted_bottleneck(
    *, rows: int, columns: int, channels: int, expanded: int, made: int, stride: int = 1,
    kernel: int = 3, name: str = "inverted_bottleneck",
) -> Network:  # fmt: skip
    """Return a block of MobileNetV2: more channels, a filter for each, fewer channels.

    Parameters
    ----------
    rows, columns : int
        Of the output.
    channels, expanded, made : int
        Of the input, in between, and of the output. With equal extents the input is added.
    stride, kernel : int
        Of the filters in the middle.
    name : str
        Of the network.
    """
    p, q = stride * rows, stride * columns
    before = (kernel - 1) // 2
    around = [before, kernel - stride - before]
    window = {"pad": [0, around, around]}
    b = {"C": channels, "G": expanded, "K": made, "R": kernel, "S": kernel}
    layers = [
        layer("expand", "O[G,P,Q] += I[C,P,Q] * W[G,C]", {**b, "P": p, "Q": q}, {"I": "x"}),
        layer("depthwise", f"O[G,P,Q] += I[G,{stride}*P+R,{stride}*Q+S] * W[G,R,S]",
              {**b, "P": rows, "Q": columns}, {"I": ["expand", window]}),
        layer("project", "O[K,P,Q] += I[G,P,Q] * W[K,G]", {**b, "P": rows, "Q": columns},
              {"I": "depthwise"}),
    ]  # fmt: skip
    if stride == 1 and channels == made:
        layers.append(
            layer("sum", "O[K,P,Q] += I[K,P,Q] * J[K,P,Q]", {**b, "P": rows, "Q": columns},
                  {"I": "project", "J": "x"}, "add")
        )  # fmt: skip
    data = {"name": name, "inputs": {"x": [channels, p, q]}, "layers": layers}
    return parse_network(Document(data, name))


def six_products(*, tokens: int, width: int, heads: int, name: str = "six_products") -> Network:
    """Return the six products of a transformer's attention, softmax left out.

    Query, key, value, scores, context and output: what other fusing mappers take as an example.

    Parameters
    ----------
    tokens, width, heads : int
        Tokens, words of each, and heads that these are divided into.
    name : str
        Of the network.
    """
    depth = width // heads
    b = {"M": tokens, "N": width, "K": width}
    by_head = {"reshape": [tokens, heads, depth]}
    rows, columns = {"transpose": [1, 0, 2]}, {"transpose": [1, 2, 0]}
    product = "O[M,N] += I[M,K] * W[K,N]"
    inside = {"B": heads, "M": tokens, "N": tokens, "F": depth}
    layers = [
        *(layer(own, product, b, {"I": "x"}) for own in ("query", "key", "value")),
        layer("scores", "O[B,M,N] += I[B,M,F] * W[B,F,N]", inside,
              {"I": ["query", by_head, rows], "W": ["key", by_head, columns]}),
        layer("context", "O[B,M,F] += I[B,M,N] * W[B,N,F]", inside,
              {"I": "scores", "W": ["value", by_head, rows]}),
        layer("output", product, b,
              {"I": ["context", rows, {"reshape": [tokens, width]}]}),
    ]  # fmt: skip
    data = {"name": name, "inputs": {"x": [tokens, width]}, "layers": layers}
    return parse_network(Document(data, name))


def experts(*, count: int, tokens: int, width: int, hidden: int, name: str = "experts") -> Network:
    """Return experts: gated feed-forward parts side by side, each with tokens of its own.

    Parameters
    ----------
    count, tokens : int
        Experts that run, and tokens that each of them has been given.
    width, hidden : int
        Words of a token, and words of each in between.
    name : str
        Of the network. Who gets which tokens is not counted.
    """
    b = {"E": count, "M": tokens, "N": hidden, "K": width}
    up = "O[E,M,N] += I[E,M,K] * W[E,K,N]"
    layers = [
        layer("gate", up, b, {"I": "x"}),
        layer("up", up, b, {"I": "x"}),
        layer("hidden", "O[E,M,N] += I[E,M,N] * J[E,M,N]", b, {"I": "gate", "J": "up"},
              "multiply"),
        layer("down", "O[E,M,K] += I[E,M,N] * W[E,N,K]", b, {"I": "hidden"}),
    ]  # fmt: skip
    data = {"name": name, "inputs": {"x": [count, tokens, width]}, "layers": layers}
    return parse_network(Document(data, name))


FSRCNN = ((1, 56, 5), (56, 12, 1), (12, 12, 3), (12, 12, 3), (12, 12, 3), (12, 12, 3), (12, 56, 1),
          (56, 16, 3))  # fmt: skip
"""Channels in and out, and the extent of the window, of each layer."""


def fsrcnn(*, rows: int = 540, columns: int = 960, name: str = "fsrcnn") -> Network:
    """Return FSRCNN without pads, as DeFiNES has it: each layer makes what the next one reads.

    Parameters
    ----------
    rows, columns : int
        Of what the last layer makes.
    name : str
        Of the network. Words have 8 bits.
    """
    layers: list[dict[str, Any]] = []
    for i, (own, made, window) in reversed(list(enumerate(FSRCNN))):
        b = {"K": made, "C": own, "P": rows, "Q": columns, "R": window, "S": window}
        conv = layer(f"conv{i}", "O[K,P,Q] += I[C,P+R,Q+S] * W[K,C,R,S]", b,
                     {"I": f"T{i}", "O": f"T{i + 1}"})  # fmt: skip
        layers.insert(0, {**conv, "bits": {"I": 8, "W": 8, "O": 8}})
        rows, columns = rows + window - 1, columns + window - 1
    data = {"name": name, "inputs": {"T0": [1, rows, columns]}, "layers": layers}
    return parse_network(Document(data, name))

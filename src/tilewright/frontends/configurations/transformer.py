"""Transformers from their sizes: what their blocks compute, for prompts and for single tokens."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass

from tilewright.frontends.builder import Builder
from tilewright.frontends.operators import elementwise, normalization
from tilewright.frontends.products import attention, matmul
from tilewright.frontends.values import Value, joined
from tilewright.workload.graph import MOVES


@dataclass(frozen=True)
class Run:
    """What is computed in one step.

    Attributes
    ----------
    batch : int
        Sequences that run together.
    tokens : int
        New tokens of each.
    context : int
        Tokens that the last of them attends to, itself included.
    """

    batch: int
    tokens: int
    context: int


@dataclass(frozen=True)
class Attention:
    """Sizes of an attention with its projections.

    Attributes
    ----------
    heads, groups : int
        Heads of the queries, and of keys and values.
    width : int
        Words of a head.
    bias, output_bias : bool
        Whether the projections to, and from, the heads have biases.
    key_bias : bool
        Whether that of the keys has one too, where the others have.
    norms : bool
        Whether queries and keys are normalised, head by head.
    rotary : bool
        Whether positions rotate queries and keys.
    fused : bool
        Whether one matrix makes queries, keys and values.
    """

    heads: int
    groups: int
    width: int
    bias: bool = False
    output_bias: bool = False
    key_bias: bool = True
    norms: bool = False
    rotary: bool = True
    fused: bool = False


@dataclass(frozen=True)
class FeedForward:
    """Sizes of a feed-forward part: gated, with a third matrix, or not."""

    hidden: int
    gated: bool
    bias: bool
    activation: str


@dataclass(frozen=True)
class Experts:
    """A feed-forward part of which each token uses some experts.

    Attributes
    ----------
    count, active : int
        Experts, and how many of them each token uses.
    expert : FeedForward
        One of them.
    shared : FeedForward or None
        What every token uses besides.
    shared_gate : bool
        Whether that is weighted, token by token.
    balance : bool
        Whether each expert has a bias with which they are chosen.
    """

    count: int
    active: int
    expert: FeedForward
    shared: FeedForward | None = None
    shared_gate: bool = False
    balance: bool = False


def linear(
    builder: Builder, name: str, x: Value, outputs: int, bias: bool, weight: Value | None = None
) -> Value:
    """Add a product with a matrix of parameters; a bias is a parameter and no operation."""
    if weight is None:
        weight = builder.weight(f"{name}.weight", (x.shape[-1], outputs))
    if bias:
        builder.weight(f"{name}.bias", (outputs,))
    return matmul(builder, name, "linear", x, weight)


def norm(builder: Builder, name: str, operator: str, x: Value) -> Value:
    """Add a normalisation of the last axis; only `layer_norm` has a bias."""
    scale = builder.weight(f"{name}.weight", x.shape[-1:])
    if operator == "layer_norm":
        builder.weight(f"{name}.bias", x.shape[-1:])
    return normalization(builder, name, operator, x, scale, -1)


def embedding(builder: Builder, name: str, ids: Value, table: Value) -> Value:
    """Add the lookup of rows of a table: it moves data only."""
    (found,) = builder.other(name, "embedding", [ids, table], [(ids.words, table.shape[-1])], MOVES)
    return found


def self_attention(
    builder: Builder, sizes: Attention, x: Value, run: Run, window: int = 0, causal: bool = True
) -> Value:
    """Add projections, attention and the projection back.

    Products that a causal mask discards are counted, those that a window excludes are not.
    """
    wide, narrow = sizes.heads * sizes.width, sizes.groups * sizes.width
    if sizes.fused:
        all_three = linear(builder, "qkv", x, wide + 2 * narrow, sizes.bias)
        q = all_three.part(1, 0, wide)
        k = all_three.part(1, wide, wide + narrow)
        v = all_three.part(1, wide + narrow, wide + 2 * narrow)
    else:
        q = linear(builder, "query", x, wide, sizes.bias)
        k = linear(builder, "key", x, narrow, sizes.bias and sizes.key_bias)
        v = linear(builder, "value", x, narrow, sizes.bias)
    q = q.reshape(run.batch, run.tokens, sizes.heads, sizes.width)
    k, v = (t.reshape(run.batch, run.tokens, sizes.groups, sizes.width) for t in (k, v))
    if sizes.norms:
        q, k = norm(builder, "query_norm", "rms_norm", q), norm(builder, "key_norm", "rms_norm", k)
    if sizes.rotary:
        q = elementwise(builder, "rotated_query", "rotary", [q])
        k = elementwise(builder, "rotated_key", "rotary", [k])
    if causal:
        k, v = (with_past(builder, name, t, run) for name, t in (("keys", k), ("values", v)))
    made = windowed(builder, "attention", q, k, v, run, window)
    return linear(builder, "output", made, x.shape[-1], sizes.output_bias)


def with_past(builder: Builder, name: str, new: Value, run: Run) -> Value:
    """Return keys or values of N, tokens, ... after those of the tokens before."""
    past = run.context - run.tokens
    if not past:
        return new
    return joined([builder.state(f"past_{name}", (run.batch, past, *new.shape[2:])), new], 1)


def windowed(
    builder: Builder, name: str, q: Value, k: Value, v: Value, run: Run, window: int = 0
) -> Value:
    """Add the attention of N, tokens, heads, width; return it as matrix of all tokens.

    With a window, a token attends to as many tokens, itself the last.
    """
    band = window if window and window < k.shape[1] else 0
    if band:
        # the first queries would reach before the first key where there is little past
        first = run.context - run.tokens - band + 1
        k, v = (t.window(1, -first, run.tokens + band - 1) for t in (k, v))
    if run.tokens == 1:
        band = 0
    q, k, v = (t.transpose(0, 2, 1, 3) for t in (q, k, v))
    made = attention(builder, name, "attention", q, k, v, band).transpose(0, 2, 1, 3)
    return made.reshape(run.batch * run.tokens, made.shape[2] * made.shape[3])


def feed_forward(builder: Builder, sizes: FeedForward, x: Value, prefix: str = "") -> Value:
    """Add a feed-forward part."""
    up = linear(builder, f"{prefix}up", x, sizes.hidden, sizes.bias)
    if not sizes.gated:
        hidden = elementwise(builder, f"{prefix}activation", sizes.activation, [up])
    else:
        gate = linear(builder, f"{prefix}gate", x, sizes.hidden, sizes.bias)
        active = elementwise(builder, f"{prefix}activation", sizes.activation, [gate])
        hidden = elementwise(builder, f"{prefix}hidden", "multiply", [active, up])
    return linear(builder, f"{prefix}down", hidden, x.shape[-1], sizes.bias)


def mixture(builder: Builder, sizes: Experts, x: Value) -> Value:
    """Add experts: those that are in use, with the tokens spread evenly over them."""
    tokens, model = x.shape
    weight = builder.weight("router.weight", (model, sizes.count))
    if sizes.balance:
        builder.weight("router.bias", (sizes.count,))
    chosen = matmul(builder, "router", "linear", x, weight)
    shares = elementwise(builder, "router.scores", "softmax", [chosen], "softmax")
    hidden = sizes.expert.hidden
    matrices = {
        name: builder.weight(f"experts.{name}.weight", (sizes.count, *shape))
        for name, shape in (
            ("gate", (model, hidden)), ("up", (model, hidden)), ("down", (hidden, model)),
        )
    }  # fmt: skip
    uses = tokens * sizes.active
    least, more = divmod(uses, sizes.count)
    # some experts serve one token more than the others
    parts = [(0, more, least + 1), (more, sizes.count, least)]
    results = []
    for first, end, share in parts:
        if first == end or not share:
            continue
        count = end - first
        (given,) = builder.other("dispatch", "gather", [x, shares], [(count, share, model)], MOVES)
        w = {name: matrix.part(0, first, end) for name, matrix in matrices.items()}
        gate = matmul(builder, "experts.gate", "linear", given, w["gate"])
        up = matmul(builder, "experts.up", "linear", given, w["up"])
        active = elementwise(builder, "experts.activation", sizes.expert.activation, [gate])
        inner = elementwise(builder, "experts.hidden", "multiply", [active, up])
        made = matmul(builder, "experts.down", "linear", inner, w["down"])
        results.append(made.reshape(count * share, model))
    (back,) = builder.other("collect", "scatter", results, [(tokens, sizes.active, model)], MOVES)
    weights = shares.part(1, 0, sizes.active)
    total = builder.layer(
        "combine",
        "elementwise",
        "O[M,N] += I[M,B,N] * W[M,B]",
        {"M": tokens, "N": model, "B": sizes.active},
        {"I": back, "W": weights},
        "weighted_sum",
    )
    if sizes.shared is None:
        return total
    shared = feed_forward(builder, sizes.shared, x, "shared.")
    if sizes.shared_gate:
        gate = linear(builder, "shared_gate", x, 1, False)
        gate = elementwise(builder, "shared_gate.activation", "sigmoid", [gate])
        shared = elementwise(builder, "shared_gate.product", "multiply", [shared, gate])
    return elementwise(builder, "experts.sum", "add", [total, shared])


def runs(kinds: Sequence[Hashable], longest: int = 8) -> list[tuple[int, int, int]]:
    """Return layers as repeated parts: first layer, layers of a part, repetitions.

    Parameters
    ----------
    kinds : sequence
        What each layer is.
    longest : int
        Layers that a part may have.
    """
    found, first = [], 0
    while first < len(kinds):
        best = (0, 0, 0)
        for size in range(1, longest + 1):
            part, count = kinds[first : first + size], 1
            if len(part) < size:
                break
            while kinds[first + count * size : first + (count + 1) * size] == part:
                count += 1
            # one layer alone is no part of several: it would hide what is repeated after it
            covered = count * size if count > 1 or size == 1 else 0
            if covered > best[0]:
                best = (covered, size, count)
        found.append((first, best[1], best[2]))
        first += best[0]
    return found

"""Language models that make token after token."""

from __future__ import annotations

from dataclasses import dataclass

from tilewright.frontends.builder import Builder
from tilewright.frontends.configurations.transformer import (
    Attention,
    Experts,
    FeedForward,
    Run,
    embedding,
    feed_forward,
    linear,
    mixture,
    norm,
    runs,
    self_attention,
    windowed,
    with_past,
)
from tilewright.frontends.operators import elementwise
from tilewright.frontends.products import attention
from tilewright.frontends.values import Value, joined


@dataclass(frozen=True)
class Latent:
    """Attention whose keys and values are kept as one short vector per token (DeepSeek).

    Attributes
    ----------
    heads : int
        Heads of the queries.
    query_rank : int
        Words between the two matrices that make queries; 0: one matrix makes them.
    rank : int
        Words that are kept of keys and values.
    plain, rotary : int
        Words of a head's query and key without positions, and with them.
    value : int
        Words of a head's value.
    """

    heads: int
    query_rank: int
    rank: int
    plain: int
    rotary: int
    value: int


@dataclass(frozen=True)
class Decoder:
    """Sizes of a model: those of its parts are explained in `transformer`.

    Attributes
    ----------
    model : int
        Words of a token between the layers.
    vocabulary : int
        Tokens that there are.
    attention : Attention or Latent
        The same in all layers, but for its window.
    windows : tuple of int
        For each layer how many tokens are attended to; 0 for all.
    parts : tuple of FeedForward or Experts
        For each layer what follows its attention.
    norm : str
        ``rms_norm`` or ``layer_norm``.
    tied : bool
        Whether the table of embeddings is the last matrix as well.
    positions : int
        Positions that are learned; 0 where others are used.
    after : bool
        Whether what attention and feed-forward part make is normalised as well.
    """

    model: int
    vocabulary: int
    attention: Attention | Latent
    windows: tuple[int, ...]
    parts: tuple[FeedForward | Experts, ...]
    norm: str
    tied: bool
    positions: int = 0
    after: bool = False


def build_decoder(builder: Builder, sizes: Decoder, run: Run) -> None:
    """Add a whole model to a network."""
    ids = builder.input("tokens", (run.batch, run.tokens))
    table = builder.weight("embedding.weight", (sizes.vocabulary, sizes.model))
    x = embedding(builder, "embedding", ids, table)
    if sizes.positions:
        x = learned_positions(builder, x, sizes.positions, run)
    windows = [0 if window >= run.context else window for window in sizes.windows]
    kinds = list(zip(windows, sizes.parts, strict=True))
    for first, size, repeat in runs(kinds):
        end = first + size * repeat - 1
        name = f"layers.{first}" + (f"-{end}" if end > first else "")
        with builder.block(name, repeat, x=x) as inside:
            y = inside["x"]
            for window, part in kinds[first : first + size]:
                y = _layer(builder, sizes, y, run, window, part)
            x = builder.carry(inside["x"], y)
    x = norm(builder, "norm", sizes.norm, x)
    weight = table.transpose(1, 0) if sizes.tied else None
    builder.output(linear(builder, "head", x, sizes.vocabulary, False, weight))


def learned_positions(builder: Builder, x: Value, positions: int, run: Run) -> Value:
    """Add the embeddings of positions."""
    table = builder.weight("positions.weight", (positions, x.shape[1]))
    own = table.part(0, run.context - run.tokens, run.context)
    shape = (run.batch, run.tokens, x.shape[1])
    made = elementwise(builder, "positions", "add", [x.reshape(*shape), own])
    return made.reshape(*x.shape)


def _layer(
    builder: Builder, sizes: Decoder, x: Value, run: Run, window: int, part: FeedForward | Experts
) -> Value:
    y = norm(builder, "norm1", sizes.norm, x)
    if isinstance(sizes.attention, Latent):
        y = latent_attention(builder, sizes.attention, y, run)
    else:
        y = self_attention(builder, sizes.attention, y, run, window)
    if sizes.after:
        y = norm(builder, "norm1.after", sizes.norm, y)
    x = elementwise(builder, "sum1", "add", [x, y])
    y = norm(builder, "norm2", sizes.norm, x)
    y = mixture(builder, part, y) if isinstance(part, Experts) else feed_forward(builder, part, y)
    if sizes.after:
        y = norm(builder, "norm2.after", sizes.norm, y)
    return elementwise(builder, "sum2", "add", [x, y])


def latent_attention(builder: Builder, sizes: Latent, x: Value, run: Run) -> Value:
    """Add DeepSeek's attention (arXiv:2405.04434, section 2.1).

    Prompts expand keys and values from what is kept, head by head. Where there are fewer new
    tokens than words of a head, the expanding matrices are moved to the queries and to the
    result instead ("absorbed"), and all heads attend to what is kept.
    """
    heads, kept = sizes.heads, sizes.rank
    q = x
    if sizes.query_rank:
        q = norm(builder, "query_norm", "rms_norm",
                 linear(builder, "query_down", x, sizes.query_rank, False))  # fmt: skip
    q = linear(builder, "query", q, heads * (sizes.plain + sizes.rotary), False)
    q = q.reshape(run.batch, run.tokens, heads, sizes.plain + sizes.rotary)
    plain = q.part(3, 0, sizes.plain)
    turned = elementwise(builder, "rotated_query", "rotary", [q.part(3, sizes.plain, q.shape[3])])
    both = linear(builder, "latent", x, kept + sizes.rotary, False)
    both = both.reshape(run.batch, run.tokens, 1, kept + sizes.rotary)
    latent = norm(builder, "latent_norm", "rms_norm", both.part(3, 0, kept))
    shared = elementwise(builder, "rotated_key", "rotary", [both.part(3, kept, both.shape[3])])
    latent = with_past(builder, "latent", latent, run)
    shared = with_past(builder, "shared_keys", shared, run)
    matrix = builder.weight("expand.weight", (kept, heads * (sizes.plain + sizes.value)))
    length = run.context
    if run.tokens > sizes.plain:
        rows = latent.reshape(run.batch * length, kept)
        full = linear(builder, "expand", rows, matrix.shape[1], False, matrix)
        full = full.reshape(run.batch, length, heads, sizes.plain + sizes.value)
        every = shared.broadcast(run.batch, length, heads, sizes.rotary)
        k = joined([full.part(3, 0, sizes.plain), every], 3)
        v = full.part(3, sizes.plain, full.shape[3])
        made = windowed(builder, "attention", joined([plain, turned], 3), k, v, run)
        return linear(builder, "output", made, x.shape[-1], False)
    by_head = matrix.reshape(kept, heads, sizes.plain + sizes.value)
    queried = run.batch * run.tokens
    inward = by_head.part(2, 0, sizes.plain).transpose(1, 2, 0)
    queries = builder.layer(
        "absorb", "matmul", "O[B,M,N] += I[B,M,K] * W[B,K,N]",
        {"B": heads, "M": queried, "N": kept, "K": sizes.plain},
        {"I": plain.reshape(queried, heads, sizes.plain).transpose(1, 0, 2), "W": inward},
        "linear",
    )  # fmt: skip
    queries = queries.transpose(1, 0, 2).reshape(run.batch, run.tokens, heads, kept)
    q, k = joined([queries, turned], 3), joined([latent, shared], 3)
    q, k, v = (t.transpose(0, 2, 1, 3) for t in (q, k, latent))
    made = attention(builder, "attention", "attention", q, k, v)
    outward = by_head.part(2, sizes.plain, by_head.shape[2]).transpose(1, 0, 2)
    result = builder.layer(
        "restore", "matmul", "O[B,M,N] += I[B,M,K] * W[B,K,N]",
        {"B": heads, "M": queried, "N": sizes.value, "K": kept},
        {"I": made.transpose(1, 0, 2, 3).reshape(heads, queried, kept), "W": outward},
        "linear",
    )  # fmt: skip
    result = result.transpose(1, 0, 2).reshape(queried, heads * sizes.value)
    return linear(builder, "output", result, x.shape[-1], False)

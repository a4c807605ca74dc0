"""Models that read a whole text, image or recording at once, and those that speak after it."""

from __future__ import annotations

from dataclasses import dataclass, replace

from tilewright.frontends.builder import Builder
from tilewright.frontends.configurations.decoders import learned_positions
from tilewright.frontends.configurations.transformer import (
    Attention,
    FeedForward,
    Run,
    embedding,
    feed_forward,
    linear,
    norm,
    self_attention,
    windowed,
)
from tilewright.frontends.operators import Window, convolution, elementwise
from tilewright.frontends.values import Value, joined


@dataclass(frozen=True)
class Encoder:
    """Sizes of the layers of an encoder.

    Attributes
    ----------
    model, layers : int
        Words of a token between the layers, and their number.
    attention : Attention
        Of every layer.
    part : FeedForward
        What follows the attention.
    before : bool
        Whether normalisation comes before attention and feed-forward part, or after their sums.
    """

    model: int
    layers: int
    attention: Attention
    part: FeedForward
    before: bool = True


def encoder_layers(builder: Builder, sizes: Encoder, x: Value, run: Run, name: str) -> Value:
    """Add the layers of an encoder."""
    with builder.block(name, sizes.layers, x=x) as inside:
        y = inside["x"]
        z = norm(builder, "norm1", "layer_norm", y) if sizes.before else y
        z = self_attention(builder, sizes.attention, z, run, causal=False)
        y = elementwise(builder, "sum1", "add", [y, z])
        if sizes.before:
            z = norm(builder, "norm2", "layer_norm", y)
        else:
            z = y = norm(builder, "norm1", "layer_norm", y)
        z = feed_forward(builder, sizes.part, z)
        y = elementwise(builder, "sum2", "add", [y, z])
        if not sizes.before:
            y = norm(builder, "norm2", "layer_norm", y)
        return builder.carry(inside["x"], y)


def build_bert(
    builder: Builder, sizes: Encoder, run: Run, vocabulary: int, positions: int, kinds: int
) -> None:
    """Add BERT with its pooler."""
    tokens = (run.batch, run.tokens)
    table = builder.weight("embedding.weight", (vocabulary, sizes.model))
    x = embedding(builder, "embedding", builder.input("tokens", tokens), table)
    x = learned_positions(builder, x, positions, run)
    table = builder.weight("segment.weight", (kinds, sizes.model))
    segment = embedding(builder, "segment", builder.input("segments", tokens), table)
    x = elementwise(builder, "embedding.sum", "add", [x, segment])
    x = norm(builder, "embedding.norm", "layer_norm", x)
    x = encoder_layers(builder, sizes, x, run, "layers")
    builder.output(x)
    first = x.reshape(run.batch, run.tokens, sizes.model).part(1, 0, 1)
    pooled = linear(builder, "pooler", first.reshape(run.batch, sizes.model), sizes.model, True)
    builder.output(elementwise(builder, "pooler.activation", "tanh", [pooled]))


def build_vit(
    builder: Builder,
    sizes: Encoder,
    batch: int,
    image: tuple[int, int],
    patch: tuple[int, int],
    channels: int,
    classes: int,
) -> None:
    """Add a vision transformer; without classes, up to its last normalisation."""
    pixels = builder.input("image", (batch, channels, *image))
    weight = builder.weight("patches.weight", (sizes.model, channels, *patch))
    builder.weight("patches.bias", (sizes.model,))
    windows = [Window(size, stride=size) for size in patch]
    cut = convolution(builder, "patches", "conv2d", pixels, weight, windows)
    count = cut.shape[2] * cut.shape[3]
    x = cut.reshape(batch, sizes.model, count).transpose(0, 2, 1)
    mark = builder.weight("class.weight", (1, 1, sizes.model))
    x = joined([mark.broadcast(batch, 1, sizes.model), x], 1)
    positions = builder.weight("positions.weight", (count + 1, sizes.model))
    x = elementwise(builder, "positions", "add", [x, positions])
    run = Run(batch, count + 1, count + 1)
    x = encoder_layers(builder, sizes, x.reshape(batch * (count + 1), sizes.model), run, "layers")
    x = norm(builder, "norm", "layer_norm", x)
    if classes:
        first = x.reshape(batch, count + 1, sizes.model).part(1, 0, 1)
        x = linear(builder, "head", first.reshape(batch, sizes.model), classes, True)
    builder.output(x)


def build_whisper(
    builder: Builder,
    encoder: Encoder,
    decoder: Encoder,
    run: Run,
    bands: int,
    frames: int,
    vocabulary: int,
    positions: int,
    decode: bool,
) -> None:
    """Add Whisper: encoder and decoder for a prompt, the decoder alone for a token after it.

    Parameters
    ----------
    builder : Builder
        Where it is added.
    encoder, decoder : Encoder
        Sizes of the two; the decoder attends to what the encoder has made as well.
    run : Run
        Of the decoder.
    bands, frames : int
        Of the spectrogram, after the second convolution.
    vocabulary, positions : int
        Of the decoder.
    decode : bool
        Whether keys and values of the recording are there already.
    """
    heard = None if decode else _hear(builder, encoder, run.batch, bands, frames)
    ids = builder.input("tokens", (run.batch, run.tokens))
    table = builder.weight("embedding.weight", (vocabulary, decoder.model))
    x = embedding(builder, "embedding", ids, table)
    x = learned_positions(builder, x, positions, run)
    sizes, model = decoder.attention, decoder.model
    with builder.block("decoder", decoder.layers, x=x) as inside:
        y = inside["x"]
        z = norm(builder, "norm1", "layer_norm", y)
        z = self_attention(builder, sizes, z, run)
        y = elementwise(builder, "sum1", "add", [y, z])
        z = norm(builder, "norm2", "layer_norm", y)
        q = linear(builder, "cross.query", z, model, True)
        shape = (run.batch, frames, sizes.heads, sizes.width)
        if heard is None:
            k, v = (builder.state(f"cross_{name}", shape) for name in ("keys", "values"))
            # parameters that were used when the recording was read
            for name, biases in (("key", 0), ("value", model)):
                builder.weight(f"cross.{name}.weight", (model, model))
                if biases:
                    builder.weight(f"cross.{name}.bias", (biases,))
        else:
            k = linear(builder, "cross.key", heard, model, False).reshape(*shape)
            v = linear(builder, "cross.value", heard, model, True).reshape(*shape)
        q = q.reshape(run.batch, run.tokens, sizes.heads, sizes.width)
        z = windowed(builder, "cross", q, k, v, replace(run, context=frames))
        z = linear(builder, "cross.output", z, model, True)
        y = elementwise(builder, "sum2", "add", [y, z])
        z = norm(builder, "norm3", "layer_norm", y)
        z = feed_forward(builder, decoder.part, z)
        y = elementwise(builder, "sum3", "add", [y, z])
        x = builder.carry(inside["x"], y)
    x = norm(builder, "norm", "layer_norm", x)
    builder.output(linear(builder, "head", x, vocabulary, False, table.transpose(1, 0)))


def _hear(builder: Builder, sizes: Encoder, batch: int, bands: int, frames: int) -> Value:
    x = builder.input("spectrogram", (batch, bands, 2 * frames))
    for i, (channels, stride) in enumerate(((bands, 1), (sizes.model, 2)), 1):
        weight = builder.weight(f"conv{i}.weight", (sizes.model, channels, 3))
        builder.weight(f"conv{i}.bias", (sizes.model,))
        window = Window(3, stride=stride, before=1, after=1)
        x = convolution(builder, f"conv{i}", "conv1d", x, weight, [window])
        x = elementwise(builder, f"conv{i}.activation", "gelu", [x])
    x = x.transpose(0, 2, 1)
    positions = builder.weight("encoder.positions.weight", (frames, sizes.model))
    x = elementwise(builder, "encoder.positions", "add", [x, positions])
    run = Run(batch, frames, frames)
    x = encoder_layers(builder, sizes, x.reshape(batch * frames, sizes.model), run, "encoder")
    return norm(builder, "encoder.norm", "layer_norm", x)

"""Families of models: what the keys of their configurations mean (huggingface/transformers)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tilewright.errors import InputError
from tilewright.frontends.builder import Builder
from tilewright.frontends.configurations.decoders import (
    Decoder,
    Latent,
    build_decoder,
)
from tilewright.frontends.configurations.encoders import (
    Encoder,
    build_bert,
    build_vit,
    build_whisper,
)
from tilewright.frontends.configurations.transformer import (
    Attention,
    Experts,
    FeedForward,
)
from tilewright.frontends.request import MAX_LAYERS, Config, Request


def gated(config: Config, hidden: str = "intermediate_size", bias: bool = False) -> FeedForward:
    """Return a feed-forward part with a gate."""
    activation = config.text("hidden_act", "hidden_activation", default="silu")
    return FeedForward(config.size(hidden), True, bias, activation)


def decoder(
    config: Config,
    builder: Builder,
    request: Request,
    attention: Attention | Latent,
    *,
    windows: Sequence[int] | None = None,
    parts: Sequence[FeedForward | Experts] | None = None,
    tied: bool = False,
    after: bool = False,
) -> None:
    """Add a model of the kind that most are."""
    layers = config.layers("num_hidden_layers")
    model = Decoder(
        model=config.size("hidden_size"),
        vocabulary=config.size("vocab_size"),
        attention=attention,
        windows=tuple(windows or (0,) * layers),
        parts=tuple(parts or (gated(config),) * layers),
        norm="rms_norm",
        tied=config.flag("tie_word_embeddings", tied),
        after=after,
    )
    build_decoder(builder, model, request.run())


def llama(config: Config, builder: Builder, request: Request) -> None:
    """Llama 1 to 3."""
    bias = config.flag("attention_bias")
    layers = config.layers("num_hidden_layers")
    parts = [gated(config, bias=config.flag("mlp_bias"))] * layers
    decoder(config, builder, request, config.heads(bias=bias, output_bias=bias), parts=parts)


def mistral(config: Config, builder: Builder, request: Request) -> None:
    """Mistral; version 0.1 has a sliding window in all layers."""
    layers = config.layers("num_hidden_layers")
    given = "sliding_window" in config.data
    window = config.size("sliding_window", default=0 if given else 4096)
    decoder(config, builder, request, config.heads(), windows=[window] * layers)


def mixtral(config: Config, builder: Builder, request: Request) -> None:
    """Mixtral: every layer has experts."""
    layers = config.layers("num_hidden_layers")
    window = config.size("sliding_window", default=0)
    experts = chosen(config, "num_local_experts", gated(config), default=8, active=2)
    decoder(
        config, builder, request, config.heads(),
        windows=[window] * layers, parts=[experts] * layers,
    )  # fmt: skip


def chosen(
    config: Config, key: str, expert: FeedForward, default: int, active: int, **more: Any
) -> Experts:
    """Return experts of which each token uses some."""
    count = config.size(key, default=default)
    used = config.size("num_experts_per_tok", default=active)
    if used > count:
        raise config.document.error(
            f"a token cannot use {used} of {count} experts", ("num_experts_per_tok",)
        )
    return Experts(count, used, expert, **more)


def qwen(config: Config, builder: Builder, request: Request) -> None:
    """Qwen2, Qwen3 and their versions with experts."""
    family = config.data["model_type"]
    third = family.startswith("qwen3")
    layers = config.layers("num_hidden_layers")
    if third:
        bias = config.flag("attention_bias")
        attention = config.heads(width=128, bias=bias, output_bias=bias, norms=True)
    else:
        attention = config.heads(bias=True)
    windows = [0] * layers
    if config.flag("use_sliding_window"):
        first = config.size("max_window_layers", default=28, least=0)
        windows = [config.size("sliding_window", default=4096) if i >= first else 0
                   for i in range(layers)]  # fmt: skip
    parts: list[FeedForward | Experts] = [gated(config)] * layers
    if family.endswith("_moe"):
        shared = None if third else gated(config, "shared_expert_intermediate_size")
        experts = chosen(
            config, "num_experts", gated(config, "moe_intermediate_size"),
            default=128 if third else 60, active=8 if third else 4,
            shared=shared, shared_gate=shared is not None,
        )  # fmt: skip
        step, dense = (
            config.size("decoder_sparse_step", default=1),
            config.numbers("mlp_only_layers"),
        )
        for i in range(layers):
            if i not in dense and (i + 1) % step == 0:
                parts[i] = experts
    decoder(config, builder, request, attention, windows=windows, parts=parts)


def gemma(config: Config, builder: Builder, request: Request) -> None:
    """Gemma 1 to 3 (text)."""
    family = config.data["model_type"]
    layers = config.layers("num_hidden_layers")
    windows = [0] * layers
    if family != "gemma":
        window = config.size("sliding_window", default=4096)
        full = config.size("sliding_window_pattern", default=2 if family == "gemma2" else 6)
        kinds = config.data.get("layer_types")
        if isinstance(kinds, list) and len(kinds) == layers:
            windows = [window if kind == "sliding_attention" else 0 for kind in kinds]
        else:
            windows = [0 if (i + 1) % full == 0 else window for i in range(layers)]
    attention = config.heads(width=256, norms=family == "gemma3_text")
    decoder(
        config, builder, request, attention, windows=windows, tied=True, after=family != "gemma"
    )


def deepseek(config: Config, builder: Builder, request: Request) -> None:
    """DeepSeek V2 and V3: latent attention, experts after the first layers."""
    layers = config.layers("num_hidden_layers")
    attention = Latent(
        heads=config.size("num_attention_heads"),
        query_rank=config.size("q_lora_rank", default=0, least=0),
        rank=config.size("kv_lora_rank"),
        plain=config.size("qk_nope_head_dim"),
        rotary=config.size("qk_rope_head_dim"),
        value=config.size("v_head_dim"),
    )
    parts: list[FeedForward | Experts] = [gated(config)] * layers
    if config.data.get("n_routed_experts") is not None:
        expert = gated(config, "moe_intermediate_size")
        count = config.size("n_shared_experts", default=0, least=0)
        shared = FeedForward(count * expert.hidden, True, False, expert.activation)
        experts = chosen(
            config, "n_routed_experts", expert, default=1, active=8,
            shared=shared if count else None,
            balance=config.data["model_type"] == "deepseek_v3",
        )  # fmt: skip
        first = config.size("first_k_dense_replace", default=0, least=0)
        step = config.size("moe_layer_freq", default=1)
        for i in range(first, layers):
            if i % step == 0:
                parts[i] = experts
    decoder(config, builder, request, attention, parts=parts)


def gpt2(config: Config, builder: Builder, request: Request) -> None:
    """GPT-2."""
    layers, heads = config.layers("n_layer"), config.size("n_head")
    model, positions = config.size("n_embd"), config.size("n_positions", "n_ctx")
    part = FeedForward(
        config.size("n_inner", default=4 * model), False, True,
        config.text("activation_function", default="gelu_new"),
    )  # fmt: skip
    attention = Attention(
        heads, heads, model // heads, bias=True, output_bias=True, rotary=False, fused=True
    )
    sizes = Decoder(
        model=model, vocabulary=config.size("vocab_size"), attention=attention,
        windows=(0,) * layers, parts=(part,) * layers, norm="layer_norm",
        tied=config.flag("tie_word_embeddings", True), positions=positions,
    )  # fmt: skip
    build_decoder(builder, sizes, request.run(positions))


def gpt_neo(config: Config, builder: Builder, request: Request) -> None:
    """GPT-Neo: some layers attend to the last tokens only."""
    layers = config.layers("num_layers", "num_hidden_layers")
    heads, model = config.size("num_heads", "num_attention_heads"), config.size("hidden_size")
    positions = config.size("max_position_embeddings")
    part = FeedForward(
        config.size("intermediate_size", default=4 * model), False, True,
        config.text("activation_function", default="gelu_new"),
    )  # fmt: skip
    attention = Attention(heads, heads, model // heads, output_bias=True, rotary=False)
    kinds = attention_kinds(config, layers)
    window = config.size("window_size", default=256)
    sizes = Decoder(
        model=model, vocabulary=config.size("vocab_size"), attention=attention,
        windows=tuple(window if kind == "local" else 0 for kind in kinds),
        parts=(part,) * layers, norm="layer_norm",
        tied=config.flag("tie_word_embeddings", True), positions=positions,
    )  # fmt: skip
    build_decoder(builder, sizes, request.run(positions))


def attention_kinds(config: Config, layers: int) -> list[str]:
    """Return for each layer of GPT-Neo whether it attends to all tokens or to the last ones."""
    kinds = config.data.get("attention_layers")
    if not isinstance(kinds, list):
        kinds = []
        groups = config.data.get("attention_types")
        for group in groups if isinstance(groups, list) else [groups]:
            names, times = group if isinstance(group, list) and len(group) == 2 else (None, None)
            if (
                not isinstance(names, list)
                or type(times) is not int
                or not 0 <= times <= MAX_LAYERS
            ):
                raise config.document.error(
                    'expected groups such as [["global", "local"], 6]', ("attention_types",)
                )
            kinds += names * times
    if len(kinds) != layers:
        raise config.document.error(
            f"{len(kinds)} kinds of attention for {layers} layers", ("attention_types",)
        )
    return kinds


def encoder(config: Config) -> Encoder:
    """Return the sizes of an encoder."""
    heads, model = config.size("num_attention_heads"), config.size("hidden_size")
    part = FeedForward(
        config.size("intermediate_size"), False, True, config.text("hidden_act", default="gelu")
    )
    attention = Attention(heads, heads, model // heads, True, True, rotary=False)
    return Encoder(model, config.layers("num_hidden_layers"), attention, part)


def bert(config: Config, builder: Builder, request: Request) -> None:
    """BERT with its pooler, without the heads of its training."""
    positions = config.size("max_position_embeddings")
    sizes = encoder(config)
    sizes = Encoder(sizes.model, sizes.layers, sizes.attention, sizes.part, before=False)
    run = request.whole(positions)
    kinds = config.size("type_vocab_size", default=2)
    build_bert(builder, sizes, run, config.size("vocab_size"), positions, kinds)


def vit(config: Config, builder: Builder, request: Request) -> None:
    """Vision transformer."""
    if request.tokens or request.context or request.decode:
        raise InputError(
            "an image has as many tokens as patches: leave out tokens, context and phase",
            key="tokens",
        )
    patch = _pair(config, "patch_size")
    image = _pair(config, "image_size")
    labels = config.data.get("id2label")
    classes = (
        len(labels) if isinstance(labels, dict) else config.size("num_labels", default=0, least=0)
    )
    channels = config.size("num_channels", default=3)
    build_vit(builder, encoder(config), request.batch, image, patch, channels, classes)


def _pair(config: Config, key: str) -> tuple[int, int]:
    value = config.data.get(key)
    if isinstance(value, list) and len(value) == 2 and all(type(v) is int and v > 0 for v in value):
        return value[0], value[1]
    size = config.size(key)
    return size, size


def whisper(config: Config, builder: Builder, request: Request) -> None:
    """Whisper: prefill is the recording and the first tokens, decode one token after them."""
    model = config.size("d_model")
    activation = config.text("activation_function", default="gelu")

    def half(name: str) -> Encoder:
        heads = config.size(f"{name}_attention_heads")
        attention = Attention(
            heads, heads, model // heads, True, True, key_bias=False, rotary=False
        )
        part = FeedForward(config.size(f"{name}_ffn_dim"), False, True, activation)
        return Encoder(model, config.layers(f"{name}_layers"), attention, part)

    positions = config.size("max_target_positions", default=448)
    build_whisper(
        builder, half("encoder"), half("decoder"), request.run(positions),
        bands=config.size("num_mel_bins", default=80),
        frames=config.size("max_source_positions", default=1500),
        vocabulary=config.size("vocab_size"), positions=positions, decode=request.decode,
    )  # fmt: skip


FAMILIES: dict[str, Callable[[Config, Builder, Request], None]] = {
    "llama": llama,
    "mistral": mistral,
    "mixtral": mixtral,
    "qwen2": qwen,
    "qwen2_moe": qwen,
    "qwen3": qwen,
    "qwen3_moe": qwen,
    "gemma": gemma,
    "gemma2": gemma,
    "gemma3_text": gemma,
    "deepseek_v2": deepseek,
    "deepseek_v3": deepseek,
    "gpt2": gpt2,
    "gpt_neo": gpt_neo,
    "bert": bert,
    "vit": vit,
    "whisper": whisper,
}

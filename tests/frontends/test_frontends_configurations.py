"""Models from their configurations have the parameters and operations that were published."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tilewright.document import parse
from tilewright.errors import InputError
from tilewright.frontends.configurations.configuration import (
    MODELS,
    configuration_names,
    load_configuration,
)
from tilewright.frontends.configurations.transformer import runs
from tilewright.workload import Block, Network, dump_network, load_network, parse_network

# Parameters: huggingface.co, "safetensors" of each model, but for those with another source.
PARAMETERS = {
    "llama-2-7b": 6_738_415_616,
    "llama-2-70b": 68_976_648_192,
    "llama-3-8b": 8_030_261_248,
    "mistral-7b": 7_241_732_096,
    "mixtral-8x7b": 46_702_792_704,
    "qwen2-7b": 7_615_616_512,
    "qwen3-8b": 8_190_735_360,
    "gemma-2b": 2_506_172_416,
    "gemma-2-9b": 9_241_705_984,
    "deepseek-v2-lite": 15_706_484_224,
    "deepseek-v3": 671_026_419_200,  # without the prediction of further tokens
    "gpt2": 124_439_808,
    "gpt-neo-125m": 125_198_592,
    "bert-base": 109_482_240,
    "vit-base-16": 86_567_656,  # torchvision, ViT_B_16_Weights
    "whisper-small": 241_734_912,
}


def macs(network: Network) -> int:
    return sum(x.operations * x.repeat for x in network.layers if x.operation == "mac")


def changed(tmp_path: Path, name: str, **keys: Any) -> Path:
    data = json.loads((MODELS / f"{name}.json").read_text()) | keys
    path = tmp_path / "config.json"
    path.write_text(json.dumps(data, indent=1))
    return path


@pytest.mark.parametrize("name", configuration_names())
def test_parameters_are_the_published_ones(name: str) -> None:
    graph = load_configuration(name).graph
    assert graph is not None
    assert graph.parameters == PARAMETERS[name]


@pytest.mark.parametrize("phase", ["prefill", "decode"])
def test_llama_equals_the_network_that_ships(phase: str) -> None:
    shipped = load_network(f"llama2_7b_{phase}")
    made = load_configuration("llama-2-7b", phase=phase, tokens=None, context=2048)
    key = {(x.einsum, tuple(x.bounds.items())): x.repeat for x in made.layers}
    for layer in shipped.layers:
        assert key[layer.einsum, tuple(layer.bounds.items())] == layer.repeat
    assert macs(made) == shipped.operations


@pytest.mark.parametrize(
    ("name", "zoo", "tokens"), [("gpt2", "gpt2", 1024), ("bert-base", "bert_base", 512)]
)
def test_older_transformers_have_the_operations_of_those_that_ship(
    name: str, zoo: str, tokens: int
) -> None:
    assert macs(load_configuration(name, tokens=tokens)) == load_network(zoo).operations


def test_vit_has_the_published_operations() -> None:
    # torchvision, ViT_B_16_Weights: 17.56 GFLOPS (multiply-accumulates)
    assert abs(macs(load_configuration("vit-base-16")) - 17.56e9) < 0.01e9


@pytest.mark.parametrize("name", configuration_names())
def test_graphs_fit_together_and_read_back_equal(name: str) -> None:
    network = load_configuration(name, batch=2)
    assert parse_network(parse(dump_network(network))) == network


def test_queries_share_keys() -> None:
    layers = {x.name: x for x in load_configuration("llama-3-8b", tokens=16).layers}
    scores = layers["layers.0-31.attention.scores"]
    assert scores.einsum == "O[G,H,M,N] += I[G,H,M,K] * W[G,K,N]"
    assert dict(scores.bounds) == {"G": 8, "H": 4, "M": 16, "N": 16, "K": 128}


def test_decoding_reads_the_keys_of_the_context() -> None:
    network = load_configuration("llama-3-8b", phase="decode", batch=3, context=100)
    graph = network.graph
    assert graph is not None
    (block,) = (node for node in graph.nodes if isinstance(node, Block))
    assert dict(block.state) == {"past_keys": (3, 99, 8, 128), "past_values": (3, 99, 8, 128)}
    (scores,) = (x for x in network.layers if x.name.endswith("attention.scores"))
    assert dict(scores.bounds) == {"G": 24, "H": 4, "M": 1, "N": 100, "K": 128}


def test_a_window_bounds_what_is_attended_to() -> None:
    # 100 tokens with a window of 4096, then beyond it
    for tokens, keys in ((100, 100), (8192, 4096)):
        network = load_configuration("mistral-7b", tokens=tokens)
        (scores,) = (x for x in network.layers if x.name.endswith("attention.scores"))
        assert scores.operations == 32 * tokens * keys * 128
    network = load_configuration("mistral-7b", phase="decode", context=8192)
    (scores,) = (x for x in network.layers if x.name.endswith("attention.scores"))
    assert scores.bounds["N"] == 4096


def test_layers_with_and_without_a_window_alternate() -> None:
    network = load_configuration("gemma-2-9b", tokens=8192)
    scores = {x.bounds["N"]: x.repeat for x in network.layers if ".scores" in x.name}
    graph = network.graph
    assert graph is not None
    blocks = [node for node in graph.nodes if isinstance(node, Block)]
    assert scores == {4096: 21, 8192: 21}
    assert [block.repeat for block in blocks] == [21]


@pytest.mark.parametrize("tokens", [1, 2, 3, 5, 64, 100])
def test_experts_do_the_work_of_those_that_each_token_uses(tokens: int) -> None:
    network = load_configuration("mixtral-8x7b", tokens=tokens)
    ups = [
        x for x in network.layers if x.einsum.startswith("O[B,M,N]") and x.bounds.get("K") == 14336
    ]
    ups += [x for x in network.layers if x.einsum == "O[M,N] += I[M,K] * W[K,N]"
            and x.bounds.get("K") == 14336]  # fmt: skip
    assert sum(x.operations * x.repeat for x in ups) == 32 * tokens * 2 * 14336 * 4096
    assert sum(x.bounds.get("B", 1) for x in ups) == min(8, 2 * tokens)


def test_latent_attention_keeps_one_short_vector_per_token() -> None:
    network = load_configuration("deepseek-v3", phase="decode", context=1000)
    graph = network.graph
    assert graph is not None
    block = next(node for node in graph.nodes if isinstance(node, Block))
    assert sum(shape[-1] for shape in block.state.values()) == 512 + 64
    (scores,) = (x for x in network.layers if x.name.endswith("attention.scores"))
    assert dict(scores.bounds) == {"H": 128, "M": 1, "N": 1000, "K": 576}


def test_gates_are_two_matrices_and_tied_embeddings_one(tmp_path: Path) -> None:
    base = load_configuration("llama-2-7b").graph
    tied = load_configuration(changed(tmp_path, "llama-2-7b", tie_word_embeddings=True)).graph
    assert base is not None
    assert tied is not None
    assert base.parameters - tied.parameters == 32000 * 4096


@pytest.mark.parametrize(
    ("keys", "says"),
    [
        ({"model_type": "lama"}, r"config.json:\d+: model_type: no model type 'lama'.*'llama'"),
        ({"hidden_size": "x"}, r"config.json:\d+: hidden_size: expected a whole number"),
        ({"hidden_size": None}, r"missing key 'hidden_size'"),
        ({"num_key_value_heads": 5}, r"num_key_value_heads: 5 heads of keys do not divide 32"),
        ({"num_hidden_layers": 10**7}, r"num_hidden_layers: expected at most 10000"),
        ({"tie_word_embeddings": 3}, r"tie_word_embeddings: expected true or false, found 3"),
    ],
)
def test_errors_name_the_file_the_line_and_the_key(
    tmp_path: Path, keys: dict[str, Any], says: str
) -> None:
    with pytest.raises(InputError, match=says):
        load_configuration(changed(tmp_path, "llama-2-7b", **keys))


@pytest.mark.parametrize(
    ("name", "asked", "says"),
    [
        ("llama-2-7b", {"phase": "decod"}, "did you mean 'decode'"),
        ("llama-2-7b", {"tokens": 0}, "tokens: expected a whole number of at least 1"),
        ("llama-2-7b", {"tokens": 20, "context": 10}, "the 20 new tokens are part of the context"),
        ("gpt2", {"context": 1025}, "has 1024 positions, asked for are 1025"),
        ("bert-base", {"phase": "decode"}, "reads everything at once"),
        ("vit-base-16", {"tokens": 3}, "as many tokens as patches"),
        ("gpt2", {"only": ["conv2"]}, "no kind of operation 'conv2'.*did you mean 'conv'"),
    ],
)
def test_what_cannot_be_asked_for_is_refused(name: str, asked: dict[str, Any], says: str) -> None:
    with pytest.raises(InputError, match=says):
        load_configuration(name, **asked)


@settings(max_examples=300, deadline=None)
@given(
    st.sampled_from(configuration_names()),
    st.data(),
    st.sampled_from([None, 0, -1, 1, 7, 2**31 - 1, 10**12, 1.5, "x", [], [1], {}, True, [[]]]),
    st.sampled_from([None, "decode"]),
)
def test_strange_configurations_are_answered_with_one_message(
    tmp_path_factory: pytest.TempPathFactory,
    name: str,
    data: st.DataObject,
    value: Any,
    phase: str | None,
) -> None:
    keys = list(json.loads((MODELS / f"{name}.json").read_text()))
    key = data.draw(st.sampled_from(keys))
    path = changed(tmp_path_factory.mktemp("strange"), name, **{key: value})
    try:
        load_configuration(path, phase=phase)
    except InputError as failure:
        assert failure.key in ("phase", "tokens") or str(path) in str(failure)


def test_documentation_lists_the_models_with_their_parameters() -> None:
    page = Path(__file__).parents[2] / "docs" / "importing.md"
    rows = re.findall(r"^\| `([\w.-]+)` \| ([\d,]+) \|", page.read_text(), re.MULTILINE)
    assert {name: int(count.replace(",", "")) for name, count in rows} == PARAMETERS


def test_a_folder_is_named_after_its_model(tmp_path: Path) -> None:
    folder = tmp_path / "my-model"
    folder.mkdir()
    changed(folder, "gpt2")
    assert load_configuration(folder).name == "my-model"


def test_repeated_parts_are_found() -> None:
    assert runs("aaa") == [(0, 1, 3)]
    assert runs("ababab") == [(0, 2, 3)]
    assert runs("abbb") == [(0, 1, 1), (1, 1, 3)]
    assert runs("aaaaabaaaaabaa") == [(0, 6, 2), (12, 1, 2)]

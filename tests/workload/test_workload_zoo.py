"""The networks that ship have the sizes that were published."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tilewright.workload import Layer, Network, footprint, load_network, select, zoo_names

# Name, multiply-accumulates, unit of the last printed digit, publication.
PUBLISHED_OPERATIONS = [
    ("alexnet", 724e6, 1e6, "Sze et al., Proc. IEEE 105(12), 2017, table II"),
    ("vgg16", 15.5e9, 0.1e9, "Sze et al., Proc. IEEE 105(12), 2017, table II"),
    ("vgg16", 15.47e9, 0.01e9, "torchvision, VGG16_Weights"),
    ("resnet50", 4.09e9, 0.01e9, "torchvision, ResNet50_Weights"),
    ("resnext50_32x4d", 4.23e9, 0.01e9, "torchvision, ResNeXt50_32X4D_Weights"),
    ("mobilenet_v2", 300e6, 10e6, "Sandler et al., CVPR 2018, table 4: 300M"),
    ("mobilenet_v2", 0.30e9, 0.01e9, "torchvision, MobileNet_V2_Weights"),
]

# Name, kind of layer, number of layers, publication.
PUBLISHED_COUNTS = [
    ("alexnet", "R", 5, "Krizhevsky et al., NIPS 2012: five convolutional layers"),
    ("alexnet", "fc", 3, "Krizhevsky et al., NIPS 2012: three fully connected layers"),
    ("vgg16", "R", 13, "Simonyan, Zisserman, ICLR 2015, table 1"),
    ("vgg16", "fc", 3, "Simonyan, Zisserman, ICLR 2015, table 1"),
    ("resnet50", "P", 53, "He et al., CVPR 2016, table 1, with four projection shortcuts"),
    ("resnet50", "fc", 1, "He et al., CVPR 2016, table 1"),
    ("resnext50_32x4d", "G", 16, "Xie et al., CVPR 2017, table 1"),
    ("mobilenet_v2", "G", 17, "Sandler et al., CVPR 2018, table 2: 17 bottlenecks"),
    ("mobilenet_v2", "P", 52, "Sandler et al., CVPR 2018, table 2"),
    ("unet", "P", 23, "Ronneberger et al., MICCAI 2015, section 2: 23 convolutional layers"),
]

# Height and width of the output of every 3x3 convolution (Ronneberger et al., figure 1).
UNET_SIZES = [570, 568, 282, 280, 138, 136, 66, 64, 30, 28]
UNET_SIZES += [54, 52, 102, 100, 198, 196, 390, 388]

# Layer, time steps if recurrent, time in ms, TeraFLOPS (DeepBench, README, inference results).
DEEPBENCH = [
    ("deepbench_gemm", "m5124_n700_k2048", 1, 0.46, 31.94),
    ("deepbench_gemm", "m35_n700_k2048", 1, 0.05, 2.09),
    ("deepbench_gemm", "m3072_n3000_k1024", 1, 0.49, 38.36),
    ("deepbench_gemm", "m512_n6000_k2816", 1, 0.43, 40.71),
    ("deepbench_conv", "341x79_c32_k32_10x5_s2_n4", 1, 0.29, 9.03),
    ("deepbench_conv", "224x224_c3_k64_7x7_s2_n1", 1, 0.14, 1.64),
    ("deepbench_conv", "56x56_c256_k128_1x1_s2_n1", 1, 0.015, 3.43),
    ("deepbench_conv", "7x7_c512_k2048_1x1_n2", 1, 0.018, 11.42),
    ("deepbench_rnn", "lstm_h1536_n4", 50, 6.93, 0.55),
    ("deepbench_rnn", "lstm_h256_n4", 150, 1.63, 0.19),
    ("deepbench_rnn", "gru_h2816_n1", 1500, 350.62, 0.20),
    ("deepbench_rnn", "gru_h2560_n2", 375, 75.02, 0.39),
]


def weights(network: Network) -> int:
    """Words of W over all layers but the products of attention, whose W is not learned."""
    return sum(
        footprint(tensor, layer.bounds) * layer.repeat
        for layer in network.layers
        for tensor in layer.inputs
        if tensor.role == "W" and "B" not in layer.bounds
    )


def channels(layer: Layer) -> int:
    """Output channels, over all groups."""
    return layer.bounds.get("K", 1) * layer.bounds.get("G", 1)


@pytest.mark.parametrize(("name", "published", "digit", "source"), PUBLISHED_OPERATIONS)
def test_operations_are_those_published(
    name: str, published: float, digit: float, source: str
) -> None:
    assert abs(load_network(name).operations - published) <= digit / 2, source


def test_convolutions_of_alexnet_are_two_group_convolutions() -> None:
    # Sze et al., Proc. IEEE 105(12), 2017, table II: 666 M in convolutions, 58.6 M in the rest.
    layers = load_network("alexnet").layers
    convolutions = sum(layer.operations for layer in layers if "R" in layer.bounds)
    rest = sum(layer.operations for layer in layers if "R" not in layer.bounds)
    assert round(convolutions / 1e6) == 666
    assert round(rest / 1e6, 1) == 58.6
    assert [layer.name for layer in layers if "G" in layer.bounds] == ["conv2", "conv4", "conv5"]


@pytest.mark.parametrize(("name", "kind", "published", "source"), PUBLISHED_COUNTS)
def test_layer_counts_are_those_published(
    name: str, kind: str, published: int, source: str
) -> None:
    layers = load_network(name).layers
    chosen = [x for x in layers if kind in x.bounds or x.name.startswith(kind)]
    assert sum(layer.repeat for layer in chosen) == published, source


@pytest.mark.parametrize(
    ("name", "published"),
    # num_params of the weights in torchvision's documentation.
    [("resnet50", 25_557_032), ("resnext50_32x4d", 25_028_904), ("mobilenet_v2", 3_504_872)],
)
def test_parameters_of_normalised_networks_are_those_published(name: str, published: int) -> None:
    network = load_network(name)
    scale_and_shift = sum(2 * channels(x) * x.repeat for x in network.layers if "P" in x.bounds)
    assert weights(network) + scale_and_shift + 1000 == published


def test_parameters_of_vgg16_are_those_published() -> None:
    network = load_network("vgg16")
    bias = sum(channels(layer) * layer.repeat for layer in network.layers)
    assert weights(network) + bias == 138_357_544  # torchvision, VGG16_Weights


def test_parameters_of_transformers_are_those_published() -> None:
    d, layers = 768, 12
    bias_and_norm = layers * (3 * d + d + 4 * d + d + 4 * d)
    bert = weights(load_network("bert_base")) + bias_and_norm
    embeddings = (30522 + 512 + 2) * d + 2 * d
    assert bert + embeddings + d == 109_482_240  # huggingface.co/google-bert/bert-base-uncased
    gpt2 = weights(load_network("gpt2")) + bias_and_norm
    assert gpt2 + 1024 * d + 2 * d == 124_439_808  # huggingface.co/openai-community/gpt2
    for name in ("llama2_7b_prefill", "llama2_7b_decode"):
        llama = weights(load_network(name)) + 32000 * 4096 + (2 * 32 + 1) * 4096
        assert llama == 6_738_415_616, name  # huggingface.co/meta-llama/Llama-2-7b-hf


@pytest.mark.parametrize(
    ("name", "tokens", "context", "model", "hidden", "layers", "outputs"),
    [
        ("bert_base", 512, 512, 768, 2 * 3072, 12, 0),
        ("gpt2", 1024, 1024, 768, 2 * 3072, 12, 50257),
        ("llama2_7b_prefill", 2048, 2048, 4096, 3 * 11008, 32, 32000),
        ("llama2_7b_decode", 1, 2048, 4096, 3 * 11008, 32, 32000),
    ],
)
def test_operations_of_transformers_follow_the_published_formula(
    name: str, tokens: int, context: int, model: int, hidden: int, layers: int, outputs: int
) -> None:
    # J. Hoffmann et al., arXiv:2203.15556, appendix F, in multiply-accumulates.
    projections = 4 * tokens * model * model
    attention = 2 * tokens * context * model
    dense = tokens * model * hidden
    total = layers * (projections + attention + dense) + tokens * model * outputs
    pooler = 768 * 768 if name == "bert_base" else 0
    assert load_network(name).operations == total + pooler


def test_sizes_of_unet_are_those_of_its_figure() -> None:
    layers = load_network("unet").layers
    shown = [layer.bounds["P"] for layer in layers if layer.bounds.get("R") == 3]
    assert shown == UNET_SIZES
    up = [layer for layer in layers if layer.name.endswith(".up")]
    assert [2 * layer.bounds["P"] - 2 for layer in up] == [54, 102, 198, 390]
    assert [layer.bounds["C"] for layer in up] == [1024, 512, 256, 128]
    assert (layers[-1].bounds["P"], layers[-1].bounds["K"]) == (388, 2)


@pytest.mark.parametrize(("name", "layer", "steps", "ms", "teraflops"), DEEPBENCH)
def test_deepbench_kernels_have_the_published_throughput(
    name: str, layer: str, steps: int, ms: float, teraflops: float
) -> None:
    chosen = select(load_network(name), layer)
    assert chosen.repeat >= steps
    digit = 0.001 if ms < 0.1 and layer.startswith(("56", "7x7")) else 0.01
    work = 2 * chosen.operations * steps / 1e9
    assert work / (ms + digit / 2) - 0.005 <= teraflops <= work / (ms - digit / 2) + 0.005


def test_deepbench_has_every_kernel_of_the_inference_set() -> None:
    # Lines of inference_server_set, and of inference_device_set that are not among them.
    assert sum(x.repeat for x in load_network("deepbench_conv").layers) == 107 + 1
    assert len(load_network("deepbench_gemm").layers) == 75 + 9
    recurrent = load_network("deepbench_rnn").layers
    lstm = 3 * (25 + 25 + 25 + 50 + 150)
    gru = 3 * (4 * (1500 + 750 + 375 + 187) + 1 + 1500)
    assert sum(x.repeat for x in recurrent) == lstm + gru + 672 + 96


@pytest.mark.parametrize("name", zoo_names())
def test_every_network_names_its_source_and_merges_equal_layers(name: str) -> None:
    network = load_network(name)
    assert network.name == name
    assert network.source
    shapes = [(layer.einsum, tuple(layer.bounds.items())) for layer in network.layers]
    assert len(set(shapes)) == len(shapes)


def test_documentation_lists_the_networks_with_their_operations() -> None:
    page = Path(__file__).parents[2] / "docs" / "reference" / "workloads.md"
    rows = re.findall(r"^\| `(\w+)` \| (\d+) \| ([\d,]+) \|", page.read_text(), re.MULTILINE)
    shown = {name: (int(layers), int(macs.replace(",", ""))) for name, layers, macs in rows}
    shipped = {name: load_network(name) for name in zoo_names()}
    assert shown == {n: (len(net.layers), net.operations) for n, net in shipped.items()}

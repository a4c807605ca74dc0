"""Graphs: what files accept, how they fail, and that views and blocks mean what arrays show."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tilewright.document import parse
from tilewright.errors import InputError
from tilewright.workload import Network, dump_network, load_network, parse_network, zoo_names
from tilewright.workload.graph import Block, Graph, tensor_shape
from tilewright.workload.graphs.graph_checks import check
from tilewright.workload.graphs.view_files import read_view, view_data
from tilewright.workload.view import Broadcast, Pad, Reshape, Slice, Take, Transpose, View

CHAIN = """
name: chain
inputs: {image: [1, 3, 32, 32]}
layers:
  - {name: conv2, op: conv2d, K: 8, C: 8, P: 16, Q: 16, R: 3, S: 3, stride: 2,
     tensors: {I: [x, {pad: [0, 0, [1, 0], [1, 0]]}], O: y}}
  - {name: conv1, op: conv2d, K: 8, C: 3, P: 32, Q: 32, R: 3, S: 3,
     tensors: {I: [image, {pad: [0, 0, 1, 1]}], O: x}}
"""
BLOCK = """
name: block
inputs: {x: [4, 8]}
layers:
  - {name: p, op: matmul, M: 4, N: 8, K: 8, repeat: 6}
graph:
  - block: part
    repeat: 3
    inputs: {h: x}
    carry: {h: sum}
    weights: {w: [8, 8]}
    nodes:
    - {layer: p, name: a, tensors: {I: h, W: w}}
    - {node: act, operator: relu, inputs: [a]}
    - {layer: p, name: b, tensors: {I: act, W: [w, {transpose: [1, 0]}]}}
    - {node: sum, operator: add, inputs: [b, x]}
outputs: [part.sum]
"""


def read(text: str) -> Network:
    return parse_network(parse(text, "net.yaml"))


def graph_of(network: Network) -> Graph:
    assert network.graph is not None
    return network.graph


@st.composite
def views(draw: st.DrawFn, depth: int = 0) -> tuple[View, dict[str, np.ndarray]]:
    """A view that fits, and the arrays that it sees."""
    name = f"t{draw(st.integers(0, 10**9))}"
    shape = tuple(draw(st.lists(st.integers(1, 4), min_size=1, max_size=3)))
    arrays = {name: np.arange(np.prod(shape)).reshape(shape)}
    view = View((name,))
    if depth < 2 and draw(st.booleans()):
        inner, more = draw(views(depth + 1))
        arrays |= more
        seen = inner.apply(arrays)
        parts = tuple(inner.parts[0] if not inner.steps and len(inner.parts) == 1 else inner
                      for _ in range(2))  # fmt: skip
        view = View(parts, (), draw(st.integers(0, seen.ndim - 1)))
    for _ in range(draw(st.integers(0, 3))):
        sizes = view.apply(arrays).shape
        first = [draw(st.integers(0, size - 1)) for size in sizes]
        ends = [draw(st.integers(a + 1, size)) for a, size in zip(first, sizes, strict=True)]
        ranges = tuple((a, e, draw(st.integers(1, 2))) for a, e in zip(first, ends, strict=True))
        amount = st.tuples(st.integers(0, 2), st.integers(0, 2))
        flat = int(np.prod(sizes))
        view = view.then(
            draw(
                st.sampled_from(
                    [
                        Reshape((flat, 1)),
                        Transpose(tuple(draw(st.permutations(range(len(sizes)))))),
                        Slice(ranges),
                        Pad(tuple(draw(amount) for _ in sizes)),
                        Broadcast((2, *sizes)),
                        Take(draw(st.integers(0, sizes[0] - 1))) if sizes[1:] else Reshape(sizes),
                    ]
                )
            )
        )
    return view, arrays


@given(views())
def test_shapes_of_views_are_those_of_arrays(drawn: tuple[View, dict[str, np.ndarray]]) -> None:
    view, arrays = drawn
    shapes = {name: array.shape for name, array in arrays.items()}
    assert view.shape(shapes) == view.apply(arrays).shape


@given(views())
def test_a_written_view_reads_back_equal(drawn: tuple[View, dict[str, np.ndarray]]) -> None:
    view, _ = drawn

    def fail(message: str, key: object) -> InputError:
        return InputError(f"{message} at {key}")

    assert read_view(view_data(view), fail) == view


def test_layers_may_name_the_tensors_that_connect_them_in_any_order() -> None:
    network = read(CHAIN)
    graph = graph_of(network)
    assert [node.name for node in graph.nodes] == ["conv1", "conv2"]
    assert graph.shapes()["y"] == (1, 8, 16, 16)
    assert [layer.name for layer in network.layers] == ["conv2", "conv1"]


@pytest.mark.parametrize("text", [CHAIN, BLOCK])
def test_a_written_graph_reads_back_equal(text: str) -> None:
    network = read(text)
    assert read(dump_network(network)) == network


STEPS = """
name: steps
inputs: {x: [5, 4, 8], h: [4, 8]}
layers:
  - {name: p, op: matmul, M: 4, N: 8, K: 8, repeat: 6}
graph:
  - block: part
    repeat: 5
    inputs: {h: h}
    carry: {h: sum}
    each: {now: x}
    nodes:
    - {layer: p, name: a, tensors: {I: now}}
    - {node: sum, operator: add, inputs: [a, h]}
  - {layer: p, name: last, tensors: {I: [part.all.sum, {take: 2}]}}
"""


def test_repetitions_read_their_parts_and_all_can_be_read() -> None:
    network = read(STEPS)
    assert read(dump_network(network)) == network
    flat = graph_of(network).unrolled()
    check(flat, {layer.name: layer for layer in network.layers})
    nodes = {node.name: node for node in flat.nodes if not isinstance(node, Block)}
    assert nodes["part[3].a"].inputs["I"] == View(("x",), (Take(3),))
    assert list(nodes["last"].reads()) == [f"part[{i}].sum" for i in range(5)]
    with pytest.raises(InputError, match=r"net.yaml:11: graph\[0\].each.now: .*each of 5"):
        read(STEPS.replace("[5, 4, 8]", "[6, 4, 8]"))


def test_repetitions_read_what_the_one_before_has_made() -> None:
    network = read(BLOCK)
    graph = graph_of(network)
    flat = graph.unrolled()
    check(flat, {layer.name: layer for layer in network.layers})
    reads = {node.name: list(node.reads()) for node in flat.nodes if not isinstance(node, Block)}
    assert reads["part[0].a"] == ["x", "part[0].w"]
    assert reads["part[2].a"] == ["part[1].sum", "part[2].w"]
    assert reads["part[2].sum"] == ["part[2].b", "x"]
    assert flat.outputs == ("part[2].sum",)
    assert (graph.parameters, flat.parameters) == (3 * 64, 3 * 64)


@pytest.mark.parametrize(
    ("old", "new", "start", "says"),
    [
        ("I: [image", "I: [imag", "net.yaml:8: layers[1].tensors.I: ", "did you mean 'image'"),
        ("pad: [0, 0, 1, 1]", "pad: [0, 0, 1, 2]", "net.yaml:8: ", "[1, 3, 34, 34] as 'I', found"),
        ("pad: [0, 0, 1, 1]", "pad: [0, 0, 1]", "net.yaml:8: layers[1].tensors.I[1]: ", "4 axes"),
        ("pad: [0, 0, 1, 1]", "pad: 3", "net.yaml:8: layers[1].tensors.I[1]: ", "such as [0, 0"),
        ("{pad: [0, 0, 1, 1]}", "{pd: []}", "net.yaml:8: layers[1].tensors.I[1]: ", "mean 'pad'?"),
        ("O: x", "Q: x", "net.yaml:8: layers[1].tensors.Q: ", "layer 'conv1' has I, W, O"),
        ("O: x", "O: y", "net.yaml:7: layers[1]: ", "'y' is there already"),
        ("I: [image", "I: [y", "net.yaml:5: layers[0]: ", "a cycle: conv2 -> conv1 -> conv2"),
        ("[1, 3, 32, 32]", "[1, 3, 0]", "net.yaml:3: inputs.image: ", "from 1 to 2**40"),
        ("[1, 3, 32, 32]", "7", "net.yaml:3: inputs.image: ", "expected a shape"),
        ("S: 3,\n     tensors: {I: [im", "S: 3, repeat: 2,\n     tensors: {I: [im",
         "net.yaml:1: ", "repeat 2 and occurs 1 times"),
        ("name: chain", "outputs: [z]\nname: chain", "net.yaml:2: outputs: ", "no tensor 'z'"),
        ("name: chain", "graph: []\nname: chain", "net.yaml:7: layers[0].tensors: ", "not both"),
    ],
)  # fmt: skip
def test_errors_of_chains_name_the_line_and_the_key(
    old: str, new: str, start: str, says: str
) -> None:
    assert old in CHAIN
    with pytest.raises(InputError) as caught:
        read(CHAIN.replace(old, new))
    if "repeat" not in new:
        assert str(caught.value).startswith(start)
    assert says in str(caught.value)


@pytest.mark.parametrize(
    ("old", "new", "start", "says"),
    [
        (
            "layer: p, name: a",
            "layer: q, name: a",
            "net.yaml:13: graph[0].nodes[0].layer: ",
            "no layer 'q'",
        ),
        ("name: b", "name: a", "net.yaml:15: graph[0].nodes[2]: ", "twice (first on line 13)"),
        ("[b, x]", "[a, x]", "", ""),
        ("[b, x]", "[b, z]", "net.yaml:16: graph[0].nodes[3].inputs[1]: ", "no tensor 'z'"),
        ("carry: {h: sum}", "carry: {g: sum}", "net.yaml:10: graph[0].carry.g: ", "no input 'g'"),
        ("carry: {h: sum}", "carry: {h: smu}", "net.yaml:10: graph[0].carry.h: ", "mean 'sum'?"),
        ("repeat: 3", "repeat: 2", "net.yaml:6: graph: ", "has repeat 6 and occurs 4 times"),
        ("repeat: 3", "repeat: 0", "net.yaml:8: graph[0].repeat: ", "greater than or equal to 1"),
        ("- {node: act,", "- {nod: act,", "net.yaml:14: graph[0].nodes[1]: ", "'layer' or 'node'"),
        (
            "[a]}",
            "[a], status: gone}",
            "net.yaml:14: graph[0].nodes[1].status: ",
            "folded, moves data, left out",
        ),
        ("[a]}", "[]}", "net.yaml:14: graph[0].nodes[1]: ", "needs 'inputs'"),
        ("h: x", "h: [x, {slice: [0:2, 0:9]}]", "net.yaml:9: graph[0].inputs.h", "an axis of 8"),
        ("h: x", "h: {concat: [x], axis: 0}", "net.yaml:9: graph[0].inputs.h: ", "at least two"),
    ],
)
def test_errors_of_blocks_name_the_line_and_the_key(
    old: str, new: str, start: str, says: str
) -> None:
    assert old in BLOCK
    if not start:
        assert read(BLOCK.replace(old, new)) != read(BLOCK)
        return
    with pytest.raises(InputError) as caught:
        read(BLOCK.replace(old, new))
    assert str(caught.value).startswith(start)
    assert says in str(caught.value)


def test_keys_of_graphs_without_one_are_refused() -> None:
    text = "name: x\ninputs: {a: [1]}\nlayers:\n- {op: add, C: 1}"
    with pytest.raises(InputError, match=r"net.yaml:2: inputs: is of no use"):
        read(text)


@pytest.mark.parametrize("name", [n for n in zoo_names() if load_network(n).graph is not None])
def test_graphs_that_ship_use_every_layer_as_often_as_it_says(name: str) -> None:
    network = load_network(name)
    flat = graph_of(network).unrolled()
    layers = {layer.name: layer for layer in network.layers}
    check(flat, layers)
    assert flat.uses() == {layer.name: layer.repeat for layer in network.layers}
    used = {name for node in flat.nodes if not isinstance(node, Block) for name in node.reads()}
    made = [name for name in flat.shapes() if name not in used]
    assert made == [list(flat.shapes())[-1]]


def test_transformers_and_convolutional_networks_ship_with_their_edges() -> None:
    connected = {name for name in zoo_names() if load_network(name).graph is not None}
    assert connected == {
        "bert_base", "gpt2", "llama2_7b_prefill", "llama2_7b_decode", "mobilenet_v2",
        "resnet50", "resnext50_32x4d", "unet",
    }  # fmt: skip


def test_graph_of_attention_computes_attention() -> None:
    # The views of shipped BERT, on arrays: what the graph says equals the formula by heads.
    graph = graph_of(load_network("bert_base"))
    (block,) = (node for node in graph.nodes if isinstance(node, Block))
    nodes = {node.name: node for node in block.nodes}
    random = np.random.default_rng(1)
    q, k, v = (random.normal(size=(512, 768)) for _ in range(3))
    arrays = {"query": q, "key": k, "value": v}
    inputs = {key: view.apply(arrays) for key, view in nodes["scores"].inputs.items()}
    arrays["scores"] = np.einsum("bmk,bkn->bmn", inputs["I"], inputs["W"])
    arrays["probabilities"] = arrays["scores"]
    inputs = {key: view.apply(arrays) for key, view in nodes["context"].inputs.items()}
    arrays["context"] = np.einsum("bmk,bkn->bmn", inputs["I"], inputs["W"])
    seen = nodes["output"].inputs["I"].apply(arrays)
    for head in range(12):
        part = slice(64 * head, 64 * head + 64)
        assert np.allclose(seen[:, part], q[:, part] @ k[:, part].T @ v[:, part])


def test_a_tensor_reaches_to_the_last_word_that_is_touched() -> None:
    layer = next(x for x in load_network("resnet50").layers if x.name == "conv3_1.3x3")
    assert tensor_shape(layer.inputs[0], layer.bounds) == (1, 128, 57, 57)

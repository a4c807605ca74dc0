"""Cascades and variants: what is computed, how files say it, and which variant is chosen."""

import numpy as np
import pytest

import tilewright as tw
from tilewright.architecture.files import parse_architecture
from tilewright.document import parse
from tilewright.errors import InputError
from tilewright.mapper.fused.network import map_fused
from tilewright.mapper.fused.space.partition import parts_of, segments_of
from tilewright.workload.cascades import (
    attention,
    experts,
    fsrcnn,
    gated_feed_forward,
    inverted_bottleneck,
    six_products,
)
from tilewright.workload.network import dump_network, parse_network

MACHINE = """\
name: two-level
clock: 1 GHz
levels:
  - {memory: DRAM, word: 16 bits, energy: {read: 200, write: 200}, bandwidth: 16}
  - {memory: GLB, size: 48 B, word: 16 bits, energy: {read: 6, write: 6}}
  - {compute: MAC, energy: 1}
"""
TWO = """\
name: pair
inputs: {x: [4, 2]}
layers:
  - {name: up, op: matmul, M: 4, N: 8, K: 2, tensors: {I: x}}
variants:
  narrow:
    layers: [{name: down, op: matmul, M: 4, N: 2, K: 8, tensors: {I: up}}]
  wide:
    layers: [{name: down, op: matmul, M: 4, N: 4, K: 8, tensors: {I: up}}]
"""


def carried_out(network, given):
    """Return the tensors that a network makes, its layers carried out in floating point."""
    made = dict(given)
    for node in network.graph.nodes:
        own = next(layer for layer in network.layers if layer.name == node.layer)
        arrays = [node.inputs[tensor.name].apply(made) for tensor in own.inputs]
        (name,) = node.outputs
        made[name] = operation(own, arrays)
    return made


def operation(layer, arrays):
    """Return what a layer makes."""
    names = dict(zip(layer.bounds, "abcdefghij", strict=False))
    letters = []
    for tensor, array in zip(layer.inputs, list(arrays), strict=True):
        axes = []
        for i, terms in enumerate(tensor.expressions):
            # one index of several dimensions is as many axes
            sizes = [layer.bounds[t.dimension] for t in terms]
            if len(terms) > 1:
                shape = *array.shape[:i], *sizes, *array.shape[i + 1 :]
                arrays[len(letters)] = array.reshape(shape)
            axes += [names[t.dimension] for t in terms]
        letters.append("".join(axes))
    out = "".join(names[terms[0].dimension] for terms in layer.output.expressions)
    if layer.operation == "max":
        axis = tuple(i for i, d in enumerate(letters[0]) if d not in out)
        return arrays[0].max(axis=axis)
    if layer.operation == "exp":
        if len(arrays) == 1:
            # what is added up is scaled from block to block: in all, by this
            return np.exp(arrays[0] - arrays[0].max(axis=-1, keepdims=True))
        return np.exp(arrays[0] - np.einsum(f"{letters[1]},{letters[0]}->{letters[0]}",
                                            arrays[1], np.ones_like(arrays[0])))  # fmt: skip
    if layer.operation == "divide":
        arrays = [arrays[0], 1.0 / arrays[1]]
    return np.einsum(f"{','.join(letters)}->{out}", *arrays)


def test_variants_of_attention_compute_the_same():
    network = attention(heads=2, queries=3, keys=8, depth=4, block=2)
    random = np.random.default_rng(0)
    query, key, value = (random.normal(size=s) for s in ((2, 3, 4), (2, 4, 8), (2, 8, 4)))
    scores = query @ key
    shares = np.exp(scores) / np.exp(scores).sum(axis=2, keepdims=True)
    for own in network.variants:
        values = value
        if own.name == "one pass":
            values = np.concatenate([value, np.ones((2, 8, 1))], axis=2)
        made = carried_out(own, {"query": query, "key": key, "value": values})
        assert made["context"] == pytest.approx(shares @ value)


def test_the_variant_that_costs_least_is_chosen():
    network = parse_network(parse(TWO))
    machine = parse_architecture(parse(MACHINE))
    found = tw.map(network, machine, fuse=True, cache=False)
    values = [map_fused(own, machine, "energy").value for own in network.variants]
    assert [own.value for own in found.variants] == values
    assert found.value == min(values)
    assert found.network.name == "narrow"
    assert found.optimal
    assert "best of its variants: narrow" in found.text(80)
    assert [own["name"] for own in found.to_dict()["variants"]] == ["narrow", "wide"]


def test_files_say_variants():
    network = parse_network(parse(TWO))
    assert [layer.name for layer in network.layers] == ["up", "down"]
    assert [own.name for own in network.variants] == ["narrow", "wide"]
    again = parse_network(parse(dump_network(network)))
    assert again == network
    attended = attention(heads=1, queries=2, keys=4, depth=2, block=2)
    assert parse_network(parse(dump_network(attended))) == attended


@pytest.mark.parametrize(
    ("old", "new", "line", "says"),
    [
        ("N: 4, K: 8", "N: 4, L: 8", 9, "unknown key 'L'"),
        ("  wide:\n    layers", "  wide:\n    laers", 9, "unknown key 'laers'"),
        ("I: up}}]\n  wide", "I: upp}}]\n  wide", 7, "upp"),
        ("M: 4, N: 8", "M: 4, P: 8", 4, "unknown key 'P'"),
    ],
)
def test_what_is_wrong_with_a_variant_is_said_with_its_line(old, new, line, says):
    assert old in TWO
    with pytest.raises(InputError, match=says) as caught:
        parse_network(parse(TWO.replace(old, new)))
    assert caught.value.line == line


def test_blocks_divide_the_keys():
    with pytest.raises(InputError, match="block 3 does not divide the 8 keys"):
        attention(heads=1, queries=2, keys=8, depth=2, block=3)


def test_parts_have_the_operations_that_they_should():
    assert gated_feed_forward(tokens=3, width=4, hidden=5).operations == 3 * 5 * (3 * 4 + 1)
    block = inverted_bottleneck(rows=4, columns=6, channels=2, expanded=12, made=2)
    assert block.operations == 24 * (2 * 12 + 12 * 9 + 12 * 2 + 2)
    strided = inverted_bottleneck(rows=2, columns=3, channels=2, expanded=12, made=4, stride=2)
    assert strided.operations == 24 * 2 * 12 + 6 * (12 * 9 + 12 * 4)


def test_six_products_are_attention_without_softmax():
    random = np.random.default_rng(1)
    x = random.normal(size=(4, 6))
    weights = {
        f"{name}.W": random.normal(size=(6, 6)) for name in ("query", "key", "value", "output")
    }
    network = six_products(tokens=4, width=6, heads=2)
    made = dict(x=x)
    for node in network.graph.nodes:
        own = next(layer for layer in network.layers if layer.name == node.layer)
        arrays = [
            node.inputs[t.name].apply(made) if t.name in node.inputs else weights[f"{node.name}.W"]
            for t in own.inputs
        ]
        (name,) = node.outputs
        made[name] = operation(own, arrays)
    heads = [slice(0, 3), slice(3, 6)]
    q, k, v = (x @ weights[f"{name}.W"] for name in ("query", "key", "value"))
    wanted = np.hstack([q[:, h] @ k[:, h].T @ v[:, h] for h in heads]) @ weights["output.W"]
    assert made["output"] == pytest.approx(wanted)


def test_experts_are_gated_parts_side_by_side():
    one = gated_feed_forward(tokens=4, width=6, hidden=8)
    several = experts(count=3, tokens=4, width=6, hidden=8)
    assert [layer.name for layer in several.layers] == [layer.name for layer in one.layers]
    for own, other in zip(several.layers, one.layers, strict=True):
        assert own.operations == 3 * other.operations


def test_eight_layers_of_fsrcnn_may_be_one_segment():
    network = fsrcnn(rows=2, columns=4)
    assert network.layers[0].bounds["P"] == 2 + 2 * 5  # five windows of 3 rows after it
    (part,) = parts_of(network.graph)
    assert max(len(own.layers) for own in segments_of(part, network)) == 8

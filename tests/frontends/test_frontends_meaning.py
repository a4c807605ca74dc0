"""Imported graphs compute what their operators compute: layers and views carried out on arrays."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from test_frontends_onnx import CASES, Model, read

from tilewright.frontends.builder import Builder
from tilewright.frontends.configurations.decoders import Latent, latent_attention
from tilewright.frontends.configurations.transformer import Attention, Run, self_attention
from tilewright.workload import Block, Graph, Layer, Network
from tilewright.workload.graph import tensor_shape

KINDS = ("Conv", "ConvTranspose", "MatMul", "Gemm", "Einsum")
# ONNX's own reference implementation computes neither groups nor given shapes of outputs of these
MACS = [case for case in CASES if case[0] in KINDS]
MACS = [case for case in MACS if case[0] != "ConvTranspose" or "group" not in case[2]]


def carried_out(layer: Layer, inputs: dict[str, np.ndarray]) -> np.ndarray:
    """The output of a layer, by its definition: every iteration of the nest, one by one."""
    grid = dict(zip(layer.bounds, np.indices(tuple(layer.bounds.values())), strict=True))

    def index(tensor: Any) -> tuple[np.ndarray, ...]:
        return tuple(
            sum((t.coefficient * grid[t.dimension] for t in terms), np.zeros(1, int))
            for terms in tensor.expressions
        )

    product = np.ones(tuple(layer.bounds.values()))
    for tensor in layer.inputs:
        product = product * inputs[tensor.name][index(tensor)]
    output = np.zeros(tensor_shape(layer.output, layer.bounds))
    np.add.at(output, index(layer.output), product)
    return output


def run(network: Network, arrays: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """All tensors of a graph: products by definition, a softmax, and views of the rest."""
    assert network.graph is not None
    layers = {layer.name: layer for layer in network.layers}
    for node in network.graph.unrolled().nodes:
        assert not isinstance(node, Block)
        seen = {key: view.apply(arrays) for key, view in node.inputs.items()}
        for name in node.outputs:
            if node.layer is None:
                continue
            layer = layers[node.layer]
            if layer.operation == "mac":
                arrays[name] = carried_out(layer, seen)
            elif layer.operation == "softmax":
                power = np.exp(seen["I"])
                arrays[name] = power / power.sum(-1, keepdims=True)
            else:
                arrays[name] = seen["I"]
    return arrays


@pytest.mark.parametrize(("op", "shapes", "attributes", "operations"), MACS)
def test_products_are_those_of_the_operators(
    tmp_path: Path,
    op: str,
    shapes: list[tuple[int, ...]],
    attributes: dict[str, Any],
    operations: int | None,
) -> None:
    from onnx.reference import ReferenceEvaluator

    model = Model()
    names = [model.input(f"x{i}", shape) for i, shape in enumerate(shapes)]
    made = model.add(op, *names, **attributes)
    model.output(model.add("Neg", made))
    random = np.random.default_rng(7)
    arrays = {
        name: random.integers(-4, 5, shape).astype(np.float32)
        for name, shape in zip(names, shapes, strict=True)
    }
    if op == "Gemm" and len(names) > 2:
        arrays[names[2]][:] = 0
    (expected,) = ReferenceEvaluator(model.proto()).run(None, arrays)
    network = read(tmp_path, model)
    (end,) = (n for n, _ in network.graph.counted() if n.operator == "Neg")  # type: ignore[union-attr]
    found = end.inputs["I"].apply(run(network, dict(arrays)))
    assert np.array_equal(found, -expected)
    assert operations is None or sum(x.operations for x in network.layers[:1]) == operations


def test_groups_of_transposed_convolutions_are_convolutions_of_their_own(tmp_path: Path) -> None:
    from onnx.reference import ReferenceEvaluator

    random = np.random.default_rng(7)
    x = random.integers(-4, 5, (1, 4, 3, 4)).astype(np.float32)
    w = random.integers(-4, 5, (4, 3, 3, 2)).astype(np.float32)
    found = []
    for parts in (1, 2):
        values = []
        for i in range(parts):
            model = Model()
            mine = {"x": x[:, 2 * i : 2 * i + 2], "w": w[2 * i : 2 * i + 2]}
            arrays = mine if parts == 2 else {"x": x, "w": w}
            names = [model.input(name, array.shape) for name, array in arrays.items()]
            y = model.add("ConvTranspose", *names, strides=[2, 3], group=3 - parts)
            model.output(model.add("Neg", y))
            if parts == 2:
                values += ReferenceEvaluator(model.proto()).run(None, arrays)
                continue
            network = read(tmp_path, model)
            assert network.graph is not None
            (end,) = (n for n, _ in network.graph.counted() if n.operator == "Neg")
            values.append(-end.inputs["I"].apply(run(network, dict(arrays))))
        found.append(np.concatenate(values, 1))
    assert np.array_equal(*found)


@settings(max_examples=40, deadline=None)
@given(
    st.integers(1, 2), st.integers(1, 5), st.integers(0, 4), st.integers(1, 2), st.integers(1, 3),
    st.integers(0, 4),
)  # fmt: skip
def test_attention_of_decoders_reads_the_keys_that_it_should(
    batch: int, tokens: int, past: int, groups: int, shared: int, window: int
) -> None:
    """Grouped queries, keys of earlier tokens and windows, against a loop over tokens."""
    width, heads, model = 3, groups * shared, 4
    builder = Builder("attention")
    x = builder.input("x", (batch * tokens, model))
    sizes = Attention(heads, groups, width, rotary=False)
    end = self_attention(builder, sizes, x, Run(batch, tokens, tokens + past), window)
    builder.output(end)
    network = builder.network()
    graph: Graph = network.graph  # type: ignore[assignment]
    random = np.random.default_rng(3)
    arrays = {
        name: random.normal(size=shape)
        for name, shape in {**graph.inputs, **graph.weights, **graph.state}.items()
    }
    found = run(network, dict(arrays))[graph.outputs[0]].reshape(batch, tokens, model)

    def split(name: str, count: int) -> np.ndarray:
        matrix = arrays["x"] @ arrays[f"{name}.weight"]
        return matrix.reshape(batch, tokens, count, width)

    q, k, v = split("query", heads), split("key", groups), split("value", groups)
    if past:
        k = np.concatenate([arrays["past_keys"], k], 1)
        v = np.concatenate([arrays["past_values"], v], 1)
    length = tokens + past
    context = np.zeros((batch, tokens, heads, width))
    for n in range(batch):
        for t in range(tokens):
            last = past + t + 1
            banded = 0 < window < length
            # without a window no product is left out; with one, places before the first key are 0
            places = range(last - window, last) if banded else range(length)
            for h in range(heads):
                keys = np.array([k[n, p, h // shared] if p >= 0 else np.zeros(width)
                                 for p in places])  # fmt: skip
                values = np.array([v[n, p, h // shared] if p >= 0 else np.zeros(width)
                                   for p in places])  # fmt: skip
                weights = np.exp(keys @ q[n, t, h])
                context[n, t, h] = weights / weights.sum() @ values
    expected = context.reshape(batch, tokens, heads * width) @ arrays["output.weight"]
    assert np.allclose(found, expected)


@pytest.mark.parametrize(("tokens", "past"), [(1, 4), (2, 3), (3, 0), (4, 2)])
def test_latent_attention_is_the_same_expanded_and_absorbed(tokens: int, past: int) -> None:
    """Up to 2 new tokens the matrices are absorbed, from 3 on keys are expanded."""
    sizes = Latent(heads=3, query_rank=0, rank=5, plain=2, rotary=4, value=6)
    batch, model, length = 2, 7, tokens + past
    builder = Builder("latent")
    x = builder.input("x", (batch * tokens, model))
    builder.output(latent_attention(builder, sizes, x, Run(batch, tokens, length)))
    network = builder.network()
    assert any(".absorb" in x.name or x.name == "absorb" for x in network.layers) == (tokens <= 2)
    graph: Graph = network.graph  # type: ignore[assignment]
    random = np.random.default_rng(5)
    arrays = {
        name: random.normal(size=shape)
        for name, shape in {**graph.inputs, **graph.weights, **graph.state}.items()
    }
    found = run(network, dict(arrays))[graph.outputs[0]]
    q = (arrays["x"] @ arrays["query.weight"]).reshape(batch, tokens, 3, 6)
    both = (arrays["x"] @ arrays["latent.weight"]).reshape(batch, tokens, 1, 9)
    latent, shared = both[..., :5], both[..., 5:]
    if past:
        latent = np.concatenate([arrays["past_latent"], latent], 1)
        shared = np.concatenate([arrays["past_shared_keys"], shared], 1)
    full = (latent[:, :, 0] @ arrays["expand.weight"]).reshape(batch, length, 3, 8)
    keys = np.concatenate([full[..., :2], np.broadcast_to(shared, (batch, length, 3, 4))], -1)
    scores = np.exp(np.einsum("nthk,nlhk->nhtl", q, keys))
    weights = scores / scores.sum(-1, keepdims=True)
    made = np.einsum("nhtl,nlhk->nthk", weights, full[..., 2:]).reshape(batch * tokens, 18)
    assert np.allclose(found, made @ arrays["output.weight"])

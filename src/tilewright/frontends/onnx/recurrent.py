"""ONNX operators that are networks of their own: attention, and what runs step after step."""

from __future__ import annotations

from tilewright.errors import InputError
from tilewright.frontends import products
from tilewright.frontends.onnx.model import Importer, NotUnderstoodError, OnnxNode
from tilewright.frontends.recurrent import GRU, LSTM, RNN, recurrent
from tilewright.frontends.values import Value, joined


def attention(importer: Importer, node: OnnxNode) -> None:
    """Read two products with a softmax between; keys and values of earlier tokens come first."""
    q, k, v = (importer.value(name) for name in node.inputs[:3])
    flat = len(q.shape) == 3
    if flat:
        q, k, v = (
            _heads(value, int(node.get(key, 0)))
            for value, key in ((q, "q_num_heads"), (k, "kv_num_heads"), (v, "kv_num_heads"))
        )
    for i, past in enumerate(node.inputs[4:6]):
        if past and i == 0:
            k = joined([importer.value(past), k], 2)
        elif past:
            v = joined([importer.value(past), v], 2)
    if len(node.outputs) > 3 and node.outputs[3]:
        raise NotUnderstoodError
    made = products.attention(importer.builder, node.name, node.op, q, k, v)
    if flat:
        n, heads, m, width = made.shape
        made = made.transpose(0, 2, 1, 3).reshape(n, m, heads * width)
    importer.put(node, made, k, v)


def _heads(value: Value, heads: int) -> Value:
    n, length, words = value.shape
    if heads < 1 or words % heads:
        raise InputError(f"{words} words do not make {heads} heads")
    return value.reshape(n, length, heads, words // heads).transpose(0, 2, 1, 3)


def lstm(importer: Importer, node: OnnxNode) -> None:
    """Read four gates per step; their inputs are computed for all steps at once."""
    _recurrent(importer, node, LSTM)


def gru(importer: Importer, node: OnnxNode) -> None:
    """Read three gates per step."""
    _recurrent(importer, node, GRU)


def rnn(importer: Importer, node: OnnxNode) -> None:
    """Read one gate per step."""
    _recurrent(importer, node, RNN)


def _recurrent(importer: Importer, node: OnnxNode, gates: int) -> None:
    x, w, r = (importer.value(name) for name in node.inputs[:3])
    if len(node.inputs) > 3 and node.inputs[3]:
        importer.value(node.inputs[3])
    if node.get("layout", 0):
        x = x.transpose(1, 0, 2)
    steps, batch, width = x.shape
    directions, hidden = r.shape[0], r.shape[2]
    if w.shape != (directions, gates * hidden, width) or r.shape[1] != gates * hidden:
        raise InputError(f"weights {list(w.shape)} and {list(r.shape)} do not fit {list(x.shape)}")
    made = []
    for i in range(directions):
        name = node.name + (f".{i + 1}" if directions > 1 else "")

        def first(position: int, i: int = i) -> Value | None:
            if len(node.inputs) <= position or not node.inputs[position]:
                return None
            state = importer.value(node.inputs[position])
            return state.part(0, i, i + 1).reshape(batch, hidden)

        made.append(
            recurrent(
                importer.builder, name, node.op, x,
                w.part(0, i, i + 1).reshape(gates * hidden, width),
                r.part(0, i, i + 1).reshape(gates * hidden, hidden),
                gates, first(5), first(6) if gates == LSTM else None,
            )
        )  # fmt: skip
    y = joined([states.all.reshape(steps, 1, batch, hidden) for states in made], 1)
    y_h = joined([states.last.reshape(1, batch, hidden) for states in made], 0)
    y_c = joined([states.cell.reshape(1, batch, hidden) for states in made], 0)
    if node.get("layout", 0):
        y, y_h, y_c = y.transpose(2, 0, 1, 3), y_h.transpose(1, 0, 2), y_c.transpose(1, 0, 2)
    importer.put(node, y, y_h, y_c)

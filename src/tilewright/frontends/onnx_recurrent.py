"""ONNX operators that are networks of their own: attention, and what runs step after step."""

from __future__ import annotations

from tilewright.errors import InputError
from tilewright.frontends import operators
from tilewright.frontends.onnx_model import Importer, NotUnderstoodError, OnnxNode
from tilewright.frontends.values import Value, joined


def attention(importer: Importer, node: OnnxNode) -> None:
    """Two products with a softmax between; keys and values of earlier tokens come first."""
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
    made = operators.attention(importer.builder, node.name, node.op, q, k, v)
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
    """Four gates per step; their inputs are computed for all steps at once."""
    _recurrent(importer, node, 4)


def gru(importer: Importer, node: OnnxNode) -> None:
    """Three gates per step."""
    _recurrent(importer, node, 3)


def rnn(importer: Importer, node: OnnxNode) -> None:
    """One gate per step."""
    _recurrent(importer, node, 1)


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
    every, last, cells = [], [], []
    for i in range(directions):
        name = node.name + (f".{i + 1}" if directions > 1 else "")
        all_h, h, c = _direction(
            importer, node, name, x, w.part(0, i, i + 1).reshape(gates * hidden, width),
            r.part(0, i, i + 1).reshape(gates * hidden, hidden), i, gates,
        )  # fmt: skip
        every.append(all_h.reshape(steps, 1, batch, hidden))
        last.append(h.reshape(1, batch, hidden))
        cells.append(c.reshape(1, batch, hidden))
    y, y_h, y_c = joined(every, 1), joined(last, 0), joined(cells, 0)
    if node.get("layout", 0):
        y, y_h, y_c = y.transpose(2, 0, 1, 3), y_h.transpose(1, 0, 2), y_c.transpose(1, 0, 2)
    importer.put(node, y, y_h, y_c)


def _direction(
    importer: Importer,
    node: OnnxNode,
    name: str,
    x: Value,
    w: Value,
    r: Value,
    direction: int,
    gates: int,
) -> tuple[Value, Value, Value]:
    """Return what one direction makes in all steps, and its last state."""
    builder = importer.builder
    steps, batch, width = x.shape
    hidden = r.shape[1]
    flat = x.reshape(steps * batch, width)
    given = operators.matmul(builder, f"{name}.inputs", node.op, flat, w, True)
    given = given.reshape(steps, batch, gates * hidden)

    def first(position: int, what: str) -> Value:
        if len(node.inputs) > position and node.inputs[position]:
            state = importer.value(node.inputs[position])
            return state.part(0, direction, direction + 1).reshape(batch, hidden)
        return builder.state(f"{name}.{what}", (batch, hidden))

    begin = {"h": first(5, "h")} | ({"c": first(6, "c")} if gates == 4 else {})
    with builder.block(f"{name}.steps", steps, **begin) as inside:
        now = builder.part_of("now", given)
        product = operators.matmul(builder, "recurrent", node.op, inside["h"], r, True)
        total = operators.elementwise(builder, "gates", node.op, [product, now])
        parts = [total.part(1, i * hidden, (i + 1) * hidden) for i in range(gates)]
        if gates == 4:
            kept = operators.elementwise(builder, "kept", node.op, [inside["c"], parts[2]])
            new = operators.elementwise(builder, "new", node.op, [parts[0], parts[3]])
            cell = operators.elementwise(builder, "cell", node.op, [kept, new])
            h = operators.elementwise(builder, "hidden", node.op, [cell, parts[1]])
        elif gates == 3:
            h = operators.elementwise(builder, "hidden", node.op, [inside["h"], parts[0], parts[2]])
        else:
            h = operators.elementwise(builder, "hidden", node.op, parts)
        last = builder.carry(inside["h"], h)
        end = builder.carry(inside["c"], cell) if gates == 4 else last
    return builder.all_of(f"{name}.steps", h, steps), last, end

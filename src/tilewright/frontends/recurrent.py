"""Recurrent layers: the products of all inputs at once, then a block that is repeated per step."""

from __future__ import annotations

from dataclasses import dataclass

from tilewright.errors import InputError
from tilewright.frontends import operators, products
from tilewright.frontends.builder import Builder
from tilewright.frontends.values import Value

LSTM = 4
GRU = 3
RNN = 1


@dataclass(frozen=True)
class States:
    """What a recurrent layer makes: N is the batch, H the width of a state.

    Attributes
    ----------
    all : Value
        The states of all steps: steps, N, H.
    last, cell : Value
        The last state and, of an LSTM, the last cell: N, H.
    """

    all: Value
    last: Value
    cell: Value


def recurrent(
    builder: Builder,
    name: str,
    operator: str,
    x: Value,
    w: Value,
    r: Value,
    gates: int,
    h: Value | None = None,
    c: Value | None = None,
) -> States:
    """Add one direction of a recurrent layer.

    Parameters
    ----------
    builder : Builder
        Where it is added.
    name, operator : str
        Of its nodes.
    x : Value
        Inputs: steps, N, words.
    w, r : Value
        Weights of the inputs (gates * H, words) and of the state (gates * H, H).
    gates : int
        `LSTM`, `GRU` or `RNN`.
    h, c : Value, optional
        The first state and the first cell; given from outside when they are left out.
    """
    steps, batch, width = x.shape
    hidden = r.shape[1]
    if w.shape != (gates * hidden, width) or r.shape[0] != gates * hidden:
        raise InputError(f"weights {list(w.shape)} and {list(r.shape)} do not fit {list(x.shape)}")
    given = products.matmul(
        builder, f"{name}.inputs", operator, x.reshape(steps * batch, width), w, True
    ).reshape(steps, batch, gates * hidden)
    begin = {"h": h or builder.state(f"{name}.h", (batch, hidden))}
    if gates == LSTM:
        begin["c"] = c or builder.state(f"{name}.c", (batch, hidden))
    block = f"{name}.steps"

    def each(node: str, *values: Value) -> Value:
        return operators.elementwise(builder, node, operator, values)

    with builder.block(block, steps, **begin) as inside:
        now = builder.part_of("now", given)
        product = products.matmul(builder, "recurrent", operator, inside["h"], r, True)
        total = each("gates", product, now)
        parts = [total.part(1, i * hidden, (i + 1) * hidden) for i in range(gates)]
        if gates == LSTM:
            cell = each("cell", each("kept", inside["c"], parts[1]), each("new", *parts[2:]))
            state = each("hidden", cell, parts[0])
        elif gates == GRU:
            state = each("hidden", inside["h"], parts[0], parts[2])
        else:
            state = each("hidden", *parts)
        last = builder.carry(inside["h"], state)
        end = builder.carry(inside["c"], cell) if gates == LSTM else last
        full = builder.scope.prefix
    return States(builder.all_of(full, state, steps), last, end)

"""Programs of JAX, as objects of the form that ``jax.make_jaxpr`` returns."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

import tilewright as tw
from tilewright.frontends.accounting import account, not_understood
from tilewright.frontends.jax_program import read_jaxpr
from tilewright.workload.graphs.graph_checks import check


class Program:
    """Collects the equations of a program."""

    def __init__(self) -> None:
        self.arguments: list[Any] = []
        self.constants: list[Any] = []
        self.equations: list[Any] = []

    def argument(self, *shape: int) -> Any:
        self.arguments.append(variable(*shape))
        return self.arguments[-1]

    def constant(self, *shape: int) -> Any:
        self.constants.append(variable(*shape))
        return self.constants[-1]

    def call(
        self, primitive: str, made_shape: tuple[int, ...], /, *inputs: Any, **params: Any
    ) -> Any:
        made = variable(*made_shape)
        self.equations.append(SimpleNamespace(
            primitive=SimpleNamespace(name=primitive), invars=list(inputs), outvars=[made],
            params=params,
        ))  # fmt: skip
        return made

    def closed(self, *outputs: Any) -> Any:
        jaxpr = SimpleNamespace(
            invars=self.arguments, constvars=self.constants, eqns=self.equations,
            outvars=list(outputs),
        )  # fmt: skip
        return SimpleNamespace(jaxpr=jaxpr, consts=[None] * len(self.constants))


def variable(*shape: int) -> Any:
    return Variable(SimpleNamespace(shape=shape))


class Variable:
    """A variable, known by what it is and not by what it says."""

    def __init__(self, aval: Any) -> None:
        self.aval = aval


NUMBER = SimpleNamespace(val=1.0, aval=SimpleNamespace(shape=()))


def macs(network: tw.Network) -> int:
    return sum(
        x.operations * x.repeat
        for x in network.layers
        if len(x.inputs) == 2 and set(x.bounds) - set(x.output.dimensions)
    )


def read(program: Program, *outputs: Any) -> tw.Network:
    network = read_jaxpr(program.closed(*outputs))
    assert network.graph is not None
    check(network.graph, {layer.name: layer for layer in network.layers})
    return network


def test_products_over_any_axes() -> None:
    p = Program()
    a, b = p.argument(4, 8), p.constant(8, 3)
    y = p.call("dot_general", (4, 3), a, b, dimension_numbers=(((1,), (0,)), ((), ())))
    q, k = p.argument(2, 5, 6), p.argument(7, 2, 6)
    z = p.call("dot_general", (2, 5, 7), q, k, dimension_numbers=(((2,), (2,)), ((0,), (1,))))
    known = p.call("broadcast_in_dim", (3, 2), NUMBER, shape=(3, 2), broadcast_dimensions=())
    o = p.call("dot_general", (4, 2), y, known, dimension_numbers=(((1,), (0,)), ((), ())))
    network = read(p, y, z, o)
    first, second, third = network.layers
    assert first.einsum == "O[N,K] += I[N,C] * W[K,C]"
    assert first.bounds == {"N": 4, "K": 3, "C": 8}
    assert second.operations == 2 * 5 * 7 * 6
    assert network.graph is not None
    assert third.operations == 4 * 3 * 2
    assert network.graph.parameters == 24 + 6


def test_convolutions_and_pooling_in_any_layout() -> None:
    p = Program()
    x, w = p.argument(2, 16, 16, 3), p.constant(3, 3, 3, 8)
    numbers = SimpleNamespace(lhs_spec=(0, 3, 1, 2), rhs_spec=(3, 2, 0, 1), out_spec=(0, 3, 1, 2))
    y = p.call("conv_general_dilated", (2, 8, 8, 8), x, w, dimension_numbers=numbers,
               window_strides=(2, 2), padding=((0, 1), (0, 1)), lhs_dilation=(1, 1),
               rhs_dilation=(1, 1), feature_group_count=1, batch_group_count=1)  # fmt: skip
    y = p.call("max", (2, 8, 8, 8), y, NUMBER)
    z = p.call("reduce_window_max", (2, 4, 4, 8), y, window_dimensions=(1, 2, 2, 1),
               window_strides=(1, 2, 2, 1), padding=((0, 0),) * 4, base_dilation=(1,) * 4,
               window_dilation=(1,) * 4)  # fmt: skip
    network = read(p, z)
    assert macs(network) == 2 * 64 * 27 * 8
    assert network.layers[0].bounds == {"N": 2, "K": 8, "C": 3, "P": 8, "Q": 8, "R": 3, "S": 3}
    assert network.layers[2].operations == 2 * 4 * 4 * 8 * 4
    assert [layer.operation for layer in network.layers] == ["mac", "max", "max"]


def test_programs_in_programs_and_loops() -> None:
    body = Program()
    w, h, x = body.argument(4, 4), body.argument(2, 4), body.argument(2, 4)
    y = body.call("dot_general", (2, 4), h, w, dimension_numbers=(((1,), (0,)), ((), ())))
    y = body.call("add", (2, 4), y, x)
    inner = Program()
    v = inner.argument(2, 4)
    tanh = inner.closed(inner.call("tanh", (2, 4), v))
    y = body.call("pjit", (2, 4), y, jaxpr=tanh, name="squash")
    p = Program()
    weights, state, rows = p.constant(4, 4), p.argument(2, 4), p.argument(10, 2, 4)
    last, out = variable(2, 4), variable(10, 2, 4)
    p.equations.append(SimpleNamespace(
        primitive=SimpleNamespace(name="scan"), invars=[weights, state, rows],
        outvars=[last, out],
        params={"jaxpr": body.closed(y, y), "length": 10, "num_consts": 1, "num_carry": 1,
                "reverse": False},
    ))  # fmt: skip
    network = read(p, last, out)
    product = next(layer for layer in network.layers if macs(tw.Network("n", (layer,))))
    assert product.repeat == 10
    assert macs(network) == 10 * 2 * 4 * 4
    assert {row.operator for row in account(network)} >= {"tanh", "add", "dot_general"}


def test_views_are_no_layers_and_what_is_unknown_is_named() -> None:
    p = Program()
    x = p.argument(2, 6)
    y = p.call("reshape", (2, 2, 3), x, new_sizes=(2, 2, 3), dimensions=None)
    y = p.call("transpose", (2, 3, 2), y, permutation=(0, 2, 1))
    y = p.call("broadcast_in_dim", (2, 3, 2, 5), y, shape=(2, 3, 2, 5),
               broadcast_dimensions=(0, 1, 2))  # fmt: skip
    one = p.call("broadcast_in_dim", (2, 3, 2, 5), NUMBER, shape=(2, 3, 2, 5),
                 broadcast_dimensions=())  # fmt: skip
    y = p.call("mul", (2, 3, 2, 5), y, one)
    z = p.call("fft", (2, 3, 2, 5), y)
    network = read(p, p.call("exp", (2, 3, 2, 5), z))
    assert [layer.operation for layer in network.layers] == ["mul", "exp"]
    assert "fft" in not_understood(network)[0]
    fates = {row.operator: row.status for row in account(network)}
    assert fates["reshape"] == fates["transpose"] == "moves data"
    result = tw.map(p.closed(z), "simple", tiles="divisors")
    assert result.network.operations == 2 * 60


def test_shapes_have_to_be_numbers() -> None:
    p = Program()
    x = p.argument(4)
    x.aval.shape = ("b",)
    with pytest.raises(tw.InputError, match="a size that is no number"):
        tw.load_workload(p.closed(x))

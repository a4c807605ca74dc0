"""Programs of JAX: what ``jax.make_jaxpr`` returns, read by what it has; JAX is not imported.

Arguments of the function are inputs of the graph, arrays that it closes over are weights.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Any, TypeAlias

from tilewright.errors import InputError
from tilewright.frontends import operators, products
from tilewright.frontends.builder import Builder
from tilewright.frontends.operators import Window
from tilewright.frontends.values import Value, is_simple, joined
from tilewright.workload.graph import FOLDED, MOVES
from tilewright.workload.layer import Network
from tilewright.workload.view import MAX_WORDS, Shape

MAX_EQUATIONS = 50_000
CALLS = ("jaxpr", "call_jaxpr", "fun_jaxpr")
ELEMENTWISE = """
add sub mul div rem max min pow integer_pow exp exp2 log log1p expm1 tanh logistic erf erfc
erf_inv sqrt rsqrt cbrt neg abs sign floor ceil round sin cos tan asin acos atan atan2 sinh cosh
square select_n clamp eq ne lt le gt ge and or xor not is_finite nextafter shift_left
shift_right_logical shift_right_arithmetic add_any real imag
"""
REDUCTIONS = """
reduce_sum reduce_max reduce_min reduce_prod reduce_and reduce_or argmax argmin
"""
POOLINGS = {
    "reduce_window_max": "max", "reduce_window_min": "min", "reduce_window_sum": "add",
}  # fmt: skip
SAME = """
convert_element_type stop_gradient copy copy_p optimization_barrier
"""
MOVING = """
gather dynamic_slice dynamic_update_slice scatter rev sort top_k
"""


class NotUnderstoodError(Exception):
    """An equation has no meaning here; the network is read without it."""


def read_jaxpr(closed: Any, *, only: Sequence[str] | None = None) -> Network:
    """Return the network of a closed jaxpr.

    Parameters
    ----------
    closed : jax.core.ClosedJaxpr
        Of ``jax.make_jaxpr(function)(*arguments)``.
    only : sequence of str, optional
        Kinds of operations that become layers; the others are left out, on record.

    Raises
    ------
    InputError
        When no operation can be mapped, or it is too long.
    """
    builder = Builder("jaxpr", "program of JAX", only)
    importer = Importer(builder)
    jaxpr = closed.jaxpr
    given = [
        builder.input(f"argument{i}", shape_of(variable)) if size_of(variable) else None
        for i, variable in enumerate(jaxpr.invars)
    ]
    constants = [
        builder.weight(f"constant{i}", shape_of(variable)) if size_of(variable) > 1 else None
        for i, variable in enumerate(jaxpr.constvars)
    ]
    for value in importer.run(jaxpr, [*constants, *given], ""):
        if value is not None:
            builder.output(value)
    return builder.network()


def shape_of(variable: Any) -> Shape:
    """Return the shape of a variable."""
    sizes = tuple(variable.aval.shape)
    if any(type(size) is not int for size in sizes):
        raise InputError(f"shape {sizes} has a size that is no number: export with fixed shapes")
    if prod(sizes) > MAX_WORDS:
        raise InputError(f"a tensor has the shape {list(sizes)[:12]}")
    return sizes


def size_of(variable: Any) -> int:
    """Return the words of a variable; 0 for what is no array."""
    return prod(shape_of(variable)) if hasattr(variable.aval, "shape") else 0


class Importer:
    """Turns equations into layers, views and records.

    Parameters
    ----------
    builder : Builder
        Collects the network.
    """

    def __init__(self, builder: Builder) -> None:
        self.builder = builder
        self.count = 0

    def run(self, jaxpr: Any, given: Sequence[Value | None], prefix: str) -> list[Value | None]:
        """Read the equations of a jaxpr; None stands for what is known before the network runs."""
        values: dict[Any, Value | None] = dict(
            zip([*jaxpr.constvars, *jaxpr.invars], given, strict=True)
        )

        def value_of(atom: Any) -> Value | None:
            return None if hasattr(atom, "val") else values.get(atom)

        for equation in jaxpr.eqns:
            self.count += 1
            if self.count > MAX_EQUATIONS:
                raise InputError(f"has more than {MAX_EQUATIONS:,} equations")
            inputs = [value_of(atom) for atom in equation.invars]
            name = f"{prefix}{equation.primitive.name}"
            values.update(zip(equation.outvars, self.read(equation, inputs, name), strict=True))
        return [value_of(atom) for atom in jaxpr.outvars]

    def read(self, equation: Any, inputs: list[Value | None], name: str) -> list[Value | None]:
        """Return what an equation makes."""
        kind = equation.primitive.name
        shapes = [shape_of(variable) for variable in equation.outvars]
        if all(value is None for value in inputs):
            self.builder.folded(name, kind)
            return [None] * len(shapes)
        inner = next((equation.params[key] for key in CALLS if key in equation.params), None)
        try:
            if inner is not None and kind == "scan":
                return self.scan(equation, inputs, name)
            if inner is not None and kind != "while":
                jaxpr = getattr(inner, "jaxpr", inner)
                closed = [None] * len(jaxpr.constvars)
                return self.run(jaxpr, [*closed, *inputs], prefixed(equation, name))
            return [self.operator(equation, inputs, name, shapes)]
        except NotUnderstoodError:
            read = [value for value in inputs if value is not None]
            return list(self.builder.unknown(name, kind, read, shapes))
        except InputError as failure:
            raise InputError(f"equation '{name}': {failure.message}") from None

    def scan(self, equation: Any, inputs: list[Value | None], name: str) -> list[Value | None]:
        """Read a loop of a known number of steps, one after the other."""
        params = equation.params
        fixed, carried, steps = (int(params[k]) for k in ("num_consts", "num_carry", "length"))
        jaxpr = params["jaxpr"].jaxpr
        if steps * len(jaxpr.eqns) > MAX_EQUATIONS:
            raise NotUnderstoodError
        closed: list[Value | None] = [None] * len(jaxpr.constvars)
        state = inputs[fixed : fixed + carried]
        rows: list[list[Value | None]] = []
        for i in range(steps):
            at = steps - 1 - i if params.get("reverse") else i
            parts = [
                None if x is None else x.part(0, at, at + 1).reshape(*x.shape[1:])
                for x in inputs[fixed + carried :]
            ]
            made = self.run(jaxpr, [*closed, *inputs[:fixed], *state, *parts], f"{name}.")
            state, row = made[:carried], made[carried:]
            rows.append(row)
        if params.get("reverse"):
            rows.reverse()
        stacked: list[Value | None] = []
        for column in zip(*rows, strict=True):
            there = [x.reshape(1, *x.shape) for x in column if x is not None]
            stacked.append(joined(there, 0) if len(there) == steps else None)
        return [*state, *stacked]

    def operator(
        self, equation: Any, inputs: list[Value | None], name: str, shapes: list[Shape]
    ) -> Value:
        """Return what an equation without a program of its own makes."""
        kind, params = equation.primitive.name, equation.params
        there = [value for value in inputs if value is not None]
        (shape, *others) = shapes
        if others:
            raise NotUnderstoodError
        if kind in SAME.split():
            self.builder.other(name, kind, (), (), FOLDED)
            return there[0]
        if kind in ELEMENTWISE.split():
            made = operators.elementwise(self.builder, name, kind, there)
            return made if made.shape == shape else made.broadcast(*shape)
        if kind in REDUCTIONS.split():
            axes = params["axes"]
            return operators.reduction(self.builder, name, kind, there[0], axes, False)
        if kind in MOVING.split():
            (made,) = self.builder.other(name, kind, there, [shape], MOVES)
            return made
        if kind in ("dot_general", "conv_general_dilated"):
            # what is known before the network runs is a weight to a product
            left, right = (
                self.builder.weight(f"{name}.constant", shape_of(atom)) if value is None else value
                for atom, value in zip(equation.invars, inputs, strict=True)
            )
            if kind == "dot_general":
                return product(self.builder, name, left, right, params, shape)
            return convolution(self.builder, name, left, right, params)
        if kind in POOLINGS:
            return pooling(self.builder, name, there[0], params, kind)
        if kind in VIEWS:
            seen = VIEWS[kind](there, params, shape) if len(there) == len(inputs) else None
            if seen is None or not is_simple(seen):
                (made,) = self.builder.other(name, kind, there, [shape], MOVES)
                return made
            self.builder.moved(name, kind)
            return seen
        raise NotUnderstoodError


def prefixed(equation: Any, name: str) -> str:
    """Return what the names of a program's equations begin with: its own name, if it has one."""
    own = equation.params.get("name")
    return f"{own}." if isinstance(own, str) and own else f"{name}."


def product(
    builder: Builder, name: str, left: Value, right: Value, params: Any, shape: Shape
) -> Value:
    """Read a product over some axes, with others in common."""
    (over_left, over_right), (of_left, of_right) = params["dimension_numbers"]
    if not of_left and len(over_left) == 1:
        a = moved_last(left, over_left[0])
        b = moved_last(right, over_right[0])
        flat = (
            a.reshape(prod(a.shape[:-1]), a.shape[-1]),
            b.reshape(prod(b.shape[:-1]), b.shape[-1]),
        )
        made = products.matmul(builder, name, "dot_general", *flat, transposed=True)
        return made.reshape(*shape)
    letters = iter("BCDEFGHIJKLMNOPQRSTUVWXYZ")
    texts = [[""] * len(left.shape), [""] * len(right.shape)]
    for axes in ((of_left, of_right), (over_left, over_right)):
        for i, j in zip(*axes, strict=True):
            texts[0][i] = texts[1][j] = next(letters)
    for text in texts:
        text[:] = [letter or next(letters) for letter in text]
    batch = [texts[0][i] for i in of_left]
    summed = {texts[0][i] for i in over_left}
    rest = [x for text in texts for x in text if x not in summed and x not in batch]
    equation = f"{''.join(texts[0])},{''.join(texts[1])}->{''.join([*batch, *rest])}"
    return products.einsum(builder, name, "dot_general", equation, [left, right]).reshape(*shape)


def moved_last(x: Value, axis: int) -> Value:
    """Return an axis behind all others."""
    return x.transpose(*(i for i in range(len(x.shape)) if i != axis), axis)


def convolution(builder: Builder, name: str, x: Value, w: Value, params: Any) -> Value:
    """Read a convolution whose input has no gaps."""
    numbers = params["dimension_numbers"]
    gaps = params.get("lhs_dilation") or ()
    if any(n != 1 for n in gaps) or params.get("batch_group_count", 1) != 1:
        raise NotUnderstoodError
    x, w = x.transpose(*numbers.lhs_spec), w.transpose(*numbers.rhs_spec)
    rank = len(x.shape) - 2
    steps = params["window_strides"]
    far = params.get("rhs_dilation") or (1,) * rank
    windows = [
        Window(size, step, dilation, before, after)
        for size, step, dilation, (before, after) in zip(
            w.shape[2:], steps, far, params["padding"], strict=True
        )
    ]
    groups = params.get("feature_group_count", 1)
    made = operators.convolution(builder, name, "conv_general_dilated", x, w, windows, groups)
    order = numbers.out_spec
    return made.transpose(*(order.index(i) for i in range(len(order))))


def pooling(builder: Builder, name: str, x: Value, params: Any, kind: str) -> Value:
    """Read a pooling over the axes that have a window."""
    if any(n != 1 for n in params.get("base_dilation") or ()):
        raise NotUnderstoodError
    sizes, steps = params["window_dimensions"], params["window_strides"]
    far = params.get("window_dilation") or (1,) * len(sizes)
    slid = [i for i, (n, step) in enumerate(zip(sizes, steps, strict=True)) if n > 1 or step > 1]
    still = [i for i in range(len(sizes)) if i not in slid]
    if not slid or any(any(params["padding"][i]) for i in still):
        raise NotUnderstoodError
    windows = [Window(sizes[i], steps[i], far[i], *params["padding"][i]) for i in slid]
    seen = x.transpose(*still, *slid)
    lead = seen.shape[: len(still)]
    flat = seen.reshape(prod(lead[:1]), prod(lead[1:]), *seen.shape[len(still) :])
    made = operators.pooling(builder, name, kind, flat, windows, POOLINGS[kind])
    made = made.reshape(*lead, *made.shape[2:])
    order = [*still, *slid]
    return made.transpose(*(order.index(i) for i in range(len(order))))


def broadcast(values: Sequence[Value], params: Any, shape: Shape) -> Value | None:
    """Return axes of one word repeated, and new ones between."""
    places = dict(zip(params["broadcast_dimensions"], values[0].shape, strict=True))
    return values[0].reshape(*(places.get(i, 1) for i in range(len(shape)))).broadcast(*shape)


def sliced(values: Sequence[Value], params: Any, shape: Shape) -> Value | None:
    """Return some indices of each axis."""
    first, end = params["start_indices"], params["limit_indices"]
    steps = params.get("strides") or (1,) * len(first)
    return values[0].slice(list(zip(first, end, steps, strict=True)))


def padded(values: Sequence[Value], params: Any, shape: Shape) -> Value | None:
    """Return words around each axis; between words, or fewer of them, is no view."""
    amounts = [(before, after) for before, after, _ in params["padding_config"]]
    if any(inner for *_, inner in params["padding_config"]) or min(map(min, amounts)) < 0:
        return None
    return values[0].pad(amounts)


View: TypeAlias = "Callable[[Sequence[Value], Any, Shape], Value | None]"
VIEWS: dict[str, View] = {
    "reshape": lambda values, params, shape: values[0].reshape(*shape),
    "squeeze": lambda values, params, shape: values[0].reshape(*shape),
    "expand_dims": lambda values, params, shape: values[0].reshape(*shape),
    "transpose": lambda values, params, shape: values[0].transpose(*params["permutation"]),
    "broadcast_in_dim": broadcast,
    "slice": sliced,
    "pad": padded,
    "concatenate": lambda values, params, shape: joined(values, params["dimension"]),
}

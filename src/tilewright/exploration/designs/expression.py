"""Arithmetic over the parameters of a design space, for numbers and for ranges of numbers.

Expressions are parsed with `ast` and walked; nothing is ever run as Python.
"""

from __future__ import annotations

import ast
import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import product

from tilewright.architecture.units import BITS
from tilewright.errors import nearest

LONGEST = 1000
LARGEST = 1e30
_LITERAL = re.compile(r"(?<![\w.$])([0-9]+(?:\.[0-9]+)?)\s*(bits?|bytes?|B|[KMGT]iB)\b")
_PARAMETER = re.compile(r"\$\{?([A-Za-z_]\w*)\}?")
_UNIT = "unit_"

Values = Mapping[str, "Quantity"]


@dataclass(frozen=True)
class Quantity:
    """A number, or a size in bits.

    Attributes
    ----------
    value : float
        The number; of a size, bits.
    power : int
        1 for a size, 0 for a plain number; products and quotients add and subtract it.
    """

    value: float
    power: int = 0


@dataclass(frozen=True)
class Range:
    """All values from `low` to `high`, of a power as in `Quantity`."""

    low: float
    high: float
    power: int = 0


@dataclass(frozen=True)
class Expression:
    """An expression of parameters.

    Attributes
    ----------
    text : str
        As it was written.
    names : frozenset of str
        The parameters in it.
    """

    text: str
    names: frozenset[str]
    tree: ast.expr

    def value(self, values: Values) -> Quantity:
        """Return its value.

        Raises
        ------
        ValueError
            When it adds a size to a number, divides by zero or leaves the range of numbers.
        """
        found = self.range({n: Range(q.value, q.value, q.power) for n, q in values.items()})
        return Quantity(found.low, found.power)

    def range(self, ranges: Mapping[str, Range]) -> Range:
        """Return a range that holds its values for all values of the parameters in theirs.

        Raises
        ------
        ValueError
            When it has no value for some of them.
        """
        try:
            found = _range(self.tree, ranges)
        except (OverflowError, ZeroDivisionError):
            raise ValueError(f"'{self.text}' has no value") from None
        if not -LARGEST <= found.low <= found.high <= LARGEST:
            raise ValueError(f"'{self.text}' is beyond the range of numbers")
        return found


def parse_expression(text: str, parameters: Mapping[str, object]) -> Expression:
    """Return an expression such as ``$columns * 2`` or ``glb + 168 * rf_w``.

    Numbers, sizes (``16 KiB``), parameters with or without ``$``, ``+ - * / // **``, parentheses
    and ``min``, ``max``, ``ceil``, ``floor``, ``log2`` and ``sqrt`` are accepted.

    Raises
    ------
    ValueError
        When it is anything else.
    """
    if len(text) > LONGEST:
        raise ValueError(f"an expression has at most {LONGEST} characters")
    plain = _LITERAL.sub(rf"(\1 * {_UNIT}\2)", _PARAMETER.sub(r"\1", text)).strip()
    try:
        tree = ast.parse(plain, mode="eval").body
        names = frozenset(_check(tree, text, parameters))
    except (SyntaxError, RecursionError, MemoryError):
        raise ValueError(f"'{text}' is no expression") from None
    return Expression(text, names, tree)


def parameters_of(text: str) -> list[str]:
    """Return the names after ``$`` in a text."""
    return _PARAMETER.findall(text)


def filled(text: str, shown: Mapping[str, str]) -> str:
    """Return a text with every ``${name}`` replaced."""
    return _PARAMETER.sub(lambda match: shown[match[1]], text)


_BINARY: dict[type[ast.operator], Callable[[float, float], float]] = {
    ast.Add: lambda a, b: a + b,
    ast.Sub: lambda a, b: a - b,
    ast.Mult: lambda a, b: a * b,
    ast.Div: lambda a, b: a / b,
    ast.FloorDiv: lambda a, b: float(a // b),
    ast.Pow: lambda a, b: float(a**b),
}
_MONOTONE: dict[str, Callable[[float], float]] = {
    "ceil": lambda x: float(math.ceil(x)),
    "floor": lambda x: float(math.floor(x)),
    "log2": math.log2,
    "sqrt": math.sqrt,
}
_CHOICES: dict[str, Callable[..., float]] = {"min": min, "max": max}


def _check(node: ast.expr, text: str, parameters: Mapping[str, object]) -> list[str]:
    if isinstance(node, ast.Constant) and type(node.value) in (int, float):
        assert isinstance(node.value, int | float)
        if abs(node.value) > LARGEST:
            raise ValueError(f"'{text}' is beyond the range of numbers")
        return []
    if isinstance(node, ast.Name):
        if node.id in parameters:
            return [node.id]
        if node.id.removeprefix(_UNIT) in BITS and node.id.startswith(_UNIT):
            return []
        raise ValueError(
            f"no parameter '{node.id}'; accepted: {', '.join(parameters)}"
            f"{nearest(node.id, parameters)}"
        )
    inner: list[ast.expr] | None = None
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub | ast.UAdd):
        inner = [node.operand]
    elif isinstance(node, ast.BinOp) and type(node.op) in _BINARY:
        inner = [node.left, node.right]
    elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and not node.keywords:
        fitting = node.args if node.func.id in _CHOICES else node.args[:1]
        known = node.func.id in _CHOICES or node.func.id in _MONOTONE
        inner = node.args if known and node.args and len(fitting) == len(node.args) else None
    if inner is None:
        raise ValueError(
            f"'{text}' is no expression: numbers, sizes, parameters, + - * / // **, min, max, "
            "ceil, floor, log2 and sqrt are accepted"
        )
    return [name for part in inner for name in _check(part, text, parameters)]


def _range(node: ast.expr, ranges: Mapping[str, Range]) -> Range:
    if isinstance(node, ast.Constant):
        assert isinstance(node.value, int | float)
        return Range(float(node.value), float(node.value))
    if isinstance(node, ast.Name):
        if node.id in ranges:
            return ranges[node.id]
        bits = float(BITS[node.id.removeprefix(_UNIT)])
        return Range(bits, bits, 1)
    if isinstance(node, ast.UnaryOp):
        inner = _range(node.operand, ranges)
        if isinstance(node.op, ast.UAdd):
            return inner
        return Range(-inner.high, -inner.low, inner.power)
    if isinstance(node, ast.BinOp):
        return _of_two(node.op, _range(node.left, ranges), _range(node.right, ranges))
    assert isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
    parts = [_range(part, ranges) for part in node.args]
    name = node.func.id
    if len({part.power for part in parts}) > 1:
        raise ValueError(f"'{name}' of a size and a number")
    if name in _CHOICES:
        chosen = _CHOICES[name]
        low, high = chosen(part.low for part in parts), chosen(part.high for part in parts)
        return Range(low, high, parts[0].power)
    (part,) = parts
    if part.power and name in ("log2", "sqrt"):
        raise ValueError(f"'{name}' takes a number, not a size")
    monotone = _MONOTONE[name]
    return Range(monotone(part.low), monotone(part.high), part.power)


def _of_two(operator: ast.operator, left: Range, right: Range) -> Range:
    power = left.power
    if isinstance(operator, ast.Mult):
        power += right.power
    elif isinstance(operator, ast.Div | ast.FloorDiv):
        power -= right.power
        if right.low <= 0 <= right.high:
            raise ZeroDivisionError
    elif isinstance(operator, ast.Pow):
        if right.power or left.power or left.low < 0 or not 0 <= right.low <= right.high <= 64:
            raise ValueError("a power has a base of at least 0 and an exponent from 0 to 64")
    elif left.power != right.power:
        raise ValueError("a size and a number cannot be added or subtracted")
    apply = _BINARY[type(operator)]
    # each of these is monotone in either side on the ranges that are let through
    ends = [apply(a, b) for a, b in product((left.low, left.high), (right.low, right.high))]
    return Range(min(ends), max(ends), power)

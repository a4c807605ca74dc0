"""Numbers that files write as arithmetic, such as ``1024*1024*128*8``; nothing else is run."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable
from math import inf, isnan

LONGEST = 200
LARGEST = 1e30
OPERATORS: dict[type[ast.operator], Callable[[float, float], float]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
}


def number(value: object) -> float | None:
    """Return the number that a value is or that its text computes; None when it is neither."""
    if isinstance(value, bool):
        return None
    if isinstance(value, int | float):
        return float(value) if abs(value) <= LARGEST or value == inf else None
    if not isinstance(value, str) or len(value) > LONGEST:
        return None
    try:
        found = of(ast.parse(value.strip(), mode="eval").body)
    except (SyntaxError, ValueError, ZeroDivisionError, OverflowError, RecursionError, MemoryError):
        return None
    return None if found is None or isnan(found) else found


def of(node: ast.expr) -> float | None:
    """Return the value of an expression of numbers."""
    if isinstance(node, ast.Constant):
        return number(node.value) if not isinstance(node.value, str) else None
    if isinstance(node, ast.Name):
        return inf if node.id == "inf" else None
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        inner = of(node.operand)
        return None if inner is None else -inner
    if isinstance(node, ast.BinOp) and type(node.op) in OPERATORS:
        left, right = of(node.left), of(node.right)
        if left is None or right is None:
            return None
        return OPERATORS[type(node.op)](left, right)
    return None

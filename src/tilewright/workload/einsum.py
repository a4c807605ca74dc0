"""Layers from an einsum and the bounds of its dimensions."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from math import prod
from numbers import Integral
from typing import Any

from tilewright.document import describe
from tilewright.errors import InputError, nearest
from tilewright.workload.axis_order import parse_layout
from tilewright.workload.layer import Layer, Tensor
from tilewright.workload.notation import Access, read_expression

MAX_BOUND = 2**40
MAX_OPERATIONS = 2**61  # counts of them stay below 2**63
MAX_INDEX = 2**62
# Words touched by three or more terms are counted by marking them one by one.
MAX_MARKED_INDEX = 2**28
MAX_BITS = 1024


def einsum(
    expression: str,
    *,
    name: str = "layer",
    bits: Mapping[str, int] | None = None,
    density: Mapping[str, float] | None = None,
    layout: Mapping[str, str] | None = None,
    repeat: int = 1,
    operation: str = "mac",
    **bounds: int,
) -> Layer:
    """Return the layer that an einsum and the bounds of its dimensions describe.

    Parameters
    ----------
    expression : str
        ``output += input * input * ...``. Every index expression is a sum of dimensions
        with positive coefficients. Spaces are free.
    name : str
        Name of the layer within its network.
    bits : mapping of str to int, optional
        Bits of an element, per tensor; default: the word of whichever memory holds it.
    density : mapping of str to float, optional
        Expected share of elements that are not zero, in (0, 1], per tensor; default 1.
    layout : mapping of str to str, optional
        How tensors lie in the outermost memory: axes from the outermost to the contiguous one,
        such as ``{"I": "N,P,Q,C"}``, see `tilewright.workload.axis_order`.
    repeat : int
        How often the layer occurs in its network.
    operation : str
        What the body does with its inputs, for example ``"mac"``, ``"add"``, ``"max"``.
    **bounds : int
        Iterations of each dimension, from 1 to 2**40; their product is at most 2**61.

    Returns
    -------
    Layer
        Inputs in the order of the expression, then the output. A tensor that is called I, W
        or O has that role; the others are given the first input's (I) and the second's (W)
        as far as these are free, and a third input is known by its own name.

    Raises
    ------
    InputError
        When the expression is malformed or the bounds do not name exactly its dimensions.

    Examples
    --------
    >>> einsum("O[M,N] += I[M,K] * W[K,N]", M=8, N=16, K=32).operations
    4096
    """
    return build_layer(
        expression,
        bounds,
        name=name,
        bits=bits,
        density=density,
        layout=layout,
        repeat=repeat,
        operation=operation,
    )


def build_layer(
    expression: str,
    bounds: Mapping[str, Any],
    *,
    name: str = "layer",
    bits: Mapping[str, Any] | None = None,
    density: Mapping[str, Any] | None = None,
    layout: Mapping[str, Any] | None = None,
    repeat: int = 1,
    operation: str = "mac",
) -> Layer:
    """Do what `einsum` does, with the bounds as a mapping: dimensions may have any name."""
    accesses = read_expression(expression)
    sizes = _checked_bounds(expression, accesses, bounds)
    _check_indices(accesses, sizes)
    names = [access.name for access in accesses]
    widths = {t: _width(t, value) for t, value in _per_tensor("bits", bits, names)}
    shares = {t: _share(t, value) for t, value in _per_tensor("density", density, names)}
    roles = _roles(names[:-1]) | {names[-1]: "O"}
    laid = dict(_per_tensor("layout", layout, names, '"N,P,Q,C"'))
    tensors = tuple(
        _laid_out(
            Tensor(
                a.name, a.expressions, roles[a.name], widths.get(a.name), shares.get(a.name, 1.0)
            ),
            laid,
        )
        for a in accesses
    )
    for key, text in (("name", name), ("operation", operation)):
        if not isinstance(text, str) or not text.strip() or not text.isprintable():
            raise InputError(f"expected a name, found {describe(text)}", key=key)
    times = whole_number("repeat", repeat, MAX_BOUND, "repeat")
    return Layer(name, sizes, tensors, operation, times)


def whole_number(what: str, value: Any, limit: int, key: str) -> int:
    """Return a value that has to be a whole number from 1 to a limit; bools are not numbers."""
    whole = isinstance(value, Integral) and not isinstance(value, bool)
    if not whole or not 0 < value <= limit:
        limit_text = "2**40" if limit == MAX_BOUND else str(limit)
        raise InputError(
            f"{what} must be a whole number from 1 to {limit_text}, found {describe(value)}",
            key=key,
        )
    return int(value)


def _dimensions(accesses: Iterable[Access]) -> list[str]:
    terms = (term for access in accesses for terms in access.expressions for term in terms)
    return list(dict.fromkeys(term.dimension for term in terms))


def _checked_bounds(
    expression: str, accesses: tuple[Access, ...], bounds: Mapping[str, Any]
) -> dict[str, int]:
    names = _dimensions((accesses[-1], *accesses[:-1]))
    missing = [name for name in names if name not in bounds]
    for name in bounds:
        if name not in names:
            raise InputError(
                f"unknown dimension '{name}'; '{expression.strip()}' has {', '.join(names)}"
                f"{nearest(name, missing or names)}",
                key=str(name),
            )
    if missing:
        raise InputError(
            f"missing bound of dimension '{missing[0]}' of '{expression.strip()}'", key="bounds"
        )
    sizes = {
        name: whole_number(f"the bound of dimension '{name}'", value, MAX_BOUND, name)
        for name, value in bounds.items()
    }
    operations = prod(sizes.values())
    if operations > MAX_OPERATIONS:
        raise InputError(
            f"the bounds make about {_power(operations)} operations; at most 2**61", key="bounds"
        )
    return sizes


def _check_indices(accesses: tuple[Access, ...], sizes: Mapping[str, int]) -> None:
    for access in accesses:
        for terms in access.expressions:
            last = sum(t.coefficient * (sizes[t.dimension] - 1) for t in terms)
            limit = MAX_INDEX if len(terms) < 3 else MAX_MARKED_INDEX
            if last >= limit:
                raise InputError(
                    f"index {'+'.join(map(str, terms))} of tensor '{access.name}' reaches "
                    f"about {_power(last)}; at most {_power(limit)}",
                    key="einsum",
                )


def _power(number: int) -> str:
    return f"2**{number.bit_length() - 1}"


def _roles(inputs: list[str]) -> dict[str, str]:
    roles = {name: name for name in inputs if name in ("I", "W")}
    free = [role for role in ("I", "W") if role not in roles]
    for name in inputs:
        if name not in roles:
            roles[name] = free.pop(0) if free else name
    if roles.get("O") == "O":
        raise InputError(
            "a third input cannot be called 'O', the name by which machines know the output",
            key="einsum",
        )
    return roles


def _per_tensor(
    key: str, given: object, names: list[str], example: str = "1"
) -> list[tuple[str, Any]]:
    if given is None:
        return []
    if not isinstance(given, Mapping):
        raise InputError(
            f"expected one value per tensor, such as {{{names[0]}: {example}}}, "
            f"found {describe(given)}",
            key=key,
        )
    for name in given:
        if name not in names:
            raise InputError(
                f"unknown tensor '{name}'; the einsum has {', '.join(names)}{nearest(name, names)}",
                key=f"{key}.{name}",
            )
    return list(given.items())


def _laid_out(tensor: Tensor, layouts: Mapping[str, Any]) -> Tensor:
    """Return a tensor with its layout, where one is given."""
    if tensor.name not in layouts:
        return tensor
    layout = parse_layout(layouts[tensor.name], tensor, "layout")
    return replace(tensor, layout=layout.text(tensor))


def _width(tensor: str, value: object) -> int:
    return whole_number(f"the bits of tensor '{tensor}'", value, MAX_BITS, f"bits.{tensor}")


def _share(tensor: str, value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value <= 1:
        raise InputError(
            f"the density of tensor '{tensor}' must be above 0 and at most 1, "
            f"found {describe(value)}",
            key=f"density.{tensor}",
        )
    return float(value)

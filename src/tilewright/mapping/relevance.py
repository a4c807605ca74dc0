"""What constraints mean for a layer: the dimensions that they name by what they are relevant to."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import lru_cache
from itertools import product

from tilewright.architecture.constraints.constraint import Constraint, Limits
from tilewright.architecture.constraints.relevance import Relevance, is_relevance, parse_relevance
from tilewright.architecture.machine import Architecture
from tilewright.mapping.names import role_names
from tilewright.workload.layer import ROLES, Layer, Tensor

NO_DIMENSION = "no dimension"
"""Where something has to be on one of some dimensions, and a layer has none of them."""


def in_letters(architecture: Architecture, layer: Layer) -> Architecture:
    """Return a machine whose constraints name the dimensions of a layer; itself if they do anyway.

    Everything that asks which dimensions a constraint is about asks the machine that this returns.
    """
    return lettered_machine(architecture, layer) if architecture.names_relevance else architecture


@lru_cache(maxsize=1024)
def lettered_machine(architecture: Architecture, layer: Layer) -> Architecture:
    """Return `in_letters` of a machine that names dimensions by what they are relevant to."""
    found = [each for item in architecture.constraints for each in lettered(item, layer)]
    return replace(architecture, constraints=tuple(found))


def lettered(constraint: Constraint, layer: Layer) -> Iterator[Constraint]:
    """Yield a constraint with the dimensions of a layer.

    A name stands for every dimension that it is about, and a range holds for each of them. Where
    there is none, nothing may be unrolled and nothing has to be.
    """
    if not any(map(is_relevance, constraint.dimensions)):
        yield constraint
        return
    innermost = named(constraint.innermost, layer)
    if constraint.innermost and not innermost:
        innermost = frozenset((NO_DIMENSION,))
    # several dimensions of one name have no order among themselves
    found = list(product(*filter(None, groups(constraint.order, layer))))
    orders = found if len(found[0]) > 1 else [()]
    yield replace(
        constraint,
        dims=None if constraint.dims is None else named(constraint.dims, layer),
        require=named(constraint.require, layer),
        factor=ranges(constraint.factor, layer),
        tile=ranges(constraint.tile, layer),
        innermost=innermost,
        order=orders[0],
    )
    for order in orders[1:]:
        yield constraint.alone(order=order)


def named(names: Iterable[str], layer: Layer) -> frozenset[str]:
    """Return the dimensions that several names stand for."""
    return frozenset(d for name in names for d in dimensions_of(name, layer))


def ranges(pairs: Iterable[tuple[str, Limits]], layer: Layer) -> tuple[tuple[str, Limits], ...]:
    """Return the range of each dimension."""
    return tuple((d, limits) for name, limits in pairs for d in dimensions_of(name, layer))


def groups(names: Iterable[str], layer: Layer) -> list[tuple[str, ...]]:
    """Return the dimensions that each of several names adds to those before it."""
    seen: set[str] = set()
    found = []
    for name in names:
        own = tuple(d for d in dimensions_of(name, layer) if d not in seen)
        seen |= {*own}
        found.append(own)
    return found


def dimensions_of(name: str, layer: Layer) -> tuple[str, ...]:
    """Return the dimensions of a layer that a name stands for; a letter stands for itself."""
    if name in layer.bounds or not is_relevance(name):
        return (name,)
    return relevant_dimensions(parse_relevance(name), layer)


def relevant_dimensions(wanted: Relevance, layer: Layer) -> tuple[str, ...]:
    """Return the dimensions of a layer that are relevant to some tensors, in the order of axes.

    Tensors that are neither named nor one of I, W and O are not looked at; one that the layer does
    not have is left out. A second input that has the same dimensions as the first one (in the sum
    of two tensors) is like the first one.
    """
    tensors = distinct_tensors(layer)
    held = [tensor for tensor in tensors if not wanted.tensors]
    if wanted.tensors:
        names = role_names(wanted.tensors, layer)
        held = [tensor for tensor in tensors if tensor.name in names]
        tensors = [tensor for tensor in tensors if tensor in held or tensor.role in ROLES]
    if not held:
        return ()
    found = [
        d
        for d in held[-1].dimensions
        if all((d in tensor.dimensions) == (tensor in held) for tensor in tensors)
    ]
    sliding = sliding_dimensions(layer)
    if wanted.line:
        # rows and columns of an image: what slides there, where anything does
        axes = [d for d in found if d in sliding] or found
        *rest, last = axes or [""]
        line = (rest[-1:] or [last]) if wanted.line == "rows" else [last] * bool(rest)
        found = [d for d in found if d in line]
    return tuple(d for d in found if wanted.slides in (None, d in sliding))


def distinct_tensors(layer: Layer) -> list[Tensor]:
    """Return the tensors of a layer without inputs that have the dimensions of an earlier one."""
    kinds: dict[tuple[bool, frozenset[str]], Tensor] = {}
    for tensor in sorted(layer.tensors, key=lambda tensor: tensor.role != "I"):
        kinds.setdefault((tensor.is_output, frozenset(tensor.dimensions)), tensor)
    return [tensor for tensor in layer.tensors if tensor in kinds.values()]


def sliding_dimensions(layer: Layer) -> frozenset[str]:
    """Return the dimensions that share an index expression with another one."""
    return frozenset(
        term.dimension
        for tensor in layer.tensors
        for terms in tensor.expressions
        if len(terms) > 1
        for term in terms
    )

"""The stages of a mapping's execution: whose tiles change at which temporal loops."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from tilewright.architecture.machine import Architecture
from tilewright.errors import InputError, nearest
from tilewright.mapping.structure import Link, Loop, Structure
from tilewright.workload.layer import Layer, Tensor

Layouts = Mapping[str, str]


@dataclass(frozen=True)
class Stage:
    """Tiles of one memory that change at the same temporal loops.

    Attributes
    ----------
    memory : str
        The memory.
    double : bool
        Whether it is double buffered: the next tiles come while the present ones are used.
    depth : int
        Number of temporal loops, of more than one chunk, above its store nodes.
    links : tuple of Link
        How the tiles get there, in the order of the layer's tensors.
    """

    memory: str
    double: bool
    depth: int
    links: tuple[Link, ...]


def cuts_of(structure: Structure) -> list[Loop]:
    """Return the loops of more than one chunk, outermost first; the others do nothing."""
    return [loop for loop in structure.loops if loop.chunks > 1]


def depth_of(structure: Structure, loops: int) -> int:
    """Return how many of the outermost `loops` are temporal and have more than one chunk."""
    return sum(loop.array is None and loop.chunks > 1 for loop in structure.loops[:loops])


def stages_of(layer: Layer, architecture: Architecture, structure: Structure) -> list[Stage]:
    """Return the stages, outermost first: by depth, and by memory where that is equal."""
    memories = {memory.name: memory for memory in architecture.memories}
    found: dict[tuple[int, int], list[Link]] = {}
    for tensor in layer.tensors:
        for link in structure.links[tensor.name][:-1]:
            at = depth_of(structure, link.depth), architecture.position[link.child]
            found.setdefault(at, []).append(link)
    return [
        Stage(links[0].child, memories[links[0].child].buffering > 1, depth, tuple(links))
        for (depth, _), links in sorted(found.items(), key=lambda item: item[0])
    ]


def has_windows(layer: Layer, tensor: Tensor) -> bool:
    """Return whether tiles of a tensor may overlap: several dimensions share an index expression.

    Then any of its words may have partial sums already, but for the first tile.
    """
    return any(
        sum(layer.bounds[term.dimension] > 1 for term in terms) > 1 for terms in tensor.expressions
    )


def axis_order(layer: Layer, layouts: Layouts | None) -> dict[str, tuple[int, ...]]:
    """Return the order in which each tensor's axes lie in the outermost memory, outermost first.

    Parameters
    ----------
    layouts : mapping of str to str, optional
        By tensor its index expressions in that order, such as ``{"I": "N, P+R, Q+S, C"}``. What is
        left out lies in the order of its index expressions: row-major.

    Raises
    ------
    InputError
        When a tensor or an index expression does not exist, or one is missing.
    """
    given = dict(layouts or {})
    names = [tensor.name for tensor in layer.tensors]
    for name in given:
        if name not in names:
            raise InputError(
                f"no tensor '{name}' in layer '{layer.name}'; accepted: {', '.join(names)}"
                f"{nearest(name, names)}",
                key="layouts",
            )
    return {t.name: _axes(t, given[t.name]) if t.name in given else _rows(t) for t in layer.tensors}


def _rows(tensor: Tensor) -> tuple[int, ...]:
    return tuple(range(len(tensor.expressions)))


def _axes(tensor: Tensor, text: str) -> tuple[int, ...]:
    known = ["+".join(map(str, terms)) for terms in tensor.expressions]
    parts = [part.replace(" ", "") for part in text.split(",") if part.strip()]
    if sorted(parts) != sorted(known):
        raise InputError(
            f"the layout of tensor '{tensor.name}' is an order of {', '.join(known)}; "
            f"found {text!r}",
            key="layouts",
        )
    return tuple(known.index(part) for part in parts)

"""One layout for all layers of a network: no layer has to convert what the one before wrote."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product

from tilewright.layout.choose import Choice, Inner, Tiles
from tilewright.layout.dmc import Cost, inner_choices
from tilewright.workload.layer import Tensor

# the channels of a depthwise or grouped layer stand for those of other layers
CHANNELS = {"K": "G", "C": "G"}


@dataclass(frozen=True)
class Uniform:
    """Contiguous axes that all layers have in common.

    Attributes
    ----------
    axes : dict of str to str
        By role of a tensor: a dimension of its contiguous axis.
    choices : tuple of Choice
        The best tile of each layer with these layouts.
    blocks : float
        Blocks of all layers, by the estimate: cost times operations, repeats counted.
    """

    axes: dict[str, str]
    choices: tuple[Choice, ...]
    blocks: float


def total_blocks(choices: Sequence[Choice]) -> float:
    """Return the blocks of some layers, by the estimate: cost times operations times repeats."""
    return sum(c.value * c.cost.layer.operations * c.cost.layer.repeat for c in choices)


def uniform_layouts(spaces: Sequence[Tiles]) -> list[Uniform]:
    """Return every uniform layout with the best tiles that it allows, the best one first.

    Parameters
    ----------
    spaces : sequence of Tiles
        The tiles of each layer.
    """
    costs = [space.cost for space in spaces]
    roles = list(dict.fromkeys(t.role for cost in costs for t in cost.tensors))
    names: dict[str, list[str]] = {role: [] for role in roles}
    for cost in costs:
        for tensor in cost.tensors:
            for axis in inner_choices(tensor, cost.layer.bounds) if tensor.expressions else ():
                name = tensor.expressions[axis][0].dimension
                if name not in names[tensor.role]:
                    names[tensor.role].append(name)
    for role, own in names.items():
        # what stands for another axis is no choice of its own
        if any(CHANNELS.get(name) in own for name in own):
            names[role] = [name for name in own if name not in CHANNELS.values()]
    known: dict[tuple[int, tuple[tuple[str, int | None], ...]], Choice] = {}
    found = []
    for chosen in product(*(names[role] or [""] for role in roles)):
        axes = dict(zip(roles, chosen, strict=True))
        choices = []
        for i, space in enumerate(spaces):
            inner = resolved(space.cost, axes)
            key = i, tuple(sorted(inner.items()))
            if key not in known:
                known[key] = space.best(inner)
            choices.append(known[key])
        found.append(Uniform(axes, tuple(choices), total_blocks(choices)))
    return sorted(found, key=lambda uniform: uniform.blocks)


def resolved(cost: Cost, axes: dict[str, str]) -> Inner:
    """Return the contiguous axes of a layer; a tensor without such an axis is free.

    An axis of one word does not count: what is contiguous is up to the others.
    """
    inner: Inner = {}
    for tensor in cost.tensors:
        for name in (axes[tensor.role], CHANNELS.get(axes[tensor.role], "")):
            if (axis := axis_of(cost, tensor, name)) is not None:
                inner[tensor.name] = axis
                break
    return inner


def axis_of(cost: Cost, tensor: Tensor, dimension: str) -> int | None:
    """Return the axis of more than one word that a dimension indexes, if there is one."""
    for axis in inner_choices(tensor, cost.layer.bounds) if tensor.expressions else ():
        terms = tensor.expressions[axis]
        if any(term.dimension == dimension for term in terms) and any(
            cost.layer.bounds[term.dimension] > 1 for term in terms
        ):
            return axis
    return None

"""Bars that say what parts make of a whole, each with its name and its share."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

from tilewright.mapper.results.result import NetworkResult
from tilewright.report.palette import LEAKAGE_COLOUR, level_colours, tensor_colours
from tilewright.report.quantities import energy, percent
from tilewright.report.sections.layer.breakdown import (
    LEAKAGE,
    energy_by_level,
    energy_by_role,
    role_names,
)

ROLES = {"I": "inputs", "W": "weights", "O": "outputs"}


@dataclass(frozen=True)
class Share:
    """A part of a whole.

    Attributes
    ----------
    name, colour : str
        What it is called, and a CSS colour.
    value : float
        How much it is; parts of a bar have one unit.
    text : str
        The same as people read it.
    """

    name: str
    colour: str
    value: float
    text: str


def share_bar(title: str, shares: Sequence[Share]) -> str:
    """Return one bar cut into parts, and below it their names and shares."""
    total = sum(share.value for share in shares)
    shown = [share for share in shares if share.value]
    if not total:
        return ""
    parts = "".join(
        f'<i style="--own: {s.colour}; flex: {s.value / total:.5f}" '
        f'title="{escape(s.name)}: {s.text}"></i>'
        for s in shown
    )
    names = "".join(
        f'<div><dt style="--own: {s.colour}">{escape(s.name)}</dt>'
        f"<dd>{percent(s.value / total)} <small>{s.text}</small></dd></div>"
        for s in shown
    )
    return (
        f'<figure class="whole"><figcaption>{title}</figcaption>'
        f'<div class="shares" aria-hidden="true">{parts}</div><dl>{names}</dl></figure>'
    )


def whole_energy_html(result: NetworkResult) -> str:
    """Return the energy of the whole network, by level of the machine and by tensor."""
    levels: dict[str, float] = {}
    tensors: dict[str, float] = {}
    for each in result.layers:
        e, repeat = each.evaluation, each.layer.repeat
        for parts, found in ((levels, energy_by_level(e)), (tensors, energy_by_role(e))):
            for name, value in found.items():
                parts[name] = parts.get(name, 0.0) + value * repeat
    machine = result.architecture
    own = level_colours(machine)
    networks = {array.name for array in machine.arrays}
    by_level = [
        Share(f"{name} network" if name in networks else name, colour, value, energy(value))
        for name, colour in (own | {LEAKAGE: LEAKAGE_COLOUR}).items()
        if (value := levels.get(name, 0.0))
    ]
    roles = role_names(each.evaluation for each in result.layers)
    compute = machine.compute.name
    colours = tensor_colours({role: role for role in roles})
    colours |= {compute: own[compute], LEAKAGE: LEAKAGE_COLOUR}
    by_tensor = [
        Share(tensor_name(roles.get(name, name), name), colour, value, energy(value))
        for name, colour in colours.items()
        if (value := tensors.get(name, 0.0))
    ]
    return (
        f'<div class="pair even">{share_bar("by level of the machine", by_level)}'
        f"{share_bar('by tensor that is moved', by_tensor)}</div>"
    )


def tensor_name(name: str, role: str) -> str:
    """Return the name of a tensor, with what it is where the name is the letter of its role."""
    return f"{name} ({ROLES[role]})" if name == role and role in ROLES else name

"""One colour per level and per tensor, the same in every plot and table of a report.

Memories are shades of one blue, the outermost the strongest, so that their order shows without a
legend and in every form of colour blindness. Tensors take the warm and green hues of Okabe and
Ito's palette (jfly.uni-koeln.de/color, 2008), which no memory has.
"""

from __future__ import annotations

from tilewright.architecture.machine import Architecture, Array, Memory

Rgb = tuple[int, int, int]

MEMORIES_LIGHT: tuple[Rgb, ...] = ((11, 48, 107), (40, 112, 190), (120, 178, 226), (186, 214, 238))
MEMORIES_DARK: tuple[Rgb, ...] = ((47, 106, 214), (92, 154, 240), (148, 195, 250), (205, 226, 252))
NETWORKS = ("#6b4fa0", "#a995d8")
COMPUTE = ("#8a8f98", "#8d939e")
LEAKAGE = ("#c9ccd1", "#565b64")
TENSORS = {"I": "#e69f00", "W": "#009e73", "O": "#cc79a7"}
MORE_TENSORS = ("#d55e00", "#b8a800", "#8c6d31")
LEAKAGE_COLOUR = "var(--leakage)"


def level_colours(architecture: Architecture) -> dict[str, str]:
    """Return the colour of every level, by name, as a CSS variable."""
    return {level.name: f"var(--level-{i})" for i, level in enumerate(architecture.levels)}


def tensor_colours(roles: dict[str, str]) -> dict[str, str]:
    """Return the colour of every tensor, given the role of each.

    Parameters
    ----------
    roles : mapping of tensor to role
        In the order in which tensors with a role of their own take the remaining colours.
    """
    colours: dict[str, str] = {}
    more = 0
    for tensor, role in roles.items():
        if role in TENSORS:
            colours[tensor] = TENSORS[role]
        else:
            colours[tensor] = MORE_TENSORS[more % len(MORE_TENSORS)]
            more += 1
    return colours


def variables(architecture: Architecture) -> str:
    """Return the CSS variables behind `level_colours`, each with its light and its dark value."""
    count = len(architecture.memories)
    shades = iter(zip(ramp(MEMORIES_LIGHT, count), ramp(MEMORIES_DARK, count), strict=True))
    pairs = []
    for i, level in enumerate(architecture.levels):
        pair = (
            next(shades)
            if isinstance(level, Memory)
            else NETWORKS
            if isinstance(level, Array)
            else COMPUTE
        )
        pairs.append((f"level-{i}", pair))
    pairs.append(("leakage", LEAKAGE))
    lines = "".join(f" --{name}: light-dark({light}, {dark});" for name, (light, dark) in pairs)
    return f":root {{{lines} }}"


def ramp(anchors: tuple[Rgb, ...], count: int) -> list[str]:
    """Return `count` colours evenly spaced between the first and the last anchor."""
    colours = []
    for i in range(count):
        # few levels take the strong end: the palest shade is for machines that need it
        reach = min(len(anchors) - 1, count - 1)
        at = i * reach / (count - 1) if count > 1 else 0.0
        low = min(int(at), len(anchors) - 2)
        part = at - low
        rgb = (
            round(a + (b - a) * part) for a, b in zip(anchors[low], anchors[low + 1], strict=True)
        )
        colours.append("#" + "".join(f"{channel:02x}" for channel in rgb))
    return colours

"""Area and power of the machine, component by component."""

from __future__ import annotations

from html import escape

from tilewright.mapper.results.result import NetworkResult
from tilewright.report.palette import level_colours
from tilewright.report.quantities import NOTHING, SPACE, digits, energy, percent, si
from tilewright.report.sections.shares import Share, share_bar

HEADS = ("component", "instances", "area", "share", "energy", "power", "leakage")


def hardware_section(result: NetworkResult) -> str:
    """Return the section with the area and the table of components."""
    found = result.hardware
    rows = []
    for name, part in found.components.items():
        share = part.area_mm2 / found.area_mm2 if part.area_mm2 else 0.0
        cells = (
            f"{part.instances:,}",
            f"{digits(part.area_mm2)}{SPACE}mm²" if part.area_mm2 else "unknown",
            percent(share) if share else NOTHING,
            energy(part.energy_pj + part.leakage_pj),
            si(part.power_mw * 1e-3, "W"),
            si(part.leakage_mw * 1e-3, "W") if part.leakage_mw else NOTHING,
        )
        shown = "".join(f"<td>{cell}</td>" for cell in cells)
        rows.append(f'<tr><th scope="row">{escape(name)}</th>{shown}</tr>')
    head = "".join(f'<th scope="col">{name}</th>' for name in HEADS)
    note = (
        f"Area: {escape(found.area_text().replace('mm2', 'mm²'))}. Energy and power are of all "
        "layers, repeats counted, leakage included."
    )
    return (
        f'<section id="hardware"><h2>Area and power</h2><p class="note">{note}</p>'
        f'{area_bar(result)}<div class="scroll"><table><thead><tr>{head}</tr></thead>'
        f"<tbody>{''.join(rows)}</tbody></table></div></section>\n"
    )


def area_bar(result: NetworkResult) -> str:
    """Return the area of the machine as one bar of its components."""
    found, colours = result.hardware, level_colours(result.architecture)
    shares = [
        Share(name, colours[name], part.area_mm2, f"{digits(part.area_mm2)}{SPACE}mm²")
        for name, part in found.components.items()
        if part.area_mm2
    ]
    return share_bar("area by component", shares)

"""Draws the figures of docs/retention.md and puts real output into the page.

Run it with `python docs/retention.py`.
"""

from __future__ import annotations

import re
import tempfile
from itertools import pairwise
from pathlib import Path

from outputs import FILE, MARK, ROOT, TILEWRIGHT, run
from pictures import ASSETS, CELL, Picture

import tilewright
from tilewright.architecture.machine import Architecture, Compute, Memory
from tilewright.mapping.nodes import For, Mapping, Store
from tilewright.mapping.structure import resolve
from tilewright.reference.belady import missing
from tilewright.retention.spills.access import Access
from tilewright.retention.spills.curve import spill_curve
from tilewright.workload.einsum import einsum

PAGE = ROOT / "docs" / "retention.md"
EVALUATE = f"{TILEWRIGHT} evaluate alexnet"
COMMANDS = {
    "tiles": f"{EVALUATE} tiles.yaml mapping.yaml --layer conv3",
    "retained": f"{EVALUATE} machine.yaml mapping.yaml --layer conv3",
    "registers": f"{EVALUATE} registers.yaml mapping.yaml --layer conv3",
    "searched": f"{TILEWRIGHT} map alexnet machine.yaml --layer conv3",
}
SIZES = (32, 48, 64, 80, 108, 128, 144)


def rounds() -> Picture:
    """Four rounds over six blocks, of which the memory holds three."""
    blocks, turns, room = "ABCDEF", 4, 3
    sequence = [frozenset([(i,)]) for i in range(len(blocks))] * turns
    moved = [bool(words) for words in missing(sequence, room)]
    steps, cell = len(sequence), 22
    left, top = 30, 40
    picture = Picture("Six blocks are used in four rounds; a memory for three", 600, 250)
    for i, name in enumerate(blocks):
        y = top + i * CELL
        picture.text(left - 10, y + 17, name, "code", "end")
        uses = range(i, steps, len(blocks))
        for use in uses:
            picture.box(left + use * cell, y, cell, CELL - 4, "I" if moved[use] else "O")
        for first, second in pairwise(uses):
            if not moved[second]:
                width = (second - first - 1) * cell
                picture.box(left + (first + 1) * cell, y + 5, width, CELL - 14, "O kept")
    for turn in range(turns):
        x = left + turn * len(blocks) * cell
        picture.text(x + 3 * cell, 22, f"round {turn + 1}", "dim", "middle")
        picture.line(x, top - 8, x, top + len(blocks) * CELL)
    y = top + len(blocks) * CELL + 18
    picture.box(left, y, 16, 16, "I")
    picture.text(left + 24, y + 13, "fetched", "dim")
    picture.box(left + 110, y, 16, 16, "O")
    picture.text(left + 134, y + 13, "still there", "dim")
    picture.box(left + 230, y + 3, 16, 10, "O kept")
    picture.text(left + 254, y + 13, "stays for its next use", "dim")
    spills = sum(moved) - len(blocks)
    picture.text(
        left, y + 40, f"{sum(moved)} of {steps} uses are fetched: 6 first ones and {spills} spills"
    )
    return picture


def curve() -> Picture:
    """What one tensor costs for every size of its share, and what store nodes alone can do."""
    layer = einsum("O[K,P,Q] += I[C,P+R,Q+S] * W[K,C,R,S]", K=256, C=128, P=56, Q=56, R=3, S=3)
    loops = (For("K", 32), For("P", 14), For("Q", 14), For("C", 16))
    machine = Architecture("m", (Memory("DRAM", 16), Memory("BUF", 16, 1 << 40), Compute("MAC")))
    points = []
    for depth in range(1, len(loops) + 1):
        nodes = (Store("DRAM", ("I", "W", "O")), *loops[:depth], Store("BUF", ("I",)))
        mapping = Mapping((*nodes, *loops[depth:]))
        counts = tilewright.evaluate(layer, machine, mapping).counts.memories["BUF"]["I"]
        points.append((counts.peak, counts.writes))
    structure = resolve(mapping, layer, machine)
    access = Access.of(layer, layer.tensors[0], structure.loops[: len(loops)])
    found = spill_curve(access)
    picture = Picture(
        "Words of I that are fetched, by the words of it that the buffer holds", 600, 330
    )
    left, right, bottom, top = 70, 570, 270, 20
    widest = 450_000
    most = points[-1][1]

    def x(words: float) -> float:
        return left + (right - left) * (words / widest) ** 0.5

    def y(fetched: float) -> float:
        return bottom - (bottom - top) * fetched / most

    picture.box(left, top, right - left, bottom - top)
    for words in (10_000, 50_000, 100_000, 200_000, 400_000):
        picture.text(x(words), bottom + 18, f"{words:,}", "dim", "middle")
    for millions in range(0, int(most / 1e6) + 1):
        picture.text(left - 8, y(millions * 1e6) + 5, f"{millions} M", "dim", "end")
    picture.text((left + right) / 2, bottom + 40, "words of I in the buffer", anchor="middle")
    edge = found.spill_free or widest
    samples = [found.least + (edge - found.least) * i // 400 for i in range(401)]
    steps = "L".join(f"{x(m):.1f} {y(access.words + found(m)):.1f}" for m in (*samples, widest))
    picture.shapes.append(f'<path d="M{steps}" class="frame" style="stroke: #2da44e"/>')
    ordered = sorted(points)
    stairs = [(ordered[0][0], ordered[0][1])]
    for (_, before), (words, fetched) in pairwise(ordered):
        stairs += [(words, before), (words, fetched)]
    stairs.append((widest, stairs[-1][1]))
    steps = "L".join(f"{x(words):.1f} {y(fetched):.1f}" for words, fetched in stairs)
    picture.shapes.append(
        f'<path d="M{steps}" style="stroke: #2f81f7; stroke-dasharray: 4 4; stroke-opacity: 1"/>'
    )
    for words, fetched in points:
        picture.box(x(words) - 4, y(fetched) - 4, 8, 8, "I")
    for kind, words, row in (
        ("I", "store nodes alone: tile or nothing", 0), ("O", "optimal retention", 1),
    ):  # fmt: skip
        picture.box(330, 40 + 24 * row, 16, 16, kind)
        picture.text(354, 53 + 24 * row, words, "dim")
    return picture


def table(text: str) -> str:
    """Return the traffic of the page's mapping for several sizes of its buffer."""
    files = {file["name"]: file["text"] for file in FILE.finditer(text)}
    rows = [("GLB", "tile", "optimal", "I", "W", "O")]
    with tempfile.TemporaryDirectory() as folder:
        mapping = Path(folder) / "mapping.yaml"
        mapping.write_text(files["mapping.yaml"])
        for size in SIZES:
            found = {}
            for policy in ("tile", "optimal"):
                machine = Path(folder) / f"{policy}.yaml"
                sized = files["machine.yaml"].replace(
                    "size: 108 KiB, banks: 27", f"size: {size} KiB, banks: {size // 4}"
                )
                machine.write_text(sized.replace("retention: optimal", f"retention: {policy}"))
                found[policy] = tilewright.evaluate("alexnet", machine, mapping, layer="conv3")
            words = {
                policy: sum(c.reads + c.writes for c in result.counts.memories["DRAM"].values())
                for policy, result in found.items()
            }
            shares = found["optimal"].memories["GLB"].shares or {}
            rows.append(
                (f"{size} KiB", f"{words['tile']:,}", f"{words['optimal']:,}",
                 *(f"{shares[t] // 2048} banks" for t in "IWO"))
            )  # fmt: skip
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    return "\n".join(
        "  ".join(cell.rjust(width) for cell, width in zip(row, widths, strict=True))
        for row in rows
    )


def main() -> None:
    """Write the figures, and the outputs into the page."""
    for name, picture in (("retention-rounds", rounds()), ("retention-curve", curve())):
        (ASSETS / f"{name}.svg").write_text(picture.svg(), encoding="utf-8")
    text = PAGE.read_text(encoding="utf-8")
    with tempfile.TemporaryDirectory() as folder:
        for file in FILE.finditer(text):
            (Path(folder) / file["name"]).write_text(file["text"])
        machine = (Path(folder) / "machine.yaml").read_text()
        tiles = re.sub("retention: optimal", "retention: tile", machine)
        (Path(folder) / "tiles.yaml").write_text(tiles)
        outputs = {name: run(command, folder) for name, command in COMMANDS.items()}
    outputs["sizes"] = table(text)
    PAGE.write_text(
        MARK.sub(
            lambda mark: f"{mark[0].splitlines()[0]}\n\n```text\n{outputs[mark['name']]}\n```\n",
            text,
        ),
        encoding="utf-8",
    )


if __name__ == "__main__":
    main()

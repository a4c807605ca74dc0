"""Draw the pictures of the documentation: ``python docs/pictures.py`` writes docs/assets/*.svg."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from xml.sax.saxutils import escape

ASSETS = Path(__file__).parent / "assets"
CELL = 24

# Text and lines follow the colour of the page; fills are translucent, so that they suit a light
# page and a dark one. Outside a page the reader's preference decides.
STYLE = """\
.tw-picture { color: #24292f; font: 14px system-ui, sans-serif; max-width: 100%; height: auto }
@media (prefers-color-scheme: dark) { svg.tw-picture:root { color: #e6e6e6 } }
.tw-picture text { fill: currentColor }
.tw-picture .dim { opacity: .65 }
.tw-picture .code { font-family: ui-monospace, monospace }
.tw-picture rect { stroke: currentColor; stroke-opacity: .35; fill: none }
.tw-picture path { stroke: currentColor; stroke-opacity: .6; fill: none; stroke-width: 1.5 }
.tw-picture .frame { stroke-width: 2.5; stroke-opacity: 1 }
.tw-picture .I { fill: #2f81f7; fill-opacity: .6 }
.tw-picture .W { fill: #e8830c; fill-opacity: .6 }
.tw-picture .O { fill: #2da44e; fill-opacity: .6 }
.tw-picture .kept { fill-opacity: .18 }
.tw-picture .idle { stroke-dasharray: 3 3 }
"""


@dataclass
class Picture:
    """Shapes on a canvas of `width` x `height` pixels; `title` is for screen readers."""

    title: str
    width: int
    height: int
    shapes: list[str] = field(default_factory=list)

    def box(self, x: float, y: float, width: float, height: float, kind: str = "") -> None:
        self.shapes.append(
            f'<rect class="{kind}" x="{x:g}" y="{y:g}" width="{width:g}" height="{height:g}"'
            ' rx="2"/>'
        )

    def text(self, x: float, y: float, words: str, kind: str = "", anchor: str = "start") -> None:
        self.shapes.append(
            f'<text class="{kind}" x="{x:g}" y="{y:g}" text-anchor="{anchor}"'
            f' xml:space="preserve">{escape(words)}</text>'
        )

    def line(self, x1: float, y1: float, x2: float, y2: float) -> None:
        self.shapes.append(f'<path d="M{x1:g} {y1:g}L{x2:g} {y2:g}"/>')

    def cells(self, x: float, y: float, words: Iterable[int | str], kind: str) -> None:
        """Draw a row of numbered words."""
        for i, word in enumerate(words):
            self.box(x + i * CELL, y, CELL, CELL, kind)
            self.text(x + (i + 0.5) * CELL, y + 17, str(word), anchor="middle")

    def grid(self, x: float, y: float, rows: int, columns: int, kind: str = "") -> None:
        for r in range(rows):
            for c in range(columns):
                self.box(x + c * CELL, y + r * CELL, CELL, CELL, kind)

    def svg(self) -> str:
        body = "\n".join(self.shapes)
        return (
            f'<svg class="tw-picture" xmlns="http://www.w3.org/2000/svg" role="img"'
            f' width="{self.width}" height="{self.height}"'
            f' viewBox="0 0 {self.width} {self.height}">\n'
            f"<title>{escape(self.title)}</title>\n<style>\n{STYLE}</style>\n{body}\n</svg>\n"
        )


def tile() -> Picture:
    """One box of a matrix product and the tile of each tensor that it touches."""
    rows, columns, depth = 4, 6, 8
    tile_m, tile_n, tile_k = 2, 3, 4
    picture = Picture("A box of a matrix product touches one tile of each tensor", 600, 380)
    left, top = 40, 34
    o_x, o_y = left + depth * CELL + 40, top + depth * CELL + 40
    for kind, x, y, height, width, tile_height, tile_width in (
        ("I", left, o_y, rows, depth, tile_m, tile_k),
        ("W", o_x, top, depth, columns, tile_k, tile_n),
        ("O", o_x, o_y, rows, columns, tile_m, tile_n),
    ):
        picture.grid(x, y, height, width)
        picture.grid(x, y, tile_height, tile_width, kind)
        picture.box(x, y, tile_width * CELL, tile_height * CELL, "frame")
    picture.text(left, o_y - 10, "I[M,K]: 2 x 4 of 4 x 8 words")
    picture.text(o_x, top - 10, "W[K,N]: 4 x 3 of 8 x 6 words")
    picture.text(o_x + columns * CELL + 14, o_y + 20, "O[M,N]:")
    picture.text(o_x + columns * CELL + 14, o_y + 40, "2 x 3 of 4 x 6 words")
    picture.text(left, top + 30, "for M in 2 x 2", "code")
    picture.text(left, top + 52, "  for N in 2 x 3", "code")
    picture.text(left, top + 74, "    for K in 2 x 4", "code")
    picture.text(left, top + 104, "first of 8 boxes", "dim")
    return picture


def sliding_window() -> Picture:
    """A window of three words that advances by chunks of four outputs."""
    picture = Picture("Neighbouring tiles of a convolution's input share words", 600, 210)
    left, outputs, taps, chunk = 110, 10, 3, 4
    words = outputs + taps - 1
    picture.text(left, 22, "I[P+R], P = 10 in chunks of 4, R = 3: 12 words")
    held: set[int] = set()
    for step, start in enumerate(range(0, outputs, chunk)):
        y = 40 + step * 46
        tile = range(start, min(start + chunk, outputs) + taps - 1)
        picture.text(10, y + 17, f"chunk {step}")
        for word in range(words):
            kind = "" if word not in tile else "I kept" if word in held else "I"
            picture.cells(left + word * CELL, y, [word], kind)
        picture.box(left + tile[0] * CELL, y, len(tile) * CELL, CELL, "frame")
        moved = len(set(tile) - held)
        kept = f", {len(tile) - moved} stay" if held else ""
        picture.text(left + words * CELL + 16, y + 17, f"{moved} words move{kept}")
        held = set(tile)
    picture.box(left, 184, 16, 16, "I")
    picture.text(left + 24, 197, "moves in", "dim")
    picture.box(left + 110, 184, 16, 16, "I kept")
    picture.text(left + 134, 197, "stays", "dim")
    return picture


def multicast() -> Picture:
    """Four elements whose windows overlap, fed from one buffer."""
    picture = Picture("Elements with overlapping windows share the words that are sent", 600, 230)
    elements, taps, left = 4, 3, 130
    words = elements + taps - 1
    width = 118
    buffer_x = left + (elements * width - 20 - words * CELL) / 2
    picture.text(10, 43, "buffer")
    picture.cells(buffer_x, 26, range(words), "I")
    for element in range(elements):
        x = left - 6 + element * width
        picture.box(x - 6, 137, taps * CELL + 12, 40)
        picture.cells(x, 140 + 5, range(element, element + taps), "I")
        for tap in range(taps):
            start = buffer_x + (element + tap + 0.5) * CELL
            picture.line(start, 52, x + (tap + 0.5) * CELL, 143)
        picture.text(x + taps * CELL / 2, 196, f"p = {element}", "dim", "middle")
    picture.text(10, 162, "elements")
    picture.text(left - 12, 224, "12 words arrive (fills), 6 are read and sent (multicast)")
    return picture


def uneven() -> Picture:
    """Two store nodes of one memory, and how long each tensor's tile lives."""
    picture = Picture("Store nodes of one memory at different depths of the nest", 600, 240)
    nest = [
        ("DRAM stores I, W, O", 0),
        ("for K in 2 x 4", 1),
        ("BUF stores W", 2),
        ("for M in 2 x 2", 3),
        ("BUF stores I, O", 4),
        ("compute", 5),
    ]
    top, step = 52, 30
    for line, (words, depth) in enumerate(nest):
        picture.text(14, top + line * step, "  " * depth + words, "code")
    left, width, gap = 300, 76, 18
    picture.text(left, 22, "tiles in BUF, in words", "dim")
    bottom = top + len(nest) * step - 20
    for column, (kind, first, words) in enumerate((("W", 2, 24), ("I", 4, 8), ("O", 4, 12))):
        x, y = left + column * (width + gap), top + first * step - 17
        picture.box(x, y, width, bottom - y, kind)
        picture.text(x + width / 2, y + 17, f"{kind}: {words}", anchor="middle")
    picture.text(left, bottom + 24, "24 + 8 + 12 = 44 words of BUF in use", "dim")
    return picture


def short_last_chunk() -> Picture:
    """Ten iterations in chunks of four, over time and over elements."""
    picture = Picture("Ten iterations in chunks of four: the last chunk is short", 600, 170)
    extent, chunk, left, pitch = 10, 4, 90, 82
    picture.text(14, 22, "for P in 3 x 4 (last 2), then one iteration to each of 4 elements")
    for element in range(chunk):
        picture.text(left + (element + 0.5) * pitch, 52, f"element {element}", "dim", "middle")
    for step, start in enumerate(range(0, extent, chunk)):
        y = 62 + step * 34
        picture.text(14, y + 18, f"chunk {step}")
        for element in range(chunk):
            x, p = left + element * pitch + 3, start + element
            works = p < extent
            picture.box(x, y, pitch - 6, 28, "O" if works else "idle")
            picture.text(
                x + pitch / 2 - 3, y + 19, f"p = {p}" if works else "idle", anchor="middle"
            )
    picture.text(left + chunk * pitch + 16, 98, "10 of 12 places used:")
    picture.text(left + chunk * pitch + 16, 118, "spatial utilization 0.83")
    return picture


def layout() -> Picture:
    """The blocks that one tile touches when rows, columns or tiles are contiguous."""
    from tilewright.workload.axis_order import address, digits, parse_layout
    from tilewright.workload.einsum import einsum

    rows, columns, block, cell = 8, 8, 4, 22
    tensor = einsum("O[Y,X] += I[Y,X]", Y=rows, X=columns).tensors[0]
    tile = {(y, x) for y in range(1, 5) for x in range(3, 6)}
    picture = Picture("Blocks of 4 words that a tile touches in three layouts", 640, 268)
    bounds = {"Y": rows, "X": columns}
    for i, (text, words) in enumerate(
        (
            ("Y,X", "rows contiguous"),
            ("X,Y", "columns contiguous"),
            ("Y,X,Y:2,X:2", "tiles of 2 x 2"),
        )
    ):
        where = digits(parse_layout(text, tensor), tensor, bounds)
        touched = {address(where, index) // block for index in tile}
        left, top = 14 + i * 212, 44
        picture.text(left, 22, f"{text}: {words}")
        for y in range(rows):
            for x in range(columns):
                own = address(where, (y, x)) // block
                kind = "I" if (y, x) in tile else ("I kept" if own in touched else "")
                picture.box(left + x * cell, top + y * cell, cell, cell, kind)
                picture.text(
                    left + (x + 0.5) * cell, top + y * cell + 16, str(own), "dim", "middle"
                )
        picture.text(left, top + rows * cell + 24, f"{len(tile)} words, {len(touched)} blocks")
    return picture


def way_of_a_call() -> Picture:
    """The files that one call of `tilewright map` goes through, with the search of a layer."""
    width, height, step, left, right, top = 372, 46, 62, 8, 428, 40
    picture = Picture("The way of one call of tilewright map from file to file", 808, 560)
    calls = (
        ("tilewright map NETWORK MACHINE", "cli/commands/search.py: map_command"),
        ("inputs are read and checked", "api/mapper/search.py: map, api/inputs.py"),
        ("every different layer once, in parallel", "mapper/network/network.py: map_network"),
        ("looked up in the cache, or searched", "mapper/network/solved_layers.py, layer_search.py"),
        ("the best mapping whose sizes divide", "mapper/search/search.py: Search.solve"),
        ("other tile sizes, and their bound", "mapper/search/all_sizes/all_tile_sizes.py"),
        ("the model confirms the mapping", "mapper/search/confirmed.py, model/evaluate.py"),
        ("a mapping with its proof", "mapper/results/result.py, proof.py"),
    )
    steps = (
        ("all bypass choices get a first bound", "bounds/root.py: first_bounds"),
        ("a first mapping", "heuristics/annealing.py, engine/dive.py"),
        (
            "the least bound: its tables, below a ceiling",
            "bounds/tables/choice_tables.py, screening.py",
        ),
        ("labels take loops and store nodes", "engine/expand.py, label/charge.py"),
        ("a label is dropped", "bounds/completion.py, label/dominance.py"),
        ("labels go through an array", "engine/cross.py"),
        ("found: the mapping; not found: a higher bound", "label/trace_back.py, best_first.py"),
        ("nothing is left: least memory among equals", "search/ties.py, canonical/polish.py"),
    )
    picture.text(left, 22, "one call")
    picture.text(right, 22, "one layer: best_first.explore, in mapper/")
    for x, entries in ((left, calls), (right, steps)):
        for i, (what, where) in enumerate(entries):
            y = top + i * step
            one, other, chosen = ("O", "W", (0, 1, 7)) if x == right else ("W", "I", (4,))
            kind = one if i in chosen else other
            picture.box(x, y, width, height, f"{kind} kept")
            picture.text(x + 10, y + 19, what)
            picture.text(x + 10, y + 37, where, "code dim")
            if i:
                picture.line(x + width / 2, y - step + height, x + width / 2, y)
    # the search of a layer is what the fifth call does
    middle = top + 4 * step + height / 2
    picture.line(left + width, middle, left + width + 24, middle)
    picture.line(left + width + 24, middle, left + width + 24, top + height / 2)
    picture.line(left + width + 24, top + height / 2, right, top + height / 2)
    # a bypass choice goes back into the queue
    again, begin, end = right + width + 6, top + 6 * step + height / 2, top + 2 * step + height / 2
    picture.line(right + width, begin, again, begin)
    picture.line(again, begin, again, end)
    picture.line(again, end, right + width, end)
    return picture


PICTURES: dict[str, Callable[[], Picture]] = {
    "tile": tile,
    "sliding-window": sliding_window,
    "multicast": multicast,
    "uneven": uneven,
    "short-last-chunk": short_last_chunk,
    "layout": layout,
    "way-of-a-call": way_of_a_call,
}


def main() -> None:
    """Write every picture."""
    ASSETS.mkdir(exist_ok=True)
    for name, draw in PICTURES.items():
        (ASSETS / f"{name}.svg").write_text(draw().svg(), encoding="utf-8")


if __name__ == "__main__":
    main()

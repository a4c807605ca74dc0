"""The graph of a network: a row per node, in the order in which they run, and a lane per tensor.

Rows keep their names readable at any width, and tensors that are used much later (residuals, the
skips of a U-Net) run beside them as long lanes. What a block repeats is drawn once.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from html import escape

from tilewright.mapper.results.result import NetworkResult
from tilewright.report.quantities import SPACE, TIMES, percent
from tilewright.workload.graph import MAPPED, UNKNOWN, Block, Graph, Node
from tilewright.workload.view import Shape

MOST = 1500  # rows
ROW = 24  # pixels, as in the style sheet
WIDE, NARROW = 14, 7  # pixels from lane to lane, with few lanes and with many
FEW = 14


@dataclass(frozen=True)
class Row:
    """A line of the drawing.

    Attributes
    ----------
    name, operator : str
        Of the node, the input or the block.
    kind : str
        ``"input"``, ``"block"`` for the head of one, or what became of a node.
    shape : shape or None
        Of what it makes.
    layer : str or None
        Its layer.
    reads, makes : tuple of str
        Tensors, under names that are unique in the drawing.
    repeat : int
        How often it occurs.
    inside : bool
        Whether it is part of a block.
    """

    name: str
    operator: str
    kind: str
    shape: Shape | None = None
    layer: str | None = None
    reads: tuple[str, ...] = ()
    makes: tuple[str, ...] = ()
    repeat: int = 1
    inside: bool = False


def rows_of(graph: Graph) -> Iterator[Row]:
    """Yield the rows of a graph: inputs, then nodes and blocks in their order."""
    for name, shape in graph.inputs.items():
        yield Row(name, "input", "input", shape, makes=(name,))
    names: dict[str, str] = {}
    for node in graph.nodes:
        if isinstance(node, Block):
            yield from block_rows(node, names)
        else:
            yield node_row(node, {}, names)


def block_rows(block: Block, names: dict[str, str]) -> Iterator[Row]:
    """Yield the head of a block and its nodes; remember what its tensors are called outside."""
    carried = ", ".join(f"{name} is {made}" for name, made in block.carry.items())
    note = f"from the second on, {carried} of the one before" if carried else "side by side"
    yield Row(block.name, note, "block", repeat=block.repeat)
    here = {name: f"{block.name}/{name}" for node in block.nodes for name in node.outputs}
    seen = {
        name: tuple(names.get(t, t) for t in view.tensors())
        for name, view in (*block.inputs.items(), *block.each.items())
    }
    for node in block.nodes:
        yield node_row(node, seen, names | here, block.repeat)
    for name, own in here.items():
        names[f"{block.name}.{name}"] = names[f"{block.name}.all.{name}"] = own


def node_row(
    node: Node, seen: Mapping[str, tuple[str, ...]], names: Mapping[str, str], repeat: int = 0
) -> Row:
    """Return the row of a node; `repeat` is that of its block, 0 outside of any."""
    read = [part for name in node.reads() for part in seen.get(name, (names.get(name, name),))]
    return Row(
        name=node.name,
        operator=node.operator,
        kind=node.status,
        shape=next(iter(node.outputs.values()), None),
        layer=node.layer,
        reads=tuple(dict.fromkeys(read)),
        makes=tuple(names.get(name, name) for name in node.outputs),
        repeat=max(1, repeat),
        inside=repeat > 0,
    )


@dataclass(frozen=True)
class Link:
    """What a row of a layer leads to.

    Attributes
    ----------
    section : str
        Which section of the page.
    energy_pj : float
        Of one run.
    colour : str
        Of its segment, as CSS; empty where it is in none.
    """

    section: str
    energy_pj: float
    colour: str = ""


class Lanes:
    """Where nodes and tensors are drawn.

    Attributes
    ----------
    places : list of int
        The lane of each row's node.
    paths : list of str
        What tensors look like, as commands of SVG paths.
    width : int
        Number of lanes.
    """

    def __init__(self, rows: list[Row]) -> None:
        self.last: dict[str, int] = {}
        for i, row in enumerate(rows):
            self.last |= dict.fromkeys(row.reads, i)
        self.busy: list[str | None] = []
        self.lane: dict[str, int] = {}
        self.begin: dict[str, int] = {}
        self.places: list[int] = []
        self.lines: list[tuple[int, int, int, int]] = []
        for i, row in enumerate(rows):
            self.places.append(-1 if row.kind == "block" else self.place(i, row))

    @property
    def width(self) -> int:
        """Number of lanes."""
        return len(self.busy)

    def place(self, i: int, row: Row) -> int:
        """Return the lane of a node, and draw what it reads and where what it makes goes on."""
        read = [name for name in row.reads if name in self.lane]
        ending = [name for name in read if self.last[name] == i]
        own = min((self.lane[name] for name in ending), default=None)
        if own is None:
            own = self.free()
        for name in read:
            lane, begin = self.lane[name], self.begin[name]
            straight = lane == own and name in ending
            if not straight:
                self.lines.append((lane, max(begin, i - 1), own, i))
            if name in ending:
                end = i if straight else i - 1
                if end > begin:
                    self.lines.append((lane, begin, lane, end))
                self.busy[lane] = None
                del self.lane[name]
        for name in row.makes:
            if self.last.get(name, i) <= i:
                continue
            # the first goes on below its node
            lane = own if self.busy[own] is None else self.free()
            self.busy[lane] = name
            self.lane[name], self.begin[name] = lane, i
            if lane != own:
                self.lines.append((own, i, lane, i + 1))
                self.begin[name] = i + 1
        return own

    def free(self) -> int:
        """Return the first lane in which no tensor runs."""
        if None not in self.busy:
            self.busy.append(None)
        return self.busy.index(None)


def graph_section(
    result: NetworkResult,
    alone: NetworkResult | None = None,
    fused: Mapping[str, Link] | None = None,
) -> str:
    """Return the report's section of the graph, or nothing where layers are not connected.

    Parameters
    ----------
    result : NetworkResult
        The whole network.
    alone : NetworkResult, optional
        The layers that have a section of their own, where those are not all.
    fused : mapping of str to Link, optional
        Layers of segments, by their full names.
    """
    graph = result.network.graph
    if graph is None:
        return ""
    every = list(rows_of(graph))
    rows = every[:MOST]
    lanes = Lanes(rows)
    more = ""
    if len(every) > len(rows):
        more = f" The first {len(rows):,} of {len(every):,} rows are shown."
    note = (
        "A row per node, in the order in which they run; a line per tensor, from the node that "
        "makes it to the last one that reads it. Full dots are layers, with their share of the "
        f"network's energy. A block is drawn once.{more}"
    )
    if fused:
        note += " Layers of a segment have its colour."
    links = list(links_of(rows, alone or result, fused or {}))
    items = "".join(items_of(zip(rows, links, strict=True), result.energy_pj, graph))
    return (
        f'<section id="graph"><h2>Graph</h2><p class="note">{note}</p>\n'
        f'<div class="graph" tabindex="0" role="region" aria-label="Graph of the network">'
        f"{drawing(rows, lanes, links)}<ol>{items}</ol></div></section>\n"
    )


def drawing(rows: list[Row], lanes: Lanes, links: list[Link | None]) -> str:
    """Return lanes and dots as SVG."""
    step = WIDE if lanes.width <= FEW else NARROW

    def x(lane: int) -> float:
        return 10.0 + step * lane

    def y(row: int) -> float:
        return ROW * (row + 0.5)

    paths = []
    for first, start, second, end in lanes.lines:
        if first == second:
            paths.append(f"M{x(first):g} {y(start):g}V{y(end):g}")
        else:
            middle = (y(start) + y(end)) / 2
            paths.append(
                f"M{x(first):g} {y(start):g}C{x(first):g} {middle:g} {x(second):g} {middle:g} "
                f"{x(second):g} {y(end):g}"
            )
    dots = [
        f'<circle {dot(row, link)} cx="{x(lane):g}" cy="{y(i):g}" r="4"/>'
        for i, (row, lane, link) in enumerate(zip(rows, lanes.places, links, strict=True))
        if lane >= 0
    ]
    size = f'width="{20 + step * max(0, lanes.width - 1)}" height="{ROW * len(rows)}"'
    return f'<svg aria-hidden="true" {size}><path d="{"".join(paths)}"/>{"".join(dots)}</svg>'


def dot(row: Row, link: Link | None) -> str:
    """Return how the dot of a row looks, as attributes."""
    if link is not None and link.colour:
        return f'class="fused" style="--own: {link.colour}"'
    return f'class="{ {MAPPED: "mapped", UNKNOWN: "unknown"}.get(row.kind, "other") }"'


def links_of(
    rows: Iterable[Row], alone: NetworkResult, fused: Mapping[str, Link]
) -> Iterator[Link | None]:
    """Yield for each row what it leads to, if it is a layer that has a mapping."""
    number = {found.layer.name: i for i, found in enumerate(alone.layers)}
    prefix = ""
    for row in rows:
        if not row.inside:
            prefix = f"{row.name}." if row.kind == "block" else ""
        link = None if row.kind == "block" else fused.get(prefix + row.name)
        if link is None and row.layer in number:
            i = number[row.layer]
            link = Link(f"layer-{i}", alone.layers[i].evaluation.energy_pj)
        yield link


def items_of(
    rows: Iterable[tuple[Row, Link | None]], total_pj: float, graph: Graph
) -> Iterator[str]:
    """Yield the text of each row, with its share of an energy."""
    for row, link in rows:
        name = escape(row.name)
        if row.kind == "block":
            yield (
                f'<li class="head"><b>{name}</b><b>{TIMES}{SPACE}{row.repeat}</b>'
                f"<span>{escape(row.operator)}</span></li>"
            )
            continue
        share = ""
        classes, style = ["inside"] if row.inside else [], ""
        if link is not None:
            name = f'<a href="#{link.section}">{name}</a>'
            if total_pj:
                part = link.energy_pj * row.repeat / total_pj
                share = f'<i class="bar" style="--share:{part:.4f}">{percent(part)}</i>'
            if link.colour:
                classes.append("fused")
                style = f' style="--own: {link.colour}"'
        status = "" if row.kind in (MAPPED, "input") else f" · {row.kind}"
        going = " · result" if set(row.makes) & set(graph.outputs) else ""
        shape = "" if row.shape is None else TIMES.join(map(str, row.shape))
        own = f' class="{" ".join(classes)}"' if classes else ""
        yield (
            f"<li{own}{style}><b>{name}</b><span>{escape(row.operator + status + going)}</span>"
            f"<span>{shape}</span>{share}</li>"
        )

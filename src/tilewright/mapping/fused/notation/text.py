"""Fused mappings as indented trees, written for people and read back."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from tilewright.architecture.machine import Architecture
from tilewright.errors import InputError
from tilewright.mapping.fused.connections.connected_layers import segment
from tilewright.mapping.fused.connections.names import find_dimension, find_halo, find_tensors
from tilewright.mapping.fused.connections.segments import Segment
from tilewright.mapping.fused.scopes import Resolved, resolve_fused
from tilewright.mapping.fused.tree import Branch, Fuse, FusedMapping, Halo, TreeNode, Turn
from tilewright.mapping.fused.turn_layers import largest_turn, turn_layer
from tilewright.mapping.fused.turns import most_chunks
from tilewright.mapping.names import find_memory
from tilewright.mapping.nodes import For, Mapping, Node, Store
from tilewright.mapping.text import LOOP, STORES, mapping_text, read_line
from tilewright.workload.layer import Network

INDENT = "  "
TOGETHER = "fuse"
TURN = "turns of"
PIPELINE = "at the same time"
HALO = re.compile(r"halo\s+(?P<tensor>\S+)\s+(?P<dimension>\S+)\s+(?P<mode>\S+)")
EXPECTED = "expected 'MEMORY stores TENSOR, TENSOR', 'for DIMENSION in CHUNKS x TILE' or 'LAYER:'"


def fused_text(mapping: FusedMapping, own: Segment, architecture: Architecture) -> str:
    """Return a fused mapping as an indented tree, one node per line.

    A line ``LAYER:`` begins the branch of a layer, ``fuse:`` one that fuses itself; ``at the same
    time`` stands above the branches of a pipeline. The nodes of a layer are those of
    `tilewright.mapping.text`, with the extents of its largest turn. Shared loops count the chunks
    of the layer that reads last. `parse_fused_text` reads it back.
    """
    lines = list(_Writing(resolve_fused(mapping, own), architecture).nodes(mapping.nodes, 0))
    lines += [f"halo {halo.tensor} {halo.dimension} {halo.mode}" for halo in mapping.halos]
    return "".join(f"{line}\n" for line in lines)


class _Writing:
    """Writes the lines of a tree."""

    def __init__(self, resolved: Resolved, architecture: Architecture) -> None:
        self.resolved = resolved
        self.architecture = architecture
        self.loops = iter(resolved.loops)
        self.leaves = iter(resolved.leaves)

    def nodes(self, nodes: Sequence[TreeNode], depth: int) -> Iterator[str]:
        """Yield the lines of shared nodes and of the branches at their end."""
        for node in nodes:
            if isinstance(node, Store):
                yield f"{INDENT * depth}{node.memory} stores {', '.join(node.tensors)}"
                depth += 1
            elif isinstance(node, For):
                yield f"{INDENT * depth}for {node.dimension} in {self.chunks()} x {node.tile}"
                depth += 1
            elif isinstance(node, Fuse):
                if node.pipelined:
                    yield f"{INDENT * depth}{PIPELINE}"
                for branch in node.branches:
                    yield f"{INDENT * depth}{branch.layer or TOGETHER}:"
                    yield from self.branch(branch, depth + 1)

    def branch(self, branch: Branch, depth: int) -> Iterator[str]:
        """Yield the lines of a branch."""
        if branch.layer is None:
            yield from self.nodes(branch.nodes, depth)
            return
        leaf, own = next(self.leaves), self.resolved.segment
        layer = own.layer_of[leaf.layer]
        extents = largest_turn(leaf, own)
        box = turn_layer(layer, extents)
        for line in mapping_text(leaf.mapping, box, self.architecture).splitlines():
            yield f"{INDENT * depth}{line}"
        for turn in leaf.turns:
            bounds = ", ".join(f"{d} {n}" for d, n in turn.bounds)
            yield f"{INDENT * depth}{TURN} {bounds}:"
            box = turn_layer(layer, {**extents, **dict(turn.bounds)})
            for line in mapping_text(Mapping(turn.nodes), box, self.architecture).splitlines():
                yield f"{INDENT * (depth + 1)}{line}"

    def chunks(self) -> int:
        """Return the most chunks of the next shared loop."""
        loop = next(self.loops)
        leaf = next(leaf for leaf in self.resolved.leaves if loop in leaf.loops)
        above = leaf.loops[: leaf.loops.index(loop)]
        return most_chunks(loop, above, self.resolved.segment)


@dataclass(frozen=True)
class _Line:
    """A line of a text: its number, how far it is indented, and what it says."""

    number: int
    indent: int
    words: str

    @property
    def header(self) -> str | None:
        """The name of the branch that it begins, if it does."""
        return self.words[:-1].strip() if self.words.endswith(":") else None


def parse_fused_text(
    text: str, network: Network, architecture: Architecture, *, source: str | None = None
) -> tuple[Segment, FusedMapping]:
    """Read a fused mapping from the text that `fused_text` writes.

    Parameters
    ----------
    text : str
        One node per line; branches are told by their indentation. ``#`` starts a comment. The
        numbers of chunks of shared loops may be left out.
    network : Network
        With a graph.
    architecture : Architecture
        What computes it.
    source : str, optional
        Name of the text, for messages.

    Raises
    ------
    InputError
        With the line of what cannot be read.
    """
    lines = []
    for number, raw in enumerate(text.splitlines(), start=1):
        line = re.sub(r"(^|\s)#.*", "", raw).rstrip()
        if line:
            lines.append(_Line(number, len(line) - len(line.lstrip()), line.strip()))
    return _Reading(lines, network, architecture, source).tree()


class _Reading:
    """Reads the lines of a tree."""

    def __init__(
        self,
        lines: Sequence[_Line],
        network: Network,
        architecture: Architecture,
        source: str | None,
    ) -> None:
        self.lines = lines
        self.network = network
        self.architecture = architecture
        self.source = source

    def error(self, message: str, line: _Line | None = None) -> InputError:
        """Return the error for a line."""
        number = None if line is None else line.number
        return InputError(message, source=self.source, line=number)

    def tree(self) -> tuple[Segment, FusedMapping]:
        """Return the segment and its mapping."""
        halos = [line for line in self.lines if HALO.fullmatch(line.words)]
        nodes = [line for line in self.lines if line not in halos]
        heads = [line.header or TOGETHER for line in nodes]
        names = [head for head in heads if head != TOGETHER and not head.startswith(f"{TURN} ")]
        try:
            own = segment(self.network, names)
        except InputError as failure:
            raise self.error(failure.message) from None
        found = []
        for line in halos:
            given = HALO.fullmatch(line.words)
            assert given is not None
            try:
                found.append(find_halo(given["tensor"], given["dimension"], given["mode"], own))
            except InputError as failure:
                raise self.error(failure.message, line) from None
        return own, FusedMapping(self.nodes(nodes, own), tuple[Halo, ...](found))

    def nodes(self, lines: Sequence[_Line], own: Segment) -> tuple[TreeNode, ...]:
        """Read shared nodes and the branches at their end."""
        nodes: list[TreeNode] = []
        pipelined = False
        for i, line in enumerate(lines):
            if line.header is not None:
                return (*nodes, Fuse(self.branches(lines[i:], own), pipelined))
            if line.words == PIPELINE:
                pipelined = True
                continue
            try:
                nodes.append(self.shared(line.words, own))
            except InputError as failure:
                raise self.error(failure.message, line) from None
        raise self.error("expected a branch, 'LAYER:', at the end", lines[-1] if lines else None)

    def shared(self, words: str, own: Segment) -> Store | For:
        """Read one shared node."""
        if found := STORES.fullmatch(words):
            memory = find_memory(found["memory"], self.architecture)
            return Store(
                memory.name, find_tensors([n.strip() for n in found["tensors"].split(",")], own)
            )
        found = LOOP.fullmatch(words)
        if found is None or found["kind"] != "for" or found["place"] is not None:
            raise InputError(f"{EXPECTED}; found '{words}'")
        return For(find_dimension(found["dimension"], own), int(found["tile"]))

    def branches(self, lines: Sequence[_Line], own: Segment) -> tuple[Branch, ...]:
        """Read branches: lines that begin one, and those further in that follow each."""
        branches = []
        starts = [i for i, line in enumerate(lines) if line.indent <= lines[0].indent]
        for start, end in zip(starts, [*starts[1:], len(lines)], strict=True):
            head, inner = lines[start], lines[start + 1 : end]
            if head.header is None or head.indent != lines[0].indent:
                raise self.error(f"expected a branch, 'LAYER:', found '{head.words}'", head)
            if head.header == TOGETHER:
                branches.append(Branch(None, self.nodes(inner, own)))
            else:
                branches.append(self.own(head.header, inner, own))
        return tuple(branches)

    def own(self, name: str, lines: Sequence[_Line], own: Segment) -> Branch:
        """Read the branch of a layer: its nodes, then those of turns of certain extents."""
        starts = [i for i, line in enumerate(lines) if line.header is not None]
        ends = [*starts, len(lines)]
        turns = []
        for start, end in pairwise(ends):
            head, known = lines[start], own.layer_of[name].bounds
            words = (head.header or "").removeprefix(TURN)
            pairs = re.findall(r"(\S+) (\d+)(?:,|$)", words)
            if not pairs or words == head.header or any(d not in known for d, _ in pairs):
                raise self.error(f"expected '{TURN} DIMENSION EXTENT:', found '{head.words}'", head)
            nodes = self.own_nodes(name, lines[start + 1 : end], own)
            turns.append(Turn(tuple((d, int(n)) for d, n in pairs), nodes))
        return Branch(name, self.own_nodes(name, lines[: ends[0]], own), tuple(turns))

    def own_nodes(self, name: str, lines: Sequence[_Line], own: Segment) -> tuple[Node, ...]:
        """Read the nodes of a layer."""
        layer = own.layer_of[name]
        nodes: list[Node] = []
        for line in lines:
            if line.words.startswith(f"{self.architecture.compute.name} computes "):
                continue
            words = re.sub(r"\s(\d+\s*x\s*)(\d+)(\s*\(last \d+\))?", r" \2", line.words)
            try:
                nodes.append(read_line(words, dict(layer.bounds), layer, self.architecture))
            except InputError as failure:
                raise self.error(failure.message, line) from None
        return Mapping(tuple(nodes)).nodes

"""Mappings as indented loop nests, written for people and read back."""

from __future__ import annotations

import re

from tilewright.architecture.machine import Architecture
from tilewright.errors import InputError, MappingError
from tilewright.mapping.names import (
    find_array,
    find_axis,
    find_dimension,
    find_memory,
    find_tensors,
    storable,
)
from tilewright.mapping.nodes import For, Mapping, Node, Spatial, Store
from tilewright.mapping.structure import resolve_loops
from tilewright.mapping.validity import check as check_validity
from tilewright.workload.layer import Layer

STORES = re.compile(r"(?P<memory>\S.*?)\s+stores\s+(?P<tensors>\S.*)")
LOOP = re.compile(
    r"(?P<kind>for|spatial)\s+(?P<dimension>\S+)\s+in\s+"
    r"(?:(?P<chunks>\d+)\s*x\s*)?(?P<tile>\d+)"
    r"(?:\s*\(last\s+(?P<last>\d+)\))?"
    r"(?:\s+on\s+(?P<place>\S.*))?"
)
EXPECTED = (
    "expected 'MEMORY stores TENSOR, TENSOR', 'for DIMENSION in CHUNKS x TILE' or "
    "'spatial DIMENSION in CHUNKS x TILE on ARRAY.AXIS'"
)


def mapping_text(mapping: Mapping, layer: Layer, architecture: Architecture) -> str:
    """Return a mapping as an indented loop nest, one node per line.

    A loop shows how many chunks it makes of its largest extent, their size, and the size of the
    last one where it is shorter. The last line shows what is left to the compute unit.
    `parse_text` reads the text back to an equal mapping.
    """
    loops = iter(resolve_loops(mapping.nodes, layer))
    lines = []
    for node in mapping.nodes:
        if isinstance(node, Store):
            lines.append(f"{node.memory} stores {', '.join(node.tensors)}")
            continue
        loop = next(loops)
        last = loop.extent - (loop.chunks - 1) * loop.tile
        cut = f"{node.dimension} in {loop.chunks} x {loop.tile}"
        short = f" (last {last})" if last < loop.tile else ""
        if isinstance(node, For):
            lines.append(f"for {cut}{short}")
        else:
            lines.append(f"spatial {cut}{short} on {node.array}.{node.axis}")
    left = ", ".join(f"{loop.dimension} {loop.extent}" for loop in loops if loop.extent > 1)
    lines.append(f"{architecture.compute.name} computes {left or 'one operation'}")
    return "".join(f"{'  ' * depth}{line}\n" for depth, line in enumerate(lines))


def parse_text(
    text: str,
    layer: Layer,
    architecture: Architecture,
    *,
    source: str | None = None,
    check: bool = True,
) -> Mapping:
    """Read a mapping from the text that `mapping_text` writes.

    Indentation, the number of chunks, the size of the last chunk and the line of the compute unit
    may be left out; where they are given they must be right. ``#`` starts a comment.

    Parameters
    ----------
    text : str
        One node per line.
    layer : Layer
        What is computed.
    architecture : Architecture
        What computes it.
    source : str, optional
        Name of the text, for messages.
    check : bool
        Whether the mapping must also be valid on the machine.

    Returns
    -------
    Mapping

    Raises
    ------
    InputError
        When a line cannot be read; a MappingError when the mapping is not valid.
    """
    nodes: list[Node] = []
    numbers: list[int] = []
    extents = dict(layer.bounds)
    ending = re.compile(rf"{re.escape(architecture.compute.name)}\s+computes\s+(.*)")
    ended = False
    for number, raw in enumerate(text.splitlines(), start=1):
        line = re.sub(r"(^|\s)#.*", "", raw).strip()
        if not line:
            continue
        try:
            if ended:
                raise InputError("nothing may follow the line of the compute unit")
            if found := ending.fullmatch(line):
                check_rest(found[1], extents)
                ended = True
                continue
            nodes.append(read_line(line, extents, layer, architecture))
        except InputError as failure:
            raise InputError(failure.message, source=source, line=number) from None
        numbers.append(number)
    mapping = Mapping(tuple(nodes))
    if check:
        try:
            check_validity(mapping, layer, architecture)
        except MappingError as fault:
            lines = {f"mapping[{i}]": number for i, number in enumerate(numbers)}
            line_number = lines.get(fault.key or "")
            raise MappingError(fault.message, source=source, line=line_number) from None
    return mapping


def read_line(line: str, extents: dict[str, int], layer: Layer, architecture: Architecture) -> Node:
    """Read one node; a loop leaves its tile in `extents`."""
    if found := LOOP.fullmatch(line):
        dimension = find_dimension(found["dimension"], layer, "for")
        tile = int(found["tile"])
        if found["kind"] == "for" and found["place"] is not None:
            raise InputError(f"'on {found['place']}' stands only with 'spatial'")
        check_cut(found, extents[dimension], tile)
        extents[dimension] = tile
        if found["kind"] == "for":
            return For(dimension, tile)
        array, axis = find_place(found["place"], architecture)
        return Spatial(dimension, tile, axis, array)
    if found := STORES.fullmatch(line):
        memory = find_memory(found["memory"], architecture)
        if found["tensors"] == "all":
            return Store(memory.name, storable(memory, layer))
        names = [name.strip() for name in found["tensors"].split(",")]
        return Store(memory.name, find_tensors(names, layer))
    raise InputError(f"{EXPECTED}; found '{line}'")


def find_place(place: str | None, architecture: Architecture) -> tuple[str, str]:
    """Return array and axis of ``ARRAY.AXIS``, ``ARRAY``, or nothing where there is no choice."""
    for array in architecture.arrays:
        for axis in array.axes:
            if place == f"{array.name}.{axis}":
                return array.name, axis
        if place is not None and place.startswith(f"{array.name}."):
            find_axis(place.removeprefix(f"{array.name}."), array)
    array = find_array(place, architecture)
    return array.name, find_axis(None, array)


def check_cut(found: re.Match[str], extent: int, tile: int) -> None:
    """Refuse a number of chunks or a last chunk that the extent does not give."""
    dimension = found["dimension"]
    if not 1 <= tile <= extent:
        raise MappingError(
            f"tile of {dimension} must be from 1 to {extent}, the extent of {dimension} here; "
            f"found {tile}"
        )
    chunks = -(-extent // tile)
    last = extent - (chunks - 1) * tile
    if found["chunks"] is not None and int(found["chunks"]) != chunks:
        raise InputError(
            f"{dimension}, {extent} here, has {chunks} chunks of {tile}, not {found['chunks']}"
        )
    if found["last"] is not None and int(found["last"]) != last:
        raise InputError(
            f"the last chunk of {dimension}, {extent} here, has {last}, not {found['last']}"
        )


def check_rest(text: str, extents: dict[str, int]) -> None:
    """Refuse a line of the compute unit that is not what the loops above leave."""
    left = ", ".join(f"{d} {extent}" for d, extent in extents.items() if extent > 1)
    left = left or "one operation"
    if " ".join(text.split()) != left:
        raise InputError(f"the loops above leave '{left}' to the compute unit, not '{text}'")

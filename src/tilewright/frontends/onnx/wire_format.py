"""ONNX files without the words of their weights, so that size does not matter.

A model is a protobuf message: fields of a number, a type and a content. What is copied here is all
but the contents of large initialisers (onnx/onnx.proto: ModelProto.graph, GraphProto.initializer).
"""

from __future__ import annotations

import mmap
from collections.abc import Iterator
from pathlib import Path
from typing import TypeAlias

GRAPH = 7
INITIALIZER = 5
# float_data, int32_data, string_data, int64_data, raw_data, double_data, uint64_data
CONTENTS = (4, 5, 6, 7, 9, 10, 11)
MAX_KEPT = 2**16

VARINT, FIXED64, BYTES, FIXED32 = 0, 1, 2, 5
Source: TypeAlias = "mmap.mmap | bytes"


def without_weights(path: str | Path) -> bytes:
    """Return the message in a file without the contents of its large initialisers.

    Raises
    ------
    OSError
        When the file cannot be read.
    ValueError
        When it is no protobuf message.
    """
    with Path(path).open("rb") as file:
        if not file.seek(0, 2):
            raise ValueError("is empty")
        with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as source:
            return _model(source)


def _model(source: Source) -> bytes:
    parts = []
    for number, kind, begin, first, end in _fields(source, 0, len(source)):
        if number == GRAPH and kind == BYTES:
            parts += _message(GRAPH, _graph(source, first, end))
        else:
            parts.append(source[begin:end])
    return b"".join(parts)


def _graph(source: Source, first: int, end: int) -> bytes:
    parts = []
    for number, kind, begin, start, stop in _fields(source, first, end):
        if number == INITIALIZER and kind == BYTES and stop - start > MAX_KEPT:
            kept = [
                source[b:e]
                for n, _, b, s, e in _fields(source, start, stop)
                if n not in CONTENTS or e - s <= MAX_KEPT
            ]
            parts += _message(INITIALIZER, b"".join(kept))
        else:
            parts.append(source[begin:stop])
    return b"".join(parts)


def _message(number: int, content: bytes) -> list[bytes]:
    """Return a field that is a message: its head and its content."""
    size, head = len(content), bytearray([number << 3 | BYTES])
    while size > 127:
        head.append(size & 127 | 128)
        size >>= 7
    head.append(size)
    return [bytes(head), content]


def _fields(source: Source, first: int, end: int) -> Iterator[tuple[int, int, int, int, int]]:
    """Yield number and type of each field, where it begins, and from where to where its content."""
    while first < end:
        begin = first
        tag, first = _varint(source, first, end)
        number, kind = tag >> 3, tag & 7
        if kind == VARINT:
            _, stop = _varint(source, first, end)
        elif kind == BYTES:
            size, first = _varint(source, first, end)
            stop = first + size
        elif kind in (FIXED32, FIXED64):
            stop = first + (4 if kind == FIXED32 else 8)
        else:
            raise ValueError(f"has a field of type {kind} at byte {begin}")
        if stop > end or not number:
            raise ValueError(f"ends within a field, or has a field without a number, at {begin}")
        yield number, kind, begin, first, stop
        first = stop


def _varint(source: Source, first: int, end: int) -> tuple[int, int]:
    """Return a number of variable length, and where the next byte is."""
    value = shift = 0
    while first < end and shift < 70:
        byte = source[first]
        value |= (byte & 127) << shift
        first += 1
        if byte < 128:
            return value, first
        shift += 7
    raise ValueError(f"ends within a number at byte {first}")

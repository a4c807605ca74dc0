"""AccelForge's workloads as networks: a layer per einsum, connected by the tensors they share."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tilewright.document import Document, KeyPath, describe
from tilewright.errors import InputError, nearest
from tilewright.interop.chains import connected
from tilewright.workload.einsum import build_layer
from tilewright.workload.layer import Layer, Network

TENSOR = re.compile(r"\s*([A-Za-z_]\w*)\s*\[([^\[\]]*)\]\s*")
COPY = re.compile(r"\s*copy\s*\((.*)\)\s*", re.DOTALL)
RANGE = re.compile(r"\s*(\d+)\s*<=\s*([A-Za-z_]\w*)\s*<(=?)\s*(\d+)\s*")
INDEX = re.compile(r"(?:\d+\s*\*\s*)?[A-Za-z_]\w*(?:\s*\+\s*(?:\d+\s*\*\s*)?[A-Za-z_]\w*)*")
VARIABLE = re.compile(r"[A-Za-z_]\w*")
FIRST = "input"


@dataclass(frozen=True)
class Access:
    """A tensor of an einsum, with the index expression of each of its ranks."""

    tensor: str
    ranks: dict[str, str]

    def text(self, order: list[str]) -> str:
        """Return it as einsum text, its ranks in the order that is known of the tensor."""
        ranks = order if set(order) == set(self.ranks) else list(self.ranks)
        return f"{self.tensor}[{','.join(self.ranks[rank] for rank in ranks)}]"


def is_workload(document: Document) -> bool:
    """Whether a file has a workload of AccelForge."""
    data = document.data
    found = data.get("workload") if isinstance(data, dict) else None
    return isinstance(found, dict) and "einsums" in found


def read_workload(document: Document) -> Network:
    """Return the network of a workload.

    Raises
    ------
    InputError
        With the line of the first thing that cannot be read.
    """
    return Workload(document).network()


class Workload:
    """A workload while it is read."""

    def __init__(self, document: Document) -> None:
        self.document = document
        self.data = document.data["workload"]
        self.path: KeyPath = ("workload",)
        self.sizes = self.mapping("rank_sizes")
        self.ranges: dict[str, int] = {}
        self.add_ranges(self.data.get("iteration_space_shape") or [], self.path, self.ranges)
        self.orders: dict[str, list[str]] = {}

    def error(self, message: str, *keys: str | int) -> InputError:
        """Return an error that points at a key of the workload."""
        return self.document.error(message, (*self.path, *keys))

    def mapping(self, key: str) -> dict[str, Any]:
        """Return keys of the workload; none when they are not there."""
        value = self.data.get(key) or {}
        if not isinstance(value, dict):
            raise self.error(f"expected keys, found {describe(value)}", key)
        return value

    def add_ranges(self, given: Any, path: KeyPath, ranges: dict[str, int]) -> None:
        """Read sizes such as ``0 <= m < 128``."""
        items = given.values() if isinstance(given, dict) else given
        for text in items if isinstance(given, dict | list) else [given]:
            match = RANGE.fullmatch(text) if isinstance(text, str) else None
            if match is None:
                raise self.document.error(
                    f"expected a range such as 0 <= m < 128, found {describe(text)}",
                    (*path, "iteration_space_shape"),
                )
            # where a range begins changes no count
            last = int(match[4][:20]) + (1 if match[3] else 0)
            ranges[match[2]] = last - int(match[1][:20])

    def network(self) -> Network:
        """Return the network."""
        einsums = self.data["einsums"]
        if not isinstance(einsums, list) or not einsums:
            raise self.error(f"expected a list, found {describe(einsums)}", "einsums")
        layers: list[Layer] = []
        sources = []
        makers: dict[str, int] = {}
        for i, item in enumerate(einsums):
            name, output, inputs, ranges = self.einsum(i, item)
            for access in (*inputs, output):
                self.orders.setdefault(access.tensor, list(access.ranks))
            texts = [x.text(self.orders[x.tensor]) for x in (*inputs, output)]
            sizes = self.bounds(i, [*inputs, output], ranges)
            bits = self.bits([x.tensor for x in (*inputs, output)])
            if any(layer.name == name for layer in layers):
                raise self.error(f"einsum '{name}' occurs twice", "einsums", i)
            try:
                layer = build_layer(
                    f"{texts[-1]} += {' * '.join(texts[:-1])}", sizes, name=name, bits=bits
                )
            except InputError as failure:
                raise self.error(failure.message, "einsums", i) from None
            layers.append(layer)
            sources.append({x.tensor: makers[x.tensor] for x in inputs if x.tensor in makers})
            makers[output.tensor] = i
        source = self.document.source
        return Network(
            Path(source).name.split(".")[0], tuple(layers), f"AccelForge workload {source}",
            connected(layers, sources),
        )  # fmt: skip

    def einsum(self, i: int, item: Any) -> tuple[str, Access, list[Access], dict[str, int]]:
        """Return name, output and inputs of an einsum, and the sizes that it has of its own."""
        ranges = dict(self.ranges)
        if isinstance(item, str):
            item = {"einsum": item}
        if not isinstance(item, dict):
            raise self.error(f"expected an einsum, found {describe(item)}", "einsums", i)
        own = item.get("iteration_space_shape")
        if own:
            self.add_ranges(own, (*self.path, "einsums", i), ranges)
        if "einsum" in item:
            output, inputs = self.parse(i, item["einsum"])
        elif isinstance(item.get("tensor_accesses"), list):
            pairs = [self.access(i, j, x) for j, x in enumerate(item["tensor_accesses"])]
            outputs = [access for access, written in pairs if written]
            inputs = [access for access, written in pairs if not written]
            if len(outputs) != 1 or not inputs:
                raise self.error("expected inputs and one tensor with 'output: true'",
                                 "einsums", i)  # fmt: skip
            (output,) = outputs
        else:
            raise self.error("expected 'einsum' or 'tensor_accesses'", "einsums", i)
        renames = item.get("renames")
        if isinstance(renames, dict):
            inputs.sort(key=lambda access: access.tensor != renames.get(FIRST))
        name = item.get("name")
        return name if isinstance(name, str) and name else output.tensor, output, inputs, ranges

    def parse(self, i: int, text: Any) -> tuple[Access, list[Access]]:
        """Return the tensors of an einsum such as ``Z[m, n] = A[m, k] * B[k, n]``."""
        left, equals, right = str(text).partition("=")
        copied = COPY.fullmatch(right)
        parts = [left, *(copied[1] if copied else right).split("*")]
        found = []
        for part in parts:
            match = TENSOR.fullmatch(part)
            if match is None or not equals:
                raise self.error(
                    f"expected an einsum such as Z[m, n] = A[m, k] * B[k, n], "
                    f"found {describe(text)}", "einsums", i,
                )  # fmt: skip
            ranks = {}
            for item in match[2].split(","):
                rank, colon, index = item.rpartition(":")
                if item.strip():
                    key = rank.strip() if colon else index.strip().upper()
                    ranks[key] = index.strip()
            found.append(self.checked(i, Access(match[1], ranks)))
        return found[0], found[1:]

    def access(self, i: int, j: int, item: Any) -> tuple[Access, bool]:
        """Return a tensor of an einsum, and whether it is written."""
        place = ("einsums", i, "tensor_accesses", j)
        if not isinstance(item, dict) or not isinstance(item.get("name"), str):
            raise self.error("expected {name: , projection: }", *place)
        projection = item.get("projection")
        if isinstance(projection, list):
            ranks = {str(index).upper(): str(index) for index in projection}
        elif isinstance(projection, dict):
            ranks = {str(rank): str(index) for rank, index in projection.items()}
        else:
            raise self.error(f"expected a projection, found {describe(projection)}", *place)
        return self.checked(i, Access(item["name"], ranks)), item.get("output") is True

    def checked(self, i: int, access: Access) -> Access:
        """Return a tensor whose name and indices can be read."""
        for index in access.ranks.values():
            if not INDEX.fullmatch(index):
                raise self.error(
                    f"index {describe(index)} of {access.tensor} is no sum of variables",
                    "einsums", i,
                )  # fmt: skip
        if not VARIABLE.fullmatch(access.tensor):
            raise self.error(f"expected a name, found {describe(access.tensor)}", "einsums", i)
        ranks = {rank: index.replace(" ", "") for rank, index in access.ranks.items()}
        return Access(access.tensor, ranks)

    def bounds(self, i: int, accesses: list[Access], ranges: dict[str, int]) -> dict[str, int]:
        """Return the size of each variable: its range, or that of a rank that it indexes alone."""
        found: dict[str, int] = {}
        wanted: list[str] = []
        for access in accesses:
            for rank, index in access.ranks.items():
                variables = VARIABLE.findall(index)
                wanted += variables
                if variables == [index] and index not in ranges and rank in self.sizes:
                    size = self.sizes[rank]
                    whole = isinstance(size, int) and not isinstance(size, bool)
                    if not whole:
                        raise self.error(f"expected a whole number, found {describe(size)}",
                                         "rank_sizes", rank)  # fmt: skip
                    if found.setdefault(index, size) != size:
                        raise self.error(
                            f"variable '{index}' has {found[index]} values in one rank and {size} "
                            f"in rank {rank}", "einsums", i,
                        )  # fmt: skip
        for variable in dict.fromkeys(wanted):
            if variable in ranges:
                found[variable] = ranges[variable]
            elif variable not in found:
                known = [*self.sizes, *self.ranges]
                raise self.error(
                    f"no size of variable '{variable}': give rank_sizes or a range such as "
                    f"0 <= {variable} < 8{nearest(variable, known)}", "einsums", i,
                )  # fmt: skip
        return found

    def bits(self, tensors: list[str]) -> dict[str, int] | None:
        """Return the bits per value of tensors that are named, or of all."""
        given = self.mapping("bits_per_value")
        found = {}
        for name in tensors:
            value = given.get(name, given.get("All"))
            if isinstance(value, int) and not isinstance(value, bool):
                found[name] = value
        return found or None

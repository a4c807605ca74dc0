"""ZigZag's hardware as machines.

Each memory serves some dimensions of the array: there is one for every element along the others.
Memories whose served dimensions are nested are levels of a chain.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from math import isfinite, prod
from typing import Any

from tilewright.architecture.machine import Architecture
from tilewright.architecture.reading import parse_architecture
from tilewright.document import Document, KeyPath, describe
from tilewright.errors import InputError, nearest
from tilewright.interop.zigzag.mapping import axis_dimensions
from tilewright.interop.zigzag.names import OPERANDS

ARRAYS = ("operational_array", "multipliers")
LARGEST = 1e15


@dataclass(frozen=True)
class Served:
    """A memory: what it keeps, and the dimensions of the array that share one instance.

    Attributes
    ----------
    name : str
        Its name.
    path : KeyPath
        Where it stands.
    data : mapping
        Its keys.
    shared : frozenset of str
        Dimensions of the array.
    """

    name: str
    path: KeyPath
    data: Mapping[str, Any]
    shared: frozenset[str]


def is_hardware(document: Document) -> bool:
    """Whether a file is hardware of ZigZag."""
    data = document.data
    return isinstance(data, dict) and "memories" in data and any(key in data for key in ARRAYS)


def read_hardware(document: Document) -> Architecture:
    """Return the machine of a hardware file.

    Raises
    ------
    InputError
        With the line of the first thing that is wrong.
    """
    return Hardware(document).machine()


class Hardware:
    """Hardware while it is read."""

    def __init__(self, document: Document) -> None:
        self.document = document
        self.data = document.data
        self.array = next(key for key in ARRAYS if key in self.data)
        self.notes: list[str] = []

    def error(self, message: str, path: KeyPath) -> InputError:
        """Return an error that points at a key."""
        return self.document.error(message, path)

    def number(self, data: Mapping[str, Any], key: str, path: KeyPath, default: float) -> float:
        """Return a number that is not negative."""
        value = data.get(key, default)
        value = default if value is None else value
        number = isinstance(value, int | float) and not isinstance(value, bool)
        if not number or not isfinite(value) or not 0 <= value <= LARGEST:
            raise self.error(
                f"expected a number from 0 to 1e15, found {describe(value)}", (*path, key)
            )
        return float(value)

    def machine(self) -> Architecture:
        """Return the machine."""
        axes = self.axes()
        units = self.data[self.array]
        levels: list[dict[str, Any]] = []
        left = frozenset(axes)
        for memory in self.memories(axes):
            shared = memory.shared & left
            if shared < left:
                levels.append(array_level(axes, left - shared))
                left = shared
            copies = prod(axes[name] for name in memory.shared - shared)
            if copies > 1:
                apart = ", ".join(sorted(memory.shared - shared))
                self.notes.append(
                    f"{memory.name} serves {apart}, which another memory inside has one instance "
                    f"for each of: here {copies} copies with 1/{copies} of the energy, the same "
                    "where all elements work"
                )
            levels.append(self.memory_level(memory, copies, outermost=not levels))
        if left:
            levels.append(array_level(axes, left))
        for old, new in (("multiplier_energy", "unit_energy"), ("multiplier_area", "unit_area")):
            if old in units and new in units:
                raise self.error(f"give '{new}' or '{old}', not both", (self.array, old))
        if units.get("is_imc") or units.get("imc_type"):
            raise self.error("in-memory computing is not understood: give a digital array",
                             (self.array,))  # fmt: skip
        energy = "unit_energy" if "unit_energy" in units else "multiplier_energy"
        cost = self.number(units, energy, (self.array,), 0.0)
        levels.append({"compute": "MAC", "energy": cost})
        name = self.data.get("name")
        data = {
            "name": name if isinstance(name, str) and name.strip() else "zigzag",
            "source": f"ZigZag hardware {self.document.source}",
            "levels": levels,
            "constraints": self.dataflow(levels),
        }
        try:
            machine = parse_architecture(Document(data, self.document.source))
        except InputError as failure:
            raise self.error(failure.message, ("memories",)) from None
        notes = [*self.notes, "areas of memories and energies of wires are not read"]
        return replace(machine, notes=(*machine.notes, *notes))

    def axes(self) -> dict[str, int]:
        """Return the dimensions of the array with their sizes."""
        path: KeyPath = (self.array,)
        units = self.data[self.array]
        if not isinstance(units, dict):
            raise self.error(f"expected dimensions and sizes, found {describe(units)}", path)
        names, sizes = units.get("dimensions"), units.get("sizes")
        if not isinstance(names, list) or not isinstance(sizes, list) or len(names) != len(sizes):
            raise self.error("expected as many 'sizes' as 'dimensions'", path)
        found = {}
        for name, size in zip(names, sizes, strict=True):
            whole = isinstance(size, int) and not isinstance(size, bool) and 0 < size <= 2**20
            if not isinstance(name, str) or not name or name in found or not whole:
                raise self.error(
                    f"expected dimensions of 1 to 2^20 elements, found {describe(name)} of "
                    f"{describe(size)}", (*path, "sizes"),
                )  # fmt: skip
            found[name] = size
        return found

    def memories(self, axes: Mapping[str, int]) -> list[Served]:
        """Return the memories, the outermost first."""
        given = self.data["memories"]
        if not isinstance(given, dict) or not given:
            raise self.error(f"expected memories by name, found {describe(given)}", ("memories",))
        found = []
        for name, data in given.items():
            path: KeyPath = ("memories", name)
            if not isinstance(data, dict):
                raise self.error(f"expected the keys of a memory, found {describe(data)}", path)
            served = data.get("served_dimensions", [])
            if not isinstance(served, list):
                raise self.error(f"expected a list, found {describe(served)}",
                                 (*path, "served_dimensions"))  # fmt: skip
            for dimension in served:
                if dimension not in axes:
                    raise self.error(
                        f"no dimension '{dimension}' of the array{nearest(str(dimension), axes)}",
                        (*path, "served_dimensions"),
                    )
            found.append(Served(name, path, data, frozenset(served)))
        # the file begins with the innermost
        found.reverse()
        found.sort(key=lambda memory: -len(memory.shared))
        if found[0].shared != frozenset(axes):
            raise self.error("no memory serves all dimensions of the array", ("memories",))
        if set(self.operands(found[0])) != set(OPERANDS.values()):
            raise self.error("the outermost memory must have the operands I1, I2 and O",
                             found[0].path)  # fmt: skip
        return found

    def operands(self, memory: Served) -> list[str]:
        """Return what a memory keeps."""
        given = memory.data.get("operands")
        if not isinstance(given, list) or not given or not all(x in OPERANDS for x in given):
            raise self.error(
                f"expected operands among {', '.join(OPERANDS)}, found {describe(given)}",
                (*memory.path, "operands"),
            )
        return [OPERANDS[name] for name in given]

    def memory_level(self, memory: Served, copies: int, outermost: bool) -> dict[str, Any]:
        """Return a memory as the level of an architecture file; its word is what a port reads."""
        data, path = memory.data, memory.path
        word, reading, writing, shared = self.ports(memory)
        level: dict[str, Any] = {"memory": memory.name, "word": f"{word} bits"}
        if not outermost:
            size = self.number(data, "size", path, 0.0)
            if size < 1:
                raise self.error(f"expected a size in bits, found {describe(data.get('size'))}",
                                 (*path, "size"))  # fmt: skip
            level["size"] = f"{int(size)} bits"
            level["keep"] = level["must_keep"] = self.operands(memory)
        if data.get("r_cost") is None or data.get("w_cost") is None:
            self.notes.append(f"no energies are known of {memory.name}: taken as 0")
        wide = self.number(data, "w_bw", path, word) or word
        level["energy"] = {
            "read": self.number(data, "r_cost", path, 0.0) / copies,
            "write": self.number(data, "w_cost", path, 0.0) / copies * word / wide,
        }
        if shared:
            level["bandwidth"] = {"shared": shared}
        elif reading and writing:
            level["bandwidth"] = {"read": reading, "write": writing}
        return level

    def ports(self, memory: Served) -> tuple[int, float, float, float]:
        """Return the bits of a word, and words per cycle read, written, and in either direction."""
        data, path = memory.data, memory.path
        ports = data.get("ports")
        if isinstance(ports, list) and any(isinstance(p, dict) and "type" in p for p in ports):
            return self.named_ports(ports, path)
        word = self.number(data, "r_bw", path, 0.0)
        wide = self.number(data, "w_bw", path, word)
        if word < 1 or word > 2**20:
            raise self.error("expected the bits that a port reads per cycle", (*path, "r_bw"))
        read = self.number(data, "r_port", path, 0.0)
        write = self.number(data, "w_port", path, 0.0) * wide / word
        both = self.number(data, "rw_port", path, 0.0)
        if read or write:
            # a port of both kinds helps whichever waits
            return int(word), read + both, write + both * wide / word, 0.0
        return int(word), 0.0, 0.0, both or 1.0

    def named_ports(self, ports: list[Any], path: KeyPath) -> tuple[int, float, float, float]:
        """Return the same for ports that have a type and a bandwidth of their own."""
        bits = {"read": 0.0, "write": 0.0, "read_write": 0.0}
        word = 0.0
        for i, port in enumerate(ports):
            place = (*path, "ports", i)
            if not isinstance(port, dict) or port.get("type") not in bits:
                raise self.error(f"expected a port with a type: {', '.join(bits)}", place)
            wide = self.number(port, "bandwidth_max", place, 0.0)
            if not 1 <= wide <= 2**20:
                raise self.error("expected bits per cycle", (*place, "bandwidth_max"))
            bits[port["type"]] += wide
            if port["type"] != "write" and not word:
                word = wide
        if not word or not (bits["write"] or bits["read_write"]):
            raise self.error("expected a port that reads and one that writes", (*path, "ports"))
        both = bits["read_write"] / word
        if bits["read"] or bits["write"]:
            return int(word), bits["read"] / word + both, bits["write"] / word + both, 0.0
        return int(word), 0.0, 0.0, both

    def dataflow(self, levels: list[dict[str, Any]]) -> list[dict[str, Any]]:
        """Return the constraints of ``dataflows``."""
        given = self.data.get("dataflows")
        if given is None:
            return []
        found = axis_dimensions(self.document, ("dataflows",), given)
        place = {axis: x["array"] for x in levels if "array" in x for axis in x["axes"]}
        for axis in found:
            if axis not in place:
                raise self.error(f"no dimension '{axis}' of the array{nearest(axis, place)}",
                                 ("dataflows", axis))  # fmt: skip
        return [{"at": place[axis], "axis": axis, "dims": dims} for axis, dims in found.items()]


def array_level(axes: Mapping[str, int], names: frozenset[str]) -> dict[str, Any]:
    """Return some dimensions of the array as a level that multicasts and adds up."""
    chosen = {name: size for name, size in axes.items() if name in names}
    network = {"multicast": True, "reduction": True, "energy": 0}
    return {"array": "_".join(chosen), "axes": chosen, "network": network}
